//! What commands are given while everything is paused: it is recorded, nothing else changes, and it is carried out after
//! the pause, in order and once.

use std::collections::BTreeMap;
use std::path::Path;

use agent_handover::testing::base::fault::POINTS;
use snapbox::{assert_data_eq, str};

use super::hook::Session;
use super::prepared::{Passes, Prepared};
use super::support::*;

const HANDOFFS: &str = include_str!("../data/session-handoff/store/handoffs.json");

/// A command that is given words.
struct Command {
    name: &'static str,
    arguments: fn(&World) -> Vec<String>,
}

fn words(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|word| (*word).to_owned()).collect()
}

const COMMANDS: &[Command] = &[
    Command { name: "memory add", arguments: |_| words(&["memory", "add", "decision", "use SQLite"]) },
    Command {
        name: "memory capture",
        arguments: |_| {
            let data = r#"{"goal": "ship it", "open_loops": ["another", "and one"], "clear": ["decision"]}"#;
            words(&["memory", "capture", "--data", data, "--agent", "codex", "--tag", "other"])
        },
    },
    Command { name: "memory done", arguments: |world| words(&["memory", "done", &item(world, "open_loop")]) },
    Command { name: "memory delete", arguments: |world| words(&["memory", "delete", &item(world, "decision")]) },
    Command {
        name: "history create",
        arguments: |_| {
            words(&["history", "create", "--goal", "the parser", "--next", "Fix it", "--decision", "[standing] so"])
        },
    },
    Command { name: "history close", arguments: |_| words(&["history", "close", "--status", "DONE"]) },
    Command {
        name: "history revoke",
        arguments: |world| {
            let ruling =
                ["history", "create", "--goal", "rules", "--next", "Fix it", "--decision", "[standing] no nom"];
            world.run(&ruling).expect(0);
            words(&["history", "revoke", "no nom"])
        },
    },
    Command {
        name: "history import",
        arguments: |_| words(&["history", "import", "--input", "../in.json", "--allow-unsigned"]),
    },
];

/// The id of the only item of a category.
fn item(world: &World, category: &str) -> String {
    let list = world.run(&["memory", "list", "--category", category, "--json"]).expect(0).json();
    list["items"][0]["id"].as_str().unwrap().to_owned()
}

/// A project that remembers something already.
fn world() -> World {
    let world = World::with_git();
    let data = r#"{"open_loops": ["the loop"], "decisions": ["the first decision"]}"#;
    world.run(&["memory", "capture", "--data", data]).expect(0);
    world.run(&["history", "create", "--goal", "before", "--next", "Write it"]).expect(0);
    // The samples are a day younger than the day of the tests.
    world.write("../in.json", HANDOFFS.replace("2026-11-16T", "2026-11-14T"));
    world
}

fn as_given(world: &World, arguments: &[String]) -> std::process::Command {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = world.command(&arguments);
    command.env("AGENT_HANDOVER_TEST_IDS", seed("the command"));
    command
}

fn run(world: &World, arguments: &[String], fault: Option<&str>) -> Output {
    let mut command = as_given(world, arguments);
    if let Some(fault) = fault {
        command.env("AGENT_HANDOVER_TEST_FAULT", format!("{fault}=kill"));
    }
    finish(&mut command).stderr_ignored("warnings about the words")
}

/// The same without a pause.
fn oracle(command: &Command) -> World {
    let world = world();
    let arguments = (command.arguments)(&world);
    run(&world, &arguments, None).expect(0);
    world
}

