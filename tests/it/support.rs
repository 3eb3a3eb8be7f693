//! A small world for one test: a home, a project, a pinned clock, and nothing of the machine it runs on.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const BINARY: &str = env!("CARGO_BIN_EXE_agent-handover");
pub const NOW: &str = "2026-11-15T10:04:05Z";
/// Where the notes of the pinned day with the default tag are.
pub const NOTES: &str = "memory/layer1/2026-11/general-2026-11-15.md";
pub const STATE: &str = "memory/layer2/current-state.md";

pub struct World {
    directory: tempfile::TempDir,
    /// Each command gets ids of its own, the same ones in every world.
    commands: Cell<u32>,
    /// What makes its ids its own, where several worlds meet.
    salt: String,
}

pub struct Output {
    pub stdout: String,
    pub stderr: String,
    /// 128+n if a signal ended it.
    pub code: i32,
}

impl Output {
    #[track_caller]
    pub fn expect(self, code: i32) -> Output {
        assert_eq!(self.code, code, "exit code\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
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
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("home")).unwrap();
        std::fs::create_dir(directory.path().join("project")).unwrap();
        World { directory, commands: Cell::new(0), salt: String::new() }
    }

    /// One of several machines: no other has the ids that it gives.
    pub fn salted(salt: &str) -> World {
        World { salt: salt.to_owned(), ..World::new() }
    }

    /// The same with a git repository in it.
    pub fn with_git() -> World {
        let world = World::new();
        world.git(&["init", "--quiet"]);
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

    /// A command of this world: nothing of the machine's environment but the way to programs.
    pub fn clean(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("USER", "tester")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("AGENT_HANDOVER_TEST_NOW", NOW)
            .stdin(Stdio::null());
        command
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        self.commands.set(self.commands.get() + 1);
        let mut command = self.clean(BINARY);
        command.args(arguments).env("AGENT_HANDOVER_TEST_IDS", seed(&format!("{}{}", self.salt, self.commands.get())));
        command
    }

    /// Runs to the end; the one part of the output that changes each time, this world's place, reads `$WORLD`.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let Output { stdout, stderr, code } = finish(&mut self.command(arguments));
        let place = self.directory.path().display().to_string();
        Output { stdout: stdout.replace(&place, "$WORLD"), stderr: stderr.replace(&place, "$WORLD"), code }
    }

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
        // A handoff says where it was written, which is another place in every world.
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
        let mut files = BTreeMap::new();
        collect(self.directory.path(), self.directory.path(), &mut files);
        files.into_keys().filter(|path| path.ends_with(".tmp")).collect()
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

/// Ids are the same whenever a test is run, and never those of another test: processes are found by them.
pub fn seed(name: &str) -> String {
    format!("{} {name}", std::thread::current().name().unwrap_or_default())
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

pub fn finish(command: &mut Command) -> Output {
    output(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

pub fn output(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    Output {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap()),
    }
}

/// For what has no other way to say that it happened; fails loudly rather than for ever.
#[track_caller]
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
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
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}

pub fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}
