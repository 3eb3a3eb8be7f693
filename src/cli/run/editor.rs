//! The editor of a person who types `run` and says nothing: it opens a form.

use super::Run;
use super::form::{self, Filled};
use crate::agents;
use crate::base::{env, fs, process, text};
use crate::cli::Context;
use crate::engine::{self, Request};
use crate::error::{Error, Result};
use crate::project::Project;

/// What came out of the editor.
pub(super) enum Edited {
    /// Nobody was asked, or they added nothing: what is known is handed over.
    Known,
    /// The person left nothing to hand over.
    Cancelled,
    /// The request has the person's words, and the draft keeps them until they are recorded.
    Said(fs::Draft),
}

impl Run {
    /// Lets a person fill in the form if they gave nothing, and adds what they wrote to the request. Scripts and agents have
    /// no terminal, or run as somebody's command, and are never asked.
    pub(super) fn edit(&self, context: &Context<'_>, project: &Project, request: &mut Request) -> Result<Edited> {
        let Some(editor) = self.editor(context) else { return Ok(Edited::Known) };
        let (known, _) = engine::summarize(project, request)?;
        let form = form::form(known.as_ref());
        let draft = fs::Draft::new(&form)?;
        let job = process::Job {
            // As git does it: the variable may hold arguments.
            argv: ["sh", "-c", &format!("{editor} \"$@\""), &editor]
                .map(Into::into)
                .into_iter()
                .chain([draft.path().into()])
                .collect(),
            directory: context.cwd.clone(),
            env: Vec::new(),
            env_remove: Vec::new(),
        };
        if !process::run_in_front(&job)?.success() {
            let failed = Error::failed(format!("the editor `{editor}` failed"));
            // An editor that was killed may have saved something.
            return Err(match draft.read() {
                Ok(edited) if form::read(&form, &edited).is_said() => {
                    let path = text::shell_word(&draft.keep().display().to_string());
                    failed
                        .hint(format!("what you wrote is in `{path}`"))
                        .hint(format!("`agent-handover run --note-file {path}` hands it over"))
                }
                _ => failed.hint("`agent-handover run \"what this session did\"` needs no editor"),
            });
        }
        match form::read(&form, &draft.read()?) {
            Filled::Unchanged => Ok(Edited::Known),
            Filled::Empty => Ok(Edited::Cancelled),
            Filled::Words { note, state } => {
                (request.note, request.state) = (note, state);
                Ok(Edited::Said(draft))
            }
        }
    }

    /// The editor of a person who can be asked and has not said anything.
    fn editor(&self, context: &Context<'_>) -> Option<String> {
        let has_said = self.words.is_some()
            || self.note.is_some()
            || self.note_file.is_some()
            || self.current_state.is_some()
            || self.handoff.is_some()
            || self.transcript.is_some();
        let is_other_mode = self.resume || self.replan || self.dry_run || self.json || self.restart || self.detach;
        let is_command = env::get(env::RUN).is_some() || env::get(env::CHILD).is_some() || env::get("CI").is_some();
        if has_said || is_other_mode || is_command || !context.ui.can_edit() {
            return None;
        }
        if !agents::session_agent(self.agent.as_deref(), None).is_empty() {
            return None;
        }
        env::get_text(env::VISUAL).or_else(|| env::get_text(env::EDITOR))
    }
}
