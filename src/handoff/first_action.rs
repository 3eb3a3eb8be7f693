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
/// Verbs for asking somebody, or oneself, what the work is.
const ASKING: &[&str] = &[
    "ask",
    "wait",
    "figure",
    "find",
    "decide",
    "determine",
    "understand",
    "gather",
    "get",
    "catch",
    "learn",
    "think",
    "plan",
    "orient",
    "familiarize",
    "familiarise",
    "recall",
    "remember",
    "await",
    "report",
    "discuss",
    "talk",
    "clarify",
];
/// Words that, after such a verb, name no work either.
const VAGUE: &[&str] = &[
    "what",
    "how",
    "which",
    "who",
    "why",
    "when",
    "do",
    "does",
    "doing",
    "should",
    "would",
    "could",
    "must",
    "be",
    "been",
    "done",
    "they",
    "them",
    "he",
    "she",
    "i",
    "you",
    "me",
    "us",
    "want",
    "wants",
    "wanted",
    "like",
    "likes",
    "need",
    "needs",
    "needed",
    "remains",
    "remaining",
    "open",
    "out",
    "speed",
    "instruction",
    "guidance",
    "direction",
    "directions",
    "input",
    "feedback",
    "clarification",
    "details",
    "advice",
    "orders",
    "user",
    "human",
    "person",
    "operator",
    "maintainer",
    "developer",
    "owner",
    "team",
    "repo",
    "repository",
    "project",
    "codebase",
    "yourself",
    "about",
    "status",
    "situation",
    "progress",
    "things",
    "thing",
    "stand",
    "stands",
    "happened",
    "priority",
    "priorities",
    "plan",
    "proceed",
    "more",
    "further",
    "has",
    "have",
    "was",
    "were",
    "catch",
    "get",
    "me/us",
    "whats",
    "drift",
    "changes",
    "changed",
];
/// Words before a command that only say to run it.
const RUNNING: &[&str] = &[
    "run", "rerun", "re-run", "running", "execute", "do", "use", "call", "type", "invoke", "check", "see", "view",
    "look", "inspect", "review", "verify", "start", "begin", "with", "by", "at", "first", "please", "the", "a",
    "output", "of",
];
/// Commands that only show where the work stands: the program, and its words that do so.
const LOOKING: &[(&str, &[&str])] = &[
    ("git", &["status", "log", "diff", "branch"]),
    ("agent-handover", &["check", "status", "warmup", "history", "memory", "run", "resume"]),
    ("session-glue", &["status", "validate", "resume-prompt"]),
    ("glue", &["status", "validate", "resume-prompt"]),
];
/// Arguments of such commands. A flag is without its dashes here.
const ARGUMENTS: &[&str] =
    &["short", "s", "sb", "porcelain", "oneline", "stat", "graph", "list", "show", "latest", "git", "json", "head"];
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
        words => {
            let end = words.iter().position(|word| matches!(*word, "and" | "then" | "before")).unwrap_or(words.len());
            // "Understand and fix the deadlock" is work.
            let is_bare_verb = end == 1 && words.len() > 1;
            let words = &words[..end];
            (reads_handoff(words) || asks(words) && !is_bare_verb || looks(words)).then(shown)
        }
    }
}

/// Whether these words say to read the handoff, or to go on.
fn reads_handoff(words: &[&str]) -> bool {
    matches!(words, [verb, rest @ ..] if VERBS.contains(verb) && rest.iter().all(|word| is_empty_word(word)))
}

/// Whether these words say to find out what the work is: "ask the user what to do".
fn asks(words: &[&str]) -> bool {
    let is_vague = |word: &&str| is_empty_word(word) || VAGUE.contains(word) || ASKING.contains(word);
    let words = if words.first() == Some(&"please") { &words[1..] } else { words };
    matches!(words, [verb, rest @ ..] if ASKING.contains(verb) && rest.iter().all(is_vague))
}

/// Whether these words say to look where the work stands: "run git status".
fn looks(words: &[&str]) -> bool {
    let start = words.iter().position(|word| !RUNNING.contains(word)).unwrap_or(words.len());
    let [program, command, rest @ ..] = &words[start..] else { return false };
    let is_looking = LOOKING.iter().any(|(name, commands)| name == program && commands.contains(command));
    let is_argument = |word: &&str| {
        let is_number = word.chars().all(|c| c.is_ascii_digit() || c == 'n');
        is_number
            || ARGUMENTS.contains(word)
            || is_empty_word(word)
            || VAGUE.contains(word)
            || RUNNING.contains(word)
            || LOOKING.iter().any(|(name, commands)| *name == "agent-handover" && commands.contains(word))
    };
    is_looking && rest.iter().all(is_argument)
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
    fn looking_where_the_work_stands_is_no_action() {
        for text in [
            "git status",
            "Run git status",
            "run `git status --short` first",
            "Check git status and fix lexer.rs",
            "git log --oneline -5",
            "Start with git diff",
            "Run agent-handover check",
            "agent-handover status",
            "Please run `agent-handover run --resume`",
            "Run agent-handover history show latest",
            "glue status",
        ] {
            assert!(resume_mechanic(text).is_some(), "{text}");
        }
    }

    #[test]
    fn asking_what_to_do_is_no_action() {
        for text in [
            "Ask the user what to do",
            "Ask the user what to do next.",
            "Ask what they want",
            "ask me for instructions",
            "Please ask the human how to proceed",
            "Wait for the user",
            "Wait for further instructions",
            "Figure out what to do next",
            "Find out what is left",
            "Decide what to work on next",
            "Determine the next step",
            "Get up to speed",
            "Understand the current state of the project",
            "Gather context",
        ] {
            assert!(resume_mechanic(text).is_some(), "{text}");
        }
    }

    #[test]
    fn work_that_asks_or_looks_passes() {
        for text in [
            "Ask the user for the API key of the staging server",
            "Ask Alice whether the migration may run on Friday",
            "Ask the user which of the two parsers to delete",
            "Wait for CI of PR 42, then merge it",
            "Find the cause of the panic in lexer.rs",
            "Figure out why test_parse fails on macOS",
            "Decide between nom and winnow",
            "Get the parser to accept tabs",
            "Plan the migration of table users",
            "Run cargo test and fix what fails",
            "Run the benchmarks",
            "git bisect the regression in the lexer",
            "git stash pop, and finish the refactoring",
            "Check git status handling in the hook",
            "Make agent-handover check exit with 3 while paused",
            "Fix git status parsing",
            "Run agent-handover check in CI",
            "Report parse errors with their column",
            "Understand and fix the deadlock in queue.rs",
        ] {
            assert_eq!(resume_mechanic(text), None, "{text}");
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
