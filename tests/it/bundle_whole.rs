//! Exports and imports that are whole or not there: full disks, kills, damaged archives, secrets, and files that are made to
//! use up memory.

use serde_json::json;

use super::bundle::*;
use super::support::*;

/// A store of session-handoff with records of these sizes.
fn store(sizes: &[usize]) -> String {
    let mut items = Vec::new();
    for (number, size) in sizes.iter().enumerate() {
        let mut record = sample_json("v2-unsigned.json")["record"].clone();
        record["id"] = format!("20261116-{number:06}").into();
        record["summary"] = "word ".repeat(size / 5 + 1).into();
        items.push(record);
    }
    json!({ "version": 1, "items": items }).to_string()
}

/// A command of the program that cannot write a file of more than so many KiB, as on a full disk.
fn limited(world: &World, kib: usize, arguments: &str) -> Output {
    let mut shell = world.clean("bash");
    // Without the signal the write fails.
    shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {kib}; exec {BINARY} {arguments}")]);
    finish(shell.env("AGENT_HANDOVER_TEST_NOW", LATER))
}

#[test]
fn nothing_is_imported_if_the_disk_is_full() {
    // The archives do not fit, or only the files that are derived from them.
    for (sizes, kib) in [(vec![10, 10, 400_000, 10], 200), (vec![10; 300], 64)] {
        for has_one in [false, true] {
            let world = World::new();
            if has_one {
                world.later(&["history", "create", "--goal", "before", "--next", "Fix the lexer"]).expect(0);
            }
            let before = world.tree();
            world.write("../in.json", store(&sizes));
            let failed = limited(&world, kib, "history import --allow-unsigned --input ../in.json").expect(74);
            assert!(failed.stderr.contains("nothing was imported"), "{}", failed.stderr);
            let after = world.tree();
            assert_eq!(after, before, "{}", failed.stderr);
            assert_eq!(world.exists(".agent-history"), has_one);
            // With room it is imported whole.
            world.import(store(&sizes), &["--allow-unsigned"]).expect(0);
            assert_eq!(world.stored().len(), sizes.len() + usize::from(has_one));
            world.later(&["history", "validate", "--sessions"]).expect(0);
        }
    }
}

#[test]
fn replaced_archives_come_back_if_the_import_fails() {
    let world = World::new();
    world.import(store(&[10, 10]), &["--allow-unsigned"]).expect(0);
    let before = world.tree();
    world.write("../in.json", store(&[20, 20, 400_000]));
    let import = "history import --allow-unsigned --on-conflict replace --input ../in.json";
    let failed = limited(&world, 200, import).expect(74);
    assert!(failed.stderr.contains("nothing was imported"), "{}", failed.stderr);
    assert_eq!(world.tree(), before);
}

#[test]
fn a_conflict_in_a_later_part_of_a_large_file_imports_nothing() {
    let world = World::new();
    let mut items: Vec<serde_json::Value> = serde_json::from_str::<serde_json::Value>(&store(&vec![1; 4_100])).unwrap()
        ["items"]
        .as_array()
        .unwrap()
        .clone();
    let mut twin = items[0].clone();
    twin["summary"] = "another".into();
    items.push(twin);
    let before = world.tree();
    let refused = world.import(json!({ "version": 1, "items": items }).to_string(), &["--allow-unsigned"]).expect(1);
    assert!(refused.stderr.contains("nothing was imported"), "{}", refused.stderr);
    assert_eq!(world.tree(), before);
}

