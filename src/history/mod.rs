//! The `.agent-history/` protocol, shared with Session Glue: immutable archives, and what is derived from them.
//!
//! Writers take the directory's lock. The archive comes first; LATEST.md, INDEX.yaml, RESUME_PROMPT.txt and DECISIONS.md
//! follow, each replaced whole. What a killed writer left missing or stale, the next one makes from the archives.
//! LIFECYCLE.yaml is ours: a status is no part of an archive, and an index may have to be made anew. The one archive that may be
//! replaced is one that came from outside, by an import that was told to.

mod body;
mod catalog;
mod decisions;
mod import;
mod index;
mod inspect;
mod merge;
pub mod origin;
mod prompt;
pub mod registry;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset};

pub use body::{NOTHING, Sections, body};
pub use catalog::FoundArchive;
pub use import::{Landing, OnConflict};
pub use index::SessionEntry;
pub use inspect::{HistoryStatus, OpenHandoff, drift, is_over};
pub use merge::DERIVED;
pub use origin::Origin;

use crate::base::fs::{self, Created, Depth};
use crate::base::text;
use crate::error::{Category, Error, Result};
use crate::handoff::{Handoff, Value, Wrong, one_line, repr};
use index::Index;

pub const DIRECTORY: &str = ".agent-history";
/// A handoff is read whole by whoever comes next.
const MAX_ARCHIVE: u64 = 4 << 20;
pub const CLOSED: [&str; 3] = ["DONE", "BLOCKED", "ABANDONED"];

pub struct History {
    pub directory: PathBuf,
}

/// What `create` made.
#[derive(Debug)]
pub struct Written {
    pub id: String,
    pub archive: PathBuf,
    /// It was there already, word for word.
    pub before: bool,
}

/// What to do when an id is taken by another text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfTaken {
    Refuse,
    /// Archive it under a new id that supersedes the old one.
    Supersede,
}

/// How an index lists its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    AsTheyCame,
    /// The same on every machine that has the same archives.
    ByTime,
}

/// A text that came from outside, read as a handoff.
pub fn parse(text: &str) -> Result<Handoff> {
    Handoff::parse(text)
        .map_err(|wrong| Error::bad_data(format!("invalid handoff: line {}: {}", wrong.line, wrong.message)))
}

/// All problems of a handoff as one error.
pub fn refuse(wrong: &[Wrong]) -> Error {
    let mut error = Error::new(Category::NotGood, "handoff failed validation:");
    for wrong in wrong {
        error = error.follow(&format!("\n  - line {}: {}", wrong.line, wrong.message));
    }
    error
}

impl History {
    pub fn at(directory: PathBuf) -> History {
        History { directory }
    }

    pub fn exists(&self) -> bool {
        self.directory.is_dir()
    }

    fn sessions(&self) -> PathBuf {
        self.directory.join("sessions")
    }

    pub fn latest_path(&self) -> PathBuf {
        self.directory.join("LATEST.md")
    }

    pub fn prompt_path(&self) -> PathBuf {
        self.directory.join("RESUME_PROMPT.txt")
    }

    pub fn index_path(&self) -> PathBuf {
        self.directory.join("INDEX.yaml")
    }

    fn decisions_path(&self) -> PathBuf {
        self.directory.join("DECISIONS.md")
    }

    fn lifecycle_path(&self) -> PathBuf {
        self.directory.join("LIFECYCLE.yaml")
    }

    /// Archives a handoff that was checked, and brings everything derived up to date.
    pub fn create(&self, handoff: &Handoff, if_taken: IfTaken) -> Result<Written> {
        let _alone = self.prepare_to_write()?;
        let written = self.archive(handoff, if_taken)?;
        if written.before || !self.add(&written)? {
            self.bring_up_to_date(Order::AsTheyCame)?;
        }
        Ok(written)
    }

