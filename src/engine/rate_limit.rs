//! Whether a session stopped at a limit of its agent's use: one that is still open, or the last that was handed over.

use serde_json::{Value, json};

use crate::base::clock;
use crate::checkpoint::{AgentSession, Store, WordKind};
use crate::error::Result;
use crate::facts;
use crate::transcript;

/// A sentence about the limit, with when it ends if that is known. `None` if there was none, or if it has ended.
pub(crate) fn rate_limit(store: &Store) -> Result<Option<String>> {
    for session in store.open_sessions()?.iter().rev() {
        if let Some(sentence) = of_open(store, session)? {
            return Ok(Some(sentence));
        }
    }
    let Some(run) = store.latest_completed()? else { return Ok(None) };
    let results = store.steps(run.seq)?.into_iter().filter_map(|step| step.result);
    let mut facts = results.filter_map(|result| Some(serde_json::from_str::<Value>(&result).ok()?["facts"].take()));
    Ok(facts.find_map(|facts| facts::limit_sentence(&run.agent, &facts[facts::RATE_LIMIT], clock::now())))
}

/// The limit that is the last thing an open session told its hooks.
fn of_open(store: &Store, session: &AgentSession) -> Result<Option<String>> {
    let (_, words) = store.words(&session.agent, &session.id)?;
    let last = words.last().filter(|word| word.kind == WordKind::Error);
    let (Some(error), Some(at)) = (last, clock::parse_stamp(&session.seen_at)) else { return Ok(None) };
    let limit = transcript::limit_in(&error.text, at);
    Ok(facts::limit_sentence(&session.agent, &json!(limit), clock::now()))
}
