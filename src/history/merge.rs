//! What other machines archived, taken into the archive here. Archives come by id; all that is derived is derived again.

use std::path::Path;

use super::{CLOSED, History, Order, decisions, write_lifecycle};
use crate::base::fs::{self, Depth};
use crate::base::text;
use crate::base::three_way::{self, Choice, Theirs, choose};
use crate::error::Result;
use crate::guard::Brake;
use crate::handoff::{Handoff, Value};

/// Made of the archives, on each machine for itself.
pub const DERIVED: [&str; 3] = ["LATEST.md", "INDEX.yaml", "RESUME_PROMPT.txt"];

impl History {
    /// Takes in what they changed. The answer is what a person should know: two truths for one id, both kept.
    pub fn absorb(&self, theirs: &[Theirs], brake: &Brake) -> Result<Vec<String>> {
        if theirs.is_empty() {
            return Ok(Vec::new());
        }
        self.refuse_symlink(&self.sessions())?;
        fs::create_directories(&self.sessions())?;
        let _alone = fs::lock_directory(&self.directory)?;
        fs::sweep_temporaries(&self.directory, Depth::Tree)?;
        let mut told = Vec::new();
        let mut from_nothing = false;
        for theirs in theirs {
            if let Some(stop) = brake.pressed() {
                return Err(stop.error());
            }
            let name = theirs.path.to_str().unwrap_or_default();
            match name {
                name if DERIVED.contains(&name) => {}
                "DECISIONS.md" => self.absorb_decisions(theirs)?,
                "LIFECYCLE.yaml" => from_nothing |= self.absorb_lifecycle(theirs)?,
                _ if theirs.path.parent() == Some(Path::new("sessions")) && name.ends_with(".md") => {
                    // An archive that is gone or another one now is not noticed by who only adds.
                    from_nothing |= self.directory.join(&theirs.path).exists();
                    told.extend(self.absorb_session(theirs)?);
                }
                _ => told.extend(three_way::take_over(&self.directory, theirs)?),
            }
        }
        if from_nothing && self.index_path().exists() {
            fs::remove_file(&self.index_path())?;
        }
        self.bring_up_to_date(Order::ByTime)?;
        Ok(told)
    }

    fn absorb_session(&self, theirs: &Theirs) -> Result<Option<String>> {
        let path = self.directory.join(&theirs.path);
        self.refuse_symlink(&path)?;
        let ours = fs::read_if_exists(&path)?;
        match choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()) {
            Choice::Ours => Ok(None),
            Choice::Theirs => three_way::put(&path, theirs.now.as_deref()).map(|()| None),
            Choice::Merge => match (ours, &theirs.now) {
                (Some(ours), Some(now)) => {
                    // The one that others have already keeps the id.
                    let (kept, id) = under_another_id(&ours);
                    three_way::put(&self.sessions().join(format!("{}.md", super::file_name(&id))), Some(&kept))?;
                    three_way::put(&path, Some(now))?;
                    let shown = theirs.path.display();
                    Ok(Some(format!("`{shown}` has two contents, from two machines; both are kept, ours as {id}")))
                }
                (None, Some(now)) => three_way::put(&path, Some(now)).map(|()| None),
                (_, None) => Ok(None),
            },
        }
    }

    /// What only they have is added, line by line and in its order; the log is append-only.
    fn absorb_decisions(&self, theirs: &Theirs) -> Result<()> {
        let (path, now) = (self.decisions_path(), theirs.now.as_deref().unwrap_or_default());
        let ours = fs::read_if_exists(&path)?.unwrap_or_default();
        let (ours, now) = (String::from_utf8_lossy(&ours).into_owned(), String::from_utf8_lossy(now).into_owned());
        let base = String::from_utf8_lossy(theirs.base.as_deref().unwrap_or_default()).into_owned();
        if ours == base && !now.is_empty() {
            return three_way::put(&path, Some(now.as_bytes()));
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
            // Nothing but the log itself: in the order of its dates every machine comes to the same.
            let (head, mut lines): (Vec<&str>, Vec<&str>) = log.lines().partition(|line| !line.starts_with("- ["));
            lines.extend(new);
            lines.sort_unstable();
            let text = format!("{}\n\n{}\n", head.join("\n").trim_end(), lines.join("\n"));
            return three_way::put(&path, Some(text.as_bytes()));
        }
        for line in new {
            log.push_str(line);
            log.push('\n');
        }
        three_way::put(&path, Some(log.as_bytes()))
    }

    /// Whether a status changed.
    fn absorb_lifecycle(&self, theirs: &Theirs) -> Result<bool> {
        let ours = self.lifecycle()?;
        let read = |bytes: Option<&[u8]>| super::read_lifecycle(bytes.unwrap_or_default());
        let (base, now) = (read(theirs.base.as_deref()), read(theirs.now.as_deref()));
        let mut merged = ours.clone();
        for (id, status) in &now {
            let of = |list: &[(String, String)]| list.iter().find(|(other, _)| other == id).map(|(_, s)| s.clone());
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
            merged.retain(|(other, _)| other != id);
            merged.push((id.clone(), chosen));
        }
        merged.sort();
        let mut before = ours;
        before.sort();
        if merged == before {
            return Ok(false);
        }
        three_way::put(&self.lifecycle_path(), Some(write_lifecycle(&merged).as_bytes()))?;
        Ok(true)
    }
}

/// The same document under an id that nobody else gives, and that is the same whoever gives it.
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
