//! The ids of the databases that this user made, as files in the user's own state, where no repository can put anything.
//!
//! A `checkpoint.db` holds commands that are carried out and sessions that are read, so one that came with a repository must
//! not be used. The database carries a random id, and this record knows it: a project that is moved or renamed stays ours.
//!
//! | in `~/.local/state/agent-handover` | holds |
//! |---|---|
//! | `states/<id>` | the marks of the files with this id that were found not to be tracked by git, a line each |
//! | `states/met-<mark>` | the file with this mark was found to be ours, so that nobody has to open it; the content says when |
//! | `states/beside` | the word in the names of our databases that are beside a foreign one |
//!
//! Words are taken also if the home directory is full. An id then goes to a directory of this user in the directory for
//! temporary files, and the next writer that can moves it here.

use std::path::{Path, PathBuf};

use crate::base::fs::{self, Anchor, FileKind};
use crate::base::{env, ids};
use crate::error::{Error, Result};

const DIRECTORY: &str = "states";
const BESIDE: &str = "beside";
/// The word if none can be kept.
const NO_WORD: &str = "own";
/// More than the file of an id has.
const MAX_SIZE: u64 = 64 << 10;
/// How many marks are kept; a project that is copied more often is looked at more often.
const MOST_MARKS: usize = 100;

/// What is known about the id of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// This user never made a database with this id.
    Unknown,
    /// The id is ours, but this file with it was not seen before: the directory was copied, or git wrote the file.
    Known,
    /// The id is ours, and so is this very file.
    Met,
}

/// Whether there is a place for ids. Without one nothing can be told apart.
pub(crate) fn is_possible() -> bool {
    place().is_some()
}

/// Makes a new id and keeps it durably, with the mark of the file that gets it. `None` without a home directory that
/// can be written.
pub(crate) fn create(mark: &str) -> Result<Option<String>> {
    keep_new(ids::new_state_id()?, mark)
}

/// The same for an index of search.
pub(crate) fn create_for_index(mark: &str) -> Result<Option<String>> {
    keep_new(ids::new_index_id()?, mark)
}

fn keep_new(id: String, mark: &str) -> Result<Option<String>> {
    let Some(directory) = place() else { return Ok(None) };
    let kept = write_id(&directory, &id, mark).or_else(|error| match spare() {
        Some(spare) => write_id(&spare, &id, mark).map_err(|_| error),
        None => Err(error),
    });
    kept.map_err(|error| {
        let what = "the id of this project's database cannot be kept in your own state";
        Error::new(error.category(), what).cause(error.one_line())
    })?;
    Ok(Some(id))
}

/// Writes the file of an id durably. On a full disk there may still be room for its name, and that is enough: without a mark,
/// git is asked about the database once more.
fn write_id(directory: &Path, id: &str, mark: &str) -> Result<()> {
    let (anchor, file) = (Anchor::new(directory), directory.join(id));
    anchor.create_private_directories(directory)?;
    let flag = anchor.create_flag(&file, format!("{mark}\n").as_bytes());
    flag.map(drop).or_else(|error| anchor.write_marker(&file, b"").map_err(|_| error))?;
    Ok(())
}

pub(crate) fn is_known(id: &str) -> bool {
    file_of(id).is_some()
}

/// Whether there is an id that is not in its place. Mostly there is none, and this costs little.
pub(crate) fn is_any_kept_elsewhere() -> bool {
    spare().is_some_and(|spare| fs::is_directory(&spare))
}

/// The directory in which an id is kept for the time being, because the user's own state is full.
pub(crate) fn is_kept_elsewhere(id: &str) -> Option<PathBuf> {
    file_of(id).and_then(|file| spare().filter(|spare| file.starts_with(spare)))
}

/// Moves an id that was kept elsewhere to its place. A failure is ignored: the next writer tries again.
pub(crate) fn keep_for_good(id: &str, mark: &str) {
    if is_kept_elsewhere(id).is_some()
        && let Some(directory) = place()
        && let Some(file) = file_of(id)
        && write_id(&directory, id, mark).is_ok()
    {
        let _ = fs::remove_file(&file);
    }
}

/// The file of an id. An id comes out of a database that anybody may have written.
fn file_of(id: &str) -> Option<PathBuf> {
    let directories =
        std::iter::once_with(place).chain(std::iter::once_with(spare)).flatten().filter(|_| ids::is_run_id(id));
    let is_ours = |file: &PathBuf| fs::is_file(file) && fs::refuse_foreign_owner(file, "record").is_ok();
    directories.map(|directory| directory.join(id)).find(is_ours)
}

