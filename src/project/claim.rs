//! Whose a database is, and where ours is if the usual place holds somebody else's.
//!
//! | the database | is |
//! |---|---|
//! | has an id that the user's own state knows, and git does not track it | ours |
//! | has no id; 0.1.0 listed the project, and git does not track it | ours, from 0.1.0 |
//! | any other that can be read | foreign: cloned, unpacked, copied from another home |
//! | cannot be read, and git tracks it | foreign: a repository must not keep anybody from recording words |
//! | cannot be read | not judged: whoever opens it reports why |
//!
//! A foreign database stays as it is. Ours goes beside it, under a name with a word that the user's own state keeps. So it is
//! found again without a search, and two users or two homes never meet in one file.
//!
//! git is only asked about a file that was not seen before, and again when git's index has changed since.

use std::path::{Path, PathBuf};

use crate::base::fs::{self, Anchor};
use crate::checkpoint::{Accepts, CheckpointFile, Identity, Ids};
use crate::error::{Error, Result};
use crate::git::{self, Git};
use crate::guard::registry;
use crate::guard::state_ids::{self, Standing};

/// How many names beside a foreign database are tried.
const MOST_NAMES: usize = 9;

/// How the checkpoint knows its ids.
pub(super) const IDS: Ids =
    Ids { create: state_ids::create, is_known: state_ids::is_known, keep, forget: state_ids::forget_met };

/// Keeps that the database with this id is ours.
fn keep(id: &str, path: &Path) {
    let mark = fs::mark(path).unwrap_or_default();
    state_ids::keep_for_good(id, &mark);
    state_ids::keep_met(&mark, &index_mark(path));
}

/// Whose a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// Nothing is recorded there, so anybody may begin.
    Nobody,
    Ours,
    /// Ours, written by 0.1.0.
    OursWithoutId,
    Foreign,
    /// It cannot be read.
    Unclear,
}

/// The databases of a project.
pub(super) struct Claim<'a> {
    /// The directory below which no link is followed, without links itself.
    pub root: &'a Path,
    /// The directory of the history, by which 0.1.0 listed the project.
    pub history: &'a Path,
    /// Whether files of another user may be used. It is only asked if there are any.
    pub may_be_foreign: &'a dyn Fn() -> bool,
}

/// The database to use, and what is accepted in its place.
#[derive(Debug)]
pub(super) struct Chosen {
    pub path: PathBuf,
    pub accepts: Accepts,
}

