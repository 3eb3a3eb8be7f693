//! Reads the lines of a file of any size, one at a time, without holding one that is too long.

use std::io::{self, BufRead};

/// The longest line that is read: room for a picture or a whole source file. Longer ones are skipped.
pub(super) const MAX_LINE: usize = 8 << 20;
/// A buffer that grew larger than this for one line is dropped before the next.
const KEPT: usize = 256 << 10;

pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    position: u64,
    /// How many bytes of the reader's own buffer the last line took.
    used: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// The last line, without a line break. It may still be being written.
    Unended(&'a [u8]),
    TooLong,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn of(reader: R) -> Lines<R> {
        Lines { reader, buffer: Vec::new(), position: 0, used: 0 }
    }

    /// How many bytes were read, with the line breaks.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        if self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        self.reader.consume(std::mem::take(&mut self.used));
        if let Some(end) = self.end_in_reader()? {
            self.used = end + 1;
            self.position += self.used as u64;
            return Ok(Some(Line::Whole(&self.reader.fill_buf()?[..end])));
        }
        let mut is_too_long = false;
        let mut read_anything = false;
        loop {
            let available = match self.reader.fill_buf() {
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                return Ok(match (read_anything, is_too_long) {
                    (false, _) => None,
                    (true, true) => Some(Line::TooLong),
                    (true, false) => Some(Line::Unended(&self.buffer)),
                });
            }
            read_anything = true;
            let end = memchr::memchr(b'\n', available);
            let part = &available[..end.unwrap_or(available.len())];
            is_too_long |= self.buffer.len() + part.len() > MAX_LINE;
            if !is_too_long {
                self.buffer.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            self.position += used as u64;
            if end.is_some() {
                return Ok(Some(if is_too_long { Line::TooLong } else { Line::Whole(&self.buffer) }));
            }
        }
    }

    /// Where the next line ends in what the reader holds. Most lines are whole there, and need not be copied.
    fn end_in_reader(&mut self) -> io::Result<Option<usize>> {
        loop {
            match self.reader.fill_buf() {
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                available => return available.map(|held| memchr::memchr(b'\n', held)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    #[test]
    fn a_line_too_long_is_passed_over_without_being_held() {
        let long = io::repeat(b'x').take(3 * MAX_LINE as u64);
        let text = b"one\n".chain(long).chain(&b"\n\ntwo\nhalf"[..]);
        let mut lines = Lines::of(BufReader::new(text));
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"one")));
        assert_eq!(lines.position(), 4);
        assert_eq!(lines.next().unwrap(), Some(Line::TooLong));
        assert!(lines.buffer.capacity() <= 2 * MAX_LINE);
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"")));
        assert!(lines.buffer.capacity() <= KEPT);
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"two")));
        assert_eq!(lines.next().unwrap(), Some(Line::Unended(b"half")));
        assert_eq!(lines.next().unwrap(), None);
    }
}
