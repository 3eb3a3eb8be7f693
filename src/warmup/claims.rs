//! Whether a text claims a success that somebody should have checked.

use std::sync::OnceLock;

use regex::Regex;

use crate::recap;

pub(super) const UNVERIFIED: &str = " (unverified)";

/// Words by which people say that checks passed.
const CHECKED: &str = r"(?ix-u) \b (
    tests?\s+(now\s+|all\s+|are\s+)*(pass|passes|passed|passing|succeed|succeeds|succeeded|green)
    | all\s+(\d+\s+)?(tests?\s+|checks?\s+)?(pass|passes|passed|passing|green|succeed|succeeded)
    | (is|are|was|were|ci|build|suite)\s+(now\s+|all\s+)*green
    | passing | verified | works\s+(now|again|fine|correctly|as\s+expected) | now\s+works
    | (is|was|got|are|were|been)\s+(now\s+|fully\s+)?(fixed|tested)
    | builds?\s+(clean|cleanly|fine|passes|passed|succeeds|succeeded)
    | successfully | succeeded | without\s+(any\s+)?(errors|failures) | no\s+(errors|failures)
) \b";

/// Words by which people say that something is out. Only a command that does it supports them, not a test.
const DELIVERED: &str = r"(?ix-u) (
    (?: ^ | \b (?: is|was|got|are|were|been|have|has|we|i|and|now|successfully ) \s+ (?: now\s+|all\s+ )* )
    (?: deploy(?<deploy>ed) | merg(?<merge>ed) | releas(?<release>ed) | publish(?<publish>ed) | ship(?<ship>ped)
      | push(?<push>ed) ) \b
    | \b deployed \s+ (successfully|to\s+(prod|production|staging|live)\b)
) ";

/// Words before a claim that make it a plan, a wish or its opposite.
const UNSAID: &str = r"(?ix-u) \b (
    not | never | already | cannot | no\s+longer | \w+n't | un(til|less) | if | once | when | whether | before | after | should | must
    | make | makes | get | let | ensure | to\s+be | need | needs | will | would | could | so\s+that | check\s+that | fails?
) \b";

/// The commands that deliver something: what they are called, and the word that claims it.
const DELIVERIES: [(&str, &str); 6] = [
    ("deploy", "deploy"),
    ("merge", "merge"),
    ("release", "release"),
    ("publish", "publish"),
    ("ship", "deploy"),
    ("push", "push"),
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
    static WORDS: OnceLock<Option<[Regex; 3]>> = OnceLock::new();
    let of = |words: &str| Regex::new(words).ok();
    let words = WORDS.get_or_init(|| Some([of(CHECKED)?, of(DELIVERED)?, of(UNSAID)?]));
    let [checked, delivered, unsaid] = words.as_ref()?;
    let is_said = |at: usize| !unsaid.is_match(&sentence[..at]);
    if let Some(found) = delivered.captures(sentence).filter(|found| found.get(0).is_some_and(|at| is_said(at.start())))
    {
        let named = DELIVERIES.iter().find(|(word, _)| found.name(word).is_some());
        return Some(Claim::Delivered(named.map_or("deploy", |(_, command)| *command)));
    }
    checked.find(sentence).filter(|found| is_said(found.start())).map(|_| Claim::Checked)
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
