//! Archives one handoff.

use std::path::{Path, PathBuf};

use super::derived::Order;
use super::index::{Index, SessionEntry};
use super::{History, decisions, digests, origin, own_keys, prompt};
use crate::base::clock;
use crate::base::fs::Created;
use crate::error::{Error, Result};
use crate::handoff::{Handoff, Value, repr};

/// An archived handoff.
#[derive(Debug)]
pub(crate) struct Written {
    pub id: String,
    pub archive: PathBuf,
    /// The same handoff was archived before, byte for byte.
    pub before: bool,
}

/// What to do if the id belongs to another handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfTaken {
    Refuse,
    /// Archive it under a new id that supersedes the old one. If the file of the id holds something else, the new id
    /// supersedes nothing.
    Supersede,
    /// Archive it under a new id that supersedes nothing: the program made the id, so it means no other session.
    Rename,
    /// Like `Rename`, even if the other handoff is the same: two sessions may say the same.
    RenameAlways,
}

impl History {
    /// Archives a handoff that was checked, and brings the derived files up to date.
    pub(crate) fn create(&self, handoff: &Handoff, if_taken: IfTaken) -> Result<Written> {
        let (_lock, before) = self.lock_and_count()?;
        let written = self.archive(handoff, if_taken)?;
        if written.before || !self.append_to_derived(&written, before)? {
            self.bring_up_to_date(Order::OfArrival)?;
        }
        Ok(written)
    }

    /// Refuses a handoff that [`History::create`] would refuse because its id belongs to another one. Writes nothing.
    pub(crate) fn refuse_taken(&self, handoff: &Handoff) -> Result<()> {
        let mut handoff = handoff.clone();
        origin::remove(&mut handoff);
        let id = handoff.text("session_id").to_owned();
        let path = self.archive_path(&id);
        self.refuse_symlink(&path)?;
        match self.read_own(&path)? {
            Some(existing) if existing != handoff.render().as_bytes() => {
                refuse_collision(&path, &existing, &id)?;
                Err(taken(&id, &path))
            }
            _ => Ok(()),
        }
    }

    /// Refuses an id whose archive belongs to another session, also under the name that Session Glue would give it.
    pub(crate) fn refuse_shared_name(&self, id: &str) -> Result<()> {
        for path in [self.archive_path(id), self.archive_path(&session_glue_name(id))] {
            if let Some(existing) = self.read_own(&path)? {
                refuse_collision(&path, &existing, id)?;
            }
        }
        Ok(())
    }

    /// This id, or the first one with a number after it that no archive has. Reserves nothing.
    pub(crate) fn free_id(&self, id: &str) -> Result<String> {
        let mut free = id.to_owned();
        for number in 2.. {
            if self.anchor.about(&self.archive_path(&free))?.is_none() {
                break;
            }
            free = numbered(id, number);
        }
        Ok(free)
    }

    fn archive(&self, handoff: &Handoff, if_taken: IfTaken) -> Result<Written> {
        let mut handoff = handoff.clone();
        // Only an import may state an origin, after it has checked the signature.
        origin::remove(&mut handoff);
        let first = handoff.text("session_id").to_owned();
        for number in 2.. {
            let id = handoff.text("session_id").to_owned();
            let path = self.archive_path(&id);
            self.refuse_symlink(&path)?;
            let content = handoff.render();
            // A name that another document has is not remembered: that document is not ours.
            if self.read_own(&path)?.is_none_or(|existing| existing == content.as_bytes()) {
                self.remember_handoffs([(content.as_str(), &handoff)]);
            }
            if self.anchor.create_new(&path, content.as_bytes())? == Created::Now {
                return Ok(Written { id, archive: path, before: false });
            }
            let existing = self.anchor.read(&path)?;
            if existing == content.as_bytes() && if_taken != IfTaken::RenameAlways {
                return Ok(Written { id, archive: path, before: true });
            }
            match (refuse_collision(&path, &existing, &id), if_taken) {
                (Err(error), IfTaken::Refuse) => return Err(error),
                (Ok(()), IfTaken::Refuse) => return Err(taken(&id, &path)),
                (Ok(()), IfTaken::Supersede) => handoff.set("supersedes", Value::Text(id)),
                // The file holds something else, which the new handoff does not supersede.
                (Err(_), IfTaken::Supersede) | (_, IfTaken::Rename | IfTaken::RenameAlways) => {}
            }
            handoff.set("session_id", Value::Text(numbered(&first, number)));
        }
        Err(Error::bug("no free id was found"))
    }

