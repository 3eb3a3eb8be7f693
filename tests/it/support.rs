//! A small world for one test: a home, a project, a pinned clock, and nothing of the machine it runs on.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Once, OnceLock};
use std::time::{Duration, Instant};

pub const BINARY: &str = env!("CARGO_BIN_EXE_agent-handover");
pub const NOW: &str = "2026-11-15T10:04:05Z";
/// Where the notes of the pinned day with the default tag are.
pub const NOTES: &str = "memory/layer1/2026-11/general-2026-11-15.md";
pub const STATE: &str = "memory/layer2/current-state.md";
/// The exit code of a process that was killed.
pub const KILLED: i32 = 128 + 9;

pub struct World {
    directory: tempfile::TempDir,
    /// Each command gets ids of its own, the same ones in every world.
    pub(super) commands: Cell<u32>,
    /// What makes its ids its own, where several worlds meet.
    salt: String,
}

/// What a command printed and how it ended.
pub struct Output {
    pub stdout: String,
    pub stderr: Stderr,
    /// 128+n if a signal ended it.
    pub code: i32,
}

/// The text on stderr. If the command succeeded and printed more than what is ordinary, a test must look at the text:
/// dropping it unread fails the test.
pub struct Stderr {
    text: String,
    /// Whether the test looked at it. A failing command is expected to print something.
    is_read: Cell<bool>,
}

/// What a command that works prints on stderr: the beginnings of lines and, where they start with a space, parts of lines.
const ORDINARY: &[&str] = &[
    // The progress of a run.
    "plan: ",
    "handover ",
    "resuming handover ",
    "✓ ",
    "- ",
    "waiting: ",
    "keeping ",
    " left out: known already",
    "no step writes the ",
    "nothing to resume: ",
    // What was done, for a person; stdout has the answer for programs.
    "wrote ",
    "fingerprint: ",
    "transcript: ",
    "step ",
    " may be published as it is now; ",
    " was full: ",
    // What to do next.
    "next: ",
    "next, for ",
    "now start a new session of your agent; ",
    "nothing changed: all of it is installed already",
    // The program under test is not installed where programs stay.
    "note: hooks will call ",
    // Many tests edit settings with comments, which some clients reject.
    " ignores the file until that is fixed",
    "note: a passphrase on the command line can be seen by others",
    "note: text from outside: ",
    " without a document; session-handoff writes only a record",
    // A merge of machines whose users have not allowed the config.
    " accepts them as yours",
];

impl Stderr {
    fn new(text: String, code: i32) -> Stderr {
        Stderr { text, is_read: Cell::new(code != 0) }
    }

    pub fn as_str(&self) -> &str {
        self
    }
}

impl snapbox::IntoData for Stderr {
    fn into_data(self) -> snapbox::Data {
        self.to_string().into_data()
    }
}

impl std::ops::Deref for Stderr {
    type Target = str;

    fn deref(&self) -> &str {
        self.is_read.set(true);
        &self.text
    }
}

impl std::fmt::Display for Stderr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self)
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        let has = |line: &str, part: &str| line.starts_with(part) || part.starts_with(' ') && line.contains(part);
        let is_ordinary = |line: &str| ORDINARY.iter().any(|part| has(line, part));
        let is_expected = self.is_read.get() || self.text.lines().all(is_ordinary);
        assert!(is_expected || std::thread::panicking(), "nobody looked at what is on stderr:\n{}", self.text);
    }
}

impl Output {
    #[track_caller]
    pub fn expect(self, code: i32) -> Output {
        assert_eq!(self.code, code, "exit code\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr.text);
        self
    }

    /// Accepts whatever is on stderr. The reason is for the reader of the test.
    pub fn stderr_ignored(self, _reason: &str) -> Output {
        self.stderr.is_read.set(true);
        self
    }

    /// Everything a person sees, as one text.
    pub fn seen(&self) -> String {
        format!("{}---\n{}[exit {}]\n", self.stdout, self.stderr, self.code)
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("not JSON: {}", self.stdout))
    }
}

impl World {
    pub fn new() -> World {
        let directory = directory();
        std::fs::create_dir(directory.path().join("home")).unwrap();
        std::fs::create_dir(directory.path().join("project")).unwrap();
        std::fs::create_dir(directory.path().join("tmp")).unwrap();
        World { directory, commands: Cell::new(0), salt: String::new() }
    }

