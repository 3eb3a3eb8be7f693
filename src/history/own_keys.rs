//! What identifies handoffs, decisions, ends of sessions and revocations in the user's own record: their content. Archives do
//! not change, so the digest of one holds for as long as it exists.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::claims::own_status;
use super::index::Index;
use super::lifecycle::{Lifecycle, is_closed};
use super::store::file_name;
use super::{History, Origin, SessionEntry, decisions, prompt};
use crate::base::fs;
use crate::config::TALK;
use crate::error::Result;
use crate::guard::Voucher;
use crate::guard::own_record::{self, OwnKey};
use crate::handoff::Handoff;

/// What a key of kept talk begins with.
const TALK_SORT: &str = "talk";

/// The key of an archived document.
pub(crate) fn of_document(text: &str, handoff: &Handoff) -> OwnKey {
    OwnKey::of_text("handoff", handoff.text("generated_at"), text.as_bytes())
}

/// Like [`of_document`], for an archive whose digest is known already.
pub(super) fn of_digest(digest: &str, handoff: &Handoff) -> OwnKey {
    OwnKey::of_digest("handoff", handoff.text("generated_at"), digest)
}

/// The key of a document that may not be one.
pub(super) fn of_text(text: &str) -> OwnKey {
    of_document(text, &Handoff::parse(text).unwrap_or_default())
}

/// The key of the statement that a merge put this document of somebody else into the place of ours, which has another name
/// since.
pub(super) fn of_taken_name(name: &str, document: &OwnKey) -> OwnKey {
    OwnKey::of_text("taken-name", name, format!("{name}\n{}", document.line()).as_bytes())
}

/// Remembers that a merge put a document into the place of ours, before it does.
pub(super) fn remember_taken_name(name: &str, text: &str) {
    remember_keys([of_taken_name(name, &of_text(text))]);
}

/// The key of the file name of an archive in any directory. It finds our own among those of others; whether it is ours, its
/// document says.
fn of_name(name: &str) -> OwnKey {
    // Most names begin with a date.
    OwnKey::of_text("archive", name, name.as_bytes())
}

/// The key of the file name of an archive in this directory. Sessions of two projects may have the same name.
pub(crate) fn of_name_in(directory: &Path, name: &str) -> OwnKey {
    let real = fs::resolve(directory).unwrap_or_else(|_| directory.to_path_buf());
    of_name_in_real(&real, name)
}

/// Like [`of_name_in`], for the path of a directory without links.
fn of_name_in_real(real: &Path, name: &str) -> OwnKey {
    let place = [real.as_os_str().as_bytes(), b"\n", name.as_bytes()].concat();
    OwnKey::of_text("archive-in", name, &place)
}

/// The key of a file name as it was recorded at first: without the directory, for both purposes.
fn of_name_without_directory(name: &str) -> OwnKey {
    OwnKey::of_text("session", name, name.as_bytes())
}

/// Whether this user may have written the archive with this file name. Whether it is ours, its document says.
pub(crate) fn may_be_ours(name: &str, voucher: &Voucher) -> bool {
    voucher.has(&of_name(name)) || voucher.has(&of_name_without_directory(name))
}

/// Whether this user archived a document under this file name in the directory of the voucher.
pub(super) fn is_written_here(name: &str, voucher: &Voucher) -> bool {
    voucher.wrote(&of_name_in_real(voucher.real_directory(), name)) || voucher.wrote(&of_name_without_directory(name))
}

/// The key of a line of DECISIONS.md, `- [date][session] text`.
pub(crate) fn of_decision(line: &str) -> OwnKey {
    OwnKey::of_text("decision", line.strip_prefix("- [").unwrap_or_default(), line.as_bytes())
}

/// The key of the statement that a session has this status, whatever its document is.
pub(super) fn of_end(id: &str, status: &str) -> OwnKey {
    // Most ids begin with a date.
    OwnKey::of_text("end", id, format!("{id}\n{status}").as_bytes())
}

/// The key of the statement that this user ended the session of this document with this status.
pub(super) fn of_own_end(handoff: &Handoff, document: &OwnKey, status: &str) -> OwnKey {
    let statement = format!("{}\n{status}", document.line());
    OwnKey::of_text("own-end", handoff.text("generated_at"), statement.as_bytes())
}

