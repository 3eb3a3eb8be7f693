//! `search`: earlier sessions are found by what was said in them, whatever happens to the index.

use serde_json::{Value, json};

use super::claude_talk::Transcript;
use super::support::*;

const INDEX: &str = ".agent-handover/index.db";

/// A project with sessions about different things.
fn world() -> World {
    let world = World::with_git();
    Transcript::of(&world, "lexer", "2026-11-10T09:00:00Z")
        .asks("The lexer loops forever on an unterminated string literal. Fix it.")
        .edits("src/lexer.rs")
        .runs("cargo test lexer", "Exit code 101\nerror[E0308]: mismatched types\n --> src/lexer.rs:10:5", true)
        .runs("cargo test lexer", "test result: ok. 3 passed", false)
        .says("The loop ended when next_token returned no position at the end of the file. It is fixed in parseStringLiteral.");
    Transcript::of(&world, "deploy", "2026-11-03T09:00:00Z")
        .asks("How do we roll the staging cluster back after a failed deployment?")
        .says("Run helm rollback with the last revision; the database migration stays.")
        .asks("No, never roll back the database by hand.");
    Transcript::of(&world, "dates", "2026-05-20T09:00:00Z")
        .asks("parse_date_iso returns the wrong day in the Tokyo time zone")
        .edits("src/date_parser.rs")
        .says("The offset was applied twice. Die Größe der Verschiebung war falsch. 修复了解析器的错误。");
    world
}

fn sessions(world: &World, arguments: &[&str]) -> Vec<String> {
    let output = world.run(&[&["search", "--json"], arguments].concat()).stderr_ignored("an index may be incomplete");
    assert!(output.code <= 1, "{arguments:?}: {}{}", output.stdout, output.stderr);
    let answer = output.json();
    assert_eq!(answer["schema"], "agent-handover/search/1");
    let hits = answer["hits"].as_array().unwrap().clone();
    assert_eq!(output.code, i32::from(hits.is_empty()), "{arguments:?}");
    hits.iter().map(|hit| hit["session"].as_str().unwrap_or("none").to_owned()).collect()
}

fn first(world: &World, question: &str) -> String {
    sessions(world, &[question]).into_iter().next().unwrap_or_default()
}

#[test]
fn sessions_are_found_by_words_identifiers_paths_errors_and_dates() {
    let world = world();
    let fifty = "something happened with the database when we tried to roll it back ".repeat(4);
    for (question, expected) in [
        ("infinite loop in the lexer", "lexer"),
        ("why did the lexer loop?", "lexer"),
        ("parse_string_literal", "lexer"),
        ("ParseStringLiteral", "lexer"),
        ("parseDateISO", "dates"),
        ("src/date_parser.rs", "dates"),
        ("path:src/lexer.rs fix", "lexer"),
        ("error:E0308", "lexer"),
        ("mismatched types", "lexer"),
        ("rollback", "deploy"),
        ("rolling back staging", "deploy"),
        ("\"roll back the database\"", "deploy"),
        ("what did I ask in May?", "dates"),
        ("the fix of last Tuesday", "lexer"),
        ("last Tuesday", "lexer"),
        ("3 November", "deploy"),
        ("2026-05-20", "dates"),
        ("Verschiebung", "dates"),
        ("grosse", "dates"),
        ("解析器", "dates"),
        (fifty.as_str(), "deploy"),
        ("migrations", "deploy"),
        ("unterminat", "lexer"),
    ] {
        assert_eq!(first(&world, question), expected, "{question}");
    }
    assert_eq!(sessions(&world, &["\"roll the database\""]), [""; 0]);
    assert_eq!(sessions(&world, &["path:src/other.rs lexer"]), [""; 0]);
    let absolute = |path: &str| format!("path:{}", world.path(path).display());
    assert_eq!(sessions(&world, &[&absolute("src/lexer.rs"), "fix"]), ["lexer"]);
    assert_eq!(sessions(&world, &[&absolute("src/other.rs"), "fix"]), [""; 0]);
    assert_eq!(sessions(&world, &["path:/src/lexer.rs fix"]), [""; 0]);
    assert_eq!(sessions(&world, &["kubernetes ingress"]), [""; 0]);
    assert_eq!(sessions(&world, &["the and of"]), [""; 0]);
}

