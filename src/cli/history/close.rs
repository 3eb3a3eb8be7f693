//! `history close`: records how a session ended.

use serde_json::json;

use super::super::Context;
use super::{HistoryPlace, answer, brake};
use crate::error::Result;

pub fn close(
    context: &mut Context<'_>,
    place: &HistoryPlace,
    session: Option<&str>,
    status: &str,
    as_json: bool,
) -> Result<u8> {
    if let Some(stop) = brake(&place.root).pressed() {
        return Err(stop.error());
    }
    let id = place.history.close(session, status)?;
    let line = format!("set session {id} status to {status}");
    answer(context, as_json, "close", &[&line], json!({ "session_id": id, "status": status }));
    Ok(0)
}
