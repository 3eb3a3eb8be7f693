//! Imports handoffs that were written elsewhere: all of them, or none.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::derived::Order;
use super::index::Index;
use super::store::{MAX_ARCHIVE, file_name};
use super::{History, NotChanged, Origin, origin, own_keys};
use crate::base::fault;
use crate::base::fs::Created;
use crate::error::{Category, Error, Result};
use crate::guard::Voucher;
use crate::handoff::{Handoff, repr};

/// What to do with a handoff whose id has another content here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnConflict {
    Fail,
    Skip,
    Replace,
}

/// What an import does with a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landing {
    Imported,
    /// The id has another content here, which stays.
    Skipped,
    Replaced,
    /// The same handoff is archived already, and nobody had verified a signature of it.
    Signed,
    /// The same handoff is archived already.
    Unchanged,
}

/// An archive whose id an imported handoff has.
struct ExistingArchive {
    handoff: Handoff,
    /// A signature of it was verified here.
    is_verified: bool,
}

impl Landing {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Landing::Imported => "imported",
            Landing::Skipped => "skipped",
            Landing::Replaced => "replaced",
            Landing::Signed => "signed",
            Landing::Unchanged => "unchanged",
        }
    }

    /// Whether the archive is written.
    pub(crate) fn is_new(self) -> bool {
        match self {
            Landing::Imported | Landing::Replaced | Landing::Signed => true,
            Landing::Skipped | Landing::Unchanged => false,
        }
    }
}

impl History {
    /// What an import would do with each handoff. Writes nothing; an error means that none can be imported.
    pub(crate) fn plan_import(
        &self,
        handoffs: &[Handoff],
        on_conflict: OnConflict,
    ) -> Result<Vec<Landing>, NotChanged> {
        let mut earlier: HashMap<&str, ExistingArchive> = HashMap::new();
        let (mut landings, voucher) = (Vec::new(), self.voucher());
        for handoff in handoffs {
            let id = handoff.text("session_id");
            self.refuse_too_large(handoff)?;
            let landing = match earlier.get(id) {
                Some(existing) => landing(existing, handoff, on_conflict)?,
                None => match self.existing(id, &voucher)? {
                    Some(existing) => landing(&existing, handoff, on_conflict)?,
                    None => Landing::Imported,
                },
            };
            if landing.is_new() {
                let is_verified = Origin::of(handoff).is_some_and(|origin| origin.is_signed());
                earlier.insert(id, ExistingArchive { handoff: handoff.clone(), is_verified });
            }
            landings.push(landing);
        }
        Ok(landings)
    }

    fn refuse_too_large(&self, handoff: &Handoff) -> Result<(), NotChanged> {
        let text = handoff.render();
        let too_large = u64::try_from(text.len()).is_ok_and(|size| size > MAX_ARCHIVE);
        if too_large || Handoff::parse(&text).is_err() {
            let id = repr(handoff.text("session_id"));
            return Err(NotChanged::DoesNotFit(Error::bad_data(format!("handoff {id} is too large to be archived"))));
        }
        Ok(())
    }

    /// The archive with this id. An error if its file holds another session.
    fn existing(&self, id: &str, voucher: &Voucher) -> Result<Option<ExistingArchive>, NotChanged> {
        let path = self.archive_path(id);
        self.refuse_symlink(&path)?;
        if self.anchor.about(&path)?.is_none() {
            return Ok(None);
        }
        let (handoff, key) = self.parse_with_key(&path, &self.read_archive_text(&path)?)?;
        if handoff.text("session_id") == id {
            let origin = Origin::of(&handoff);
            let is_verified = origin.is_some_and(|origin| origin.was_verified(&handoff, &key, voucher));
            Ok(Some(ExistingArchive { handoff, is_verified }))
        } else {
            let error = Error::failed(format!("`{}` holds another session than {}", path.display(), repr(id)));
            Err(NotChanged::DoesNotFit(error))
        }
    }

