//! A repository that a stranger made, generated from three lists: every path that we read or write, everything that may
//! be planted there, and every command and hook event.
//!
//! For each combination: the planted secret appears nowhere, nothing outside the project changes, the command ends in
//! time, and its exit code is one of the documented ones. `cargo test` runs a part of the combinations;
//! `cargo test --test it -- --ignored every_planted_path` runs all of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::support::*;

/// Plain words, so that no rule for credentials redacts them before this test can see them.
const SECRET: &str = "plover quartz lantern 0451";
/// A command that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(20);
/// What the reference page documents, without 70 (a bug) and signals.
const EXIT_CODES: &[i32] = &[0, 1, 2, 3, 4, 5, 6, 64, 65, 74];

/// Every path below the project that the program reads or writes.
const PATHS: &[&str] = &[
    "handover.toml",
    ".agent-handover",
    ".agent-handover/handover.toml",
    ".agent-handover/checkpoint.db",
    ".agent-handover/lock",
    ".agent-handover/.gitignore",
    ".agent-handover/log",
    ".agent-handover/log/hook.log",
    ".agent-handover/publish.json",
    "PAUSE",
    "memory",
    "memory/layer1",
    "memory/layer1/2026-11",
    NOTES,
    "memory/layer2",
    STATE,
    "memory/layer3",
    "memory/layer3/2026-09-general-archive.md",
    ".agent-history",
    ".agent-history/LATEST.md",
    ".agent-history/RESUME_PROMPT.txt",
    ".agent-history/INDEX.yaml",
    ".agent-history/DECISIONS.md",
    ".agent-history/LIFECYCLE.yaml",
    ".agent-history/SHA256SUMS",
    ".agent-history/sessions",
    ".agent-history/sessions/2026-11-15-1004-planted.md",
    ".git/info",
    ".git/info/exclude",
];

/// What a stranger may put there.
#[derive(Clone, Copy, Debug)]
enum Planted {
    LinkToPrivateFile,
    LinkToPrivateDirectory,
    LinkToEnvironment,
    Pipe,
    Directory,
    Device,
    ForeignOwner,
    SparseGigabyte,
}

const PLANTED: &[Planted] = &[
    Planted::LinkToPrivateFile,
    Planted::LinkToPrivateDirectory,
    Planted::LinkToEnvironment,
    Planted::Pipe,
    Planted::Directory,
    Planted::Device,
    Planted::ForeignOwner,
    Planted::SparseGigabyte,
];

/// Every command that reads or writes in a project. `{id}` is an archived session.
const COMMANDS: &[&[&str]] = &[
    &["check"],
    &["status"],
    &["status", "--json"],
    &["warmup"],
    &["doctor"],
    &["run", "--note", "a note of the user"],
    &["run", "--resume"],
    &["run", "--dry-run"],
    &["run", "--abandon"],
    &["pause"],
    &["unpause"],
    &["compact"],
    &["push"],
    &["pull"],
    &["allow"],
    &["init"],
    &["memory", "list"],
    &["memory", "list", "--layer", "1"],
    &["memory", "list", "--layer", "3"],
    &["memory", "overview"],
    &["memory", "add", "decision", "use sqlite"],
    &["history", "list"],
    &["history", "list", "--json"],
    &["history", "show", "{id}"],
    &["history", "show", "latest"],
    &["history", "render"],
    &["history", "validate", "--sessions"],
    &["history", "status"],
    &["history", "resume-prompt"],
    &["history", "template"],
    &["history", "close", "--status", "DONE"],
    &["history", "export", "--latest", "--output", "../bundle.json"],
    &["hook", "SessionStart"],
    &["hook", "SessionStart compact"],
    &["hook", "UserPromptSubmit"],
    &["hook", "Stop"],
    &["hook", "PreCompact"],
    &["hook", "SessionEnd"],
];

/// A world whose project has two finished handovers, an archive of a month, and a remote; copied for every case.
struct Template {
    world: World,
    session: String,
}

