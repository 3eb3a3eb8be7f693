//! What the home view shows, for people and as JSON.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::super::Context;
use super::super::paint::{Line, Role};
use super::super::provenance::warn_of_strange;
use super::super::table::{Table, cut};
use super::super::titles::in_words;
use super::super::ui::Ui;
use super::health::{Need, needs, of_transcripts};
use super::sources::{Session, Sources, Text};
use crate::base::{clock, fs, text};
use crate::engine::Plan;
use crate::error::Result;
use crate::project::Project;
use crate::warmup;

/// How many open loops are shown.
const LOOPS: usize = 5;
/// The longest text of a line.
const LONGEST: usize = 400;
/// The width of the words before the lines.
const LABEL: usize = 6;

/// Shows where the project stands, or what to do first.
pub(crate) fn execute(context: &mut Context<'_>, as_json: bool) -> Result<u8> {
    let project = context.project(None, None)?;
    let is_used = is_used(&project);
    let sources = if is_used { Sources::read(&project) } else { Sources::default() };
    let needs = if is_used { needs(&project) } else { of_transcripts(&project) };
    for problem in &sources.problems {
        context.ui.warn(&problem.one_line());
    }
    if as_json {
        context.ui.answer_json(&document(&project, is_used, &sources, &needs));
    } else if is_used {
        // A clone of a project that publishes may lack what is published.
        let may_pull = !Plan::of(&project.config).destination.is_local();
        print(context.ui, &sources, &needs, may_pull);
    } else {
        print_first_steps(context.ui, &project, &needs);
    }
    Ok(0)
}

/// Whether something of this program is in the project.
fn is_used(project: &Project) -> bool {
    let exists = |place: Result<std::path::PathBuf>| place.is_ok_and(|place| fs::exists(&place));
    project.config.file.is_some()
        || fs::exists(&project.state)
        || exists(project.memory_dir())
        || exists(project.history_dir())
}

fn document(project: &Project, is_used: bool, sources: &Sources, needs: &[Need]) -> Value {
    let session = |session: &Session| {
        json!({
            "id": session.id,
            "generated_at": session.at,
            "agent": session.agent,
            "branch": session.branch,
            "status": session.status,
            "title": session.title.text,
            "ours": session.title.is_ours,
        })
    };
    json!({
        "schema": "agent-handover/home/1",
        "root": project.root.display().to_string(),
        "is_used": is_used,
        "goal": sources.goal.as_ref().map(Text::json),
        "next": sources.next.as_ref().map(Text::json),
        "open_loops": sources.open_loops.iter().map(Text::json).collect::<Vec<_>>(),
        "sessions": sources.sessions.iter().map(session).collect::<Vec<_>>(),
        "health": needs.iter().map(Need::json).collect::<Vec<_>>(),
    })
}

fn print_first_steps(ui: &mut Ui, project: &Project, needs: &[Need]) {
    ui.answer(&format!("nothing is on record in {}", project.root.display()));
    ui.answer("");
    let mut table = Table::new(&["DO THIS FIRST", "COMMAND"]);
    for (what, command) in [
        ("connect the coding agents on this machine", "agent-handover install all"),
        ("hand over a session by hand", "agent-handover run \"done; next: …\""),
        ("see all commands", "agent-handover help"),
    ] {
        table.push(vec![what.to_owned(), command.to_owned()]);
    }
    // A command is not cut: people copy it.
    for line in table.painted(None) {
        ui.answer_line(&line);
    }
    if let Some(found) = warmup::sessions_found(project) {
        ui.answer("");
        ui.answer(&found);
    }
    if !needs.is_empty() {
        print_health(ui, needs);
    }
}

