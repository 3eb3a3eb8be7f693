//! The documents describe the program as it is: README.md, CHANGELOG.md, docs/, and the example configs.
//!
//! # Conventions
//!
//! | in a page | meaning |
//! |---|---|
//! | `console` block | `$ ` starts a command, `> ` continues it, the other lines are its output. `[..]` and `...` are snapbox's wildcards |
//! | `console,ignore REASON` block | not run; the reason says why it cannot be |
//! | `sh` block | commands to copy. Each `agent-handover` command line must parse |
//! | `toml` block | a whole `handover.toml` that loads. It is the config of the commands that follow on the page |
//! | `<!-- setup: COMMAND -->` | a command that runs at this place of the page and is not shown |
//!
//! The commands of a page run in order in one world: a git repository, a home directory, and this program in the PATH.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agent_handover::Category;
use agent_handover::testing::base::env;
use agent_handover::testing::config::{Config, template};
use agent_handover::testing::steps;

use super::support::*;

const MAX_COLUMNS: usize = 120;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"))
}

/// README.md and every page under docs/, by their path from the root of the repository.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    let mut directories = vec![root().join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path.strip_prefix(root()).unwrap().display().to_string());
            }
        }
    }
    pages.sort();
    pages
}

/// All pages as one text, for questions of the form "is this documented anywhere?".
fn everything() -> String {
    pages().iter().map(|page| text(page)).collect()
}

/// One part of a page.
enum Part {
    /// A line of prose, with its number.
    Line(usize, String),
    /// A fenced block: the line it starts on, what follows the fence, and its text.
    Block(usize, String, String),
}

fn parts(page: &str) -> Vec<Part> {
    let source = text(page);
    let mut parts = Vec::new();
    let mut lines = source.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else {
            parts.push(Part::Line(number + 1, line.to_owned()));
            continue;
        };
        let mut block = String::new();
        loop {
            let (_, line) = lines.next().unwrap_or_else(|| panic!("{page}:{}: the block has no end", number + 1));
            if line.trim_start() == "```" {
                break;
            }
            block.push_str(line);
            block.push('\n');
        }
        parts.push(Part::Block(number + 1, info.to_owned(), block));
    }
    parts
}

/// The rows of the table under a heading, cell by cell, without its head.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let source = text(page);
    let section = source.split(&format!("\n{heading}\n")).nth(1).unwrap_or_else(|| panic!("{page} has no {heading}"));
    let section = section.split("\n#").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

// Everything that a user can meet is documented.

#[test]
fn every_exit_code_is_documented() {
    let rows = table("docs/reference/exit-codes.md", "## The codes");
    let listed: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let mut expected: Vec<String> = Category::ALL.iter().map(|category| category.exit_code().to_string()).collect();
    expected.extend(["0", "2", "128+n"].map(str::to_owned));
    for code in &expected {
        assert!(listed.contains(&code.as_str()), "{code} is not in the table");
    }
    assert_eq!(listed.len(), expected.len(), "{listed:?}");
    let json = text("docs/reference/json.md");
    for category in Category::ALL {
        assert!(json.contains(&format!("`{}`", category.name())), "the category {} is missing", category.name());
    }
}

#[test]
fn every_environment_variable_is_documented() {
    let page = text("docs/reference/environment.md");
    for variable in env::VARIABLES {
        assert!(page.contains(&format!("| `{}` |", variable.name)), "{} is not in the table", variable.name);
    }
    let everything = everything();
    for name in [env::RUN, env::STEP, env::ATTEMPT, env::ROOT, env::TEST_NOW, env::TEST_IDS, env::TEST_FAULT] {
        assert!(everything.contains(&format!("`{name}`")), "{name} is not documented");
    }
    for row in table("docs/reference/environment.md", "## Variables that you may set") {
        let name = row[0].trim_matches('`');
        assert!(env::VARIABLES.iter().any(|variable| variable.name == name), "the program does not read {name}");
    }
}

#[test]
fn every_command_and_every_flag_is_documented() {
    let everything = everything();
    fn walk(command: &clap::Command, path: &str, everything: &str) {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            if let Some(flag) = argument.get_long().filter(|flag| *flag != "help" && *flag != "version") {
                assert!(everything.contains(&format!("--{flag}")), "--{flag} of {path} is not documented");
            }
        }
        for below in command.get_subcommands() {
            let path = format!("{path} {}", below.get_name());
            assert!(everything.contains(path.trim()), "`{path}` is not documented");
            walk(below, path.trim(), everything);
        }
    }
    walk(&agent_handover::testing::cli::command_line(), "", &everything);
}

