//! A handoff, judged before anybody uses it: five parts, each from 0 to 100. The score is the mean of the first four. A part that
//! does not apply, such as rulings where there are none, does not count. Being short is no merit, so the length only limits the
//! score: an empty document scores 0.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::words::{is_path, listed_names};
use crate::base::fs::Anchor;
use crate::base::text;
use crate::handoff::{self, Handoff, Value};
use crate::recap;

/// Up to this many bytes a document is short enough, about 3,000 tokens; from the second number on it is far too long.
const SHORT: usize = 12_000;
const LONG: usize = 48_000;
/// The part that only limits the score.
const LENGTH: &str = "length";
/// The longest path or claim that is shown.
const SHOWN: usize = 80;

/// Words that begin a reason, in the languages in which most handoffs are written.
#[rustfmt::skip]
const REASONS: &[&str] = &[
    // English
    "because", "since ", "so that", ", so ", "; so ", "otherwise", "due to", "reason", "in order to", "to avoid",
    "to keep", "to make", "to prevent", "to allow", "as it ", "as they ",
    // German and Dutch
    "weil ", "damit ", "denn ", "sonst ", "wegen ", "um zu ", " zu vermeiden", "omdat ", "zodat ",
    // French, Spanish, Portuguese, Italian
    "parce qu", " car ", "afin ", "sinon", "puisqu", "pour que", "pour éviter", "porque", "para que", "ya que",
    "debido a", "para evitar", "pois ", "já que", "perché", "poiché", "affinché", "per evitare", "altrimenti",
    // Polish, Russian, Ukrainian, Turkish
    "ponieważ", " bo ", "żeby", " aby ", "потому", "так как", "чтобы", "иначе", " бо ", "щоб", "оскільки", "çünkü", "için",
    // Arabic, Hindi, Chinese, Japanese, Korean
    "لأن", "حتى ", "क्योंकि", "ताकि", "因为", "因為", "由于", "由於", "以便", "为了", "為了", "避免", "否则", "ため",
    "から", "ので", "때문", "위해", "도록",
    // Any language
    ": ", " (", "：", "（",
];
/// Words of a sentence about a file that does not exist yet, or no longer.
#[rustfmt::skip]
const ABSENT: &[&str] = &[
    "create", "add", "new", "write", "generate", "split", "extract", "move", "rename", "remove", "delete", "drop",
    "replace",
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
            part("first_action", "the first action is work that names something", first_action(handoff, root)),
            part("evidence", "claims with evidence", evidence(handoff, root)),
            part("context_files", "context files that exist", context_files(handoff, root)),
            part("rulings", "rulings with a reason", rulings(handoff)),
            part(LENGTH, "short enough to be read", length(bytes)),
        ],
    }
}

