//! The documents of memory and history files: items, notes, archived notes and handoffs.

use std::path::Path;

use chrono::NaiveDate;

use super::passage::{Document, Passage, PassageKind, split};
use crate::base::{clock, text};
use crate::guard::own_record::OwnKey;
use crate::guard::secrets;
use crate::handoff::{Handoff, SECTIONS};
use crate::history::{self, Origin, without_standing};
use crate::memory::archive::{self, ArchiveEntry};
use crate::memory::listing::ListedNote;
use crate::memory::own_keys;
use crate::memory::state::CurrentState;

/// How long a title may be, in characters.
const MAX_TITLE: usize = 120;
/// The categories of items that are rulings.
const RULINGS: [&str; 2] = ["decision", "constraint"];

/// The items and the free text of the current state.
pub(super) fn of_state(file: &[u8]) -> Vec<Document> {
    let state = CurrentState::parse(file);
    let mut documents: Vec<Document> = Vec::new();
    for (category, item) in state.items() {
        let kind = if RULINGS.contains(&category) { PassageKind::Ruling } else { PassageKind::Item };
        let title = text::kept_line(&format!("{category}: {}", item.text), MAX_TITLE);
        let key = own_keys::of_item(category, item);
        let about = Document { branch: item.branch.clone(), run: item.run.clone(), ..titled(title, &key) };
        documents.extend(document(about, kind, &item.at, &item.text));
    }
    if let Some(key) = own_keys::of_state_text(&state) {
        let date = state.date().map(|date| date.to_string()).unwrap_or_default();
        let content = state.text();
        let content = String::from_utf8_lossy(&content);
        let title = text::kept_line(&format!("current state: {}", first_line(&content)), MAX_TITLE);
        documents.extend(document(titled(title, &key), PassageKind::Item, &date, &content));
    }
    documents
}

/// The notes of a day file.
pub(super) fn of_notes(file: &[u8], day: NaiveDate) -> Vec<Document> {
    archive::of_notes(file, day).iter().filter_map(|entry| of_entry(entry, PassageKind::Note)).collect()
}

/// The notes of an archived month.
pub(super) fn of_archive(file: &[u8]) -> Vec<Document> {
    archive::parse(file).iter().filter_map(|entry| of_entry(entry, PassageKind::Archive)).collect()
}

fn of_entry(entry: &ArchiveEntry<'_>, kind: PassageKind) -> Option<Document> {
    if entry.records_changes() {
        return None;
    }
    let content = String::from_utf8_lossy(&entry.content()).into_owned();
    let (run, agent) = entry.note().map(|note| (note.run, note.agent)).unwrap_or_default();
    let listed = ListedNote {
        run: run.clone(),
        step: String::new(),
        at: entry.time.clone().into_owned(),
        agent: agent.clone(),
        tag: String::new(),
        text: content.clone(),
        records_changes: false,
    };
    let content = without_nothing(&content);
    let title = text::kept_line(first_line(&content), MAX_TITLE);
    let about = Document { run, agent, ..titled(title, &own_keys::of_note(&listed)) };
    document(about, kind, &entry.time, &content)
}

/// An archived handoff: its goal and next actions, then its sections.
pub(super) fn of_handoff(file: &[u8]) -> Option<Document> {
    let content = String::from_utf8_lossy(file);
    let mut handoff = Handoff::parse(&content).ok()?;
    let key = history::own_keys::of_document(&content, &handoff);
    handoff.remove_private();
    let is_from_outside = Origin::of(&handoff).is_some();
    if is_from_outside {
        // Nobody of this machine made a ruling in it, and no session of this machine wrote it.
        handoff.fields.retain(|field| field.key != history::AGENT_SESSION);
        for field in &mut handoff.fields {
            field.value.change_texts(&without_standing);
        }
        handoff.body = without_standing(&handoff.body);
    }
    let time = time_of(handoff.text("generated_at")).or_else(|| time_of(handoff.text("session_date")));
    let (at, is_day) = time.unzip();
    let field = |name: &str| cleaned(handoff.text(name));
    let mut document = Document {
        session: field(history::AGENT_SESSION),
        handoff: field("session_id"),
        agent: field("agent"),
        branch: field("current_branch"),
        started: at,
        ended: at,
        is_day: is_day.unwrap_or_default(),
        is_from_outside,
        ..titled(text::kept_line(&field("primary_goal"), MAX_TITLE), &key)
    };
    let mut add = |content: &str| {
        let passages =
            split(content).into_iter().map(|part| Passage { kind: PassageKind::Handoff, at, text: part.to_owned() });
        document.passages.extend(passages);
    };
    let lists = ["next_todo_items", "known_issues", "completed_tasks", "search_tags"]
        .map(|name| without_nothing(&handoff.texts(name).join("\n")));
    add(&cleaned(&format!("{}\n{}", handoff.text("primary_goal"), lists.join("\n"))));
    let before = handoff.body.find("\n# ").map_or("", |at| &handoff.body[..at]);
    let sections = SECTIONS.iter().map(|heading| (*heading, handoff.section(heading)));
    for (heading, section) in [("", before)].into_iter().chain(sections) {
        let section = cleaned(&without_nothing(section));
        // The resume prompt repeats the rest.
        if !section.is_empty() && heading != SECTIONS[0] {
            add(&format!("{}\n{section}", heading.trim_start_matches("# ")));
        }
    }
    Some(document).filter(|document| !document.passages.is_empty())
}

