//! `summarize`: a handoff made from a session's transcript, to read, to edit or to save.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::Context;
use super::run::Run;
use crate::base::fs;
use crate::engine::{self, Attendance, Request};
use crate::error::{Error, Result};
use crate::project::{self, Project};
use crate::transcript::{self, Source, Transcript};

/// Print a handoff made from an agent's transcript and from git. Only `--save` stores it; a `--summary` is stored without
/// `--save`, too, if there is no transcript
#[derive(Args)]
#[command(visible_alias = "summarize-session")]
pub(super) struct Summarize {
    /// The transcript [default: the newest of this project]
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    transcript: Option<PathBuf>,
    /// The summary, instead of the one that is derived
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<OsString>,
    /// Hand the session over with it, as `run --transcript FILE --note TEXT` does
    #[arg(long, conflicts_with = "json")]
    save: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Summarize {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project(None, None)?;
        let path = match &self.transcript {
            Some(path) => Some(context.cwd.join(path)),
            None => newest(&project),
        };
        let Some(path) = path else { return self.without_transcript(context, &project) };
        let source = Source::pin(&path, "")?;
        let transcript = source.read()?.ok_or_else(|| fs::absent(&path))?;
        if self.save {
            return Run::of_transcript(path, self.summary, transcript.agent).execute(context);
        }
        context.ui.tell(&format!("transcript: {}", path.display()));
        let request = Request {
            // A refused secret would leave the user without any output, so secrets are redacted, as in a hook.
            attendance: Attendance::Detached,
            note: Some(self.summary.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()),
            agent: Some(transcript.agent.to_owned()),
            transcript: Some(source),
            ..Request::default()
        };
        let document = derive(context, &project, &request)?;
        if self.json {
            context.ui.answer_json(&as_json(Some(&path), Some(&transcript), document.as_deref()));
        } else if let Some(document) = document {
            context.ui.answer_prose(&document);
        } else {
            context.ui.answer("nothing was asked and nothing was done in this session");
        }
        Ok(0)
    }

    /// Hands over the summary itself: hooks of other tools call this with nothing else. `--json` only shows what would be
    /// handed over.
    fn without_transcript(self, context: &mut Context<'_>, project: &Project) -> Result<u8> {
        let Some(summary) = self.summary.filter(|summary| !summary.to_string_lossy().trim().is_empty()) else {
            let message = format!("no transcript of a session in `{}` was found", project.root.display());
            return Err(Error::failed(message).hint("name one with `--transcript FILE`, or pass `--summary TEXT`"));
        };
        if self.json {
            let note = Some(summary.to_string_lossy().into_owned());
            let request = Request { attendance: Attendance::Detached, note, ..Request::default() };
            let document = derive(context, project, &request)?;
            context.ui.answer_json(&as_json(None, None, document.as_deref()));
            return Ok(0);
        }
        context.ui.tell("transcript: none was found, so the summary is handed over as a note");
        Run::of_note(summary).execute(context)
    }
}

/// The handoff that a run with this request would make, after warnings about what could not be found out.
fn derive(context: &Context<'_>, project: &Project, request: &Request) -> Result<Option<String>> {
    let (handoff, notices) = engine::summarize(project, request)?;
    for notice in &notices {
        context.ui.warn(notice);
    }
    Ok(handoff.map(|handoff| handoff.render()))
}

fn as_json(path: Option<&Path>, transcript: Option<&Transcript>, document: Option<&str>) -> serde_json::Value {
    json!({
        "schema": "agent-handover/summarize/1",
        "path": path.map(|path| path.display().to_string()),
        "transcript": transcript,
        "document": document,
    })
}

/// The newest transcript of this project. Sub-agents are skipped, because they are part of another session.
fn newest(project: &Project) -> Option<PathBuf> {
    let is_here = |cwd: &Path| project::root(cwd) == project.root;
    let newest = transcript::sessions(&project.root, None, is_here).find(|session| !session.is_subagent);
    newest.map(|session| session.path)
}
