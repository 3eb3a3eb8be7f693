//! The archived sessions as a list: in order, and by id.
//!
//! The archives alone decide; INDEX.yaml only makes this fast. An archive that is missing from the index is read, and an entry
//! whose archive is missing does not count.

use std::collections::HashSet;
use std::path::PathBuf;

use super::index::{Index, SessionEntry};
use super::store::{ArchiveNames, file_name};
use super::{History, index_ends, own_keys};
use crate::base::clock;
use crate::base::fs::FileError;
use crate::error::{Error, Result};
use crate::guard::own_record::OwnKey;
use crate::handoff::{Handoff, repr};

/// How many ids the error about an ambiguous prefix lists.
const SHOWN: usize = 10;

/// An archive that was found by its id.
pub(crate) struct FoundArchive {
    pub path: PathBuf,
    pub text: String,
    pub handoff: Handoff,
}

impl FoundArchive {
    /// An archive that cannot be parsed has no fields.
    fn of(path: PathBuf, text: String) -> FoundArchive {
        let handoff = Handoff::parse(&text).unwrap_or_else(|_| Handoff { fields: Vec::new(), body: text.clone() });
        FoundArchive { path, text, handoff }
    }

    /// What identifies it in the user's own record.
    pub(crate) fn key(&self) -> OwnKey {
        own_keys::of_document(&self.text, &self.handoff).in_file(&self.path)
    }
}

/// Why no archive was found by an id.
pub(crate) enum NotFound {
    /// Several ids begin or end with it.
    Ambiguous(Error),
    Other(Error),
}

impl<E: Into<Error>> From<E> for NotFound {
    fn from(error: E) -> NotFound {
        NotFound::Other(error.into())
    }
}

impl NotFound {
    pub(crate) fn into_error(self) -> Error {
        match self {
            NotFound::Ambiguous(error) | NotFound::Other(error) => error,
        }
    }
}

/// Every session of a history.
pub(crate) struct Catalog {
    /// Newest first: sorted by time, then by arrival.
    pub entries: Vec<SessionEntry>,
    /// Errors about links and special files in the place of the index or of an archive.
    pub refused: Vec<Error>,
    /// Errors about archives that cannot be read and are not in the index.
    pub damaged: Vec<Error>,
}

impl History {
    /// Every session, newest first.
    pub(crate) fn entries(&self) -> Result<Vec<SessionEntry>> {
        Ok(self.catalog()?.entries)
    }

    /// Every session that can be read, and what cannot be read because of what it is.
    pub(crate) fn catalog(&self) -> Result<Catalog> {
        let ArchiveNames { names, mut refused } = self.archive_names()?;
        let (mut entries, mut damaged) = (self.whole_index(&mut refused).sessions, Vec::new());
        let there: HashSet<&str> = names.iter().map(String::as_str).collect();
        let name_of = |entry: &SessionEntry| entry.get("file").strip_prefix("sessions/").unwrap_or_default().to_owned();
        entries.retain(|entry| there.contains(name_of(entry).as_str()));
        if entries.len() < names.len() {
            let (lifecycle, history) = (self.lifecycle()?, self.holding_archives());
            let known: HashSet<String> = entries.iter().map(name_of).collect();
            for name in names.iter().filter(|name| !known.contains(*name)) {
                // `validate` reports an archive that cannot be read. It does not hold up the others.
                match history.read_archive(&self.sessions().join(name)) {
                    Err(error) => damaged.push(error),
                    Ok(handoff) => {
                        entries.push(SessionEntry::of(&handoff, &format!("sessions/{name}")).with_status_of(&lifecycle))
                    }
                }
            }
        }
        let mut sorted: Vec<(_, SessionEntry)> =
            entries.into_iter().enumerate().map(|(place, entry)| ((entry.age(), place), entry)).collect();
        sorted.sort_unstable_by_key(|(age, _)| std::cmp::Reverse(*age));
        let entries = sorted.into_iter().map(|(_, entry)| entry).collect();
        Ok(Catalog { entries, refused: refused.into_iter().map(Error::from).collect(), damaged })
    }

    /// The whole index; an empty one if it is damaged or missing.
    fn whole_index(&self, refused: &mut Vec<FileError>) -> Index {
        let bytes = self.read_own(&self.index_path()).unwrap_or_else(|error| {
            refused.extend(Some(error).filter(FileError::is_refusal));
            None
        });
        let bytes = bytes.unwrap_or_default();
        Index::parse(&String::from_utf8_lossy(&bytes)).unwrap_or_default()
    }

    /// The newest session. Reads all of them only if the index does not help.
    pub(crate) fn latest(&self) -> Result<Option<SessionEntry>> {
        match self.latest_of_index() {
            Some(entry) => Ok(Some(entry)),
            None => {
                let now = clock::now();
                // The first of several that are equally new, because the list begins with the newest.
                Ok(self.entries()?.into_iter().rev().max_by_key(|entry| entry.recency(&now)))
            }
        }
    }

    /// The newest session from the ends of an index that we wrote ourselves, after the last change of the archives.
    fn latest_of_index(&self) -> Option<SessionEntry> {
        let (start, end) = index_ends::read(self).ok()??;
        let count = index_ends::session_count(&start)?;
        let changed = |path: PathBuf| self.anchor.about(&path).ok().flatten().map(|about| about.modified);
        let (index, archives) = (changed(self.index_path())?, changed(self.sessions())?);
        let is_current =
            index >= archives || self.anchor.count_names(&self.sessions(), ".md").is_ok_and(|found| found == count);
        let head = start.find("\nsessions:").map(|at| &start[..at + 1]).filter(|_| is_current)?;
        let entry = index_ends::find_entry(&end, &Index::parse(head).ok()?.latest_session)?;
        self.inside(entry.get("file")).ok().filter(|path| self.anchor.is_regular(path))?;
        // The machine that wrote the index may have had a wrong clock.
        Some(entry).filter(|entry| entry.recency(&clock::now()).0)
    }

