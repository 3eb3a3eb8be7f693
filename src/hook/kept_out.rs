//! Sessions that leave no handover of their own: the parts of another session, and those that the user keeps out.
//!
//! An agent that was started by a command of another agent does a part of that agent's work. What the process of the inner
//! agent was started with shows it: the outer agent sets a variable for its commands, and is among the processes above. A
//! variable alone shows nothing, because a terminal that the outer agent once opened keeps it for good. An outer agent that
//! works in another project leaves its handover there, so the inner session is a session of its own here.
//!
//! Where processes cannot be seen (macOS), some outer agents are known all the same: their variable has the id of a session
//! that hooks follow in this project.
//!
//! The decision is made when a session is first seen, and holds until a person resumes the session.

use super::record::Record;
use super::session;
use crate::agents::{self, Agent, Call, Event, Starter};
use crate::base::process_identity::{self, Ancestor};
use crate::error::Result;
use crate::project::{self, Project};

/// Why the session of this call leaves no handover; `None` if it does.
pub(super) fn kept_out(project: &Project, call: &Call, record: &mut Record<'_>) -> Result<Option<String>> {
    if call.event == Event::BeforeTool {
        return Ok(None);
    }
    let Some((id, known)) = call.session_id.as_ref().zip(record.read()) else {
        return Ok(reason(project, call, record));
    };
    let agent = call.agent.name;
    let earlier = known.kept_out(agent, id)?;
    let is_followed = earlier.is_none() && known.session(agent, id)?.is_some();
    if is_followed || earlier.is_some() && call.event != Event::SessionStart {
        return Ok(earlier);
    }
    let now = reason(project, call, record);
    match (&earlier, &now) {
        (None, Some(why)) => record.write()?.keep_out(&session::seen(project, call, id), why)?,
        (Some(_), None) => record.write()?.let_in(&session::seen(project, call, id))?,
        (None, None) | (Some(_), Some(_)) => {}
    }
    Ok(now)
}

fn reason(project: &Project, call: &Call, record: &mut Record<'_>) -> Option<String> {
    if call.is_headless && !project.config.follows_headless {
        return Some("nobody sits in front of the agent, and `[hook] headless` is false".to_owned());
    }
    let outer = if process_identity::is_possible() { outer(project, call) } else { outer_on_record(call, record) }?;
    Some(format!("the session is part of that of {}, which started it", outer.title))
}

/// Whether the arguments of the agent's process show that nobody sits in front of it.
pub(super) fn is_headless(call: &Call) -> bool {
    let process = session::agent_process().map(|(process, _)| process);
    process.is_some_and(|process| (call.agent.processes.is_headless)(&process_identity::arguments(&process.identity)))
}

/// The agent that started the agent of this call to work in this project.
fn outer(project: &Project, call: &Call) -> Option<&'static Agent> {
    let (process, above) = session::agent_process()?;
    let roots = project.worktree_roots();
    let is_here = |process: &Ancestor| {
        let directory = process_identity::directory(&process.identity);
        directory.is_some_and(|directory| roots.contains(&project::root(&directory)))
    };
    let starters = agents::starters(&process_identity::environment(&process.identity));
    let found = starters.iter().find(|starter| {
        let is_outer = |process: &Ancestor| {
            let arguments = process_identity::arguments(&process.identity);
            agents::is_process_of(starter.agent, &process.name, &arguments) && is_here(process)
        };
        above.iter().position(is_outer).is_some_and(|at| is_another(starter, call, &above[..at]))
    });
    found.map(|starter| starter.agent)
}

/// The agent of the session inside which the agent of this call was started, if that session goes on in this project. A
/// terminal that an agent opened outlives its session, so a session that has been quiet for a while does not count.
fn outer_on_record(call: &Call, record: &mut Record<'_>) -> Option<&'static Agent> {
    let open = record.read()?.open_sessions().ok()?;
    let goes_on = |agent: &Agent, id: &str| {
        let session = open.iter().find(|session| session.agent == agent.name && session.id == id);
        session.is_some_and(|session| !session::is_over(session, "", session::last_change(session)))
    };
    let is_outer = |(agent, id): &(&'static Agent, String)| {
        let is_itself = *agent == call.agent && call.session_id.as_deref() == Some(id);
        !is_itself && goes_on(agent, id)
    };
    agents::sessions_around().into_iter().find(is_outer).map(|(agent, _)| agent)
}

/// Whether the starter is not this agent itself: a client may consist of several processes, which start each other. Those
/// start no shell between them, and have no variable with the id of another session.
fn is_another(starter: &Starter, call: &Call, between: &[Ancestor]) -> bool {
    let is_id = starter.value.len() > 8;
    starter.agent != call.agent
        || between.iter().any(session::is_shell)
        || is_id && call.session_id.as_deref() != Some(starter.value.as_str())
}