    /// Archives the handoffs and brings the derived files up to date. If anything fails, everything that was written is
    /// taken back. After a kill the history is whole, and the same import completes it.
    ///
    /// The lock is held to the end: nobody else sees, or builds on, a part of an import that may be taken back.
    pub(crate) fn import(&self, handoffs: &[Handoff], on_conflict: OnConflict) -> Result<Vec<Landing>, NotChanged> {
        // A file that does not fit is refused before anything is made for it.
        self.plan_import(handoffs, on_conflict).map_err(before_writing)?;
        let _lock = self.lock_for_writing().map_err(|error| before_writing(error.into()))?;
        let planned = self.plan_import(handoffs, on_conflict).map_err(before_writing)?;
        let mut undo = Undo::of(self).map_err(|error| before_writing(error.into()))?;
        match self.write_import(handoffs, &planned, &mut undo) {
            Ok(()) => Ok(planned),
            Err(error) => Err(NotChanged::Failed(undo.take_back(error))),
        }
    }

    fn write_import(&self, handoffs: &[Handoff], planned: &[Landing], undo: &mut Undo<'_>) -> Result<()> {
        self.remove_replaced_entries(handoffs, planned)?;
        self.forget_digests_of_replaced(handoffs, planned)?;
        // A person asked for them, so they are not strange here; their origin says whose words they are.
        let texts: Vec<String> = handoffs.iter().map(Handoff::render).collect();
        let written = texts.iter().map(String::as_str).zip(handoffs).zip(planned);
        own_keys::remember(written.filter(|(_, landing)| **landing != Landing::Skipped).map(|(written, _)| written));
        let mut arrived = Vec::new();
        for ((handoff, text), landing) in handoffs.iter().zip(&texts).zip(planned) {
            let path = self.archive_path(handoff.text("session_id"));
            arrived.extend(path.file_name().and_then(|name| name.to_str()).map(str::to_owned));
            match landing {
                Landing::Skipped | Landing::Unchanged => continue,
                Landing::Replaced | Landing::Signed => {
                    undo.before_replacing(path.clone())?;
                    self.anchor.replace(&path, text.as_bytes())?;
                }
                Landing::Imported => {
                    if self.anchor.create_new(&path, text.as_bytes())? == Created::Before {
                        let error = Error::failed(format!("somebody else has just written `{}`", path.display()));
                        return Err(error.hint("import it once more"));
                    }
                    undo.created.insert(path);
                }
            }
            fault::at("import.archived");
        }
        self.bring_up_to_date_with(Order::OfArrival, &arrived)
    }

    /// Removes the digests of archives that are about to be replaced. The new ones are recorded afterwards.
    fn forget_digests_of_replaced(&self, handoffs: &[Handoff], planned: &[Landing]) -> Result<()> {
        let replaced =
            handoffs.iter().zip(planned).filter(|(_, landing)| matches!(landing, Landing::Replaced | Landing::Signed));
        let names: Vec<String> = replaced.map(|(handoff, _)| file_name(handoff.text("session_id")) + ".md").collect();
        if names.is_empty() {
            return Ok(());
        }
        let mut digests = self.digests()?;
        digests.retain(|name| !names.iter().any(|replaced| replaced == name));
        Ok(self.anchor.replace(&self.digests_path(), digests.render().as_bytes())?)
    }

    /// Removes the entries of archives that are about to be replaced, so that no entry outlives its archive after a kill.
    fn remove_replaced_entries(&self, handoffs: &[Handoff], planned: &[Landing]) -> Result<()> {
        let replaced =
            handoffs.iter().zip(planned).filter(|(_, landing)| matches!(landing, Landing::Replaced | Landing::Signed));
        let replaced: Vec<&str> = replaced.map(|(handoff, _)| handoff.text("session_id")).collect();
        if replaced.is_empty() {
            return Ok(());
        }
        let bytes = self.read_own(&self.index_path())?.unwrap_or_default();
        // An index that cannot be read is rebuilt anyway.
        let Ok(mut index) = Index::parse(&String::from_utf8_lossy(&bytes)) else { return Ok(()) };
        index.sessions.retain(|entry| !replaced.contains(&entry.get("session_id")));
        self.anchor.replace(&self.index_path(), index.render().as_bytes())?;
        fault::at("import.forgotten");
        Ok(())
    }
}

