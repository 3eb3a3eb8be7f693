//! One file, or the part of it that was there when somebody looked.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::draft::Draft;
use super::lines::{self, Line, Lines};
use super::{FORMATS, Format, Transcript, bounded_json};
use crate::base::fs;
use crate::error::{Error, Result};

/// How much of a file is looked at: this much of its beginning, where the goal is,
const MAX_BEGINNING: u64 = 16 << 20;
/// and this much of its end, where the work is.
const MAX_END: u64 = 240 << 20;
/// By then a file has said what it is.
const HEAD_RECORDS: usize = 50;
const HEAD_BYTES: u64 = 4 << 20;
const BLOCK: u64 = 64 << 10;

/// A part of a transcript, pinned: what is written to the file later is not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub path: PathBuf,
    /// The session's id as its agent says it; empty if nobody did.
    #[serde(default)]
    pub session: String,
    #[serde(default)]
    pub start: u64,
    pub end: u64,
}

impl Source {
    /// All that is in the file now. One that is not there yet is a session that has said nothing.
    pub fn pin(path: &Path, session: &str) -> Result<Source> {
        if path.to_str().is_none() {
            let message = format!("the path `{}` is not UTF-8 and cannot be recorded", path.display());
            return Err(Error::usage(message).hint("make a link with a plain name to it"));
        }
        fs::refuse_what_is_no_file(path)?;
        let end = match std::fs::metadata(path) {
            Ok(about) => about.len(),
            Err(cause) if fs::is_absent(&cause) => 0,
            Err(cause) => return Err(Error::io("read", path, cause)),
        };
        Ok(Source { path: path.to_path_buf(), session: session.to_owned(), start: 0, end })
    }

    /// Reads what was pinned. `None` if the file is gone.
    pub fn read(&self) -> Result<Option<Transcript>> {
        let mut found = read(&self.path, self.start, self.end)?;
        if let Some(found) = found.as_mut().filter(|_| !self.session.is_empty()) {
            found.session.clone_from(&self.session);
        }
        Ok(found)
    }
}

impl Source {
    /// Whether anything was asked in this part. Looks no further than `most` bytes; `None` if that was not far enough.
    pub fn asks(&self, most: u64) -> Result<Option<bool>> {
        let Some(mut file) = open(&self.path)? else { return Ok(Some(false)) };
        let failed = |cause: io::Error| Error::io("read", &self.path, cause);
        let mut format = None;
        let is_unknown = |record| {
            format = FORMATS.iter().find(|format| (format.is_one)(&record));
            format.is_none()
        };
        head(&mut file, self.end, is_unknown).map_err(failed)?;
        let Some(format) = format else { return Ok(Some(false)) };
        let start = line_start(&mut file, self.start.min(self.end)).map_err(failed)?;
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let mut lines = Lines::of(BufReader::new(file.take(most.min(self.end - start))));
        let mut draft = Draft::of(format.name);
        while let Some(line) = lines.next().map_err(failed)? {
            if let Line::Whole(line) | Line::Unended(line) = line
                && let Some(record) = bounded_json::parse(line)
            {
                (format.take)(&mut draft, &record);
                if draft.found.requests > 0 {
                    return Ok(Some(true));
                }
            }
        }
        Ok((self.end - start <= most).then_some(false))
    }
}

