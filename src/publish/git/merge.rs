//! What other machines committed, taken into the files here.

use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;

use super::failure::Result;
use super::publisher::Publisher;
use crate::base::fs;
use crate::base::three_way::{self, Theirs};
use crate::git::Difference;
use crate::history::{self, History};
use crate::memory::{Author, Memory};

impl Publisher<'_> {
    /// Brings back what was swept away as a whole, before anything is written in its place: who looks at the branch with
    /// `git checkout` loses the directories on the way back.
    pub fn restore(&mut self) -> Result<bool> {
        if !self.is_swept_away() || self.ledger.synced.is_empty() || !self.ledger.is_own {
            return Ok(false);
        }
        self.absorb_since(&self.ledger.synced.clone(), None)?;
        Ok(true)
    }

    /// Whether a path is one of those that are made of the archives.
    pub(super) fn is_derived(&self, path: &Path) -> bool {
        let history =
            fs::resolve(self.delivery.files.history).unwrap_or_else(|_| self.delivery.files.history.to_path_buf());
        let below = self.top.join(path);
        below.strip_prefix(history).is_ok_and(|below| history::DERIVED.iter().any(|name| below == Path::new(name)))
    }

    /// Whether something that was published is gone as a whole.
    pub(super) fn is_swept_away(&self) -> bool {
        self.ledger.published.iter().any(|path| self.top.join(path).symlink_metadata().is_err())
    }

    /// Takes what a commit has into the files here.
    pub(super) fn absorb(&mut self, commit: &str) -> Result<()> {
        // A directory that is gone as a whole was not emptied on purpose.
        let base = match self.ledger.synced.as_str() {
            "" => None,
            _ if self.is_swept_away() => None,
            synced => self.git().merge_base(synced, commit)?,
        };
        self.absorb_since(commit, base)
    }

    /// The same, with what the files here once had in common with it.
    pub(super) fn absorb_since(&mut self, commit: &str, base: Option<String>) -> Result<()> {
        let differences = self.git().differences(base.as_deref(), commit)?;
        let published: Vec<&Difference> =
            differences.iter().filter(|difference| self.is_published(&difference.path)).collect();
        // A directory of theirs where a file of ours is, or the other way round, is nothing to merge.
        let directories: HashSet<&Path> = published.iter().flat_map(|found| found.path.ancestors().skip(1)).collect();
        // Asked once for each directory, however many files are in it.
        let blocked: HashSet<&Path> = directories
            .iter()
            .copied()
            .filter(|directory| self.top.join(directory).symlink_metadata().is_ok_and(|about| !about.is_dir()))
            .collect();
        let fits = |found: &&Difference| {
            !self.top.join(&found.path).is_dir()
                && !directories.contains(found.path.as_path())
                && !found.path.ancestors().skip(1).any(|above| blocked.contains(above))
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
        let (memory_place, history_place) = (real(self.delivery.files.memory), real(self.delivery.files.history));
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
            run: delivery.run.id,
            step: "merge",
            at: delivery.run.at,
            agent: "",
            tag: delivery.run.tag,
            commit: "",
            is_late: false,
        };
        self.stop_if_pressed()?;
        let their_time = self.time_of_state(commit, &memory, &memory_place)?;
        let brake = delivery.brake;
        self.conflicts.extend(Memory::at(memory_place).absorb(
            &author,
            delivery.files.categories,
            &memory,
            their_time,
            brake,
        )?);
        self.stop_if_pressed()?;
        self.conflicts.extend(History::at(history_place).absorb(&history, brake)?);
        for theirs in &others {
            self.stop_if_pressed()?;
            self.conflicts.extend(three_way::take_over(&self.top, theirs)?);
        }
        Ok(())
    }

    /// When they last wrote their current state, asked only if there is one.
    pub(super) fn time_of_state(&self, commit: &str, memory: &[Theirs], place: &Path) -> Result<Option<SystemTime>> {
        let state = Path::new("layer2/current-state.md");
        let Ok(place) = place.strip_prefix(&self.top) else { return Ok(None) };
        if memory.iter().all(|theirs| theirs.path != state) {
            return Ok(None);
        }
        Ok(self.git().time_of(commit, &place.join(state))?)
    }

    /// Whether a path of a tree is one of ours: inside, and nothing that could lead out.
    pub(super) fn is_published(&self, path: &Path) -> bool {
        let is_plain = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let is_git = path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
        is_plain && !is_git && self.paths.iter().any(|ours| path.starts_with(ours))
    }
}
