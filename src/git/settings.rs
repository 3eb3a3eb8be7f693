//! Settings of a repository that say where its work tree is, read from its configuration without starting git. Files that
//! it includes are not read.

use std::path::{Path, PathBuf};

use crate::base::fs::Anchor;

/// More than a configuration file has.
const MAX_CONFIG: u64 = 1 << 20;

/// The section `core` of a repository: names in lower case, with their values. A later one wins.
pub(super) struct Settings {
    core: Vec<(String, String)>,
}

impl Settings {
    /// Reads the configuration in a git directory. One that cannot be read sets nothing.
    pub(super) fn read(git_directory: &Path) -> Settings {
        let anchor = Anchor::new(git_directory);
        let read = |name: &str| anchor.read_within(Path::new(name), MAX_CONFIG).unwrap_or_default();
        let mut settings = Settings::parse(&String::from_utf8_lossy(&read("config")));
        settings.core.extend(Settings::parse(&String::from_utf8_lossy(&read("config.worktree"))).core);
        settings
    }

    pub(super) fn parse(text: &str) -> Settings {
        let mut core = Vec::new();
        let mut section = String::new();
        // A backslash at the end of a line continues the value.
        for line in text.replace("\\\r\n", "").replace("\\\n", "").lines() {
            let mut line = line.trim();
            if let Some((name, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                section = name.trim().to_lowercase();
                line = rest.trim();
            }
            if section != "core" || line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            core.push((key.trim().to_lowercase(), unquote(value.trim())));
        }
        Settings { core }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.core.iter().rev().find(|(found, _)| found == key).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_bare(&self) -> bool {
        self.get("bare").is_some_and(|value| ["true", "yes", "on", "1"].contains(&value.to_lowercase().as_str()))
    }

    /// The work tree that `core.worktree` names, which is relative to the git directory.
    pub(super) fn worktree(&self, git_directory: &Path) -> Option<PathBuf> {
        self.get("worktree").map(|path| git_directory.join(path))
    }
}

/// A value without its quotes, escapes and comment.
fn unquote(value: &str) -> String {
    let mut plain = String::new();
    let mut is_quoted = false;
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some(other) => plain.push(other),
                None => {}
            },
            '#' | ';' if !is_quoted => break,
            letter => plain.push(letter),
        }
    }
    plain.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_core_is_read_as_git_reads_it() {
        let text = "# c\n[Core] bare = false ; not bare\n[remote \"core\"]\n\tworktree = wrong\n[core]\n\tWorkTree = \
                    \"../a \\\"b\\\"\" # comment\n\tbare\n[core \"x\"]\nbare = false\n";
        let settings = Settings::parse(text);
        assert!(settings.is_bare());
        assert_eq!(settings.worktree(Path::new("/g")), Some(PathBuf::from("/g/../a \"b\"")));
        assert_eq!(Settings::parse("[core]\n\tworktree = ../\\\nx\n").get("worktree"), Some("../x"));
        assert!(!Settings::parse("").is_bare());
    }
}
