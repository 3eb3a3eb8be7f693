//! Handoffs that travel between machines: signed, encrypted, imported. The formats are session-handoff's, so that both tools
//! can read each other's files.
//!
//! | file | owns |
//! |---|---|
//! | `json` | JSON from strangers within limits; JSON as Go writes it |
//! | `record` | the eight fields that both tools share, and their checksum |
//! | `seal` | one bundle: versions, signatures, our document |
//! | `envelope` | encryption under a passphrase |
//! | `key`, `trust` | ed25519 keys, and those that this user trusts |
//! | `name` | names of keys: which ones people can tell apart |
//! | `convert` | a record as a handoff, and a handoff as a record |
//! | `outside` | the checks of a document that came with a bundle |
//! | `redact` | secrets in a handoff that leaves this machine |
//! | `input` | the handoffs in a file of any supported format |
//! | `store` | session-handoff's store, record by record |
//! | `render` | a handoff as session-handoff prints it |
//! | `notebook` | handoffs as sources for NotebookLM, one file a month |
//! | `mutations` | tests of generated changes |

mod convert;
mod envelope;
mod input;
mod json;
mod key;
#[cfg(test)]
mod mutations;
mod name;
mod notebook;
mod outside;
mod record;
mod redact;
pub(crate) mod render;
mod seal;
mod store;
mod trust;

pub(crate) use convert::record_of;
pub(crate) use envelope::Envelope;
pub(crate) use input::{DocumentPart, Incoming, Input};
pub(crate) use json::{MAX_BYTES, pretty as pretty_json, too_large};
pub(crate) use key::{PublicKey, SecretKey};
pub(crate) use name::shown as shown_name;
pub(crate) use notebook::{NotebookFile, files as notebook_files, left_over as notebook_left_over};
pub(crate) use record::{HandoffRecord, check_session_id, write_time};
pub(crate) use redact::Redaction;
pub(crate) use seal::{Bundle, BundleSeal, SignWith};
pub(crate) use store::MAX_RECORDS;
pub(crate) use trust::{TrustList, Trusted, Vouched, describe as describe_key};