    /// Adds one new archive to derived files that were complete before, without reading the other archives. `before` is the
    /// number of the others.
    ///
    /// Returns `false`, and changes nothing, if they were not complete.
    fn append_to_derived(&self, written: &Written, before: usize) -> Result<bool> {
        let Some(text) = self.read_own(&self.index_path())?.and_then(|bytes| String::from_utf8(bytes).ok()) else {
            return Ok(false);
        };
        let Some(name) = written.archive.file_name().and_then(|name| name.to_str()) else { return Ok(false) };
        let mut digests = self.digests()?;
        if digests.is_cut() || digests.count() < before {
            return Ok(false);
        }
        let handoff = self.read_archive(&written.archive)?;
        let entry = SessionEntry::of(&handoff, &format!("sessions/{name}"));
        let Ok(latest) = self.read_archive(&self.latest_path()) else { return Ok(false) };
        let now = clock::now();
        let is_newest = SessionEntry::of(&latest, "").recency(&now) <= entry.recency(&now);
        let Some(text) = Index::append(&text, before, &entry, is_newest.then_some(&handoff)) else { return Ok(false) };
        let archived = self.anchor.read(&written.archive)?;
        digests.set([(name, digests::of(&archived))]);
        self.write_if_changed(&self.digests_path(), &digests.render())?;
        let log = decisions::append(&self.decisions_log()?, &decisions::lines(&handoff));
        self.write_if_changed(&self.decisions_path(), &log)?;
        let standing = self.standing_for_prompt(&log, self.lifecycle()?)?;
        let prompt = if is_newest {
            self.anchor.replace(&self.latest_path(), &archived)?;
            prompt::render(&handoff, entry.get("status"), &standing)
        } else {
            // The rulings of an older session bind the next one, too.
            let text = self.read_archive_text(&self.latest_path())?;
            let key = own_keys::of_document(&text, &latest).in_file(&self.latest_path());
            prompt::render(&latest, &self.status_of(&key, &latest)?, &standing)
        };
        self.write_if_changed(&self.prompt_path(), &prompt)?;
        // The index comes last: as long as it does not have the archive, the next writer rebuilds everything.
        self.anchor.replace(&self.index_path(), text.as_bytes())?;
        Ok(true)
    }
}

/// The name that Session Glue gives to the archive of a session. Several ids can have the same.
fn session_glue_name(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    // Each run of other characters becomes one hyphen.
    let mut is_in_run = false;
    let mut name = String::new();
    for c in id.chars() {
        if is_plain(c) {
            name.push(c);
        } else if !is_in_run {
            name.push('-');
        }
        is_in_run = !is_plain(c);
    }
    let name = name.trim_matches(['-', '.', ' ']);
    if name.is_empty() { "session".to_owned() } else { name.to_owned() }
}

fn taken(id: &str, path: &Path) -> Error {
    let message = format!("session {} is already archived with other content at {}", repr(id), path.display());
    Error::failed(message).hint("archives do not change: `--supersede` makes a new one that supersedes it")
}

/// Refuses an archive that cannot be read as a handoff of this session.
fn refuse_collision(path: &Path, existing: &[u8], id: &str) -> Result<()> {
    let shown = path.display();
    let existing = std::str::from_utf8(existing).ok().and_then(|text| Handoff::parse(text).ok());
    match existing.as_ref().map(|existing| existing.text("session_id")) {
        None => Err(Error::failed(format!("refusing to overwrite an unreadable archive at {shown}"))
            .hint("look at that file; give the new handoff another session_id")),
        Some("") => Err(Error::failed(format!("refusing to overwrite an archive with no session_id at {shown}"))),
        Some(other) if other != id => Err(Error::failed(format!(
            "archive name collision at {shown}: it already holds session {}, but session {} slugifies to the same file",
            repr(other),
            repr(id)
        ))
        .hint("rename one session_id so the archives do not collide")),
        Some(_) => Ok(()),
    }
}

/// The id of another session with the same name.
fn numbered(id: &str, number: u32) -> String {
    format!("{id}-{number}")
}