fn print(ui: &mut Ui, sources: &Sources, needs: &[Need], may_pull: bool) {
    let texts = sources.goal.iter().chain(&sources.next).chain(&sources.open_loops);
    let titles = sources.sessions.iter().map(|session| &session.title);
    warn_of_strange(ui, texts.chain(titles).filter(|text| !text.is_ours).count());
    let room = ui.width().map_or(LONGEST, |width| width.saturating_sub(LABEL));
    let mut labelled = |label: &str, text: &str| {
        let text = cut(&text::model_line(text, LONGEST), room);
        ui.answer_line(&Line::of(Role::Head, label).plain(" ".repeat(LABEL - label.len())).plain(text));
    };
    match &sources.goal {
        Some(goal) => labelled("goal", &goal.shown()),
        None if sources.next.is_some() || !sources.open_loops.is_empty() => {}
        None => labelled("goal", "none on record; `agent-handover memory add goal \"…\"` sets one"),
    }
    if let Some(next) = &sources.next {
        labelled("next", &next.shown());
    }
    // The same words in other letters say nothing new.
    let mut said: HashSet<String> = sources.next.iter().map(|next| next.text.trim().to_lowercase()).collect();
    let is_new = |open: &&Text| said.insert(open.text.trim().to_lowercase());
    let open_loops: Vec<&Text> = sources.open_loops.iter().filter(is_new).collect();
    for (number, open) in open_loops.iter().take(LOOPS).enumerate() {
        labelled(if number == 0 { "open" } else { "" }, &open.shown());
    }
    if let Some(more @ 1..) = open_loops.len().checked_sub(LOOPS) {
        labelled("", &format!("and {more} more: `agent-handover memory list open_loop`"));
    }
    ui.answer("");
    print_sessions(ui, &sources.sessions, needs, may_pull);
    ui.answer("");
    print_health(ui, needs);
}

fn print_sessions(ui: &mut Ui, sessions: &[Session], needs: &[Need], may_pull: bool) {
    if sessions.is_empty() {
        if needs.iter().any(|need| matches!(need.kind, "unfinished" | "running")) {
            return ui.answer("no session is archived yet: its handover is not finished");
        }
        if may_pull {
            return ui.answer(
                "no session is on record here yet; `agent-handover pull` brings what other machines published",
            );
        }
        return ui.answer("no session is on record yet; `agent-handover run \"what it did; next: …\"` hands one over");
    }
    let short = |text: &str| if matches!(text, "" | "unknown") { "-".to_owned() } else { text.to_owned() };
    let columns = ["WHEN", "AGENT", "BRANCH", "OUTCOME", "SESSION"];
    let rows = sessions.iter().map(|session| {
        let when = clock::parse_stamp(&session.at).map_or_else(|| session.at.clone(), |at| ui.when(&at));
        let cells = [when, short(&session.agent), short(&session.branch), in_words(&session.status)];
        let mut row: Vec<String> = cells.iter().map(|cell| text::model_line(cell, 30)).collect();
        row.push(text::model_line(&session.title.shown(), LONGEST));
        row
    });
    let rows: Vec<Vec<String>> = rows.collect();
    // A column in which nothing is known is left out.
    let kept: Vec<usize> = (0..columns.len()).filter(|at| rows.iter().any(|row| row[*at] != "-")).collect();
    let heads: Vec<&str> = kept.iter().map(|at| columns[*at]).collect();
    let mut table = Table::new(&heads).dispensable(&["BRANCH", "AGENT"]);
    for row in rows {
        table.push(kept.iter().map(|at| row[*at].clone()).collect());
    }
    ui.answer_table(&table);
}

fn print_health(ui: &mut Ui, needs: &[Need]) {
    if needs.is_empty() {
        return ui.answer_line(&Line::of(Role::Good, "all is well"));
    }
    for need in needs {
        let says = text::model_line(&need.says, 200);
        // Some sentences name the command themselves.
        let line = if says.contains(&need.command) { says } else { format!("{says}: `{}`", need.command) };
        ui.answer_hanging(Role::Bad, "! ", &line);
    }
}