#[test]
fn filters_narrow_the_answer() {
    let world = world();
    let question = "lexer database parse string zone";
    assert_eq!(sessions(&world, &[question]).len(), 3);
    assert_eq!(sessions(&world, &[question, "--limit", "1"]).len(), 1);
    assert_eq!(sessions(&world, &[question, "--since", "2026-11-01", "--until", "2026-11-05"]), ["deploy"]);
    assert_eq!(sessions(&world, &[question, "--since", "6d"]), ["lexer"]);
    assert_eq!(sessions(&world, &[question, "--until", "may 2026"]), ["dates"]);
    assert_eq!(sessions(&world, &[question, "--kind", "error"]), ["lexer"]);
    assert_eq!(sessions(&world, &[question, "--agent", "codex"]), [""; 0]);
    assert_eq!(sessions(&world, &[question, "--branch", "main"]).len(), 3);
    assert_eq!(sessions(&world, &[question, "--branch", "other"]), [""; 0]);
    for wrong in ["whenever", "-1d", "0", "March on Rome", "2026-13-01", "99999999999d", ""] {
        let wrong = world.run(&["search", "x", "--since", wrong]).expect(64);
        assert!(wrong.stderr.contains("expected a day, a duration or a time"), "{}", wrong.stderr);
    }
    let wrong = world.run(&["search", "x", "--since", "2026-11-05", "--until", "2026-11-01"]).expect(64);
    assert!(wrong.stderr.contains("`--since` is later than `--until`"), "{}", wrong.stderr);
    assert_eq!(sessions(&world, &[question, "--since", "2026-11-03", "--until", "2026-11-03"]), ["deploy"]);
}

#[test]
fn people_see_a_list_with_the_passage_and_the_command_that_shows_the_whole() {
    let world = world();
    let output = world.run(&["search", "unterminated string", "--limit", "1", "--context", "1"]).expect(0);
    let path = "$WORLD/home/.claude/projects/";
    for part in [
        "1. The lexer loops forever on an unterminated string literal. Fix it.",
        "5 days ago · request · claude-code · main",
        "   > The lexer loops forever on an unterminated string literal. Fix it.",
        &format!("   less {path}"),
    ] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
    let colored = world.run(&["search", "--color", "always", "unterminated"]).expect(0);
    assert!(colored.stdout.contains("\u{1b}[1m\u{1b}[32munterminated\u{1b}[0m"), "{:?}", colored.stdout);
    let nothing = world.run(&["search", "kubernetes"]).expect(1);
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("nothing was found"), "{}", nothing.stderr);
    let filtered = world.run(&["search", "unterminated", "--agent", "codexx"]).expect(1);
    assert!(filtered.stderr.contains("nothing was found with these filters"), "{}", filtered.stderr);
}

/// A team shares one config, so a build without vectors takes the key, checks it, and says that it compares words only.
#[cfg(not(feature = "vectors"))]
#[test]
fn a_build_without_vectors_reports_the_program_and_never_starts_it() {
    let world = world();
    world.write("handover.toml", "[search]\nembed = [\"touch\", \"../started\"]\nembed_timeout = \"5s\"\n");
    let reason = "this build of agent-handover ignores `embed` in `[search]`; build it with `--features vectors`";
    let output = world.run(&["search", "--json", "rollback"]).expect(0);
    assert_eq!(output.stderr.as_str(), format!("only words were compared: {reason}\n"));
    let answer = output.json();
    assert_eq!(answer["vectors"], json!({ "used": false, "missing": 0, "reason": reason }));
    assert_eq!(answer["hits"][0]["session"], "deploy");
    assert!(!world.place().join("started").exists());
    world.run(&["run", "--note", "x"]).expect(0);
    for (wrong, message) in [
        ("embed = []", "`embed` in `[search]` names no program"),
        ("embed = [\"\"]", "`embed` in `[search]` names no program"),
        ("embed = \"program\"", "`embed` in `[search]` must be an array of strings"),
        ("embd = [\"program\"]", "did you mean `embed`?"),
        ("embed_timeout = 5", "`embed_timeout` in `[search]` must be"),
    ] {
        world.write("handover.toml", format!("[search]\n{wrong}\n"));
        let output = world.run(&["search", "rollback"]).expect(65);
        assert!(output.stderr.contains(message), "{wrong}: {}", output.stderr);
    }
}

