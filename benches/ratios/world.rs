//! The projects in which commands are measured.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_agent-handover");
/// A config whose runs only write a note.
pub(crate) const NOTE: &str = "[[step]]\nname = \"note\"\nkind = \"note\"\n";

/// The arguments of a command.
pub(crate) type Arguments = &'static [&'static str];

/// A project and a home directory. They are removed with the last clone; a command of the world is one.
#[derive(Clone)]
pub(crate) struct World {
    directory: Rc<tempfile::TempDir>,
    program: Rc<PathBuf>,
}

impl World {
    pub(crate) fn new(config: &str) -> World {
        World::of(BINARY.into(), config)
    }

    /// A world in which every command is one of this program.
    pub(crate) fn of(program: PathBuf, config: &str) -> World {
        let world = World { directory: Rc::new(tempfile::tempdir().unwrap()), program: Rc::new(program) };
        std::fs::create_dir(world.path()).unwrap();
        std::fs::create_dir(world.home()).unwrap();
        if !config.is_empty() {
            std::fs::write(world.path().join("handover.toml"), config).unwrap();
        }
        world
    }

    /// The project.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Beside the project: hooks do nothing in a home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join(".agent-handover")
    }

    pub(crate) fn command(&self, arguments: Arguments) -> impl Fn() -> Command + use<> {
        let world = self.clone();
        move || {
            let mut command = Command::new(world.program.as_path());
            command.args(arguments).current_dir(world.path()).env("HOME", world.home());
            command
        }
    }

    pub(crate) fn run(&self, arguments: Arguments) {
        assert!(self.command(arguments)().stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let user = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let status = Command::new("git").args(user).args(arguments).current_dir(self.path()).status();
        assert!(status.unwrap().success(), "git {arguments:?}");
    }

    /// A line of shell in the project, which has to succeed.
    pub(crate) fn shell(&self, line: &str) {
        let status = Command::new("sh").args(["-c", line]).current_dir(self.path()).stderr(Stdio::null()).status();
        assert!(status.unwrap().success(), "{line}");
    }

    /// Where Claude Code keeps the transcripts of this project.
    pub(crate) fn transcripts(&self) -> PathBuf {
        let root = self.path().canonicalize().unwrap().display().to_string();
        let name: String = root.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let directory = self.home().join(".claude/projects").join(name);
        std::fs::create_dir_all(&directory).unwrap();
        directory
    }

    /// Waits until no handover is running, and nothing else that a hook left in the background, such as what brings the index
    /// up to date: beside it, whatever is measured next would seem slow.
    pub(crate) fn wait_until_idle(&self) {
        let check = self.command(&["check"]);
        let is_running = || {
            check().stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code() == Some(4)
                || self.has_children()
        };
        while is_running() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// Whether a process in the background has this project's database.
    fn has_children(&self) -> bool {
        let processes = Command::new("ps").args(["-A", "-ww", "-o", "args="]).output().unwrap().stdout;
        let state = self.state().display().to_string();
        String::from_utf8_lossy(&processes).lines().any(|line| line.contains("--inherited") && line.contains(&state))
    }
}

/// Builds the index of search. Each search does so within its time limit.
pub(crate) fn index(world: &World) {
    let ask = world.command(&["search", "--json", "--limit", "1", "word3", "words"]);
    let is_missing = || {
        let answer = ask().stdin(Stdio::null()).output().unwrap().stdout;
        !String::from_utf8_lossy(&answer).contains("\"missing\":0")
    };
    while is_missing() {}
}

/// Writes transcripts of sessions that do some work: much output of tools, and some talk; returns their directory.
pub(crate) fn work(world: &World, size: usize) -> PathBuf {
    let transcripts = talk(world, size, 10);
    let root = world.path().canonicalize().unwrap().display().to_string();
    for session in 0..size {
        let mut file =
            std::fs::File::options().append(true).open(transcripts.join(format!("s{session}.jsonl"))).unwrap();
        for call in 0..30 {
            let about = |n: usize| {
                format!(
                    "\"sessionId\":\"s{session}\",\"uuid\":\"{session}-{call}-{n}\",\"cwd\":\"{root}\",\"timestamp\":\"2026-10-10T09:30:00Z\""
                )
            };
            let output: String = (0..100)
                .map(|line| {
                    format!("src/part{line}.rs:{call}:    let value = table.get(key{session}).unwrap_or(0);\\n")
                })
                .collect();
            let text = format!(
                "{{\"type\":\"assistant\",{},\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{call}\",\"name\":\"Bash\",\"input\":{{\"command\":\"grep -rn table src/{call}\"}}}}]}}}}\n\
                 {{\"type\":\"user\",{},\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{call}\",\"content\":\"{output}\"}}]}},\"toolUseResult\":{{\"stdout\":\"{output}\"}}}}\n",
                about(0),
                about(1)
            );
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        }
    }
    transcripts
}

/// Writes transcripts of sessions that each talk about a few things; returns their directory.
pub(crate) fn talk(world: &World, size: usize, turns: usize) -> PathBuf {
    world.git(&["init", "--quiet"]);
    let (root, transcripts) = (world.path().canonicalize().unwrap().display().to_string(), world.transcripts());
    for session in 0..size {
        let mut text = String::new();
        for turn in 0..turns {
            let words: Vec<String> =
                (0..40).map(|n| format!("word{}", (session * 7 + turn * 13 + n * n) % 900)).collect();
            let said = format!("The lexer and topic{session} with {}", words.join(" "));
            let (kind, content) = match turn % 2 {
                0 => ("user", format!("\"{said}\"")),
                _ => ("assistant", format!("[{{\"type\":\"text\",\"text\":\"{said}\"}}]")),
            };
            text.push_str(&format!(
                "{{\"type\":\"{kind}\",\"sessionId\":\"s{session}\",\"uuid\":\"{session}-{turn}\",\"cwd\":\"{root}\",\"timestamp\":\"2026-10-10T09:00:00Z\",\"message\":{{\"role\":\"{kind}\",\"content\":{content}}}}}\n"
            ));
        }
        std::fs::write(transcripts.join(format!("s{session}.jsonl")), text).unwrap();
    }
    transcripts
}

/// So many sessions, each a copy of one of ours under its own id, indexed by the program itself.
pub(crate) fn fill(world: &World, size: usize) {
    world.run(&[
        "history",
        "create",
        "--goal",
        "first",
        "--next",
        "Fix it",
        "--summary",
        "what was done, in a few words",
    ]);
    let sessions = world.path().join(".agent-history/sessions");
    let first = std::fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&first).unwrap();
    let id = first.file_stem().unwrap().to_str().unwrap().to_owned();
    for n in 1..size {
        std::fs::write(sessions.join(format!("s{n:06}.md")), text.replace(&id, &format!("s{n:06}"))).unwrap();
    }
    world.run(&["history", "close", "--status", "BLOCKED"]);
}

