//! Transcripts of the agents beside Claude Code and Codex. Each sample in `tests/data/transcripts/agents` was written anew by
//! the shape of real ones, and a list beside it has what is in it: precision and recall are counted against that list.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agent_handover::testing::transcript::{self, Outcome, Source, TodoStatus, Transcript, UtteranceKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::hook::{Session, feed, first_used_an_hour_ago, runs, settled, through_another_process};
use super::support::*;
use super::transcripts::is_fit_to_be_kept;

/// An agent's sample: its name, the list beside it, and the agent that it is of.
pub const SAMPLES: [(&str, &str); 8] = [
    ("copilot", "copilot"),
    ("gemini", "gemini"),
    ("gemini-older", "gemini"),
    ("opencode", "opencode"),
    ("opencode-2", "opencode"),
    ("cline", "cline"),
    ("cursor", "cursor"),
    ("antigravity", "antigravity"),
];

/// A session that OpenCode 2 has taken over from version 1.
const OPENCODE_2: &str = "ses_2222e0e0effeAbCdEfGhIjKlMn";

fn data(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/transcripts/agents").join(name);
    std::fs::read_to_string(&file).unwrap_or_else(|cause| panic!("{}: {cause}", file.display()))
}

fn sample(name: &str, root: &Path) -> String {
    data(name).replace("$PROJECT", root.to_str().unwrap())
}

fn put(file: PathBuf, content: impl AsRef<[u8]>) -> PathBuf {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, content).unwrap();
    file
}

/// Where Cursor keeps the sessions of a directory.
fn cursor_place(home: &Path, root: &Path) -> PathBuf {
    let name: String =
        root.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    home.join(".cursor/projects").join(name.trim_start_matches('-')).join("agent-transcripts")
}

/// Writes a sample where its agent would, and returns the path of the session.
pub fn place(name: &str, home: &Path, root: &Path) -> PathBuf {
    match name {
        "copilot" => {
            let session = home.join(".copilot/session-state/c0ffee00-1111-4222-8333-444455556666");
            put(session.join("events.jsonl"), sample("copilot.jsonl", root))
        }
        "gemini" | "gemini-older" => {
            let project = home.join(".gemini/tmp/project");
            put(project.join(".project_root"), root.to_str().unwrap());
            let (ending, file) =
                if name == "gemini" { ("jsonl", "gemini.jsonl") } else { ("json", "gemini-older.json") };
            let session = project.join(format!("chats/session-2026-11-16T10-00-9e1e0000.{ending}"));
            put(session, sample(file, root))
        }
        "opencode" | "opencode-2" => {
            let database = home.join(".local/share/opencode/opencode.db");
            std::fs::create_dir_all(database.parent().unwrap()).unwrap();
            let connection = rusqlite::Connection::open(&database).unwrap();
            connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
            connection.execute_batch(&sample(&format!("{name}.sql"), root)).unwrap();
            let id = if name == "opencode" { "ses_e0e0e0e0effeAbCdEfGhIjKlMn" } else { OPENCODE_2 };
            database.join(id)
        }
        "cline" => {
            let session = home.join(".cline/data/sessions/1794825600000_abcde");
            put(session.join("1794825600000_abcde.json"), sample("cline.json", root));
            put(session.join("1794825600000_abcde.messages.json"), sample("cline.messages.json", root))
        }
        "cursor" => {
            let id = "5c5c5c5c-3333-4444-8555-666677778888";
            put(cursor_place(home, root).join(id).join(format!("{id}.jsonl")), sample("cursor.jsonl", root))
        }
        "antigravity" => {
            let logs = "brain/a6a6a6a6-4444-4555-8666-777788889999/.system_generated/logs/transcript_full.jsonl";
            put(home.join(".gemini/antigravity-cli").join(logs), sample("antigravity.jsonl", root))
        }
        other => panic!("{other}"),
    }
}

/// Lets a file be silent for a while, so that its session is over.
fn silence(path: &Path) {
    if path.is_file() {
        let changed = SystemTime::now() - Duration::from_secs(1_200);
        std::fs::File::options().append(true).open(path).unwrap().set_modified(changed).unwrap();
    }
}

fn read(path: &Path) -> Transcript {
    Source::pin(path, "").unwrap().read().unwrap().unwrap()
}

fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed(Some(code)) => format!("failed {code}"),
        Outcome::Failed(None) => "failed".to_owned(),
        Outcome::Unknown => "unknown".to_owned(),
    }
}

/// What was read, in the form of the lists, by category.
fn found(read: &Transcript, root: &Path) -> Vec<(&'static str, Vec<String>)> {
    let said = |kinds: &[UtteranceKind]| {
        let of_kind = read.talk.iter().filter(|said| kinds.contains(&said.kind));
        of_kind.map(|said| said.text.clone()).collect::<Vec<String>>()
    };
    let relative = |path: &String| path.strip_prefix(&format!("{}/", root.display())).unwrap_or(path).to_owned();
    let todo = |status| match status {
        TodoStatus::Pending => "pending",
        TodoStatus::InProgress => "in_progress",
        TodoStatus::Completed => "completed",
    };
    vec![
        ("edited", read.edited.iter().map(relative).collect()),
        ("by_subagents", read.edited_by_subagents.iter().map(relative).collect()),
        ("commands", read.commands.iter().map(|ran| format!("{} => {}", ran.command, outcome(ran.outcome))).collect()),
        ("requests", said(&[UtteranceKind::Request, UtteranceKind::SlashCommand])),
        ("said", said(&[UtteranceKind::AgentText])),
        ("ruled", said(&[UtteranceKind::Refusal, UtteranceKind::Answer, UtteranceKind::ApprovedPlan])),
        ("todos", read.todos.iter().map(|item| format!("{} => {}", item.text, todo(item.status))).collect()),
    ]
}