/// The text by which an archive is found letter by letter, in small letters: all that `history list --query` looks at. `None` if
/// not all of it may be indexed.
pub(super) fn text_of_archive(file: &[u8]) -> Option<String> {
    let content = std::str::from_utf8(file).ok()?;
    let handoff = Handoff::parse(content).ok()?;
    // In the frontmatter quotes are escaped.
    let fields = [handoff.text("primary_goal").to_owned(), handoff.texts("search_tags").join(", ")];
    let next = handoff.texts("next_todo_items").join("\n");
    let text = format!("{}\n{}\n{next}\n{}", fields[0], fields[1], handoff.body);
    (cleaned(&text) == text.trim()).then(|| text.to_lowercase())
}

/// A part of a handoff or note without the lines that say how it was made, or that there is nothing to say.
fn without_nothing(part: &str) -> String {
    let says_nothing = |line: &str| {
        let text = line.trim_start_matches(['-', ' ', '`']);
        ["(nothing ", "(none ", "(made "].iter().any(|sign| text.starts_with(sign))
    };
    part.lines().filter(|line| !says_nothing(line)).collect::<Vec<_>>().join("\n")
}

fn titled(title: String, key: &OwnKey) -> Document {
    Document { title: cleaned(&title), own_key: key.stored(), ..Document::default() }
}

/// A document of one text; `None` if nothing of it may be kept.
fn document(about: Document, kind: PassageKind, at: &str, content: &str) -> Option<Document> {
    let content = cleaned(content);
    let (at, is_day) = time_of(at).unzip();
    let is_day = is_day.unwrap_or_default();
    let passages: Vec<Passage> =
        split(&content).into_iter().map(|part| Passage { kind, at, text: part.to_owned() }).collect();
    (!passages.is_empty()).then_some(Document { started: at, ended: at, is_day, passages, ..about })
}

/// A text as it may be indexed: without what is private, secrets and control characters.
fn cleaned(content: &str) -> String {
    secrets::clean(&text::without_private(&text::without_sequences(content))).trim().to_owned()
}

fn first_line(content: &str) -> &str {
    let is_text = |line: &&str| line.chars().any(char::is_alphanumeric);
    content.lines().find(is_text).unwrap_or_default().trim_start_matches(['#', '-', '*', ' '])
}

/// Seconds since 1970 of a time or a day, and whether it is a day: then they are those of its noon.
fn time_of(stamp: &str) -> Option<(i64, bool)> {
    let of_day =
        || Some((stamp.get(..10)?.parse::<NaiveDate>().ok()?.and_hms_opt(12, 0, 0)?.and_utc().timestamp(), true));
    clock::parse_stamp(stamp).map(|at| (at.timestamp(), false)).or_else(of_day)
}

/// Whether the name of an archive is one of ours.
pub(super) fn is_archive(name: &str) -> bool {
    crate::memory::listing::archive_name(name).is_some()
}

/// The day of a file of layer 1, from its name.
pub(super) fn day_of(path: &Path) -> Option<NaiveDate> {
    crate::memory::compact::split_name(path.file_name()?.to_str()?).map(|(_, day)| day)
}
