//! Vectors: a search by meaning with the user's own program. The program of these tests is a shell script with awk.
//!
//! They run with `cargo test --features vectors --target-dir target-vectors --test it vectors::`.

use serde_json::Value;

use super::claude_talk::Transcript;
use super::support::*;

/// A vector of four numbers: how much a text speaks of vehicles, of accidents and of baking, and a little of something else.
const AWK: &str = r#"awk '{
    text = tolower($0)
    cars = gsub(/car|automobile|vehicle/, "&", text)
    accidents = gsub(/crash|accident|collision/, "&", text)
    baking = gsub(/bread|oven|loaf|pastry/, "&", text)
    printf "[%d, %d, %d, 0.01]\n", cars, accidents, baking
}'"#;

/// A project with two sessions and an allowed program that keeps what it reads in `seen`.
fn world() -> World {
    let world = sessions_of_two_days();
    program(&world, AWK);
    world
}

fn sessions_of_two_days() -> World {
    let world = World::with_git();
    Transcript::of(&world, "bridge", "2026-11-10T09:00:00Z")
        .asks("The car crash on the bridge is drawn twice")
        .says("The renderer kept the old frame. It is dropped now.");
    Transcript::of(&world, "kitchen", "2026-11-03T09:00:00Z")
        .asks("How long does the loaf stay in the oven?")
        .runs("cargo test timer", "test result: ok. 3 passed", false)
        .says("Forty minutes; the timer counts down from there.");
    world
}

/// Makes this the program, behind one that keeps what is read, and allows it.
fn program(world: &World, script: &str) {
    write_script(world, script);
    configure(world, &["sh", "../embed.sh"], "10s");
}

fn write_script(world: &World, script: &str) {
    std::fs::write(world.place().join("embed.sh"), format!("tee -a ../seen | {script}\n")).unwrap();
}

/// Names a program in the config, and allows the config.
fn configure(world: &World, command: &[&str], timeout: &str) {
    name_only(world, command, timeout);
    let _ = world.run(&["allow"]).expect(0);
}

fn name_only(world: &World, command: &[&str], timeout: &str) {
    world.write("handover.toml", format!("[search]\nembed = {command:?}\nembed_timeout = {timeout:?}\n"));
}

/// The texts that the program has read.
fn seen(world: &World) -> Vec<String> {
    let seen = std::fs::read_to_string(world.place().join("seen")).unwrap_or_default();
    seen.lines().map(str::to_owned).collect()
}

fn search(world: &World, arguments: &[&str]) -> Value {
    let output = world.run(&[&["search", "--json"], arguments].concat()).stderr_ignored("what vectors lack");
    assert!(output.code <= 1, "{arguments:?}: {}{}", output.stdout, output.stderr);
    output.json()
}

fn sessions(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["session"].as_str().unwrap_or("none")).collect()
}

/// How long the vectors in the index are, in numbers, each length once, and how many passages have one.
fn stored(world: &World) -> (Vec<i64>, i64) {
    let index = rusqlite::Connection::open(world.path(".agent-handover/index.db")).unwrap();
    let mut lengths = index.prepare("SELECT DISTINCT length(value) / 4 FROM vector").unwrap();
    let lengths = lengths.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let sql = "SELECT count(*) FROM embedded JOIN vector ON vector.id = embedded.vector";
    (lengths, index.query_row(sql, [], |row| row.get(0)).unwrap())
}

#[test]
fn a_question_finds_what_means_the_same_and_each_text_is_read_once() {
    let world = world();
    let answer = search(&world, &["automobile accident"]);
    assert_eq!(sessions(&answer)[0], "bridge");
    assert_eq!(answer["vectors"], serde_json::json!({ "used": true, "missing": 0, "reason": null }));
    // The commands of a session have no vector.
    assert_eq!(stored(&world), (vec![4], 4));
    let mut texts = seen(&world);
    assert_eq!(texts.remove(0), "automobile accident");
    assert_eq!(texts.len(), 4);
    assert!(!texts.iter().any(|text| text.contains("cargo test")), "{texts:?}");
    // Words still count, and only the question is read.
    assert_eq!(sessions(&search(&world, &["timer"]))[0], "kitchen");
    assert_eq!(seen(&world)[5..], ["timer"]);
    // A new session, and an old one that is gone.
    Transcript::of(&world, "forest", "2026-11-12T09:00:00Z").asks("The vehicle leaves the road in the forest");
    assert_eq!(sessions(&search(&world, &["automobile"]))[0], "forest");
    assert_eq!(seen(&world)[6..], ["automobile", "The vehicle leaves the road in the forest"]);
    let transcripts = std::fs::read_dir(world.home().join(".claude/projects")).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(transcripts.join("bridge.jsonl")).unwrap();
    let answer = search(&world, &["car crash"]);
    assert_eq!(sessions(&answer), ["forest", "kitchen"]);
    assert_eq!((answer["vectors"]["missing"].clone(), stored(&world)), (0.into(), (vec![4], 3)));
}

