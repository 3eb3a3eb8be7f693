//! `history select`: a person picks a handoff and says what to do with it. On a pipe, its id is the answer.

use clap::{Args, Parser};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::super::ask::{self, Choice};
use super::super::ids::SessionIds;
use super::super::provenance::mark_of_handoff;
use super::super::titles::{self, in_words};
use super::super::ui::Ui;
use super::super::{Cli, Context};
use super::filters::Filters;
use super::list::known;
use super::{HistoryPlace, answer, print};
use crate::agents::{AGENTS, Agent, Places};
use crate::base::text;
use crate::error::{Error, Result};
use crate::history::SessionEntry;

/// Pick a handoff from a list and show, export, render or continue it; on a pipe, print its id
#[derive(Args)]
pub(super) struct Select {
    #[command(flatten)]
    filters: Filters,
    /// Only handoffs whose id begins with this
    #[arg(long, value_name = "PREFIX")]
    id: Option<String>,
    /// Print the id of the newest handoff that matches, without asking
    #[arg(long)]
    print_id: bool,
}

impl Select {
    pub(super) fn execute(self, context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
        if !self.print_id && !context.ui.can_ask() {
            return Err(Error::usage("`history select` asks a person, and there is no terminal to ask on")
                .hint("`--print-id` prints the newest that matches; `history list --json` has all"));
        }
        let entries = self.filters.of(context, place, self.id.as_deref())?;
        if entries.is_empty() {
            return Err(Error::failed("no handoff matches"));
        }
        let chosen = if self.print_id {
            0
        } else {
            let picked = ask::pick(context.ui, "handoff", choices(context.ui, place, &entries))?;
            picked.ok_or_else(|| Error::failed("nothing was selected"))?
        };
        let id = entries[chosen].get("session_id");
        if self.print_id || as_json || !context.ui.can_edit() {
            answer(context, as_json, "select", &[id], json!({ "id": id }));
            return Ok(0);
        }
        print::show(context, place, id, false)?;
        let short = SessionIds::of(&place.history).short(id).to_owned();
        match ask::key(
            context.ui,
            "\ne exports · r renders as a prompt · c continues in an agent · any other key leaves",
        )? {
            Some('e') => command(context, &["history", "export", &short, "--format", "json", "--output", &file(id)]),
            Some('r') => command(context, &["history", "render", &short]),
            Some('c') => match agent(context)? {
                Some(agent) => command(context, &["continue", agent, "--from", &short]),
                None => Ok(0),
            },
            _ => Ok(0),
        }
    }
}

/// Runs a command of this program, and shows it, so that a person can type it next time.
fn command(context: &mut Context<'_>, words: &[&str]) -> Result<u8> {
    let typed: Vec<String> = words.iter().map(|word| text::shell_word(word)).collect();
    context.ui.tell(&format!("agent-handover {}", typed.join(" ")));
    let parsed = Cli::try_parse_from(std::iter::once(&"agent-handover").chain(words));
    let parsed = parsed.map_err(|error| Error::usage(text::one_line(&error.to_string(), 300)))?;
    parsed.command.map_or(Ok(0), |command| command.execute(context))
}

/// The file that a handoff is exported to.
fn file(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = id.chars().filter(|c| is_plain(*c)).take(100).collect();
    format!("handoff-{name}.json")
}

/// An agent on this machine that a person picks.
fn agent(context: &Context<'_>) -> Result<Option<&'static str>> {
    let places = Places::here(&context.cwd)?;
    let is_here =
        |agent: &&&Agent| agent.launch.as_ref().is_some_and(|launch| places.program(launch.program).is_some());
    let agents: Vec<&Agent> = AGENTS.iter().filter(is_here).copied().collect();
    if agents.is_empty() {
        return Err(Error::failed("no coding agent that can be started is installed here")
            .hint("`agent-handover continue AGENT --print` prints the command for another machine"));
    }
    let choice = |agent: &&Agent| Choice { line: agent.title.to_owned(), end: String::new(), preview: Vec::new() };
    let picked = ask::pick(context.ui, "agent", agents.iter().map(choice).collect())?;
    Ok(picked.map(|at| agents[at].name))
}

fn choices(ui: &Ui, place: &HistoryPlace, entries: &[SessionEntry]) -> Vec<Choice> {
    let provenance = place.provenance();
    let ids = SessionIds::of(&place.history);
    let agents: Vec<String> = entries.iter().map(|entry| text::one_line(known(entry.get("agent")), 16)).collect();
    // A column in which nothing is known is left out.
    let has_agents = agents.iter().any(|agent| agent != "-");
    let widest = agents.iter().map(|agent| agent.width()).max().filter(|_| has_agents);
    let titles = titles::of(&place.history, &entries.iter().collect::<Vec<_>>(), &provenance);
    let choice = |((entry, agent), title): ((&SessionEntry, &String), String)| {
        let agent = widest.map_or(String::new(), |widest| format!("{agent}{}  ", " ".repeat(widest - agent.width())));
        let is_ours = provenance.owns_entry(&place.history, entry);
        choice(ui, place, entry, &format!("{agent}{title}"), ids.short(entry.get("session_id")), is_ours)
    };
    entries.iter().zip(&agents).zip(titles).map(choice).collect()
}

/// The line and preview of an entry.
fn choice(ui: &Ui, place: &HistoryPlace, entry: &SessionEntry, title: &str, short: &str, is_ours: bool) -> Choice {
    let get = |key: &str, max: usize| text::one_line(entry.get(key), max);
    let origin = place.provenance().origin_of_entry(&place.history, entry);
    let mark = mark_of_handoff(is_ours, origin.is_some());
    let when = entry.time().map_or(String::new(), |time| ui.when(&time));
    let short = text::one_line(short, 100);
    let line = format!("{when:<11}  {mark}{}", text::one_line(title, 200));
    let mut preview = vec![
        format!("goal: {}", format_args!("{mark}{}", get("primary_goal", 300))),
        format!("next: {}", format_args!("{mark}{}", get("first_next_action", 300))),
        format!(
            "status: {}, {}, branch {}",
            in_words(&get("status", 40)),
            get("generated_at", 40),
            get("current_branch", 80)
        ),
        format!("id: {short}"),
        format!("tags: {}", get("search_tags", 200)),
        format!("file: {}", place.history.directory.join(entry.get("file")).display()),
    ];
    if let Some(origin) = origin {
        preview.insert(0, format!("from outside, {}", text::one_line(&origin.voucher(), 200)));
    }
    Choice { line, end: short, preview }
}
