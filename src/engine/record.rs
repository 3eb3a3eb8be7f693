//! Recording a handover: what the session says becomes one row of the queue, and from there on nothing can be lost.

use std::time::Duration;

use chrono::{DateTime, FixedOffset};

use super::inputs::{Inputs, recorded_session, take_long_texts};
use super::plan::Plan;
use super::resume::DEATHS_TO_PARK;
use crate::agents::session_agent;
use crate::base::{clock, env, fs, ids, lock, text};
use crate::checkpoint::{HandedPart, NewRun, OnUnfinished, Store, Told};
use crate::config::{Config, Secrets};
use crate::error::{Error, Result};
use crate::facts::Session;
use crate::git::{self, Git, Head};
use crate::guard::secrets::{self, OnSecret, Policy};
use crate::handoff;
use crate::history::{self, Machine};
use crate::project::{self, Project};
use crate::transcript::Source;

/// How long recording waits for git, which must not hold up a hook.
const PIN_TIMEOUT: Duration = Duration::from_millis(500);

/// What a session says at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub note: Option<String>,
    pub state: Option<String>,
    /// A handoff document. Fields that a program can find out by itself may be missing.
    pub handoff: Option<String>,
    pub agent: Option<String>,
    /// The agent's transcript, pinned to its present length.
    pub transcript: Option<Source>,
    /// What the agent passed to its hooks, in case the transcript cannot be used.
    pub told: Told,
    /// Kinds of secrets that may be recorded this time.
    pub allow_secrets: Vec<String>,
    /// Publish, but do not push.
    pub no_push: bool,
    /// The plan, instead of the config's.
    pub plan: Option<Plan>,
    /// The session says nothing; the run only publishes what is in the files already.
    pub only_publish: bool,
    pub attendance: Attendance,
    /// The part of an agent's session that this handover covers.
    pub handed: Option<HandedPart>,
    /// The branch on which a hook last saw the session, for a worktree that is gone.
    pub branch: String,
    /// When the session ended, if that was before now.
    pub at: Option<DateTime<FixedOffset>>,
}

/// Who asked for a handover, and whether anybody can answer a question about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Attendance {
    /// Somebody typed the command and waits for it. A secret is refused, because they can take it out.
    #[default]
    Attended,
    /// Somebody typed the command, but it goes on without them. A secret is redacted, because nobody can be asked.
    Detached,
    /// A hook asks, and nobody typed anything. A secret is redacted. A config without consent is only partly followed: its
    /// steps do not reach beyond the project's own files, and nothing is published.
    Hook,
}

/// A run that was recorded.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub seq: i64,
    pub id: String,
    /// Secrets that were found in the texts, one sentence each.
    pub warnings: Vec<String>,
}

/// What came of recording a run.
#[derive(Clone, Debug)]
pub(crate) enum RecordOutcome {
    Recorded(Recorded),
    /// Another process has handed over the same part of the session. Nothing was recorded.
    AlreadyHandedOver,
}

/// Why a handover failed, and whether its run is on record all the same. If it is, saying the same again would double it.
#[derive(Debug)]
pub struct HandOverError {
    pub error: Error,
    pub is_recorded: bool,
}

impl HandOverError {
    /// An error that came after the run was recorded.
    pub(super) fn after_record(error: Error, id: &str) -> HandOverError {
        let error = error.follow(&format!("; {id} is recorded")).hint(
            "fix this, then `agent-handover run --resume` continues; a second `run` would record the session twice",
        );
        HandOverError { error, is_recorded: true }
    }
}

impl From<Error> for HandOverError {
    fn from(error: Error) -> HandOverError {
        HandOverError { error, is_recorded: false }
    }
}

impl From<HandOverError> for Error {
    fn from(failure: HandOverError) -> Error {
        failure.error
    }
}

/// What to do with secrets: what the config says, except that nobody is refused who cannot react to it.
pub(crate) fn secret_policy<'a>(config: &Config, attendance: Attendance, allowed: &'a [String]) -> Policy<'a> {
    let on_secret = match (config.secrets, attendance) {
        (Secrets::Block, Attendance::Attended) => OnSecret::Refuse,
        (Secrets::Block, Attendance::Detached | Attendance::Hook) | (Secrets::Redact, _) => OnSecret::Redact,
        (Secrets::Warn, _) => OnSecret::Warn,
    };
    Policy { on_secret, allowed }
}

