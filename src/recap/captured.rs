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

/// A text without its blocks, and the content of each block. One that is not closed reaches to the end.
fn split(text: &str) -> (String, Vec<&str>) {
    let (open, close) = (format!("<{TAG}>"), format!("</{TAG}>"));
    let (mut rest, mut blocks, mut left) = (String::new(), Vec::new(), text);
    while let Some(at) = find(left, &open) {
        rest.push_str(&left[..at]);
        let inside = &left[at + open.len()..];
        let end = find(inside, &close);
        blocks.push(&inside[..end.unwrap_or(inside.len())]);
        left = end.map_or("", |end| &inside[end + close.len()..]);
    }
    rest.push_str(left);
    (rest.trim().to_owned(), blocks)
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
        let plain = Transcript { talk: vec![said(UtteranceKind::AgentText, "a < b")], ..Transcript::default() };
        assert!(matches!(taken_out(&plain), (Cow::Borrowed(_), found) if found.is_empty()));
    }
}
