//! Transcripts that their agents are about to delete, and how many of them nobody has handed over.
//!
//! A file counts by the time of its last change, as agents count it. Files are listed within limits, and only a few that no
//! record knows are opened.

use std::path::PathBuf;

use chrono::{DateTime, Duration, FixedOffset};

use super::sweep::is_kept_out;
use crate::agents::{AGENTS, Agent, Places};
use crate::base::{clock, text};
use crate::checkpoint::Store;
use crate::project::{self, Project};
use crate::transcript::{self, Asks, Extent, FoundFile, ListingLimits, Source};

/// How many days before the deletion a person hears of it.
const NOTICE: u64 = 7;
/// How many bytes of a transcript are searched for a request. In a longer one, a request is assumed.
const LOOK: u64 = 64 << 10;

/// How much is looked at.
#[derive(Clone, Copy)]
pub(crate) struct DeletionLimits {
    listing: ListingLimits,
    /// Files that are opened.
    opened: usize,
}

impl DeletionLimits {
    /// For a view that answers in milliseconds.
    pub(crate) const GLANCE: DeletionLimits = DeletionLimits { listing: ListingLimits::GLANCE, opened: 40 };
    /// For a person who asked for a diagnosis.
    pub(crate) const DIAGNOSIS: DeletionLimits =
        DeletionLimits { listing: ListingLimits { entries: 20_000, days: 400 }, opened: 1_000 };
}

/// Transcripts of this project that one agent is about to delete.
pub(crate) struct Deletion {
    pub agent: &'static Agent,
    /// For how many days the agent keeps a transcript.
    pub days: u64,
    /// How many are deleted within the next days.
    pub count: usize,
    /// When the oldest may be deleted.
    pub from: DateTime<FixedOffset>,
    /// Those that were not handed over, the oldest first.
    pub without_handover: Vec<PathBuf>,
    /// There may be more, because not everything was looked at.
    pub is_at_least: bool,
}

impl Deletion {
    /// The command that hands the oldest over that nobody has handed over.
    pub(crate) fn command(&self) -> Option<String> {
        let oldest = self.without_handover.first()?;
        Some(format!("agent-handover run --transcript {}", text::shell_word(&oldest.display().to_string())))
    }

    /// The whole matter in one sentence.
    pub(crate) fn sentence(&self) -> String {
        let Deletion { agent, days, count, .. } = self;
        let at_least = if self.is_at_least { "at least " } else { "" };
        let noun = if *count == 1 { "transcript" } else { "transcripts" };
        let when = match self.from {
            from if from <= clock::now() => "when it starts next".to_owned(),
            from => format!("from {} on", from.date_naive()),
        };
        let left = match self.without_handover.len() {
            0 if *count == 1 => "it is handed over".to_owned(),
            0 => "all are handed over".to_owned(),
            1 => "1 has no handover".to_owned(),
            left => format!("{left} have no handover"),
        };
        let title = agent.title;
        format!(
            "{title} deletes {at_least}{count} {noun} of this project {when} (it keeps them for {}); {left}",
            text::count(usize::try_from(*days).unwrap_or(usize::MAX), "day")
        )
    }
}

/// What each agent is about to delete.
pub(crate) fn about_to_be_deleted(project: &Project, limits: DeletionLimits) -> Vec<Deletion> {
    let Ok(places) = Places::here(&project.root) else { return Vec::new() };
    let deleting = AGENTS.iter().filter_map(|agent| Some((*agent, (agent.deletes_after)(&places)?)));
    deleting.filter_map(|(agent, days)| of_agent(project, agent, days, limits)).collect()
}

fn of_agent(project: &Project, agent: &'static Agent, days: u64, limits: DeletionLimits) -> Option<Deletion> {
    let kept_for = Duration::days(i64::try_from(days).ok().filter(|days| *days < 100_000)?);
    let last_safe = clock::now() - kept_for + Duration::days(i64::try_from(NOTICE.min(days)).unwrap_or(0));
    let roots = project.worktree_roots();
    let found = transcript::places_of_agent(agent.name, &roots, limits.listing);
    let mut is_at_least = found.iter().any(|place| place.extent != Extent::Whole);
    let mut files: Vec<FoundFile> = found.into_iter().flat_map(|place| place.files).collect();
    files.retain(|file| clock::of_file(file.state.modified) < last_safe);
    files.sort_by(|a, b| a.state.modified.cmp(&b.state.modified).then_with(|| a.path.cmp(&b.path)));
    let store = Store::read(&project.checkpoint_file()).ok().flatten();
    let mut look = Look { project, store, roots, opened: 0 };
    let mut deletion = None;
    for file in &files {
        if look.opened == limits.opened {
            is_at_least = true;
            break;
        }
        let Some(is_handed_over) = look.at(file) else { continue };
        let deletion = deletion.get_or_insert_with(|| Deletion {
            agent,
            days,
            count: 0,
            from: clock::of_file(file.state.modified) + kept_for,
            without_handover: Vec::new(),
            is_at_least: false,
        });
        deletion.count += 1;
        if !is_handed_over {
            deletion.without_handover.push(file.path.clone());
        }
    }
    deletion.map(|deletion| Deletion { is_at_least, ..deletion })
}

struct Look<'a> {
    project: &'a Project,
    store: Option<Store>,
    roots: Vec<PathBuf>,
    opened: usize,
}

impl Look<'_> {
    /// Whether the session of a file was handed over. `None` if it is not one of this project, or has nothing to hand over.
    fn at(&mut self, file: &FoundFile) -> Option<bool> {
        let session = file.session()?;
        let known = self.store.as_ref().and_then(|store| store.session(file.agent(), &session).ok().flatten());
        if known.is_some_and(|known| known.handed_over > 0 || !known.run.is_empty()) {
            return Some(true);
        }
        self.opened += 1;
        let about = file.open().ok().flatten()?;
        let is_ours = !is_kept_out(self.project, &about) && self.roots.contains(&project::root(&about.cwd));
        let asks = || Source::pin(&file.path, &session).and_then(|source| source.asks(LOOK));
        (is_ours && asks().is_ok_and(|asks| asks != Asks::No)).then_some(false)
    }
}
