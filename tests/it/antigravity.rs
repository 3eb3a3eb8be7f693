//! Antigravity CLI: its payloads name no event, and no hook reports the end of a session.

use serde_json::{Value, json};

use super::hook::{feed, first_used_an_hour_ago, log, runs, settled};
use super::support::*;

const ID: &str = "6f2d1111-2222";

fn transcript(world: &World) -> std::path::PathBuf {
    world.home().join(format!(".gemini/antigravity-cli/brain/{ID}/.system_generated/logs/transcript_full.jsonl"))
}

fn call(world: &World, more: Value) -> Value {
    let mut payload = json!({
        "artifactDirectoryPath": world.home().join(format!(".gemini/antigravity-cli/brain/{ID}")),
        "conversationId": ID, "modelName": "m", "transcriptPath": transcript(world), "workspacePaths": [world.root()],
    });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut command = world.command(&["hook", "--agent", "antigravity"]);
    feed(&mut command, payload.to_string().as_bytes()).expect(0).json()
}

#[test]
fn a_session_starts_once_and_is_swept_when_it_is_silent() {
    let world = World::with_git();
    world.run(&["run", "--note", "next: look at the lexer"]).expect(0);
    first_used_an_hour_ago(&world);
    let started = call(&world, json!({ "invocationNum": 0, "initialNumSteps": 1 }));
    let context = started["injectSteps"][0]["ephemeralMessage"].as_str().unwrap();
    assert!(context.contains("look at the lexer"), "{context}");
    let root = world.root().canonicalize().unwrap();
    let records = [
        json!({ "step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "status": "DONE",
            "created_at": "2026-11-15T09:00:00Z", "content": "<USER_REQUEST>\nFix the lexer\n</USER_REQUEST>" }),
        json!({ "step_index": 1, "source": "MODEL", "type": "PLANNER_RESPONSE", "status": "DONE",
            "created_at": "2026-11-15T09:00:05Z", "content": "I run the tests.",
            "tool_calls": [{ "name": "run_command", "args": { "CommandLine": "\"make\"", "Cwd": format!("{root:?}") } }] }),
        json!({ "step_index": 2, "source": "MODEL", "type": "RUN_COMMAND", "status": "DONE",
            "created_at": "2026-11-15T09:00:09Z", "content": "The command exited with code 0.", "exit_code": 0 }),
    ];
    let path = transcript(&world);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    std::fs::write(&path, text).unwrap();
    // Every call of the model is reported. Those within a turn change nothing, and are not logged.
    assert_eq!(call(&world, json!({ "invocationNum": 1, "initialNumSteps": 4 })), json!({}));
    assert_eq!(call(&world, json!({ "terminationReason": "model_stop", "error": "", "fullyIdle": true })), json!({}));
    let told: Vec<String> = log(&world).lines().filter_map(|line| line.split(' ').nth(2)).map(str::to_owned).collect();
    assert_eq!(told, ["session-start", "turn-end"]);
    // The next turn may begin with the same number: the session continues, and has read its warmup.
    let again = call(&world, json!({ "invocationNum": 0, "initialNumSteps": 6 }));
    let text = again["injectSteps"][0]["ephemeralMessage"].as_str().unwrap_or_default();
    assert!(!text.contains("look at the lexer"), "{text}");
    call(&world, json!({ "terminationReason": "model_stop", "error": "", "fullyIdle": true }));
    assert_eq!(runs(&world).len(), 1);
    // Nobody reports the end.
    let silent = std::time::SystemTime::now() - std::time::Duration::from_secs(11 * 60);
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(silent).unwrap();
    super::hook::Session::dying(&world, "later-1").start("startup");
    wait_until("the sweep", || runs(&world).iter().filter(|(status, _)| status == "completed").count() == 2);
    settled(&world);
    assert_eq!(runs(&world)[1].1, "antigravity");
    let texts: String = world.tree().values().map(String::as_str).collect();
    assert!(texts.contains("Fix the lexer"), "{texts}");
}
