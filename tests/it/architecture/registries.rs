//! Registries keep their word: nothing outside the file of a step kind, backend or agent knows its name.
//!
//! The names are read off the entries, which are constants: `KIND: … = Kind { name: "note", … }`, and likewise `AGENT`
//! and `FORMAT` (the transcripts of an agent); a backend is a type that implements `Backend`. An entry's own file may use its name; if that file is a `mod.rs`, so may its directory.
//! The built-in plans in `engine/plan.rs` may name kinds and backends. Test code may name anything.
//!
//! **What counts as a use.** A string literal that equals the name
//!
//! - of an agent, anywhere, because these are proper names;
//! - of a kind or a backend, where something is decided by it or made of it, because these are ordinary words
//!   ("note", "state", "git"): beside `==` or `!=`, in a pattern (`match`, `matches!`, `let`), or as the value of a field
//!   called `kind` or `backend`.
//!
//! A word of another vocabulary that is spelled the same is listed in `OTHER_WORDS`.

use super::sources::Sources;
use super::tokens::{Placed, Token};

/// An entry of a registry.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    pub registry: &'static str,
    name: String,
    /// Its file, or its directory if the file is a `mod.rs`.
    home: String,
}

/// A backend is a type that implements a trait of this name; the entries of the other registries are constants.
pub const BACKEND: &str = "Backend";

/// The constant that an entry is, and the directory that its registry is in.
pub const REGISTRIES: &[(&str, &str)] =
    &[("KIND", "steps/"), (BACKEND, "publish/"), ("AGENT", "agents/"), ("FORMAT", "transcript/")];

/// File, word and what it means there.
const OTHER_WORDS: &[(&str, &str, &str)] = &[
    ("agents/install/json_hooks.rs", "command", "the key of a hook's command line in an agent's settings"),
    ("agents/install/json_server.rs", "command", "the key of a server's program in an agent's settings"),
    ("hook/context.rs", "compact", "the reason that an agent gives for starting a session"),
];

/// Uses that still exist: file, name and what removes it. A line that is no longer needed fails the test.
const STILL_NAMED: &[(&str, &str, &str)] = &[
    ("warmup/prompt.rs", "claude-code", "the targets of `render` are a table of their own, in session-handoff's names"),
    ("warmup/prompt.rs", "codex", "as above"),
    ("warmup/prompt.rs", "copilot", "as above"),
    ("warmup/prompt.rs", "cursor", "as above"),
    ("warmup/prompt.rs", "gemini", "as above"),
    ("warmup/prompt.rs", "opencode", "as above"),
];

/// All entries of all registries.
pub fn entries(sources: &Sources) -> Vec<Entry> {
    let mut found = Vec::new();
    for (path, tokens) in sources.code() {
        for (registry, directory) in REGISTRIES {
            if path.starts_with(directory) {
                let home = path.strip_suffix("mod.rs").unwrap_or(path);
                let names = entry_names(tokens, registry);
                found.extend(names.into_iter().map(|name| Entry { registry, name, home: home.to_owned() }));
            }
        }
    }
    found
}

/// The names of the entries of one registry: the values of `name` in constants, and what `fn name` of a backend returns.
fn entry_names(tokens: &[Placed], constant: &str) -> Vec<String> {
    if constant == BACKEND {
        return backend_names(tokens);
    }
    let mut names = Vec::new();
    for at in 1..tokens.len() {
        let is_declared = tokens[at - 1].token.is("const") || tokens[at - 1].token.is("static");
        if is_declared && tokens[at].token.is(constant) {
            names.extend(name_field(&tokens[at..]));
        }
    }
    names
}

/// The first text after `fn name` in each `impl Backend for …`.
fn backend_names(tokens: &[Placed]) -> Vec<String> {
    let is_impl =
        |at: &usize| ["impl", "Backend", "for"].iter().zip(&tokens[*at..]).all(|(word, placed)| placed.token.is(word));
    let name_after = |at: usize| {
        let rest = &tokens[at..];
        let function = rest.windows(2).position(|pair| pair[0].token.is("fn") && pair[1].token.is("name"))?;
        rest[function..].iter().find_map(|placed| placed.token.text()).map(str::to_owned)
    };
    (0..tokens.len().saturating_sub(2)).filter(is_impl).filter_map(name_after).collect()
}

