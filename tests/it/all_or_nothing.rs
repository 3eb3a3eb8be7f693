//! A command that changes several files is done as a whole or not at all: killed anywhere, the next command finishes it, and
//! the files are those of a command that was never interrupted.

use std::collections::BTreeMap;

use agent_handover::testing::base::fault::POINTS;

use super::hook::Session;
use super::prepared::{Passes, Prepared};
use super::support::*;

const HANDOFFS: &str = include_str!("../data/session-handoff/store/handoffs.json");
/// When the next command is given.
const LATER: &str = "2026-11-15T11:04:05Z";
/// A command that changes several files.
struct Changing {
    name: &'static str,
    arguments: fn(&World) -> Vec<String>,
}

fn words(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|word| (*word).to_owned()).collect()
}

const COMMANDS: &[Changing] = &[
    Changing { name: "memory add", arguments: |_| words(&["memory", "add", "decision", "use SQLite"]) },
    Changing { name: "memory done", arguments: |world| words(&["memory", "done", &item(world, "open_loop")]) },
    Changing { name: "memory delete", arguments: |world| words(&["memory", "delete", &item(world, "decision")]) },
    Changing {
        name: "memory capture",
        arguments: |_| {
            let data = r#"{"goal": "ship it", "open_loops": ["another", "and one"], "clear": ["decision"]}"#;
            words(&["memory", "capture", "--data", data, "--agent", "codex", "--tag", "other"])
        },
    },
    Changing {
        name: "history create",
        arguments: |_| {
            words(&["history", "create", "--goal", "the parser", "--next", "Fix it", "--decision", "[standing] so"])
        },
    },
    Changing { name: "history close", arguments: |_| words(&["history", "close", "--status", "DONE"]) },
    Changing {
        name: "history accept",
        arguments: |world| {
            change_by_hand(world);
            words(&["history", "accept"])
        },
    },
    Changing { name: "history revoke", arguments: |_| words(&["history", "revoke", "no force"]) },
    Changing {
        name: "history import",
        arguments: |_| words(&["history", "import", "--input", "../in.json", "--allow-unsigned"]),
    },
];

/// Commands that may be the next one. All of them finish what was interrupted.
const NEXT: &[&[&str]] = &[
    &["run", "--resume"],
    &["memory", "add", "known_issue", "seen later"],
    &["history", "create", "--goal", "later", "--next", "Test it"],
    &["memory", "compact"],
    &["run", "--note", "a later note"],
    &["run", "--restart", "--note", "a later note"],
    &["history", "close", "--status", "BLOCKED"],
];

/// The id of the only item of a category.
fn item(world: &World, category: &str) -> String {
    let list = world.run(&["memory", "list", "--category", category, "--json"]).expect(0).json();
    list["items"][0]["id"].as_str().unwrap().to_owned()
}

/// Changes an archive, an end and a decision, as a person may. Doing it twice is the same as doing it once.
fn change_by_hand(world: &World) {
    for name in std::fs::read_dir(world.path(".agent-history/sessions")).unwrap() {
        let path = format!(".agent-history/sessions/{}", name.unwrap().file_name().to_str().unwrap());
        world.write(&path, world.read(&path).replace("primary_goal: \"before\"", "primary_goal: \"by hand\""));
    }
    let (log, line) = (world.read(".agent-history/DECISIONS.md"), "- [2026-11-15][x] by hand\n");
    if !log.contains(line) {
        world.write(".agent-history/DECISIONS.md", log + line);
    }
}

/// A project that remembers something already.
fn world() -> World {
    let world = World::with_git();
    let data = r#"{"open_loops": ["the loop"], "decisions": ["No force pushes"]}"#;
    world.run(&["memory", "capture", "--data", data]).expect(0);
    let ruling = "[standing] No force pushes";
    world.run(&["history", "create", "--goal", "before", "--next", "Write it", "--decision", ruling]).expect(0);
    // The samples are a day younger than the day of the tests.
    world.write("../in.json", HANDOFFS.replace("2026-11-16T", "2026-11-14T"));
    world
}

/// The same, with what the command finds there. Asking for its arguments makes that, too.
fn world_for(command: &Changing) -> World {
    let world = world();
    (command.arguments)(&world);
    world
}

/// The command under test, with the ids that it always has.
fn as_given(world: &World, arguments: &[String]) -> std::process::Command {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = world.command(&arguments);
    command.env("AGENT_HANDOVER_TEST_IDS", seed("the command"));
    command
}

