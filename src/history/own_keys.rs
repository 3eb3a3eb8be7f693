//! What identifies handoffs and decisions in the user's own record: their content. Archives do not change, so the digest of
//! one holds for as long as it exists.

use std::path::Path;

use super::{History, SessionEntry, decisions, prompt};
use crate::error::Result;
use crate::guard::own_record::{self, OwnKey};
use crate::handoff::Handoff;

/// The key of an archived document.
pub(crate) fn of_document(text: &str, handoff: &Handoff) -> OwnKey {
    OwnKey::of_text("handoff", handoff.text("generated_at"), text.as_bytes())
}

/// The key of a line of DECISIONS.md, `- [date][session] text`.
pub(crate) fn of_decision(line: &str) -> OwnKey {
    OwnKey::of_text("decision", line.strip_prefix("- [").unwrap_or_default(), line.as_bytes())
}

/// The keys of a document and of the decisions that it adds to the log.
fn of_handoff(text: &str, handoff: &Handoff) -> Vec<OwnKey> {
    let decisions = decisions::lines(handoff);
    std::iter::once(of_document(text, handoff)).chain(decisions.iter().map(|line| of_decision(line))).collect()
}

/// Remembers handoffs as this user's own before they are archived. A failure is only logged: the handoffs then count as
/// having come along.
pub(super) fn remember<'a>(handoffs: impl IntoIterator<Item = (&'a str, &'a Handoff)>) {
    let keys = handoffs.into_iter().flat_map(|(text, handoff)| of_handoff(text, handoff));
    if let Err(error) = own_record::remember(keys) {
        tracing::debug!(error = error.one_line(), "not remembered as ours");
    }
}

/// The keys in a file of a history that came from elsewhere, and whether the file is a handoff. `path` is relative to the
/// history directory. Derived files have none: they are derived again.
pub(crate) fn of_file(path: &Path, file: &[u8]) -> (Vec<OwnKey>, bool) {
    let text = String::from_utf8_lossy(file);
    if path == Path::new("DECISIONS.md") {
        return (log_lines(&text).map(of_decision).collect(), false);
    }
    if path.parent() == Some(Path::new("sessions")) && path.extension().is_some_and(|ending| ending == "md") {
        let handoff = Handoff::parse(&text).unwrap_or_default();
        return (of_handoff(&text, &handoff), true);
    }
    (Vec::new(), false)
}

fn log_lines(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| line.starts_with("- [") || line.contains("[standing]"))
}

impl History {
    /// The keys of every archive and decision, and the number of archives. An archive that cannot be read is left out.
    pub(crate) fn own_keys(&self) -> Result<(Vec<OwnKey>, usize)> {
        let held = self.holding_archives();
        let names = self.archive_names()?.names;
        let (mut keys, mut count) = (Vec::new(), 0);
        for name in names {
            let Ok(text) = held.read_archive_text(&self.sessions().join(name)) else { continue };
            keys.extend(of_handoff(&text, &Handoff::parse(&text).unwrap_or_default()));
            count += 1;
        }
        keys.extend(log_lines(&self.decisions_log()?).map(of_decision));
        Ok((keys, count))
    }

    /// The key of the archive of an entry; `None` if it cannot be read or the entry says something else than the archive.
    pub(crate) fn key_of(&self, entry: &SessionEntry) -> Option<OwnKey> {
        self.handoff_of(entry).map(|(key, _)| key)
    }

    /// The handoff of an entry with its key; `None` if it does not say what the entry says.
    pub(crate) fn handoff_of(&self, entry: &SessionEntry) -> Option<(OwnKey, Handoff)> {
        let text = self.read_archive_text(&self.inside(entry.get("file")).ok()?).ok()?;
        let handoff = Handoff::parse(&text).ok()?;
        let archived = SessionEntry::of(&handoff, "");
        let is_same = |key: &str| archived.get(key) == entry.get(key);
        let is_it = ["session_id", "primary_goal", "first_next_action"].into_iter().all(is_same);
        is_it.then(|| (of_document(&text, &handoff), handoff))
    }

    /// The key of LATEST.md, if RESUME_PROMPT.txt is what we derive from it and from these standing decisions.
    pub(crate) fn key_of_prompt(&self, standing: &[String]) -> Option<OwnKey> {
        let text = self.read_archive_text(&self.latest_path()).ok()?;
        let handoff = Handoff::parse(&text).ok()?;
        let derived = prompt::render(&handoff, &self.status_of(&handoff).ok()?, standing);
        let written = self.read_own(&self.prompt_path()).ok()??;
        (written == derived.as_bytes()).then(|| of_document(&text, &handoff))
    }
}
