//! The house rules, read off the sources: who may use whom, and that no test file is forgotten.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file may use only directories of a lower rank, and its own.
const RANKS: &[(&str, u32)] = &[
    ("error", 0),
    ("base", 0),
    ("config", 1),
    ("git", 1),
    ("checkpoint", 1),
    ("handoff", 1),
    ("guard", 1),
    ("project", 2),
    ("memory", 2),
    ("history", 2),
    ("transcript", 2),
    ("facts", 3),
    ("bundle", 3),
    ("search", 3),
    ("publish", 3),
    ("agents", 3),
    ("steps", 4),
    ("engine", 5),
    ("warmup", 6),
    ("score", 6),
    ("report", 6),
    ("hook", 7),
    ("mcp", 7),
    ("cli", 8),
];

fn rank(name: &str) -> Option<u32> {
    RANKS.iter().find(|(known, _)| *known == name).map(|(_, rank)| *rank)
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The top-level modules that a text names as `crate::x` or inside `use crate::{x, …}`.
fn used(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut item = String::new();
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => names.push(word(std::mem::take(&mut item).trim())),
                    _ if depth == 0 => item.push(c),
                    _ => {}
                }
            }
            names.push(word(item.trim()));
        } else {
            names.push(word(rest));
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Each upward or sideways use in these sources.
fn violations(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        let own = path.split(['/', '.']).next().unwrap();
        if matches!(own, "main" | "lib") {
            continue;
        }
        let Some(own_rank) = rank(own) else {
            found.push(format!("{path}: `{own}` has no rank"));
            continue;
        };
        // Tests may set up their world with whatever they like.
        let text = text.split("#[cfg(test)]").next().unwrap();
        for name in used(text) {
            let used_rank = rank(&name);
            // Rank 0 is one layer: an error is what `base` gives back, and needs no more than that.
            let allowed = name == own || used_rank.is_some_and(|used| used < own_rank || used == 0 && own_rank == 0);
            if !allowed {
                found.push(format!("{path} uses `{name}`"));
            }
        }
    }
    found
}

#[test]
fn nothing_uses_a_directory_of_its_own_or_a_higher_rank() {
    let base = root().join("src");
    let files: BTreeMap<String, String> = sources(&base)
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&base).unwrap().display().to_string();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    assert!(files.len() > 20, "the sources were not found");
    assert_eq!(violations(&files), [""; 0]);
}

#[test]
fn the_rank_test_itself_sees_what_it_must() {
    let file = |path: &str, text: &str| BTreeMap::from([(path.to_owned(), text.to_owned())]);
    assert_eq!(violations(&file("memory/mod.rs", "use crate::engine::Plan;")), ["memory/mod.rs uses `engine`"]);
    assert_eq!(
        violations(&file("git/a.rs", "use crate::{base::fs, config::{a, b}, error};")),
        ["git/a.rs uses `config`"]
    );
    assert_eq!(violations(&file("config/mod.rs", "fn f() { crate::cli::main() }")), ["config/mod.rs uses `cli`"]);
    assert_eq!(violations(&file("helpers.rs", "")), ["helpers.rs: `helpers` has no rank"]);
    assert_eq!(violations(&file("steps/a.rs", "use crate::memory::Memory;\nuse crate::steps::Kind;")), [""; 0]);
}

#[test]
fn every_source_and_test_file_is_part_of_a_module() {
    for (directory, top) in [("src", "lib.rs"), ("tests/it", "main.rs")] {
        let base = root().join(directory);
        for file in sources(&base) {
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            if matches!(name.as_str(), "lib" | "main") {
                continue;
            }
            let (module, parent) = match name.as_str() {
                "mod" => (
                    file.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned(),
                    file.parent().unwrap().parent().unwrap(),
                ),
                _ => (name, file.parent().unwrap()),
            };
            let declared_in = if parent == base { parent.join(top) } else { parent.join("mod.rs") };
            let text = std::fs::read_to_string(&declared_in).unwrap();
            assert!(text.contains(&format!("mod {module};")), "{} is in no module", file.display());
        }
    }
}
