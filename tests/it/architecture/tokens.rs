//! A reader of Rust sources that is just good enough for the house rules: words, string literals and punctuation,
//! without comments and without test code.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// An identifier, keyword or number.
    Word(String),
    /// A string literal, as it is written between its quotes.
    Text(String),
    /// Punctuation; `::`, `=>`, `==`, `!=`, `->` and `..` are one mark each.
    Mark(&'static str),
}

impl Token {
    pub fn is(&self, what: &str) -> bool {
        match self {
            Token::Word(word) => word == what,
            Token::Mark(mark) => *mark == what,
            Token::Text(_) => false,
        }
    }

    pub fn word(&self) -> Option<&str> {
        match self {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A token and the line it starts on, counted from 1.
#[derive(Clone, Debug)]
pub struct Placed {
    pub token: Token,
    pub line: usize,
}

const MARKS: &[&str] = &[
    "::", "=>", "==", "!=", "->", "..", "#", "!", "[", "]", "(", ")", "{", "}", "<", ">", ",", ";", ":", ".", "=", "|",
    "&", "*", "+", "-", "/", "?", "@", "$", "%", "^", "~",
];

/// All tokens of a source text, comments left out.
pub fn tokens(text: &str) -> Vec<Placed> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (token, length) = next(rest);
        found.extend(token.map(|token| Placed { token, line }));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// The token that a text starts with, if it is not a space or a comment, and its length in bytes.
fn next(rest: &str) -> (Option<Token>, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    if rest.starts_with("//") {
        return (None, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (None, block_comment(rest));
    }
    if let Some((text, length)) = string_literal(rest) {
        return (Some(Token::Text(text)), length);
    }
    if first == '\'' {
        return (None, character_or_lifetime(rest));
    }
    if is_of_word(first) {
        let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        return (Some(Token::Word(rest[..length].to_owned())), length);
    }
    match MARKS.iter().find(|mark| rest.starts_with(**mark)) {
        Some(mark) => (Some(Token::Mark(mark)), mark.len()),
        None => (None, first.len_utf8()),
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// `"…"`, `b"…"`, `c"…"`, `r"…"`, `r#"…"#` and their combinations.
fn string_literal(rest: &str) -> Option<(String, usize)> {
    let prefix = rest.find(|c| !matches!(c, 'b' | 'c' | 'r'))?;
    let is_raw = rest[..prefix].ends_with('r');
    let hashes = rest[prefix..].chars().take_while(|c| *c == '#').count();
    let start = prefix + hashes + 1;
    if prefix > 2 || hashes > 0 && !is_raw || !rest[start - 1..].starts_with('"') {
        return None;
    }
    let mut at = start;
    let end = format!("\"{}", "#".repeat(hashes));
    while !rest.get(at..)?.starts_with(&end) {
        let c = rest[at..].chars().next()?;
        at += c.len_utf8();
        if c == '\\' && !is_raw {
            at += rest[at..].chars().next()?.len_utf8();
        }
    }
    Some((rest[start..at].to_owned(), at + end.len()))
}

/// The length of `'x'` or `'\n'`, or of the quote of a lifetime.
fn character_or_lifetime(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(1, |end| 3 + end + 1),
        Some(_) => match characters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// The tokens of a source without the items under `#[cfg(test)]`: only the item that follows the attribute goes, up to
/// its `;` or to the end of its block.
pub fn without_tests(tokens: &[Placed]) -> Vec<Placed> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = item_end(tokens, at + TEST_ATTRIBUTE.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// The names of the modules that a source declares under `#[cfg(test)]` and that have a file of their own.
pub fn test_modules(tokens: &[Placed]) -> Vec<String> {
    let mut names = Vec::new();
    for at in 0..tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            let item = &tokens[at + TEST_ATTRIBUTE.len()..item_end(tokens, at + TEST_ATTRIBUTE.len())];
            let declared = item.iter().position(|placed| placed.token.is("mod"));
            if let (Some(at), true) = (declared, item.last().is_some_and(|last| last.token.is(";"))) {
                names.extend(item[at + 1].token.word().map(str::to_owned));
            }
        }
    }
    names
}

const TEST_ATTRIBUTE: &[&str] = &["#", "[", "cfg", "(", "test", ")", "]"];

fn is_test_attribute(tokens: &[Placed]) -> bool {
    tokens.len() >= TEST_ATTRIBUTE.len()
        && TEST_ATTRIBUTE.iter().zip(tokens).all(|(expected, placed)| placed.token.is(expected))
}

/// The place after the item that starts here, with the attributes in front of it.
fn item_end(tokens: &[Placed], start: usize) -> usize {
    let is_part = !starts_with_keyword(&tokens[start..]);
    let mut depth = 0;
    for (at, placed) in tokens.iter().enumerate().skip(start) {
        match &placed.token {
            Token::Mark("(" | "[" | "{") => depth += 1,
            Token::Mark(mark @ (")" | "]" | "}")) => {
                depth -= 1;
                // The last item of a block ends with it; an item with a body of its own ends there.
                if depth < 0 {
                    return at;
                }
                if depth == 0 && *mark == "}" && !continues(tokens, at + 1) {
                    return at + 1;
                }
            }
            Token::Mark(";") if depth == 0 => return at + 1,
            // A field, a variant or a match arm ends with its comma.
            Token::Mark(",") if depth == 0 && is_part => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Whether this is an item or a statement rather than a field, a variant or a match arm.
fn starts_with_keyword(tokens: &[Placed]) -> bool {
    const KEYWORDS: &[&str] = &[
        "async",
        "const",
        "enum",
        "extern",
        "fn",
        "impl",
        "let",
        "macro_rules",
        "mod",
        "static",
        "struct",
        "trait",
        "type",
        "unsafe",
        "use",
    ];
    let mut depth = 0;
    for placed in tokens {
        match &placed.token {
            Token::Mark("(" | "[") => depth += 1,
            Token::Mark(")" | "]") => depth -= 1,
            Token::Mark("#") => {}
            Token::Word(word) if depth == 0 && word != "pub" => return KEYWORDS.contains(&word.as_str()),
            _ if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

/// Whether a block is only part of its item, as in `use a::{b, c};` and `const X: T = T { … };`.
fn continues(tokens: &[Placed], at: usize) -> bool {
    tokens.get(at).is_some_and(|placed| [";", ".", "?"].iter().any(|mark| placed.token.is(mark)))
}
