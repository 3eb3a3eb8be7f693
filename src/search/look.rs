//! Which files an update looks at: only those that can have changed, as far as their directories tell.
//!
//! | files | looked at |
//! |---|---|
//! | memory | always: there are few |
//! | archived handoffs, kept talk | if one was added, replaced or removed |
//! | transcripts | the newest; all if a file came or went |
//!
//! An old session that goes on, and an archive that is edited in place, leave no trace in a directory. So all files are looked at
//! from time to time, at the end of a session, and before a search says that it found nothing.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::sources::{self, HISTORY, MEMORY, SourceFile, SourceKind, TALK};
use super::store::{BUILT, Index, KnownFile};
use crate::base::{clock, fs};
use crate::project::Project;
use crate::transcript::{self, FORMATS};

/// The notes of the index on the directories: their mark, and when all of their files were last looked at.
pub(super) const ARCHIVES: &str = "archives";
const TRANSCRIPTS: &str = "transcripts";
const KEPT: &str = "kept";
/// How many transcripts of each agent are looked at each time: those of a few weeks.
const NEWEST: usize = 200;
/// After this time all files are looked at again, in seconds.
const SOME_TIME: i64 = 600;
/// Changes within this time may have the same time, in nanoseconds: a file system's clock ticks slowly.
const TICK: i64 = 20_000_000;

/// How thoroughly an update looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// At what can have changed, as far as directories tell.
    Quick,
    /// At every file.
    Whole,
}

/// What a look at the files found.
#[derive(Default)]
pub(super) struct Looked {
    /// The files that the index does not have as they are, in the order in which they are indexed.
    pub changed: Vec<SourceFile>,
    /// The ids of the files that are gone.
    pub gone: Vec<i64>,
    /// Not every file was looked at.
    pub is_quick: bool,
    /// What the index notes once it has everything.
    notes: Vec<(&'static str, String)>,
}

impl Looked {
    pub(super) fn at(index: &Index, project: &Project, roots: &[PathBuf], look: Look) -> rusqlite::Result<Looked> {
        let now = clock::now().timestamp();
        let mut looked = Looked::default();
        looked.compare(sources::memory(project), index.files_of(MEMORY)?);
        // The marks are taken first: what changes while the files are listed changes the mark of the next time.
        let archives = sources::archives_changed(project).filter(|changed| is_settled(*changed));
        let archives = archives.map(|changed| changed.to_string());
        if look == Look::Quick && is_noted(index, ARCHIVES, archives.as_deref(), now)? {
            looked.is_quick = true;
        } else {
            looked.compare(sources::archives(project), index.files_of(HISTORY)?);
            looked.notes.push((ARCHIVES, note(archives.as_deref(), now)));
        }
        let kept = mark(&project.talk_directories());
        if look == Look::Quick && is_noted(index, KEPT, kept.as_deref(), now)? {
            looked.is_quick = true;
        } else {
            looked.compare(sources::talk(project), index.files_of(TALK)?);
            looked.notes.push((KEPT, note(kept.as_deref(), now)));
        }
        let transcripts = mark(&transcript::directories_of(roots));
        let is_quick = look == Look::Quick && is_noted(index, TRANSCRIPTS, transcripts.as_deref(), now)?;
        if !is_quick || !looked.compare_newest(index)? {
            let mut known = Vec::new();
            for format in FORMATS {
                known.extend(index.files_of(format.name)?);
            }
            looked.compare(sources::transcripts(roots), known);
            looked.notes.push((TRANSCRIPTS, note(transcripts.as_deref(), now)));
        }
        looked.changed.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        // After the first build newer passages have higher ids. A few files do not use up the time of a search.
        if looked.changed.len() <= NEWEST && index.meta(BUILT)?.is_some() {
            looked.changed.reverse();
        }
        Ok(looked)
    }

    /// Compares files as they are now with all that the index knows of their kind.
    fn compare(&mut self, files: Vec<SourceFile>, known: Vec<(String, KnownFile)>) {
        let mut known: HashMap<String, KnownFile> = known.into_iter().collect();
        for mut file in files {
            let known = known.remove(&file.path);
            if !known.as_ref().is_some_and(|known| file.is_as_known(known)) {
                file.is_new = known.is_none();
                self.changed.push(file);
            }
        }
        self.gone.extend(known.values().map(|gone| gone.id));
    }