/// So many sessions in the checkpoint, each over and handed over.
pub(crate) fn fill_checkpoint(world: &World, size: usize) {
    let database = rusqlite::Connection::open(world.state().join("checkpoint.db")).unwrap();
    database.execute_batch("BEGIN").unwrap();
    for n in 0..size {
        let sql = "INSERT INTO session (agent, id, transcript, process, started_at, seen_at, handed_over, is_over)
                   VALUES ('claude-code', ?1, '', '', ?2, ?2, 1000000, 1)";
        database.execute(sql, [format!("old-{n:06}").as_str(), "2026-01-01T00:00:00.000Z"]).unwrap();
    }
    database.execute_batch("COMMIT").unwrap();
}

/// The answer that a hook gives to the payload in a file.
pub(crate) fn answer(command: &impl Fn() -> Command, payload: &std::path::Path) -> String {
    let output = command().stdin(std::fs::File::open(payload).unwrap()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Notes of so many years, in layer 1: 28 days a month, so many notes a day. The last year is 2025.
pub(crate) fn fill_notes(world: &World, years: usize, notes: usize) {
    for month in 0..years * 12 {
        let (year, month) = (2026 - years + month / 12, month % 12 + 1);
        let directory = world.path().join(format!("memory/layer1/{year}-{month:02}"));
        std::fs::create_dir_all(&directory).unwrap();
        for day in 1..=28 {
            let date = format!("{year}-{month:02}-{day:02}");
            let mut text = format!("<!-- agent-handover | layer1 | {date} -->\n");
            for note in 0..notes {
                let at = format!("{date}T{:02}:{:02}:00Z", note / 60 + 8, note % 60);
                text.push_str(&format!(
                    "<!-- note run=01K{year}{month:02}{day:02}{note:015} step=note at={at} agent=codex -->\n\
                     Mended the parser in src/parse.rs, and said so.\n\n- tests pass: cargo test\n- next: the docs in README.md\n<!-- /note -->\n"
                ));
            }
            std::fs::write(directory.join(format!("general-{date}.md")), text).unwrap();
        }
    }
}
