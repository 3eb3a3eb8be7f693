//! The handoffs of every project, as session-handoff's one store lists them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset};

use crate::bundle::{HandoffRecord, record_of};
use crate::engine::Provenance;
use crate::error::{Error, Result};
use crate::history::registry::{self, KnownArchive};
use crate::history::{History, SessionEntry};
use crate::project::{Options, Project};
use crate::steps;

/// What session-handoff can ask for. A blank value is not given.
#[derive(Default)]
pub(super) struct Wanted<'a> {
    /// What the id begins with.
    pub id: Option<&'a str>,
    pub tool: Option<&'a str>,
    pub project: Option<PathBuf>,
    pub query: Option<&'a str>,
    pub since: Option<DateTime<FixedOffset>>,
    /// At most this many, the newest; 0 means all.
    pub limit: usize,
}

/// A handoff, and where it is archived.
pub(super) struct Found {
    pub record: HandoffRecord,
    /// The project whose archive holds it.
    pub root: PathBuf,
    pub is_ours: bool,
}

/// The handoffs that match, newest first, and errors about projects and handoffs that cannot be read.
pub(super) fn find(cwd: &Path, wanted: &Wanted<'_>) -> (Vec<Found>, Vec<Error>) {
    let mut problems = Vec::new();
    let mut entries: Vec<(SessionEntry, KnownArchive)> = Vec::new();
    for archive in archives(cwd) {
        match History::at(&archive.root, archive.directory.clone()).entries() {
            Ok(found) => entries.extend(found.into_iter().map(|entry| (entry, archive.clone()))),
            Err(error) => problems.push(error.lead(&format!("{} is left out: ", archive.root.display()))),
        }
    }
    entries.retain(|(entry, _)| wanted.matches_entry(entry));
    entries.sort_by_key(|(entry, _)| std::cmp::Reverse(entry.age()));
    let mut found = Vec::new();
    for (entry, archive) in entries {
        if wanted.limit > 0 && found.len() == wanted.limit {
            break;
        }
        match read(&entry, &archive) {
            Ok(one) if wanted.matches_text(&one.record) => found.push(one),
            Ok(_) => {}
            Err(error) => problems.push(error.lead(&format!("{} is left out: ", entry.get("session_id")))),
        }
    }
    (found, problems)
}

/// The one handoff with this id, or the only one whose id begins with it; `latest` is the newest.
pub(super) fn resolve(cwd: &Path, id: &str) -> Result<Found> {
    let id = id.trim();
    if id == "latest" {
        let (found, _) = find(cwd, &Wanted { limit: 1, ..Wanted::default() });
        return found.into_iter().next().ok_or_else(|| Error::failed("no handoffs saved"));
    }
    let (mut found, _) = find(cwd, &Wanted { id: Some(id), ..Wanted::default() });
    if let Some(exact) = found.iter().position(|found| found.record.id == id) {
        return Ok(found.swap_remove(exact));
    }
    // The same handoff may have been imported into several projects.
    let mut ids = HashSet::new();
    found.retain(|found| ids.insert(found.record.id.clone()));
    match found.len() {
        0 => Err(Error::failed(format!("handoff id {id:?} not found"))),
        1 => Ok(found.swap_remove(0)),
        count => Err(Error::failed(format!("handoff id prefix {id:?} is ambiguous ({count} matches)"))),
    }
}

/// Every archive of this user, and that of the current project.
fn archives(cwd: &Path) -> Vec<KnownArchive> {
    let mut archives = registry::known();
    let here = Project::open(cwd, &Options::default(), &steps::vocabulary()).ok();
    let here = here.and_then(|project| {
        let directory = project.history_dir().ok()?;
        Some(KnownArchive { root: project.memory_root, directory })
    });
    let is_new = |here: &KnownArchive| archives.iter().all(|known| known.directory != here.directory);
    let exists = |here: &KnownArchive| History::at(&here.root, here.directory.clone()).exists().unwrap_or(false);
    archives.extend(here.filter(|here| is_new(here) && exists(here)));
    archives
}

fn read(entry: &SessionEntry, archive: &KnownArchive) -> Result<Found> {
    let history = History::at(&archive.root, archive.directory.clone());
    let found = history.find(entry.get("session_id"))?;
    let provenance = Provenance::at(&archive.root, &archive.root.join("memory"), &archive.directory);
    let is_ours = provenance.owns_entry(&history, entry);
    Ok(Found { record: record_of(&found.handoff)?, root: archive.root.clone(), is_ours })
}

impl Wanted<'_> {
    fn matches_entry(&self, entry: &SessionEntry) -> bool {
        let is_alike = |tool: &str| tool.trim().to_lowercase() == entry.get("agent").trim().to_lowercase();
        self.id.is_none_or(|id| entry.get("session_id").starts_with(id))
            && self.tool.is_none_or(is_alike)
            && self.project.as_deref().is_none_or(|project| project == Path::new(entry.get("project_root")))
            && self.since.is_none_or(|since| entry.time().is_some_and(|time| time >= since))
    }

    fn matches_text(&self, record: &HandoffRecord) -> bool {
        let Some(query) = self.query else { return true };
        let text = format!("{}\n{}\n{}", record.title, record.summary, record.next().join("\n"));
        text.to_lowercase().contains(&query.trim().to_lowercase())
    }
}
