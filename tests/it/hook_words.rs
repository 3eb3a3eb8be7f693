//! What agents pass to their hooks: kept with the session, and handed over when its transcript cannot be used.

use serde_json::{Value, json};

use super::hook::{Session, feed, log, runs, settled};
use super::support::*;

/// A session of Claude Code whose hooks get everything and whose transcript is this file; `null` is none.
struct ToldSession<'a> {
    session: Session<'a>,
    transcript: Value,
}

impl<'a> ToldSession<'a> {
    fn of(world: &'a World, id: &'a str, transcript: Value) -> ToldSession<'a> {
        ToldSession { session: Session::of(world, id), transcript }
    }

    fn call(&self, event: &str, mut more: Value) -> Output {
        more["transcript_path"] = self.transcript.clone();
        self.session.call(event, more)
    }

    fn turn(&self, prompt: &str, answer: &str) {
        self.call("UserPromptSubmit", json!({ "prompt": prompt }));
        self.call("Stop", json!({ "last_assistant_message": answer }));
    }
}

const PROMPTS: [(&str, &str); 3] = [
    ("Port the parser to the new grammar <private>before the boss looks</private>", "The parser is ported."),
    ("No, never rename the public functions", "Understood, the names stay."),
    ("Add the error spans", "Spans are in for expressions.\n\nNext steps:\n- Add spans to statements"),
];

#[test]
fn a_session_whose_transcript_cannot_be_used_is_handed_over_from_what_its_hooks_were_told() {
    for (case, make, why) in [
        ("null", None, "the agent names no transcript"),
        ("missing", Some(None), "does not exist"),
        (
            "unknown",
            Some(Some("{\"kind\":\"of another program\"}\n")),
            "is not a transcript that this program can read",
        ),
        ("binary", Some(Some("\u{1}\u{2}\n\u{0}")), "is not a transcript that this program can read"),
        ("empty", Some(Some("")), "is empty"),
    ] {
        let world = World::with_git();
        let path = world.home().join("transcript.jsonl");
        if let Some(Some(content)) = make {
            std::fs::write(&path, content).unwrap();
        }
        let told = ToldSession::of(&world, "aaaa-1", if make.is_some() { json!(path) } else { Value::Null });
        told.call("SessionStart", json!({ "source": "startup" }));
        for (prompt, answer) in PROMPTS {
            told.turn(prompt, answer);
        }
        let edited = json!({ "tool_name": "Edit", "tool_input": { "file_path": world.path("src/spans.rs") } });
        told.call("PostToolUse", edited);
        told.call("SessionEnd", json!({ "reason": "prompt_input_exit" }));
        settled(&world);
        assert_eq!(runs(&world), [("completed".to_owned(), "claude-code".to_owned())], "{case}");
        let log = log(&world);
        let end = log.lines().find(|line| line.contains("session-end")).unwrap();
        assert!(
            end.contains("(prompt_input_exit), from what the hooks were told: ") && end.contains(why),
            "{case}: {end}"
        );
        let latest = world.read(".agent-history/LATEST.md");
        for part in ["Port the parser", "never rename the public functions", "Add spans to statements", "src/spans.rs"]
        {
            assert!(latest.contains(part), "{case}: {part}\n{latest}");
        }
        assert!(!latest.contains("boss"), "{latest}");
        let next = Session::of(&world, "bbbb-2").start("startup");
        for part in ["Port the parser to the new grammar", "never rename", "Add spans to statements"] {
            assert!(next.contains(part), "{case}: {part}\n{next}");
        }
        // Once.
        told.call("SessionEnd", json!({ "reason": "other" }));
        settled(&world);
        assert_eq!(runs(&world).len(), 1, "{case}: {}", super::hook::log(&world));
    }
}

#[test]
fn a_transcript_that_is_gone_when_it_is_read_loses_nothing() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Port the parser");
    session.call("UserPromptSubmit", json!({ "prompt": "Port the parser" }));
    session.edit("parser.rs");
    session.call("Stop", json!({ "last_assistant_message": "Half of it is ported. Next: the lexer tables" }));
    // The session ends while automation is paused; before it goes on, somebody cleans up.
    world.write("PAUSE", "");
    session.end();
    std::fs::remove_file(session.transcript()).unwrap();
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    world.run(&["run", "--resume"]).expect(0);
    let latest = world.read(".agent-history/LATEST.md");
    assert!(latest.contains("Port the parser") && latest.contains("lexer tables"), "{latest}");
}

/// The words are only for a transcript that cannot be used.
#[test]
fn a_transcript_that_can_be_read_is_used_alone() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("What the transcript says");
    session.edit("parser.rs");
    session.call("UserPromptSubmit", json!({ "prompt": "What the hook was told" }));
    session.end();
    let latest = world.read(".agent-history/LATEST.md");
    assert!(latest.contains("What the transcript says") && !latest.contains("What the hook was told"), "{latest}");
    assert!(!log(&world).contains("from what the hooks were told"), "{}", log(&world));
    // And nothing of them is left.
    let left: i64 = world.database().query_row("SELECT count(*) FROM session_word", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
    session.end();
    assert_eq!(runs(&world).len(), 1);
}

