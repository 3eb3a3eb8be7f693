//! Words on a branch with the user's code that are not delivered yet, kept where no command of the user's takes them away.
//!
//! Our files are part of the user's work tree there. While a merge or a rebase of the user's goes on, nothing is committed
//! on the branch, and `git rebase --abort`, `git reset --hard` or `git stash` resets the files to what was committed. So
//! when a delivery fails, the files become a commit on no branch, on top of what is checked out, under a ref of our own. A
//! commit of ours that is on the branch and not on the remote counts in the same way, because a user may reset the branch.
//!
//! Before the next run and the next delivery, what is kept is merged by item into the files here, unless
//!
//! - what is checked out, or the branch, has the kept commit;
//! - a commit of the user's had the same file meanwhile: whatever happened to it after that was on purpose;
//! - a commit of the user's removed the file meanwhile.
//!
//! What is kept is forgotten as soon as the remote has it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::failure::{Halted, Result};
use super::merge::Incoming;
use super::publisher::{BranchKind, Publisher};
use crate::base::fs::{self, Anchor};
use crate::base::text;
use crate::base::three_way::Theirs;
use crate::git::{CommitBetween, Difference, FailureKind, Tip};

/// What is checked out, as git calls it.
const HEAD: &str = "HEAD";
/// How lines begin that git writes into a file with a conflict.
const CONFLICT_MARKS: [&[u8]; 3] = [b"<<<<<<< ", b"=======\n", b">>>>>>> "];
/// How the version before both sides begins, if git writes it, too.
const BASE_MARK: &[u8] = b"||||||| ";