#[test]
fn no_text_is_a_syntax_error() {
    let world = world();
    let long = "lexer ".repeat(100_000 / 6);
    for question in [
        "lexer AND (",
        "NEAR(lexer, 3)",
        "terms:lexer",
        "lexer*",
        "^lexer",
        "\"lexer",
        "'; DROP TABLE lexer; --",
        "{lexer}",
        "lexer\u{1b}[2J\u{7}",
        "path:lexer.rs lexer",
        "error: lexer",
        "%lexer_",
        "🦀 lexer",
        &long,
    ] {
        assert_eq!(first(&world, question), "lexer", "{question:?}");
    }
    for nothing in ["", " ", "\"\"", "***", "\u{200b}", "path:", "🦀"] {
        assert_eq!(sessions(&world, &[nothing]), [""; 0], "{nothing:?}");
    }
}

#[test]
fn memory_and_history_are_found_with_what_shows_them() {
    let world = World::with_git();
    world.run(&["memory", "add", "decision", "Keep recursive descent; generated parsers lose the column"]).expect(0);
    world.run(&["run", "--note", "Wired the telemetry exporter to the collector"]).expect(0);
    world
        .run(&[
            "history",
            "create",
            "--goal",
            "Speed up the thumbnail cache",
            "--next",
            "Measure the eviction",
            "--issue",
            "Tried moka: it evicts too early",
            "--validation",
            "cargo test=passed",
        ])
        .expect(0);
    for (question, kind, shown) in [
        ("recursive descent", "ruling", "agent-handover memory list"),
        ("moka eviction", "handoff", "agent-handover history show 2026-11-15-1004-speed\n"),
    ] {
        let hits = world.run(&["search", "--json", question]).expect(0).json();
        let kinds: Vec<&str> = hits["hits"].as_array().unwrap().iter().filter_map(|hit| hit["kind"].as_str()).collect();
        assert!(kinds.contains(&kind), "{question}: {hits}");
        assert_eq!(hits["hits"][0]["ours"], true, "{hits}");
        let list = world.run(&["search", question]).expect(0).stdout;
        assert!(list.contains(shown), "{question}: {list}");
    }
    // A note is also in the current state and in the handoff, and is one hit.
    let telemetry =
        |arguments: &[&str]| world.run(&[&["search", "telemetry exporter"], arguments].concat()).expect(0).stdout;
    let hits = telemetry(&[]);
    assert!(hits.contains("agent-handover history show 2026-11-15-1004-wired\n") && !hits.contains("\n2. "), "{hits}");
    assert!(telemetry(&["--kind", "note"]).contains("agent-handover memory list --layer 1"));
    // Of the current state only the day is known.
    let item = telemetry(&["--kind", "item"]);
    assert!(
        item.contains("1. current state: Wired the telemetry exporter to the collector\n   2026-11-15 · item\n"),
        "{item}"
    );
    let item = world.run(&["search", "--json", "--kind", "item", "telemetry"]).expect(0).json();
    assert_eq!(item["hits"][0]["at"], "2026-11-15", "{item}");
    // What a handoff does not say is not found in it.
    world.run(&["search", "nothing recorded"]).expect(1);
}

#[test]
fn secrets_private_text_and_our_own_texts_are_not_indexed() {
    let world = World::with_git();
    let token = concat!("glp", "at-x9Kq2Lm4Np6Rs8Tv1Wy3");
    Transcript::of(&world, "s", "2026-11-10T09:00:00Z")
        .asks(&format!("Rotate the token {token} <private>my salary is unicorns</private> of the registry"))
        .asks("<!-- agent-handover warmup -->\nGoal: zeppelin")
        .runs("cat notes.txt", "marmalade\nand more output", false)
        .runs(
            &format!("curl -H 'PRIVATE-TOKEN: {token}' x"),
            &format!("Exit code 22\nerror: {token} was refused"),
            true,
        );
    assert_eq!(first(&world, "rotate registry token"), "s");
    for word in ["unicorns", "zeppelin", "marmalade", "x9Kq2Lm4Np6Rs8Tv1Wy3"] {
        assert_eq!(sessions(&world, &[word]), [""; 0], "{word}");
    }
    let index = std::fs::read(world.path(INDEX)).unwrap();
    let log = std::fs::read(world.path(&format!("{INDEX}-wal"))).unwrap_or_default();
    for word in [token, "unicorns", "zeppelin", "marmalade"] {
        let is_there = |bytes: &[u8]| memchr::memmem::find(bytes, word.as_bytes()).is_some();
        assert!(!is_there(&index) && !is_there(&log), "{word}");
    }
}

