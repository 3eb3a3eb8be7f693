//! The arguments of `search`, and the call that they make.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::super::Context;
use super::super::ids::SessionIds;
use super::super::ui::Ui;
use super::{json, list};
use crate::base::{clock, fs, signals, text};
use crate::engine::Provenance;
use crate::error::{Category, Error, Result};
use crate::history::{History, registry};
use crate::project::{Options, Project};
use crate::search::{self, Asker, Edge, Freshness, Hit, Meaning, PassageKind, Query};
use crate::steps;

/// How long a search brings the index up to date before it answers with what it has.
const UPDATE_TIME: Duration = Duration::from_secs(10);

/// How much of either end of an error message is kept, and how much of it is read: a log is long, and may not end.
const KEPT: usize = 512 << 10;
const MAX_MESSAGE: u64 = 256 << 20;

/// Find the earlier session, note or decision in which something was said
#[derive(Args)]
pub(in crate::cli) struct Search {
    /// What to look for: words, a question, "a quoted phrase", path:FILE, error:MESSAGE
    #[arg(value_name = "QUERY", required_unless_present_any = ["error", "path"])]
    query: Vec<String>,
    /// Read an error message from standard input and find earlier sessions that met it, with what was done next
    #[arg(long, conflicts_with_all = ["query", "path", "kind"])]
    error: bool,
    /// List the sessions that edited this file, or a file in this directory, newest first, with what was asked, decided and
    /// run around it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "kind", "all_projects"])]
    path: Option<PathBuf>,
    /// Show at most this many hits
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// Only passages of this kind; may be repeated
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(PassageKind::names()))]
    kind: Vec<String>,
    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only sessions on this branch
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Only what was said since then: 2026-11-15, 7d, "last Tuesday" or a time
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    since: Option<String>,
    /// Only what was said until then
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    until: Option<String>,
    /// Search every project in which you have archived a handoff
    #[arg(long)]
    all_projects: bool,
    /// Show this many passages before and after each hit
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    context: u32,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// A hit with what the answer says beside it.
pub(super) struct Found {
    pub hit: Hit,
    /// The id of its handoff, as short as it can be; empty if it has none.
    pub handoff: String,
    /// The root of its project, if several are searched.
    pub project: Option<String>,
    pub is_ours: bool,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// What a search came to.
#[derive(Default)]
struct Searched {
    found: Vec<Found>,
    freshness: Freshness,
    is_empty_question: bool,
    meaning: Meaning,
}

impl Search {
    pub(in crate::cli) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let query = self.query(context)?;
        let searched = if self.all_projects {
            self.in_all_projects(context, &query)?
        } else {
            self.in_project(context.ui, &context.project(None, None)?, &query, None)
        };
        if let Some(signal) = signals::received() {
            return Err(Error::new(Category::Signal(signal), format!("interrupted by {}", signals::name(signal))));
        }
        let Searched { found, freshness, is_empty_question, meaning } = searched;
        if freshness.missing > 0 {
            context.ui.tell(&missing(&freshness));
        }
        if let Some(notice) = vectors_notice(&meaning) {
            context.ui.tell(&notice);
        }
        if self.json {
            context.ui.answer_json(&json::document(&found, &freshness, &meaning));
        } else if found.is_empty() {
            context.ui.tell(self.hint(is_empty_question));
        } else {
            list::print(context.ui, &found);
        }
        Ok(u8::from(found.is_empty()))
    }

