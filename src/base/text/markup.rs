//! What a model or its client would take for markup: tags of chats and tools, special tokens, and `@path`.

/// Names of tags that chats and tools use. A name with `-`, `_` or a prefix before a colon counts in any case.
const TAGS: &[&str] = &[
    "analysis",
    "assistant",
    "bos",
    "command",
    "context",
    "developer",
    "document",
    "documents",
    "eos",
    "example",
    "function",
    "functions",
    "human",
    "inst",
    "instruction",
    "instructions",
    "invoke",
    "mask",
    "message",
    "observation",
    "output",
    "pad",
    "parameter",
    "parameters",
    "prompt",
    "query",
    "reasoning",
    "reminder",
    "response",
    "result",
    "role",
    "s",
    "scratchpad",
    "sys",
    "system",
    "think",
    "thinking",
    "thought",
    "tool",
    "tools",
    "turn",
    "unk",
    "user",
];

/// Tags of web pages, which people write about. They close nothing that a client has opened.
const HTML: &[&str] = &[
    "a",
    "article",
    "b",
    "blockquote",
    "body",
    "br",
    "button",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "html",
    "i",
    "img",
    "kbd",
    "label",
    "li",
    "main",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "script",
    "section",
    "select",
    "small",
    "span",
    "strong",
    "style",
    "sub",
    "summary",
    "sup",
    "svg",
    "table",
    "tbody",
    "td",
    "template",
    "th",
    "thead",
    "title",
    "tr",
    "u",
    "ul",
    "video",
];

/// Words in square brackets that chat templates use, always in capitals.
const BRACKETS: &[&str] = &[
    "INST",
    "SYS",
    "SYSTEM",
    "SYSTEM_PROMPT",
    "TOOL",
    "TOOLS",
    "TOOL_CALLS",
    "TOOL_RESULTS",
    "AVAILABLE_TOOLS",
    "ASSISTANT",
    "USER",
];

/// Who speaks, at the beginning of a line of a conversation that is written as plain text.
const SPEAKERS: &[&str] = &["Human", "Assistant", "System"];

/// How many characters of a tag are looked at if it is not plain ASCII.
const MAX_WIDE: usize = 64;

/// Where markup begins: the places of characters after which one space breaks it up. Each is an opening bracket, an `@`,
/// or the last letter of a speaker before its colon.
pub(super) fn openings(text: &str) -> Vec<usize> {
    let mut all = ascii_openings(text);
    if !text.is_ascii() {
        all.extend(wide_openings(text));
    }
    all.extend(speakers(text));
    all.sort_unstable();
    all.dedup();
    all
}

fn ascii_openings(text: &str) -> Vec<usize> {
    let is_opening = |at: &usize| {
        let rest = &text[at + 1..];
        match text.as_bytes()[*at] {
            b'<' => is_tag(rest) || is_wide(rest) && is_chat_tag(&narrow(rest)),
            b'[' => is_bracket(rest),
            _ => is_mention(text[..*at].chars().next_back(), rest),
        }
    };
    memchr::memchr3_iter(b'<', b'[', b'@', text.as_bytes()).filter(is_opening).collect()
}

/// Brackets in their full-width and small forms, which a model reads like the usual ones. What they enclose must be a tag of
/// a chat: people write `＜注意＞`.
fn wide_openings(text: &str) -> impl Iterator<Item = usize> {
    let openings = memchr::memchr_iter(0xef, text.as_bytes()).filter(|at| text.is_char_boundary(*at));
    openings.filter(|at| {
        let mut rest = text[*at..].chars();
        match rest.next() {
            Some('＜' | '﹤') => is_chat_tag(&narrow(rest.as_str())),
            Some('［') => is_bracket(&narrow(rest.as_str())),
            _ => false,
        }
    })
}

/// Whether a full-width character is close.
fn is_wide(rest: &str) -> bool {
    rest.chars().take(MAX_WIDE).any(|c| narrow_char(c) != c)
}

/// The beginning of a text, with full-width characters as ASCII.
fn narrow(rest: &str) -> String {
    rest.chars().take(MAX_WIDE).map(narrow_char).collect()
}

fn narrow_char(c: char) -> char {
    let ascii = u32::from(c).checked_sub(0xfee0).filter(|ascii| (0x21..=0x7e).contains(ascii));
    match c {
        '﹤' => '<',
        '﹥' => '>',
        _ => ascii.and_then(char::from_u32).unwrap_or(c),
    }
}

/// The last letters of the speakers that begin a line.
fn speakers(text: &str) -> impl Iterator<Item = usize> {
    let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
    starts.filter_map(|start| {
        let line = text[start..].trim_start_matches([' ', '\t']);
        let speaker = SPEAKERS.iter().find(|speaker| line.starts_with(**speaker))?;
        let is_speaking = line[speaker.len()..].starts_with([':', '：']);
        is_speaking.then(|| text.len() - line.len() + speaker.len() - 1)
    })
}

/// Whether what follows a `<` is a closing tag, a comment, a special token, or a tag of a chat.
fn is_tag(rest: &str) -> bool {
    if rest.starts_with(['!', '?', '｜']) {
        return true;
    }
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if let Some(closed) = rest.strip_prefix('/') {
        // Whatever a client may have put around this text, it is not closed here.
        let name = closed.split(|c| !word(c)).next().unwrap_or_default();
        return !HTML.contains(&name.to_ascii_lowercase().as_str()) || !closed[name.len()..].starts_with('>');
    }
    if let Some(token) = rest.strip_prefix('|') {
        return token.starts_with(|c| word(c) || matches!(c, '/' | '|'));
    }
    is_named_tag(rest)
}

/// Whether what follows a bracket opens or closes a tag of a chat, or is a special token.
fn is_chat_tag(rest: &str) -> bool {
    rest.starts_with('|') && is_tag(rest) || is_named_tag(rest.strip_prefix('/').unwrap_or(rest))
}

/// Whether a tag of a chat has its name here.
fn is_named_tag(rest: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let has_prefix = || after.strip_prefix(':').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && (name.contains(['-', '_']) || TAGS.contains(&name.to_ascii_lowercase().as_str()) || has_prefix())
}

fn is_bracket(rest: &str) -> bool {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    rest.split_once(']').is_some_and(|(word, _)| BRACKETS.contains(&word))
}

/// Whether a client would open what follows an `@`. Addresses such as `me@example.org` and `git@host:path` are no files.
fn is_mention(before: Option<char>, rest: &str) -> bool {
    if rest.starts_with(|c: char| c.is_whitespace() || c == '@') || rest.is_empty() {
        return false;
    }
    let is_path = rest.starts_with(['/', '~', '.', '\\', '"', '\'']);
    // A directory may be called `@types`.
    if before == Some('/') {
        return is_path;
    }
    if !before.is_some_and(char::is_alphanumeric) {
        return true;
    }
    let word = rest.split(char::is_whitespace).next().unwrap_or_default();
    let path = word.split(':').next().unwrap_or_default();
    is_path || path.contains(['/', '\\'])
}
