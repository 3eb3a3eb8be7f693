//! Finds what looks like a credential before it is recorded or published. The match itself is never shown.
//!
//! | file | owns |
//! |---|---|
//! | `rules` | one line of data for each kind of secret |
//! | `scan` | one pass over any bytes that tries the rules |
//! | `visible` | the text without its invisible characters, which may split a secret |
//! | `plausibility` | whether a match is a secret, or a word, example or id of the same shape |
//! | `pem` | the whole of a private key, from one of its lines |
//! | `finding` | findings by kind and place; redaction |
//! | `leak` | findings in files that are about to be published |
//! | `policy` | what happens to a text with a finding: refuse, redact or warn |
//! | `session_glue` | the leak scan of Session Glue |

mod finding;
mod leak;
mod pem;
mod plausibility;
mod policy;
mod rules;
mod scan;
mod session_glue;
#[cfg(test)]
mod tests;
mod visible;

pub use finding::find;
pub(crate) use finding::{Finding, clean, kinds, redact};
pub(crate) use leak::{Leak, refuse, scan_blob};
pub(crate) use policy::{OnSecret, Policy};
pub(crate) use session_glue::{leaked_kinds, personal_paths};
