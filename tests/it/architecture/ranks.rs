//! Who may use whom: a file may use only its own directory and directories of a lower rank.
//!
//! A use is every path that starts at the root of the crate, however it gets there: `crate::x`, a group
//! `use crate::{x, y::{…}}`, or `super::` and `self::` often enough to leave the own directory.

use super::sources::Sources;
use super::tokens::{Placed, Token};

/// The ranks, those of directories that do not exist yet included. The table in the header of `src/lib.rs` says the same.
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
    ("recap", 4),
    ("steps", 5),
    ("engine", 6),
    ("warmup", 7),
    ("score", 7),
    ("report", 8),
    ("hook", 8),
    ("mcp", 8),
    ("parsers", 9),
    ("library", 9),
    ("cli", 9),
];

fn rank(name: &str) -> Option<u32> {
    RANKS.iter().find(|(known, _)| *known == name).map(|(_, rank)| *rank)
}

/// The module of a file: `memory/state/mod.rs` is `["memory", "state"]`, `project.rs` is `["project"]`.
fn module_of(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').map(str::to_owned).collect()
}

/// The names at the root of the crate that these tokens use, each with its line. `*` stands for all of them.
fn used(tokens: &[Placed], file_module: &[String]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    // The modules written inside the file that are open at this point, with the depth of their block.
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while at < tokens.len() {
        let is_path_start = at == 0 || !tokens[at - 1].token.is("::");
        match &tokens[at].token {
            Token::Mark("{") => {
                depth += 1;
                if at >= 2 && tokens[at - 2].token.is("mod") {
                    open.extend(tokens[at - 1].token.word().map(|name| (name.to_owned(), depth)));
                }
            }
            Token::Mark("}") => {
                open.retain(|(_, block)| *block != depth);
                depth -= 1;
            }
            Token::Word(word) if is_path_start && matches!(word.as_str(), "crate" | "super" | "self") => {
                let mut module = file_module.to_vec();
                module.extend(open.iter().map(|(name, _)| name.clone()));
                // A group has braces of its own, so the place after the path is counted from here.
                at = follow(tokens, at, module, &mut found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Follows one path or group from the module that it starts in, and gives back the place after it.
fn follow(tokens: &[Placed], start: usize, mut module: Vec<String>, found: &mut Vec<(String, usize)>) -> usize {
    let mut at = start;
    while let Some(Placed { token, line }) = tokens.get(at) {
        let goes_on = tokens.get(at + 1).is_some_and(|next| next.token.is("::"));
        match token {
            Token::Word(word) if word == "crate" => module.clear(),
            Token::Word(word) if word == "super" => {
                module.pop();
            }
            Token::Word(word) if word == "self" => {}
            Token::Word(word) => {
                if module.is_empty() {
                    found.push((word.clone(), *line));
                }
                module.push(word.clone());
            }
            Token::Mark("*") => {
                if module.is_empty() {
                    found.push(("*".to_owned(), *line));
                }
                return at + 1;
            }
            Token::Mark("{") => return follow_group(tokens, at, &module, found),
            _ => return at,
        }
        at += 1;
        if !goes_on {
            // `use crate as root` gives the whole crate another name.
            if module.is_empty() && tokens.get(at).is_some_and(|next| next.token.is("as")) {
                found.push(("*".to_owned(), *line));
            }
            return at;
        }
        at += 1;
    }
    at
}

fn follow_group(tokens: &[Placed], start: usize, module: &[String], found: &mut Vec<(String, usize)>) -> usize {
    let mut at = start + 1;
    while let Some(placed) = tokens.get(at) {
        match &placed.token {
            Token::Mark("}") => return at + 1,
            Token::Word(word) if word != "as" => at = follow(tokens, at, module.to_vec(), found),
            Token::Mark("*" | "{") => at = follow(tokens, at, module.to_vec(), found),
            // `x as y`: the new name is not a path.
            Token::Word(_) => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// Each use of a directory of the same or a higher rank.
pub fn violations(sources: &Sources) -> Vec<String> {
    let mut found = Vec::new();
    for (path, tokens) in sources.code() {
        let module = module_of(path);
        let own = &module[0];
        if matches!(own.as_str(), "main" | "lib") {
            continue;
        }
        let Some(own_rank) = rank(own) else {
            found.push(format!("{path}: `{own}` has no rank"));
            continue;
        };
        for (name, line) in used(tokens, &module) {
            // Rank 0 is one layer: `base` returns errors, and an error is built with `base`.
            let is_allowed =
                name == *own || rank(&name).is_some_and(|used| used < own_rank || used == 0 && own_rank == 0);
            if !is_allowed {
                found.push(format!("{path}:{line} uses `{name}`"));
            }
        }
    }
    found
}

/// The rows of the table in the header of `src/lib.rs`: rank, directory and what it owns.
fn table(header: &str) -> Vec<(u32, String, String)> {
    let rows = header.lines().filter_map(|line| line.strip_prefix("//! |"));
    rows.filter_map(|row| {
        let mut cells = row.split('|').map(str::trim);
        let rank = cells.next()?.parse().ok()?;
        let name = cells.next()?.trim_matches(['[', ']', '`']).to_owned();
        Some((rank, name, cells.next()?.to_owned()))
    })
    .collect()
}

/// Where the table in the header of `src/lib.rs` differs from the ranks or from the directories that exist.
pub fn differences(header: &str, directories: &[String]) -> Vec<String> {
    let table = table(header);
    let mut found = Vec::new();
    for name in directories {
        match table.iter().filter(|(_, row, _)| row == name).count() {
            1 => {}
            rows => found.push(format!("`{name}` has {rows} rows in the table of src/lib.rs")),
        }
    }
    for (row_rank, name, owns) in &table {
        if !directories.contains(name) {
            found.push(format!("the table of src/lib.rs has a row for `{name}`, which does not exist"));
        } else if rank(name) != Some(*row_rank) {
            found.push(format!("`{name}` has rank {row_rank} in src/lib.rs and {:?} in the test", rank(name)));
        }
        if owns.is_empty() {
            found.push(format!("the table of src/lib.rs does not say what `{name}` owns"));
        }
    }
    if !table.is_sorted_by_key(|(rank, ..)| *rank) {
        found.push("the table of src/lib.rs is not in the order of the ranks".to_owned());
    }
    found
}
