//! How commits that were recorded earlier relate to HEAD, and what came after them.

use super::{Change, Commit, Git, Result, is_object_id, is_part_of_id, parse};

/// How a commit relates to HEAD's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The commit is part of it.
    Ancestor,
    /// The commit exists outside it: on another branch, or history was rewritten.
    Aside,
    /// git does not know the commit, or no longer.
    Unknown,
}

impl Git {
    /// How each of these commits, given by full or partial id, relates to `head`. Two processes, for any number of commits.
    pub(crate) fn relations(&self, commits: &[String], head: &str) -> Result<Vec<(String, Relation)>> {
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
            // `rev-list` names what is reachable from them and not from HEAD. A commit that it does not name is an ancestor.
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

    /// The commits that `head` has and `base` has not, newest first, at most `max`, and the files that `head` changed since
    /// its history left that of `base`.
    pub(crate) fn since(&self, base: &str, head: &str, max: usize) -> Result<(Vec<Commit>, Vec<Change>)> {
        let commits = self.log(base, head, max)?;
        let range = format!("{base}...{head}");
        let fixed = ["diff", "-z", "-M", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color", "--name-status"];
        let answer = self.read(&[&fixed[..], &[&range, "--"]].concat())?;
        Ok((commits, parse::name_status(&answer)))
    }
}
