//! Simulates the hooks of one agent.

use serde_json::{Value, json};

use crate::agents::{self, Agent, Event, payload};
use crate::base::env;
use crate::hook;
use crate::project::Project;
use crate::warmup;

/// One payload of each event, with the answer that the agent would receive. Nothing is changed.
pub(super) fn simulate(project: &Project, agent: &'static Agent) -> Vec<Value> {
    let mut answers = Vec::new();
    let mut simulated: Vec<&Event> = Vec::new();
    let generic = [("SessionStart", Event::SessionStart)];
    let events: &[(&str, Event)] = if agent.events.is_empty() { &generic } else { agent.events };
    for (name, event) in events {
        if simulated.contains(&event) {
            continue;
        }
        simulated.push(event);
        let sources: &[Option<&str>] = match event {
            Event::SessionStart => &[Some("startup"), Some("resume"), Some("compact")],
            _ => &[None],
        };
        for source in sources {
            let mut sent = payload::sample(agent, name, event, &project.root, *source);
            if let Some(asked) = hook::sample_question(project, event) {
                let place =
                    if *event == Event::BeforeTool { &mut sent["tool_input"]["command"] } else { &mut sent["prompt"] };
                *place = asked.into();
            }
            let call = agents::recognise(sent.to_string().as_bytes(), Some(agent.name), &|name| env::get_text(name));
            let received = hook::simulate(project, &call);
            answers.push(json!({
                "event": name, "source": source, "payload": sent, "received": received,
                "bytes": received.len(), "tokens": warmup::tokens(&received),
            }));
        }
    }
    answers
}