    /// Who has got this is alone in writing, to directories that are there and no symlinks, in which nobody left anything behind.
    fn prepare_to_write(&self) -> Result<fs::DirectoryLock> {
        for path in [
            self.sessions(),
            self.latest_path(),
            self.index_path(),
            self.prompt_path(),
            self.decisions_path(),
            self.lifecycle_path(),
        ] {
            self.refuse_symlink(&path)?;
        }
        if !self.sessions().is_dir() {
            fs::create_directories(&self.sessions())?;
        }
        let alone = fs::lock_directory(&self.directory)?;
        fs::sweep_temporaries(&self.directory, Depth::Directory)?;
        fs::sweep_temporaries(&self.sessions(), Depth::Directory)?;
        Ok(alone)
    }

    fn archive_path(&self, id: &str) -> PathBuf {
        self.sessions().join(format!("{}.md", file_name(id)))
    }

    fn refuse_symlink(&self, path: &Path) -> Result<()> {
        let base = self.directory.parent().unwrap_or(&self.directory);
        fs::refuse_symlinks(base, path).map_err(|error| error.lead("refusing to write through a symlink: "))
    }

    fn archive(&self, handoff: &Handoff, if_taken: IfTaken) -> Result<Written> {
        let mut handoff = handoff.clone();
        // Who vouches for a handoff is found out by an import, and not for a document to say.
        origin::remove(&mut handoff);
        for number in 2.. {
            let id = handoff.text("session_id").to_owned();
            let path = self.archive_path(&id);
            self.refuse_symlink(&path)?;
            let content = handoff.render();
            if fs::create_new(&path, content.as_bytes())? == Created::Now {
                return Ok(Written { id, archive: path, before: false });
            }
            let shown = path.display();
            let bytes = fs::read(&path)?;
            if bytes == content.as_bytes() {
                return Ok(Written { id, archive: path, before: true });
            }
            let existing = std::str::from_utf8(&bytes).ok().and_then(|text| Handoff::parse(text).ok());
            let existing_id = existing.map(|existing| existing.text("session_id").to_owned());
            match (existing_id.as_deref(), if_taken) {
                (None, _) => return Err(Error::failed(format!("refusing to overwrite an unreadable archive at {shown}"))
                    .hint("look at that file; give the new handoff another session_id")),
                (Some(""), _) => return Err(Error::failed(format!("refusing to overwrite an archive with no session_id at {shown}"))),
                (Some(other), _) if other != id => return Err(Error::failed(format!(
                    "archive name collision at {shown}: it already holds session {}, but session {} slugifies to the same file",
                    repr(other), repr(&id)
                )).hint("rename one session_id so the archives do not collide")),
                (Some(_), IfTaken::Refuse) => return Err(Error::failed(format!(
                    "session {} is archived already with another content at {shown}", repr(&id)
                )).hint("archives do not change: `--supersede` makes a new one that supersedes it")),
                (Some(_), IfTaken::Supersede) => {
                    let first = handoff.get("supersedes").is_none() || number == 2;
                    if first {
                        handoff.set("supersedes", Value::Text(id.clone()));
                    }
                    let stem = id.strip_suffix(&format!("-{}", number - 1)).unwrap_or(&id).to_owned();
                    handoff.set("session_id", Value::Text(format!("{stem}-{number}")));
                    if !first {
                        handoff.set("supersedes", Value::Text(id));
                    }
                }
            }
        }
        Err(Error::bug("there is no end to the ids"))
    }

    fn read_archive_text(&self, path: &Path) -> Result<String> {
        let bytes = fs::read_at_most(fs::open(path)?, MAX_ARCHIVE).map_err(|cause| Error::io("read", path, cause))?;
        String::from_utf8(bytes).map_err(|_| Error::bad_data(format!("`{}` is not UTF-8 text", path.display())))
    }

    /// An archive by its path.
    fn read_archive(&self, path: &Path) -> Result<Handoff> {
        let text = self.read_archive_text(path)?;
        parse(&text).map_err(|error| error.lead(&format!("`{}`: ", path.display())))
    }

