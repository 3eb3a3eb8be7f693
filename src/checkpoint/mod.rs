//! `checkpoint.db`: a queue of runs, the journal of their steps, and the sessions that hooks have seen.
//!
//! | file | owns |
//! |---|---|
//! | `run` | a run, a step and what is recorded about them, as values |
//! | `store` | recording, advancing and abandoning runs; the questions that can be asked |
//! | `session` | the agents' sessions: how much of each was handed over |
//! | `kept_out` | the sessions that nobody hands over, such as the part of another one |
//! | `last_event` | the last event of a session, by which a second call for it is known |
//! | `receipt` | the texts that were put into sessions, and whether they arrived |
//! | `transcript_files` | the session files on disk, as far as sweeps have dealt with them |
//! | `word` | what agents passed to their hooks, for sessions whose transcript cannot be read |
//! | `open` | opening the file to write or to read it; moving an unusable one aside |
//! | `file` | the place of the file, checked before SQLite opens it by name |
//! | `identity` | the id by which the user's own state knows a file, and whose files are opened |
//! | `failure` | why the file could not be used |
//! | `space` | giving back the space of long texts that are not needed any more |
//! | `schema` | the tables, and how an old file becomes a new one |
//! | `python` | the Python tool's `checkpoint.json`, which is only read |

mod failure;
mod file;
mod identity;
mod kept_out;
mod last_event;
mod open;
pub(crate) mod python;
mod receipt;
mod run;
mod schema;
mod session;
mod space;
mod store;
#[cfg(test)]
mod tests;
mod transcript_files;
mod word;

pub(crate) use file::CheckpointFile;
pub(crate) use identity::{Accepts, Identity, Ids};
pub(crate) use last_event::{AtOnce, TURN_END};
pub(crate) use open::open_or_replace;
pub(crate) use receipt::{NewReceipt, Receipt, ReceiptOutcome, SettledReceipt};
pub(crate) use run::{
    NewRun, Next, OnUnfinished, RecordedStep, ReplannedRun, ReplannedStep, Run, RunStatus, Settled, StepState,
};
pub(crate) use session::{AgentSession, FileIdentity, HandedPart, SessionSighting};
pub(crate) use store::Store;
pub(crate) use transcript_files::{DoneFile, DoneFiles};
pub(crate) use word::{Told, Word, WordKind};
