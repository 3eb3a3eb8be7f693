//! Checks a document that came with a bundle as strictly as one that is written here.

use chrono::{DateTime, Utc};

use super::record;
use crate::base::text;
use crate::error::{Error, Result};
use crate::handoff::{self, Handoff};

/// The longest status, in characters.
const LONGEST_STATUS: usize = 40;

/// Checks the document of the handoff with this id.
pub(super) fn check(id: &str, handoff: &Handoff, now: DateTime<Utc>) -> Result<()> {
    let wrong = |what: &str| Error::bad_data(format!("handoff {id}: its document is not valid: {what}"));
    // The author chose the first action.
    let mut problems = handoff::check(handoff).into_iter().filter(|problem| !problem.is_about_first_action());
    if let Some(first) = problems.next() {
        let more = problems.count();
        let more = if more > 0 { format!(", and {}", text::count(more, "other problem")) } else { String::new() };
        return Err(wrong(&format!("{}{more}", text::one_line(&first.kind.to_string(), 300))));
    }
    // The status stands in the first line of a warmup.
    let status = handoff.text("status");
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-');
    if status.chars().count() > LONGEST_STATUS || !status.chars().all(is_word) {
        return Err(wrong(&format!("status `{}` is not a word", text::one_line(status, LONGEST_STATUS))));
    }
    let lead = |error: Error| error.lead(&format!("handoff {id}: its document is not valid: "));
    record::check_session_id(handoff.text("session_id")).map_err(lead)?;
    for field in ["session_date", "generated_at"] {
        record::check_date(field, handoff.text(field), now).map_err(lead)?;
    }
    Ok(())
}
