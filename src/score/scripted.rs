//! Pairs with a known answer, for tests of measures.

use super::page::Page;
use super::pair::Pair;
use crate::base::text;
use crate::checkpoint::ReceiptOutcome;
use crate::transcript::{Action, ActionKind, Command, Outcome, RanCommand, Transcript, Utterance, UtteranceKind};

/// The handover of another task.
pub(super) const OTHER: &str = "## Next\n- Give invoice_total a currency in billing/invoice.py\n\n## Files\n- billing/ledger.py\n- billing/tax_rate.py\n";

fn action(kind: ActionKind, what: &str, output: &str, outcome: Outcome) -> Action {
    let content = text::digest(output.as_bytes(), 8);
    Action { kind, what: what.to_owned(), bytes: output.len() as u64, content, outcome }
}

pub(super) fn read(path: &str, content: &str) -> Action {
    action(ActionKind::Read, path, content, Outcome::Passed)
}

pub(super) fn failed_read(path: &str) -> Action {
    action(ActionKind::Read, path, "File does not exist.", Outcome::Failed(None))
}

pub(super) fn run(command: &str, output: &str) -> Action {
    action(ActionKind::Command, command, output, Outcome::Passed)
}

pub(super) fn failed(command: &str, output: &str) -> Action {
    action(ActionKind::Command, command, output, Outcome::Failed(Some(1)))
}

pub(super) fn edit(path: &str) -> Action {
    action(ActionKind::Edit, path, "", Outcome::Passed)
}

/// A command that ended with these error lines; one without any passed.
pub(super) fn ended(command: &str, errors: &str) -> RanCommand {
    let outcome = if errors.is_empty() { Outcome::Passed } else { Outcome::Failed(Some(1)) };
    let (command, errors) = (command.to_owned(), errors.to_owned());
    RanCommand { turn: 1, said_before: 0, command, outcome, errors, at: None }
}

/// A session in which a person said this.
pub(super) fn talk(requests: &[&str]) -> Transcript {
    let said = |(turn, text): (usize, &&str)| Utterance {
        turn: turn + 1,
        kind: UtteranceKind::Request,
        text: (*text).to_owned(),
        about: String::new(),
        at: None,
    };
    Transcript { talk: requests.iter().enumerate().map(said).collect(), ..Transcript::default() }
}

/// The earlier session saw this command pass.
pub(super) fn tested(pair: &mut Pair, command: &str) {
    let test = Command { command: command.to_owned(), outcome: Outcome::Passed };
    pair.before.get_or_insert_default().tests.push(test);
}

pub(super) fn pair(page: &str, before: &[Action], after: &[Action]) -> Pair {
    let session = |actions: &[Action]| Transcript { actions: actions.to_vec(), ..Transcript::default() };
    Pair {
        receipt: Some(ReceiptOutcome::Whole),
        page: Page::of(page),
        before: Some(session(before)),
        after: session(after),
    }
}
