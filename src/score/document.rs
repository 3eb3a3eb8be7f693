//! A handoff, judged before anybody uses it: five parts, each from 0 to 100, and their mean. A part that does not apply, such as
//! rulings where there are none, does not count.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::words::names;
use crate::base::fs::Anchor;
use crate::base::text;
use crate::handoff::{self, Handoff, Value};
use crate::recap;

/// Up to this many bytes a document is short enough, about 3,000 tokens; from the second number on it is far too long.
const SHORT: usize = 12_000;
const LONG: usize = 48_000;
/// The longest path or claim that is shown.
const SHOWN: usize = 80;

/// Words that begin a reason.
const REASONS: &[&str] = &[
    "because",
    "since ",
    "so that",
    ", so ",
    "; so ",
    "otherwise",
    "due to",
    "reason",
    "in order to",
    "to avoid",
    "to keep",
    "to make",
    "to prevent",
    "to allow",
    "as it ",
    "as they ",
    ": ",
    " (",
];

/// What is thought of a document.
pub(crate) struct Judgement {
    pub parts: Vec<Part>,
}

/// One part of a judgement.
pub(crate) struct Part {
    pub name: &'static str,
    pub title: &'static str,
    /// From 0 to 100; `None` if the document has nothing of the kind.
    pub score: Option<usize>,
    /// What is missing, for whoever writes the document; empty if nothing is.
    pub says: String,
}

/// Judges a document of `bytes` bytes. Files are looked for below `root`.
pub(crate) fn judge(handoff: &Handoff, bytes: usize, root: &Anchor) -> Judgement {
    let part = |name, title, (score, says): (Option<usize>, String)| Part { name, title, score, says };
    Judgement {
        parts: vec![
            part("first_action", "the first action is work that names something", first_action(handoff)),
            part("evidence", "claims with evidence", evidence(handoff)),
            part("context_files", "context files that exist", context_files(handoff, root)),
            part("rulings", "rulings with a reason", rulings(handoff)),
            part("length", "short enough to be read", length(bytes)),
        ],
    }
}

impl Judgement {
    /// The mean of the parts that apply.
    pub(crate) fn score(&self) -> usize {
        let scores: Vec<usize> = self.parts.iter().filter_map(|part| part.score).collect();
        scores.iter().sum::<usize>() / scores.len().max(1)
    }

    pub(crate) fn json(&self, document: &str, bar: Option<usize>) -> Json {
        let part =
            |part: &Part| json!({ "part": part.name, "title": part.title, "score": part.score, "says": part.says });
        json!({
            "schema": "agent-handover/score-handoff/1",
            "document": document,
            "score": self.score(),
            "bar": bar,
            "parts": self.parts.iter().map(part).collect::<Vec<_>>(),
        })
    }
}

fn first_action(handoff: &Handoff) -> (Option<usize>, String) {
    let first = handoff.texts("next_todo_items").first().map_or("", |first| first.trim());
    let shown = text::one_line(first, SHOWN);
    let (score, says) = if first.is_empty() || recap::is_made_up(first) {
        (0, "there is no first action".to_owned())
    } else if handoff::resume_mechanic(first).is_some() {
        (0, format!("`{shown}` is a way back to work, not work"))
    } else if names(first).is_empty() && !first.contains('`') {
        (50, format!("`{shown}` names no file, symbol or command"))
    } else {
        (100, String::new())
    };
    (Some(score), says)
}

/// A claim has evidence if a check was run and its result is on record, or if the claim itself names something that can be
/// looked up.
fn evidence(handoff: &Handoff) -> (Option<usize>, String) {
    let checks = handoff.get("validation").and_then(Value::list).unwrap_or_default();
    let field =
        |check: &Value, key: &str| check.get(key).and_then(Value::text).unwrap_or_default().trim().to_lowercase();
    let was_run = |check: &Value| {
        let (line, result) = (field(check, "command"), field(check, "result"));
        !line.is_empty() && ["passed", "failed"].contains(&result.as_str())
    };
    let has_checks = checks.iter().any(was_run);
    let claims = handoff.texts("completed_tasks");
    let (score, open) = share(&claims, |claim| has_checks || !names(claim).is_empty() || claim.contains('`'));
    let advice = "; record the command that shows it under `validation`";
    (score, open.map(|claim| format!("nothing shows that `{claim}`{advice}")).unwrap_or_default())
}

