//! The warmup that a session gets.

use super::session;
use crate::agents::{Call, Event};
use crate::project::Project;
use crate::transcript::{Source, Transcript};
use crate::warmup::{self, Ask, Asked, Extent};

/// How much of the end of a session's own transcript is read after a compaction.
const OWN_END: u64 = 8 << 20;
/// How much of its beginning is read.
const OWN_BEGINNING: u64 = 1 << 20;

/// Why the session starts, in the agent's words.
pub(super) fn source(call: &Call) -> &str {
    call.source.as_deref().unwrap_or("startup")
}

/// The warmup for this session; how much it says depends on why the session starts.
pub(super) fn context(project: &Project, call: &Call, asked: Asked<'_>) -> warmup::Warmup {
    let extent = match (&call.event, source(call)) {
        (Event::BeforeCompaction, _) | (_, "compact") => Extent::Short,
        // The session has its own past in its context.
        (_, "resume" | "fork") => Extent::News,
        _ => Extent::Whole,
    };
    let own = (extent == Extent::Short).then(|| own_past(call)).flatten();
    let ask = Ask {
        budget: project.config.warmup_budget,
        extent,
        session: own,
        session_id: call.session_id.as_deref().unwrap_or_default(),
        // A headless run has its own task, whatever a person asked for before.
        may_read_transcripts: !call.is_headless,
        asked,
    };
    warmup::build(project, ask)
}

/// What the session has done so far, from both ends of its transcript.
fn own_past(call: &Call) -> Option<Transcript> {
    let path = session::transcript(call)?;
    let whole = Source::pin(&path, "").ok()?;
    let found = warmup::both_ends(&whole, OWN_BEGINNING, OWN_END)?;
    (found.requests > 0 || !found.first_request.is_empty()).then_some(found)
}
