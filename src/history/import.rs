//! Imports handoffs that were written elsewhere: all of them, or none.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::derived::Order;
use super::index::Index;
use super::store::{MAX_ARCHIVE, file_name};
use super::{History, NotChanged, Origin, origin, own_keys};
use crate::base::fault;
use crate::base::fs::Created;
use crate::error::{Category, Error, Result};
use crate::handoff::{Handoff, repr};

/// How many archives are written under one lock, so that other writers do not wait long.
const BATCH: usize = 4_000;

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
    /// The same handoff is archived already.
    Unchanged,
}

impl Landing {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Landing::Imported => "imported",
            Landing::Skipped => "skipped",
            Landing::Replaced => "replaced",
            Landing::Unchanged => "unchanged",
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
        let mut earlier: HashMap<&str, &Handoff> = HashMap::new();
        let mut landings = Vec::new();
        for handoff in handoffs {
            let id = handoff.text("session_id");
            self.refuse_too_large(handoff)?;
            let landing = match earlier.get(id) {
                Some(existing) => landing(existing, handoff, on_conflict)?,
                None => match self.existing(id)? {
                    Some(existing) => landing(&existing, handoff, on_conflict)?,
                    None => Landing::Imported,
                },
            };
            if matches!(landing, Landing::Imported | Landing::Replaced) {
                earlier.insert(id, handoff);
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
    fn existing(&self, id: &str) -> Result<Option<Handoff>, NotChanged> {
        let path = self.archive_path(id);
        self.refuse_symlink(&path)?;
        if self.anchor.about(&path)?.is_none() {
            return Ok(None);
        }
        let existing = self.read_archive(&path)?;
        if existing.text("session_id") == id {
            Ok(Some(existing))
        } else {
            let error = Error::failed(format!("`{}` holds another session than {}", path.display(), repr(id)));
            Err(NotChanged::DoesNotFit(error))
        }
    }

    /// Archives the handoffs and brings the derived files up to date. After a kill the history is whole, and the same import
    /// completes it.
    pub(crate) fn import(&self, handoffs: &[Handoff], on_conflict: OnConflict) -> Result<Vec<Landing>, NotChanged> {
        self.plan_import(handoffs, on_conflict)?;
        let mut landings = Vec::new();
        for batch in handoffs.chunks(BATCH) {
            let _lock = self.lock_for_writing()?;
            let planned = self.plan_import(batch, on_conflict)?;
            self.remove_replaced_entries(batch, &planned)?;
            // A person asked for them, so they are not strange here; their origin says whose words they are.
            let texts: Vec<String> = batch.iter().map(Handoff::render).collect();
            self.forget_digests_of_replaced(batch, &planned)?;
            own_keys::remember(texts.iter().map(String::as_str).zip(batch));
            for (handoff, landing) in batch.iter().zip(&planned) {
                let (path, text) = (self.archive_path(handoff.text("session_id")), handoff.render());
                match landing {
                    Landing::Skipped | Landing::Unchanged => continue,
                    Landing::Replaced => self.anchor.replace(&path, text.as_bytes())?,
                    Landing::Imported if self.anchor.create_new(&path, text.as_bytes())? == Created::Now => {}
                    Landing::Imported => {
                        let error = Error::failed(format!("somebody else has just written `{}`", path.display()));
                        return Err(error.hint("import it once more").into());
                    }
                }
                fault::at("import.archived");
            }
            self.bring_up_to_date(Order::OfArrival)?;
            landings.extend(planned);
        }
        Ok(landings)
    }

    /// Removes the digests of archives that are about to be replaced. The new ones are recorded afterwards.
    fn forget_digests_of_replaced(&self, batch: &[Handoff], planned: &[Landing]) -> Result<()> {
        let replaced = batch.iter().zip(planned).filter(|(_, landing)| **landing == Landing::Replaced);
        let names: Vec<String> = replaced.map(|(handoff, _)| file_name(handoff.text("session_id")) + ".md").collect();
        if names.is_empty() {
            return Ok(());
        }
        let mut digests = self.digests()?;
        digests.retain(|name| !names.iter().any(|replaced| replaced == name));
        Ok(self.anchor.replace(&self.digests_path(), digests.render().as_bytes())?)
    }

    /// Removes the entries of archives that are about to be replaced, so that no entry outlives its archive after a kill.
    fn remove_replaced_entries(&self, batch: &[Handoff], planned: &[Landing]) -> Result<()> {
        let replaced = batch.iter().zip(planned).filter(|(_, landing)| **landing == Landing::Replaced);
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

fn landing(existing: &Handoff, new: &Handoff, on_conflict: OnConflict) -> Result<Landing, NotChanged> {
    let (before, after) = (Origin::of(existing), Origin::of(new));
    let is_same = original(existing) == original(new);
    let gains_signature =
        before.as_ref().is_some_and(|origin| !origin.is_signed()) && after.as_ref().is_some_and(Origin::is_signed);
    match on_conflict {
        OnConflict::Replace if !is_same || gains_signature => {
            refuse_to_replace(new.text("session_id"), before.as_ref(), after.as_ref())?;
            Ok(Landing::Replaced)
        }
        _ if is_same => Ok(Landing::Unchanged),
        OnConflict::Skip => Ok(Landing::Skipped),
        _ => {
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
        return refuse(format!("the existing one is {}, the new one {}", before.voucher(), after.voucher()));
    }
    if before.is_signed() && after.exported_at < before.exported_at {
        return refuse("the existing one was exported later".to_owned());
    }
    Ok(())
}