/// A run that is ready to be recorded: only the database can fail now.
pub(super) struct Prepared {
    pub plan: Plan,
    /// The memory directory, relative to the project where possible: a project may be moved.
    pub memory: String,
    pub session: Session,
    pub warnings: Vec<String>,
    pub handed: Option<HandedPart>,
    /// Marks the worktree in which the session ran.
    pub worktree_mark: String,
    /// The intent of the first step, if this process begins with it right away.
    pub begun: Option<String>,
}

/// Makes the plan and the session of a request. `base` is the commit of the last handover.
pub(super) fn prepare(
    project: &Project,
    request: &Request,
    handed: Option<&HandedPart>,
    base: Option<String>,
) -> Result<Prepared> {
    let is_hook = request.attendance == Attendance::Hook;
    let mut plan = match &request.plan {
        Some(plan) => plan.clone(),
        None if is_hook => Plan::for_hook(&project.config),
        None => Plan::of(&project.config),
    };
    plan.destination.push &= !request.no_push;
    if request.only_publish {
        plan.steps.retain(|step| step.is_of(|kind| kind.delivers));
    }
    let mut session = session_of_part(project, &plan, request, handed, base)?;
    let mut policy = secret_policy(&project.config, request.attendance, &request.allow_secrets);
    if is_hook && !project.is_allowed() {
        // Somebody else's config cannot let secrets through.
        policy.on_secret = OnSecret::Redact;
    }
    let warnings = policy.keep_out([
        ("note", &mut session.note),
        ("current state", &mut session.state),
        ("handoff", &mut session.handoff),
        ("tag", &mut session.tag),
        ("agent", &mut session.agent),
    ])?;
    let memory = memory_dir(project, &plan)?;
    let (handed, worktree_mark) = (handed.cloned(), project.worktree_mark());
    Ok(Prepared { plan, memory, session, warnings, handed, worktree_mark, begun: None })
}

/// The memory directory of a plan, relative to the project where possible.
pub(super) fn memory_dir(project: &Project, plan: &Plan) -> Result<String> {
    let memory = fs::resolve(&project::place(&project.memory_root, &plan.memory_dir)?)?;
    let root = fs::resolve(&project.memory_root)?;
    Ok(memory.strip_prefix(root).unwrap_or(&memory).to_string_lossy().into_owned())
}

/// Records a run. No lock is needed, and from here on nothing can be lost.
pub(crate) fn record(project: &Project, store: &mut Store, request: &Request) -> Result<RecordOutcome, HandOverError> {
    record_part(project, store, request, request.handed.as_ref())
}

/// Like [`record`], for a request that covers another part of an agent's session.
pub(super) fn record_part(
    project: &Project,
    store: &mut Store,
    request: &Request,
    handed: Option<&HandedPart>,
) -> Result<RecordOutcome, HandOverError> {
    let prepared = prepare(project, request, handed, store.last_head(&project.worktree())?)?;
    write(store, prepared, OnUnfinished::Keep)
}