impl Template {
    fn new() -> Template {
        let world = World::with_git();
        world.git(&["config", "user.name", "Tester"]);
        world.git(&["config", "user.email", "tester@example.com"]);
        world.write("src.txt", "code\n");
        world.git(&["add", "src.txt"]);
        world.git(&["commit", "--quiet", "-m", "code"]);
        world.run(&["run", "--note", "Parsed dates; next: time zones"]).stderr_ignored("progress").expect(0);
        world.run(&["run", "--note", "Time zones work"]).stderr_ignored("progress").expect(0);
        world.write(
            "memory/layer3/2026-09-general-archive.md",
            "<!-- agent-handover | layer3 | 2026-09-30 -->\n# 2026-09\n",
        );
        let sessions = fs::read_dir(world.path(".agent-history/sessions")).unwrap();
        let mut ids: Vec<String> =
            sessions.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        ids.sort();
        Template { session: ids.pop().unwrap(), world }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (entry, to) = {
            let e = entry.unwrap();
            let t = to.join(e.file_name());
            (e.path(), t)
        };
        if entry.is_dir() {
            copy(&entry, &to);
        } else {
            fs::copy(&entry, &to).unwrap();
        }
    }
}

/// One case: a copy of the template with something planted in it.
struct Case<'t> {
    template: &'t Template,
    directory: tempfile::TempDir,
}

