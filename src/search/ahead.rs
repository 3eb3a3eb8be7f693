//! Reading new transcripts ahead: other threads read them while this one writes what was read to the index.
//!
//! Each thread takes every n-th file and holds a few at most, so that memory stays bounded, and the files come in their order.

use std::collections::HashMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::passage::Document;
use super::session_passages;
use super::sources::{SourceFile, SourceKind};
use super::words;
use crate::project;
use crate::transcript::{self, FoundFile};

/// How much of a transcript is read at once, and how many bytes of talk are held of it.
pub(super) const CHUNK: u64 = 16 << 20;
const ROOM: usize = 4 << 20;
/// How many groups of files a thread holds that are not written yet, and how large a group is: to hand one over may wake a
/// thread, which costs as much as to read a small file.
const HELD: usize = 2;
const GROUP_FILES: usize = 16;
const GROUP_BYTES: u64 = 256 << 10;
/// A file of at most so many bytes is read as soon as it is looked at.
const SMALL: u64 = 64 << 10;
/// A few files are read sooner than threads are started.
const WORTHWHILE: usize = 16;
const MOST_THREADS: usize = 4;

/// A part of a transcript, as it was read.
pub(super) struct Part {
    /// Where it ends.
    pub end: u64,
    /// What marks the bytes right before its end.
    pub mark: i64,
    /// `None` if it cannot be read.
    pub document: Option<Document>,
}

impl Part {
    /// Reads a transcript from `start`, at most one chunk of it.
    pub(super) fn read(source: &SourceFile, file: &FoundFile, start: u64, roots: &[PathBuf]) -> Part {
        let end = source.length.min(start + CHUNK);
        let found = transcript::read_for_search(&file.path, start, end, ROOM);
        let mark = transcript::mark_before(&file.path, end).unwrap_or_default();
        // A record that cannot be read today will not be readable tomorrow either.
        let document = found.ok().flatten().map(|found| session_passages::of_transcript(&found, roots));
        Part { end, mark, document }
    }

    /// Reads all of a small transcript, if it holds a session of the project. `None` if that must be seen otherwise.
    fn read_small(
        source: &SourceFile,
        file: &FoundFile,
        roots: &[PathBuf],
        belonging: &mut Belonging,
    ) -> Option<Ahead> {
        if source.length > SMALL || source.length == 0 {
            return None;
        }
        let (found, mark) = transcript::read_small_for_search(&file.path, source.length, ROOM).ok()??;
        if found.agent != file.agent() || found.cwd.is_empty() {
            return None;
        }
        if found.is_subagent || !belonging.has_directory(PathBuf::from(&found.cwd), roots) {
            return Some(Ahead::Elsewhere);
        }
        let document = Some(session_passages::of_transcript(&found, roots));
        Some(Ahead::Beginning(Box::new(Part { end: source.length, mark, document }.with_words())))
    }

    /// With the words of its passages, which the thread that writes need not look for then.
    fn with_words(mut self) -> Part {
        if let Some(document) = &mut self.document {
            document.terms = document.passages.iter().map(|passage| words::line(&passage.text)).collect();
        }
        self
    }
}

/// A whole transcript, to its present end, if it holds anything.
pub(super) fn whole(file: &FoundFile, roots: &[PathBuf]) -> crate::error::Result<Option<Document>> {
    let end = transcript::Source::pin(&file.path, "")?.end;
    let found = transcript::read_for_search(&file.path, 0, end, ROOM)?;
    Ok(found.map(|found| session_passages::of_transcript(&found, roots)))
}

/// Whether the sessions of a directory belong to the project, as far as it was asked.
#[derive(Default)]
pub(super) struct Belonging(HashMap<PathBuf, bool>);

impl Belonging {
    /// Whether a file holds a session of the project with these roots that a person led.
    pub(super) fn has(&mut self, file: &FoundFile, roots: &[PathBuf]) -> bool {
        let Ok(Some(about)) = file.open() else { return false };
        !about.is_subagent && self.has_directory(about.cwd, roots)
    }

