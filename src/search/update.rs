//! Bringing the index up to date: what is new is added, what is gone is removed, within a time limit.
//!
//! A transcript is read from where the index has it. The files of memory and history are small and read as a whole when they
//! have changed. The newest files come first, so that a search that runs out of time still finds the latest sessions.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::ErrorCode;

use super::ahead::{self, Ahead, Belonging, Part, ReadingAhead};
use super::look::{Look, Looked};
use super::passage::Document;
use super::sources::{SourceFile, SourceKind};
use super::store::{Index, KnownFile};
use super::writer::Writer;
use super::{kept_talk, text_passages};
use crate::base::fs::Anchor;
use crate::base::{fault, signals};
use crate::project::Project;
use crate::transcript;

/// How long one transaction takes, roughly: another process may wait for it.
const TRANSACTION: Duration = Duration::from_millis(300);
/// How long the child of a hook takes at most. What is left, the next one does.
const IN_BACKGROUND: Duration = Duration::from_secs(60);
/// The largest file of memory or history that is indexed.
const MAX_TEXT: u64 = 16 << 20;

/// How complete the index is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Freshness {
    /// How many files have changes that are not indexed.
    pub missing: usize,
    /// Another process is writing to the index.
    pub is_busy: bool,
    /// Only the files were looked at that can have changed, as far as directories tell.
    pub is_quick: bool,
}

/// Why an update stopped.
enum Stopped {
    Busy,
    /// The file cannot be written, or is damaged.
    Unusable(rusqlite::Error),
}

impl From<rusqlite::Error> for Stopped {
    fn from(cause: rusqlite::Error) -> Stopped {
        match cause.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Stopped::Busy,
            _ => Stopped::Unusable(cause),
        }
    }
}

/// Is called after each file, with how many are done and how many there are.
pub(crate) type Progress<'a> = dyn FnMut(usize, usize) + 'a;

/// Brings the index up to date. An index that turns out to be damaged is built again, and one that cannot be written is built in
/// memory.
pub(crate) fn bring_up_to_date(
    mut index: Index,
    project: &Project,
    look: Look,
    limit: Duration,
    progress: &mut Progress<'_>,
) -> (Index, Freshness) {
    let end = Instant::now() + limit;
    let (mut damages, mut seen) = (0, None);
    while damages < 3 {
        let mut update = Update::of(project, look, end, progress);
        match update.run(&mut index) {
            Ok(()) => return (index, update.freshness()),
            // As long as another process adds to the index, what it adds is worth waiting for.
            Err(Stopped::Busy) if Instant::now() < end && seen != index.version() => seen = index.version(),
            Err(Stopped::Busy) => {
                let missing = update.missing.max(1);
                return (index, Freshness { missing, is_busy: true, ..update.freshness() });
            }
            Err(Stopped::Unusable(cause)) => {
                tracing::debug!(%cause, "index");
                damages += 1;
                index = if is_damage(&cause) { index.replace(project) } else { Index::in_memory() };
            }
        }
    }
    (index, Freshness { missing: 1, ..Freshness::default() })
}

/// Brings the index up to date for a process that nobody waits for. It holds no lock that a handover needs, and fails silently:
/// the next search does the rest.
pub(crate) fn update_in_background(project: &Project) {
    let index = Index::open(project);
    if index.path.is_some() {
        let (mut index, freshness) = bring_up_to_date(index, project, Look::Whole, IN_BACKGROUND, &mut |_, _| ());
        if freshness.missing == 0
            && let Err(cause) = forget_removed(&mut index)
        {
            tracing::debug!(%cause, "index");
        }
        embed_in_background(index, project);
    }
}

/// Takes out what is left of removed texts: somebody who removes one does not expect to find it in the file of the index.
fn forget_removed(index: &mut Index) -> rusqlite::Result<()> {
    if index.has_removed()? {
        let writer = index.write()?;
        writer.forget_removed()?;
        writer.commit()?;
        fault::at("index.written");
    }
    Ok(())
}

/// Makes the vectors of what is new, if this program can.
#[cfg_attr(not(feature = "vectors"), allow(unused_mut, unused_variables, reason = "there are no vectors"))]
fn embed_in_background(mut index: Index, project: &Project) {
    #[cfg(feature = "vectors")]
    super::meaning::embed_in_background(&mut index, project);
}

