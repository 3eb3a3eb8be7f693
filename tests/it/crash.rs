//! SIGKILL at every point where something has just become durable, then resume: the files must be those of a run
//! that was never interrupted. Generated from the list of points, so a new point is tested the day it is added.

use agent_handover::testing::base::fault::POINTS;

use super::hook::Session;
use super::prepared::{Passes, Prepared};
use super::support::*;

/// A way to hand over that passes some of the points.
struct Scenario {
    name: &'static str,
    config: &'static str,
    /// Makes a step that failed succeed, before the resume.
    repair: Option<&'static str>,
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "every kind",
        config: r#"
            [[step]]
            name = "facts"
            kind = "collect"
            [[step]]
            name = "effect"
            kind = "command"
            shell = "echo done >> effects"
            [[step]]
            name = "note"
            kind = "note"
            [[step]]
            name = "second-note"
            kind = "note"
            content = "tag {{ tag }} on {{ date }} by {{ user }}"
            [[step]]
            name = "state"
            kind = "state"
            [[step]]
            name = "history"
            kind = "history"
            [[step]]
            name = "archive"
            kind = "compact"
            [[step]]
            name = "publish"
            kind = "publish"
        "#,
        repair: None,
    },
    Scenario {
        name: "a step fails first",
        config: r#"
            [[step]]
            name = "note"
            kind = "note"
            [[step]]
            name = "effect"
            kind = "command"
            shell = "test -e repaired && echo done >> effects"
            [[step]]
            name = "state"
            kind = "state"
        "#,
        repair: Some("repaired"),
    },
];

const RUN: &[&str] = &["run", "--note", "what was done\n<!-- /note -->", "--current-state", "where we are"];

impl Scenario {
    /// A project in which a handover has been done before, so that there is something to lose.
    fn world(&self) -> World {
        let world = World::with_git();
        world.run(&["run", "--note", "yesterday"]).expect(0);
        old_notes(&world);
        world.write("handover.toml", self.config);
        world
    }

    fn finish(&self, world: &World) {
        if let Some(file) = self.repair {
            world.write(file, "");
        }
        // What was recorded is resumed; what was not is simply asked for again, as its caller never heard "done".
        let check = world.run(&["check"]);
        match check.code {
            1 => world.run(&["run", "--resume"]).expect(0),
            _ if is_recorded(world) => check.expect(2),
            _ => world.command(RUN).env("AGENT_HANDOVER_TEST_IDS", seed("the run")).finish().expect(0),
        };
    }
}

trait Finish {
    fn finish(&mut self) -> Output;
}

impl Finish for std::process::Command {
    fn finish(&mut self) -> Output {
        finish(self)
    }
}

fn is_recorded(world: &World) -> bool {
    let count: i64 = world.database().query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    count == 2
}

fn run_with_fault(world: &World, arguments: &[&str], fault: &str) -> Output {
    world
        .command(arguments)
        .env("AGENT_HANDOVER_TEST_IDS", seed("the run"))
        .env("AGENT_HANDOVER_TEST_FAULT", format!("{fault}=kill"))
        .finish()
}

/// What the command passes with which a sweep begins.
fn passes(world: &World, arguments: &[&str]) -> Passes {
    Passes::points(world, world.command(arguments).env("AGENT_HANDOVER_TEST_IDS", seed("the run")))
}

fn exclude(world: &World) -> String {
    world.read(".git/info/exclude")
}

#[track_caller]
fn assert_as_if_nothing_had_happened(world: &World, oracle: &World, case: &str) {
    let (mut tree, mut expected) = (world.tree(), oracle.tree());
    let effects = tree.remove("effects").unwrap_or_default();
    expected.remove("effects");
    assert_eq!(tree, expected, "{case}");
    assert!(!effects.is_empty() && effects.lines().all(|line| line == "done"), "{case}: the command ran {effects:?}");
    assert_eq!(exclude(world), exclude(oracle), "{case}");
    assert_eq!(world.strays(), [""; 0], "{case}");
    world.assert_database_is_sound();
    assert_eq!(world.run(&["check"]).code, 2, "{case}");
    let unsettled: i64 = world
        .database()
        .query_row("SELECT count(*) FROM step WHERE state NOT IN ('done', 'skipped')", [], |row| row.get(0))
        .unwrap();
    assert_eq!(unsettled, 0, "{case}");
}