/// Every file of the world, the home included, except those of the state directory and the id by which it is known.
fn outside(world: &World) -> BTreeMap<String, Vec<u8>> {
    fn walk(directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let is_directory = path.is_dir() && !path.is_symlink();
            let content = if is_directory { Vec::new() } else { std::fs::read(&path).unwrap_or_default() };
            files.insert(path.display().to_string(), content);
            if is_directory && !path.ends_with("project/.agent-handover") {
                walk(&path, files);
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(world.root().parent().unwrap(), &mut files);
    let known = [".local", ".local/state", ".local/state/agent-handover"];
    let is_known = |path: &str| known.iter().any(|end| path.ends_with(end)) || path.contains("/agent-handover/states");
    files.retain(|path, _| !path.ends_with("project/.agent-handover") && !is_known(path));
    files
}

fn unpause(world: &World) {
    std::fs::remove_file(world.path("PAUSE")).unwrap();
}

#[track_caller]
fn assert_same(world: &World, oracle: &World, case: &str) {
    assert_eq!(world.tree(), oracle.tree(), "{case}");
    assert_eq!(world.read(".git/info/exclude"), oracle.read(".git/info/exclude"), "{case}");
    assert_eq!(world.strays(), [""; 0], "{case}");
}

#[test]
fn while_paused_each_command_records_its_words_and_changes_nothing_else() {
    for command in COMMANDS {
        let world = world();
        let arguments = (command.arguments)(&world);
        world.write("PAUSE", "not now");
        let before = outside(&world);
        let output = run(&world, &arguments, None).expect(3);
        let last = output.stderr.lines().last().unwrap().to_owned();
        assert!(last.starts_with("error: automation paused: remove "), "{}: {last}", command.name);
        assert!(last.ends_with(" is recorded and waits"), "{}: {last}", command.name);
        assert_eq!(outside(&world), before, "{}", command.name);
        let id = last.split("; ").last().unwrap().split(' ').next().unwrap().to_owned();
        let check = world.run(&["check"]).expect(1).stdout;
        let line = format!("interrupted: {} {id}, recorded 2026-11-15T10:04:05", command.name);
        assert!(check.starts_with(&line), "{check}");
        let status = world.run(&["status"]).expect(0).stdout;
        assert!(status.contains(&format!("pending: {}\n", command.name)), "{status}");
        // Nothing is carried out during the pause.
        world.run(&["run", "--resume"]).expect(3);
        assert_eq!(outside(&world), before, "{}", command.name);
    }
}

#[test]
fn after_the_pause_a_resume_a_run_and_a_hook_carry_the_words_out() {
    for command in COMMANDS {
        let oracle = oracle(command);
        for way in ["resume", "hook"] {
            let world = world();
            let arguments = (command.arguments)(&world);
            world.write("PAUSE", "");
            run(&world, &arguments, None).expect(3);
            unpause(&world);
            if way == "resume" {
                let output = world.run(&["run", "--resume"]).expect(0);
                assert_eq!(output.stdout, format!("handover steps executed: {}\n", command.name));
            } else {
                Session::dying(&world, "aaaa-1").start("startup");
                wait_until("the hook's child to be done", || world.run(&["check"]).code == 2);
            }
            assert_same(&world, &oracle, &format!("{} by {way}", command.name));
            // Once.
            world.run(&["run", "--resume"]).expect(0);
            assert_same(&world, &oracle, command.name);
        }
    }
    let world = world();
    world.write("PAUSE", "");
    world.run(&["memory", "add", "decision", "said while paused"]).expect(3);
    unpause(&world);
    world.run(&["run", "--note", "later"]).expect(0);
    assert!(world.read(STATE).contains("- said while paused\n"));
}

#[test]
fn killed_anywhere_the_words_of_memory_commands_are_carried_out_once() {
    killed_anywhere("memory");
}

#[test]
fn killed_anywhere_the_words_of_history_commands_are_carried_out_once() {
    killed_anywhere("history");
}

fn killed_anywhere(group: &str) {
    for (turn, command) in COMMANDS.iter().filter(|command| command.name.starts_with(group)).enumerate() {
        let oracle = oracle(command);
        let world = world();
        let arguments = (command.arguments)(&world);
        world.write("PAUSE", "");
        let prepared = Prepared::new(&world);
        let given = |arguments: &[String]| Passes::points(&world, &mut as_given(&world, arguments));
        let recording = given(&arguments);
        unpause(&world);
        let resume = words(&["run", "--resume"]);
        let passes = recording.or(given(&resume));
        let mut kills = 0;
        for (number, point) in POINTS.iter().enumerate() {
            if (number + turn) % stride(2) != 0 {
                continue;
            }
            for nth in passes.at(point, stride(6)) {
                let fault = format!("{point}:{nth}");
                let world = prepared.again();
                // Killed while it records. What was not recorded is said again.
                let is_killed = run(world, &arguments, Some(&fault)).code == KILLED;
                if is_killed && world.run(&["check"]).code != 1 {
                    run(world, &arguments, None).expect(3);
                }
                unpause(world);
                // Killed while it is carried out, and once more elsewhere.
                let is_killed = run(world, &resume, Some(&fault)).code == KILLED || is_killed;
                assert!(is_killed, "{}: not killed at {fault}", command.name);
                kills += 1;
                let again = POINTS[(number + nth) % POINTS.len()];
                run(world, &resume, Some(&format!("{again}:1")));
                world.run(&["run", "--resume"]).expect(0);
                assert_same(world, &oracle, &format!("{}: killed at {fault}, then at {again}:1", command.name));
                world.assert_database_is_sound();
            }
        }
        let least = if stride(2) == 1 { 11 } else { 4 };
        assert!(kills >= least, "{}: only {kills} kills", command.name);
    }
}

#[test]
fn several_are_carried_out_in_the_order_in_which_they_were_recorded() {
    let said: &[&[&str]] = &[
        &["memory", "add", "decision", "one"],
        &["memory", "capture", "--data", "{\"clear\": [\"decision\"]}"],
        &["memory", "add", "decision", "two"],
        &["memory", "add", "decision", "two"],
        &["history", "create", "--goal", "first", "--next", "Fix it"],
        &["history", "create", "--goal", "first", "--next", "Fix it"],
        &["history", "close", "--status", "BLOCKED"],
        &["run", "--note", "a note", "--current-state", "a state"],
        &["memory", "add", "known_issue", "three"],
    ];
    let [paused, oracle] = [true, false].map(|is_paused| {
        let world = world();
        if is_paused {
            world.write("PAUSE", "");
        }
        for arguments in said {
            world.run(arguments).expect(if is_paused { 3 } else { 0 }).stderr_ignored("warnings about the words");
        }
        if is_paused {
            unpause(&world);
            world.run(&["run", "--resume"]).expect(0);
        }
        world
    });
    assert_same(&paused, &oracle, "in order");
    assert_eq!(paused.read(STATE).matches("- two\n").count(), 1);
}

/// A kill after the change and before its end is recorded, and then somebody deletes what was added.
#[test]
fn a_resume_does_not_bring_back_what_was_deleted_meanwhile() {
    let world = world();
    world.write("PAUSE", "");
    world.run(&["memory", "add", "goal", "for a moment"]).expect(3);
    unpause(&world);
    run(&world, &words(&["run", "--resume"]), Some("step.acted:1")).expect(KILLED);
    let id = item(&world, "goal");
    world.run(&["memory", "delete", &id]).expect(0).stderr_ignored("it finishes what was interrupted first");
    world.run(&["run", "--resume"]).expect(0);
    assert!(!world.read(STATE).contains("- for a moment"), "{}", world.read(STATE));
    assert_eq!(world.read(NOTES).matches("for a moment").count(), 2, "added and deleted: {}", world.read(NOTES));
}

#[test]
fn a_project_without_a_state_directory_gets_one() {
    let world = World::new();
    world.write("PAUSE", "");
    let before = outside(&world);
    world.run(&["history", "create", "--goal", "g", "--next", "Fix it"]).expect(3);
    assert_eq!(outside(&world), before);
    assert!(world.exists(".agent-handover/checkpoint.db"));
    unpause(&world);
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(".agent-history/LATEST.md").contains("primary_goal: \"g\""));
}

#[test]
fn a_history_that_repo_root_names_is_written_there() {
    let world = World::new();
    world.write("PAUSE", "");
    world.write("../elsewhere/x", "");
    let root = world.root().display().to_string();
    let create = ["history", "create", "--repo-root", &root, "--goal", "g", "--next", "Fix it"];
    finish(world.command(&create).current_dir(world.path("../elsewhere"))).expect(3);
    assert!(!world.exists("../elsewhere/.agent-handover"));
    unpause(&world);
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(".agent-history/LATEST.md").contains("primary_goal: \"g\""));
}

