//! Imports handoffs that were written elsewhere: all of them, or none.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::derived::Order;
use super::index::Index;
use super::store::{MAX_ARCHIVE, file_name};
use super::{History, NotChanged, Origin, origin};
use crate::base::fault;
use crate::base::fs::Created;
use crate::error::{Category, Error, Result};
use crate::guard::{Voucher, own_record};
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
struct ExistingArchive<'a> {
    handoff: Cow<'a, Handoff>,
    /// A signature of it was verified here.
    is_verified: bool,
    /// It did not come with the repository.
    is_ours: bool,
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

    /// Whether no archive has its id yet.
    pub(crate) fn is_first(self) -> bool {
        self == Landing::Imported
    }

    /// Whether the archive is written.
    pub(crate) fn is_new(self) -> bool {
        match self {
            Landing::Imported | Landing::Replaced | Landing::Signed => true,
            Landing::Skipped | Landing::Unchanged => false,
        }
    }
}

/// Called with how many handoffs are imported, and of how many.
pub(crate) type Progress<'a> = &'a mut dyn FnMut(usize, usize);

impl History {
    /// What an import would do with each handoff. Writes nothing; an error means that none can be imported.
    pub(crate) fn plan_import(
        &self,
        handoffs: &[Handoff],
        on_conflict: OnConflict,
    ) -> Result<Vec<Landing>, NotChanged> {
        // The number of the handoff of this import that has the id.
        let mut earlier: HashMap<&str, usize> = HashMap::new();
        let (mut landings, voucher) = (Vec::new(), self.voucher());
        for (number, handoff) in handoffs.iter().enumerate() {
            let id = handoff.text("session_id");
            self.refuse_too_large(handoff)?;
            let landing = match earlier.get(id) {
                Some(earlier) => landing(&ExistingArchive::of_import(&handoffs[*earlier]), handoff, on_conflict)?,
                None => match self.existing(id, &voucher)? {
                    Some(existing) => landing(&existing, handoff, on_conflict)?,
                    None => Landing::Imported,
                },
            };
            if landing.is_new() {
                earlier.insert(id, number);
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
    fn existing(&self, id: &str, voucher: &Voucher) -> Result<Option<ExistingArchive<'_>>, NotChanged> {
        let path = self.archive_path(id);
        self.refuse_symlink(&path)?;
        if self.anchor.about(&path)?.is_none() {
            return Ok(None);
        }
        let (handoff, key) = self.parse_with_key(&path, &self.read_archive_text(&path)?)?;
        if handoff.text("session_id") == id {
            let origin = Origin::of(&handoff);
            let is_verified = origin.is_some_and(|origin| origin.was_verified(&handoff, &key, voucher));
            let is_ours = voucher.owns(&key, "");
            Ok(Some(ExistingArchive { handoff: Cow::Owned(handoff), is_verified, is_ours }))
        } else {
            let error = Error::failed(format!("`{}` holds another session than {}", path.display(), repr(id)));
            Err(NotChanged::DoesNotFit(error))
        }
    }

    /// Archives the handoffs and brings the derived files up to date. If anything fails, everything that was written is
    /// taken back. After a kill the history is whole, and the same import completes it.
    ///
    /// The lock is held to the end: nobody else sees, or builds on, a part of an import that may be taken back.
    pub(crate) fn import(
        &self,
        handoffs: &[Handoff],
        on_conflict: OnConflict,
        progress: Progress<'_>,
    ) -> Result<Vec<Landing>, NotChanged> {
        // A file that does not fit is refused before anything is made for it.
        self.plan_import(handoffs, on_conflict).map_err(before_writing)?;
        let is_missing = |path: &PathBuf| !self.anchor.is_taken(path);
        let made: Vec<PathBuf> = [self.sessions(), self.directory.clone()].into_iter().filter(is_missing).collect();
        let _lock = self.lock_for_writing().map_err(|error| before_writing(error.into()))?;
        let imported = self.import_locked(handoffs, on_conflict, progress);
        if imported.is_err() {
            self.remove_empty(&made);
        }
        imported
    }

    fn import_locked(
        &self,
        handoffs: &[Handoff],
        on_conflict: OnConflict,
        progress: Progress<'_>,
    ) -> Result<Vec<Landing>, NotChanged> {
        let planned = self.plan_import(handoffs, on_conflict).map_err(before_writing)?;
        let mut undo = Undo::of(self).map_err(|error| before_writing(error.into()))?;
        match self.write_import(handoffs, &planned, &mut undo, progress) {
            Ok(()) => Ok(planned),
            Err(error) => Err(undo.take_back(error)),
        }
    }

    /// Removes those of the directories that are empty, after an import that failed had made them.
    fn remove_empty(&self, made: &[PathBuf]) {
        for path in made {
            if self.anchor.remove_empty_directory_lazily(path).is_ok() && *path == self.directory {
                own_record::unmark_created(path);
            }
        }
    }

    fn write_import(
        &self,
        handoffs: &[Handoff],
        planned: &[Landing],
        undo: &mut Undo<'_>,
        progress: Progress<'_>,
    ) -> Result<()> {
        self.remove_replaced_entries(handoffs, planned)?;
        self.forget_digests_of_replaced(handoffs, planned)?;
        // A person asked for them, so they are not strange here; their origin says whose words they are.
        let written = handoffs.iter().zip(planned).filter(|(_, landing)| **landing != Landing::Skipped);
        self.remember_handoffs(written.map(|(handoff, _)| (handoff.render(), handoff)));
        let mut arrived = Vec::new();
        for (number, (handoff, landing)) in handoffs.iter().zip(planned).enumerate() {
            progress(number, handoffs.len());
            let path = self.archive_path(handoff.text("session_id"));
            arrived.extend(path.file_name().and_then(|name| name.to_str()).map(str::to_owned));
            match landing {
                Landing::Skipped | Landing::Unchanged => continue,
                Landing::Replaced | Landing::Signed => {
                    undo.before_replacing(path.clone())?;
                    self.anchor.replace(&path, handoff.render().as_bytes())?;
                }
                Landing::Imported => {
                    if self.anchor.create_new(&path, handoff.render().as_bytes())? == Created::Before {
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
    fn take_back(self, error: Error) -> NotChanged {
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
            None => NotChanged::TakenBack(error.follow("; nothing was imported")),
            Some(cause) => NotChanged::Failed(
                error
                    .follow(&format!("; a part of the import stays, because {}", Error::from(cause).one_line()))
                    .hint("fix the cause, then import the same file again: that completes it"),
            ),
        }
    }
}

impl ExistingArchive<'_> {
    /// A handoff that is earlier in the same import. Its signature was verified when the file was read.
    fn of_import(handoff: &Handoff) -> ExistingArchive<'_> {
        let is_verified = Origin::of(handoff).is_some_and(|origin| origin.is_signed());
        ExistingArchive { handoff: Cow::Borrowed(handoff), is_verified, is_ours: true }
    }
}

fn landing(existing: &ExistingArchive<'_>, new: &Handoff, on_conflict: OnConflict) -> Result<Landing, NotChanged> {
    let (before, after) = (Origin::of(&existing.handoff), Origin::of(new));
    if original(&existing.handoff) == original(new) {
        // A signature that the file only claims counts for nothing. What was written here needs none.
        let needs_signature = !existing.is_verified && (before.is_some() || !existing.is_ours);
        let gains_signature = needs_signature && after.is_some_and(|after| after.is_signed());
        return Ok(if gains_signature { Landing::Signed } else { Landing::Unchanged });
    }
    match on_conflict {
        OnConflict::Replace => {
            refuse_to_replace(new.text("session_id"), existing, before.as_ref(), after.as_ref())?;
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
fn refuse_to_replace(
    id: &str,
    existing: &ExistingArchive<'_>,
    before: Option<&Origin>,
    after: Option<&Origin>,
) -> Result<(), NotChanged> {
    let refuse = |why: String| {
        let error = Error::new(Category::Untrusted, format!("handoff {id} is not replaced: {why}"));
        Err(NotChanged::DoesNotFit(error))
    };
    let (Some(before), Some(after)) = (before, after) else {
        // What came with the repository was not written here.
        return if existing.is_ours { refuse("the existing one was written here".to_owned()) } else { Ok(()) };
    };
    if before.is_signed() && before.key != after.key {
        return refuse(format!("the existing one is {}, the new one {}", before.stated(), after.stated()));
    }
    if before.is_signed() && after.exported_at < before.exported_at {
        return refuse("the existing one was exported later".to_owned());
    }
    Ok(())
}
