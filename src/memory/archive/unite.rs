//! Unites the entries of several files, so that each entry is there once.

use std::collections::{BTreeMap, HashMap};

use super::entry::ArchiveEntry;

/// What tells one entry of a file from the others: its identity, and how many of the same stand before it. People may
/// write the same line twice in one day.
pub(crate) type EntryKey = (Vec<u8>, usize);

/// The entries of one file by their keys. A note counts once, however often a file has it.
pub(crate) fn keyed(entries: Vec<ArchiveEntry<'_>>) -> BTreeMap<EntryKey, ArchiveEntry<'_>> {
    let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut keyed = BTreeMap::new();
    for entry in entries {
        let identity = entry.identity();
        let count = seen.entry(identity.clone()).or_default();
        let key = (identity, *count);
        *count += usize::from(entry.is_text);
        keep_better(&mut keyed, key, entry);
    }
    keyed
}

/// Every entry of two files, once, in order. Of a text that one file has and the other continues, the longer version
/// stays.
pub(crate) fn unite<'a>(one: Vec<ArchiveEntry<'a>>, other: Vec<ArchiveEntry<'a>>) -> Vec<ArchiveEntry<'a>> {
    let (mut one, mut other) = (keyed(one), keyed(other));
    remove_continued(&mut one, &other);
    remove_continued(&mut other, &one);
    for (key, entry) in other {
        keep_better(&mut one, key, entry);
    }
    let mut entries = one.into_values().collect();
    sort(&mut entries);
    entries
}

/// Removes the texts that only one file has, and that the other file continues.
fn remove_continued(entries: &mut BTreeMap<EntryKey, ArchiveEntry<'_>>, others: &BTreeMap<EntryKey, ArchiveEntry<'_>>) {
    let new: Vec<&ArchiveEntry<'_>> = others
        .iter()
        .filter(|(key, other)| other.is_text && !entries.contains_key(*key))
        .map(|(_, other)| other)
        .collect();
    let is_continued = |entry: &ArchiveEntry<'_>| new.iter().any(|other| other.continues(entry));
    let gone: Vec<EntryKey> = entries
        .iter()
        .filter(|(key, entry)| entry.is_text && !others.contains_key(*key) && is_continued(entry))
        .map(|(key, _)| key.clone())
        .collect();
    for key in gone {
        entries.remove(&key);
    }
}

/// Keeps one of two versions of an entry, the same one in whatever order they come: the one whose place is known best,
/// with plain line ends.
fn keep_better<'a>(kept: &mut BTreeMap<EntryKey, ArchiveEntry<'a>>, key: EntryKey, entry: ArchiveEntry<'a>) {
    let rank = |entry: &ArchiveEntry<'_>| (entry.time.to_string(), std::cmp::Reverse(entry.block.to_vec()));
    match kept.get_mut(&key) {
        Some(known) if rank(known) >= rank(&entry) => {}
        Some(known) => *known = entry,
        None => drop(kept.insert(key, entry)),
    }
}

/// Sorts entries by time, notes before texts.
pub(crate) fn sort(entries: &mut Vec<ArchiveEntry<'_>>) {
    entries.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    entries.dedup_by(|a, b| !a.is_text && a.sort_key() == b.sort_key());
}
