//! The current state as an agent reads it: each item with the id by which it can be marked as done.

use super::place;
use crate::base::text;
use crate::engine::{self, Provenance};
use crate::error::Result;
use crate::memory::{Memory, state};
use crate::project::Project;

/// How many characters of an item are shown.
const MAX_ITEM: usize = 1_000;

/// The items of the current state by category, then its free text.
pub(super) fn text(project: &Project) -> Result<String> {
    place::refuse_closed(project)?;
    let state = Memory::at(&project.memory_root, project.memory_dir()?).state()?;
    let provenance = Provenance::of(project);
    let (mut page, mut shown) = (String::from("# Current state\n"), "");
    for (category, item) in state.items() {
        if category != shown {
            page.push_str(&format!("\n## {}\n\n", text::model_line(&state::title(category), 60)));
            shown = category;
        }
        let mark = engine::mark(provenance.owns_item(category, item), category);
        let day = item.at.get(..10).map(|day| format!(", {day}")).unwrap_or_default();
        page.push_str(&format!("- {mark}{} (id {}{day})\n", text::model_line(&item.text, MAX_ITEM), item.id));
    }
    let free = text::of_bytes(&state.text());
    let free = text::without_private(&free);
    if !free.trim().is_empty() {
        let mark = engine::mark(provenance.owns_text(&state), "");
        page.push_str(&format!("\n## In short\n\n{mark}{}\n", free.trim()));
    }
    if shown.is_empty() && free.trim().is_empty() {
        page.push_str("\nNothing is recorded yet.\n");
    }
    Ok(page)
}