    /// Adds one new archive to an index that was whole before, without going through the others. `false` if it was not.
    fn add(&self, written: &Written) -> Result<bool> {
        let Some(text) = fs::read_if_exists(&self.index_path())?.and_then(|bytes| String::from_utf8(bytes).ok()) else {
            return Ok(false);
        };
        let before = fs::count_names(&self.sessions(), ".md")?.saturating_sub(1);
        let Some(name) = written.archive.file_name().and_then(|name| name.to_str()) else { return Ok(false) };
        let handoff = self.read_archive(&written.archive)?;
        let entry = SessionEntry::of(&handoff, &format!("sessions/{name}"));
        let Ok(latest) = self.read_archive(&self.latest_path()) else { return Ok(false) };
        let is_newest = SessionEntry::of(&latest, "").age() <= entry.age();
        let Some(text) = Index::append(&text, before, &entry, is_newest.then_some(&handoff)) else { return Ok(false) };
        let log = fs::read_if_exists(&self.decisions_path())?.unwrap_or_default();
        let log = decisions::append(&String::from_utf8_lossy(&log), &decisions::lines(&handoff));
        self.write_if_changed(&self.decisions_path(), &log)?;
        // The index last: until it knows the archive, the next writer goes through everything.
        if is_newest {
            fs::replace(&self.latest_path(), &fs::read(&written.archive)?)?;
            let prompt = prompt::render(&handoff, entry.get("status"), &decisions::standing(&log));
            self.write_if_changed(&self.prompt_path(), &prompt)?;
        }
        fs::replace(&self.index_path(), text.as_bytes())?;
        Ok(true)
    }

    /// Makes what is derived from the archives what it should be; writes only what differs. The caller holds the lock.
    fn bring_up_to_date(&self, order: Order) -> Result<()> {
        let old_text = fs::read_if_exists(&self.index_path())?.unwrap_or_default();
        let old = std::str::from_utf8(&old_text).ok().and_then(|text| Index::parse(text).ok());
        let mut lifecycle = self.lifecycle()?;
        let mut index = old.unwrap_or_default();
        // What another tool has closed since is kept where an index that is made anew finds it.
        for entry in &index.sessions {
            if CLOSED.contains(&entry.get("status")) {
                lifecycle.retain(|(id, _)| id != entry.get("session_id"));
                lifecycle.push((entry.get("session_id").to_owned(), entry.get("status").to_owned()));
            }
        }
        let names: Vec<String> =
            fs::names(&self.sessions())?.into_iter().filter(|name| name.ends_with(".md")).collect();
        // An entry without an archive, or with one elsewhere, speaks of nothing.
        let there: HashSet<String> = names.iter().map(|name| format!("sessions/{name}")).collect();
        index.sessions.retain(|entry| there.contains(entry.get("file")));
        let mut decided = Vec::new();
        let all = |key: &str| index.sessions.iter().map(|entry| entry.get(key).to_owned()).collect();
        let (known, mut ids): (HashSet<String>, HashSet<String>) = (all("file"), all("session_id"));
        for name in names {
            let file = format!("sessions/{name}");
            if known.contains(&file) {
                continue;
            }
            // One that cannot be read is `validate`'s to tell of, and in nobody's way.
            let Ok(handoff) = self.read_archive(&self.directory.join(&file)) else { continue };
            let mut entry = SessionEntry::of(&handoff, &file);
            if let Some((_, status)) = lifecycle.iter().find(|(id, _)| id == entry.get("session_id")) {
                entry.set("status", status);
            }
            if !ids.insert(entry.get("session_id").to_owned()) {
                index.sessions.retain(|other| other.get("session_id") != entry.get("session_id"));
            }
            index.sessions.push(entry);
            decided.extend(decisions::lines(&handoff));
        }
        if order == Order::ByTime {
            index.sessions.sort_by(|a, b| (a.age(), a.get("session_id")).cmp(&(b.age(), b.get("session_id"))));
        }
        self.write_if_changed(&self.lifecycle_path(), &write_lifecycle(&lifecycle))?;
        let log = fs::read_if_exists(&self.decisions_path())?.unwrap_or_default();
        let log = decisions::append(&String::from_utf8_lossy(&log), &decided);
        if !log.is_empty() {
            self.write_if_changed(&self.decisions_path(), &log)?;
        }
        let Some(latest) = index.newest().cloned() else { return Ok(()) };
        let archive = self.directory.join(latest.get("file"));
        let bytes = fs::read(&archive)?;
        let handoff = self.read_archive(&archive)?;
        index.head(&handoff, &latest);
        self.write_if_changed(&self.index_path(), &index.render())?;
        if fs::read_if_exists(&self.latest_path())?.as_deref() != Some(bytes.as_slice()) {
            fs::replace(&self.latest_path(), &bytes)?;
        }
        let prompt = prompt::render(&handoff, latest.get("status"), &decisions::standing(&log));
        self.write_if_changed(&self.prompt_path(), &prompt)
    }

