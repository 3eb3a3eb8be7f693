//! `search`: what earlier sessions said, decided, tried and ran.

use std::time::Duration;

use serde_json::json;

use crate::base::{clock, text};
use crate::engine::{self, Provenance};
use crate::error::{Error, Result};
use crate::history::FROM_OUTSIDE;
use crate::mcp::arguments::Arguments;
use crate::mcp::tool::{Caller, Effect, Tool};
use crate::mcp::{answer, place};
use crate::search::{self, Asker, Edge, Hit, PassageKind, Query};

/// How long a call brings the index up to date before it answers with what the index has.
const UPDATE_TIME: Duration = Duration::from_secs(5);
const DEFAULT_LIMIT: u64 = 5;
const MAX_LIMIT: u64 = 20;
/// How many characters of a passage are shown, and how many of them before the first match.
const MAX_PASSAGE: usize = 500;
const LEAD: usize = 80;

pub(in crate::mcp) const TOOL: Tool = Tool {
    name: "search",
    description: "Find what earlier sessions of this project said, decided, tried or ran: words or a question. \
                  `error:MESSAGE` finds sessions that met an error and what they did next, `path:FILE` those that touched a file. \
                  Each hit has an id for `show`.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT },
                "since": { "type": "string", "description": "a day, or an age such as 7d" },
            },
            "required": ["query"],
        })
    },
    effect: Effect::Reads,
    call,
};

fn call(caller: &Caller<'_>, mut arguments: Arguments) -> Result<String> {
    let query = query(&mut arguments)?;
    arguments.end(&["query", "limit", "since"])?;
    let project = caller.project;
    place::refuse_closed(project)?;
    let found = search::find(project, &query, Some(Asker::Agent), UPDATE_TIME, &mut |_, _| (), Provenance::judge);
    let mut page = String::new();
    if found.is_empty_question {
        page.push_str("The question has no word to look for: name what was said, done or seen.\n");
    } else if found.hits.is_empty() {
        page.push_str("Nothing was found. Try fewer or other words.\n");
    }
    for (number, (hit, is_ours)) in (1..).zip(&found.hits) {
        page.push_str(&shown(number, hit, *is_ours));
    }
    if found.freshness.missing > 0 {
        let files = text::count(found.freshness.missing, "file");
        page.push_str(&format!("({files} could not be read in time; search again for the rest)\n"));
    }
    if let Some(notice) = found.meaning.notice() {
        page.push_str(&format!("({})\n", text::model_line(&notice, 300)));
    }
    Ok(answer::fitted(&page, "; ask for fewer hits"))
}

fn query(arguments: &mut Arguments) -> Result<Query> {
    let text = arguments.required_text("query")?;
    let error = text.trim_start().strip_prefix("error:").map(str::to_owned);
    let since = arguments.text("since")?;
    let since = match &since {
        None => None,
        Some(word) => Some(search::moment(word, &clock::now(), Edge::Start).ok_or_else(|| {
            Error::usage(format!("`since`: `{}` is not a time", text::one_line(word, 40)))
                .hint("for example `2026-11-15`, `7d` or `yesterday`")
        })?),
    };
    Ok(Query {
        is_error: error.is_some(),
        text: error.unwrap_or(text),
        limit: arguments.number("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT) as usize,
        since,
        ..Query::default()
    })
}

/// A hit: its title, when and by whom it was said, its id, and the passage.
fn shown(number: usize, hit: &Hit, is_ours: bool) -> String {
    let day = hit.at.and_then(|at| chrono::DateTime::from_timestamp(at, 0)).map(|at| at.format("%Y-%m-%d").to_string());
    let parts = [day.unwrap_or_default(), hit.kind.name().to_owned(), hit.agent.clone(), hit.branch.clone()];
    let about: Vec<String> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| text::model_line(part, 60)).collect();
    let mark = match engine::mark(is_ours, if hit.kind == PassageKind::Ruling { "decision" } else { "" }) {
        "" if hit.is_from_outside => FROM_OUTSIDE,
        mark => mark,
    };
    let mut page = format!(
        "{number}. {} ({})\n   id: {}\n   > {mark}{}\n",
        text::model_line(&hit.title, 100),
        about.join(", "),
        text::model_line(id(hit), 100),
        passage(hit)
    );
    for near in &hit.near {
        page.push_str(&format!("   {}: {}\n", near.kind.name(), text::model_line(&near.text, 200)));
    }
    page
}

/// The id by which `show` finds a hit.
fn id(hit: &Hit) -> &str {
    match hit.kind {
        PassageKind::Item => super::show::STATE,
        PassageKind::Ruling if hit.session.is_empty() => super::show::STATE,
        _ if !hit.handoff.is_empty() => &hit.handoff,
        _ if !hit.session.is_empty() => &hit.session,
        _ if !hit.run.is_empty() => &hit.run,
        _ => super::show::STATE,
    }
}

/// The part of the passage around its first match.
fn passage(hit: &Hit) -> String {
    let first = hit.matches.first().map_or(0, |place| place.start);
    let before = hit.text.get(..first).unwrap_or_default();
    let start = before.char_indices().rev().nth(LEAD).map_or(0, |(at, _)| at);
    let lead = if start > 0 { "…" } else { "" };
    format!("{lead}{}", text::model_line(hit.text.get(start..).unwrap_or_default(), MAX_PASSAGE))
}