/// Reads a transcript from `start` to `end`. `None` if there is no file.
pub fn read(path: &Path, start: u64, end: u64) -> Result<Option<Transcript>> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    let failed = |cause: io::Error| Error::io("read", path, cause);
    if end == 0 {
        return Ok(Some(Draft::of("").finish()));
    }
    let mut format = None;
    let is_unknown = |record| {
        format = FORMATS.iter().find(|format| (format.is_one)(&record));
        format.is_none()
    };
    head(&mut file, end, is_unknown).map_err(failed)?;
    let Some(format) = format else {
        let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        return Err(Error::bad_data(format!("`{}` is no transcript of {}", path.display(), known.join(" or "))));
    };
    let mut draft = Draft::of(format.name);
    if let Some(id) = (format.id)(path) {
        draft.found.session = id;
    }
    if start > 0 {
        // Who it was is said at the beginning only.
        draft.about_only = true;
        let take = |record| {
            (format.take)(&mut draft, &record);
            true
        };
        head(&mut file, start, take).map_err(failed)?;
        draft.about_only = false;
    }
    let start = line_start(&mut file, start.min(end)).map_err(failed)?;
    for (from, to) in pieces(start, end) {
        if from > start {
            draft.passed_over(from - start - MAX_BEGINNING.min(from - start));
        }
        read_piece(&mut file, from, to, format, &mut draft).map_err(failed)?;
    }
    Ok(Some(draft.finish()))
}

/// What is looked at of a file: all of it, or its two ends.
fn pieces(start: u64, end: u64) -> Vec<(u64, u64)> {
    if end.saturating_sub(start) <= MAX_BEGINNING + MAX_END {
        return vec![(start, end)];
    }
    vec![(start, start + MAX_BEGINNING), (end - MAX_END, end)]
}

/// Where the line begins that `at` is in: whoever read up to here did not read it, because it was not whole.
fn line_start(file: &mut File, at: u64) -> io::Result<u64> {
    let mut end = at;
    while end > 0 && at - end <= lines::MAX_LINE as u64 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        let mut block = Vec::new();
        Read::by_ref(file).take(end - start).read_to_end(&mut block)?;
        if let Some(newline) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(if end == 0 { 0 } else { at })
}

fn read_piece(file: &mut File, from: u64, to: u64, format: &Format, draft: &mut Draft) -> io::Result<()> {
    // One byte earlier, so that a line that begins exactly here is told from one that is cut.
    file.seek(SeekFrom::Start(from.saturating_sub(1)))?;
    let reader = BufReader::with_capacity(BLOCK as usize, Read::by_ref(file).take(to - from.saturating_sub(1).min(to)));
    let mut lines = Lines::of(reader);
    if from > 0 {
        lines.next()?;
    }
    while let Some(line) = lines.next()? {
        match line {
            Line::TooLong => draft.too_long(),
            // Whoever writes it is not done, unless it reads as a record all the same.
            Line::Unended(line) => bounded_json::parse(line).iter().for_each(|record| (format.take)(draft, record)),
            Line::Whole(line) => match bounded_json::parse(line) {
                Some(record) => (format.take)(draft, &record),
                None if line.iter().all(u8::is_ascii_whitespace) => {}
                None => draft.unreadable(),
            },
        }
    }
    Ok(())
}

/// A pipe or a device would be waited for; a file that is not there is nothing wrong.
pub(super) fn open(path: &Path) -> Result<Option<File>> {
    fs::refuse_what_is_no_file(path)?;
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if fs::is_absent(&cause) => Ok(None),
        Err(cause) => Err(Error::io("read", path, cause)),
    }
}

/// The first records of a file, as far as `wanted` wants more.
pub(super) fn head(file: &mut File, end: u64, mut wanted: impl FnMut(Value) -> bool) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut lines = Lines::of(BufReader::new(Read::by_ref(file).take(end.min(HEAD_BYTES))));
    for _ in 0..HEAD_RECORDS {
        match lines.next()? {
            None => break,
            Some(Line::TooLong) => {}
            Some(Line::Whole(line) | Line::Unended(line)) => {
                if bounded_json::parse(line).is_some_and(|record| !wanted(record)) {
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
    fn of_a_file_that_is_too_large_both_ends_are_read() {
        assert_eq!(pieces(0, 10), [(0, 10)]);
        assert_eq!(pieces(20, 10), [(20, 10)]);
        let end = 1 << 40;
        assert_eq!(pieces(7, end), [(7, 7 + MAX_BEGINNING), (end - MAX_END, end)]);
    }
}
