//! Which session files on disk are owed: nobody has dealt with them as they are now.
//!
//! Files from before the project was first used are not owed. When a directory is listed as a whole for the first time, they
//! are recorded with their lengths. From then on no time decides about a file of that directory: a file that is not
//! recorded is new, and a file that is not as it was recorded has changed. So a clock that is ahead or behind, once or for
//! good, makes no session disappear.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use super::session;
use super::sweep::Caller;
use crate::base::fs::FileState;
use crate::checkpoint::{AgentSession, DoneFile, DoneFiles, Store};
use crate::error::Result;
use crate::project::Project;
use crate::transcript::{self, Extent, FoundFile, FoundPlace, ListingLimits};

/// A program that writes a file sets both of its times. If they are further apart than this, a program has set the time of
/// the content back: it restored or copied a file.
const WRITTEN: Duration = Duration::from_secs(60);

/// A file that is owed, not opened yet.
pub(super) struct OwedFile {
    pub path: String,
    pub found: FoundFile,
}

impl OwedFile {
    pub(super) fn done(&self) -> DoneFile {
        done(&self.path, &self.found.state)
    }
}

/// The files that are owed.
pub(super) struct Owed {
    /// Oldest first.
    pub files: Vec<OwedFile>,
    /// Everything was listed, except for days long ago, which the next child looks at.
    pub is_whole: bool,
}

/// The session files on disk that are owed and have been silent for a while. Sessions that hooks follow are not among them.
pub(super) fn on_disk(
    project: &Project,
    store: &mut Store,
    open: &[AgentSession],
    caller: &Caller<'_>,
    limits: ListingLimits,
) -> Result<Owed> {
    // The sessions of all worktrees are looked for, because they share the record.
    let places = transcript::places_of(&project.worktree_roots(), limits);
    let is_followed = |file: &FoundFile| {
        file.session().is_some_and(|id| {
            let is_open = open.iter().any(|session| session.agent == file.agent() && session.id == id);
            is_open || caller.is(file.agent(), &id)
        })
    };
    let mut look = Look {
        since: Since::of(store)?,
        known: store.known_places()?.into_iter().collect(),
        old: Vec::new(),
        places: Vec::new(),
        gone: Vec::new(),
        owed: Owed { files: Vec::new(), is_whole: true },
    };
    for place in places {
        look.at(store, place, &is_followed)?;
    }
    store.nothing_is_owed(&look.old, &look.places)?;
    if limits == ListingLimits::NONE {
        store.forget_files(&look.gone)?;
    }
    let mut owed = look.owed;
    let time = |file: &OwedFile| file.found.state.modified;
    owed.files.sort_by(|a, b| time(a).cmp(&time(b)).then_with(|| a.path.cmp(&b.path)));
    Ok(owed)
}

struct Look {
    since: Since,
    /// The directories whose old files are recorded.
    known: HashSet<String>,
    /// Files of which nothing is owed, and directories whose old files are all among them.
    old: Vec<DoneFile>,
    places: Vec<String>,
    /// Recorded files that do not exist any more.
    gone: Vec<String>,
    owed: Owed,
}

impl Look {
    fn at(&mut self, store: &Store, place: FoundPlace, is_followed: &dyn Fn(&FoundFile) -> bool) -> Result<()> {
        let Some(directory) = place.path.to_str().map(str::to_owned) else { return Ok(()) };
        let is_known = self.known.contains(&directory);
        self.owed.is_whole &= match place.extent {
            Extent::Whole => true,
            Extent::NewestDays => is_known,
            Extent::TooMany => false,
        };
        let done = done_files(store, &directory, &place)?;
        if place.extent == Extent::Whole {
            let present: HashSet<&str> = place.files.iter().filter_map(|file| file.path.to_str()).collect();
            let gone = done.recorded().iter().filter(|path| !present.contains(path.as_str()));
            self.gone.extend(gone.cloned());
            if !is_known {
                self.places.push(directory);
            }
        }
        for found in place.files {
            let Some(path) = found.path.to_str().map(str::to_owned) else { continue };
            let state = found.state;
            if done.has(&path, state.inode, state.length) {
                continue;
            }
            let is_old = if is_known { self.since.was_restored(&state) } else { self.since.is_before(&state) };
            if is_old && !done.has_seen(&path) {
                self.old.push(self::done(&path, &state));
            } else if !is_followed(&found) && (session::has_passed(state.modified) || has_ended(store, &found)?) {
                self.owed.files.push(OwedFile { path, found });
            }
        }
        Ok(())
    }
}

/// Whether a hook has ended the session of a file and its process is gone, so that nobody writes to the file any more. Some
/// agents write their log after their last hook.
fn has_ended(store: &Store, found: &FoundFile) -> Result<bool> {
    let Some(id) = found.session() else { return Ok(false) };
    Ok(store.session(found.agent(), &id)?.is_some_and(|session| session::is_without_process(&session)))
}

/// What is recorded about the files of a place, as far as it was listed.
fn done_files(store: &Store, directory: &str, place: &FoundPlace) -> Result<DoneFiles> {
    if place.extent == Extent::Whole {
        // `0` comes after `/`.
        return store.done_files(&format!("{directory}/"), &format!("{directory}0"));
    }
    let paths = || place.files.iter().filter_map(|file| file.path.to_str());
    match (paths().min(), paths().max()) {
        (Some(first), Some(last)) => store.done_files(first, last),
        _ => Ok(DoneFiles::default()),
    }
}

fn done(path: &str, state: &FileState) -> DoneFile {
    DoneFile { path: path.to_owned(), inode: state.inode, length: state.length }
}

/// When the project was first used, as far as that can be believed.
struct Since(Option<SystemTime>);

impl Since {
    fn of(store: &Store) -> Result<Since> {
        // If it is in the future, a clock was ahead. Then nothing is too old: a session too many is better than one lost.
        Ok(Since(store.since()?.filter(|first| *first <= SystemTime::now())))
    }

    /// Whether a file was last changed before the project was first used.
    fn is_before(&self, state: &FileState) -> bool {
        self.0.is_some_and(|first| state.modified <= first)
    }

    /// Whether a file that is new to us is an old one that somebody copied here.
    fn was_restored(&self, state: &FileState) -> bool {
        let apart = state.changed.duration_since(state.modified).unwrap_or_default();
        self.is_before(state) && apart > WRITTEN
    }
}