/// The key of the statement that this user verified the signature of this document with this key.
pub(super) fn of_signature(handoff: &Handoff, document: &OwnKey, key: &str) -> OwnKey {
    let statement = format!("{}\n{key}", document.line());
    OwnKey::of_text("signature", handoff.text("generated_at"), statement.as_bytes())
}

/// The key of a file of kept talk.
pub(crate) fn of_talk(file: &[u8]) -> OwnKey {
    OwnKey::of_text(TALK_SORT, "", file)
}

/// Whether it is the key of a file of kept talk.
pub(crate) fn is_of_talk(key: &OwnKey) -> bool {
    key.line().split(' ').next() == Some(TALK_SORT)
}

/// The key of the revocation of a line of DECISIONS.md.
pub(super) fn of_revocation(line: &str) -> OwnKey {
    OwnKey::of_text("revocation", line.strip_prefix("- [").unwrap_or_default(), line.as_bytes())
}

/// The keys of what a LIFECYCLE.yaml states.
fn of_lifecycle(lifecycle: &Lifecycle) -> impl Iterator<Item = OwnKey> {
    let ended = lifecycle.sessions.iter().filter(|(_, status)| is_closed(status));
    let ends = ended.map(|(id, status)| of_end(id, status));
    ends.chain(lifecycle.revoked.iter().map(|line| of_revocation(line)))
}

/// The keys of a document, of the decisions that it adds to the log, of its status if it ends its session, and of its name.
fn of_handoff(text: &str, handoff: &Handoff) -> Vec<OwnKey> {
    let (id, status) = (handoff.text("session_id"), handoff.text("status"));
    let mut keys = vec![of_document(text, handoff)];
    keys.extend(decisions::lines(handoff).iter().map(|line| of_decision(line)));
    keys.extend(is_closed(status).then(|| of_end(id, status)));
    keys.push(of_name(&format!("{}.md", file_name(id))));
    keys
}

/// Remembers that the signatures that these handoffs state were verified. Only who verified them may call this: a step that is
/// read from a file has no proof of it. An error means that the signatures are shown as claims.
pub(crate) fn remember_signatures(handoffs: &[Handoff]) -> Result<()> {
    let key = |handoff: &Handoff| {
        let origin = Origin::of(handoff).filter(Origin::is_signed)?;
        Some(of_signature(handoff, &of_document(&handoff.render(), handoff), &origin.key))
    };
    own_record::remember(handoffs.iter().filter_map(key))
}

/// Remembers that this user ended a session, before it is written. `text` is its document.
pub(super) fn remember_end(id: &str, status: &str, text: Option<&str>) {
    let own_end = text.and_then(|text| {
        let handoff = Handoff::parse(text).ok()?;
        Some(of_own_end(&handoff, &of_document(text, &handoff), status))
    });
    remember_keys(std::iter::once(of_end(id, status)).chain(own_end));
}

/// Remembers that this user accepted these lines of DECISIONS.md, before it is written.
pub(super) fn remember_lines(lines: &[String]) {
    remember_keys(lines.iter().map(|line| of_decision(line)));
}

/// Remembers that this user revoked these lines, before it is written.
pub(super) fn remember_revocations(lines: &[String]) {
    remember_keys(lines.iter().map(|line| of_revocation(line)));
}

fn remember_keys(keys: impl IntoIterator<Item = OwnKey>) {
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
    if path == Path::new("LIFECYCLE.yaml") {
        return (of_lifecycle(&Lifecycle::parse(file)).collect(), false);
    }
    if path.parent() == Some(Path::new("sessions")) && path.extension().is_some_and(|ending| ending == "md") {
        let handoff = Handoff::parse(&text).unwrap_or_default();
        let mut keys = of_handoff(&text, &handoff);
        keys.extend(path.file_name().and_then(OsStr::to_str).map(of_name));
        return (keys, true);
    }
    if path.parent() == Some(Path::new(TALK)) {
        return (vec![of_talk(file)], false);
    }
    (Vec::new(), false)
}

fn log_lines(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| line.starts_with("- [") || line.contains("[standing]"))
}

