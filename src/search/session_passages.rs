//! The passages of a transcript: what was asked, answered and decided, which commands ran, and which failed with what.
//!
//! Tool output is not indexed, except for the lines that name an error.

use std::borrow::Cow;
use std::path::Path;

use crate::base::{fs, text};
use crate::transcript::{Outcome, RanCommand, Transcript, TurnWork, Utterance, UtteranceKind};

use super::action;
use super::passage::{Document, Passage, PassageKind, Ran, Touched, split};

/// How long a title may be, in characters.
const MAX_TITLE: usize = 120;
/// How many bytes of commands make one passage.
const MAX_COMMANDS: usize = 700;

/// The document that a part of a transcript makes, with paths relative to one of these roots.
pub(super) fn of_transcript(found: &Transcript, roots: &[std::path::PathBuf]) -> Document {
    let seconds = |at: &Option<chrono::DateTime<chrono::FixedOffset>>| at.map(|at| at.timestamp());
    let mut document = Document {
        session: found.session.clone(),
        title: title(found),
        agent: found.agent.to_owned(),
        branch: found.branch.clone(),
        started: seconds(&found.started),
        ended: seconds(&found.ended),
        ..Document::default()
    };
    document.ran = found.ran.iter().filter_map(ended).collect();
    let mut ran = found.ran.iter().peekable();
    let mut commands = Commands::default();
    let mut turn = 0;
    for (number, said) in found.talk.iter().enumerate() {
        while let Some(next) = ran.next_if(|ran| ran.said_before <= number && ran.turn <= said.turn) {
            commands.add(next, &mut document.passages);
        }
        commands.end(&mut document.passages);
        if said.turn != turn {
            edited(found, turn, roots, said.at.map(|at| at.timestamp()), &mut document);
            turn = said.turn;
        }
        document.passages.extend(passages_of(said));
    }
    ran.for_each(|ran| commands.add(ran, &mut document.passages));
    commands.end(&mut document.passages);
    edited(found, turn, roots, document.ended, &mut document);
    document
}

/// How a command ended, if that is known.
fn ended(ran: &RanCommand) -> Option<Ran> {
    let has_passed = match ran.outcome {
        Outcome::Passed => true,
        Outcome::Failed(_) => false,
        Outcome::Unknown => return None,
    };
    let error = if has_passed {
        String::new()
    } else {
        text::kept_line(ran.errors.lines().next().unwrap_or_default(), MAX_TITLE)
    };
    Some(Ran { command: action::normalised(&ran.command)?, at: ran.at.map(|at| at.timestamp()), has_passed, error })
}

fn title(found: &Transcript) -> String {
    let title = if found.title.is_empty() { &found.first_request } else { &found.title };
    text::kept_line(title, MAX_TITLE)
}

fn passages_of(said: &Utterance) -> impl Iterator<Item = Passage> {
    let kind = match said.kind {
        UtteranceKind::Request | UtteranceKind::SlashCommand => PassageKind::Request,
        UtteranceKind::Refusal | UtteranceKind::Answer => PassageKind::Ruling,
        UtteranceKind::ApprovedPlan | UtteranceKind::AgentText => PassageKind::Answer,
    };
    let at = said.at.map(|at| at.timestamp());
    let whole = match said.about.as_str() {
        "" => Cow::Borrowed(said.text.as_str()),
        about => Cow::Owned(format!("{about}\n{}", said.text)),
    };
    split(&whole).into_iter().map(|part| Passage { kind, at, text: part.to_owned() }).collect::<Vec<_>>().into_iter()
}

/// Commands that passed between two things that were said. They make one passage.
#[derive(Default)]
struct Commands {
    lines: Vec<String>,
    at: Option<i64>,
}

impl Commands {
    fn add(&mut self, ran: &RanCommand, passages: &mut Vec<Passage>) {
        let at = ran.at.map(|at| at.timestamp());
        let outcome = match ran.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed(_) => "failed",
            Outcome::Unknown => "ran",
        };
        if !ran.errors.is_empty() || matches!(ran.outcome, Outcome::Failed(_)) {
            self.end(passages);
            let text = format!("$ {} ({outcome})\n{}", ran.command, ran.errors);
            passages.push(Passage { kind: PassageKind::Error, at, text: text.trim_end().to_owned() });
            return;
        }
        let line = format!("$ {} ({outcome})", ran.command);
        if self.lines.contains(&line) {
            return;
        }
        self.at = self.at.or(at);
        self.lines.push(line);
        if self.lines.iter().map(String::len).sum::<usize>() > MAX_COMMANDS {
            self.end(passages);
        }
    }

    fn end(&mut self, passages: &mut Vec<Passage>) {
        let lines = std::mem::take(&mut self.lines);
        if !lines.is_empty() {
            passages.push(Passage { kind: PassageKind::Command, at: self.at.take(), text: lines.join("\n") });
        }
    }
}

/// Adds what a turn edited: a passage with the paths, and each path for searches by file.
fn edited(found: &Transcript, turn: usize, roots: &[std::path::PathBuf], at: Option<i64>, document: &mut Document) {
    let Some(work) = found.work.iter().find(|work: &&TurnWork| work.turn == turn) else { return };
    let paths: Vec<String> = work.edited.iter().filter_map(|path| inside(path, roots)).collect();
    if paths.is_empty() {
        return;
    }
    let text = format!("edited {}", paths.join(" "));
    document.passages.extend(split(&text).into_iter().map(|part| Passage {
        kind: PassageKind::Command,
        at,
        text: part.to_owned(),
    }));
    document.touched.extend(paths.into_iter().map(|path| Touched { path, at }));
}

/// The path relative to the root that it is in. A file elsewhere is the agent's own.
fn inside(path: &str, roots: &[std::path::PathBuf]) -> Option<String> {
    let path = fs::tidy(Path::new(path))?;
    let below = if path.is_relative() {
        Some(path.as_path())
    } else {
        roots.iter().find_map(|root| path.strip_prefix(root).ok())
    };
    below.filter(|below| !below.as_os_str().is_empty()).map(|below| below.to_string_lossy().into_owned())
}
