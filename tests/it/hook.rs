//! `hook` as agents call it: a process, a payload on stdin, and an answer to the byte.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use agent_handover::testing::agents::{self, AGENTS, Event};
use serde_json::{Value, json};

use super::support::*;

const MARKER: &str = "<!-- agent-handover warmup -->";

/// A session of Claude Code in this world, with a transcript where Claude Code would put it.
pub struct Session<'a> {
    world: &'a World,
    id: &'a str,
    /// Whether the process that calls the hooks is gone afterwards.
    is_short_lived: bool,
}

impl<'a> Session<'a> {
    pub fn of(world: &'a World, id: &'a str) -> Session<'a> {
        Session { world, id, is_short_lived: false }
    }

    /// One whose process ends with each call.
    pub fn dying(world: &'a World, id: &'a str) -> Session<'a> {
        Session { world, id, is_short_lived: true }
    }

    pub fn transcript(&self) -> PathBuf {
        let root = self.world.root().canonicalize().unwrap();
        let name: String =
            root.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.world.home().join(".claude/projects").join(name).join(format!("{}.jsonl", self.id))
    }

    pub fn write(&self, records: &[Value]) {
        let path = self.transcript();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
        for record in records {
            let mut record = record.clone();
            record["sessionId"] = self.id.into();
            record["cwd"] = self.world.root().canonicalize().unwrap().to_str().unwrap().into();
            writeln!(file, "{record}").unwrap();
        }
    }

    pub fn ask(&self, request: &str) {
        self.write(&[
            json!({ "type": "user", "isSidechain": false, "message": { "role": "user", "content": request } }),
        ]);
    }

    pub fn changed_at(&self, time: &str) {
        let time = chrono::DateTime::parse_from_rfc3339(time).unwrap();
        std::fs::File::options().append(true).open(self.transcript()).unwrap().set_modified(time.into()).unwrap();
    }

    /// Makes the transcript look as if nobody had written to it for a while.
    pub fn falls_silent(&self) {
        self.changed_at(&(chrono::Utc::now() - chrono::Duration::minutes(11)).to_rfc3339());
    }

    pub fn edit(&self, path: &str) {
        let file = self.world.path(path);
        let call =
            json!({ "type": "tool_use", "id": format!("t-{path}"), "name": "Write", "input": { "file_path": file } });
        let result = json!({ "type": "tool_result", "tool_use_id": format!("t-{path}"), "content": "ok" });
        self.write(&[
            json!({ "type": "assistant", "isSidechain": false, "message": { "content": [call] } }),
            json!({ "type": "user", "isSidechain": false, "message": { "content": [result] } }),
        ]);
    }

    pub fn payload(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": self.id,
            "transcript_path": self.transcript(),
            "cwd": self.world.root(),
            "hook_event_name": event,
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    }

    pub fn call(&self, event: &str, more: Value) -> Output {
        let output = feed(&mut self.command(), self.payload(event, more).to_string().as_bytes());
        assert_eq!(output.code, 0, "{}", output.stderr);
        output
    }

    fn command(&self) -> Command {
        if self.is_short_lived {
            through_another_process(self.world, "claude-code")
        } else {
            self.world.command(&["hook", "--agent", "claude-code"])
        }
    }

    /// The same with a fault, for it and its child. Says whether either was killed.
    pub fn call_with_fault(&self, event: &str, fault: &str) -> bool {
        let payload = self.payload(event, json!({ "source": "startup" })).to_string();
        let mut command = self.command();
        let output = feed(command.env("AGENT_HANDOVER_TEST_FAULT", fault), payload.as_bytes());
        settled(self.world);
        // Only when everything is over is it certain that nothing was killed.
        output.code != 0 || self.world.run(&["check"]).code == 1
    }

    /// The context that the session receives.
    pub fn start(&self, source: &str) -> String {
        let output = self.call("SessionStart", json!({ "source": source }));
        if output.stdout.is_empty() {
            return String::new();
        }
        let answer = output.json();
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
    }

    pub fn turn(&self) {
        assert_eq!(self.call("Stop", json!({ "stop_hook_active": false })).stdout, "");
    }

    pub fn end(&self) {
        assert_eq!(self.call("SessionEnd", json!({ "reason": "other" })).stdout, "");
        settled(self.world);
    }
}

/// The hook as the child of a process that is gone when this returns.
pub fn through_another_process(world: &World, agent: &str) -> Command {
    let mut command = world.clean("timeout");
    command.args(["60", BINARY, "hook", "--agent", agent]);
    command
}

pub fn feed(command: &mut Command, payload: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A reader that has seen enough is the reader's affair.
    let _ = child.stdin.take().unwrap().write_all(payload);
    output(child).stderr_ignored("a hook exits 0 whatever happens; its log is what counts")
}

