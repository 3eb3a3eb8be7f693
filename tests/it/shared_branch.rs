//! One branch shared by many machines: clones of one bare remote that write at the same time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::prepared::{Passes, Prepared};
use super::support::*;

const CONFIG: &str = "[backend]\ntype = \"git\"\ntimeout = \"120s\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n\
    [[step]]\nname = \"state\"\nkind = \"state\"\n[[step]]\nname = \"history\"\nkind = \"history\"\n\
    [[step]]\nname = \"publish\"\nkind = \"publish\"\n";
pub(super) const BRANCH: &str = "agent-handover";

static JOINED: AtomicU32 = AtomicU32::new(0);

/// A bare remote and machines with a clone of it each.
pub(super) struct Team {
    remote: tempfile::TempDir,
    pub(super) machines: Vec<World>,
}

impl Team {
    pub(super) fn of(size: usize) -> Team {
        let remote = crate::support::directory();
        let mut team = Team { remote, machines: Vec::new() };
        let path = team.path();
        let first = team.join();
        first.git(&["init", "--quiet", "--bare", "--initial-branch=main", path.to_str().unwrap()]);
        team.machines.push(first);
        for _ in 1..size {
            let machine = team.join();
            team.machines.push(machine);
        }
        team
    }

    pub(super) fn path(&self) -> PathBuf {
        self.remote.path().join("remote.git")
    }

    /// One machine more, which knows the remote and nothing else.
    fn join(&self) -> World {
        let world = World::salted(&format!("machine {} ", JOINED.fetch_add(1, Ordering::Relaxed)));
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world.git(&["remote", "add", "origin", self.path().to_str().unwrap()]);
        world.write("handover.toml", CONFIG);
        world
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        let directory = format!("--git-dir={}", self.path().display());
        self.machines[0].git(&[&[directory.as_str()], arguments].concat())
    }

    pub(super) fn file(&self, path: &str) -> String {
        self.git(&["show", &format!("{BRANCH}:{path}")])
    }
}