/// A failure before anything was written.
fn before_writing(reason: NotChanged) -> NotChanged {
    match reason {
        NotChanged::Failed(error) => NotChanged::Failed(error.follow("; nothing was imported")),
        reason => reason,
    }
}

/// What an import has written, and what was there before.
struct Undo<'a> {
    history: &'a History,
    created: BTreeSet<PathBuf>,
    /// Files with their former content; `None` for those that did not exist.
    before: BTreeMap<PathBuf, Option<Vec<u8>>>,
}

impl<'a> Undo<'a> {
    fn of(history: &'a History) -> Result<Undo<'a>> {
        let mut undo = Undo { history, created: BTreeSet::new(), before: BTreeMap::new() };
        for path in history.own_files() {
            let content = history.read_own(&path)?;
            undo.before.insert(path, content);
        }
        Ok(undo)
    }

    fn before_replacing(&mut self, path: PathBuf) -> Result<()> {
        if !self.created.contains(&path) && !self.before.contains_key(&path) {
            let content = self.history.anchor.read(&path)?;
            self.before.insert(path, Some(content));
        }
        Ok(())
    }

    /// Takes everything back because of this error, and adds to it what is left.
    fn take_back(self, error: Error) -> Error {
        let anchor = &self.history.anchor;
        let mut left = Vec::new();
        // New files go first: on a full disk the former content needs their room.
        for path in &self.created {
            left.extend(anchor.remove_file_lazily(path).err());
        }
        for (path, content) in &self.before {
            let now = self.history.read_own(path);
            let restored = match (content, now) {
                (_, Err(cause)) => Err(cause),
                (Some(content), Ok(now)) if now.as_ref() != Some(content) => anchor.replace(path, content),
                (None, Ok(Some(_))) => anchor.remove_file_lazily(path),
                _ => Ok(()),
            };
            left.extend(restored.err());
        }
        match left.into_iter().next() {
            None => error.follow("; nothing was imported"),
            Some(cause) => error
                .follow(&format!("; a part of the import stays, because {}", Error::from(cause).one_line()))
                .hint("fix the cause, then import the same file again: that completes it"),
        }
    }
}

fn landing(existing: &ExistingArchive, new: &Handoff, on_conflict: OnConflict) -> Result<Landing, NotChanged> {
    let (before, after) = (Origin::of(&existing.handoff), Origin::of(new));
    if original(&existing.handoff) == original(new) {
        let gains_signature = match (&before, &after) {
            (Some(before), Some(after)) if after.is_signed() => {
                !before.is_signed() || before.key == after.key && !existing.is_verified
            }
            _ => false,
        };
        return Ok(if gains_signature { Landing::Signed } else { Landing::Unchanged });
    }
    match on_conflict {
        OnConflict::Replace => {
            refuse_to_replace(new.text("session_id"), before.as_ref(), after.as_ref())?;
            Ok(Landing::Replaced)
        }
        OnConflict::Skip => Ok(Landing::Skipped),
        OnConflict::Fail => {
            let message = format!("handoff {} is already archived with other content", new.text("session_id"));
            let hint = "`--on-conflict skip` keeps the existing one, `--on-conflict replace` takes the new one";
            Err(NotChanged::DoesNotFit(Error::failed(message).hint(hint)))
        }
    }
}

/// The handoff as its author wrote it.
fn original(handoff: &Handoff) -> String {
    let mut handoff = handoff.clone();
    origin::remove(&mut handoff);
    handoff.render()
}

/// Refuses to replace a handoff that was written here, one that somebody else signed, and a newer export by the same key.
fn refuse_to_replace(id: &str, before: Option<&Origin>, after: Option<&Origin>) -> Result<(), NotChanged> {
    let refuse = |why: String| {
        let error = Error::new(Category::Untrusted, format!("handoff {id} is not replaced: {why}"));
        Err(NotChanged::DoesNotFit(error))
    };
    let (Some(before), Some(after)) = (before, after) else {
        return refuse("the existing one was written here".to_owned());
    };
    if before.is_signed() && before.key != after.key {
        return refuse(format!("the existing one is {}, the new one {}", before.stated(), after.stated()));
    }
    if before.is_signed() && after.exported_at < before.exported_at {
        return refuse("the existing one was exported later".to_owned());
    }
    Ok(())
}
