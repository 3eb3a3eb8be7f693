//! Many processes at once: nothing is lost, nothing is doubled, nothing waits for ever.

use std::process::Stdio;

use super::support::*;

const NOTE_AND_STATE: &str = "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n[[step]]\nname = \"publish\"\nkind = \"publish\"\n";

#[test]
fn twenty_at_once_leave_twenty_notes_once_each() {
    // Without a project to begin with: making the directories and the database is part of the race.
    for world in [World::new(), World::with_git()] {
        let children: Vec<_> = (0..20).map(|n| world.start(&["run", "--note", &format!("note number {n};")])).collect();
        for child in children {
            let output = output(child).expect(0);
            assert_eq!(output.stdout, "handover steps executed: facts, note, state, history, publish\n");
        }
        let notes = world.read(NOTES);
        for n in 0..20 {
            assert_eq!(notes.matches(&format!("\nnote number {n};\n")).count(), 1);
        }
        assert_eq!(notes.matches("<!-- /note -->").count(), 20);
        world.run(&["check"]).expect(2);
        world.assert_database_is_sound();
        assert_eq!(world.strays(), [""; 0]);
        // The state is the youngest's.
        let youngest: String =
            world.database().query_row("SELECT id FROM run ORDER BY seq DESC LIMIT 1", [], |row| row.get(0)).unwrap();
        let block = notes.split("<!-- note run=").find(|block| block.starts_with(&youngest)).unwrap();
        let content = block.lines().nth(1).unwrap();
        assert!(world.read(STATE).ends_with(&format!("\n{content}\n")), "{}", world.read(STATE));
    }
}

#[test]
fn a_run_that_does_not_wait_names_the_running_process() {
    let world = World::with_config(NOTE_AND_STATE);
    let first = stopped_at(&world, "checkpoint.completed:1", "first");
    let second = world.run(&["run", "--note", "second", "--wait", "0"]).expect(4);
    let expected = format!("error: pid {} on ", first.id());
    assert!(second.stderr.contains(&expected), "{}", second.stderr);
    assert!(second.stderr.contains(" is recorded, and that process will carry it out"), "{}", second.stderr);
    signal(first.id(), "CONT");
    output(first).expect(0);
    assert!(world.read(NOTES).contains("\nsecond\n"), "the first did not look again before letting go");
    world.run(&["check"]).expect(2);
}

#[test]
fn a_run_recorded_after_the_last_look_is_drained_too() {
    let world = World::with_config(NOTE_AND_STATE);
    let first = stopped_at(&world, "queue.empty:1", "first");
    world.run(&["run", "--note", "second", "--wait", "0"]).expect(4);
    signal(first.id(), "CONT");
    output(first).expect(0);
    assert!(world.read(NOTES).contains("\nsecond\n"));
    world.run(&["check"]).expect(2);
}

#[test]
fn a_waiting_run_gets_the_result_of_the_process_that_ran_it() {
    let world = World::with_config(NOTE_AND_STATE);
    let first = stopped_at(&world, "checkpoint.intended:1", "first");
    let second = world.start(&["run", "--note", "second"]);
    wait_until("the second to be recorded", || world.run(&["status"]).stdout.contains("waiting: "));
    signal(first.id(), "CONT");
    output(first).expect(0);
    let second = output(second).expect(0);
    assert_eq!(second.stdout, "handover steps executed: note, state, publish\n");
}