impl Publisher<'_> {
    /// The ref that protects what is kept. Two projects of one repository have two.
    fn kept_ref(&self) -> String {
        let root = self.delivery.files.root.to_string_lossy();
        format!("refs/agent-handover/kept/{}", text::digest(root.as_bytes(), 8))
    }

    /// Keeps the words of a delivery that ended like this, or forgets what was kept because the remote has it.
    pub(super) fn keep_or_forget(&mut self, done: &Result<String>) -> Result<()> {
        match done {
            Ok(_) if self.delivery.destination.push && self.ledger.travels.is_empty() => self.forget_kept(),
            Ok(_) => {
                self.ledger.kept.clone_from(&self.ledger.synced);
                Ok(())
            }
            // While the brake is pressed, nothing changes.
            Err(Halted::Stopped(_)) => Ok(()),
            Err(_) => self.keep(),
        }
    }

    /// Keeps the files as they are, with what was kept before.
    pub(super) fn keep_now(&mut self) -> Result<()> {
        self.restore_kept()?;
        self.keep()
    }

    /// Whether a file belongs to a branch with the user's code, and is as it was committed there.
    pub(super) fn is_as_committed(&mut self, path: &Path) -> Result<bool> {
        let tip = self.tip()?;
        let place = fs::resolve(path)?;
        let Ok(below) = place.strip_prefix(&self.top) else { return Ok(false) };
        if !self.is_published(below) || !matches!(self.branch_kind(tip.as_ref())?, BranchKind::Shared { .. }) {
            return Ok(false);
        }
        let here = Anchor::new(&self.top).read_if_exists(&place)?;
        Ok(here == self.committed(HEAD, below)?)
    }

    /// A file as it is in a commit. `None` if the commit does not have it.
    fn committed(&self, commit: &str, path: &Path) -> Result<Option<Vec<u8>>> {
        let Some(id) = self.git().id_of(&format!("{commit}:{}", path.display()))? else { return Ok(None) };
        Ok(self.git().blobs(&[&id])?.pop().flatten())
    }

    /// Keeps the files as they are.
    fn keep(&mut self) -> Result<()> {
        self.stop_if_pressed()?;
        let head = self.git().head()?.map(|head| head.commit);
        let tip = match &head {
            Some(head) => {
                let tree = self.git().tree_of(head)?;
                Some(Tip { commit: head.clone(), tree, checked_out: None, symbolic: None })
            }
            None => None,
        };
        let tree = self.tree(tip.as_ref(), None)?;
        if let Some(tip) = tip.as_ref().filter(|tip| tip.tree == tree) {
            // Everything is committed, and only a reset of the branch could take it away.
            tip.commit.clone_into(&mut self.ledger.kept);
            return Ok(self.ledger.write(&self.delivery.files)?);
        }
        let differences = self.git().differences(tip.as_ref().map(|tip| tip.tree.as_str()), &tree)?;
        let changed: Vec<(String, PathBuf)> =
            differences.into_iter().filter_map(|difference| Some((difference.new?, difference.path))).collect();
        self.refuse_secrets_in(&changed)?;
        let parents: Vec<&str> = head.as_deref().into_iter().collect();
        // It never travels, so it needs no signature.
        let commit = self.write_unsigned_commit(&tree, &parents)?;
        let name = self.kept_ref();
        let before = self.git().id_of(&name)?;
        self.sync_objects()?;
        if self.git().move_ref(&name, &commit, before.as_deref())? {
            self.ledger.kept = commit;
            self.ledger.is_kept_aside = true;
            self.ledger.unsynced |= !self.keeps_what_git_synced();
            self.ledger.write(&self.delivery.files)?;
            self.make_durable()?;
        }
        Ok(())
    }

    fn forget_kept(&mut self) -> Result<()> {
        self.ledger.kept.clear();
        let has_ref = std::mem::take(&mut self.ledger.is_kept_aside) | std::mem::take(&mut self.ledger.is_ref_left);
        if !has_ref {
            return Ok(());
        }
        let name = self.kept_ref();
        let Some(old) = self.git().id_of(&name)? else { return Ok(()) };
        match self.git().delete_ref(&name, &old) {
            // The remote has everything, so a lock of another git is no failure. The next delivery removes the ref.
            Err(failure) if failure.kind == FailureKind::Locked => {
                self.ledger.is_ref_left = true;
                Ok(())
            }
            deleted => Ok(deleted?),
        }
    }

    /// Brings what is kept and missing here back into the files. Returns whether anything was missing.
    pub(super) fn restore_kept(&mut self) -> Result<bool> {
        self.merge_conflicting_sides()?;
        let Some((kept, head)) = self.kept_and_head()? else { return Ok(false) };
        let base = self.base_of_kept(&kept, head.as_deref())?;
        let mut differences = self.git().differences(base.as_deref(), &kept)?;
        differences.retain(|difference| self.is_published(&difference.path) && difference.new.is_some());
        let meanwhile = match &head {
            Some(head) => self.git().commits_with_files(base.as_deref(), head, &self.paths)?,
            None => Vec::new(),
        };
        let settled = Settled::of(&meanwhile);
        differences.retain(|difference| !settled.has(difference));
        let before = self.contents(&differences);
        let mut incoming = self.incoming_of(&differences)?;
        incoming.each_content(without_conflict_marks);
        let their_time = self.time_of_kept(&kept, head.as_deref(), &incoming)?;
        // All of it was here before, so its owner is on record.
        self.merge_incoming_of(their_time, incoming)?;
        Ok(self.contents(&differences) != before)
    }

    /// Merges by item the two sides of files of ours in which git left a conflict. The user's index has the conflict until
    /// the user's `git add`.
    fn merge_conflicting_sides(&mut self) -> Result<()> {
        if self.users_work().is_none() {
            return Ok(());
        }
        let anchor = Anchor::new(&self.top);
        let mut files = Vec::new();
        for path in self.users_git().unmerged()? {
            if !self.is_published(&path) || !anchor.is_regular(&self.top.join(&path)) {
                continue;
            }
            let Some((ours, theirs)) = sides(&anchor.read(&self.top.join(&path))?) else { continue };
            files.push((path, ours, theirs));
        }
        if files.is_empty() {
            return Ok(());
        }
        self.stop_if_pressed()?;
        let mut incoming = Vec::new();
        for (path, ours, theirs) in files {
            anchor.replace(&self.top.join(&path), &ours)?;
            incoming.push(Theirs { path, base: None, now: Some(theirs) });
        }
        let incoming = self.sort_incoming(incoming);
        self.merge_incoming_of(None, incoming)?;
        self.settle_files()
    }

    /// The files here that are not derived from others.
    fn contents(&self, differences: &[Difference]) -> Vec<Option<Vec<u8>>> {
        let anchor = Anchor::new(&self.top);
        let paths = differences.iter().map(|difference| &difference.path).filter(|path| !self.is_derived(path));
        paths.map(|path| anchor.read_if_exists(&self.top.join(path)).ok().flatten()).collect()
    }

    /// The kept commit and what is checked out. `None` if nothing is kept, or if it is on a branch.
    fn kept_and_head(&mut self) -> Result<Option<(String, Option<String>)>> {
        let is_ledger_new = self.ledger.synced.is_empty() && self.ledger.kept.is_empty();
        if is_ledger_new && let Some(kept) = self.git().commit_of(&self.kept_ref())? {
            // The state directory was removed meanwhile.
            self.ledger.kept = kept;
            self.ledger.is_kept_aside = true;
        }
        let kept = self.ledger.kept.clone();
        if kept.is_empty() {
            return Ok(None);
        }
        let head = self.git().head()?.map(|head| head.commit);
        let is_at = |name: &str| self.git().is_ancestor(&kept, name);
        if head.as_deref().map(is_at).transpose()?.unwrap_or_default()
            || !self.ledger.is_kept_aside && is_at(&self.branch_ref())?
            || self.git().commit_of(&kept)?.is_none()
        {
            return Ok(None);
        }
        Ok(Some((kept, head)))
    }

    /// What the words of the kept commit were added to: the newest commit below it that is not ours, or that is checked out.
    fn base_of_kept(&self, kept: &str, head: Option<&str>) -> Result<Option<String>> {
        let between = self.git().commits_between(head, kept)?;
        let by_id: HashMap<&str, &CommitBetween> = between.iter().map(|commit| (commit.id.as_str(), commit)).collect();
        let mut base = Some(kept);
        while let Some(commit) = base.and_then(|base| by_id.get(base)).filter(|commit| self.is_ours(commit)) {
            base = commit.parents.first().map(String::as_str);
        }
        Ok(base.map(str::to_owned))
    }

    /// When the kept state was written. If git has put the state of a commit in its place, the kept one is the newer.
    fn time_of_kept(&self, kept: &str, head: Option<&str>, incoming: &Incoming) -> Result<Option<SystemTime>> {
        let time = self.time_of_state(kept, incoming)?;
        let place = incoming.memory_place.strip_prefix(&self.top).ok().filter(|_| time.is_some());
        let (Some(path), Some(head)) = (place, head) else { return Ok(time) };
        let path = path.join(super::merge::STATE);
        let here = Anchor::new(&self.top).read_if_exists(&self.top.join(&path))?;
        let committed = self.committed(head, &path).ok().flatten();
        Ok(if here == committed && self.git().time_of(head, &path)? <= time { Some(SystemTime::now()) } else { time })
    }
}

