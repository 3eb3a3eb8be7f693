//! The weaknesses of the Python `agent-handover` that are not about git, each with a test that fails on its behaviour.

use std::os::unix::ffi::OsStrExt;

use super::support::*;

const PLAN: &str = "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n\
    [[step]]\nname = \"gate\"\nkind = \"command\"\nrun = [\"test\", \"!\", \"-e\", \"broken\"]\n";

/// The Python tool: the second note of a day replaced the first.
#[test]
fn two_notes_of_one_day_both_stay() {
    let world = World::new();
    world.run(&["run", "--note", "MORNING: did A"]).expect(0);
    world.run(&["run", "--note", "AFTERNOON: did B"]).expect(0);
    let notes = world.read(NOTES);
    assert!(notes.find("MORNING").unwrap() < notes.find("AFTERNOON").unwrap());
}

/// The Python tool: a write that was cut off left an empty or half current-state.md. (Kills at every point are in `crash`.)
#[test]
fn a_state_too_big_for_the_disk_leaves_a_whole_one() {
    let content = "{{ state }}".repeat(4);
    let world = World::with_config(&format!("[[step]]\nname = \"state\"\nkind = \"state\"\ncontent = \"{content}\"\n"));
    world.run(&["run", "--current-state", "yesterday"]).expect(0);
    let old = world.read(STATE);
    let new = format!("{}\n{}\n", old.lines().next().unwrap(), "x".repeat(4 * 90_000));
    // Somewhere between these limits the record fits and the file does not, or the file fits and its record does not.
    for blocks in [50, 150, 300, 450, 600, 750] {
        let script = format!("ulimit -f {blocks}; exec {BINARY} run --current-state \"$0\"");
        let output = finish(world.clean("bash").args(["-c", &script]).arg("x".repeat(90_000)));
        assert!(output.code == 74 || output.code == 0, "{blocks}: {} {}", output.code, output.stderr);
        let state = world.read(STATE);
        assert!(state == old || state == new, "{blocks}: the state is torn");
        assert_eq!(world.strays(), [""; 0]);
        while world.run(&["check"]).code == 1 {
            world.run(&["run", "--abandon"]).expect(0);
        }
    }
}

/// The Python tool: while an older run was unfinished, a new note was dropped.
#[test]
fn a_new_note_is_not_dropped_because_an_older_run_is_unfinished() {
    let world = World::with_config(PLAN);
    world.write("broken", "");
    world.run(&["run", "--note", "DAY1 note"]).expect(1);
    world.run(&["run", "--note", "DAY2 note"]).expect(1);
    assert!(world.read(NOTES).contains("DAY1 note") && world.read(NOTES).contains("DAY2 note"));
    std::fs::remove_file(world.path("broken")).unwrap();
    world.run(&["run", "--note", "DAY3 note"]).expect(0);
    world.run(&["check"]).expect(2);
}

/// The Python tool: after a crash between two steps, the retry mixed two sessions.
#[test]
fn a_resume_never_mixes_two_sessions() {
    let world = World::with_config(PLAN);
    let mut command = world.command(&["run", "--note", "crash 3"]);
    finish(command.env("AGENT_HANDOVER_TEST_FAULT", "fs.replaced:1=kill")).expect(137);
    world.run(&["run", "--note", "retry 3"]).expect(0);
    let notes = world.read(NOTES);
    assert!(notes.contains("crash 3") && notes.contains("retry 3"), "{notes}");
    assert!(world.read(STATE).ends_with("\nretry 3\n"));
}

