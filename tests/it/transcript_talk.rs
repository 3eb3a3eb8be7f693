//! What transcripts say: requests, answers, refusals, plans and the agent's texts, and what was done in each turn.

use agent_handover::testing::transcript::{Outcome, Transcript, TurnWork, UtteranceKind};
use serde_json::json;

use super::transcripts::{SECRETS, is_fit_to_be_kept, read, tests};

/// A record of Claude Code, which is the session's own.
fn record(kind: &str, content: serde_json::Value) -> String {
    let message = json!({ "role": kind, "model": "m", "content": content });
    format!("{}\n", json!({ "type": kind, "sessionId": "s", "cwd": "/w", "isSidechain": false, "message": message }))
}

fn tool(id: &str, name: &str, input: serde_json::Value) -> String {
    record("assistant", json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]))
}

/// The result of a tool call, with what the client records beside it.
fn result(id: &str, content: &str, is_error: bool, beside: serde_json::Value) -> String {
    let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error });
    let record =
        json!({ "type": "user", "sessionId": "s", "message": { "content": [block] }, "toolUseResult": beside });
    format!("{record}\n")
}

fn says(text: &str) -> String {
    record("assistant", json!([{ "type": "text", "text": text }]))
}

/// A tool call that works.
fn done(id: &str, name: &str, input: serde_json::Value) -> String {
    tool(id, name, input) + &result(id, "ok", false, json!({}))
}

fn codex(payload: serde_json::Value) -> String {
    format!("{}\n", json!({ "timestamp": "2026-11-14T10:00:00Z", "type": "response_item", "payload": payload }))
}

fn talk(found: &Transcript) -> Vec<(usize, UtteranceKind, &str, &str)> {
    found.talk.iter().map(|said| (said.turn, said.kind, said.text.as_str(), said.about.as_str())).collect()
}

const REFUSED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). ";

#[test]
fn everything_a_person_says_to_claude_code_is_read() {
    use UtteranceKind::*;
    let question = "Which format?";
    let asked = json!({ "questions": [{ "question": question, "options": [{ "label": "csv" }] }, { "question": "Which \"name\"?" }] });
    let plan = "# Stream to disk\n1. Open the file";
    let text = [
        record("user", json!("<command-message>fix-issue</command-message>\n<command-name>/fix-issue</command-name>\n<command-args>4711 login loops</command-args>")),
        record("user", json!("<command-name>/clear</command-name>\n<command-args></command-args>")),
        says("I look at the loop."),
        tool("1", "Bash", json!({ "command": "docker compose up" })),
        result("1", &format!("{REFUSED}To tell you how to proceed, the user said:\nnever start docker here"), true, json!("Error")),
        tool("2", "Edit", json!({ "file_path": "/w/a.rs" })),
        result("2", &format!("{REFUSED}STOP what you are doing and wait for the user to tell you how to proceed."), true, json!("")),
        tool("3", "AskUserQuestion", asked.clone()),
        result("3", "User has answered your questions: …", false, json!({ "questions": [], "answers": { question: "csv", "Which \"name\"?": "a, b" }, "annotations": { question: { "notes": "not pandas" } } })),
        tool("4", "AskUserQuestion", asked),
        result("4", "User has answered your questions: \"Which format?\"=\"json, \"pretty\"\", \"Which \"name\"?\"=\"x\". You can now continue with the user's answers in mind.", false, json!({})),
        tool("5", "ExitPlanMode", json!({ "plan": "# Rejected" })),
        result("5", &format!("{REFUSED}To tell you how to proceed, the user said:\nsmaller steps\n\nNote: The user's next message may contain a correction."), true, json!("")),
        tool("6", "ExitPlanMode", json!({ "plan": "# As proposed" })),
        result("6", "User has approved your plan.", false, json!({ "plan": plan })),
        tool("7", "mcp__db__drop", json!({})),
        result("7", &format!("{REFUSED}To tell you how to proceed, the user said: no"), true, json!("")),
        says("cli.py:42 still prints; next: stream to disk"),
        record("user", json!([{ "type": "text", "text": "<ide_opened_file>x</ide_opened_file>" }, { "type": "text", "text": "no, use csv not pandas" }])),
        record("user", json!("<command-message>review</command-message>\n<command-name>/review</command-name>")),
        format!("{}\n", json!({ "type": "attachment", "sessionId": "s", "attachment": { "type": "queued_command", "prompt": [{ "type": "text", "text": "and then lint" }] } })),
    ]
    .concat();
    let found = read(&text);
    assert_eq!(
        talk(&found),
        [
            (1, SlashCommand, "/fix-issue 4711 login loops", ""),
            (1, AgentText, "I look at the loop.", ""),
            (1, Refusal, "never start docker here", "docker compose up"),
            (1, Answer, "csv\nnot pandas", question),
            (1, Answer, "a, b", "Which \"name\"?"),
            (1, Answer, "json, \"pretty\"", question),
            (1, Answer, "x", "Which \"name\"?"),
            (1, Refusal, "smaller steps", "# Rejected"),
            (1, ApprovedPlan, plan, ""),
            (1, Refusal, "no", "mcp__db__drop"),
            (1, AgentText, "cli.py:42 still prints; next: stream to disk", ""),
            (2, Request, "no, use csv not pandas", ""),
            (3, SlashCommand, "/review", ""),
            (4, Request, "and then lint", ""),
        ]
    );
    assert_eq!(found.first_request, "/fix-issue 4711 login loops");
    assert_eq!((found.last_request.as_str(), found.requests), ("and then lint", 4));
}

