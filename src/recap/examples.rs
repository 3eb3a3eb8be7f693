//! Transcripts for the tests of the rules.

use super::Material;
use crate::transcript::{Transcript, Utterance, UtteranceKind};

pub(super) fn said(turn: usize, kind: UtteranceKind, text: &str) -> Utterance {
    Utterance { turn, kind, text: text.to_owned(), about: String::new(), at: None }
}

pub(super) fn transcript(talk: Vec<Utterance>) -> Transcript {
    Transcript { agent: "claude-code", talk, ..Transcript::default() }
}

pub(super) fn material(transcript: &Transcript) -> Material<'_> {
    Material { transcript: Some(transcript), note: "", state: "", has_changes: false }
}

/// The letters and digits of a text: what no cut and no removal of marks changes.
pub(super) fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}
