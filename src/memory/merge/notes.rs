//! Merges two versions of a day file by note.

use std::collections::BTreeSet;

use chrono::NaiveDate;

use crate::memory::archive::{self, ArchiveEntry};
use crate::memory::header;

/// The layer-1 file of these entries; `None` if there are none.
pub(super) fn write_notes(day: NaiveDate, entries: &[ArchiveEntry<'_>]) -> Option<Vec<u8>> {
    if entries.is_empty() {
        return None;
    }
    let mut file = header("layer1", day).into_bytes();
    for (at, entry) in entries.iter().enumerate() {
        if entry.is_text {
            // Two texts stay two.
            if at.checked_sub(1).is_some_and(|before| entries[before].is_text) {
                file.push(b'\n');
            }
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

/// The entries of a day file that the archive of its month does not hold; `None` if it holds none of them. Of a text that
/// was continued after it was archived, only the lines that are new are left.
pub(super) fn not_archived<'a>(
    entries: &[ArchiveEntry<'a>],
    archived: &[ArchiveEntry<'_>],
) -> Option<Vec<ArchiveEntry<'a>>> {
    let known = archive::notes(archived);
    let notes = archive::notes(entries).into_iter().filter(|(identity, _)| !known.contains_key(identity));
    let mut left: Vec<ArchiveEntry<'a>> = notes.map(|(_, note)| note).collect();
    left.extend(archive::KnownTexts::of(archived).without_known(entries));
    archive::sort(&mut left);
    let mut before = entries.to_vec();
    archive::sort(&mut before);
    (left != before).then_some(left)
}

/// Merges two versions of the entries of a file: keeps what either side has and neither removed.
///
/// Returns the keys of notes, too, to which each side gave its own content.
pub(super) fn merge_entries<'a>(
    base: &[ArchiveEntry<'a>],
    ours: &[ArchiveEntry<'a>],
    theirs: &[ArchiveEntry<'a>],
) -> (Vec<ArchiveEntry<'a>>, Vec<String>) {
    let mut merged = archive::merge_texts(base, ours, theirs);
    let (base, ours, theirs) = (archive::notes(base), archive::notes(ours), archive::notes(theirs));
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
    (merged, new_keys[0].intersection(&new_keys[1]).cloned().collect())
}

/// Like [`merge_entries`], for two versions of a day file. Without any entry there is no file.
pub(super) fn merge_notes(day: NaiveDate, files: [&[u8]; 3]) -> (Option<Vec<u8>>, Vec<String>) {
    let [base, ours, theirs] = files.map(|file| archive::of_notes(file, day));
    let (merged, doubled) = merge_entries(&base, &ours, &theirs);
    (write_notes(day, &merged), doubled)
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

    const NOTE: &str = "<!-- note run=R1 step=note at=2026-10-05T00:00:01Z -->\nsaid\n<!-- /note -->\n";

    fn day_file(parts: &[&str]) -> Vec<u8> {
        [&[header("layer1", day()).as_str()], parts].concat().concat().into_bytes()
    }

    fn merged(files: [&[u8]; 3]) -> String {
        String::from_utf8(merge_notes(day(), files).0.unwrap_or_default()).unwrap()
    }

    #[test]
    fn an_editor_that_changes_line_ends_doubles_nothing() {
        let base = day_file(&[NOTE, "by hand\n"]);
        let ours = String::from_utf8(base.clone()).unwrap().replace('\n', "\r\n").into_bytes();
        let other = NOTE.replace("R1", "R2");
        let theirs = day_file(&[NOTE, "by hand\n", &other]);
        for files in [[&base[..], &ours, &theirs], [&base, &theirs, &ours]] {
            let merged = merged(files);
            for (part, count) in [("agent-handover | layer1", 1), ("run=R1", 1), ("run=R2", 1), ("by hand", 1)] {
                assert_eq!(merged.matches(part).count(), count, "{part}: {merged}");
            }
        }
    }

    #[test]
    fn a_line_that_is_appended_while_others_move_the_notes_away_is_kept_once() {
        let base = day_file(&[NOTE]);
        let ours = day_file(&[NOTE, "appended\n"]);
        let left = merged([&base, &ours, b""]);
        assert_eq!(left, String::from_utf8(day_file(&["appended\n"])).unwrap());
        // Once it is archived, it is no longer left, although another note stands before it there.
        let archived = archive::of_notes(&ours, day());
        assert_eq!(not_archived(&archive::of_notes(left.as_bytes(), day()), &archived), Some(Vec::new()));
    }

    #[test]
    fn a_text_that_both_sides_continue_is_kept_once() {
        let base = day_file(&["first\n"]);
        let merged = merged([&base, &day_file(&["first\nours\n"]), &day_file(&["first\ntheirs\n"])]);
        for line in ["first\n", "ours\n", "theirs\n"] {
            assert_eq!(merged.matches(line).count(), 1, "{line}: {merged}");
        }
    }

    #[test]
    fn lines_added_to_a_text_that_was_archived_are_all_that_is_left() {
        let before = day_file(&[NOTE, "first\n"]);
        let archived = archive::of_notes(&before, day());
        let file = day_file(&["first\nmore\n"]);
        let left = not_archived(&archive::of_notes(&file, day()), &archived).unwrap();
        assert_eq!(left.iter().map(|entry| entry.content().into_owned()).collect::<Vec<_>>(), [b"more\n"]);
    }

    #[test]
    fn the_same_line_twice_in_one_day_stays_twice() {
        let other = NOTE.replace("R1", "R2");
        let base = day_file(&["again\n", NOTE, "again\n"]);
        let merged = merged([&base, &base, &day_file(&["again\n", NOTE, "again\n", &other])]);
        assert_eq!(merged.matches("again\n").count(), 2, "{merged}");
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