#[test]
fn what_clients_and_subagents_say_is_not_talk() {
    let synthetic = json!({ "type": "assistant", "sessionId": "s", "message": { "model": "<synthetic>", "content": [{ "type": "text", "text": "No response requested." }] } });
    let error = json!({ "type": "assistant", "sessionId": "s", "isApiErrorMessage": true, "message": { "model": "m", "content": [{ "type": "text", "text": "API Error: 529" }] } });
    let side = json!({ "type": "assistant", "sessionId": "s", "isSidechain": true, "message": { "model": "m", "content": [{ "type": "text", "text": "I am a subagent" }, { "type": "tool_use", "id": "q", "name": "AskUserQuestion", "input": { "questions": [{ "question": "x?" }] } }] } });
    let thought = record("assistant", json!([{ "type": "thinking", "thinking": "hm" }]));
    let text = [
        record("user", json!("fix it")),
        format!("{synthetic}\n{error}\n{side}\n{thought}"),
        result("q", "", false, json!({ "answers": { "x?": "y" } })),
        tool("1", "AskUserQuestion", json!({ "questions": [{ "question": "x?" }] })),
        result("1", &format!("{REFUSED}To tell you how to proceed, the user said:\nThe user wants to clarify these questions.\n    More."), true, json!("")),
        says("done"),
        says("done"),
        record("user", json!("[Request interrupted by user]")),
    ]
    .concat();
    let found = read(&text);
    let texts: Vec<&str> = found.talk.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(texts, ["fix it", "done"]);
}

#[test]
fn a_request_is_recorded_twice_but_may_also_be_made_twice() {
    let queued = |text: &str| {
        format!(
            "{}\n",
            json!({ "type": "attachment", "sessionId": "s", "attachment": { "type": "queued_command", "prompt": text } })
        )
    };
    let found =
        read(&[record("user", json!("fix it")), queued("yes"), says("ok"), record("user", json!("yes"))].concat());
    assert_eq!(found.requests, 2, "queued, then sent");
    let found = read(&[record("user", json!("yes")), says("ok"), record("user", json!("yes"))].concat());
    assert_eq!(found.requests, 2, "said twice");
}

#[test]
fn everything_a_person_says_to_codex_is_read() {
    use UtteranceKind::*;
    let message = |role: &str, text: &str| {
        codex(json!({ "type": "message", "role": role, "content": [{ "type": "text", "text": text }] }))
    };
    let questions = json!({ "questions": [{ "id": "db", "question": "Which database?" }, { "id": "key", "question": "Which key?", "isSecret": true }] });
    let answers = json!({ "answers": { "db": { "answers": ["SQLite", "user_note: no server"] }, "key": { "answers": ["hunter2hunter2"] } } });
    let text = [
        format!("{}\n", json!({ "timestamp": "2026-11-14T10:00:00Z", "type": "session_meta", "payload": { "id": "x", "cwd": "/w" } })),
        message("user", "Store the sessions"),
        codex(json!({ "type": "function_call", "name": "request_user_input", "call_id": "1", "arguments": questions.to_string() })),
        codex(json!({ "type": "function_call_output", "call_id": "1", "output": answers.to_string() })),
        message("assistant", "This is the plan.\n<proposed_plan>\n# Sessions\n- a table\n</proposed_plan>\n"),
        message("user", "Implement the plan."),
        message("assistant", "Done: 3 tests pass."),
    ]
    .concat();
    let found = read(&text);
    assert_eq!(
        talk(&found),
        [
            (1, Request, "Store the sessions", ""),
            (1, Answer, "SQLite\nno server", "Which database?"),
            (1, AgentText, "This is the plan.\n# Sessions\n- a table", ""),
            (2, Request, "Implement the plan.", ""),
            (2, ApprovedPlan, "# Sessions\n- a table", ""),
            (2, AgentText, "Done: 3 tests pass.", ""),
        ]
    );
}

