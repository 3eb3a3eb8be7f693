//! A branch of our own that git cannot read, rebuilt from the files here and what the remote has.
//!
//! A power cut may leave a ref whose objects are missing, or empty files in the place of objects and refs. A bad disk may
//! leave object files that are cut off or changed. git refuses to work with any of them, and while the file of an object
//! exists, git does not write that object again. The files here have everything that the branch had from this machine. So
//! the branch goes back to its newest commit that is whole, and the delivery begins again.
//!
//! The repository is the user's. Three rules follow:
//!
//! - A branch is rebuilt only if it is known to hold nothing but our files, and no work tree has it checked out.
//! - An object file is removed only if git cannot read it, and the branch or our files need the object.
//! - The only refs that change are the branch and its remote-tracking refs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::failure::Result;
use super::publisher::{INDEX, Publisher, empty_tree};
use crate::base::fs::{self, Anchor};
use crate::git::{self, FailureKind, ids_in};

/// How many earlier commits are tried.
const MAX_TRIED: usize = 100;
/// How many commits are searched for object files without content.
const MAX_HEALED: usize = 5;
/// More than a log of a ref has.
const MAX_LOG: u64 = 16 << 20;
/// More than a ref has.
const MAX_REF: u64 = 4 << 10;
/// What our own moves of a ref say in its log.
const OUR_WORD: &str = "\tagent-handover";