fn items(world: &World, category: &str) -> Vec<String> {
    let answer = world.run(&["memory", "list", "--category", category, "--json"]).expect(0).json();
    answer["items"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect()
}

fn at(world: &World, now: &str, arguments: &[&str]) -> Output {
    let mut command = world.command(arguments);
    finish(command.env("AGENT_HANDOVER_TEST_NOW", now))
}

/// What all machines must agree on: everything that is published.
fn published(world: &World) -> std::collections::BTreeMap<String, String> {
    let mut tree = world.everything();
    tree.retain(|path, _| path.starts_with("memory/") || path.starts_with(".agent-history/"));
    tree
}

#[track_caller]
fn assert_same(one: &World, other: &World) {
    let (one, other) = (published(one), published(other));
    for path in one.keys().chain(other.keys()) {
        assert_eq!(one.get(path), other.get(path), "{path} differs");
    }
}

/// Everybody runs handovers at the same time, one of them compacts meanwhile.
fn everybody_at_once(size: usize, handovers: usize) {
    let team = Team::of(size);
    let old = "<!-- note run=OLD step=note at=2026-01-05T00:00:00Z -->\nlong ago\n<!-- /note -->\n";
    team.machines[0].write("memory/layer1/2026-01/general-2026-01-05.md", old);
    std::thread::scope(|scope| {
        for (number, machine) in team.machines.iter().map(|machine| machine.root()).enumerate() {
            let home = team.machines[number].home();
            scope.spawn(move || {
                for handover in 0..handovers {
                    if number == 0 && handover == handovers / 2 {
                        let output = program(&machine, &home, &["compact"]);
                        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                    }
                    let note = format!("machine {number} handover {handover}");
                    let output = program(&machine, &home, &["run", "--note", &note]);
                    assert!(output.status.success(), "{note}: {}", String::from_utf8_lossy(&output.stderr));
                }
            });
        }
    });
    // What the slowest said may still be beside the branch.
    for _ in 0..size {
        team.machines[0].run(&["push"]).expect(0).stderr_ignored("it tells what came along");
    }
    let all = size * handovers;
    let sessions = team.git(&["ls-tree", "--name-only", BRANCH, ".agent-history/sessions/"]).lines().count();
    assert_eq!(sessions, all);
    for machine in &team.machines {
        machine.run(&["pull"]).expect(0);
        let notes: String = machine
            .tree()
            .into_iter()
            .filter(|(path, _)| path.starts_with("memory/layer1/"))
            .map(|(_, text)| text)
            .collect();
        for number in 0..size {
            for handover in 0..handovers {
                let note = format!("\nmachine {number} handover {handover}\n<!-- /note -->");
                assert_eq!(notes.matches(&note).count(), 1, "{note}");
            }
        }
        assert!(!notes.contains("long ago"), "what was compacted came back");
        assert!(machine.read("memory/layer3/2026-01-general-archive.md").contains("\nlong ago\n"));
        machine.run(&["history", "validate", "--sessions"]).expect(0);
        assert_eq!(machine.strays(), [""; 0]);
        assert_same(machine, &team.machines[0]);
    }
    // No machine has anything left to say, though some may have merged the same commits as others.
    let tree = || team.git(&["rev-parse", &format!("{BRANCH}^{{tree}}")]);
    let before = tree();
    for machine in &team.machines {
        machine.run(&["push"]).expect(0);
    }
    assert_eq!(tree(), before);
}

/// With ids of its own and the real clock, as on a machine of its own.
pub(super) fn program(root: &std::path::Path, home: &std::path::Path, arguments: &[&str]) -> std::process::Output {
    std::process::Command::new(BINARY)
        .args(arguments)
        .current_dir(root)
        .env("HOME", home)
        .env("TZ", "UTC")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap()
}

#[test]
fn four_machines_at_once_lose_and_double_nothing() {
    everybody_at_once(4, 3);
}

#[test]
#[ignore = "takes minutes: cargo test --test it -- --ignored sixteen_machines --nocapture"]
fn sixteen_machines_at_once_lose_and_double_nothing() {
    everybody_at_once(16, 10);
}

#[test]
fn a_fresh_clone_gets_everything_with_pull_and_can_go_on() {
    let team = Team::of(1);
    let first = &team.machines[0];
    first.run(&["memory", "capture", "--data", r#"{"goal": "ship", "decisions": ["use SQLite"]}"#]).expect(0);
    first.run(&["run", "--note", "one"]).expect(0);
    let fresh = team.join();
    let output = fresh.run(&["pull"]).expect(0);
    assert!(output.stdout.contains("of origin/agent-handover is here"), "{}", output.stdout);
    assert_same(&fresh, first);
    assert_eq!(fresh.git(&["status", "--porcelain"]), "?? handover.toml\n");
    fresh.run(&["run", "--note", "two"]).expect(0);
    first.run(&["pull"]).expect(0);
    assert!(first.read(NOTES).contains("\ntwo\n"));
    // Without a pull, too: a run of a machine that never looked does not overwrite what is there.
    let hasty = team.join();
    hasty.run(&["run", "--note", "three"]).expect(0);
    let notes = team.file(NOTES);
    assert!(["one", "two", "three"].iter().all(|note| notes.contains(&format!("\n{note}\n"))), "{notes}");
    assert_eq!(items(&hasty, "goal"), ["ship"]);
    // An empty remote is not an error.
    let alone = Team::of(1);
    assert!(alone.machines[0].run(&["pull"]).expect(0).stdout.contains("has no branch `agent-handover` yet"));
}

#[test]
fn items_are_merged_by_item_and_what_is_gone_stays_gone() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    at(
        a,
        "2026-11-10T00:00:00Z",
        &[
            "memory",
            "capture",
            "--data",
            r#"{"decisions": ["d1", "d2"], "open_loops": ["l1", "l2"], "constraints": ["c1"]}"#,
        ],
    )
    .expect(0);
    a.run(&["push"]).expect(0);
    b.run(&["pull"]).expect(0);
    // Each changes something else, and neither looks.
    let id = |world: &World, text: &str| {
        let answer = world.run(&["memory", "list", "--json"]).expect(0).json();
        let item = answer["items"].as_array().unwrap().iter().find(|item| item["text"] == text).cloned().unwrap();
        item["id"].as_str().unwrap().to_owned()
    };
    at(a, "2026-11-11T00:00:00Z", &["memory", "done", &id(a, "l1")]).expect(0);
    at(a, "2026-11-11T00:00:01Z", &["memory", "add", "decision", "d3 of a"]).expect(0);
    at(b, "2026-11-11T00:00:02Z", &["memory", "delete", &id(b, "d1")]).expect(0);
    at(b, "2026-11-11T00:00:03Z", &["memory", "add", "decision", "d4 of b"]).expect(0);
    at(b, "2026-11-11T00:00:04Z", &["memory", "capture", "--data", r#"{"clear": ["constraint"]}"#]).expect(0);
    a.run(&["push"]).expect(0);
    b.run(&["push"]).expect(0);
    a.run(&["pull"]).expect(0);
    for machine in [a, b] {
        assert_eq!(items(machine, "decision"), ["d2", "d3 of a", "d4 of b"]);
        assert_eq!(items(machine, "open_loop"), ["l2"]);
        assert_eq!(items(machine, "constraint"), [""; 0]);
    }
    assert_same(a, b);
    // Both parents are recorded.
    assert_eq!(team.git(&["rev-list", "--count", "--merges", BRANCH]).trim(), "1");
}

#[test]
fn conflicting_free_text_keeps_the_newer_and_reports_the_other() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "base"]).expect(0);
    b.run(&["pull"]).expect(0);
    at(a, "2026-11-16T00:00:00Z", &["run", "--note", "na", "--current-state", "A says this"]).expect(0);
    at(b, "2026-11-17T00:00:00Z", &["run", "--note", "nb", "--current-state", "B says that"]).expect(0);
    at(a, "2026-11-17T00:00:00Z", &["pull"]).expect(0);
    assert!(a.read(STATE).contains("B says that"), "the later day counts: {}", a.read(STATE));
    assert_same(a, b);
    let told: String =
        published(a).into_iter().filter(|(path, _)| path.contains("layer1")).map(|(_, text)| text).collect();
    assert!(told.contains("A says this"), "{told}");
}

#[test]
fn decisions_in_prose_and_removed_archive_entries_survive_as_they_are() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    let log = ".agent-history/DECISIONS.md";
    a.write(log, "# Decisions\n\n- [2026-11-01][x] one\n");
    for (day, note) in [("2026-06-01", "keep"), ("2026-06-02", "remove")] {
        let block = format!("<!-- note run={note} step=note at={day}T00:00:00Z -->\n{note}\n<!-- /note -->\n");
        a.write(&format!("memory/layer1/2026-06/general-{day}.md"), block);
    }
    a.run(&["compact"]).expect(0);
    a.run(&["run", "--note", "base"]).expect(0);
    b.run(&["pull"]).expect(0);
    a.write(log, format!("{}\nA paragraph of a.\n- [2026-11-02][y] two\n  that goes on\n", a.read(log)));
    let archive = "memory/layer3/2026-06-general-archive.md";
    let without = a
        .read(archive)
        .replace("<!-- note run=remove step=note at=2026-06-02T00:00:00Z -->\nremove\n<!-- /note -->\n", "");
    assert_ne!(without, a.read(archive));
    a.write(archive, without);
    a.run(&["push"]).expect(0);
    b.write(log, format!("{}- [2026-11-03][z] three\n", b.read(log)));
    at(b, "2026-06-03T00:00:00Z", &["run", "--note", "late"]).expect(0);
    b.run(&["compact"]).expect(0);
    b.run(&["push"]).expect(0);
    a.run(&["pull"]).expect(0);
    for machine in [a, b] {
        let text = machine.read(log);
        assert!(
            ["A paragraph of a.", "two\n  that goes on\n", "three"].iter().all(|part| text.contains(part)),
            "{text}"
        );
        let text = machine.read(archive);
        assert!(text.contains("\nkeep\n") && text.contains("\nlate\n") && !text.contains("\nremove\n"), "{text}");
    }
}

