//! The files as a commit on the branch, made in an index of our own, and never with a secret in it.

use std::path::{Path, PathBuf};

use super::failure::{Result, explain};
use super::publisher::{INDEX, Publisher, empty_tree};
use crate::base::fs;
use crate::config::TALK;
use crate::error::Error;
use crate::git::{self, Asked, FailureKind, Git, Tip};
use crate::guard::{acknowledge, secrets};

/// The identity on commits of a user who has configured none.
const NOBODY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "agent-handover"),
    ("GIT_AUTHOR_EMAIL", "agent-handover@localhost"),
    ("GIT_COMMITTER_NAME", "agent-handover"),
    ("GIT_COMMITTER_EMAIL", "agent-handover@localhost"),
];

impl Publisher<'_> {
    /// Commits the files as they are, as a merge if `theirs` is not below the tip. Returns the commit that has the files, new
    /// or not. `None` if somebody else moved the branch meanwhile.
    pub(super) fn commit(&mut self, tip: Option<&Tip>, theirs: Option<&str>) -> Result<Option<String>> {
        let theirs = match (tip, theirs) {
            // A commit that is already below the tip is not a second parent.
            (Some(tip), Some(theirs)) if self.git().is_ancestor(theirs, &tip.commit)? => None,
            (_, theirs) => theirs,
        };
        let (tree, from_tip) = self.tree_and_differences(tip, theirs)?;
        if let Some(tip) = tip.filter(|tip| tip.tree == tree && theirs.is_none()) {
            // It ends at the same time as the one that wrote the tree.
            let _ = from_tip.map(Git::differences_of_index);
            return Ok(Some(self.already_at(tip)));
        }
        let their_tree = theirs.map(|theirs| self.git().tree_of(theirs)).transpose()?;
        let is_behind = match (tip, theirs) {
            (Some(tip), Some(theirs)) => self.git().is_ancestor(&tip.commit, theirs)?,
            (None, Some(_)) => true,
            _ => false,
        };
        let old = tip.map(|tip| tip.commit.as_str());
        let differences = match (&their_tree, from_tip) {
            (Some(same), _) if *same == tree => Vec::new(),
            (_, Some(asked)) => Git::differences_of_index(asked)?,
            (below, None) => self.git().differences(below.as_deref().or(tip.map(|tip| tip.tree.as_str())), &tree)?,
        };
        // A change of files that every machine derives for itself is not worth a commit: two machines whose clocks are apart
        // would replace each other's for ever.
        if differences.iter().all(|difference| self.is_derived(&difference.path)) {
            match (tip, theirs) {
                (_, Some(theirs)) if is_behind => {
                    return Ok(self.move_branch(theirs, old)?.then(|| theirs.to_owned()));
                }
                (Some(tip), None) => return Ok(Some(self.already_at(tip))),
                _ => {}
            }
        }
        let changed: Vec<(String, PathBuf)> =
            differences.into_iter().filter_map(|difference| Some((difference.new?, difference.path))).collect();
        self.refuse_secrets_in(&changed)?;
        let parents: Vec<&str> = old.filter(|_| !is_behind).into_iter().chain(theirs).collect();
        let commit = self.write_commit(&tree, &parents)?;
        self.remember_searched(&commit, old);
        Ok(self.move_branch(&commit, old)?.then_some(commit))
    }

    /// Records that every file of a new commit was searched, if that is known of the commit below it, too: it was searched
    /// when it was made, or is on the remote already.
    pub(super) fn remember_searched(&mut self, commit: &str, old: Option<&str>) {
        if old.is_none_or(|old| self.ledger.searched == old || self.ledger.delivered == old) {
            commit.clone_into(&mut self.ledger.searched);
        }
    }

    /// Records that the tip has the files as they are.
    pub(super) fn already_at(&mut self, tip: &Tip) -> String {
        tip.commit.clone_into(&mut self.ledger.synced);
        tip.commit.clone()
    }

    pub(super) fn write_commit(&self, tree: &str, parents: &[&str]) -> Result<String> {
        let sign = self.git().signs()?;
        self.write_commit_with(tree, parents, sign)
    }

    pub(super) fn write_unsigned_commit(&self, tree: &str, parents: &[&str]) -> Result<String> {
        self.write_commit_with(tree, parents, false)
    }

    fn write_commit_with(&self, tree: &str, parents: &[&str], sign: bool) -> Result<String> {
        let message =
            format!("{}\n\nHandover-Run: {}\n", secrets::clean(self.delivery.message.trim()), self.delivery.run.id);
        if sign {
            self.check_signing_answers()?;
        }
        let git = self.git();
        let commit = match git.commit_tree(tree, parents, &message, sign) {
            Err(failure) if failure.kind == FailureKind::NoIdentity => {
                let git = NOBODY.iter().fold(git.clone(), |git, (name, value)| git.with_env(name, *value));
                git.commit_tree(tree, parents, &message, sign)
            }
            commit => commit,
        };
        commit.map_err(|failure| {
            self.remember_if_signing_hangs(&failure);
            failure.into()
        })
    }

    /// Fails if the signing program did not answer to an earlier delivery of this command.
    fn check_signing_answers(&self) -> Result<()> {
        let timeout_ms = self.delivery.destination.timeout_ms;
        self.delivery.unreachable.signing_message(&self.top, timeout_ms).map_or(Ok(()), |message| {
            Err(Error::failed(message).hint("`agent-handover push`, or the next handover, tries again").into())
        })
    }

    fn remember_if_signing_hangs(&self, failure: &git::Failure) {
        if failure.kind == FailureKind::SigningTimedOut {
            let destination = self.delivery.destination;
            let error = explain(failure.clone(), destination);
            self.delivery.unreachable.add_signing(&self.top, destination.timeout_ms, error.message());
        }
    }

    /// Moves the branch here to a commit that has the files as they are. `false` if somebody else moved it meanwhile.
    pub(super) fn move_branch(&mut self, commit: &str, from: Option<&str>) -> Result<bool> {
        let name = self.branch_ref();
        self.sync_objects()?;
        let moved = self.unless_locked(|publisher| Ok(publisher.git().move_ref(&name, commit, from)?))?;
        if moved {
            commit.clone_into(&mut self.ledger.synced);
            let there = self.paths.iter().filter(|path| fs::is_taken(&self.top.join(path)));
            self.ledger.published = there.cloned().collect();
            self.ledger.unsynced |= !self.keeps_what_git_synced();
            // From here on the files and the branch agree. A process that is killed before this is written only compares
            // them again.
            self.ledger.write(&self.delivery.files)?;
        }
        Ok(moved)
    }

    /// The files as a tree: the files of the branch, with our paths as they are here.
    pub(super) fn tree(&mut self, tip: Option<&Tip>, theirs: Option<&str>) -> Result<String> {
        self.build(tip, theirs, |publisher| Ok(publisher.git().write_tree()?))
    }

    /// Like `tree`. While git writes the tree, another git is asked what differs from the tip, if the files are not merged
    /// with those of somebody else.
    fn tree_and_differences(&mut self, tip: Option<&Tip>, theirs: Option<&str>) -> Result<(String, Option<Asked>)> {
        let tip_tree = tip.filter(|_| theirs.is_none()).map(|tip| tip.tree.clone());
        let mut differences = None;
        let tree = self.build(tip, theirs, |publisher| {
            let git = publisher.git();
            differences = tip_tree.as_deref().map(|tree| git.begin_differences_of_index(tree)).transpose()?;
            Ok(git.write_tree()?)
        })?;
        Ok((tree, differences))
    }

    /// Fills our index with the files, and lets `write` make a tree of it.
    fn build(
        &mut self,
        tip: Option<&Tip>,
        theirs: Option<&str>,
        mut write: impl FnMut(&Publisher<'_>) -> Result<String>,
    ) -> Result<String> {
        let index = self.delivery.files.state.join(INDEX);
        let continues = theirs.is_none() && tip.is_some_and(|tip| tip.tree == self.ledger.indexed);
        if !continues && !self.ledger.indexed.is_empty() {
            // A process that is killed meanwhile leaves an index of other files, which must not count as that of the branch.
            self.ledger.indexed.clear();
            self.ledger.write(&self.delivery.files)?;
        }
        let mut build = |publisher: &Publisher<'_>| {
            publisher.fill_index(&index, tip, theirs)?;
            write(publisher)
        };
        let tree = self.unless_locked(|publisher| build(publisher)).or_else(|halted| {
            // If our index is damaged, a new one helps. Any other failure repeats itself.
            let repeats = [FailureKind::Locked, FailureKind::TimedOut].iter().any(|kind| halted.is(*kind));
            if self.has_index(&index) && !repeats {
                self.delivery.files.state_anchor().remove_file(&index)?;
                self.ledger.indexed.clear();
                return build(self);
            }
            Err(halted)
        })?;
        tree.clone_into(&mut self.ledger.indexed);
        Ok(tree)
    }

    fn has_index(&self, index: &Path) -> bool {
        self.delivery.files.state_anchor().is_regular(index)
    }

    fn fill_index(&self, index: &Path, tip: Option<&Tip>, theirs: Option<&str>) -> Result<()> {
        match (tip, theirs) {
            // Our own index of last time knows which files have not changed since.
            (Some(tip), None) if self.ledger.indexed == tip.tree && self.has_index(index) => {}
            (Some(tip), None) => self.git().read_tree(&tip.tree)?,
            (None, Some(theirs)) => self.git().read_tree(theirs)?,
            (None, None) => self.git().read_tree(&empty_tree(&self.common_dir))?,
            (Some(tip), Some(theirs)) => {
                if self.has_index(index) {
                    self.delivery.files.state_anchor().remove_file(index)?;
                }
                let base = self.git().merge_base(&tip.commit, theirs)?;
                let base = base.unwrap_or_else(|| empty_tree(&self.common_dir));
                self.git().read_merge(&base, &tip.commit, theirs)?;
            }
        }
        let pathspecs = self.pathspecs();
        if !pathspecs.is_empty() {
            self.git().add(&pathspecs, &empty_tree(&self.common_dir))?;
        }
        Ok(())
    }

    /// Pathspecs for those of our paths that exist, without the state directory, the temporaries of killed writers, and
    /// kept talk that must not travel.
    pub(super) fn pathspecs(&self) -> Vec<PathBuf> {
        let magic = |magic: &str, path: &Path| {
            let mut spec = std::ffi::OsString::from(magic);
            spec.push(path);
            PathBuf::from(spec)
        };
        let there = self.paths.iter().filter(|path| fs::is_taken(&self.top.join(path)));
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
        let history =
            fs::resolve(self.delivery.files.history).unwrap_or_else(|_| self.delivery.files.history.to_path_buf());
        if let Ok(history) = history.strip_prefix(&self.top)
            && !(self.is_own && self.delivery.takes_talk)
        {
            specs.push(magic(":(top,exclude,literal)", &history.join(TALK)));
        }
        specs.push(magic(":(top,exclude,glob)", Path::new(&format!("**/{}", fs::TEMPORARY_GLOB))));
        specs
    }

    /// Searches every file that a push would send for secrets, unless each was searched when it was committed.
    pub(super) fn refuse_secrets_in_push(&mut self, commit: &str, there: Option<&str>) -> Result<()> {
        if self.ledger.searched == commit {
            return Ok(());
        }
        let there =
            there.map(str::to_owned).or_else(|| Some(self.ledger.delivered.clone()).filter(|id| !id.is_empty()));
        // A ledger that was lost must not blame what others published long ago on this push.
        let there = if there.is_none() { self.last_known()? } else { there };
        self.refuse_secrets_in(&self.git().objects_to_send(commit, there.as_deref())?)?;
        commit.clone_into(&mut self.ledger.searched);
        Ok(())
    }

    /// Fails if one of these files, given by object id and path, holds a secret.
    pub(super) fn refuse_secrets_in(&self, files: &[(String, PathBuf)]) -> Result<()> {
        let ids: Vec<&str> = files.iter().map(|(id, _)| id.as_str()).collect();
        let mut leaks = Vec::new();
        for ((_, path), content) in files.iter().zip(self.git().blobs(&ids)?) {
            leaks.extend(content.map(|content| acknowledge::leaks(&self.top, path, &content)).unwrap_or_default());
        }
        if leaks.is_empty() { Ok(()) } else { Err(secrets::refuse(&leaks).into()) }
    }
}