impl<'t> Case<'t> {
    /// `None` where this machine cannot plant such a thing.
    fn new(template: &'t Template, path: &str, planted: Planted) -> Option<Case<'t>> {
        let directory = crate::support::directory();
        let case = Case { template, directory };
        copy(&template.world.root(), &case.root());
        copy(&template.world.home(), &case.home());
        fs::create_dir_all(case.private()).unwrap();
        fs::write(case.private().join("key"), format!("{SECRET}\n")).unwrap();
        for name in ["checkpoint.db", "handover.toml", "hook.log", "exclude", "current-state.md", "LATEST.md"] {
            fs::write(case.private().join(name), format!("{SECRET}\n")).unwrap();
        }
        case.plant(&case.root().join(path), planted).then_some(case)
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    fn private(&self) -> PathBuf {
        self.home().join(".ssh")
    }

    fn plant(&self, path: &Path, planted: Planted) -> bool {
        let keep = matches!(planted, Planted::ForeignOwner);
        if !keep {
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                let _ = fs::remove_file(path);
            }
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let run = |program: &str, arguments: &[&str]| {
            Command::new(program).args(arguments).arg(path).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
        };
        match planted {
            Planted::LinkToPrivateFile => std::os::unix::fs::symlink(self.private().join("key"), path).is_ok(),
            Planted::LinkToPrivateDirectory => std::os::unix::fs::symlink(self.private(), path).is_ok(),
            Planted::LinkToEnvironment => std::os::unix::fs::symlink("/proc/self/environ", path).is_ok(),
            Planted::Pipe => run("mkfifo", &[]),
            Planted::Directory => fs::create_dir(path).is_ok(),
            // A link to a device that never ends: making one needs root, reading one does not.
            Planted::Device => std::os::unix::fs::symlink("/dev/zero", path).is_ok(),
            Planted::ForeignOwner => {
                if !path.exists() {
                    fs::write(path, "").unwrap();
                }
                std::os::unix::fs::chown(path, Some(12345), None).is_ok()
            }
            Planted::SparseGigabyte => fs::File::create(path).and_then(|file| file.set_len(1 << 30)).is_ok(),
        }
    }

    /// Runs one command or hook event, and checks what must hold whatever was planted.
    fn run(&self, what: &str, arguments: &[&str]) {
        let before = self.outside();
        let (stdout, stderr) = (self.directory.path().join("stdout"), self.directory.path().join("stderr"));
        let mut command = Command::new(BINARY);
        let mut payload = String::new();
        if let ["hook", event] = arguments {
            let (event, source) = event.split_once(' ').unwrap_or((event, "startup"));
            payload = serde_json::json!({
                "session_id": "5e55-0001", "cwd": self.root(), "hook_event_name": event, "source": source,
                "prompt": "go on", "reason": "exit", "transcript_path": self.home().join("none.jsonl"),
            })
            .to_string();
            command.args(["hook", "--agent", "claude-code"]);
        } else {
            command.args(arguments.iter().map(|word| word.replace("{id}", &self.template.session)));
        }
        fs::write(self.directory.path().join("stdin"), payload).unwrap();
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("USER", "tester")
            .env("TZ", "UTC")
            .env("TMPDIR", self.directory.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("AGENT_HANDOVER_TEST_NOW", NOW)
            .env("PLANTED_SECRET", SECRET)
            .stdin(fs::File::open(self.directory.path().join("stdin")).unwrap())
            .stdout(fs::File::create(&stdout).unwrap())
            .stderr(fs::File::create(&stderr).unwrap());
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > LIMIT {
                let _ = child.kill();
                panic!("{what}: hangs");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let printed = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        let (stdout, stderr) = (printed(&stdout), printed(&stderr));
        let said = format!("--- stdout\n{stdout}--- stderr\n{stderr}");
        assert!(!said.contains(SECRET), "{what}: prints the secret\n{said}");
        let code = status.code().unwrap_or(-1);
        let expected = if arguments[0] == "hook" { &[0][..] } else { EXIT_CODES };
        assert!(expected.contains(&code), "{what}: exits with {code}\n{said}");
        self.wait_for_background();
        assert_eq!(self.outside(), before, "{what}: changes something outside the project\n{said}");
        self.assert_no_copy_of_the_secret(what);
    }

    /// A hook may leave a child that finishes the handover; it holds the lock as long as it runs.
    fn wait_for_background(&self) {
        let marker = self.root();
        wait_until("the background child", || {
            !fs::read_dir("/proc").unwrap().flatten().any(|entry| {
                let cwd = fs::read_link(entry.path().join("cwd"));
                cwd.is_ok_and(|cwd| cwd.starts_with(&marker))
            })
        });
    }

    /// Everything outside the project, except what this program keeps for its user.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.home(), &mut files);
        files.retain(|path, _| {
            let path = path.strip_prefix(self.home()).unwrap();
            !path.starts_with(".local/state/agent-handover") && !path.starts_with(".local/share/agent-handover")
        });
        files
    }

    /// The secret is only where it was: nowhere in the project, in no log, in nothing kept for the user.
    fn assert_no_copy_of_the_secret(&self, what: &str) {
        let mut files = BTreeMap::new();
        collect(&self.root(), &mut files);
        collect(&self.home().join(".local"), &mut files);
        for (path, bytes) in files {
            let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(!found, "{what}: the secret is in {}", path.display());
        }
    }
}

/// Regular files by path; links, pipes and holes are not read.
fn collect(directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let about = entry.path().symlink_metadata().unwrap();
        if about.is_dir() {
            collect(&entry.path(), files);
        } else if about.is_file() && about.len() < 64 << 20 {
            files.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
}

/// A combination: a path, what is planted there, and a command.
type Combination = (&'static str, Planted, &'static [&'static str]);

/// Runs the combinations whose number is chosen, a few at a time, and reports every failure at once.
fn sweep(is_chosen: impl Fn(usize) -> bool) {
    let mut all: Vec<Combination> = Vec::new();
    for path in PATHS {
        for planted in PLANTED {
            all.extend(COMMANDS.iter().map(|command| (*path, *planted, *command)));
        }
    }
    let chosen: Vec<Combination> =
        all.into_iter().enumerate().filter(|(number, _)| is_chosen(number + 1)).map(|(_, chosen)| chosen).collect();
    // The commands wait for the disk more than they compute.
    let share = chosen.len().div_ceil(4).max(1);
    let results: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = chosen.chunks(share).map(|part| scope.spawn(|| try_all(part))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let tried: usize = results.iter().map(|(tried, _)| tried).sum();
    let failures: Vec<String> = results.into_iter().flat_map(|(_, failures)| failures).collect();
    assert!(tried > 100, "only {tried} combinations were tried");
    let shown = failures.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n\n");
    assert!(failures.is_empty(), "{} of {tried} combinations failed:\n{shown}", failures.len());
    eprintln!("{tried} combinations");
}

/// How many combinations this machine could try, and those that failed.
fn try_all(combinations: &[Combination]) -> (usize, Vec<String>) {
    let template = Template::new();
    let mut tried = 0;
    let mut failures = Vec::new();
    for (path, planted, arguments) in combinations {
        let what = format!("{planted:?} at {path}, `{}`", arguments.join(" "));
        let Some(case) = Case::new(&template, path, *planted) else { continue };
        tried += 1;
        let run = std::panic::AssertUnwindSafe(|| case.run(&what, arguments));
        if let Err(cause) = std::panic::catch_unwind(run) {
            failures.push(cause.downcast_ref::<String>().cloned().unwrap_or(what));
        }
    }
    (tried, failures)
}

#[test]
fn some_planted_paths_leak_nothing_and_hang_nothing() {
    // A step that shares no factor with the lists' lengths, so that every path, thing and command has its turn.
    sweep(|number| number % 37 == 0);
}

#[test]
#[ignore = "takes minutes: cargo test --test it -- --ignored every_planted_path"]
fn every_planted_path_leaks_nothing_and_hangs_nothing() {
    sweep(|_| true);
}