#[test]
fn the_later_of_two_states_of_one_day_wins() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "base"]).expect(0);
    b.run(&["pull"]).expect(0);
    a.run(&["run", "--note", "na", "--current-state", "the earlier"]).expect(0);
    // git records the time of a commit in seconds.
    let committed: u64 = team.git(&["log", "-1", "--format=%ct", BRANCH]).trim().parse().unwrap();
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    wait_until("the second of the commit to be over", || now() > committed);
    b.run(&["run", "--note", "nb", "--current-state", "the later"]).expect(0);
    a.run(&["pull"]).expect(0);
    for machine in [a, b] {
        assert!(machine.read(STATE).contains("\nthe later\n"), "{}", machine.read(STATE));
    }
}

#[test]
fn a_session_of_a_clock_that_is_years_ahead_is_not_the_latest() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    at(a, "2031-01-01T00:00:00Z", &["run", "--note", "of the future"]).expect(0);
    b.run(&["run", "--note", "of today"]).expect(0);
    a.run(&["pull"]).expect(0);
    for machine in [a, b] {
        let root = format!("Project root: {}\n", b.root().display());
        let prompt = [root.as_str()];
        let expected: [(&str, &[&str]); 3] = [
            ("LATEST.md", &["\nprimary_goal: \"of today\"\n"]),
            ("INDEX.yaml", &["\nprimary_goal: \"of today\"\n", "\nlatest_session: \"2026-"]),
            ("RESUME_PROMPT.txt", &prompt),
        ];
        for (file, parts) in expected {
            let text = machine.read(&format!(".agent-history/{file}"));
            for part in parts {
                assert!(text.contains(part), "{file} lacks {part}: {text}");
            }
        }
        let shown = machine.run(&["history", "show", "latest"]).expect(0);
        let shown = shown.stderr_ignored("it says from whom the session came").stdout;
        assert!(shown.contains("of today"), "{shown}");
    }
    assert_same(a, b);
}