/// What is known about a file with this id and mark.
pub(crate) fn standing(id: &str, mark: &str) -> Standing {
    match marks(id) {
        None => Standing::Unknown,
        Some(marks) if marks.lines().any(|line| line == mark) => Standing::Met,
        Some(_) => Standing::Known,
    }
}

/// Keeps the mark of a file that was found to be ours. A failure is ignored: the file is then looked at again.
pub(crate) fn meet(id: &str, mark: &str) {
    let has_room = marks(id).is_some_and(|marks| marks.lines().count() < MOST_MARKS);
    if let Some(directory) = place().filter(|_| has_room) {
        let _ = fs::append_durably(&directory.join(id), &[mark.to_owned()]);
    }
}

/// Whether the file with this mark was found to be ours, without opening it. Whoever opens it checks its id all the same.
/// `when` marks the git index of that time: once it has changed, git may track the file.
pub(crate) fn is_met(mark: &str, when: &str) -> bool {
    met(mark).and_then(read).is_some_and(|text| text.lines().last().unwrap_or_default() == when)
}

/// Keeps that the file with this mark is ours. A failure is ignored: the file is then looked at again.
pub(crate) fn keep_met(mark: &str, when: &str) {
    let Some(file) = met(mark).filter(|_| !is_met(mark, when)) else { return };
    if read(file.clone()).is_some_and(|text| text.lines().count() >= MOST_MARKS) {
        let _ = fs::remove_file(&file);
    }
    let _ = fs::append(&file, &[when.to_owned()]);
}

/// Forgets a file that has another content than it had. A failure is ignored, because the file is refused anyway.
pub(crate) fn forget_met(mark: &str) {
    if let Some(file) = met(mark) {
        let _ = fs::remove_file(&file);
    }
}

/// The file for a mark. `None` for a mark without the time of creation: another file may have the same.
fn met(mark: &str) -> Option<PathBuf> {
    let is_exact = !mark.is_empty() && !mark.ends_with(":0");
    place().filter(|_| is_exact).map(|directory| directory.join(format!("met-{mark}")))
}

/// The word in the names of our databases that are beside a foreign one, if there are any yet.
pub(crate) fn word() -> Option<String> {
    let Some(directory) = place() else { return Some(NO_WORD.to_owned()) };
    let is_word = |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    read(directory.join(BESIDE)).map(|text| text.trim().to_owned()).filter(is_word)
}

/// The same, and makes it if there is none. If it cannot be kept, because the disk is full, it is one that everybody has: a new
/// one for each command would leave a file each time.
pub(crate) fn make_word() -> Result<String> {
    if let Some(word) = word() {
        return Ok(word);
    }
    let id = ids::new_state_id()?;
    let new = id[id.len() - 8..].to_ascii_lowercase();
    if let Some(directory) = place() {
        let anchor = Anchor::new(&directory);
        let _ = anchor.create_private_directories(&directory);
        let _ = fs::replace(&directory.join(BESIDE), format!("{new}\n").as_bytes());
    }
    Ok(word().unwrap_or_else(|| NO_WORD.to_owned()))
}

/// The marks of an id; `None` if it is not known.
fn marks(id: &str) -> Option<String> {
    read(file_of(id)?)
}

fn read(file: PathBuf) -> Option<String> {
    fs::refuse_foreign_owner(&file, "record").ok()?;
    let bytes = fs::read_within(&file, MAX_SIZE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The directory for ids while the user's own state is full. Nobody else may be able to write it.
fn spare() -> Option<PathBuf> {
    let directory = std::env::temp_dir().join(format!("agent-handover-{}", rustix::process::geteuid().as_raw()));
    let anchor = Anchor::beside(&directory);
    let is_usable = match anchor.about(&directory) {
        Ok(None) => true,
        Ok(Some(about)) => about.kind == FileKind::Directory && !fs::is_foreign_owner(about.owner),
        Err(_) => false,
    };
    (!cfg!(test) && is_usable).then_some(directory)
}

fn place() -> Option<PathBuf> {
    // Tests of the library itself have no home of their own.
    let state = if cfg!(test) { None } else { env::user_state() };
    // A home that cannot be written never had ids. Words are taken there, too.
    state.map(|state| state.join(DIRECTORY)).filter(|directory| fs::may_be_directory(directory))
}
