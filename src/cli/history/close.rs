//! `history close`: records how a session ended.

use serde_json::{Value as Json, json};

use super::super::Context;
use super::{HistoryPlace, answer, brake};
use crate::engine;
use crate::error::Result;
use crate::steps;

pub(super) fn close(
    context: &mut Context<'_>,
    place: &HistoryPlace,
    session: Option<&str>,
    status: &str,
    as_json: bool,
) -> Result<u8> {
    if let Some(pause) = brake(&place.root).paused() {
        let waiting = engine::waiting_commands(&place.project()?)?;
        // Something that waits may archive the session that is meant. The step looks for it when its turn comes.
        let may_archive = |waiting: &Vec<(String, Json)>| waiting.iter().any(|(kind, _)| steps::archives(kind));
        let is_known_later = waiting.as_ref().is_none_or(may_archive);
        let found = match place.history.session_to_close(session) {
            Ok(id) if !is_known_later => Some(id),
            Err(reason) if !is_known_later => return Err(reason.into()),
            _ => session.map(str::to_owned),
        };
        // What waits may set another status, which this command comes after.
        let was = match &found {
            Some(id) if waiting.is_some_and(|waiting| waiting.is_empty()) => Some(place.history.status_by_id(id)?),
            _ => None,
        };
        return Err(place.defer(&pause, steps::history_close(found.as_deref(), status, was)?, None, true));
    }
    place.finish_interrupted(context);
    let id = match place.history.session_to_close(session) {
        Ok(id) => {
            let step = steps::history_close(Some(&id), status, Some(place.history.status_by_id(&id)?))?;
            place.carry_out(context, step, None, true, |_| Ok(place.history.close(Some(&id), status)?))?
        }
        Err(reason) => return Err(reason.into()),
    };
    let line = format!("set session {id} status to {status}");
    answer(context, as_json, "close", &[&line], json!({ "session_id": id, "status": status }));
    Ok(0)
}