/// Gives the command under test.
fn give(world: &World, arguments: &[String], fault: &str) -> Output {
    let mut command = as_given(world, arguments);
    if !fault.is_empty() {
        command.env("AGENT_HANDOVER_TEST_FAULT", format!("{fault}=kill"));
    }
    finish(&mut command).stderr_ignored("warnings about the words")
}

/// Like [`give`], killed at the `nth` time that the process makes a system call.
fn give_until_call(world: &World, arguments: &[String], call: &str, nth: usize) -> Output {
    let mut command = killed_at_call(world, call, nth);
    finish(command.args(arguments).env("AGENT_HANDOVER_TEST_IDS", seed("the command")))
        .stderr_ignored("warnings about the words")
}

/// Gives the next command, an hour later.
fn give_next(world: &World, arguments: &[&str]) -> Output {
    let mut command = world.command(arguments);
    command.env("AGENT_HANDOVER_TEST_IDS", seed("the next")).env("AGENT_HANDOVER_TEST_NOW", LATER);
    finish(&mut command).stderr_ignored("what was finished first")
}

/// The files that a command leaves if nothing is killed: without it, after it, and after each of the next commands, too.
struct Oracles<'a> {
    command: &'a Changing,
    arguments: Vec<String>,
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
    /// Those after the next command, and what git does not show then.
    next: Vec<(BTreeMap<String, String>, String)>,
}

impl<'a> Oracles<'a> {
    fn of(command: &'a Changing, prepared: &Prepared<'_>) -> Oracles<'a> {
        let world = prepared.again();
        let (arguments, before) = ((command.arguments)(world), world.tree());
        let world = prepared.again();
        give(world, &arguments, "").expect(0);
        let after = world.tree();
        let done = Prepared::new(world);
        let next = NEXT.iter().map(|next| {
            let world = done.again();
            give_next(world, next).expect(0);
            (world.tree(), exclude(world))
        });
        Oracles { command, arguments, before, after, next: next.collect() }
    }
}

fn exclude(world: &World) -> String {
    world.read(".git/info/exclude")
}

/// What a killed command left: the files are those from before or after it, or `check` says that it waits. Then the next
/// command is given, and everything is as if nothing had been killed.
#[track_caller]
fn assert_finished_by_next(world: &World, oracles: &Oracles<'_>, kills: usize, case: &str) {
    let command = oracles.command;
    let checked = world.run(&["check"]);
    if checked.code == 1 {
        assert!(checked.stdout.starts_with(&format!("interrupted: {} ", command.name)), "{case}: {}", checked.stdout);
        let status = world.run(&["status"]).expect(0).stdout;
        assert!(status.contains(&format!("pending: {}\n", command.name)), "{case}: {status}");
    } else if world.tree() != oracles.after {
        assert_eq!(world.tree(), oracles.before, "{case}: part of it is there, and nothing waits");
        give(world, &oracles.arguments, "").expect(0);
    }
    let at = kills % NEXT.len();
    let case = format!("{case}, then {:?}", NEXT[at]);
    let next = give_next(world, NEXT[at]);
    assert_eq!(next.code, 0, "{case}: {}", next.seen());
    assert_eq!((world.tree(), exclude(world)), oracles.next[at], "{case}");
    assert_eq!(world.strays(), [""; 0], "{case}");
    world.run(&["history", "validate", "--sessions"]).expect(0).stderr_ignored("files that are not there");
    assert_ne!(world.run(&["check"]).code, 1, "{case}");
    world.assert_database_is_sound();
}

/// The points at which the sample kills: those that every command passes.
const SAMPLE: &[&str] = &["checkpoint.recorded", "checkpoint.forgotten", "fs.written", "fs.replaced"];

/// Kills at every fault point.
fn killed_at_fault_points(group: &str) {
    for (index, command) in COMMANDS.iter().enumerate().filter(|(_, command)| command.name.starts_with(group)) {
        let world = world_for(command);
        let prepared = Prepared::new(&world);
        let oracles = Oracles::of(command, &prepared);
        let passes = Passes::points(prepared.again(), &mut as_given(&world, &oracles.arguments));
        let mut kills = 0;
        for point in POINTS.iter().filter(|point| stride(2) == 1 || SAMPLE.contains(point)) {
            for nth in passes.at(point, stride(3)) {
                let world = prepared.again();
                give(world, &oracles.arguments, &format!("{point}:{nth}")).expect(KILLED);
                let case = format!("{} killed at {point}:{nth}", command.name);
                assert_finished_by_next(world, &oracles, index + kills, &case);
                kills += 1;
            }
        }
        assert!(kills >= SAMPLE.len(), "{}: only {kills} kills", command.name);
    }
}

