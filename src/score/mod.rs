//! Did the handover help? Measures over pairs: what was handed over, and the next session of the same branch.
//!
//! Everything is computed from transcripts, without a model. There is no single score: each measure has its own figure and
//! says over how many pairs.
//!
//! | file | owns |
//! |---|---|
//! | `page` | what a handover said: the lists of a warmup |
//! | `pair` | a handover and the session after it |
//! | `pairs` | the pairs of a project, from its record and its transcripts |
//! | `words` | the identifiers, paths and commands in a text |
//! | `measure` | what a measure is |
//! | `measures/` | one file a measure |
//! | `card` | the figures of many pairs, beside those of sessions without a warmup |

mod card;
mod measure;
mod measures;
mod page;
mod pair;
mod pairs;
#[cfg(test)]
mod scripted;
mod words;

pub(crate) use card::{Card, Figure, card};
pub(crate) use measure::{Measure, Unit};
pub(crate) use pairs::pairs;

/// Every measure. A new one is a file, its `mod` line in `measures/mod.rs` and its entry here.
pub(crate) const MEASURES: &[Measure] = &[
    measures::delivered::MEASURE,
    measures::orientation::ACTIONS,
    measures::orientation::BYTES,
    measures::next_action::MEASURE,
    measures::files::OPENED,
    measures::files::NAMED,
    measures::rereads::MEASURE,
    measures::waste::MEASURE,
];
