//! The sources of the program, as the house rules read them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::tokens::{Placed, test_modules, tokens, without_tests};

/// Source texts and their code.
pub struct Sources {
    /// By their path below `src`.
    texts: BTreeMap<String, String>,
    /// Without tests: neither the items under `#[cfg(test)]` nor the files that are declared under it.
    code: BTreeMap<String, Vec<Placed>>,
}

impl Sources {
    /// All sources of this package, read once.
    pub fn of_package() -> &'static Sources {
        static SOURCES: OnceLock<Sources> = OnceLock::new();
        SOURCES.get_or_init(|| {
            let base = root().join("src");
            let name = |path: &Path| path.strip_prefix(&base).unwrap().display().to_string();
            let files = rust_files(&base);
            assert!(files.len() > 20, "the sources were not found");
            Sources::of(files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect())
        })
    }

    /// Sources that a test of a rule makes up.
    pub fn planted(files: &[(&str, &str)]) -> Sources {
        Sources::of(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    fn of(texts: BTreeMap<String, String>) -> Sources {
        let all: Vec<(&String, Vec<Placed>)> = texts.iter().map(|(path, text)| (path, tokens(text))).collect();
        let tests: Vec<String> = all.iter().flat_map(|(path, tokens)| files_of(path, test_modules(tokens))).collect();
        let is_test =
            |path: &str| tests.iter().any(|test| path == format!("{test}.rs") || path.starts_with(&format!("{test}/")));
        let code = all.iter().filter(|(path, _)| !is_test(path));
        let code = code.map(|(path, tokens)| ((*path).clone(), without_tests(tokens))).collect();
        Sources { texts, code }
    }

    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub fn code(&self) -> impl Iterator<Item = (&str, &[Placed])> {
        self.code.iter().map(|(path, tokens)| (path.as_str(), tokens.as_slice()))
    }

    /// The top-level modules, in the order of their names.
    pub fn directories(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.texts.keys().map(|path| path.split(['/', '.']).next().unwrap().to_owned()).collect();
        names.dedup();
        names.retain(|name| !matches!(name.as_str(), "lib" | "main"));
        names
    }
}

/// The paths, without their ending, of modules that the file at `path` declares.
fn files_of(path: &str, modules: Vec<String>) -> Vec<String> {
    let stem = path.trim_end_matches(".rs");
    let directory = match stem.rsplit_once('/') {
        Some((directory, "mod")) => format!("{directory}/"),
        None if matches!(stem, "lib" | "main") => String::new(),
        _ => format!("{stem}/"),
    };
    modules.into_iter().map(|module| format!("{directory}{module}")).collect()
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a directory.
pub fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
