//! Plan, record, resume, run: the queue of handovers and how it is worked off.

mod detach;
mod event;
mod plan;
mod preview;
mod queue;
mod resume;
mod runner;

use std::time::Duration;

pub use detach::detach;
pub use event::{Event, Listener, StepEnd};
pub use plan::Plan;
pub use preview::{Preview, preview};
pub use queue::{Drained, Failure, Goal, drain, drain_inherited};

use runner::Inputs;

use crate::base::lock::{self, Owner};
use crate::base::{clock, env, ids, text};
use crate::checkpoint::{self, NewRun, Run, Store};
use crate::config::{Config, Secrets};
use crate::error::{Category, Error, Result};
use crate::facts::Session;
use crate::git::{self, Git, Head};
use crate::guard::secrets::{self, Finding};
use crate::project::Project;

/// What a session says at its end.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub note: Option<String>,
    pub state: Option<String>,
    pub agent: Option<String>,
    /// Kinds of secrets that may stay for once.
    pub allow_secrets: Vec<String>,
    /// Nobody is there to be asked: take secrets out instead of refusing.
    pub unattended: bool,
}

/// A run that was written down.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub seq: i64,
    pub id: String,
    /// What a person should know about what was written down.
    pub warnings: Vec<String>,
}

/// The session as it is recorded: what was said, by whom, where and when. `base` is the commit of the last handover.
fn session_for(project: &Project, plan: &Plan, request: &Request, base: Option<String>) -> Result<Session> {
    let config = &project.config;
    let note = request.note.clone().or_else(|| config.session_note.clone());
    if note.is_none() && config.file.is_some() && config.steps.is_none() {
        return Err(Error::usage("no session note: pass note=... (CLI --note) or set [note].session in the config"));
    }
    let head = pin_head(project, plan);
    let agent = request.agent.clone().or_else(|| env::get_text(env::AGENT)).unwrap_or_default();
    Ok(Session {
        run: ids::new_run_id()?,
        at: clock::now(),
        tag: config.tag.clone(),
        agent: text::one_line(&agent, 100),
        host: lock::host(),
        user: user(),
        note: note.unwrap_or_default(),
        state: request.state.clone().or_else(|| config.current_state.clone()).unwrap_or_default(),
        head: head.as_ref().map(|head| head.commit.clone()).unwrap_or_default(),
        branch: head.map(|head| head.branch).unwrap_or_default(),
        base: base.unwrap_or_default(),
    })
}

/// The commit that is checked out now, so that what is committed later counts for the next session. One git process,
/// and only if somebody will ask for it.
fn pin_head(project: &Project, plan: &Plan) -> Option<Head> {
    let wanted = plan.steps.iter().any(|step| step.kind == "collect") && git::top_level(&project.root).is_some();
    // Without an answer the session has no git facts, and `collect` says why.
    wanted.then(|| Git::at(&project.root).head().ok().flatten())?
}

/// Writes the run down. From here on nothing can be lost, whoever holds the lock.
pub fn record(project: &Project, store: &mut Store, request: &Request) -> Result<Recorded> {
    let plan = Plan::of(&project.config);
    let mut session = session_for(project, &plan, request, store.last_head()?)?;
    let warnings = keep_secrets_out(&project.config, request, &mut session)?;
    let inputs = Inputs {
        note: session.note,
        state: session.state,
        host: session.host,
        user: session.user,
        branch: session.branch,
        base: session.base,
    };
    let seq = store.record(&NewRun {
        id: &session.run,
        recorded_at: &clock::stamp(&session.at),
        agent: &session.agent,
        tag: &session.tag,
        head: Some(session.head.as_str()).filter(|head| !head.is_empty()),
        plan: &plan.to_json()?,
        inputs: &serde_json::to_string(&inputs).map_err(|cause| Error::bug("inputs cannot be written").cause(cause))?,
        steps: plan.steps.iter().map(|step| (step.name.as_str(), step.kind.as_str())).collect(),
    })?;
    tracing::debug!(run = session.run, seq, "recorded");
    Ok(Recorded { seq, id: session.run, warnings })
}

