//! A run whose steps can never succeed is not a dead end: `run --replan` continues it with the present steps, and what it
//! was told can always be read.

use agent_handover::testing::base::fault::POINTS;

use super::hook::Session;
use super::prepared::{Passes, Prepared};
use super::support::*;

const BROKEN: &str = "[[step]]\nname = \"test\"\nkind = \"command\"\nrun = [\"cagro\", \"test\"]\n\
    [[step]]\nname = \"note\"\nkind = \"note\"\n";
const FIXED: &str = "[[step]]\nname = \"test\"\nkind = \"command\"\nshell = \"echo tested >> effects\"\n\
    [[step]]\nname = \"note\"\nkind = \"note\"\n";

/// A handover whose first step names a program that does not exist.
fn stranded() -> World {
    let world = World::with_config(BROKEN);
    world.run(&["run", "--note", "words that matter"]).expect(1);
    world
}

#[test]
fn a_note_behind_a_step_that_cannot_work_is_delivered_by_a_replan() {
    let world = stranded();
    let before = world.run(&["check"]).expect(1);
    assert!(!before.stdout.contains("--replan"), "the config is what it was: {}", before.stdout);
    world.write("handover.toml", FIXED);
    for command in [&["check"][..], &["status"]] {
        let told = world.run(command);
        assert!(told.stdout.contains("the config has other steps now"), "{}", told.seen());
        assert!(told.stdout.contains("`agent-handover run --replan`"), "{}", told.seen());
    }
    assert_eq!(world.run(&["status", "--json"]).expect(0).json()["outdated"], true);
    let resumed = world.run(&["run", "--resume"]).expect(1);
    assert!(resumed.stderr.contains("`agent-handover run --replan`"), "{}", resumed.stderr);
    let later = world.run(&["run", "--note", "later words"]).expect(1);
    assert!(later.stderr.contains("`agent-handover run --replan`"), "{}", later.stderr);
    let replanned = world.run(&["run", "--replan"]).expect(0);
    assert!(replanned.stderr_ignored("progress").stdout.contains("test, note"));
    assert_eq!(world.read(NOTES).matches("\nwords that matter\n").count(), 1);
    assert_eq!(world.read("effects"), "tested\ntested\n", "once for each of the two handovers");
    world.run(&["check"]).expect(2);
}

#[test]
fn what_is_done_stays_done_and_what_is_gone_from_the_config_stays_on_record() {
    let world = World::with_config(
        "[[step]]\nname = \"ship\"\nkind = \"command\"\nshell = \"echo shipped >> effects\"\n\
         [[step]]\nname = \"first\"\nkind = \"note\"\n\
         [[step]]\nname = \"bad\"\nkind = \"command\"\nrun = [\"no-such-program\"]\n",
    );
    world.run(&["run", "--note", "said once"]).expect(1);
    // The note has another name, and the command is gone.
    world.write(
        "handover.toml",
        "[[step]]\nname = \"words\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n",
    );
    let replanned = world.run(&["run", "--replan"]).expect(0).stderr_ignored("progress");
    assert_eq!(replanned.stdout, "handover steps executed: state\n");
    assert_eq!(world.read(NOTES).matches("\nsaid once\n").count(), 1);
    assert_eq!(world.read("effects"), "shipped\n");
    let status = world.run(&["status"]).expect(0).stdout;
    for line in ["[x] ship", "[x] first", "[x] state"] {
        assert!(status.contains(line), "{status}");
    }
}

/// Whatever the config calls its steps, a step is found by its name, so no two of a run share one.
#[test]
fn after_a_replan_each_name_is_shown_once() {
    let step = |name: &str, rest: &str| format!("[[step]]\nname = \"{name}\"\n{rest}\n");
    let (note, bad) = ("kind = \"note\"", "kind = \"command\"\nrun = [\"no-such-program\"]");
    let (good, state) = ("kind = \"command\"\nshell = \"echo ran >> effects\"", "kind = \"state\"");
    let world = World::with_config(&[step("a", note), step("b", good), step("c", bad)].concat());
    world.run(&["run", "--note", "said once"]).expect(1);
    // The names go round: each one is another kind now.
    let rounds = [
        [step("b", state), step("c", note), step("a", bad)].concat(),
        [step("c", bad), step("a", good), step("b", note)].concat(),
        [step("b", good), step("note", note), step("a", state), step("c", good)].concat(),
    ];
    for (number, config) in rounds.iter().enumerate() {
        world.write("handover.toml", config);
        let code = if number + 1 == rounds.len() { 0 } else { 1 };
        let events = world.run(&["run", "--replan", "--json"]).expect(code).stderr_ignored("progress").stdout;
        let status = world.run(&["status", "--json"]).expect(0).json();
        let mut names: Vec<String> =
            status["steps"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap().to_owned()).collect();
        let shown = world.run(&["status"]).expect(0).stdout;
        for name in &names {
            assert_eq!(shown.matches(&format!("] {name}  ")).count(), 1, "{name} in round {number}: {shown}");
        }
        let events: Vec<serde_json::Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for event in events.iter().filter_map(|event| event["step"].as_str()) {
            assert!(names.iter().any(|name| name == event), "{event} in round {number} is not in {names:?}");
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "round {number}: {shown}");
    }
    assert_eq!(world.read(NOTES).matches("\nsaid once\n").count(), 1);
    world.run(&["check"]).expect(2);
}