    fn write_if_changed(&self, path: &Path, content: &str) -> Result<()> {
        if content.is_empty() || fs::read_if_exists(path)?.as_deref() == Some(content.as_bytes()) {
            return Ok(());
        }
        fs::replace(path, content.as_bytes())
    }

    /// Which sessions were closed, and how.
    fn lifecycle(&self) -> Result<Vec<(String, String)>> {
        Ok(read_lifecycle(&fs::read_if_exists(&self.lifecycle_path())?.unwrap_or_default()))
    }

    /// Closes a session, the latest if none is named. Says which.
    pub fn close(&self, id: Option<&str>, status: &str) -> Result<String> {
        let shown = self.index_path().display().to_string();
        if !self.index_path().exists() && !self.sessions().is_dir() {
            return Err(Error::failed(format!("no INDEX.yaml to update at {shown}"))
                .hint("`agent-handover history create` makes one"));
        }
        self.refuse_symlink(&self.index_path())?;
        let _alone = fs::lock_directory(&self.directory)?;
        fs::sweep_temporaries(&self.directory, Depth::Directory)?;
        self.bring_up_to_date(Order::AsTheyCame)?;
        let index = self.index()?;
        let id = match id {
            Some(id) => id.to_owned(),
            None if index.latest_session.is_empty() => {
                return Err(Error::failed("no --session given and INDEX.yaml has no latest_session to default to"));
            }
            None => index.latest_session.clone(),
        };
        if !index.sessions.iter().any(|entry| entry.get("session_id") == id) {
            return Err(Error::failed(format!("unknown session id {}: not found in INDEX.yaml sessions[]", repr(&id)))
                .hint("`agent-handover history status` shows the latest one"));
        }
        let mut lifecycle = self.lifecycle()?;
        lifecycle.retain(|(other, _)| *other != id);
        lifecycle.push((id.clone(), status.to_owned()));
        fs::replace(&self.lifecycle_path(), write_lifecycle(&lifecycle).as_bytes())?;
        let mut index = index;
        for entry in index.sessions.iter_mut().filter(|entry| entry.get("session_id") == id) {
            entry.set("status", status);
        }
        fs::replace(&self.index_path(), index.render().as_bytes())?;
        self.bring_up_to_date(Order::AsTheyCame)?;
        Ok(id)
    }

    /// How a session stands now, which its archive need not say.
    pub fn status_of(&self, handoff: &Handoff) -> Result<String> {
        let id = handoff.text("session_id");
        if let Some((_, status)) = self.lifecycle()?.into_iter().find(|(closed, _)| closed == id) {
            return Ok(status);
        }
        let latest = self.latest()?.filter(|entry| entry.get("session_id") == id);
        Ok(latest.map_or_else(|| handoff.text("status").to_owned(), |entry| entry.get("status").to_owned()))
    }

    /// The index as it is on disk.
    pub fn index(&self) -> Result<Index> {
        let path = self.index_path();
        let bytes = fs::read_if_exists(&path)?.ok_or_else(|| {
            Error::failed(format!("no INDEX.yaml at {}", path.display()))
                .hint("`agent-handover history create` makes one")
        })?;
        let text = String::from_utf8_lossy(&bytes);
        Index::parse(&text).map_err(|wrong| {
            Error::bad_data(format!(
                "cannot read INDEX.yaml at {}: line {}: {}",
                path.display(),
                wrong.line,
                wrong.message
            ))
            .hint("the next `agent-handover history create` or `close` makes it anew from the archives")
        })
    }