#[test]
fn what_is_new_is_found_and_what_is_gone_is_not() {
    let world = world();
    let mut lexer = Transcript::of(&world, "later", "2026-11-12T09:00:00Z");
    lexer.asks("Add a benchmark for tokens");
    assert_eq!(first(&world, "benchmark"), "later");
    assert_eq!(sessions(&world, &["throughput"]), [""; 0]);
    lexer.says("The throughput doubled.");
    assert_eq!(first(&world, "throughput"), "later");
    assert_eq!(sessions(&world, &["benchmark"]), ["later"]);
    std::fs::remove_file(&lexer.path).unwrap();
    assert_eq!(sessions(&world, &["throughput benchmark"]), [""; 0]);
    // Another file in the place of a known one.
    let lexer = Transcript::of(&world, "lexer", "2026-11-10T09:00:00Z");
    std::fs::remove_file(&lexer.path).unwrap();
    Transcript::of(&world, "lexer", "2026-11-10T09:00:00Z")
        .asks("Something about gardening instead, and quite a lot of it");
    assert_eq!(first(&world, "gardening"), "lexer");
    assert_eq!(sessions(&world, &["unterminated"]), [""; 0]);
}

#[test]
fn sessions_of_other_projects_and_subagents_are_not_found() {
    let world = world();
    let mut other = Transcript::of(&world, "other", "2026-11-10T09:00:00Z");
    other.cwd = world.home().display().to_string();
    other.asks("An unterminated string elsewhere");
    assert_eq!(sessions(&world, &["unterminated"]), ["lexer"]);
}

/// What the questions of a test find, for comparing two states of the index.
fn answers(world: &World) -> Vec<Vec<String>> {
    ["lexer loop", "roll back", "time zone", "E0308", "nothing of this"]
        .map(|question| sessions(world, &[question]))
        .into()
}

#[test]
fn an_index_that_is_deleted_damaged_or_foreign_changes_no_answer() {
    let world = world();
    let expected = answers(&world);
    let other = World::salted("other");
    other.git(&["init", "-q", "."]);
    Transcript::of(&other, "planted", "2026-11-10T09:00:00Z").asks("lexer loop roll back time zone E0308");
    assert_eq!(first(&other, "lexer loop"), "planted");
    let planted = std::fs::read(other.path(INDEX)).unwrap();
    let own = std::fs::read(world.path(INDEX)).unwrap();
    let torn: Vec<u8> = own.iter().enumerate().map(|(at, byte)| if at > 5_000 { byte ^ 0x5a } else { *byte }).collect();
    for (what, content) in [
        ("foreign", planted.as_slice()),
        ("empty", b""),
        ("text", b"not a database at all, but long enough to have a header, if it only were one"),
        ("cut", &own[..own.len() / 2]),
        ("torn", &torn),
    ] {
        for beside in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(world.path(&format!("{INDEX}{beside}")));
        }
        std::fs::write(world.path(INDEX), content).unwrap();
        assert_eq!(answers(&world), expected, "{what}");
        std::fs::remove_file(world.path(INDEX)).unwrap();
        assert_eq!(answers(&world), expected, "{what}, then deleted");
    }
}

#[test]
fn of_equal_hits_the_newer_one_comes_first_in_whatever_order_they_were_indexed() {
    let world = World::with_git();
    let said = |day: usize| {
        let at = format!("2026-11-{day:02}T09:00:00Z");
        Transcript::of(&world, &format!("day{day:02}"), &at).asks("Feed the walrus at noon").path.clone()
    };
    let expected = ["day09", "day07", "day05", "day03"];
    for day in [5, 9, 3, 7] {
        said(day);
        assert!(!sessions(&world, &["walrus"]).is_empty());
    }
    assert_eq!(sessions(&world, &["walrus"]), expected);
    std::fs::remove_file(world.path(INDEX)).unwrap();
    assert_eq!(sessions(&world, &["walrus"]), expected);
}

#[test]
fn an_index_that_a_repository_ships_is_neither_read_nor_touched() {
    let other = World::salted("other");
    other.git(&["init", "-q", "."]);
    Transcript::of(&other, "planted", "2026-11-10T09:00:00Z").asks("lexer loop");
    assert_eq!(first(&other, "lexer loop"), "planted");
    let planted = std::fs::read(other.path(INDEX)).unwrap();
    let world = world();
    world.write(INDEX, &planted);
    world.git(&["add", "-f", INDEX]);
    world.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "ship an index"]);
    assert_eq!(sessions(&world, &["lexer loop"]), ["lexer"]);
    assert_eq!(std::fs::read(world.path(INDEX)).unwrap(), planted);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(sessions(&world, &["lexer loop"]), ["lexer"]);
}

