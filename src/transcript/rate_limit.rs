//! Whether a text of an agent's client says that a limit of its use is reached, and when that ends.

use chrono::{DateTime, FixedOffset};

use super::RateLimit;
use crate::base::text;

/// What clients and models call it.
const WORDS: &[&str] = &[
    "rate limit",
    "rate_limit",
    "usage limit",
    "usage_limit",
    "limit reached",
    "hit your limit",
    "quota exceeded",
    "exceeded your current quota",
    "resource_exhausted",
    "too many requests",
];
const MAX_TEXT: usize = 200;

/// The limit that a text is about. A person or a model that mentions limits does not say so: ask only about texts of clients.
pub(super) fn in_text(said: &str, at: Option<DateTime<FixedOffset>>) -> Option<RateLimit> {
    let low = text::cut(said, 4 << 10).to_lowercase();
    let is_limit = WORDS.iter().any(|word| low.contains(word));
    is_limit.then(|| RateLimit { at, until: end_in(said), text: text::kept_line(said, MAX_TEXT) })
}

/// The limit that an error of a hook is about.
pub(crate) fn limit_in(error: &str, at: DateTime<FixedOffset>) -> Option<RateLimit> {
    in_text(error, Some(at))
}

/// The time at which it ends: seconds since 1970 after a bar, as Claude Code writes them, or a time in full.
fn end_in(said: &str) -> Option<DateTime<FixedOffset>> {
    let seconds = said.rsplit_once('|').and_then(|(_, rest)| rest.trim().parse::<i64>().ok());
    let of_words = || {
        said.split_whitespace().find_map(|word| {
            DateTime::parse_from_rfc3339(word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '+')).ok()
        })
    };
    seconds.and_then(at_seconds).or_else(of_words)
}

/// A time in seconds since 1970.
pub(super) fn at_seconds(seconds: i64) -> Option<DateTime<FixedOffset>> {
    DateTime::from_timestamp(seconds, 0).map(|at| at.fixed_offset())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_and_its_end_are_found() {
        let end = |said: &str| in_text(said, None).map(|limit| limit.until.map(|until| until.to_rfc3339()));
        assert_eq!(end("Claude AI usage limit reached|1794996000"), Some(Some("2026-11-18T10:00:00+00:00".to_owned())));
        assert_eq!(
            end("rate_limit: try again at 2026-11-18T10:00:00Z."),
            Some(Some("2026-11-18T10:00:00+00:00".to_owned()))
        );
        assert_eq!(end("You've hit your limit · resets 3am (Europe/Oslo)"), Some(None));
        assert_eq!(end("overloaded"), None);
    }
}
