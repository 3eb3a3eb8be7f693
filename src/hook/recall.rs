//! What a session is reminded of at its first prompt: a few passages of earlier sessions that speak of the same things.

use super::context::context;
use crate::agents::{Call, Event};
use crate::base::{clock, text};
use crate::engine::Provenance;
use crate::project::Project;
use crate::search::{self, Hit, Index};
use crate::transcript::{MARK_BYTES, WARMUP_MARKER, keepable, marked};
use crate::warmup::Asked;

/// How many bytes an agent is reminded of at most.
const BUDGET: usize = 1_200;
/// How many passages an agent is reminded of at most.
const MOST: usize = 3;
/// How many characters of a passage are shown.
const MAX_PASSAGE: usize = 300;
/// How much of a prompt is looked at, in characters.
const MAX_PROMPT: usize = 4_000;

/// The text for the first prompt of a session. `None` for later prompts, and if nothing is near enough.
pub(super) fn at_first_prompt(project: &Project, call: &Call) -> Option<String> {
    let session = call.session_id.as_deref()?;
    if !project.config.recalls_at_first_prompt || !project.unattended_places().has_state() {
        return None;
    }
    let index = Index::open_existing(project)?;
    // Without a record of it, every prompt would be the first.
    let is_first = index.is_told_first(session).ok()?;
    if is_first { remind(project, call, &index) } else { None }
}

/// The text that a prompt would get if it were the first. Nothing is changed.
pub(super) fn simulated(project: &Project, call: &Call) -> Option<String> {
    let is_on = project.config.recalls_at_first_prompt;
    is_on.then(|| remind(project, call, &Index::open_existing(project)?)).flatten()
}

fn remind(project: &Project, call: &Call, index: &Index) -> Option<String> {
    let prompt = keepable(call.prompt.as_deref()?, MAX_PROMPT)?;
    let session = call.session_id.as_deref().unwrap_or_default();
    let mut hits = search::recall(index, &prompt, session, clock::now().date_naive()).ok()?;
    if hits.is_empty() {
        return None;
    }
    let provenance = Provenance::of(project);
    // A text that came with the repository is not put beside a person's prompt.
    hits.retain(|hit| provenance.owns_hit(hit));
    if hits.is_empty() {
        return None;
    }
    // The session has read its warmup, if it got one.
    if project.config.warms_up {
        let warmup =
            context(project, &Call { event: Event::SessionStart, source: None, ..call.clone() }, Asked::default()).text;
        hits.retain(|hit| !search::is_said_in(&hit.text, &warmup));
    }
    let pairs: Vec<(&Hit, bool)> = hits.iter().map(|hit| (hit, true)).collect();
    let lines: Vec<String> = search::without_copies(&pairs).iter().take(MOST).map(|at| line(&hits[*at])).collect();
    render(&lines)
}

/// When it was said, where, and what.
fn line(hit: &Hit) -> String {
    let day = hit.at.and_then(|at| chrono::DateTime::from_timestamp(at, 0)).map(|at| at.format("%Y-%m-%d").to_string());
    let from = if hit.handoff.is_empty() { &hit.session } else { &hit.handoff };
    let outside = if hit.is_from_outside { "text from outside" } else { "" };
    let parts =
        [day.unwrap_or_default(), hit.kind.name().to_owned(), hit.agent.clone(), from.clone(), outside.to_owned()];
    let about: Vec<String> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| text::model_line(part, 60)).collect();
    format!("- ({}) {}", about.join(", "), text::model_line(&hit.text, MAX_PASSAGE))
}

/// As many lines as fit. `None` if none does.
fn render(lines: &[String]) -> Option<String> {
    let head = format!(
        "{WARMUP_MARKER}\nFrom earlier sessions of this project, found for this prompt; `agent-handover search` finds more:\n"
    );
    let mut page = head.clone();
    for line in lines.iter().filter(|line| line.len() < BUDGET) {
        if page.len() + line.len() + MARK_BYTES < BUDGET {
            page.push_str(line);
            page.push('\n');
        }
    }
    (page.len() > head.len()).then(|| marked(&page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reminder_keeps_its_budget() {
        assert_eq!(render(&[]), None);
        let lines = vec!["ä".repeat(400), "b".repeat(400), "c".repeat(100)];
        let page = render(&lines).unwrap();
        assert!(page.len() <= BUDGET && page.starts_with(WARMUP_MARKER), "{}", page.len());
        assert!(page.contains("ää") && !page.contains("bb") && page.contains("cc"));
    }
}
