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
//! | `render` | the prompt for another tool |

mod convert;
mod envelope;
mod input;
mod json;
mod key;
mod record;
pub mod render;
mod seal;
mod trust;

pub use convert::record_of;
pub use envelope::Envelope;
pub use input::{Incoming, Input};
pub use json::MAX_BYTES;
pub use key::{PublicKey, SecretKey};
pub use record::{HandoffRecord, write_time};
pub use seal::{Bundle, BundleSeal, SignWith};
pub use trust::{TrustList, Trusted};