#[test]
fn links_in_the_place_of_the_index_are_not_followed() {
    let world = world();
    let expected = answers(&world);
    for suffix in ["", "-wal", "-shm"] {
        let target = world.home().join("target");
        std::fs::write(&target, "mine").unwrap();
        let link = world.path(&format!("{INDEX}{suffix}"));
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert_eq!(answers(&world), expected, "{suffix}");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    }
}

#[test]
fn a_transcript_of_another_user_is_not_read() {
    let world = world();
    assert_eq!(sessions(&world, &["unterminated"]), ["lexer"]);
    let path = Transcript::of(&world, "lexer", "").path;
    if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
        return skip("only root may give a file away");
    }
    let directory = std::fs::File::open(path.parent().unwrap()).unwrap();
    directory.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)).unwrap();
    assert_eq!(sessions(&world, &["unterminated"]), [""; 0]);
}

#[test]
fn a_search_makes_no_directory_a_project() {
    let world = World::new();
    world.write("memory/layer2/current-state.md", "# Current state\n\nThe walrus exporter is half done.\n");
    let before = world.everything();
    let found = world.run(&["search", "walrus"]).stderr_ignored("the memory came along").expect(0);
    assert!(found.stdout.contains("walrus"), "{}", found.stdout);
    world.run(&["search", "penguin"]).stderr_ignored("a hint").expect(1);
    assert_eq!(world.everything(), before);
}

#[test]
fn several_searches_at_once_all_answer() {
    let world = world();
    for number in 0..40 {
        Transcript::of(&world, &format!("s{number}"), "2026-11-10T09:00:00Z")
            .asks(&format!("about topic{number} only"));
    }
    let children: Vec<_> =
        (0..6).map(|number| (number, world.start(&["search", "--json", &format!("topic{number}")]))).collect();
    for (number, child) in children {
        let output = output(child).expect(0).stderr_ignored("another process may be updating");
        assert_eq!(output.json()["hits"][0]["session"], format!("s{number}"), "{}", output.stdout);
    }
    assert_eq!(first(&world, "topic39"), "s39");
}

#[test]
fn a_full_disk_and_a_read_only_directory_change_no_answer() {
    let world = world();
    let expected = answers(&world);
    std::fs::remove_file(world.path(INDEX)).unwrap();
    // No file may grow beyond 16 KiB.
    let mut command = world.clean("sh");
    command.args(["-c", "ulimit -f 32; exec \"$0\" search --json 'lexer loop'", BINARY]);
    let output = finish(&mut command).expect(0).stderr_ignored("the index is in memory");
    assert_eq!(output.json()["hits"][0]["session"], "lexer");
    assert_eq!(answers(&world), expected);
}

#[test]
fn an_error_is_found_again_with_what_was_done_next() {
    let world = world();
    let ask = |message: &str| {
        world.write("../message", message);
        let mut command = world.command(&["search", "--error", "--json"]);
        finish(command.stdin(std::fs::File::open(world.path("../message")).unwrap()))
    };
    let found = ask("error[E0308]: mismatched types\n  --> /elsewhere/src/lexer.rs:99:1").expect(0).json();
    assert_eq!(found["hits"][0]["session"], "lexer", "{found}");
    assert_eq!(found["hits"][0]["near"][0]["text"], "$ cargo test lexer (passed)", "{found}");
    let unknown = ask("fatal: remote origin already exists").expect(1);
    assert_eq!(unknown.json()["hits"], json!([]));
    ask("").expect(1);
    let nothing = world.run(&["search", "--error"]).expect(1).seen();
    assert!(nothing.contains("standard input has no error message"), "{nothing}");
}