fn context_files(handoff: &Handoff, root: &Anchor) -> (Option<usize>, String) {
    let files = handoff.get("active_context_files").and_then(Value::list).unwrap_or_default();
    let path = |file: &Value| file.get("path").and_then(Value::text).or(file.text()).map(|path| path.trim().to_owned());
    let all: Vec<String> = files.iter().filter_map(path).filter(|path| !path.is_empty()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let (score, gone) = share(&all, |path| {
        let path = Path::new(path);
        let path = path.strip_prefix(root.path()).unwrap_or(path);
        path.is_relative() && matches!(root.about(path), Ok(Some(_)))
    });
    (score, gone.map(|path| format!("`{path}` is not in the project")).unwrap_or_default())
}

fn rulings(handoff: &Handoff) -> (Option<usize>, String) {
    let rulings = handoff.texts("decisions");
    let (score, without) = share(&rulings, |ruling| {
        let small = ruling.trim_start_matches("[standing]").to_lowercase();
        REASONS.iter().any(|reason| small.contains(reason))
    });
    (score, without.map(|ruling| format!("`{ruling}` has no reason")).unwrap_or_default())
}

fn length(bytes: usize) -> (Option<usize>, String) {
    let over = bytes.saturating_sub(SHORT).min(LONG - SHORT);
    let score = 100 - over * 100 / (LONG - SHORT);
    let says = if over == 0 { String::new() } else { format!("{bytes} bytes; up to {SHORT} are read with care") };
    (Some(score), says)
}

/// The share of texts that are good, in percent, and the first one that is not.
fn share(texts: &[&str], mut is_good: impl FnMut(&str) -> bool) -> (Option<usize>, Option<String>) {
    let bad: Vec<&&str> = texts.iter().filter(|text| !is_good(text)).collect();
    let score = (!texts.is_empty()).then(|| (texts.len() - bad.len()) * 100 / texts.len());
    (score, bad.first().map(|bad| text::one_line(bad, SHOWN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "---\nnext_todo_items:\n  - \"Fix the off-by-one in src/lexer.rs:42\"\ncompleted_tasks:\n  - \"The parser reports positions\"\ndecisions:\n  - \"Keep recursive descent because errors stay readable\"\nactive_context_files:\n  - path: \"src/lexer.rs\"\n    reason: \"the lexer\"\nvalidation:\n  - command: \"cargo test\"\n    result: \"passed\"\n---\nbody\n";

    fn scores(document: &str) -> (Vec<Option<usize>>, usize) {
        let directory = crate::base::scratch::directory();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        std::fs::write(directory.path().join("src/lexer.rs"), "").unwrap();
        let handoff = Handoff::parse(document).unwrap();
        let judgement = judge(&handoff, document.len(), &Anchor::new(directory.path()));
        (judgement.parts.iter().map(|part| part.score).collect(), judgement.score())
    }

    #[test]
    fn each_part_is_judged_by_itself() {
        assert_eq!(scores(GOOD), (vec![Some(100); 5], 100));
        let of = |from: &str, to: &str, part: usize| {
            assert!(GOOD.contains(from), "{from}");
            scores(&GOOD.replace(from, to)).0[part]
        };
        assert_eq!(of("Fix the off-by-one in src/lexer.rs:42", "Read the handoff", 0), Some(0));
        assert_eq!(of("Fix the off-by-one in src/lexer.rs:42", "Finish the work on errors", 0), Some(50));
        assert_eq!(of("result: \"passed\"", "result: \"not_run\"", 1), Some(0));
        assert_eq!(of("path: \"src/lexer.rs\"", "path: \"src/gone.rs\"", 2), Some(0));
        assert_eq!(of("path: \"src/lexer.rs\"", "path: \"/etc/passwd\"", 2), Some(0), "it is not of the project");
        assert_eq!(of("path: \"src/lexer.rs\"", "path: \"../src/lexer.rs\"", 2), Some(0));
        assert_eq!(of(" because errors stay readable", "", 3), Some(0));
        assert_eq!(of("body", &"long ".repeat(6_000), 4).map(|score| score < 60), Some(true));
    }

    #[test]
    fn what_a_document_does_not_have_does_not_count() {
        let (parts, score) = scores("---\nnext_todo_items:\n  - \"Run `make lint`\"\n---\n");
        assert_eq!((parts, score), (vec![Some(100), None, None, None, Some(100)], 100));
        assert_eq!(scores("---\nstatus: \"x\"\n---\n").1, 50);
    }
}
