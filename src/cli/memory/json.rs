//! Items and changes in JSON answers.

use serde_json::{Value as Json, json};

use crate::memory::StateChange;
use crate::memory::state::Item;

pub(super) fn change(change: &StateChange) -> Json {
    json!({ "id": change.id, "category": change.category, "text": change.text })
}

pub(super) fn item(category: &str, item: &Item, is_ours: bool) -> Json {
    json!({
        "id": item.id,
        "category": category,
        "text": item.text,
        "at": item.at,
        "since": if item.since.is_empty() { &item.at } else { &item.since },
        "run": item.run,
        "commit": item.commit,
        "branch": item.branch,
        "by": item.by,
        "ours": is_ours,
    })
}