#[test]
fn the_sessions_of_a_file_are_found_under_its_earlier_names() {
    let world = world();
    world.write("src/lexer.rs", "fn lex() {}\nfn next_token() {}\n");
    let git = |arguments: &[&str]| world.git(&[&["-c", "user.name=a", "-c", "user.email=a@b"], arguments].concat());
    git(&["add", "src"]);
    git(&["commit", "-qm", "lexer", "--date=2026-11-10T10:00:00Z"]);
    git(&["mv", "src/lexer.rs", "src/tokens.rs"]);
    git(&["commit", "-qm", "rename"]);
    // By way of a name that git would quote.
    for (from, to) in [("tokens.rs", "größe.rs"), ("größe.rs", "tokens.rs")] {
        git(&["mv", &format!("src/{from}"), &format!("src/{to}")]);
        git(&["commit", "-qm", "rename"]);
        assert_eq!(sessions(&world, &["--path", &format!("src/{to}")]), ["lexer"]);
    }
    // A name that git would take for a pattern.
    world.write("src/[l]exer.rs", "other\n");
    git(&["add", "src"]);
    git(&["commit", "-qm", "brackets"]);
    assert_eq!(sessions(&world, &["--path", "src/[l]exer.rs"]), [""; 0]);
    // A rename that is not committed yet.
    git(&["mv", "src/tokens.rs", "src/scanner.rs"]);
    assert_eq!(sessions(&world, &["--path", "src/scanner.rs"]), ["lexer"]);
    git(&["mv", "src/scanner.rs", "src/tokens.rs"]);
    // The same with `mv`, of which git knows nothing.
    std::fs::rename(world.path("src/tokens.rs"), world.path("src/moved \"1\".rs")).unwrap();
    assert_eq!(sessions(&world, &["--path", "src/moved \"1\".rs"]), ["lexer"]);
    std::fs::rename(world.path("src/moved \"1\".rs"), world.path("src/tokens.rs")).unwrap();
    world.write("src/tokens.rs", "fn lex() {}\n");
    git(&["commit", "-qam", "change", "--date=2026-11-12T10:00:00Z"]);
    let found = world.run(&["search", "--json", "--path", "src/tokens.rs"]).expect(0).json();
    let hit = &found["hits"][0];
    assert_eq!((&hit["session"], &hit["kind"]), (&json!("lexer"), &json!("request")), "{found}");
    assert_eq!(hit["changed_since"], true, "{found}");
    let near: Vec<&str> = hit["near"].as_array().unwrap().iter().filter_map(|near| near["kind"].as_str()).collect();
    assert_eq!(near, ["error", "command", "answer"], "{found}");
    let list = world.run(&["search", "--path", "src/tokens.rs"]).expect(0).stdout;
    assert!(list.contains("the file has changed since"), "{list}");
    assert_eq!(sessions(&world, &["--path", "src/tokens.rs", "--agent", "codex"]), [""; 0]);
    assert_eq!(sessions(&world, &["--path", "src/tokens.rs", "--since", "2026-11-11"]), [""; 0]);
    assert_eq!(sessions(&world, &["--path", "src/tokens.rs", "--until", "2026-11-11"]), ["lexer"]);
    world.run(&["search", "--path", "src/other.rs"]).expect(1);
    // A place in the file, and a way to it through a link.
    for place in ["src/tokens.rs:12", "src/tokens.rs:12:5"] {
        assert_eq!(sessions(&world, &["--path", place]), ["lexer"], "{place}");
    }
    std::os::unix::fs::symlink("src", world.path("linked")).unwrap();
    assert_eq!(sessions(&world, &["--path", "linked/tokens.rs"]), ["lexer"]);
    assert_eq!(sessions(&world, &["--path", "linked"]), ["lexer", "dates"]);
    let filtered = world.run(&["search", "--path", "src/tokens.rs", "--agent", "codex"]).expect(1).seen();
    assert!(filtered.contains("nothing was found with these filters"), "{filtered}");
    // A directory: the sessions that edited something in it, also if it is gone.
    for directory in ["src", "src/", "./src", world.path("src").to_str().unwrap()] {
        assert_eq!(sessions(&world, &["--path", directory]), ["lexer", "dates"], "{directory}");
    }
    assert_eq!(sessions(&world, &["--path", "sr"]), [""; 0]);
    std::fs::remove_dir_all(world.path("src")).unwrap();
    assert_eq!(sessions(&world, &["--path", "src"]), ["lexer", "dates"]);
    let root = world.run(&["search", "--path", "."]).expect(64);
    assert!(root.stderr.contains("name a file or a directory in it"), "{}", root.stderr);
    let outside = world.run(&["search", "--path", "/etc/passwd"]).expect(64);
    assert!(outside.stderr.contains("is not a file of the project"), "{}", outside.stderr);
}

