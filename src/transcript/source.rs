//! One transcript file, or the part of it that existed at some moment.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::json::Value;
use serde::{Deserialize, Serialize};

use super::draft::Draft;
use super::lines::{self, Line, Lines};
use super::talk::MAX_TALK;
use super::{FORMATS, Transcript, TranscriptFormat};
use super::{bounded_json, compression, document, forks, format, identity, opencode_database, subagents};
use crate::base::fs::{self, FileState};
use crate::checkpoint::FileIdentity;
use crate::error::{Error, Result};

/// How much of the beginning of a file is read, where the goal is.
const MAX_BEGINNING: u64 = 16 << 20;
/// How much of the end is read, where the latest work is.
const MAX_END: u64 = 240 << 20;
/// How many records are read to find out the format and the session. Claude Code may begin with a summary of each earlier
/// session, and the first prompt may have several pictures.
const HEAD_RECORDS: usize = 500;
const HEAD_BYTES: u64 = 16 << 20;
/// How much of a compressed file is decompressed for that.
const DECOMPRESSED_HEAD: u64 = 4 << 20;
const BLOCK: u64 = 64 << 10;

/// A fixed part of a transcript. Records that are written later are not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub path: PathBuf,
    /// The session's id, as its agent gave it, or empty.
    #[serde(default)]
    pub session: String,
    #[serde(default)]
    pub start: u64,
    pub end: u64,
}

impl Source {
    /// The file up to its present end. A file that does not exist yet counts as empty.
    pub fn pin(path: &Path, session: &str) -> Result<Source> {
        if path.to_str().is_none() {
            let message = format!("the path `{}` is not UTF-8 and cannot be recorded", path.display());
            return Err(Error::usage(message).hint("make a link with a plain name to it"));
        }
        let end = match open(path)? {
            Some(file) => file.metadata().map_err(|cause| Error::io("read", path, cause))?.len(),
            None => 0,
        };
        Ok(Source { path: path.to_path_buf(), session: session.to_owned(), start: 0, end })
    }

    /// The part of a file that comes after what was handed over before, up to its present end, with the identity of the
    /// file. A file that is shorter than before, or that begins with something else, is another file and starts at 0. `None`
    /// if there is no file.
    pub(crate) fn rest(
        path: &Path,
        session: &str,
        before: u64,
        known: &FileIdentity,
    ) -> Result<Option<(Source, FileIdentity)>> {
        let failed = |cause: io::Error| Error::io("read", path, cause);
        let Some(mut file) = open(path)? else { return Ok(None) };
        let end = file.metadata().map_err(failed)?.len();
        let mut source = Source { path: path.to_path_buf(), session: session.to_owned(), start: 0, end };
        if before > 0 && before <= source.end {
            let is_same = identity::begins_with(&mut file, &known.beginning).map_err(failed)?;
            source.start = if is_same.unwrap_or(true) { before } else { 0 };
        }
        let beginning = identity::beginning(&mut file, source.end).map_err(failed)?;
        let inode = state(path).map(|state| state.inode).unwrap_or_default();
        Ok(Some((source, FileIdentity { inode, beginning })))
    }

    /// Leaves out what the session copied from another one. `is_fork`: the agent said that it is a fork.
    pub(crate) fn without_copy(mut self, is_fork: bool) -> Result<Source> {
        if let Some(mut file) = open(&self.path)?
            && let Some(format) =
                format_of(&mut file, self.end).map_err(|cause| Error::io("read", &self.path, cause))?
        {
            let own = forks::own_part(format, &self.path, &mut file, self.end, is_fork)?;
            self.start = self.start.max(own);
        }
        Ok(self)
    }

    /// Reads this part. `None` if the file no longer exists.
    pub fn read(&self) -> Result<Option<Transcript>> {
        let mut found = read(&self.path, self.start, self.end)?;
        if let Some(found) = found.as_mut() {
            subagents::add(found, &self.path);
        }
        if let Some(found) = found.as_mut().filter(|_| !self.session.is_empty()) {
            found.session.clone_from(&self.session);
        }
        Ok(found)
    }