    /// One of several machines: no other has the ids that it gives.
    pub fn salted(salt: &str) -> World {
        World { salt: salt.to_owned(), ..World::new() }
    }

    /// The same with a git repository in it.
    pub fn with_git() -> World {
        let world = World::new();
        repository(&world.path(".git"));
        world
    }

    pub fn with_config(config: &str) -> World {
        let world = World::new();
        world.write("handover.toml", config);
        world
    }

    pub fn root(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// The directory in which everything of this world is.
    pub fn place(&self) -> &Path {
        self.directory.path()
    }

    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        let output = self.clean("git").args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes a first commit, which git before 2.42 needs for a worktree.
    pub fn first_commit(&self) {
        let who = ["-c", "user.name=t", "-c", "user.email=t@example"];
        self.git(&[who.as_slice(), &["commit", "--quiet", "--allow-empty", "-m", "Begin"]].concat());
    }

    /// A command of this world: nothing of the machine's environment but the way to programs.
    pub fn clean(&self, program: impl AsRef<OsStr>) -> Command {
        static ONCE: Once = Once::new();
        ONCE.call_once(stop_ignoring_signals);
        let mut command = Command::new(on_path(program.as_ref()));
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("TMPDIR", self.directory.path().join("tmp"))
            .env("USER", "tester")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("AGENT_HANDOVER_TEST_NOW", NOW)
            .stdin(Stdio::null());
        // Where a program with counters puts them.
        if let Some(counts) = std::env::var_os("LLVM_PROFILE_FILE") {
            command.env("LLVM_PROFILE_FILE", counts);
        }
        command
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        self.commands.set(self.commands.get() + 1);
        let mut command = self.clean(BINARY);
        command.args(arguments).env("AGENT_HANDOVER_TEST_IDS", seed(&format!("{}{}", self.salt, self.commands.get())));
        command
    }

    /// Runs to the end; the one part of the output that changes each time, this world's place, reads `$WORLD`.
    #[must_use = "the exit code was not looked at"]
    pub fn run(&self, arguments: &[&str]) -> Output {
        let Output { stdout, stderr, code } = finish(&mut self.command(arguments));
        let place = self.directory.path().display().to_string();
        let stderr = Stderr::new(stderr.replace(&place, "$WORLD"), code);
        Output { stdout: stdout.replace(&place, "$WORLD"), stderr, code }
    }

    #[must_use = "the process was not waited for"]
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Puts a script in front of git, with `$GIT` for the real one. Gives back the PATH that finds it.
    pub fn stand_in_for_git(&self, script: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::var("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|path| path.join("git")).find(|git| git.exists()).unwrap();
        let bin = self.home().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("git"), format!("#!/bin/sh\nGIT={}\n{script}\n", real.display())).unwrap();
        std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:{path}", bin.display())
    }

    /// Waits for a file that a child makes to say that it is there.
    #[track_caller]
    pub fn wait_for(&self, path: &str) {
        wait_until(path, || self.exists(path));
    }

    /// What a user sees of the project: all files but git's and the state directory's.
    pub fn tree(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(&self.root(), &self.root(), &mut files);
        files.retain(|path, _| !path.starts_with(".git/") && !path.starts_with(".agent-handover/"));
        // A handoff says where it was written, which is another place in every world. So its digest is another one, too.
        for path in files.keys().filter(|path| path.ends_with("/SHA256SUMS")).cloned().collect::<Vec<_>>() {
            let directory = path.trim_end_matches("SHA256SUMS");
            let line = |line: &str| {
                let (digest, file) = line.split_once("  ").unwrap_or_default();
                let content = files.get(&format!("{directory}{file}")).map(String::as_bytes).unwrap_or_default();
                let is_right = agent_handover::testing::base::text::digest(content, 32) == digest;
                format!("{}  {file}\n", if is_right { "[digest]" } else { "[digest of something else]" })
            };
            // The last line has a digest of the others.
            let (lines, end): (Vec<&str>, Vec<&str>) = files[&path].lines().partition(|line| !line.starts_with('#'));
            let all: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let digest = agent_handover::testing::base::text::digest(all.as_bytes(), 16);
            let mut text: String = lines.into_iter().map(line).collect();
            text.extend(end.iter().map(|end| end.replace(&digest, "[digest]") + "\n"));
            files.insert(path, text);
        }
        let place = self.directory.path().display().to_string();
        files.into_iter().map(|(path, text)| (path, text.replace(&place, "$WORLD"))).collect()
    }

    /// Every file of the project, git's and ours included.
    pub fn everything(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(&self.root(), &self.root(), &mut files);
        files
    }

    /// Paths of temporaries that somebody forgot, anywhere.
    pub fn strays(&self) -> Vec<String> {
        let mut paths = Vec::new();
        list(self.directory.path(), &mut paths);
        let name = |path: &PathBuf| path.strip_prefix(self.directory.path()).unwrap().display().to_string();
        paths.iter().map(name).filter(|path| path.ends_with(".tmp")).collect()
    }

    pub fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path(".agent-handover/checkpoint.db")).unwrap()
    }

    #[track_caller]
    pub fn assert_database_is_sound(&self) {
        let answer: String = self.database().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(answer, "ok");
    }
}

