//! Merges what other machines archived. Archives are merged by id; derived files are derived again.

use std::path::Path;

use super::derived::Order;
use super::lifecycle::Lifecycle;
use super::store::file_name;
use super::{CLOSED, History, decisions, digests, own_keys};
use crate::base::fs::Depth;
use crate::base::text;
use crate::base::three_way::{self, Choice, Theirs, choose};
use crate::config::TALK;
use crate::error::Result;
use crate::guard::Brake;
use crate::handoff::{Handoff, Value};

/// The files that each machine derives from the archives.
pub(crate) const DERIVED: [&str; 3] = ["LATEST.md", "INDEX.yaml", "RESUME_PROMPT.txt"];

impl History {
    /// Merges the files that other machines changed into the files here.
    ///
    /// Returns messages about conflicts; both sides of each are kept.
    pub(crate) fn absorb(&self, theirs: &[Theirs], brake: &Brake) -> Result<Vec<String>> {
        if theirs.is_empty() {
            return Ok(Vec::new());
        }
        self.anchor.create_directories(&self.sessions())?;
        let _lock = self.anchor.lock_directory_after_work(&self.directory)?;
        self.anchor.sweep_temporaries(&self.directory, Depth::Tree)?;
        let mut conflicts = Vec::new();
        let mut needs_rebuild = false;
        let mut sums = None;
        for theirs in theirs {
            if let Some(stop) = brake.pressed() {
                return Err(stop.error());
            }
            let name = theirs.path.to_str().unwrap_or_default();
            match name {
                name if DERIVED.contains(&name) => {}
                "DECISIONS.md" => self.absorb_decisions(theirs)?,
                // Whose digests hold depends on the archives.
                digests::FILE => sums = Some(theirs),
                "LIFECYCLE.yaml" => needs_rebuild |= self.absorb_lifecycle(theirs)?,
                _ if theirs.path.parent() == Some(Path::new("sessions")) && name.ends_with(".md") => {
                    // An update of the index only adds entries: it does not notice an archive that was removed or replaced.
                    needs_rebuild |= self.anchor.about(&self.directory.join(&theirs.path))?.is_some();
                    conflicts.extend(self.absorb_session(theirs)?);
                }
                _ if theirs.path.parent() == Some(Path::new(TALK)) => self.absorb_talk(theirs)?,
                _ => conflicts.extend(three_way::take_over(&self.anchor, &self.directory, theirs)?),
            }
        }
        if let Some(theirs) = sums {
            self.absorb_digests(theirs)?;
        }
        if needs_rebuild && self.anchor.about(&self.index_path())?.is_some() {
            self.anchor.remove_file(&self.index_path())?;
        }
        self.bring_up_to_date(Order::OfTime)?;
        Ok(conflicts)
    }

