//! Plan, record, resume, run: the queue of handovers and how it is worked off.

mod deliver;
mod detach;
mod event;
mod plan;
mod preview;
#[cfg(test)]
mod property;
mod queue;
mod resume;
mod runner;

use std::path::PathBuf;
use std::time::Duration;

pub use deliver::{Direction, deliver};
pub use detach::detach;
pub use event::{Event, Listener, StepEnd};
pub use plan::Plan;
pub use preview::{Preview, preview, summarize};
pub use queue::{Drained, Failure, Goal, Whose, between_runs, drain, drain_locked, drain_unattended, due};
pub use resume::DEATHS_TO_PARK;
pub use runner::keep_out_of_git;

use chrono::{DateTime, FixedOffset};
use queue::LockAttempt;
use runner::Inputs;

use crate::base::lock::{self, Lock, Owner};
use crate::base::{clock, env, fs, ids, process, text};
use crate::checkpoint::{self, HandedPart, NewRun, OnUnfinished, Run, StepState, Store};
use crate::config::Secrets;
use crate::error::{Category, Error, Result};
use crate::facts::Session;
use crate::git::{self, Git, Head};
use crate::guard::secrets::{self, Finding};
use crate::handoff;
use crate::history::{self, Machine};
use crate::memory::Memory;
use crate::project::{self, Project};
use crate::steps;
use crate::transcript::Source;

/// How many findings are named.
const TOLD_SECRETS: usize = 20;
/// How long a hook can be made to wait for git.
const PIN_TIMEOUT: Duration = Duration::from_millis(500);

/// What a session says at its end.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub note: Option<String>,
    pub state: Option<String>,
    /// A handoff's document; what a machine knows may be missing in it.
    pub handoff: Option<String>,
    pub agent: Option<String>,
    /// What the agent wrote down of the session, pinned.
    pub transcript: Option<Source>,
    /// Kinds of secrets that may stay for once.
    pub allow_secrets: Vec<String>,
    /// Publish, but do not push.
    pub no_push: bool,
    /// Nothing is said; only what was written before is to be published.
    pub only_publish: bool,
    /// Nobody is there to be asked: take secrets out instead of refusing.
    pub unattended: bool,
    /// Nobody asked for it either: a config that was not allowed runs no commands and publishes nowhere.
    pub by_itself: bool,
    /// The session of an agent that is handed over by it.
    pub handed: Option<HandedPart>,
    /// When it was, if that was earlier.
    pub at: Option<DateTime<FixedOffset>>,
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
    if note.is_none() && config.is_python() && !request.only_publish {
        return Err(Error::usage("no session note: pass note=... (CLI --note) or set [note].session in the config"));
    }
    let head = pin_head(project, plan);
    let now = clock::now();
    let at = request.at.filter(|at| *at < now).unwrap_or(now);
    let agent = request.agent.clone().or_else(|| env::get_text(env::AGENT)).unwrap_or_default();
    Ok(Session {
        run: ids::new_run_id()?,
        at,
        handoff: match &request.handoff {
            Some(text) => complete_handoff(project, text, head.as_ref(), at, &agent)?,
            None => String::new(),
        },
        tag: config.tag.clone(),
        agent: text::one_line(&agent, 100),
        host: lock::host(),
        user: user(),
        note: note.unwrap_or_default(),
        state: request.state.clone().or_else(|| config.current_state.clone()).unwrap_or_default(),
        head: head.as_ref().map(|head| head.commit.clone()).unwrap_or_default(),
        branch: head.map(|head| head.branch).unwrap_or_default(),
        base: base.unwrap_or_default(),
        transcript: request.transcript.clone(),
    })
}

/// The document with what a machine knows filled in, or everything that is wrong with it.
fn complete_handoff(
    project: &Project,
    text: &str,
    head: Option<&Head>,
    now: DateTime<FixedOffset>,
    agent: &str,
) -> Result<String> {
    let mut handoff = history::parse(text)?;
    let machine = Machine {
        now,
        root: project.root.display().to_string(),
        branch: head.map(|head| head.branch.clone()).unwrap_or_default(),
        commit: head.map(|head| head.commit.clone()).unwrap_or_default(),
        agent: agent.to_owned(),
    };
    history::fill_in(&mut handoff, &machine);
    let wrong = handoff::check(&handoff);
    if wrong.is_empty() { Ok(handoff.render()) } else { Err(history::refuse(&wrong)) }
}

/// The commit that is checked out now, so that what is committed later counts for the next session. One git process,
/// and only if somebody will ask for it.
fn pin_head(project: &Project, plan: &Plan) -> Option<Head> {
    let wanted = plan.steps.iter().any(|step| step.kind == "collect" || step.kind == "history")
        && git::top_level(&project.root).is_some();
    // Without an answer the session has no git facts, and `collect` says why.
    wanted.then(|| Git::at(&project.root).within(PIN_TIMEOUT).head().ok().flatten())?
}

