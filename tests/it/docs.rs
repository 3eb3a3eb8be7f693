//! What the documents say is what the program does.

use std::path::{Path, PathBuf};

use agent_handover::base::env;
use agent_handover::config::{Config, template};
use agent_handover::error::Category;
use agent_handover::steps;

use super::support::*;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"))
}

/// The fenced blocks of a language in the README.
fn blocks(language: &str) -> Vec<String> {
    let readme = text("README.md");
    let fence = format!("```{language}\n");
    readme.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// The rows of the README's table under this heading, cell by cell.
fn table(heading: &str) -> Vec<Vec<String>> {
    let readme = text("README.md");
    let section = readme.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no section {heading}"));
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn the_table_of_exit_codes_is_the_codes() {
    let rows = table("Exit codes");
    let listed: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let mut expected: Vec<String> = Category::ALL.iter().map(|category| category.exit_code().to_string()).collect();
    expected.extend(["0", "2", "128+n"].map(str::to_owned));
    for code in &expected {
        assert!(listed.contains(&code.as_str()), "{code} is not in the table");
    }
    assert_eq!(listed.len(), expected.len(), "{listed:?}");
}

#[test]
fn the_table_of_variables_is_the_variables() {
    let rows = table("Environment");
    let listed: Vec<(String, String)> =
        rows.iter().map(|row| (row[0].trim_matches('`').to_owned(), row[1].clone())).collect();
    let known: Vec<(String, String)> =
        env::VARIABLES.iter().map(|variable| (variable.name.to_owned(), variable.help.to_owned())).collect();
    assert_eq!(listed, known);
}

#[test]
fn every_command_and_every_flag_is_in_the_readme() {
    let readme = text("README.md");
    for command in agent_handover::cli::command_line().get_subcommands() {
        assert!(readme.contains(&format!("`{}", command.get_name())), "`{}` is not in the README", command.get_name());
        let below = command.get_subcommands().flat_map(|verb| verb.get_arguments());
        for verb in command.get_subcommands() {
            assert!(
                readme.contains(&format!("`{} {}`", command.get_name(), verb.get_name())),
                "{} is not in the README",
                verb.get_name()
            );
        }
        for argument in command.get_arguments().chain(below).filter(|argument| !argument.is_hide_set()) {
            if let Some(flag) = argument.get_long().filter(|flag| *flag != "help" && *flag != "version") {
                assert!(
                    readme.contains(&format!("--{flag}")),
                    "--{flag} of {} is not in the README",
                    command.get_name()
                );
            }
        }
    }
}

#[test]
fn every_kind_and_every_name_is_in_the_readme_and_in_the_example() {
    for document in [text("README.md"), text("handover.toml.example")] {
        for kind in steps::KINDS {
            assert!(document.contains(&format!("kind = \"{}\"", kind.name)), "{} is missing", kind.name);
        }
        for name in template::NAMES {
            assert!(document.contains(name), "{name} is missing");
        }
    }
}

#[test]
fn every_config_that_is_shown_loads_without_a_problem() {
    let mut configs: Vec<(String, String)> =
        blocks("toml").into_iter().map(|block| ("README.md".to_owned(), block)).collect();
    configs.push(("handover.toml.example".to_owned(), text("handover.toml.example")));
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            configs.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(configs.len() >= 4);
    for (name, config) in configs {
        if let Err(error) = Config::parse(Path::new(&name), &config, &steps::readers()) {
            panic!("{name}: {:?}", error.problems());
        }
    }
}

/// Every key a config may have is in the example: taking each away from what is known must change what it says.
#[test]
fn the_example_shows_every_key() {
    let example = text("handover.toml.example");
    let probe = "zzz = 1\n[handover]\nzzz = 1\n[backend]\ntype = \"null\"\nzzz = 1\n[guard]\nzzz = 1\n[warmup]\nzzz = 1\n\
        [[step]]\nname = \"a\"\nkind = \"command\"\nrun = [\"x\"]\nzzz = 1\n[[step]]\nname = \"b\"\nkind = \"note\"\nzzz = 1\n\
        [[step]]\nname = \"c\"\nkind = \"compact\"\nzzz = 1\n[category.decision]\nzzz = 1\n";
    let error = Config::parse(Path::new("probe"), probe, &steps::readers()).unwrap_err();
    // What only the Python tool's files use is not shown.
    let theirs = ["note", "checkpoint", "repo_dir"];
    let mut seen = 0;
    for problem in &error.problems().unwrap().problems {
        let known = problem.help.as_ref().and_then(|help| help.strip_prefix("known here: ")).expect("a list of keys");
        for key in known.split(", ").map(|key| key.trim_matches('`')).filter(|key| !theirs.contains(key)) {
            let shown = example.contains(&format!("{key} "))
                || example.contains(&format!("[{key}]"))
                || example.contains(&format!("[{key}."));
            assert!(shown, "`{key}` is not in the example");
            seen += 1;
        }
    }
    assert!(seen > 25, "only {seen} keys were seen");
}

#[test]
fn the_examples_run() {
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let world = World::with_git();
            world.write("handover.toml", std::fs::read_to_string(&path).unwrap());
            let output = world.run(&["run", "--note", "tried an example"]).expect(0);
            assert!(world.read(NOTES).contains("tried an example"), "{}: {}", path.display(), output.stderr);
        }
    }
    let program = PathBuf::from(BINARY).with_file_name("examples").join("hand_over");
    let world = World::new();
    let output = finish(world.clean(&program).arg("said by a program"));
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(world.read(NOTES).contains("said by a program"));
    world.run(&["check"]).expect(2);
}

/// The commands the README shows, in the order it shows them, do what it says they do.
#[test]
fn the_console_blocks_of_the_readme_are_true() {
    let world = World::with_git();
    let bin = world.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(BINARY, bin.join("agent-handover")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut commands = 0;
    for block in blocks("console") {
        let mut lines = block.lines().peekable();
        while let Some(line) = lines.next() {
            let command =
                line.strip_prefix("$ ").unwrap_or_else(|| panic!("a block must begin with a command: {line}"));
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected.push_str(line);
                expected.push('\n');
            }
            let mut shell = world.clean("sh");
            let output = finish(shell.args(["-c", &format!("{command} 2>&1")]).env("PATH", &path));
            snapbox::Assert::new().eq(output.stdout, snapbox::Data::text(expected.clone()));
            commands += 1;
        }
    }
    assert!(commands >= 4, "the README shows too little");
}

#[test]
fn the_test_command_of_the_readme_is_the_one_of_ci() {
    let ci = text(".ci/run");
    assert!(text("README.md").contains("\ncargo test\n"));
    assert!(ci.lines().any(|line| line == "cargo test"), "{ci}");
    for line in ["set -euo pipefail", "cargo fmt --check", "cargo clippy --all-targets -- -D warnings"] {
        assert!(ci.lines().any(|found| found == line), "{line}");
    }
    assert!(text(".github/workflows/ci.yml").contains(".ci/run"));
}

#[test]
fn the_changelog_knows_this_version() {
    assert!(text("CHANGELOG.md").contains(&format!("## {}", env!("CARGO_PKG_VERSION"))));
}
