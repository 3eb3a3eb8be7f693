//! `check` and `status`: exit codes, output, and how they treat a damaged database.

use snapbox::{assert_data_eq, str};

use super::support::*;

const GATED: &str = "[[step]]\nname = \"note\"\nkind = \"note\"\n\
    [[step]]\nname = \"gate\"\nkind = \"command\"\nrun = [\"test\", \"-e\", \"open\"]\n[[step]]\nname = \"state\"\nkind = \"state\"\n";

#[test]
fn check_answers_by_exit_code_and_one_line() {
    let world = World::with_config(GATED);
    assert_data_eq!(
        world.run(&["check"]).expect(0).seen(),
        str![[r#"
no handover on record
---
[exit 0]

"#]]
    );
    world.run(&["run", "--note", "n"]).expect(1);
    assert_data_eq!(
        world.run(&["check"]).expect(1).seen(),
        str![[r#"
interrupted: handover KRT992JC is unfinished; run `agent-handover run --resume`
---
[exit 1]

"#]]
    );
    world.write("open", "");
    world.run(&["run", "--resume"]).expect(0);
    assert_data_eq!(
        world.run(&["check"]).expect(2).seen(),
        str![[r#"
completed: handover KRT992JC, just now
---
[exit 2]

"#]]
    );
}

#[test]
fn check_interrupted_is_1_only_if_a_handover_waits() {
    let world = World::with_config(GATED);
    let check = |code| world.run(&["check", "--interrupted"]).expect(code).stdout;
    assert_eq!(check(0), "no handover on record\n");
    let mut command = world.command(&["run", "--note", "n"]);
    command.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.intended:1=stop");
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the run to stop", || is_stopped(child.id()));
    assert!(check(0).starts_with("busy: "));
    signal(child.id(), "CONT");
    output(child).expect(1);
    assert!(check(1).starts_with("interrupted: "));
    assert_eq!(world.run(&["check", "--interrupted", "--json"]).expect(1).json()["exit_code"], 1);
    world.write("open", "");
    world.run(&["run", "--resume"]).expect(0);
    assert!(check(0).starts_with("completed: "));
    assert_eq!(world.run(&["check", "--interrupted", "--json"]).expect(0).json()["state"], "completed");
    world.write("handover.toml", "[handover\n");
    world.run(&["check", "--interrupted"]).expect(65);
}

#[test]
fn check_works_from_below_and_with_the_paths_of_the_config() {
    let world = World::with_git();
    world.write("handover.toml", format!("[handover]\nstate_dir = \"var/state\"\n{GATED}"));
    world.write("a/b/x", "");
    world.run(&["run", "--note", "n"]).expect(1);
    assert!(world.exists("var/state/checkpoint.db") && !world.exists(".agent-handover"));
    finish(world.command(&["check"]).current_dir(world.path("a/b"))).expect(1);
    finish(world.command(&["status"]).current_dir(world.path("a/b"))).expect(0);
}

#[test]
fn a_checkpoint_can_be_named_and_its_lock_lies_beside_it() {
    let world = World::with_config(GATED);
    world.write("a/x", "");
    let below = |arguments: &[&str]| finish(world.command(arguments).current_dir(world.path("a")));
    below(&["run", "--note", "n", "--checkpoint", "../cp/my.db"]).expect(1);
    assert!(world.exists("cp/my.db") && world.exists("cp/my.db.lock"));
    below(&["check", "--checkpoint", "../cp/my.db"]).expect(1);
    below(&["check"]).expect(0);
    assert!(below(&["status", "--checkpoint", "../cp/my.db"]).stdout.contains("pending: gate, state"));
    world.write("open", "");
    below(&["run", "--resume", "--checkpoint", "../cp/my.db"]).expect(0);
    below(&["check", "--checkpoint", "../cp/my.db"]).expect(2);
}

#[test]
fn status_shows_each_step_and_who_waits() {
    let world = World::with_config(GATED);
    assert_data_eq!(
        world.run(&["status"]).expect(0).seen(),
        str![[r#"
status: none
---
[exit 0]

"#]]
    );
    world.run(&["run", "--note", "one", "--agent", "codex"]).expect(1);
    world.run(&["run", "--note", "two"]).expect(1);
    world.write("PAUSE", "holiday");
    assert_data_eq!(
        world.run(&["status"]).expect(0).seen(),
        str![[r#"
status: in_progress
  [x] note  (1 attempt, [..] ms)
  [!] gate  (failed, 2 attempts, [..] ms, exit status 1)
  [ ] state
pending: gate, state
run: RQFX2FH7 recorded just now by codex, tag general
waiting: EZ4EVAF4 recorded just now
unfinished: run `agent-handover run --resume` to continue
automation paused: remove $WORLD/project/PAUSE to resume (reason: holiday)
---
[exit 0]

"#]]
    );
}

#[test]
fn the_json_of_check_and_status_has_a_schema() {
    let world = World::with_config(GATED);
    world.run(&["run", "--note", "one", "--agent", "codex"]).expect(1);
    let check = world.run(&["check", "--json"]).expect(1).json();
    assert_data_eq!(
        serde_json::to_string_pretty(&check).unwrap(),
        str![[r#"
{
  "schema": "agent-handover/check/1",
  "state": "interrupted",
  "exit_code": 1,
  "run": "01M7FAKZG80FCP4JT44SBQHB6D",
  "message": "interrupted: handover 4SBQHB6D is unfinished; run `agent-handover run --resume`",
  "paused": null,
  "due": null,
  "foreign": []
}
"#]]
    );
    let status = world.run(&["status", "--json"]).expect(0).json();
    assert_data_eq!(
        serde_json::to_string_pretty(&status).unwrap(),
        str![[r#"
{
  "schema": "agent-handover/status/1",
  "status": "in_progress",
  "run": {
    "id": "01M7FAKZG80FCP4JT44SBQHB6D",
    "recorded_at": "2026-11-15T10:04:05.000Z",
    "agent": "codex",
    "tag": "general",
    "branch": null,
    "worktree": null
  },
  "finished_at": null,
  "outdated": false,
  "told": null,
  "steps": [
    {
      "name": "note",
      "kind": "note",
      "state": "done",
      "attempts": 1,
      "deaths": 0,
      "duration_ms": [..],
      "detail": "memory/layer1/2026-11/general-2026-11-15.md",
      "error": null
    },
    {
      "name": "gate",
      "kind": "command",
      "state": "failed",
      "attempts": 1,
      "deaths": 0,
      "duration_ms": [..],
      "detail": null,
      "error": "exit status 1"
    },
    {
      "name": "state",
      "kind": "state",
      "state": "pending",
      "attempts": 0,
      "deaths": 0,
      "duration_ms": null,
      "detail": null,
      "error": null
    }
  ],
  "from_python_tool": false,
  "pending": [
    "gate",
    "state"
  ],
  "waiting": [],
  "running": null,
  "paused": null,
  "due": null,
  "foreign": [],
  "conflicts": [],
  "travels": null
}
"#]]
    );
}

#[test]
fn a_failure_is_one_json_document_too() {
    let world = World::with_config("tagg = 1\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    let check = world.run(&["check", "--json"]).expect(65).json();
    assert_data_eq!(
        serde_json::to_string_pretty(&check).unwrap(),
        str![[r#"
{
  "schema": "agent-handover/error/1",
  "error": {
    "category": "bad-data",
    "exit_code": 65,
    "message": "`$WORLD/project/handover.toml` has a problem",
    "causes": [],
    "hints": [],
    "listing": {
      "file": "$WORLD/project/handover.toml",
      "problems": [
        {
          "message": "unknown key `tagg` in the file",
          "help": "known here: `handover`, `note`, `backend`, `guard`, `warmup`, `recall`, `transcripts`, `search`, `hook`, `category`, `step`",
          "line": 1,
          "column": 1
        }
      ]
    }
  }
}
"#]]
    );
}

#[test]
fn check_exits_4_and_names_the_running_process() {
    let world = World::with_config(GATED);
    let mut command = world.command(&["run", "--note", "n"]);
    let child = command
        .env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.intended:1=stop")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the run to stop", || is_stopped(child.id()));
    let check = world.run(&["check"]).expect(4);
    assert!(check.stdout.starts_with(&format!("busy: pid {} on ", child.id())), "{}", check.stdout);
    assert!(
        check.stdout.contains(" has been running handover ") && check.stdout.contains(" since 2026-11-15 10:04:05")
    );
    assert!(world.run(&["status"]).stdout.contains(&format!("running: pid {}", child.id())));
    signal(child.id(), "CONT");
    output(child).expect(1);
}

/// One with a handover in it and nothing in its log.
fn good_database() -> Vec<u8> {
    let world = World::new();
    world.run(&["run", "--note", "n"]).expect(0);
    world.database().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    std::fs::read(world.path(".agent-handover/checkpoint.db")).unwrap()
}

#[test]
fn a_damaged_database_is_reported_and_never_overwritten() {
    let garbage: [(&str, Vec<u8>); 6] = [
        ("text", b"this is not a database, though it is long enough to look like one to somebody\n".repeat(20)),
        ("json", br#"{"status": "in_progress", "steps": {"publish": "pending"}}"#.to_vec()),
        ("bytes", vec![0xff, 0xfe]),
        ("torn", {
            let mut bytes = good_database();
            bytes.truncate(bytes.len() / 3);
            bytes
        }),
        ("overwritten", {
            let mut bytes = good_database();
            bytes[4096..].fill(0xff);
            bytes
        }),
        ("zeroed", {
            let mut bytes = good_database();
            // The page of the runs; the one before it only says where pages belong.
            bytes[8192..12288].fill(0);
            bytes
        }),
    ];
    for (name, bytes) in garbage {
        let world = World::new();
        // The ids of all these worlds are the same, so the home knows that of the database.
        world.run(&["run", "--note", "before"]).expect(0);
        std::fs::remove_dir_all(world.path(".agent-handover")).unwrap();
        world.write(".agent-handover/checkpoint.db", &bytes);
        for arguments in [&["check"][..], &["status"], &["run", "--note", "n"], &["run", "--resume"]] {
            let output = world.run(arguments);
            if name == "zeroed" && output.code == 0 {
                // The index alone says that nothing is unfinished; the damage lies where a resume does not look.
                assert_eq!(arguments[1], "--resume");
                continue;
            }
            let output = output.expect(65);
            assert!(
                output
                    .stderr
                    .starts_with("error: `$WORLD/project/.agent-handover/checkpoint.db` is not a usable checkpoint: "),
                "{name}: {}",
                output.stderr
            );
            assert!(output.stderr.contains("hint: `agent-handover run --restart` moves it aside"), "{name}");
            assert_eq!(std::fs::read(world.path(".agent-handover/checkpoint.db")).unwrap(), bytes, "{name}");
        }
        let output = world.run(&["run", "--restart", "--note", "n"]).expect(0);
        let aside = ".agent-handover/checkpoint.db.damaged-20261115T100405";
        assert!(
            output.stderr.contains(&format!("the damaged database was moved to `$WORLD/project/{aside}`")),
            "{}",
            output.stderr
        );
        assert_eq!(std::fs::read(world.path(aside)).unwrap(), bytes, "{name}");
        assert!(world.read(NOTES).contains("\nn\n"));
        world.run(&["check"]).expect(2);
    }
}

#[test]
fn an_empty_file_counts_as_a_new_database() {
    let world = World::new();
    world.write(".agent-handover/checkpoint.db", "");
    world.run(&["check"]).expect(0);
    world.run(&["run", "--note", "n"]).expect(0);
}

#[test]
fn a_newer_database_is_read_and_not_written() {
    let world = World::with_config(GATED);
    world.run(&["run", "--note", "n"]).expect(1);
    world.database().pragma_update(None, "user_version", 99).unwrap();
    world.run(&["check"]).expect(1);
    world.run(&["status"]).expect(0);
    let output = world.run(&["run", "--note", "m"]).expect(65);
    assert!(output.stderr.contains("was written by a newer agent-handover"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: update agent-handover"), "{}", output.stderr);
    // It is good, just not ours to write: a restart does not move it aside.
    world.run(&["run", "--restart", "--note", "m"]).expect(65);
    world.run(&["check"]).expect(1);
}

#[test]
fn readers_change_nothing() {
    let world = World::with_config(GATED);
    for arguments in [&["check"][..], &["status"], &["check", "--json"], &["status", "--json"]] {
        assert!([0, 2].contains(&world.run(arguments).code), "{arguments:?}");
    }
    assert!(!world.exists(".agent-handover"), "reading where nothing is must not make anything");
    world.run(&["run", "--note", "n"]).expect(1);
    let before = std::fs::read(world.path(".agent-handover/checkpoint.db-wal")).unwrap();
    world.run(&["check"]).expect(1);
    world.run(&["status"]).expect(0);
    assert_eq!(std::fs::read(world.path(".agent-handover/checkpoint.db-wal")).unwrap(), before);
}