impl History {
    /// Remembers handoffs as this user's own before they are archived. A failure is only logged: the handoffs then count as
    /// having come along.
    pub(super) fn remember_handoffs<'a, T: AsRef<str>>(&self, handoffs: impl IntoIterator<Item = (T, &'a Handoff)>) {
        let mut keys = if self.is_written_by_user() { Vec::new() } else { self.names_from_elsewhere() };
        for (text, handoff) in handoffs {
            keys.extend(of_handoff(text.as_ref(), handoff));
            keys.push(of_name_in(&self.directory, &format!("{}.md", file_name(handoff.text("session_id")))));
        }
        remember_keys(keys);
    }

    /// The keys of the names of our archives in a directory that was moved or copied here.
    fn names_from_elsewhere(&self) -> Vec<OwnKey> {
        let (voucher, held) = (self.voucher(), self.holding_archives());
        let names = self.archive_names().map(|archives| archives.names).unwrap_or_default();
        let is_ours = |name: &String| {
            let text = || held.read_archive_text(&self.sessions().join(name));
            may_be_ours(name, &voucher)
                && !is_written_here(name, &voucher)
                && text().is_ok_and(|text| voucher.wrote(&of_text(&text)))
        };
        names.iter().filter(|name| is_ours(name)).map(|name| of_name_in(&self.directory, name)).collect()
    }

    /// The keys of every archive, decision, end and revocation, and the number of archives. A file that cannot be read is
    /// left out.
    pub(crate) fn own_keys(&self) -> Result<(Vec<OwnKey>, usize)> {
        let held = self.holding_archives();
        let names = self.archive_names()?.names;
        let (mut keys, mut statuses) = (Vec::new(), HashMap::new());
        let voucher = self.voucher();
        for name in names {
            let Ok(text) = held.read_archive_text(&self.sessions().join(&name)) else { continue };
            let handoff = Handoff::parse(&text).unwrap_or_default();
            let status = own_status(&handoff, &of_document(&text, &handoff), &voucher).to_owned();
            statuses.insert(format!("sessions/{name}"), status);
            keys.extend(of_handoff(&text, &handoff));
            // Other tools may name the file by something else than the session.
            keys.push(of_name(&name));
        }
        keys.extend(log_lines(&self.decisions_log()?).map(of_decision));
        keys.extend(of_lifecycle(&self.lifecycle().unwrap_or_default()));
        let index = self.read_own(&self.index_path()).ok().flatten().unwrap_or_default();
        let index = Index::parse(&String::from_utf8_lossy(&index)).unwrap_or_default();
        // A status that nobody disputes needs no key. With one, it would count again after this user has ended the session.
        let is_disputed =
            |entry: &&SessionEntry| statuses.get(entry.get("file")).is_none_or(|own| own != entry.get("status"));
        let disputed = index.sessions.iter().filter(is_disputed);
        keys.extend(disputed.map(|entry| of_end(entry.get("session_id"), entry.get("status"))));
        Ok((keys, statuses.len()))
    }

    /// Whether the place of the archive of an entry makes it ours, if it says nothing else: see [`Voucher::owns`]. Reads no file.
    pub(crate) fn vouches_for_place(&self, entry: &SessionEntry, voucher: &Voucher) -> bool {
        let path = self.inside(entry.get("file"));
        path.is_ok_and(|path| voucher.owns(&of_name("").in_file(&path), ""))
    }

    /// The key of the archive of an entry; `None` if it cannot be read or the entry says something else than the archive.
    pub(crate) fn key_of(&self, entry: &SessionEntry) -> Option<OwnKey> {
        self.handoff_of(entry).map(|(key, _)| key)
    }

    /// The handoff of an entry with its key; `None` if it does not say what the entry says.
    pub(crate) fn handoff_of(&self, entry: &SessionEntry) -> Option<(OwnKey, Handoff)> {
        let path = self.inside(entry.get("file")).ok()?;
        let text = self.read_archive_text(&path).ok()?;
        let handoff = Handoff::parse(&text).ok()?;
        entry.agrees_with(&handoff).then(|| (of_document(&text, &handoff).in_file(&path), handoff))
    }

    /// The key of LATEST.md, if RESUME_PROMPT.txt is what we derive from it and from these standing decisions.
    pub(crate) fn key_of_prompt(&self, standing: &[String]) -> Option<OwnKey> {
        let text = self.read_archive_text(&self.latest_path()).ok()?;
        let handoff = Handoff::parse(&text).ok()?;
        let key = of_document(&text, &handoff).in_file(&self.latest_path());
        let status = self.status_of(&key, &handoff).ok()?;
        let written = self.read_own(&self.prompt_path()).ok()??;
        let is_derived = written == prompt::render(&handoff, &status, standing).as_bytes()
            || written == prompt::render_as_before(&handoff, &status, standing).as_bytes();
        is_derived.then_some(key)
    }
}
