//! Captures in the agent's own answers: `<glee_memory_capture>{…}</glee_memory_capture>`. Agents that worked with glee write
//! such a block at the end of a task, and it says the same as `memory capture`.

use std::borrow::Cow;

use super::Account;
use crate::config::category::Categories;
use crate::memory::capture;
use crate::transcript::{Transcript, UtteranceKind};

const TAG: &str = "glee_memory_capture";
/// Categories in which a later block replaces an earlier one.
const REPLACED: [&str; 4] = ["overview", "goal", "constraint", "open_loop"];
/// How many items all blocks of a session have at most in a category.
const MOST: usize = 20;

/// How many tags of one answer are looked at. Each is looked for in all that follows, so a text of nothing but tags would
/// take for ever.
const MOST_TAGS: usize = 50;

/// Takes the blocks out of what the agent said. Returns the transcript without them, and what they say by category. A block
/// that cannot be read says nothing, and is taken out all the same.
pub(super) fn taken_out(transcript: &Transcript) -> (Cow<'_, Transcript>, Vec<(String, Vec<String>)>) {
    let has_block = |text: &str| find(text, &format!("<{TAG}>")).is_some();
    let is_of_agent = |kind: UtteranceKind| kind == UtteranceKind::AgentText;
    if !transcript.talk.iter().any(|said| is_of_agent(said.kind) && has_block(&said.text)) {
        return (Cow::Borrowed(transcript), Vec::new());
    }
    let mut transcript = transcript.clone();
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for said in transcript.talk.iter_mut().filter(|said| is_of_agent(said.kind)) {
        let (rest, blocks) = split(&said.text);
        for (category, texts) in blocks.iter().flat_map(|block| parsed(block)) {
            add(&mut found, category, texts);
        }
        said.text = rest;
    }
    transcript.talk.retain(|said| !said.text.trim().is_empty());
    (Cow::Owned(transcript), found)
}

/// Puts what the blocks say into the account. A session that captured something is not idle.
pub(super) fn put(captured: Vec<(String, Vec<String>)>, account: &mut Account) {
    account.is_idle &= captured.is_empty();
    account.captured = captured;
}

fn add(found: &mut Vec<(String, Vec<String>)>, category: String, texts: Vec<String>) {
    match found.iter_mut().find(|(known, _)| *known == category) {
        Some((_, known)) if REPLACED.contains(&category.as_str()) => *known = texts,
        Some((_, known)) => {
            known.extend(texts);
            known.truncate(MOST);
        }
        None => found.push((category, texts)),
    }
}

/// A text without its blocks, and the content of each block. One that is not closed reaches to the next one or to the end. An
/// agent that only names the tag, or quotes a block as code in a line, writes no block.
fn split(text: &str) -> (String, Vec<&str>) {
    let (mut rest, mut blocks, mut left) = (String::new(), Vec::new(), text);
    let open = format!("<{TAG}>");
    for _ in 0..MOST_TAGS {
        let Some(at) = find(left, &open) else { break };
        let inside = &left[at + open.len()..];
        let is_quoted = left[..at].ends_with('`') && !left[..at].ends_with("``");
        let (block, after) = first_block(inside, &open);
        let is_closed = inside.len() > block.len() + after.len();
        if is_quoted || !(is_closed || begins_as_json(block)) {
            rest.push_str(&left[..at + open.len()]);
            left = inside;
        } else {
            rest.push_str(&left[..at]);
            blocks.push(block);
            left = after;
        }
    }
    rest.push_str(left);
    (rest.trim().to_owned(), blocks)
}

/// The block that begins here, and what follows it. A tag inside of a block that can be read is a part of its text.
fn first_block<'t>(inside: &'t str, open: &str) -> (&'t str, &'t str) {
    let close = format!("</{TAG}>");
    let end = find(inside, &close);
    let next = find(inside, open).filter(|next| end.is_none_or(|end| next < &end));
    match (end, next) {
        (Some(end), Some(next)) if parsed(&inside[..end]).is_empty() => inside.split_at(next),
        (Some(end), _) => (&inside[..end], &inside[end + close.len()..]),
        (None, Some(next)) => inside.split_at(next),
        (None, None) => (inside, ""),
    }
}

fn begins_as_json(block: &str) -> bool {
    block.trim_start().starts_with(['{', '`'])
}

