//! Whether a session says that it did what an earlier one left open.
//!
//! An open action that is closed by mistake is lost, one that stays is only a nuisance. So a statement closes an action only
//! if both have the same content words, no more and no fewer, and if nothing in the statement doubts it. What counts:
//!
//! | statement | must |
//! |---|---|
//! | a sentence of a note, of the agent's last texts or of a person | say that something is done |
//! | the subject of a commit | say what the commit does |

use std::collections::BTreeSet;

use super::plain::outline_sentences;
use super::words::for_each_word;
use super::{Account, Line};

/// An action with fewer content words could be any.
const MIN_WORDS: usize = 2;
/// How many statements of a session are kept.
const MOST: usize = 200;

/// Words that say that something is done.
const DONE: &str = "added built changed cleaned closed committed complete completed converted created deleted deployed done \
    dropped enabled extended finished fixed implemented introduced landed merged migrated moved ported published pushed \
    refactored released removed renamed replaced resolved rewritten rewrote shipped split switched updated wired written \
    wrote";
/// Words that do not tell one action from another. "on", "off" and "not" do.
const LIGHT: &str = "a add added all already also an and are as at be been being both by complete completed continue create \
    created d done finally finish finished for from fully had has have here i implement implemented in into introduce \
    introduced is it its just landed ll me my now of our please s successfully that the their them then there these they this \
    those to us ve was we were with write written wrote you your";
/// Words by which a statement is a plan, a part, a question or its opposite.
const DOUBT: &str = "almost attempt attempted attempts before began begin begun blocked broken but can cannot could didn \
    disable disabled doesn don draft easier either except fail failed failing fails first follow haven hasn half if instead \
    isn later maybe mostly must nearly need needs neither never next no nor not once only or part partial partially partly \
    plan planned postpone postponed prepare prepared remaining revert reverted reverts should skip skipped so some started \
    still to-do todo tried try unless until wait waiting wasn when whether will wip without won would";

/// The statements of a session that may close an action of an earlier one.
pub(super) fn statements(account: &Account, commits: &[String]) -> Vec<String> {
    let said = [&account.done, &account.conclusions, &account.asked].into_iter().flatten();
    let sentences = said.flat_map(|line: &Line| outline_sentences(&line.text)).filter(|sentence| says_done(sentence));
    let clauses = sentences.flat_map(|sentence| clauses(&sentence));
    let commits = commits.iter().filter(|subject| !has_word(subject, DOUBT)).map(|subject| without_type(subject));
    let mut found: Vec<String> = commits.map(str::to_owned).chain(clauses).collect();
    found.retain(|statement| content(statement).len() >= MIN_WORDS);
    found.truncate(MOST);
    found
}

/// Whether one of these statements says that the action is done. `open` are the actions that the session itself leaves open:
/// one that it states again is not done.
pub(super) fn is_finished(action: &str, statements: &[String], open: &[String]) -> bool {
    let wanted = content(action);
    let is_same = |text: &String| content(text) == wanted;
    wanted.len() >= MIN_WORDS && !open.iter().any(is_same) && statements.iter().any(is_same)
}

fn says_done(sentence: &str) -> bool {
    has_word(sentence, DONE) && !has_word(sentence, DOUBT) && !sentence.trim_end().ends_with('?')
}

/// The parts of a sentence that say that something is done: "X is done", or what follows "Done:".
fn clauses(sentence: &str) -> Vec<String> {
    match sentence.split_once(": ") {
        Some((lead, rest)) if has_word(lead, DONE) && content(lead).is_empty() => vec![rest.to_owned()],
        // A mark inside of a word, as in `cli.py:42`, separates nothing.
        _ => [", ", "; ", ": "]
            .iter()
            .fold(vec![sentence], |parts, mark| parts.into_iter().flat_map(|part| part.split(*mark)).collect())
            .into_iter()
            .filter(|part| has_word(part, DONE))
            .map(str::to_owned)
            .collect(),
    }
}

fn has_word(text: &str, words: &str) -> bool {
    let lower = text.to_lowercase();
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .any(|word| words.split_whitespace().any(|known| known == word))
}

/// The subject of a commit without `fix(parser): `.
fn without_type(subject: &str) -> &str {
    match subject.split_once(": ") {
        Some((kind, rest)) if !kind.contains(' ') => rest,
        _ => subject,
    }
}