/// Waits for what goes on in the background.
#[track_caller]
pub fn settled(world: &World) {
    if world.exists(".agent-handover/checkpoint.db") {
        wait_until("the handover", || world.run(&["check"]).code != 4);
    }
}

/// Whether a child of a hook is at work in the project. It goes on after the handover, without a lock: it looks for sessions
/// that are owed, and brings index and figures up to date.
pub fn has_child(world: &World) -> bool {
    let root = world.root().canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.map(|process| process.path()).any(|process| {
        let arguments = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        arguments.contains("--inherited") && std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == root)
    })
}

/// Moves the first use of this project back, so that transcripts can have been silent since.
pub fn first_used_an_hour_ago(world: &World) {
    first_used_at(world, &(chrono::Utc::now() - chrono::Duration::hours(1)).to_rfc3339());
}

pub fn first_used_at(world: &World, time: &str) {
    let changed = world.database().execute("UPDATE meta SET value = ?1 WHERE key = 'since'", [time]).unwrap();
    assert_eq!(changed, 1);
}

/// The status and the agent of each run.
pub fn runs(world: &World) -> Vec<(String, String)> {
    let database = world.database();
    let mut rows = database.prepare("SELECT status, agent FROM run ORDER BY seq").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

pub fn log(world: &World) -> String {
    world.read(".agent-handover/log/hook.log")
}

#[test]
fn a_session_is_handed_to_the_next_one() {
    let world = World::with_git();
    let first = Session::of(&world, "aaaa-1");
    let told = first.start("startup");
    assert!(told.starts_with(MARKER) && told.lines().count() == 1, "{told}");
    first.ask("Make the greeting test pass");
    first.edit("greeting.txt");
    world.write("greeting.txt", "hello");
    first.turn();
    first.end();
    assert_eq!(runs(&world), [("completed".to_owned(), "claude-code".to_owned())]);
    world.run(&["check"]).expect(2);
    let latest = world.read(".agent-history/LATEST.md");
    assert!(latest.contains("Make the greeting test pass") && latest.contains("greeting.txt"), "{latest}");

    let told = Session::of(&world, "bbbb-2").start("startup");
    assert!(told.contains("\n- Make the greeting test pass\n"), "{told}");
    assert!(told.contains(", claude-code") && told.contains("## Files\n- greeting.txt\n"), "{told}");
    assert!(!told.contains("## Next"), "nobody said what is next: {told}");
    let log = log(&world);
    let events: Vec<&str> = log.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(events, ["session-start", "turn-end", "session-end", "session-start"], "{log}");
    assert!(log.lines().all(|line| line.starts_with("2026-11-15T10:04:05.000Z claude-code ")), "{log}");
}

#[test]
fn a_session_is_superseded_by_a_later_one_on_its_branch() {
    let world = World::with_git();
    for (id, request) in [("aaaa-1", "Port the parser to the new grammar"), ("bbbb-2", "Now write the docs")] {
        let session = Session::of(&world, id);
        session.start("startup");
        session.ask(request);
        session.end();
    }
    let told = Session::of(&world, "cccc-3").start("startup");
    assert!(told.contains("Now write the docs") && !told.contains("## Earlier sessions"), "{told}");
}

#[test]
fn a_session_that_ends_twice_is_handed_over_once() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Once and no more");
    let payload = session.payload("SessionEnd", json!({ "reason": "other" })).to_string();
    let mut children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = world.command(&["hook", "--agent", "claude-code"]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in &mut children {
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    }
    for child in children {
        output(child).expect(0);
    }
    settled(&world);
    session.end();
    assert_eq!(runs(&world).len(), 1);
    // It goes on, and only what is new is handed over.
    session.start("resume");
    session.ask("And now the other thing");
    session.end();
    session.end();
    assert_eq!(runs(&world).len(), 2);
    let latest = world.read(".agent-history/LATEST.md");
    assert!(latest.contains("And now the other thing") && !latest.contains("- 1: Once and no more"), "{latest}");
}

#[test]
fn sessions_without_a_request_are_not_handed_over() {
    let world = World::with_git();
    let silent = Session::of(&world, "aaaa-1");
    silent.start("startup");
    silent.write(&[json!({ "type": "user", "message": { "content": "<command-name>/model</command-name>" } })]);
    silent.end();
    let never_written = Session::of(&world, "bbbb-2");
    never_written.start("startup");
    never_written.end();
    let below = Session::of(&world, "cccc-3");
    below.ask("Look around for me");
    let reply = below.call("SessionStart", json!({ "source": "startup", "agent_id": "a1" }));
    assert_eq!(reply.stdout, "");
    below.call("SessionEnd", json!({ "agent_id": "a1" }));
    // One whose payload does not say so, but whose transcript does.
    let side = Session::of(&world, "eeee-5");
    side.write(&[
        json!({ "type": "user", "isSidechain": true, "message": { "role": "user", "content": "Count words" } }),
    ]);
    side.call("SessionStart", json!({ "source": "startup" }));
    side.call("SessionEnd", json!({}));
    // One of a directory that is gone is not of the one we happen to stand in.
    let elsewhere = Session::of(&world, "ffff-6");
    elsewhere.ask("Something for another project");
    let reply = elsewhere.call("SessionStart", json!({ "source": "startup", "cwd": "/nonexistent/other" }));
    assert!(reply.stdout.contains("none of the directories that the agent names exists"), "{}", reply.stdout);
    elsewhere.call("SessionEnd", json!({ "cwd": "/nonexistent/other" }));
    settled(&world);
    assert_eq!(runs(&world), []);
    assert!(log(&world).contains("nothing was asked since the last handover"), "{}", log(&world));
    // Nor are they swept.
    Session::of(&world, "dddd-4").start("startup");
    assert_eq!(runs(&world), []);
}

#[test]
fn an_agent_that_a_handover_started_does_not_hand_over() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.ask("Summarise, please");
    for event in ["SessionStart", "Stop", "SessionEnd"] {
        let payload = session.payload(event, json!({ "source": "startup" })).to_string();
        let mut command = world.command(&["hook", "--agent", "claude-code"]);
        let output = feed(command.env("AGENT_HANDOVER_CHILD", "1"), payload.as_bytes());
        assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{event}");
    }
    assert!(!world.exists(".agent-handover"));
    // Every process that a handover starts has it.
    world.write(
        "handover.toml",
        "[[step]]\nname = \"c\"\nkind = \"command\"\nshell = \"echo $AGENT_HANDOVER_CHILD > child\"\n",
    );
    world.run(&["run", "--note", "n"]).expect(0);
    assert_eq!(world.read("child"), "1\n");
}

