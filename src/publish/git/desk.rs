//! One delivery at work.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::ledger::Ledger;
use super::trouble;
use crate::base::versions::{self, Theirs};
use crate::base::{env, fs, process, text};
use crate::error::{Error, Result};
use crate::git::{self, Difference, Git, Tip};
use crate::guard::{acknowledge, secrets};
use crate::history::{self, History};
use crate::memory::{Author, Memory};
use crate::project;
use crate::publish::{Delivered, Delivery, Trouble};

/// How long a lock of another git process is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// What stands in the way of a commit on the branch that is checked out: files and directories in the git directory.
const IN_PROGRESS: [(&str, &str); 7] = [
    ("sequencer", "a sequence of picks"),
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisect"),
];
/// Who commits where nobody is configured.
const NOBODY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "agent-handover"),
    ("GIT_AUTHOR_EMAIL", "agent-handover@localhost"),
    ("GIT_COMMITTER_NAME", "agent-handover"),
    ("GIT_COMMITTER_EMAIL", "agent-handover@localhost"),
];

/// Remotes that did not answer this process, so that ten deliveries which are due do not wait ten times for the same.
static DEAD: Mutex<Vec<Dead>> = Mutex::new(Vec::new());

struct Dead {
    top: PathBuf,
    remote: String,
    /// How long it was waited for.
    patience_ms: u64,
    said: String,
}

pub struct Desk<'a> {
    delivery: &'a Delivery<'a>,
    /// The top of the work tree, without symlinks.
    top: PathBuf,
    /// Its own git directory, and the one that all work trees share.
    git_dir: PathBuf,
    common_dir: PathBuf,
    git: Git,
    /// What is published, relative to the top.
    paths: Vec<PathBuf>,
    ledger: Ledger,
    deadline: Instant,
    notices: Vec<String>,
    conflicts: Vec<String>,
}

/// Whose branch it is.
enum Branch {
    /// Nothing but our files is on it.
    Own,
    /// The code is on it, too.
    Shared { is_checked_out: bool },
}

