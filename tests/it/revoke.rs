//! Standing rulings that are revoked: where they disappear, what keeps them revoked, and how they come back.

use super::support::*;

const DECISIONS: &str = ".agent-history/DECISIONS.md";
const LIFECYCLE: &str = ".agent-history/LIFECYCLE.yaml";
const PROMPT: &str = ".agent-history/RESUME_PROMPT.txt";
const RULING: &str = "No generated parsers";
const OTHER: &str = "No generated parsers in tests";

/// Archives a handoff with standing rulings.
fn state(world: &World, goal: &str, rulings: &[&str]) {
    let marked: Vec<String> = rulings.iter().map(|ruling| format!("[standing] {ruling}")).collect();
    let decisions = marked.iter().flat_map(|ruling| ["--decision", ruling]);
    let arguments: Vec<&str> =
        ["history", "create", "--goal", goal, "--next", "Fix it"].into_iter().chain(decisions).collect();
    world.run(&arguments).expect(0).stderr_ignored("it may warn that the git status is unknown");
}

/// How many lines end with this text, or with this text and an id.
fn lines_with(text: &str, part: &str) -> usize {
    let before_id = format!("{part}  ");
    text.lines().filter(|line| line.ends_with(part) || line.contains(&before_id)).count()
}

/// Every text that shows rulings to a session or a person.
fn shown(world: &World) -> Vec<(&'static str, String)> {
    let answer =
        |arguments: &[&str]| world.run(arguments).expect(0).stderr_ignored("it may say that a list is empty").stdout;
    vec![
        ("warmup", answer(&["warmup", "--budget", "9000"])),
        ("status", answer(&["history", "status"])),
        ("render", answer(&["history", "render"])),
        ("list", answer(&["history", "revoke", "--list"])),
        ("prompt", answer(&["history", "resume-prompt"])),
        ("memory", answer(&["memory", "list"])),
    ]
}

#[track_caller]
fn assert_gone(world: &World, ruling: &str) {
    for (name, text) in shown(world) {
        assert_eq!(lines_with(&text, ruling), 0, "{name} shows the ruling:\n{text}");
    }
    world.run(&["history", "validate", "--sessions"]).expect(0);
}

#[test]
fn a_revoked_ruling_disappears_everywhere_and_the_log_keeps_it() {
    let world = World::new();
    world.run(&["memory", "add", "constraint", "Rust 1.90 must do"]).expect(0);
    state(&world, "the parser", &[RULING, "No force pushes"]);
    let log = world.read(DECISIONS);
    for (name, text) in shown(&world) {
        assert_eq!(lines_with(&text, RULING), 1, "{name}:\n{text}");
    }
    let prompt = world.read(PROMPT);
    assert_eq!(world.run(&["history", "revoke", "generated"]).expect(0).stdout, format!("revoked: {RULING}\n"));
    assert_gone(&world, RULING);
    for (name, text) in shown(&world) {
        assert_eq!(lines_with(&text, "No force pushes"), 1, "{name}:\n{text}");
    }
    assert_eq!(world.read(DECISIONS), log, "the log only grows");
    let without: Vec<&str> = prompt.lines().filter(|line| !line.ends_with(RULING)).collect();
    assert_eq!(world.read(PROMPT).lines().collect::<Vec<_>>(), without, "nothing else changes in the prompt");
}

#[test]
fn a_revocation_survives_rebuilt_files_and_later_sessions() {
    let world = World::new();
    state(&world, "the parser", &[RULING]);
    world.run(&["history", "revoke", RULING]).expect(0);
    for name in ["INDEX.yaml", "LATEST.md", "RESUME_PROMPT.txt", "DECISIONS.md"] {
        std::fs::remove_file(world.path(&format!(".agent-history/{name}"))).unwrap();
    }
    state(&world, "the lexer", &[]);
    world.run(&["history", "close", "--status", "DONE"]).expect(0);
    assert!(world.read(DECISIONS).contains(RULING));
    assert!(world.read(LIFECYCLE).contains("DONE"));
    assert_gone(&world, RULING);
}