/// Where a tag is, in any case of its letters.
fn find(text: &str, tag: &str) -> Option<usize> {
    text.match_indices('<')
        .map(|(at, _)| at)
        .find(|at| text.get(*at..*at + tag.len()).is_some_and(|part| part.eq_ignore_ascii_case(tag)))
}

/// What a block says by category; nothing if it is not a capture. It may be in a code fence, as models like to write JSON.
fn parsed(block: &str) -> Vec<(String, Vec<String>)> {
    let block = block.trim();
    let fenced = block.strip_prefix("```").and_then(|inside| inside.strip_suffix("```"));
    let block = fenced.map_or(block, |inside| inside.trim_start_matches(|c: char| c.is_alphanumeric()));
    match capture::parse(block, &Categories::default()) {
        Ok((edits, _)) => edits.record,
        Err(error) => {
            tracing::debug!(error = error.one_line(), "a capture in an answer cannot be read");
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Utterance;

    fn said(kind: UtteranceKind, text: &str) -> Utterance {
        Utterance { turn: 1, kind, text: text.to_owned(), about: String::new(), at: None }
    }

    #[test]
    fn blocks_are_taken_out_of_answers_and_read_as_captures() {
        let talk = vec![
            said(UtteranceKind::Request, "<glee_memory_capture>{\"goal\": \"of a person\"}</glee_memory_capture>"),
            said(
                UtteranceKind::AgentText,
                "Begun.\n<Glee_Memory_Capture>```json\n{\"current_goal\": \"ship\", \"decisions\": [\"a\"]}\n```</GLEE_memory_capture>\nMore.",
            ),
            said(
                UtteranceKind::AgentText,
                "<glee_memory_capture>{\"goal\": \"ship it\", \"decisions\": [\"b\"]}</glee_memory_capture>",
            ),
            said(
                UtteranceKind::AgentText,
                "Half <glee_memory_capture>{not json}</glee_memory_capture> and <glee_memory_capture>{\"goal\":",
            ),
        ];
        let transcript = Transcript { talk, ..Transcript::default() };
        let (rest, captured) = taken_out(&transcript);
        let texts: Vec<&str> = rest.talk.iter().skip(1).map(|said| said.text.as_str()).collect();
        assert_eq!(texts, ["Begun.\n\nMore.", "Half  and"]);
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(captured, [("goal".to_owned(), texts(&["ship it"])), ("decision".to_owned(), texts(&["a", "b"]))]);
    }

    #[test]
    fn a_tag_that_is_only_named_cuts_nothing_and_a_block_that_is_not_closed_hides_no_other() {
        let (open, close) = ("<glee_memory_capture>", "</glee_memory_capture>");
        let block = |goal: &str| format!("{open}{{\"goal\": \"{goal}\"}}{close}");
        let of = |text: &str| {
            let (rest, blocks) = split(text);
            (rest, blocks.iter().flat_map(|block| parsed(block)).flat_map(|(_, texts)| texts).collect::<Vec<_>>())
        };
        let named = format!("I end with a {open} block. The tests pass.");
        assert_eq!(of(&named), (named.clone(), vec![]));
        assert_eq!(of(&format!("{named} {}", block("a"))), (named.clone(), vec!["a".to_owned()]));
        let quoted = format!("Write `{}` at the end, then stop.", block("x"));
        assert_eq!(of(&quoted), (quoted.clone(), vec![]));
        assert_eq!(of(&format!("{open}{{\"goal\": \"cut {}", block("b"))), (String::new(), vec!["b".to_owned()]));
        let nested = format!("{open}{{\"decisions\": [\"keep {open} blocks\"]}}{close} End.");
        assert_eq!(of(&nested), ("End.".to_owned(), vec![format!("keep {open} blocks")]));
        assert_eq!(of(&format!("{open}{}{close}", block("c"))).1, ["c"]);
        assert_eq!(of(&format!("```\n{}\n```", block("d"))).1, ["d"], "models like fences");
        assert_eq!(of(&format!("{open}{{\"goal\":")), (String::new(), vec![]));
        let many = open.repeat(20_000);
        assert_eq!(of(&many), (many.clone(), vec![]), "in bounded time");
    }

    #[test]
    fn a_talk_without_blocks_is_not_copied() {
        let plain = Transcript { talk: vec![said(UtteranceKind::AgentText, "a < b")], ..Transcript::default() };
        assert!(matches!(taken_out(&plain), (Cow::Borrowed(_), found) if found.is_empty()));
    }
}