#[test]
fn filters_errors_and_files_hold_for_what_only_means_the_same() {
    let world = world();
    assert_eq!(sessions(&search(&world, &["automobile", "--since", "2026-11-09"])), ["bridge"]);
    assert_eq!(sessions(&search(&world, &["automobile", "--until", "2026-11-05"])), ["kitchen"]);
    assert_eq!(sessions(&search(&world, &["automobile", "--branch", "other"])), [""; 0]);
    assert_eq!(sessions(&search(&world, &["automobile", "--kind", "ruling"])), [""; 0]);
    assert_eq!(sessions(&search(&world, &["automobile path:src/none.rs"])), [""; 0]);
    assert_eq!(sessions(&search(&world, &["\"automobile accident\""])), [""; 0]);
    assert_eq!(sessions(&search(&world, &["automobile", "--limit", "1"])), ["bridge"]);
    let before = seen(&world).len();
    let by_file = search(&world, &["--path", "src/none.rs"]);
    assert_eq!((sessions(&by_file), by_file.get("vectors")), (vec![], None));
    // Scores of several projects are compared, and a search here is no consent to other programs.
    let everywhere = search(&world, &["automobile", "--all-projects"]);
    assert_eq!((sessions(&everywhere), everywhere.get("vectors")), (vec![], None));
    assert_eq!(seen(&world).len(), before);
}

/// Whatever the program does, the words are compared, and one sentence says why nothing else is.
#[test]
fn a_program_that_fails_costs_nothing_but_its_vectors() {
    let world = world();
    for (script, reason) in [
        ("sh -c 'cat >/dev/null; echo loading >&2; echo no model >&2; exit 3'", "`sh` failed: no model"),
        ("cat", "`sh` printed something else than a JSON array of numbers in line 1"),
        ("true", "`sh` printed 0 lines for 1 text"),
        ("sed 's/.*/[1]\\n[2]/'", "`sh` printed 2 lines for 1 text"),
        ("sed 's/.*/[NaN]/'", "`sh` printed something else than a JSON array of numbers in line 1"),
        ("sed 's/.*/[1e300]/'", "`sh` printed a number that is too large in line 1"),
        ("sed 's/.*/[]/'", "`sh` printed a vector of 0 numbers, where 1 to 4096 are possible, in line 1"),
        (
            "awk '{ printf \"[\"; for (i = 0; i < 5000; i++) printf \"1,\"; print \"1]\" }'",
            "`sh` printed a vector of 5001 numbers, where 1 to 4096 are possible, in line 1",
        ),
        ("yes 1", "`sh` printed too much for 1 text"),
    ] {
        program(&world, script);
        let output = world.run(&["search", "--json", "timer"]);
        assert_eq!(output.code, 0, "{script}");
        assert_eq!(output.stderr.as_str(), format!("only words were compared: {reason}\n"), "{script}");
        let answer = output.json();
        assert_eq!(sessions(&answer), ["kitchen"], "{script}");
        assert_eq!(answer["vectors"]["used"], false, "{script}");
        assert_eq!(answer["vectors"]["reason"], reason, "{script}");
    }
    configure(&world, &["no-such-program"], "10s");
    let output = world.run(&["search", "timer"]).expect(0);
    assert!(output.stderr.contains("only words were compared: cannot start `no-such-program`"), "{}", output.stderr);
    // One that never ends, with a child that never ends either.
    configure(&world, &["sh", "-c", "sleep 1000 & sleep 1000"], "200ms");
    let output = world.run(&["search", "timer"]).expect(0);
    assert!(output.stderr.contains("only words were compared: `sh` did not answer within 200 ms"), "{}", output.stderr);
    // Only the passages fail: the question is compared with nothing yet.
    program(&world, "awk 'NR == 1 && !/forty/ && !/drawn/ { print \"[1,2]\" }'");
    let output = world.run(&["search", "timer"]).expect(0);
    assert!(
        output.stderr.contains("not every passage was compared by its vector: `sh` printed 1 line for 4 texts"),
        "{}",
        output.stderr
    );
    assert_eq!(stored(&world), (vec![], 0));
    program(&world, AWK);
    assert_eq!(search(&world, &["timer"])["vectors"]["used"], true);
    assert_eq!(stored(&world), (vec![4], 4));
}

