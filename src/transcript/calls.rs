//! Tool calls that wait for their results, at most so many.

use std::collections::{HashMap, VecDeque};

use crate::base::text;

pub(super) const MAX_OPEN_CALLS: usize = 256;
/// How long an id may be.
const MAX_ID: usize = 200;

#[derive(Default)]
pub(super) struct Calls {
    open: HashMap<String, OpenCall>,
    order: VecDeque<String>,
}

/// A tool call that waits for its result.
pub(super) enum OpenCall {
    Command(u64),
    Edit(Vec<String>),
    NewTask(String),
    /// A question to the person, with what the answers are named after, or a plan for the person to approve.
    Questions(Vec<Question>),
    Plan(String),
    /// Reading a file.
    Read(String),
    /// Another tool, by its name.
    Tool(String),
    /// Finished. Further results for it are ignored.
    Over,
}

/// A question of the agent.
pub(super) struct Question {
    /// The name under which its answer is recorded.
    pub id: String,
    pub text: String,
}

/// How a call ended.
#[derive(Clone, Copy)]
pub(super) enum Ended<'a> {
    /// The exit code and the output. The code is 0 for a tool that is not a command and succeeded.
    Code(i64, &'a str),
    /// With the output.
    Failed(&'a str),
    /// Refused, so nothing ran.
    NotRun,
    /// Still running, or cut off: another result may follow.
    Unknown,
}

impl Calls {
    pub(super) fn is_new(&self, id: &str) -> bool {
        !self.open.contains_key(text::cut(id, MAX_ID))
    }

    pub(super) fn get(&self, id: &str) -> Option<&OpenCall> {
        self.open.get(text::cut(id, MAX_ID))
    }

    /// Adds a call. Too many make the oldest one unknown.
    pub(super) fn add(&mut self, id: &str, call: OpenCall) {
        let id = text::cut(id, MAX_ID).to_owned();
        self.open.insert(id.clone(), call);
        self.order.push_back(id);
        if self.order.len() > MAX_OPEN_CALLS
            && let Some(oldest) = self.order.pop_front()
        {
            self.open.remove(&oldest);
        }
    }

    /// Takes a call that is over now.
    pub(super) fn end(&mut self, id: &str) -> Option<OpenCall> {
        Some(std::mem::replace(self.open.get_mut(text::cut(id, MAX_ID))?, OpenCall::Over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_calls_is_bounded() {
        let mut calls = Calls::default();
        for number in 0..5_000 {
            calls.add(&format!("{number}{}", "x".repeat(number)), OpenCall::Tool("x".to_owned()));
        }
        assert_eq!((calls.open.len(), calls.order.len()), (MAX_OPEN_CALLS, MAX_OPEN_CALLS));
        assert!(calls.is_new("0") && !calls.is_new(&format!("4999{}", "x".repeat(4999))));
    }
}