#[test]
fn machines_whose_clocks_are_apart_do_not_replace_each_others_order_for_ever() {
    let team = Team::of(2);
    let (a, b) = ((&team.machines[0], "2026-11-18T10:00:00Z"), (&team.machines[1], "2026-11-15T10:00:00Z"));
    for (machine, now) in [a, b] {
        at(machine, now, &["run", "--note", "x"]).expect(0);
    }
    let latest = |machine: &World| machine.read(".agent-history/LATEST.md");
    let tip = || team.git(&["rev-parse", BRANCH]);
    let before = tip();
    for (machine, now) in [a, b, a, b] {
        at(machine, now, &["push"]).expect(0);
        assert_eq!(tip(), before, "nobody said anything");
    }
    // For the machine that is behind, the session of the other one is in the future.
    assert_ne!(latest(a.0), latest(b.0));
    for (machine, _) in [a, b] {
        at(machine, a.1, &["pull"]).expect(0);
    }
    assert_same(a.0, b.0);
}

#[test]
fn sessions_of_one_second_have_one_order_on_all_machines() {
    let team = Team::of(3);
    // Whoever has the last word, some id is greater than that of the session before it.
    for note in ["one", "two", "three", "four"] {
        for machine in &team.machines {
            machine.run(&["run", "--note", note]).expect(0);
        }
    }
    for machine in &team.machines {
        machine.run(&["pull"]).expect(0);
        assert_same(machine, &team.machines[0]);
        machine.run(&["history", "validate", "--sessions"]).expect(0);
    }
}

#[test]
fn temporaries_of_a_killed_delivery_are_swept() {
    let team = Team::of(1);
    let a = &team.machines[0];
    a.run(&["run", "--note", "one"]).expect(0);
    a.write(".agent-handover/.agent-handover-x1.tmp", "half");
    a.run(&["push"]).expect(0);
    assert_eq!(a.strays(), [""; 0]);
}

