//! What other machines committed, merged into the files here.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::arrivals::Arrivals;
use super::failure::Result;
use super::publisher::Publisher;
use crate::base::fs::{self, About, Anchor, FileError, FileKind};
use crate::base::three_way::{self, Theirs};
use crate::git::Difference;
use crate::history::{self, History};
use crate::memory::{Author, Edits, Memory};

/// The current state, relative to the memory.
pub(super) const STATE: &str = "layer2/current-state.md";

/// Files of another machine, sorted by who merges them. Paths are relative to the directory of each.
pub(super) struct Incoming {
    pub(super) memory_place: PathBuf,
    memory: Vec<Theirs>,
    history_place: PathBuf,
    history: Vec<Theirs>,
    /// Other published files, relative to the top of the work tree.
    others: Vec<Theirs>,
}

impl Incoming {
    /// Changes the content of every file.
    pub(super) fn each_content(&mut self, change: impl Fn(Vec<u8>) -> Vec<u8>) {
        for theirs in self.memory.iter_mut().chain(&mut self.history).chain(&mut self.others) {
            theirs.now = theirs.now.take().map(&change);
        }
    }
}

impl Publisher<'_> {
    /// Brings back what is missing here, before anything is written in its place: directories that vanished as a whole,
    /// because a user who looks at the branch with `git checkout` loses them on the way back, and words that are kept.
    /// Returns a sentence about it, if there was anything.
    pub(super) fn restore(&mut self) -> Result<Option<String>> {
        if self.restore_kept()? {
            return Ok(Some("restored what git had taken out of the files here before it was published".to_owned()));
        }
        if !self.is_swept_away() || self.ledger.synced.is_empty() || !self.ledger.is_own {
            return Ok(None);
        }
        // All of it was here before, so its owner is on record.
        let incoming = self.incoming(&self.ledger.synced.clone(), None)?;
        self.merge_incoming(&self.ledger.synced.clone(), incoming)?;
        Ok(Some("restored from the branch what was missing here".to_owned()))
    }

    /// Brings the files here into the form that all machines share, before they are committed: items that somebody wrote by
    /// hand get their markers, so that no two machines report them as added, and the history its order.
    pub(super) fn settle_files(&self) -> Result<()> {
        self.stop_if_pressed()?;
        let files = &self.delivery.files;
        let root = resolve(files.root);
        let memory = Memory::at(&root, resolve(files.memory));
        // A state that cannot be read is committed as it is, or refused by git.
        if memory.state().is_ok_and(|state| state.items().any(|(_, item)| item.at.is_empty())) {
            memory.update_now(&self.author("publish"), files.categories, &Edits::default())?;
        }
        Ok(History::at(&root, resolve(files.history)).settle()?)
    }

    /// The author of what this delivery changes in the files.
    fn author<'s>(&'s self, step: &'s str) -> Author<'s> {
        let run = &self.delivery.run;
        Author { run: run.id, step, at: run.at, agent: "", tag: run.tag, commit: "", branch: "", is_late: false }
    }

    /// Whether a path is one of the files that history derives from the archives.
    pub(super) fn is_derived(&self, path: &Path) -> bool {
        let history = resolve(self.delivery.files.history);
        let below = self.top.join(path);
        below.strip_prefix(history).is_ok_and(|below| history::DERIVED.iter().any(|name| below == Path::new(name)))
    }

    /// Whether a published directory is gone as a whole.
    fn is_swept_away(&self) -> bool {
        self.ledger.published.iter().any(|path| !fs::is_taken(&self.top.join(path)))
    }

    /// Merges the files of a commit into the files here.
    pub(super) fn absorb(&mut self, commit: &str) -> Result<()> {
        // Nobody emptied a directory on purpose that is gone as a whole, so nothing counts as deleted here.
        let base = match self.ledger.synced.as_str() {
            "" => None,
            _ if self.is_swept_away() => None,
            synced => self.git().merge_base(synced, commit)?,
        };
        self.absorb_since(commit, base)
    }

    /// Like `absorb`, with the commit that both sides have in common. Without one nothing is removed here.
    pub(super) fn absorb_since(&mut self, commit: &str, base: Option<String>) -> Result<()> {
        let incoming = self.incoming(commit, base)?;
        self.stop_if_pressed()?;
        let arrivals = Arrivals::of(&incoming.memory, &incoming.history);
        let (root, is_trusted) = (self.delivery.files.root, self.delivery.is_trusted);
        self.strange.add(arrivals.settle(root, &incoming.memory_place, &incoming.history_place, is_trusted)?);
        self.merge_incoming(commit, incoming)
    }

    /// The published files that a commit changed, without those that cannot be merged.
    fn incoming(&mut self, commit: &str, base: Option<String>) -> Result<Incoming> {
        let mut differences = self.git().differences(base.as_deref(), commit)?;
        differences.retain(|difference| self.is_published(&difference.path));
        self.incoming_of(&differences)
    }

    /// These files, without those that cannot be merged.
    pub(super) fn incoming_of(&mut self, differences: &[Difference]) -> Result<Incoming> {
        let (differences, clashes) = self.split_off_clashes(differences);
        self.conflicts.extend(clashes);
        self.read_incoming(&differences)
    }

    /// Separates what can be merged from conflicts between a file on one side and a directory on the other.
    fn split_off_clashes<'d>(&self, differences: &'d [Difference]) -> (Vec<&'d Difference>, Vec<String>) {
        let directories: HashSet<&Path> = differences.iter().flat_map(|found| found.path.ancestors().skip(1)).collect();
        // Each directory is looked at once, however many files are in it.
        let anchor = Anchor::new(&self.top);
        let is_file = |found: Result<Option<About>, FileError>| match found {
            Ok(found) => found.is_some_and(|found| found.kind != FileKind::Directory),
            Err(_) => true,
        };
        let blocked: HashSet<&Path> = directories
            .iter()
            .copied()
            .filter(|directory| !directory.as_os_str().is_empty() && is_file(anchor.about(directory)))
            .collect();
        // Whoever puts a file in the place of a directory does not remove on purpose what was in it.
        let kept_there: HashSet<&Path> = differences
            .iter()
            .filter(|found| found.new.is_some())
            .flat_map(|found| found.path.ancestors().skip(1))
            .collect();
        let replaced: HashSet<&Path> = differences
            .iter()
            .map(|found| found.path.as_path())
            .filter(|path| directories.contains(path) && !kept_there.contains(path) && anchor.is_directory(path))
            .collect();
        let is_replaced = |found: &Difference| found.path.ancestors().skip(1).any(|above| replaced.contains(above));
        let fits = |found: &&Difference| {
            !anchor.is_directory(&found.path)
                && !directories.contains(found.path.as_path())
                && !found.path.ancestors().skip(1).any(|above| blocked.contains(above))
                && !is_replaced(found)
        };
        let (fitting, clashing): (Vec<&Difference>, Vec<&Difference>) = differences.iter().partition(fits);
        let conflict = |clash: &Difference| {
            let path = clash.path.display();
            format!("`{path}` is a file on one machine and a directory on another; it stays as it is")
        };
        (fitting, clashing.into_iter().filter(|clash| !is_replaced(clash)).map(conflict).collect())
    }

    /// Reads both sides of each difference, in one git process.
    fn read_incoming(&self, differences: &[&Difference]) -> Result<Incoming> {
        let ids: Vec<&str> =
            differences.iter().flat_map(|found| [&found.old, &found.new]).flatten().map(String::as_str).collect();
        let mut blobs = self.git().blobs(&ids)?.into_iter();
        let files = differences.iter().map(|difference| {
            let mut blob = |id: &Option<String>| id.as_ref().and_then(|_| blobs.next().flatten());
            let (base, now) = (blob(&difference.old), blob(&difference.new));
            Theirs { path: difference.path.clone(), base, now }
        });
        Ok(self.sort_incoming(files))
    }

    /// Files of another side, given relative to the top of the work tree, sorted by who merges them.
    pub(super) fn sort_incoming(&self, files: impl IntoIterator<Item = Theirs>) -> Incoming {
        let mut incoming = Incoming {
            memory_place: resolve(self.delivery.files.memory),
            memory: Vec::new(),
            history_place: resolve(self.delivery.files.history),
            history: Vec::new(),
            others: Vec::new(),
        };
        for mut theirs in files {
            let path = self.top.join(&theirs.path);
            if let Ok(below) = path.strip_prefix(&incoming.memory_place) {
                theirs.path = below.to_path_buf();
                incoming.memory.push(theirs);
            } else if let Ok(below) = path.strip_prefix(&incoming.history_place) {
                theirs.path = below.to_path_buf();
                incoming.history.push(theirs);
            } else {
                incoming.others.push(theirs);
            }
        }
        incoming
    }

    fn merge_incoming(&mut self, commit: &str, incoming: Incoming) -> Result<()> {
        self.stop_if_pressed()?;
        let their_time = self.time_of_state(commit, &incoming)?;
        self.merge_incoming_of(their_time, incoming)
    }

    /// Merges files whose current state is of this time.
    pub(super) fn merge_incoming_of(&mut self, their_time: Option<SystemTime>, incoming: Incoming) -> Result<()> {
        let delivery = self.delivery;
        let root = resolve(delivery.files.root);
        let memory = Memory::at(&root, incoming.memory_place);
        let conflicts = memory.absorb(
            &self.author("merge"),
            delivery.files.categories,
            &incoming.memory,
            their_time,
            delivery.brake,
        )?;
        self.conflicts.extend(conflicts);
        self.stop_if_pressed()?;
        self.conflicts.extend(History::at(&root, incoming.history_place).absorb(&incoming.history, delivery.brake)?);
        for theirs in &incoming.others {
            self.stop_if_pressed()?;
            self.conflicts.extend(three_way::take_over(&fs::Anchor::new(&self.top), &self.top, theirs)?);
        }
        Ok(())
    }

    /// When the other machine last wrote its current state. git is asked only if the state is among the incoming files.
    pub(super) fn time_of_state(&self, commit: &str, incoming: &Incoming) -> Result<Option<SystemTime>> {
        let state = Path::new(STATE);
        let Ok(place) = incoming.memory_place.strip_prefix(&self.top) else { return Ok(None) };
        if incoming.memory.iter().all(|theirs| theirs.path != state) {
            return Ok(None);
        }
        Ok(self.git().time_of(commit, &place.join(state))?)
    }

    /// Whether a path of a tree is inside one of our paths and cannot lead out of it.
    pub(super) fn is_published(&self, path: &Path) -> bool {
        let is_plain = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let is_git = path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
        is_plain && !is_git && self.paths.iter().any(|ours| path.starts_with(ours))
    }
}

fn resolve(path: &Path) -> PathBuf {
    fs::resolve(path).unwrap_or_else(|_| path.to_path_buf())
}
