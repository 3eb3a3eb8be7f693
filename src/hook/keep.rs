//! Keeps the talk of sessions before their agents delete it, if the user wants that.
//!
//! One file a session. It is written again when the session went on, and all files together stay within a limit: the oldest
//! sessions go first.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, FixedOffset};

use super::sweep::is_kept_out;
use crate::base::fs::{self, Anchor, Depth};
use crate::base::{clock, signals};
use crate::config::{Keep, TALK};
use crate::error::Result;
use crate::guard::own_record;
use crate::history;
use crate::project::{self, Project};
use crate::publish::Destination;
use crate::transcript::{self, FoundFile, KeptHead, ListingLimits, Transcript};

/// How many bytes of kept talk a project has at most.
const MOST: u64 = 64 << 20;
/// How many bytes of talk are held of one session.
const ROOM: usize = 4 << 20;
/// How many bytes of the mark are read.
const MAX_MARK: u64 = 8 << 10;
/// By how much the times of files may be wrong.
const COARSE: Duration = Duration::from_secs(60);
/// By how much the clock of another machine may be ahead.
const AHEAD: chrono::Duration = chrono::Duration::days(1);
/// How long it may take. What is left, the next session end does.
const TIME: Duration = Duration::from_secs(60);

/// A file of kept talk.
struct KeptFile {
    path: PathBuf,
    length: u64,
    ended: Option<DateTime<FixedOffset>>,
}

/// Keeps what is new. It fails silently: the next session end tries again.
pub(super) fn keep_talk(project: &Project) {
    if let Some(directory) = place(project)
        && let Err(error) = keep_in(project, &directory)
    {
        tracing::debug!(error = error.one_line(), "talk");
    }
}

/// Where talk is kept now. `None` if it is not, or if nobody may write there unasked.
fn place(project: &Project) -> Option<PathBuf> {
    let places = project.unattended_places();
    let local = || places.has_state().then(|| project.local_talk());
    match project.keep() {
        Keep::No => None,
        Keep::Talk => local(),
        Keep::Publish => {
            let travels = places.has_history() && places.has_state() && may_travel(project);
            let travelling = travels.then(|| project.history_dir().ok()).flatten();
            travelling.map(|history| history.join(TALK)).or_else(local)
        }
    }
}

/// Whether the history is delivered, and not on the branch that the user works on.
fn may_travel(project: &Project) -> bool {
    let destination = Destination::of(&project.config);
    !destination.is_local() && !destination.is_on_checked_out_branch(&project.root).unwrap_or(true)
}

fn keep_in(project: &Project, directory: &Path) -> Result<()> {
    let (start, end) = (SystemTime::now(), Instant::now() + TIME);
    let anchor = project.anchor(directory);
    // Somebody has deleted what was kept, or it is kept elsewhere from now on.
    let is_first = !fs::is_directory(directory);
    if is_first {
        LookedAt::forget(project);
    }
    anchor.create_private_directories(directory)?;
    anchor.sweep_temporaries(directory, Depth::Directory)?;
    move_here(project, directory)?;
    let roots = project.worktree_roots();
    let places = transcript::places_of(&roots, ListingLimits::NONE);
    let mut files: Vec<FoundFile> = places.into_iter().flat_map(|place| place.files).collect();
    let looked_at = LookedAt::read(project, directory);
    files.retain(|file| looked_at.as_ref().is_none_or(|looked_at| looked_at.is_before(file)));
    files.sort_by(|a, b| b.state.modified.cmp(&a.state.modified).then_with(|| a.path.cmp(&b.path)));
    let mut total: u64 = self::files(&anchor, directory)?.iter().map(|file| file.length).sum();
    let mut is_whole = true;
    for file in &files {
        if Instant::now() > end || signals::received().is_some() || project.brake().pressed().is_some() {
            return Ok(());
        }
        if is_kept(&anchor, directory, file) || !is_wanted(project, &roots, file) {
            continue;
        }
        let (kept, length) = match keep_one(&anchor, directory, file) {
            Ok(Some(kept)) => kept,
            Ok(None) => continue,
            Err(error) => {
                tracing::debug!(error = error.one_line(), "talk");
                is_whole = false;
                continue;
            }
        };
        total += length;
        // All others are older still.
        if total > MOST && trim(&anchor, directory, &mut total)?.contains(&kept) {
            break;
        }
    }
    // What could not be written, such as on a full disk, is tried again.
    if is_whole { LookedAt::write(project, directory, start) } else { Ok(()) }
}

/// When all transcripts were last looked at for this directory. Only those that changed since then need another look: some
/// agents keep the sessions of all projects together, and each would have to be opened again.
struct LookedAt(SystemTime);

impl LookedAt {
    fn file(project: &Project) -> PathBuf {
        project.state.join("talk-looked-at")
    }