/// Whether an unfinished run has this plan and says the same: a program that was killed and started again asks for it once
/// more.
pub(crate) fn is_on_record(store: &Store, plan: &Plan, note: &str, state: &str) -> Result<bool> {
    for run in store.unfinished(DEATHS_TO_PARK)? {
        let (recorded, inputs) = store.plan_and_inputs(run.seq)?;
        let session = recorded_session(store, &run, &inputs)?;
        if recorded == plan.to_json()? && session.note == note && session.state == state {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn write(
    store: &mut Store,
    prepared: Prepared,
    others: OnUnfinished,
) -> Result<RecordOutcome, HandOverError> {
    let Prepared { plan, memory, mut session, warnings, handed, worktree_mark, begun } = prepared;
    let texts = take_long_texts(&mut session);
    let plan_json = plan.to_json()?;
    // What a command was given may be long, and is in the text of the plan.
    let steps: Vec<(String, String)> = plan.steps.into_iter().map(|step| (step.name, step.kind)).collect();
    let run = NewRun {
        id: &session.run,
        recorded_at: &clock::stamp(&session.at),
        agent: &session.agent,
        tag: &session.tag,
        memory_dir: &memory,
        head: Some(session.head.as_str()).filter(|head| !head.is_empty()),
        worktree: &session.worktree,
        branch: &session.branch,
        plan: &plan_json,
        inputs: &Inputs::of(&session).in_worktree(worktree_mark).to_json()?,
        texts: &texts,
        steps: steps.iter().map(|(name, kind)| (name.as_str(), kind.as_str())).collect(),
        begun: begun.as_deref(),
        handed: handed.as_ref(),
    };
    match store.record(&run, others) {
        Ok(Some(seq)) => {
            tracing::debug!(run = session.run, seq, "recorded");
            Ok(RecordOutcome::Recorded(Recorded { seq, id: session.run, warnings }))
        }
        Ok(None) => Ok(RecordOutcome::AlreadyHandedOver),
        Err(error) if store.recorded_despite_error(&session.run) => {
            Err(HandOverError::after_record(error, &session.run))
        }
        Err(error) => Err(error.into()),
    }
}

/// The session as it is recorded: what it said, who it was, where and when.
pub(super) fn session_for(project: &Project, plan: &Plan, request: &Request, base: Option<String>) -> Result<Session> {
    session_of_part(project, plan, request, request.handed.as_ref(), base)
}

fn session_of_part(
    project: &Project,
    plan: &Plan,
    request: &Request,
    handed: Option<&HandedPart>,
    base: Option<String>,
) -> Result<Session> {
    let config = &project.config;
    let note = request.note.as_ref().or(config.session_note.as_ref());
    if note.is_none() && config.is_python() && !request.only_publish && request.plan.is_none() {
        return Err(Error::usage("no session note: pass note=... (CLI --note) or set [note].session in the config"));
    }
    let head = pin_head(project, plan);
    let now = clock::now();
    let at = request.at.filter(|at| *at < now).unwrap_or(now);
    let agent = session_agent(request.agent.as_deref(), request.transcript.as_ref());
    Ok(Session {
        run: ids::new_run_id()?,
        at,
        handoff: match &request.handoff {
            Some(text) => complete_handoff(project, text, head.as_ref(), at, &agent, handed)?,
            None => String::new(),
        },
        tag: config.tag.clone(),
        agent: text::one_line(&agent, 100),
        host: lock::host(),
        user: user(),
        note: note.map(|note| text::without_private(note)).unwrap_or_default(),
        state: request
            .state
            .as_ref()
            .or(config.current_state.as_ref())
            .map(|state| text::without_private(state))
            .unwrap_or_default(),
        head: head.as_ref().map(|head| head.commit.clone()).unwrap_or_default(),
        branch: secrets::clean(&head.map_or_else(|| known_branch(project, request), |head| head.branch)),
        worktree: project.worktree(),
        base: base.unwrap_or_default(),
        transcript: request.transcript.clone(),
        told: request.told.clone(),
    })
}

/// The branch of a session for which git was not asked: where it is now, else where a hook last saw it.
fn known_branch(project: &Project, request: &Request) -> String {
    Some(project.branch()).filter(|branch| !branch.is_empty()).unwrap_or_else(|| request.branch.clone())
}

/// The handoff with the fields filled in that a program can find out, or an error that names every problem in it.
fn complete_handoff(
    project: &Project,
    text: &str,
    head: Option<&Head>,
    now: DateTime<FixedOffset>,
    agent: &str,
    handed: Option<&HandedPart>,
) -> Result<String> {
    let mut handoff = history::parse(text)?;
    let machine = Machine {
        now,
        root: project.known_root().display().to_string(),
        worktree: project.worktree(),
        branch: head.map(|head| head.branch.clone()).unwrap_or_default(),
        commit: head.map(|head| head.commit.clone()).unwrap_or_default(),
        agent: agent.to_owned(),
        agent_session: handed.map(|part| part.id.clone()).unwrap_or_default(),
    };
    history::fill_in(&mut handoff, &machine);
    let wrong = handoff::check(&handoff);
    if wrong.is_empty() { Ok(handoff.render()) } else { Err(history::refuse(&wrong)) }
}

/// The commit that is checked out now: commits made later belong to the next session. This costs one git process, so it
/// is skipped if no step of the plan asks for it.
pub(super) fn pin_head(project: &Project, plan: &Plan) -> Option<Head> {
    let is_wanted = plan.steps.iter().any(|step| step.is_of(|kind| kind.needs_head)) && !project.is_gone;
    let is_wanted = is_wanted && git::top_level(&project.root).is_some();
    // If git does not answer, the session has no git facts, and `collect` reports why.
    is_wanted.then(|| Git::at(&project.root).within(PIN_TIMEOUT).head().ok().flatten())?
}

fn user() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .find_map(env::get_text)
        .unwrap_or_else(|| format!("uid {}", rustix::process::geteuid().as_raw()))
}
