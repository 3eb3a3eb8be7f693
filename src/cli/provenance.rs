//! How commands mark what came with the repository.

use super::ui::Ui;
use crate::base::text;
pub(super) use crate::engine::{CAME_ALONG, mark};
use crate::history::FROM_OUTSIDE;

/// The command that takes `it`, or `them`, as the user's own.
fn remedy(it: &str) -> String {
    format!("`agent-handover allow --memory` accepts {it} as yours")
}

/// The mark before a text of a handoff: whether it came with the repository, or was imported.
pub(super) fn mark_of_handoff(is_ours: bool, is_imported: bool) -> &'static str {
    match (is_ours, is_imported) {
        (false, _) => CAME_ALONG,
        (true, true) => FROM_OUTSIDE,
        (true, false) => "",
    }
}

/// A value from a file, marked if it came with the repository.
pub(super) fn marked(is_ours: bool, value: &str) -> String {
    format!("{}{value}", mark(is_ours, ""))
}

/// The mark after a thing of ours about which a file that came along claims this.
pub(super) fn claim(what: &str) -> String {
    format!("  {}{what}", mark(false, "decision"))
}

/// Explains the marks of a list, if there are any.
pub(super) fn warn_of_strange(ui: &Ui, count: usize) {
    if count > 0 {
        let lines = text::count(count, "line");
        let remedy = remedy(if count == 1 { "it" } else { "them" });
        ui.warn(&format!("[came along] {lines} came with the repository; {remedy}"));
    }
}

/// Warns that a document came with the repository.
pub(super) fn warn_of_document(ui: &Ui, is_ours: bool) {
    if !is_ours {
        ui.warn(&format!("this came with the repository: no session of yours wrote it; {}", remedy("it")));
    }
}