#[test]
fn killed_at_any_point_a_memory_command_is_finished_by_the_next_command() {
    killed_at_fault_points("memory");
}

#[test]
fn killed_at_any_point_a_history_command_is_finished_by_the_next_command() {
    killed_at_fault_points("history");
}

/// Kills at every system call that changes a file. The sample takes other calls for each command.
fn killed_at_system_calls(group: &str) {
    if !is_installed("strace") {
        return skip("strace is not installed");
    }
    for (index, command) in COMMANDS.iter().enumerate().filter(|(_, command)| command.name.starts_with(group)) {
        let world = world_for(command);
        let prepared = Prepared::new(&world);
        let oracles = Oracles::of(command, &prepared);
        let passes = Passes::calls(prepared.again(), &oracles.arguments);
        let mut kills = 0;
        for (number, call) in CHANGING_CALLS.iter().enumerate() {
            if (number + index) % stride(4) != 0 {
                continue;
            }
            for nth in passes.at(call, 1).skip(index % stride(2)).step_by(stride(7)) {
                let world = prepared.again();
                if give_until_call(world, &oracles.arguments, call, nth).code != KILLED {
                    break;
                }
                let case = format!("{} killed at {call} {nth}", command.name);
                assert_finished_by_next(world, &oracles, index + kills, &case);
                kills += 1;
            }
        }
        assert!(kills > 0, "{}: not killed once", command.name);
    }
}

#[test]
fn killed_at_any_system_call_a_memory_command_is_finished_by_the_next_command() {
    killed_at_system_calls("memory");
}

#[test]
fn killed_at_any_system_call_a_history_command_is_finished_by_the_next_command() {
    killed_at_system_calls("history");
}

/// Layer 1 says that the item is done, and the current state still has it.
fn half_done() -> (World, String) {
    let world = world();
    let id = item(&world, "open_loop");
    give(&world, &words(&["memory", "done", &id]), "fs.replaced:1").expect(KILLED);
    assert!(world.read(NOTES).contains(&format!("- done open_loop {id}: Write it")), "{}", world.read(NOTES));
    assert!(world.read(STATE).contains("- Write it\n"), "{}", world.read(STATE));
    (world, id)
}

#[test]
fn a_killed_command_is_named_and_the_next_one_reports_that_it_finished_it() {
    let (world, id) = half_done();
    let check = world.run(&["check"]).expect(1).stdout;
    assert!(check.starts_with("interrupted: memory done "), "{check}");
    let next = world.run(&["memory", "add", "decision", "another"]).expect(0);
    assert!(next.stderr.contains("finished memory done "), "{}", next.stderr);
    assert!(next.stderr.contains(", which was interrupted"), "{}", next.stderr);
    assert!(!world.read(STATE).contains("- Write it\n"), "{}", world.read(STATE));
    assert_eq!(world.read(NOTES).matches(&format!("- done open_loop {id}")).count(), 1);
    // Commands are no handovers: none is on record.
    assert_eq!(world.run(&["check"]).expect(0).stdout, "no handover on record\n");
    assert_eq!(rows(&world), 0);
}

#[test]
fn a_killed_command_that_is_given_again_finds_it_done() {
    let (world, id) = half_done();
    let again = world.run(&["memory", "done", &id]).expect(1);
    assert!(again.stderr.contains("finished memory done "), "{}", again.stderr);
    assert_eq!(world.read(NOTES).matches(&format!("- done open_loop {id}")).count(), 1);
}

#[test]
fn a_hook_finishes_a_killed_command() {
    let (world, _) = half_done();
    Session::dying(&world, "aaaa-1").start("startup");
    wait_until("the hook's child to be done", || world.run(&["check"]).code != 1);
    assert!(!world.read(STATE).contains("- Write it\n"), "{}", world.read(STATE));
}

/// How many runs are on record.
fn rows(world: &World) -> i64 {
    world.database().query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap()
}

#[test]
fn an_older_handover_is_not_started_by_a_command() {
    let world = world();
    let mut run = world.command(&["run", "--note", "of a session"]);
    finish(run.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(KILLED);
    world.write("PAUSE", "");
    world.run(&["memory", "add", "decision", "said while paused"]).expect(3);
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    give(&world, &words(&["memory", "add", "decision", "interrupted"]), "fs.replaced:1").expect(KILLED);
    world.run(&["memory", "add", "decision", "the last"]).expect(0).stderr_ignored("what was finished");
    let state = world.read(STATE);
    assert!(state.contains("- interrupted\n") && state.contains("- the last\n"), "{state}");
    assert!(!state.contains("- said while paused\n") && !world.read(NOTES).contains("of a session"), "{state}");
    world.run(&["check"]).expect(1);
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(STATE).contains("- said while paused\n") && world.read(NOTES).contains("\nof a session\n"));
}

