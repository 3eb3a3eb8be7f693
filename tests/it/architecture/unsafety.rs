//! Where `unsafe` may be: in one block of one file.

use super::sources::{root, rust_files};
use super::tokens::tokens;

/// The file that may allow `unsafe_code`, and the blocks that it has.
const HOME: (&str, usize) = ("src/search/vectors/extension.rs", 1);

/// What breaks the rule in these files, which are given by their paths and texts.
pub fn violations(files: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        let tokens = tokens(text);
        if path == HOME.0 {
            let blocks = tokens.windows(2).filter(|pair| pair[0].token.is("unsafe") && pair[1].token.is("{")).count();
            if blocks != HOME.1 {
                found.push(format!("{path} has {blocks} blocks of `unsafe`, not {}", HOME.1));
            }
            continue;
        }
        for placed in tokens.iter().filter(|placed| placed.token.is("unsafe") || placed.token.is("unsafe_code")) {
            found.push(format!("{path}:{} has `unsafe` or allows it", placed.line));
        }
    }
    if !files.iter().any(|(path, _)| path == HOME.0) {
        found.push(format!("{} does not exist", HOME.0));
    }
    found
}

/// Every Rust file of the package.
pub fn files() -> Vec<(String, String)> {
    let base = root();
    let found = ["src", "tests", "benches"].into_iter().flat_map(|directory| rust_files(&base.join(directory)));
    found
        .map(|path| {
            let name = path.strip_prefix(&base).unwrap().display().to_string();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// The planted files, each with its path and text.
pub fn planted(files: &[(&str, &str)]) -> Vec<String> {
    let home = (HOME.0, "unsafe { f() }");
    let is_given = files.iter().any(|(path, _)| *path == HOME.0);
    let all = files.iter().copied().chain((!is_given).then_some(home));
    violations(&all.map(|(path, text)| (path.to_owned(), text.to_owned())).collect::<Vec<_>>())
}
