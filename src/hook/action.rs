//! What an agent is reminded of before a command or an edit: one line, and only if it matters.

use std::path::Path;

use crate::agents::Call;
use crate::base::{fs, text};
use crate::engine::Provenance;
use crate::project::Project;
use crate::search::{self, Index, Reminder};
use crate::transcript::{MARK_BYTES, WARMUP_MARKER, marked};

/// The longest line, in bytes.
const MAX_LINE: usize = 200;

/// The line for a tool that is about to be used. `None` if there is nothing to say, or if this session was told already.
pub(super) fn before_tool(project: &Project, call: &Call) -> Option<String> {
    let session = call.session_id.as_deref()?;
    let (index, thing, line) = find(project, call)?;
    index.is_told_first(&format!("{session}\n{thing}")).ok()?.then_some(line)
}

/// The line that a tool would get for the first time. Nothing is changed.
pub(super) fn simulated(project: &Project, call: &Call) -> Option<String> {
    find(project, call).map(|(_, _, line)| line)
}

/// What there is to say, and the command or file that it is about.
fn find(project: &Project, call: &Call) -> Option<(Index, String, String)> {
    let is_about_something = call.command.is_some() || !call.edited.is_empty();
    if !project.config.recalls_before_tools || !is_about_something || !project.unattended_places().has_state() {
        return None;
    }
    let index = Index::open_existing(project)?;
    if let Some(command) = &call.command {
        let found = search::before_command(&index, command).ok()??;
        let what = format!("This command failed last time{} and has not passed since", on(found.at));
        return Some((index, command.clone(), own_line(project, &what, &found)?));
    }
    let files = call.edited.iter().filter_map(|path| relative(project, path));
    let (file, found) =
        files.filter_map(|file| Some((search::before_edit(&index, &file).ok()??, file))).map(|(a, b)| (b, a)).next()?;
    let what = format!("A ruling{} names this file", on(found.at));
    Some((index, file, own_line(project, &what, &found)?))
}

/// The line, unless its text came with the repository.
fn own_line(project: &Project, what: &str, found: &Reminder) -> Option<String> {
    // Most come from transcripts, and the question whose the rest are costs more than all others.
    if !found.own_key.is_empty() && !Provenance::of(project).owns_stored(&found.own_key, &found.run, false) {
        return None;
    }
    Some(line(what, &found.text))
}

fn line(what: &str, said: &str) -> String {
    let said = text::model_line(said, MAX_LINE);
    let whole = if said.is_empty() { format!("{what}.") } else { format!("{what}: {said}") };
    let room = MAX_LINE - WARMUP_MARKER.len() - 1 - MARK_BYTES;
    let cut = if whole.len() <= room { whole } else { format!("{}…", text::cut(&whole, room - '…'.len_utf8())) };
    marked(&format!("{WARMUP_MARKER} {cut}"))
}

fn on(at: Option<i64>) -> String {
    let day = at.and_then(|at| chrono::DateTime::from_timestamp(at, 0));
    day.map(|day| format!(" ({})", day.format("%Y-%m-%d"))).unwrap_or_default()
}

/// A path relative to the project.
fn relative(project: &Project, path: &str) -> Option<String> {
    let path = fs::tidy(Path::new(path))?;
    let roots = [project.root.clone(), fs::real(&project.root)];
    let below = roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
    below.to_str().filter(|below| !below.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_length() {
        assert_eq!(line("It failed", ""), marked(&format!("{WARMUP_MARKER} It failed.")));
        let long = line("It failed", &"ä\n".repeat(400));
        assert!(
            long.len() <= MAX_LINE && long.contains("… <!-- end ") && !long.contains('\n'),
            "{} {long}",
            long.len()
        );
    }
}
