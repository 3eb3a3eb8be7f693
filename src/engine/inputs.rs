//! What a session said and who it was, as the checkpoint keeps it. Both directions are here, so that a new field of
//! [`Session`] that is lost on the way back is seen at once.

use serde::{Deserialize, Serialize};

use crate::base::clock;
use crate::checkpoint::{Run, Store, Told};
use crate::error::{Error, Result};
use crate::facts::Session;
use crate::project::Project;
use crate::steps;
use crate::transcript::Source;

/// The fields of a [`Session`] that have no column of their own in the checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Inputs {
    note: String,
    state: String,
    /// The handoff's document, checked; empty if the session wrote none.
    handoff: String,
    host: String,
    user: String,
    branch: String,
    /// The commit of the last completed handover.
    base: String,
    transcript: Option<Source>,
    told: Told,
    /// Marks the worktree in which the session ran.
    worktree_mark: String,
}

/// A text that is longer than this, in bytes, is kept apart from the inputs.
const LONG: usize = 16 << 10;

/// Takes the long texts out of a session, by name.
pub(super) fn take_long_texts(session: &mut Session) -> Vec<(&'static str, String)> {
    let texts = text_fields(session).into_iter().filter(|(_, text)| text.len() > LONG);
    texts.map(|(name, text)| (name, std::mem::take(text))).collect()
}

fn text_fields(session: &mut Session) -> [(&'static str, &mut String); 3] {
    [("note", &mut session.note), ("state", &mut session.state), ("handoff", &mut session.handoff)]
}

/// The session of a recorded run, with all of its texts.
pub(super) fn recorded_session(store: &Store, run: &Run, inputs: &str) -> Result<Session> {
    let mut session = Inputs::from_json(inputs)?.session(run)?;
    for (name, text) in store.texts(run.seq)? {
        let field = text_fields(&mut session).into_iter().find(|(known, _)| *known == name);
        let (_, field) = field.ok_or_else(|| Error::bad_data(format!("the recorded text `{name}` is not known")))?;
        *field = text;
    }
    Ok(session)
}

/// The project as the session of a run saw it, from its worktree.
pub(super) fn seen_by(run: &Run, project: &Project, store: &Store) -> Project {
    let inputs = store.plan_and_inputs(run.seq).and_then(|(_, inputs)| Inputs::from_json(&inputs));
    let mark = inputs.map(|inputs| inputs.worktree_mark).unwrap_or_default();
    project.seen_from(&run.worktree, &mark, &steps::vocabulary())
}

impl Inputs {
    /// The part of a session that goes into the column `inputs`. The other fields are columns of the run.
    pub(super) fn of(session: &Session) -> Inputs {
        // No `..`: the compiler asks about every field that is added.
        let Session {
            run: _,
            at: _,
            tag: _,
            agent: _,
            head: _,
            branch: _,
            worktree: _,
            note,
            state,
            handoff,
            host,
            user,
            base,
            transcript,
            told,
        } = session.clone();
        let (branch, worktree_mark) = (session.branch.clone(), String::new());
        Inputs { note, state, handoff, host, user, branch, base, transcript, told, worktree_mark }
    }

    /// The same, with the mark of the worktree in which the session ran.
    #[must_use]
    pub(super) fn in_worktree(self, worktree_mark: String) -> Inputs {
        Inputs { worktree_mark, ..self }
    }

    /// The session again, from the columns of its run and from these inputs.
    pub(super) fn session(self, run: &Run) -> Result<Session> {
        let at = clock::parse_stamp(&run.recorded_at)
            .ok_or_else(|| Error::bad_data(format!("`{}` is not a time", run.recorded_at)))?;
        let Inputs { note, state, handoff, host, user, branch, base, transcript, told, worktree_mark: _ } = self;
        Ok(Session {
            run: run.id.clone(),
            at,
            tag: run.tag.clone(),
            agent: run.agent.clone(),
            head: run.head.clone().unwrap_or_default(),
            worktree: run.worktree.clone(),
            host,
            user,
            note,
            state,
            handoff,
            branch,
            base,
            transcript,
            told,
        })
    }

    pub(super) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|cause| Error::bug("inputs cannot be written").cause(cause))
    }

    pub(super) fn from_json(text: &str) -> Result<Inputs> {
        serde_json::from_str(text).map_err(|cause| Error::bad_data("the recorded inputs cannot be read").cause(cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{RunStatus, Word, WordKind};

    #[test]
    fn a_session_comes_back_from_the_checkpoint_as_it_was() {
        let text = str::to_owned;
        let session = Session {
            run: text("01RUN"),
            at: clock::parse_stamp("2026-11-15T10:00:00.250+02:00").unwrap(),
            tag: text("tag"),
            agent: text("agent"),
            host: text("host"),
            user: text("user"),
            note: text("note"),
            state: text("state"),
            handoff: text("handoff"),
            head: text("head"),
            branch: text("branch"),
            worktree: text("/worktree"),
            base: text("base"),
            transcript: Some(Source::pin(std::path::Path::new("/nowhere/t.jsonl"), "session").unwrap()),
            told: Told {
                session: text("session"),
                words: vec![Word { kind: WordKind::Request, text: text("fix it") }],
                instead_of: text("it is gone"),
            },
        };
        let run = Run {
            seq: 1,
            id: session.run.clone(),
            status: RunStatus::Unfinished,
            recorded_at: clock::stamp(&session.at),
            finished_at: None,
            agent: session.agent.clone(),
            tag: session.tag.clone(),
            head: Some(session.head.clone()),
            worktree: session.worktree.clone(),
            branch: session.branch.clone(),
        };
        let json = Inputs::of(&session).to_json().unwrap();
        let back = Inputs::from_json(&json).unwrap().session(&run).unwrap();
        assert_eq!(format!("{back:?}"), format!("{session:?}"));
    }
}
