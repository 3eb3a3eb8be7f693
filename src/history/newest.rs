//! The newest sessions that are asked for, without reading the others.
//!
//! | what grows with the archive | how it is kept small |
//! |---|---|
//! | the entries of INDEX.yaml | with a limit or a text, only their times are read; an entry is parsed when it is its turn |
//! | the archives that a text is looked for in | after the first few, only those that may have it, if an index of words knows |

use std::collections::HashSet;

use memchr::memmem;

use super::History;
use super::catalog::Catalog;
use super::index::{Index, SessionEntry, time_of};
use super::index_ends;
use crate::error::{Error, Result};
use crate::handoff::{Handoff, unquote_ours};

/// How many archives each processor searches before the limit is checked. The number doubles each time.
const BLOCK: usize = 16;

/// What is asked for.
pub(crate) struct Wanted<'a> {
    pub limit: usize,
    pub matches: &'a dyn Fn(&SessionEntry) -> bool,
    /// A text that the goal, next actions, tags or body must have, in any case.
    pub text: Option<&'a str>,
    /// The names of the archives that may have the text, if that is known without reading them.
    pub may_have_text: &'a dyn Fn() -> Option<HashSet<String>>,
}

/// A session of which no more is known than its archive, or that is read already.
enum Listed<'a> {
    Sketch { file: String, text: &'a str },
    Entry(SessionEntry),
}

impl Listed<'_> {
    fn name(&self) -> &str {
        let file = match self {
            Listed::Sketch { file, .. } => file,
            Listed::Entry(entry) => entry.get("file"),
        };
        file.strip_prefix("sessions/").unwrap_or(file)
    }

    /// `None` if we did not write the entry.
    fn entry(self) -> Option<SessionEntry> {
        match self {
            Listed::Sketch { text, .. } => SessionEntry::as_we_write(text),
            Listed::Entry(entry) => Some(entry),
        }
    }
}

impl History {
    /// The sessions that are asked for, newest first.
    pub(crate) fn newest(&self, wanted: &Wanted<'_>) -> Result<Catalog> {
        if (wanted.limit < usize::MAX || wanted.text.is_some())
            && let Some(text) = self.current_index()
            && let Some(sketches) = sketches(&text)
            && let Some(entries) = self.pick(sketches, wanted)
            && entries
                .iter()
                .all(|entry| self.inside(entry.get("file")).is_ok_and(|path| self.anchor.is_regular(&path)))
        {
            return Ok(Catalog { entries, refused: Vec::new(), damaged: Vec::new() });
        }
        self.matching(wanted)
    }

    /// The same, with what could not be read. Looks at every archive.
    pub(crate) fn matching(&self, wanted: &Wanted<'_>) -> Result<Catalog> {
        let Catalog { entries, refused, damaged } = self.catalog()?;
        let listed = entries.into_iter().map(Listed::Entry).collect();
        let entries = self.pick(listed, wanted).ok_or_else(|| Error::failed("INDEX.yaml cannot be read"))?;
        Ok(Catalog { entries, refused, damaged })
    }

    /// The text of INDEX.yaml if we wrote it last, after the last change of the archives.
    fn current_index(&self) -> Option<String> {
        let changed = |path| self.anchor.about(path).ok().flatten().map(|about| about.modified);
        if changed(&self.index_path())? < changed(&self.sessions())? {
            return None;
        }
        String::from_utf8(self.read_own(&self.index_path()).ok()??).ok()
    }

    /// The first of these sessions that are wanted. `None` if a sketch is not of an entry that we wrote.
    fn pick(&self, listed: Vec<Listed<'_>>, wanted: &Wanted<'_>) -> Option<Vec<SessionEntry>> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let needle = wanted.text.map(str::to_lowercase);
        let history = self.holding_archives();
        let mut size = if needle.is_some() { BLOCK * workers } else { wanted.limit };
        let mut listed = listed.into_iter().peekable();
        let mut found = Vec::new();
        let mut only: Option<HashSet<String>> = None;
        while found.len() < wanted.limit && listed.peek().is_some() {
            let mut block = Vec::new();
            while block.len() < size
                && let Some(next) = listed.next()
            {
                if only.as_ref().is_some_and(|only| !only.contains(next.name())) {
                    continue;
                }
                block.extend(Some(next.entry()?).filter(|entry| (wanted.matches)(entry)));
            }
            if let Some(needle) = &needle {
                block = history.with_text(block, needle, workers);
                only = only.or_else(wanted.may_have_text);
                size = size.saturating_mul(2);
            }
            found.extend(block);
        }
        found.truncate(wanted.limit);
        Some(found)
    }

    /// Those of these entries that contain a text, which is given in small letters.
    fn with_text(&self, entries: Vec<SessionEntry>, needle: &str, workers: usize) -> Vec<SessionEntry> {
        let verdicts: Vec<bool> = std::thread::scope(|scope| {
            let parts = entries.chunks(entries.len().div_ceil(workers).max(1));
            let look = move |part: &[SessionEntry]| -> Vec<bool> {
                part.iter().map(|entry| self.has_text(entry, needle)).collect()
            };
            let threads: Vec<_> = parts.map(|part| scope.spawn(move || look(part))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        });
        entries.into_iter().zip(verdicts).filter(|(_, verdict)| *verdict).map(|(entry, _)| entry).collect()
    }

    fn has_text(&self, entry: &SessionEntry, needle: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(needle);
        if ["primary_goal", "first_next_action", "search_tags"].iter().any(|key| has(entry.get(key))) {
            return true;
        }
        let Ok(text) = self.read_archive_text(&self.directory.join(entry.get("file"))) else { return false };
        // Most archives do not contain the text and need no parsing. A quote or backslash is escaped in a field.
        if !needle.contains(['"', '\\']) && !has(&text) {
            return false;
        }
        let Ok(handoff) = Handoff::parse(&text) else { return has(&text) };
        has(&handoff.body) || handoff.texts("next_todo_items").iter().any(|next| has(next))
    }
}

/// The sessions of an index that we wrote, newest first. `None` if it has lines that we do not write.
fn sketches(text: &str) -> Option<Vec<Listed<'_>>> {
    let count = index_ends::session_count(text)?;
    let (head, rest) = text.split_once("\nsessions:\n")?;
    Index::parse(head).ok()?;
    let ends = memmem::find_iter(rest.as_bytes(), "\n  - ").map(|at| at + 1).chain([rest.len()]);
    let (file, time) = (memmem::Finder::new("\n    file: "), memmem::Finder::new("\n    generated_at: "));
    let mut sessions = Vec::with_capacity(count);
    let mut start = 0;
    for (place, end) in ends.enumerate() {
        let text = &rest[start..end];
        start = end;
        let value = |key: &memmem::Finder<'_>| {
            let at = key.find(text.as_bytes())? + key.needle().len();
            unquote_ours(text[at..].split('\n').next()?)
        };
        let age = match value(&time).as_deref().and_then(time_of) {
            Some(time) => (true, time.timestamp_millis()),
            None => SessionEntry::as_we_write(text)?.age(),
        };
        sessions.push(((age, place), Listed::Sketch { file: value(&file)?.into_owned(), text }));
    }
    if sessions.len() != count {
        return None;
    }
    sessions.sort_unstable_by_key(|(age, _)| std::cmp::Reverse(*age));
    Some(sessions.into_iter().map(|(_, session)| session).collect())
}
