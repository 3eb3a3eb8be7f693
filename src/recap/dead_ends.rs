//! Dead ends: what was tried and did not work.
//!
//! | source | speaker |
//! |---|---|
//! | a sentence of the agent's conclusions that says so | the agent |
//! | files whose edits were undone | the program |
//! | a failing command, and a person's ruling in the next turn | the program |
//! | a to-do that vanished without having been completed | the program |

use super::conclusions::last_texts;
use super::evidence::covers;
use super::plain::{beginning, plain, sentences};
use super::{Account, Line, Material, Rule, Speaker};
use crate::base::text::{cut, kept_line};
use crate::transcript::{Outcome, Transcript, TurnWork};

pub(crate) const RULE: Rule = Rule { name: "dead_ends", apply: keep_dead_ends };

const MAX_LINES: usize = 12;
const MAX_BYTES: usize = 300;
/// To-dos also vanish because they were done on the way, so they never displace all the rest.
const MAX_TODOS: usize = 4;

/// Phrases of a sentence that reports a dead end. Each begins and ends at a word.
const PHRASES: &[&str] = &[
    "i tried",
    "we tried",
    "i've tried",
    "have tried",
    "had tried",
    "first tried",
    "also tried",
    "already tried",
    "was tried",
    "did not work",
    "didn't work",
    "did not help",
    "didn't help",
    "not work out",
    "i reverted",
    "i've reverted",
    "we reverted",
    "was reverted",
    "were reverted",
    "had to revert",
    "rolled back",
    "backed out",
    "gave up on",
    "i abandoned",
    "i've abandoned",
    "we abandoned",
    "was abandoned",
    "were abandoned",
    "dead end",
    "without success",
    "no luck",
];
/// Words that report a dead end at the beginning of a sentence.
const OPENINGS: &[&str] = &["tried", "reverted", "attempted", "undid", "abandoned"];
/// Beginnings of sentences that talk about what may happen, not about what did.
const CONDITIONS: &[&str] = &["if", "when", "whenever", "unless", "should", "would", "in case"];

fn keep_dead_ends(material: &Material<'_>, account: &mut Account) {
    let Some(transcript) = material.transcript else { return };
    let mut found = said(transcript);
    found.extend(transcript.work.iter().filter_map(reverted));
    // What passes in the end was no dead end.
    let passes = |command: &String| {
        transcript.tests.iter().any(|test| test.outcome == Outcome::Passed && covers(&test.command, command))
    };
    found.extend(transcript.work.iter().filter_map(|work| corrected(work, &account.rulings, passes)));
    found.sort_by_key(|line| line.turn);
    let todos = dropped_todos(transcript);
    let too_many = (found.len() + todos.len()).saturating_sub(MAX_LINES);
    found.drain(..too_many.min(found.len()));
    found.extend(todos);
    account.dead_ends.extend(found);
}

fn said(transcript: &Transcript) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    for utterance in last_texts(transcript) {
        for sentence in sentences(&utterance.text).into_iter().filter(|sentence| reports_dead_end(sentence)) {
            let line = Line { who: Speaker::Agent, turn: utterance.turn, text: beginning(&sentence, MAX_BYTES) };
            if !found.iter().rev().take(MAX_LINES).any(|other| other.text == line.text) {
                found.push(line);
            }
        }
    }
    found
}

/// Whether a sentence says that something was tried and did not work.
fn reports_dead_end(sentence: &str) -> bool {
    // Every word is between two spaces, so that a phrase is found by its words.
    let is_gap = |c: char| !c.is_alphanumeric() && c != '\'';
    let lower = sentence.to_lowercase().replace('’', "'");
    let words: Vec<&str> = lower.split(is_gap).filter(|word| !word.is_empty()).collect();
    let spaced = format!(" {} ", words.join(" "));
    let begins = |openings: &[&str]| openings.iter().any(|opening| spaced[1..].starts_with(&format!("{opening} ")));
    let holds = PHRASES.iter().any(|phrase| spaced.contains(&format!(" {phrase} ")));
    (holds || begins(OPENINGS)) && !begins(CONDITIONS) && !sentence.ends_with(['?', ':'])
}

