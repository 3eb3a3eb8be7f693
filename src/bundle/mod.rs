//! Handoffs that travel: sealed, opened, and vouched for. The formats are session-handoff's, so that files go both ways.
//!
//! | file | owns |
//! |---|---|
//! | `json` | limits on what strangers send; JSON as Go writes it |
//! | `record` | the eight fields that both tools know, and their checksum |
//! | `seal` | one bundle: versions, signatures, our document |
//! | `envelope` | encryption under a passphrase |
//! | `key`, `trust` | ed25519 keys, and those that this user trusts |
//! | `convert` | a record as a handoff and back |
//! | `input` | what a file holds |
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

pub use convert::{NO_NEXT, record_of};
pub use envelope::Envelope;
pub use input::{Incoming, Input};
pub use json::MAX_BYTES;
pub use key::{PublicKey, SecretKey};
pub use record::{HandoffRecord, check_id, write_time};
pub use seal::{Bundle, BundleSeal, SignWith};
pub use trust::{TrustList, Trusted};