    /// The agent whose format the file has, if it is one that we can read.
    pub fn agent(&self) -> Option<&'static str> {
        let mut file = open_beginning(&self.path).ok()??;
        format_of(&mut file, self.end).ok()?.map(|format| format.name)
    }

    /// Whether this part has a request. Reads at most `most` bytes.
    pub fn asks(&self, most: u64) -> Result<Asks> {
        let Some(mut file) = open(&self.path)? else { return Ok(Asks::No) };
        let failed = |cause: io::Error| Error::io("read", &self.path, cause);
        let Some(format) = format_of(&mut file, self.end).map_err(failed)? else { return Err(unknown(&self.path)) };
        let (start, _) = next_record(&mut file, self.start.min(self.end)).map_err(failed)?;
        let mut draft = Draft::of(format.name);
        draft.taken.add_before(&mut file, start, most, format.id_mark).map_err(failed)?;
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let mut lines = Lines::of(BufReader::new(file.take(most.min(self.end - start))));
        while let Some(line) = lines.next().map_err(failed)? {
            if let Line::Whole(line) | Line::Unended(line) = line
                && let Some(record) = bounded_json::parse(&bounded_json::text_of(line))
            {
                (format.take)(&mut draft, &record);
                if draft.found.requests > 0 {
                    return Ok(Asks::Yes);
                }
            }
        }
        Ok(if self.end - start <= most { Asks::No } else { Asks::Unsettled })
    }
}

/// Whether a part of a transcript has a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    Yes,
    No,
    /// The part is too long to look through.
    Unsettled,
}

fn unknown(path: &Path) -> Error {
    let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    Error::bad_data(format!("`{}` is not a transcript that this program can read", path.display()))
        .hint(format!("it reads the transcripts of {}", known.join(", ")))
}

/// Reads a transcript from `start` to `end`. `None` if there is no file.
pub fn read(path: &Path, start: u64, end: u64) -> Result<Option<Transcript>> {
    read_with_room(path, start, end, MAX_TALK)
}

/// Like [`read`], holding up to `room` bytes of talk.
pub(crate) fn read_with_room(path: &Path, start: u64, end: u64, room: usize) -> Result<Option<Transcript>> {
    read_into(|draft| draft.hold(room), path, start, end)
}

/// Like [`read_with_room`], without what a search does not find.
pub(crate) fn read_for_search(path: &Path, start: u64, end: u64, room: usize) -> Result<Option<Transcript>> {
    let prepare = |draft: &mut Draft| {
        draft.hold(room);
        draft.for_search();
    };
    read_into(prepare, path, start, end)
}

/// Like [`read_for_search`], for a small file as a whole, which is opened and read once. Also returns the mark of its end, as
/// [`identity::mark_before`] finds it. `None` if the file is shorter by now.
pub(crate) fn read_small_for_search(path: &Path, end: u64, room: usize) -> Result<Option<(Transcript, i64)>> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    let mut whole = vec![0; usize::try_from(end).unwrap_or_default()];
    if file.read_exact(&mut whole).is_err() {
        return Ok(None);
    }
    let mark = identity::mark_of(&whole);
    let prepare = |draft: &mut Draft| {
        draft.hold(room);
        draft.for_search();
    };
    Ok(Some((read_records(prepare, (path, &mut io::Cursor::new(whole)), 0, end)?, mark)))
}

fn read_into(prepare: impl Fn(&mut Draft), path: &Path, start: u64, end: u64) -> Result<Option<Transcript>> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    read_records(prepare, (path, &mut file), start, end).map(Some)
}