/// The files of a turn whose edits were undone.
fn reverted(work: &TurnWork) -> Option<Line> {
    let (first, others) = work.reverted.split_first()?;
    let mut text = format!("reverted: {}", one_line(first));
    for path in others {
        let path = one_line(path);
        if text.len() + path.len() + 2 > MAX_BYTES {
            break;
        }
        text.push_str(", ");
        text.push_str(&path);
    }
    Some(by_program(work.turn, &text))
}

/// The last command of a turn that failed, if the person ruled on something right after it.
fn corrected(work: &TurnWork, rulings: &[Line], passes: impl Fn(&String) -> bool) -> Option<Line> {
    let command = one_line(work.failed.last().filter(|command| !passes(command))?);
    let ruling = rulings.iter().find(|ruling| ruling.who == Speaker::Person && ruling.turn == work.turn + 1)?;
    let command = cut(&command, MAX_BYTES / 2);
    Some(by_program(work.turn, &format!("failed: {command}; then the person said: {}", ruling.text)))
}

/// The newest to-dos that were dropped. Nobody knows when, so they have no turn.
fn dropped_todos(transcript: &Transcript) -> Vec<Line> {
    let todos = transcript.dropped_todos.iter().rev().filter(|todo| !todo.trim().is_empty()).take(MAX_TODOS);
    let mut found: Vec<Line> = todos.map(|todo| by_program(0, &format!("dropped to-do: {}", plain(todo)))).collect();
    found.reverse();
    found
}

fn by_program(turn: usize, text: &str) -> Line {
    Line { who: Speaker::Program, turn, text: beginning_of_line(text).to_owned() }
}

/// A line, cut between words.
fn beginning_of_line(line: &str) -> &str {
    let part = cut(line, MAX_BYTES);
    let end = if part.len() < line.len() { part.rfind(' ') } else { None };
    end.map_or(part, |end| &part[..end])
}

