//! Archives of arbitrary notes and texts, and archives that were edited by hand.

use std::collections::BTreeMap;

use proptest::prelude::*;

use chrono::NaiveDate;

use super::*;
use crate::memory::note::{self, Note, Piece};
use crate::memory::{Month, header};

fn line() -> impl Strategy<Value = String> {
    let markers = [
        "<!-- note run=A step=note at=2026-10-05T00:00:00Z -->",
        "<!-- /note -->",
        "<!-- text day=2026-10-05 -->",
        "<!-- /text -->",
        "<!-- roll-up month=2026-10 tag=x -->",
        "<!-- /roll-up -->",
        "<!-- agent-handover | layer1 | 2026-10-05 -->",
        "<!-- agent-handover | layer3 | 2026-10-31 -->",
        "## 2026-10-05",
        "",
    ];
    prop_oneof![
        ("\\\\{0,2}", proptest::sample::select(markers.to_vec()), "[ \r]{0,2}")
            .prop_map(|(before, marker, after)| format!("{before}{marker}{after}")),
        any::<String>(),
        "[a-c/.]{0,8}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(line(), 0..4).prop_map(|lines| lines.join("\n"))
}

/// A day file as runs, people and the Python tool leave it.
fn day_file() -> impl Strategy<Value = (u32, Vec<u8>)> {
    let piece = prop_oneof![
        (text(), 0..5u32, 0..3u32, any::<bool>()).prop_map(|(content, run, second, changes)| Ok(Note {
            run: format!("R{run}"),
            step: "note".to_owned(),
            at: format!("2026-10-0{}T00:00:0{second}Z", run + 1),
            agent: String::new(),
            changes: if changes { "abc".to_owned() } else { String::new() },
            content: content.into_bytes(),
        })),
        text().prop_map(Err),
    ];
    (1..6u32, any::<bool>(), proptest::collection::vec(piece, 0..6)).prop_map(|(day, headed, pieces)| {
        let date = NaiveDate::from_ymd_opt(2026, 10, day).unwrap();
        let mut file = if headed { header("layer1", date).into_bytes() } else { Vec::new() };
        for piece in pieces {
            match piece {
                Ok(note) => file = note::replace_or_append(file.clone(), &note),
                Err(text) => file.extend(text.bytes()),
            }
        }
        (day, file)
    })
}

fn entries(files: &[(u32, Vec<u8>)]) -> Vec<ArchiveEntry<'_>> {
    let mut all: Vec<ArchiveEntry<'_>> =
        files.iter().flat_map(|(day, file)| of_notes(file, NaiveDate::from_ymd_opt(2026, 10, *day).unwrap())).collect();
    sort(&mut all);
    unite(all, Vec::new())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_archive_holds_exactly_the_notes_in_whatever_order_they_arrive(
        files in proptest::collection::vec(day_file(), 0..6),
        late in 0..6usize,
    ) {
        let month = Month::parse("2026-10").unwrap();
        // A day has one file.
        let files: Vec<(u32, Vec<u8>)> = files.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect();
        let all = entries(&files);
        let archive = write(month, "tag", &all);
        prop_assert_eq!(&parse(&archive), &all);
        // The same in two steps, the later files first.
        let (early, late) = files.split_at(late.min(files.len()));
        let first = write(month, "tag", &entries(late));
        let both = unite(parse(&first), entries(early));
        prop_assert_eq!(&write(month, "tag", &both), &archive);
        // Every note is in it, byte for byte.
        for (_, file) in &files {
            for piece in note::parse(file) {
                if let Piece::Note { range, .. } = piece {
                    let block = file[range].to_vec();
                    prop_assert!(memchr::memmem::find(&archive, &block).is_some());
                }
            }
        }
    }

    #[test]
    fn an_archive_edited_by_hand_loses_nothing(files in proptest::collection::vec(day_file(), 0..4), words in "[a-z]{5,9}", at in 0..1000usize) {
        let month = Month::parse("2026-10").unwrap();
        let mut archive = write(month, "tag", &entries(&files));
        let body = memchr::memmem::find(&archive, b"\n<!-- /roll-up -->\n").unwrap() + 19;
        let cut = body + at % (archive.len() - body + 1);
        let cut = archive[cut..].iter().position(|byte| *byte == b'\n').map_or(archive.len(), |more| cut + more + 1);
        archive.splice(cut..cut, format!("{words}\n").into_bytes());
        let before = parse(&archive);
        let again = write(month, "tag", &before);
        prop_assert!(memchr::memmem::find(&again, words.as_bytes()).is_some());
        let mut after = parse(&again);
        sort(&mut after);
        let mut before = before;
        sort(&mut before);
        prop_assert_eq!(write(month, "tag", &after), write(month, "tag", &before));
        // Read back, it holds all that was written.
        let written = write(month, "tag", &before);
        prop_assert_eq!(&parse(&written), &before);
    }
}
