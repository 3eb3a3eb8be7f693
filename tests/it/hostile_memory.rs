//! A stranger's repository with links, pipes and devices in the places of memory and history: nothing behind a link is read,
//! shown or copied, and nothing hangs.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::support::*;

/// Stands in the private files and in the environment. It must not appear anywhere else.
const CANARY: &str = "canary-of-the-victim";
/// What the files of the project say in the place where the private files have the canary.
const GOAL: &str = "ship-the-parser";

const LATEST: &str = ".agent-history/LATEST.md";
const INDEX: &str = ".agent-history/INDEX.yaml";
const PROMPT: &str = ".agent-history/RESUME_PROMPT.txt";
const DECISIONS: &str = ".agent-history/DECISIONS.md";
const LIFECYCLE: &str = ".agent-history/LIFECYCLE.yaml";
const SUMS: &str = ".agent-history/SHA256SUMS";
const SESSION: &str = ".agent-history/sessions/2026-11-14-0900-second.md";
const ARCHIVE: &str = "memory/layer3/2026-05-general-archive.md";

/// Every file that the tests replace.
const PLACES: [&str; 10] = [STATE, LATEST, INDEX, PROMPT, DECISIONS, LIFECYCLE, SUMS, SESSION, NOTES, ARCHIVE];

/// A command that must report what is in the place of a file, with its exit codes for a link and for a special file.
type Reporter = (&'static str, i32, i32);

/// Every command that reads memory or history.
const READERS: [&str; 20] = [
    "warmup",
    "warmup --format json",
    "history list",
    "history list --query parser",
    "history list --latest --json",
    "history show latest",
    "history show 2026-11-14-0900-second",
    "history status",
    "history resume-prompt",
    "history revoke --list",
    "history validate --sessions --git",
    "history render",
    "history export",
    "history export --all --format jsonl",
    "memory list",
    "memory list --layer 1",
    "memory list --layer 3 --json",
    "memory overview",
    "compact --dry-run",
    "status",
];

const WRITERS: [&str; 8] = [
    "run --note noted",
    "history create --goal another --next look",
    "history close --session 2026-11-13-0900-first --status DONE",
    "history revoke force",
    "history accept",
    "history import --input ../bundle.json --allow-unsigned",
    "memory add decision decided",
    "compact",
];

/// What is put in the place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    /// A link to a private file that has the right form.
    Private,
    /// A link to a file of the project.
    Inside,
    Environ,
    Zero,
    /// Reading it blocks, for the user who may.
    Kmsg,
    Pipe,
}

const OBSTACLES: [Obstacle; 6] =
    [Obstacle::Private, Obstacle::Inside, Obstacle::Environ, Obstacle::Zero, Obstacle::Kmsg, Obstacle::Pipe];

/// A project with two sessions, notes and an archive.
struct Victim {
    world: World,
}

impl Victim {
    fn new() -> Victim {
        let world = World::with_git();
        let note = "<!-- note run=R step=note at=2026-05-02T10:00:00Z -->\nin may\n<!-- /note -->\n";
        world.write("memory/layer1/2026-05/general-2026-05-02.md", note);
        world.run(&["compact"]).expect(0);
        world.write("memory/layer1/2026-05/general-2026-05-03.md", note);
        for (number, id) in ["2026-11-13-0900-first", "2026-11-14-0900-second"].iter().enumerate() {
            let handoff = include_str!("../data/handoffs/glue-dialect.md")
                .replace("2026-11-15-1000-parser", id)
                .replace("2026-11-15T10:00:00", &format!("2026-11-1{}T09:00:00", 3 + number));
            world.write("../handoff.md", with_goal(&handoff));
            let output = world.run(&["history", "create", "--input", "../handoff.md"]).expect(0);
            let _ = output.stderr_ignored("warnings about the handoff's form");
        }
        world.run(&["history", "export", "--format", "json", "--output", "../bundle.json"]).expect(0);
        world.run(&["run", "--note", GOAL]).expect(0);
        world.run(&["history", "close", "--status", "BLOCKED"]).expect(0);
        world.write("inside.md", "inside");
        Victim { world }
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.world.root().parent().unwrap().join(name)
    }

    /// Moves the file away and puts the obstacle in its place.
    fn place(&self, place: &str, obstacle: Obstacle) {
        let path = self.world.path(place);
        let content = std::fs::read_to_string(&path).unwrap();
        std::fs::write(self.beside("private"), content.replace(GOAL, CANARY)).unwrap();
        std::fs::rename(&path, self.beside("original")).unwrap();
        match obstacle {
            Obstacle::Private => symlink(self.beside("private"), path).unwrap(),
            Obstacle::Inside => symlink(self.world.path("inside.md"), path).unwrap(),
            Obstacle::Environ => symlink("/proc/self/environ", path).unwrap(),
            Obstacle::Zero => symlink("/dev/zero", path).unwrap(),
            Obstacle::Kmsg => symlink("/proc/kmsg", path).unwrap(),
            Obstacle::Pipe => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        }
    }

