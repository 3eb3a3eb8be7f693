//! The answer of `search --json`: `agent-handover/search/1`.

use serde_json::{Value as Json, json};

use super::command::Found;
use super::list::{day_of, time_of};
use crate::base::clock;
use crate::search::{Freshness, Hit, Meaning};

pub(super) fn document(found: &[Found], freshness: &Freshness, meaning: &Meaning) -> Json {
    let hits: Vec<Json> = found.iter().map(hit).collect();
    let mut json = json!({ "schema": "agent-handover/search/1", "hits": hits, "missing": freshness.missing });
    if meaning.is_configured {
        json["vectors"] =
            json!({ "used": meaning.is_used(), "missing": meaning.missing, "reason": meaning.reason.as_deref() });
    }
    json
}

/// A time, or a day if no more is known.
fn time(hit: &Hit) -> Option<String> {
    if hit.is_day {
        return hit.at.and_then(day_of);
    }
    hit.at.and_then(time_of).map(|at| clock::stamp(&at))
}

fn hit(found: &Found) -> Json {
    let hit = &found.hit;
    let given = |text: &str| if text.is_empty() { Json::Null } else { text.into() };
    let mut json = json!({
        "session": given(&hit.session),
        "handoff": given(&hit.handoff),
        "kind": hit.kind.name(),
        "title": hit.title,
        "at": time(hit),
        "agent": given(&hit.agent),
        "branch": given(&hit.branch),
        "score": (hit.score * 1_000.0).round() / 1_000.0,
        "text": hit.text,
        "path": hit.path,
        "ours": found.is_ours,
        "from_outside": hit.is_from_outside,
    });
    if let Some(project) = &found.project {
        json["project"] = project.clone().into();
    }
    if !hit.near.is_empty() {
        let near = hit.near.iter().map(|near| json!({ "kind": near.kind.name(), "text": near.text }));
        json["near"] = near.collect();
    }
    if let Some(changed) = hit.changed_since {
        json["changed_since"] = changed.into();
    }
    if !found.before.is_empty() || !found.after.is_empty() {
        json["before"] = found.before.clone().into();
        json["after"] = found.after.clone().into();
    }
    json
}
