//! The limit of an agent's use at which the last session stopped, as a sentence.

use chrono::{DateTime, Duration, FixedOffset, SecondsFormat, Utc};
use serde_json::Value;

use crate::base::text;

/// The name under which it is among the facts.
pub(crate) const FACT: &str = "rate_limit";
/// What a person can do until then.
const CONTINUE: &str = "`agent-handover continue AGENT` continues in another agent";
/// How long a limit is reported if its end is not known.
const UNKNOWN_END: i64 = 24;

/// The sentence about a limit that is among the facts of a session. `None` if there is none, or if it has ended.
pub(crate) fn sentence(agent: &str, limit: &Value, now: DateTime<FixedOffset>) -> Option<String> {
    let time = |name: &str| DateTime::parse_from_rfc3339(limit[name].as_str()?).ok();
    let shown = |at: DateTime<FixedOffset>| at.with_timezone(&Utc).to_rfc3339_opts(SecondsFormat::Secs, true);
    let (at, until) = (time("at"), time("until"));
    let said = text::one_line(limit["text"].as_str()?, 120);
    let has_ended = match (until, at) {
        (Some(until), _) => until <= now,
        (None, Some(at)) => now - at > Duration::hours(UNKNOWN_END),
        (None, None) => true,
    };
    let agent = if agent.is_empty() { "the agent" } else { agent };
    let end = until
        .map_or_else(|| format!("when it ends is not known ({said})"), |until| format!("it ends at {}", shown(until)));
    let at = at.map(|at| format!(" at {}", shown(at))).unwrap_or_default();
    (!has_ended).then(|| format!("{agent} reached a limit of its use{at}; {end}; {CONTINUE}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_limit_is_told_until_it_ends() {
        let now = DateTime::parse_from_rfc3339("2026-11-18T09:00:00Z").unwrap();
        let told = |limit: Value| sentence("codex", &limit, now);
        let known =
            json!({ "at": "2026-11-18T08:00:00Z", "until": "2026-11-18T11:00:00+01:00", "text": "usage limit" });
        let expected = "codex reached a limit of its use at 2026-11-18T08:00:00Z; it ends at 2026-11-18T10:00:00Z; ";
        assert_eq!(told(known), Some(format!("{expected}{CONTINUE}")));
        let open = json!({ "at": "2026-11-18T08:00:00Z", "until": null, "text": "resets 3am" });
        assert!(told(open).unwrap().contains("; when it ends is not known (resets 3am); "));
        for over in [
            json!({ "at": "2026-11-18T08:00:00Z", "until": "2026-11-18T08:30:00Z", "text": "x" }),
            json!({ "at": "2026-11-16T08:00:00Z", "until": null, "text": "x" }),
            json!(null),
            json!({ "at": 7, "text": "x" }),
        ] {
            assert_eq!(told(over), None);
        }
    }
}
