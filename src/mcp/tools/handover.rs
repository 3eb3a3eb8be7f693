//! `handover`: ends the session for agents that have no hooks.

use std::time::Duration;

use serde_json::json;

use crate::base::env;
use crate::engine::{self, Attendance, Carrier, HandedOver, HowToRun, NotDetached, Request, Task};
use crate::error::{Error, Result};
use crate::mcp::answer;
use crate::mcp::arguments::Arguments;
use crate::mcp::tool::{Caller, Effect, Tool};

/// A child carries the run out. The client waits for nobody.
const DETACHED: HowToRun = HowToRun { wait: Duration::ZERO, carrier: Carrier::Child };

pub(in crate::mcp) const TOOL: Tool = Tool {
    name: "handover",
    description: "Hand this session over when the work ends or pauses. `capture` goal, decisions and open loops first. `summary`: what \
                  was done, what did not work and why, what comes next. `document`: a handoff in the form that \
                  `agent-handover history template` prints, if you wrote one.",
    schema: || {
        json!({
            "type": "object",
            "properties": { "summary": { "type": "string" }, "document": { "type": "string" } },
            "required": ["summary"],
        })
    },
    effect: Effect::Adds,
    call,
};

fn call(caller: &Caller<'_>, mut arguments: Arguments) -> Result<String> {
    let summary = arguments.required_text("summary")?;
    let document = arguments.text("document")?;
    arguments.end(&["summary", "document"])?;
    // An agent that one of our own steps started must not hand over in turn, without end.
    if env::get(env::CHILD).is_some() {
        return Err(Error::failed("this agent was started by a handover, so it cannot hand over itself"));
    }
    let places = caller.project.unattended_places();
    if let Some(notice) = places.notice().filter(|_| !places.has_state()) {
        return Err(Error::failed(notice).hint("only the user can decide that; tell them"));
    }
    let request = Request {
        note: Some(summary),
        handoff: document,
        agent: Some(caller.agent.to_owned()),
        attendance: Attendance::Hook,
        ..Request::default()
    };
    let handed = engine::hand_over(caller.project, Task::Record(&request), DETACHED, &mut |_| ());
    let handed = handed.map_err(|failure| {
        if failure.is_recorded {
            failure.error
        } else {
            failure.error.hint("nothing was recorded: fix this, then call again")
        }
    })?;
    Ok(answer::fitted(&told(handed), ""))
}

fn told(handed: HandedOver) -> String {
    let HandedOver::Detached { recorded, child } = handed else {
        return "this session was handed over already".to_owned();
    };
    let mut lines = vec![match child {
        Ok(_) => format!("recorded as {}; it is carried out in the background", recorded.id),
        Err(NotDetached::Stopped(stop)) => {
            format!("recorded as {}; it waits, because {}", recorded.id, stop.error().one_line())
        }
        Err(NotDetached::Busy(_)) => format!("recorded as {}; the process that is handing over takes it", recorded.id),
        Err(NotDetached::Failed(error)) => format!("recorded as {}; it waits: {}", recorded.id, error.one_line()),
    }];
    lines.extend(recorded.warnings);
    lines.join("\n")
}