#[test]
fn a_kill_leaves_no_key_and_no_export_behind() {
    let world = World::new();
    world.write_one("x");
    let files = |world: &World| -> Vec<String> {
        let names = std::fs::read_dir(world.path("..")).unwrap();
        let mut names: Vec<String> = names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    for arguments in [
        &["keygen", "--output", "../key.pem"][..],
        &["history", "export", "--format", "json", "--output", "../out.json"],
    ] {
        let before = files(&world);
        let mut command = world.command(arguments);
        command.env("AGENT_HANDOVER_TEST_NOW", LATER).env("AGENT_HANDOVER_TEST_FAULT", "fs.written:1=kill");
        let killed = finish(&mut command);
        assert_ne!(killed.code, 0, "{}", killed.seen());
        assert_eq!(files(&world), before, "{arguments:?}");
        world.later(arguments).expect(0).stderr_ignored("the key is reported");
    }
}

#[test]
fn a_kill_in_a_linked_worktree_leaves_no_temporary_file_in_the_users_state() {
    let world = World::with_git();
    world.first_commit();
    world.git(&["worktree", "add", "-q", "../tree"]);
    let path = sample("v2-unsigned.json").display().to_string();
    let import = ["history", "import", "--allow-unsigned", "--input", &path];
    // The first file that is written is the record of the worktree.
    let mut command = world.command(&import);
    command.current_dir(world.path("../tree")).env("AGENT_HANDOVER_TEST_NOW", LATER);
    let killed = finish(command.env("AGENT_HANDOVER_TEST_FAULT", "fs.written:1=kill"));
    assert_ne!(killed.code, 0, "{}", killed.seen());
    let records = world.path("../home/.local/state/agent-handover/worktrees");
    assert_eq!(std::fs::read_dir(records).unwrap().count(), 0);
    let mut command = world.command(&import);
    command.current_dir(world.path("../tree")).env("AGENT_HANDOVER_TEST_NOW", LATER);
    finish(&mut command).expect(0).stderr_ignored("git excludes the history");
    assert_eq!(world.stored().len(), 1);
}

#[test]
fn a_damaged_archive_is_named_and_does_not_hold_up_the_others() {
    let world = World::new();
    let (first, second) = (world.write_one("first"), world.write_one("second"));
    world.write(&format!(".agent-history/sessions/{first}.md"), "no handoff");
    let exported = world.later(&["history", "export", "--all", "--format", "jsonl"]).expect(1);
    assert!(exported.stderr.contains(&format!("sessions/{first}.md")), "{}", exported.stderr);
    assert_eq!(exported.stdout.lines().count(), 1);
    assert!(exported.stdout.contains(&second), "{}", exported.stdout);
    let to_file = ["history", "export", "--all", "--format", "jsonl", "--output", "../out", "--json"];
    let json = world.later(&to_file).expect(1).json();
    assert_eq!((json["handoffs"].as_array().unwrap().len(), json["left_out"].as_array().unwrap().len()), (1, 1));
    let one = world.later(&["history", "export", "--id", &first, "--format", "json"]);
    assert_ne!(one.code, 0);
    assert!(one.stderr.contains(&first), "{}", one.stderr);
}

const REDACT: &str = "[guard]\nsecrets = \"redact\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n";

#[test]
fn a_redacted_export_has_the_secret_in_no_form() {
    // The characters that JSON and YAML escape are part of what is removed.
    let password = ["Zk9&qV", "w3LxT7r&Bm2"].concat();
    let url = format!("postgres://admin:{password}@db.example.com/main");
    let token = ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    let mut record = sample_json("v2-unsigned.json")["record"].clone();
    record["summary"] = format!("Connect to {url}\nand use {token}").into();
    record["next"] = json!([format!("Try \"{url}\"")]);
    let bundle = json!({ "version": 2, "checksum": described::checksum(&record), "record": record }).to_string();
    let world = World::new();
    world.import(&bundle, &["--allow-unsigned"]).expect(0).stderr_ignored("it names the kinds of secrets");
    let refused = world.later(&["history", "export", "--format", "json"]).expect(5);
    assert!(!refused.seen().contains(&token) && !refused.seen().contains(&password), "{}", refused.seen());
    world.write("handover.toml", REDACT);
    for format in ["json", "jsonl", "markdown"] {
        let exported = world.later(&["history", "export", "--format", format]).expect(0);
        let escaped = described::go_string(&password);
        let escaped = escaped.trim_matches('"');
        for secret in [token.as_str(), &password, escaped, &escaped.replace('\\', "\\\\"), &password[..6], "w3Lx"] {
            assert!(!exported.seen().contains(secret), "{format}: {secret}\n{}", exported.seen());
        }
        if format != "markdown" {
            // What is left is a bundle like any other.
            let there = World::new();
            there.import(&exported.stdout, &["--allow-unsigned"]).expect(0);
            there.later(&["history", "validate", "--sessions"]).expect(0);
        }
    }
}

#[test]
fn an_id_has_no_words_of_a_secret() {
    let token = ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    let slug = token["ghp_".len()..].to_lowercase();
    let world = World::new();
    let goal = format!("Use {token} now");
    let created = world.later(&["history", "create", "--goal", &goal, "--next", "Do y", "--json"]).expect(0);
    let id = created.stderr_ignored("it warns of the secret").json()["session_id"].as_str().unwrap().to_owned();
    assert!(!id.contains(&slug), "{id}");
    // An id from an older version has them.
    let text = world.read(&format!(".agent-history/sessions/{id}.md"));
    let old = format!("2026-11-16-0200-use-ghp-{slug}-now");
    world.write("../old.md", text.replace(&id, &old));
    world.later(&["history", "create", "--input", "../old.md"]).expect(0).stderr_ignored("it warns of the secret");
    world.write("handover.toml", REDACT);
    let exported = world.later(&["history", "export", "--id", &old, "--format", "json"]).expect(0);
    assert!(!exported.seen().to_lowercase().contains(&slug), "{}", exported.seen());
    let there = World::new();
    there.import(&exported.stdout, &["--allow-unsigned"]).expect(0);
    assert!(there.stored()[0].starts_with("2026-11-16-0200-use-redacted-redacted-now-"), "{:?}", there.stored());
}

#[test]
fn a_store_of_nested_objects_stays_small_in_memory() {
    let world = World::new();
    let nested = format!("{{\"a\":{}1{}}}", "{\"b\":".repeat(8), "}".repeat(8));
    let item = format!("{{\"x\":[{nested}]}}");
    // About 30 MB.
    let items = vec![item.as_str(); 30_000_000 / (item.len() + 1)].join(",");
    world.write("../in.json", format!("{{\"version\":1,\"items\":[{items}]}}"));
    // It fails if it needs more.
    let line = format!("ulimit -v 600000; exec {BINARY} history import --allow-unsigned --input ../in.json");
    let refused = finish(world.clean("bash").args(["-c", &line])).expect(65);
    assert!(refused.stderr.contains("10000 is the most") && refused.stderr.contains("in parts"), "{}", refused.stderr);
}

/// Unlike in the test above, every value is one that a record may have.
#[test]
fn lists_of_very_many_items_are_refused_before_they_take_memory() {
    let world = World::new();
    let mut record = sample_json("v2-unsigned.json")["record"].clone();
    record["next"] = vec!["x"; 900_000].into();
    let one = json!({ "version": 2, "checksum": described::checksum(&record), "record": record }).to_string();
    record["next"] = vec!["x"; 90_000].into();
    let several = json!({ "version": 2, "checksum": described::checksum(&record), "record": record }).to_string();
    for (text, reason) in
        [(one, "too large to be archived"), (format!("{several}\n").repeat(12), "it has too many values")]
    {
        world.write("../in.json", text);
        let line = format!("ulimit -v 400000; exec {BINARY} history import --allow-unsigned --input ../in.json");
        let refused = finish(world.clean("bash").args(["-c", &line])).expect(65);
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    }
}

#[test]
fn an_export_of_all_names_what_is_missing_and_warns_of_what_was_changed() {
    let world = World::new();
    let ids = ["first", "second", "third"].map(|goal| world.write_one(goal));
    let [first, second, third] = ids.each_ref().map(|id| format!(".agent-history/sessions/{id}.md"));
    let export = ["history", "export", "--all", "--format", "jsonl"];
    world.write(&third, world.read(&third).replace("Half done.", "All done."));
    let changed = world.later(&export).expect(0);
    assert!(changed.stderr.contains("was changed since it was archived"), "{}", changed.stderr);
    // Damaged, and forgotten by the index.
    world.write(&first, "no handoff");
    std::fs::remove_file(world.path(".agent-history/INDEX.yaml")).unwrap();
    let damaged = world.later(&export).expect(1);
    assert!(damaged.stderr.contains(&format!("{}.md", ids[0])), "{}", damaged.stderr);
    for what in ["gone", "link"] {
        let _ = std::fs::remove_file(world.path(&second));
        if what == "link" {
            std::os::unix::fs::symlink(world.path("../in.json"), world.path(&second)).unwrap();
        }
        let exported = world.later(&export).expect(1);
        assert!(exported.stderr.contains("left out: "), "{}", exported.stderr);
        assert!(exported.stderr.contains(&format!("{}.md", ids[1])), "{what}: {}", exported.stderr);
        assert_eq!(exported.stdout.lines().count(), 1);
    }
}

#[test]
fn an_export_finishes_an_interrupted_import_first_or_says_that_it_is_half() {
    let world = World::new();
    world.write("../in.json", store(&[10; 5]));
    let import = ["history", "import", "--allow-unsigned", "--input", "../in.json"];
    let mut killed = world.command(&import);
    killed.env("AGENT_HANDOVER_TEST_NOW", LATER).env("AGENT_HANDOVER_TEST_FAULT", "import.archived:2=kill");
    finish(&mut killed).expect(KILLED);
    let export = ["history", "export", "--all", "--format", "jsonl"];
    world.write("PAUSE", "");
    let half = world.later(&export).expect(1);
    assert!(half.stderr.contains("an interrupted command has not done yet"), "{}", half.stderr);
    assert_eq!(half.stdout.lines().count(), 2);
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    let whole = world.later(&export).expect(0);
    assert!(whole.stderr.contains("history import"), "{}", whole.stderr);
    assert_eq!(whole.stdout.lines().count(), 5);
}

#[test]
fn an_import_that_was_taken_back_is_not_carried_out_later() {
    let world = World::new();
    world.write("../in.json", store(&[10, 10, 400_000]));
    let failed = limited(&world, 200, "history import --allow-unsigned --input ../in.json").expect(74);
    assert!(failed.stderr.contains("nothing was imported") && !failed.stderr.contains("recorded"), "{}", failed.stderr);
    world.later(&["check"]).expect(0);
    world.later(&["run", "--resume"]).expect(0);
    assert!(world.has_nothing());
}

#[test]
fn a_secret_in_an_imported_id_is_taken_out_of_an_export() {
    let secret = ["AKIA", "Z5GFH3LQMNOP7RST"].concat();
    let mut record = sample_json("v2-unsigned.json")["record"].clone();
    record["id"] = format!("2026-11-16-{secret}").into();
    let bundle = json!({ "version": 2, "checksum": described::checksum(&record), "record": record }).to_string();
    let world = World::new();
    world.import(&bundle, &["--allow-unsigned"]).expect(0).stderr_ignored("it names the kind of secret");
    world.write("handover.toml", REDACT);
    let exported = world.later(&["history", "export", "--format", "json"]).expect(0);
    assert!(!exported.seen().contains(&secret), "{}", exported.seen());
    let there = World::new();
    there.import(&exported.stdout, &["--allow-unsigned"]).expect(0);
    assert!(there.stored()[0].starts_with("2026-11-16-redacted-"), "{:?}", there.stored());
}