fn oracle(scenario: &Scenario) -> World {
    let world = scenario.world();
    if let Some(file) = scenario.repair {
        world.write(file, "");
    }
    world.command(RUN).env("AGENT_HANDOVER_TEST_IDS", seed("the run")).finish().expect(0);
    world
}

#[test]
fn killed_at_any_point_a_resume_ends_as_if_nothing_had_happened() {
    let mut reached = std::collections::BTreeMap::new();
    for scenario in SCENARIOS {
        let oracle = oracle(scenario);
        let world = scenario.world();
        let prepared = Prepared::new(&world);
        let passes = passes(prepared.again(), RUN);
        for (number, point) in POINTS.iter().enumerate() {
            for nth in passes.at(point, stride(9)) {
                let case = format!("{}: killed at {point}:{nth}", scenario.name);
                let world = prepared.again();
                run_with_fault(world, RUN, &format!("{point}:{nth}")).expect(KILLED);
                *reached.entry(*point).or_insert(0) += 1;
                // Die once more, somewhere else each time, before the resume that is let live.
                let again = POINTS[(number + nth) % POINTS.len()];
                if let Some(file) = scenario.repair {
                    world.write(file, "");
                }
                run_with_fault(world, &["run", "--resume"], &format!("{again}:1"));
                scenario.finish(world);
                assert_as_if_nothing_had_happened(world, &oracle, &format!("{case}, then at {again}:1"));
            }
        }
    }
    // What only a first run, or another command, passes is killed in the tests below.
    let by_first_run = [
        "state.known",
        "checkpoint.created",
        "checkpoint.noted",
        "checkpoint.forgotten",
        // Only after a long text; `size` kills there.
        "checkpoint.shrunk",
        "fs.directory",
        "fs.marked",
        "fs.moved",
        "fs.removed",
        "import.forgotten",
        "import.archived",
        "index.written",
    ];
    for point in POINTS.iter().filter(|point| !by_first_run.contains(point)) {
        assert!(
            reached.contains_key(point),
            "no scenario passes {point}, so nothing shows that a kill there is harmless"
        );
    }
    eprintln!("killed and resumed: {reached:?}");
}

/// The very first handover of a project makes its directories and its database.
#[test]
fn killed_anywhere_in_the_first_handover_nothing_is_lost_or_doubled() {
    let run = ["run", "--note", "the first"];
    let oracle = World::with_git();
    oracle.command(&run).env("AGENT_HANDOVER_TEST_IDS", seed("the run")).finish().expect(0);
    let world = World::with_git();
    let prepared = Prepared::new(&world);
    let passes = passes(prepared.again(), &run);
    for point in ["checkpoint.created", "fs.directory"] {
        assert!(passes.at(point, 1).next().is_some(), "{point} is never passed");
    }
    for point in POINTS {
        for nth in passes.at(point, stride(9)) {
            let case = format!("killed at {point}:{nth}");
            let world = prepared.again();
            run_with_fault(world, &run, &format!("{point}:{nth}")).expect(KILLED);
            match world.run(&["check"]).code {
                1 => world.run(&["run", "--resume"]).expect(0),
                0 => world.command(&run).env("AGENT_HANDOVER_TEST_IDS", seed("the run")).finish().expect(0),
                code => world.run(&["check"]).expect(code.max(2)),
            };
            assert_eq!(world.tree(), oracle.tree(), "{case}");
            assert_eq!(exclude(world), exclude(&oracle), "{case}");
            assert_eq!(world.strays(), [""; 0], "{case}");
            assert_eq!(world.git(&["status", "--porcelain"]), "", "{case}");
            world.assert_database_is_sound();
        }
    }
}

/// Every kind is in the scenario that is meant to have every kind.
#[test]
fn the_scenario_of_every_kind_has_every_kind() {
    for kind in agent_handover::testing::steps::KINDS {
        assert!(SCENARIOS[0].config.contains(&format!("kind = \"{}\"", kind.name)), "{} is missing", kind.name);
    }
}

/// A command that changes something, with what must be true if it is killed anywhere and then done again.
struct Other {
    arguments: &'static [&'static str],
    prepare: fn(&World),
    /// After the command was killed and done again.
    check: fn(&World),
}

const THEIRS: &str = include_str!("../data/session-handoff/store/handoffs.json");
const IMPORT: &[&str] = &["history", "import", "--input", "../in.json", "--allow-unsigned", "--on-conflict", "replace"];

