//! The files as a commit on the branch, in an index of our own, and never with a secret in it.

use std::path::{Path, PathBuf};

use super::failure::Result;
use super::publisher::{Publisher, empty_tree};
use crate::base::fs;
use crate::git::{FailureKind, Tip};
use crate::guard::{acknowledge, secrets};

/// Who commits where nobody is configured.
const NOBODY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "agent-handover"),
    ("GIT_AUTHOR_EMAIL", "agent-handover@localhost"),
    ("GIT_COMMITTER_NAME", "agent-handover"),
    ("GIT_COMMITTER_EMAIL", "agent-handover@localhost"),
];

impl Publisher<'_> {
    /// Commits the files as they are. The answer is the commit that has them, new or not; `None` if somebody else moved
    /// the branch meanwhile.
    pub(super) fn commit(&mut self, tip: Option<&Tip>, theirs: Option<&str>) -> Result<Option<String>> {
        let theirs = match (tip, theirs) {
            // What is below our tip already is no second parent.
            (Some(tip), Some(theirs)) if self.git().is_ancestor(theirs, &tip.commit)? => None,
            (_, theirs) => theirs,
        };
        let tree = self.tree(tip, theirs)?;
        if let Some(tip) = tip.filter(|tip| tip.tree == tree && theirs.is_none()) {
            tip.commit.clone_into(&mut self.ledger.synced);
            return Ok(Some(tip.commit.clone()));
        }
        let their_tree = theirs.map(|theirs| self.git().tree_of(theirs)).transpose()?;
        let is_behind = match (tip, theirs) {
            (Some(tip), Some(theirs)) => self.git().is_ancestor(&tip.commit, theirs)?,
            (None, Some(_)) => true,
            _ => false,
        };
        let old = tip.map(|tip| tip.commit.as_str());
        if let Some(theirs) = theirs.filter(|_| is_behind && their_tree.as_deref() == Some(&tree)) {
            return Ok(self.move_branch(theirs, old)?.then(|| theirs.to_owned()));
        }
        let differences = self.git().differences(their_tree.as_deref().or(tip.map(|tip| tip.tree.as_str())), &tree)?;
        // What every machine derives for itself is no news: two that were written in one second may stand in two orders.
        if let Some(tip) = tip.filter(|_| theirs.is_none())
            && differences.iter().all(|difference| self.is_derived(&difference.path))
        {
            tip.commit.clone_into(&mut self.ledger.synced);
            return Ok(Some(tip.commit.clone()));
        }
        let changed: Vec<(String, PathBuf)> =
            differences.into_iter().filter_map(|difference| Some((difference.new?, difference.path))).collect();
        self.refuse_secrets_in(&changed)?;
        let mut parents: Vec<&str> = Vec::new();
        parents.extend(old.filter(|_| !is_behind));
        parents.extend(theirs);
        let message =
            format!("{}\n\nHandover-Run: {}\n", secrets::clean(self.delivery.message.trim()), self.delivery.run.id);
        let sign = self.git().signs()?;
        let commit = match self.git().commit_tree(&tree, &parents, &message, sign) {
            Err(failure) if failure.kind == FailureKind::NoIdentity => {
                let git = NOBODY.iter().fold(self.git(), |git, (name, value)| git.with_env(name, *value));
                git.commit_tree(&tree, &parents, &message, sign)?
            }
            commit => commit?,
        };
        // What is below it was looked into when it was committed, or is on the remote.
        let was_searched = old.is_none_or(|old| self.ledger.searched == old || self.ledger.delivered == old);
        if was_searched {
            commit.clone_into(&mut self.ledger.searched);
        }
        Ok(self.move_branch(&commit, old)?.then_some(commit))
    }

    /// The files as a tree: what is on the branch, with our paths as they are here.
    pub(super) fn tree(&mut self, tip: Option<&Tip>, theirs: Option<&str>) -> Result<String> {
        let index = self.delivery.files.state.join("publish.index");
        if theirs.is_some() && !self.ledger.indexed.is_empty() {
            // Who is killed in a merge leaves an index of it, which must not be taken for that of the branch.
            self.ledger.indexed.clear();
            self.ledger.write(self.delivery.files.state)?;
        }
        let build = |publisher: &Publisher<'_>| -> Result<String> {
            match (tip, theirs) {
                // Our own index of last time knows what has not changed since.
                (Some(tip), None) if publisher.ledger.indexed == tip.tree && index.exists() => {}
                (Some(tip), None) => publisher.git().read_tree(&tip.tree)?,
                (None, Some(theirs)) => publisher.git().read_tree(theirs)?,
                (None, None) => publisher.git().read_tree(&empty_tree(&publisher.common_dir))?,
                (Some(tip), Some(theirs)) => {
                    if index.exists() {
                        fs::remove_file(&index)?;
                    }
                    let base = publisher.git().merge_base(&tip.commit, theirs)?;
                    let base = base.unwrap_or_else(|| empty_tree(&publisher.common_dir));
                    publisher.git().read_merge(&base, &tip.commit, theirs)?;
                }
            }
            let pathspecs = publisher.pathspecs();
            if !pathspecs.is_empty() {
                publisher.git().add(&pathspecs)?;
            }
            Ok(publisher.git().write_tree()?)
        };
        let tree = self.unless_locked(|publisher| build(publisher)).or_else(|halted| {
            // A damaged index of ours is made anew; anything else fails the same way again.
            if index.exists() && !halted.is(FailureKind::Locked) {
                fs::remove_file(&index)?;
                self.ledger.indexed.clear();
                return build(self);
            }
            Err(halted)
        })?;
        tree.clone_into(&mut self.ledger.indexed);
        Ok(tree)
    }

    /// What is on disk of our paths, and never the state directory or what a killed writer left.
    pub(super) fn pathspecs(&self) -> Vec<PathBuf> {
        let magic = |magic: &str, path: &Path| {
            let mut spec = std::ffi::OsString::from(magic);
            spec.push(path);
            PathBuf::from(spec)
        };
        let there = self.paths.iter().filter(|path| self.top.join(path).symlink_metadata().is_ok());
        let mut specs: Vec<PathBuf> = there.map(|path| magic(":(top,literal)", path)).collect();
        if specs.is_empty() {
            return specs;
        }
        let state = fs::resolve(self.delivery.files.state).unwrap_or_else(|_| self.delivery.files.state.to_path_buf());
        if let Ok(state) = state.strip_prefix(&self.top)
            && self.paths.iter().any(|path| state.starts_with(path))
        {
            specs.push(magic(":(top,exclude,literal)", state));
        }
        specs.push(magic(":(top,exclude,glob)", Path::new(&format!("**/{}", fs::TEMPORARY_GLOB))));
        specs
    }

    /// Looks into every file that a push would send away, unless each was looked into when it was committed.
    pub(super) fn refuse_secrets_in_push(&mut self, commit: &str, there: Option<&str>) -> Result<()> {
        if self.ledger.searched == commit {
            return Ok(());
        }
        let there =
            there.map(str::to_owned).or_else(|| Some(self.ledger.delivered.clone()).filter(|id| !id.is_empty()));
        self.refuse_secrets_in(&self.git().objects_to_send(commit, there.as_deref())?)?;
        commit.clone_into(&mut self.ledger.searched);
        Ok(())
    }

    pub(super) fn refuse_secrets_in(&self, files: &[(String, PathBuf)]) -> Result<()> {
        let ids: Vec<&str> = files.iter().map(|(id, _)| id.as_str()).collect();
        let mut leaks = Vec::new();
        for ((_, path), content) in files.iter().zip(self.git().blobs(&ids)?) {
            leaks.extend(content.map(|content| acknowledge::leaks(&self.top, path, &content)).unwrap_or_default());
        }
        if leaks.is_empty() { Ok(()) } else { Err(secrets::refuse(&leaks).into()) }
    }
}