    fn has_directory(&mut self, directory: PathBuf, roots: &[PathBuf]) -> bool {
        *self.0.entry(directory).or_insert_with_key(|cwd| roots.contains(&project::root(cwd)))
    }
}

/// What was read ahead of a file.
pub(super) enum Ahead {
    /// Nothing: whoever writes it reads it.
    Nothing,
    /// The file does not hold a session of this project.
    Elsewhere,
    /// Its first part.
    Beginning(Box<Part>),
}

/// The files in their order, each with what was read ahead of it.
pub(super) struct ReadingAhead {
    threads: Vec<(Receiver<Vec<Ahead>>, std::vec::IntoIter<Ahead>)>,
    next: usize,
}

impl ReadingAhead {
    /// Starts reading these files. It ends when the value is dropped; the scope waits for that.
    pub(super) fn start<'scope, 'env: 'scope>(
        scope: &'scope thread::Scope<'scope, 'env>,
        sources: &'env [SourceFile],
        roots: &'env [PathBuf],
    ) -> ReadingAhead {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let is_worthwhile = cores > 1 && sources.iter().filter(|source| of_new(source).is_some()).count() >= WORTHWHILE;
        let count = if is_worthwhile { cores.min(MOST_THREADS) } else { 0 };
        let mut threads = Vec::new();
        for number in 0..count {
            let (sender, receiver) = sync_channel(HELD);
            let mine = move || read(sources.iter().skip(number).step_by(count), roots, &sender);
            // Without a thread the files of this one are read by whoever writes them.
            drop(thread::Builder::new().spawn_scoped(scope, mine));
            threads.push((receiver, Vec::new().into_iter()));
        }
        ReadingAhead { threads, next: 0 }
    }

    /// What was read of the next file. It must be asked for each file once, in their order.
    pub(super) fn next(&mut self) -> Ahead {
        if self.threads.is_empty() {
            return Ahead::Nothing;
        }
        let thread = self.next % self.threads.len();
        self.next += 1;
        let (receiver, group) = &mut self.threads[thread];
        if group.len() == 0 {
            *group = receiver.recv().unwrap_or_default().into_iter();
        }
        group.next().unwrap_or(Ahead::Nothing)
    }
}

/// Reads files for as long as somebody takes them.
fn read<'a>(sources: impl Iterator<Item = &'a SourceFile>, roots: &[PathBuf], sender: &SyncSender<Vec<Ahead>>) {
    let mut belonging = Belonging::default();
    let (mut group, mut bytes) = (Vec::new(), 0);
    for source in sources {
        let ahead = of_new(source).map_or(Ahead::Nothing, |file| {
            let small = Part::read_small(source, file, roots, &mut belonging);
            small.unwrap_or_else(|| read_large(source, file, roots, &mut belonging))
        });
        group.push(ahead);
        bytes += source.length;
        if group.len() >= GROUP_FILES || bytes >= GROUP_BYTES {
            bytes = 0;
            if sender.send(std::mem::take(&mut group)).is_err() {
                return;
            }
        }
    }
    // Nobody takes it if the time is over.
    drop(sender.send(group));
}

/// Reads the first part of a file that holds a session of the project.
fn read_large(source: &SourceFile, file: &FoundFile, roots: &[PathBuf], belonging: &mut Belonging) -> Ahead {
    if belonging.has(file, roots) {
        Ahead::Beginning(Box::new(Part::read(source, file, 0, roots).with_words()))
    } else {
        Ahead::Elsewhere
    }
}

/// The transcript of a file that the index does not know and that can be read in parts.
fn of_new(source: &SourceFile) -> Option<&FoundFile> {
    match &source.kind {
        SourceKind::Transcript(file) if source.is_new && !is_read_as_a_whole(file) => Some(file),
        _ => None,
    }
}

/// Whether a transcript is compressed, a document or a session in a database: its length says nothing about its content, so that
/// it cannot be read on from where it ended.
pub(super) fn is_read_as_a_whole(file: &FoundFile) -> bool {
    file.path.extension().is_none_or(|ending| ending != "jsonl")
}