    /// Removes the obstacle, which must still be there, and puts the file back.
    fn restore(&self, place: &str, obstacle: Obstacle) {
        let path = self.world.path(place);
        let about = path.symlink_metadata().unwrap();
        assert!(!about.is_file(), "{place} {obstacle:?} was replaced");
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(self.beside("original"), &path).unwrap();
    }

    /// Runs a command to its end. Fails if it shows the canary or does not end.
    #[track_caller]
    fn run(&self, arguments: &str, place: &str, obstacle: Obstacle) -> Output {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let what = format!("{arguments:?} with {obstacle:?} at {place}");
        self.finish(self.world.command(&arguments), &what)
    }

    /// What a session of Claude Code is answered at its start.
    #[track_caller]
    fn start_session(&self, place: &str, obstacle: Obstacle) -> Output {
        let payload = serde_json::json!({
            "session_id": format!("{obstacle:?}-{}", place.replace('/', "-")), "cwd": self.world.root(), "hook_event_name": "SessionStart", "source": "startup",
            "transcript_path": self.beside("none.jsonl"),
        });
        std::fs::write(self.beside("payload"), payload.to_string()).unwrap();
        let mut command = self.world.command(&["hook", "--agent", "claude-code"]);
        command.stdin(File::open(self.beside("payload")).unwrap());
        self.finish(command, &format!("SessionStart with {obstacle:?} at {place}"))
    }

    #[track_caller]
    fn finish(&self, mut command: Command, what: &str) -> Output {
        let log = |name: &str| File::create(self.beside(name)).unwrap();
        command.env("AWS_SECRET", CANARY).stdout(log("stdout")).stderr(log("stderr"));
        let mut child = command.spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{what}: hangs");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let printed = |name: &str| std::fs::read_to_string(self.beside(name)).unwrap();
        let code = child.wait().unwrap().code().unwrap_or(-1);
        // Through a shell only to get an `Output` of what is in the files.
        let script = format!("cat '{0}/stdout'; cat '{0}/stderr' >&2; exit {code}", self.beside("").display());
        let output = finish(Command::new("sh").args(["-c", &script]).stdin(Stdio::null()));
        assert!(!printed("stdout").contains(CANARY), "{what}: on stdout\n{}", output.seen());
        assert!(!printed("stderr").contains(CANARY), "{what}: on stderr\n{}", output.seen());
        assert!([0, 1, 5, 65, 74].contains(&code), "{what}: {}", output.seen());
        output
    }

    /// Fails if the canary is in any file of the project: logs, databases, memory, history.
    #[track_caller]
    fn assert_nothing_was_kept(&self, place: &str) {
        for (path, text) in self.world.everything() {
            assert!(!text.contains(CANARY), "{path} holds the canary, after {place}");
        }
    }
}

fn with_goal(handoff: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in handoff.lines() {
        lines.push(match line {
            line if line.starts_with("primary_goal:") => format!("primary_goal: {GOAL}"),
            line if line.starts_with("decisions:") => format!("decisions:\n  - \"[standing] {GOAL}\""),
            line => line.to_owned(),
        });
    }
    lines.join("\n") + "\n"
}

/// Whether the output reports what is in the place of a file, in one sentence that names it.
fn reports(output: &Output, place: &str, obstacle: Obstacle) -> bool {
    let name = place.rsplit('/').next().unwrap();
    let sentence = match obstacle {
        Obstacle::Inside => "is a symlink to `inside.md`",
        Obstacle::Pipe => "is not a plain file, it is a named pipe",
        _ => "is a symlink",
    };
    let seen = output.seen();
    seen.lines().any(|line| line.contains(name) && line.contains(sentence))
}

/// Puts each obstacle in the place of a file: every one of these commands reports it and shows the rest.
fn assert_reported(place: &str, commands: &[Reporter]) {
    let victim = Victim::new();
    for obstacle in OBSTACLES {
        victim.place(place, obstacle);
        for (command, of_link, of_special) in commands {
            let output = victim.run(command, place, obstacle);
            let code = if obstacle == Obstacle::Pipe { of_special } else { of_link };
            assert_eq!(output.code, *code, "{command} with {obstacle:?} at {place}: {}", output.seen());
            assert!(reports(&output, place, obstacle), "{command} with {obstacle:?} at {place}: {}", output.seen());
            if *command == "warmup" {
                assert!(output.stdout.contains(GOAL), "{place}: {}", output.seen());
            }
        }
        victim.restore(place, obstacle);
    }
}

#[test]
fn a_hostile_current_state_is_only_reported() {
    assert_reported(STATE, &[("warmup", 0, 0), ("memory list", 1, 74), ("memory overview", 1, 74)]);
}

#[test]
fn a_hostile_latest_handoff_is_only_reported() {
    assert_reported(LATEST, &[("warmup", 0, 0), ("history status", 0, 0), ("history validate", 5, 5)]);
}

#[test]
fn a_hostile_index_is_only_reported() {
    let list = ("history list", 0, 0);
    assert_reported(INDEX, &[list, ("warmup", 0, 0), ("history status", 0, 0), ("history validate", 5, 5)]);
}

