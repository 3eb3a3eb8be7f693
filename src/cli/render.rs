//! Renders errors, for a person and for a program.

use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::{Value, json};

use super::table;
use super::ui::Ui;
use crate::base::text;
use crate::error::{Error, Listing};

pub(super) fn error(ui: &Ui, error: &Error, cwd: &Path) {
    if let Some(listing) = error.problems() {
        snippets(ui, listing, cwd);
    } else {
        ui.error(error.message());
        for cause in error.causes() {
            ui.cause(cause);
        }
    }
    for hint in error.hints() {
        ui.hint(hint);
    }
}

fn snippets(ui: &Ui, listing: &Listing, cwd: &Path) {
    let path = listing.path.strip_prefix(cwd).unwrap_or(&listing.path).display().to_string();
    let source = text::blotted(&listing.text);
    let renderer = if ui.is_colored() { Renderer::styled() } else { Renderer::plain() };
    let width = ui.message_width();
    let renderer = width.map_or_else(|| renderer.clone(), |width| renderer.clone().term_width(width));
    // A help stands behind the numbers of the lines.
    let beside_help = listing.text.lines().count().to_string().len() + "  = help: ".len();
    let folded = |said: &str, beside: usize| {
        table::fold(&text::for_terminal(said), width.map(|width| width.saturating_sub(beside))).join("\n")
    };
    for problem in &listing.problems {
        let title = folded(&problem.message, "error: ".len());
        let mut group: Group<'_> = Level::ERROR.primary_title(title).element(
            Snippet::source(source.as_str())
                .path(path.as_str())
                .annotation(AnnotationKind::Primary.span(problem.span.clone())),
        );
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(folded(help, beside_help)));
        }
        ui.styled(&renderer.render(&[group]));
    }
}

/// The document that `--json` prints when a command fails.
pub(super) fn json(error: &Error) -> Value {
    json!({ "schema": "agent-handover/error/1", "error": parts(error) })
}

pub(super) fn parts(error: &Error) -> Value {
    let problems = error.problems().map(|listing| {
        let problems: Vec<Value> = listing
            .problems
            .iter()
            .map(|problem| {
                let (line, column) = line_and_column(&listing.text, problem.span.start);
                json!({ "message": problem.message, "help": problem.help, "line": line, "column": column })
            })
            .collect();
        json!({ "file": listing.path.display().to_string(), "problems": problems })
    });
    json!({
        "category": error.category().name(),
        "exit_code": error.category().exit_code(),
        "message": error.message(),
        "causes": error.causes(),
        "hints": error.hints(),
        "listing": problems,
    })
}

pub(super) fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = text::cut(source, at);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
