//! Whose session it is: an agent that another agent started does a part of that agent's work, and leaves no handover of its
//! own. Sessions that nobody sits in front of can be kept out.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::hook::{Session, first_used_an_hour_ago, log, runs, settled};
use super::support::*;

/// Programs that stand in for agents: each is a process of that name, and does what its script says.
struct Stage<'a> {
    world: &'a World,
    programs: PathBuf,
}

impl<'a> Stage<'a> {
    fn of(world: &'a World) -> Stage<'a> {
        let programs = world.place().join("programs");
        std::fs::create_dir_all(&programs).unwrap();
        Stage { world, programs }
    }

    fn agent(&self, name: &str, script: &str) -> PathBuf {
        let path = self.programs.join(name);
        // The last line keeps the shell from becoming the command before it.
        std::fs::write(&path, format!("#!/bin/sh\n{script}\nexit 0\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A line of a script that calls our hook.
    fn hook(&self, agent: &str, payload: &serde_json::Value) -> String {
        let session = payload["session_id"].as_str().unwrap();
        let event = payload["hook_event_name"].as_str().unwrap();
        let file = self.programs.join(format!("{agent}-{session}-{event}.json"));
        std::fs::write(&file, payload.to_string()).unwrap();
        format!("{BINARY:?} hook --agent {agent} < {file:?} >> {:?}", self.programs.join(format!("{agent}.out")))
    }

    fn said(&self, agent: &str) -> String {
        std::fs::read_to_string(self.programs.join(format!("{agent}.out"))).unwrap_or_default()
    }

    fn run(&self, program: &Path, arguments: &[&str]) {
        let output = finish(self.world.clean(program).args(arguments));
        assert_eq!(output.code, 0, "{}", output.stderr);
        settled(self.world);
    }

    /// The whole session of Claude Code as a script.
    fn inner(&self, session: &Session<'_>) -> PathBuf {
        let call = |event: &str, more| self.hook("claude-code", &session.payload(event, more));
        let lines = [
            call("SessionStart", json!({ "source": "startup" })),
            call("Stop", json!({ "stop_hook_active": false })),
            call("SessionEnd", json!({ "reason": "other" })),
        ];
        self.agent("claude", &lines.join("\n"))
    }

    /// The session of Codex as a script, with this line in the middle.
    fn outer(&self, id: &str, line: &str) -> PathBuf {
        let call = |event: &str, more: serde_json::Value| {
            let mut payload =
                json!({ "session_id": id, "cwd": self.world.root(), "hook_event_name": event, "turn_id": "t" });
            payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            self.hook("codex", &payload)
        };
        let lines = [
            call("SessionStart", json!({ "source": "startup" })),
            call("UserPromptSubmit", json!({ "prompt": "Let Claude review the parser" })),
            line.to_owned(),
            call("Stop", json!({ "last_assistant_message": "Claude found nothing." })),
            call("SessionEnd", json!({ "reason": "other" })),
        ];
        self.agent("codex", &lines.join("\n"))
    }
}

fn completed(world: &World) -> usize {
    runs(world).iter().filter(|(status, _)| status == "completed").count()
}

fn agents_of_runs(world: &World) -> Vec<String> {
    let connection = world.database();
    let mut statement = connection.prepare("SELECT agent FROM run ORDER BY seq").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn an_agent_inside_another_one_leaves_no_handover_of_its_own() {
    let world = World::with_git();
    let stage = Stage::of(&world);
    let inner = Session::of(&world, "inner-1");
    inner.ask("Review the parser");
    let claude = stage.inner(&inner);
    // `bash -lc` runs the last command in its own place, so there may be no shell between the two.
    let outer = stage.outer("0199aaaa-outer", &format!("CODEX_THREAD_ID=0199aaaa-outer {claude:?} -p 'Review'"));
    stage.run(&outer, &["exec", "x"]);
    assert_eq!(agents_of_runs(&world), ["codex"]);
    assert_eq!(stage.said("claude-code"), "", "it has a task of its own, and gets no context");
    let told = "the session is part of that of Codex, which started it";
    assert_eq!(log(&world).matches(told).count(), 3, "{}", log(&world));
    // The transcript that it left is nobody's either.
    first_used_an_hour_ago(&world);
    inner.falls_silent();
    Session::dying(&world, "later-1").start("startup");
    settled(&world);
    assert_eq!(agents_of_runs(&world), ["codex"]);
    // A person who resumes it makes it a session.
    let resumed = Session::dying(&world, "inner-1");
    resumed.start("resume");
    resumed.ask("Now fix what you found in the lexer");
    resumed.end();
    assert_eq!(agents_of_runs(&world), ["codex", "claude-code"]);
    let texts: String = world.tree().values().map(String::as_str).collect();
    assert!(texts.contains("what you found in the lexer") && !texts.contains("Review the parser"), "{texts}");
}

/// A new PID namespace without a `/proc` of its own shows no processes, as macOS does.
#[test]
fn where_no_process_can_be_seen_the_id_of_the_outer_session_shows_it() {
    let world = World::with_git();
    let stage = Stage::of(&world);
    let run = |program: &Path, arguments: &[&str]| {
        let output = finish(
            world.clean("unshare").args(["-rpf", "sh", "-c", "\"$@\"; echo ran", "-"]).arg(program).args(arguments),
        );
        // The end of the namespace ends what goes on in the background.
        world.run(&["run", "--resume"]).stderr_ignored("there may be nothing to resume");
        settled(&world);
        output.stdout.ends_with("ran\n")
    };
    let session = |id: &str| {
        let session = Session::of(&world, id);
        session.ask(&format!("Request of {id}"));
        stage.inner(&session)
    };
    let line = |id: &str, claude: &Path| format!("CODEX_THREAD_ID={id} {claude:?} -p 'Review'");
    let outer = stage.outer("0199aaaa-outer", &line("0199aaaa-outer", &session("inner-1")));
    if !run(&outer, &["exec", "x"]) {
        return skip("this machine lets nobody make a namespace");
    }
    assert_eq!(agents_of_runs(&world), ["codex"], "{}", log(&world));
    // A terminal that the outer agent once opened: its session has ended, or was never one of this project.
    for (id, outer) in [("own-2", "0199aaaa-outer"), ("own-3", "0199bbbb-elsewhere")] {
        let claude = session(id);
        assert!(run(&stage.agent("terminal", &line(outer, &claude)), &[]));
    }
    assert_eq!(agents_of_runs(&world), ["codex", "claude-code", "claude-code"], "{}", log(&world));
    // A client knows the id of its own session.
    let claude = session("own-session-4");
    assert!(run(&stage.agent("terminal", &format!("CLAUDE_CODE_SESSION_ID=own-session-4 {claude:?}")), &[]));
    assert_eq!(agents_of_runs(&world).len(), 4, "{}", log(&world));
}

/// The outer agent is still there, above the one that `continue` became.
#[test]
fn a_session_that_continue_started_is_no_part_of_the_outer_one() {
    let world = World::with_git();
    std::fs::create_dir_all(world.home().join(".config/agent-handover")).unwrap();
    std::fs::write(world.home().join(".config/agent-handover/config.toml"), "[hook]\nheadless = false\n").unwrap();
    let stage = Stage::of(&world);
    // It has no transcript yet when `continue` looks for the session that goes on.
    stage.inner(&Session::of(&world, "inner-1"));
    let path = format!("PATH={:?}:\"$PATH\"", stage.programs);
    let within = "CODEX_THREAD_ID=0199aaaa-outer CLAUDECODE=1 CLAUDE_CODE_ENTRYPOINT=sdk-cli";
    let note = format!("{BINARY:?} run --note 'next: look at the lexer' 2>/dev/null");
    let outer =
        stage.outer("0199aaaa-outer", &format!("{note}\n{path} {within} {BINARY:?} continue claude 2>/dev/null"));
    stage.run(&outer, &[]);
    assert!(stage.said("claude-code").contains("agent-handover warmup"), "it is a session: {}", log(&world));
    assert!(!log(&world).contains("is part of") && !log(&world).contains("headless"), "{}", log(&world));
}

#[test]
fn a_session_that_leaves_no_handover_does_not_wait_for_git() {
    let world = World::with_git();
    world.run(&["run", "--note", "n"]).expect(0);
    let own = world.home().join(".config/agent-handover");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("config.toml"), "[hook]\nheadless = false\n").unwrap();
    let stage = Stage::of(&world);
    let start = Session::of(&world, "headless-1").payload("SessionStart", json!({ "source": "startup" }));
    let program = stage.agent("claude", &stage.hook("claude-code", &start));
    let answered = world.home().join("answered");
    let script = format!("case \"$*\" in *status*) sleep 1.4; : > {answered:?};; esac\nexec \"$GIT\" \"$@\"");
    let path = world.stand_in_for_git(&script);
    finish(world.clean(&program).args(["-p", "x"]).env("PATH", path)).expect(0);
    assert!(log(&world).contains("nobody sits in front of the agent"), "{}", log(&world));
    assert!(!answered.exists(), "the session waited for the answer");
}

#[test]
fn an_agent_of_the_same_kind_inside_another_one_is_part_of_it() {
    let world = World::with_git();
    let stage = Stage::of(&world);
    let (inner, outer) = (Session::of(&world, "inner-1"), Session::of(&world, "outer-1"));
    inner.ask("Review the parser");
    outer.ask("Let another one review the parser");
    let claude = stage.inner(&inner);
    let nested = stage.programs.join("nested");
    std::fs::create_dir(&nested).unwrap();
    let inner_program = nested.join("claude");
    std::fs::rename(&claude, &inner_program).unwrap();
    let call = |event: &str, more| stage.hook("claude-code", &outer.payload(event, more));
    let lines = [
        call("SessionStart", json!({ "source": "startup" })),
        format!("CLAUDECODE=1 sh -c '{} -p x; true'", inner_program.display()),
        call("Stop", json!({})),
        call("SessionEnd", json!({ "reason": "other" })),
    ];
    stage.run(&stage.agent("claude", &lines.join("\n")), &[]);
    assert_eq!(agents_of_runs(&world).len(), 1);
    let texts: String = world.tree().values().map(String::as_str).collect();
    assert!(texts.contains("Let another one review the parser") && !texts.contains("inner-1"), "{texts}");
}

#[test]
fn a_variable_that_an_agent_left_behind_keeps_nobody_out() {
    let world = World::with_git();
    let stage = Stage::of(&world);
    let session = Session::of(&world, "own-1");
    session.ask("Fix the parser");
    let claude = stage.inner(&session);
    // A terminal that Codex once opened.
    let terminal = stage.agent("terminal", &format!("CODEX_THREAD_ID=0199aaaa-gone {claude:?}"));
    stage.run(&terminal, &[]);
    assert_eq!(agents_of_runs(&world), ["claude-code"]);
    // A client whose processes start each other.
    let session = Session::of(&world, "own-2");
    session.ask("Fix the lexer");
    let client = stage.inner(&session);
    let part = stage.programs.join("part");
    std::fs::create_dir(&part).unwrap();
    std::fs::rename(&client, part.join("claude")).unwrap();
    stage.run(&stage.agent("claude", &format!("CLAUDECODE=1 {:?}", part.join("claude"))), &[]);
    assert_eq!(agents_of_runs(&world), ["claude-code", "claude-code"]);
}

#[test]
fn an_agent_that_works_in_another_project_has_a_session_there() {
    let world = World::with_git();
    let stage = Stage::of(&world);
    let session = Session::of(&world, "own-1");
    session.ask("Fix the parser");
    let claude = stage.inner(&session);
    let project = world.root();
    let outer = stage.agent("codex", &format!("(cd {project:?} && CODEX_THREAD_ID=0199aaaa-outer {claude:?} -p x)"));
    let output = finish(world.clean(&outer).current_dir(world.home()));
    assert_eq!(output.code, 0, "{}", output.stderr);
    settled(&world);
    assert_eq!(agents_of_runs(&world), ["claude-code"]);
}

#[test]
fn sessions_that_nobody_sits_in_front_of_can_be_kept_out() {
    let world = World::with_git();
    Session::dying(&world, "first-0").start("startup");
    first_used_an_hour_ago(&world);
    let own = world.home().join(".config/agent-handover");
    std::fs::create_dir_all(&own).unwrap();
    let stage = Stage::of(&world);
    let run = |id: &str, arguments: &[&str]| {
        let session = Session::of(&world, id);
        session.ask("Fix the parser");
        stage.run(&stage.inner(&session), arguments);
    };
    run("counted-1", &["-p", "x"]);
    assert_eq!(completed(&world), 1, "by default they count");
    std::fs::write(own.join("config.toml"), "[hook]\nheadless = false\n").unwrap();
    run("headless-2", &["--print", "x"]);
    run("person-3", &["x"]);
    assert_eq!(completed(&world), 2);
    assert_eq!(log(&world).matches("nobody sits in front of the agent").count(), 3);
    // The environment shows it, too.
    let session = Session::of(&world, "headless-4");
    session.ask("Fix the parser");
    let program = stage.inner(&session);
    let output = finish(world.clean(&program).env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"));
    assert_eq!(output.code, 0);
    settled(&world);
    assert_eq!(completed(&world), 2);
    // A project may want them all the same.
    world.write("handover.toml", "[hook]\nheadless = true\n");
    run("counted-5", &["-p", "x"]);
    assert_eq!(completed(&world), 3);
    // Sessions that no hook saw are known by their transcripts.
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    for (id, entry) in [("headless-6", "sdk-cli"), ("person-7", "cli")] {
        let session = Session::of(&world, id);
        let message = json!({ "role": "user", "content": format!("Request of {id}") });
        session.write(&[json!({ "type": "user", "isSidechain": false, "entrypoint": entry, "message": message })]);
        session.falls_silent();
    }
    Session::dying(&world, "later-8").start("startup");
    wait_until("the sweep", || completed(&world) == 4);
    settled(&world);
    let texts: String = world.tree().values().map(String::as_str).collect();
    assert!(texts.contains("Request of person-7") && !texts.contains("Request of headless-6"));
}