fn read_records(
    prepare: impl Fn(&mut Draft),
    (path, file): (&Path, &mut (impl Read + Seek)),
    start: u64,
    end: u64,
) -> Result<Transcript> {
    let failed = |cause: io::Error| Error::io("read", path, cause);
    if end == 0 {
        return Ok(Draft::of("").finish());
    }
    let Some(format) = format_of(file, end).map_err(failed)? else { return Err(unknown(path)) };
    let mut draft = Draft::of(format.name);
    prepare(&mut draft);
    if let Some(id) = (format.id)(path) {
        draft.found.session = id;
    }
    (format.beside)(&mut draft, path);
    if start > 0 {
        // Only the beginning of the file says whose session it is.
        draft.about_only = true;
        let take = |record: Value<'_>| {
            (format.take)(&mut draft, &record);
            true
        };
        head(file, start, take).map_err(failed)?;
        draft.about_only = false;
    }
    let (start, is_record_start) = next_record(file, start.min(end)).map_err(failed)?;
    draft.taken.add_before(file, start, u64::MAX, format.id_mark).map_err(failed)?;
    for (from, to) in pieces(start, end) {
        if from > start {
            draft.passed_over(from - start - MAX_BEGINNING.min(from - start));
        }
        let is_record_start = is_record_start && from == start;
        read_piece(file, (from, to), is_record_start, format, &mut draft).map_err(failed)?;
    }
    Ok(draft.finish())
}

/// The format of the first record that has one.
fn format_of(file: &mut (impl Read + Seek), end: u64) -> io::Result<Option<&'static TranscriptFormat>> {
    let mut found = None;
    let is_unknown = |record: Value<'_>| {
        found = format::of_record(&record);
        found.is_none()
    };
    head(file, end, is_unknown)?;
    Ok(found)
}

/// The ranges that are read: the whole part, or its beginning and end.
fn pieces(start: u64, end: u64) -> Vec<(u64, u64)> {
    if end.saturating_sub(start) <= MAX_BEGINNING + MAX_END {
        return vec![(start, end)];
    }
    vec![(start, start + MAX_BEGINNING), (end - MAX_END, end)]
}

/// Where an earlier reader, who stopped at `at`, has to continue, and whether a record begins there. That reader read the record
/// before `at` if it was complete: a client sometimes writes the line break of a record later.
fn next_record(file: &mut (impl Read + Seek), at: u64) -> io::Result<(u64, bool)> {
    let Some(start) = line_start(file, at)? else { return Ok((at, false)) };
    let is_taken = start < at && is_complete(&read_range(file, start, at)?);
    Ok((if is_taken { at } else { start }, true))
}

fn is_complete(record: &[u8]) -> bool {
    bounded_json::parse_complete(&bounded_json::text_of(record), &[]).is_some()
}

/// The start of the line that contains `at`. `None` if the line is longer than is read.
fn line_start(file: &mut (impl Read + Seek), at: u64) -> io::Result<Option<u64>> {
    let mut end = at;
    while end > 0 && at - end <= lines::MAX_LINE as u64 {
        let start = end.saturating_sub(BLOCK);
        let block = read_range(file, start, end)?;
        if let Some(newline) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(Some(start + newline as u64 + 1));
        }
        end = start;
    }
    Ok((end == 0).then_some(0))
}

fn read_range(file: &mut (impl Read + Seek), start: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut read = Vec::new();
    Read::by_ref(file).take(end - start).read_to_end(&mut read)?;
    Ok(read)
}

fn read_piece(
    file: &mut (impl Read + Seek),
    (from, to): (u64, u64),
    is_record_start: bool,
    format: &TranscriptFormat,
    draft: &mut Draft,
) -> io::Result<()> {
    // In the middle of a line it starts one byte earlier, so that a line which begins exactly at `from` is not taken for a
    // partial one.
    let start = if is_record_start { from } else { from.saturating_sub(1) };
    file.seek(SeekFrom::Start(start))?;
    let mut lines =
        Lines::of(BufReader::with_capacity(BLOCK as usize, Read::by_ref(file).take(to.saturating_sub(start))));
    if start < from {
        lines.next()?;
    }
    while let Some(line) = lines.next()? {
        match line {
            Line::TooLong => draft.too_long(),
            // The line may still be being written. If it is a record, it is complete.
            Line::Unended(line) => {
                let line = bounded_json::text_of(line);
                let record = bounded_json::parse_complete(&line, format.in_part);
                record.iter().for_each(|record| (format.take)(draft, record));
            }
            Line::Whole(line) => match bounded_json::parse_in_part(&bounded_json::text_of(line), format.in_part) {
                Some(record) => (format.take)(draft, &record),
                None if line.iter().all(u8::is_ascii_whitespace) => {}
                None => draft.unreadable(),
            },
        }
    }
    Ok(())
}

