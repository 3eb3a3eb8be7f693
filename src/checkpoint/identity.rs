//! The id of a database. A database travels with its directory; the user's own state, which does not, knows the ids of those
//! that this user made.
//!
//! The id is durable there before a database with it exists. So a kill or a power cut leaves at worst an id without a
//! database, never a database of ours that nobody knows.

use std::path::Path;

use rusqlite::TransactionBehavior;

use super::failure::{Failure, explain};
use super::file::CheckpointFile;
use super::{Store, schema};
use crate::base::{clock, fault, fs};
use crate::error::{Error, Result};

/// How ids are made and recognised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    /// Makes an id that is durably known. The argument marks the file that gets it. `None` if there is no place for ids.
    pub create: fn(&str) -> Result<Option<String>>,
    pub is_known: fn(&str) -> bool,
    /// Keeps that the file with this id is ours, so that nobody has to open it to find out.
    pub keep: fn(&str, &Path),
    /// Forgets the file with this mark again.
    pub forget: fn(&str),
}

/// Which databases are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// Only one whose id is known.
    Known,
    /// Also one without an id, which 0.1.0 wrote. It gets an id when it is opened for writing.
    WithoutId,
    /// Any, because a person named the file. Its id stays as it is.
    Any,
}

/// What a file says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub id: Option<String>,
    /// A process died before it could record anything.
    pub is_empty: bool,
}

impl CheckpointFile {
    /// What the file says about itself, whoever wrote it. `None` if there is no file.
    pub(crate) fn identity(&self) -> Result<Option<Identity>> {
        let Some((store, version)) = Store::look(self)? else { return Ok(None) };
        if version == 0 {
            return Ok(Some(Identity { id: None, is_empty: true }));
        }
        let id = store.state_id(version)?;
        Ok(Some(Identity { id, is_empty: false }))
    }

    /// Marks the file itself, whatever it contains: another file in its place has another mark.
    pub(crate) fn mark(&self) -> Option<String> {
        fs::mark(&self.path)
    }
}

impl Store {
    pub(super) fn state_id(&self, version: i32) -> Result<Option<String>, Failure> {
        schema::id(&self.connection, version).map_err(|cause| explain(&self.file.path, cause))
    }

    /// Keeps that this file, which has this id, is ours. Only writers do it: a reader writes nothing.
    pub(super) fn remember_as_ours(&self, id: Option<&str>) {
        let CheckpointFile { path, ids, accepts, .. } = &self.file;
        if let Some(id) = id.filter(|id| *accepts != Accepts::Any && (ids.is_known)(id)) {
            (ids.keep)(id, path);
        }
    }

    /// Refuses a database that came from elsewhere, and returns its id. Whose a database is was asked before; here it is
    /// asked of the file that is really open.
    pub(super) fn refuse_foreign(&self, version: i32) -> Result<Option<String>, Failure> {
        let CheckpointFile { path, ids, accepts, .. } = &self.file;
        let id = self.state_id(version)?;
        let is_accepted = match (accepts, &id) {
            (Accepts::Any, _) | (Accepts::WithoutId, None) => true,
            (_, Some(id)) => (ids.is_known)(id),
            (Accepts::Known, None) => false,
        };
        if is_accepted {
            return Ok(id);
        }
        // Somebody wrote another database into the file. The next command looks again.
        (ids.forget)(&fs::mark(path).unwrap_or_default());
        let error = Error::bad_data(format!("`{}` came from elsewhere and is not used", path.display()));
        Err(Failure::Other(error.hint("another program put it there just now: run the command again")))
    }

    /// Brings the file to the newest version, and gives a new file its id.
    pub(super) fn migrate(&mut self) -> Result<(), Failure> {
        let CheckpointFile { path, ids, accepts, .. } = self.file.clone();
        let explain = |cause| explain(&path, cause);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(explain)?;
        let before = schema::migrate(&transaction).map_err(explain)?;
        if (before == 0 || accepts == Accepts::WithoutId)
            && schema::id(&transaction, schema::newest()).map_err(explain)?.is_none()
        {
            let mark = fs::mark(&path).unwrap_or_default();
            if let Some(id) = (ids.create)(&mark).map_err(Failure::Other)? {
                fault::at("state.known");
                schema::set_id(&transaction, &id).map_err(explain)?;
            }
        }
        // The time of the file itself: transcripts get theirs from the same clock.
        if let Some(created) = fs::modified(&path) {
            schema::keep_since(&transaction, &clock::stamp(&clock::of_file(created))).map_err(explain)?;
        }
        transaction.commit().map_err(explain)
    }
}
