//! What the session said itself, and who it was.

use super::{Collector, Facts, Scene};
use crate::error::Result;

pub const COLLECTOR: Collector = Collector { name: "inputs", collect };

fn collect(scene: &Scene<'_>) -> Result<Facts> {
    let session = scene.session;
    let mut values = super::recorded(session);
    // The texts themselves are in the record; keeping them twice would only make it larger.
    for text in ["note", "state", "summary", "handoff"] {
        values.remove(text);
    }
    let who = if session.agent.is_empty() { &session.user } else { &session.agent };
    let said = match session.note.len() {
        0 => "no note".to_owned(),
        bytes => format!("a note of {bytes} bytes"),
    };
    Ok(Facts { values, detail: Some(format!("{said}, by {who} on {}", session.host)), ..Facts::default() })
}
