//! `run`: what it writes, what it says, and how it fails.

use std::os::unix::ffi::OsStrExt;

use snapbox::{assert_data_eq, str};

use super::support::*;

const NOTE_ONLY: &str = "[[step]]\nname = \"note\"\nkind = \"note\"\n";

#[test]
fn without_a_config_a_first_handover_just_works() {
    let world = World::new();
    let output = world.run(&["run", "--note", "built the house"]).expect(0);
    assert_data_eq!(
        output.seen(),
        str![[r#"
handover steps executed: facts, note, state, history, publish
---
handover HH2AYS8R
✓ facts  [..] ms  a note of 15 bytes, by tester on [..]
✓ note  [..] ms  memory/layer1/2026-11/general-2026-11-15.md
✓ state  [..] ms  memory/layer2/current-state.md
✓ history  [..] ms  .agent-history/sessions/2026-11-15-1004-built-the-house-2ays8r.md
✓ publish  [..] ms  kept in this directory only (backend null)
✓ handed over  5 steps done, in [..] ms
[exit 0]

"#]]
    );
    assert_data_eq!(
        world.read(NOTES),
        str![[r#"
<!-- agent-handover | layer1 | 2026-11-15 -->
<!-- note run=01M7FAKZG8GH9HCHDHHH2AYS8R step=note at=2026-11-15T10:04:05Z -->
built the house
<!-- /note -->

"#]]
    );
    assert_data_eq!(
        world.read(STATE),
        str![[r#"
<!-- agent-handover | layer2 | 2026-11-15 -->
built the house

"#]]
    );
    let mut files: Vec<String> = world.tree().into_keys().collect();
    let session = files.remove(4);
    assert!(session.starts_with(".agent-history/sessions/2026-11-15-1004-built-the-house-"), "{session}");
    let history = ["INDEX.yaml", "LATEST.md", "RESUME_PROMPT.txt", "SHA256SUMS"];
    let history = history.map(|file| format!(".agent-history/{file}"));
    assert_eq!(files, [&history[..], &[NOTES.to_owned(), STATE.to_owned()]].concat());
}

#[test]
fn git_status_stays_as_the_user_left_it() {
    let world = World::with_git();
    world.write("theirs", "x");
    let output = world.run(&["run", "--note", "n"]).expect(0);
    assert!(output.stderr.contains("\nkeeping /memory/ and /.agent-history/ out of `git status`"), "{}", output.stderr);
    assert_eq!(world.git(&["status", "--porcelain"]), "?? theirs\n");
    // A second time there is nothing to do and nothing to say.
    let before = world.read(".git/info/exclude");
    let output = world.run(&["run", "--note", "n"]).expect(0);
    assert!(!output.stderr.contains("git status"), "{}", output.stderr);
    assert_eq!(world.read(".git/info/exclude"), before);
}

#[test]
fn memory_that_the_user_tracks_is_not_hidden_from_them() {
    let world = World::with_git();
    world.write("memory/README.md", "ours, tracked");
    world.git(&["add", "memory"]);
    world.run(&["run", "--note", "n"]).expect(0);
    let status = world.git(&["status", "--porcelain"]);
    assert_eq!(status, "A  memory/README.md\n?? memory/layer1/\n?? memory/layer2/\n");
}

#[test]
fn in_a_worktree_the_right_exclude_file_is_found() {
    let world = World::with_git();
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
    world.git(&["worktree", "add", "-q", "../tree"]);
    let tree = world.root().with_file_name("tree");
    std::fs::create_dir(tree.join("sub")).unwrap();
    finish(world.command(&["run", "--note", "n"]).current_dir(tree.join("sub"))).expect(0);
    assert!(world.exists(NOTES) && !tree.join("memory").exists(), "all worktrees use the memory of the main one");
    let status = world.clean("git").args(["status", "--porcelain"]).current_dir(&tree).output().unwrap();
    assert_eq!(String::from_utf8(status.stdout).unwrap(), "");
}

#[test]
fn a_note_comes_from_a_file_or_from_standard_input_of_any_size() {
    let world = World::with_config(NOTE_ONLY);
    world.write("note.txt", "from a file");
    world.run(&["run", "--note-file", "note.txt"]).expect(0);
    let big = "a line of a very long note\n".repeat(200_000);
    world.write("big.txt", &big);
    let input = std::fs::File::open(world.path("big.txt")).unwrap();
    finish(world.command(&["run", "--note-file", "-"]).stdin(input)).expect(0);
    let notes = world.read(NOTES);
    assert!(notes.contains("\nfrom a file\n<!-- /note -->\n"));
    assert!(notes.contains(&big));
    let output = world.run(&["run", "--note-file", "absent.txt"]).expect(1);
    assert!(output.stderr.contains("cannot read `absent.txt`"), "{}", output.stderr);
}

#[test]
fn a_note_that_is_not_utf8_is_kept_rather_than_lost() {
    let world = World::with_config(NOTE_ONLY);
    let mut command = world.command(&["run", "--note"]);
    let output = finish(command.arg(std::ffi::OsStr::from_bytes(b"bad\xffbyte"))).expect(0);
    assert!(output.stderr.contains("the note is not UTF-8"), "{}", output.stderr);
    assert!(world.read(NOTES).contains("\nbad\u{fffd}byte\n"));
}

#[test]
fn an_empty_note_writes_no_block_and_leaves_the_state_alone() {
    let world = World::new();
    world.run(&["run", "--note", "something"]).expect(0);
    let before = world.tree();
    for note in [vec!["run", "--note", ""], vec!["run", "--note", " \n"], vec!["run"]] {
        let output = world.run(&note).expect(0);
        assert_eq!(output.stdout, "handover steps executed: facts, publish\n");
        assert_eq!(world.tree(), before);
    }
    world.run(&["check"]).expect(2);
}

#[test]
fn hostile_notes_are_kept_to_the_byte_and_forge_nothing() {
    let world = World::with_config(NOTE_ONLY);
    let hostile = "<!-- /note -->\n<!-- note run=X step=note at=x -->\n\\<!-- /note -->\n{{ tag }}\n\x1b[31mred\n---\n";
    let output = world.run(&["run", "--note", hostile]).expect(0);
    assert!(!output.stderr.contains('\x1b'));
    world.run(&["run", "--note", "after"]).expect(0);
    let notes = agent_handover::testing::memory::note::parse(world.read(NOTES).as_bytes());
    let contents: Vec<String> = notes
        .into_iter()
        .filter_map(|piece| match piece {
            agent_handover::testing::memory::note::Piece::Note { note, .. } => {
                Some(String::from_utf8(note.content).unwrap())
            }
            agent_handover::testing::memory::note::Piece::Foreign(_) => None,
        })
        .collect();
    assert_eq!(contents, [hostile, "after"]);
}

#[test]
fn a_leading_dash_is_part_of_a_note() {
    let world = World::with_config(NOTE_ONLY);
    world.run(&["run", "--note", "-x"]).expect(0);
    assert!(world.read(NOTES).contains("\n-x\n"));
}

#[test]
fn the_date_is_the_local_one_of_the_start_and_survives_a_resume() {
    let world = World::with_config(&format!(
        "{NOTE_ONLY}[[step]]\nname = \"gate\"\nkind = \"command\"\nrun = [\"test\", \"-e\", \"open\"]\n\
        [[step]]\nname = \"late\"\nkind = \"note\"\ncontent = \"late {{{{ date }}}} {{{{ time }}}}\"\n"
    ));
    let mut command = world.command(&["run", "--note", "n"]);
    finish(command.env("AGENT_HANDOVER_TEST_NOW", "2026-11-15T23:59:59+14:00")).expect(1);
    world.write("open", "");
    let mut command = world.command(&["run", "--resume"]);
    finish(command.env("AGENT_HANDOVER_TEST_NOW", "2026-12-01T00:00:00-11:00")).expect(0);
    let notes = world.read(NOTES);
    assert!(notes.starts_with("<!-- agent-handover | layer1 | 2026-11-15 -->\n"));
    assert!(notes.contains("at=2026-11-15T09:59:59Z"), "{notes}");
    assert!(notes.contains("\nlate 2026-11-15 23:59:59\n"), "{notes}");
}

#[test]
fn a_symlink_in_the_way_is_refused_and_what_it_points_at_stays() {
    let world = World::new();
    world.write("../outside.txt", "theirs");
    std::fs::create_dir_all(world.path("memory/layer2")).unwrap();
    std::os::unix::fs::symlink("../../../outside.txt", world.path(STATE)).unwrap();
    let output = world.run(&["run", "--note", "n"]).expect(1);
    assert!(
        output.stderr.contains("step 'state' failed: `$WORLD/project/memory/layer2/current-state.md` is a symlink"),
        "{}",
        output.stderr
    );
    assert_eq!(world.read("../outside.txt"), "theirs");
    std::fs::remove_file(world.path(STATE)).unwrap();
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(STATE).ends_with("\nn\n"));
}

#[test]
fn a_command_gets_its_arguments_environment_and_directory() {
    let world = World::with_config(
        r#"
        [[step]]
        name = "show"
        kind = "command"
        run = ["sh", "-c", 'printf "%s|" "$@" "$NOTE" "$AGENT_HANDOVER_STEP" "$AGENT_HANDOVER_ATTEMPT" "$PWD" > ../out', "sh", "{{ note }}", "$(touch pwned)"]
        cwd = "sub"
        env = { NOTE = "it said: {{ note }}" }
        "#,
    );
    std::fs::create_dir(world.path("sub")).unwrap();
    world.run(&["run", "--note", "a; touch pwned 'b\""]).expect(0);
    let root = world.root().canonicalize().unwrap();
    let expected =
        format!("a; touch pwned 'b\"|$(touch pwned)|it said: a; touch pwned 'b\"|show|1|{}/sub|", root.display());
    assert_eq!(world.read("out"), expected);
    assert!(!world.exists("sub/pwned") && !world.exists("pwned"));
}

#[test]
fn a_failed_command_stops_the_run_says_why_and_is_tried_again_later() {
    let world = World::with_config(
        "[[step]]\nname = \"first\"\nkind = \"note\"\n[[step]]\nname = \"tests\"\nkind = \"command\"\n\
         shell = \"echo building; echo 'it broke' >&2; test -e fixed\"\n[[step]]\nname = \"last\"\nkind = \"state\"\n",
    );
    let output = world.run(&["run", "--note", "n"]).expect(1);
    assert_data_eq!(
        output.seen(),
        str![[r#"
handover steps executed: first
---
handover RHCQV5SE
✓ first  [..] ms  memory/layer1/2026-11/general-2026-11-15.md
✗ tests  [..] ms
error: step 'tests' failed: exit status 1: it broke
hint: its output is in `.agent-handover/log/01M7FAKZG8024Q34PSRHCQV5SE/tests-1.log`
hint: progress is saved: `agent-handover run --resume` tries again, `--abandon RHCQV5SE` abandons it
[exit 1]

"#]]
    );
    assert!(!world.exists(STATE));
    let kept = |world: &World| -> String {
        world.database().query_row("SELECT result FROM step WHERE name = 'tests'", [], |row| row.get(0)).unwrap()
    };
    assert!(kept(&world).contains("building\\nit broke"), "{}", kept(&world));
    assert_data_eq!(
        world.run(&["status"]).stdout,
        str![[r#"
status: in_progress
  [x] first  (1 attempt, [..] ms)
  [!] tests  (failed, 1 attempt, [..] ms, exit status 1: it broke)
  [ ] last
pending: tests, last
run: RHCQV5SE recorded just now, tag general
unfinished: run `agent-handover run --resume` to continue

"#]]
    );
    world.write("fixed", "");
    assert_data_eq!(
        world.run(&["run", "--resume"]).expect(0).stdout,
        str![[r#"
handover steps executed: tests, last

"#]]
    );
    assert!(kept(&world).contains("building\\nit broke"), "{}", kept(&world));
}

#[test]
fn logs_of_runs_from_long_ago_are_forgotten() {
    let world = World::with_config("[[step]]\nname = \"x\"\nkind = \"command\"\nrun = [\"true\"]\n");
    for n in 0..120 {
        world.write(&format!(".agent-handover/log/00000000000000000000000{n:03}/x-1.log"), "");
    }
    world.write(".agent-handover/log/theirs/x", "not named like a run, so not ours to remove");
    world.run(&["run"]).expect(0);
    let left = std::fs::read_dir(world.path(".agent-handover/log")).unwrap().count();
    assert_eq!(left, 100 + 1);
    assert!(!world.exists(".agent-handover/log/00000000000000000000000020"), "the oldest go first");
    assert!(world.exists(".agent-handover/log/00000000000000000000000021"));
    assert!(world.exists(".agent-handover/log/theirs/x"));
}

#[test]
fn on_failure_continue_goes_on_and_retries_try_again() {
    let world = World::with_config(
        "[[step]]\nname = \"bad\"\nkind = \"command\"\nrun = [\"false\"]\non_failure = \"continue\"\n\
         [[step]]\nname = \"flaky\"\nkind = \"command\"\nshell = \"echo x >> tries; test $(wc -l < tries) = 2\"\nretries = 3\n\
         [[step]]\nname = \"note\"\nkind = \"note\"\n",
    );
    let output = world.run(&["run", "--note", "n"]).expect(0);
    assert_eq!(output.stdout, "handover steps executed: flaky, note\n");
    assert!(output.stderr.contains("✗ bad ") && output.stderr.contains("✗ flaky "), "{}", output.stderr);
    assert_eq!(world.read("tries"), "x\nx\n");
    let status = world.run(&["status"]).stdout;
    assert!(status.contains("  [!] bad  (failed, 1 attempt, "), "{status}");
    assert!(status.contains("  [x] flaky  (2 attempts, "), "{status}");
    world.run(&["check"]).expect(2);
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_its_family() {
    let world = World::with_config(
        "[[step]]\nname = \"slow\"\nkind = \"command\"\nshell = \"sleep 1000 & echo $! > pid; wait\"\ntimeout = \"300ms\"\n",
    );
    let output = world.run(&["run"]).expect(1);
    assert!(output.stderr.contains("step 'slow' failed: timed out after 300 ms"), "{}", output.stderr);
    let pid = world.read("pid").trim().to_owned();
    wait_until("the grandchild to go", || is_gone(&pid));
}

#[test]
fn a_missing_command_is_reported_with_a_remedy() {
    let world =
        World::with_config("[[step]]\nname = \"x\"\nkind = \"command\"\nrun = [\"no-such-program-anywhere\"]\n");
    let output = world.run(&["run"]).expect(1);
    assert!(output.stderr.contains("step 'x' failed: cannot start `no-such-program-anywhere`"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: check that `no-such-program-anywhere` is installed"), "{}", output.stderr);
}

#[test]
fn secrets_of_the_environment_reach_neither_log_nor_database() {
    let world = World::with_config(
        "[[step]]\nname = \"leak\"\nkind = \"command\"\nshell = \"env; echo token is $GH_TOKEN; exit 3\"\n\
         env = { MY_SECRET = \"s3cr3t-of-config\" }\n",
    );
    let mut command = world.command(&["run"]);
    let output = finish(command.env("GH_TOKEN", "ghx_thisIsVerySecret1")).expect(1);
    assert!(output.stderr.contains("token is [redacted:GH_TOKEN]"), "{}", output.stderr);
    let mut found = Vec::new();
    for entry in walk(&world.path(".agent-handover")) {
        let bytes = std::fs::read(&entry).unwrap();
        if String::from_utf8_lossy(&bytes).contains("ghx_thisIsVerySecret1") {
            found.push(entry);
        }
    }
    assert_eq!(found, Vec::<std::path::PathBuf>::new());
    let log = walk(&world.path(".agent-handover/log")).pop().unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("MY_SECRET=[redacted:MY_SECRET]"), "{log}");
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn sigint_and_sigterm_end_the_command_and_are_recorded() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let world = World::with_config(
            "[[step]]\nname = \"slow\"\nkind = \"command\"\nshell = \"test -e quick || { sleep 1000 & echo $! > pid; wait; }\"\n",
        );
        let child = world.start(&["run", "--note", "n"]);
        world.wait_for("pid");
        wait_until("the pid to be written", || world.read("pid").ends_with('\n'));
        let grandchild = world.read("pid").trim().to_owned();
        signal(child.id(), name);
        let output = output(child).expect(code);
        assert!(output.stderr.contains(&format!("error: interrupted by SIG{name}; ")), "{}", output.stderr);
        assert_eq!(output.stdout, "handover steps executed: (none)\n");
        wait_until("the grandchild to go", || is_gone(&grandchild));
        world.run(&["check"]).expect(1);
        let status = world.run(&["status"]).stdout;
        assert!(status.contains(&format!("interrupted by SIG{name})")), "{status}");
        assert!(status.contains("pending: slow"), "{status}");
    }
}

#[test]
fn a_dry_run_says_what_would_happen_and_touches_nothing() {
    let world = World::with_config(
        "[[step]]\nname = \"facts\"\nkind = \"collect\"\n[[step]]\nname = \"tests\"\nkind = \"command\"\nrun = [\"touch\", \"{{ tag }}\"]\n\
         [[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n[[step]]\nname = \"publish\"\nkind = \"publish\"\n",
    );
    let output = world.run(&["run", "--dry-run", "--note", "four"]).expect(0);
    assert_data_eq!(
        output.seen(),
        str![[r#"
facts: would collect facts from inputs, transcript, git
tests: would run `touch general` in $WORLD/project
note: would add a note of 4 bytes to memory/layer1/2026-11/general-2026-11-15.md
state: would put 4 bytes of text into memory/layer2/current-state.md
publish: would publish nothing (backend null)
Publishing: nowhere (backend null).
---
[exit 0]

"#]]
    );
    assert_eq!(world.tree().into_keys().collect::<Vec<_>>(), ["handover.toml"]);
    assert!(!world.exists(".agent-handover"));
}

#[test]
fn abandon_ends_one_run_and_keeps_its_record() {
    let world = World::with_config(
        "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"no\"\nkind = \"command\"\nrun = [\"false\"]\n",
    );
    world.run(&["run", "--note", "one"]).expect(1);
    world.run(&["run", "--note", "two"]).expect(1);
    let output = world.run(&["run", "--abandon"]).expect(0);
    assert!(output.stdout.ends_with(" prints its inputs again\nnote:\n  one\n"), "{}", output.stdout);
    world.run(&["check"]).expect(1);
    let inputs: String =
        world.database().query_row("SELECT inputs FROM run WHERE status = 'abandoned'", [], |row| row.get(0)).unwrap();
    assert!(inputs.contains("\"note\":\"one\""), "{inputs}");
    let second: String =
        world.database().query_row("SELECT id FROM run WHERE status = 'unfinished'", [], |row| row.get(0)).unwrap();
    world.run(&["run", "--abandon", "ZZZ"]).expect(1);
    world.run(&["run", "--abandon", &second.to_lowercase()]).expect(0);
    world.run(&["check"]).expect(0);
    assert_eq!(world.run(&["run", "--abandon"]).expect(0).stdout, "nothing to abandon: no handover is unfinished\n");
}

#[test]
fn restart_abandons_all_unfinished_runs_and_starts_anew() {
    let world = World::with_config(
        "[[step]]\nname = \"gate\"\nkind = \"command\"\nrun = [\"test\", \"-e\", \"open\"]\n[[step]]\nname = \"note\"\nkind = \"note\"\n",
    );
    world.run(&["run", "--note", "one"]).expect(1);
    world.run(&["run", "--note", "two"]).expect(1);
    world.write("open", "");
    let output = world.run(&["run", "--restart", "--note", "three"]).expect(0);
    assert_eq!(output.stderr.matches("note: abandoned handover ").count(), 2, "{}", output.stderr);
    let notes = world.read(NOTES);
    assert!(notes.contains("three") && !notes.contains("one") && !notes.contains("two"));
    world.run(&["check"]).expect(2);
}

#[test]
fn resuming_nothing_is_fine_and_makes_nothing() {
    let world = World::new();
    let output = world.run(&["run", "--resume"]).expect(0);
    assert_eq!(output.stdout, "handover steps executed: (none)\n");
    assert!(!world.exists(".agent-handover"));
    assert_eq!(
        world.run(&["run", "--abandon"]).expect(0).stdout,
        "nothing to abandon: no handover is on record here\n"
    );
}

#[test]
fn backend_git_without_a_repository_fails_after_the_memory_is_written() {
    let world = World::with_config(
        "[backend]\ntype = \"git\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"publish\"\nkind = \"publish\"\n",
    );
    let output = world.run(&["run", "--note", "n"]).expect(1);
    assert!(
        output
            .stderr
            .contains("step 'publish' failed: backend.publish failed: `$WORLD/project` is not in a git repository"),
        "{}",
        output.stderr
    );
    assert!(world.read(NOTES).contains("\nn\n"));
    world.run(&["check"]).expect(1);
}

#[test]
fn an_unwritable_disk_is_reported_in_one_sentence() {
    let world = World::new();
    // A file where a directory must be fails for every user, root included.
    world.write(".agent-handover", "in the way");
    let output = world.run(&["run", "--note", "n"]).expect(74);
    assert_data_eq!(
        output.seen(),
        str![[r#"
---
error: cannot create the directory `$WORLD/project/.agent-handover`
  caused by: File exists (os error 17)
hint: nothing was recorded: fix this, then run the handover again
[exit 74]

"#]]
    );
    let world = World::new();
    world.write("memory", "in the way");
    let output = world.run(&["run", "--note", "n"]).expect(74);
    assert!(output.stderr.contains("step 'note' failed: cannot "), "{}", output.stderr);
    std::fs::remove_file(world.path("memory")).unwrap();
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(NOTES).contains("\nn\n"));
}

#[test]
fn a_file_size_limit_leaves_the_old_files_whole() {
    let world = World::new();
    world.run(&["run", "--note", "old"]).expect(0);
    let before = world.tree();
    world.write("../big", "x".repeat(600_000));
    let script = format!("ulimit -f 100; exec {BINARY} run --note-file ../big");
    let output = finish(world.clean("sh").args(["-c", &script]));
    assert_eq!(output.code, 74, "{}", output.stderr);
    assert_eq!(world.tree(), before);
}

#[test]
fn a_run_inside_a_step_of_a_run_is_recorded_and_taken_by_the_outer_one() {
    let world = World::with_config(&format!(
        "[[step]]\nname = \"nest\"\nkind = \"command\"\nshell = \"test -e nested || {{ touch nested; {BINARY} run --note inner; echo $? > code; }}\"\n\
         [[step]]\nname = \"note\"\nkind = \"note\"\n"
    ));
    let mut command = world.command(&["run", "--note", "outer"]);
    finish(command.env_remove("AGENT_HANDOVER_TEST_IDS")).expect(0);
    assert_eq!(world.read("code"), "4\n");
    let notes = world.read(NOTES);
    assert!(notes.contains("\ninner\n") && notes.contains("\nouter\n"), "{notes}");
    world.run(&["check"]).expect(2);
}

#[test]
fn wrong_usage_is_64_and_never_2() {
    let world = World::new();
    for arguments in [
        &["chek"][..],
        &["check", "--chekpoint", "x"],
        &["run", "--wait", "soon"],
        &["run", "--resume", "--note", "x"],
        &["run", "--note", "x", "--note-file", "y"],
        &["run", "--tag", ""],
        &["--json", "check"],
    ] {
        let output = world.run(arguments).expect(64);
        assert!(!output.stderr.is_empty());
    }
    world.run(&["--version"]).expect(0);
    world.run(&["--help"]).expect(0);
}

#[test]
fn a_developer_can_see_each_decision_and_never_a_content() {
    let world = World::with_config(
        "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"c\"\nkind = \"command\"\nrun = [\"true\", \"an argument\"]\n\
         env = { MINE = \"of the config\" }\n",
    );
    let mut command = world.command(&["run", "--note", "what was said"]);
    let output = finish(command.env("AGENT_HANDOVER_LOG", "debug").env("THEIRS", "of the environment")).expect(0);
    for part in [
        "project root=",
        "recorded run=",
        "step{name=\"note\" kind=\"note\"}: ",
        "process{program=true arguments=1}: ",
        "process ended",
    ] {
        assert!(output.stderr.contains(part), "{part} is missing: {}", output.stderr);
    }
    for content in ["what was said", "an argument", "of the config", "of the environment"] {
        let traces: Vec<&str> = output.stderr.lines().filter(|line| line.contains("DEBUG")).collect();
        assert!(!traces.iter().any(|line| line.contains(content)), "{content}: {traces:?}");
    }
    assert_eq!(output.stdout, "handover steps executed: note, c\n");
    assert!(!world.run(&["run", "--note", "n"]).stderr.contains("DEBUG"));
}