#[test]
fn vectors_of_another_model_or_command_are_made_again() {
    let world = world();
    search(&world, &["automobile"]);
    assert_eq!(stored(&world), (vec![4], 4));
    // The same command, with a model of another length.
    program(&world, &AWK.replace("%d, 0.01", "%d, 0.01, 0.5"));
    let before = seen(&world).len();
    let answer = search(&world, &["automobile accident"]);
    assert_eq!((sessions(&answer)[0], stored(&world)), ("bridge", (vec![5], 4)));
    assert_eq!(seen(&world).len(), before + 5);
    // Another command.
    configure(&world, &["sh", "../embed.sh", "another-model"], "10s");
    let before = seen(&world).len();
    search(&world, &["automobile accident"]);
    assert_eq!((seen(&world).len(), stored(&world)), (before + 5, (vec![5], 4)));
    // One whose vectors have no direction is near to nothing.
    program(&world, "sed 's/.*/[0, 0]/'");
    let answer = search(&world, &["automobile accident"]);
    assert_eq!((sessions(&answer), answer["vectors"]["used"].clone()), (vec![], true.into()));
    // One that cannot decide stores whatever is of one length, and never fails.
    program(&world, "awk -v n=$(wc -c < ../seen) '{ print n % 2 ? \"[1]\" : \"[1,2]\" }'");
    for question in ["a timer", "timer", "the timer, again"] {
        assert_eq!(sessions(&search(&world, &[question]))[0], "kitchen");
        assert!(stored(&world).0.len() <= 1);
    }
}

#[test]
fn neither_secrets_nor_private_text_reach_the_program() {
    let world = world();
    let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    Transcript::of(&world, "token", "2026-11-12T09:00:00Z")
        .asks(&format!("Use {secret} for the car <private>of the boss</private>"))
        .says(&format!("Used {secret}.\nOn two lines."));
    search(&world, &[&format!("where is {secret} <private>of the boss</private> used")]);
    let seen = seen(&world).join("\n");
    assert!(seen.contains("where is [redacted:") && seen.contains("On two lines."), "{seen}");
    assert!(!seen.contains(&secret) && !seen.contains("boss"), "{seen}");
}

#[test]
fn a_program_that_searches_does_not_start_itself() {
    let world = sessions_of_two_days();
    let search_again = format!("'{}' search oven > ../inner 2>&1 < /dev/null", env!("CARGO_BIN_EXE_agent-handover"));
    program(&world, &format!("{{ echo >> ../starts; {search_again}; {AWK}; }}"));
    let answer = search(&world, &["vehicle"]);
    assert_eq!(answer["vectors"]["used"], true, "{answer}");
    let starts = std::fs::read_to_string(world.place().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 2, "for the question, and for the passages");
    let inner = std::fs::read_to_string(world.place().join("inner")).unwrap();
    assert!(inner.contains("only words were compared: a program that agent-handover started"), "{inner}");
}

#[test]
fn while_paused_no_program_is_started() {
    let world = world();
    world.write("PAUSE", "");
    let output = world.run(&["search", "timer"]).expect(0);
    assert!(output.stderr.contains("only words were compared: agent-handover is paused here"), "{}", output.stderr);
    assert_eq!(seen(&world), [""; 0]);
}

/// Nobody who types a search expects that it runs what a repository names.
#[test]
fn a_typed_search_starts_the_program_only_after_allow_and_again_after_each_change() {
    let world = sessions_of_two_days();
    write_script(&world, AWK);
    name_only(&world, &["sh", "../embed.sh"], "10s");
    let refused = || {
        let output = world.run(&["search", "--json", "timer"]).expect(0);
        assert_eq!(output.stderr.as_str(), format!("only words were compared: {CONSENT}\n"));
        let answer = output.json();
        assert_eq!(sessions(&answer), ["kitchen"]);
        assert_eq!(answer["vectors"], serde_json::json!({ "used": false, "missing": 0, "reason": CONSENT }));
    };
    refused();
    assert_eq!(seen(&world), [""; 0]);
    let _ = world.run(&["allow"]).expect(0);
    assert_eq!(sessions(&search(&world, &["automobile accident"]))[0], "bridge");
    let before = seen(&world).len();
    assert_eq!(before, 5);
    name_only(&world, &["sh", "../embed.sh", "changed"], "10s");
    refused();
    name_only(&world, &["sh", "../embed.sh"], "10s");
    assert_eq!(search(&world, &["timer"])["vectors"]["used"], true, "what was allowed once is still allowed");
    let _ = world.run(&["allow", "--revoke"]).expect(0);
    refused();
    assert_eq!(seen(&world).len(), before + 1);
}

const CONSENT: &str =
    "`embed` in `[search]` names a program that is not allowed; read the config, then run `agent-handover allow`";