/// A run that is ready to be written down: nothing about it can fail any more but the writing.
struct Prepared {
    plan: Plan,
    /// The memory directory as a place, however the config writes it.
    memory: String,
    session: Session,
    warnings: Vec<String>,
    handed: Option<HandedPart>,
}

fn prepare(project: &Project, request: &Request, base: Option<String>) -> Result<Prepared> {
    let mut plan = if request.by_itself { Plan::by_itself(&project.config)? } else { Plan::of(&project.config) };
    plan.destination.push &= !request.no_push;
    if request.only_publish {
        plan.steps.retain(|step| step.kind == "publish");
    }
    let mut session = session_for(project, &plan, request, base)?;
    let secrets = if request.by_itself && !project.is_allowed() { Secrets::Redact } else { project.config.secrets };
    let policy = Policy { config: secrets, allowed: &request.allow_secrets, unattended: request.unattended };
    let fields = [
        ("note", &mut session.note),
        ("current state", &mut session.state),
        ("handoff", &mut session.handoff),
        ("tag", &mut session.tag),
        ("agent", &mut session.agent),
    ];
    let warnings = keep_secrets_out(&policy, fields)?;
    let memory = fs::resolve(&project::place(&project.root, &plan.memory_dir)?)?;
    let root = fs::resolve(&project.root)?;
    // Relative where it can be, because a project may be moved.
    let memory = memory.strip_prefix(root).unwrap_or(&memory).to_string_lossy().into_owned();
    Ok(Prepared { plan, memory, session, warnings, handed: request.handed.clone() })
}

/// Writes the run down. From here on nothing can be lost, whoever holds the lock.
pub fn record(project: &Project, store: &mut Store, request: &Request) -> Result<Recorded> {
    let prepared = prepare(project, request, store.last_head()?)?;
    write_down(store, prepared, OnUnfinished::Keep)
}

fn write_down(store: &mut Store, prepared: Prepared, others: OnUnfinished) -> Result<Recorded> {
    let Prepared { plan, memory, session, warnings, handed } = prepared;
    let inputs = Inputs {
        note: session.note,
        state: session.state,
        handoff: session.handoff,
        host: session.host,
        user: session.user,
        branch: session.branch,
        base: session.base,
        transcript: session.transcript,
    };
    let inputs = serde_json::to_string(&inputs).map_err(|cause| Error::bug("inputs cannot be written").cause(cause))?;
    let run = NewRun {
        id: &session.run,
        recorded_at: &clock::stamp(&session.at),
        agent: &session.agent,
        tag: &session.tag,
        memory_dir: &memory,
        head: Some(session.head.as_str()).filter(|head| !head.is_empty()),
        plan: &plan.to_json()?,
        inputs: &inputs,
        steps: plan.steps.iter().map(|step| (step.name.as_str(), step.kind.as_str())).collect(),
        handed: handed.as_ref(),
    };
    let seq = match store.record(&run, others) {
        Ok(Some(seq)) => seq,
        Ok(None) => return Err(Error::new(Category::Busy, "another process has handed this session over already")),
        // Saying it again would double it.
        Err(error) if store.recorded_despite_error(&session.run) => {
            return Err(explain_recorded(error, &session.run));
        }
        Err(error) => return Err(error),
    };
    tracing::debug!(run = session.run, seq, "recorded");
    Ok(Recorded { seq, id: session.run, warnings })
}

/// An error that came after the record: whoever sees it must not say the same again.
pub fn explain_recorded(error: Error, id: &str) -> Error {
    error
        .follow(&format!("; {id} is recorded"))
        .hint("mend this, then `agent-handover run --resume` goes on; running the handover again would double it")
}

/// What is to become of secrets in what is said.
pub struct Policy<'a> {
    pub config: Secrets,
    /// Kinds that may stay for once.
    pub allowed: &'a [String],
    /// Nobody is there to be asked: take them out instead of refusing.
    pub unattended: bool,
}

/// What looks like a credential is refused, taken out, or only told, as the config says.
pub fn keep_secrets_out<'t>(
    policy: &Policy<'_>,
    fields: impl IntoIterator<Item = (&'t str, &'t mut String)>,
) -> Result<Vec<String>> {
    let mut told = Vec::new();
    let mut blocked: Vec<&str> = Vec::new();
    let redacts = policy.config == Secrets::Redact || policy.unattended && policy.config == Secrets::Block;
    for (name, text) in fields {
        let allowed = |finding: &Finding| policy.allowed.iter().any(|kind| kind == finding.kind);
        let found: Vec<Finding> = secrets::find(&*text).into_iter().filter(|finding| !allowed(finding)).collect();
        for finding in found.iter().take(TOLD_SECRETS) {
            told.push(format!("{} in line {} of the {name}", finding.kind, finding.line));
            blocked.push(finding.kind);
        }
        if found.len() > TOLD_SECRETS {
            told.push(format!("{} more in the {name}", found.len() - TOLD_SECRETS));
        }
        if redacts {
            *text = secrets::redact(text, &found);
        }
    }
    blocked.sort_unstable();
    blocked.dedup();
    if blocked.is_empty() || redacts || policy.config == Secrets::Warn {
        let what = if redacts { "taken out" } else { "recorded" };
        return Ok(told.iter().map(|told| format!("what looks like a secret was {what}: {told}")).collect());
    }
    let error = Error::new(Category::NotGood, format!("this looks like a secret: {}", told.join(", ")));
    let flags: Vec<String> = blocked.iter().map(|kind| format!("--allow-secret {kind}")).collect();
    Err(error.hint(format!("take it out and run again, or pass `{}`", flags.join(" "))))
}

