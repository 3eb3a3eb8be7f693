//! The first actions of a session, in order: what was read, run and edited.

use super::{Action, ActionKind, Outcome};
use crate::base::text;

/// How many actions are kept: the first ones show how a session finds its way.
const MOST: usize = 300;
/// How many bytes of a command or path are held.
const LONGEST: usize = 1_024;

#[derive(Default)]
pub(super) struct Actions(Vec<Action>);

impl Actions {
    pub(super) fn add(&mut self, kind: ActionKind, what: &str, output: &str, outcome: Outcome) {
        if self.0.len() < MOST {
            let what = text::without_controls(text::cut(what, LONGEST));
            let content = text::digest(output.as_bytes(), 8);
            self.0.push(Action { kind, what, bytes: output.len() as u64, content, outcome });
        }
    }

    pub(super) fn finish(self) -> Vec<Action> {
        self.0
    }
}
