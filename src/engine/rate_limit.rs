//! Whether the last session that was handed over stopped at a limit of its agent's use.

use serde_json::Value;

use crate::base::clock;
use crate::checkpoint::Store;
use crate::error::Result;
use crate::facts;

/// A sentence about the limit, with when it ends if that is known. `None` if there was none, or if it has ended.
pub(crate) fn rate_limit(store: &Store) -> Result<Option<String>> {
    let Some(run) = store.latest_completed()? else { return Ok(None) };
    let results = store.steps(run.seq)?.into_iter().filter_map(|step| step.result);
    let mut facts = results.filter_map(|result| Some(serde_json::from_str::<Value>(&result).ok()?["facts"].take()));
    Ok(facts.find_map(|facts| facts::limit_sentence(&run.agent, &facts[facts::RATE_LIMIT], clock::now())))
}