#[test]
fn the_work_of_each_turn_is_read() {
    let bash = |id: &str, command: &str| done(id, "Bash", json!({ "command": command }));
    let todo = |texts: &[&str]| {
        let todos: Vec<_> = texts.iter().map(|text| json!({ "content": text, "status": "pending" })).collect();
        json!({ "todos": todos })
    };
    let text = [
        record("user", json!("make it stream")),
        done("1", "Write", json!({ "file_path": "/w/src/a.py" })),
        done("2", "Edit", json!({ "file_path": "/w/src/b.py" })),
        tool("3", "Bash", json!({ "command": "python -m build" })),
        result("3", "Exit code 1\nno", true, json!("Error")),
        tool("t1", "TodoWrite", todo(&["Use an arena", "Document it"])),
        record("user", json!("go on")),
        says("nothing to do"),
        record("user", json!("take it back")),
        bash("4", "git checkout -- src/a.py"),
        tool("t2", "TodoWrite", todo(&["Document it"])),
    ]
    .concat();
    let found = read(&text);
    let line = str::to_owned;
    assert_eq!(
        found.work,
        [
            TurnWork {
                turn: 1,
                edited: vec![line("/w/src/a.py"), line("/w/src/b.py")],
                failed: vec![line("python -m build")],
                reverted: vec![]
            },
            TurnWork { turn: 3, edited: vec![], failed: vec![], reverted: vec![line("/w/src/a.py")] },
        ]
    );
    assert_eq!(found.dropped_todos, ["Use an arena"]);
}

#[test]
fn a_failed_test_is_closed_by_one_that_covers_it() {
    let run = |id: &str, command: &str, code: i32| {
        let output = if code == 0 { "ok".to_owned() } else { format!("Exit code {code}\nno") };
        tool(id, "Bash", json!({ "command": command })) + &result(id, &output, code != 0, json!({}))
    };
    let start = record("user", json!("fix it"));
    let found = read(&[start.clone(), run("1", "cargo test lexer", 101), run("2", "cargo test", 0)].concat());
    assert_eq!(tests(&found), [("cargo test", Outcome::Passed)]);
    let found = read(&[start.clone(), run("1", "cargo test", 101), run("2", "cargo test lexer", 0)].concat());
    assert_eq!(tests(&found).len(), 2, "the narrower one says nothing about the rest");
    let found = read(&[start, run("1", "mise run test", 1), run("2", "mise run test 2>&1 | tail -3", 0)].concat());
    assert_eq!(tests(&found), [("mise run test 2>&1 | tail -3", Outcome::Passed)]);
}

/// Private passages and secrets, in every place that a text can come from.
#[test]
fn nothing_private_is_in_any_field() {
    let token = SECRETS[0].1.concat();
    let hidden = "<private>tell nobody</private>";
    let bad = format!("{hidden} {token} {} <private>tell nobody", "word ".repeat(3_000));
    let middle = format!("{} {token}", "word ".repeat(1_637));
    let mut text = record("user", json!(format!("fix it {hidden} {token}")));
    for (number, bad) in [bad.as_str(), middle.as_str()].into_iter().enumerate() {
        let id = |name: &str| format!("{name}{number}");
        text += &says(bad);
        text += &record(
            "user",
            json!(format!("<command-name>/x{number}</command-name><command-args>{bad}</command-args>")),
        );
        text += &tool(&id("a"), "Bash", json!({ "command": format!("false {number} {bad}") }));
        text += &result(&id("a"), "Exit code 1", true, json!(""));
        text += &tool(&id("b"), "Bash", json!({ "command": bad }));
        text += &result(
            &id("b"),
            &format!("{REFUSED}To tell you how to proceed, the user said:\nno {bad}"),
            true,
            json!(""),
        );
        let question = format!("{number} {hidden} {token}?");
        text += &tool(&id("c"), "AskUserQuestion", json!({ "questions": [{ "question": question }] }));
        text += &result(&id("c"), "", false, json!({ "answers": { question: format!("yes {bad}") } }));
        text += &tool(&id("d"), "ExitPlanMode", json!({ "plan": format!("plan {bad}") }));
        text += &result(&id("d"), "ok", false, json!({}));
        text += &tool(
            &id("e"),
            "TodoWrite",
            json!({ "todos": [{ "content": format!("todo{number} {bad}"), "status": "pending" }] }),
        );
        text += &done(&id("f"), "Write", json!({ "file_path": format!("/w/{number}/{token}/a") }));
        text += &done(&id("g"), "Bash", json!({ "command": "git checkout ." }));
    }
    text += &tool("z", "TodoWrite", json!({ "todos": [] }));
    let found = read(&text);
    assert!(found.talk.len() >= 10 && found.work.len() >= 2 && !found.dropped_todos.is_empty());
    assert!(is_fit_to_be_kept(&found));
    let all = format!("{found:?}");
    assert_eq!((all.find("tell nobody"), all.find(&token[..12])), (None, None));
}
