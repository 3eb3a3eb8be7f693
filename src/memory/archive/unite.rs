//! Unites the entries of several files, so that each note and each paragraph that somebody wrote by hand is there once.
//!
//! Two notes are the same if their bytes are. Texts outside notes have no such border: they join when the notes between them are
//! moved away, and people continue them. So they are compared by paragraphs of one day, and a paragraph that is a part of
//! another one is the same text.

use std::collections::{BTreeMap, HashMap};

use super::entry::ArchiveEntry;

/// The notes of a file by their identity, each once.
pub(crate) fn notes<'a>(entries: &[ArchiveEntry<'a>]) -> BTreeMap<Vec<u8>, ArchiveEntry<'a>> {
    let mut notes: BTreeMap<Vec<u8>, ArchiveEntry<'a>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.is_text) {
        let kept = notes.entry(entry.identity()).or_insert_with(|| entry.clone());
        // Of two versions that differ in their line ends, the same one is kept in whatever order they come.
        if entry.block.len() < kept.block.len() {
            *kept = entry.clone();
        }
    }
    notes
}

/// Every entry of two files, once, in order.
pub(crate) fn unite<'a>(one: Vec<ArchiveEntry<'a>>, other: Vec<ArchiveEntry<'a>>) -> Vec<ArchiveEntry<'a>> {
    if one.is_empty() && other.iter().all(|entry| entry.is_text || !entry.has_returns()) {
        // Nothing is to be compared but the notes of one file, of which those that are the same stand side by side.
        let mut entries = other;
        sort(&mut entries);
        return entries;
    }
    let mut all = notes(&one);
    for (identity, note) in notes(&other) {
        all.entry(identity).or_insert(note);
    }
    let mut entries: Vec<ArchiveEntry<'a>> = all.into_values().collect();
    let mut known = KnownTexts::of(&one);
    entries.extend(one.into_iter().filter(|entry| entry.is_text));
    entries.extend(known.without_known(&other));
    sort(&mut entries);
    entries
}

/// The texts that either side has and neither removed.
pub(crate) fn merge_texts<'a>(
    base: &[ArchiveEntry<'a>],
    ours: &[ArchiveEntry<'a>],
    theirs: &[ArchiveEntry<'a>],
) -> Vec<ArchiveEntry<'a>> {
    let removed_by_them = KnownTexts::of(theirs).without_known(base);
    let mut texts = KnownTexts::of(&removed_by_them).without_known(ours);
    let new = |side: &[ArchiveEntry<'a>]| KnownTexts::of(base).without_known(side);
    texts.extend(KnownTexts::of(&new(ours)).without_known(&new(theirs)));
    texts
}

type Paragraph = Vec<Vec<u8>>;

/// The paragraphs that people wrote on each day. Each is found as often as it was written.
pub(crate) struct KnownTexts(HashMap<String, Vec<Paragraph>>);

impl KnownTexts {
    pub(crate) fn of(entries: &[ArchiveEntry<'_>]) -> KnownTexts {
        let mut known: HashMap<String, Vec<Paragraph>> = HashMap::new();
        for entry in entries.iter().filter(|entry| entry.is_text) {
            known.entry(entry.day()).or_default().extend(paragraphs(&entry.content()));
        }
        KnownTexts(known)
    }

    /// The texts among these entries, without what is known.
    pub(crate) fn without_known<'a>(&mut self, entries: &[ArchiveEntry<'a>]) -> Vec<ArchiveEntry<'a>> {
        let mut left = Vec::new();
        for entry in entries.iter().filter(|entry| entry.is_text) {
            let all = paragraphs(&entry.content());
            let known = self.0.entry(entry.day()).or_default();
            let mut rest: Vec<Paragraph> = Vec::new();
            for paragraph in &all {
                remove_known(known, paragraph.clone(), &mut rest);
            }
            if rest == all {
                left.push(entry.clone());
            } else {
                let rest: Vec<Vec<u8>> = rest.iter().map(|paragraph| paragraph.join(&b'\n')).collect();
                left.extend(entry.with_text(&[rest.join(&b"\n\n"[..]), b"\n".to_vec()].concat()));
            }
        }
        left
    }
}

/// Adds to `rest` what is left of a paragraph without the known ones.
fn remove_known(known: &mut Vec<Paragraph>, paragraph: Paragraph, rest: &mut Vec<Paragraph>) {
    if paragraph.is_empty() {
        return;
    }
    if let Some(at) = known.iter().position(|other| *other == paragraph) {
        known.swap_remove(at);
        return;
    }
    // A part of what is known: the other parts stay known.
    if let Some((at, start)) = known.iter().enumerate().find_map(|(at, other)| Some((at, place_in(other, &paragraph)?)))
    {
        let other = known.swap_remove(at);
        let (before, after) = (other[..start].to_vec(), other[start + paragraph.len()..].to_vec());
        known.extend([before, after].into_iter().filter(|part| !part.is_empty()));
        return;
    }
    // What is known, with more around it.
    if let Some((at, start)) = known.iter().enumerate().find_map(|(at, other)| Some((at, place_in(&paragraph, other)?)))
    {
        let end = start + known.swap_remove(at).len();
        remove_known(known, paragraph[..start].to_vec(), rest);
        remove_known(known, paragraph[end..].to_vec(), rest);
        return;
    }
    rest.push(paragraph);
}

/// Where the lines of `part` stand in `all`, one after the other.
fn place_in(all: &[Vec<u8>], part: &[Vec<u8>]) -> Option<usize> {
    all.windows(part.len().max(1)).position(|lines| lines == part)
}

/// The paragraphs of a text: lines without a blank one between them. Line ends do not count.
fn paragraphs(text: &[u8]) -> Vec<Paragraph> {
    let lines: Vec<&[u8]> =
        text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    let parts = lines.split(|line| line.trim_ascii().is_empty()).filter(|lines| !lines.is_empty());
    parts.map(|lines| lines.iter().map(|line| line.to_vec()).collect()).collect()
}

/// Sorts entries by time, notes before texts, and removes notes that are there twice.
pub(crate) fn sort(entries: &mut Vec<ArchiveEntry<'_>>) {
    entries.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    entries.dedup_by(|a, b| !a.is_text && a.sort_key() == b.sort_key());
}