/// A path or a command on one line, its marks untouched.
fn one_line(text: &str) -> String {
    kept_line(text, MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::transcript::{Command, Utterance, UtteranceKind};

    fn transcript(texts: &[&str]) -> Transcript {
        let say = |(turn, text): (usize, &&str)| Utterance {
            turn,
            kind: UtteranceKind::AgentText,
            text: (*text).to_owned(),
            about: String::new(),
            at: None,
        };
        Transcript { talk: (1..).zip(texts).map(say).collect(), ..Transcript::default() }
    }

    fn dead_ends(transcript: &Transcript, rulings: Vec<Line>) -> Vec<Line> {
        let material = Material { transcript: Some(transcript), note: "", state: "", has_changes: true };
        let mut account = Account { rulings, ..Account::default() };
        keep_dead_ends(&material, &mut account);
        account.dead_ends
    }

    fn line(who: Speaker, turn: usize, text: &str) -> Line {
        Line { who, turn, text: text.to_owned() }
    }

    #[test]
    fn sentences_that_report_a_dead_end_are_kept() {
        for text in [
            "I tried a global lock first.",
            "Tried pinning the version; same error",
            "Raising the limit didn’t work.",
            "Reverted the cache because it leaked",
            "The change to the pool was reverted.",
            "I gave up on the async version.",
            "Two retries, but no luck.",
            "- **Abandoned**: streaming over websockets",
        ] {
            let found = dead_ends(&transcript(&[&format!("All done now.\n\n{text}\nTests pass.")]), Vec::new());
            assert_eq!(found, [line(Speaker::Agent, 1, &plain(text))], "{text}");
        }
    }

    #[test]
    fn sentences_that_only_hold_such_words_are_not() {
        for text in [
            "The user tried to log in twice.",
            "If it did not work, call support",
            "Have you tried restarting?",
            "This can be reverted with one command.",
            "The retried request carries a header",
            "Here is what I tried:",
            "It works.",
        ] {
            assert_eq!(dead_ends(&transcript(&[text]), Vec::new()), [], "{text}");
        }
    }

    #[test]
    fn only_conclusions_are_looked_through() {
        let mut session = transcript(&["I tried the cache first.", "Fixed."]);
        session.talk[0].turn = 2;
        assert_eq!(dead_ends(&session, Vec::new()), []);
    }

    #[test]
    fn reverted_files_are_kept() {
        let reverted = vec!["src/a.rs".to_owned(), "my docs/_b_.md".to_owned()];
        let work = vec![TurnWork { turn: 3, reverted, ..TurnWork::default() }];
        let session = Transcript { work, ..Transcript::default() };
        let expected = [line(Speaker::Program, 3, "reverted: src/a.rs, my docs/_b_.md")];
        assert_eq!(dead_ends(&session, Vec::new()), expected);
    }

    #[test]
    fn a_failure_counts_if_a_ruling_follows_in_the_next_turn() {
        let failed = vec!["make".to_owned(), "docker compose up".to_owned()];
        let work = vec![TurnWork { turn: 1, failed, ..TurnWork::default() }];
        let session = Transcript { work, ..Transcript::default() };
        let ruling = |turn| vec![line(Speaker::Person, turn, "never start docker here")];
        let text = "failed: docker compose up; then the person said: never start docker here";
        assert_eq!(dead_ends(&session, ruling(2)), [line(Speaker::Program, 1, text)]);
        assert_eq!(dead_ends(&session, ruling(1)), []);
        assert_eq!(dead_ends(&session, ruling(3)), []);
        let test = |outcome| Command { command: "docker compose up".to_owned(), outcome };
        let passing = Transcript { tests: vec![test(Outcome::Passed)], ..session };
        assert_eq!(dead_ends(&passing, ruling(2)), [], "it passed in the end");
    }

    #[test]
    fn dropped_todos_come_last_and_do_not_displace_the_rest() {
        let texts: Vec<String> = (0..20).map(|number| format!("I tried variant {number}.")).collect();
        let mut session = transcript(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        session.dropped_todos = (0..20).map(|number| format!("port module {number}")).collect();
        let found = dead_ends(&session, Vec::new());
        assert_eq!(found.len(), MAX_LINES);
        assert_eq!(found[0].text, "I tried variant 12.");
        assert_eq!(found[MAX_LINES - 1], line(Speaker::Program, 0, "dropped to-do: port module 19"));
    }

    proptest! {
        #[test]
        fn any_session_gives_few_short_lines(
            texts in prop::collection::vec("(I tried |\\PC{0,9}|it was reverted|\\. |\n){0,80}", 0..6),
            paths in prop::collection::vec("\\PC{0,200}", 0..6),
            todos in prop::collection::vec("\\PC{0,400}", 0..9),
        ) {
            let mut session = transcript(&texts.iter().map(String::as_str).collect::<Vec<_>>());
            session.work = vec![TurnWork { turn: 1, reverted: paths.clone(), failed: paths, ..TurnWork::default() }];
            session.dropped_todos = todos;
            let found = dead_ends(&session, vec![line(Speaker::Person, 2, &"no ".repeat(200))]);
            prop_assert!(found.len() <= MAX_LINES);
            prop_assert!(found.iter().all(|line| line.text.len() <= MAX_BYTES && !line.text.contains('\n')));
            // A mark that is opened in one line and closed in another is read differently by line and as a whole.
            let bare = |text: &str| text.replace(['`', '*', '_', ' '], "");
            for line in found.iter().filter(|line| line.who == Speaker::Agent) {
                prop_assert!(bare(&plain(&texts[line.turn - 1])).contains(&bare(&line.text)));
            }
        }
    }
}