/// Whether the file is damaged, and not the disk full or the directory read-only.
pub(super) fn is_damage(cause: &rusqlite::Error) -> bool {
    !matches!(
        cause.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::OutOfMemory
        )
    )
}

struct Update<'a> {
    project: &'a Project,
    roots: Vec<PathBuf>,
    look: Look,
    end: Instant,
    missing: usize,
    is_quick: bool,
    belonging: Belonging,
    progress: &'a mut Progress<'a>,
}

impl<'a> Update<'a> {
    fn of<'b: 'a>(project: &'a Project, look: Look, end: Instant, progress: &'a mut Progress<'b>) -> Update<'a> {
        let roots = project.worktree_roots();
        Update { project, roots, look, end, missing: 0, is_quick: false, belonging: Belonging::default(), progress }
    }

    fn freshness(&self) -> Freshness {
        Freshness { missing: self.missing, is_busy: false, is_quick: self.is_quick }
    }

    fn run(&mut self, index: &mut Index) -> Result<(), Stopped> {
        let mut looked = Looked::at(index, self.project, &self.roots, self.look)?;
        self.is_quick = looked.is_quick;
        self.missing = looked.changed.len();
        if !looked.gone.is_empty() {
            let mut writer = index.write()?;
            looked.gone.iter().try_for_each(|gone| writer.remove_file(*gone))?;
            writer.commit()?;
            fault::at("index.written");
        }
        let changed = std::mem::take(&mut looked.changed);
        let roots = self.roots.clone();
        std::thread::scope(|scope| {
            let mut ahead = ReadingAhead::start(scope, &changed, &roots);
            self.add_all(index, &changed, &mut ahead)
        })?;
        if self.missing == 0 {
            kept_talk::settle(index, self.project, &self.roots)?;
            looked.settle(index)?;
        }
        Ok(())
    }

    /// Indexes files, in transactions that take a bounded time.
    fn add_all(&mut self, index: &mut Index, changed: &[SourceFile], ahead: &mut ReadingAhead) -> Result<(), Stopped> {
        let mut work = changed.iter().enumerate().peekable();
        while work.peek().is_some() && self.has_time() {
            let mut writer = index.write()?;
            let start = Instant::now();
            while start.elapsed() < TRANSACTION && self.has_time() {
                let Some((number, source)) = work.next() else { break };
                if self.add(&mut writer, source, ahead.next())? {
                    self.missing -= 1;
                }
                (self.progress)(number + 1, changed.len());
            }
            writer.commit()?;
            fault::at("index.written");
        }
        Ok(())
    }

    fn has_time(&self) -> bool {
        Instant::now() < self.end && signals::received().is_none()
    }

    /// Indexes what is new in a file. `false` if something of it is left.
    fn add(&mut self, writer: &mut Writer<'_>, source: &SourceFile, ahead: Ahead) -> Result<bool, Stopped> {
        let known = writer.file(&source.path)?;
        if known.as_ref().is_some_and(|known| source.is_as_known(known)) {
            return Ok(true);
        }
        if let SourceKind::Transcript(file) = &source.kind {
            return self.add_transcript(writer, source, file, known, ahead);
        }
        // A file that cannot be read is tried again when it changes.
        let file = if matches!(source.kind, SourceKind::Talk) { None } else { self.read(source) };
        let documents = file.as_deref().and_then(|file| documents(source, file)).unwrap_or_default();
        let id = writer.set_file(&source.path, source.place(), &source.as_known(source.length))?;
        writer.remove_documents(id)?;
        if matches!(source.kind, SourceKind::Handoff) {
            writer.set_archive_text(id, file.as_deref().and_then(text_passages::text_of_archive).as_deref())?;
        }
        documents.iter().try_for_each(|document| writer.add(id, document))?;
        Ok(true)
    }

    /// The content of a file of memory or history.
    fn read(&self, source: &SourceFile) -> Option<Vec<u8>> {
        let path = Path::new(&source.path);
        let anchor: Anchor = match source.kind {
            SourceKind::Handoff => self.project.anchor(&self.project.history_dir().ok()?),
            _ => self.project.anchor(&self.project.memory_dir().ok()?),
        };
        anchor.read_within(path, MAX_TEXT).ok()
    }

    fn add_transcript(
        &mut self,
        writer: &mut Writer<'_>,
        source: &SourceFile,
        file: &transcript::FoundFile,
        known: Option<KnownFile>,
        ahead: Ahead,
    ) -> Result<bool, Stopped> {
        let is_of_project = match ahead {
            Ahead::Nothing => self.belonging.has(file, &self.roots),
            Ahead::Elsewhere => false,
            Ahead::Beginning(_) => true,
        };
        if !is_of_project {
            let id = writer.set_file(&source.path, source.place(), &source.as_known(source.length))?;
            writer.remove_documents(id)?;
            return Ok(true);
        }
        if ahead::is_read_as_a_whole(file) {
            let found = ahead::whole(file, &self.roots);
            let id = writer.set_file(&source.path, source.place(), &source.as_known(source.length))?;
            match found {
                Ok(Some(found)) => writer.replace_session(id, &found)?,
                Ok(None) => writer.remove_documents(id)?,
                // Its agent may be writing it, and then it changes again. Until then the index has what was read before.
                Err(cause) => tracing::debug!(%cause, "transcript"),
            }
            return Ok(true);
        }
        // A file that was not this project's may have become so: its first records did not name a directory yet.
        let is_continued = match &known {
            Some(known) => source.continues(known) && writer.has_document(known.id)?,
            None => false,
        };
        let mut start =
            known.as_ref().filter(|_| is_continued).map_or(0, |known| u64::try_from(known.seen).unwrap_or(0));
        if let Some(known) = known.filter(|_| !is_continued) {
            writer.remove_documents(known.id)?;
        }
        // Another process may have indexed the file meanwhile, and then it is read on.
        let mut beginning = match ahead {
            Ahead::Beginning(part) if start == 0 => Some(part),
            _ => None,
        };
        while start < source.length && self.has_time() {
            let part = beginning.take().map_or_else(|| Part::read(source, file, start, &self.roots), |part| *part);
            let known = KnownFile { mark: part.mark, ..source.as_known(part.end) };
            let id = writer.set_file(&source.path, source.place(), &known)?;
            if let Some(document) = &part.document {
                writer.continue_session(id, document)?;
            }
            start = part.end;
        }
        Ok(start >= source.length)
    }
}

/// The documents of a file of memory or history.
fn documents(source: &SourceFile, file: &[u8]) -> Option<Vec<Document>> {
    Some(match source.kind {
        SourceKind::State => text_passages::of_state(file),
        SourceKind::Notes => text_passages::of_notes(file, text_passages::day_of(Path::new(&source.path))?),
        SourceKind::Archive => text_passages::of_archive(file),
        SourceKind::Handoff => text_passages::of_handoff(file).into_iter().collect(),
        // Its documents depend on whether the transcript is there.
        SourceKind::Transcript(_) | SourceKind::Talk => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Vocabulary;
    use crate::project::Options;

    #[test]
    fn an_update_reports_each_file_once() {
        let directory = tempfile::tempdir().unwrap();
        let notes = directory.path().join("memory/layer1/2026-11");
        std::fs::create_dir_all(&notes).unwrap();
        for day in 10..15 {
            let name = format!("general-2026-11-{day}.md");
            std::fs::write(notes.join(name), format!("A note of the {day}th day\n")).unwrap();
        }
        let vocabulary = Vocabulary { kinds: Vec::new(), backends: Vec::new() };
        let project = Project::open(directory.path(), &Options::default(), &vocabulary).unwrap();
        let mut calls = Vec::new();
        let minute = Duration::from_secs(60);
        let count = |index, calls: &mut Vec<_>| {
            bring_up_to_date(index, &project, Look::Whole, minute, &mut |done, total| calls.push((done, total)))
        };
        let (index, freshness) = count(Index::in_memory(), &mut calls);
        let total = calls.len();
        assert!(total >= 5 && freshness.missing == 0, "{calls:?}");
        assert_eq!(calls, (1..=total).map(|done| (done, total)).collect::<Vec<_>>());
        calls.clear();
        count(index, &mut calls);
        assert_eq!(calls, [], "nothing is new");
    }
}