impl Judgement {
    /// The mean of the parts that apply. A document that is far too long has at most half of it.
    pub(crate) fn score(&self) -> usize {
        let (length, others): (Vec<&Part>, Vec<&Part>) = self.parts.iter().partition(|part| part.name == LENGTH);
        let scores: Vec<usize> = others.iter().filter_map(|part| part.score).collect();
        let most = length.iter().filter_map(|part| part.score).map(|length| usize::midpoint(100, length)).min();
        (scores.iter().sum::<usize>() / scores.len().max(1)).min(most.unwrap_or(100))
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

fn first_action(handoff: &Handoff, root: &Anchor) -> (Option<usize>, String) {
    let first = handoff.texts("next_todo_items").first().map_or("", |first| first.trim());
    let shown = text::one_line(first, SHOWN);
    let (score, says) = if first.is_empty() || recap::is_made_up(first) {
        (0, "there is no first action".to_owned())
    } else if handoff::resume_mechanic(first).is_some() {
        (0, format!("`{shown}` is a way back to work, not work"))
    } else {
        match naming(first, root) {
            Naming::Nothing => (50, format!("`{shown}` names no file, symbol or command")),
            Naming::Gone(path) => (50, format!("`{path}` is not in the project")),
            Naming::Something => (100, String::new()),
        }
    };
    (Some(score), says)
}

/// What a sentence names.
enum Naming {
    Nothing,
    Something,
    /// Only files that do not exist, such as this one.
    Gone(String),
}

fn naming(sentence: &str, root: &Anchor) -> Naming {
    let names = listed_names(sentence);
    let is_gone = |name: &&str| is_path(name) && name.contains('/') && !exists(root, name);
    let is_about_absence = || {
        let small = sentence.to_lowercase();
        small.split(|c: char| !c.is_alphanumeric()).any(|word| ABSENT.iter().any(|absent| word.starts_with(absent)))
    };
    match names.iter().find(|name| is_gone(name)) {
        None if names.is_empty() && !sentence.contains('`') => Naming::Nothing,
        Some(gone) if names.iter().all(is_gone) && !is_about_absence() => Naming::Gone(text::one_line(gone, SHOWN)),
        _ => Naming::Something,
    }
}

/// Whether a path, with or without a line, is in the project.
fn exists(root: &Anchor, path: &str) -> bool {
    let path = Path::new(path.split(':').next().unwrap_or(path));
    let path = path.strip_prefix(root.path()).unwrap_or(path);
    path.is_relative() && matches!(root.about(path), Ok(Some(_)))
}

/// A claim has evidence if a check was run and its result is on record, or if the claim itself names something that can be
/// looked up.
fn evidence(handoff: &Handoff, root: &Anchor) -> (Option<usize>, String) {
    let checks = handoff.get("validation").and_then(Value::list).unwrap_or_default();
    let field =
        |check: &Value, key: &str| check.get(key).and_then(Value::text).unwrap_or_default().trim().to_lowercase();
    let was_run = |check: &Value| {
        let (line, result) = (field(check, "command"), field(check, "result"));
        !line.is_empty() && ["passed", "failed"].contains(&result.as_str())
    };
    let has_checks = checks.iter().any(was_run);
    let claims = handoff.texts("completed_tasks");
    let (score, open) = share(&claims, |claim| has_checks || matches!(naming(claim, root), Naming::Something));
    let advice = "; record the command that shows it under `validation`";
    (score, open.map(|claim| format!("nothing shows that `{claim}`{advice}")).unwrap_or_default())
}

fn context_files(handoff: &Handoff, root: &Anchor) -> (Option<usize>, String) {
    let files = handoff.get("active_context_files").and_then(Value::list).unwrap_or_default();
    let path = |file: &Value| file.get("path").and_then(Value::text).or(file.text()).map(|path| path.trim().to_owned());
    let all: Vec<String> = files.iter().filter_map(path).filter(|path| !path.is_empty()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let (score, gone) = share(&all, |path| exists(root, path));
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
    }

    #[test]
    fn a_document_that_says_nothing_scores_nothing() {
        for empty in [
            "---\nstatus: \"x\"\n---\n",
            "---\ngoal: \"Ship it\"\n---\n## Next\n\n## Decisions\n",
            "---\nnext_todo_items:\n  - \"\"\n---\n",
        ] {
            assert_eq!(scores(empty).1, 0, "{empty}");
        }
    }

    #[test]
    fn files_that_do_not_exist_are_no_evidence() {
        let list = |next: &str, done: &str| {
            scores(&format!("---\nnext_todo_items:\n  - \"{next}\"\ncompleted_tasks:\n  - \"{done}\"\n---\n"))
        };
        let (parts, score) = list("Fix src/gone.rs:42", "The lexer in src/none.rs works");
        assert_eq!((&parts[..2], score), (&[Some(50), Some(0)][..], 25));
        let (parts, _) = list("Fix parse_span in src/gone.rs", "src/lexer.rs works");
        assert_eq!(parts[..2], [Some(100), Some(100)], "a symbol and a file that is there");
        let (parts, _) = list("Create src/new.rs for the tokens", "Removed src/old.rs");
        assert_eq!(parts[..2], [Some(100), Some(100)], "a file that is not there yet, or no longer");
    }

    #[test]
    fn length_lowers_a_score_and_never_raises_it() {
        assert_eq!(scores(&GOOD.replace("body", &"long ".repeat(20_000))).1, 50);
        assert_eq!(scores(&GOOD.replace("body", &"long ".repeat(6_000))).1, 75);
        assert_eq!(scores("---\ncompleted_tasks:\n  - \"Nearly all\"\n---\nshort\n").1, 0);
    }

    #[test]
    fn a_reason_is_found_in_other_languages() {
        for ruling in [
            "Rekursiven Abstieg behalten, weil Fehler lesbar bleiben",
            "Garder la descente récursive, car les erreurs restent lisibles",
            "Mantener el descenso recursivo porque los errores se leen bien",
            "Оставить рекурсивный спуск, потому что ошибки понятны",
            "保留递归下降，因为错误信息清楚",
            "エラーが読みやすいので再帰下降を保つ",
        ] {
            let document = GOOD.replace("Keep recursive descent because errors stay readable", ruling);
            assert_eq!(scores(&document).0[3], Some(100), "{ruling}");
        }
    }
}