/// The entries of a list; a pair is written `a => b`.
fn listed(list: &Value) -> Vec<String> {
    let entry = |entry: &Value| match entry {
        Value::String(text) => text.clone(),
        pair => format!("{} => {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
    };
    list.as_array().unwrap().iter().map(entry).collect()
}

/// How many entries two lists have in common, each as often as both have it.
fn common(one: &[String], other: &[String]) -> usize {
    let mut left: Vec<&String> = other.iter().collect();
    let is_taken = |entry: &&String| left.iter().position(|other| other == entry).map(|at| left.remove(at)).is_some();
    one.iter().filter(is_taken).count()
}

#[test]
fn what_is_in_a_transcript_is_found_and_nothing_else() {
    for (name, agent) in SAMPLES {
        let world = World::new();
        let root = world.root();
        let path = place(name, &world.home(), &root);
        let found_in = read(&path);
        let expected: Value = serde_json::from_str(&data(&format!("{name}.expected.json"))).unwrap();
        let text = |name: &str| expected[name].as_str().unwrap().to_owned();
        let about = (found_in.agent, &found_in.session, &found_in.branch, &found_in.model);
        assert_eq!(about, (agent, &text("session"), &text("branch"), &text("model")), "{name}");
        assert_eq!(found_in.cwd, root.to_str().unwrap(), "{name}");
        assert!(!found_in.is_subagent && found_in.notices.is_empty(), "{name}: {:?}", found_in.notices);
        let (mut both, mut read, mut real) = (0, 0, 0);
        for (category, found) in found(&found_in, &root) {
            let expected = listed(&expected[category]);
            both += common(&found, &expected);
            read += found.len();
            real += expected.len();
            assert_eq!(found, expected, "{name}: {category}");
        }
        let figures = format!("{name}: {real} facts, precision {both}/{read}, recall {both}/{real}");
        assert!(both == read && both == real && real > 7, "{figures}");
        eprintln!("{figures}");
    }
}

/// A session is found by its project, handed over when it is over, and its words are found again.
#[test]
fn sessions_of_every_agent_are_swept_searched_and_summarized() {
    let world = World::with_git();
    let agents = SAMPLES.into_iter().filter(|(name, _)| !["gemini-older", "opencode-2"].contains(name));
    let paths: Vec<(&str, PathBuf)> =
        agents.map(|(name, agent)| (agent, place(name, &world.home(), &world.root()))).collect();
    for (agent, path) in &paths {
        let output = world.run(&["summarize", "--transcript", path.to_str().unwrap()]).expect(0);
        assert!(output.stdout.contains(&format!("agent: \"{agent}\"")), "{agent}: {}", output.stdout);
        silence(path);
    }
    // A project without any handover gets its first warmup from them.
    let warmup = world.run(&["warmup"]).expect(0).stdout;
    assert!(warmup.contains("of 6 transcripts on this machine"), "{warmup}");
    for request in ["exchange rates to six digits", "skip bank holidays", "mailer with growing pauses", "avatar images"]
    {
        let found = world.run(&["search", request]).expect(0).stdout;
        assert!(found.contains(request), "{request}: {found}");
    }
    let found = world.run(&["search", "something about another project"]).stdout;
    assert!(!found.contains("Something about another project"), "{found}");
    // The files are newer than the first use of the project.
    Session::dying(&world, "first-0").start("startup");
    first_used_an_hour_ago(&world);
    for name in ["copilot", "gemini", "cline", "cursor", "antigravity"] {
        let path = &paths.iter().find(|(agent, _)| *agent == name).unwrap().1;
        let mut text = std::fs::read_to_string(path).unwrap();
        text.push('\n');
        std::fs::write(path, text).unwrap();
        silence(path);
    }
    let database = world.home().join(".local/share/opencode/opencode.db");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64 - 1_200_000;
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.execute("UPDATE session SET time_updated = ?1 WHERE parent_id IS NULL", [now]).unwrap();
    drop(connection);
    Session::dying(&world, "later-1").start("startup");
    let handed_over = || {
        let mut agents: Vec<String> = runs(&world).into_iter().map(|(_, agent)| agent).collect();
        agents.sort();
        agents
    };
    let expected = ["antigravity", "cline", "copilot", "cursor", "gemini", "opencode"];
    wait_until("the sweep", || handed_over().len() == expected.len());
    settled(&world);
    assert_eq!(handed_over(), expected);
    // Nothing is handed over twice.
    Session::dying(&world, "later-2").start("startup");
    settled(&world);
    assert_eq!(handed_over(), expected);
}

/// Copilot writes its log after the hook at the end of a session.
#[test]
fn a_log_that_is_written_after_the_last_hook_is_handed_over_at_the_next_start() {
    let world = World::with_git();
    let id = "c0ffee00-1111-4222-8333-444455556666";
    let log = world.home().join(format!(".copilot/session-state/{id}/events.jsonl"));
    for more in [
        json!({ "source": "new", "initialPrompt": "Round exchange rates" }),
        json!({ "transcriptPath": log, "stopReason": "end_turn" }),
        json!({ "reason": "complete" }),
    ] {
        let mut payload = json!({ "sessionId": id, "timestamp": 1, "cwd": world.root() });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let output = feed(&mut through_another_process(&world, "copilot"), payload.to_string().as_bytes());
        assert_eq!(output.code, 0, "{}", output.stderr);
        settled(&world);
    }
    assert!(!world.everything().values().any(|text| text.contains("half to even")), "the log is not there yet");
    // Nobody waits until the log is silent for a while: the process of the session is gone.
    assert_eq!(place("copilot", &world.home(), &world.root()), log);
    Session::dying(&world, "next-0").start("startup");
    let is_handed_over = || world.run(&["history", "show", "latest"]).stdout.contains("half to even");
    wait_until("the sweep", is_handed_over);
    settled(&world);
    let runs_of_copilot = || runs(&world).into_iter().filter(|(_, agent)| agent == "copilot").count();
    let before = runs_of_copilot();
    Session::dying(&world, "next-1").start("startup");
    settled(&world);
    assert_eq!(runs_of_copilot(), before, "nothing is handed over twice");
}

/// Copilot writes its log in parts. Some of it is there at the end of the session, and nothing is asked in the rest.
#[test]
fn the_rest_of_a_log_is_handed_over_although_nothing_is_asked_in_it() {
    let world = World::with_git();
    let log = place("copilot", &world.home(), &world.root());
    let whole = std::fs::read_to_string(&log).unwrap();
    let id = "c0ffee00-1111-4222-8333-444455556666";
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let last_request = lines.iter().rposition(|line| line.contains("\"user.message\"")).unwrap();
    std::fs::write(&log, lines[..=last_request].concat()).unwrap();
    for more in [
        json!({ "source": "new" }),
        json!({ "transcriptPath": log, "stopReason": "end_turn" }),
        json!({ "reason": "complete" }),
    ] {
        let mut payload = json!({ "sessionId": id, "timestamp": 1, "cwd": world.root() });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let output = feed(&mut through_another_process(&world, "copilot"), payload.to_string().as_bytes());
        assert_eq!(output.code, 0, "{}", output.stderr);
        settled(&world);
    }
    let runs_of_copilot = || runs(&world).into_iter().filter(|(_, agent)| agent == "copilot").count();
    assert_eq!(runs_of_copilot(), 1);
    let last = transcript::read(&log, 0, lines[..=last_request].concat().len() as u64).unwrap().unwrap();
    std::fs::write(&log, &whole).unwrap();
    let found = transcript::read(&log, 0, whole.len() as u64).unwrap().unwrap();
    let answer = &found.talk.last().unwrap().text;
    assert!(found.talk.len() > last.talk.len() && !answer.is_empty(), "the sample ends with an answer");
    Session::dying(&world, "next-0").start("startup");
    wait_until("the sweep", || runs_of_copilot() == 2);
    settled(&world);
    let texts: String = world.tree().into_values().collect();
    assert!(texts.contains(answer.as_str()), "{answer}: {texts}");
    // What only the client notes down for itself is not worth a handover.
    std::fs::write(&log, format!("{whole}{{\"type\":\"session.shutdown\",\"data\":{{}},\"id\":\"z\",\"timestamp\":\"2026-11-16T12:00:00.000Z\"}}\n")).unwrap();
    Session::dying(&world, "next-1").start("startup");
    settled(&world);
    assert_eq!(runs_of_copilot(), 2);
}

/// Lets a person ask one thing more in the session of a sample.
fn ask_more(name: &str, path: &Path, request: &str) {
    let at = "2026-11-16T11:00:00.000Z";
    let line = match name {
        "copilot" => {
            json!({ "type": "user.message", "data": { "content": request }, "id": "ev-900", "timestamp": at })
        }
        "gemini" | "gemini-older" => {
            json!({ "id": "m900", "timestamp": at, "type": "user", "content": [{ "text": request }] })
        }
        "cline" => json!({ "id": "msg_900", "role": "user", "ts": 1794830000000_i64, "content": [
            { "type": "text", "text": format!("<user_input mode=\"act\">{request}</user_input>") } ] }),
        "cursor" => json!({ "role": "user", "message": { "content": [{ "type": "text", "text": request }] } }),
        "antigravity" => json!({ "step_index": 900, "source": "USER_EXPLICIT", "type": "USER_INPUT", "status": "DONE",
            "created_at": at, "content": format!("<USER_REQUEST>\n{request}\n</USER_REQUEST>") }),
        "opencode" => {
            let connection = rusqlite::Connection::open(path.parent().unwrap()).unwrap();
            let session = path.file_name().unwrap().to_str().unwrap();
            let about = json!({ "role": "user", "model": { "modelID": "sonnet-x" } }).to_string();
            let part = json!({ "type": "text", "text": request }).to_string();
            let at = 1794830000000_i64;
            let sql = "INSERT INTO message VALUES ('msg_9000', ?1, ?2, ?2, ?3)";
            connection.execute(sql, (session, at, about)).unwrap();
            let sql = "INSERT INTO part VALUES ('prt_9000_0', 'msg_9000', ?1, ?2, ?2, ?3)";
            connection.execute(sql, (session, at, part)).unwrap();
            connection.execute("UPDATE session SET time_updated = ?2 WHERE id = ?1", (session, at)).unwrap();
            return;
        }
        "opencode-2" => {
            let connection = rusqlite::Connection::open(path.parent().unwrap()).unwrap();
            let session = path.file_name().unwrap().to_str().unwrap();
            let asked = json!({ "time": { "created": 1794830000000_i64 }, "text": request }).to_string();
            let sql =
                "INSERT INTO session_message VALUES ('msg_9000', ?1, 'user', 900, 1794830000000, 1794830000000, ?2)";
            connection.execute(sql, (session, asked)).unwrap();
            return;
        }
        other => panic!("{other}"),
    };
    let mut text = std::fs::read_to_string(path).unwrap();
    if path.extension().unwrap() == "json" {
        let mut document: Value = serde_json::from_str(&text).unwrap();
        document["messages"].as_array_mut().unwrap().push(line);
        text = serde_json::to_string_pretty(&document).unwrap();
    } else {
        text.push_str(&format!("{line}\n"));
    }
    std::fs::write(path, text).unwrap();
}

/// The passages of the index, each with its number in it.
fn indexed(world: &World) -> Vec<(i64, String)> {
    let connection = rusqlite::Connection::open(world.path(".agent-handover/index.db")).unwrap();
    let mut statement = connection.prepare("SELECT id, text FROM passage ORDER BY id").unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

/// Whatever the agent does with its files, a session that goes on costs the index what is new in it.
#[test]
fn of_a_session_that_goes_on_only_what_is_new_is_indexed() {
    for (name, agent) in SAMPLES {
        let world = World::with_git();
        let path = place(name, &world.home(), &world.root());
        let search = |question: &str| {
            let found = world.run(&["search", "--json", question]).stderr_ignored("nothing may be found");
            found.json()["hits"].as_array().unwrap().clone()
        };
        assert!(search("walrus").is_empty());
        // Another session comes after it in the index, so that a passage which is indexed anew gets another number.
        super::claude_talk::Transcript::of(&world, "other", "2026-11-14T09:00:00Z").asks("Count the tapirs");
        assert_eq!(search("tapirs").len(), 1);
        let before = indexed(&world);
        assert!(before.len() > 4, "{name}: {before:#?}");
        ask_more(name, &path, "Feed the walrus at noon");
        let hits = search("walrus");
        assert_eq!((hits.len(), &hits[0]["agent"]), (1, &json!(agent)), "{name}: {hits:?}");
        let after = indexed(&world);
        // The files that the last turn edited come at its end, which is now elsewhere.
        let kept = before.iter().filter(|passage| after.contains(passage)).count();
        assert!(kept + 1 >= before.len(), "{name}: {before:#?} {after:#?}");
        let texts: std::collections::HashSet<&String> = after.iter().map(|(_, text)| text).collect();
        assert!(before.iter().all(|(_, text)| texts.contains(text)), "{name}: {before:#?} {after:#?}");
        assert_eq!(after.len(), before.len() + 1, "{name}: {before:#?} {after:#?}");
        // What is as it was is not looked at again.
        assert_eq!(search("walrus").len(), 1);
        assert_eq!(indexed(&world), after);
    }
}

/// OpenCode goes on writing while its sessions are read, and a database that nobody has open gets no files beside it.
#[test]
fn a_database_is_read_while_it_is_written() {
    let world = World::new();
    let path = place("opencode", &world.home(), &world.root());
    let database = path.parent().unwrap();
    let beside = || {
        let names = std::fs::read_dir(database.parent().unwrap()).unwrap().map(|name| name.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    assert_eq!(beside(), ["opencode.db"]);
    assert_eq!(read(&path).requests, 2);
    assert_eq!(beside(), ["opencode.db"], "reading leaves no file");

    let mut writer = rusqlite::Connection::open(database).unwrap();
    let insert =
        "INSERT INTO part SELECT 'prt_9999_' || ?1, message_id, session_id, time_created, time_updated + 1, data
                  FROM part WHERE id = 'prt_0007_0'";
    let before = Source::pin(&path, "").unwrap();
    writer.execute(insert, ["0"]).unwrap();
    let transaction = writer.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    transaction.execute(insert, ["1"]).unwrap();
    // What is committed is there, what is not is not, and the writer is not kept from committing.
    assert!(Source::pin(&path, "").unwrap().end > before.end);
    let committed = Source::pin(&path, "").unwrap().end;
    transaction.commit().unwrap();
    assert!(Source::pin(&path, "").unwrap().end > committed);
    assert_eq!(before.read().unwrap().unwrap().requests, 2);
}

/// A row that changes later, as OpenCode changes it, does not move what was there before.
#[test]
fn a_place_in_a_session_of_a_database_stays_one() {
    let world = World::new();
    let path = place("opencode", &world.home(), &world.root());
    let before = Source::pin(&path, "").unwrap();
    let connection = rusqlite::Connection::open(path.parent().unwrap()).unwrap();
    let change =
        "UPDATE message SET data = json_set(data, '$.summary', json('{\"diffs\":[1,2,3]}')) WHERE id = 'msg_0001';
        UPDATE part SET data = json_set(data, '$.state.time.compacted', 1) WHERE id = 'prt_0002_4'";
    connection.execute_batch(change).unwrap();
    drop(connection);
    assert_eq!(Source::pin(&path, "").unwrap().end, before.end);
}

/// OpenCode 2 adds to the row of an answer until it is complete.
#[test]
fn a_place_in_an_answer_that_grows_stays_one() {
    let world = World::new();
    let path = place("opencode-2", &world.home(), &world.root());
    let half = Source::pin(&path, "").unwrap();
    let connection = rusqlite::Connection::open(path.parent().unwrap()).unwrap();
    let complete =
        "UPDATE session_message SET time_updated = time_updated + 1, data = json_set(data, '$.time.completed', 1,
        '$.content[1].state.status', 'completed', '$.content[1].state.metadata', json('{\"exit\":0}')) WHERE seq = 10";
    assert_eq!(connection.execute(complete, []).unwrap(), 1);
    drop(connection);
    let whole = Source::pin(&path, "").unwrap();
    assert!(whole.end > half.end);
    let later = whole.read().unwrap().unwrap();
    assert_eq!(later.commands.last().unwrap().command, "npm run lint");
    assert_eq!(later.talk.last().unwrap().text, "Not complete");
    // What was there before is there, byte for byte.
    assert_eq!(half.read().unwrap().unwrap().talk.last().unwrap().text, "The legend is darker.");
    let connection = rusqlite::Connection::open(path.parent().unwrap()).unwrap();
    connection.execute("DELETE FROM session_message WHERE seq = 10", []).unwrap();
    drop(connection);
    assert!(read(&path).rate_limit.is_some(), "an error without any text is read");
}

#[test]
fn a_file_of_an_unknown_format_is_named_and_not_guessed() {
    let world = World::new();
    for (name, content) in [
        ("x.jsonl", "{\"kind\":\"of next year\"}\n"),
        ("x.messages.json", "{\"messages\":{\"a\":1}}"),
        ("opencode.db", "SQLite format 3\0"),
    ] {
        world.write(name, content);
        let output = world.run(&["summarize", "--transcript", name]);
        assert_eq!(output.code, 65, "{name}: {}", output.stderr);
        assert!(output.stderr.contains("is not a transcript that this program can read"), "{}", output.stderr);
        assert!(output.stderr.contains("claude-code, codex, copilot, gemini"), "{}", output.stderr);
    }
}

/// Samples as one file each: that of Cline and the older one of Gemini are documents.
const FILES: [(&str, &str); 6] = [
    ("copilot.jsonl", "t.jsonl"),
    ("gemini.jsonl", "t.jsonl"),
    ("gemini-older.json", "t.json"),
    ("cline.messages.json", "t.messages.json"),
    ("cursor.jsonl", "t.jsonl"),
    ("antigravity.jsonl", "t.jsonl"),
];

fn read_bytes(bytes: &[u8], name: &str) -> Option<Transcript> {
    let directory = crate::support::directory();
    let file = put(directory.path().join(name), bytes);
    Source::pin(&file, "").ok()?.read().ok()?
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A sample in which bytes were changed, or which was cut, is read as far as it can be.
    #[test]
    fn damaged_transcripts_of_any_agent_are_read_as_far_as_they_can_be(
        sample in 0..FILES.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = data(FILES[sample].0).into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Some(found) = read_bytes(&bytes, FILES[sample].1) {
            prop_assert!(is_fit_to_be_kept(&found), "{:?}", found);
        }
    }

    /// Records of the right shape with anything in the place of one value.
    #[test]
    fn anything_may_stand_where_a_value_is_expected(
        sample in 0..FILES.len(),
        at in any::<prop::sample::Index>(),
        kind in 0usize..7,
        text in any::<String>(),
    ) {
        let odd = [json!(text), json!(null), json!(-1), json!([[], {}]), json!({ "text": [1] }), json!(true), json!(1e300)];
        let text = data(FILES[sample].0);
        let changed = if FILES[sample].1 == "t.jsonl" {
            let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let line = at.index(lines.len());
            replace(&mut lines[line], &mut at.index(40), &odd[kind]);
            lines.iter().map(|line| format!("{line}\n")).collect()
        } else {
            let mut document: Value = serde_json::from_str(&text).unwrap();
            replace(&mut document, &mut at.index(400), &odd[kind]);
            document.to_string()
        };
        if let Some(found) = read_bytes(changed.as_bytes(), FILES[sample].1) {
            prop_assert!(is_fit_to_be_kept(&found), "{:?}", found);
        }
    }
}

/// Replaces the value that comes as the `left`th, in depth.
fn replace(value: &mut Value, left: &mut usize, with: &Value) {
    if *left == 0 {
        *value = with.clone();
        *left = usize::MAX;
        return;
    }
    *left = left.saturating_sub(usize::from(*left != usize::MAX));
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, left, with)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, left, with)),
        _ => {}
    }
}

