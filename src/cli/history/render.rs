//! `history render`: a handoff as the prompt for another tool.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::super::Context;
use super::super::provenance::warn_of_document;
use super::{HistoryPlace, answer, origin_json, warn_of_origin};
use crate::bundle::render;
use crate::error::{Error, Result};
use crate::history::{self, FoundArchive, OpenHandoff};
use crate::warmup::{self, BRIEF_BUDGET, MIN_PROMPT_BUDGET, PERSON, PromptAsk};

/// The default of `--budget`.
const BUDGET: usize = 9_000;

/// Print a handoff as a prompt for another tool
#[derive(Args)]
pub(super) struct Render {
    /// The session: its id, a unique beginning or end of it, or `latest`, which is the default
    #[arg(value_name = "SESSION", conflicts_with = "id")]
    session: Option<String>,
    /// The same, as session-handoff names it
    #[arg(long, value_name = "SESSION", hide = true)]
    id: Option<String>,
    #[command(flatten)]
    form: Form,
}

/// How a prompt is written.
#[derive(Args)]
pub(super) struct Form {
    /// Who continues the work: `person` for a short brief, or a tool: generic, claude-code, codex, cursor, gemini, copilot, opencode, aider, or any other name
    #[arg(long, value_name = "TOOL")]
    target: Option<String>,
    /// The layout: `session-handoff` prints exactly what that tool prints
    #[arg(long, value_enum, value_name = "LAYOUT")]
    layout: Option<Layout>,
    /// At most this many bytes; not with `--layout session-handoff` [default: 9000, for a person 3000]
    #[arg(long, value_name = "BYTES")]
    budget: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Layout {
    #[default]
    Default,
    SessionHandoff,
}

impl Form {
    pub(super) fn is_any_given(&self) -> bool {
        self.target.is_some() || self.layout.is_some() || self.budget.is_some()
    }

    /// The prompt for a handoff. One that came with the repository says so in our own layout.
    pub(super) fn write(&self, place: &HistoryPlace, found: &FoundArchive, is_ours: bool) -> Result<String> {
        if found.handoff.fields.is_empty() {
            history::parse(&found.text).map_err(|error| error.lead(&format!("`{}`: ", found.path.display())))?;
        }
        let target = self.target.as_deref().map_or("generic", str::trim);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if target.is_empty() || target.len() > 64 || !target.chars().all(is_name) {
            return Err(Error::usage("a target is the name of a tool, such as `codex`"));
        }
        if self.layout == Some(Layout::SessionHandoff) {
            if self.budget.is_some() {
                return Err(Error::usage("session-handoff's layout is not cut: leave `--budget` out"));
            }
            return render::session_handoff(&found.handoff, target);
        }
        let is_brief = target == PERSON;
        let budget = self.budget.unwrap_or(if is_brief { BRIEF_BUDGET } else { BUDGET });
        if budget < MIN_PROMPT_BUDGET {
            return Err(Error::usage(format!("a prompt needs at least {MIN_PROMPT_BUDGET} bytes")));
        }
        let handoff = place.history.without_revoked(&found.handoff)?;
        let key = found.key();
        let status = place.history.status_of(&key, &found.handoff)?;
        let open = OpenHandoff { handoff, key, status, earlier: Vec::new() };
        let rulings = place.history.rulings()?;
        let ask = PromptAsk { open, rulings, target, budget, is_ours, origin: place.origin(found) };
        Ok(if is_brief { warmup::brief(ask) } else { warmup::prompt(ask) })
    }
}

/// The goal of a handoff if this user's session wrote it, and the handoff as the prompt for a tool. Text from elsewhere is
/// reported as such.
pub(in crate::cli) fn handoff_prompt(
    context: &mut Context<'_>,
    id: &str,
    tool: &str,
    budget: usize,
) -> Result<(Option<String>, String)> {
    let place = HistoryPlace::open(context, None)?;
    let found = place.history.find(id)?;
    let is_ours = place.owns(&found);
    let form = Form { target: Some(tool.to_owned()), layout: None, budget: Some(budget) };
    let page = form.write(&place, &found, is_ours)?;
    let origin = place.origin(&found);
    warn_of_origin(context, origin.as_ref());
    warn_of_document(context.ui, is_ours);
    let goal = (is_ours && origin.is_none()).then(|| found.handoff.text("primary_goal").to_owned());
    Ok((goal, page))
}

impl Render {
    pub(super) fn execute(self, context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
        let found = place.history.find(self.session.as_deref().or(self.id.as_deref()).unwrap_or("latest"))?;
        let is_ours = place.owns(&found);
        let text = self.form.write(place, &found, is_ours)?;
        let origin = place.origin(&found);
        warn_of_origin(context, origin.as_ref());
        warn_of_document(context.ui, is_ours);
        let handoff = &found.handoff;
        let document = json!({
            "id": handoff.text("session_id"),
            "prompt": text,
            "origin": origin_json(origin.as_ref()),
            "ours": is_ours,
        });
        if as_json {
            answer(context, true, "render", &[], document)
        } else {
            context.ui.answer_text(&text)
        }
        Ok(0)
    }
}
