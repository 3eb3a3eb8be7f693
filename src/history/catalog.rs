//! The sessions of an archive as a list: in order, by id, and by what they say.
//!
//! INDEX.yaml and LATEST.md only make this quick. An archive that they do not know is read, and one that they know but that is
//! gone does not count, so that the answer is that of the archives alone.

use std::collections::HashSet;
use std::path::PathBuf;

use super::index::{Index, SessionEntry};
use super::{History, inspect};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::handoff::{Handoff, repr};

/// How many ids an ambiguous beginning lists.
const SHOWN: usize = 10;
/// How many archives a processor looks through before somebody asks whether that is enough; then twice as many.
const BLOCK: usize = 16;

/// An archive that was looked for by its id.
pub struct FoundArchive {
    pub path: PathBuf,
    pub text: String,
    pub handoff: Handoff,
}

impl History {
    /// Every session, newest first: by the time it states, and of the same time by the order in which they came.
    pub fn entries(&self) -> Result<Vec<SessionEntry>> {
        let names: Vec<String> =
            fs::names(&self.sessions())?.into_iter().filter(|name| name.ends_with(".md")).collect();
        let mut entries = self.whole_index().sessions;
        let there: HashSet<&str> = names.iter().map(String::as_str).collect();
        let name_of = |entry: &SessionEntry| entry.get("file").strip_prefix("sessions/").unwrap_or_default().to_owned();
        entries.retain(|entry| there.contains(name_of(entry).as_str()));
        if entries.len() < names.len() {
            let lifecycle = self.lifecycle()?;
            let known: HashSet<String> = entries.iter().map(name_of).collect();
            for name in names.iter().filter(|name| !known.contains(*name)) {
                // One that cannot be read is `validate`'s to tell of, and in nobody's way.
                let Ok(handoff) = self.read_archive(&self.sessions().join(name)) else { continue };
                let mut entry = SessionEntry::of(&handoff, &format!("sessions/{name}"));
                if let Some((_, status)) = lifecycle.iter().find(|(id, _)| id == entry.get("session_id")) {
                    entry.set("status", status);
                }
                entries.push(entry);
            }
        }
        let mut sorted: Vec<(_, SessionEntry)> =
            entries.into_iter().enumerate().map(|(place, entry)| ((entry.age(), place), entry)).collect();
        sorted.sort_unstable_by_key(|(age, _)| std::cmp::Reverse(*age));
        Ok(sorted.into_iter().map(|(_, entry)| entry).collect())
    }

    /// What the index says; nothing if it is damaged or not there.
    fn whole_index(&self) -> Index {
        let bytes = fs::read_if_exists(&self.index_path()).ok().flatten().unwrap_or_default();
        Index::parse(&String::from_utf8_lossy(&bytes)).unwrap_or_default()
    }

    /// The newest session, without going through the others where that can be avoided.
    pub fn latest(&self) -> Result<Option<SessionEntry>> {
        match self.latest_of_index() {
            Some(entry) => Ok(Some(entry)),
            None => Ok(self.entries()?.into_iter().next()),
        }
    }

    /// From the head and the end of an index that we wrote ourselves, after the last change of the archives.
    fn latest_of_index(&self) -> Option<SessionEntry> {
        let (start, end) = inspect::ends(&self.index_path()).ok()??;
        let count = inspect::counted(&start)?;
        let is_current = fs::is_at_least_as_new(&self.index_path(), &self.sessions())
            || fs::count_names(&self.sessions(), ".md").is_ok_and(|found| found == count);
        let head = start.find("\nsessions:").map(|at| &start[..at + 1]).filter(|_| is_current)?;
        let entry = inspect::last_entry(&end, &Index::parse(head).ok()?.latest_session)?;
        self.inside(entry.get("file")).ok().filter(|path| path.is_file())?;
        Some(entry)
    }

    /// An archive by id, by a unique beginning of one, or `latest`.
    pub fn find(&self, id: &str) -> Result<FoundArchive> {
        let none_yet = || {
            Error::failed(format!("there is no handoff in {}", self.directory.display()))
                .hint("`agent-handover history create` or `import` makes one")
        };
        match id.trim() {
            "" => Err(Error::usage("an id must not be empty").hint("`latest` is the newest handoff")),
            "latest" => self.read_found(self.latest()?.ok_or_else(none_yet)?.get("file")),
            id => {
                if let Some(found) = self.of_name(&super::file_name(id), |found| found == id) {
                    return Ok(found);
                }
                match self.names_beginning(id)?.as_slice() {
                    [name] => match self.of_name(name, |found| found.starts_with(id)) {
                        Some(found) => Ok(found),
                        None => self.find_in_entries(id),
                    },
                    // A name with a digest is not the id.
                    names if names.len() > 1 && !names.iter().any(|name| name.contains('~')) => {
                        Err(ambiguous(id, &names.iter().map(String::as_str).collect::<Vec<_>>()))
                    }
                    _ => self.find_in_entries(id),
                }
            }
        }
    }

