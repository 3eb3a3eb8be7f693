//! What an agent is reminded of at the first prompt of a session: a few passages that speak of the same things, or nothing.
//!
//! A passage that is shown without need costs the agent attention, so a prompt must have much in common with a passage before it
//! is shown.

use chrono::NaiveDate;

use super::answer::{Hit, search};
use super::meaning::Meaning;
use super::passage::PassageKind;
use super::query::{MAX_QUESTION, PREFIXES, Query, Question};
use super::rank::InCommon;
use super::store::Index;
use super::words;

/// How many hits are considered: more than are shown, because some are said already or came along.
const CONSIDERED: usize = 20;
/// How many passages are scored. Those with most of the prompt's words come first, and only such ones are near.
const SCORED: usize = 400;
/// How many words of the prompt a passage and its neighbours must have: one word in common is chance.
const LEAST_WORDS: usize = 2;
/// The share of the prompt that they must have. Words that were never said count, so a prompt about new things has a small
/// share.
const LEAST_SHARE: f64 = 0.4;
/// A long prompt speaks of much that is new. Of one with so many words, this many in common and a smaller share are enough.
const LONG_PROMPT: usize = 10;
const LEAST_WORDS_OF_LONG: usize = 4;
const LEAST_SHARE_OF_LONG: f64 = 0.3;
/// The share of a passage's words that a text must have for the text to say the same.
const SAME: f64 = 0.8;

/// The passages of which to remind an agent, dead ends and rulings first; the caller chooses among them. `session` is the agent's own, whose passages it has.
pub(crate) fn recall(index: &Index, prompt: &str, session: &str, today: NaiveDate) -> rusqlite::Result<Vec<Hit>> {
    let text = without_syntax(prompt);
    let words = Question::of(&text, today).words.len();
    if words < LEAST_WORDS {
        return Ok(Vec::new());
    }
    let query = Query { text, limit: CONSIDERED, scored: Some(SCORED), ..Query::default() };
    // A prompt must not wait for a model.
    let mut hits = search(index, &query, &Meaning::of_words(), today)?.hits;
    hits.retain(|hit| is_near(hit, words) && (session.is_empty() || hit.session != session));
    // The order within each class stays that of the ranking.
    hits.sort_by_key(class);
    Ok(hits)
}

/// A prompt without what would be a phrase or a prefix in a question: nobody who writes to an agent asks a search.
fn without_syntax(prompt: &str) -> String {
    let prompt = crate::base::text::cut(prompt, MAX_QUESTION).replace('"', " ");
    PREFIXES.iter().fold(prompt, |text, prefix| text.replace(prefix, &format!("{prefix} ")))
}

fn is_near(hit: &Hit, words: usize) -> bool {
    let InCommon { words: common, share } = hit.in_common;
    let is_near_long = words >= LONG_PROMPT && common >= LEAST_WORDS_OF_LONG && share >= LEAST_SHARE_OF_LONG;
    common >= LEAST_WORDS && share >= LEAST_SHARE || is_near_long
}

/// Dead ends and rulings come first: they keep an agent from repeating a mistake.
fn class(hit: &Hit) -> u8 {
    match hit.kind {
        PassageKind::Ruling => 0,
        PassageKind::Error => 0,
        _ if ["Failed Attempts", "tried ", "Tried "].iter().any(|sign| hit.text.contains(sign)) => 0,
        _ => 1,
    }
}