/// Lets `summarize` have 64 MiB and no more.
fn summarized_in_little_memory(world: &World, path: &Path) -> Value {
    let script = format!("ulimit -v {}; exec \"$@\"", 64 * 1024);
    let arguments = ["summarize", "--json", "--transcript", path.to_str().unwrap()];
    let output = finish(world.clean("sh").args(["-c", &script, "sh", BINARY]).args(arguments)).expect(0);
    assert!(output.stderr.contains("transcript: "), "{}", output.stderr);
    output.json()["transcript"].clone()
}

/// Each sample with megabytes in its middle: outputs, one record too long to be read, and one of many small values.
#[test]
fn a_large_transcript_of_any_agent_costs_a_bounded_amount_of_memory() {
    let world = World::new();
    for (name, file) in FILES.into_iter().step_by(stride(2)) {
        let text = sample(name, &world.root());
        let filler = "output ".repeat(150_000);
        let (long, wide) = ("x".repeat(12 << 20), "[],".repeat(1 << 20));
        let (is_lines, mut content) = (file == "t.jsonl", text.clone());
        let large = |content: &str| {
            if is_lines {
                format!("{{\"filler\":\"{content}\"}}\n")
            } else {
                format!("{{\"role\":\"tool\",\"id\":\"f\",\"type\":\"info\",\"content\":\"{content}\"}},\n")
            }
        };
        let between: String = (0..20).map(|_| large(&filler)).chain([large(&long)]).collect();
        let many = if is_lines { format!("{{\"a\":[{wide}1]}}\n") } else { format!("{{\"a\":[{wide}1]}},\n") };
        // After the first record.
        let at = if is_lines { text.find('\n').unwrap() + 1 } else { text.find("\n    },\n    {").unwrap() + 8 };
        content.insert_str(at, &format!("{between}{many}"));
        let path = world.home().join(file);
        std::fs::write(&path, &content).unwrap();
        let found = summarized_in_little_memory(&world, &path);
        let expected = read_bytes(text.as_bytes(), file).unwrap();
        assert_eq!(found["requests"], expected.requests, "{name}");
        assert_eq!(found["last_request"], expected.last_request, "{name}");
        assert_eq!(found["notices"], json!(["records of the transcript that are too long to be read: 1"]), "{name}");
    }
}