#[test]
fn a_ruling_of_two_sessions_is_listed_once_and_revoked_once() {
    let world = World::new();
    world.run(&["memory", "add", "constraint", "Rust 1.90 must do"]).expect(0);
    state(&world, "the parser", &[RULING]);
    state(&world, "the lexer", &[RULING]);
    for name in ["warmup", "status", "render", "list"] {
        let (_, text) = shown(&world).into_iter().find(|(known, _)| *known == name).unwrap();
        assert_eq!(lines_with(&text, RULING), 1, "{name}:\n{text}");
    }
    let json = world.run(&["history", "status", "--json"]).expect(0).json();
    assert_eq!(json["standing"].as_array().unwrap().len(), 1);
    world.run(&["history", "revoke", RULING]).expect(0);
    assert_gone(&world, RULING);
    // Whoever states it again puts it in force again.
    state(&world, "the docs", &[RULING]);
    for (name, text) in shown(&world) {
        assert_eq!(lines_with(&text, RULING), 1, "{name}:\n{text}");
    }
}

#[test]
fn a_ruling_is_named_by_id_line_or_part_and_an_unclear_one_is_not_guessed() {
    let world = World::new();
    state(&world, "the parser", &[RULING, OTHER]);
    let before = world.tree();
    let list = world.run(&["history", "revoke", "--list", "--json"]).expect(0).json();
    assert_eq!(list["schema"], "agent-handover/history-revoke/1");
    let id = |number: usize| list["rulings"][number]["id"].as_str().unwrap().to_owned();
    let unclear = world.run(&["history", "revoke", "generated"]).expect(1).stderr;
    for part in ["fits 2 standing rulings", &id(0), &id(1), OTHER, "name one of them by its id"] {
        assert!(unclear.contains(part), "{part}: {unclear}");
    }
    let unknown = world.run(&["history", "revoke", "force pushes"]).expect(1).stderr;
    assert!(unknown.contains("no standing ruling fits `force pushes`"), "{unknown}");
    assert!(unknown.contains("history revoke --list"), "{unknown}");
    world.run(&["history", "revoke"]).expect(64);
    world.run(&["history", "revoke", " "]).expect(64);
    assert_eq!(world.tree(), before, "nothing was changed");
    // The whole text of one is a part of the other.
    let answer = world.run(&["history", "revoke", RULING, "--json"]).expect(0).json();
    assert_eq!(answer["schema"], "agent-handover/history-revoke/1");
    assert_eq!(
        (answer["id"].as_str(), answer["ruling"].as_str()),
        (Some(&*id(0)), Some("[standing] No generated parsers"))
    );
    let again = world.run(&["history", "revoke", RULING]).expect(1).stderr;
    assert!(again.contains("is revoked already"), "{again}");
    let status = world.run(&["history", "status"]).expect(0).stdout;
    let line = status.lines().find(|line| line.ends_with(OTHER)).unwrap();
    world.run(&["history", "revoke", line.trim()]).expect(0);
    assert_gone(&world, OTHER);
    assert!(world.run(&["history", "revoke", "--list"]).expect(0).stderr.contains("no standing ruling is in force"));
}

#[test]
fn a_project_without_a_history_has_nothing_to_revoke() {
    let world = World::new();
    world.run(&["history", "revoke", "anything"]).expect(1);
    let list = world.run(&["history", "revoke", "--list"]).expect(0);
    assert!(list.stderr.contains("no standing ruling is in force"), "{}", list.stderr);
    assert!(!world.exists(".agent-history") && !world.exists("memory"));
}