#[test]
fn a_session_that_was_killed_is_swept_by_the_next() {
    let world = World::with_git();
    let killed = Session::dying(&world, "aaaa-1");
    killed.start("startup");
    killed.ask("You may never come back");
    killed.edit("half.txt");
    // No turn ended, and no session end was reported.
    let told = Session::of(&world, "bbbb-2").start("startup");
    assert!(told.contains("\n- You may never come back\n"), "{told}");
    assert!(log(&world).contains("swept claude-code aaaa-1 into "), "{}", log(&world));
    assert_eq!(runs(&world), [("completed".to_owned(), "claude-code".to_owned())]);
    // Once.
    Session::of(&world, "cccc-3").start("startup");
    assert_eq!(runs(&world).len(), 1);
}

/// It is as old as it is, not as old as its discovery.
#[test]
fn a_swept_session_keeps_its_time() {
    let world = World::with_git();
    let killed = Session::dying(&world, "aaaa-1");
    killed.start("startup");
    killed.ask("Killed last week");
    killed.changed_at("2026-11-08T10:04:05Z");
    let told = Session::of(&world, "bbbb-2").start("startup");
    assert!(told.contains("last: 2026-11-08 10:04 UTC, claude-code"), "{told}");
    assert!(told.contains("last handover 7 days ago"), "{told}");
    assert!(world.read("memory/layer1/2026-11/general-2026-11-08.md").contains("Killed last week"));
}

/// What a client left may be anything; the session is handed over with what can be read of it.
#[test]
fn a_transcript_of_any_shape_holds_nobody_up() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Something readable");
    let mut file = std::fs::File::options().append(true).open(session.transcript()).unwrap();
    file.write_all(&vec![b'x'; 20 << 20]).unwrap();
    file.write_all(format!("\n{}\n", "[".repeat(300_000)).as_bytes()).unwrap();
    file.write_all(b"\xff\xfe\x00\n{\"type\":\"user\",\"sessionId\":7}\n{\"type\":\"user\",\"mess").unwrap();
    session.end();
    assert_eq!(runs(&world), [("completed".to_owned(), "claude-code".to_owned())]);
    assert!(world.read(".agent-history/LATEST.md").contains("Something readable"));
    // A pipe where the transcript should be, and a link that leads nowhere.
    for (id, make) in [("bbbb-2", "mkfifo"), ("cccc-3", "ln -s /nowhere")] {
        let other = Session::of(&world, id);
        let line = format!("{make} {}", other.transcript().display());
        assert!(world.clean("sh").args(["-c", &line]).status().unwrap().success());
        other.start("startup");
        other.turn();
        other.end();
    }
    assert_eq!(runs(&world).len(), 1);
    assert!(log(&world).contains("is not a plain file"), "{}", log(&world));
}

