//! Sample payloads, for `doctor --simulate`.

use std::path::Path;

use serde_json::Value;

use super::call::Event;
use crate::agents::Agent;
use crate::agents::agent::Sample;

/// The payload that this agent would send at this event, as far as we read it.
pub fn sample(agent: &Agent, name: &str, event: &Event, cwd: &Path, source: Option<&str>) -> Value {
    let cwd = cwd.to_string_lossy();
    let sample = Sample { event: name, session: "simulated-session", cwd: &cwd };
    let mut payload = (agent.payloads.sample)(&sample);
    match event {
        Event::SessionStart => payload["source"] = source.unwrap_or("startup").into(),
        Event::TurnEnd => payload["stop_hook_active"] = false.into(),
        Event::BeforeCompaction => payload["trigger"] = "auto".into(),
        Event::SessionEnd => payload["reason"] = "other".into(),
        Event::PromptSubmitted => payload["prompt"] = "a question".into(),
        Event::BeforeTool => {
            payload["tool_name"] = "Bash".into();
            payload["tool_input"] = serde_json::json!({ "command": "make test" });
        }
        Event::Unknown(_) => {}
    }
    payload
}
