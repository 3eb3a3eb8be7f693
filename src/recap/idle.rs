//! Whether a session changed nothing: no edit, no commit, no decision, nothing left open.

use super::{Account, Material, Rule};
use crate::transcript::{TodoStatus, UtteranceKind};

pub(super) const RULE: Rule = Rule { name: "idle", apply };

/// How many questions a session has at most that is one line in the notes.
const MAX_QUESTIONS: usize = 2;
/// How much the agent says to them at most, in bytes.
const MAX_ANSWERS: usize = 1_000;

fn apply(material: &Material<'_>, account: &mut Account) {
    account.has_changes = has_edits(material) || material.has_changes;
    let has_said = !material.note.trim().is_empty() || !material.state.trim().is_empty();
    account.is_idle =
        !account.has_changes && !has_said && !decided(account) && !left_open(material, account) && is_short(account);
}

/// Whether this was a question or two. A longer talk is worth an account of its own, whatever came of it.
fn is_short(account: &Account) -> bool {
    let answers: usize = account.conclusions.iter().map(|line| line.text.len()).sum();
    account.asked.len() <= MAX_QUESTIONS && answers <= MAX_ANSWERS
}

fn has_edits(material: &Material<'_>) -> bool {
    material.transcript.is_some_and(|transcript| !transcript.edited.is_empty())
}

fn decided(account: &Account) -> bool {
    !account.rulings.is_empty()
}

/// A task without any change is open: the session may have been cut off. What an agent proposes that only answered questions
/// is not.
fn left_open(material: &Material<'_>, account: &Account) -> bool {
    let has_open_todo = material.transcript.is_some_and(|transcript| {
        transcript.todos.iter().any(|todo| todo.status != TodoStatus::Completed)
            || transcript.talk.iter().any(|utterance| utterance.kind == UtteranceKind::ApprovedPlan)
    });
    has_open_todo || account.goal.is_some()
}

#[cfg(test)]
mod tests {
    use super::super::examples::{said, transcript};
    use super::super::recap;
    use super::*;
    use crate::transcript::{Todo, Transcript};

    fn is_idle(transcript: &Transcript, note: &str, has_changes: bool) -> bool {
        recap(&Material { transcript: Some(transcript), note, state: "", has_changes }).is_idle
    }

    fn talk(request: &str, answer: &str) -> Transcript {
        transcript(vec![said(1, UtteranceKind::Request, request), said(1, UtteranceKind::AgentText, answer)])
    }

    #[test]
    fn a_question_is_idle() {
        let asked = talk("what does the lexer do?", "It splits. Next steps:\n- read it");
        assert!(is_idle(&asked, "", false));
        assert!(!is_idle(&asked, "lexer read", false));
        assert!(!is_idle(&asked, "", true));
        let open = Todo { text: "x".to_owned(), status: TodoStatus::Pending };
        assert!(!is_idle(&Transcript { todos: vec![open], ..asked.clone() }, "", false));
        assert!(!is_idle(&Transcript { edited: vec!["a".to_owned()], ..asked }, "", false));
    }

    #[test]
    fn what_was_decided_or_left_open_counts() {
        assert!(!is_idle(&talk("review the lexer", "Looks good."), "", false));
        let mut ruled = talk("what is this?", "A lexer.");
        ruled.talk.push(said(2, UtteranceKind::Request, "never touch it"));
        assert!(!is_idle(&ruled, "", false));
        assert!(is_idle(&Transcript::default(), "", false));
    }
}
