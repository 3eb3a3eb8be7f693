//! The commands that ended while a transcript is read, with the error lines of their output, within a budget.

use std::collections::VecDeque;

use super::calls::Ended;
use super::{Command, RanCommand, error_lines};

/// How many bytes of commands and error lines are held unless a reader asks for more.
const MAX_RAN: usize = 100 << 10;
/// What a command costs besides its texts.
const COST: usize = 64;

pub(super) struct Ran {
    commands: VecDeque<RanCommand>,
    size: usize,
    room: usize,
}

impl Default for Ran {
    fn default() -> Ran {
        Ran { commands: VecDeque::new(), size: 0, room: MAX_RAN }
    }
}

impl Ran {
    pub(super) fn hold(&mut self, room: usize) {
        self.room = room;
    }

    /// Adds a command that ended; `said_before` is how many utterances the talk has. Too many make the oldest go.
    pub(super) fn add(
        &mut self,
        turn: usize,
        said_before: usize,
        command: &Command,
        ended: &Ended<'_>,
        at: Option<chrono::DateTime<chrono::FixedOffset>>,
    ) {
        let output = if let Ended::Code(_, output) | Ended::Failed(output) = ended { output } else { "" };
        let errors = error_lines::of(output, command.outcome);
        let (command, outcome) = (command.command.clone(), command.outcome);
        let ran = RanCommand { turn, said_before, command, outcome, errors, at };
        self.size += size(&ran);
        self.commands.push_back(ran);
        while self.size > self.room {
            let Some(oldest) = self.commands.pop_front() else { break };
            self.size -= size(&oldest);
        }
    }

    pub(super) fn finish(self) -> Vec<RanCommand> {
        self.commands.into()
    }
}

fn size(ran: &RanCommand) -> usize {
    ran.command.len() + ran.errors.len() + COST
}