#[test]
fn a_command_that_fails_before_it_changes_anything_leaves_no_record() {
    let world = world();
    let state = world.read(STATE);
    std::fs::rename(world.path(STATE), world.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), world.path(STATE)).unwrap();
    assert_ne!(world.run(&["memory", "add", "decision", "x"]).code, 0);
    // The document states an id that is taken.
    let latest = world.read(".agent-history/LATEST.md");
    world.write("again.md", latest.replace("primary_goal: \"before\"", "primary_goal: \"other\""));
    let refused = world.run(&["history", "create", "--input", "again.md"]).expect(1);
    assert!(refused.stderr.contains("is already archived with other content"), "{}", refused.stderr);
    world.run(&["history", "close", "--session", "nobody", "--status", "DONE"]).expect(1);
    assert_eq!(rows(&world), 0);
    assert_eq!(world.read("elsewhere"), state);
}

#[test]
fn a_command_that_fails_halfway_waits_until_it_can_be_finished() {
    let world = world();
    let id = item(&world, "open_loop");
    // The temporary of the current state cannot be written: its directory is gone when its turn comes.
    let command =
        world.command(&["memory", "done", &id]).env("AGENT_HANDOVER_TEST_FAULT", "fs.replaced:1=stop").spawn();
    let mut child = command.unwrap();
    wait_until("the command to stop", || is_stopped(child.id()));
    let layer2 = world.path("memory/layer2");
    std::fs::rename(&layer2, world.path("aside")).unwrap();
    std::fs::write(&layer2, "in the way").unwrap();
    signal(child.id(), "CONT");
    assert!(!child.wait().unwrap().success());
    std::fs::remove_file(&layer2).unwrap();
    std::fs::rename(world.path("aside"), &layer2).unwrap();
    let check = world.run(&["check"]).expect(1).stdout;
    assert!(check.starts_with("interrupted: memory done "), "{check}");
    world.run(&["run", "--resume"]).expect(0);
    assert!(!world.read(STATE).contains("- Write it\n"), "{}", world.read(STATE));
}

#[test]
fn a_command_that_is_being_carried_out_is_not_taken_for_an_interrupted_one() {
    let world = world();
    let mut command = world.command(&["memory", "add", "decision", "slow"]);
    let child = command.env("AGENT_HANDOVER_TEST_FAULT", "fs.replaced:1=stop");
    let child = child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the command to stop", || is_stopped(child.id()));
    assert_eq!(world.run(&["check"]).expect(0).stdout, "no handover on record\n");
    assert!(!world.run(&["status"]).expect(0).stdout.contains("memory add"));
    world.run(&["run", "--abandon"]).stderr_ignored("there is nothing to abandon");
    // A handover that comes by waits for the command and does not do it a second time.
    let run = world.start(&["run", "--note", "meanwhile"]);
    wait_until("the run to be recorded", || rows(&world) == 2);
    signal(child.id(), "CONT");
    let added = output(child).expect(0);
    assert!(added.stdout.starts_with("added "), "{}", added.stdout);
    output(run).expect(0);
    assert_eq!(world.read(STATE).matches("- slow\n").count(), 1);
    assert_eq!(world.read(NOTES).matches(": slow\n").count(), 1);
    assert_eq!(rows(&world), 1);
}

#[test]
fn many_commands_at_once_leave_no_record_and_lose_nothing() {
    let world = world();
    let children: Vec<_> =
        (0..8).map(|n| world.start(&["memory", "add", "known_issue", &format!("issue {n}")])).collect();
    for child in children {
        output(child).expect(0);
    }
    let (state, notes) = (world.read(STATE), world.read(NOTES));
    for n in 0..8 {
        assert_eq!(notes.matches(&format!(": issue {n}\n")).count(), 1, "{notes}");
    }
    assert!(state.contains("issue"), "{state}");
    assert_eq!(rows(&world), 0);
}

#[test]
fn without_a_usable_state_directory_commands_work_as_before() {
    let world = world();
    // Every page may be in the log still, and then nothing is damaged.
    std::fs::remove_file(world.path(".agent-handover/checkpoint.db-wal")).unwrap();
    world.write(".agent-handover/checkpoint.db", "damaged ".repeat(1_000));
    world.run(&["memory", "add", "decision", "still possible"]).expect(0);
    world.run(&["history", "create", "--goal", "possible", "--next", "Test it"]).expect(0).stderr_ignored("advice");
    assert!(world.read(STATE).contains("- still possible\n"));
    assert_eq!(world.read(".agent-handover/checkpoint.db"), "damaged ".repeat(1_000));
}