/// The keys that the reader of configs lists when it meets one that it does not know.
fn config_keys() -> Vec<String> {
    let probe = "zzz = 1\n[handover]\nzzz = 1\n[backend]\ntype = \"git\"\nzzz = 1\n[guard]\nzzz = 1\n[warmup]\nzzz = 1\n[hook]\nzzz = 1\n[recall]\nzzz = 1\n\
        [[step]]\nname = \"a\"\nkind = \"command\"\nrun = [\"x\"]\nzzz = 1\n[[step]]\nname = \"b\"\nkind = \"note\"\nzzz = 1\n\
        [[step]]\nname = \"c\"\nkind = \"compact\"\nzzz = 1\n[category.decision]\nzzz = 1\n";
    let error = Config::parse(Path::new("probe"), probe, &steps::vocabulary()).unwrap_err();
    let mut keys = Vec::new();
    for problem in &error.problems().unwrap().problems {
        let known = problem.help.as_ref().and_then(|help| help.strip_prefix("known here: ")).expect("a list of keys");
        keys.extend(known.split(", ").map(|key| key.trim_matches('`').to_owned()));
    }
    assert!(keys.len() > 25, "only {} keys were seen", keys.len());
    keys
}

#[test]
fn every_config_key_is_documented_and_in_the_example() {
    let page = text("docs/reference/configuration.md");
    let example = text("handover.toml.example");
    // Only files of the Python tool use these, so the example does not show them.
    let python = ["note", "checkpoint", "repo_dir"];
    for key in config_keys() {
        let is_documented = page.contains(&format!("`{key}`")) || page.contains(&format!("[{key}"));
        assert!(is_documented, "`{key}` is not in configuration.md");
        let is_shown = example.contains(&format!("{key} "))
            || example.contains(&format!("[{key}]"))
            || example.contains(&format!("[{key}."));
        assert!(is_shown || python.contains(&key.as_str()), "`{key}` is not in the example");
    }
}

#[test]
fn every_step_kind_and_template_name_is_documented_and_in_the_example() {
    let page = text("docs/reference/configuration.md");
    let example = text("handover.toml.example");
    for kind in steps::KINDS {
        assert!(page.contains(&format!("`{}`", kind.name)), "the kind {} is not documented", kind.name);
        assert!(example.contains(&format!("kind = \"{}\"", kind.name)), "the kind {} is missing", kind.name);
    }
    for name in template::NAMES {
        assert!(page.contains(&format!("`{name}`")), "the name {name} is not documented");
        assert!(example.contains(name), "the name {name} is missing");
    }
}

/// Schema names are literals in the sources, or made of the name of a subcommand.
#[test]
fn every_json_schema_is_documented() {
    let page = text("docs/reference/json.md");
    let mut names = BTreeSet::new();
    let mut directories = vec![root().join("src")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            for rest in source.split("\"agent-handover/").skip(1) {
                let name = rest.split('"').next().unwrap();
                if name.ends_with("/1") && !name.contains('{') {
                    names.insert(format!("agent-handover/{name}"));
                }
            }
        }
    }
    assert!(names.len() > 12, "the sources were not found");
    let command = agent_handover::testing::cli::command_line();
    for (parent, prefix) in [("history", "history-"), ("trust", "trust-")] {
        for verb in command.find_subcommand(parent).unwrap().get_subcommands() {
            names.insert(format!("agent-handover/{prefix}{}/1", verb.get_name()));
        }
    }
    names.extend(["push", "pull", "memory-done", "memory-deleted"].map(|name| format!("agent-handover/{name}/1")));
    for name in &names {
        assert!(page.contains(&format!("`{name}`")), "{name} is not documented");
    }
    for name in page.split("`agent-handover/").skip(1).map(|rest| rest.split('`').next().unwrap()) {
        assert!(names.contains(&format!("agent-handover/{name}")), "nothing prints agent-handover/{name}");
    }
}

#[test]
fn every_directory_of_the_sources_is_in_the_architecture() {
    let page = text("docs/design/architecture.md");
    for entry in std::fs::read_dir(root().join("src")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            matches!(name, "lib" | "main") || page.contains(&format!("| `{name}` |")),
            "{name} is not in the table"
        );
    }
}

// What the pages show is true.

#[test]
fn every_console_block_does_what_it_shows() {
    // The pages show the default program, which registers its MCP server.
    if cfg!(not(feature = "mcp")) {
        return;
    }
    let mut commands = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        commands += run_page(&page, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands > 40, "only {commands} commands are shown");
}

