//! The commands around bundles as people use them: list, export, import, keys, passphrases.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use snapbox::{assert_data_eq, str};

use super::bundle::*;
use super::support::*;

fn ids(output: &Output) -> Vec<String> {
    output.json()["handoffs"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

/// Four handoffs of different days, tools, states and tags.
fn several() -> World {
    let world = World::new();
    for (now, goal, tool, tag, branch) in [
        ("2026-11-10T10:00:00Z", "Alpha lexer", "codex", "parser", "main"),
        ("2026-11-14T10:00:00Z", "Beta parser", "Claude-Code", "parser", "topic"),
        ("2026-11-15T09:00:00Z", "Gamma docs", "codex", "docs", "main"),
    ] {
        let document = format!(
            "---\ncurrent_branch: \"{branch}\"\nstatus: \"IN_PROGRESS\"\nagent: \"{tool}\"\nprimary_goal: \"{goal}\"\nactive_context_files: []\n\
             completed_tasks: []\nknown_issues: []\nnext_todo_items:\n  - \"Fix {goal}\"\nsearch_tags:\n  - \"{tag}\"\n  - \"all\"\n\
             validation:\n  - command: \"cargo test\"\n    result: \"passed\"\n---\n# Resume Prompt\n# What We Did\n# Current State\nwords about {goal}\n\
             # Decisions Made\n# Failed Attempts / Dead Ends\n# Next-Agent Instructions\n# Commands And Validation\n# Risks And Constraints\n"
        );
        world.write("../handoff.md", document);
        let mut command = world.command(&["history", "create", "--input", "../handoff.md"]);
        finish(command.env("AGENT_HANDOVER_TEST_NOW", now)).expect(0);
    }
    world.run(&["history", "close", "--status", "DONE"]).expect(0);
    world
}

const ALPHA: &str = "2026-11-10-1000-alpha-lexer";
const BETA: &str = "2026-11-14-1000-beta-parser";
const GAMMA: &str = "2026-11-15-0900-gamma-docs";

#[test]
fn a_list_is_a_table_of_the_newest_first() {
    let world = several();
    assert_data_eq!(
        world.run(&["history", "list"]).expect(0).seen(),
        str![[r#"
WHEN        AGENT        STATUS       BRANCH  TITLE        SESSION
1 h ago     codex        done         main    Gamma docs   2026-11-15-0900
1 day ago   Claude-Code  in progress  topic   Beta parser  2026-11-14-1000
5 days ago  codex        in progress  main    Alpha lexer  2026-11-10-1000
---
[exit 0]

"#]]
    );
    let mut narrow = world.command(&["history", "list"]);
    assert_data_eq!(
        finish(narrow.env("COLUMNS", "56")).expect(0).stdout,
        str![[r#"
WHEN        AGENT        TITLE        SESSION
1 h ago     codex        Gamma docs   2026-11-15-0900
1 day ago   Claude-Code  Beta parser  2026-11-14-1000
5 days ago  codex        Alpha lexer  2026-11-10-1000

"#]]
    );
    assert_data_eq!(
        world.run(&["history", "list", "--latest", "--json"]).expect(0).stdout,
        str![[r#"
{"handoffs":[{"id":"2026-11-15-0900-gamma-docs","created_at":"2026-11-15T09:00:00Z","tool":"codex","project":"$WORLD/project","title":"Gamma docs","status":"DONE","claimed_status":null,"branch":"main","worktree":null,"commit":"unknown","tags":["docs","all"],"summary":"words about Gamma docs","next":["Fix Gamma docs"],"changed":[],"first_next_action":"Fix Gamma docs","supersedes":"","file":"sessions/2026-11-15-0900-gamma-docs.md","ours":true,"origin":null}],"schema":"agent-handover/history-list/1"}

"#]]
    );
}

#[test]
fn every_list_filter_selects_what_it_names() {
    let world = several();
    let root = world.root().display().to_string();
    for (flags, expected) in [
        (vec!["--tool", " CODEX "], vec![GAMMA, ALPHA]),
        (vec!["--project", root.as_str()], vec![GAMMA, BETA, ALPHA]),
        (vec!["--project", "."], vec![GAMMA, BETA, ALPHA]),
        (vec!["--project", "project"], vec![GAMMA, BETA, ALPHA]),
        (vec!["--project", "/elsewhere"], vec![]),
        (vec!["--query", "PARSER"], vec![BETA, ALPHA]),
        (vec!["--query", "words about gamma"], vec![GAMMA]),
        (vec!["--query", "session_id"], vec![]),
        (vec!["--query", "fix a"], vec![ALPHA]),
        (vec!["--since", "36h"], vec![GAMMA, BETA]),
        (vec!["--since", "2026-11-14", "--until", "2026-11-14"], vec![BETA]),
        (vec!["--until", "2026-11-14T09:59:59Z"], vec![ALPHA]),
        (vec!["--status", "done"], vec![GAMMA]),
        (vec!["--branch", "topic"], vec![BETA]),
        (vec!["--tag", "Docs"], vec![GAMMA]),
        (vec!["--tag", "all", "--tool", "codex", "--limit", "1"], vec![GAMMA]),
        (vec!["--tag", "parser", "--latest"], vec![BETA]),
        (vec!["--id", "2026-11-1"], vec![GAMMA, BETA, ALPHA]),
        (vec!["--id", "2026-11-10"], vec![ALPHA]),
        (vec!["--limit", "0"], vec![GAMMA, BETA, ALPHA]),
        (vec!["--limit", "2"], vec![GAMMA, BETA]),
        (vec!["--tool", " "], vec![GAMMA, BETA, ALPHA]),
    ] {
        let output = world.run(&[&["history", "list", "--json"], flags.as_slice()].concat()).expect(0);
        assert_eq!(ids(&output), expected, "{flags:?}");
    }
    for flags in [
        vec!["--latest", "--limit", "1"],
        vec!["--limit", "-1"],
        vec!["--since", "0s"],
        vec!["--since", "-1h"],
        vec!["--since", "soon"],
        vec!["--since", "1h", "--until", "2h"],
    ] {
        world.run(&[&["history", "list"], flags.as_slice()].concat()).expect(64);
    }
}

#[test]
fn an_id_may_be_a_unique_beginning_and_ambiguity_is_listed() {
    let world = several();
    for id in [ALPHA, "2026-11-10", "2026-11-10-1000-alpha-lexe"] {
        assert!(world.run(&["history", "show", id]).expect(0).stdout.contains(&format!("session_id: \"{ALPHA}\"")));
    }
    let ambiguous = world.run(&["history", "render", "--id", "2026-11-1"]).expect(1);
    assert!(
        ambiguous.stderr.contains(&format!("several sessions begin with '2026-11-1': {ALPHA}, {BETA}, {GAMMA}")),
        "{}",
        ambiguous.stderr
    );
    world.run(&["history", "show", "zzz"]).expect(1);
    world.run(&["history", "show", ""]).expect(64);
    world.run(&["history", "show", "../../handoff"]).expect(1);
    let empty = World::new();
    assert!(empty.run(&["history", "show", "latest"]).expect(1).stderr.contains("there is no handoff"));
}

#[test]
fn all_projects_are_listed_together() {
    let world = several();
    let other = world.path("../other");
    std::fs::create_dir(&other).unwrap();
    let create = ["history", "create", "--goal", "Delta elsewhere", "--next", "Fix it", "--repo-root", "../other"];
    world.run(&create).expect(0);
    // A handover knows its project as well.
    std::fs::create_dir(world.path("../third")).unwrap();
    finish(world.command(&["run", "--note", "third"]).current_dir(world.path("../third"))).expect(0);
    let list = world.run(&["history", "list", "--all-projects", "--json"]).expect(0).json();
    let roots: Vec<(String, String)> = list["handoffs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["title"].as_str().unwrap().to_owned(),
                one["root"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(),
            )
        })
        .collect();
    let pair = |title: &str, root: &str| (title.to_owned(), root.to_owned());
    assert_eq!(
        roots[2..],
        [pair("Gamma docs", "project"), pair("Beta parser", "project"), pair("Alpha lexer", "project")]
    );
    assert!(
        roots[..2].contains(&pair("Delta elsewhere", "other")) && roots[..2].contains(&pair("third", "third")),
        "{roots:?}"
    );
    let latest = world.run(&["history", "list", "--all-projects", "--query", "delta"]).expect(0).stdout;
    assert!(latest.lines().nth(1).unwrap().contains("other"), "{latest}");
    // A project that is gone is gone.
    std::fs::remove_dir_all(&other).unwrap();
    assert_eq!(ids(&world.run(&["history", "list", "--all-projects", "--json"]).expect(0)).len(), 4);
}

#[test]
fn a_prompt_has_what_the_next_agent_needs_within_its_budget() {
    let world = World::new();
    let mut document = include_str!("../data/handoffs/glue-dialect.md").to_owned();
    world.write("../handoff.md", &document);
    world.run(&["history", "create", "--input", "../handoff.md"]).expect(0);
    assert_data_eq!(
        world.run(&["history", "render", "--target", "claude-code"]).expect(0).stdout,
        str![[r#"
# Handoff: Ship the parser rewrite
- For: claude-code
- Session: 2026-11-15-1000-parser, IN_PROGRESS, by claude at 2026-11-15T10:00:00Z
- Project: /srv/parser, branch main at 3a15bbb

## Goal
- Ship the parser rewrite

## Next
- Fix the off-by-one in lexer.rs:42

## Rulings
- [standing] No force pushes
- Chose nom over pest (#211)

## Open loops
- Write fuzz target for the lexer

## Dead ends
- Hand-written tables were slower.

## Checks
- `cargo test` failed (2 of 40)

## The agent said
- Two tests fail.
- Wrote the lexer

## Files
- @src/lexer.rs: off-by-one near line 42: see #211

## How to go on
- The standing instructions in CLAUDE.md hold.
- Run `git status --short` first and say how the repository differs from this.
- Start with the first next action; keep changes small and run the tests.

"#]]
    );
    let many: String = (0..200).map(|n| format!("  - \"rule {n} of many that nobody can show\"\n")).collect();
    document = document.replace("\ndecisions:\n", &format!("\ndecisions:\n{many}"));
    world.write("../handoff.md", document.replace("2026-11-15-1000-parser", "long"));
    world.run(&["history", "create", "--input", "../handoff.md"]).expect(0);
    for budget in ["500", "1000", "9000"] {
        let text = world.run(&["history", "render", "--id", "long", "--budget", budget]).expect(0).stdout;
        assert!(
            text.len() <= budget.parse().unwrap()
                && text.contains("## Next\n")
                && (budget == "500" || text.contains(" more: `agent-handover history show long`)\n")),
            "{text}"
        );
    }
    world.run(&["history", "render", "--budget", "10"]).expect(64);
    world.run(&["history", "render", "--target", "a\nb"]).expect(64);
    world.run(&["history", "render", "--layout", "session-handoff", "--budget", "900"]).expect(64);
}

#[test]
fn export_writes_a_private_file_and_never_overwrites() {
    let world = World::new();
    let id = world.write_one("x");
    for format in ["markdown", "MD", "json", "jsonl"] {
        let output = world.later(&["history", "export", "--format", format, "--output", "../out"]).expect(0);
        assert!(output.stdout.starts_with("exported ") && output.stdout.ends_with("/out\n"), "{}", output.stdout);
        assert_eq!(std::fs::metadata(world.path("../out")).unwrap().permissions().mode() & 0o777, 0o600);
        world.later(&["history", "export", "--format", format, "--output", "../out"]).expect(1);
        std::fs::set_permissions(world.path("../out"), std::fs::Permissions::from_mode(0o644)).unwrap();
        let forced = world
            .later(&["history", "export", "--format", format, "--output", "../out", "--force", "--json"])
            .expect(0);
        assert_eq!(forced.json()["handoffs"][0], id.as_str());
        assert_eq!(std::fs::metadata(world.path("../out")).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_file(world.path("../out")).unwrap();
    }
    world.write("PAUSE", "");
    world.later(&["history", "export", "--output", "../out"]).expect(3);
    world.later(&["keygen", "--output", "../key.pem"]).expect(3);
    world.import(sample_text("v2-unsigned.json"), &["--allow-unsigned"]).expect(3);
    world.import(sample_text("v2-unsigned.json"), &["--allow-unsigned", "--dry-run"]).expect(0);
    assert!(!world.exists("../out") && !world.exists("../key.pem"));
}

#[test]
fn several_are_exported_one_a_line() {
    let world = several();
    let lines = world.run(&["history", "export", "--tag", "parser", "--format", "jsonl"]).expect(0).stdout;
    let titles: Vec<String> = lines
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["record"]["title"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(titles, ["Alpha lexer", "Beta parser"]);
    assert!(
        world.run(&["history", "export", "--all", "--format", "json"]).expect(64).stderr.contains("3 handoffs match")
    );
    world.run(&["history", "export", "--tag", "docs", "--format", "json"]).expect(0);
    world.run(&["history", "export", "--tag", "nothing", "--format", "jsonl"]).expect(1);
}

#[test]
fn secrets_do_not_travel() {
    let world = World::new();
    let token = ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    let created = world.later(&["history", "create", "--goal", "x", "--next", &format!("Use {token}")]).expect(0);
    assert!(created.stderr.contains("possible secret in handoff: GitHub token"), "{}", created.stderr);
    let refused = world.later(&["history", "export", "--format", "json"]).expect(5);
    assert!(!refused.seen().contains(&token) && refused.stderr.contains("--allow-secret"), "{}", refused.seen());
    let kind = refused.stderr.split("--allow-secret ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    assert!(
        world
            .later(&["history", "export", "--format", "json", "--allow-secret", &kind])
            .expect(0)
            .stdout
            .contains(&token)
    );
    world.write("handover.toml", "[guard]\nsecrets = \"redact\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    for format in ["json", "markdown"] {
        let redacted = world.later(&["history", "export", "--format", format]).expect(0);
        assert!(!redacted.seen().contains(&token), "{}", redacted.seen());
    }
}

#[test]
fn import_dry_run_shows_the_content_and_changes_nothing() {
    let world = World::new();
    let before = world.everything();
    let untrusted = world.import_sample("v3-signed.json", &["--dry-run"]).expect(6);
    assert_data_eq!(
        untrusted.seen(),
        str![[r#"
handoffs: 1, not encrypted, whole
20261116-001428  2026-11-16T00:14:28Z  codex  Refactor auth middleware
  session-handoff bundle v3, without a document: signed with key 4a49626ae1bfbea68a43a029b3b022a4e7bbc2b425301708965305a7bd8b3170, not trusted
---
handoff 20261116-001428 comes without a document; session-handoff writes only a record, which does not say whether it had another origin before
error: the bundle is signed with a key that you do not trust; it names `Alice Example` as its owner
  caused by: its fingerprint is 4a49626ae1bfbea68a43a029b3b022a4e7bbc2b425301708965305a7bd8b3170
hint: if its owner confirms this fingerprint, run `agent-handover trust add M52fehKyvr4U9h/J0LuCT+33BW5Fad9rUf5GxwhoapU= --name 'Alice Example'`
[exit 6]

"#]]
    );
    let json = world.import_sample("v3-signed.json", &["--dry-run", "--json"]).expect(6).json();
    assert_eq!(json["handoffs"][0]["key"], ALICE);
    assert_eq!(json["handoffs"][0]["trusted"], false);
    assert_eq!(json["error"]["exit_code"], 6);
    world.trust_alice();
    let trusted = world.import_sample("encrypted-v3.json", &["--dry-run", "--passphrase", PASSPHRASE]).expect(0);
    assert_data_eq!(
        trusted.stdout.clone(),
        str![[r#"
handoffs: 1, encrypted, whole
20261116-001428  2026-11-16T00:14:28Z  codex  Refactor auth middleware
  session-handoff bundle v3, without a document: signed by Alice Example (key 4a49626ae1bfbea6), whom you trust
  would be imported

"#]]
    );
    assert_eq!(world.everything(), before);
    world.import_sample("v3-signed.json", &[]).expect(0);
    let mut other = sample_json("v2-unsigned.json");
    other["record"]["summary"] = "another".into();
    other["checksum"] = described::checksum(&other["record"]).into();
    let before = world.everything();
    world.import(other.to_string(), &["--dry-run", "--allow-unsigned"]).expect(1);
    world.import(other.to_string(), &["--dry-run", "--allow-unsigned", "--on-conflict", "skip"]).expect(0);
    world.import(other.to_string(), &["--dry-run", "--allow-unsigned", "--on-conflict", "REPLACE"]).expect(6);
    assert_eq!(world.everything(), before);
}

#[test]
fn import_reads_stdin_and_answers_in_json() {
    let world = World::new();
    let mut command = world.command(&["history", "import", "--input", "-", "--allow-unsigned", "--json"]);
    command.env("AGENT_HANDOVER_TEST_NOW", LATER).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(sample_text("v2-unsigned.json").as_bytes()).unwrap();
    let json = output(child).expect(0).json();
    assert_eq!(json["schema"], "agent-handover/history-import/1");
    assert_eq!(json["handoffs"][0]["action"], "imported");
    assert!(
        world
            .read(".agent-history/LATEST.md")
            .contains("origin_source: \"standard input (session-handoff bundle v2, without a document)\"")
    );
}

#[test]
fn keys_are_made_trusted_listed_and_removed() {
    let world = World::new();
    let made = world.later(&["keygen", "--output", "../key.pem"]).expect(0);
    assert!(made.stdout.starts_with("-----BEGIN PUBLIC KEY-----\n"), "{}", made.stdout);
    assert_eq!(std::fs::metadata(world.path("../key.pem")).unwrap().permissions().mode() & 0o777, 0o600);
    let pem = std::fs::read_to_string(world.path("../key.pem")).unwrap();
    world.later(&["keygen", "--output", "../key.pem"]).expect(1);
    assert_eq!(std::fs::read_to_string(world.path("../key.pem")).unwrap(), pem);
    let fingerprint = made.stderr.split("fingerprint: ").nth(1).unwrap().trim().to_owned();

    world.write("../public.pem", &made.stdout);
    let added = world.later(&["trust", "add", "../public.pem", "--name", "Me"]).expect(0);
    assert_eq!(added.stdout, format!("trusted Me {fingerprint}\n"));
    let mode =
        std::fs::metadata(world.home().join(".local/share/agent-handover/trusted")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    world.trust_alice();
    let list = world.later(&["trust", "list"]).expect(0).stdout;
    assert!(list.contains(&fingerprint) && list.contains(ALICE) && list.contains("Alice Example"), "{list}");
    assert_eq!(world.later(&["trust", "list", "--json"]).expect(0).json()["keys"].as_array().unwrap().len(), 2);
    world.later(&["trust", "remove", "Alice Example"]).expect(0);
    world.later(&["trust", "remove", "Alice Example"]).expect(1);
    world.later(&["trust", "remove", &fingerprint[..16]]).expect(0);
    assert!(world.later(&["trust", "list"]).expect(0).stderr.contains("no key is trusted"));
    for what in ["../nothing", "AAAA", "."] {
        assert_ne!(world.later(&["trust", "add", what]).code, 0);
    }
    let unsigned = sample("v2-unsigned.json").display().to_string();
    world.later(&["trust", "add", &unsigned]).expect(6);
}

#[test]
fn keys_go_to_openssl_and_come_from_it() {
    let world = World::new();
    world.write_one("x");
    let made = world.later(&["keygen", "--output", "../ours.pem"]).expect(0).stdout;
    let openssl = |arguments: &[&str]| world.clean("openssl").args(arguments).output();
    let Ok(read) = openssl(&["pkey", "-in", "../ours.pem", "-pubout"]) else {
        return skip("openssl is not installed");
    };
    assert_eq!(String::from_utf8(read.stdout).unwrap(), made);
    openssl(&["genpkey", "-algorithm", "ed25519", "-out", "../theirs.pem"]).unwrap();
    openssl(&["genrsa", "-out", "../rsa.pem", "2048"]).unwrap();
    let export = |key: &str| world.later(&["history", "export", "--format", "json", "--sign-key", key]);
    assert!(described::verify(&export("../theirs.pem").expect(0).json()));
    assert!(export("../rsa.pem").expect(65).stderr.contains("not an ed25519 private key"));
}

/// Beyond this something hangs.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// A command on a terminal of its own: what is typed each time this text appears on the screen. Gives the screen, what was on
/// stdout and the exit code; `None` where there is no `script` with the flags of util-linux.
fn on_terminal(world: &World, command: &str, typed: &[(&str, &[u8])]) -> Option<(String, String, i32)> {
    line_on_terminal(world, &format!("{BINARY} {command} > ../answer"), typed)
}

/// The same for a line of the shell. What it does not redirect stays on the terminal.
fn line_on_terminal(world: &World, line: &str, typed: &[(&str, &[u8])]) -> Option<(String, String, i32)> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let _ = std::fs::remove_file(world.path("../code"));
    let line = format!("trap : INT; {line}; echo $? > ../code.new; mv ../code.new ../code");
    let mut script = world.clean("script");
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh");
    script.env("AGENT_HANDOVER_TEST_NOW", LATER);
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, parts) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut part = [0u8; 4096];
        while let Ok(count @ 1..) = std::io::Read::read(&mut stdout, &mut part) {
            let _ = sender.send(part[..count].to_vec());
        }
    });
    let mut screen = Vec::new();
    let mut looked_at = 0;
    for (number, (sign, keys)) in typed.iter().enumerate() {
        // What is typed before somebody reads would be shown as text, so wait until it is asked for.
        let has_sign = |screen: &[u8]| String::from_utf8_lossy(screen).find(sign).map(|at| at + sign.len());
        while has_sign(&screen[looked_at..]).is_none() {
            screen.extend(parts.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {sign} on {screen:?}")));
        }
        looked_at += has_sign(&screen[looked_at..]).unwrap();
        // Turning off the echo discards earlier input, so it is typed again until an answer follows.
        let is_done = |screen: &[u8]| match typed.get(number + 1) {
            Some((next, _)) => String::from_utf8_lossy(screen).contains(next),
            None => world.exists("../code"),
        };
        let start = std::time::Instant::now();
        while !is_done(&screen[looked_at..]) {
            assert!(start.elapsed() < PATIENCE, "nothing follows on {}", String::from_utf8_lossy(&screen));
            let _ = stdin.write_all(keys);
            let again = std::time::Instant::now() + std::time::Duration::from_secs(3);
            while !is_done(&screen[looked_at..]) && std::time::Instant::now() < again {
                screen.extend(parts.recv_timeout(std::time::Duration::from_millis(10)).unwrap_or_default());
            }
        }
    }
    drop(stdin);
    child.wait().unwrap();
    screen.extend(parts.iter().flatten());
    let read = |path: &str| std::fs::read_to_string(world.path(path)).unwrap_or_default();
    Some((String::from_utf8_lossy(&screen).into_owned(), read("../answer"), read("../code").trim().parse().unwrap()))
}

#[test]
fn a_passphrase_is_asked_for_without_being_shown() {
    let world = World::new();
    world.write_one("secret plans");
    let export = "history export --format json --encrypt --output ../sealed";
    let typed: [(&str, &[u8]); 2] = [("passphrase: ", b"open sesame\r"), ("the same again: ", b"open sesame\r")];
    let Some((screen, _, code)) = on_terminal(&world, export, &typed) else { return skip("`script` is not installed") };
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("sesame"), "{screen}");
    let import = "history import --allow-unsigned --input ../sealed";
    let (screen, answer, code) = on_terminal(&world, import, &[("passphrase: ", b"open sesame\r")]).unwrap();
    assert_eq!(code, 0, "{screen}");
    assert!(answer.starts_with("unchanged handoff "), "{answer}");
    let (_, _, code) = on_terminal(&world, import, &[("passphrase: ", b"open sesami\r")]).unwrap();
    assert_eq!(code, 6);
}

#[test]
fn a_person_picks_and_only_the_id_is_the_answer() {
    let world = several();
    let pick = |keys: &[u8]| {
        let (screen, answer, code) = on_terminal(&world, "history select", &[("| file:", keys)])?;
        assert!(screen.contains("goal: Gamma docs"), "no preview: {screen}");
        Some((answer, code))
    };
    let Some(first) = pick(b"\r") else { return skip("`script` is not installed") };
    assert_eq!(first, (format!("{GAMMA}\n"), 0));
    assert_eq!(pick(b"lexer\r").unwrap(), (format!("{ALPHA}\n"), 0));
    assert_eq!(pick(b"\x1b[B\r").unwrap(), (format!("{BETA}\n"), 0));
    assert_eq!(pick(b"\x03").unwrap(), (String::new(), 130));
}

#[test]
fn on_a_terminal_enter_shows_the_handoff_and_a_key_says_what_to_do_with_it() {
    let world = several();
    world.write("../agents/codex", "#!/bin/sh\nfor word; do :; done\nprintf '%s' \"$word\" > ../started\n");
    let allow = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(world.path("../agents/codex"), allow).unwrap();
    let line = format!("PATH={} {BINARY} history select", world.path("../agents").display());
    let pick = |keys: &[(&'static str, &'static [u8])]| {
        let typed: Vec<(&str, &[u8])> =
            [("| file:", &b"lexer\r"[..])].into_iter().chain(keys.iter().copied()).collect();
        line_on_terminal(&world, &line, &typed)
    };
    const ASKED: &str = "any other key leaves";
    let Some((screen, _, code)) = pick(&[(ASKED, b"r")]) else { return skip("`script` is not installed") };
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("words about Alpha lexer"), "Enter shows the document: {screen}");
    assert!(screen.contains("agent-handover history render 2026-11-10-1000\r"), "{screen}");
    let (screen, _, code) = pick(&[(ASKED, b"e")]).unwrap();
    assert_eq!(code, 0, "{screen}");
    assert!(world.read(&format!("handoff-{ALPHA}.json")).contains("Alpha lexer"));
    let (screen, _, code) = pick(&[(ASKED, b"q")]).unwrap();
    assert_eq!(code, 0, "{screen}");
    let (screen, _, code) = pick(&[(ASKED, b"c"), ("Codex", b"\r")]).unwrap();
    assert_eq!(code, 0, "{screen}");
    assert!(world.read("../started").contains("Alpha lexer"), "{screen}");
}

#[test]
fn a_search_that_finds_nothing_says_no_match() {
    let world = several();
    let typed: [(&str, &[u8]); 2] = [("| file:", b"zzzz"), ("no match", b"\x03")];
    let Some((screen, _, code)) = on_terminal(&world, "history select", &typed) else {
        return skip("`script` is not installed");
    };
    assert_eq!(code, 130, "{screen}");
}