#[test]
fn a_file_has_changed_only_if_its_content_is_another_one() {
    let world = world();
    let git = |arguments: &[&str]| world.git(&[&["-c", "user.name=a", "-c", "user.email=a@b"], arguments].concat());
    let write = |content: &str, at: &str| {
        world.write("src/lexer.rs", content);
        let at = std::time::SystemTime::from(chrono::DateTime::parse_from_rfc3339(at).unwrap());
        std::fs::File::open(world.path("src/lexer.rs")).unwrap().set_modified(at).unwrap();
    };
    let has_changed = || {
        let found = world.run(&["search", "--json", "--path", "src/lexer.rs"]).expect(0).json();
        found["hits"][0]["changed_since"].as_bool().unwrap()
    };
    // The session edited the file at nine o'clock on the tenth.
    write("fn lex() {}\n", "2026-11-10T08:59:00Z");
    assert!(!has_changed(), "nothing is committed");
    git(&["add", "src"]);
    git(&["commit", "-qm", "the edit", "--date=2026-11-10T09:30:00Z"]);
    assert!(!has_changed(), "the edit is committed");
    write("fn lex() {}\n", "2026-11-11T09:00:00Z");
    assert!(!has_changed(), "it is written again as it was");
    write("fn lex() { 1 }\n", "2026-11-11T10:00:00Z");
    assert!(has_changed(), "it is written anew");
    git(&["commit", "-qam", "another edit", "--date=2026-11-11T10:30:00Z"]);
    assert!(has_changed(), "another edit is committed");
    write("fn lex() {}\n", "2026-11-11T11:00:00Z");
    git(&["commit", "-qam", "revert", "--date=2026-11-11T11:30:00Z"]);
    assert!(!has_changed(), "it is as it was");
    std::fs::remove_file(world.path("src/lexer.rs")).unwrap();
    assert!(has_changed(), "it is gone");
}