/// A new directory in memory where there is enough of it, because most of the time of a command is a disk that syncs.
/// `TMPDIR` decides if it is set.
pub fn directory() -> tempfile::TempDir {
    const IN_MEMORY: &str = "/dev/shm";
    const ROOM: u64 = 2 << 30;
    let has_room = || rustix::fs::statvfs(IN_MEMORY).is_ok_and(|about| about.f_bavail * about.f_frsize > ROOM);
    if std::env::var_os("TMPDIR").is_none()
        && has_room()
        && let Ok(directory) = tempfile::tempdir_in(IN_MEMORY)
    {
        return directory;
    }
    tempfile::tempdir().unwrap()
}

/// Ids are the same whenever a test is run, and never those of another test: processes are found by them.
pub fn seed(name: &str) -> String {
    format!("{} {name}", std::thread::current().name().unwrap_or_default())
}

/// The paths of everything below a directory but the directories. Nothing is opened: a link may lead to our program.
fn list(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), paths);
        } else {
            paths.push(entry.path());
        }
    }
}

fn collect(base: &Path, directory: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            collect(base, &path, files);
        } else {
            let name = path.strip_prefix(base).unwrap().display().to_string();
            files.insert(name, String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned());
        }
    }
}

#[must_use = "the exit code was not looked at"]
pub fn finish(command: &mut Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn();
    // A test that copied the program may find the copy open for writing in a child that another test starts at this moment.
    wait_until("the program to be closed", || {
        let is_busy = matches!(&child, Err(cause) if cause.kind() == std::io::ErrorKind::ExecutableFileBusy);
        if is_busy {
            child = command.spawn();
        }
        !is_busy
    });
    output(child.unwrap())
}

#[must_use = "the exit code was not looked at"]
pub fn output(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap());
    tally(code);
    Output {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: Stderr::new(String::from_utf8(output.stderr).unwrap(), code),
        code,
    }
}

/// Adds a command that ended to the file that `TALLY` names: `tests/reliability.py` counts them for each test.
fn tally(code: i32) {
    let Some(file) = std::env::var_os("TALLY") else { return };
    let line = format!("{code} {}\n", std::thread::current().name().unwrap_or_default());
    let mut file = std::fs::File::options().append(true).create(true).open(file).unwrap();
    std::io::Write::write_all(&mut file, line.as_bytes()).unwrap();
}

/// Reports that a test cannot run on this machine; the caller returns. Under `CI` this fails, so that nothing is skipped
/// unnoticed, unless the reason is one of those in `CI_MAY_SKIP`, which are separated by `;`.
#[track_caller]
pub fn skip(reason: &str) {
    let allowed = std::env::var("CI_MAY_SKIP").unwrap_or_default();
    let is_allowed = std::env::var_os("CI").is_none() || allowed.split(';').any(|one| one.trim() == reason);
    assert!(is_allowed, "skipped under CI, and `CI_MAY_SKIP` does not allow it: {reason}");
    eprintln!("skipped: {reason}");
}

/// Every call with which a process changes something that outlives it.
pub const CHANGING_CALLS: &[&str] = &[
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "ftruncate",
    "mkdir",
    "mkdirat",
];