    /// The archive with this id, or the only one whose id begins with it, or else ends with it; `latest` is the newest.
    pub(crate) fn find(&self, id: &str) -> Result<FoundArchive> {
        self.look_up(id).map_err(NotFound::into_error)
    }

    /// Like [`History::find`], for a caller that knows other ids, too.
    pub(crate) fn look_up(&self, id: &str) -> Result<FoundArchive, NotFound> {
        let none_yet = || {
            Error::failed(format!("there is no handoff in {}", self.directory.display()))
                .hint("`agent-handover history create` or `import` makes one")
        };
        match id.trim() {
            "" => Err(Error::usage("an id must not be empty").hint("`latest` is the newest handoff").into()),
            "latest" => Ok(self.read_found(self.latest()?.ok_or_else(none_yet)?.get("file"))?),
            id => {
                if let Some(found) = self.read_if_meant(&file_name(id), |found| found == id)? {
                    return Ok(found);
                }
                match self.names_beginning(id)?.as_slice() {
                    [name] => match self.read_if_meant(name, |found| found.starts_with(id))? {
                        Some(found) => Ok(found),
                        None => self.find_in_entries(id),
                    },
                    // A file name with a digest is not the id of its session.
                    names if names.len() > 1 && !names.iter().any(|name| name.contains('~')) => {
                        let names: Vec<&str> = names.iter().map(String::as_str).collect();
                        Err(NotFound::Ambiguous(ambiguous(id, &names)))
                    }
                    _ => self.find_in_entries(id),
                }
            }
        }
    }

    /// The archive with this file name, if it belongs to the session that is meant.
    /// An error if a link or a special file has the name.
    fn read_if_meant(&self, name: &str, is_meant: impl Fn(&str) -> bool) -> Result<Option<FoundArchive>> {
        let path = self.sessions().join(format!("{name}.md"));
        match self.read_archive_text(&path) {
            Ok(text) => {
                Ok(Some(FoundArchive::of(path, text)).filter(|found| is_meant(found.handoff.text("session_id"))))
            }
            Err(error) if error.is_refusal() => Err(error.into()),
            Err(_) => Ok(None),
        }
    }

    /// The archives whose file names begin with this id. None if the id cannot be a file name.
    fn names_beginning(&self, id: &str) -> Result<Vec<String>> {
        let is_plain = file_name(id) == id;
        let names = if is_plain { self.anchor.names_beginning(&self.sessions(), id)? } else { Vec::new() };
        Ok(names.iter().filter_map(|name| name.strip_suffix(".md")).map(str::to_owned).collect())
    }

    /// The file names of all archives, without their ending, sorted.
    pub(crate) fn archive_stems(&self) -> Vec<String> {
        let files = self.anchor.names_beginning(&self.sessions(), "").unwrap_or_default();
        let mut stems: Vec<String> =
            files.iter().filter_map(|name| name.strip_suffix(".md")).map(str::to_owned).collect();
        // Sorted with its ending, a name may come behind a longer one.
        stems.sort();
        stems
    }

    /// The file name of the archive with this id, without its ending.
    pub(crate) fn archive_stem(id: &str) -> String {
        file_name(id)
    }

    fn find_in_entries(&self, id: &str) -> Result<FoundArchive, NotFound> {
        let entries = self.entries()?;
        let mut found: Vec<&SessionEntry> = entries.iter().filter(|entry| entry.get("session_id") == id).collect();
        if found.is_empty() {
            found = entries.iter().filter(|entry| entry.get("session_id").starts_with(id)).collect();
        }
        if found.is_empty() {
            found = entries.iter().filter(|entry| entry.get("session_id").ends_with(id)).collect();
        }
        match found.as_slice() {
            [entry] => Ok(self.read_found(entry.get("file"))?),
            [] => Err(Error::failed(format!("unknown session id {}", repr(id)))
                .hint("`agent-handover history list` shows all")
                .into()),
            several => {
                let ids: Vec<&str> = several.iter().map(|entry| entry.get("session_id")).collect();
                Err(NotFound::Ambiguous(ambiguous(id, &ids)))
            }
        }
    }

    /// The archive of an entry, as it is.
    pub(crate) fn archive_of(&self, entry: &SessionEntry) -> Result<FoundArchive> {
        self.read_found(entry.get("file"))
    }

    fn read_found(&self, file: &str) -> Result<FoundArchive> {
        let path = self.inside(file)?;
        let text = self.read_archive_text(&path)?;
        Ok(FoundArchive::of(path, text))
    }
}

/// The error for the beginning or the end of several ids.
pub(crate) fn ambiguous(id: &str, ids: &[&str]) -> Error {
    let mut shown = ids[..ids.len().min(SHOWN)].join(", ");
    if ids.len() > SHOWN {
        shown.push_str(&format!(", and {} more", ids.len() - SHOWN));
    }
    let part = if ids.iter().all(|other| other.starts_with(id)) { "begin" } else { "end" };
    Error::failed(format!("several sessions {part} with {}: {shown}", repr(id)))
        .hint("write more of the one that you mean")
}