/// Runs the commands of one page. Adds what differs to `wrong`; answers how many commands there were.
fn run_page(page: &str, wrong: &mut Vec<String>) -> usize {
    let world = World::with_git();
    let bin = world.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(BINARY, bin.join("agent-handover")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut cwd = world.root();
    let mut run = |command: &str| {
        if let Some(target) = command.strip_prefix("cd ") {
            cwd = cwd.join(target).canonicalize().unwrap_or_else(|cause| panic!("{page}: {command}: {cause}"));
            return finish(&mut world.clean("true"));
        }
        let mut shell = world.clean("sh");
        shell.args(["-c", &format!("exec 2>&1\n{command}")]).env("PATH", &path).current_dir(&cwd);
        for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
            shell.env(format!("{name}_NAME"), "Ada").env(format!("{name}_EMAIL"), "ada@example.com");
        }
        finish(&mut shell)
    };
    let mut commands = 0;
    for part in parts(page) {
        match part {
            Part::Line(number, line) => {
                let setup = line.strip_prefix("<!-- setup: ").and_then(|rest| rest.strip_suffix(" -->"));
                if let Some(command) = setup {
                    let output = run(command);
                    assert_eq!(output.code, 0, "{page}:{number}: {}", output.stdout);
                }
            }
            Part::Block(number, info, block) if info == "console" => {
                for (command, expected) in console(&format!("{page}:{number}"), &block) {
                    let output = run(&command);
                    let (actual, expected) = (snapbox::Data::text(output.stdout), snapbox::Data::text(expected));
                    let same = snapbox::Assert::new().normalize_paths(false).try_eq(None, actual, expected);
                    wrong.extend(same.err().map(|difference| format!("{page}:{number}: {command}{difference}")));
                    commands += 1;
                }
            }
            Part::Block(_, info, block) if info == "toml" => world.write("handover.toml", block),
            Part::Block(number, info, _) => {
                let reason = info.strip_prefix("console,ignore").map(str::trim);
                assert!(reason.is_none_or(|reason| !reason.is_empty()), "{page}:{number}: say why it is not run");
            }
        }
    }
    commands
}

/// The commands of a block, each with the output it shows.
fn console(place: &str, block: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), String::new()));
            continue;
        }
        let last = commands.last_mut().unwrap_or_else(|| panic!("{place}: a block begins with a command"));
        match line.strip_prefix("> ").or((line == ">").then_some("")) {
            Some(more) if last.1.is_empty() => last.0.push_str(&format!("\n{more}")),
            _ => last.1.push_str(&format!("{line}\n")),
        }
    }
    commands
}

