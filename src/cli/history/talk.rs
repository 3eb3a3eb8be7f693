//! `history show ID --talk`: what was said in a session, also after its agent deleted the transcript.

use serde_json::json;

use super::super::Context;
use super::super::provenance::warn_of_document;
use super::{HistoryPlace, answer};
use crate::base::text;
use crate::error::{Error, Result};
use crate::history::{self, AGENT_SESSION, NotFound};
use crate::project::Project;
use crate::transcript::{self, Outcome, RanCommand, Transcript, UtteranceKind};

/// Prints the kept talk of a session. The id is that of its handoff, or the agent's own.
pub(super) fn show(context: &mut Context<'_>, place: &HistoryPlace, id: &str, as_json: bool) -> Result<u8> {
    let (session, agent, not_found) = match place.history.look_up(id) {
        Ok(found) => (found.handoff.text(AGENT_SESSION).to_owned(), found.handoff.text("agent").to_owned(), None),
        Err(error) if id.trim().is_empty() || id == "latest" => return Err(error.into_error()),
        Err(error) => (id.to_owned(), String::new(), Some(error)),
    };
    let project = place.project()?;
    let Some((file, talk)) = find(&project, &session, &agent) else {
        // The beginning of several ids names none of them.
        return Err(match not_found {
            Some(NotFound::Ambiguous(error)) => error,
            Some(NotFound::Other(_)) | None => none_kept(id),
        });
    };
    let is_ours = place.provenance().owns_key(&history::own_keys::of_talk(&file), "", true);
    warn_of_document(context.ui, is_ours);
    let text = text_of(&talk);
    if as_json {
        let talk = json!({ "session": talk.session, "agent": talk.agent, "talk": text, "ours": is_ours });
        answer(context, true, "show", &[], talk);
    } else {
        context.ui.answer_document(&text::for_model(&text));
    }
    Ok(0)
}

fn none_kept(id: &str) -> Error {
    let id = text::one_line(id, 100);
    Error::failed(format!("no talk is kept of the session `{id}`"))
        .hint("`[transcripts] keep = \"talk\"` keeps that of later sessions; `agent-handover search` finds what the agent's own files still have")
}

/// The kept talk of the session with this id of its agent, with its file. Two agents may use the same id; that of the agent
/// which the handoff names comes first.
fn find(project: &Project, session: &str, agent: &str) -> Option<(Vec<u8>, Transcript)> {
    if session.is_empty() {
        return None;
    }
    project.talk_directories().into_iter().find_map(|directory| {
        let anchor = project.anchor(&directory);
        let mut names = anchor.names(&directory).ok()?;
        names.sort_by_key(|name| transcript::of_kept_name(name).is_none_or(|(_, of)| of != agent));
        let is_its = |name: &&String| {
            transcript::of_kept_name(name)
                .is_some_and(|(_, of)| transcript::kept_name(of, session).as_ref() == Some(*name))
        };
        names.iter().filter(is_its).find_map(|name| {
            let file = anchor.read_within(&directory.join(name), transcript::MAX_KEPT_FILE).ok()?;
            let talk = transcript::read_kept(&file).filter(|talk| talk.session == session)?;
            Some((file, talk))
        })
    })
}

/// The talk as Markdown, in the order in which it was said and done.
fn text_of(talk: &Transcript) -> String {
    let ended = talk.ended.map(|at| format!(", until {}", at.format("%Y-%m-%d %H:%M"))).unwrap_or_default();
    let mut text = format!("# Session {} of {}{ended}\n", talk.session, talk.agent);
    let mut ran = talk.ran.iter().peekable();
    for (number, said) in talk.talk.iter().enumerate() {
        while let Some(next) = ran.next_if(|ran| ran.said_before <= number && ran.turn <= said.turn) {
            text.push_str(&line_of(next));
        }
        let who = match said.kind {
            UtteranceKind::Request | UtteranceKind::SlashCommand => "Request",
            UtteranceKind::Refusal => "Refusal",
            UtteranceKind::Answer => "Answer to a question",
            UtteranceKind::ApprovedPlan => "Approved plan",
            UtteranceKind::AgentText => "Agent",
        };
        let about = if said.about.is_empty() { String::new() } else { format!(" ({})", said.about) };
        text.push_str(&format!("\n{}\n", indented(&format!("**{who}**{about}: {}", said.text), "  ")));
    }
    ran.for_each(|ran| text.push_str(&line_of(ran)));
    text
}

fn line_of(ran: &RanCommand) -> String {
    let outcome = match ran.outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed(Some(code)) => format!("failed with {code}"),
        Outcome::Failed(None) => "failed".to_owned(),
        Outcome::Unknown => "ran".to_owned(),
    };
    format!("\n    $ {} ({outcome})\n", indented(&ran.command, "      "))
}

/// A text whose further lines are indented, so that none of them can pass for what somebody else said.
fn indented(text: &str, by: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| if line.is_empty() { text + "\n" } else { text + "\n" + by + line })
}