/// Gives up one run, or the oldest unfinished one. Its record and inputs stay.
pub fn abandon(project: &Project, store: &mut Store, id: Option<&str>) -> Result<Vec<Run>> {
    let unfinished = store.unfinished(DEATHS_TO_PARK)?;
    let chosen: Vec<Run> = match id {
        None => unfinished.into_iter().take(1).collect(),
        Some(id) => {
            let is_meant = |run: &Run| run.id.starts_with(&id.to_uppercase());
            let matching: Vec<Run> = unfinished.into_iter().filter(is_meant).collect();
            let problem = match matching.len() {
                1 => None,
                0 => Some((format!("no unfinished handover starts with `{id}`"), "lists those that are unfinished")),
                count => Some((format!("{count} unfinished handovers start with `{id}`"), "shows more of their ids")),
            };
            match problem {
                None => matching,
                Some((message, hint)) => {
                    return Err(Error::usage(message).hint(format!("`agent-handover status` {hint}")));
                }
            }
        }
    };
    // One that is being run right now is not given up behind the back of who runs it; and nobody begins with it meanwhile.
    let lock = Lock::try_take(&project.lock())?;
    let owner = lock::owner(&project.lock());
    if lock.is_none() && owner.as_ref().is_none_or(|owner| chosen.iter().any(|run| run.id == owner.run)) {
        return Err(busy(owner.as_ref(), "wait until it ends, or end that process"));
    }
    // What it left goes first: nobody looks for it once the run is given up.
    for run in &chosen {
        clear_up(project, store, run)?;
    }
    let seqs: Vec<i64> = chosen.iter().map(|run| run.seq).collect();
    store.abandon(&seqs, &clock::stamp(&clock::now()))?;
    Ok(chosen)
}

/// Nobody will come back to a run that was given up: ends what it left running and removes what it left lying.
fn clear_up(project: &Project, store: &Store, run: &Run) -> Result<()> {
    process::end_orphans(&[(env::RUN, &run.id)])?;
    for step in store.steps(run.seq)?.iter().filter(|step| step.state == StepState::Intended) {
        steps::remove_logs(&project.log_dir().join(&run.id), &step.name, step.attempts)?;
    }
    let (plan, _) = store.plan_and_inputs(run.seq)?;
    match Plan::from_json(&plan).and_then(|plan| project::place(&project.root, &plan.memory_dir)) {
        Ok(memory) => Memory::at(memory).sweep(),
        // A plan of another version says nothing about where to look.
        Err(_) => Ok(()),
    }
}

/// A start from nothing.
pub struct Restarted {
    pub store: Store,
    pub recorded: Recorded,
    /// Still held, so that nobody comes in between.
    pub lock: Lock,
    pub abandoned: Vec<Run>,
    /// Where a database that could not be used was moved to.
    pub aside: Option<PathBuf>,
}

/// Gives up everything unfinished and records a new run, both or neither. A database that cannot be used is moved
/// aside; one of a newer program is not touched.
pub fn restart(project: &Project, request: &Request, wait: Duration) -> Result<Restarted> {
    let mut prepared = prepare(project, request, None)?;
    let lock = match queue::wait_for_lock(project, None, wait, &project.brake(), &mut |_| ())? {
        LockAttempt::Taken(lock) => lock,
        LockAttempt::Stopped(stop) => return Err(stop.error().follow("; nothing was recorded and nothing given up")),
        // Not "busy", which says of a `run` that it is recorded.
        LockAttempt::Busy(owner) => return Err(Error::failed(busy(owner.as_ref(), "").message())),
        LockAttempt::Finished => return Err(Error::bug("waited for a run without one")),
    };
    let at = clock::now().format("%Y%m%dT%H%M%S").to_string();
    let (mut store, aside) = checkpoint::open_or_replace(&project.checkpoint, &format!(".damaged-{at}"))?;
    prepared.session.base = store.last_head()?.unwrap_or_default();
    let abandoned = store.unfinished(DEATHS_TO_PARK)?;
    for run in &abandoned {
        clear_up(project, &store, run)?;
    }
    let recorded = write_down(&mut store, prepared, OnUnfinished::Abandon)?;
    Ok(Restarted { store, recorded, lock, abandoned, aside })
}

/// The one sentence about a lock that is held.
pub fn busy(owner: Option<&Owner>, hint: &str) -> Error {
    Error::new(Category::Busy, lock::describe(owner)).hint(hint)
}

fn user() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .find_map(env::get_text)
        .unwrap_or_else(|| format!("uid {}", rustix::process::geteuid().as_raw()))
}
