//! Commands that meet a handover that is going on, a PAUSE that comes meanwhile, and records that this version cannot read.

use std::process::{Child, Stdio};

use super::hook::Session;
use super::publish::Site;
use super::support::*;
use super::worktrees::Repository;

const NOTE: &str = "[[step]]\nname = \"note\"\nkind = \"note\"\n";

fn stopped_at(world: &World, point: &str, arguments: &[&str]) -> Child {
    let mut command = world.command(arguments);
    command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}=stop"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the command to stop", || is_stopped(child.id()));
    child
}

fn go_on(child: Child) -> Output {
    signal(child.id(), "CONT");
    output(child)
}

fn count(world: &World, note: &str) -> usize {
    world.read(NOTES).matches(&format!("\n{note}\n")).count()
}

#[test]
fn a_handover_that_is_going_on_is_neither_abandoned_nor_resumed_nor_restarted() {
    let world = World::with_config(NOTE);
    let first = stopped_at(&world, "checkpoint.intended:1", &["run", "--note", "first"]);
    let abandon = world.run(&["run", "--abandon"]).expect(4).stderr;
    assert!(abandon.contains("wait until it ends, or end that process"), "{abandon}");
    world.run(&["run", "--resume", "--wait", "0s"]).expect(4);
    // The code of "busy" would say that the words are recorded.
    world.run(&["run", "--restart", "--note", "instead", "--wait", "0s"]).expect(1);
    go_on(first).expect(0);
    assert_eq!(count(&world, "first"), 1);
    assert!(!world.read(NOTES).contains("instead"));
    world.run(&["check"]).expect(2);
}

#[test]
fn what_a_command_says_during_a_handover_is_delivered_by_it() {
    let site = Site::new(&format!(
        "[backend]\ntype = \"git\"\nbranch = \"main\"\ntimeout = \"20s\"\n{NOTE}[[step]]\nname = \"publish\"\nkind = \"publish\"\n"
    ));
    let run = stopped_at(&site.world, "checkpoint.intended:1", &["run", "--note", "first"]);
    let added = site.world.run(&["memory", "add", "decision", "said meanwhile"]).expect(0);
    assert!(!added.stderr.contains("only in the files"), "{}", added.stderr);
    go_on(run).expect(0);
    assert!(site.remote_file("main", NOTES).contains("said meanwhile"));
}

#[test]
fn a_pause_ends_a_push_and_a_compaction_that_wait() {
    let site = Site::new(&format!("[backend]\ntype = \"git\"\ntimeout = \"20s\"\n{NOTE}"));
    let world = &site.world;
    world.write("memory/layer1/2026-06/t-2026-06-01.md", "a note");
    for (arguments, is_waiting) in [(&["push"][..], "lock"), (&["compact", "--older-than", "1 month"], "lock")] {
        let run = stopped_at(world, "lock.taken:1", &["run", "--note", "first"]);
        let waiting = world.start(arguments);
        wait_until("the command to wait", || has_open(waiting.id(), is_waiting) || is_sleeping(waiting.id()));
        world.write("PAUSE", "");
        let ended = output(waiting);
        assert_eq!(ended.code, 3, "{arguments:?}: {}", ended.seen());
        go_on(run).expect(3);
        std::fs::remove_file(world.path("PAUSE")).unwrap();
    }
    assert!(world.exists("memory/layer1/2026-06/t-2026-06-01.md"), "nothing was compacted");
    world.run(&["run", "--resume"]).expect(0);
    assert_eq!(count(world, "first"), 2);
}

/// Whether a process is in the pause between two looks at the lock.
fn is_sleeping(pid: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    call.contains("nanosleep")
}

#[test]
fn a_pause_between_two_attempts_ends_the_run_and_the_next_one_goes_on() {
    let world = World::with_config(
        "[[step]]\nname = \"tests\"\nkind = \"command\"\nretries = 3\n\
         shell = \"echo x >> tries; test -e open || { touch PAUSE; exit 1; }\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n",
    );
    world.run(&["run", "--note", "said"]).expect(3);
    assert_eq!(world.read("tries"), "x\n", "nothing starts while it is paused");
    world.write("open", "");
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    world.run(&["run", "--resume"]).expect(0);
    assert_eq!((world.read("tries").as_str(), count(&world, "said")), ("x\nx\n", 1));
}