    /// Takes kept talk over. If two machines kept the same session, the longer file has more of it.
    fn absorb_talk(&self, theirs: &Theirs) -> Result<()> {
        let path = self.directory.join(&theirs.path);
        let ours = self.anchor.read_if_exists(&path)?;
        let is_longer = || theirs.now.as_ref().map(Vec::len) > ours.as_ref().map(Vec::len);
        match choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()) {
            Choice::Ours => Ok(()),
            Choice::Merge if !is_longer() => Ok(()),
            Choice::Theirs | Choice::Merge => three_way::put(&self.anchor, &path, theirs.now.as_deref()),
        }
    }

    fn absorb_session(&self, theirs: &Theirs) -> Result<Option<String>> {
        let path = self.directory.join(&theirs.path);
        self.refuse_symlink(&path)?;
        let ours = self.anchor.read_if_exists(&path)?;
        match choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()) {
            Choice::Ours => Ok(None),
            Choice::Theirs => three_way::put(&self.anchor, &path, theirs.now.as_deref()).map(|()| None),
            Choice::Merge => match (ours, &theirs.now) {
                (Some(ours), Some(now)) => {
                    // The version that others already have keeps the id.
                    let (kept, id) = under_another_id(&ours);
                    three_way::put(&self.anchor, &self.sessions().join(format!("{}.md", file_name(&id))), Some(&kept))?;
                    if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
                        own_keys::remember_taken_name(name, &String::from_utf8_lossy(now));
                    }
                    three_way::put(&self.anchor, &path, Some(now))?;
                    let shown = theirs.path.display();
                    Ok(Some(format!(
                        "`{shown}` differs between two machines; both versions are kept, the one from here as {id}"
                    )))
                }
                (None, Some(now)) => three_way::put(&self.anchor, &path, Some(now)).map(|()| None),
                (_, None) => Ok(None),
            },
        }
    }

    /// Adds the lines that only the others have, in their order. The log is append-only.
    fn absorb_decisions(&self, theirs: &Theirs) -> Result<()> {
        let (path, now) = (self.decisions_path(), theirs.now.as_deref().unwrap_or_default());
        let ours = self.read_own(&path)?.unwrap_or_default();
        let (ours, now) = (String::from_utf8_lossy(&ours).into_owned(), String::from_utf8_lossy(now).into_owned());
        let base = String::from_utf8_lossy(theirs.base.as_deref().unwrap_or_default()).into_owned();
        if ours == base && !now.is_empty() {
            return three_way::put(&self.anchor, &path, Some(now.as_bytes()));
        }
        let known: std::collections::HashSet<&str> = ours.lines().chain(base.lines()).collect();
        let new: Vec<&str> = now.lines().filter(|line| !line.trim().is_empty() && !known.contains(line)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mut log = if ours.is_empty() { decisions::append("", &[]) } else { ours };
        if !log.is_empty() && !log.ends_with('\n') {
            log.push('\n');
        }
        let is_plain = |text: &str| {
            text.lines().all(|line| line.is_empty() || line.starts_with("- [") || !line.starts_with([' ', '-']))
        };
        if is_plain(&log) && new.iter().all(|line| line.starts_with("- [")) {
            // Sorted by date, the log is the same on every machine. Only a log without text by hand is sorted.
            let (head, mut lines): (Vec<&str>, Vec<&str>) = log.lines().partition(|line| !line.starts_with("- ["));
            lines.extend(new);
            lines.sort_unstable();
            let text = format!("{}\n\n{}\n", head.join("\n").trim_end(), lines.join("\n"));
            return three_way::put(&self.anchor, &path, Some(text.as_bytes()));
        }
        for line in new {
            log.push_str(line);
            log.push('\n');
        }
        three_way::put(&self.anchor, &path, Some(log.as_bytes()))
    }

    /// Merges the lifecycle: what either side revoked is revoked, and what either side accepted is accepted. Returns whether a status changed.
    fn absorb_lifecycle(&self, theirs: &Theirs) -> Result<bool> {
        let ours = self.lifecycle()?;
        let read = |bytes: Option<&[u8]>| Lifecycle::parse(bytes.unwrap_or_default());
        let (base, now) = (read(theirs.base.as_deref()), read(theirs.now.as_deref()));
        let mut merged = ours.clone();
        merged.revoked.extend(now.revoked.iter().cloned());
        merged.accepted.extend(now.accepted.iter().cloned());
        for (id, status) in &now.sessions {
            let of = |list: &Lifecycle| list.status(id).map(str::to_owned);
            let (our_status, base_status) = (of(&ours), of(&base));
            let rank = |status: &str| CLOSED.iter().position(|closed| *closed == status);
            let chosen = match our_status {
                Some(our_status)
                    if Some(&our_status) != base_status.as_ref() && base_status.as_ref() == Some(status) =>
                {
                    our_status
                }
                Some(our_status) if our_status != *status && Some(&our_status) != base_status.as_ref() => {
                    if rank(&our_status) <= rank(status) { our_status } else { status.clone() }
                }
                _ => status.clone(),
            };
            merged.set(id, &chosen);
        }
        merged.sessions.sort();
        let mut before = ours;
        before.sessions.sort();
        if merged == before {
            return Ok(false);
        }
        three_way::put(&self.anchor, &self.lifecycle_path(), Some(merged.render().as_bytes()))?;
        Ok(merged.sessions != before.sessions)
    }
}

/// The document under another id, which is the same on every machine that merges it.
fn under_another_id(document: &[u8]) -> (Vec<u8>, String) {
    let digest = text::digest(document, 4);
    let parsed = std::str::from_utf8(document).ok().and_then(|text| Handoff::parse(text).ok());
    match parsed {
        Some(mut handoff) => {
            let id = format!("{}-{digest}", handoff.text("session_id"));
            handoff.set("session_id", Value::Text(id.clone()));
            (handoff.render().into_bytes(), id)
        }
        None => (document.to_vec(), format!("unreadable-{digest}")),
    }
}
