//! The record of a project during one call: opened once for everything that the call asks and writes.

use crate::checkpoint::Store;
use crate::engine;
use crate::error::{Error, Result};
use crate::project::Project;

/// The record of a project, which is opened when it is needed first.
pub(super) struct Record<'p> {
    project: &'p Project,
    opened: Option<Opened>,
}

enum Opened {
    ForWriting(Store),
    /// Nobody may write it, or it cannot be written.
    ForReading(Store),
}

impl<'p> Record<'p> {
    pub(super) fn of(project: &'p Project) -> Record<'p> {
        Record { project, opened: None }
    }

    /// What is on record. `None` if nothing is, or if a hook may not look.
    pub(super) fn read(&mut self) -> Option<&Store> {
        if self.opened.is_none() && self.project.unattended_places().has_state() {
            let file = self.project.checkpoint_file();
            let writable = file.is_there().then(|| open(self.project).ok()).flatten().map(Opened::ForWriting);
            let readable = || Store::read(&file).ok().flatten().map(Opened::ForReading);
            self.opened = writable.or_else(readable);
        }
        match self.opened.as_ref()? {
            Opened::ForWriting(store) | Opened::ForReading(store) => Some(store),
        }
    }

    /// The record for writing. It is made if there is none.
    pub(super) fn write(&mut self) -> Result<&mut Store> {
        if !matches!(self.opened, Some(Opened::ForWriting(_))) {
            self.opened = Some(Opened::ForWriting(open(self.project)?));
        }
        match &mut self.opened {
            Some(Opened::ForWriting(store)) => Ok(store),
            _ => Err(Error::bug("the record is not open")),
        }
    }

    /// The record for writing, for whoever closes it.
    pub(super) fn into_store(mut self) -> Result<Store> {
        self.write()?;
        match self.opened {
            Some(Opened::ForWriting(store)) => Ok(store),
            _ => Err(Error::bug("the record is not open")),
        }
    }
}

/// Opens the database, unless the config puts it outside of the project without consent.
fn open(project: &Project) -> Result<Store> {
    let places = project.unattended_places();
    if let Some(notice) = places.notice().filter(|_| !places.has_state()) {
        return Err(Error::failed(notice).hint("look at the config first"));
    }
    project.prepare()?;
    // Without the record, only a session whose worktree vanishes before its end is lost.
    let _ = project.remember_worktree();
    let mut store = Store::open_briefly(&project.checkpoint_file())?;
    engine::adopt_sessions(project, &mut store)?;
    Ok(store)
}