#[test]
fn a_hostile_resume_prompt_is_only_reported() {
    assert_reported(PROMPT, &[("history resume-prompt", 1, 74), ("history validate", 5, 5)]);
}

#[test]
fn a_hostile_decisions_log_is_only_reported() {
    assert_reported(DECISIONS, &[("history status", 0, 0), ("warmup", 0, 0), ("history validate", 5, 5)]);
}

#[test]
fn a_hostile_archive_of_a_session_is_only_reported() {
    let show = ("history show 2026-11-14-0900-second", 1, 74);
    assert_reported(SESSION, &[show, ("history list", 0, 0), ("history validate --sessions", 5, 5)]);
}

#[test]
fn hostile_notes_are_only_reported() {
    assert_reported(NOTES, &[("memory list --layer 1", 0, 0)]);
    assert_reported(ARCHIVE, &[("memory list --layer 3", 0, 0), ("compact --dry-run --month 2026-05", 1, 1)]);
}

#[test]
fn no_command_and_no_hook_reads_through_a_link_or_waits_for_a_pipe() {
    let victim = Victim::new();
    for (turn, place) in PLACES.iter().enumerate() {
        for obstacle in [Obstacle::Private, Obstacle::Environ, Obstacle::Pipe] {
            victim.place(place, obstacle);
            let step = stride(3);
            for command in READERS.iter().skip(turn % step).step_by(step) {
                let _ = victim.run(command, place, obstacle).stderr_ignored("reports the obstacle, or not");
            }
            let answer = victim.start_session(place, obstacle).expect(0);
            if [STATE, LATEST, INDEX, DECISIONS].contains(place) {
                assert!(answer.stdout.contains("could not be read"), "{place} {obstacle:?}: {}", answer.seen());
            }
            victim.restore(place, obstacle);
        }
        victim.assert_nothing_was_kept(place);
    }
}

#[test]
fn nothing_is_written_through_a_link_and_nothing_behind_it_is_copied() {
    for (turn, place) in PLACES.into_iter().enumerate() {
        let victim = Victim::new();
        let obstacles = [Obstacle::Private, Obstacle::Pipe];
        // In turns: each place with one of them, and each of them at every second place.
        for obstacle in obstacles.into_iter().skip(turn % stride(2)).step_by(stride(2)) {
            victim.place(place, obstacle);
            let private = std::fs::read(victim.beside("private")).unwrap();
            for command in WRITERS {
                let _ = victim.run(command, place, obstacle).stderr_ignored("reports the obstacle, or not");
            }
            assert_eq!(std::fs::read(victim.beside("private")).unwrap(), private, "{place}");
            victim.restore(place, obstacle);
        }
        victim.assert_nothing_was_kept(place);
        // What was said meanwhile is not lost.
        let _ = victim.world.run(&["run", "--resume"]).expect(0).stderr_ignored("the progress of the runs");
        assert!(victim.world.read(NOTES).contains("noted"), "{place}");
    }
}

#[test]
fn a_linked_directory_is_refused_with_the_real_path_to_configure() {
    for (directory, commands) in [
        ("memory", ["memory list", "memory add decision x", "run --note x"]),
        (".agent-history", ["history status", "history create --goal g --next n", "history validate"]),
    ] {
        let victim = Victim::new();
        std::fs::create_dir(victim.world.path("docs")).unwrap();
        std::fs::rename(victim.world.path(directory), victim.world.path("docs/real")).unwrap();
        symlink("docs/real", victim.world.path(directory)).unwrap();
        for command in commands {
            let output = victim.run(command, directory, Obstacle::Inside);
            assert_eq!(output.code, 65, "{command}: {}", output.seen());
            assert!(output.stderr.contains(&format!("goes through the symlink `{directory}`")), "{}", output.seen());
            assert!(output.stderr.contains("write `docs/real`, where it leads"), "{command}: {}", output.seen());
        }
    }
}

#[test]
fn a_linked_month_is_reported_and_the_other_months_are_listed() {
    let victim = Victim::new();
    std::fs::create_dir(victim.beside("elsewhere")).unwrap();
    let note = format!("<!-- note run=S step=note at=2026-06-02T10:00:00Z -->\n{CANARY}\n<!-- /note -->\n");
    std::fs::write(victim.beside("elsewhere").join("general-2026-06-02.md"), note).unwrap();
    symlink(victim.beside("elsewhere"), victim.world.path("memory/layer1/2026-06")).unwrap();
    for (command, code) in [("memory list --layer 1", 0), ("memory overview", 0), ("compact", 1)] {
        let output = victim.run(command, "memory/layer1/2026-06", Obstacle::Private);
        assert_eq!(output.code, code, "{command}: {}", output.seen());
        assert!(output.stderr.contains("2026-06` is a symlink"), "{command}: {}", output.seen());
    }
    victim.assert_nothing_was_kept("a month");
    assert!(victim.beside("elsewhere/general-2026-06-02.md").exists());
}
