//! The first warmup of a project without any handover: it is made from the newest transcripts of this user, and written
//! nowhere.

use std::path::Path;

use super::told::Told;
use crate::base::{fs, text};
use crate::checkpoint::Store;
use crate::project::{self, Project};
use crate::transcript::{self, SessionFile, Source, Transcript};

/// How many transcripts are read.
const MOST_READ: usize = 3;
/// How much of the end of each is read.
const END: u64 = 2 << 20;
/// How much of the beginning of a longer one is read, where the goal is.
const BEGINNING: u64 = 512 << 10;
/// How many files are looked into. Of most, only the first records are read.
const LOOKED_INTO: usize = 50;

/// The sessions of this user on disk for a project, newest first, without those of subagents. At most fifty files are
/// looked into.
fn sessions_on_disk(root: &Path) -> Vec<SessionFile> {
    let belongs = |cwd: &Path| project::root(cwd) == root;
    let files = transcript::sessions_at_a_glance(root, belongs);
    files.take(LOOKED_INTO).filter(|file| !file.is_subagent).collect()
}

/// A sentence for a person who sets up a project: how many sessions its first warmup can be made of. `None` if there are
/// none, or if there is a handover already.
pub(crate) fn sessions_found(project: &Project) -> Option<String> {
    let is_used = |place: crate::error::Result<std::path::PathBuf>| place.is_ok_and(|place| fs::exists(&place));
    if is_used(project.history_dir()) || is_used(project.memory_dir()) {
        return None;
    }
    let count = sessions_on_disk(&project.root).len();
    let many = if count == LOOKED_INTO { "at least " } else { "" };
    let sessions = text::count(count, "earlier session");
    (count > 0).then(|| format!("found {many}{sessions} of this project: the first warmup is made of the newest"))
}

/// What the newest of them said and did, newest first, and how many there are. `own` is the session that starts.
pub(super) fn told(project: &Project, own: &str) -> (Vec<Told>, usize) {
    // A config that nobody allowed may name a state directory that holds other files.
    if !project.unattended_places().has_state() {
        return (Vec::new(), 0);
    }
    let mut files = sessions_on_disk(&project.root);
    // What a hook has seen is handed over when it ends.
    let store = Store::read(&project.checkpoint_file()).ok().flatten();
    let is_seen = |file: &SessionFile| {
        store.as_ref().is_some_and(|store| matches!(store.session(file.agent, &file.session), Ok(Some(_))))
    };
    files.retain(|file| file.session != own && !is_seen(file));
    let read = files.iter().take(MOST_READ).filter_map(read);
    let of_people = read.filter(|found| !found.is_subagent && found.is_headless != Some(true) && found.requests > 0);
    (of_people.map(|found| Told::of_transcript(&project.root, found)).collect(), files.len())
}

fn read(file: &SessionFile) -> Option<Transcript> {
    let whole = Source::pin(&file.path, &file.session).ok()?;
    both_ends(&whole, BEGINNING, END)
}

/// What a transcript shows at both of its ends.
pub(crate) fn both_ends(whole: &Source, beginning: u64, end: u64) -> Option<Transcript> {
    let last = Source { start: whole.end.saturating_sub(end), ..whole.clone() };
    let mut found = last.read().ok()??;
    if last.start > 0
        && let Ok(Some(first)) = (Source { end: beginning.min(last.start), ..whole.clone() }).read()
        && !first.first_request.is_empty()
    {
        found.first_request = first.first_request;
        let mut talk = first.talk;
        talk.append(&mut found.talk);
        found.talk = talk;
    }
    Some(found)
}
