//! What the session said itself, and who it was.

use super::{Collector, Session};
use crate::config::template::Values;
use crate::error::Result;

pub const COLLECTOR: Collector = Collector { name: "inputs", collect };

/// Only what later steps may ask for by name; the texts themselves are in the record already.
fn collect(session: &Session) -> Result<Values> {
    let mut facts = super::recorded(session);
    facts.remove("note");
    facts.remove("state");
    facts.remove("summary");
    Ok(facts)
}
