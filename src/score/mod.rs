//! Did the handover help? Measures over pairs: what was handed over, and the next session of the same branch or goal.
//!
//! Everything is computed from transcripts, without a model. There is no single score: each measure has its own figure and
//! says over how many pairs.
//!
//! | file | owns |
//! |---|---|
//! | `page` | what a handover said: the lists of a warmup |
//! | `pair` | a handover and the session after it |
//! | `sessions` | the sessions of a project whose transcripts are there, and what is known about each |
//! | `followers` | which session comes after which: a pure function |
//! | `pairs` | the pairs of a project, each with its figures |
//! | `ledger` | what was computed before, in `index.db`, so that a card is there at once |
//! | `words` | the identifiers, paths and commands in a text, and how much two texts have in common |
//! | `measure` | what a measure is |
//! | `measures/` | one file a measure |
//! | `card` | the figures of many pairs, beside those of sessions without a warmup |
//! | `document` | a handoff, judged before anybody uses it |

mod card;
mod document;
mod followers;
mod ledger;
mod measure;
mod measures;
mod page;
mod pair;
mod pairs;
#[cfg(test)]
mod scripted;
mod sessions;
mod words;

pub(crate) use card::{Card, ENOUGH, Figure, card};
pub(crate) use document::{Judgement, judge};
pub(crate) use measure::{Groups, Measure, Unit};
pub(crate) use pairs::{Ask, Scores, pairs, update_in_background};

/// Every measure. A new one is a file, its `mod` line in `measures/mod.rs` and its entry here.
pub(crate) const MEASURES: &[Measure] = &[
    measures::delivered::MEASURE,
    measures::orientation::ACTIONS,
    measures::orientation::BYTES,
    measures::next_action::MEASURE,
    measures::files::OPENED,
    measures::files::NAMED,
    measures::rereads::MEASURE,
    measures::checks::REUSED,
    measures::checks::GREEN,
    measures::dead_ends::SAID,
    measures::dead_ends::UNSAID,
    measures::asked_again::MEASURE,
    measures::contradicted::FILES,
    measures::contradicted::CHECKS,
    measures::contradicted::RULINGS,
    measures::waste::MEASURE,
];