/// A project that uses nothing but the history: there is no state directory to record anything in.
fn with_history_only() -> World {
    let world = World::with_git();
    world
        .run(&["history", "create", "--goal", "before", "--next", "Write it", "--decision", "[standing] so"])
        .expect(0);
    world.run(&["history", "close", "--status", "BLOCKED"]).expect(0);
    world.write("../in.json", HANDOFFS.replace("2026-11-16T", "2026-11-14T"));
    world
}

/// The files in a form that does not depend on the order in which sessions were found.
fn in_any_order(world: &World) -> Vec<(String, Vec<String>)> {
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    world.tree().into_iter().map(|(path, text)| (path, sorted(text))).collect()
}

#[test]
fn with_a_history_only_the_next_history_command_completes_a_killed_one() {
    let create = ["history", "create", "--goal", "the parser", "--next", "Fix it", "--decision", "[standing] this"];
    let commands: [&[&str]; 4] = [
        &create,
        &["history", "close", "--status", "DONE"],
        &["history", "revoke", "so"],
        &["history", "import", "--input", "../in.json", "--allow-unsigned"],
    ];
    let next = ["history", "create", "--goal", "later", "--next", "Test it"];
    let world = with_history_only();
    let prepared = Prepared::new(&world);
    for command in commands {
        let arguments = words(command);
        let oracle = |is_given: bool| {
            let world = prepared.again();
            if is_given {
                give(world, &arguments, "").expect(0);
            }
            give_next(world, &next).expect(0);
            in_any_order(world)
        };
        let (without, with) = (oracle(false), oracle(true));
        let passes = Passes::points(prepared.again(), &mut as_given(&world, &arguments));
        for point in POINTS.iter().filter(|point| stride(2) == 1 || point.starts_with("fs.re")) {
            for nth in passes.at(point, stride(3)) {
                let world = prepared.again();
                give(world, &arguments, &format!("{point}:{nth}")).expect(KILLED);
                let case = format!("{command:?} killed at {point}:{nth}");
                give_next(world, &next).expect(0);
                let files = in_any_order(world);
                let odd: Vec<_> = files.iter().filter(|file| !with.contains(file)).collect();
                assert!(files == without || files == with, "{case}: {odd:#?}");
                world.run(&["history", "validate", "--sessions"]).expect(0).stderr_ignored("files that are not there");
                assert_eq!(world.strays(), [""; 0], "{case}");
                // Only a record can complete an import of several handoffs.
                let has_record = world.exists(".agent-handover");
                assert!((command[1] == "import" || !has_record) && !world.exists("memory"), "{case}");
            }
        }
    }
}

fn archives(world: &World) -> Vec<String> {
    world.tree().into_keys().filter(|path| path.starts_with(".agent-history/sessions/")).collect()
}

#[test]
fn with_a_history_only_a_handover_completes_a_killed_history_command() {
    let create = ["history", "create", "--goal", "the parser", "--next", "Fix it", "--decision", "[standing] this"];
    let commands: [&[&str]; 3] = [&create, &["history", "close", "--status", "DONE"], &["history", "revoke", "so"]];
    let world = with_history_only();
    let prepared = Prepared::new(&world);
    for command in commands {
        let passes = Passes::points(prepared.again(), &mut as_given(&world, &words(command)));
        for point in ["fs.written", "fs.replaced"] {
            for nth in passes.at(point, stride(2)) {
                let world = prepared.again();
                give(world, &words(command), &format!("{point}:{nth}")).expect(KILLED);
                let case = format!("{command:?} killed at {point}:{nth}");
                let archived = archives(world);
                // The session wrote its handoff itself, so the handover archives none.
                give_next(world, &["run", "--note", "the session is over"]).expect(0);
                let validated = world.run(&["history", "validate", "--sessions"]);
                assert_eq!(validated.code, 0, "{case}: {}", validated.seen());
                assert_eq!(archives(world), archived, "{case}");
            }
        }
    }
}

#[test]
fn with_a_history_only_a_killed_revocation_can_be_repeated() {
    let world = with_history_only();
    assert_eq!(give(&world, &words(&["history", "revoke", "so"]), "fs.replaced:1").code, KILLED);
    world.run(&["history", "validate"]).expect(5);
    give(&world, &words(&["history", "revoke", "so"]), "").expect(1);
    world.run(&["history", "validate"]).expect(0);
}
