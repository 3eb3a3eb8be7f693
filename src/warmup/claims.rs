//! Whether a text claims a success that somebody should have checked.

use crate::recap;

pub(super) const UNVERIFIED: &str = " (unverified)";

/// Words that follow each other. Each part names alternatives; `?` behind them says that the word may be missing, `*` that
/// several may stand there, and `#` alone is a number.
///
/// They are compared one by one: a session waits for this, and to compile a regular expression takes longer than all the rest.
type Phrase = &'static [&'static str];

/// How often a word with `*` counts. A text of nothing but such words is not read again from each of them.
const MOST_REPEATED: usize = 16;

/// Phrases by which people say that checks passed.
const CHECKED: &[Phrase] = &[
    &["test|tests", "now|all|are*", "pass|passes|passed|passing|succeed|succeeds|succeeded|green"],
    &["all", "#?", "test|tests|check|checks?", "pass|passes|passed|passing|green|succeed|succeeded"],
    &["is|are|was|were|ci|build|suite", "now|all*", "green"],
    &["passing|verified|successfully|succeeded"],
    &["works", "now|again|fine|correctly"],
    &["works", "as", "expected"],
    &["now", "works"],
    &["is|was|got|are|were|been", "now|fully?", "fixed|tested"],
    &["build|builds", "clean|cleanly|fine|passes|passed|succeeds|succeeded"],
    &["without", "any?", "errors|failures"],
    &["no", "errors|failures"],
];

/// Words by which people say that something is out. Only a command that does it supports them, not a test.
const DELIVERED: &[(&str, &str)] = &[
    ("deployed", "deploy"),
    ("merged", "merge"),
    ("released", "release"),
    ("published", "publish"),
    ("shipped", "deploy"),
    ("pushed", "push"),
];

/// What stands before such a word, unless it begins the sentence.
const BEFORE_DELIVERED: Phrase = &["is|was|got|are|were|been|have|has|we|i|and|now|successfully", "now|all*"];

/// What makes `deployed` a claim wherever it stands.
const DEPLOYED: &[Phrase] = &[&["deployed", "successfully"], &["deployed", "to", "prod|production|staging|live"]];

/// Phrases before a claim that make it a plan, a wish or its opposite.
const UNSAID: &[Phrase] = &[
    &["not|never|already|cannot|until|unless|if|once|when|whether|before|after|should|must"],
    &["make|makes|get|let|ensure|need|needs|will|would|could|fail|fails"],
    &["no", "longer"],
    &["to", "be"],
    &["so|check", "that"],
];

/// Whether the text claims a success that none of these commands, which passed, supports.
pub(super) fn is_claim_without(text: &str, passed: &[String]) -> bool {
    sentences(text).any(|sentence| match claim(sentence) {
        None => false,
        Some(Claim::Checked) => passed.iter().all(|passed| recap::is_delivery(passed)),
        Some(Claim::Delivered(command)) => !passed.iter().any(|passed| passed.contains(command)),
    })
}

enum Claim {
    Checked,
    /// The word that a command for it contains.
    Delivered(&'static str),
}

fn claim(sentence: &str) -> Option<Claim> {
    let words = words(sentence);
    let from = |phrase: Phrase, at: usize| length(phrase, &words[at..]);
    let is_said = |end: usize| {
        let is_unsaid = |at: usize| {
            let before = &words[at..end];
            before[0].is_negated || UNSAID.iter().any(|phrase| length(phrase, before).is_some())
        };
        !(0..end).any(is_unsaid)
    };
    let delivered = |at: usize| {
        let is_first = words[at].is_first.then_some(0);
        let before = is_first.filter(|_| command(words[at].text).is_some()).or_else(|| from(BEFORE_DELIVERED, at));
        let named = before.and_then(|before| words.get(at + before).filter(|word| before == 0 || word.is_joined));
        let is_deployed = || DEPLOYED.iter().any(|phrase| from(phrase, at).is_some()).then_some("deploy");
        named.and_then(|word| command(word.text)).or_else(is_deployed)
    };
    let found = (0..words.len()).find_map(|at| Some((at, delivered(at)?)));
    if let Some((_, command)) = found.filter(|(at, _)| is_said(*at)) {
        return Some(Claim::Delivered(command));
    }
    let is_checked = |at: &usize| CHECKED.iter().any(|phrase| from(phrase, *at).is_some());
    (0..words.len()).find(is_checked).filter(|at| is_said(*at)).map(|_| Claim::Checked)
}

/// The word in the commands that do what this word claims.
fn command(word: &str) -> Option<&'static str> {
    DELIVERED.iter().find(|(claim, _)| word.eq_ignore_ascii_case(claim)).map(|(_, command)| *command)
}