#[test]
fn a_session_that_still_runs_is_left_alone() {
    let world = World::with_git();
    let running = Session::of(&world, "aaaa-1");
    running.start("startup");
    running.ask("I am still at it");
    let told = Session::dying(&world, "bbbb-2").start("startup");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert_eq!(runs(&world), []);
    // Its own process has begun another one, so that one is over.
    let told = Session::of(&world, "cccc-3").start("clear");
    assert!(told.contains("I am still at it"), "{told}");
}

#[test]
fn a_session_that_no_hook_has_seen_is_swept_when_it_has_been_silent_for_a_while() {
    let world = World::with_git();
    Session::of(&world, "aaaa-1").start("startup");
    let unseen = Session::of(&world, "bbbb-2");
    unseen.ask("Hooks were switched off for me");
    Session::of(&world, "cccc-3").start("startup");
    assert_eq!(runs(&world), [], "it may still run");
    first_used_an_hour_ago(&world);
    unseen.falls_silent();
    let told = Session::of(&world, "dddd-4").start("startup");
    assert!(told.contains("Hooks were switched off for me"), "{told}");
    Session::of(&world, "eeee-5").start("startup");
    assert_eq!(runs(&world).len(), 1);
}

#[test]
fn a_handoff_by_the_agent_is_not_repeated_by_its_hook() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Do the work, then write a handoff");
    world.run(&["run", "--note", "did the work", "--current-state", "all is done"]).expect(0);
    session.turn();
    session.end();
    assert_eq!(runs(&world).len(), 1);
    session.ask("One thing more");
    session.end();
    assert_eq!(runs(&world).len(), 2);
}

/// A fork begins with a copy of its parent, which the parent hands over itself.
#[test]
fn a_fork_hands_over_only_its_own_part() {
    let world = World::with_git();
    let fork = Session::of(&world, "aaaa-1");
    fork.ask("What the parent was asked");
    fork.start("fork");
    fork.ask("What the fork was asked");
    fork.end();
    let latest = world.read(".agent-history/LATEST.md");
    assert!(latest.contains("What the fork was asked") && !latest.contains("What the parent"), "{latest}");
}