/// The program under strace, killed when it makes this system call for the `nth` time. Arguments can be added.
pub fn killed_at_call(world: &World, call: &str, nth: usize) -> Command {
    let mut strace = world.clean("strace");
    let inject = format!("inject={call}:signal=KILL:when={nth}");
    strace.args(["-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject, BINARY]);
    strace
}

/// Whether a program is on the PATH.
pub fn is_installed(program: &str) -> bool {
    on_path(OsStr::new(program)).is_absolute()
}

/// A program of `examples/` as `cargo test` builds it. If only the test binary was built, the example is built first.
pub fn example_program(name: &str) -> PathBuf {
    let example = Path::new(BINARY).with_file_name("examples").join(name);
    if !example.exists() {
        let built = Command::new(env!("CARGO")).args(["build", "--quiet", "--example", name]).status().unwrap();
        assert!(built.success());
    }
    example
}

/// The whole path of a program. With it, a process is started without a copy of this one, which has much memory and many
/// threads.
pub fn on_path(program: &OsStr) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|directory| directory.join(program)).find(|path| path.exists());
    found.unwrap_or_else(|| program.into())
}

/// Makes what `git init` makes, without the sample hooks. git is asked once for all tests.
fn repository(place: &Path) {
    static FILES: OnceLock<Files> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let world = World::new();
        world.git(&["init", "--quiet"]);
        Files::read(&world.path(".git"))
    });
    std::fs::create_dir(place).unwrap();
    files.write(place, |_| None);
}

/// Files to be written again elsewhere. Directories have no content.
pub struct Files(Vec<(PathBuf, Option<Vec<u8>>)>);

impl Files {
    /// Everything in a directory but git's sample hooks.
    pub fn read(base: &Path) -> Files {
        let mut files = Vec::new();
        let mut directories = vec![base.to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|extension| extension != "sample") {
                    let content = path.is_file().then(|| std::fs::read(&path).unwrap());
                    files.push((path.strip_prefix(base).unwrap().to_owned(), content));
                    directories.extend(path.is_dir().then_some(path));
                }
            }
        }
        Files(files)
    }

    /// Writes them below a directory. `instead` gives the content of a file that differs by place.
    pub fn write(&self, base: &Path, instead: impl Fn(&Path) -> Option<Vec<u8>>) {
        for (name, content) in &self.0 {
            match content {
                Some(content) => std::fs::write(base.join(name), instead(name).as_ref().unwrap_or(content)).unwrap(),
                None => std::fs::create_dir_all(base.join(name)).unwrap(),
            }
        }
    }
}

/// How far apart the cases are that a long sweep tries: all of them with `SWEEPS=all`, otherwise the first and every
/// `ordinary`th after it.
pub fn stride(ordinary: usize) -> usize {
    if std::env::var("SWEEPS").is_ok_and(|sweeps| sweeps == "all") { 1 } else { ordinary }
}

/// Waits for a condition that has no other way to announce itself; fails after three minutes rather than waiting for ever.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(180), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process has a file of this name open.
pub fn has_open(pid: u32, name: &str) -> bool {
    if cfg!(target_os = "linux") {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        return open.filter_map(|entry| entry.path().read_link().ok()).any(|path| path.ends_with(name));
    }
    let open = Command::new("lsof").args(["-Fn", "-p", &pid.to_string()]).output().unwrap();
    String::from_utf8_lossy(&open.stdout).lines().any(|line| line.ends_with(&format!("/{name}")))
}

/// Whether a process is stopped (by the `stop` action of a fault point).
pub fn is_stopped(pid: u32) -> bool {
    process_state(&pid.to_string()) == Some('T')
}

/// Whether a process can do nothing any more; collecting it is not our business.
pub fn is_gone(pid: &str) -> bool {
    matches!(process_state(pid), None | Some('Z'))
}

fn process_state(pid: &str) -> Option<char> {
    if cfg!(target_os = "linux") {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        return stat.rsplit(')').next()?.trim_start().chars().next();
    }
    let ps = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    String::from_utf8_lossy(&ps.stdout).trim_start().chars().next()
}

/// A shell in the background and `nohup` have their children ignore signals, and these theirs. What this process catches, its
/// children do not ignore.
fn stop_ignoring_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    for signal in [SIGHUP, SIGINT, SIGQUIT].into_iter().filter(|signal| ignored & 1 << (signal - 1) != 0) {
        signal_hook::flag::register(signal, Arc::default()).unwrap();
    }
}

pub fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}