/// The samples are a day younger than the day of the tests.
fn of_the_past(store: &str) -> String {
    store.replace("2026-11-16T", "2026-11-14T")
}

/// Everything came in once, and whatever is derived from it says so.
fn has_imported(world: &World, title: &str) {
    let list = world.run(&["history", "list", "--json"]).expect(0).json();
    let titles: Vec<&str> =
        list["handoffs"].as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect();
    assert_eq!(titles.iter().filter(|found| **found == title).count(), 1, "{titles:?}");
    assert_eq!(titles.iter().filter(|found| **found != "mine").count(), 3, "{titles:?}");
    world.run(&["history", "validate", "--sessions"]).expect(0);
}

const OTHERS: &[Other] = &[
    Other {
        arguments: &["run", "--restart", "--note", "NEW"],
        prepare: |world| unfinished(world),
        check: |world| {
            let notes = world.read(NOTES);
            assert!(notes.contains("\nNEW\n"), "{notes}");
            world.run(&["check"]).expect(2);
        },
    },
    Other {
        arguments: &["run", "--restart", "--note", "NEW"],
        prepare: |world| world.write(".agent-handover/checkpoint.db", "damaged ".repeat(1_000)),
        check: |world| {
            assert!(world.read(NOTES).contains("\nNEW\n"));
            let aside = world.everything().into_iter().filter(|(path, _)| path.contains(".damaged-"));
            assert!(aside.into_iter().any(|(_, text)| text == "damaged ".repeat(1_000)), "the damaged file is gone");
            world.run(&["check"]).expect(2);
        },
    },
    Other {
        arguments: &["run", "--abandon"],
        prepare: |world| unfinished(world),
        check: |world| {
            world.run(&["check"]).expect(0);
            world.run(&["run", "--note", "later"]).expect(0);
        },
    },
    Other {
        arguments: &["pause", "--reason", "because"],
        prepare: |_| {},
        check: |world| {
            world.run(&["run", "--note", "n"]).expect(3);
            world.run(&["unpause"]).expect(0);
        },
    },
    Other {
        arguments: &["unpause"],
        prepare: |world| world.write("PAUSE", ""),
        check: |world| assert!(!world.exists("PAUSE")),
    },
    Other {
        arguments: IMPORT,
        prepare: |world| {
            world.run(&["history", "create", "--goal", "mine", "--next", "Fix it"]).expect(0);
            world.write("../in.json", of_the_past(THEIRS));
        },
        check: |world| has_imported(world, "Refactor auth middleware"),
    },
    Other {
        arguments: IMPORT,
        prepare: |world| {
            let store = of_the_past(THEIRS);
            world.write("../in.json", &store);
            world.run(IMPORT).expect(0);
            world.write("../in.json", store.replace("Refactor auth middleware", "Another title"));
        },
        check: |world| has_imported(world, "Another title"),
    },
    Other {
        arguments: &["trust", "add", "M52fehKyvr4U9h/J0LuCT+33BW5Fad9rUf5GxwhoapU=", "--name", "Alice"],
        prepare: |_| {},
        check: |world| assert!(world.run(&["trust", "list"]).expect(0).stdout.contains("  Alice\n")),
    },
    Other {
        arguments: &["init"],
        prepare: |_| {},
        check: |world| {
            world.run(&["run", "--note", "n"]).expect(0);
        },
    },
    Other {
        arguments: &[
            "memory",
            "capture",
            "--data",
            r#"{"goal": "ship it", "decisions": ["use SQLite"], "open_loops": ["write docs"]}"#,
        ],
        prepare: |world| {
            world.write(STATE, "free text\n");
            world.run(&["memory", "add", "goal", "the goal before"]).expect(0);
        },
        check: captured_once,
    },
    Other {
        arguments: &["memory", "add", "decision", "use SQLite"],
        prepare: |_| {},
        check: |world| {
            assert_eq!(world.read(STATE).matches("- use SQLite\n").count(), 1);
            assert_eq!(world.read(NOTES).matches(": use SQLite\n").count(), 1);
        },
    },
    Other { arguments: &["memory", "compact"], prepare: old_notes, check: old_notes_are_archived },
];