/// Opens a transcript, without its compression. `None` if there is no file; a pipe or a device is refused because reading it
/// could block.
pub(super) fn open(path: &Path) -> Result<Option<File>> {
    open_up_to(path, u64::MAX)
}

/// Like [`open`], for a caller that reads only the first records.
pub(super) fn open_beginning(path: &Path) -> Result<Option<File>> {
    open_up_to(path, DECOMPRESSED_HEAD)
}

fn open_up_to(path: &Path, most: u64) -> Result<Option<File>> {
    match fs::open_if_exists(path)? {
        Some(file) if document::is_one(path) => document::records(file, path, most).map(Some),
        Some(file) => compression::plain(file, path, most).map(Some),
        None => opencode_database::open(path, most),
    }
}

/// What is known about a session file without opening it. A session in a database has no file of its own; its state is
/// that of its records.
pub(crate) fn state(path: &Path) -> Option<FileState> {
    fs::state(path).or_else(|| opencode_database::state(path))
}

/// Whether the first records of a file have one of this format.
pub(super) fn has_records(format: &TranscriptFormat, path: &Path) -> Result<bool> {
    let Some(mut file) = open_beginning(path)? else { return Ok(true) };
    let mut is_one = false;
    let look = |record: Value<'_>| {
        is_one = (format.is_one)(&record);
        !is_one
    };
    head(&mut file, u64::MAX, look).map_err(|cause| Error::io("read", path, cause))?;
    Ok(is_one)
}

/// Reads the first records of a file for as long as `wanted` returns true.
pub(super) fn head(
    file: &mut (impl Read + Seek),
    end: u64,
    mut wanted: impl FnMut(Value<'_>) -> bool,
) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut lines = Lines::of(BufReader::new(Read::by_ref(file).take(end.min(HEAD_BYTES))));
    for _ in 0..HEAD_RECORDS {
        match lines.next()? {
            None => break,
            Some(Line::TooLong) => {}
            Some(Line::Whole(line) | Line::Unended(line)) => {
                if bounded_json::parse(&bounded_json::text_of(line)).is_some_and(|record| !wanted(record)) {
                    break;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wherever_a_reader_stops_the_next_one_reads_the_rest_and_nothing_twice() {
        let record =
            |text: &str| format!(r#"{{"type":"user","sessionId":"s","a":{{"b":1}},"message":{{"content":"{text}"}}}}"#);
        let whole = format!("{}\n{}\n{}", record("one"), record("two"), record("three"));
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, whole.as_bytes()).unwrap();
        let said = |start: usize, end: usize| -> Vec<String> {
            let found = read(file.path(), start as u64, end as u64).unwrap().unwrap();
            found.talk.into_iter().map(|said| said.text).collect()
        };
        for place in record("one").len()..whole.len() {
            let both = [said(0, place), said(place, whole.len())].concat();
            assert_eq!(both, ["one", "two", "three"], "{place}");
        }
    }

    #[test]
    fn of_a_file_that_is_too_large_both_ends_are_read() {
        assert_eq!(pieces(0, 10), [(0, 10)]);
        assert_eq!(pieces(20, 10), [(20, 10)]);
        let end = 1 << 40;
        assert_eq!(pieces(7, end), [(7, 7 + MAX_BEGINNING), (end - MAX_END, end)]);
    }
}
