//! Giving back the space of what is not needed any more. A run may have a note of many megabytes, and SQLite keeps the pages
//! of a removed text for later use.
//!
//! A new database is made so that free pages can be given back a few at a time (`auto_vacuum = INCREMENTAL`). One of 0.1.0 is
//! rewritten as such the first time that this is worth it. Both are transactions: a kill loses nothing, readers go on, and
//! another writer waits for one step. Only the process that carries out or abandons a run does this, never a hook.

use super::Store;
use crate::base::fault;

/// A log longer than this, in bytes, is folded into the file.
pub(super) const LONG_LOG: u64 = 256 << 10;
/// After so many pages in the log SQLite folds them into the file. A longer log would be cut when SQLite begins it anew, and
/// to make it longer again costs more than to write over it. Every process that opens the file first also reads the whole
/// log: at 256 pages, that was an eighth of what a session start costs.
pub(super) const FOLDED_PAGES: i64 = 56;
/// SQLite's number for `auto_vacuum = INCREMENTAL`.
pub(super) const INCREMENTAL: i64 = 2;
/// As many free pages are left for later use.
const SPARE_PAGES: i64 = 256;
/// How many pages are given back in one transaction.
const STEP_PAGES: i64 = 1_024;

impl Store {
    /// Keeps the file small: readers have to look through the log, and the file would otherwise never shrink after a long
    /// note. Nothing depends on it, so failures are ignored.
    pub(super) fn give_back_space(&mut self) {
        let before = self.pragma("freelist_count");
        if before > SPARE_PAGES {
            if self.pragma("auto_vacuum") == INCREMENTAL {
                self.give_back_pages();
            } else {
                // A file of 0.1.0. From now on its pages can be given back a few at a time.
                // While somebody reads, SQLite would wait for the reader.
                self.without_waiting(|connection| {
                    let _ = connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
                });
            }
            fault::at("checkpoint.shrunk");
        }
        if before > SPARE_PAGES || self.file.log_length() > LONG_LOG {
            // Only the log can wait: a reader that stays would hold up the end of the run until it goes.
            self.without_waiting(|connection| {
                let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            });
        }
    }

    fn give_back_pages(&self) {
        let mut free = self.pragma("freelist_count");
        while free > SPARE_PAGES {
            if self.give_back_some().is_err() {
                return;
            }
            let left = self.pragma("freelist_count");
            // Another process may use the pages at the same time.
            if left >= free {
                return;
            }
            free = left;
        }
    }

    fn give_back_some(&self) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
        // SQLite answers with an empty row for each page, and ends the transaction after the last.
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    }

    /// A number that SQLite knows about the file; 0 if it does not answer.
    fn pragma(&self, name: &str) -> i64 {
        self.connection.pragma_query_value(None, name, |row| row.get(0)).unwrap_or(0)
    }
}