/// The commands in `sh` blocks are not run, because they install things or end nowhere. They must at least parse.
#[test]
fn every_command_to_copy_parses() {
    let mut seen = 0;
    for page in pages() {
        for part in parts(&page) {
            let Part::Block(number, info, block) = part else { continue };
            if info != "sh" {
                continue;
            }
            for line in block.lines() {
                let words = words(line);
                if words.first().is_none_or(|first| first != "agent-handover") {
                    continue;
                }
                let parsed = agent_handover::testing::cli::command_line().try_get_matches_from(&words);
                if let Err(error) = parsed {
                    panic!("{page}:{number}: {line}\n{error}");
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 5, "only {seen} commands were seen");
}

/// The words of a shell line, up to a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            '#' if !is_quoted && word.is_empty() => break,
            ' ' if !is_quoted => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            _ => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[test]
fn every_config_that_is_shown_loads() {
    let mut configs = vec![("handover.toml.example".to_owned(), text("handover.toml.example"))];
    for page in pages() {
        for part in parts(&page) {
            match part {
                Part::Block(number, info, block) if info == "toml" => configs.push((format!("{page}:{number}"), block)),
                _ => {}
            }
        }
    }
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            configs.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(configs.len() >= 6);
    for (name, config) in configs {
        let is_own = config.starts_with("# ~/.config/agent-handover/config.toml\n");
        let parsed = if is_own {
            Config::parse_own(Path::new(&name), &config)
        } else {
            Config::parse(Path::new(&name), &config, &steps::vocabulary())
        };
        if let Err(error) = parsed {
            panic!("{name}: {:?}", error.problems());
        }
    }
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
    let world = World::new();
    let output = finish(world.clean(example_program("hand_over")).args(["said by a program", "where it stands"]));
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(world.read(NOTES).contains("said by a program"));
    world.run(&["check"]).expect(2);
}

/// `cargo test` compiles the example, so it compiles what the page shows.
#[test]
fn the_program_on_the_page_about_the_library_is_an_example_that_runs() {
    let is_rust = |part: &Part| matches!(part, Part::Block(_, info, _) if info == "rust");
    let mut blocks = parts("docs/library.md").into_iter().filter(is_rust);
    let (Some(Part::Block(_, _, block)), None) = (blocks.next(), blocks.next()) else { panic!("one block is shown") };
    let source = text("examples/library.rs");
    let before = source.strip_suffix(&block).expect("examples/library.rs ends with the block of docs/library.md");
    for line in before.lines() {
        assert!(line.is_empty() || line.starts_with("//!") || line.starts_with("#![allow("), "{line} is not shown");
    }
    let world = World::with_git();
    finish(&mut world.clean(example_program("library"))).expect(0);
    assert!(world.read(STATE).contains("error spans"));
    assert_eq!(world.read("wiki.txt"), "parser done\n");
    world.run(&["check"]).expect(2);
}

// The pages can be read.

/// The name that GitHub gives to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
}

fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for part in parts(page) {
        if let Part::Line(_, line) = part
            && let Some(heading) = line.strip_prefix('#')
        {
            anchors.insert(anchor(heading.trim_start_matches('#').trim()));
        }
    }
    anchors
}

/// The targets of the links in a line.
fn links(line: &str) -> Vec<&str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

#[test]
fn every_link_and_anchor_resolves() {
    let mut seen = 0;
    for page in pages().iter().map(String::as_str).chain(["CHANGELOG.md"]) {
        for part in parts(page) {
            let Part::Line(number, line) = part else { continue };
            for link in links(&line).into_iter().filter(|link| !link.starts_with("https://")) {
                let (path, wanted) = link.split_once('#').unwrap_or((link, ""));
                let target = match path {
                    "" => root().join(page),
                    path => root().join(page).parent().unwrap().join(path),
                };
                assert!(target.exists(), "{page}:{number}: {link} leads nowhere");
                if !wanted.is_empty() {
                    let target = target.canonicalize().unwrap();
                    let target = target.strip_prefix(root().canonicalize().unwrap()).unwrap().display().to_string();
                    assert!(anchors(&target).contains(wanted), "{page}:{number}: {link} has no such heading");
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "only {seen} links were seen");
}

#[test]
fn every_page_is_in_the_index() {
    let index = text("docs/README.md");
    for page in pages() {
        if let Some(page) = page.strip_prefix("docs/").filter(|page| *page != "README.md") {
            assert!(index.contains(&format!("]({page})")), "docs/{page} is not in the index");
        }
    }
}

#[test]
fn every_suite_of_the_page_about_reliability_exists() {
    let rows = table("docs/reliability.md", "## By suite");
    assert!(rows.len() > 20, "{rows:?}");
    for row in rows {
        let suite = row[0].trim_matches('`');
        assert!(root().join(format!("tests/it/{suite}.rs")).exists(), "{suite}");
        assert_eq!(row.last().map(String::as_str), Some("0"), "{suite} has violations");
    }
}

#[test]
fn prose_is_at_most_120_columns_wide() {
    for page in pages().iter().map(String::as_str).chain(["CHANGELOG.md"]) {
        for part in parts(page) {
            let Part::Line(number, line) = part else { continue };
            if line.starts_with('|') || line.starts_with("<!-- ") {
                continue;
            }
            let columns = line.chars().count() - links(&line).iter().map(|link| link.chars().count()).sum::<usize>();
            assert!(columns <= MAX_COLUMNS, "{page}:{number} has {columns} columns");
        }
    }
}

#[test]
fn the_pages_use_plain_words() {
    // The words of the generated page are those of `--help`.
    for page in pages().into_iter().filter(|page| page != "docs/reference/commands.md") {
        let words = text(&page).to_lowercase();
        for riddle in ["see below", "see above", "give up", "gives up", "is told", "are told", "for who ", "is no file"]
        {
            assert!(!words.contains(riddle), "{page} says \"{riddle}\"");
        }
    }
}

#[test]
fn the_readme_is_short() {
    let lines = text("README.md").lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
}

#[test]
fn the_test_command_of_the_readme_is_the_last_one_of_ci() {
    let ci = text(".ci/run");
    let last = ci.lines().rfind(|line| !line.trim().is_empty()).unwrap();
    assert!(text("README.md").contains(&format!("\n{last}\n")), "the README does not show `{last}`");
    for line in ["set -euo pipefail", "cargo fmt --check", "cargo clippy --all-targets -- -D warnings"] {
        assert!(ci.lines().any(|found| found == line), "{line}");
    }
    assert!(text(".github/workflows/ci.yml").contains(".ci/run"));
}

#[test]
fn the_changelog_has_this_version_and_three_kinds_of_change() {
    let changelog = text("CHANGELOG.md");
    assert!(changelog.contains(&format!("\n## {}", env!("CARGO_PKG_VERSION"))));
    for line in changelog.lines().filter(|line| line.starts_with("### ")) {
        assert!(["### Added", "### Changed", "### Fixed"].contains(&line), "{line}");
    }
}
