//! What this user's own runs wrote, as lines in the user's own state, where no repository can put anything.
//!
//! Memory and history travel with repositories, so a file in a project does not say who wrote it. This record does:
//!
//! | in `~/.local/state/agent-handover` | holds |
//! |---|---|
//! | `runs/YYYY-MM` | keys of what our runs wrote, and of what an allowed pull brought, a line each |
//! | `adopted/<directory>` | keys of what was in this directory when the user said that it is theirs |
//! | `created/<directory>` | a mark: a run of ours made this directory from nothing, and nobody else writes into it |
//!
//! Whoever uses the repository writes into a directory that git tracks, so the mark of such a directory means nothing.
//!
//! A key is the digest of a text, so a text that we did not write is never ours, whatever run it names. The month of a key
//! only says which file to look into. The ids of our runs are kept, too: in a directory that only we write into, a text
//! that names one of them is ours even if somebody reworded it by hand.
//!
//! Nothing here decides whether something is carried out; it decides how a text is presented.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::consent_store::ConsentStore;
use crate::base::fs::{self, About, Anchor, FileKind};
use crate::base::{clock, env, ids, text};
use crate::error::{Error, Result};

/// How many files are examined for their owner. A session start waits for this.
const MOST_FILES: usize = 10_000;

/// The file for keys without a month.
const UNDATED: &str = "undated";

/// How many bytes of a digest a key has.
const KEY_BYTES: usize = 16;

/// What identifies a piece of memory or history in the record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OwnKey {
    month: String,
    line: String,
    /// The file that the text is in, if that is known. Who vouches for the text then looks at this file only.
    file: Option<PathBuf>,
}

impl OwnKey {
    /// The text that stands for it in the record.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// The key as one text, from which [`OwnKey::of_stored`] makes it again.
    pub(crate) fn stored(&self) -> String {
        format!("{} {}", self.month, self.line)
    }

    pub(crate) fn of_stored(text: &str) -> Option<OwnKey> {
        let (month, line) = text.split_once(' ')?;
        Some(OwnKey { month: month.to_owned(), line: line.to_owned(), file: None })
    }

    /// The key of a run itself; `None` if this is not the id of a run.
    pub(crate) fn of_run(id: &str) -> Option<OwnKey> {
        let month = ids::time_of_run_id(id)?.format("%Y-%m").to_string();
        Some(OwnKey { month, line: id.to_owned(), file: None })
    }

    /// The key of a text that was said in a run, and of one without a run that was written at the time `when`.
    pub(crate) fn of_said(sort: &'static str, run: &str, when: &str, content: &[u8]) -> OwnKey {
        let key = OwnKey::of_text(sort, when, content);
        OwnKey { month: OwnKey::of_run(run).map_or(key.month, |run| run.month), ..key }
    }

    /// The key of a text. `sort` names what the text is, `when` begins with its date if it has one.
    pub(crate) fn of_text(sort: &'static str, when: &str, content: &[u8]) -> OwnKey {
        OwnKey::of_digest(sort, when, &text::digest(content, KEY_BYTES))
    }

    /// Like [`OwnKey::of_text`], for a text whose digest is known already, in hexadecimal digits.
    pub(crate) fn of_digest(sort: &'static str, when: &str, digest: &str) -> OwnKey {
        let is_month = |text: &&str| {
            let digit = |(at, byte): (usize, u8)| if at == 4 { byte == b'-' } else { byte.is_ascii_digit() };
            text.bytes().enumerate().all(digit)
        };
        let month = when.get(..7).filter(is_month).unwrap_or(UNDATED).to_owned();
        let digest = digest.get(..2 * KEY_BYTES).unwrap_or(digest);
        OwnKey { month, line: [sort, " ", digest].concat(), file: None }
    }

    /// The key of a text that was read from this file.
    pub(crate) fn in_file(self, file: &Path) -> OwnKey {
        OwnKey { file: Some(file.to_path_buf()), ..self }
    }
}

/// A directory of memory or history, as far as the record knows it.
pub(crate) struct OwnDirectory {
    path: PathBuf,
    /// A run of ours made it.
    is_created_here: bool,
    /// Whether git tracks something in it. It is asked only about text that nothing else vouches for.
    tracks: fn(&Path) -> bool,
    is_tracked: OnceCell<bool>,
    /// Whether other users write into it. It is looked for as late.
    is_shared: OnceCell<bool>,
    /// The same for single files and directories in it.
    shared_paths: RefCell<HashMap<PathBuf, bool>>,
    /// Its path without links, once somebody asked for it.
    real: OnceCell<PathBuf>,
}