#[test]
fn what_an_agent_said_itself_is_not_repeated_from_its_words() {
    let world = World::with_git();
    let told = ToldSession::of(&world, "aaaa-1", Value::Null);
    told.call("SessionStart", json!({ "source": "startup" }));
    told.call("UserPromptSubmit", json!({ "prompt": "Do the work, then hand over" }));
    world.run(&["run", "--note", "did the work"]).expect(0);
    told.call("SessionEnd", json!({ "reason": "other" }));
    settled(&world);
    assert_eq!(runs(&world).len(), 1, "{}", log(&world));
}

#[test]
fn secrets_in_words_are_never_stored() {
    let world = World::with_git();
    let token = ["glpat-", "x9Kq2Lm4Np6Rs8Tv1Wy3"].concat();
    let told = ToldSession::of(&world, "aaaa-1", Value::Null);
    told.turn(&format!("Deploy with {token}"), &format!("Deployed with {token}"));
    let error = json!({ "error": "rate_limit", "last_assistant_message": format!("refused {token}") });
    told.call("StopFailure", error);
    let database = world.database();
    let mut rows = database.prepare("SELECT kind || ': ' || text FROM session_word ORDER BY seq").unwrap();
    let words: Vec<String> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let redacted = "[redacted:gitlab-token]";
    let expected = [
        format!("request: Deploy with {redacted}"),
        format!("answer: Deployed with {redacted}"),
        format!("error: rate_limit: refused {redacted}"),
    ];
    assert_eq!(words, expected);
}

/// A session that died is swept with what its hooks were told.
#[test]
fn a_killed_session_without_a_transcript_is_swept() {
    let world = World::with_git();
    let killed = Session::dying(&world, "aaaa-1");
    for (event, more) in [
        ("SessionStart", json!({ "source": "startup", "transcript_path": null })),
        ("UserPromptSubmit", json!({ "prompt": "You may never come back", "transcript_path": null })),
    ] {
        killed.call(event, more);
    }
    let told = Session::of(&world, "bbbb-2").start("startup");
    assert!(told.contains("You may never come back"), "{told}");
    assert!(log(&world).contains(", from what the hooks were told: the agent names no transcript"), "{}", log(&world));
}

#[test]
fn each_compaction_gets_its_context() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Port the parser");
    for round in 0..3 {
        session.call("PreCompact", json!({ "trigger": "auto" }));
        let told = session.start("compact");
        assert!(told.contains("Port the parser"), "compaction {round}: {told}");
        assert_eq!(session.start("compact"), "", "a second installation of the same hook");
        session.turn();
    }
}

/// An answer may be anything; the row of its session stays small.
#[test]
fn the_words_of_a_session_are_bounded() {
    let world = World::with_git();
    let long = "word ".repeat(20_000);
    for turn in 0..40 {
        let payload = json!({ "session_id": "g1", "cwd": world.root(), "hook_event_name": "AfterAgent", "timestamp": "x",
            "prompt": format!("request {turn} {long}"), "prompt_response": format!("answer {turn} {long}") });
        feed(&mut world.command(&["hook", "--agent", "gemini"]), payload.to_string().as_bytes()).expect(0);
    }
    let size: i64 =
        world.database().query_row("SELECT sum(length(text)) FROM session_word", [], |row| row.get(0)).unwrap();
    assert!(size <= 128 << 10, "{size}");
    let first: String =
        world.database().query_row("SELECT text FROM session_word ORDER BY seq LIMIT 1", [], |row| row.get(0)).unwrap();
    assert!(first.starts_with("request 0 "), "the goal stays: {first:.40}");
}

/// Claude Code reports the start of a fork by the id of its parent. The id of the fork comes with the end of its first turn.
#[test]
fn a_fork_that_was_announced_as_its_parent_hands_over_only_its_own_part() {
    let world = World::with_git();
    let (parent, fork) = (Session::of(&world, "aaaa-1"), Session::of(&world, "bbbb-2"));
    let record = |session: &Session<'_>, uuid: &str, request: &str| {
        let id = session.payload("", json!({}))["session_id"].clone();
        let message = json!({ "role": "user", "content": request });
        let record = json!({ "type": "user", "uuid": uuid, "sessionId": id, "cwd": world.root().canonicalize().unwrap(),
            "isSidechain": false, "message": message });
        let path = session.transcript();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, format!("{before}{record}\n")).unwrap();
    };
    parent.start("startup");
    record(&parent, "u1", "What the parent was asked");
    parent.end();
    parent.start("resume");
    record(&fork, "u1", "What the parent was asked");
    record(&fork, "u2", "What the fork was asked");
    fork.turn();
    fork.end();
    assert_eq!(runs(&world).len(), 2);
    let latest = world.read(".agent-history/LATEST.md");
    assert!(latest.contains("What the fork was asked") && !latest.contains("What the parent"), "{latest}");
}

/// Claude Code writes its transcript after it has called its hooks, and may be killed before it does.
#[test]
fn an_answer_that_is_not_in_the_transcript_yet_is_handed_over() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Port the lexer");
    session.call("Stop", json!({ "last_assistant_message": "The lexer is ported. Next: write the docs." }));
    session.end();
    let notes = world.run(&["memory", "list", "--layer", "1", "--json"]).stdout;
    assert!(notes.contains("write the docs"), "{notes}");
    assert!(!notes.contains("Next:\\n- Port the lexer"), "{notes}");
}