/// A plan in which no step asks for the commit records none.
#[test]
fn steps_that_need_the_commit_get_it_from_a_replan() {
    let world = World::with_git();
    world.git(&["-c", "user.name=Ann", "-c", "user.email=ann@example", "commit", "-qm", "begin", "--allow-empty"]);
    world.write("handover.toml", BROKEN);
    world.run(&["run", "--note", "words that matter"]).expect(1);
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    let told = world.run(&["run", "--replan"]).expect(0).stderr;
    assert!(!told.contains("without a commit"), "{told}");
    let commit = world.git(&["rev-parse", "HEAD"]);
    let latest = world.read(".agent-history/LATEST.md");
    assert!(latest.contains(&format!("\nhead_commit: \"{}\"\n", commit.trim())), "{latest}");
}

#[test]
fn without_a_change_a_replan_is_a_resume() {
    let world = stranded();
    let failed = world.run(&["run", "--replan"]).expect(1);
    assert!(failed.stderr.contains("cagro") && !failed.stderr.contains("has the present steps"), "{}", failed.stderr);
    assert!(!failed.stderr.contains("--replan"), "it would help nothing: {}", failed.stderr);
    let empty = World::new();
    empty.run(&["run", "--replan"]).expect(0);
    world.run(&["run", "--replan", "--note", "x"]).expect(64);
}

#[test]
fn words_that_were_recorded_while_paused_keep_their_own_step() {
    let world = World::with_config(FIXED);
    world.write("PAUSE", "");
    world.run(&["memory", "add", "decision", "Keep it small"]).expect(3);
    world.write("handover.toml", "[[step]]\nname = \"state\"\nkind = \"state\"\n");
    assert!(!world.run(&["check"]).expect(1).stdout.contains("--replan"));
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    world.run(&["run", "--replan"]).expect(0).stderr_ignored("progress");
    assert!(world.read(STATE).contains("Keep it small"));
}

/// A hook leaves out steps that the user has not consented to. That is not a change of the config.
#[test]
fn a_run_of_a_hook_is_not_outdated_because_steps_were_left_out() {
    let world = World::with_git();
    world.write("handover.toml", BROKEN);
    let session = Session::dying(&world, "aaaa-1");
    session.start("startup");
    session.ask("Do something useful");
    world.write("PAUSE", "");
    session.end();
    let checked = world.run(&["check"]).expect(1);
    assert!(!checked.stdout.contains("--replan"), "{}", checked.stdout);
}

#[test]
fn what_any_run_was_told_can_be_read() {
    let world = stranded();
    let id = world.run(&["check", "--json"]).expect(1).json()["run"].as_str().unwrap().to_owned();
    let shown = world.run(&["status", "--run", &id[..12].to_lowercase()]).expect(0).stdout;
    assert!(shown.contains("note:\n  words that matter\n"), "{shown}");
    let abandoned = world.run(&["run", "--abandon"]).expect(0).stdout;
    assert!(abandoned.contains("note:\n  words that matter\n"), "{abandoned}");
    assert!(abandoned.contains(&format!("agent-handover status --run {}", &id[id.len() - 8..])), "{abandoned}");
    let later = world.run(&["status", "--run", &id, "--json"]).expect(0).json();
    assert_eq!(later["status"], "abandoned");
    assert_eq!(later["told"]["note"], "words that matter");
    // A completed run needs no copy: its words are in the files.
    world.write("handover.toml", FIXED);
    world.run(&["run", "--note", "another"]).expect(0).stderr_ignored("progress");
    let id = world.run(&["check", "--json"]).expect(2).json()["run"].as_str().unwrap().to_owned();
    let shown = world.run(&["status", "--run", &id]).expect(0).stdout;
    assert!(shown.contains("its words are in the files") && shown.contains(NOTES), "{shown}");
}

