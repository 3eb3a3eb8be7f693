//! The warmup: what a new session reads about the project, cut to a budget. It states facts with their marks and gives no
//! orders.
//!
//! | file | owns |
//! |---|---|
//! | `build` | which sections a warmup has |
//! | `brief` | one handoff as a short text for a person |
//! | `lead` | the first lines and the last one |
//! | `prompt` | one handoff as the prompt for another tool, laid out like a warmup |
//! | `sources` | what is on record: state, newest handoff, rulings, unfinished handovers |
//! | `told` | what sessions said and did: the account in the newest handoff, and those of transcripts |
//! | `disk` | the first warmup of a project, from the transcripts on this machine |
//! | `since` | what git says about the time since the last session |
//! | `writer` | items taken from the sources: labelled, each shown once |
//! | `shown` | what is on the page already |
//! | `lasting` | the sections that change only with the record |
//! | `talk` | the sections of what was said, and the sentences that fill the free room |
//! | `news` | the section that depends on the day and on git |
//! | `claims` | whether a text claims a success that should have been checked |
//! | `item` | a stored text made safe to show, and where it may be cut |
//! | `shares` | how much of a page each part gets |
//! | `page` | sections laid out within a budget |
//! | `placed` | one section while it is laid out |
//! | `room` | room on a page, in bytes and tokens |
//!
//! Lasting sections come first and stay the same, to the byte, as long as the record does, so that prompt caches hold. The
//! first two thousand bytes can stand alone, because some clients show no more of a long context.

mod brief;
mod build;
mod claims;
mod disk;
mod item;
mod lasting;
mod lead;
mod news;
mod page;
mod placed;
mod prompt;
mod room;
mod shares;
mod shown;
mod since;
mod sources;
mod talk;
mod told;
mod writer;

pub(crate) use brief::{BRIEF_BUDGET, PERSON, brief};
pub(crate) use build::{Ask, Asked, Extent, Warmup, build};
pub(crate) use disk::{both_ends, sessions_found};
pub(crate) use placed::ShownSection;
pub(crate) use prompt::{MIN_PROMPT_BUDGET, PromptAsk, prompt};
pub(crate) use room::tokens;
pub(crate) use since::WorkTree;
pub(crate) use sources::needs_consent;
pub(crate) use writer::CAME_ALONG;