/// A document of this session.
fn named(id: &str, next: &str) -> String {
    include_str!("../data/handoffs/glue-dialect.md")
        .replace("2026-11-15-1000-parser", id)
        .replace("Fix the off-by-one in lexer.rs:42", next)
}

#[test]
fn what_would_be_refused_is_refused_while_paused_too_and_not_recorded() {
    let world = world();
    world.write("PAUSE", "");
    world.write("../taken.md", named("2026-11-15-1004-before", "Something else"));
    let key = ["AKIA", "Z5GFH3LQMNOP7RST"].concat();
    for (arguments, code) in [
        (&["memory", "add", "decision", &key][..], 5),
        (&["memory", "add", "decision", ""], 64),
        (&["memory", "capture", "--data", "{\"nonsense\": 1}"], 65),
        (&["memory", "done", "0000000000"], 1),
        (&["history", "create", "--goal", "no next"], 64),
        (&["history", "create", "--input", "../taken.md"], 1),
        (&["history", "close", "--session", "nobody", "--status", "DONE"], 1),
        (&["history", "import", "--input", "../in.json"], 6),
    ] {
        world.run(arguments).expect(code);
    }
    world.run(&["check"]).expect(0);
    world.write("../new.md", named("2026-11-15-1005-new", "Fix it"));
    world.run(&["history", "create", "--input", "../new.md"]).expect(3);
    world.write("../new.md", named("2026-11-15-1005-new", "Fix that"));
    let taken = world.run(&["history", "create", "--input", "../new.md"]).expect(1);
    assert!(taken.stderr.contains("waits to be archived already with another content"), "{}", taken.stderr);
    world.run(&["history", "create", "--input", "../new.md", "--supersede"]).expect(3);
    unpause(&world);
    world.run(&["run", "--resume"]).expect(0);
    assert_eq!(world.run(&["history", "list", "--json"]).expect(0).json()["handoffs"].as_array().unwrap().len(), 3);
}

