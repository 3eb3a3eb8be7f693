//! Collects what the session stated itself, and who ran it.

use super::{Collector, Facts, Scene};
use crate::base::text;
use crate::error::Result;

pub(super) const COLLECTOR: Collector = Collector { name: "inputs", collect };

fn collect(scene: &Scene<'_>) -> Result<Facts> {
    let session = scene.session;
    let mut values = super::recorded(session);
    // The record of the run already has it.
    values.remove("handoff");
    let who = if session.agent.is_empty() { &session.user } else { &session.agent };
    let note = match session.note.len() {
        0 => "no note".to_owned(),
        bytes => format!("a note of {}", text::count(bytes, "byte")),
    };
    Ok(Facts { values, detail: Some(format!("{note}, by {who} on {}", session.host)), ..Facts::default() })
}