/// Notes of months that are over: of a session, of the Python tool and of somebody's hand.
fn old_notes(world: &World) {
    for (month, day) in [("2026-09", "2026-09-30"), ("2026-10", "2026-10-01"), ("2026-10", "2026-10-02")] {
        let header = format!("<!-- agent-handover | layer1 | {day} -->\n");
        let note = format!("<!-- note run=OLD step=note at={day}T10:00:00Z -->\nnote of {day}\n<!-- /note -->\n");
        world.write(&format!("memory/layer1/{month}/general-{day}.md"), format!("{header}by hand {day}\n{note}"));
    }
    world.write("memory/layer1/2026-10/other-2026-10-01.md", "of the Python tool, without an end");
}

/// Every note of the past stands in exactly one place.
fn old_notes_are_archived(world: &World) {
    let memory: String =
        world.tree().into_iter().filter(|(path, _)| path.starts_with("memory/")).map(|(_, text)| text).collect();
    for line in [
        "note of 2026-09-30\n<!-- /note",
        "note of 2026-10-01\n<!-- /note",
        "note of 2026-10-02\n<!-- /note",
        "\nby hand 2026-10-02\n",
        "\nof the Python tool, without an end\n",
    ] {
        assert_eq!(memory.matches(line).count(), 1, "{line}");
    }
    // An empty directory may have been left.
    assert!(!world.tree().keys().any(|path| path.starts_with("memory/layer1/2026-")), "{:?}", world.tree().keys());
    assert!(world.exists("memory/layer3/2026-09-general-archive.md"));
}

/// A capture that was killed and repeated is there once.
fn captured_once(world: &World) {
    let (state, notes) = (world.read(STATE), world.read(NOTES));
    for text in ["- ship it\n", "- use SQLite\n", "- write docs\n"] {
        assert_eq!(state.matches(text).count(), 1, "{state}");
    }
    assert!(state.starts_with("free text\n"), "{state}");
    for told in [": ship it\n", ": use SQLite\n", ": write docs\n", "- cleared goal "] {
        assert_eq!(notes.matches(told).count(), 1, "{notes}");
    }
}

/// A run that was killed while it wrote a note, with its temporary still there.
fn unfinished(world: &World) {
    world
        .command(&["run", "--note", "OLD"])
        .env("AGENT_HANDOVER_TEST_FAULT", "fs.written:1=kill")
        .finish()
        .expect(KILLED);
    assert_eq!(world.strays().len(), 1);
}

#[test]
fn every_other_command_that_is_killed_anywhere_can_be_done_again() {
    let mut reached = std::collections::BTreeSet::new();
    for other in OTHERS {
        let world = World::new();
        (other.prepare)(&world);
        let prepared = Prepared::new(&world);
        let passes = Passes::points(prepared.again(), &mut prepared.again().command(other.arguments));
        for point in POINTS {
            for nth in passes.at(point, stride(9)) {
                let case = format!("{:?} killed at {point}:{nth}", other.arguments);
                let world = prepared.again();
                let mut command = world.command(other.arguments);
                let fault = format!("{point}:{nth}=kill");
                command.env("AGENT_HANDOVER_TEST_FAULT", fault).finish().expect(KILLED);
                reached.insert(*point);
                // Again; what was done already may be said to be so, and a restart may already be under way.
                let again = world.run(other.arguments).stderr_ignored("it may report what it abandoned");
                assert!([0, 1].contains(&again.code), "{case}: {}", again.seen());
                (other.check)(world);
                assert_eq!(world.strays(), [""; 0], "{case}");
            }
        }
    }
    for point in ["fs.marked", "fs.moved", "fs.removed", "import.forgotten", "import.archived"] {
        assert!(reached.contains(point), "no command passes {point}");
    }
}

#[test]
fn a_restart_abandons_and_records_atomically() {
    for point in ["lock.taken:1", "checkpoint.recorded:1"] {
        let world = World::new();
        unfinished(&world);
        let mut command = world.command(&["run", "--restart", "--note", "NEW"]);
        command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}=kill")).finish().expect(KILLED);
        world.run(&["check"]).expect(1);
        world.run(&["run", "--resume"]).expect(0);
        let notes = world.read(NOTES);
        assert_eq!((notes.contains("OLD"), notes.contains("NEW")), (point == "lock.taken:1", point != "lock.taken:1"));
    }
    // What cannot be recorded gives nothing up.
    let world = World::with_config("[note]\n[backend]\ntype = \"null\"\n");
    world
        .command(&["run", "--note", "OLD"])
        .env("AGENT_HANDOVER_TEST_FAULT", "fs.written:1=kill")
        .finish()
        .expect(KILLED);
    world.run(&["run", "--restart"]).expect(64);
    world.write("PAUSE", "");
    let paused = world.run(&["run", "--restart", "--note", "NEW"]).expect(3);
    assert!(paused.stderr.contains("; nothing was abandoned\nhint: nothing was recorded: "), "{}", paused.stderr);
    world.run(&["unpause"]).expect(0);
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(NOTES).contains("OLD"));
}