/// What commits of the user's did to our files since the words were kept.
struct Settled<'c> {
    /// The newest change of each path, and whether a handover made it.
    last: HashMap<&'c Path, (bool, &'c Difference)>,
    all: Vec<&'c Difference>,
}

impl<'c> Settled<'c> {
    /// From commits in the order of their time, the newest first.
    fn of(commits: &'c [(bool, Vec<Difference>)]) -> Settled<'c> {
        let mut settled = Settled { last: HashMap::new(), all: Vec::new() };
        for (is_run, differences) in commits {
            for difference in differences {
                settled.last.entry(&difference.path).or_insert((*is_run, difference));
                settled.all.push(difference);
            }
        }
        settled
    }

    /// Whether the file was committed as it is kept, or was removed by the user.
    fn has(&self, kept: &Difference) -> bool {
        let is_removed = self.last.get(kept.path.as_path()).is_some_and(|(is_run, last)| !is_run && last.new.is_none());
        is_removed || self.all.iter().any(|found| found.path == kept.path && found.new == kept.new)
    }
}

/// A file without the lines that git adds where two versions of it are in conflict. Both versions stay.
fn without_conflict_marks(file: Vec<u8>) -> Vec<u8> {
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    if !CONFLICT_MARKS.iter().all(|mark| lines.iter().any(|line| line.starts_with(mark))) {
        return file;
    }
    let is_mark = |line: &&[u8]| !CONFLICT_MARKS.iter().chain([&BASE_MARK]).any(|mark| line.starts_with(mark));
    lines.into_iter().filter(is_mark).collect::<Vec<_>>().concat()
}

/// Both versions of a file in which git left a conflict. `None` if there is no whole conflict in it.
fn sides(file: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    /// Which version has a line.
    #[derive(PartialEq)]
    enum Part {
        Both,
        Ours,
        Base,
        Theirs,
    }
    let [start, middle, end] = CONFLICT_MARKS;
    let (mut ours, mut theirs, mut part, mut has_conflict) = (Vec::new(), Vec::new(), Part::Both, false);
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        part = match part {
            Part::Both if line.starts_with(start) => Part::Ours,
            Part::Ours if line.starts_with(BASE_MARK) => Part::Base,
            Part::Ours | Part::Base if line.starts_with(middle) => Part::Theirs,
            Part::Theirs if line.starts_with(end) => {
                has_conflict = true;
                Part::Both
            }
            part => {
                if matches!(part, Part::Both | Part::Ours) {
                    ours.extend_from_slice(line);
                }
                if matches!(part, Part::Both | Part::Theirs) {
                    theirs.extend_from_slice(line);
                }
                part
            }
        };
    }
    (has_conflict && part == Part::Both).then_some((ours, theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_has_two_sides() {
        let file = b"a\n<<<<<<< HEAD\nb\n||||||| base\nold\n=======\nc\n>>>>>>> other\nd\n";
        assert_eq!(sides(file), Some((b"a\nb\nd\n".to_vec(), b"a\nc\nd\n".to_vec())));
        assert_eq!(sides(b"title\n=======\ntext\n"), None);
        assert_eq!(sides(b"<<<<<<< HEAD\nb\n=======\nc\n"), None, "it does not end");
    }

    #[test]
    fn conflict_marks_go_and_both_sides_stay() {
        let file = b"a\n<<<<<<< HEAD\nb\n||||||| base\n=======\nc\n>>>>>>> other\nd\n".to_vec();
        assert_eq!(without_conflict_marks(file), b"a\nb\nc\nd\n");
        // A line of a text that only looks like one of them.
        let plain = b"title\n=======\ntext\n".to_vec();
        assert_eq!(without_conflict_marks(plain.clone()), plain);
    }

    #[test]
    fn what_the_user_committed_or_removed_is_settled() {
        let change = |path: &str, new: Option<&str>| Difference {
            path: PathBuf::from(path),
            old: None,
            new: new.map(str::to_owned),
        };
        let commits = [
            (false, vec![change("removed", None)]),
            (true, vec![change("archived", None)]),
            (false, vec![change("edited", Some("later")), change("removed", Some("other"))]),
            (false, vec![change("edited", Some("kept"))]),
        ];
        let settled = Settled::of(&commits);
        let has = |path: &str| settled.has(&change(path, Some("kept")));
        assert!(has("removed") && has("edited"));
        assert!(!has("archived") && !has("new"));
    }
}