#[test]
fn an_item_by_hand_and_a_free_text_are_reported_once() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["memory", "add", "decision", "first"]).expect(0);
    a.write(STATE, a.read(STATE).replace("<!-- /section -->", "- by hand\n<!-- /section -->"));
    a.run(&["push"]).expect(0);
    b.run(&["pull"]).expect(0);
    a.run(&["memory", "add", "decision", "of a"]).expect(0);
    b.run(&["memory", "add", "decision", "of b"]).expect(0);
    // Each run's free text is its note.
    a.run(&["run", "--note", "note of a"]).expect(0);
    b.run(&["run", "--note", "note of b"]).expect(0);
    a.run(&["pull"]).expect(0);
    assert_same(a, b);
    let notes = a.read(NOTES);
    assert_eq!(notes.matches(": by hand\n").count(), 1, "{notes}");
    assert!(!notes.contains("- replaced text"), "{notes}");
}

#[test]
fn notes_that_one_machine_compacted_do_not_come_back_and_late_ones_stay() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    at(a, "2026-06-15T10:00:00Z", &["run", "--note", "in June"]).expect(0);
    b.run(&["pull"]).expect(0);
    a.run(&["compact"]).expect(0);
    a.run(&["push"]).expect(0);
    at(b, "2026-06-15T11:00:00Z", &["run", "--note", "late"]).expect(0);
    let june = "memory/layer1/2026-06/general-2026-06-15.md";
    assert!(b.read(june).contains("\nlate\n") && !b.read(june).contains("in June"), "{}", b.read(june));
    assert!(b.read("memory/layer3/2026-06-general-archive.md").contains("\nin June\n"));
    a.run(&["pull"]).expect(0);
    assert_same(a, b);
    // Both compact the rest, and come to the same archive.
    a.run(&["compact"]).expect(0);
    b.run(&["compact"]).expect(0);
    a.run(&["push"]).expect(0);
    b.run(&["push"]).expect(0);
    a.run(&["pull"]).expect(0);
    assert_same(a, b);
    assert!(!a.exists(june));
}

#[test]
fn conflicting_archives_of_one_session_are_both_kept_and_reported() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "base"]).expect(0);
    b.run(&["pull"]).expect(0);
    for (machine, goal) in [(a, "of a"), (b, "of b")] {
        let template = machine.run(&["history", "template"]).expect(0).stdout;
        let id = template.lines().find(|line| line.starts_with("session_id:")).unwrap().to_owned();
        let document = template
            .replace(&id, "session_id: \"the-same-id\"")
            .replace("primary_goal: \"\"", &format!("primary_goal: \"{goal}\""))
            .replace("next_todo_items:\n  - \"\"", "next_todo_items:\n  - \"Write the parser test\"")
            .replace("search_tags:\n  - \"\"", "search_tags:\n  - \"t\"")
            .replace("command: \"\"", "command: \"true\"");
        machine.write("handoff.md", document);
        machine.run(&["history", "create", "--input", "handoff.md"]).expect(0);
    }
    a.run(&["push"]).expect(0);
    let output = b.run(&["pull"]).expect(5);
    assert!(output.stderr.contains("differs between two machines"), "{}", output.stderr);
    b.run(&["push"]).expect(0);
    a.run(&["pull"]).expect(0);
    assert!(a.read(".agent-history/sessions/the-same-id.md").contains("of a"));
    let other = published(a).into_iter().filter(|(path, text)| path.contains("the-same-id-") && text.contains("of b"));
    assert_eq!(other.count(), 1);
    for machine in [a, b] {
        machine.run(&["history", "validate", "--sessions"]).expect(0);
    }
    assert_same(a, b);
}