#[test]
fn colour_in_what_a_tool_printed_hides_no_word() {
    let world = world();
    let token = ["ghp_\u{1b}[1maB3dE5fG7hI9", "\u{1b}[0mjK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    let output = format!("\u{1b}[1m\u{1b}[31merror\u{1b}[0m[E0999]: gizmo\u{1b}[0m is missing, not {token}");
    let green = "test result: \u{1b}[32mok\u{1b}[m. 3 passed; 0 failed; 0 ignored";
    Transcript::of(&world, "gizmo", "2026-11-12T09:00:00Z").asks("Build it").runs("make", &output, true).runs(
        "cargo test gizmo --color always | tail -3",
        green,
        false,
    );
    for question in ["error:gizmo", "\u{1b}[31mgizmo\u{1b}[0m"] {
        assert_eq!(first(&world, question), "gizmo");
    }
    let shown = world.run(&["search", "gizmo"]).expect(0).stdout;
    assert!(shown.contains("error[E0999]: gizmo is missing, not"), "{shown}");
    assert!(shown.contains("[redacted:github-token]") && !shown.contains("aB3dE5"), "{shown}");
    let tested = world.run(&["search", "cargo test gizmo", "--kind", "command"]).expect(0).stdout;
    assert!(tested.contains("tail -3 (passed)"), "{tested}");
}

#[test]
fn what_is_shown_beside_a_hit_fits_the_terminal() {
    let world = world();
    world.write("src/lexer.rs", "fn lex() {}\n");
    let mut command = world.command(&["search", "--path", "src/lexer.rs"]);
    let shown = finish(command.env("COLUMNS", "50")).expect(0).stdout;
    assert!(shown.contains("\n     answer: The loop ended when next_token\n       returned no position"), "{shown}");
    let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 50 && !line.contains("less ")).collect();
    assert_eq!(wide, [""; 0]);
}

#[test]
fn the_end_of_a_session_brings_the_index_up_to_date() {
    let world = world();
    let mut ended = Transcript::of(&world, "ended", "2026-11-15T09:00:00Z");
    ended.asks("Draw the flamegraph of the allocator").says("It is drawn.");
    let payload = json!({
        "hook_event_name": "SessionEnd", "session_id": "ended", "cwd": world.root(), "transcript_path": ended.path,
    });
    world.write("../payload", payload.to_string());
    let mut command = world.command(&["hook", "--agent", "claude-code"]);
    finish(command.stdin(std::fs::File::open(world.path("../payload")).unwrap())).expect(0).stderr_ignored("the story");
    let has_it = || {
        // Not to write: that would make an empty file, while the other process makes its own.
        let to_read = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let index = rusqlite::Connection::open_with_flags(world.path(INDEX), to_read).ok();
        let sql = "SELECT count(*) FROM document WHERE session = 'ended'";
        index.and_then(|index| index.query_row(sql, [], |row| row.get::<_, i64>(0)).ok()) == Some(1)
    };
    wait_until("the index has the session", has_it);
}

/// Whether the file of the index, or one beside it, has these bytes.
fn index_has(world: &World, word: &str) -> bool {
    let files = std::fs::read_dir(world.path(".agent-handover")).unwrap().map(|file| file.unwrap().path());
    let of_index = files.filter(|file| file.file_name().unwrap().to_str().unwrap().starts_with("index"));
    of_index
        .into_iter()
        .any(|file| memchr::memmem::find(&std::fs::read(file).unwrap_or_default(), word.as_bytes()).is_some())
}

#[test]
fn what_is_removed_leaves_no_bytes_in_the_index() {
    let world = world();
    let secret = Transcript::of(&world, "secret", "2026-11-12T09:00:00Z")
        .asks("The launch word of the rocket is xylophonequartz")
        .says("I noted xylophonequartz.")
        .path
        .clone();
    assert_eq!(first(&world, "xylophonequartz"), "secret");
    // Somebody takes it out of the transcript: the file is the same one, and longer than before.
    let text = std::fs::read_to_string(&secret).unwrap();
    std::fs::write(&secret, text.replace("xylophonequartz", "<private>xylophonequartz</private>")).unwrap();
    assert_eq!(first(&world, "launch word of the rocket"), "secret");
    assert_eq!(sessions(&world, &["xylophonequartz"]), [""; 0]);
    let payload = json!({ "hook_event_name": "SessionEnd", "session_id": "secret", "cwd": world.root(), "transcript_path": secret });
    world.write("../payload", payload.to_string());
    let mut command = world.command(&["hook", "--agent", "claude-code"]);
    finish(command.stdin(std::fs::File::open(world.path("../payload")).unwrap())).expect(0).stderr_ignored("the story");
    wait_until("the index has forgotten it", || !index_has(&world, "xylophonequartz"));
    assert!(index_has(&world, "rocket"));
    assert_eq!(first(&world, "launch word of the rocket"), "secret");
}

#[test]
fn an_index_that_another_process_writes_to_holds_nobody_up() {
    let world = world();
    assert_eq!(first(&world, "lexer"), "lexer");
    Transcript::of(&world, "later", "2026-11-12T09:00:00Z").asks("Add a benchmark for tokens");
    let other = rusqlite::Connection::open(world.path(INDEX)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let found = world.run(&["search", "lexer"]).expect(0);
    assert!(found.stderr.contains("another process is updating the index"), "{}", found.stderr);
    assert_eq!(
        prompt(&world, "p", "unterminated string in the lexer loops"),
        "",
        "whether it is the first is not known"
    );
    world.run(&["run", "--note", "n"]).expect(0);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(first(&world, "benchmark"), "later");
}

/// The answer to a prompt of a session, as its agent gets it.
fn prompt(world: &World, session: &str, prompt: &str) -> String {
    let payload = json!({
        "hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": world.root(), "prompt": prompt,
    });
    world.write("../payload", payload.to_string());
    let mut command = world.command(&["hook", "--agent", "claude-code"]);
    let output = finish(command.stdin(std::fs::File::open(world.path("../payload")).unwrap()));
    let answer = output.expect(0).stderr_ignored("the story").stdout;
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_first_prompt_of_a_session_is_answered_once() {
    let world = world();
    let question = "parse_date_iso returns the wrong day in the Tokyo time zone again";
    world.run(&["run", "--note", "Prepared the release notes for the telemetry exporter"]).expect(0);
    assert_eq!(prompt(&world, "a", question), "", "there is no index yet");
    assert_eq!(first(&world, "lexer"), "lexer");
    let answer = prompt(&world, "b", question);
    assert!(answer.starts_with("<!-- agent-handover warmup -->\n"), "{answer}");
    assert!(answer.contains("(2026-05-20, request, claude-code, dates) parse_date_iso returns"), "{answer}");
    assert!(answer.len() <= 1_200, "{}", answer.len());
    assert_eq!(prompt(&world, "b", question), "", "only the first prompt is answered");
    assert_eq!(prompt(&world, "c", "Add a LICENSE file with the MIT licence"), "");
    assert_eq!(prompt(&world, "c", question), "");
    // The session's own transcript is in its context.
    assert_eq!(prompt(&world, "dates", question), "");
    assert_eq!(prompt(&world, "e", "release notes for the telemetry exporter"), "", "the warmup says it");
    world.write("handover.toml", "[recall]\nfirst_prompt = false\n");
    assert_eq!(prompt(&world, "d", question), "");
}
