//! Recognises first actions that are not work but a way of getting back to work ("resume mechanics").

/// Verbs for reading a handoff or starting over.
const VERBS: &[&str] = &[
    "read", "open", "review", "inspect", "check", "load", "view", "see", "paste", "start", "verify", "resume",
    "continue", "reload", "begin", "proceed", "keep", "carry", "look", "go", "follow", "pick", "copy", "consult",
    "study", "reread", "re-read",
];
/// Words that, after such a verb, name no work.
const WORDS: &[&str] = &[
    "the",
    "a",
    "an",
    "this",
    "that",
    "your",
    "our",
    "my",
    "it",
    "its",
    "new",
    "latest",
    "last",
    "previous",
    "prior",
    "old",
    "current",
    "handoff",
    "handover",
    "handoffs",
    "session",
    "sessions",
    "agent",
    "agents",
    "chat",
    "conversation",
    "prompt",
    "resume",
    "resume_prompt",
    "resume_prompt.txt",
    "latest.md",
    "index.yaml",
    "decisions.md",
    ".agent-history",
    "agent-history",
    "history",
    "file",
    "files",
    "document",
    "note",
    "notes",
    "summary",
    "context",
    "memory",
    "state",
    "instructions",
    "whether",
    "if",
    "works",
    "worked",
    "resumed",
    "correctly",
    "work",
    "working",
    "first",
    "again",
    "from",
    "where",
    "we",
    "left",
    "off",
    "up",
    "on",
    "in",
    "into",
    "to",
    "at",
    "of",
    "and",
    "then",
    "with",
    "for",
    "before",
    "carefully",
    "here",
    "there",
    "everything",
    "all",
    "going",
    "through",
    "can",
    "is",
    "are",
    "able",
    "picks",
    "understands",
    "resumes",
    "continues",
    "correctly",
    "properly",
    "any",
    "anything",
    "else",
    "back",
    "over",
    "next",
    "step",
    "steps",
    "todo",
    "item",
    "items",
    "task",
    "tasks",
    "please",
    "now",
];
/// Placeholders that are not an action.
const EMPTY: &[&str] =
    &["tbd", "todo", "n/a", "na", "none", "nothing", "unknown", "?", "wip", "later", "etc", "xxx", "fixme", "pending"];

/// The part of the item that is a resume mechanic; `None` if the item is work.
///
/// Only the first clause counts, and only if it names no work: "add a button to start a new session" is work, "start a
/// new session" is not.
pub(crate) fn resume_mechanic(item: &str) -> Option<String> {
    let text = item.to_lowercase().replace(['`', '"', '\'', '*'], "");
    let clause = text.split([';', '!', '?', '\n']).next().unwrap_or_default();
    let clause = clause.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let words: Vec<&str> = clause
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '(' | ')' | '—' | '…'))
        .map(|word| word.trim_matches(|c: char| c == '.' && !word.contains('/') || c == '-'))
        .filter(|word| !word.is_empty())
        .collect();
    // A number in front belongs to a list, not to the action.
    let words: Vec<&str> = words.iter().copied().skip_while(|word| word.chars().all(|c| c.is_ascii_digit())).collect();
    let shown = || crate::base::text::one_line(clause.trim(), 60);
    match words.as_slice() {
        [] => Some(crate::base::text::one_line(item, 60)),
        [word] if EMPTY.contains(word) => Some(shown()),
        // "Read the handoff and fix lexer.rs" starts with reading.
        [verb, rest @ ..] if VERBS.contains(verb) => {
            let end = rest.iter().position(|word| matches!(*word, "and" | "then" | "before")).unwrap_or(rest.len());
            rest[..end].iter().all(|word| is_empty_word(word)).then(shown)
        }
        _ => None,
    }
}

fn is_empty_word(word: &str) -> bool {
    // Of a path only the last part counts, so that `.agent-history/LATEST.md` is recognised.
    let last = word.trim_end_matches('/').rsplit('/').next().unwrap_or(word);
    WORDS.contains(&word) || VERBS.contains(&word) || WORDS.contains(&last) && word.contains("agent-history")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_that_session_glue_rejects_are_rejected() {
        for phrase in [
            "paste the prompt",
            "paste the resume prompt",
            "paste resume prompt",
            "paste resume_prompt",
            "start a new session",
            "start a new agent session",
            "read latest.md",
            "read the handoff",
            "read the latest handoff",
            "inspect the handoff",
            "inspect handoff",
            "inspect latest.md",
            "verify that resume",
            "verify resume",
            "check whether the new agent",
        ] {
            for text in
                [phrase.to_owned(), format!("{}.", phrase.to_uppercase()), format!("{phrase} and then fix lexer.rs:42")]
            {
                assert!(resume_mechanic(&text).is_some(), "{text}");
            }
        }
    }

    #[test]
    fn phrases_that_session_glue_misses_are_rejected() {
        for text in [
            "Read .agent-history/LATEST.md",
            "Open LATEST.md",
            "Review the handoff",
            "Continue",
            "TBD",
            "...",
            "Continue the work",
            "`Read` the `LATEST.md` file first",
            "1. Resume from where we left off",
            "Keep going",
            "n/a",
            "Check whether the new agent can resume",
        ] {
            assert!(resume_mechanic(text).is_some(), "{text}");
        }
    }

    #[test]
    fn work_that_session_glue_rejects_by_mistake_passes() {
        for text in [
            "Add a button to start a new session",
            "Fix: users can't start a new session after logout",
            "Verify resume upload works on the careers page",
            "Handoff how to read the handoff in README",
            "Fix the off-by-one in lexer.rs:42",
            "Write fuzz target for the lexer",
            "Continue the parser rewrite in src/parse.rs",
            "Review PR 42",
            "Check lexer.rs for overflow",
            "Open a connection pool per worker",
            "Start the migration of table users",
            "파서 고치기",
            "Read the handoff parser tests and fix the off-by-one",
        ] {
            assert_eq!(resume_mechanic(text), None, "{text}");
        }
    }
}