/// Carries out what waits, and returns the story. Later handovers must work.
#[track_caller]
fn resume(world: &World) -> String {
    unpause(world);
    let story = world.run(&["run", "--resume"]).expect(0).stderr_ignored("what became of each").stderr.to_string();
    world.run(&["run", "--note", "a later handover"]).expect(0);
    world.run(&["check"]).expect(2);
    story
}

fn archive(world: &World, id: &str) -> String {
    world.read(&format!(".agent-history/sessions/{id}.md"))
}

#[test]
fn a_session_to_close_that_never_appears_holds_up_no_handover() {
    let world = world();
    world.write("PAUSE", "");
    // Only something that archives a handoff can make an unknown session known.
    world.run(&["memory", "add", "decision", "d"]).expect(3);
    world.run(&["history", "close", "--session", "nope", "--status", "DONE"]).expect(1);
    world.run(&["history", "create", "--goal", "another", "--next", "Fix it"]).expect(3);
    world.run(&["history", "close", "--session", "nope", "--status", "DONE"]).expect(3);
    let story = resume(&world);
    assert!(story.contains("nothing was closed: unknown session id 'nope'"), "{story}");
}

#[test]
fn a_history_that_is_gone_when_a_session_is_closed_holds_up_no_handover() {
    let world = world();
    world.write("PAUSE", "");
    world.run(&["history", "close", "--status", "DONE"]).expect(3);
    std::fs::remove_dir_all(world.path(".agent-history")).unwrap();
    let story = resume(&world);
    assert!(story.contains("nothing was closed: "), "{story}");
}

#[test]
fn a_conflict_that_appears_before_an_import_holds_up_no_handover() {
    let world = world();
    let import = words(&["history", "import", "--input", "../in.json", "--allow-unsigned"]);
    world.write("PAUSE", "");
    run(&world, &import, None).expect(3);
    let scratch = World::new();
    scratch.write("../in.json", world.read("../in.json").replace("Run race tests", "Run other tests"));
    run(&scratch, &import, None).expect(0).stderr_ignored("they are not signed");
    let taken = archive(&scratch, "20261116-001428");
    world.write(".agent-history/sessions/20261116-001428.md", &taken);
    let story = resume(&world);
    assert!(story.contains("nothing was imported: handoff 20261116-001428 is already archived"), "{story}");
    assert_eq!(archive(&world, "20261116-001428"), taken);
}

