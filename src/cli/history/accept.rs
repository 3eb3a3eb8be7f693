//! `history accept`: what was changed by hand counts from now on.

use serde_json::json;

use super::super::Context;
use super::place::absent;
use super::{HistoryPlace, answer, brake};
use crate::error::{Category, Error, Result};
use crate::history::Accepted;
use crate::steps;

pub(super) fn accept(context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
    if !place.history.exists()? {
        return Err(absent(place));
    }
    if let Some(pause) = brake(&place.root).paused() {
        let error = Error::new(Category::Paused, pause.to_string()).follow("; nothing was accepted");
        return Err(error.hint("try again after `agent-handover unpause`"));
    }
    place.finish_interrupted(context);
    let accepted = place.history.changes_by_hand()?;
    let step = steps::history_accept(&accepted)?;
    place.carry_out(context, step, None, true, |_| place.history.accept(&accepted))?;
    let Accepted { changed, gone, lines, ends, restored } = &accepted;
    let mut answers: Vec<String> =
        changed.iter().map(|archive| format!("accepted: sessions/{} as it is now", archive.name)).collect();
    answers.extend(gone.iter().map(|name| format!("accepted: sessions/{name} is gone")));
    answers.extend(lines.iter().map(|line| format!("accepted: {line}")));
    answers.extend(ends.iter().map(|(id, status)| format!("accepted: session {id} is {status}")));
    answers.extend(restored.iter().map(|line| format!("put back into DECISIONS.md: {line}")));
    if accepted.is_empty() {
        answers.push("nothing was changed by hand".to_owned());
    }
    let ends: Vec<_> = ends.iter().map(|(id, status)| json!({ "session_id": id, "status": status })).collect();
    let changed: Vec<&str> = changed.iter().map(|archive| archive.name.as_str()).collect();
    let document = json!({ "changed": changed, "gone": gone, "lines": lines, "ends": ends, "restored": restored });
    answer(context, as_json, "accept", &answers.iter().map(String::as_str).collect::<Vec<_>>(), document);
    Ok(0)
}