    fn read(project: &Project, directory: &Path) -> Option<LookedAt> {
        let file = LookedAt::file(project);
        let content = project.anchor(&project.state).read_within(&file, MAX_MARK).ok()?;
        let (at, place) = std::str::from_utf8(&content).ok()?.trim_end().split_once(' ')?;
        let at = SystemTime::from(clock::parse_stamp(at)?);
        // A time in the future says that the clock was set back.
        (Path::new(place) == directory && at <= SystemTime::now()).then_some(LookedAt(at))
    }

    fn forget(project: &Project) {
        let _ = project.anchor(&project.state).remove_file(&LookedAt::file(project));
    }

    fn write(project: &Project, directory: &Path, at: SystemTime) -> Result<()> {
        let at = clock::stamp(&clock::of_file(at));
        let content = format!("{at} {}\n", directory.display());
        Ok(project.anchor(&project.state).replace(&LookedAt::file(project), content.as_bytes())?)
    }

    /// Whether the file changed, or came here, after that. Both clocks may be coarse.
    fn is_before(&self, file: &FoundFile) -> bool {
        let since = self.0 - COARSE;
        file.state.modified >= since || file.state.changed >= since
    }
}

/// Whether the session is kept as its file is now.
fn is_kept(anchor: &Anchor, directory: &Path, file: &FoundFile) -> bool {
    let name = file.session().and_then(|session| transcript::kept_name(file.agent(), &session));
    let start = name.and_then(|name| anchor.read_start(&directory.join(name), transcript::MAX_KEPT_HEAD).ok());
    start.and_then(|start| KeptHead::of(&start)).is_some_and(|head| head.is_of(&file.state))
}

/// Whether it is a session of this project that is followed.
fn is_wanted(project: &Project, roots: &[PathBuf], file: &FoundFile) -> bool {
    let Ok(Some(about)) = file.open() else { return false };
    !is_kept_out(project, &about) && roots.contains(&project::root(&about.cwd))
}

/// Writes the file of a session; returns its path and its length. `None` if the session has nothing that can be kept.
fn keep_one(anchor: &Anchor, directory: &Path, file: &FoundFile) -> Result<Option<(PathBuf, u64)>> {
    let found: Option<Transcript> =
        transcript::read_with_room(&file.path, 0, file.state.length, ROOM).unwrap_or_else(|error| {
            tracing::debug!(error = error.one_line(), "transcript");
            None
        });
    let Some(found) = found else { return Ok(None) };
    let name = transcript::kept_name(found.agent, &found.session);
    let (Some(name), Some(content)) = (name, transcript::kept(&found, &file.state)) else { return Ok(None) };
    let path = directory.join(name);
    own_record::remember_texts([history::own_keys::of_talk(&content)]);
    anchor.replace(&path, &content)?;
    Ok(Some((path, content.len() as u64)))
}

/// Takes the talk that is kept at the other place along, so that there is one file a session.
fn move_here(project: &Project, directory: &Path) -> Result<()> {
    let to = project.anchor(directory);
    // What travels may be another machine's, so it stays where it is.
    for other in std::iter::once(project.local_talk()).filter(|other| other != directory) {
        let from = project.anchor(&other);
        for name in from.names(&other)?.iter().filter(|name| transcript::of_kept_name(name).is_some()) {
            // What is not a file of ours stays, and holds nothing else back.
            let Ok(content) = from.read_within(&other.join(name), transcript::MAX_KEPT_FILE) else { continue };
            if transcript::read_kept(&content).is_some() {
                to.replace(&directory.join(name), &content)?;
                from.remove_file(&other.join(name))?;
            }
        }
    }
    Ok(())
}

/// Removes the oldest sessions until all are within the limit; returns the paths that went. `total` is what then is left.
fn trim(anchor: &Anchor, directory: &Path, total: &mut u64) -> Result<Vec<PathBuf>> {
    let mut files = files(anchor, directory)?;
    *total = files.iter().map(|file| file.length).sum();
    files.sort_by(|a, b| (a.ended, &a.path).cmp(&(b.ended, &b.path)));
    let mut gone = Vec::new();
    for file in files {
        if *total <= MOST {
            break;
        }
        anchor.remove_file(&file.path)?;
        *total -= file.length;
        gone.push(file.path);
    }
    Ok(gone)
}

fn files(anchor: &Anchor, directory: &Path) -> Result<Vec<KeptFile>> {
    let held = anchor.holding(directory);
    let names = anchor.names(directory)?;
    let latest = clock::now() + AHEAD;
    let of = |name: &String| {
        transcript::of_kept_name(name)?;
        let path = directory.join(name);
        let about = held.about(&path).ok()??;
        let head = held.read_start(&path, transcript::MAX_KEPT_HEAD).ok().and_then(|start| KeptHead::of(&start));
        // A session that ended in the future would stay for ever, and push out all others.
        let ended = head.and_then(|head| head.ended).filter(|ended| *ended <= latest);
        Some(KeptFile { path, length: about.length, ended })
    };
    Ok(names.iter().filter_map(of).collect())
}