fn stopped_at(world: &World, point: &str, note: &str) -> std::process::Child {
    let child = world
        .command(&["run", "--note", note])
        .env("AGENT_HANDOVER_TEST_FAULT", format!("{point}=stop"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the run to stop", || is_stopped(child.id()));
    child
}

#[test]
fn two_checkpoints_of_one_project_do_not_write_its_files_at_once() {
    let world = World::with_config(NOTE_AND_STATE);
    let children: Vec<_> = (0..12)
        .map(|n| {
            let checkpoint = format!("cp{}/checkpoint.db", n % 3);
            world.start(&["run", "--note", &format!("note number {n};"), "--checkpoint", &checkpoint])
        })
        .collect();
    for child in children {
        output(child).expect(0);
    }
    assert_eq!(world.read(NOTES).matches("<!-- /note -->").count(), 12);
}

#[test]
fn projects_that_share_one_memory_lose_nothing() {
    let worlds: Vec<World> = (0..3).map(|_| World::new()).collect();
    let shared = worlds[0].home().join("shared");
    let mut children = Vec::new();
    for world in &worlds {
        world.write("handover.toml", format!("[handover]\nmemory_dir = \"{}\"\n{NOTE_AND_STATE}", shared.display()));
        for n in 0..8 {
            let mut command = world.command(&["run", "--note", &format!("{n}")]);
            // Ids must differ between the projects as they do in life.
            let command = command.env_remove("AGENT_HANDOVER_TEST_IDS").stdout(Stdio::piped()).stderr(Stdio::piped());
            children.push(command.spawn().unwrap());
        }
    }
    for child in children {
        output(child).expect(0);
    }
    let notes = std::fs::read_to_string(shared.join("layer1/2026-11/general-2026-11-15.md")).unwrap();
    assert_eq!(notes.matches("<!-- /note -->").count(), 24);
}

#[test]
fn a_failure_of_a_younger_run_does_not_fail_the_older() {
    let world = World::with_config(NOTE_AND_STATE);
    let first = stopped_at(&world, "checkpoint.intended:1", "first");
    world.write("handover.toml", "[[step]]\nname = \"no\"\nkind = \"command\"\nrun = [\"false\"]\n");
    world.run(&["run", "--wait", "0", "--note", "second"]).expect(4);
    signal(first.id(), "CONT");
    let first = output(first).expect(0);
    assert_eq!(first.stdout, "handover steps executed: note, state, publish\n");
    assert!(first.stderr.contains("✗ no "), "{}", first.stderr);
    world.run(&["check"]).expect(1);
}

#[test]
fn the_lock_says_which_run_is_being_run() {
    let world = World::with_config(NOTE_AND_STATE);
    let mut killed = world.command(&["run", "--note", "old"]);
    finish(killed.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(137);
    // It finishes the old one, and stops in the middle of its own.
    let child = stopped_at(&world, "checkpoint.intended:4", "new");
    let mine: String = world.database().query_row("SELECT max(id) FROM run", [], |row| row.get(0)).unwrap();
    let young: String =
        world.database().query_row("SELECT id FROM run ORDER BY seq DESC LIMIT 1", [], |row| row.get(0)).unwrap();
    let check = world.run(&["check"]).expect(4);
    assert!(check.stdout.contains(&format!("running handover {} ", &young[18..])), "{mine}: {}", check.stdout);
    signal(child.id(), "CONT");
    output(child).expect(0);
}

#[test]
fn a_checkpoint_named_in_a_roundabout_way_is_the_same() {
    let world = World::with_config(NOTE_AND_STATE);
    world.run(&["run", "--note", "one"]).expect(0);
    world.write("sub/x", "");
    std::os::unix::fs::symlink(".agent-handover", world.path("link")).unwrap();
    for path in ["../.agent-handover/checkpoint.db", "../link/checkpoint.db"] {
        let arguments = ["run", "--wait", "0", "--note", "two", "--checkpoint", path];
        finish(world.command(&arguments).current_dir(world.path("sub"))).expect(0);
    }
    assert_eq!(world.read(NOTES).matches("<!-- /note -->").count(), 3);
}

#[test]
fn an_unfinished_run_does_not_hold_newer_ones_back_nor_replace_their_state() {
    let world = World::with_config(
        "[[step]]\nname = \"gate\"\nkind = \"command\"\nshell = \"test -e open-{{TAG}} || test $TAG != old\"\nenv = { TAG = \"{{ tag }}\" }\n\
         [[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n",
    );
    world.write("handover.toml", world.read("handover.toml").replace("open-{{TAG}}", "open"));
    world.run(&["run", "--tag", "old", "--note", "old"]).expect(1);
    let output = world.run(&["run", "--note", "new"]).expect(1);
    assert!(output.stderr.contains("this handover is done, but the older "), "{}", output.stderr);
    assert_eq!(output.stdout, "handover steps executed: gate, note, state\n");
    assert!(world.read(NOTES).contains("\nnew\n"));
    world.write("open", "");
    let output = world.run(&["run", "--resume"]).expect(0);
    assert_eq!(output.stdout, "handover steps executed: gate, note\n");
    assert!(output.stderr.contains("- state  superseded by handover "), "{}", output.stderr);
    assert!(world.read("memory/layer1/2026-11/old-2026-11-15.md").contains("\nold\n"));
    assert!(world.read(STATE).ends_with("\nnew\n"));
    world.run(&["check"]).expect(2);
}

#[test]
fn the_same_memory_written_differently_is_the_same() {
    let plan = "[[step]]\nname = \"gate\"\nkind = \"command\"\nrun = [\"test\", \"-e\", \"open\"]\n[[step]]\nname = \"state\"\nkind = \"state\"\n";
    let world = World::with_config(plan);
    world.run(&["run", "--note", "old"]).expect(1);
    world.write(
        "handover.toml",
        "[handover]\nmemory_dir = \"./memory\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n",
    );
    world.run(&["run", "--note", "new"]).expect(1);
    world.write("open", "");
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(STATE).ends_with("\nnew\n"));
}

#[test]
fn an_abandoned_run_is_not_completed_by_a_stopped_process() {
    let world = World::with_config(NOTE_AND_STATE);
    let child = stopped_at(&world, "checkpoint.intended:1", "n");
    world.database().execute("UPDATE run SET status = 'abandoned'", []).unwrap();
    signal(child.id(), "CONT");
    let ended = output(child).expect(1);
    assert!(ended.stderr.contains("another process abandoned this handover while it was running"), "{}", ended.stderr);
    let status: String = world.database().query_row("SELECT status FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(status, "abandoned");
}