/// The value of `name` in the first struct literal, not looking into what is nested in it.
fn name_field(tokens: &[Placed]) -> Option<String> {
    let mut depth = 0;
    let start = tokens.iter().position(|placed| placed.token.is("{"))?;
    for fields in tokens[start..].windows(3) {
        match &fields[0].token {
            Token::Mark("{" | "(" | "[") => depth += 1,
            Token::Mark("}" | ")" | "]") => depth -= 1,
            Token::Word(word) if depth == 1 && word == "name" && fields[1].token.is(":") => {
                return fields[2].token.text().map(str::to_owned);
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    None
}

/// Each use of an entry's name outside its home, as file, line and name.
pub fn uses(sources: &Sources) -> Vec<(String, usize, String)> {
    let entries = entries(sources);
    let mut found = Vec::new();
    for (path, tokens) in sources.code() {
        for (at, placed) in tokens.iter().enumerate() {
            let Some(name) = placed.token.text() else { continue };
            let same: Vec<&Entry> = entries.iter().filter(|entry| entry.name == name).collect();
            let is_agent = same.iter().any(|entry| matches!(entry.registry, "AGENT" | "FORMAT"));
            let is_home = same.iter().any(|entry| path == entry.home || is_below(path, &entry.home));
            let is_plan = path == "engine/plan.rs" && !is_agent;
            if !same.is_empty() && !is_home && !is_plan && (is_agent || is_deciding(tokens, at)) {
                found.push((path.to_owned(), placed.line, name.to_owned()));
            }
        }
    }
    found
}

fn is_below(path: &str, home: &str) -> bool {
    home.ends_with('/') && path.starts_with(home)
}

fn is_deciding(tokens: &[Placed], at: usize) -> bool {
    is_compared(tokens, at) || is_pattern(tokens, at) || is_field(tokens, at)
}

/// Beside `==` or `!=`, also as `Some("…")` or `&"…"`.
fn is_compared(tokens: &[Placed], at: usize) -> bool {
    let is_comparison = |placed: &Placed| placed.token.is("==") || placed.token.is("!=");
    let wraps = |placed: &&Placed| ["(", "&", "Some", "Ok"].iter().any(|mark| placed.token.is(mark));
    let before = tokens[..at].iter().rev().find(|placed| !wraps(placed));
    let after = tokens[at + 1..].iter().find(|placed| !placed.token.is(")"));
    before.is_some_and(is_comparison) || after.is_some_and(is_comparison)
}

/// In the pattern of a match arm, of `matches!` or of a `let`.
fn is_pattern(tokens: &[Placed], at: usize) -> bool {
    in_matches_macro(tokens, at) || before_arrow(tokens, at) || before_let_value(tokens, at)
}

fn in_matches_macro(tokens: &[Placed], at: usize) -> bool {
    let mut depth = 0;
    for back in (2..at).rev() {
        match &tokens[back].token {
            Token::Mark(")" | "]" | "}") => depth += 1,
            Token::Mark("(") if depth == 0 && tokens[back - 1].token.is("!") => {
                return tokens[back - 2].token.is("matches");
            }
            Token::Mark("(" | "[" | "{") => depth -= 1,
            Token::Mark(";") => return false,
            _ => {}
        }
    }
    false
}

/// Whether an arm's `=>` follows: directly, after alternatives, or after the tuple that the literal is in.
fn before_arrow(tokens: &[Placed], at: usize) -> bool {
    let mut depth = 0;
    let mut saw_comma = false;
    for placed in &tokens[at + 1..] {
        match &placed.token {
            Token::Mark("(" | "[") => depth += 1,
            Token::Mark(")" | "]") => depth -= 1,
            Token::Mark("=>") => return depth <= 0 && (depth < 0 || !saw_comma),
            Token::Mark(",") if depth < 0 => return false,
            Token::Mark(",") => saw_comma = true,
            Token::Mark(";" | "{" | "}" | "=") => return false,
            _ => {}
        }
    }
    false
}

/// `let "…" = x` and `let Some("…") = x`.
fn before_let_value(tokens: &[Placed], at: usize) -> bool {
    let after = tokens[at + 1..].iter().find(|placed| !placed.token.is(")"));
    let wraps = |placed: &&Placed| placed.token.is("(") || placed.token.is("Some") || placed.token.is("Ok");
    let before = tokens[..at].iter().rev().find(|placed| !wraps(placed));
    after.is_some_and(|placed| placed.token.is("=")) && before.is_some_and(|placed| placed.token.is("let"))
}

/// `kind: "…"` and `backend: "…"`.
fn is_field(tokens: &[Placed], at: usize) -> bool {
    at >= 2 && tokens[at - 1].token.is(":") && (tokens[at - 2].token.is("kind") || tokens[at - 2].token.is("backend"))
}

/// The uses that no list explains, and the lines of the lists that explain nothing.
pub fn violations(sources: &Sources) -> Vec<String> {
    let uses = uses(sources);
    let explained = || OTHER_WORDS.iter().chain(STILL_NAMED);
    let is_explained = |path: &str, name: &str| explained().any(|(file, word, _)| *file == path && *word == name);
    let found = uses.iter().filter(|(path, _, name)| !is_explained(path, name));
    let mut found: Vec<String> = found.map(|(path, line, name)| format!("{path}:{line} names `{name}`")).collect();
    for (file, word, _) in explained() {
        if !uses.iter().any(|(path, _, name)| path == file && name == word) {
            found.push(format!("the line for `{word}` in {file} is no longer needed: delete it"));
        }
    }
    found
}