#[test]
fn the_current_state_is_the_old_or_the_new_one_at_every_moment() {
    let world = World::new();
    world.run(&["run", "--note", "old"]).expect(0);
    let old = world.read(STATE);
    for nth in 1..=2 {
        let fault = format!("fs.written:{nth}=kill");
        world.command(&["run", "--note", "new"]).env("AGENT_HANDOVER_TEST_FAULT", fault).finish().expect(KILLED);
        assert_eq!(world.read(STATE), old);
        world.run(&["run", "--abandon"]).expect(0);
        assert_eq!(world.strays(), [""; 0]);
    }
}

#[test]
fn the_fifth_death_in_one_step_parks_the_run_without_holding_others_back() {
    let world = World::new();
    run_with_fault(&world, &["run", "--note", "deadly"], "fs.written:1").expect(KILLED);
    for _ in 0..4 {
        run_with_fault(&world, &["run", "--resume"], "fs.written:1").expect(KILLED);
    }
    let later = world.run(&["run", "--note", "harmless"]).expect(1);
    assert!(later.stderr.contains("step 'note' is parked: the process died 5 times during it"), "{}", later.stderr);
    let notes = world.read(NOTES);
    assert!(notes.contains("harmless") && !notes.contains("deadly"));
    world.run(&["check"]).expect(1);
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(NOTES).contains("deadly"));
    // The younger state stays.
    assert!(world.read(STATE).contains("harmless"));
}

#[test]
fn an_interrupted_command_is_treated_as_its_config_says() {
    for (on_interrupt, first, check, second) in [("rerun", 0, 2, 0), ("skip", 0, 2, 0), ("stop", 1, 1, 0)] {
        let world = World::with_config(&format!(
            "[[step]]\nname = \"effect\"\nkind = \"command\"\nshell = \"echo $AGENT_HANDOVER_STEP $AGENT_HANDOVER_ATTEMPT >> effects\"\n\
             on_interrupt = \"{on_interrupt}\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n"
        ));
        run_with_fault(&world, &["run", "--note", "n"], "process.ended:1").expect(KILLED);
        let output = world.run(&["run", "--resume"]).expect(first);
        world.run(&["check"]).expect(check);
        if on_interrupt == "stop" {
            assert!(
                output.stderr.contains("was interrupted halfway, and its `on_interrupt` is `stop`"),
                "{}",
                output.stderr
            );
            // A run that comes by does not decide for a person either.
            world.run(&["run", "--note", "another"]).expect(1);
            assert_eq!(world.read("effects").lines().filter(|line| *line == "effect 1").count(), 2);
        }
        world.run(&["run", "--resume"]).expect(second);
        world.run(&["check"]).expect(2);
        let expected = match on_interrupt {
            "rerun" => "effect 1\neffect 2\n",
            "skip" => "effect 1\n",
            _ => "effect 1\neffect 1\neffect 2\n",
        };
        assert_eq!(world.read("effects"), expected, "{on_interrupt}");
        assert!(world.read(NOTES).contains("\nn\n"));
    }
}

#[test]
fn a_kill_between_two_attempts_does_not_use_up_the_retries() {
    let world = World::with_config(
        "[[step]]\nname = \"flaky\"\nkind = \"command\"\nshell = \"echo x >> tries; test $(wc -l < tries) = 2\"\n\
         retries = 3\non_failure = \"continue\"\n",
    );
    run_with_fault(&world, &["run"], "checkpoint.settled:1").expect(KILLED);
    assert_eq!(world.run(&["run", "--resume"]).expect(0).stdout, "handover steps executed: flaky\n");
}