#[test]
fn a_revocation_that_waits_covers_what_was_stated_before_it() {
    let world = World::new();
    state(&world, "the parser", &[RULING]);
    world.write("PAUSE", "");
    let again = "[standing] No generated parsers";
    world.run(&["history", "create", "--goal", "waits", "--next", "Fix it", "--decision", again]).expect(3);
    world.run(&["history", "revoke", RULING]).expect(3);
    world.run(&["history", "revoke", "never said"]).expect(3);
    assert!(world.read(PROMPT).contains(RULING));
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    let story = world.run(&["run", "--resume"]).expect(0);
    assert!(story.seen().contains("nothing was revoked: no standing ruling fits"), "{}", story.seen());
    assert_gone(&world, RULING);
}

#[test]
fn an_unreadable_lifecycle_hides_no_ruling() {
    let world = World::new();
    state(&world, "the parser", &[RULING]);
    world.run(&["history", "revoke", RULING]).expect(0);
    world.write(LIFECYCLE, "revoked: [\n\u{0}");
    let status = world.run(&["history", "status"]).expect(0).stdout;
    assert_eq!(lines_with(&status, RULING), 1, "{status}");
    std::fs::remove_file(world.path(LIFECYCLE)).unwrap();
    std::os::unix::fs::symlink("/dev/null", world.path(LIFECYCLE)).unwrap();
    let warmup = world.run(&["warmup"]).expect(0).stdout;
    assert_eq!(lines_with(&warmup, RULING), 1, "{warmup}");
    assert!(warmup.contains("could not be read"), "{warmup}");
}

#[test]
fn a_ruling_of_an_older_handoff_is_in_the_prompt_at_once() {
    let world = World::new();
    state(&world, "the parser", &["No force pushes"]);
    let template = world.run(&["history", "template"]).expect(0).stdout;
    let older = template
        .replace("-session\"\n", "-older\"\n")
        .replace("generated_at: \"20", "generated_at: \"19")
        .replace("primary_goal: \"\"", "primary_goal: \"Older\"")
        .replace("next_todo_items:\n  - \"\"", "next_todo_items:\n  - \"Write it\"")
        .replace("search_tags:\n  - \"\"", "search_tags:\n  - \"x\"")
        .replace("command: \"\"", "command: \"make\"")
        .replace("decisions: []", &format!("decisions:\n  - \"[standing] {RULING}\""));
    world.write("older.md", older);
    world.run(&["history", "create", "--input", "older.md"]).expect(0).stderr_ignored("git is unknown");
    let prompt = world.read(PROMPT);
    assert!(prompt.contains("Fix it") && lines_with(&prompt, RULING) == 1, "{prompt}");
    world.run(&["history", "validate", "--sessions"]).expect(0);
}

#[test]
fn a_ruling_of_two_sessions_is_in_the_prompt_once() {
    let world = World::new();
    state(&world, "the parser", &[RULING]);
    state(&world, "the lexer", &[RULING, "No force pushes"]);
    let prompt = world.read(PROMPT);
    assert_eq!(lines_with(&prompt, RULING), 1, "{prompt}");
    assert_eq!(lines_with(&world.read(DECISIONS), RULING), 2);
    world.run(&["history", "validate", "--sessions"]).expect(0);

    // Session Glue and older versions list it once for each session. Nobody changed such a prompt.
    let log = world.read(DECISIONS);
    let by_session: String = log.lines().filter(|line| line.contains("[standing]")).flat_map(|l| [l, "\n"]).collect();
    let start = prompt.find("Standing operator rulings:\n").unwrap() + "Standing operator rulings:\n".len();
    let end = start + prompt[start..].find("\n\n").unwrap() + 1;
    world.write(PROMPT, format!("{}{by_session}{}", &prompt[..start], &prompt[end..]));
    world.run(&["history", "validate", "--sessions"]).expect(0);
    let printed = world.run(&["history", "resume-prompt"]).expect(0);
    assert_eq!(lines_with(&printed.stdout, RULING), 2);
}
