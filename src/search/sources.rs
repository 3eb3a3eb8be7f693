//! The files that belong in the index, as they are now: transcripts of this project, memory and history.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::text_passages::{day_of, is_archive};
use crate::base::fs::{self, Anchor};
use crate::project::Project;
use crate::transcript::{self, FoundFile, ListingLimits};

/// The names of the groups of files that are not an agent's.
pub(super) const MEMORY: &str = "memory";
pub(super) const HISTORY: &str = "history";
/// The talk that is kept of sessions whose transcripts may be gone.
pub(super) const TALK: &str = "talk";

/// A file whose content belongs in the index.
pub(super) struct SourceFile {
    /// The path as the index knows it.
    pub path: String,
    pub kind: SourceKind,
    pub inode: u64,
    pub length: u64,
    pub modified: SystemTime,
    /// The index did not know the file when it was last asked.
    pub is_new: bool,
}

pub(super) enum SourceKind {
    Transcript(FoundFile),
    State,
    Notes,
    Archive,
    Handoff,
    Talk,
}

impl SourceFile {
    /// Nanoseconds since 1970, for comparing with what the index knows.
    pub(super) fn modified_nanos(&self) -> i64 {
        nanos(self.modified)
    }

    /// `None` if the path is not text, or the file is another user's: agents may share a directory.
    pub(super) fn of_transcript(file: FoundFile) -> Option<SourceFile> {
        let path = file.path.to_str()?.to_owned();
        let state = file.state;
        if !fs::is_own(state.owner) {
            return None;
        }
        let kind = SourceKind::Transcript(file);
        Some(SourceFile {
            path,
            kind,
            inode: state.inode,
            length: state.length,
            modified: state.modified,
            is_new: false,
        })
    }
}

/// When an archive was last added, replaced or removed, in nanoseconds since 1970.
pub(super) fn archives_changed(project: &Project) -> Option<i64> {
    let history = project.history_dir().ok()?;
    let about = project.anchor(&history).about(&history.join("sessions")).ok()??;
    Some(nanos(about.modified))
}

pub(super) fn nanos(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The files of memory, in no order.
pub(super) fn memory(project: &Project) -> Vec<SourceFile> {
    let memory = project.memory_dir();
    memory.map(|memory| memory_files(&project.anchor(&memory), &memory)).unwrap_or_default()
}

/// The archived handoffs, in no order.
pub(super) fn archives(project: &Project) -> Vec<SourceFile> {
    let Ok(history) = project.history_dir() else { return Vec::new() };
    let (anchor, sessions) = (project.anchor(&history), history.join("sessions"));
    files_in(&anchor, &sessions, SourceKind::Handoff, |name| name.ends_with(".md"))
}

/// The files of kept talk, in no order. Of two files for one session the first counts.
pub(super) fn talk(project: &Project) -> Vec<SourceFile> {
    let mut found: Vec<SourceFile> = Vec::new();
    for directory in project.talk_directories() {
        let is_talk = |name: &str| transcript::of_kept_name(name).is_some();
        let files = files_in(&project.anchor(&directory), &directory, SourceKind::Talk, is_talk);
        let is_new = |file: &SourceFile| found.iter().all(|known| file_name(known) != file_name(file));
        let new: Vec<SourceFile> = files.into_iter().filter(is_new).collect();
        found.extend(new);
    }
    found
}

fn file_name(file: &SourceFile) -> Option<&std::ffi::OsStr> {
    Path::new(&file.path).file_name()
}

/// The transcripts that may be of a project with these roots, in no order.
pub(super) fn transcripts(roots: &[PathBuf]) -> Vec<SourceFile> {
    let places = transcript::places_of(roots, ListingLimits::NONE);
    places.into_iter().flat_map(|place| place.files).filter_map(SourceFile::of_transcript).collect()
}

fn memory_files(anchor: &Anchor, memory: &Path) -> Vec<SourceFile> {
    let mut found: Vec<SourceFile> =
        source(anchor, &memory.join("layer2/current-state.md"), SourceKind::State).into_iter().collect();
    let layer1 = memory.join("layer1");
    for month in anchor.names(&layer1).unwrap_or_default() {
        let directory = layer1.join(&month);
        found.extend(files_in(anchor, &directory, SourceKind::Notes, |name| day_of(Path::new(name)).is_some()));
    }
    found.extend(files_in(anchor, &memory.join("layer3"), SourceKind::Archive, is_archive));
    found
}

fn files_in(anchor: &Anchor, directory: &Path, kind: SourceKind, is_wanted: impl Fn(&str) -> bool) -> Vec<SourceFile> {
    let held = anchor.holding(directory);
    let names = anchor.names(directory).unwrap_or_default();
    let same = |kind: &SourceKind| match kind {
        SourceKind::Notes => SourceKind::Notes,
        SourceKind::Archive => SourceKind::Archive,
        SourceKind::Talk => SourceKind::Talk,
        _ => SourceKind::Handoff,
    };
    names
        .iter()
        .filter(|name| is_wanted(name))
        .filter_map(|name| source(&held, &directory.join(name), same(&kind)))
        .collect()
}

/// A regular file; `None` for a link or a special file, which is not read.
fn source(anchor: &Anchor, path: &Path, kind: SourceKind) -> Option<SourceFile> {
    let about = anchor.about(path).ok()??;
    let is_regular = about.kind == crate::base::fs::FileKind::Regular;
    let name = path.to_str().filter(|_| is_regular)?.to_owned();
    Some(SourceFile { path: name, kind, inode: 0, length: about.length, modified: about.modified, is_new: false })
}