#[test]
fn commands_of_abandoned_or_skipped_steps_are_ended() {
    for (on_interrupt, arguments, code) in
        [("skip", ["run", "--resume"], 0), ("stop", ["run", "--resume"], 1), ("rerun", ["run", "--abandon"], 0)]
    {
        let world = World::with_config(&format!(
            "[[step]]\nname = \"slow\"\nkind = \"command\"\non_interrupt = \"{on_interrupt}\"\n\
             shell = \"echo $GH_TOKEN; echo $$ > pid; exec sleep 1000\"\n"
        ));
        let token = "ghx_thisIsVerySecret1";
        let mut command = world.command(&["run"]);
        let child =
            command.env("GH_TOKEN", token).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let child = child.spawn().unwrap();
        world.wait_for("pid");
        wait_until("the pid to be written", || world.read("pid").ends_with('\n'));
        signal(child.id(), "KILL");
        output(child).expect(KILLED);
        let orphan = world.read("pid").trim().to_owned();
        assert!(!is_gone(&orphan));
        // Whoever comes later need not know the token.
        assert_eq!(world.command(&arguments).finish().code, code, "{on_interrupt}");
        assert!(is_gone(&orphan), "{on_interrupt}");
        // Nobody had looked through its log, either.
        assert!(!world.everything().values().any(|text| text.contains(token)), "{on_interrupt}");
    }
}

#[test]
fn a_run_that_kills_its_process_does_not_keep_others_from_being_resumed() {
    let world =
        World::with_config("[[step]]\nname = \"deadly\"\nkind = \"command\"\nshell = \"kill -9 $PPID; sleep 5\"\n");
    world.run(&["run", "--note", "deadly"]).expect(KILLED);
    world.write("handover.toml", "[[step]]\nname = \"note\"\nkind = \"note\"\n");
    world
        .command(&["run", "--note", "clean"])
        .env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")
        .finish()
        .expect(KILLED);
    for _ in 0..5 {
        assert!([1, KILLED].contains(&world.run(&["run", "--resume"]).code));
    }
    assert!(world.read(NOTES).contains("\nclean\n"));
    assert!(world.run(&["status"]).stdout.contains("the process died "), "{}", world.run(&["status"]).stdout);
}

#[test]
fn a_command_that_outlived_its_watcher_is_ended_before_it_runs_again() {
    let world = World::with_config(
        "[[step]]\nname = \"slow\"\nkind = \"command\"\n\
         shell = \"echo $$ >> pids; test -e quick || exec sleep 1000\"\n",
    );
    let child = world.start(&["run"]);
    world.wait_for("pids");
    wait_until("the pid to be written", || world.read("pids").ends_with('\n'));
    signal(child.id(), "KILL");
    output(child).expect(KILLED);
    let orphan = world.read("pids").trim().to_owned();
    assert!(!is_gone(&orphan), "the test is about a process that survives");
    world.write("quick", "");
    world.run(&["run", "--resume"]).expect(0);
    assert!(is_gone(&orphan));
    assert_eq!(world.read("pids").lines().count(), 2);
}

/// Kills the real program at the calls with which it changes something, resumes, and compares.
#[test]
fn killed_at_some_system_calls_a_resume_ends_as_if_nothing_had_happened() {
    if !is_installed("strace") {
        return skip("strace is not installed");
    }
    let mut kills = 0;
    for scenario in SCENARIOS {
        let oracle = oracle(scenario);
        let world = scenario.world();
        let prepared = Prepared::new(&world);
        let passes = Passes::calls(prepared.again(), RUN);
        for call in CHANGING_CALLS {
            for nth in passes.at(call, stride(40)) {
                let world = prepared.again();
                let mut strace = killed_at_call(world, call, nth);
                strace.args(RUN).env("AGENT_HANDOVER_TEST_IDS", seed("the run"));
                if strace.finish().code != KILLED {
                    break;
                }
                kills += 1;
                if let Some(file) = scenario.repair {
                    world.write(file, "");
                }
                scenario.finish(world);
                assert_as_if_nothing_had_happened(
                    world,
                    &oracle,
                    &format!("{}: killed at {call} {nth}", scenario.name),
                );
            }
        }
    }
    assert!(kills > 10, "only {kills} kills: the calls are not those the program makes");
    eprintln!("killed at {kills} system calls and resumed");
}

/// Runs this config, kills the watcher once the command has written its pid to `pid`, and gives that pid.
fn orphan_of(world: &World) -> String {
    let child = world.start(&["run"]);
    world.wait_for("pid");
    wait_until("the pid to be written", || world.read("pid").ends_with('\n'));
    signal(child.id(), "KILL");
    output(child).expect(KILLED);
    let orphan = world.read("pid").trim().to_owned();
    assert!(!is_gone(&orphan), "the test is about a process that survives");
    orphan
}

