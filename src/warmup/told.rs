//! What sessions said and did, in the form that the page uses: the account in the newest handoff, and those of
//! transcripts.

use std::path::Path;

use super::sources::Sources;
use crate::facts::only_project_files;
use crate::recap::{self, Account, Check, Line, Material, Seen, Speaker};
use crate::transcript::{TodoStatus, Transcript, UtteranceKind};

/// How many lines of each part of an account are looked at.
const LOOKED_AT: usize = 200;

/// The longest current state of a handoff that is looked at, in bytes.
const LAST_WORDS: usize = 4_000;

/// What one session said and did.
#[derive(Default)]
pub(super) struct Told {
    pub account: Account,
    /// The files that it edited, the last one first.
    pub files: Vec<String>,
    /// Whether it came with the repository.
    pub is_strange: bool,
    pub is_of_handoff: bool,
}

impl Told {
    /// The account that the newest handoff carries; `None` if it carries none.
    pub(super) fn of_handoff(sources: &Sources) -> Option<Told> {
        let account = bounded(recap::read_sections(sources.handoff()?));
        let is_strange = sources.whose.is_handoff_strange;
        (account != Account::default()).then_some(Told { account, files: Vec::new(), is_strange, is_of_handoff: true })
    }

    /// What a handoff says by itself. Its current state is the agent's last message, if it has no other.
    pub(super) fn of_document(sources: &Sources) -> Option<Told> {
        let mut account = bounded(recap::read_sections(sources.handoff()?));
        let state = sources.section("# Current State").join("\n");
        // What this program put together is what the other sections say, and nobody said it.
        let is_said = !recap::is_written_by_rules(&state);
        let state = recap::outline(&state, LAST_WORDS);
        if is_said && !state.is_empty() {
            let line = Line { who: Speaker::Agent, turn: 0, text: state };
            let part = if account.conclusions.is_empty() { &mut account.conclusions } else { &mut account.done };
            part.push(line);
        }
        let is_strange = sources.whose.is_handoff_strange;
        Some(Told { account, files: Vec::new(), is_strange, is_of_handoff: true })
    }

    /// The account of a transcript. Where no rule chose anything, the transcript's own fields stand in.
    pub(super) fn of_transcript(root: &Path, transcript: Transcript) -> Told {
        let transcript = only_project_files(root, transcript);
        let has_changes = !transcript.edited.is_empty();
        let material = Material { transcript: Some(&transcript), note: "", state: "", has_changes };
        let mut account = recap::recap(&material);
        complete(&mut account, &transcript);
        let files = transcript.edited.iter().rev().take(LOOKED_AT).cloned().collect();
        Told { account: bounded(account), files, is_strange: false, is_of_handoff: false }
    }
}

/// Adds what the rules left out although the session needs it after a compaction.
fn complete(account: &mut Account, transcript: &Transcript) {
    let line = |who, text: &str| Line { who, turn: 0, text: text.to_owned() };
    if account.asked.is_empty() {
        let mut requests = vec![transcript.first_request.as_str(), transcript.last_request.as_str()];
        requests.dedup();
        account.asked =
            requests.into_iter().filter(|text| !text.is_empty()).map(|it| line(Speaker::Person, it)).collect();
    }
    let with = |status| transcript.todos.iter().filter(move |todo| todo.status == status);
    for todo in with(TodoStatus::InProgress).chain(with(TodoStatus::Pending)) {
        if account.next.iter().all(|known| known.text != todo.text) {
            account.next.push(line(Speaker::Agent, &todo.text));
        }
    }
    if account.next.is_empty() {
        let plan = transcript.talk.iter().rev().find(|said| said.kind == UtteranceKind::ApprovedPlan);
        account.next.extend(plan.map(|plan| line(Speaker::Agent, &plan.text)));
    }
    if account.checks.is_empty() {
        let check = |test: &crate::transcript::Command| Check {
            command: test.command.clone(),
            outcome: test.outcome,
            seen: Seen::Transcript,
            took_ms: None,
        };
        account.checks = transcript.tests.iter().map(check).collect();
    }
}

/// The account without more lines than anybody could show: the newest ones.
fn bounded(mut account: Account) -> Account {
    let Account { asked, rulings, conclusions, next, dead_ends, done, checks, .. } = &mut account;
    for lines in [asked, rulings, conclusions, dead_ends, done] {
        lines.drain(..lines.len().saturating_sub(LOOKED_AT));
    }
    next.truncate(LOOKED_AT);
    checks.drain(..checks.len().saturating_sub(LOOKED_AT));
    account
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Command, Outcome, Todo};

    #[test]
    fn a_session_without_an_account_still_shows_requests_to_dos_tests_and_files() {
        let todo = |text: &str, status| Todo { text: text.to_owned(), status };
        let transcript = Transcript {
            first_request: "Fix the parser".to_owned(),
            last_request: "Then the docs".to_owned(),
            todos: vec![
                todo("wait", TodoStatus::Pending),
                todo("done", TodoStatus::Completed),
                todo("begun", TodoStatus::InProgress),
            ],
            tests: vec![Command { command: "make".to_owned(), outcome: Outcome::Failed(Some(2)) }],
            edited: vec!["/p/a.rs".to_owned(), "/elsewhere/b.rs".to_owned(), "/p/c.rs".to_owned()],
            ..Transcript::default()
        };
        let told = Told::of_transcript(Path::new("/p"), transcript);
        let texts = |lines: &[Line]| lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&told.account.asked), ["Fix the parser", "Then the docs"]);
        assert_eq!(texts(&told.account.next), ["begun", "wait"]);
        assert_eq!(told.account.checks.len(), 1);
        assert_eq!(told.files, ["c.rs", "a.rs"]);
    }
}
