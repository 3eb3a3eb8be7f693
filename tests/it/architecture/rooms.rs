//! How large a room may be: `mod.rs` is a front door, and a long file says why it is long.

use super::sources::Sources;
use super::tokens::{Placed, Token};

/// The lines that the bodies of all functions in one `mod.rs` may have: a few constructors and lookups, no logic.
const DOOR: usize = 40;

/// Every source file is shorter, or has a line `//! Long because …` in its header.
const LONG: usize = 500;

/// Front doors that still hold logic, with the size that they have today. They may only shrink; a line that is no longer
/// needed fails the test.
const CROWDED_DOORS: &[(&str, usize)] = &[];

/// Files that are still too long, with their lines today. They may only shrink.
const STILL_LONG: &[(&str, usize)] = &[];

/// The lines inside the bodies of functions. A body on one line counts as one.
pub fn body_lines(tokens: &[Placed]) -> usize {
    let mut lines = 0;
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].token.is("fn") && tokens.get(at + 1).is_some_and(|next| next.token.word().is_some()) {
            let (length, end) = body(tokens, at);
            lines += length;
            at = end;
        }
        at += 1;
    }
    lines
}

/// The lines of the body of the function that starts here, and the place where it ends. A declaration has none.
fn body(tokens: &[Placed], start: usize) -> (usize, usize) {
    let mut depth = 0;
    let mut opened = None;
    for (at, placed) in tokens.iter().enumerate().skip(start) {
        match &placed.token {
            Token::Mark("(" | "[") => depth += 1,
            Token::Mark(")" | "]") => depth -= 1,
            Token::Mark(";") if depth == 0 => return (0, at),
            Token::Mark("{") => {
                if depth == 0 {
                    opened = Some(placed.line);
                }
                depth += 1;
            }
            Token::Mark("}") => {
                depth -= 1;
                if let (0, Some(opened)) = (depth, opened) {
                    return ((placed.line - opened).saturating_sub(1).max(1), at);
                }
            }
            _ => {}
        }
    }
    (0, tokens.len())
}

pub fn violations(sources: &Sources) -> Vec<String> {
    let doors = sources.code().filter(|(path, _)| path.ends_with("mod.rs"));
    let doors: Vec<(String, usize)> = doors.map(|(path, tokens)| (path.to_owned(), body_lines(tokens))).collect();
    let files: Vec<(String, usize)> = sources
        .texts()
        .filter(|(_, text)| !says_why_it_is_long(text))
        .map(|(path, text)| (path.to_owned(), text.lines().count()))
        .collect();
    let mut found = beyond(&doors, DOOR, CROWDED_DOORS, "lines of functions; a front door has");
    found.extend(beyond(&files, LONG, STILL_LONG, "lines; without `//! Long because …` a file has"));
    found
}

fn says_why_it_is_long(text: &str) -> bool {
    let header = text.lines().take_while(|line| line.starts_with("//!"));
    header.filter_map(|line| line.strip_prefix("//! Long because ")).any(|why| why.len() > 10)
}

/// What is larger than it may be, and the exceptions that are no longer needed.
fn beyond(sizes: &[(String, usize)], most: usize, excepted: &[(&str, usize)], rule: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (path, size) in sizes {
        let ceiling = excepted.iter().find(|(name, _)| name == path).map_or(most, |(_, ceiling)| *ceiling);
        if *size > ceiling {
            found.push(format!("{path} has {size} {rule} at most {ceiling}"));
        }
    }
    for (name, _) in excepted {
        if !sizes.iter().any(|(path, size)| path == name && *size > most) {
            found.push(format!("the exception for {name} is no longer needed: delete it"));
        }
    }
    found
}
