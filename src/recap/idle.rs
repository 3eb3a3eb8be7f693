//! Whether a session changed nothing: no edit, no commit, no decision, nothing left open.

use super::{Account, GoalSource, Material, Rule, cues};
use crate::transcript::{TodoStatus, UtteranceKind};

pub(super) const RULE: Rule = Rule { name: "idle", apply };

/// How many questions a session has at most that is one line in the notes.
const MAX_QUESTIONS: usize = 2;
/// How much the agent says to them at most, in bytes.
const MAX_ANSWERS: usize = 1_000;

fn apply(material: &Material<'_>, account: &mut Account) {
    let has_changes = material.has_changes || edited(material);
    account.goes_on = has_changes || left_open(material, account);
    let has_next = account.goal.is_some() && !account.next.is_empty();
    let has_said = !material.note.trim().is_empty() || !material.state.trim().is_empty();
    let has_decided = !account.rulings.is_empty() || account.goal_source == GoalSource::Stated;
    account.is_idle = !account.goes_on && !has_next && !has_said && !has_decided && is_short(material, account);
}

/// Whether this was a greeting, a "handoff", or a question or two. A longer talk is worth an account of its own, whatever came of it. So
/// is an answer without a question: it belongs to a request that was handed over before.
fn is_short(material: &Material<'_>, account: &Account) -> bool {
    let answers: usize = account.conclusions.iter().map(|line| line.text.len()).sum();
    let has_questions = !account.asked.is_empty() || answers == 0 || asks_for_no_work(material);
    has_questions && account.asked.len() <= MAX_QUESTIONS && answers <= MAX_ANSWERS
}

fn asks_for_no_work(material: &Material<'_>) -> bool {
    let talk = material.transcript.iter().flat_map(|transcript| &transcript.talk);
    let mut requests = talk.filter(|said| said.kind == UtteranceKind::Request).peekable();
    requests.peek().is_some()
        && requests.all(|request| cues::is_greeting(&request.text) || cues::is_handover_word(&request.text))
}

fn edited(material: &Material<'_>) -> bool {
    material.transcript.is_some_and(|transcript| !transcript.edited.is_empty())
}

/// Whether there are open to-dos or a plan, or a task that the agent never answered: then the session was cut off. An agent
/// that only answered or reviewed may propose something, which begins no task.
fn left_open(material: &Material<'_>, account: &Account) -> bool {
    let Some(transcript) = material.transcript else { return !account.next.is_empty() };
    let has_open_todo = transcript.todos.iter().any(|todo| todo.status != TodoStatus::Completed);
    let has_plan = transcript.talk.iter().any(|said| said.kind == UtteranceKind::ApprovedPlan);
    let is_cut_off = transcript.talk.last().is_some_and(|last| last.kind != UtteranceKind::AgentText);
    let has_task = account.goal.is_some();
    has_open_todo || has_plan || has_task && is_cut_off
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
    fn what_an_agent_proposes_begins_no_task() {
        let of = |transcript: &Transcript| {
            recap(&Material { transcript: Some(transcript), note: "", state: "", has_changes: false })
        };
        let reviewed = of(&talk("can you review the lexer?", "Two findings. Next: rename `tick`"));
        assert!(!reviewed.is_idle && !reviewed.replaces_goal() && reviewed.next.len() == 1);
        let cut_off = of(&transcript(vec![said(1, UtteranceKind::Request, "port the lexer")]));
        assert!(cut_off.replaces_goal());
    }

    #[test]
    fn what_was_decided_or_left_open_counts() {
        assert!(is_idle(&talk("review the lexer", "Looks good."), "", false));
        assert!(!is_idle(&talk("review the lexer", "Looks good. Next: error spans"), "", false));
        assert!(!is_idle(&transcript(vec![said(1, UtteranceKind::Request, "review the lexer")]), "", false));
        let mut ruled = talk("what is this?", "A lexer.");
        ruled.talk.push(said(2, UtteranceKind::Request, "never touch it"));
        assert!(!is_idle(&ruled, "", false));
        assert!(is_idle(&Transcript::default(), "", false));
        let answer = transcript(vec![said(1, UtteranceKind::AgentText, "Looks good.")]);
        assert!(!is_idle(&answer, "", false), "the request was handed over before");
    }

    #[test]
    fn a_greeting_and_its_answer_are_idle() {
        assert!(is_idle(&talk("Good morning", "Good morning. Next is the lexer; shall I go on?"), "", false));
        assert!(is_idle(&talk("handoff", "Handoff written."), "", false));
        assert!(!is_idle(&talk("yes", "Deployed."), "", false), "the request was handed over before");
    }
}