struct Word<'t> {
    text: &'t str,
    /// Nothing stands before it.
    is_first: bool,
    /// Only space stands between the word before and this one.
    is_joined: bool,
    /// It ends in `n't`, which stands behind it here.
    is_negated: bool,
}

/// The words of a sentence: letters, digits and `_`, as far as they are ASCII.
fn words(sentence: &str) -> Vec<Word<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut at = 0;
    while let Some(start) = sentence[at..].find(is_part).map(|start| at + start) {
        let between = &sentence[at..start];
        let end = sentence[start..].find(|c| !is_part(c)).map_or(sentence.len(), |length| start + length);
        let text = &sentence[start..end];
        let is_joined = !words.is_empty() && between.bytes().all(is_space);
        if let Some(last) = words.last_mut() {
            let ends_in_n = last.text.len() > 1 && last.text.ends_with(['n', 'N']);
            last.is_negated = ends_in_n && between == "'" && text.eq_ignore_ascii_case("t");
        }
        words.push(Word { text, is_first: start == 0, is_joined, is_negated: false });
        at = end;
    }
    words
}

/// White space, with the vertical tab, which `is_ascii_whitespace` does not count.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// How many words the phrase takes if it stands at the beginning of these words. No word is an alternative of two parts that
/// can follow each other, so each part takes what it can.
fn length(phrase: Phrase, words: &[Word<'_>]) -> Option<usize> {
    let mut at = 0;
    for part in phrase {
        let is_here =
            |at: usize| words.get(at).is_some_and(|word| (at == 0 || word.is_joined) && is_one_of(part, word));
        let most = if part.ends_with('*') { MOST_REPEATED } else { 1 };
        let taken = (at..at + most).take_while(|at| is_here(*at)).count();
        if taken == 0 && !part.ends_with(['?', '*']) {
            return None;
        }
        at += taken;
    }
    Some(at)
}

/// Whether a word is an alternative of this part of a phrase.
fn is_one_of(part: &str, word: &Word<'_>) -> bool {
    match part.trim_end_matches(['?', '*']) {
        "#" => word.text.bytes().all(|byte| byte.is_ascii_digit()),
        alternatives => alternatives.split('|').any(|one| word.text.eq_ignore_ascii_case(one)),
    }
}

/// The parts of a text in which one word can say no to another.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['.', ';', '!', '?', '\n', ':']).map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_claim(text: &str) -> bool {
        is_claim_without(text, &[])
    }

    #[test]
    fn claims_are_told_from_plans() {
        for claim in [
            "all tests pass",
            "All 42 tests pass",
            "Tests now pass on main",
            "CI is green",
            "the parser works now",
            "the bug is fixed",
            "verified by hand",
            "was merged",
            "Deployed to production successfully",
            "I deployed it",
            "The import works. The migration ran successfully.",
            "Released 1.4",
        ] {
            assert!(is_claim(claim), "{claim}");
        }
        for other in [
            "Make the tests pass-through work",
            "Make sure that all tests pass",
            "fix the parser",
            "green buttons",
            "merge the branch",
            "test",
            "the tests do not pass",
            "It isn't deployed yet",
            "Merge only if CI is green",
            "never push before the suite is green",
            "Deploy to production",
            "the merged branches are listed first",
            "The parent branches were already merged to main",
            "A static page deployed to GitHub Pages by hand",
        ] {
            assert!(!is_claim(other), "{other}");
        }
    }

    #[test]
    fn a_word_that_is_repeated_without_end_does_no_harm() {
        assert!(!is_claim(&format!("tests {}", "all ".repeat(50_000))));
        assert!(is_claim("tests now all now pass"));
        assert!(is_claim("now now now merged"));
    }

    #[test]
    fn a_vertical_tab_is_white_space() {
        assert!(is_claim("tests\u{b}pass"));
    }

    #[test]
    fn a_test_that_passed_supports_no_deployment() {
        let passed = ["cargo test".to_owned()];
        assert!(!is_claim_without("All tests pass.", &passed));
        assert!(is_claim_without("All tests pass. Deployed to production.", &passed));
        assert!(!is_claim_without("Deployed to production", &["./deploy.sh prod".to_owned()]));
        let pushed = ["git push -u origin x".to_owned()];
        assert!(!is_claim_without("Committed and pushed.", &pushed));
        assert!(is_claim_without("All tests pass. Committed and pushed.", &pushed));
    }
}