#[test]
fn a_changed_archive_is_noticed_on_every_machine_until_somebody_accepts_it() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    for (machine, goal) in [(a, "of a"), (b, "of b")] {
        let create = ["history", "create", "--goal", goal, "--next", "Fix it", "--decision", "[standing] no nom"];
        machine.run(&create).expect(0);
        machine.run(&["push"]).expect(0).stderr_ignored("it merges what the other pushed");
    }
    a.run(&["pull"]).expect(0).stderr_ignored("rulings came along");
    assert_same(a, b);
    assert_eq!(a.read(".agent-history/SHA256SUMS").lines().count(), 3);
    let archive = ".agent-history/sessions/2026-11-15-1004-of-a.md";
    a.write(archive, a.read(archive).replace("of a", "of somebody else"));
    let line = "- [2026-11-15][2026-11-15-1004-of-a] [standing] by hand\n";
    a.write(".agent-history/DECISIONS.md", a.read(".agent-history/DECISIONS.md") + line);
    a.run(&["push"]).expect(0);
    b.run(&["pull"]).expect(0).stderr_ignored("rulings came along");
    for machine in [a, b] {
        let output = machine.run(&["history", "validate", "--sessions"]).expect(5);
        assert!(output.stderr.contains("2026-11-15-1004-of-a.md was changed"), "{}", output.stderr);
        assert!(output.stderr.contains("DECISIONS.md has a line that no archive states"), "{}", output.stderr);
        assert!(!machine.read(".agent-history/RESUME_PROMPT.txt").contains("by hand"));
    }
    a.run(&["history", "accept"]).expect(0);
    a.run(&["push"]).expect(0);
    b.run(&["pull"]).expect(0).stderr_ignored("rulings came along");
    for machine in [a, b] {
        machine.run(&["history", "validate", "--sessions"]).expect(0);
        assert!(machine.read(".agent-history/RESUME_PROMPT.txt").contains("by hand"));
    }
    assert_same(a, b);
}

