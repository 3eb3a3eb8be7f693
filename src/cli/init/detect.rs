//! The command that runs the tests of a project, from the files that its tools leave.

use std::path::Path;

use serde_json::Value;

use crate::base::fs::Anchor;

/// No file that is looked at is longer.
const LONGEST: u64 = 1 << 20;

/// How the tests of a project are run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TestCommand {
    pub argv: Vec<&'static str>,
    /// The file that says so.
    pub file: &'static str,
}

/// A sign of a test command: a file, what it must contain, and the command.
struct Sign {
    files: &'static [&'static str],
    says: fn(&str) -> bool,
    argv: &'static [&'static str],
}

/// The signs in order. What the people of a project wrote for it comes before what the tools of a language do by themselves.
const SIGNS: &[Sign] = &[
    Sign { files: &["justfile", "Justfile", ".justfile"], says: has_target, argv: &["just", "test"] },
    Sign { files: &["mise.toml", ".mise.toml"], says: has_mise_task, argv: &["mise", "run", "test"] },
    Sign { files: &["Makefile", "makefile", "GNUmakefile"], says: has_target, argv: &["make", "test"] },
    Sign { files: &["Cargo.toml"], says: any, argv: &["cargo", "test", "--quiet"] },
    Sign { files: &["go.mod"], says: any, argv: &["go", "test", "./..."] },
    Sign { files: &["package.json"], says: has_npm_script, argv: &["npm", "test", "--silent"] },
    Sign { files: &["pytest.ini", "conftest.py"], says: any, argv: &["pytest", "-q"] },
    Sign { files: &["pyproject.toml", "setup.cfg", "tox.ini"], says: names_pytest, argv: &["pytest", "-q"] },
];

/// The test command of the project, if one is found. Files are read without following links.
pub(super) fn test_command(root: &Path) -> Option<TestCommand> {
    let anchor = Anchor::new(root);
    let read = |file: &str| anchor.read_text(&root.join(file), LONGEST).ok().flatten();
    SIGNS.iter().find_map(|sign| {
        let file = sign.files.iter().find(|file| read(file).is_some_and(|text| (sign.says)(&text)))?;
        Some(TestCommand { argv: sign.argv.to_vec(), file })
    })
}

fn any(_: &str) -> bool {
    true
}

/// A target or recipe `test`: in a line of its own, before a colon, perhaps with parameters.
fn has_target(text: &str) -> bool {
    text.lines().any(|line| {
        let Some((head, rest)) = line.split_once(':') else { return false };
        let is_assignment = rest.starts_with('=') || rest.starts_with(":=");
        !is_assignment && !line.starts_with([' ', '\t', '#']) && head.split_whitespace().next() == Some("test")
    })
}

fn has_mise_task(text: &str) -> bool {
    let table = toml::from_str::<toml::Table>(text).unwrap_or_default();
    table.get("tasks").and_then(|tasks| tasks.get("test")).is_some()
}

/// `npm init` writes a script that only fails.
fn has_npm_script(text: &str) -> bool {
    let document = serde_json::from_str::<Value>(text).unwrap_or_default();
    document["scripts"]["test"].as_str().is_some_and(|script| !script.contains("no test specified"))
}

fn names_pytest(text: &str) -> bool {
    text.contains("pytest")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::scratch;

    #[test]
    fn the_test_command_of_each_kind_of_project_is_found() {
        let cases: &[(&str, &str, Option<&[&str]>)] = &[
            ("Cargo.toml", "[package]\n", Some(&["cargo", "test", "--quiet"])),
            ("go.mod", "module x\n", Some(&["go", "test", "./..."])),
            ("package.json", r#"{"scripts": {"test": "vitest"}}"#, Some(&["npm", "test", "--silent"])),
            ("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#, None),
            ("package.json", "not JSON", None),
            ("pyproject.toml", "[tool.pytest.ini_options]\n", Some(&["pytest", "-q"])),
            ("pyproject.toml", "[project]\n", None),
            ("conftest.py", "", Some(&["pytest", "-q"])),
            ("Makefile", "all: test\n\ntest: build\n\tcc\n", Some(&["make", "test"])),
            ("Makefile", "all:\n\ttest: x\ntest := 3\n", None),
            ("justfile", "test *args:\n  cargo test\n", Some(&["just", "test"])),
            ("mise.toml", "[tasks.test]\nrun = \"x\"\n", Some(&["mise", "run", "test"])),
            ("README.md", "test: yes\n", None),
        ];
        for (file, text, expected) in cases {
            let directory = scratch::directory();
            std::fs::write(directory.path().join(file), text).unwrap();
            let found = test_command(directory.path()).map(|found| found.argv);
            assert_eq!(found.as_deref(), *expected, "{file}: {text}");
        }
    }

    #[test]
    fn what_people_wrote_for_the_project_comes_first() {
        let directory = scratch::directory();
        std::fs::write(directory.path().join("Cargo.toml"), "").unwrap();
        std::fs::write(directory.path().join("justfile"), "test:\n").unwrap();
        assert_eq!(test_command(directory.path()).unwrap().file, "justfile");
    }
}
