//! `capture`: writes down what the session learned, and closes what is done. All of it is recorded, or nothing.

use serde_json::{Value, json};

use crate::base::text;
use crate::config::category::{Category as Kept, Mode};
use crate::engine::{self, Attendance, Event, MemoryRequest};
use crate::error::{Category, Error, Result};
use crate::guard::secrets::OnSecret;
use crate::mcp::arguments::Arguments;
use crate::mcp::tool::{Caller, Effect, Tool};
use crate::mcp::{answer, place};
use crate::memory::state::CurrentState;
use crate::memory::{self, Added, ChangeVerb, Edits, Memory, StateChange, capture, named_category};
use crate::project::Project;

/// The categories that have one item, which the next one replaces.
const REPLACED: [&str; 2] = ["goal", "overview"];

pub(in crate::mcp) const TOOL: Tool = Tool {
    name: "capture",
    description: "Write down what later sessions must know, when it happens; all of it is recorded or nothing. `goal` replaces the \
                  goal, everything else is added. `done` closes open loops and known issues and `delete` removes items, by the \
                  ids that `show` with the id `state` lists.",
    schema: || {
        let text = json!({ "type": "string" });
        let list = json!({ "type": "array", "items": { "type": "string" } });
        json!({
            "type": "object",
            "properties": {
                "goal": text,
                "constraints": list,
                "decisions": { "type": "array", "items": { "type": "string" }, "description": "each with its reason" },
                "open_loops": { "type": "array", "items": { "type": "string" }, "description": "the next action first" },
                "known_issues": list,
                "summary": text,
                "done": list,
                "delete": list,
            },
        })
    },
    effect: Effect::Changes,
    call,
};

fn call(caller: &Caller<'_>, arguments: Arguments) -> Result<String> {
    let project = caller.project;
    place::refuse_closed(project)?;
    let mut told = Vec::new();
    engine::finish_interrupted(project, &mut |event| told.extend(notice(event)));
    let state = Memory::at(&project.memory_root, project.memory_dir()?).state()?;
    let (edits, base) = edits(project, &state, arguments)?;
    if edits == Edits::default() {
        return Err(Error::usage("the capture says nothing, so nothing was recorded"));
    }
    let mut secrets = engine::secret_policy(&project.config, Attendance::Hook, &[]);
    if !project.is_allowed() {
        // Somebody else's config cannot let secrets through.
        secrets.on_secret = OnSecret::Redact;
    }
    let agent = Some(caller.agent);
    let request = MemoryRequest { step: "capture", edits, base, agent, secrets };
    let edited = engine::edit_memory(project, request, &mut |event| told.extend(notice(event)));
    let mut lines = match edited {
        Ok(edited) => lines(&edited.changes),
        // The words are recorded. Saying them again would double them.
        Err(error) if error.category() == Category::Paused => vec![error.one_line()],
        Err(error) => return Err(error),
    };
    lines.extend(told);
    Ok(answer::fitted(&lines.join("\n"), ""))
}

fn notice(event: Event) -> Option<String> {
    match event {
        Event::Notice { text } => Some(text),
        _ => None,
    }
}

/// The changes that a capture asks for.
fn edits(project: &Project, state: &CurrentState, mut arguments: Arguments) -> Result<(Edits, Option<String>)> {
    let (done, delete) = (arguments.texts("done")?, arguments.texts("delete")?);
    let categories = &project.config.categories;
    let (mut edits, base) = capture::parse(&Value::Object(arguments.rest()).to_string(), categories)?;
    // Other than a whole account of a session, one thing said in its middle replaces nothing but the goal.
    for (name, texts) in edits.record.extract_if(.., |(name, _)| !REPLACED.contains(&name.as_str())) {
        edits.add.extend(in_order(&categories.get(&name), texts).map(|text| Added::new(&name, text)));
    }
    for name in &edits.clear {
        named_category(categories, state, name)
            .map_err(|problem| Error::usage(format!("`clear`: {}", problem.message())).hint(problem.hint()))?;
    }
    for id in &done {
        let (category, item) = item(state, id)?;
        if !memory::CAN_BE_DONE.contains(&category) {
            return Err(Error::usage(format!("`{}` is in {category}, whose items are not closed", item.id))
                .hint("`delete` removes it"));
        }
        edits.done.push(item.id.clone());
    }
    for id in &delete {
        edits.delete.push(item(state, id)?.1.id.clone());
    }
    Ok((edits, base))
}

/// The order in which the items of one list are added. The first of them counts most. A category that keeps what was stated
/// together shows its items in the order of the file, any other one the newest first. What a category cannot keep is its
/// oldest items, so those beyond its limit are added before the others.
fn in_order(category: &Kept, mut texts: Vec<String>) -> impl Iterator<Item = String> + use<> {
    let beyond = texts.split_off(texts.len().min(category.keep));
    if category.mode == Mode::Append {
        texts.reverse();
    }
    beyond.into_iter().rev().chain(texts)
}

fn item<'s>(state: &'s CurrentState, id: &str) -> Result<(&'s str, &'s memory::state::Item)> {
    let short = Error::usage(format!("no item has the id `{}`", capture::shown(id)))
        .hint("`show` with the id `state` lists the ids");
    memory::find(state, id).map_err(|error| if error.category() == Category::Usage { error } else { short })
}

/// One line a change, with its id.
fn lines(changes: &[StateChange]) -> Vec<String> {
    let line = |change: &StateChange| {
        let what = match change.verb {
            ChangeVerb::Added => "added",
            verb => verb.name(),
        };
        format!("{what} {} {}: {}", change.category, change.id, text::model_line(&change.text, 200))
    };
    match changes {
        [] => vec!["nothing changed: the state says all of this already".to_owned()],
        changes => changes.iter().map(line).collect(),
    }
}