impl<'a> Desk<'a> {
    pub fn open(delivery: &'a Delivery<'a>) -> Result<Desk<'a>, Trouble> {
        let destination = delivery.destination;
        let repository = project::place(delivery.root, &destination.repo_dir)?;
        let not_one = || {
            Error::failed(format!("`{}` is not in a git repository", delivery.root.display()))
                .hint("run `git init`, or set `type = \"null\"` under `[backend]`")
        };
        let real = fs::resolve(&repository)?;
        let top = git::top_level(&real).ok_or_else(not_one)?.to_path_buf();
        let (git_dir, common_dir) = git::directories(&top).ok_or_else(not_one)?;
        let paths = published_paths(delivery, &real, &top)?;
        let brake = delivery.brake.clone();
        let index = fs::resolve(delivery.state)?.join("publish.index");
        fs::create_private_directories(delivery.state)?;
        let (mark, root) = ((env::RUN, "git"), delivery.root.to_string_lossy().into_owned());
        clear_up_after_the_killed(&index, &[mark, (env::ROOT, &root)])?;
        let git = Git::at(&top)
            .writing()
            .with_env("GIT_INDEX_FILE", index)
            // No attribute of the user's or of a file on the branch changes what is stored.
            .with_env("GIT_ATTR_SOURCE", empty_tree(&common_dir))
            .with_env(mark.0, mark.1)
            .with_env(env::ROOT, root)
            .until(Rc::new(move || brake.paused().is_some()));
        Ok(Desk {
            ledger: Ledger::of(delivery.state, &destination.branch, &destination.remote),
            deadline: Instant::now() + Duration::from_millis(destination.timeout_ms),
            delivery,
            top,
            git_dir,
            common_dir,
            git,
            paths,
            notices: Vec::new(),
            conflicts: Vec::new(),
        })
    }

    /// Whatever became of it is noted, and a failure is said so that a person can act on it.
    pub fn close(mut self, done: Result<String, Trouble>, delivers: bool) -> Result<Delivered, Trouble> {
        let done = match (done, self.delivery.brake.pressed()) {
            (Ok(detail), _) => Ok(detail),
            // A process that was ended by the brake did not fail.
            (Err(_), Some(stop)) => Err(Trouble::Stopped(stop)),
            (Err(Trouble::Failed(error)), None) => {
                self.remember_the_dead(&error);
                Err(Trouble::Failed(trouble::explain(error, self.delivery.destination)))
            }
            (Err(stopped), None) => Err(stopped),
        };
        match &done {
            // Who pulls, or does not push, leaves due what was due.
            Ok(_) if delivers => self.ledger.due.clear(),
            Ok(_) => {}
            Err(Trouble::Failed(error)) => self.ledger.due = text::one_line(error.message(), 200),
            Err(Trouble::Stopped(stop)) => self.ledger.due = stop.error().one_line(),
        }
        if done.is_ok() {
            self.ledger.conflicts.clone_from(&self.conflicts);
        }
        self.ledger.write(self.delivery.state)?;
        let detail = done?;
        Ok(Delivered { detail, notices: self.notices, conflicts: self.conflicts })
    }

    /// git for what happens here, which no slow remote may cut short: a git that is ended leaves locks behind.
    fn git(&self) -> Git {
        self.git.clone().within(self.left().max(PATIENCE))
    }

    /// git for what happens elsewhere, with what is left of the time.
    fn far(&self) -> Git {
        self.git.clone().within(self.left())
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    fn branch(&self) -> &str {
        &self.delivery.destination.branch
    }

    fn remote(&self) -> &str {
        &self.delivery.destination.remote
    }

    fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch())
    }

    /// Where what was fetched is kept, away from the user's own refs.
    fn fetched_ref(&self) -> String {
        // A remote may be given as an address.
        format!("refs/agent-handover/{}/{}", text::digest(self.remote().as_bytes(), 4), self.branch())
    }

    fn stop_if_pressed(&self) -> Result<(), Trouble> {
        self.delivery.brake.pressed().map_or(Ok(()), |stop| Err(Trouble::Stopped(stop)))
    }

    fn remember_the_dead(&self, error: &Error) {
        if trouble::is_dead(error) {
            let said = trouble::explain(error.clone(), self.delivery.destination).message().to_owned();
            let (top, remote) = (self.top.clone(), self.remote().to_owned());
            let dead = Dead { top, remote, patience_ms: self.delivery.destination.timeout_ms, said };
            DEAD.lock().unwrap_or_else(PoisonError::into_inner).push(dead);
        }
    }

    fn refuse_the_dead(&self) -> Result<()> {
        let dead = DEAD.lock().unwrap_or_else(PoisonError::into_inner);
        // Who has more patience may find it alive.
        let is_it = |dead: &&Dead| {
            dead.top == self.top
                && dead.remote == self.remote()
                && dead.patience_ms >= self.delivery.destination.timeout_ms
        };
        dead.iter().find(is_it).map_or(Ok(()), |dead| {
            let error = Error::failed(dead.said.clone());
            Err(error.hint("`agent-handover push`, or the next handover, delivers it"))
        })
    }

    pub fn publish(&mut self) -> Result<String, Trouble> {
        let tip = self.git().tip(self.branch())?;
        match self.whose(tip.as_ref())? {
            Branch::Own => self.publish_own(tip),
            Branch::Shared { is_checked_out } => self.publish_shared(tip, is_checked_out),
        }
    }

    fn whose(&mut self, tip: Option<&Tip>) -> Result<Branch> {
        let is_checked_out = match tip {
            Some(tip) => tip.checked_out.as_ref().is_some_and(|place| is_same(place, &self.top)),
            // A branch without a commit may be checked out already.
            None => self.git().branch()?.as_deref() == Some(self.branch()),
        };
        if is_checked_out {
            return Ok(Branch::Shared { is_checked_out });
        }
        if let Some(place) = tip.and_then(|tip| tip.checked_out.as_ref()) {
            return Err(Error::failed(format!(
                "the branch `{}` is checked out in `{}`, whose files would not follow",
                self.branch(),
                place.display()
            ))
            .hint("switch to another branch there, then `agent-handover push`"));
        }
        // Never remembered for another commit than the one we made: a branch may be renamed or moved.
        let is_own = match tip {
            Some(tip) if tip.commit == self.ledger.synced && self.ledger.is_own => true,
            Some(tip) => self.is_without_code(&tip.commit)?,
            None => true,
        };
        self.ledger.is_own = is_own;
        Ok(if is_own { Branch::Own } else { Branch::Shared { is_checked_out } })
    }

    /// Whether a commit has nothing to do with the code: a handover began its history, or only our files are in it.
    fn is_without_code(&self, commit: &str) -> Result<bool> {
        let is_ours = |path: &PathBuf| self.paths.iter().any(|ours| path.starts_with(ours));
        Ok(self.git().is_begun_by_us(commit)? || self.git().paths_of(commit)?.iter().all(is_ours))
    }

    // ---- a branch of our own ------------------------------------------------------------------------------------

    fn publish_own(&mut self, mut tip: Option<Tip>) -> Result<String, Trouble> {
        let mut theirs: Option<String> = None;
        // Where a branch is not known yet, another machine may have begun it.
        if tip.is_none() && self.ledger.synced.is_empty() && self.delivery.destination.push {
            match self.far().fetch(self.remote(), self.branch(), &self.fetched_ref()) {
                Ok(Some(found)) if !self.is_without_code(&found)? => {
                    // The code is on it, there: then it is here, too, and ours goes on top.
                    self.git().move_ref(&self.branch_ref(), &found, None)?;
                    self.ledger.is_own = false;
                    return self.publish_shared(self.git().tip(self.branch())?, false);
                }
                Ok(found) => theirs = found,
                // What is said is committed all the same, and the failure is told by the push.
                Err(error) => self.remember_the_dead(&error),
            }
        }
        for round in 0.. {
            self.stop_if_pressed()?;
            if let Some(theirs) = &theirs {
                self.absorb(theirs)?;
            }
            if let Some(tip) = tip.as_ref().filter(|tip| tip.commit != self.ledger.synced) {
                self.absorb(&tip.commit.clone())?;
            }
            let Some(commit) = self.commit(tip.as_ref(), theirs.as_deref())? else {
                tip = self.git().tip(self.branch())?;
                continue;
            };
            if !self.delivery.destination.push {
                return Ok(format!("committed {} on `{}`; not pushed", short(&commit), self.branch()));
            }
            self.stop_if_pressed()?;
            self.refuse_secrets_in_push(&commit, theirs.as_deref())?;
            self.refuse_the_dead()?;
            match self.far().push(self.remote(), &commit, self.branch()) {
                Ok(was) => self.notice_what_was(was.as_deref()),
                Err(error) if trouble::is_rejected(&error) => {
                    self.wait_a_little(round, error)?;
                    theirs = self.fetch()?;
                    tip = self.git().tip(self.branch())?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            if self.has_arrived(&commit)? {
                return Ok(format!("{} is on {}/{}", short(&commit), self.remote(), self.branch()));
            }
            let missing = Error::failed(format!("{} does not have what was pushed to it", self.remote()))
                .hint("its push address may be another repository than the one it is read from");
            self.wait_a_little(round, missing)?;
            theirs = self.fetch()?;
            tip = self.git().tip(self.branch())?;
        }
        Err(Error::bug("there is no end to the rounds").into())
    }

    /// What a person should know about how the remote branch was found.
    fn notice_what_was(&mut self, was: Option<&str>) {
        let (branch, remote) = (self.branch().to_owned(), self.remote().to_owned());
        match was {
            _ if self.ledger.delivered.is_empty() => {}
            None => self.notices.push(format!("{remote} had lost the branch `{branch}`; it has it again")),
            Some(was) if is_part(was) && !self.ledger.delivered.starts_with(was) => {
                self.notices
                    .push(format!("`{branch}` on {remote} had been moved back; it is where it was, and further"));
            }
            Some(_) => {}
        }
    }

    /// Asks the remote whether it has the commit, alone or below others.
    fn has_arrived(&mut self, commit: &str) -> Result<bool> {
        let found = self.far().remote_tip(self.remote(), self.branch())?;
        let arrived = match &found {
            Some(found) if found == commit => true,
            Some(_) => match self.far().fetch(self.remote(), self.branch(), &self.fetched_ref())? {
                Some(found) => self.git().is_ancestor(commit, &found)?,
                None => false,
            },
            None => false,
        };
        if arrived {
            let is_it = |dead: &Dead| dead.top == self.top && dead.remote == self.remote();
            DEAD.lock().unwrap_or_else(PoisonError::into_inner).retain(|dead| !is_it(dead));
            commit.clone_into(&mut self.ledger.delivered);
        }
        Ok(arrived)
    }

    /// What the remote has, if that is news; and what a person should know about how it came to be there.
    fn fetch(&mut self) -> Result<Option<String>> {
        let found = self.far().fetch(self.remote(), self.branch(), &self.fetched_ref())?;
        if let Some(found) = &found
            && !self.is_without_code(found)?
        {
            let message = format!("`{}` on {} holds more than memory now", self.branch(), self.remote());
            return Err(Error::failed(message).hint("name another branch under `[backend]`"));
        }
        let delivered = self.ledger.delivered.clone();
        if !delivered.is_empty() {
            match &found {
                None => self.notices.push(format!(
                    "{} had lost the branch `{}`; the files here are as they were",
                    self.remote(),
                    self.branch()
                )),
                Some(found) if !self.git().is_ancestor(&delivered, found)? => self.notices.push(format!(
                    "`{}` on {} was moved by force; the files here have kept what they had",
                    self.branch(),
                    self.remote()
                )),
                Some(_) => {}
            }
        }
        Ok(found)
    }

    /// Longer after each round and a little at random, so that machines that met do not meet again; until the time is up.
    fn wait_a_little(&self, round: u32, error: Error) -> Result<(), Trouble> {
        let mut random = [0u8];
        let _ = getrandom::fill(&mut random);
        let wait = Duration::from_millis((20 << round.min(5)) + (u64::from(random[0]) << round.min(4)) / 8);
        if self.left() <= wait {
            return Err(error.into());
        }
        let start = Instant::now();
        while start.elapsed() < wait {
            self.stop_if_pressed()?;
            std::thread::sleep(wait.saturating_sub(start.elapsed()).min(Duration::from_millis(50)));
        }
        Ok(())
    }

    pub fn pull(&mut self) -> Result<String, Trouble> {
        let tip = self.git().tip(self.branch())?;
        if let Branch::Shared { .. } = self.whose(tip.as_ref())? {
            return Err(Error::failed(format!("the branch `{}` holds the code, too", self.branch()))
                .hint("use `git pull`; only a branch of its own is merged here")
                .into());
        }
        let Some(theirs) = self.fetch()? else {
            if !self.ledger.delivered.is_empty() {
                let gone = format!("{} has no branch `{}` any more", self.remote(), self.branch());
                let error = Error::failed(gone).hint("`agent-handover push` makes it anew from the files here");
                return Err(error.into());
            }
            return Ok(format!("{} has no branch `{}` yet", self.remote(), self.branch()));
        };
        if let Some(tip) = tip.as_ref().filter(|tip| tip.commit != self.ledger.synced) {
            self.absorb(&tip.commit.clone())?;
        }
        if theirs != self.ledger.synced {
            self.absorb(&theirs)?;
        }
        theirs.clone_into(&mut self.ledger.delivered);
        let local = tip.as_ref().map(|tip| tip.commit.clone());
        let is_behind = match &local {
            Some(local) => self.git().is_ancestor(local, &theirs)?,
            None => true,
        };
        if is_behind {
            if local.as_ref() != Some(&theirs) && !self.move_branch(&theirs, local.as_deref())? {
                return Err(Error::failed("another process moved the branch meanwhile").hint("pull again").into());
            }
        } else if !self.git().is_ancestor(&theirs, local.as_deref().unwrap_or_default())?
            && self.commit(tip.as_ref(), Some(&theirs))?.is_none()
        {
            return Err(Error::failed("another process moved the branch meanwhile").hint("pull again").into());
        }
        Ok(format!("{} of {}/{} is here", short(&theirs), self.remote(), self.branch()))
    }

    fn move_branch(&mut self, commit: &str, from: Option<&str>) -> Result<bool> {
        let name = self.branch_ref();
        let moved = self.unless_locked(|desk| desk.git().move_ref(&name, commit, from))?;
        if moved {
            commit.clone_into(&mut self.ledger.synced);
            let there = self.paths.iter().filter(|path| self.top.join(path).symlink_metadata().is_ok());
            self.ledger.published = there.cloned().collect();
            // The files and the branch agree from here on; who is killed before this is written only compares again.
            self.ledger.write(self.delivery.state)?;
        }
        Ok(moved)
    }

    // ---- a branch with the code on it ---------------------------------------------------------------------------

    fn publish_shared(&mut self, tip: Option<Tip>, is_checked_out: bool) -> Result<String, Trouble> {
        // In a rebase or a bisect HEAD is on no branch, and the branch is not to be moved all the same.
        if let Some((_, what)) = IN_PROGRESS.iter().find(|(name, _)| self.git_dir.join(name).exists()) {
            let message = format!("{what} is in progress, and nothing is committed on `{}` meanwhile", self.branch());
            return Err(Error::failed(message).hint("finish it, then `agent-handover push`").into());
        }
        // The files here belong to what is checked out, which may be older: they are added to, and nothing is taken away.
        if let Some(tip) = tip.as_ref().filter(|_| !is_checked_out) {
            self.absorb_since(&tip.commit.clone(), None)?;
        }
        let Some(commit) = self.commit(tip.as_ref(), None)? else {
            return Err(Error::failed(format!("`{}` moved while it was being committed to", self.branch()))
                .hint("`agent-handover push` tries again")
                .into());
        };
        if is_checked_out {
            self.bring_index_along(&commit)?;
        }
        if !self.delivery.destination.push {
            return Ok(format!("committed {} on `{}`; not pushed", short(&commit), self.branch()));
        }
        self.stop_if_pressed()?;
        self.refuse_the_dead()?;
        self.ledger.travels.clear();
        let there = self.far().fetch(self.remote(), self.branch(), &self.fetched_ref())?;
        let has_it = there.as_ref().map(|there| self.git().is_ancestor(&commit, there)).transpose()?.unwrap_or(false);
        if !has_it {
            if let Some(there) = &there
                && !self.git().is_ancestor(there, &commit)?
            {
                return Err(Error::failed(format!("`{}` on {} has moved on", self.branch(), self.remote()))
                    .hint(format!("`git pull` on `{}`, then `agent-handover push`", self.branch()))
                    .into());
            }
            let is_ours = |path: &PathBuf| self.paths.iter().any(|ours| path.starts_with(ours));
            let between = self.git().commits_between(there.as_deref(), &commit)?;
            if !between.iter().all(|(is_run, paths)| *is_run && paths.iter().all(is_ours)) {
                return Ok(self.travels(&commit));
            }
            self.stop_if_pressed()?;
            self.refuse_secrets_in_push(&commit, there.as_deref())?;
            self.far().push(self.remote(), &commit, self.branch())?;
            if !self.has_arrived(&commit)? {
                return Err(Error::failed(format!("{} does not have what was pushed", self.remote()))
                    .hint("`agent-handover push` tries again")
                    .into());
            }
        }
        commit.clone_into(&mut self.ledger.delivered);
        Ok(format!("{} is on {}/{}", short(&commit), self.remote(), self.branch()))
    }

    /// Commits of the user's lie between the remote and ours: pushing ours would push theirs.
    fn travels(&mut self, commit: &str) -> String {
        self.ledger.travels = format!("{} on `{}` travels with your next push", short(commit), self.branch());
        format!("committed; {}", self.ledger.travels)
    }

    /// The user's index gets the entries of our paths, so that `git status` shows no change that nobody made.
    fn bring_index_along(&mut self, commit: &str) -> Result<()> {
        let pathspecs = self.pathspecs();
        let git = Git::at(&self.top).writing();
        if git.index_is_at(commit, &pathspecs)? {
            return Ok(());
        }
        self.unless_locked(|_| git.reset_paths(commit, &pathspecs))
    }

    // ---- what both do -------------------------------------------------------------------------------------------

    /// Commits the files as they are. The answer is the commit that has them, new or not; `None` if somebody else moved
    /// the branch meanwhile.
    fn commit(&mut self, tip: Option<&Tip>, theirs: Option<&str>) -> Result<Option<String>, Trouble> {
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
        let message = format!("{}\n\nHandover-Run: {}\n", self.delivery.message.trim(), self.delivery.run);
        let sign = self.git().signs()?;
        let commit = match self.git().commit_tree(&tree, &parents, &message, sign) {
            Err(error) if is_nobody(&error) => {
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
    fn tree(&mut self, tip: Option<&Tip>, theirs: Option<&str>) -> Result<String, Trouble> {
        let index = self.delivery.state.join("publish.index");
        let build = |desk: &Desk<'_>| -> Result<String> {
            match (tip, theirs) {
                // Our own index of last time knows what has not changed since.
                (Some(tip), None) if desk.ledger.indexed == tip.tree && index.exists() => {}
                (Some(tip), None) => desk.git().read_tree(&tip.tree)?,
                (None, Some(theirs)) => desk.git().read_tree(theirs)?,
                (None, None) => desk.git().read_tree(&empty_tree(&desk.common_dir))?,
                (Some(tip), Some(theirs)) => {
                    if index.exists() {
                        fs::remove_file(&index)?;
                    }
                    let base = desk.git().merge_base(&tip.commit, theirs)?;
                    let base = base.unwrap_or_else(|| empty_tree(&desk.common_dir));
                    desk.git().read_merge(&base, &tip.commit, theirs)?;
                }
            }
            let pathspecs = desk.pathspecs();
            if !pathspecs.is_empty() {
                desk.git().add(&pathspecs)?;
            }
            desk.git().write_tree()
        };
        let tree = self.unless_locked(|desk| build(desk)).or_else(|error| {
            // A damaged index of ours is made anew; anything else fails the same way again.
            if index.exists() && !trouble::is_locked(&error) {
                fs::remove_file(&index)?;
                self.ledger.indexed.clear();
                return build(self);
            }
            Err(error)
        })?;
        tree.clone_into(&mut self.ledger.indexed);
        Ok(tree)
    }

    /// What is on disk of our paths, and never the state directory or what a killed writer left.
    fn pathspecs(&self) -> Vec<PathBuf> {
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
        let state = fs::resolve(self.delivery.state).unwrap_or_else(|_| self.delivery.state.to_path_buf());
        if let Ok(state) = state.strip_prefix(&self.top)
            && self.paths.iter().any(|path| state.starts_with(path))
        {
            specs.push(magic(":(top,exclude,literal)", state));
        }
        specs.push(magic(":(top,exclude,glob)", Path::new(&format!("**/{}", fs::TEMPORARY_GLOB))));
        specs
    }

    /// Looks into every file that a push would send away, unless each was looked into when it was committed.
    fn refuse_secrets_in_push(&mut self, commit: &str, there: Option<&str>) -> Result<()> {
        if self.ledger.searched == commit {
            return Ok(());
        }
        let there =
            there.map(str::to_owned).or_else(|| Some(self.ledger.delivered.clone()).filter(|id| !id.is_empty()));
        self.refuse_secrets_in(&self.git().objects_to_send(commit, there.as_deref())?)?;
        commit.clone_into(&mut self.ledger.searched);
        Ok(())
    }

    fn refuse_secrets_in(&self, files: &[(String, PathBuf)]) -> Result<()> {
        let ids: Vec<&str> = files.iter().map(|(id, _)| id.as_str()).collect();
        let mut leaks = Vec::new();
        for ((_, path), content) in files.iter().zip(self.git().blobs(&ids)?) {
            leaks.extend(content.map(|content| acknowledge::leaks(&self.top, path, &content)).unwrap_or_default());
        }
        if leaks.is_empty() { Ok(()) } else { Err(secrets::refuse(&leaks)) }
    }

    /// Brings back what was swept away as a whole, before anything is written in its place: who looks at the branch with
    /// `git checkout` loses the directories on the way back.
    pub fn restore(&mut self) -> Result<bool, Trouble> {
        if !self.is_swept_away() || self.ledger.synced.is_empty() || !self.ledger.is_own {
            return Ok(false);
        }
        self.absorb_since(&self.ledger.synced.clone(), None)?;
        Ok(true)
    }

    /// Whether a path is one of those that are made of the archives.
    fn is_derived(&self, path: &Path) -> bool {
        let history = fs::resolve(self.delivery.history).unwrap_or_else(|_| self.delivery.history.to_path_buf());
        let below = self.top.join(path);
        below.strip_prefix(history).is_ok_and(|below| history::DERIVED.iter().any(|name| below == Path::new(name)))
    }

    /// Whether something that was published is gone as a whole.
    fn is_swept_away(&self) -> bool {
        self.ledger.published.iter().any(|path| self.top.join(path).symlink_metadata().is_err())
    }

    /// Takes what a commit has into the files here.
    fn absorb(&mut self, commit: &str) -> Result<(), Trouble> {
        // A directory that is gone as a whole was not emptied on purpose.
        let base = match self.ledger.synced.as_str() {
            "" => None,
            _ if self.is_swept_away() => None,
            synced => self.git().merge_base(synced, commit)?,
        };
        self.absorb_since(commit, base)
    }

    /// The same, with what the files here once had in common with it.
    fn absorb_since(&mut self, commit: &str, base: Option<String>) -> Result<(), Trouble> {
        let differences = self.git().differences(base.as_deref(), commit)?;
        let published: Vec<&Difference> =
            differences.iter().filter(|difference| self.is_published(&difference.path)).collect();
        // A directory of theirs where a file of ours is, or the other way round, is nothing to merge.
        let fits = |found: &&Difference| {
            let is_parent = |other: &&Difference| other.path != found.path && other.path.starts_with(&found.path);
            let path = self.top.join(&found.path);
            let mut above = path.ancestors().skip(1).take_while(|above| above.starts_with(&self.top));
            !path.is_dir() && above.all(|above| !above.exists() || above.is_dir()) && !published.iter().any(is_parent)
        };
        let (inside, odd): (Vec<&Difference>, Vec<&Difference>) = published.iter().partition(|found| fits(found));
        for odd in odd {
            let path = odd.path.display();
            self.conflicts
                .push(format!("`{path}` is a file on one machine and a directory on another; it stays as it is"));
        }
        let ids: Vec<&str> =
            inside.iter().flat_map(|found| [&found.old, &found.new]).flatten().map(String::as_str).collect();
        let mut blobs = self.git().blobs(&ids)?.into_iter();
        let (mut memory, mut history, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let real = |path: &Path| fs::resolve(path).unwrap_or_else(|_| path.to_path_buf());
        let (memory_place, history_place) = (real(self.delivery.memory), real(self.delivery.history));
        for difference in inside {
            let mut blob = |id: &Option<String>| id.as_ref().and_then(|_| blobs.next().flatten());
            let (base, now) = (blob(&difference.old), blob(&difference.new));
            let path = self.top.join(&difference.path);
            let theirs = |path: &Path| Theirs { path: path.to_path_buf(), base, now };
            if let Ok(below) = path.strip_prefix(&memory_place) {
                memory.push(theirs(below));
            } else if let Ok(below) = path.strip_prefix(&history_place) {
                history.push(theirs(below));
            } else {
                others.push(theirs(&difference.path));
            }
        }
        let delivery = self.delivery;
        let author = Author {
            run: delivery.run,
            step: "merge",
            at: delivery.at,
            agent: "",
            tag: delivery.tag,
            commit: "",
            is_late: false,
        };
        self.stop_if_pressed()?;
        let their_time = self.time_of_state(commit, &memory, &memory_place)?;
        let brake = delivery.brake;
        self.conflicts.extend(Memory::at(memory_place).absorb(
            &author,
            delivery.categories,
            &memory,
            their_time,
            brake,
        )?);
        self.stop_if_pressed()?;
        self.conflicts.extend(History::at(history_place).absorb(&history, brake)?);
        for theirs in &others {
            self.stop_if_pressed()?;
            self.conflicts.extend(versions::take_over(&self.top, theirs)?);
        }
        Ok(())
    }

    /// When they last wrote their current state, asked only if there is one.
    fn time_of_state(&self, commit: &str, memory: &[Theirs], place: &Path) -> Result<Option<SystemTime>> {
        let state = Path::new("layer2/current-state.md");
        let Ok(place) = place.strip_prefix(&self.top) else { return Ok(None) };
        if memory.iter().all(|theirs| theirs.path != state) {
            return Ok(None);
        }
        self.git().time_of(commit, &place.join(state))
    }

    /// Whether a path of a tree is one of ours: inside, and nothing that could lead out.
    fn is_published(&self, path: &Path) -> bool {
        let is_plain = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let is_git = path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
        is_plain && !is_git && self.paths.iter().any(|ours| path.starts_with(ours))
    }

    /// Waits for a lock of another git process, for a while.
    fn unless_locked<T>(&mut self, act: impl Fn(&Desk<'_>) -> Result<T>) -> Result<T> {
        let start = Instant::now();
        loop {
            match act(self) {
                Err(error)
                    if trouble::is_locked(&error)
                        && start.elapsed() < PATIENCE.min(self.left())
                        && self.delivery.brake.pressed().is_none() =>
                {
                    std::thread::sleep(Duration::from_millis(50));
                }
                done => return done,
            }
        }
    }
}

/// Nobody but us uses this index, and we hold the lock of the project: a lock of git's beside it was left by a git that was
/// killed, or is held by one whose parent was.
fn clear_up_after_the_killed(index: &Path, marks: &[(&str, &str)]) -> Result<()> {
    let lock = index.with_extension("index.lock");
    if lock.symlink_metadata().is_err() {
        return Ok(());
    }
    process::end_orphans(marks)?;
    if lock.symlink_metadata().is_ok() { fs::remove_file(&lock) } else { Ok(()) }
}

/// The tree without files, which git knows without having it.
fn empty_tree(common_dir: &Path) -> String {
    let config = std::fs::read_to_string(common_dir.join("config")).unwrap_or_default().to_lowercase();
    let is_sha256 = config.lines().any(|line| line.contains("objectformat") && line.contains("sha256"));
    let (sha1, sha256) = (
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    );
    if is_sha256 { sha256.to_owned() } else { sha1.to_owned() }
}

/// The beginning of an object id.
fn is_part(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || fs::resolve(one).is_ok_and(|one| one == other)
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Whether git does not know whose name to put on a commit.
fn is_nobody(error: &Error) -> bool {
    let said = error.causes().join("\n");
    [
        "Please tell me who you are",
        "empty ident",
        "no email was given",
        "no name was given",
        "auto-detection is disabled",
    ]
    .iter()
    .any(|sign| said.contains(sign))
}

/// What is published, relative to the top of the work tree: inside it, and not all of it.
fn published_paths(delivery: &Delivery<'_>, repository: &Path, top: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in &delivery.destination.paths {
        let real = fs::resolve(&repository.join(path))?;
        let below = real.strip_prefix(top).map_err(|_| {
            Error::failed(format!("`{path}` is outside the repository `{}`", top.display()))
                .hint("name paths inside it under `paths` of `[backend]`")
        })?;
        if below.as_os_str().is_empty() || below.starts_with(".git") {
            return Err(Error::failed(format!("`{path}` cannot be published: it holds more than memory"))
                .hint("name the memory and history directories under `paths` of `[backend]`"));
        }
        if real.join(".git").exists() {
            return Err(Error::failed(format!(
                "`{path}` is a git repository of its own, so its files cannot be published"
            ))
            .hint("remove its `.git`, or leave it out of `paths` of `[backend]`"));
        }
        paths.push(below.to_path_buf());
    }
    Ok(paths)
}
