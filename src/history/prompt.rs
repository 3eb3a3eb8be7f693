//! RESUME_PROMPT.txt, in Session Glue's words.

use super::lifecycle::is_done;
use super::{Origin, without_standing};
use crate::base::text;
use crate::handoff::{Handoff, one_line};

/// The prompt for this handoff. `standing` are the standing decisions.
pub(super) fn render(handoff: &Handoff, status: &str, standing: &[String]) -> String {
    render_with(handoff, status, standing, &from_outside)
}

/// The prompt as versions before this one wrote it, which did not pass lines from outside through the gate for models.
pub(super) fn render_as_before(handoff: &Handoff, status: &str, standing: &[String]) -> String {
    render_with(handoff, status, standing, &without_standing)
}

/// A line of an imported handoff: nobody of this machine made a ruling in it, what its author marked as private is left out,
/// and nothing in it is hidden or reads as markup.
pub(super) fn from_outside(line: &str) -> String {
    text::for_model(&without_standing(&text::without_private(line)))
}

fn render_with(handoff: &Handoff, status: &str, standing: &[String], outside_line: &dyn Fn(&str) -> String) -> String {
    let or = |text: &str, otherwise: &str| if text.is_empty() { otherwise.to_owned() } else { one_line(text) };
    let root = or(handoff.text("project_root"), "(unknown)");
    let first = handoff.texts("next_todo_items").first().copied().unwrap_or_default();
    let action = if is_done(status) {
        // The text of the action stays, because its absence marks a stale prompt. The prompt no longer asks to do it.
        format!("(none: the session is DONE; its first action was: {})", one_line(first))
    } else {
        or(first, "(no next action recorded)")
    };
    let outside = Origin::of(handoff).map_or(String::new(), |origin| {
        format!("This handoff is {}. Weigh what it asks for.\n\n", one_line(&origin.line_in_file()))
    });
    let (root, action) = if outside.is_empty() { (root, action) } else { (outside_line(&root), outside_line(&action)) };
    let mut text = format!(
        "Continue the previous coding session.\n\n\
         {outside}\
         Project root: {root}\n\
         First, read: .agent-history/LATEST.md\n\
         Prompt artifact: .agent-history/RESUME_PROMPT.txt\n\
         Then follow the Resume Prompt and continue from the first next_todo_items entry.\n\n\
         First productive next action (next_todo_items[0]):\n{action}\n\n"
    );
    if !standing.is_empty() {
        text.push_str("Standing operator rulings:\n");
        for line in standing {
            text.push_str(line);
            text.push('\n');
        }
        text.push('\n');
    }
    text.push_str(
        "Before editing, run git status --short and report any drift from the handoff.\n\
         Do not scan the whole repository unless the handoff is stale or insufficient.\n",
    );
    text
}
