//! Merges two versions of a day file by note.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use crate::memory::archive::{self, ArchiveEntry};
use crate::memory::header;

/// The layer-1 file of these entries; `None` if there are none.
pub(super) fn write_notes(day: NaiveDate, entries: &[&ArchiveEntry<'_>]) -> Option<Vec<u8>> {
    if entries.is_empty() {
        return None;
    }
    let mut file = header("layer1", day).into_bytes();
    for entry in entries {
        if entry.is_text {
            file.extend_from_slice(&entry.content());
            if !file.ends_with(b"\n") {
                file.push(b'\n');
            }
        } else {
            file.extend_from_slice(&entry.block);
        }
    }
    Some(file)
}

/// Bytes that are equal for the same entry in two versions of a file.
fn identity(entry: &ArchiveEntry<'_>) -> Vec<u8> {
    if !entry.is_text {
        entry.block.to_vec()
    } else {
        [b"\0", entry.time.as_bytes(), b"\0", entry.content().trim_ascii()].concat()
    }
}

/// Merges two versions of a day file: keeps what either side has and neither removed.
///
/// Returns the merged file, and the keys of notes to which each side gave its own content.
pub(super) fn merge_notes(day: NaiveDate, [base, ours, theirs]: [&[u8]; 3]) -> (Option<Vec<u8>>, Vec<String>) {
    fn entries(file: &[u8], day: NaiveDate) -> BTreeMap<Vec<u8>, ArchiveEntry<'_>> {
        archive::of_notes(file, day).into_iter().map(|entry| (identity(&entry), entry)).collect()
    }
    let (base, ours, theirs) = (entries(base, day), entries(ours, day), entries(theirs, day));
    let mut merged: Vec<ArchiveEntry<'_>> = Vec::new();
    let mut new_keys: [BTreeSet<String>; 2] = [BTreeSet::new(), BTreeSet::new()];
    for (side, (here, there)) in [(&ours, &theirs), (&theirs, &ours)].into_iter().enumerate() {
        for (identity, entry) in here {
            match (base.contains_key(identity), there.contains_key(identity)) {
                (true, false) => {}
                (false, false) => {
                    new_keys[side].extend(entry.note().map(|note| format!("{} {}", note.run, note.step)));
                    merged.push(entry.clone());
                }
                (_, true) if side == 0 => merged.push(entry.clone()),
                (_, true) => {}
            }
        }
    }
    archive::sort(&mut merged);
    let doubled = new_keys[0].intersection(&new_keys[1]).cloned().collect();
    (write_notes(day, &merged.iter().collect::<Vec<_>>()), doubled)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn day() -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 10, 5).unwrap()
    }

    /// Notes by run and content; a run may have several contents.
    fn file(notes: &[(u8, u8)]) -> Vec<u8> {
        let mut file = header("layer1", day()).into_bytes();
        for (run, content) in notes {
            let block = format!(
                "<!-- note run=R{run} step=note at=2026-10-05T00:00:0{run}Z -->\nsaid {content}\n<!-- /note -->\n"
            );
            file.extend(block.bytes());
        }
        file
    }

    fn blocks(file: &[u8]) -> BTreeSet<String> {
        archive::of_notes(file, day()).iter().map(|entry| String::from_utf8_lossy(&entry.block).into_owned()).collect()
    }

    fn notes() -> impl Strategy<Value = Vec<(u8, u8)>> {
        proptest::collection::vec((0..6u8, 0..3u8), 0..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_merge_keeps_what_either_side_added_and_drops_what_either_removed(base in notes(), ours in notes(), theirs in notes()) {
            let [b, o, t] = [&base, &ours, &theirs].map(|notes| file(notes));
            let (merged, _) = merge_notes(day(), [&b, &o, &t]);
            let merged = blocks(&merged.unwrap_or_default());
            let [b, o, t] = [b, o, t].map(|file| blocks(&file));
            for added in o.union(&t).filter(|note| !b.contains(*note)) {
                prop_assert!(merged.contains(added), "{added} is lost");
            }
            for kept in b.iter().filter(|note| o.contains(*note) && t.contains(*note)) {
                prop_assert!(merged.contains(kept), "{kept} is lost");
            }
            for note in &merged {
                prop_assert!(o.contains(note) || t.contains(note), "{note} came back");
            }
        }

        #[test]
        fn both_sides_merge_to_the_same_notes(base in notes(), ours in notes(), theirs in notes()) {
            let [b, o, t] = [&base, &ours, &theirs].map(|notes| file(notes));
            let (here, _) = merge_notes(day(), [&b, &o, &t]);
            let (there, _) = merge_notes(day(), [&b, &t, &o]);
            prop_assert_eq!(blocks(&here.unwrap_or_default()), blocks(&there.unwrap_or_default()));
        }
    }
}
