//! One delivery at work: its repository, its git, the kind of its branch, and what it records at the end.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::arrivals::Arrivals;
use super::failure::{Halted, Result};
use super::ledger::Ledger;
use crate::base::fs::Anchor;
use crate::base::process::{self, Orphans};
use crate::base::{env, fs, text};
use crate::error::{self, Error};
use crate::git::{self, Budget, FailureKind, Git, Tip};
use crate::guard::own_record;
use crate::project;
use crate::publish::{Delivered, Delivery, NotDelivered};

/// How long a delivery waits for a lock of another git process.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The sentence about a branch that is only another name for a ref.
pub(super) fn symbolic(branch: &str, target: &str) -> String {
    let target = target.strip_prefix("refs/heads/").unwrap_or(target);
    format!("the branch `{branch}` is a symbolic ref to `{target}`: publishing would put the notes there")
}

fn remedy(branch: &str) -> String {
    format!(
        "`git symbolic-ref --delete refs/heads/{branch}` removes only that name; or name another `branch` under `[backend]`"
    )
}

/// A delivery at work in one repository.
pub(super) struct Publisher<'a> {
    pub(super) delivery: &'a Delivery<'a>,
    /// The top of the work tree, without symlinks.
    pub(super) top: PathBuf,
    /// The git directory of this work tree.
    pub(super) git_dir: PathBuf,
    /// The git directory that all work trees of the repository share.
    pub(super) common_dir: PathBuf,
    pub(super) git: Git,
    /// The published directories, relative to the top.
    pub(super) paths: Vec<PathBuf>,
    pub(super) ledger: Ledger,
    /// The branch was known to hold nothing but our files before this delivery.
    pub(super) was_own: bool,
    /// The branch is known to hold nothing but our files now.
    pub(super) is_own: bool,
    /// What the remote was known to have before this delivery.
    pub(super) delivered_before: String,
    /// The time that all git processes of this delivery share.
    pub(super) budget: Rc<Budget>,
    /// This delivery pushed to the branch of this machine.
    pub(super) is_aside: bool,
    /// When rounds and waits for locks end.
    deadline: Instant,
    pub(super) notices: Vec<String>,
    pub(super) conflicts: Vec<String>,
    /// What arrived and is not this user's own.
    pub(super) strange: Arrivals,
}

/// The name of our own index in the state directory.
pub(super) const INDEX: &str = "publish.index";
/// How an index of git begins.
const INDEX_START: &[u8] = b"DIRC";
/// More than a configuration file of git has.
const MAX_CONFIG: u64 = 1 << 20;

/// What a delivery is to do, which decides what is due after it.
#[derive(Clone, Copy)]
pub(super) enum Aim {
    /// Commits and pushes: nothing is due after a success.
    Push,
    /// Commits, and leaves due what was due.
    Commit,
    /// Delivers nothing, so whatever happens it leaves due what was due.
    Pull,
}

/// What else is on the branch.
pub(super) enum BranchKind {
    /// The branch holds nothing but our files.
    Own,
    /// The branch holds the user's code, too.
    Shared { is_checked_out: bool },
}

