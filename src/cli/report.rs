//! `report`: a page about the project, as one HTML file.

use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset};
use clap::Args;

use super::Context;
use crate::base::clock;
use crate::base::fs::{self, Anchor};
use crate::base::process::{self, Job};
use crate::config;
use crate::error::{Error, Result};
use crate::history::registry;
use crate::project::{Options, Project};
use crate::report::{self, Extent, Picture};
use crate::search::{self, Edge};
use crate::steps;

/// How many sessions have a row of their own, over all projects of a page.
const ROWS: usize = 2_000;
/// How many sessions of a project are listed at least, if the page has many projects.
const FEWEST_ROWS: usize = 20;

/// Write a page about this project that you can open in a browser: where it stands, sessions, decisions, checks
#[derive(Args)]
pub(super) struct Report {
    /// Write the page to this file [default: `report.html` in the state directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Open the page in your browser
    #[arg(long)]
    open: bool,
    /// Only what happened since then: 2026-11-15, 7d, "last Tuesday" or a time
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    since: Option<String>,
    /// Include every project in which you have archived a handoff
    #[arg(long)]
    all_projects: bool,
}

/// Names that a page must not have: those of the config and of the brake, and the usual one for standard output.
const RESERVED: &[&str] = &[config::FILE_NAME, "PAUSE", "-"];

impl Report {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let now = clock::now();
        let since = self.since.as_deref().map(|text| since(text, &now)).transpose()?;
        let project = context.project(None, None)?;
        if self.output.is_some()
            && let Some(stop) = project.brake().pressed()
        {
            return Err(stop.error());
        }
        let path = self.path(context, &project)?;
        let pictures = if self.all_projects {
            of_all(context, project.memory_root.clone(), since)
        } else {
            vec![report::collect(&project, &Extent { since, rows: ROWS })]
        };
        let time = |time: &DateTime<_>| time.format("%Y-%m-%d %H:%M").to_string();
        let page = report::render(&pictures, &time(&now), since.as_ref().map(time).as_deref())?;
        let hint = "name a directory that exists and that you can write to with `--output`";
        fs::replace(&path, page.as_bytes()).map_err(|error| error.hint(hint))?;
        context.ui.answer(&path.display().to_string());
        if self.open {
            open(&path)?;
        }
        Ok(0)
    }

    fn path(&self, context: &Context<'_>, project: &Project) -> Result<PathBuf> {
        if let Some(path) = &self.output {
            let path = context.cwd.join(path);
            if let Some(name) = path.file_name().filter(|name| RESERVED.iter().any(|taken| name == taken)) {
                let message = format!("a page cannot have the name `{}`, which means something else", name.display());
                return Err(Error::usage(message).hint("name another file with `--output`, such as `report.html`"));
            }
            return if may_become_a_page(&path) { Ok(path) } else { Err(not_a_page(&path)) };
        }
        project.prepare().map_err(|error| error.hint("write the page elsewhere with `--output FILE`"))?;
        Ok(project.state.join("report.html"))
    }
}

fn since(text: &str, now: &DateTime<FixedOffset>) -> Result<DateTime<FixedOffset>> {
    let seconds = search::flag_moment("--since", text, now, Edge::Start)?;
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    Ok(time.with_timezone(now.offset()))
}

/// This project and every other one that this user has written.
fn of_all(context: &Context<'_>, here: PathBuf, since: Option<DateTime<FixedOffset>>) -> Vec<Picture> {
    let mut roots = vec![here];
    roots.extend(registry::known().into_iter().map(|known| known.root));
    let mut seen = std::collections::HashSet::new();
    roots.retain(|root| seen.insert(fs::real(root)));
    let extent = Extent { since, rows: (ROWS / roots.len()).max(FEWEST_ROWS) };
    let picture = |root: &PathBuf| match Project::open(root, &Options::default(), &steps::vocabulary()) {
        Ok(project) => Some(report::collect(&project, &extent)),
        Err(error) => {
            context.ui.warn(&format!("{} is left out: {}", root.display(), error.one_line()));
            None
        }
    };
    roots.iter().filter_map(picture).collect()
}

/// Whether nothing of the user is lost if a page is written there: nothing is there, an empty file, or an earlier page.
fn may_become_a_page(path: &Path) -> bool {
    let start = Anchor::beside(path).read_start(path, report::HEAD);
    !fs::is_taken(path) || start.is_ok_and(|start| start.is_empty() || report::is_page(&start))
}

fn not_a_page(path: &Path) -> Error {
    let message = format!("`{}` exists and is not a page of this program; it was not changed", path.display());
    Error::failed(message).hint("name another file with `--output`")
}

/// Runs the program that the desktop opens files with.
fn open(path: &Path) -> Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let directory = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let argv = vec![program.into(), path.into()];
    let job = Job { argv, directory, env: Vec::new(), env_remove: Vec::new() };
    let yourself = format!("open {} yourself", path.display());
    match process::run_unmarked(&job) {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Error::failed(format!("`{program}` did not open the page")).hint(yourself)),
        Err(error) => Err(error.hint(yourself)),
    }
}
