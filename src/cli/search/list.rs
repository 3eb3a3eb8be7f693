//! The answer of `search` for people: a list of hits.

use std::path::Path;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, FixedOffset};

use super::super::paint::{Line, Role};
use super::super::provenance::{mark_of_handoff, warn_of_strange};
use super::super::table;
use super::super::ui::Ui;
use super::command::Found;
use super::snippet::{Snippet, wrapped};
use crate::base::{clock, text};
use crate::search::PassageKind;
use crate::transcript;

const MAX_TITLE: usize = 100;
const MAX_CONTEXT: usize = 200;
/// The width of a passage if that of the terminal is not known.
const WIDTH: usize = 100;

pub(super) fn print(ui: &mut Ui, found: &[Found]) {
    warn_of_strange(ui, found.iter().filter(|found| !found.is_ours).count());
    let width = ui.width().unwrap_or(WIDTH).clamp(40, 160);
    for (number, found) in (1..).zip(found) {
        if number > 1 {
            ui.answer("");
        }
        let hit = &found.hit;
        let mark = mark_of_handoff(found.is_ours, hit.is_from_outside);
        let title = if hit.title.is_empty() { "(no title)" } else { &hit.title };
        let lead = format!("{number}. ");
        let title = table::cut(&format!("{mark}{}", text::model_line(title, MAX_TITLE)), width - lead.len());
        ui.answer_line(&Line::of(Role::Quiet, lead).and(Role::Head, title));
        ui.answer_line(&Line::of(Role::Quiet, format!("   {}", about(ui, found))));
        for before in &found.before {
            beside(ui, before, width);
        }
        for line in Snippet::of(&hit.text, &hit.matches).lines(width - 5) {
            let marked = |line: Line, (part, is_match): (String, bool)| {
                line.and(if is_match { Role::Match } else { Role::Plain }, part)
            };
            ui.answer_line(&line.into_iter().fold(Line::of(Role::Quiet, "   > "), marked));
        }
        for after in &found.after {
            beside(ui, after, width);
        }
        for near in &hit.near {
            beside(ui, &format!("{}: {}", near.kind.name(), near.text), width);
        }
        if let Some(has_changed) = hit.changed_since {
            ui.answer(&format!("     the file has {}changed since", if has_changed { "" } else { "not " }));
        }
        ui.answer_line(&Line::of(Role::Quiet, format!("   {}", shows_whole(found))));
    }
}

/// Prints what comes before or after a hit.
fn beside(ui: &mut Ui, passage: &str, width: usize) {
    for (number, line) in wrapped(&text::one_line(passage, MAX_CONTEXT), width - 7).into_iter().enumerate() {
        ui.answer(&format!("{}{line}", if number == 0 { "     " } else { "       " }));
    }
}

/// When it was said, by whom and where.
fn about(ui: &Ui, found: &Found) -> String {
    let hit = &found.hit;
    let at = if hit.is_day { hit.at.and_then(day_of) } else { hit.at.and_then(time_of).map(|at| ui.when(&at)) };
    let known = |text: &str| Some(text::model_line(text, 60)).filter(|text| !matches!(text.as_str(), "" | "unknown"));
    let parts = [at, known(hit.kind.name()), known(&hit.agent), known(&hit.branch), found.project.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The command that shows the whole.
fn shows_whole(found: &Found) -> String {
    let hit = &found.hit;
    if !found.handoff.is_empty() {
        return format!("agent-handover history show {}", text::shell_word(&found.handoff));
    }
    match hit.kind {
        PassageKind::Item => "agent-handover memory list".to_owned(),
        PassageKind::Ruling if hit.session.is_empty() => "agent-handover memory list".to_owned(),
        PassageKind::Note => "agent-handover memory list --layer 1".to_owned(),
        PassageKind::Archive => "agent-handover memory list --layer 3".to_owned(),
        _ if is_kept_talk(&hit.path) => {
            format!("agent-handover history show {} --talk", text::shell_word(&hit.session))
        }
        _ => format!("less {}", text::shell_word(&hit.path)),
    }
}

/// Whether the file is kept talk, which is compressed.
fn is_kept_talk(path: &str) -> bool {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.and_then(transcript::of_kept_name).is_some()
}

/// The day of a noon, in seconds since 1970.
pub(super) fn day_of(seconds: i64) -> Option<String> {
    DateTime::from_timestamp(seconds, 0).map(|at| at.format("%Y-%m-%d").to_string())
}

/// Seconds since 1970 as a local time.
pub(super) fn time_of(seconds: i64) -> Option<DateTime<FixedOffset>> {
    let since = Duration::from_secs(u64::try_from(seconds).ok()?);
    Some(clock::of_file(SystemTime::UNIX_EPOCH.checked_add(since)?))
}