    /// An archive of this name, if it is of the session that is meant.
    fn of_name(&self, name: &str, is_meant: impl Fn(&str) -> bool) -> Option<FoundArchive> {
        let found = self.read_found(&format!("sessions/{name}.md")).ok()?;
        is_meant(found.handoff.text("session_id")).then_some(found)
    }

    /// Files are named after their sessions, as far as an id can name a file.
    fn names_beginning(&self, id: &str) -> Result<Vec<String>> {
        let is_plain = super::file_name(id) == id;
        let names = if is_plain { fs::names_beginning(&self.sessions(), id)? } else { Vec::new() };
        Ok(names.iter().filter_map(|name| name.strip_suffix(".md")).map(str::to_owned).collect())
    }

    fn find_in_entries(&self, id: &str) -> Result<FoundArchive> {
        let entries = self.entries()?;
        let mut found: Vec<&SessionEntry> = entries.iter().filter(|entry| entry.get("session_id") == id).collect();
        if found.is_empty() {
            found = entries.iter().filter(|entry| entry.get("session_id").starts_with(id)).collect();
        }
        match found.as_slice() {
            [entry] => self.read_found(entry.get("file")),
            [] => Err(Error::failed(format!("unknown session id {}", repr(id)))
                .hint("`agent-handover history list` shows all")),
            several => Err(ambiguous(id, &several.iter().map(|entry| entry.get("session_id")).collect::<Vec<_>>())),
        }
    }

    fn read_found(&self, file: &str) -> Result<FoundArchive> {
        let path = self.inside(file)?;
        let text = self.read_archive_text(&path)?;
        let handoff = Handoff::parse(&text).unwrap_or_else(|_| Handoff { fields: Vec::new(), body: text.clone() });
        Ok(FoundArchive { path, text, handoff })
    }

    /// Those of the entries whose goal, next actions, tags or body have this text in them, whatever its case; at most so many.
    pub fn with_text(&self, entries: Vec<SessionEntry>, query: &str, limit: usize) -> Vec<SessionEntry> {
        let needle = query.to_lowercase();
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let mut found = Vec::new();
        let (mut rest, mut size) = (entries.as_slice(), BLOCK);
        while !rest.is_empty() && found.len() < limit {
            let (block, later) = rest.split_at(rest.len().min(size * workers));
            (rest, size) = (later, size * 2);
            let verdicts: Vec<bool> = std::thread::scope(|scope| {
                let parts = block.chunks(block.len().div_ceil(workers).max(1));
                let look =
                    |part: &[SessionEntry]| part.iter().map(|entry| self.has_text(entry, &needle)).collect::<Vec<_>>();
                let threads: Vec<_> = parts.map(|part| scope.spawn(move || look(part))).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
            });
            found.extend(block.iter().zip(verdicts).filter(|(_, verdict)| *verdict).map(|(entry, _)| entry.clone()));
        }
        found.truncate(limit);
        found
    }

    fn has_text(&self, entry: &SessionEntry, needle: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(needle);
        if ["primary_goal", "first_next_action", "search_tags"].iter().any(|key| has(entry.get(key))) {
            return true;
        }
        // The name of each was found in the directory, so it leads nowhere else; a symlink is not followed.
        let Ok(bytes) = fs::read_plain(&self.directory.join(entry.get("file")), super::MAX_ARCHIVE) else {
            return false;
        };
        let Ok(text) = String::from_utf8(bytes) else { return false };
        // Most archives do not have it at all, and need not be understood. In quotes these two are written with a backslash.
        if !needle.contains(['"', '\\']) && !has(&text) {
            return false;
        }
        let Ok(handoff) = Handoff::parse(&text) else { return has(&text) };
        has(&handoff.body) || handoff.texts("next_todo_items").iter().any(|next| has(next))
    }
}

fn ambiguous(id: &str, ids: &[&str]) -> Error {
    let mut shown = ids[..ids.len().min(SHOWN)].join(", ");
    if ids.len() > SHOWN {
        shown.push_str(&format!(", and {} more", ids.len() - SHOWN));
    }
    Error::failed(format!("several sessions begin with {}: {shown}", repr(id)))
}