    /// What to do if nothing was found.
    fn hint(&self, is_empty_question: bool) -> &'static str {
        match (self.error, &self.path) {
            (true, _) if is_empty_question => {
                "standard input has no error message; for example: `cargo test 2>&1 | agent-handover search --error`"
            }
            _ if is_empty_question => "the question has no word to look for; name what was said, done or seen",
            (true, _) | (_, Some(_)) if self.is_filtered() => "nothing was found with these filters; leave one out",
            (true, _) => "no earlier session met this error, as far as transcripts show",
            (_, Some(_)) => {
                "no session edited this file, as far as transcripts show; `path:` searches by a part of a path"
            }
            _ if self.is_filtered() => "nothing was found with these filters; leave one out, or try other words",
            _ if self.all_projects => "nothing was found; try fewer or other words",
            _ => "nothing was found; try fewer or other words, or `--all-projects`",
        }
    }

    fn is_filtered(&self) -> bool {
        let texts = [&self.agent, &self.branch, &self.since, &self.until];
        !self.kind.is_empty() || texts.iter().any(|text| text.is_some())
    }

    fn query(&self, context: &Context<'_>) -> Result<Query> {
        let now = clock::now();
        let time = |flag: &str, text: &Option<String>, edge: Edge| match text {
            None => Ok(None),
            Some(text) => search::flag_moment(flag, text, &now, edge).map(Some),
        };
        let (since, until) = (time("--since", &self.since, Edge::Start)?, time("--until", &self.until, Edge::End)?);
        if since.zip(until).is_some_and(|(since, until)| since >= until) {
            return Err(Error::usage("`--since` is later than `--until`"));
        }
        Ok(Query {
            text: if self.error { error_message(context.ui)? } else { self.query.join(" ") },
            is_error: self.error,
            file: self.path.as_deref().map(|path| self.file(context, path)).transpose()?,
            limit: self.limit as usize,
            kinds: self.kind.iter().filter_map(|name| PassageKind::of_name(name)).collect(),
            agent: self.agent.clone(),
            branch: self.branch.clone(),
            since,
            until,
            ..Query::default()
        })
    }

    /// A file as the index knows it: relative to the project. It need not exist any more.
    fn file(&self, context: &Context<'_>, path: &Path) -> Result<String> {
        let root = fs::real(&context.project(None, None)?.root);
        let path = fs::tidy(&fs::real(&context.cwd).join(path)).unwrap_or_else(|| path.to_path_buf());
        let path = without_line(&path);
        let Some(below) = path.strip_prefix(&root).ok().filter(|below| !below.as_os_str().is_empty()) else {
            let message = format!("`{}` is not a file of the project `{}`", path.display(), root.display());
            return Err(Error::usage(message).hint("name a file or a directory in it; it need not exist any more"));
        };
        below.to_str().map(str::to_owned).ok_or_else(|| {
            Error::usage(format!("the path `{}` is not UTF-8 text", below.display()))
                .hint("no transcript can name such a file; name its directory")
        })
    }

    fn in_project(&self, ui: &Ui, project: &Project, query: &Query, name: Option<String>) -> Searched {
        // The hits of several projects are compared by their scores, which only those by words allow.
        let asker = (!self.all_projects).then_some(Asker::Person);
        if asker.is_some() && project.config.embed.is_some() {
            // The program has a process group of its own, so it must be ended with this one.
            signals::listen();
        }
        let bar = ui.progress("indexing");
        let mut show = |done: usize, total: usize| bar.show(done, total);
        let mut found = search::find(project, query, asker, UPDATE_TIME, &mut show, Provenance::judge);
        bar.end();
        let ids = found.hits.iter().any(|(hit, _)| !hit.handoff.is_empty()).then(|| session_ids(project)).flatten();
        let hits = std::mem::take(&mut found.hits).into_iter().map(|(hit, is_ours)| {
            let (before, after) = match self.context {
                0 => Default::default(),
                around => hit.context(&found.index, around as usize).unwrap_or_default(),
            };
            let shortened = ids.as_ref().filter(|_| name.is_none()).map(|ids| ids.short(&hit.handoff).to_owned());
            let handoff = shortened.unwrap_or_else(|| hit.handoff.clone());
            Found { is_ours, hit, handoff, project: name.clone(), before, after }
        });
        Searched {
            found: hits.collect(),
            freshness: found.freshness,
            is_empty_question: found.is_empty_question,
            meaning: found.meaning,
        }
    }

    fn in_all_projects(&self, context: &Context<'_>, query: &Query) -> Result<Searched> {
        let here = context.project(None, None)?;
        let mut roots = vec![here.memory_root.clone()];
        roots.extend(registry::known().into_iter().map(|known| known.root));
        let mut seen = std::collections::HashSet::new();
        roots.retain(|root| seen.insert(fs::real(root)));
        let mut all = Searched::default();
        for root in roots {
            match open(&root) {
                Ok(project) => {
                    let name = root.display().to_string();
                    let of_project = self.in_project(context.ui, &project, query, Some(name));
                    all.found.extend(of_project.found);
                    all.freshness.missing += of_project.freshness.missing;
                    all.freshness.is_busy |= of_project.freshness.is_busy;
                    all.is_empty_question = of_project.is_empty_question;
                }
                Err(error) => context.ui.warn(&format!("{} is left out: {}", root.display(), error.one_line())),
            }
        }
        all.found.sort_by(|a, b| b.hit.score.total_cmp(&a.hit.score));
        all.found.truncate(query.limit);
        Ok(all)
    }
}

/// The ids of the project's handoffs.
fn session_ids(project: &Project) -> Option<SessionIds> {
    Some(SessionIds::of(&History::at(&project.memory_root, project.history_dir().ok()?)))
}

/// `src/lexer.rs:12:5` means the file, unless a file has this name.
fn without_line(path: &Path) -> &Path {
    let Some(mut file) = path.to_str().filter(|_| !fs::is_taken(path)) else { return path };
    while let Some((before, number)) = file.rsplit_once(':')
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        file = before;
    }
    Path::new(file)
}

/// The message on standard input.
fn error_message(ui: &Ui) -> Result<String> {
    if std::io::stdin().is_terminal() {
        ui.tell("paste the error message, then press Enter and Ctrl-D");
    }
    let failed = |cause| Error::new(Category::Io, "cannot read the error message from standard input").cause(cause);
    let bytes = fs::read_ends(std::io::stdin().lock().take(MAX_MESSAGE), KEPT).map_err(failed)?;
    Ok(text::of_bytes(&bytes))
}

fn open(root: &Path) -> Result<Project> {
    Project::open(root, &Options::default(), &steps::vocabulary())
}

/// What the answer may lack of vectors.
fn vectors_notice(meaning: &Meaning) -> Option<String> {
    let more = || match meaning.missing {
        0 => None,
        missing => Some(format!("{} no vector yet; search again to continue", having(missing))),
    };
    meaning.notice().or_else(more)
}

fn having(passages: usize) -> String {
    let verb = if passages == 1 { "has" } else { "have" };
    format!("{} {verb}", text::count(passages, "passage"))
}

/// What the answer may lack.
fn missing(freshness: &Freshness) -> String {
    let files = text::count(freshness.missing, "file");
    if freshness.is_busy {
        return format!("another process is updating the index; up to {files} may be missing from this answer");
    }
    format!("{files} with new text could not be indexed in time and may be missing; search again to continue")
}
