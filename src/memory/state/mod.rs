//! The current state in layer 2: free text, and a section of items for each category.
//!
//! ```text
//! <!-- agent-handover | layer2 | 2026-11-15 -->
//! free text, written by people, by `--current-state` or by the Python tool
//!
//! <!-- section name=decision -->
//! ## Decisions
//!
//! <!-- item id=3f2a9c1b07 at=2026-11-15T10:04:05Z run=01K… commit=1a2b3c4d5e6f branch=main by=person -->
//! - the item, verbatim;
//!   its further lines are indented, so that none of them can be a marker
//! <!-- gone id=77ab01c2d3 at=2026-11-14T09:00:00Z -->
//! <!-- /section -->
//! ```
//!
//! - Everything else in the file is kept byte for byte.
//! - A list item that somebody wrote into a section by hand is an item like any other. It gets its marker with the next
//!   change.
//! - Items are ordered by time: the first item of a section is the oldest, even if the clocks of machines differ.
//!
//! | file | owns |
//! |---|---|
//! | `current` | [`CurrentState`] and what it answers: items, free text, dates |
//! | `item` | one [`Item`], its id, its [`Stamp`]; the [`Tombstone`] of a removed one |
//! | `section` | one category's section: insert, remove, order, limit |
//! | `parse` | a file as a `CurrentState` |
//! | `write` | a `CurrentState` as a file |
//! | `edit` | changes: record, add, clear, remove, adopt what was written by hand |
//! | `bullet` | the text of a Markdown list item that spans several lines |

mod bullet;
mod current;
mod edit;
mod item;
mod parse;
mod section;
mod write;

pub(crate) use bullet::{indent, read_bullet};
pub(crate) use current::CurrentState;
pub(super) use edit::replaced_text;
pub(super) use item::readable;
pub(crate) use item::{BY_PERSON, Item, Stamp, Tombstone, tidy};
pub(crate) use section::{CategorySection, title};

#[cfg(test)]
mod tests;