/// Each sample with records in it that no agent would write: the rest of the session is read as before.
#[test]
fn hostile_records_in_a_transcript_of_any_agent_do_no_harm() {
    const DEEP: usize = 20_000;
    let world = World::new();
    let deep = |open: &str, close: &str| {
        format!("{{\"type\":\"user\",\"content\":{}1{}}}", open.repeat(DEEP), close.repeat(DEEP))
    };
    let hostile: Vec<Vec<u8>> = vec![
        deep("[", "]").into_bytes(),
        deep("{\"content\":", "}").into_bytes(),
        b"{\"type\":[\"user\"],\"role\":{},\"message\":7,\"data\":[],\"parts\":{},\"toolCalls\":1,\"content\":null}"
            .to_vec(),
        b"[[[]],{},null,7,\"text\"]".to_vec(),
        format!("{{{}\"z\":1}}", "\"k\":0,".repeat(DEEP)).into_bytes(),
        "7".repeat(10 * DEEP).into_bytes(),
    ];
    let only_in_lines: Vec<Vec<u8>> = vec![
        b"\xff\xfe{\"a\":\"\xc3\x28\"}".to_vec(),
        b"\0\0\0".to_vec(),
        b"{".to_vec(),
        b"\n".repeat(DEEP),
        deep("[", "").into_bytes(),
    ];
    for (name, file) in FILES {
        let (text, is_lines) = (sample(name, &world.root()), file == "t.jsonl");
        let expected = read_bytes(text.as_bytes(), file).unwrap();
        let at = if is_lines { text.find('\n').unwrap() + 1 } else { text.find("\n    },\n    {").unwrap() + 8 };
        let more = if is_lines { only_in_lines.as_slice() } else { &[] };
        for (number, record) in hostile.iter().chain(more).enumerate() {
            let end: &[u8] = if is_lines { b"\n" } else { b",\n" };
            let content = [&text.as_bytes()[..at], record, end, &text.as_bytes()[at..]].concat();
            let path = put(world.home().join(file), &content);
            let found = summarized_in_little_memory(&world, &path);
            let said = (&found["requests"], &found["last_request"]);
            assert_eq!(said, (&json!(expected.requests), &json!(expected.last_request)), "{name}, record {number}");
        }
    }
}

