//! Session start: other sessions are swept, due handovers get a moment to finish, then the session gets its context.

use std::time::Duration;

use chrono::{DateTime, FixedOffset};

use super::context::{context, source};
use super::end::REPEATED;
use super::record::Record;
use super::respond::Done;
use super::sweep::{self, Caller};
use super::{receipt, session};
use crate::agents::Call;
use crate::base::{clock, text};
use crate::checkpoint::{AgentSession, Store};
use crate::engine;
use crate::error::{Error, Result};
use crate::project::Project;
use crate::transcript::{self, WARMUP_MARKER};
use crate::warmup::{Asked, Warmup, WorkTree};

/// How long unfinished handovers may hold up the start of a session.
const DUE_LIMIT: Duration = Duration::from_millis(1_000);

/// Answers the start of a session. Whatever goes wrong on the way, the session gets its context. `work_tree` is what git was
/// asked already.
pub(super) fn start(project: &Project, call: &Call, mut record: Record<'_>, mut work_tree: Option<WorkTree>) -> Done {
    let begun = clock::now();
    let mut done = Done::default();
    let call = &with_source(call, &mut record);
    let warms_up = project.config.warms_up;
    let mut recorded = prepare(project, call, record, &mut work_tree, &mut done.told);
    let asked = Asked { record: recorded.as_ref().ok(), work_tree };
    let mut warmup = if warms_up { context(project, call, asked) } else { Warmup::default() };
    if let Ok(store) = &mut recorded {
        match note(project, store, call, &warmup.text, begun) {
            Ok(Noted::New) => {}
            Ok(Noted::NoSession) => done.told.push("the agent names no session".to_owned()),
            Ok(Noted::Repeated) => {
                done.told.push(REPEATED.to_owned());
                return done;
            }
            Err(error) => recorded = Err(error),
        }
    }
    if let Err(error) = &recorded {
        done.told.push(error.one_line());
        done.is_trouble = true;
        // Without a record, the warmup only promises that this session will be on it.
        if warmup.is_empty {
            warmup.text = unrecorded(error);
        }
    }
    if !warms_up {
        done.told.push("the config turns the warmup off".to_owned());
        return done;
    }
    done.told.push(format!("{} bytes of context for `{}`", warmup.text.len(), source(call)));
    done.context = Some(warmup.text);
    done
}

/// The call with a reason for the start. An agent may report a start without one, and may do so in each turn: a session that
/// has had a turn continues.
fn with_source(call: &Call, record: &mut Record<'_>) -> Call {
    let mut known = || record.read()?.session(call.agent.name, call.session_id.as_deref()?).ok()?;
    let is_known = call.source.is_none() && known().is_some_and(had_a_turn);
    Call { source: if is_known { Some("resume".to_owned()) } else { call.source.clone() }, ..call.clone() }
}

fn had_a_turn(session: AgentSession) -> bool {
    session.turns > 0 || session.handed_over > 0
}

/// The context of a session that has no predecessor and cannot be recorded, such as one in a read-only project.
fn unrecorded(error: &Error) -> String {
    let why = text::model_line(&error.one_line(), 500);
    transcript::marked(&format!(
        "{WARMUP_MARKER} agent-handover has no earlier session of this project on record, and cannot record this one: {why}\n"
    ))
}

/// Takes care of other sessions, and returns the record. If that may change the work tree, what git said about it before does
/// not count.
fn prepare(
    project: &Project,
    call: &Call,
    record: Record<'_>,
    work_tree: &mut Option<WorkTree>,
    told: &mut Vec<String>,
) -> Result<Store> {
    let session = call.session_id.clone().unwrap_or_default();
    let mut store = record.into_store()?;
    let process = session::process(call.agent.name);
    if project.brake().pressed().is_some() {
        return Ok(store);
    }
    let mut is_whole = false;
    let caller = Caller { agent: call.agent.name, session: &session, process: &process };
    match sweep::sweep(project, &mut store, &caller) {
        Ok(swept) => {
            told.extend(swept.told);
            is_whole = swept.is_whole;
        }
        Err(error) => told.push(format!("not swept: {}", error.one_line())),
    }
    if finish_due(project, &store, is_whole, told)? {
        *work_tree = None;
    }
    Ok(store)
}

/// What came of recording a start.
enum Noted {
    New,
    /// Another call for the same start was faster.
    Repeated,
    /// There is nothing to record.
    NoSession,
}

/// Records that this session begins, and with which text: one transaction.
fn note(
    project: &Project,
    store: &mut Store,
    call: &Call,
    context: &str,
    begun: DateTime<FixedOffset>,
) -> Result<Noted> {
    let Some(session) = call.session_id.as_deref().filter(|id| !id.is_empty()) else { return Ok(Noted::NoSession) };
    let mut seen = session::seen(project, call, session);
    seen.event = source(call).to_owned();
    seen.is_fork = source(call) == "fork";
    seen.receipt = receipt::of(source(call), context);
    let is_new = store.note_session(&seen, &session::at_once(&begun))?;
    Ok(if is_new { Noted::New } else { Noted::Repeated })
}

/// Lets a child finish what may run unattended, and returns whether there was anything. The child also hands over what the
/// sweep left; nobody waits for that.
fn finish_due(project: &Project, store: &Store, is_swept: bool, told: &mut Vec<String>) -> Result<bool> {
    let (due, left) = engine::due(project, store)?;
    if !left.is_empty() {
        told.push(format!("{} left for `agent-handover run --resume`: they need your consent", left.len()));
    }
    let is_any = !due.is_empty() || !engine::left_behind(project).is_empty();
    if is_any {
        let finished = engine::finish_due(project, store, &due, DUE_LIMIT)?;
        told.push(format!("{finished} of {} due finished", due.len()));
    } else if !is_swept && engine::start_child(project)?.is_some() {
        told.push("other sessions are swept in the background".to_owned());
    }
    Ok(is_any)
}
