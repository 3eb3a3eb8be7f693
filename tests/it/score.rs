//! `score`: figures over pairs of sessions, from the record and the transcripts.

use serde_json::{Value, json};

use super::hook::{Session, settled};
use super::support::*;

fn read(session: &Session<'_>, world: &World, path: &str, content: &str) {
    let id = format!("r-{path}-{content}");
    let call = json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": world.path(path) } });
    let result = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    session.write(&[
        json!({ "type": "assistant", "isSidechain": false, "message": { "content": [call] } }),
        json!({ "type": "user", "isSidechain": false, "message": { "content": [result] } }),
    ]);
}

fn figure(card: &Value, name: &str, group: &str) -> (u64, Option<f64>) {
    let measures = card["measures"].as_array().unwrap();
    let found = measures.iter().find(|measure| measure["measure"] == name).unwrap();
    (found[group]["n"].as_u64().unwrap(), found[group]["value"].as_f64())
}

#[test]
fn a_pair_of_sessions_is_measured() {
    let world = World::with_git();
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
    assert!(world.run(&["score"]).expect(0).stdout.contains("no session"));
    let first = Session::of(&world, "first-1");
    first.start("startup");
    first.ask("Give parse_span in src/lexer.rs a byte range");
    read(&first, &world, "src/lexer.rs", "fn lex() {}");
    read(&first, &world, "src/same.rs", "fn same() {}");
    world.write("src/lexer.rs", "fn lex() { 1 }");
    first.edit("src/lexer.rs");
    first.end();

    let second = Session::of(&world, "second-2");
    let context = second.start("startup");
    second.write(&[
        json!({ "type": "attachment", "attachment": { "type": "hook_additional_context", "content": [context] } }),
    ]);
    second.ask("Go on with parse_span");
    read(&second, &world, "src/lexer.rs", "fn lex() { 1 }");
    read(&second, &world, "src/same.rs", "fn same() {}");
    second.edit("src/lexer.rs");
    second.end();
    settled(&world);

    let card = world.run(&["score", "--json"]).expect(0).json();
    assert_eq!((card["with_warmup"].as_u64(), card["without_warmup"].as_u64()), (Some(1), Some(0)), "{card}");
    let warm = |name: &str| figure(&card, name, "with_warmup");
    assert_eq!(warm("delivered"), (1, Some(100.0)));
    assert_eq!(warm("orientation_actions"), (1, Some(2.0)));
    assert_eq!(warm("orientation_bytes"), (1, Some(26.0)));
    assert_eq!(warm("needless_rereads"), (1, Some(50.0)), "the touched file is no needless one");
    assert_eq!(warm("files_named"), (1, Some(100.0)), "{context}");
    assert_eq!(figure(&card, "waste", "without_warmup"), (0, None));
    assert_eq!(card["sessions"][0]["session"], "second-2");
    let text = world.run(&["score"]).expect(0).stdout;
    assert!(text.contains("not enough data") && text.contains("starts whose text arrived whole"), "{text}");
    assert_eq!(world.run(&["score", "first", "--json"]).expect(0).json()["sessions"], json!([]));
}