/// A database with megabytes in it, rows that are not JSON, and rows that are too large.
#[test]
fn a_hostile_database_does_no_harm() {
    let world = World::new();
    let path = place("opencode", &world.home(), &world.root());
    let connection = rusqlite::Connection::open(path.parent().unwrap()).unwrap();
    let insert = "INSERT INTO part VALUES (?1, 'msg_0002', 'ses_e0e0e0e0effeAbCdEfGhIjKlMn', 1, 1, ?2)";
    let tool = |output: &str| json!({ "type": "tool", "tool": "read", "callID": "x", "state": { "status": "completed", "input": {}, "output": output } });
    for number in 0..20 {
        let row = tool(&"output ".repeat(150_000)).to_string();
        connection.execute(insert, (format!("prt_x{number}"), row)).unwrap();
    }
    connection.execute(insert, ("prt_y0", tool(&"x".repeat(12 << 20)).to_string())).unwrap();
    for (number, row) in ["", "not JSON", "[]", "{\"type\":7}", &"[".repeat(200_000)].iter().enumerate() {
        connection.execute(insert, (format!("prt_z{number}"), row)).unwrap();
    }
    connection.execute(insert, ("prt_z9", rusqlite::types::Value::Blob(vec![0xff, 0]))).unwrap();
    connection.execute("UPDATE message SET data = 'x' WHERE id = 'msg_0003'", []).unwrap();
    drop(connection);
    let found = summarized_in_little_memory(&world, &path);
    assert_eq!((&found["requests"], &found["last_request"]), (&json!(2), &json!("Log each attempt")));
    // A table that is a view could run for ever.
    let connection = rusqlite::Connection::open(path.parent().unwrap()).unwrap();
    connection.execute_batch("ALTER TABLE part RENAME TO old; CREATE VIEW part AS SELECT * FROM old").unwrap();
    drop(connection);
    let why = Source::pin(&path, "").unwrap_err().to_string();
    assert!(why.contains("has no sessions of OpenCode that this program can read"), "{why}");
}