/// The words of a handover are in the files, or the checkpoint keeps them.
#[test]
fn words_that_no_step_writes_stay_readable() {
    let command = |line: &str| format!("[[step]]\nname = \"test\"\nkind = \"command\"\nshell = \"{line}\"\n");
    let world = stranded();
    // The step for the note is gone.
    world.write("handover.toml", command("true"));
    let replanned = world.run(&["run", "--replan"]).expect(0).stderr;
    let id = world.run(&["check", "--json"]).expect(2).json()["run"].as_str().unwrap().to_owned();
    let told = format!("no step writes the note anywhere; `agent-handover status --run {id}` prints it\n");
    assert!(replanned.contains(&told), "{replanned}");
    let shown = world.run(&["status", "--run", &id]).expect(0).stdout;
    assert!(shown.contains("note:\n  words that matter\n") && !shown.contains("in the files"), "{shown}");
    let run = |more: &[&str]| world.run(&[&["run", "--note", "a note"], more].concat()).expect(0).stderr;
    assert!(run(&["--current-state", "a state"]).contains("no step writes the note and the state anywhere"));
    world.write("handover.toml", command("true") + "env = { NOTE = \"{{ note }}\" }\n");
    assert!(!run(&[]).contains("no step writes"), "the command has it");
    world.write("handover.toml", "[[step]]\nname = \"state\"\nkind = \"state\"\n");
    assert!(!run(&[]).contains("no step writes"), "the note is the state");
    assert!(run(&["--current-state", "a state"]).contains("no step writes the note anywhere"));
    world.write("handover.toml", "[[step]]\nname = \"note\"\nkind = \"note\"\ncontent = \"{{ date }}\"\n");
    assert!(run(&[]).contains("no step writes the note anywhere"));
}

#[test]
fn a_run_that_does_not_exist_is_one_exit_code() {
    let world = stranded();
    for command in [&["status", "--run", ""][..], &["run", "--abandon", ""]] {
        let refused = world.run(command).expect(64);
        assert!(refused.stderr.contains("an id must not be empty"), "{}", refused.stderr);
    }
    for command in [&["status", "--run", "01ZZ"][..], &["run", "--abandon", "01ZZ"]] {
        let refused = world.run(command).expect(1);
        assert!(
            refused.stderr.contains("`01ZZ`") && refused.stderr.contains("agent-handover status"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(World::new().run(&["status", "--run", "01ZZ"]).expect(1).stdout, "");
}

/// A world in which a replan was killed, the command with which it goes on, and how it must end.
#[track_caller]
fn assert_replan_goes_on(world: &World, oracle: &World, again: &str, case: &str) {
    let case = format!("{case}, then {again}");
    let finished = world.run(&["run", again]).stderr_ignored("progress");
    if again == "--resume" && finished.code == 1 {
        // It was killed before it had the new steps.
        world.run(&["run", "--replan"]).expect(0).stderr_ignored("progress");
    } else {
        assert_eq!(finished.code, 0, "{case}: {}", finished.seen());
    }
    assert_eq!(world.read(NOTES), oracle.read(NOTES), "{case}");
    assert_eq!(world.strays(), [""; 0], "{case}");
    world.assert_database_is_sound();
}

/// A handover that a replan can finish.
fn correctable() -> World {
    let world = stranded();
    world.write("handover.toml", FIXED);
    world
}

/// The same after a replan that nobody killed.
fn replanned() -> World {
    let world = correctable();
    world.run(&["run", "--replan"]).expect(0).stderr_ignored("progress");
    world
}

#[test]
fn killed_anywhere_a_replan_can_be_repeated() {
    let oracle = replanned();
    let mut kills = 0;
    let world = correctable();
    let prepared = Prepared::new(&world);
    let passes = Passes::points(prepared.again(), &mut prepared.again().command(&["run", "--replan"]));
    for point in POINTS {
        for nth in passes.at(point, stride(3)) {
            let world = prepared.again();
            let mut command = world.command(&["run", "--replan"]);
            finish(command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{nth}=kill"))).expect(KILLED);
            kills += 1;
            let again = if nth % 2 == 0 { "--resume" } else { "--replan" };
            assert_replan_goes_on(world, &oracle, again, &format!("killed at {point}:{nth}"));
        }
    }
    assert!(kills > 5, "only {kills} kills");
}

#[test]
fn killed_at_any_system_call_a_replan_can_be_repeated() {
    if !is_installed("strace") {
        return skip("strace is not installed");
    }
    let oracle = replanned();
    let mut kills = 0;
    let world = correctable();
    let prepared = Prepared::new(&world);
    let passes = Passes::calls(prepared.again(), &["run", "--replan"]);
    for call in CHANGING_CALLS {
        for nth in passes.at(call, stride(9)) {
            let world = prepared.again();
            if finish(killed_at_call(world, call, nth).args(["run", "--replan"])).code != KILLED {
                break;
            }
            kills += 1;
            let again = if nth % 2 == 0 { "--resume" } else { "--replan" };
            assert_replan_goes_on(world, &oracle, again, &format!("killed at {call} {nth}"));
        }
    }
    assert!(kills > 5, "only {kills} kills");
}