/// The content words of a text, each once.
fn content(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for_each_word(text, |word| {
        if !LIGHT.split_whitespace().any(|light| light == word.word) {
            found.insert(word.stem.to_owned());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Speaker;
    use super::*;

    fn is_done(action: &str, said: &[&str], commits: &[&str]) -> bool {
        let line = |text: &&str| Line { who: Speaker::Agent, turn: 1, text: (*text).to_owned() };
        let account = Account { conclusions: said.iter().map(line).collect(), ..Account::default() };
        let commits: Vec<String> = commits.iter().map(|subject| (*subject).to_owned()).collect();
        is_finished(action, &statements(&account, &commits), &[])
    }

    #[test]
    fn what_is_said_to_be_done_is_done() {
        for (action, said) in [
            ("add retries to the fetcher", "Added retries to the fetcher."),
            ("Add retries to the fetcher.", "All good: retries are added to the fetcher, and the tests pass."),
            ("error spans for the lexer", "Error spans for the lexer are done."),
            ("error spans for the lexer", "Done: error spans for the lexer"),
            ("rename `load` to `read_all`", "`load` is renamed to `read_all` now."),
            ("fix cli.py:42", "cli.py:42 is fixed."),
            ("Implement the CSV export", "the CSV export is finished"),
        ] {
            assert!(is_done(action, &[said], &[]), "{action} | {said}");
        }
        for (action, subject) in [
            ("add retries to the fetcher", "Add retries to the fetcher"),
            ("add retries to the fetcher", "feat(fetch): add retries to fetcher"),
            ("the nightly job in deploy/cron.yaml", "Add the nightly job in deploy/cron.yaml"),
        ] {
            assert!(is_done(action, &[], &[subject]), "{action} | {subject}");
        }
    }

    #[test]
    fn what_is_said_of_something_else_or_with_a_doubt_closes_nothing() {
        for (action, said) in [
            ("add retries to the fetcher", "Next: add retries to the fetcher."),
            ("add retries to the fetcher", "I will add retries to the fetcher when the tests are done."),
            ("add retries to the fetcher", "Retries are not added to the fetcher."),
            ("add retries to the fetcher", "I have not, as you asked, added retries to the fetcher."),
            ("add retries to the fetcher", "Added retries to the uploader."),
            ("add retries to the fetcher", "Added a test for retries to the fetcher."),
            ("add retries to the fetcher", "Added retries to the fetcher, but only for GET."),
            ("add retries to the fetcher", "Are retries added to the fetcher?"),
            ("add retries to the fetcher", "Removed retries from the fetcher."),
            ("error spans for the lexer and the parser", "Error spans for the lexer are done."),
            ("error spans", "Error spans for the lexer are done."),
            ("fix issue 12", "issue 13 is fixed"),
            ("turn caching off", "Turned caching on, done."),
            ("do not cache the tokens", "Cached the tokens, done."),
            ("document the retry limit", "Added the retry limit."),
            ("docs", "Docs are done."),
            ("deploy to production", "Deployed to staging."),
        ] {
            assert!(!is_done(action, &[said], &[]), "{action} | {said}");
        }
        for (action, subject) in [
            ("add retries to the fetcher", "WIP: add retries to the fetcher"),
            ("add retries to the fetcher", "Revert \"Add retries to the fetcher\""),
            ("add retries to the fetcher", "Prepare the fetcher for retries"),
            ("fix the flaky login test", "Skip the flaky login test"),
            ("fix the flaky login test", "Fix the flaky login test on macOS"),
            ("release 1.2", "Release 1.3"),
        ] {
            assert!(!is_done(action, &[], &[subject]), "{action} | {subject}");
        }
    }

    #[test]
    fn what_is_stated_again_stays_open() {
        let said = ["Added retries to the fetcher.".to_owned()];
        assert!(is_finished("add retries to the fetcher", &said, &[]));
        assert!(!is_finished("add retries to the fetcher", &said, &["Add retries to fetcher".to_owned()]));
    }

    proptest! {
        #[test]
        fn a_statement_with_another_content_word_closes_nothing(
            words in proptest::collection::vec("[b-z]{5,9}", 2..6), other in "[0-9]{3,6}",
        ) {
            let action = words.join(" ");
            let (more, done, more_done) =
                (format!("{action} {other}"), format!("{action} is done."), format!("{action} {other} is done."));
            prop_assert!(!is_done(&more, &[&done], &[]));
            prop_assert!(!is_done(&action, &[&more_done], &[]));
        }
    }
}