/// A session of Copilot with these events.
fn copilot_session(world: &World, events: &[Value]) -> PathBuf {
    let event = |number: usize, event: &Value| {
        let stamp = format!("2026-11-15T09:{:02}:00Z", 30 + number);
        let (name, data) = (&event[0], &event[1]);
        format!("{}\n", json!({ "type": name, "data": data, "id": number.to_string(), "timestamp": stamp }))
    };
    let start = json!(["session.start", { "sessionId": "s1", "context": { "cwd": world.root() } }]);
    let events = std::iter::once(&start).chain(events).enumerate();
    put(world.home().join("events.jsonl"), events.map(|(number, one)| event(number, one)).collect::<String>())
}

fn ran(id: &str, command: &str, code: i64) -> [Value; 2] {
    [
        json!(["tool.execution_start", { "toolCallId": id, "toolName": "bash", "arguments": { "command": command } }]),
        json!(["tool.execution_complete", { "toolCallId": id, "success": true, "shellExecution": { "exitCode": code }, "result": { "content": "" } }]),
    ]
}

#[test]
fn files_that_commands_wrote_count_as_edited_if_git_says_so() {
    let world = World::with_git();
    for name in ["by-sed.txt", "old-name.txt", "untouched.txt", "by-person.txt"] {
        world.write(name, "before\n");
    }
    world.git(&["add", "."]);
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "Begin"]);
    world.write("by-sed.txt", "after\n");
    world.write("by-person.txt", "after\n");
    world.write("by-redirection.txt", "after\n");
    std::fs::rename(world.path("old-name.txt"), world.path("new-name.txt")).unwrap();
    let request = json!(["user.message", { "content": "Change all the files that need it" }]);
    let commands = [
        ran("1", "sed -i s/before/after/ by-sed.txt untouched.txt", 0),
        ran("2", "cat <<'EOF' > by-redirection.txt\nafter\nEOF", 0),
        ran("3", "mv old-name.txt new-name.txt", 0),
        ran("4", "sed -i s/x/y/ by-person.txt", 1),
    ];
    let events: Vec<Value> = std::iter::once(request).chain(commands.into_iter().flatten()).collect();
    let path = copilot_session(&world, &events);
    let document = world.run(&["summarize", "--transcript", path.to_str().unwrap()]).expect(0);
    assert!(document.stderr.contains("transcript: "), "{}", document.stderr);
    let files = document.stdout.split("active_context_files:").nth(1).unwrap().split("completed_tasks").next().unwrap();
    for name in ["by-sed.txt", "by-redirection.txt", "new-name.txt"] {
        assert!(files.contains(&format!("path: \"{name}\"")), "{name}: {files}");
    }
    for name in ["untouched.txt", "by-person.txt"] {
        assert!(!files.contains(name), "{name}: {files}");
    }
}