#[test]
fn a_worktree_that_is_paused_in_the_middle_of_its_run_stops_that_run_only() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    let config = "[[step]]\nname = \"effect\"\nkind = \"command\"\nshell = \"test -e open || touch PAUSE\"\n";
    std::fs::write(topic.join("handover.toml"), format!("{config}{NOTE}")).unwrap();
    let mut killed = repository.command(&topic, &["run", "--note", "said in topic"]);
    finish(killed.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(KILLED);
    let output = repository.run(&main, &["run", "--note", "said in main"]);
    assert!(output.stderr.contains("a handover waits: automation paused"), "{}", output.seen());
    assert!(topic.join("PAUSE").exists() && count(&repository.world, "said in main") == 1);
    assert_eq!(count(&repository.world, "said in topic"), 0);
    std::fs::remove_file(topic.join("PAUSE")).unwrap();
    std::fs::write(topic.join("open"), "").unwrap();
    repository.run(&main, &["run", "--resume"]).expect(0);
    assert_eq!((count(&repository.world, "said in main"), count(&repository.world, "said in topic")), (1, 1));
}

/// A handover with a failing step, recorded by a version whose plans this one cannot read.
fn of_another_version() -> World {
    let world = World::with_config(&format!("[[step]]\nname = \"no\"\nkind = \"command\"\nrun = [\"false\"]\n{NOTE}"));
    world.run(&["run", "--note", "said"]).expect(1);
    world.database().execute("UPDATE run SET plan = '{\"of\":\"another version\"}'", []).unwrap();
    world.write("handover.toml", NOTE);
    world
}

#[test]
fn a_plan_of_another_version_keeps_its_words_until_somebody_decides() {
    let world = of_another_version();
    let resumed = world.run(&["run", "--resume"]);
    assert_ne!(resumed.code, 0);
    assert!(resumed.stderr.contains("the recorded plan cannot be read"), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("it was recorded by another version"), "{}", resumed.stderr);
    let abandoned = world.run(&["run", "--abandon"]).expect(0);
    assert!(abandoned.stdout.contains("said"), "{}", abandoned.stdout);
    let world = of_another_version();
    world.run(&["run", "--replan"]).expect(0).stderr_ignored("the new steps");
    assert_eq!(count(&world, "said"), 1);
    world.run(&["check"]).expect(2);
}

#[test]
fn an_id_that_several_handovers_begin_with_chooses_none() {
    let world = World::with_config("[[step]]\nname = \"no\"\nkind = \"command\"\nrun = [\"false\"]\n");
    for note in ["one", "two"] {
        world.run(&["run", "--note", note]).expect(1);
    }
    let abandon = world.run(&["run", "--abandon", "01"]).expect(1).stderr;
    assert!(abandon.contains("2 unfinished handovers begin or end with `01`"), "{abandon}");
    let shown = world.run(&["status", "--run", "01"]).expect(1).stderr;
    assert!(shown.contains("several handovers begin or end with `01`"), "{shown}");
    let unfinished: i64 = world
        .database()
        .query_row("SELECT count(*) FROM run WHERE status = 'unfinished'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(unfinished, 2);
}

#[test]
fn the_transcript_of_a_waiting_session_is_named() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.ask("Fix the parser, please");
    session.edit("src/parser.rs");
    world.write("PAUSE", "");
    session.end();
    let shown = world.run(&["status", "--run", "latest"]).expect(0).stdout;
    assert!(shown.contains("\ntranscript:\n") && shown.contains("/aaaa-1.jsonl, bytes 0 to "), "{shown}");
}

#[test]
fn a_checkpoint_that_lost_a_table_is_damaged_and_moved_aside() {
    let world = World::with_config(NOTE);
    world.run(&["run", "--note", "first"]).expect(0);
    world.database().execute_batch("PRAGMA foreign_keys = OFF; DROP TABLE step").unwrap();
    let refused = world.run(&["run", "--note", "second"]).expect(65).stderr;
    assert!(refused.contains("is not a usable checkpoint: no such table"), "{refused}");
    world.run(&["run", "--restart", "--note", "second"]).expect(0).stderr_ignored("the file is moved");
    assert_eq!((count(&world, "first"), count(&world, "second")), (1, 1));
    world.run(&["check"]).expect(2);
}

#[test]
fn a_handover_that_somebody_abandons_while_it_waits_is_not_reported_as_done() {
    let world = World::with_config(NOTE);
    let first = stopped_at(&world, "checkpoint.intended:1", &["run", "--note", "first"]);
    let second = world.start(&["run", "--note", "second"]);
    wait_until("the second to be recorded", || world.run(&["status"]).stdout.contains("waiting: "));
    let sql = "SELECT id FROM run ORDER BY seq DESC LIMIT 1";
    let id: String = world.database().query_row(sql, [], |row| row.get(0)).unwrap();
    world.run(&["run", "--abandon", &id]).expect(0);
    let second = output(second).expect(1).stderr;
    assert!(second.contains("another process abandoned this handover"), "{second}");
    go_on(first).expect(0);
    assert!(!world.read(NOTES).contains("second"));
}
