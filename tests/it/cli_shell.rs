//! What a shell and `man` get: completions, manual pages, examples, the schema, and words that are not commands.

use std::path::Path;

use super::support::*;

/// What a shell is offered behind these words.
fn offered(world: &World, words: &[&str]) -> String {
    let index = (words.len()).to_string();
    let mut command = world.command(&[]);
    command.arg("--").arg("agent-handover").args(words);
    command.env("AGENT_HANDOVER_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index).env("_CLAP_IFS", "\n");
    finish(&mut command).expect(0).stdout
}

#[test]
fn a_shell_is_offered_commands_options_sessions_items_runs_and_steps() {
    let world = World::with_git();
    world.run(&["run", "--quiet", "--note", "n"]).expect(0);
    world.run(&["history", "create", "--goal", "Ship it", "--next", "Tag it", "--quiet"]).expect(0);
    world.run(&["memory", "add", "decision", "Parse once"]).expect(0);
    assert!(offered(&world, &["stat"]).contains("status"));
    assert!(offered(&world, &["run", "--no"]).contains("--note-file"));
    let session = world.run(&["history", "list", "--latest", "--json"]).expect(0).json();
    let session = session["handoffs"][0]["id"].as_str().unwrap();
    for words in [&["history", "show", ""][..], &["history", "render", ""], &["continue", "codex", "--from", ""]] {
        assert!(offered(&world, words).contains(session), "{words:?}");
    }
    let item = world.run(&["memory", "list", "--json"]).expect(0).stdout;
    let item = item.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(offered(&world, &["memory", "done", ""]).contains(&item));
    let run = world.run(&["status", "--json"]).expect(0).json()["run"]["id"].as_str().unwrap().to_owned();
    // As lists show it.
    let short = &run[run.len() - 8..];
    for words in [&["logs", ""][..], &["status", ""], &["run", "--abandon", ""]] {
        assert!(offered(&world, words).contains(short), "{words:?}");
    }
    assert!(offered(&world, &["memory", "add", "op"]).contains("open_loop"));
    world.run(&["history", "create", "--goal", "日本語", "--next", "直す", "--quiet"]).expect(0);
    assert!(offered(&world, &["history", "show", ""]).lines().any(|id| id.starts_with("2026-11-15-1004")));
    assert!(offered(&world, &["logs", &run, ""]).contains("note"));
    assert!(offered(&world, &["install", "cl"]).contains("claude-code"));
}

#[test]
fn a_shell_is_never_offered_what_it_would_run() {
    let world = World::with_git();
    world.run(&["history", "create", "--goal", "Ship it", "--next", "Tag it", "--quiet"]).expect(0);
    let index = world.read(".agent-history/INDEX.yaml");
    let id = index.lines().find_map(|line| line.trim().strip_prefix("- session_id: ")).unwrap().to_owned();
    world.write(".agent-history/INDEX.yaml", index.replace(&id, "'x$(touch owned)'"));
    let offered = offered(&world, &["history", "show", ""]);
    assert!(!offered.contains("touch"), "{offered}");
}

#[test]
fn a_shell_that_asks_outside_a_project_gets_commands_and_makes_nothing() {
    let world = World::new();
    assert!(offered(&world, &["hist"]).contains("history"));
    assert!(!offered(&world, &["history", "show", ""]).contains("20"));
    assert_eq!(world.everything().len(), 0);
}

#[test]
fn completions_are_printed_for_each_shell_and_refused_for_others() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("AGENT_HANDOVER_COMPLETE"), "{shell}: {script}");
    }
    world.run(&["completions", "tcsh"]).expect(64);
}