#[test]
fn what_a_sub_agent_edited_and_failed_is_part_of_its_session_and_marked() {
    let world = World::new();
    let root = world.root().to_str().unwrap().to_owned();
    let record = |side: bool, kind: &str, content: Value| {
        let at = "2026-11-15T09:30:00Z";
        format!(
            "{}\n",
            json!({ "type": kind, "sessionId": "s1", "cwd": root, "isSidechain": side, "timestamp": at, "message": { "content": content } })
        )
    };
    let session = world.home().join("s1.jsonl");
    put(session.clone(), record(false, "user", json!("Port the parser")));
    let call =
        |id: &str, name: &str, input: Value| json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
    let result = |id: &str, output: &str, is_error: bool| json!([{ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error }]);
    let theirs = [
        record(true, "user", json!("a task from the session")),
        record(true, "assistant", call("1", "Write", json!({ "file_path": format!("{root}/src/parser.rs") }))),
        record(true, "user", result("1", "ok", false)),
        record(true, "assistant", call("2", "Bash", json!({ "command": "cargo test parser" }))),
        record(true, "user", result("2", "Exit code 101\ntest result: FAILED. 0 passed; 1 failed", true)),
        record(true, "assistant", json!([{ "type": "text", "text": "What a sub-agent says to its session" }])),
    ];
    put(world.home().join("s1/subagents/agent-1.jsonl"), theirs.concat());
    let found = read(&session);
    assert_eq!(found.edited, [format!("{root}/src/parser.rs")]);
    assert_eq!((&found.edited_by_subagents, found.requests, found.talk.len()), (&found.edited, 1, 1));
    let tests: Vec<&str> = found.tests.iter().map(|test| test.command.as_str()).collect();
    assert_eq!(tests, ["(sub-agent) cargo test parser"]);
    assert_eq!(found.work[0].failed, ["(sub-agent) cargo test parser"]);
    let document = world.run(&["summarize", "--transcript", session.to_str().unwrap()]).expect(0);
    assert!(document.stderr.contains("transcript: "), "{}", document.stderr);
    assert!(document.stdout.contains("edited by a sub-agent in this session"), "{}", document.stdout);
}