impl Claim<'_> {
    /// Our database for a configured path: the file there, or ours beside it.
    pub(super) fn choose(&self, configured: &Path) -> Result<Chosen> {
        let first = self.whose(configured);
        let chosen = |path: &Path, whose: Whose| Chosen { path: path.to_path_buf(), accepts: accepts(whose) };
        if !matches!(first, Whose::Nobody | Whose::Foreign) {
            return Ok(chosen(configured, first));
        }
        let word = match (state_ids::word(), first) {
            (Some(word), _) => word,
            (None, Whose::Nobody) => return Ok(chosen(configured, first)),
            (None, _) => state_ids::make_word()?,
        };
        for beside in names_beside(configured, &word) {
            match self.whose(&beside) {
                Whose::Foreign => {}
                Whose::Nobody if first == Whose::Nobody => return Ok(chosen(configured, first)),
                // The foreign database may be gone by now; ours stays where it is.
                whose => return Ok(chosen(&beside, whose)),
            }
        }
        let place = configured.parent().unwrap_or(configured).display();
        Err(Error::bad_data(format!(
            "`{place}` has no free name for your database: each is taken by a database that is not yours"
        ))
        .hint("look at these files, and move them away"))
    }

    /// Whether one of ours is at the path or beside it. Files of other users and links do not count.
    pub(super) fn has_ours(&self, configured: &Path) -> bool {
        let is_ours = |path: &Path| {
            let about = self.anchor(path).about(path).ok().flatten();
            about.is_some_and(|about| fs::refuse_owner(about.owner, path, "checkpoint").is_ok())
                && self.anchor(path).is_regular(path)
                && !matches!(self.whose(path), Whose::Nobody | Whose::Foreign)
        };
        is_ours(configured)
            || fs::is_taken(configured)
                && state_ids::word()
                    .is_some_and(|word| names_beside(configured, &word).take(1).any(|beside| is_ours(&beside)))
    }

    /// Our databases beside a configured path. They stay when the file there becomes ours again, for example because git
    /// does not track it any more.
    pub(super) fn ours_beside(&self, configured: &Path) -> Vec<PathBuf> {
        let Some(word) = state_ids::word().filter(|_| state_ids::is_possible()) else { return Vec::new() };
        let is_ours = |path: &PathBuf| self.anchor(path).is_regular(path) && self.whose(path) == Whose::Ours;
        names_beside(configured, &word).take_while(|path| fs::is_taken(path)).filter(is_ours).collect()
    }

    fn whose(&self, path: &Path) -> Whose {
        let file =
            CheckpointFile::new(self.anchor(path), path, IDS, Accepts::Any).of_another_user_if(self.may_be_foreign);
        let mark = file.mark().unwrap_or_default();
        let index = index_mark(path);
        if state_ids::is_met(&mark, &index) {
            return Whose::Ours;
        }
        let is_kept = || if state_ids::is_possible() { Whose::Foreign } else { Whose::Ours };
        match file.identity() {
            Ok(None) => Whose::Nobody,
            Err(_) if self.is_own_file(path) && is_tracked(path) => Whose::Foreign,
            Err(_) => Whose::Unclear,
            Ok(Some(Identity { is_empty: true, .. })) if !is_tracked(path) => Whose::Nobody,
            Ok(Some(Identity { id: Some(id), .. })) => match state_ids::standing(&id, &mark) {
                Standing::Met if !is_tracked(path) => {
                    state_ids::keep_met(&mark, &index);
                    Whose::Ours
                }
                Standing::Known if !is_tracked(path) => {
                    state_ids::meet(&id, &mark);
                    Whose::Ours
                }
                Standing::Unknown if !is_tracked(path) => is_kept(),
                Standing::Unknown | Standing::Known | Standing::Met => Whose::Foreign,
            },
            Ok(Some(_)) if self.is_listed() && !is_tracked(path) => Whose::OursWithoutId,
            Ok(Some(_)) if !is_tracked(path) => is_kept(),
            Ok(Some(_)) => Whose::Foreign,
        }
    }

    /// Whether this is a regular file of this user. Links and files of others are refused by whoever opens them.
    fn is_own_file(&self, path: &Path) -> bool {
        self.anchor(path).is_regular(path) && fs::refuse_foreign_owner(path, "checkpoint").is_ok()
    }

    fn is_listed(&self) -> bool {
        registry::is_remembered_by_0_1_0(self.root, self.history)
    }

    fn anchor(&self, path: &Path) -> Anchor {
        if path.starts_with(self.root) { Anchor::new(self.root) } else { Anchor::beside(path) }
    }
}

fn accepts(whose: Whose) -> Accepts {
    match whose {
        // Nothing can be told apart without a place for ids.
        _ if !state_ids::is_possible() => Accepts::Any,
        Whose::OursWithoutId => Accepts::WithoutId,
        Whose::Nobody | Whose::Ours | Whose::Foreign | Whose::Unclear => Accepts::Known,
    }
}

/// The names for our database beside a foreign one, in the order in which they are tried.
fn names_beside(configured: &Path, word: &str) -> impl Iterator<Item = PathBuf> {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let stem = part(configured.file_stem()).unwrap_or_default();
    let ending = part(configured.extension()).map(|ending| format!(".{ending}")).unwrap_or_default();
    let name = move |number: usize| match number {
        1 => format!("{stem}-{word}{ending}"),
        number => format!("{stem}-{word}-{number}{ending}"),
    };
    (1..=MOST_NAMES).map(move |number| configured.with_file_name(name(number)))
}

/// Whether git tracks a file. A repository that git cannot use tracks nothing.
fn is_tracked(path: &Path) -> bool {
    let Some((directory, name)) = path.parent().zip(path.file_name()) else { return false };
    git::top_level(directory).is_some() && Git::at(directory).tracks(name).unwrap_or(false)
}

/// Marks the index of the repository around a file: git replaces it when files are added or removed. Empty outside of work
/// trees.
fn index_mark(path: &Path) -> String {
    let directories = path.parent().and_then(git::top_level).and_then(git::directories);
    let Some(index) = directories.map(|found| found.private.join("index")) else { return String::new() };
    let modified = fs::modified(&index).and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    format!("{}:{}", fs::mark(&index).unwrap_or_default(), modified.unwrap_or_default().as_nanos())
}