    /// A path from the index, which must be one of ours.
    fn inside(&self, file: &str) -> Result<PathBuf> {
        let path = fs::tidy(Path::new(file)).filter(|path| path.is_relative()).map(|path| self.directory.join(path));
        path.filter(|path| fs::refuse_symlinks(&self.directory, path).is_ok())
            .ok_or_else(|| Error::failed(format!("{} is outside {}", repr(file), self.directory.display())))
    }
}

fn read_lifecycle(bytes: &[u8]) -> Vec<(String, String)> {
    let fields = std::str::from_utf8(bytes).ok().and_then(|text| crate::handoff::read_subset_first(text).ok());
    let list = fields.into_iter().flatten().find(|field| field.key == "sessions").map(|field| field.value);
    let entries = list.as_ref().and_then(Value::list).unwrap_or_default().iter();
    entries
        .filter_map(|entry| {
            Some((entry.get("session_id")?.text()?.to_owned(), entry.get("status")?.text()?.to_owned()))
        })
        .collect()
}

fn write_lifecycle(lifecycle: &[(String, String)]) -> String {
    if lifecycle.is_empty() {
        return String::new();
    }
    let pair = |key: &str, value: &str| (key.to_owned(), Value::from(value));
    let entries = lifecycle.iter().map(|(id, status)| Value::Map(vec![pair("session_id", id), pair("status", status)]));
    crate::handoff::write_fields([("sessions", &Value::List(entries.collect()))])
}

/// As Session Glue names a file where that is safe and collides with nothing; else with a digest.
fn file_name(id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if id.len() <= 100
        && id.chars().all(plain)
        && !id.starts_with(['-', '.'])
        && !id.ends_with(['-', '.'])
        && !id.is_empty()
    {
        return id.to_owned();
    }
    text::safe_file_name(id)
}

/// The instant a handoff says it was made, if that can be read.
pub fn time_of(text: &str) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(text).ok().or_else(|| {
        let date = chrono::NaiveDate::parse_from_str(text.get(..10)?, "%Y-%m-%d").ok()?;
        Some(date.and_hms_opt(0, 0, 0)?.and_utc().fixed_offset())
    })
}

/// What a machine knows of a session, for the fields that nobody filled in.
pub struct Machine {
    pub now: DateTime<FixedOffset>,
    pub root: String,
    pub branch: String,
    pub commit: String,
    pub agent: String,
}

/// Fills in what is missing and can be known; what cannot is `unknown`.
pub fn fill_in(handoff: &mut Handoff, machine: &Machine) {
    let known = |value: &str| Value::Text(if value.is_empty() { "unknown".to_owned() } else { value.to_owned() });
    let id = new_id(&machine.now, handoff.text("primary_goal"));
    let values = [
        ("session_id", Value::Text(id)),
        ("session_date", Value::Text(machine.now.format("%Y-%m-%d").to_string())),
        ("generated_at", Value::Text(machine.now.to_utc().format("%Y-%m-%dT%H:%M:%SZ").to_string())),
        ("schema_version", Value::from("1")),
        ("project_root", known(&machine.root)),
        ("repo_root", known(&machine.root)),
        ("current_branch", known(&machine.branch)),
        ("head_commit", known(&machine.commit)),
        ("agent", known(&machine.agent)),
    ];
    for (key, value) in values {
        let is_missing = match handoff.get(key) {
            None => true,
            Some(Value::Text(text)) => text.trim().is_empty(),
            Some(Value::List(items)) => items.is_empty(),
            Some(Value::Map(_)) => false,
        };
        if is_missing {
            handoff.set(key, value);
        }
    }
}

/// `YYYY-MM-DD-HHMM-short-slug`, the convention.
pub fn new_id(now: &DateTime<FixedOffset>, goal: &str) -> String {
    let words: Vec<String> = one_line(goal)
        .to_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(5)
        .map(str::to_owned)
        .collect();
    let slug = if words.is_empty() { "session".to_owned() } else { words.join("-") };
    format!("{}-{}", now.format("%Y-%m-%d-%H%M"), text::cut(&slug, 60).trim_end_matches('-'))
}