impl OwnDirectory {
    pub(crate) fn of(path: &Path, tracks: fn(&Path) -> bool) -> OwnDirectory {
        OwnDirectory {
            path: path.to_path_buf(),
            is_created_here: is_created(path),
            tracks,
            is_tracked: OnceCell::new(),
            is_shared: OnceCell::new(),
            shared_paths: RefCell::default(),
            real: OnceCell::new(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its path without links, as it was when this was first asked.
    pub(super) fn real_path(&self) -> &Path {
        self.real.get_or_init(|| fs::resolve(&self.path).unwrap_or_else(|_| self.path.clone()))
    }

    /// Whether all text in it is ours unless it says otherwise: a run of ours made it, and nobody else writes into it.
    pub(crate) fn vouches(&self) -> bool {
        self.vouches_unless(|| *self.is_shared.get_or_init(|| is_shared(&self.path)))
    }

    /// Whether the text with this key is ours unless it says otherwise. If the file is known that it is in, only this file and
    /// the directories above it are examined: what other files there are does not change who can write this one.
    fn vouches_for(&self, key: &OwnKey) -> bool {
        let below = key.file.as_deref().and_then(|file| file.strip_prefix(&self.path).ok());
        below.map_or_else(|| self.vouches(), |below| self.vouches_unless(|| self.is_path_shared(below)))
    }

    fn vouches_unless(&self, is_shared: impl Fn() -> bool) -> bool {
        self.is_created_here
            // Somebody else may have put another directory in its place.
            && fs::refuse_foreign_owner(&self.path, "directory").is_ok()
            && !is_shared()
            && !*self.is_tracked.get_or_init(|| (self.tracks)(&self.path))
    }

    /// Whether another user, but root, owns or may write this path below the directory, or a directory above it.
    fn is_path_shared(&self, below: &Path) -> bool {
        let mut known = self.shared_paths.borrow_mut();
        let mut is_one_shared = |below: &Path| {
            let examine = || {
                let path = self.path.join(below);
                let is_root = below.as_os_str().is_empty();
                let anchor = if is_root { Anchor::beside(&self.path) } else { Anchor::new(&self.path) };
                anchor.about(if is_root { &self.path } else { &path }).ok().flatten()
            };
            *known.entry(below.to_path_buf()).or_insert_with(|| examine().is_some_and(|about| is_of_others(&about)))
        };
        below.ancestors().any(&mut is_one_shared)
    }
}

/// The record as it is on disk. Each file is read at most once, and only if a key asks for it.
pub(crate) struct OwnRecord {
    /// `None` without a home directory: nothing is known then.
    state: Option<PathBuf>,
    months: RefCell<HashMap<String, HashSet<String>>>,
    adopted: RefCell<HashMap<PathBuf, HashSet<String>>>,
}

impl OwnRecord {
    pub(crate) fn open() -> OwnRecord {
        OwnRecord::at(place())
    }

    fn at(state: Option<PathBuf>) -> OwnRecord {
        OwnRecord { state, months: RefCell::default(), adopted: RefCell::default() }
    }

    /// Whether the text with this key in this directory is this user's own. `run` is the run that it names, if any.
    pub(crate) fn owns(&self, directory: &OwnDirectory, key: &OwnKey, run: &str) -> bool {
        self.has(key)
            || self.is_adopted(&directory.path, key)
            || OwnKey::of_run(run).is_none_or(|run| self.has(&run)) && directory.vouches_for(key)
    }

    /// Whether a run of this user wrote what the key stands for, or an allowed pull brought it.
    pub(crate) fn has(&self, key: &OwnKey) -> bool {
        let Some(state) = &self.state else { return false };
        let mut months = self.months.borrow_mut();
        let lines = months.entry(key.month.clone()).or_insert_with(|| read_lines(&state.join("runs").join(&key.month)));
        lines.contains(&key.line)
    }

    /// Whether the user adopted it with what was in this directory.
    pub(crate) fn is_adopted(&self, directory: &Path, key: &OwnKey) -> bool {
        let Some(state) = &self.state else { return false };
        let mut adopted = self.adopted.borrow_mut();
        let lines = adopted.entry(directory.to_path_buf()).or_insert_with(|| {
            let file = adopted_file(state, directory);
            file.map(|file| read_lines(&file)).unwrap_or_default()
        });
        lines.contains(&key.line)
    }
}

/// Whether there is a place for the record. Without one everything counts as having come along.
pub(crate) fn is_possible() -> bool {
    env::user_state().is_some()
}

/// The file for the keys of this month, if it cannot be written.
pub(crate) fn unwritable() -> Option<PathBuf> {
    let file = place()?.join("runs").join(clock::now().format("%Y-%m").to_string());
    (!fs::may_write(&file)).then_some(file)
}

/// Adds keys to the record, durably. Keys that it has already cost no write.
pub(crate) fn remember(keys: impl IntoIterator<Item = OwnKey>) -> Result<()> {
    match place() {
        Some(state) => remember_in(&state, keys, fs::append_durably),
        None => Ok(()),
    }
}

/// Adds the keys of texts that a run is about to write, without waiting for the disk: the run itself is on record already,
/// and every later key makes these durable. A failure is only logged: the texts then count as having come along.
pub(crate) fn remember_texts(keys: impl IntoIterator<Item = OwnKey>) {
    let append = |path: &Path, lines: &[String]| fs::append(path, lines).map(drop);
    let remembered = place().map_or(Ok(()), |state| remember_in(&state, keys, append));
    if let Err(error) = remembered {
        tracing::debug!(error = error.one_line(), "not remembered as ours");
    }
}

fn remember_in(
    state: &Path,
    keys: impl IntoIterator<Item = OwnKey>,
    append: fn(&Path, &[String]) -> Result<()>,
) -> Result<()> {
    let record = OwnRecord::at(Some(state.to_path_buf()));
    let mut new: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for key in keys {
        let lines = new.entry(key.month.clone()).or_default();
        if !record.has(&key) && !lines.contains(&key.line) {
            lines.push(key.line);
        }
    }
    new.retain(|_, lines| !lines.is_empty());
    if new.is_empty() {
        return Ok(());
    }
    let directory = state.join("runs");
    fs::create_private_directories(&directory)?;
    for (month, lines) in new {
        append(&directory.join(month), &lines)?;
    }
    Ok(())
}

/// Whether the user, or an upgrade, has ever adopted this directory. Taking it back does not make this false.
pub(crate) fn was_adopted(directory: &Path) -> bool {
    place().and_then(|state| adopted_file(&state, directory)).is_some_and(|file| fs::is_file(&file))
}

/// Adopts what is in this directory now. Replaces what was adopted before.
pub(crate) fn adopt(directory: &Path, keys: impl IntoIterator<Item = OwnKey>) -> Result<()> {
    let Some(state) = place() else {
        return Err(Error::failed("there is no home directory to keep this in").hint("set HOME"));
    };
    let file = adopted_file(&state, directory)
        .ok_or_else(|| Error::failed(format!("`{}` cannot be resolved", directory.display())))?;
    let lines: std::collections::BTreeSet<String> = keys.into_iter().map(|key| key.line + "\n").collect();
    fs::create_private_directories(&state.join("adopted"))?;
    fs::replace(&file, lines.into_iter().collect::<String>().as_bytes())
}

/// Takes an adoption back. `false` if nothing was adopted.
pub(crate) fn revoke_adoption(directory: &Path) -> Result<bool> {
    let Some(file) = place().and_then(|state| adopted_file(&state, directory)) else { return Ok(false) };
    if read_lines(&file).is_empty() {
        return Ok(false);
    }
    // The empty file remembers that an upgrade need not adopt the directory again.
    fs::replace(&file, b"").map(|()| true)
}

/// Marks a directory that a run of ours makes from nothing, so that it vouches for text in it. A failure is
/// ignored: such text then counts as having come along.
pub(crate) fn mark_created(directory: &Path) {
    if let Some(store) = created().filter(|store| !store.is_set(directory, &[])) {
        let _ = store.set(directory, &[]);
    }
}

/// Takes the mark of [`mark_created`] back, because others write into the directory, too.
pub(crate) fn unmark_created(directory: &Path) {
    if let Some(store) = created() {
        let _ = store.clear(directory, &[]);
    }
}

pub(crate) fn is_created(directory: &Path) -> bool {
    created().is_some_and(|store| store.is_set(directory, &[]))
}

/// Whether another user, but root, owns something in this directory, or may write the directory or something in it.
fn is_shared(directory: &Path) -> bool {
    let anchor = Anchor::new(directory);
    if Anchor::beside(directory).about(directory).ok().flatten().is_some_and(|about| is_open(&about)) {
        return true;
    }
    let (mut left, mut seen) = (vec![directory.to_path_buf()], 0);
    while let Some(directory) = left.pop() {
        for name in anchor.names(&directory).unwrap_or_default() {
            let path = directory.join(name);
            let Ok(Some(about)) = anchor.about(&path) else { continue };
            seen += 1;
            if is_of_others(&about) {
                return true;
            }
            if seen > MOST_FILES {
                return false;
            }
            left.extend((about.kind == FileKind::Directory).then_some(path));
        }
    }
    false
}

/// Whether another user, but root, owns it or may write it.
fn is_of_others(about: &About) -> bool {
    fs::is_foreign_owner(about.owner) || is_open(about)
}

fn is_open(about: &About) -> bool {
    about.is_shared && matches!(about.kind, FileKind::Directory | FileKind::Regular)
}

fn created() -> Option<ConsentStore> {
    place()?;
    ConsentStore::of("created").ok()
}

fn place() -> Option<PathBuf> {
    // Tests of the library itself have no home of their own.
    if cfg!(test) { None } else { env::user_state() }
}

fn adopted_file(state: &Path, directory: &Path) -> Option<PathBuf> {
    let real = fs::resolve(directory).ok()?;
    Some(state.join("adopted").join(text::digest(real.as_os_str().as_bytes(), 16)))
}

fn read_lines(file: &Path) -> HashSet<String> {
    let is_own = fs::refuse_foreign_owner(file, "record").is_ok();
    let bytes = if is_own { fs::read_if_exists(file).ok().flatten() } else { None };
    String::from_utf8_lossy(&bytes.unwrap_or_default()).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "01KJ0000000000000000000000";

    #[test]
    fn the_month_of_a_run_is_that_of_its_id() {
        let key = OwnKey::of_run(RUN).unwrap();
        assert_eq!((key.month.as_str(), key.line.as_str()), ("2026-02", RUN));
        assert_eq!(OwnKey::of_run("merge-ab12"), None);
        let month = |when: &str| OwnKey::of_text("text", when, b"x").month;
        assert_eq!(
            [month("2026-11-15"), month("2026"), month("../../x"), month("")],
            ["2026-11", UNDATED, UNDATED, UNDATED]
        );
    }

    #[test]
    fn keys_are_remembered_once_and_each_file_is_read_once() {
        let state = crate::base::scratch::directory();
        let keys = || [OwnKey::of_run(RUN).unwrap(), OwnKey::of_text("handoff", "2026-11-15", b"a")];
        let other = OwnKey::of_text("handoff", "2026-11-15", b"b");
        for _ in 0..2 {
            remember_in(state.path(), keys(), fs::append_durably).unwrap();
        }
        let file = state.path().join("runs/2026-11");
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
        let record = OwnRecord::at(Some(state.path().to_path_buf()));
        assert!(keys().iter().all(|key| record.has(key)) && !record.has(&other));
        std::fs::remove_file(&file).unwrap();
        assert!(record.has(&keys()[1]), "read again");
    }

    #[test]
    fn a_line_that_a_power_cut_tore_does_not_spoil_the_next() {
        let state = crate::base::scratch::directory();
        std::fs::create_dir(state.path().join("runs")).unwrap();
        std::fs::write(state.path().join("runs/2026-02"), "01KH00").unwrap();
        remember_in(state.path(), OwnKey::of_run(RUN), fs::append_durably).unwrap();
        assert!(OwnRecord::at(Some(state.path().to_path_buf())).has(&OwnKey::of_run(RUN).unwrap()));
    }

    #[test]
    fn a_run_of_ours_vouches_for_other_text_only_where_nobody_else_writes() {
        let state = crate::base::scratch::directory();
        remember_in(state.path(), OwnKey::of_run(RUN), fs::append_durably).unwrap();
        let record = OwnRecord::at(Some(state.path().to_path_buf()));
        let reworded = OwnKey::of_said("item", RUN, "", b"reworded");
        let place = |is_created_here| OwnDirectory {
            path: state.path().to_path_buf(),
            is_created_here,
            tracks: |_| false,
            is_tracked: OnceCell::new(),
            is_shared: OnceCell::new(),
            shared_paths: RefCell::default(),
            real: OnceCell::new(),
        };
        assert!(record.owns(&place(true), &reworded, RUN) && record.owns(&place(true), &reworded, ""));
        assert!(!record.owns(&place(true), &reworded, "01KJ0000000000000000000001"));
        assert!(!record.owns(&place(false), &reworded, RUN) && !record.owns(&place(false), &reworded, ""));
        let tracked = OwnDirectory { tracks: |_| true, ..place(true) };
        assert!(!record.owns(&tracked, &reworded, RUN) && !record.owns(&tracked, &reworded, ""));
    }

    #[test]
    fn without_a_home_nothing_is_ours() {
        assert!(!OwnRecord::at(None).has(&OwnKey::of_run(RUN).unwrap()));
    }
}