/// The Python tool: steps were trusted by name after the config had changed.
#[test]
fn a_changed_config_changes_new_runs_only() {
    let world = World::with_config(PLAN);
    let mut command = world.command(&["run", "--note", "recorded with the old config"]);
    finish(command.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(137);
    world.write(
        "handover.toml",
        "[handover]\nmemory_dir = \"elsewhere\"\ntag = \"other\"\n[[step]]\nname = \"note\"\nkind = \"state\"\n",
    );
    world.run(&["run", "--note", "new"]).expect(0);
    assert!(world.read(NOTES).contains("recorded with the old config"));
    assert_eq!(world.tree().into_keys().filter(|path| path.starts_with("elsewhere")).count(), 1);
    // A config that cannot be read blocks only its own runs.
    world.write("handover.toml", PLAN);
    let mut command = world.command(&["run", "--note", "third"]);
    finish(command.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(137);
    world.write("handover.toml", PLAN.replace("state", "note").replace("name = \"note\"", "name = \"n\""));
    world.run(&["run", "--resume"]).expect(65);
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(NOTES).contains("third"));
}

/// The Python tool: step names of another program made a run skip everything and report success.
#[test]
fn a_run_of_another_version_is_reported_and_holds_nobody_back() {
    let world = World::with_config(PLAN);
    world.write("broken", "");
    world.run(&["run", "--note", "old"]).expect(1);
    world
        .database()
        .execute("UPDATE run SET plan = replace(plan, '\"kind\":\"command\"', '\"kind\":\"teleport\"')", [])
        .unwrap();
    std::fs::remove_file(world.path("broken")).unwrap();
    let output = world.run(&["run", "--note", "NOT LOST"]).expect(1);
    assert_eq!(output.stdout, "handover steps executed: note, state, gate\n");
    assert!(output.stderr.contains("this agent-handover has no step kind `teleport`"), "{}", output.stderr);
    assert!(world.read(NOTES).contains("NOT LOST"));
    world.run(&["check"]).expect(1);
}

/// The Python tool: a crash between the last step and the end hid the failure of the next run.
#[test]
fn a_crash_before_the_end_does_not_hide_the_next_failure() {
    let world = World::with_config(PLAN);
    let mut command = world.command(&["run", "--note", "one"]);
    finish(command.env("AGENT_HANDOVER_TEST_FAULT", "step.acted:3=kill")).expect(137);
    world.write("broken", "");
    world.run(&["run", "--note", "two"]).expect(1);
    world.run(&["check"]).expect(1);
}

/// Exit codes of the Python tool meant two things.
#[test]
fn every_outcome_of_check_has_a_code_of_its_own() {
    let world = World::with_config(PLAN);
    world.run(&["check"]).expect(0);
    world.run(&["check", "--checkpoint", "typo.db"]).expect(0);
    world.run(&["chek"]).expect(64);
    world.run(&["check", "--chekpoint", "x"]).expect(64);
    world.write("PAUSE", "");
    world.run(&["run", "--note", "n"]).expect(3);
    world.run(&["unpause"]).expect(0);
    world.write("broken", "");
    world.run(&["run", "--resume"]).expect(1);
    world.run(&["check"]).expect(1);
    std::fs::remove_file(world.path("broken")).unwrap();
    world.run(&["run", "--resume"]).expect(0);
    world.run(&["check"]).expect(2);
    world.run(&["run", "--config", "missing.toml"]).expect(1);
    world.write("handover.toml", "not toml");
    world.run(&["run"]).expect(65);
    world.run(&["check"]).expect(65);
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    world.write(".agent-handover/checkpoint.db", "damaged ".repeat(200));
    let _ = std::fs::remove_file(world.path(".agent-handover/checkpoint.db-wal"));
    world.run(&["check"]).expect(65);
}

/// W19: `check` did not see the config nor the project from below.
#[test]
fn check_sees_the_checkpoint_of_the_config_from_anywhere_in_the_project() {
    let world = World::with_git();
    world.write("handover.toml", format!("[handover]\ncheckpoint = \"state/cp.db\"\n{PLAN}"));
    world.write("src/x", "");
    world.write("broken", "");
    world.run(&["run", "--note", "n"]).expect(1);
    assert!(world.exists("state/cp.db"));
    world.run(&["check"]).expect(1);
    finish(world.command(&["check"]).current_dir(world.path("src"))).expect(1);
}

/// The Python tool made a directory called `~`.
#[test]
fn a_tilde_is_the_home_directory() {
    let world = World::with_config(&format!("[handover]\nmemory_dir = \"~/mem\"\n{PLAN}"));
    world.run(&["run", "--note", "n"]).expect(0);
    assert!(world.home().join("mem/layer2/current-state.md").exists());
    assert!(!world.exists("~"));
}

/// The Python tool: relative paths started at the current directory.
#[test]
fn paths_start_at_the_project_whatever_the_current_directory() {
    let world = World::with_git();
    world.write("conf/handover.toml", PLAN);
    world.write("a/b/x", "");
    let arguments = ["run", "--config", "../../conf/handover.toml", "--note", "n"];
    finish(world.command(&arguments).current_dir(world.path("a/b"))).expect(0);
    assert!(world.exists(NOTES) && world.exists(".agent-handover/checkpoint.db"));
    assert!(!world.exists("a/b/memory") && !world.exists("conf/memory"));
}

/// The Python tool took notes only as an argument, and not every text. `cli_run` covers files, stdin and sizes.
#[test]
fn a_note_of_any_text_is_recorded_or_refused_before_the_run_begins() {
    let world = World::with_config(PLAN);
    let mut command = world.command(&["run", "--note"]);
    let output = finish(command.arg(std::ffi::OsStr::from_bytes(b"bad\xff"))).expect(0);
    assert!(output.stderr.contains("the note is not UTF-8"), "{}", output.stderr);
    world.run(&["check"]).expect(2);
    world.run(&["run", "--note", ""]).expect(0);
    assert_eq!(world.read(NOTES).matches("<!-- /note -->").count(), 1);
}

/// The Python tool's dry run, in its API only, accepted anything.
#[test]
fn a_dry_run_fails_where_the_run_would_fail_before_its_first_step() {
    let world =
        World::with_config("[[step]]\nname = \"x\"\nkind = \"command\"\nrun = [\"touch\", \"x\"]\ncwd = \"out\"\n");
    std::os::unix::fs::symlink(world.home(), world.path("out")).unwrap();
    let output = world.run(&["run", "--dry-run"]).expect(1);
    assert!(output.stderr.contains("`out` leaves the project"), "{}", output.stderr);
}

/// In the Python tool tags shared a file, left the directory, or crashed it.
#[test]
fn tags_become_file_names_without_collision_or_escape() {
    let world = World::with_config("[[step]]\nname = \"note\"\nkind = \"note\"\n");
    let tags = ["a/b", "a-b", "a b", "a_b", "..", "../../evil", "a\\b", "ünï", ".hidden"];
    for tag in tags {
        world.run(&["run", "--tag", tag, "--note", tag]).expect(0);
    }
    let files: Vec<String> = world.tree().into_keys().filter(|path| path.ends_with(".md")).collect();
    assert_eq!(files.len(), tags.len(), "{files:?}");
    assert!(files.iter().all(|path| path.starts_with("memory/layer1/2026-11/")), "{files:?}");
    world.run(&["run", "--tag", "two\nlines", "--note", "n"]).expect(64);
    world.run(&["run", "--tag", &"x".repeat(300), "--note", "n"]).expect(64);
}

/// The Python tool synced nothing. `costs` counts the calls; this test checks their order.
#[test]
fn a_file_is_synced_before_it_gets_its_name_and_its_directory_after() {
    let world = World::with_config("[[step]]\nname = \"state\"\nkind = \"state\"\n");
    world.run(&["run", "--note", "old"]).expect(0);
    let trace = world.home().join("trace");
    let mut command = world.clean("strace");
    command.args(["-f", "-qq", "-y", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", "-o"]).arg(&trace);
    if command.arg(BINARY).args(["run", "--note", "new"]).output().is_err() {
        return skip("strace is not installed");
    }
    let trace = std::fs::read_to_string(trace).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    let renamed = lines.iter().rposition(|line| line.contains("rename")).expect("a rename");
    assert!(lines[renamed - 1].contains("fsync(") && lines[renamed - 1].contains(".tmp>"), "{trace}");
    assert!(lines[renamed + 1].contains("fsync(") && lines[renamed + 1].contains("/layer2>"), "{trace}");
    assert!(lines[renamed + 2].contains("checkpoint.db-wal>"), "{trace}");
}

/// The Python tool replaces `/` and space in a tag. Both tools then use the same file.
#[test]
fn a_tag_of_a_python_config_has_the_file_name_of_the_python_tool() {
    let config = "[handover]\ntag = \"my tag/x\"\n[note]\nsession = \"n\"\n[backend]\npush = false\n";
    let world = World::with_git();
    world.write("handover.toml", config);
    world.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    for (key, value) in [("user.name", "Tester"), ("user.email", "tester@example.com")] {
        world.git(&["config", key, value]);
    }
    world.git(&["commit", "--quiet", "--allow-empty", "--message=first"]);
    let old = "memory/layer1/2026-11/my-tag-x~bf599a3fb9f4-2026-11-14.md";
    world.write(old, "<!-- agent-handover | layer1 | 2026-11-14 -->\nof 0.1.0\n");
    let output = world.run(&["run", "--note", "shared with Python"]).expect(0);
    assert!(output.stderr.contains("as in the Python tool") || output.stderr.contains("plan: "), "{}", output.stderr);
    let name = "memory/layer1/2026-11/my_tag-x-2026-11-15.md";
    assert!(world.read(name).contains("shared with Python"));
    let listed = world.run(&["memory", "list", "--layer", "1", "--tag", "my tag/x"]).expect(0);
    let listed = listed.stderr_ignored("the file of 0.1.0 is nobody's here").stdout;
    assert!(listed.contains("shared with Python") && listed.contains("of 0.1.0"), "{listed}");
    assert!(world.git(&["log", "--format=%s", "-1", "main"]).starts_with("handover: my tag/x session"));
    // A tag that a person gives is a tag of ours, which shares its file with no other.
    world.run(&["run", "--tag", "my tag/x", "--note", "of --tag"]).expect(0).stderr_ignored("the rules of the config");
    assert!(!world.read(name).contains("of --tag"));
}

/// The state directory hides itself from git, but not a config that somebody keeps in it.
#[test]
fn a_config_in_the_state_directory_can_be_committed() {
    let world = World::with_git();
    let status = || world.git(&["status", "--porcelain", "--untracked-files=all", ".agent-handover"]);
    world.run(&["run", "--note", "n"]).expect(0);
    assert_eq!(status(), "");
    world.write(".agent-handover/handover.toml", "[handover]\n");
    assert_eq!(status(), "?? .agent-handover/handover.toml\n");
    // The file of 0.1.0 is replaced; one that a person changed is not.
    for (before, after) in [("*\n", "*\n!/handover.toml\n"), ("*\n!keep\n", "*\n!keep\n"), ("x\n", "x\n")] {
        world.write(".agent-handover/.gitignore", before);
        world.run(&["run", "--note", "again"]).expect(0);
        assert_eq!(world.read(".agent-handover/.gitignore"), after);
    }
}