/// Codex keeps the sessions of its terminal interface in a server: whether that lives says nothing about them.
#[test]
fn a_session_in_a_server_is_over_when_it_has_been_silent_for_a_while() {
    let world = World::with_git();
    let id = "01a1e309-8a63-7661-a887-d8397e85dca2";
    let path = world.home().join(".codex/sessions/2026/11/15").join(format!("rollout-2026-11-15T10-00-00-{id}.jsonl"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let record =
        |kind: &str, payload: Value| json!({ "timestamp": "2026-11-15T10:00:00Z", "type": kind, "payload": payload });
    let said = json!([{ "type": "input_text", "text": "Asked in a terminal" }]);
    let lines = [
        record("session_meta", json!({ "id": id, "cwd": world.root().canonicalize().unwrap(), "source": "cli" })),
        record("response_item", json!({ "type": "message", "role": "user", "content": said })),
    ];
    std::fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let payload = json!({ "session_id": id, "transcript_path": path, "cwd": world.root(), "source": "startup",
        "hook_event_name": "SessionStart" });
    let mut server = world.clean("timeout");
    server.args(["60", "sh", "-c", &format!("{BINARY} hook --agent codex; true"), "app-server"]);
    feed(&mut server, payload.to_string().as_bytes()).expect(0);
    let told = Session::of(&world, "bbbb-2").start("startup");
    assert!(!told.contains("Asked in a terminal"), "it was written to just now: {told}");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(11 * 60);
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let told = Session::of(&world, "cccc-3").start("startup");
    assert!(told.contains("Asked in a terminal") && told.contains(", codex"), "{told}");
}

#[test]
fn the_warmup_is_as_long_as_the_reason_of_the_start_asks() {
    let world = World::with_git();
    world.run(&["run", "--note", "the parser is half done"]).expect(0);
    world.run(&["memory", "add", "decision", "Keep the lexer"]).expect(0);
    let session = Session::of(&world, "aaaa-1");
    let whole = session.start("startup");
    assert!(whole.contains("Keep the lexer") && whole.contains("## Since then"), "{whole}");
    assert_eq!(session.start("startup"), "", "a second installation of the same hook");
    let news = session.start("resume");
    assert!(news.contains("## Since then") && !news.contains("Keep the lexer"), "{news}");
    session.ask("Mend the lexer first");
    session.ask("Then the docs");
    let short = session.start("compact");
    assert!(short.len() <= 2_000, "{}", short.len());
    assert!(short.contains("\n- Mend the lexer first\n") && short.contains("Keep the lexer"), "{short}");
}

#[test]
fn a_config_that_nobody_allowed_runs_no_command_and_goes_nowhere() {
    let config = "[backend]\ntype = \"git\"\n[[step]]\nname = \"evil\"\nkind = \"command\"\nshell = \"echo ran >> evidence\"\n\
                  [[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"history\"\nkind = \"history\"\n";
    let world = World::with_git();
    world.write("handover.toml", config);
    let session = Session::of(&world, "aaaa-1");
    let told = session.start("startup");
    assert!(told.contains("`agent-handover allow`"), "{told}");
    session.ask("Work in somebody else's repository");
    session.end();
    assert_eq!(runs(&world)[0].0, "completed");
    assert!(!world.exists("evidence"));
    assert!(world.read(".agent-history/LATEST.md").contains("Work in somebody else's repository"));

    world.write("handover.toml", config.replace("type = \"git\"", "type = \"null\""));
    world.run(&["allow"]).expect(0);
    session.ask("Work in my own");
    session.end();
    assert_eq!(world.read("evidence"), "ran\n");
    assert!(!Session::of(&world, "bbbb-2").start("startup").contains("agent-handover allow"));
}

/// A repository may bring a database with it, with a handover that was never finished.
#[test]
fn unfinished_runs_from_somebody_else_are_not_run() {
    let world = World::with_git();
    world.write("PAUSE", "");
    let config = "[[step]]\nname = \"evil\"\nkind = \"command\"\nshell = \"echo ran >> evidence\"\n";
    world.write("handover.toml", config);
    finish(&mut world.command(&["run", "--note", "planted"])).expect(3);
    for file in ["PAUSE", "handover.toml"] {
        std::fs::remove_file(world.path(file)).unwrap();
    }
    let session = Session::of(&world, "aaaa-1");
    let told = session.start("startup");
    assert!(told.contains("1 handover unfinished"), "{told}");
    session.ask("Look at this repository");
    session.end();
    assert!(!world.exists("evidence"));
    assert_eq!(runs(&world).iter().map(|(status, _)| status.as_str()).collect::<Vec<_>>(), ["unfinished", "completed"]);
    // Neither does it write where its config points.
    world.write(
        "handover.toml",
        format!(
            "[handover]\nmemory_dir = \"{}\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n",
            world.home().join("away").display()
        ),
    );
    session.ask("And again");
    session.end();
    assert!(!world.home().join("away").exists());
    assert!(log(&world).contains("not read or written until `agent-handover allow`"), "{}", log(&world));
}

#[test]
fn a_pause_stops_all_but_the_answer() {
    let world = World::with_git();
    world.run(&["run", "--note", "before"]).expect(0);
    let killed = Session::dying(&world, "aaaa-1");
    killed.start("startup");
    killed.ask("Killed before the pause");
    killed.changed_at("2026-11-15T09:00:00Z");
    world.write("PAUSE", "deploying");
    let before = world.tree();
    let session = Session::of(&world, "bbbb-2");
    let told = session.start("startup");
    assert!(told.contains("Note: automation paused") && told.contains("before"), "{told}");
    session.ask("Said during the pause");
    session.end();
    assert_eq!(world.tree(), before);
    assert_eq!(runs(&world).len(), 2, "recorded, and waiting; nothing is swept");
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    let told = Session::of(&world, "cccc-3").start("startup");
    assert!(told.contains("- Said during the pause"), "{told}");
    assert_eq!(runs(&world).len(), 3, "and now the killed one is swept");
    assert!(runs(&world).iter().all(|(status, _)| status == "completed"));
}

#[test]
fn an_unreadable_transcript_still_leaves_the_last_message() {
    let world = World::with_git();
    let call = |event: &str, more: Value| {
        let mut payload = json!({ "session_id": "g1", "cwd": world.root(), "hook_event_name": event, "timestamp": "x",
            "transcript_path": "/home/u/.gemini/tmp/x/chats/s.jsonl" });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let output = feed(&mut world.command(&["hook", "--agent", "gemini"]), payload.to_string().as_bytes()).expect(0);
        assert!(output.json().is_object(), "Gemini shows to its user what is not JSON");
        output
    };
    call("SessionStart", json!({ "source": "startup" }));
    let said = json!({ "prompt": "Rename the crate <private>for the boss</private>", "prompt_response": "Renamed it",
        "stop_hook_active": false });
    call("AfterAgent", said);
    world.write("Cargo.toml", "[package]\nname = \"renamed\"\n");
    // It fires twice.
    for _ in 0..2 {
        call("SessionEnd", json!({ "reason": "exit" }));
        settled(&world);
    }
    assert_eq!(runs(&world), [("completed".to_owned(), "gemini".to_owned())]);
    let notes = world.read(NOTES);
    assert!(notes.contains("made from what the hooks were told"), "{notes}");
    assert!(notes.contains("Goal: Rename the crate") && notes.contains("The agent said last: Renamed it"), "{notes}");
    assert!(!notes.contains("boss"));
}

fn payloads(agent: &str) -> Vec<(String, Vec<u8>)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/hooks").join(agent);
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

/// The answers themselves are in tests/data/hooks/answers.txt; here they come from the program, byte for byte.
#[test]
fn every_payload_of_every_agent_is_answered_to_the_byte() {
    for agent in AGENTS {
        for (name, payload) in payloads(agent.name) {
            let world = World::new();
            world.run(&["run", "--note", "something to tell"]).expect(0);
            // The directory in them is that of a project on another machine.
            let payload = String::from_utf8(payload).unwrap();
            let payload = payload
                .replace("/srv/parser/src", "/srv/parser")
                .replace("/srv/parser", world.root().to_str().unwrap());
            let payload = payload.into_bytes();
            let call = agents::recognise(&payload, Some(agent.name), &|_| None);
            let output = feed(&mut world.command(&["hook", "--agent", agent.name]), &payload).expect(0);
            let case = format!("{}/{name}", agent.name);
            let with = |context: Option<&str>| agents::answer(agent, &call.event, context);
            let whole = world.run(&["warmup"]).stdout;
            match call.event {
                _ if call.is_subagent => assert_eq!(output.stdout, with(None), "{case}"),
                Event::SessionStart if !matches!(call.source.as_deref(), Some("resume" | "compact" | "fork")) => {
                    assert_eq!(output.stdout, with(Some(&whole)), "{case}");
                }
                Event::SessionStart | Event::BeforeCompaction => {
                    let silent = with(None);
                    assert!(output.stdout == silent || output.stdout.contains("agent-handover warmup"), "{case}");
                }
                _ => assert_eq!(output.stdout, with(None), "{case}"),
            }
            settled(&world);
        }
    }
}

#[test]
fn a_hook_always_exits_0_and_logs_why() {
    let world = World::with_git();
    world.run(&["run", "--note", "n"]).expect(0);
    let deep = format!("{{\"session_id\":\"s\",\"hook_event_name\":\"Stop\",\"x\":{}", "[".repeat(500_000));
    let long = format!("{{\"session_id\":\"{}\",\"hook_event_name\":\"SessionEnd\"}}", "s".repeat(1 << 20));
    let directory = world.root().display().to_string();
    let tricks = [
        r#"{"session_id":"s","hook_event_name":"SessionEnd","transcript_path":"/dev/zero"}"#.to_owned(),
        r#"{"session_id":"s","hook_event_name":"SessionEnd","transcript_path":"/etc/passwd","turn_id":"t"}"#.to_owned(),
        format!(r#"{{"session_id":"s","hook_event_name":"SessionEnd","transcript_path":"{directory}"}}"#),
        r#"{"session_id":"../../../x","hook_event_name":"Stop","cwd":"/nowhere/at/all"}"#.to_owned(),
        r#"{"session_id":"s","hook_event_name":"SessionStart","cwd":"../../.."}"#.to_owned(),
        r#"{"session_id":"s","hook_event_name":"SessionStart","cwd":"/proc/self/fd"}"#.to_owned(),
        r#"{"session_id":7,"hook_event_name":["Stop"],"cwd":{}}"#.to_owned(),
        "{\"session_id\":\"\\u001b[2J\\u0000\",\"hook_event_name\":\"Stop\"}".to_owned(),
        "{\"session_id\":\"s\",\"hook_event_name\":\"Sto".to_owned(),
        String::new(),
        "\u{feff}null".to_owned(),
        deep,
        long,
    ];
    for payload in &tricks {
        for agent in ["claude-code", "codex", "gemini", "nobody"] {
            let output = feed(&mut world.command(&["hook", "--agent", agent]), payload.as_bytes());
            assert_eq!(output.code, 0, "{payload:.80}: {}", output.stderr);
            // An unknown agent gets the text itself.
            let is_fit = output.stdout.is_empty()
                || serde_json::from_str::<Value>(&output.stdout).is_ok()
                || output.stdout.starts_with(MARKER);
            assert!(is_fit, "{}", output.stdout);
            assert!(!output.stderr.contains("has a bug"), "{}", output.stderr);
        }
    }
    let not_text = feed(&mut world.command(&["hook"]), &[0xff, 0xfe, 0x00, b'{']);
    assert_eq!(not_text.code, 0);
    settled(&world);
    let log = log(&world);
    assert!(log.lines().count() >= tricks.len() && !log.contains('\u{1b}'), "{log}");
    assert!(log.contains("stdin is not one whole JSON object") && log.contains("nothing came on stdin"), "{log}");
    assert!(log.contains("is not a plain file"), "{log}");
    // Nothing but the note that was there before the tricks.
    assert_eq!(runs(&world).len(), 1);
    // A flag of another version, help, and no usable place are no reason to block an agent either.
    for arguments in [&["hook", "--no-such-flag"][..], &["hook", "--help"], &["hook", "--agent"]] {
        let output = world.run(arguments).stderr_ignored("the usage of the command");
        assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{arguments:?}");
    }
}

#[test]
fn a_payload_of_two_hundred_megabytes_is_read_to_its_end() {
    let world = World::with_git();
    let mut child = world.command(&["hook", "--agent", "claude-code"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(br#"{"session_id":"s","hook_event_name":"Stop","last_assistant_message":""#).unwrap();
    let part = vec![b'a'; 1 << 20];
    let mut most = 0;
    for _ in 0..200 {
        input.write_all(&part).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let resident =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse().ok());
        most = most.max(resident.unwrap_or(0u64));
    }
    drop(input);
    output(child).expect(0);
    assert!(most < 64 << 10, "{most} kB were held");
    assert!(log(&world).contains(" turn-end s "), "{}", log(&world));
}

#[test]
fn a_writer_that_never_closes_the_pipe_is_not_waited_for() {
    let world = World::new();
    world.run(&["run", "--note", "something to tell"]).expect(0);
    let mut child = world.command(&["hook", "--agent", "codex"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(br#"{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}"#).unwrap();
    let output = output(child).expect(0);
    drop(input);
    assert!(output.stdout.contains("something to tell"), "{}", output.stdout);
}

#[test]
fn a_broken_project_is_reported_and_does_not_block_the_agent() {
    let broken = |prepare: &dyn Fn(&World), said: &str| {
        let world = World::with_git();
        world.run(&["run", "--note", "known from before"]).expect(0);
        prepare(&world);
        let session = Session::of(&world, "aaaa-1");
        session.ask("Work on");
        for event in ["SessionStart", "Stop", "PreCompact", "SessionEnd"] {
            let output = session.call(event, json!({ "source": "startup" }));
            assert!(output.stderr.contains(said), "{event}: {}", output.stderr);
            if event == "SessionStart" {
                assert!(output.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().starts_with(MARKER));
            }
        }
        let told = std::fs::read_to_string(world.path(".agent-handover/log/hook.log")).unwrap_or_default();
        let state = world.home().join(".local/state/agent-handover/hook.log");
        let told = told + &std::fs::read_to_string(state).unwrap_or_default();
        assert!(told.lines().filter(|line| line.contains(said)).count() >= 4, "{told}");
    };
    let damage = |world: &World| {
        for part in ["checkpoint.db", "checkpoint.db-wal", "checkpoint.db-shm"] {
            let _ = std::fs::remove_file(world.path(&format!(".agent-handover/{part}")));
        }
        world.write(".agent-handover/checkpoint.db", "no database at all ".repeat(100));
    };
    broken(&damage, "is not a usable checkpoint");
    let no_place = |world: &World| {
        std::fs::remove_dir_all(world.path(".agent-handover")).unwrap();
        world.write(".agent-handover", "a file where the directory should be");
    };
    broken(&no_place, ".agent-handover");
    broken(&|world| world.write("handover.toml", "[[step]\n"), "handover.toml");
}

#[test]
fn without_git_a_session_is_handed_over_all_the_same() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.ask("There is no git on this machine");
    let payload = session.payload("SessionEnd", json!({})).to_string();
    let mut command = world.command(&["hook", "--agent", "claude-code"]);
    feed(command.env("PATH", world.home()), payload.as_bytes()).expect(0);
    settled(&world);
    assert_eq!(runs(&world)[0].0, "completed");
    let told = Session::of(&world, "bbbb-2").start("startup");
    assert!(told.contains("There is no git on this machine"), "{told}");
}

/// A log is for people; it must not fill a disk.
#[test]
fn the_log_is_bounded() {
    let world = World::new();
    world.run(&["run", "--note", "n"]).expect(0);
    let line = "2026-11-15T10:04:05.000Z codex turn-end s 1ms noted\n";
    std::fs::create_dir_all(world.path(".agent-handover/log")).unwrap();
    world.write(".agent-handover/log/hook.log", line.repeat(6_000));
    feed(&mut world.command(&["hook", "--agent", "codex"]), br#"{"hook_event_name":"Stop","session_id":"s"}"#)
        .expect(0);
    assert_eq!(log(&world).lines().count(), 1);
    assert!(world.exists(".agent-handover/log/hook.log.1"));
}

/// Calls that wait for the disk before the hook itself returns; what its child does later is nobody's wait. `None` where
/// there is no strace.
fn fsyncs(world: &World, payload: &Value) -> Option<usize> {
    // The child of an earlier hook may still read, so that the log cannot be emptied, or write, so that it is not empty.
    wait_until("the child of the earlier hook", || !has_child(world));
    let is_busy: bool = world.database().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert!(!is_busy, "somebody else uses the database");
    let trace = world.home().join("trace");
    let mut command = world.clean("strace");
    command.args(["-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync,syncfs,sync", "-o"]).arg(&trace);
    command.args([BINARY, "hook", "--agent", "claude-code"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    settled(world);
    Some(
        std::fs::read_to_string(trace)
            .unwrap()
            .lines()
            .filter(|line| line.contains("sync(") || line.contains("syncfs("))
            .count(),
    )
}

#[test]
fn a_hook_waits_for_the_disk_once() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Write the first part");
    session.end();
    session.ask("Second");
    let Some(turn) = fsyncs(&world, &session.payload("Stop", json!({}))) else {
        assert!(std::env::var_os("CI").is_none(), "strace is not installed, and CI must not skip this");
        return;
    };
    // Beginning an empty log takes two: its header and its name. Then one transaction.
    assert_eq!(turn, 2 + 1);
    assert_eq!(fsyncs(&world, &session.payload("PreCompact", json!({}))), Some(2 + 1));
    assert_eq!(fsyncs(&world, &session.payload("SessionEnd", json!({}))), Some(2 + 1));
    assert_eq!(runs(&world).len(), 2, "and yet it is recorded");
    assert_eq!(fsyncs(&world, &session.payload("SessionStart", json!({ "source": "startup" }))), Some(2 + 1));
}

/// What git is asked before the hook returns.
fn git_calls(world: &World, payload: &Value) -> Vec<String> {
    let log = world.home().join("git.log");
    let _ = std::fs::remove_file(&log);
    let path = world.stand_in_for_git(&format!("echo \"$PPID $@\" >> {}\nexec $GIT \"$@\"", log.display()));
    let mut command = world.command(&["hook", "--agent", "claude-code"]);
    let mut child = command.env("PATH", path).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let own = format!("{} ", child.id());
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    settled(world);
    let asked = std::fs::read_to_string(&log).unwrap_or_default();
    asked
        .lines()
        .filter_map(|line| line.strip_prefix(&own))
        .filter_map(|line| line.split(' ').nth(2))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_hook_asks_git_no_more_than_it_must() {
    let world = World::with_git();
    let commit = ["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"];
    world.git(&commit);
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Write the first part");
    assert_eq!(git_calls(&world, &session.payload("Stop", json!({}))), [""; 0]);
    assert_eq!(git_calls(&world, &session.payload("PreCompact", json!({ "trigger": "auto" }))), [""; 0]);
    assert_eq!(git_calls(&world, &session.payload("SessionEnd", json!({}))), [""; 0]);
    assert_eq!(runs(&world), [("completed".to_owned(), "claude-code".to_owned())]);
    assert_eq!(git_calls(&world, &session.payload("SessionEnd", json!({}))), [""; 0], "there is nothing more");
    world.git(&commit);
    let mut asked =
        git_calls(&world, &Session::of(&world, "bbbb-2").payload("SessionStart", json!({ "source": "startup" })));
    asked.sort_unstable();
    assert_eq!(asked, ["diff", "log", "rev-list", "rev-parse", "status"]);
}

/// A person who meets a limit goes on with another agent, while the session that met it is still open.
#[test]
fn a_limit_that_a_hook_reports_is_shown_while_its_session_is_open() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Fix the parser");
    let more = json!({ "error": "rate_limit", "last_assistant_message": "try again at 2026-11-15T12:00:00Z" });
    session.call("StopFailure", more);
    let says = "claude-code reached a limit of its use at 2026-11-15T10:04:05Z; it ends at 2026-11-15T12:00:00Z";
    let status = world.run(&["status"]).expect(0).stdout;
    assert!(status.contains(says), "{status}");
    let warmup = world.run(&["warmup"]).expect(0).stdout;
    assert!(warmup.contains(says), "{warmup}");
    // The session goes on.
    session.call("Stop", json!({ "last_assistant_message": "Done." }));
    let status = world.run(&["status"]).expect(0).stdout;
    assert!(!status.contains("limit of its use"), "{status}");
}