#[test]
fn a_project_that_was_moved_is_resumed_and_its_orphans_ended() {
    let world = World::with_config(
        "[[step]]\nname = \"slow\"\nkind = \"command\"\nshell = \"echo $$ > pid; test -e quick || exec sleep 1000\"\n",
    );
    let orphan = orphan_of(&world);
    world.write("quick", "");
    let moved = world.root().with_file_name("moved");
    std::fs::rename(world.root(), &moved).unwrap();
    world.clean(BINARY).current_dir(&moved).args(["run", "--resume"]).finish().expect(0);
    assert!(is_gone(&orphan));
    std::fs::create_dir(world.root()).unwrap();
}

#[test]
fn a_kill_during_abandon_leaves_no_command_running() {
    let world = World::with_config(
        "[[step]]\nname = \"slow\"\nkind = \"command\"\nshell = \"echo $$ > pid; exec sleep 1000\"\n",
    );
    let orphan = orphan_of(&world);
    run_with_fault(&world, &["run", "--abandon"], "checkpoint.settled:1").expect(KILLED);
    assert!(is_gone(&orphan));
}

/// A hook is killed, or the child that carries its run out; the next session finds everything, once.
#[test]
fn killed_in_any_hook_a_session_is_handed_over_once() {
    // Mostly waiting for processes, so all at once.
    let killed: Vec<&str> = std::thread::scope(|scope| {
        let events = ["SessionStart", "Stop", "SessionEnd", "sweep"];
        let threads: Vec<_> = events.into_iter().map(|event| scope.spawn(move || kill_in_hook(event))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for point in ["checkpoint.noted", "checkpoint.recorded", "checkpoint.created", "lock.taken", "process.started"] {
        assert!(killed.contains(&point), "no hook passes {point}");
    }
    eprintln!("{} hooks killed", killed.len());
}

/// At every point that a hook or its child passes at this event. Gives back the points.
fn kill_in_hook(event: &str) -> Vec<&'static str> {
    let mut killed = Vec::new();
    let world = World::with_git();
    let record = world.place().join("passed");
    hook_with_fault(&world, event, &format!("{}=record", record.display()));
    let passes = Passes::recorded(&record);
    for point in POINTS {
        for nth in passes.at(point, stride(9)) {
            let world = World::with_git();
            if !hook_with_fault(&world, event, &format!("{point}:{nth}=kill")) {
                break;
            }
            killed.push(*point);
        }
    }
    killed
}

/// A session with a fault in the hook of this event, and the next one, which finds everything. Says whether anything was killed.
fn hook_with_fault(world: &World, event: &str, fault: &str) -> bool {
    let session = Session::dying(world, "aaaa-1");
    let work = || {
        session.ask("Survive whatever comes");
        session.edit("file.txt");
    };
    let was_killed = if event == "SessionStart" {
        // It ends as if nothing had happened at its start.
        let was_killed = session.call_with_fault(event, fault);
        work();
        session.end();
        was_killed
    } else {
        session.start("startup");
        work();
        match event {
            "sweep" => Session::dying(world, "bbbb-2").call_with_fault("SessionStart", fault),
            _ => session.call_with_fault(event, fault),
        }
    };
    let case = format!("{event} with {fault}");
    let told = Session::dying(world, "cccc-3").start("startup");
    assert!(told.contains("- Survive whatever comes"), "{case}: {told}");
    assert_handed_over_once(world, &case);
    was_killed
}

#[track_caller]
fn assert_handed_over_once(world: &World, case: &str) {
    let tree = world.tree();
    let archives = tree.keys().filter(|path| path.starts_with(".agent-history/sessions/")).count();
    assert_eq!(archives, 1, "{case}: {:?}", tree.keys());
    let notes: usize = tree
        .iter()
        .filter(|(path, _)| path.starts_with("memory/layer1/"))
        .map(|(_, text)| text.matches("\nGoal: Survive").count())
        .sum();
    assert_eq!(notes, 1, "{case}");
    let states: Vec<String> = {
        let database = world.database();
        let mut rows = database.prepare("SELECT status FROM run").unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(states, ["completed"], "{case}");
    assert_eq!(world.strays(), [""; 0], "{case}");
    world.assert_database_is_sound();
}
