//! The monthly archive in layer 3: a roll-up, then every note of a month and tag, verbatim and ordered by time.
//!
//! ```text
//! <!-- agent-handover | layer3 | 2026-10-31 -->
//! <!-- roll-up month=2026-10 tag=general -->
//! a summary of the month, derived from the entries below
//! <!-- /roll-up -->
//!
//! ## 2026-10-03
//!
//! <!-- note run=01K… step=note at=2026-10-03T10:04:05Z -->
//! the note as it was in layer 1, byte for byte
//! <!-- /note -->
//! <!-- text day=2026-10-03 after=2026-10-03T10:04:05Z -->
//! text that people or other tools wrote between the notes
//! <!-- /text -->
//! ```
//!
//! The file is a pure function of its entries: machines with the same entries write the same bytes.
//!
//! | file | owns |
//! |---|---|
//! | `entry` | [`ArchiveEntry`]: a note or a foreign text; the entries of a layer-1 file |
//! | `read` | the entries of an archive |
//! | `unite` | the entries of several files, each once and in order |
//! | `write` | the archive that holds some entries |

mod entry;
mod read;
mod unite;
mod write;

pub(crate) use entry::{ArchiveEntry, of_notes};
pub(crate) use read::parse;
pub(crate) use unite::{KnownTexts, merge_texts, notes, sort, unite};
pub(crate) use write::write;

#[cfg(test)]
mod tests;
