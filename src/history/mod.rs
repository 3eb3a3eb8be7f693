//! The `.agent-history/` protocol, shared with Session Glue: immutable archives, and files that are derived from them.
//!
//! A writer holds the lock of the directory. It writes the archive first; LATEST.md, INDEX.yaml, RESUME_PROMPT.txt and
//! DECISIONS.md follow, each replaced as a whole. If a writer is killed, the next one restores the derived files from the
//! archives. LIFECYCLE.yaml is ours alone: it keeps how sessions ended and which rulings were revoked, because archives do
//! not change and an index may have to be rebuilt. So is SHA256SUMS, which shows whether an archive was changed. Only an archive that was imported can be replaced, and only by an import that asks for it.
//!
//! | file | owns |
//! |---|---|
//! | `store` | [`History`], the directory: paths, lock, reading archives and the index |
//! | `document` | a handoff from outside, with errors for people |
//! | `create` | archives one handoff |
//! | `derived` | brings the derived files up to date |
//! | `lifecycle` | LIFECYCLE.yaml: how sessions ended, the rulings that were revoked, the lines that were accepted |
//! | `interrupted` | completes the derived files after a writer was killed |
//! | `digests` | SHA256SUMS: the digest of each archive |
//! | `backing` | which standing lines of DECISIONS.md count |
//! | `accept` | takes the history as somebody changed it |
//! | `claims` | what counts of the ends and revocations that the files state |
//! | `rulings` | standing rulings: in force, revoked, by id or text |
//! | `index` | INDEX.yaml: one entry a session |
//! | `index_ends` | the head and the last entries of a long INDEX.yaml, without reading all of it |
//! | `decisions`, `prompt` | DECISIONS.md and RESUME_PROMPT.txt |
//! | `body`, `fill_in` | the parts of a handoff that the program writes |
//! | `written` | the handoff that a session wrote itself |
//! | `catalog` | sessions as a list: in order, and by id |
//! | `newest` | the newest sessions that match, without reading the others |
//! | `open_handoff` | the handoff to continue from |
//! | `status`, `validate`, `compare`, `drift` | where a history stands, and what is wrong with it |
//! | `import`, `origin` | handoffs from elsewhere, and who vouches for them |
//! | `merge` | changes from other machines |
//! | `not_changed` | why a history was not changed as a command asked |
//! | `own_keys` | what identifies handoffs and decisions in the user's own record |
//! | `registry` | the histories that this user has written |

mod accept;
mod backing;
mod body;
mod catalog;
mod claims;
mod compare;
mod create;
mod decisions;
mod derived;
mod digests;
mod document;
mod drift;
mod fill_in;
mod import;
mod index;
mod index_ends;
mod interrupted;
mod lifecycle;
mod merge;
mod newest;
mod not_changed;
mod open_handoff;
pub(crate) mod origin;
pub(crate) mod own_keys;
mod prompt;
pub(crate) mod registry;
mod rulings;
mod status;
mod store;
mod validate;
mod written;

pub(crate) use accept::Accepted;
pub(crate) use body::{NOTHING, Sections, body};
pub(crate) use catalog::{Catalog, FoundArchive, NotFound, ambiguous};
pub(crate) use claims::SessionStatus;
pub(crate) use create::IfTaken;
pub(crate) use decisions::without_standing;
pub(crate) use document::{parse, refuse};
pub(crate) use drift::drift;
pub(crate) use fill_in::{Machine, fill_in, new_id};
pub(crate) use import::{Landing, OnConflict};
pub(crate) use index::{Index, SessionEntry, time_of};
pub(crate) use lifecycle::{CLOSED, is_done, is_over};
pub(crate) use merge::DERIVED;
pub(crate) use newest::Wanted;
pub(crate) use not_changed::NotChanged;
pub(crate) use open_handoff::OpenHandoff;
pub(crate) use origin::{FROM_OUTSIDE, Origin};
pub(crate) use rulings::{Ruling, Rulings, older_line};
pub(crate) use status::HistoryStatus;
pub(crate) use store::{DIRECTORY, History, MAX_ARCHIVE};
pub(crate) use validate::{ByHand, Findings};
pub(crate) use written::{AGENT_SESSION, DERIVED_TAG, SessionSpan};