#[test]
fn a_remote_branch_that_was_deleted_or_moved_by_force_empties_nothing() {
    let team = Team::of(1);
    let a = &team.machines[0];
    a.run(&["run", "--note", "one"]).expect(0);
    let first = team.git(&["rev-parse", BRANCH]).trim().to_owned();
    a.run(&["run", "--note", "two"]).expect(0);
    let before = published(a);
    team.git(&["update-ref", "-d", "refs/heads/agent-handover"]);
    let output = a.run(&["pull"]).expect(1);
    assert!(output.stderr.contains("has no branch `agent-handover` any more"), "{}", output.stderr);
    assert_eq!(published(a), before);
    let output = a.run(&["push"]).expect(0);
    assert!(output.stderr.contains("origin had lost the branch `agent-handover`"), "{}", output.stderr);
    assert!(team.file(NOTES).contains("\ntwo\n"));
    // Moved back to an older commit.
    team.git(&["update-ref", "refs/heads/agent-handover", &first]);
    let output = a.run(&["pull"]).expect(0);
    assert!(output.stderr.contains("was moved by force"), "{}", output.stderr);
    assert_eq!(published(a), before);
    a.run(&["push"]).expect(0);
    assert!(team.file(NOTES).contains("\ntwo\n"));
    // Replaced by something that has nothing to do with it.
    let tree = team.git(&["mktree", "--missing"]).trim().to_owned();
    let commit = team.git(&["-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "x", &tree]);
    team.git(&["update-ref", "refs/heads/agent-handover", commit.trim()]);
    let output = a.run(&["pull"]).expect(0);
    assert!(output.stderr.contains("was moved by force"), "{}", output.stderr);
    assert_eq!(published(a), before);
    a.run(&["run", "--note", "three"]).expect(0);
    let notes = team.file(NOTES);
    assert!(notes.contains("\none\n") && notes.contains("\nthree\n"), "{notes}");
}

#[test]
fn deleted_files_come_back_from_the_branch() {
    let team = Team::of(1);
    let a = &team.machines[0];
    a.run(&["run", "--note", "one"]).expect(0);
    // As `git clean -xdf` does.
    for directory in ["memory", ".agent-history", ".agent-handover"] {
        std::fs::remove_dir_all(a.path(directory)).unwrap();
    }
    a.run(&["run", "--note", "two"]).expect(0);
    let notes = a.read(NOTES);
    assert!(notes.contains("\none\n") && notes.contains("\ntwo\n"), "{notes}");
    assert_eq!(team.file(NOTES), notes);
}

#[test]
fn worktrees_share_the_branch_and_the_files() {
    let team = Team::of(1);
    let a = &team.machines[0];
    a.git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--allow-empty", "-m", "code"]);
    let other = a.home().join("worktree");
    a.git(&["worktree", "add", "--quiet", "-b", "feature", other.to_str().unwrap()]);
    std::fs::write(other.join("handover.toml"), CONFIG).unwrap();
    a.run(&["run", "--note", "in the first"]).expect(0);
    let mut command = a.command(&["run", "--note", "in the second"]);
    finish(command.current_dir(&other)).expect(0);
    a.run(&["run", "--note", "in the first again"]).expect(0);
    let notes = team.file(NOTES);
    for note in ["in the first", "in the second", "in the first again"] {
        assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{notes}");
    }
    assert!(!other.join("memory").exists(), "memory is in the main work tree");
}

/// Killed while it takes in what others wrote, a machine goes on as if nothing had happened.
#[test]
fn killed_anywhere_in_a_merge_nothing_is_lost_or_doubled() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    at(a, "2026-06-15T10:00:00Z", &["run", "--note", "in June"]).expect(0);
    b.run(&["pull"]).expect(0);
    a.run(&["compact"]).expect(0);
    a.run(&["run", "--note", "of a"]).expect(0);
    let prepared = Prepared::with(b, &[a.place(), team.remote.path()]);
    let passes = Passes::points(b, &mut b.command(&["run", "--note", "of b"]));
    for (point, ordinary) in [("process.ended", 17), ("fs.replaced", 5), ("fs.removed", 2)] {
        assert!(passes.at(point, 1).next().is_some(), "{point} is never passed");
        for nth in passes.at(point, stride(ordinary)) {
            prepared.again();
            let mut command = b.command(&["run", "--note", "of b"]);
            finish(command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{nth}=kill"))).expect(KILLED);
            let again = if b.run(&["check"]).code == 1 { &["run", "--resume"][..] } else { &["run", "--note", "of b"] };
            b.run(again).expect(0);
            a.run(&["pull"]).expect(0);
            let case = format!("{point}:{nth}");
            assert_same(a, b);
            for note in ["in June", "of a", "of b"] {
                let all: String = published(a)
                    .into_iter()
                    .filter(|(path, _)| path.starts_with("memory/layer1") || path.contains("layer3"))
                    .map(|(_, text)| text)
                    .collect();
                assert_eq!(all.matches(&format!("\n{note}\n<!-- /note -->")).count(), 1, "{case}: {note}");
            }
        }
    }
}

#[test]
fn a_directory_in_place_of_a_file_is_reported_and_changes_nothing() {
    let team = Team::of(1);
    let a = &team.machines[0];
    a.run(&["run", "--note", "one"]).expect(0);
    let state = a.read(STATE);
    // Somebody edits the branch itself.
    let by_hand = a.home().join("by-hand");
    a.git(&["clone", "--quiet", "--branch", BRANCH, team.path().to_str().unwrap(), by_hand.to_str().unwrap()]);
    std::fs::remove_file(by_hand.join(STATE)).unwrap();
    std::fs::create_dir(by_hand.join(STATE)).unwrap();
    std::fs::write(by_hand.join(STATE).join("odd.md"), "odd").unwrap();
    std::fs::write(by_hand.join("memory/fine.md"), "fine").unwrap();
    let here = ["-C", by_hand.to_str().unwrap(), "-c", "user.name=o", "-c", "user.email=o@o"];
    a.git(&[&here[..], &["add", "--all"]].concat());
    a.git(&[&here[..], &["commit", "--quiet", "-m", "odd"]].concat());
    a.git(&[&here[..], &["push", "--quiet"]].concat());
    let output = a.run(&["pull"]).expect(5);
    assert!(output.stderr.contains("is a file on one machine and a directory on another"), "{}", output.stderr);
    assert_eq!(a.read(STATE), state);
    assert_eq!(a.read("memory/fine.md"), "fine");
    a.run(&["run", "--note", "two"]).expect(0);
    assert_eq!(team.file(STATE), a.read(STATE));
}

#[test]
fn a_link_in_place_of_a_directory_removes_nothing_that_was_in_it() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "one"]).expect(0);
    b.run(&["pull"]).expect(0);
    // Somebody edits the branch itself.
    let by_hand = a.home().join("by-hand");
    a.git(&["clone", "--quiet", "--branch", BRANCH, team.path().to_str().unwrap(), by_hand.to_str().unwrap()]);
    std::fs::remove_dir_all(by_hand.join("memory/layer1")).unwrap();
    std::os::unix::fs::symlink("/etc", by_hand.join("memory/layer1")).unwrap();
    let here = ["-C", by_hand.to_str().unwrap(), "-c", "user.name=o", "-c", "user.email=o@o"];
    a.git(&[&here[..], &["add", "--all"]].concat());
    a.git(&[&here[..], &["commit", "--quiet", "-m", "odd"]].concat());
    a.git(&[&here[..], &["push", "--quiet"]].concat());
    let output = a.run(&["pull"]).expect(5);
    let told = "`memory/layer1` is a file on one machine and a directory on another; it stays as it is";
    assert_eq!(output.stderr.matches("is a file on one machine").count(), 1, "{}", output.stderr);
    assert!(output.stderr.contains(told), "{}", output.stderr);
    a.run(&["run", "--note", "two"]).expect(0);
    b.run(&["run", "--note", "three"]).expect(0).stderr_ignored("it tells what came along");
    for note in ["one", "two", "three"] {
        assert!(team.file(NOTES).contains(&format!("\n{note}\n")), "{note}: {}", team.file(NOTES));
        assert!(b.read(NOTES).contains(&format!("\n{note}\n")), "{note}: {}", b.read(NOTES));
    }
}

