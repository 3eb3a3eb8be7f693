//! What the page says about one project, collected from its files and databases. Reading changes nothing.

use chrono::{DateTime, FixedOffset};
use serde::Serialize;

use super::growth::{self, Growth, Publisher};
use super::handovers::{self, Handovers, HookTimes, Machine};
use super::helped::{self, Helped, Starts};
use super::timeline::{self, Timeline};
use crate::base::text;
use crate::engine::Provenance;
use crate::error::Error;
use crate::history::History;
use crate::project::Project;
use crate::warmup::{self, Ask, Asked};

/// The warmup that the first part of the page is taken from has room for everything that matters.
const BUDGET: u64 = 12_000;

/// How much of a project the page shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Only what happened since then.
    pub since: Option<DateTime<FixedOffset>>,
    /// At most this many sessions have a row of their own.
    pub rows: usize,
}

impl Extent {
    pub(super) fn covers(&self, time: Option<DateTime<FixedOffset>>) -> bool {
        self.since.is_none_or(|since| time.is_some_and(|time| time >= since))
    }
}

/// Everything that the page says about one project.
#[derive(Debug, Serialize)]
pub(crate) struct Picture {
    pub name: String,
    root: String,
    /// Whether some of the text came with the repository.
    is_strange: bool,
    notices: Vec<String>,
    /// The sections of the warmup: goal, next, rulings and so on.
    stands: Vec<Part>,
    timeline: Timeline,
    /// The day of the last session.
    last: String,
    handovers: Handovers,
    hooks: Vec<HookTimes>,
    starts: Starts,
    helped: Helped,
    growth: Growth,
    machine: Machine,
    publishers: Vec<Publisher>,
    /// What could not be read, a sentence each.
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Part {
    title: &'static str,
    items: Vec<String>,
    omitted: usize,
}

/// Collects what the page says about a project. What cannot be read becomes a sentence on the page.
pub(crate) fn collect(project: &Project, extent: &Extent) -> Picture {
    let mut problems: Vec<Error> = Vec::new();
    let ask = Ask {
        budget: BUDGET,
        extent: warmup::Extent::Whole,
        session: None,
        session_id: "",
        may_read_transcripts: true,
        asked: Asked::default(),
    };
    let warmup = warmup::build(project, ask);
    let timeline = match project.history_dir() {
        Ok(directory) => {
            let history = History::at(&project.memory_root, directory);
            timeline::collect(&history, &Provenance::of(project), extent, &mut problems)
        }
        Err(error) => {
            problems.push(error);
            Timeline::default()
        }
    };
    let handovers = handovers::collect(project, extent, &mut problems);
    let starts = helped::starts(project, extent, &mut problems);
    let helped = helped::helped(project, extent, &mut problems);
    let growth = growth::collect(project, &mut problems);
    let part = |section: warmup::ShownSection| {
        let items = section.items.iter().map(|item| text::for_terminal(item)).collect();
        Part { title: section.title, items, omitted: section.omitted }
    };
    Picture {
        name: name(project),
        root: text::one_line(&project.root.display().to_string(), 500),
        is_strange: !warmup.is_ours,
        notices: warmup.notices.iter().map(|notice| text::one_line(notice, 1_000)).collect(),
        stands: warmup.sections.into_iter().map(part).filter(|part| !part.items.is_empty()).collect(),
        last: timeline.last.clone(),
        timeline,
        handovers,
        hooks: handovers::hook_times(project, extent),
        starts,
        helped,
        growth,
        machine: handovers::machine(project),
        publishers: growth::publishers(project),
        problems: problems.iter().map(|problem| text::one_line(&problem.one_line(), 1_000)).collect(),
    }
}

fn name(project: &Project) -> String {
    let name = project.memory_root.file_name().map(|name| name.to_string_lossy().into_owned());
    text::one_line(&name.unwrap_or_else(|| project.memory_root.display().to_string()), 100)
}