    /// Compares the newest transcripts. `false`, and nothing compared, if one of them is gone.
    fn compare_newest(&mut self, index: &Index) -> rusqlite::Result<bool> {
        let mut changed = Vec::new();
        for format in FORMATS {
            let (paths, known): (Vec<PathBuf>, Vec<KnownFile>) = index
                .newest_files_of(format.name, NEWEST)?
                .into_iter()
                .map(|(path, known)| (path.into(), known))
                .unzip();
            for (found, known) in transcript::found_before(format.name, &paths).into_iter().zip(known) {
                let Some(file) = found.and_then(SourceFile::of_transcript) else { return Ok(false) };
                if !file.is_as_known(&known) {
                    changed.push(file);
                }
            }
        }
        self.changed.extend(changed);
        self.is_quick = true;
        Ok(true)
    }

    /// Notes which files were looked at. All of them must be indexed.
    pub(super) fn settle(&self, index: &mut Index) -> rusqlite::Result<()> {
        let mut new = Vec::new();
        for (key, value) in &self.notes {
            if index.meta(key)?.as_ref() != Some(value) {
                new.push((*key, value.clone()));
            }
        }
        if index.meta(BUILT)?.is_none() {
            new.push((BUILT, index.last_passage()?.to_string()));
        }
        if new.is_empty() {
            return Ok(());
        }
        let writer = index.write()?;
        new.into_iter().try_for_each(|(key, value)| writer.set_meta(key, &value))?;
        writer.commit()
    }
}

impl SourceFile {
    /// Whether the index has all of the file as it is now.
    pub(super) fn is_as_known(&self, known: &KnownFile) -> bool {
        let state = self.as_known(self.length);
        (known.inode, known.length, known.modified, known.seen)
            == (state.inode, state.length, state.modified, state.seen)
    }

    /// The file as the index will know it, with so many bytes indexed.
    pub(super) fn as_known(&self, seen: u64) -> KnownFile {
        let modified = self.modified_nanos();
        let (inode, length, seen) = (signed(self.inode), signed(self.length), signed(seen));
        KnownFile { inode, length, modified, seen, ..KnownFile::default() }
    }

    /// Whether the file is the one that is known, perhaps longer, and can be read on.
    pub(super) fn continues(&self, known: &KnownFile) -> bool {
        let is_same = || {
            let seen = u64::try_from(known.seen).ok()?;
            transcript::mark_before(Path::new(&self.path), seen).map(|mark| mark == known.mark)
        };
        known.inode == signed(self.inode) && known.length <= signed(self.length) && is_same().unwrap_or(false)
    }

    /// The files that are looked at together with it.
    pub(super) fn place(&self) -> &'static str {
        match &self.kind {
            SourceKind::Transcript(file) => file.agent(),
            SourceKind::State | SourceKind::Notes | SourceKind::Archive => MEMORY,
            SourceKind::Handoff => HISTORY,
            SourceKind::Talk => TALK,
        }
    }
}

/// SQLite has no unsigned numbers.
fn signed(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}

/// When the archives last changed, if the index has all of them as they were then.
pub(super) fn archives_of_index(index: &Index) -> Option<i64> {
    index.meta(ARCHIVES).ok()??.split_once(' ')?.0.parse().ok()
}

/// Whether the index notes this mark, and all files were looked at not long ago.
fn is_noted(index: &Index, key: &str, mark: Option<&str>, now: i64) -> rusqlite::Result<bool> {
    let noted = index.meta(key)?.unwrap_or_default();
    let Some((noted, at)) = noted.split_once(' ') else { return Ok(false) };
    let is_recent = at.parse::<i64>().is_ok_and(|at| (at..at + SOME_TIME).contains(&now));
    Ok(mark == Some(noted) && is_recent)
}

fn note(mark: Option<&str>, now: i64) -> String {
    mark.map(|mark| format!("{mark} {now}")).unwrap_or_default()
}

/// A mark of these directories: another one if a file in them came or went. `None` if that may happen unnoticed.
fn mark(directories: &[PathBuf]) -> Option<String> {
    let mut hasher = DefaultHasher::new();
    for directory in directories {
        let modified = fs::modified(directory).map(sources::nanos);
        if modified.is_some_and(|modified| !is_settled(modified)) {
            return None;
        }
        (directory, modified).hash(&mut hasher);
    }
    Some(format!("{:x}", hasher.finish()))
}

/// Whether what happens from now on gets another time.
fn is_settled(changed: i64) -> bool {
    changed < sources::nanos(SystemTime::now()) - TICK
}