#[test]
fn a_ruling_that_one_machine_revokes_is_revoked_on_all() {
    let team = Team::of(3);
    let [one, two, three] = [&team.machines[0], &team.machines[1], &team.machines[2]];
    // Without this, what another machine says about a ruling of this one is a claim.
    for machine in &team.machines {
        machine.run(&["allow"]).expect(0).stderr_ignored("what the config may do");
    }
    let state = |world: &World, goal: &str, ruling: &str| {
        let decision = format!("[standing] {ruling}");
        world.run(&["history", "create", "--goal", goal, "--next", "Fix it", "--decision", &decision]).expect(0);
        world.run(&["push"]).expect(0);
    };
    state(one, "one", "No force pushes");
    state(one, "two", "No nightly");
    for machine in [two, three] {
        machine.run(&["pull"]).expect(0);
    }
    // Both revoke before they hear of each other, and one closes a session in the same file.
    one.run(&["history", "revoke", "force"]).expect(0);
    two.run(&["history", "revoke", "nightly"]).expect(0);
    two.run(&["history", "close", "--status", "DONE"]).expect(0);
    for machine in [one, two, one, three] {
        machine.run(&["push"]).expect(0).stderr_ignored("notes about what came from the others");
        machine.run(&["pull"]).expect(0).stderr_ignored("notes about what came from the others");
    }
    for machine in &team.machines {
        assert_same(one, machine);
        let lifecycle = machine.read(".agent-history/LIFECYCLE.yaml");
        assert!(lifecycle.contains("DONE") && lifecycle.contains("No nightly"), "{lifecycle}");
        let prompt = machine.read(".agent-history/RESUME_PROMPT.txt");
        assert!(!prompt.contains("Standing operator rulings"), "{prompt}");
        let status = machine.run(&["history", "status", "--json"]).expect(0).json();
        assert_eq!(status["standing"].as_array().unwrap().len(), 0, "{status}");
        assert!(machine.read(".agent-history/DECISIONS.md").contains("No force pushes"));
    }
}