/// A hook and an agent start nothing that the user has not allowed.
#[cfg(feature = "mcp")]
#[test]
fn an_agent_and_a_hook_start_the_program_only_with_consent() {
    use super::mcp::Client;

    let world = sessions_of_two_days();
    write_script(&world, AWK);
    name_only(&world, &["sh", "../embed.sh"], "10s");
    let end_session = |session: &Transcript| {
        let payload = serde_json::json!({
            "hook_event_name": "SessionEnd", "session_id": session.session, "cwd": world.root(), "reason": "exit",
            "transcript_path": session.path,
        });
        std::fs::write(world.place().join("payload"), payload.to_string()).unwrap();
        let input = std::fs::File::open(world.place().join("payload")).unwrap();
        let output = finish(world.command(&["hook", "--agent", "claude-code"]).stdin(input));
        assert_eq!(output.code, 0);
        let _ = output.stderr_ignored("what the hook has to report");
    };
    end_session(&Transcript::of(&world, "bridge", "2026-11-10T09:00:00Z"));
    wait_until("the index", || {
        let to_read = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let index = rusqlite::Connection::open_with_flags(world.path(".agent-handover/index.db"), to_read);
        let passages =
            |index: rusqlite::Connection| index.query_row("SELECT count(*) FROM passage", [], |row| row.get(0));
        index.and_then(passages).is_ok_and(|passages: i64| passages >= 5)
    });
    let mut client = Client::legacy(&world);
    let answer = client.call("search", serde_json::json!({ "query": "timer" }));
    assert!(answer.contains("Forty minutes"), "{answer}");
    assert!(answer.contains("(only words were compared: `embed` in `[search]` names a program"), "{answer}");
    let answer = client.call("search", serde_json::json!({ "query": "automobile accident" }));
    assert!(answer.contains("Nothing was found"), "{answer}");
    assert_eq!(seen(&world), [""; 0]);
    world.run(&["allow"]).expect(0);
    let answer = client.call("search", serde_json::json!({ "query": "automobile accident" }));
    assert!(answer.contains("The car crash on the bridge"), "{answer}");
    assert!(!answer.contains("only words"), "{answer}");
    assert_eq!(client.end(), 0);
    let mut forest = Transcript::of(&world, "forest", "2026-11-12T09:00:00Z");
    end_session(forest.asks("The vehicle leaves the road in the forest"));
    wait_until("the vector of the new session", || {
        seen(&world).iter().any(|text| text == "The vehicle leaves the road in the forest")
    });
}

/// Ended or killed while the program runs, the next search goes on, and no program is left behind.
#[test]
fn a_search_that_is_ended_ends_the_program_and_loses_nothing() {
    let world = world();
    search(&world, &["timer"]);
    program(&world, "sh -c 'echo $$ > ../pid; sleep 1000'");
    let search_of = |fault: Option<&str>| {
        let mut command = world.command(&["search", "timer"]);
        if let Some(fault) = fault {
            command.env("AGENT_HANDOVER_TEST_FAULT", fault);
        }
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let child = search_of(None);
    let pid = world.place().join("pid");
    wait_until("the program", || std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')));
    signal(child.id(), "INT");
    let output = output(child);
    assert_eq!((output.code, output.stdout.as_str()), (130, ""));
    assert!(output.stderr.contains("interrupted by SIGINT"), "{}", output.stderr);
    let program_id = std::fs::read_to_string(&pid).unwrap().trim().to_owned();
    wait_until("the end of the program", || is_gone(&program_id));
    program(&world, AWK);
    for fault in ["process.started:1=kill", "process.ended:1=kill", "process.ended:2=kill"] {
        Transcript::of(&world, &fault.replace([':', '=', '.'], "-"), "2026-11-12T09:00:00Z")
            .asks(&format!("A car, {fault}"));
        assert_eq!(super::support::output(search_of(Some(fault))).code, KILLED, "{fault}");
    }
    let answer = search(&world, &["automobile accident"]);
    assert_eq!((answer["vectors"]["missing"].clone(), stored(&world).1), (0.into(), 7));
}

#[test]
fn searches_at_once_store_each_vector_once() {
    let world = world();
    for number in 0..60 {
        Transcript::of(&world, &format!("session-{number}"), "2026-11-12T09:00:00Z")
            .asks(&format!("The {} number {number} stops", if number % 2 == 0 { "car" } else { "bread" }));
    }
    let searches: Vec<_> = (0..6).map(|_| world.start(&["search", "--json", "automobile accident"])).collect();
    for search in searches {
        let output = output(search).stderr_ignored("another process may write");
        assert_eq!(output.code, 0);
        assert!(!sessions(&output.json()).is_empty());
    }
    let answer = search(&world, &["automobile accident"]);
    assert_eq!((answer["vectors"]["missing"].clone(), stored(&world).1), (0.into(), 64));
    let index = rusqlite::Connection::open(world.path(".agent-handover/index.db")).unwrap();
    let check: String = index.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}