/// What looks like a credential is refused, taken out, or only told, as the config says.
fn keep_secrets_out(config: &Config, request: &Request, session: &mut Session) -> Result<Vec<String>> {
    let mut told = Vec::new();
    let mut blocked: Vec<&str> = Vec::new();
    let redacts = config.secrets == Secrets::Redact || request.unattended && config.secrets == Secrets::Block;
    for (name, text) in [
        ("note", &mut session.note),
        ("current state", &mut session.state),
        ("tag", &mut session.tag),
        ("agent", &mut session.agent),
    ] {
        let allowed = |finding: &Finding| request.allow_secrets.iter().any(|kind| kind == finding.kind);
        let found: Vec<Finding> = secrets::find(text).into_iter().filter(|finding| !allowed(finding)).collect();
        for finding in &found {
            told.push(format!("{} in line {} of the {name}", finding.kind, finding.line));
            blocked.push(finding.kind);
        }
        if redacts {
            *text = secrets::redact(text, &found);
        }
    }
    blocked.dedup();
    if blocked.is_empty() || redacts || config.secrets == Secrets::Warn {
        let what = if redacts { "taken out" } else { "recorded" };
        return Ok(told.iter().map(|told| format!("what looks like a secret was {what}: {told}")).collect());
    }
    let error = Error::new(Category::NotGood, format!("this looks like a secret: {}", told.join(", ")));
    let flags: Vec<String> = blocked.iter().map(|kind| format!("--allow-secret {kind}")).collect();
    Err(error.hint(format!("take it out and run again, or pass `{}`; nothing was recorded", flags.join(" "))))
}

/// Gives up one run, or the oldest unfinished one. Its record and inputs stay.
pub fn abandon(project: &Project, store: &mut Store, id: Option<&str>, wait: Duration) -> Result<Vec<Run>> {
    let _locks = queue::take_lock(project, wait, &crate::guard::Brake::new(Vec::new()))?;
    let unfinished = store.unfinished()?;
    let chosen: Vec<Run> = match id {
        None => unfinished.into_iter().take(1).collect(),
        Some(id) => {
            let matching: Vec<Run> =
                unfinished.into_iter().filter(|run| run.id.starts_with(&id.to_uppercase())).collect();
            match matching.len() {
                0 => {
                    return Err(Error::usage(format!("no unfinished handover starts with `{id}`"))
                        .hint("`agent-handover status` lists those that are unfinished"));
                }
                1 => matching,
                count => {
                    return Err(Error::usage(format!("{count} unfinished handovers start with `{id}`"))
                        .hint("write more of the id; `agent-handover status` shows them"));
                }
            }
        }
    };
    give_up(store, &chosen)?;
    Ok(chosen)
}

/// Opens the store for a start from nothing: what is unfinished is given up, and a database that cannot be used is
/// moved aside. Says where to.
pub fn restart(project: &Project, wait: Duration) -> Result<(Store, Vec<Run>, Option<std::path::PathBuf>)> {
    let _locks = queue::take_lock(project, wait, &project.brake())?;
    let (mut store, aside) = match Store::open(&project.checkpoint) {
        Ok(store) => (store, None),
        Err(error) if error.category() == Category::BadData => {
            let suffix = format!(".damaged-{}", clock::now().format("%Y%m%dT%H%M%S"));
            let aside = checkpoint::move_aside(&project.checkpoint, &suffix)?;
            (Store::open(&project.checkpoint)?, Some(aside))
        }
        Err(error) => return Err(error),
    };
    let unfinished = store.unfinished()?;
    give_up(&mut store, &unfinished)?;
    Ok((store, unfinished, aside))
}

fn give_up(store: &mut Store, runs: &[Run]) -> Result<()> {
    let runs: Vec<i64> = runs.iter().map(|run| run.seq).collect();
    store.abandon(&runs, &clock::stamp(&clock::now()))
}

/// The one sentence about a lock that is held.
pub fn busy(owner: Option<&Owner>, hint: &str) -> Error {
    let who = owner.map_or_else(|| "another process is running a handover".to_owned(), Owner::to_string);
    Error::new(Category::Busy, who).hint(hint)
}

fn user() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .find_map(env::get_text)
        .unwrap_or_else(|| format!("uid {}", rustix::process::geteuid().as_raw()))
}
