//! Records that a client writes a second time.
//!
//! When Claude Code compacts a session for the second time, it appends records from before the first time again, with the
//! same ids and times. Nobody said them again.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use memchr::memmem;

use super::lines::{Line, Lines};

/// How many records are compared. A transcript of the largest size that is read has fewer.
const MOST: usize = 2 << 20;
/// How much of what comes before a part is searched for the ids of its records. A client repeats what was in its context,
/// and a hook reads this after each compaction.
const MOST_BYTES: u64 = 16 << 20;
/// Longer texts are not ids.
const MAX_ID: usize = 200;

/// The ids of the records that were read, as hashes.
#[derive(Default)]
pub(super) struct TakenRecords(HashSet<u64>);

impl TakenRecords {
    /// Whether the record with this id was taken before. From now on it was. A record without an id is never the same.
    pub(super) fn is_repeated(&mut self, id: &str) -> bool {
        !id.is_empty() && !self.add(id.as_bytes())
    }

    /// Adds the ids in a file before `end`, which is the start of a line; at most the last `most` bytes are searched. In a
    /// line, an id comes after `mark`.
    pub(super) fn add_before(
        &mut self,
        file: &mut (impl Read + Seek),
        end: u64,
        most: u64,
        mark: &[u8],
    ) -> io::Result<()> {
        if mark.is_empty() || end == 0 {
            return Ok(());
        }
        let start = end.saturating_sub(most.min(MOST_BYTES));
        file.seek(SeekFrom::Start(start))?;
        let mut lines = Lines::of(BufReader::with_capacity(64 << 10, Read::by_ref(file).take(end - start)));
        let finder = memmem::Finder::new(mark);
        while let Some(line) = lines.next()? {
            let (Line::Whole(line) | Line::Unended(line)) = line else { continue };
            for at in finder.find_iter(line) {
                let rest = &line[at + mark.len()..];
                if let Some(length) = memchr::memchr(b'"', &rest[..rest.len().min(MAX_ID)]) {
                    self.add(&rest[..length]);
                }
            }
        }
        Ok(())
    }

    /// `false` if the id is known.
    fn add(&mut self, id: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        if self.0.len() < MOST { self.0.insert(hasher.finish()) } else { !self.0.contains(&hasher.finish()) }
    }
}
