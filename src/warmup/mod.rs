//! The warmup: what a new session reads about the project, cut to a budget. It states facts with their marks and gives no
//! orders.
//!
//! | file | owns |
//! |---|---|
//! | `build` | which sections a warmup has, its first lines and its end |
//! | `sources` | what is on record: state, newest handoff, rulings, unfinished handovers |
//! | `since` | what git says about the time since the last handover |
//! | `writer` | items taken from the sources: labelled, each shown once |
//! | `lasting` | the sections that change only with the record |
//! | `news` | the sections that depend on the day and on git |
//! | `own_session` | what the session itself did before its client compacted it |
//! | `claims` | whether a text claims something that should have been checked |
//! | `page` | sections laid out within a budget; `item`, a stored text made safe to show |
//!
//! Lasting sections come first and stay the same, to the byte, as long as the record does, so that prompt caches hold. The
//! first two thousand bytes can stand alone, because some clients show no more of a long context.

mod build;
mod claims;
mod lasting;
mod news;
mod own_session;
mod page;
mod since;
mod sources;
mod writer;

pub use build::{Ask, Extent, Warmup, build};
pub use page::tokens;
pub use sources::needs_consent;