/// Whether a text says nearly all of what a passage says.
pub(crate) fn is_said_in(passage: &str, text: &str) -> bool {
    let known: std::collections::HashSet<String> = words::terms(text).collect();
    let words: Vec<String> = words::terms(passage).collect();
    let found = words.iter().filter(|word| known.contains(*word)).count();
    found as f64 >= SAME * words.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::passage::{Document, Passage};
    use crate::search::store::KnownFile;

    /// What twelve sessions of a made-up project said, each a request and an answer.
    const SESSIONS: [(&str, &str); 12] = [
        (
            "The lexer loops forever on an unterminated string literal",
            "next_token returned no position at the end of the file; fixed in parse_string_literal",
        ),
        (
            "Roll the staging cluster back after the failed deployment",
            "helm rollback to the last revision; the database migration stays applied",
        ),
        (
            "The date picker shows the wrong day in the Tokyo time zone",
            "the UTC offset was applied twice in format_date; tests cover DST now",
        ),
        (
            "Make the thumbnail cache faster",
            "Tried moka, it evicts too early; kept the LRU and raised its capacity to 512 entries",
        ),
        (
            "Users are logged out after five minutes",
            "the refresh token cookie had SameSite strict; the session middleware renews it now",
        ),
        (
            "Import of the CSV invoices fails with umlauts",
            "the reader assumed UTF-8; chardetng detects windows-1252 before parsing",
        ),
        (
            "Search results are sorted wrongly in the admin panel",
            "the Postgres collation differs from ICU; added an explicit COLLATE clause",
        ),
        (
            "The nightly backup job runs out of disk space",
            "restic forget keeps seven daily snapshots; pruning runs on Sundays",
        ),
        (
            "Upgrade the payment provider SDK to version 9",
            "webhook signatures moved to a header; idempotency keys are required",
        ),
        ("Flaky websocket test in CI", "the test server bound a random port twice; it waits for the listener now"),
        (
            "Add dark mode to the settings page",
            "colours come from CSS custom properties; the toggle is stored in localStorage",
        ),
        (
            "Memory grows while exporting large PDF reports",
            "the renderer kept every page; streaming with a page pool holds it below 200 MB",
        ),
    ];

    const RELATED: [&str; 20] = [
        "The lexer hangs on an unterminated string again",
        "why does next_token loop at the end of the file?",
        "staging deployment failed, how do we roll back the cluster",
        "run a helm rollback for staging",
        "The date picker is off by one day in Tokyo",
        "time zone offset applied twice in format_date",
        "thumbnail cache evicts too early",
        "should we try moka for the thumbnail cache?",
        "refresh token cookie expires and users get logged out",
        "session middleware does not renew the cookie",
        "CSV import breaks with umlauts in windows-1252",
        "admin panel search results sorted wrongly by collation",
        "nightly backup ran out of disk space again",
        "how many daily snapshots does restic keep",
        "webhook signatures of the payment provider fail",
        "websocket test is flaky in CI",
        "dark mode toggle on the settings page is not stored",
        "PDF export uses too much memory with large reports",
        "stream the pages of the PDF renderer",
        "the payment SDK needs idempotency keys",
    ];

    const UNRELATED: [&str; 40] = [
        "Write a haiku about autumn",
        "Add a LICENSE file with the MIT licence",
        "Rename the package to acme-core",
        "What does this regular expression match?",
        "Set up GitHub Actions for Rust stable and nightly",
        "Explain the difference between a mutex and a semaphore",
        "Translate the README into French",
        "Bump all dependencies",
        "Create an endpoint that returns the server's uptime",
        "Why is the build slow on macOS?",
        "Refactor the user model to use builder pattern",
        "Add pagination to the comments endpoint",
        "Generate mock data for the orders table",
        "hello",
        "continue",
        "fix it",
        "Write a docstring for each public function",
        "Remove unused imports",
        "Convert these callbacks to async functions",
        "Draw an ER diagram of the schema",
        "How do I undo the last commit?",
        "Add a rate limiter with a leaky bucket",
        "Use a feature flag for the onboarding flow",
        "Compress images before uploading them to the bucket",
        "Add type hints to utils.py",
        "Make the sidebar collapsible on mobile",
        "Investigate why Kafka consumers lag behind",
        "Switch from npm to pnpm",
        "Configure ESLint for the monorepo",
        "Implement a trie for autocomplete",
        "Add OpenTelemetry tracing to the gateway",
        "Write property tests for the scheduler",
        "Document the public API with examples",
        "Prepare the release notes for 2.4",
        "Introduce a retry policy with exponential backoff",
        "Replace println with the log crate",
        "Deploy the docs site with mkdocs",
        "Encrypt secrets with sops",
        "Add Spanish strings to the i18n bundle",
        "Check accessibility of the signup form",
    ];

    fn index() -> Index {
        let mut index = Index::in_memory();
        let mut writer = index.write().unwrap();
        for (number, (request, answer)) in SESSIONS.iter().enumerate() {
            let file = KnownFile::default();
            let id = writer.set_file(&format!("/{number}"), "", &file).unwrap();
            let passage = |kind, text: &str| Passage { kind, at: Some(0), text: text.to_owned() };
            let passages = vec![passage(PassageKind::Request, request), passage(PassageKind::Answer, answer)];
            let document = Document { session: format!("s{number}"), passages, ..Document::default() };
            writer.add(id, &document).unwrap();
        }
        writer.commit().unwrap();
        index
    }

    fn answered(prompts: &[&str]) -> Vec<bool> {
        let (index, today) = (index(), NaiveDate::from_ymd_opt(2026, 11, 18).unwrap());
        prompts.iter().map(|prompt| !recall(&index, prompt, "", today).unwrap().is_empty()).collect()
    }

    #[test]
    fn related_prompts_are_answered_and_unrelated_ones_are_not() {
        let missed: Vec<&str> =
            RELATED.iter().zip(answered(&RELATED)).filter(|(_, is)| !is).map(|(prompt, _)| *prompt).collect();
        assert!(missed.len() * 5 <= RELATED.len(), "not answered: {missed:#?}");
        let disturbed: Vec<&str> =
            UNRELATED.iter().zip(answered(&UNRELATED)).filter(|(_, is)| *is).map(|(prompt, _)| *prompt).collect();
        assert!(disturbed.len() * 20 <= UNRELATED.len(), "answered: {disturbed:#?}");
    }

    #[test]
    fn the_own_session_is_not_recalled_and_dead_ends_come_first() {
        let (index, today) = (index(), NaiveDate::from_ymd_opt(2026, 11, 18).unwrap());
        let prompt = "thumbnail cache evicts too early";
        assert_eq!(recall(&index, prompt, "", today).unwrap()[0].session, "s3");
        assert!(recall(&index, prompt, "s3", today).unwrap().is_empty());
        let first = recall(&index, "thumbnail cache evicts too early, moka", "", today).unwrap();
        assert_eq!(class(&first[0]), 0, "{}", first[0].text);
    }

    #[test]
    fn words_that_only_begin_like_others_are_not_in_common() {
        assert_eq!(answered(&["Sell thumbtacks and cachepots", "Rolling pins and staghorn ferns"]), [false; 2]);
    }

    #[test]
    fn a_prompt_has_neither_phrases_nor_prefixes() {
        let prompts = [
            "path:src/cache.rs the thumbnail cache evicts too early",
            "error:E0308 in the thumbnail cache, it evicts too early",
            "\"the thumbnail cache is wrong\": it evicts too early",
        ];
        assert_eq!(answered(&prompts), [true; 3]);
    }

    #[test]
    fn what_a_text_says_already_is_known() {
        assert!(is_said_in("Keep recursive descent", "## Rulings\n- Keep recursive descent: parsers lose the column"));
        assert!(!is_said_in("helm rollback to the last revision", "## Rulings\n- Keep recursive descent"));
    }
}
