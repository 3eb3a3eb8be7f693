//! Finding earlier sessions again: an index of what was said, noted and run, and how its passages are ranked.
//!
//! `index.db` in the state directory is derived from transcripts, memory and history. It may be deleted at any time; the next
//! search builds it again. Nothing in it is trusted unless this user's program wrote it.
//!
//! | file | owns |
//! |---|---|
//! | `passage` | a passage, its kind, and the document that it belongs to |
//! | `session_passages` | the passages of a transcript |
//! | `text_passages` | the passages of notes, items and handoffs |
//! | `schema` | the tables of the index |
//! | `figures` | what `score` computed from transcripts, kept in the index |
//! | `file` | `index.db`: whose it is, creating it, replacing one that cannot be used |
//! | `store` | the index as a value: asking for documents and passages |
//! | `writer` | adding, continuing and removing documents |
//! | `sources` | the files that belong in the index, as they are now |
//! | `kept_talk` | kept talk in the place of transcripts that are gone |
//! | `look` | which of the sources an update reads |
//! | `ahead` | reading new transcripts on other threads while the index is written |
//! | `update` | bringing the index up to date within a time limit |
//! | `words`, `porter` | the words of a text, in the form in which the index knows them |
//! | `dates` | the times that a question names |
//! | `query` | what a person typed: words, phrases, prefixes and filters |
//! | `candidates` | the passages that have words of the query, from the rarest words first |
//! | `rank` | how candidates are scored; every constant with its reason |
//! | `error_message` | an error that was met before, and what was done next |
//! | `path` | the sessions that touched a file |
//! | `traced_file` | the names that a file had, and whether it has changed since a session edited it |
//! | `archives` | the archived handoffs that may have a piece of text |
//! | `action` | what an agent is reminded of before a command or an edit |
//! | `recall` | what an agent is reminded of at the first prompt of a session |
//! | `whole_session` | all that the index has of one session |
//! | `copies` | hits that say the same |
//! | `answer` | from the question to the hits |
//! | `find` | one search of a project, the same for people and agents |
//! | `meaning` | whether the user's program is asked for vectors, and what an answer says about it |
//! | `vectors/` | the vectors of passages (feature `vectors`) |
//! | `fuse` | merging the ranking by words with the ranking by vectors (feature `vectors`) |

mod action;
mod ahead;
mod answer;
mod archives;
mod candidates;
mod copies;
mod dates;
mod error_message;
mod figures;
mod file;
mod find;
#[cfg(feature = "vectors")]
mod fuse;
mod kept_talk;
mod look;
mod meaning;
mod passage;
mod path;
mod porter;
mod query;
mod rank;
mod recall;
mod schema;
mod session_passages;
mod sources;
mod store;
mod text_passages;
mod traced_file;
mod update;
#[cfg(feature = "vectors")]
mod vectors;
mod whole_session;
mod words;
mod writer;

pub(crate) use action::{Reminder, before_command, before_edit, normalised};
pub(crate) use answer::Hit;
pub(crate) use archives::archives_with;
pub(crate) use copies::without_copies;
#[cfg(feature = "mcp")]
pub(crate) use dates::moment;
pub(crate) use dates::{Edge, flag_moment};
pub(crate) use error_message::question as error_signature;
pub(crate) use figures::KeptFigure;
pub(crate) use find::find;
#[cfg(feature = "mcp")]
pub(crate) use look::Look;
pub(crate) use meaning::{Asker, Meaning};
pub(crate) use passage::PassageKind;
pub(crate) use query::{Query, asks_only_for_a_time};
pub(crate) use recall::{is_said_in, recall};
pub(crate) use store::Index;
#[cfg(feature = "mcp")]
pub(crate) use update::bring_up_to_date;
pub(crate) use update::{Freshness, Progress, update_in_background};
