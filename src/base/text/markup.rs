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

/// The bytes at which markup begins: each is a `<`, a `[` or an `@`.
pub(super) fn openings(text: &str) -> Vec<usize> {
    let is_opening = |at: &usize| {
        let rest = &text[at + 1..];
        match text.as_bytes()[*at] {
            b'<' => is_tag(rest),
            b'[' => is_bracket(rest),
            _ => is_mention(text[..*at].chars().next_back(), rest),
        }
    };
    memchr::memchr3_iter(b'<', b'[', b'@', text.as_bytes()).filter(is_opening).collect()
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