impl Publisher<'_> {
    /// Delivers. If git cannot read our branch, rebuilds it and delivers again; if a killed git left a lock on it, removes
    /// the lock and delivers again.
    pub(super) fn with_repairs(&mut self, deliver: impl Fn(&mut Self) -> Result<String>) -> Result<String> {
        let done = deliver(self);
        let Err(halted) = &done else { return done };
        if halted.is(FailureKind::Damaged) && self.may_rebuild()? {
            self.rebuild()?;
        } else if !(halted.is_locked() && self.remove_stale_locks()?) {
            return done;
        }
        deliver(self)
    }

    /// Whether the branch is ours to rebuild. What this delivery found out about the branch does not count: to it, a broken
    /// branch may look like one that does not exist.
    fn may_rebuild(&self) -> Result<bool> {
        Ok((self.was_own || self.is_moved_only_by_us()) && !self.git().is_checked_out(self.branch())?)
    }

    /// Whether git's log of the branch has no move by anybody else.
    fn is_moved_only_by_us(&self) -> bool {
        let log = self.log_of_branch();
        !log.is_empty() && log.lines().all(|line| line.ends_with(OUR_WORD))
    }

    fn log_of_branch(&self) -> String {
        let path = Path::new("logs").join(self.branch_ref());
        let bytes = Anchor::new(&self.common_dir).read_within(&path, MAX_LOG).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn rebuild(&mut self) -> Result<()> {
        self.stop_if_pressed()?;
        let refs = [self.branch_ref(), self.fetched_ref(), format!("refs/remotes/{}/{}", self.remote(), self.branch())];
        for name in &refs {
            self.remove_broken_ref(name)?;
        }
        let candidates = self.candidates()?;
        self.remove_unreadable_objects(&candidates)?;
        let start = self.newest_whole(&candidates)?;
        for name in &refs {
            self.reset_ref(name, start.as_deref().filter(|_| *name == refs[0]))?;
        }
        if !self.is_whole(&self.ledger.delivered.clone())? {
            self.ledger.delivered.clear();
        }
        self.ledger.synced = start.unwrap_or_default();
        self.ledger.searched.clear();
        self.ledger.indexed.clear();
        self.ledger.unsynced = true;
        self.ledger.write(&self.delivery.files)?;
        let index = self.delivery.files.state.join(INDEX);
        let anchor = self.delivery.files.state_anchor();
        if anchor.is_regular(&index) {
            anchor.remove_file(&index)?;
        }
        let remote =
            if self.delivery.destination.push { format!(" and what {} has", self.remote()) } else { String::new() };
        self.notices.push(format!(
            "git could not read the branch `{}`, as after a power cut: it was rebuilt from the files here{remote}",
            self.branch()
        ));
        Ok(())
    }

    /// Removes the file of a ref that names nothing. An older value may be among the packed refs.
    fn remove_broken_ref(&self, name: &str) -> Result<()> {
        let anchor = Anchor::new(&self.common_dir);
        let path = Path::new(name);
        if anchor.is_regular(path) && !names_something(&anchor.read_start(path, MAX_REF)?) {
            anchor.remove_file(path)?;
        }
        Ok(())
    }

    /// The commits that the branch may go back to, the newest first.
    fn candidates(&self) -> Result<Vec<String>> {
        let mut found: Vec<String> = self.git().id_of(&self.branch_ref())?.into_iter().collect();
        if let Some(tip) = found.first().cloned() {
            found.extend(self.git().first_parents(&tip, MAX_TRIED)?);
        }
        let log = self.log_of_branch();
        for line in log.lines().rev().take(MAX_TRIED) {
            // The old id, the new id, and who moved the ref.
            let mut ids = line.split(' ').map(str::to_owned);
            let (old, new) = (ids.next(), ids.next());
            found.extend(new.into_iter().chain(old));
        }
        found.extend([self.ledger.synced.clone(), self.ledger.delivered.clone()]);
        let mut seen = HashSet::new();
        found.retain(|id| git::is_object_id(id) && id.bytes().any(|byte| byte != b'0') && seen.insert(id.clone()));
        Ok(found)
    }

    fn newest_whole(&self, candidates: &[String]) -> Result<Option<String>> {
        for commit in candidates {
            self.stop_if_pressed()?;
            if self.is_whole(commit)? {
                return Ok(Some(commit.clone()));
            }
        }
        Ok(None)
    }

    /// Whether git can read a commit and everything below it.
    fn is_whole(&self, commit: &str) -> Result<bool> {
        Ok(!commit.is_empty() && self.git().unreadable_below(commit)?.is_none())
    }

    /// Removes the files of objects that the branch or our files need and git cannot read, so that git writes or fetches
    /// them again.
    fn remove_unreadable_objects(&self, candidates: &[String]) -> Result<()> {
        for id in candidates.iter().cloned().chain(self.ids_of_files()?) {
            self.remove_empty_object(&id)?;
        }
        for commit in candidates.iter().take(MAX_HEALED) {
            // Each look ends at the first object that git cannot read, so there is one look for each of them.
            while let Some(complaint) = self.git().unreadable_below(commit)? {
                let mut is_any_removed = false;
                for id in ids_in(&complaint) {
                    is_any_removed |= self.remove_unreadable_object(&id)?;
                }
                if !is_any_removed {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The ids of the objects that a commit of our files needs. They are known only once they are written, so they are
    /// written into a store of their own.
    fn ids_of_files(&self) -> Result<Vec<String>> {
        let specs = self.pathspecs();
        if specs.is_empty() {
            return Ok(Vec::new());
        }
        let store = self.delivery.files.state.join("rebuild");
        let anchor = self.delivery.files.state_anchor();
        anchor.create_private_directories(&store)?;
        let git = self.git().clone().with_store(&fs::resolve(&store)?);
        let written = git.add(&specs, &empty_tree(&self.common_dir)).and_then(|()| git.write_tree());
        let ids = ids_of_store(&anchor, &store)?;
        anchor.remove_tree(&store)?;
        written?;
        Ok(ids)
    }

    fn is_empty_object(&self, id: &str) -> bool {
        let anchor = Anchor::new(&self.common_dir);
        let start = object_path(id).and_then(|path| anchor.read_start(&path, 1).ok());
        // What git writes never begins with a zero.
        start.is_some_and(|start| start.is_empty() || start == [0])
    }

    fn remove_empty_object(&self, id: &str) -> Result<()> {
        match object_path(id).filter(|_| self.is_empty_object(id)) {
            Some(path) => Ok(Anchor::new(&self.common_dir).remove_file(&path)?),
            None => Ok(()),
        }
    }

    /// Removes the file of an object if git cannot read it. Returns whether it did.
    fn remove_unreadable_object(&self, id: &str) -> Result<bool> {
        let Some(path) = object_path(id) else { return Ok(false) };
        let anchor = Anchor::new(&self.common_dir);
        if !anchor.is_regular(&path) || !self.is_empty_object(id) && self.git().reads_object(id)? {
            return Ok(false);
        }
        anchor.remove_file(&path)?;
        Ok(true)
    }

    /// Moves a ref whose commit is not whole to `start`, or removes it.
    fn reset_ref(&self, name: &str, start: Option<&str>) -> Result<()> {
        let old = self.git().id_of(name)?;
        match (&old, start) {
            (Some(old), _) if self.is_whole(old)? => {}
            (old, Some(start)) => {
                self.git().move_ref(name, start, old.as_deref())?;
            }
            (Some(old), None) => self.git().delete_ref(name, old)?,
            (None, None) => {}
        }
        Ok(())
    }
}

/// The file of an object in the git directory.
fn object_path(id: &str) -> Option<PathBuf> {
    Some(Path::new("objects").join(id.get(..2)?).join(id.get(2..)?))
}

/// Whether the content of a ref is an id, or the name of another ref.
fn names_something(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    text.starts_with("ref:") || text.split_ascii_whitespace().next().is_some_and(git::is_object_id)
}

/// The ids of the objects in a store.
fn ids_of_store(anchor: &Anchor, store: &Path) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for (start, _) in anchor.names_and_kinds(store)?.into_iter().filter(|(name, _)| name.len() == 2) {
        let names = anchor.names_and_kinds(&store.join(&start))?;
        ids.extend(names.into_iter().map(|(rest, _)| format!("{start}{rest}")).filter(|id| git::is_object_id(id)));
    }
    Ok(ids)
}