#[test]
fn a_limit_at_which_a_session_stopped_is_told_until_it_ends() {
    let world = World::with_git();
    let limit = |end: &str| {
        copilot_session(
            &world,
            &[
                json!(["user.message", { "content": "Port the lexer to the new tokens" }]),
                json!(["session.error", { "errorType": "rate_limit", "message": format!("Try again at {end}.") }]),
            ],
        )
    };
    world.run(&["run", "--transcript", limit("2026-11-15T12:00:00Z").to_str().unwrap()]).expect(0);
    let sentence = "copilot reached a limit of its use at 2026-11-15T09:32:00Z; it ends at 2026-11-15T12:00:00Z; \
                    `agent-handover continue AGENT` continues in another agent";
    let status = world.run(&["status"]).expect(0).stdout;
    assert!(status.contains(&format!("limit: {sentence}")), "{status}");
    assert_eq!(world.run(&["status", "--json"]).expect(0).json()["rate_limit"], sentence);
    let warmup = world.run(&["warmup"]).expect(0).stdout;
    assert!(warmup.contains(&format!("Note: {sentence}")), "{warmup}");
    let home = world.run(&[]).expect(0).stdout;
    assert_eq!(home.matches("agent-handover continue AGENT").count(), 1, "{home}");
    // The agent said nothing, so no words of this program are shown as the agent's.
    let prompt = world.run(&["continue", "codex", "--print"]).expect(0).stdout;
    let brief = world.run(&["history", "render", "--target", "person"]).expect(0).stdout;
    for page in [&prompt, &brief] {
        assert!(page.contains("Port the lexer to the new tokens") && !page.contains("(made from"), "{page}");
    }
    assert!(!prompt.contains("## The agent said") && !brief.contains("## Where it stands"), "{prompt}{brief}");
    world.run(&["run", "--transcript", limit("2026-11-15T09:40:00Z").to_str().unwrap()]).expect(0);
    assert!(!world.run(&["status"]).expect(0).stdout.contains("limit:"));
}

/// Codex before September 2025: items without anything around them.
#[test]
fn the_first_format_of_codex_is_read() {
    let lines = [
        json!({ "id": "0199", "timestamp": "2025-07-01T10:00:00.000Z", "instructions": null, "git": { "branch": "main" } }),
        json!({ "record_type": "state" }),
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "<environment_context>\nCurrent working directory: /w/p\n</environment_context>" }] }),
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Sort the imports" }] }),
        json!({ "type": "function_call", "name": "shell", "call_id": "1", "arguments": "{\"command\":[\"bash\",\"-lc\",\"isort .\"]}" }),
        json!({ "type": "function_call_output", "call_id": "1", "output": "{\"output\":\"\",\"metadata\":{\"exit_code\":0}}" }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Sorted." }] }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let found = read_bytes(text.as_bytes(), "rollout-2025-07-01T10-00-00-x.jsonl").unwrap();
    assert_eq!((found.agent, found.cwd.as_str(), found.last_request.as_str()), ("codex", "/w/p", "Sort the imports"));
    assert_eq!((found.commands[0].command.as_str(), found.commands[0].outcome), ("isort .", Outcome::Passed));
}

#[test]
fn doctor_names_what_is_there_and_cannot_be_read() {
    let world = World::with_git();
    put(world.home().join(".copilot/session-state/abc/events.jsonl"), "{\"v\":9}\n");
    put(world.home().join(".local/share/opencode/opencode.db"), "not a database");
    put(world.home().join(".cline/data/tasks/1/api_conversation_history.json"), "[]");
    put(world.home().join(".codex/sessions/rollout-2025-04-20-x.json"), "{\"session\":{},\"items\":[]}");
    let told = world.run(&["doctor"]);
    assert!(told.stdout.contains("abc/events.jsonl: has no record that this program can read"), "{}", told.stdout);
    assert!(told.stdout.contains("opencode.db` cannot be read"), "{}", told.stdout);
    assert!(told.stdout.contains("tasks of older versions are not read"), "{}", told.stdout);
    let of_codex = ".codex/sessions: `rollout-*.json` of the first versions are not read";
    assert!(told.stdout.contains(of_codex), "{}", told.stdout);
}

#[test]
fn no_sample_is_taken_for_another_agents() {
    for (name, file) in FILES {
        let found = read_bytes(data(name).as_bytes(), file).unwrap();
        assert!(name.starts_with(found.agent), "{name} is not of {}", found.agent);
    }
    assert_eq!(transcript::FORMATS.len(), 8);
}