#[test]
fn an_archive_name_that_is_taken_meanwhile_holds_up_no_handoff() {
    for taken in ["not a handoff", "---\nsession_id: \"other\"\n---\n"] {
        let world = world();
        world.write("PAUSE", "");
        world.run(&["history", "create", "--goal", "new one", "--next", "Fix it"]).expect(3);
        let path = ".agent-history/sessions/2026-11-15-1004-new-one.md";
        world.write(path, taken);
        resume(&world);
        assert_eq!(world.read(path), taken);
        let archived = archive(&world, "2026-11-15-1004-new-one-2");
        assert!(archived.contains("new one") && !archived.contains("supersedes: \"2026"), "{archived}");
    }
}

#[test]
fn a_status_that_was_set_after_a_close_was_recorded_stays() {
    let world = world();
    world.write("PAUSE", "");
    world.run(&["history", "close", "--status", "DONE"]).expect(3);
    unpause(&world);
    world.run(&["history", "close", "--status", "BLOCKED"]).expect(0);
    world.write("PAUSE", "");
    let story = resume(&world);
    assert!(story.contains("nothing was closed: its status was set to BLOCKED since"), "{story}");
    assert!(world.read(".agent-history/LIFECYCLE.yaml").contains("BLOCKED"));
    // Several that wait are carried out in their order.
    world.write("PAUSE", "");
    world.run(&["history", "close", "--status", "DONE"]).expect(3);
    world.run(&["history", "close", "--status", "ABANDONED"]).expect(3);
    resume(&world);
    assert!(world.read(".agent-history/LIFECYCLE.yaml").contains("ABANDONED"));
}

#[test]
fn a_summary_that_is_saved_while_paused_waits() {
    let world = World::new();
    Session::dying(&world, "aaaa-1").ask("Make the parser faster");
    world.write("PAUSE", "");
    let before = outside(&world);
    world.run(&["summarize", "--save", "--summary", "made it faster"]).expect(3);
    assert_eq!(outside(&world), before);
    unpause(&world);
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(NOTES).contains("made it faster"));
}

#[test]
fn what_waits_can_be_abandoned() {
    let world = World::new();
    world.write("PAUSE", "");
    world.run(&["memory", "add", "decision", "d"]).expect(3);
    unpause(&world);
    let output = world.run(&["run", "--abandon"]).expect(0).stdout;
    assert!(output.starts_with("abandoned memory add "), "{output}");
    assert!(output.contains(" prints its inputs again\ngiven:\n") && output.contains("\"d\""), "{output}");
    world.run(&["check"]).expect(0);
    assert!(!world.exists("memory"));
}

#[test]
fn unpause_reports_what_waits_and_what_carries_it_out() {
    let world = World::new();
    world.run(&["pause"]).expect(0);
    world.run(&["memory", "add", "decision", "one"]).expect(3);
    world.run(&["history", "create", "--goal", "two", "--next", "Fix it"]).expect(3);
    assert_data_eq!(
        world.run(&["status"]).expect(0).stdout,
        str![[r#"
status: in_progress
  [ ] memory add
pending: memory add
run: [..] recorded just now, tag general
waiting: history create [..] recorded just now
unfinished: run `agent-handover run --resume` to continue
automation paused: remove $WORLD/project/PAUSE to resume

"#]]
    );
    let waiting = &world.run(&["status", "--json"]).expect(0).json()["waiting"];
    assert_eq!(waiting[0]["command"], "history create");
    assert_data_eq!(
        world.run(&["unpause"]).expect(0).stdout,
        str![[r#"
removed $WORLD/project/PAUSE
waiting: 2 recorded commands; `agent-handover run --resume` carries them out

"#]]
    );
    world.run(&["run", "--resume"]).expect(0);
    assert_eq!(world.run(&["unpause"]).expect(0).stdout, "not paused\n");
}

#[test]
fn a_config_cannot_name_the_kinds_of_recorded_commands() {
    for kind in agent_handover::testing::steps::DEFERRED_KINDS {
        let world = World::with_config(&format!("[[step]]\nname = \"x\"\nkind = \"{}\"\n", kind.name));
        let output = world.run(&["run", "--note", "n"]).expect(65);
        assert!(output.stderr.contains(&format!("kind = \"{}\"", kind.name)), "{}", output.stderr);
    }
}