impl<'a> Publisher<'a> {
    /// Finds the repository and prepares git. Starts no process.
    pub(super) fn open(delivery: &'a Delivery<'a>) -> Result<Publisher<'a>> {
        let destination = delivery.destination;
        let repository = project::place_of_others(delivery.files.root, &destination.repo_dir)?;
        let not_one = || {
            Error::failed(format!("`{}` is not in a git repository", delivery.files.root.display()))
                .hint("run `git init`, or set `type = \"null\"` under `[backend]`")
        };
        let real = fs::resolve(&repository)?;
        // In a bare repository, the directory of the project takes the place of a work tree.
        let bare = delivery.files.bare.filter(|_| destination.repo_dir == ".");
        let (top, git_dir, common_dir) = match bare {
            Some(bare) => (real.clone(), bare.to_path_buf(), bare.to_path_buf()),
            None => {
                let top = git::top_level(&real).ok_or_else(not_one)?.to_path_buf();
                let git::GitDirectories { private, common } = git::directories(&top).ok_or_else(not_one)?;
                (top, private, common)
            }
        };
        let paths = published_paths(delivery, &real, &top)?;
        let brake = delivery.brake.clone();
        let anchor = delivery.files.state_anchor();
        anchor.create_private_directories(delivery.files.state)?;
        // git opens it by name, and as a path without links.
        anchor.require_regular(&delivery.files.state.join(INDEX))?;
        let index = fs::resolve(delivery.files.state)?.join(INDEX);
        let (mark, root) = ((env::RUN, "git"), delivery.files.root.to_string_lossy().into_owned());
        end_orphans(&index, &[mark, (env::ROOT, &root)])?;
        remove_damaged_index(&anchor, &delivery.files.state.join(INDEX))?;
        let timeout = Duration::from_millis(destination.timeout_ms);
        let budget = Rc::new(Budget::new(timeout));
        let git = bare.map_or_else(|| Git::at(&top), |bare| Git::in_bare(bare, &top));
        let git = git
            .writing()
            .sharing(&budget)
            .with_env("GIT_INDEX_FILE", index)
            // No attribute of the user's or of a file on the branch changes what is stored.
            .with_env("GIT_ATTR_SOURCE", empty_tree(&common_dir))
            .with_env(mark.0, mark.1)
            .with_env(env::ROOT, root)
            .until(Rc::new(move || brake.paused().is_some()));
        let ledger = Ledger::of(&delivery.files, &destination.branch, &destination.remote)?;
        Ok(Publisher {
            was_own: ledger.is_own && !ledger.synced.is_empty(),
            delivered_before: ledger.delivered.clone(),
            is_own: false,
            is_aside: false,
            ledger,
            budget,
            deadline: Instant::now() + timeout,
            delivery,
            top,
            git_dir,
            common_dir,
            git,
            paths,
            notices: Vec::new(),
            conflicts: Vec::new(),
            strange: Arrivals::default(),
        })
    }

    /// Records how the delivery ended, and puts a failure into words for a person.
    pub(super) fn finish(mut self, done: Result<String>, aim: Aim) -> Result<Delivered, NotDelivered> {
        let done = done.and_then(|detail| self.make_durable().map(|()| detail));
        let done = match (done, self.delivery.brake.pressed()) {
            (Ok(detail), _) => Ok(detail),
            // A git that the brake ended did not fail.
            (Err(_), Some(stop)) => Err(NotDelivered::Stopped(stop)),
            (Err(halted), None) => {
                if let Halted::Git(failure) = &halted {
                    self.remember_if_unreachable(failure);
                }
                Err(halted.explained(self.delivery.destination))
            }
        };
        match (&done, aim) {
            (_, Aim::Pull) | (Ok(_), Aim::Commit) => {}
            (Ok(_), Aim::Push) | (Err(NotDelivered::NotFromHere(_)), _) => self.ledger.due.clear(),
            (Err(NotDelivered::Failed(error)), _) => self.ledger.due = text::one_line(error.message(), 200),
            (Err(NotDelivered::Stopped(stop)), _) => self.ledger.due = stop.error().one_line(),
        }
        if done.is_ok() {
            self.ledger.conflicts.clone_from(&self.conflicts);
        }
        self.ledger.write(&self.delivery.files)?;
        let detail = done?;
        self.notices.extend(self.strange.notice(self.delivery.destination));
        Ok(Delivered { detail, notices: self.notices, conflicts: self.conflicts })
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// git with the user's own index, for questions.
    pub(super) fn users_git(&self) -> Git {
        Git::at(&self.top).sharing(&self.budget)
    }

    /// The time until the deadline, never zero.
    pub(super) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    /// Whether more than half of the time of this delivery is over.
    pub(super) fn is_late(&self) -> bool {
        self.time_left() < Duration::from_millis(self.delivery.destination.timeout_ms / 2)
    }

    pub(super) fn branch(&self) -> &str {
        &self.delivery.destination.branch
    }

    pub(super) fn remote(&self) -> &str {
        &self.delivery.destination.remote
    }

    pub(super) fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch())
    }

    /// Fails if the brake is pressed.
    pub(super) fn stop_if_pressed(&self) -> Result<()> {
        self.delivery.brake.pressed().map_or(Ok(()), |stop| Err(Halted::Stopped(stop)))
    }

    /// Commits the files and pushes the commit, if the destination says so.
    pub(super) fn publish(&mut self) -> Result<String> {
        self.check_git_answers()?;
        self.git().begin_settings();
        let tip = self.tip()?;
        match self.branch_kind(tip.as_ref())? {
            BranchKind::Own => self.publish_own(tip),
            BranchKind::Shared { is_checked_out } => {
                // Others write to the branch with git alone, so the directories no longer vouch for text in them.
                own_record::unmark_created(self.delivery.files.memory);
                own_record::unmark_created(self.delivery.files.history);
                self.publish_shared(tip, is_checked_out)
            }
        }
    }

    /// Where the branch is. Fails if it is only another name for some branch, which a commit would move.
    pub(super) fn tip(&self) -> Result<Option<Tip>> {
        let tip = self.git().tip(self.branch())?;
        let target = match &tip {
            Some(tip) => tip.symbolic.clone(),
            // git does not list a name for a branch that has no commit yet.
            None => self.git().symbolic_target(self.branch())?,
        };
        match target {
            None => Ok(tip),
            Some(target) => Err(Error::failed(symbolic(self.branch(), &target)).hint(remedy(self.branch())).into()),
        }
    }

    /// What else is on the branch. Fails if another work tree has checked it out.
    pub(super) fn branch_kind(&mut self, tip: Option<&Tip>) -> Result<BranchKind> {
        self.is_own = false;
        let is_checked_out = match tip {
            Some(tip) => tip.checked_out.as_ref().is_some_and(|place| self.is_here(place)),
            // A branch without a commit may be checked out already.
            None => self.git().branch()?.as_deref() == Some(self.branch()),
        };
        if is_checked_out {
            return Ok(BranchKind::Shared { is_checked_out });
        }
        if let Some(place) = tip.and_then(|tip| tip.checked_out.as_ref()) {
            if self.is_memory_tracked()? {
                let (branch, place) = (self.branch(), place.display());
                return Err(Halted::NotFromHere(format!(
                    "`{branch}` is checked out in `{place}`, and git tracks the memory of this worktree on its own branch: commit it here, then merge it into `{branch}`"
                )));
            }
            return Err(Error::failed(format!(
                "the branch `{}` is checked out in `{}`, whose files would not follow",
                self.branch(),
                place.display()
            ))
            .hint("switch to another branch there, then `agent-handover push`")
            .into());
        }
        // The ledger's answer counts only for the commit that we made: a branch may be renamed or moved.
        let is_own = match tip {
            Some(tip) if tip.commit == self.ledger.synced && self.ledger.is_own => true,
            Some(tip) => self.is_without_code(&tip.commit)?,
            None => true,
        };
        self.ledger.is_own = is_own;
        self.is_own = is_own;
        Ok(if is_own { BranchKind::Own } else { BranchKind::Shared { is_checked_out } })
    }

    /// Whether git means this work tree. Where the git directory is elsewhere, as in a submodule, git names that directory as
    /// the place of the first work tree.
    fn is_here(&self, place: &Path) -> bool {
        is_same(place, &self.top) || (self.git_dir == self.common_dir && is_same(place, &self.common_dir))
    }

    /// Whether git tracks our files in this work tree. The user's own index is asked, not the one that this delivery writes.
    fn is_memory_tracked(&self) -> Result<bool> {
        let paths: Vec<PathBuf> = self.paths.iter().map(|path| self.top.join(path)).collect();
        let is_in_work_tree = self.delivery.files.bare.is_none();
        Ok(is_in_work_tree && self.users_git().tracks_any(&paths.iter().collect::<Vec<_>>())?)
    }

    /// Whether a commit is not one of the user's code: a handover began its history, or it holds only our files.
    pub(super) fn is_without_code(&self, commit: &str) -> Result<bool> {
        let is_ours = |path: &PathBuf| self.paths.iter().any(|ours| path.starts_with(ours));
        Ok(self.git().is_begun_by_us(commit)? || self.git().paths_of(commit)?.iter().all(is_ours))
    }

    /// Repeats `act` while another git process holds a lock, for a while.
    pub(super) fn unless_locked<T>(&mut self, mut act: impl FnMut(&Publisher<'_>) -> Result<T>) -> Result<T> {
        let start = Instant::now();
        // An earlier delivery of this command waited for it already.
        let patience = if self.delivery.unreachable.has_lock(&self.top) { Duration::ZERO } else { PATIENCE };
        loop {
            match act(self) {
                Err(halted) if halted.is(FailureKind::Locked) && !self.has_stale_lock() => {
                    if start.elapsed() >= patience.min(self.time_left()) {
                        self.delivery.unreachable.add_lock(&self.top);
                        return Err(halted);
                    }
                    if self.delivery.brake.pressed().is_some() {
                        return Err(halted);
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                done => return done,
            }
        }
    }
}

/// Ends what a killed delivery left running, and removes git's lock beside our index. This process holds the lock of the
/// project, so no other delivery is going on, and nobody else uses this index.
fn end_orphans(index: &Path, marks: &[(&str, &str)]) -> error::Result<()> {
    process::end_orphans(marks, Orphans::ButDaemons)?;
    let lock = index.with_extension("index.lock");
    if fs::is_taken(&lock) { fs::remove_file(&lock) } else { Ok(()) }
}

/// Removes our index if it has no content, as after a power cut. git reads the index even where it needs none of it, so every
/// command would fail.
fn remove_damaged_index(anchor: &Anchor, index: &Path) -> error::Result<()> {
    let is_damaged = anchor.is_regular(index) && !anchor.read_start(index, 4)?.starts_with(INDEX_START);
    if is_damaged { Ok(anchor.remove_file(index)?) } else { Ok(()) }
}

/// The id of the tree without files, which git knows without storing it.
pub(super) fn empty_tree(common_dir: &Path) -> String {
    let config = fs::read_within(&common_dir.join("config"), MAX_CONFIG).unwrap_or_default();
    let is_sha256 = names_objects_by_sha256(&String::from_utf8_lossy(&config));
    let (sha1, sha256) = (
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    );
    if is_sha256 { sha256.to_owned() } else { sha1.to_owned() }
}

/// Whether a repository with this configuration names its objects by SHA-256. Other sections have a key that is called
/// alike, for new repositories.
fn names_objects_by_sha256(config: &str) -> bool {
    let mut section = String::new();
    config.lines().map(str::trim).any(|line| {
        let mut line = line.to_lowercase();
        if let Some((head, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            section = head.trim().to_owned();
            line = rest.trim().to_owned();
        }
        let value = line.split_once('=').filter(|(key, _)| section == "extensions" && key.trim() == "objectformat");
        value.is_some_and(|(_, value)| value.trim().trim_matches('"').starts_with("sha256"))
    })
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || fs::resolve(one).is_ok_and(|one| one == other)
}

/// A commit as a person reads it.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// The published directories, relative to the top of the work tree. Each must be inside it, and none may be all of it.
fn published_paths(delivery: &Delivery<'_>, repository: &Path, top: &Path) -> error::Result<Vec<PathBuf>> {
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
        if fs::exists(&real.join(".git")) {
            return Err(Error::failed(format!(
                "`{path}` is a git repository of its own, so its files cannot be published"
            ))
            .hint("remove its `.git`, or leave it out of `paths` of `[backend]`"));
        }
        paths.push(below.to_path_buf());
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_extension_says_how_objects_are_named() {
        assert!(names_objects_by_sha256("[core]\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n"));
        assert!(names_objects_by_sha256("[Extensions] ObjectFormat = \"sha256\" ; why\n"));
        assert!(!names_objects_by_sha256(
            "[extensions]\n\trefStorage = reftable\n[init]\n\tdefaultObjectFormat = sha256\n"
        ));
        assert!(!names_objects_by_sha256("[init]\n\tobjectFormat = sha256\n[extensions]\n\tobjectFormat = sha1\n"));
    }
}
