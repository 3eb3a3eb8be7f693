//! What became of commits that somebody wrote down earlier, and what came after them.

use super::{Change, Commit, Git, is_object_id, parse};
use crate::error::Result;

/// How HEAD's history knows a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It is part of it.
    Ancestor,
    /// It is there, but on another branch, or history was rewritten.
    Aside,
    /// git does not know it (any more).
    Unknown,
}

impl Git {
    /// How each of these commits, written whole or in part, stands to `head`, in two processes however many there are.
    pub fn relations(&self, commits: &[String], head: &str) -> Result<Vec<(String, Relation)>> {
        let commits: Vec<&String> = commits.iter().filter(|commit| is_part_of_id(commit)).collect();
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let lines = |arguments: &[String]| -> Result<Vec<String>> {
            let answer = self.read(&arguments.iter().map(String::as_str).collect::<Vec<_>>())?;
            Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
        };
        let ask = commits.iter().map(|commit| format!("--disambiguate={commit}"));
        let mut known = lines(&std::iter::once("rev-parse".to_owned()).chain(ask).collect::<Vec<_>>())?;
        known.retain(|id| is_object_id(id));
        let mut aside = Vec::new();
        if !known.is_empty() {
            // What can be reached from them and not from HEAD: one that is not in it is an ancestor.
            let fixed = ["rev-list".to_owned(), "--ignore-missing".to_owned(), format!("^{head}")];
            aside = lines(&fixed.into_iter().chain(known.clone()).collect::<Vec<_>>())?;
        }
        let is_in = |ids: &[String], commit: &str| ids.iter().any(|id| id.starts_with(commit));
        let relation = |commit: &str| match (is_in(&known, commit), is_in(&aside, commit)) {
            (false, _) => Relation::Unknown,
            (true, true) => Relation::Aside,
            (true, false) => Relation::Ancestor,
        };
        Ok(commits.into_iter().map(|commit| (commit.clone(), relation(commit))).collect())
    }

    /// Commits of `head` that `base` has not, newest first, at most `max`, and the files that differ since both parted.
    pub fn since(&self, base: &str, head: &str, max: usize) -> Result<(Vec<Commit>, Vec<Change>)> {
        let commits = self.log(base, head, max)?;
        let range = format!("{base}...{head}");
        let fixed = ["diff", "-z", "-M", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color", "--name-status"];
        let answer = self.read(&[&fixed[..], &[&range, "--"]].concat())?;
        Ok((commits, parse::name_status(&answer)))
    }
}

/// Whether this is enough of an object's id to mean one, and nothing else.
pub fn is_part_of_id(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
