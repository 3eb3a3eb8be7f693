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
//! | `convert` | a record as a handoff, and a handoff as a record |
//! | `input` | the handoffs in a file of any supported format |
//! | `render` | a handoff as session-handoff prints it |

mod convert;
mod envelope;
mod input;
mod json;
mod key;
mod record;
pub(crate) mod render;
mod seal;
mod trust;

pub(crate) use convert::record_of;
pub(crate) use envelope::Envelope;
pub(crate) use input::{Incoming, Input};
pub(crate) use json::{MAX_BYTES, pretty as pretty_json};
pub(crate) use key::{PublicKey, SecretKey};
pub(crate) use record::{HandoffRecord, write_time};
pub(crate) use seal::{Bundle, BundleSeal, SignWith};
pub(crate) use trust::{TrustList, Trusted};