/// zsh takes the file as a function, and the first call of that function must complete, too.
#[test]
fn the_first_tab_in_zsh_completes() {
    if !is_installed("zsh") {
        return skip("zsh is not installed");
    }
    let world = World::new();
    let script = world.run(&["completions", "zsh"]).expect(0).stdout;
    world.write("functions/_agent-handover", script);
    let first = "compdef() { :; }; _describe() { print -l -- ${(P)3}; }; fpath=($PWD/functions $fpath)
        autoload -Uz _agent-handover; words=(agent-handover stat); CURRENT=2; _agent-handover";
    let path = format!("{}:{}", Path::new(BINARY).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut zsh = world.clean("zsh");
    let offered = finish(zsh.args(["-f", "-c", first]).env("PATH", path)).expect(0).stdout;
    assert!(offered.starts_with("status:"), "{offered}");
}

#[test]
fn every_command_has_a_manual_page_with_its_examples() {
    let world = World::new();
    let page = world.run(&["man", "history", "show"]).expect(0).stdout;
    assert!(page.contains("\n.SH EXAMPLES\n.nf\n\\&agent\\-handover history show latest\n"), "{page}");
    assert!(!page.contains("EXTRA"), "{page}");
    assert!(world.run(&["man"]).expect(0).stdout.contains("agent\\-handover \\- Lets a coding agent"));
    assert!(world.run(&["man", "nosuch"]).expect(64).stderr.contains("there is no command `nosuch`"));
    world.run(&["man", "--output", "pages"]).expect(0);
    let pages = std::fs::read_dir(world.path("pages")).unwrap().count();
    assert!(pages > 40, "{pages}");
    // The same pages again are the same bytes.
    let first = world.read("pages/agent-handover-run.1");
    world.run(&["man", "--output", "pages"]).expect(0);
    assert_eq!(world.read("pages/agent-handover-run.1"), first);
}

#[test]
fn help_has_examples_in_every_spelling() {
    let world = World::new();
    for arguments in [&["history", "show", "--help"][..], &["help", "history", "show"], &["history", "help", "show"]] {
        let help = world.run(arguments).expect(0).stdout;
        assert!(help.contains("Examples:\n  agent-handover history show latest\n"), "{arguments:?}: {help}");
    }
}

#[test]
fn the_schema_is_one_json_document() {
    let document = World::new().run(&["schema"]).expect(0).json();
    assert_eq!(document["title"], "handover.toml");
    assert_eq!(document["properties"]["warmup"]["additionalProperties"], false);
}

#[test]
fn a_word_that_people_try_first_names_the_command_that_is_meant() {
    let world = World::new();
    for (word, command) in [("resume", "run --resume"), ("log", "logs"), ("note", "run \""), ("list", "history list")] {
        let output = world.run(&[word]).expect(64);
        assert!(output.stderr.contains(&format!("`{word}` is not a command")), "{}", output.stderr);
        assert!(output.stderr.contains(&format!("agent-handover {command}")), "{}", output.stderr);
    }
}

#[test]
fn synonyms_name_a_category_unless_the_project_has_one_of_that_name() {
    let world = World::new();
    assert!(world.run(&["memory", "add", "todo", "Test on Windows"]).expect(0).stdout.contains("to open_loop"));
    world.write("handover.toml", "[category.todo]\nkeep = 3\n");
    assert!(world.run(&["memory", "add", "todo", "Mine"]).expect(0).stdout.contains("to todo"));
}

#[test]
fn a_session_is_named_in_the_same_way_everywhere() {
    let world = World::with_git();
    world.run(&["history", "create", "--goal", "Ship it", "--next", "Tag it", "--quiet"]).expect(0);
    let id = world.run(&["history", "list", "--latest", "--json"]).expect(0).json();
    let id = id["handoffs"][0]["id"].as_str().unwrap().to_owned();
    let (start, end) = (&id[..12], &id[id.len() - 6..]);
    for name in [id.as_str(), start, end, "latest"] {
        for command in [&["history", "show"][..], &["history", "render"], &["history", "export"]] {
            world.run(&[command, &[name]].concat()).expect(0);
        }
    }
    world.run(&["history", "export", "--id", end]).expect(0);
    world.run(&["history", "export", "--latest"]).expect(0);
    world.run(&["history", "render", "--id", start]).expect(0);
    world.run(&["history", "close", end, "--status", "done"]).expect(0);
    world.run(&["history", "show", "nosuch"]).expect(1);
}

#[test]
fn a_session_in_any_script_has_a_short_id_and_an_agent() {
    let world = World::new();
    let create = |goal: &str| {
        world.run(&["history", "create", "--quiet", "--agent", "codex", "--goal", goal, "--next", "直す"]).expect(0);
    };
    create("日本語のエラーメッセージ");
    let list = world.run(&["history", "list", "--agent", "codex"]).expect(0).stdout;
    assert!(list.ends_with("  2026-11-15-1004\n"), "{list}");
    assert!(world.run(&["history", "show", "2026-11-15-1004"]).expect(0).stdout.contains("日本語"));
}

#[test]
fn a_handover_is_named_in_the_same_way_by_status_and_logs() {
    let world = World::new();
    let step = |name: &str| format!("[[step]]\nname = \"{name}\"\nkind = \"command\"\nshell = \"echo {name}\"\n\n");
    world.write("handover.toml", step("tests") + &step("build"));
    world.run(&["run", "--quiet", "--note", "n"]).expect(0);
    let id = world.run(&["check", "--json"]).expect(2).json()["run"].as_str().unwrap().to_owned();
    let end = &id[id.len() - 8..];
    for name in [id.as_str(), end, &end.to_lowercase(), "latest"] {
        assert!(world.run(&["status", name]).expect(0).stdout.contains(&format!("run: {end} ")), "{name}");
        // The steps are in the order of the plan.
        assert_eq!(world.run(&["logs", name]).expect(0).stdout, "== tests\ntests\n== build\nbuild\n", "{name}");
    }
    assert_eq!(world.run(&["status", "--run", end]).expect(0).stdout, world.run(&["status", end]).expect(0).stdout);
    world.run(&["status", end, "--run", end]).expect(64);
    let unknown = world.run(&["logs", "zz"]).expect(1).stderr;
    assert!(unknown.starts_with("error: no handover on record begins or ends with `zz`\n"), "{unknown}");
}

#[test]
fn logs_print_what_commands_printed_without_secrets() {
    let world = World::new();
    let token = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    let (head, tail) = token.split_at(20);
    let shell = format!(
        "echo from-the-tests; echo {token}; echo '10 %\\r20 %'; echo '{head}\\033[0m{tail}'; printf '\\033[31mred\\033[0m'"
    );
    world.write("handover.toml", format!("[[step]]\nname = \"tests\"\nkind = \"command\"\nshell = {shell:?}\n"));
    world.run(&["logs"]).expect(1);
    world.run(&["run", "--quiet", "--note", "n"]).expect(0);
    for arguments in [&["logs"][..], &["logs", "tests"]] {
        let logs = world.run(arguments).expect(0).stdout;
        assert!(logs.starts_with("== tests\nfrom-the-tests\n"), "{logs}");
        assert!(!logs.contains(tail) && !logs.contains('\u{1b}'), "{logs}");
        assert!(logs.contains("\n20 %\n") && logs.ends_with("\nred\n"), "as a terminal leaves it: {logs}");
    }
    let document = world.run(&["logs", "--json"]).expect(0).json();
    assert_eq!(document["schema"], "agent-handover/logs/1");
    assert_eq!(document["logs"][0]["step"], "tests");
    let run = document["run"].as_str().unwrap();
    world.run(&["logs", &run[run.len() - 6..], "tests"]).expect(0);
    assert!(world.run(&["logs", run, "nosuch"]).expect(1).stderr.contains("its steps: tests"));
}

#[test]
fn a_retry_is_announced() {
    let world = World::new();
    let step = "[[step]]\nname = \"tests\"\nkind = \"command\"\nshell = \"test -e again || { touch again; exit 1; }\"\nretries = 2\n";
    world.write("handover.toml", step);
    let output = world.run(&["run", "--note", "n"]).expect(0);
    assert!(output.stderr.contains("tests: retry 1 of 2 in "), "{}", output.stderr);
    std::fs::remove_file(world.path("again")).unwrap();
    let events = world.run(&["run", "--json", "--note", "m"]).expect(0).stdout;
    assert!(events.contains(r#""event":"retrying""#), "{events}");
}
