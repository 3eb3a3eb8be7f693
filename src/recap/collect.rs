//! Collects the facts of a session and makes its account of them.

use serde_json::Value;

use super::{Account, Check, Material, Seen, recap, summary};
use crate::config::template::Values;
use crate::error::Result;
use crate::facts::{self, Facts, Scene};
use crate::transcript::Outcome;

/// The name of the account among the facts.
const ACCOUNT: &str = "account";
/// The beginning of the names under which the results of command steps are among the facts.
const EVIDENCE: &str = "evidence.";

/// Collects the facts of a session. The account is among them, and so is a summary if the session gave no note.
pub(crate) fn collect(scene: &Scene<'_>) -> Result<Facts> {
    let mut facts = facts::collect(scene)?;
    let session = scene.session;
    let has_commits = facts.values.get("commits").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    // Without git, nobody can say that a session changed nothing which told its hooks only what was said.
    let is_unseen = facts.is_from_hooks && !facts.values.contains_key("head");
    let account = recap(&Material {
        transcript: facts.transcript.as_ref(),
        note: &session.note,
        state: &session.state,
        // A file may lie about uncommitted for weeks; the transcript knows better whether this session edited anything.
        has_changes: has_commits
            || is_unseen
            || (facts.transcript.is_none() || facts.is_from_hooks) && facts.is_repository_changed,
    });
    if session.note.trim().is_empty() {
        let text = summary::write(&account, &facts);
        if !text.is_empty() {
            facts.values.insert("summary".to_owned(), text.into());
        }
    }
    facts.values.insert(ACCOUNT.to_owned(), serde_json::to_value(&account).unwrap_or_default());
    Ok(facts)
}

/// The name and value under which the result of a command step becomes a fact for the steps after it. `None` for a result
/// without evidence.
pub(crate) fn evidence(position: usize, step: &str, result: &Value) -> Option<(String, Value)> {
    let mut evidence = result.get("evidence").filter(|evidence| evidence.is_object())?.clone();
    evidence["position"] = position.into();
    Some((format!("{EVIDENCE}{step}"), evidence))
}

/// The account among the facts, with the results of the command steps so far.
pub(crate) fn account_of(values: &Values) -> Account {
    let mut account: Account =
        values.get(ACCOUNT).and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default();
    let mut results: Vec<&Value> =
        values.iter().filter(|(name, _)| name.starts_with(EVIDENCE)).map(|(_, value)| value).collect();
    results.sort_by_key(|result| result["position"].as_u64());
    for result in results {
        let check = Check {
            command: result["command"].as_str().unwrap_or_default().to_owned(),
            outcome: match (result["passed"].as_bool(), result["exit_code"].as_i64()) {
                (Some(true), _) => Outcome::Passed,
                (_, code) => Outcome::Failed(code),
            },
            seen: Seen::Here,
            took_ms: result["took_ms"].as_u64(),
        };
        account.checks.retain(|other| other.command != check.command);
        account.checks.push(check);
    }
    account
}
