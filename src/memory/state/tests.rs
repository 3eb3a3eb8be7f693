//! The current state under hostile text, odd clocks and hands that edit it.

use proptest::prelude::*;

use super::write::SECTION_CLOSE;
use super::*;
use crate::config::category::{Categories, Category};
use crate::memory::change::{self, ChangeVerb, StateChange};

fn stamp(second: u32) -> Stamp {
    Stamp {
        at: format!("2026-11-15T10:{:02}:{:02}Z", second / 60, second % 60),
        run: format!("R{second}"),
        commit: "1a2b3c".to_owned(),
        moment: None,
        branch: String::new(),
        by: String::new(),
    }
}

fn category(name: &str) -> Category {
    Categories::default().get(name)
}

fn texts(state: &CurrentState, category: &str) -> Vec<String> {
    state.items().filter(|(name, _)| *name == category).map(|(_, item)| item.text.clone()).collect()
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_section_is_written_as_documented() {
    let mut state = CurrentState::parse(b"<!-- agent-handover | layer2 | 2026-11-15 -->\nfree text");
    state.record(&category("decision"), &owned(&["use SQLite", "two\n\nparagraphs"]), &stamp(5));
    state.record(&category("goal"), &owned(&["ship"]), &stamp(5));
    assert_eq!(
        String::from_utf8(state.write()).unwrap(),
        "<!-- agent-handover | layer2 | 2026-11-15 -->\nfree text\n\n\
         <!-- section name=goal cleared=2026-11-15T10:00:05Z -->\n## Goal\n\n\
         <!-- item id=2d2445b0dd at=2026-11-15T10:00:05Z run=R5 commit=1a2b3c -->\n- ship\n<!-- /section -->\n\n\
         <!-- section name=decision -->\n## Decisions\n\n\
         <!-- item id=5a41864dfd at=2026-11-15T10:00:05Z run=R5 commit=1a2b3c -->\n- use SQLite\n\
         <!-- item id=de0ebc71f4 at=2026-11-15T10:00:05Z run=R5 commit=1a2b3c -->\n- two\n\n  paragraphs\n<!-- /section -->\n"
    );
    assert_eq!(CurrentState::parse(&state.write()), state);
}

#[test]
fn full_categories_drop_the_oldest_and_never_the_newest() {
    let mut state = CurrentState::default();
    let mut dropped = Vec::new();
    for number in 0..65 {
        let changes = state.record(&category("decision"), &[format!("d{number}")], &stamp(number));
        dropped
            .extend(changes.into_iter().filter(|change| change.verb == ChangeVerb::Dropped).map(|change| change.text));
    }
    assert_eq!(texts(&state, "decision"), (25..65).map(|n| format!("d{n}")).collect::<Vec<_>>());
    assert_eq!(dropped, (0..25).map(|n| format!("d{n}")).collect::<Vec<_>>());
}

#[test]
fn items_recorded_together_keep_their_order_and_the_first_win() {
    let mut state = CurrentState::default();
    let many = owned(&["c1", "c2", "c3", "c4", "c5", "c6", "c7"]);
    let changes = state.record(&category("constraint"), &many, &stamp(1));
    assert_eq!(texts(&state, "constraint"), ["c1", "c2", "c3", "c4", "c5"]);
    let dropped: Vec<_> = changes.iter().filter(|change| change.verb == ChangeVerb::Dropped).map(|c| &c.text).collect();
    assert_eq!(dropped, ["c6", "c7"]);
}

#[test]
fn a_repeated_item_keeps_its_id_and_its_first_time() {
    let mut state = CurrentState::default();
    state.record(&category("open_loop"), &owned(&["a", "b"]), &stamp(1));
    let before: Vec<String> = state.items().map(|(_, item)| item.id.clone()).collect();
    let changes = state.record(&category("open_loop"), &owned(&["b", "c"]), &stamp(2));
    assert_eq!(texts(&state, "open_loop"), ["b", "c"]);
    let (_, b) = state.items().next().unwrap();
    assert_eq!(
        (b.id.as_str(), b.since.as_str(), b.at.as_str()),
        (before[1].as_str(), "2026-11-15T10:00:01Z", "2026-11-15T10:00:02Z")
    );
    let reported: Vec<_> = changes.iter().map(|change| (change.verb, change.text.as_str())).collect();
    assert_eq!(reported, [(ChangeVerb::Cleared, "a"), (ChangeVerb::Added, "c")]);
}

#[test]
fn a_late_session_joins_and_replaces_nothing_newer() {
    let mut state = CurrentState::default();
    state.record(&category("goal"), &owned(&["new"]), &stamp(9));
    state.record(&category("decision"), &owned(&["new"]), &stamp(9));
    let reported = |changes: Vec<StateChange>| -> Vec<_> { changes.into_iter().map(|it| (it.verb, it.text)).collect() };
    let passed = [(ChangeVerb::Added, "old".to_owned()), (ChangeVerb::Cleared, "old".to_owned())];
    assert_eq!(reported(state.record(&category("goal"), &owned(&["old", "new"]), &stamp(1))), passed);
    state.record(&category("decision"), &owned(&["old"]), &stamp(1));
    assert_eq!(texts(&state, "goal"), ["new"]);
    assert_eq!(texts(&state, "decision"), ["old", "new"]);
    // Nothing newer replaced these items: they count, and items added since stay.
    state.add(&category("open_loop"), "added since", &stamp(9));
    state.record(&category("open_loop"), &owned(&["late"]), &stamp(1));
    assert_eq!(texts(&state, "open_loop"), ["late", "added since"]);
    // Emptied since, it stays so.
    state.clear("decision", &stamp(10));
    assert_eq!(reported(state.record(&category("decision"), &owned(&["old"]), &stamp(1))), passed);
    assert_eq!(texts(&state, "decision"), [""; 0]);
}

#[test]
fn full_categories_drop_by_order_whatever_the_clock_says() {
    let mut state = CurrentState::default();
    for number in 0..40 {
        state.record(&category("decision"), &[format!("d{number}")], &stamp(50));
    }
    let file = String::from_utf8(state.write()).unwrap().replacen("2026-11-15", "2062-11-15", 1);
    let mut state = CurrentState::parse(file.as_bytes());
    assert!(state.newest().starts_with("2062"));
    let now = Stamp { at: state.newest().to_owned(), ..stamp(60) };
    let changes = state.record(&category("decision"), &owned(&["new"]), &now);
    assert_eq!(texts(&state, "decision").last().unwrap(), "new");
    assert_eq!(changes.last().map(|change| (change.verb, change.text.as_str())), Some((ChangeVerb::Dropped, "d0")));
    // An invalid time is ignored.
    let file = String::from_utf8(state.write()).unwrap().replace("2062-11-15T10:00:50Z", "zzzz");
    assert!(CurrentState::parse(file.as_bytes()).newest().starts_with("2026"));
}

#[test]
fn a_copied_marker_marks_nothing() {
    let mut state = CurrentState::default();
    state.record(&category("decision"), &owned(&["original"]), &stamp(1));
    let file = String::from_utf8(state.write()).unwrap();
    let start = file.find("<!-- item").unwrap();
    let copy = file[start..].replace("original", "copy");
    let mut state = CurrentState::parse(format!("{}{copy}", &file[..file.len() - SECTION_CLOSE.len()]).as_bytes());
    let changes = state.adopt(&stamp(2));
    assert_eq!(changes.iter().map(|change| change.text.as_str()).collect::<Vec<_>>(), ["copy"]);
    let ids: Vec<String> = state.items().map(|(_, item)| item.id.clone()).collect();
    assert_ne!(ids[0], ids[1]);
    state.remove(&ids[0], ChangeVerb::Deleted, &stamp(3));
    assert_eq!(texts(&CurrentState::parse(&state.write()), "decision"), ["copy"]);
}

#[test]
fn ids_in_another_form_are_ignored() {
    for id in ["x:%20y%0A-%20added", "ABCDEF", "abc", "a%0Ab0", &"a".repeat(41)] {
        let file =
            format!("<!-- section name=goal -->\n<!-- item id={id} at=2026-11-15T10:00:05Z -->\n- g\n{SECTION_CLOSE}");
        let state = CurrentState::parse(file.as_bytes());
        assert_eq!(state.items().next().unwrap().1.id, item::item_id("goal", "g", 0));
        assert_eq!(state.write(), file.as_bytes());
    }
}

#[test]
fn two_sections_of_one_category_become_one() {
    let mut state = CurrentState::default();
    state.record(&category("goal"), &owned(&["stale"]), &stamp(1));
    state.record(&category("decision"), &owned(&["a", "b"]), &stamp(1));
    let mut newer = CurrentState::parse(&state.write());
    newer.record(&category("goal"), &owned(&["true"]), &stamp(5));
    newer.record(&category("decision"), &owned(&["c"]), &stamp(5));
    let both = [state.write(), b"\nmine\n".to_vec(), newer.write(), b"the end\n".to_vec()].concat();
    let mut state = CurrentState::parse(&both);
    let changes = state.adopt(&stamp(6));
    assert_eq!((texts(&state, "goal"), texts(&state, "decision")), (owned(&["true"]), owned(&["a", "b", "c"])));
    assert_eq!(
        changes.iter().map(|it| (it.verb, it.text.as_str())).collect::<Vec<_>>(),
        [(ChangeVerb::Cleared, "stale")]
    );
    let file = String::from_utf8(state.write()).unwrap();
    assert!(file.contains("\nmine\n") && file.ends_with("the end\n"), "{file}");
    assert_eq!(CurrentState::parse(file.as_bytes()), state);
}

#[test]
fn bytes_that_are_not_utf8_are_kept() {
    let file = b"caf\xe9\n\n<!-- section name=decision -->\n- caf\xe9\n  a\xff\n- plain\n<!-- /section -->\n";
    let mut state = CurrentState::parse(file);
    state.adopt(&stamp(1));
    state.record(&category("decision"), &owned(&["d"]), &stamp(2));
    let written = state.write();
    assert!(memchr::memmem::find(&written, b"\n- caf\xe9\n  a\xff\n").is_some());
    assert_eq!(texts(&CurrentState::parse(&written), "decision"), ["caf\\xe9\na\\xff", "plain", "d"]);
    let reported = state.set_text("2026-11-15".parse().unwrap(), b"new").unwrap();
    assert_eq!(reported.text, "caf\\xe9");
}

#[test]
fn text_below_a_lost_end_marker_stays_outside_the_section() {
    let mut state = CurrentState::default();
    state.record(&category("decision"), &owned(&["d"]), &stamp(1));
    let file =
        String::from_utf8(state.write()).unwrap().replace(SECTION_CLOSE, "- by hand\n\n# Mine\n- my own bullet\n");
    let mut state = CurrentState::parse(file.as_bytes());
    assert_eq!(texts(&state, "decision"), ["d", "by hand"]);
    state.adopt(&stamp(2));
    state.record(&category("decision"), &owned(&["e"]), &stamp(2));
    let written = String::from_utf8(state.write()).unwrap();
    assert!(written.ends_with(&format!("{SECTION_CLOSE}# Mine\n- my own bullet\n")), "{written}");
}

#[test]
fn a_byte_order_mark_does_not_hide_the_header() {
    let mut state = CurrentState::parse("\u{feff}<!-- agent-handover | layer2 | 2026-11-15 -->\nold\n".as_bytes());
    assert_eq!(state.set_text("2026-11-16".parse().unwrap(), b"new").unwrap().text, "old");
}

#[test]
fn an_edited_item_keeps_its_id_and_one_written_by_hand_gets_one() {
    let mut state = CurrentState::default();
    state.record(&category("decision"), &owned(&["typpo"]), &stamp(1));
    let id = state.items().next().unwrap().1.id.clone();
    let file = String::from_utf8(state.write()).unwrap().replace("- typpo\n", "- typo\n- by hand\n  and more\n");
    let mut state = CurrentState::parse(file.as_bytes());
    assert_eq!(String::from_utf8(state.write()).unwrap(), file, "reading changes nothing");
    assert_eq!(texts(&state, "decision"), ["typo", "by hand\nand more"]);
    assert_eq!(state.items().next().unwrap().1.id, id);
    state.adopt(&stamp(2));
    // The original text is added again: it is another item now.
    state.record(&category("decision"), &owned(&["typpo"]), &stamp(3));
    let ids: std::collections::BTreeSet<_> = state.items().map(|(_, item)| item.id.clone()).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(CurrentState::parse(&state.write()).items().count(), 3);
}

#[test]
fn a_lost_end_marker_costs_nothing() {
    let mut state = CurrentState::default();
    state.record(&category("goal"), &owned(&["ship"]), &stamp(1));
    state.record(&category("decision"), &owned(&["d"]), &stamp(1));
    let file = String::from_utf8(state.write()).unwrap().replace(SECTION_CLOSE, "") + "my own words at the end\n";
    let mut state = CurrentState::parse(file.as_bytes());
    assert_eq!(texts(&state, "goal"), ["ship"]);
    state.record(&category("decision"), &owned(&["e"]), &stamp(2));
    let text = String::from_utf8(state.write()).unwrap();
    assert!(text.contains("my own words at the end\n"));
    assert_eq!(texts(&CurrentState::parse(text.as_bytes()), "decision"), ["d", "e"]);
}

#[test]
fn deleted_items_are_remembered_until_they_are_added_again() {
    let mut state = CurrentState::default();
    state.record(&category("decision"), &owned(&["a", "b"]), &stamp(1));
    let id = state.items().next().unwrap().1.id.clone();
    assert_eq!(state.remove(&id, ChangeVerb::Deleted, &stamp(2)).len(), 1);
    let read = CurrentState::parse(&state.write());
    assert_eq!(read.sections[0].tombstones().map(|gone| gone.id.as_str()).collect::<Vec<_>>(), [id.as_str()]);
    state.record(&category("decision"), &owned(&["a"]), &stamp(3));
    assert_eq!(CurrentState::parse(&state.write()).sections[0].tombstones().count(), 0);
}

fn hostile_line() -> impl Strategy<Value = String> {
    let markers = [
        "<!-- section name=goal -->",
        "<!-- section name=goal cleared=9 -->",
        "<!-- /section -->",
        "<!-- item id=aaaaaaaaaa at=9 run=x -->",
        "<!-- gone id=aaaaaaaaaa at=9 -->",
        "<!-- agent-handover | layer2 | 2026-11-15 -->",
        "<!-- note run=A step=note at=x -->",
        "<!-- /note -->",
        "- added goal aaaaaaaaaa: forged",
        "## Goal",
        "```",
        "---",
        "- bullet",
        "",
    ];
    prop_oneof![
        ("[ \\\\]{0,3}", proptest::sample::select(markers.to_vec()), "[ \r]{0,2}")
            .prop_map(|(before, marker, after)| format!("{before}{marker}{after}")),
        any::<String>(),
        "[ -~\t\r\u{b}\u{c}\u{85}\u{2028}]{0,20}",
    ]
}

fn hostile() -> impl Strategy<Value = String> {
    proptest::collection::vec(hostile_line(), 0..6).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn reading_changes_nothing(file in proptest::collection::vec(hostile_line(), 0..12), bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut file = file.join("\n").into_bytes();
        file.extend(bytes);
        prop_assert_eq!(CurrentState::parse(&file).write(), file);
    }

    #[test]
    fn no_item_can_forge_anything(
        free in hostile(),
        decisions in proptest::collection::vec(hostile(), 1..5),
        goal in hostile(),
        extra in hostile(),
    ) {
        let mut state = CurrentState::default();
        state.set_text("2026-11-15".parse().unwrap(), free.as_bytes());
        let expected: Vec<String> = {
            let mut seen = std::collections::HashSet::new();
            decisions.iter().map(|text| tidy(text)).filter(|text| !text.is_empty() && seen.insert(text.clone())).collect()
        };
        let mut changes = state.record(&category("decision"), &decisions, &stamp(1));
        changes.extend(state.record(&category("goal"), std::slice::from_ref(&goal), &stamp(1)));
        changes.extend(state.record(&category("lesson"), std::slice::from_ref(&extra), &stamp(1)));
        let file = state.write();
        let read = CurrentState::parse(&file);
        prop_assert_eq!(&read.write(), &file);
        prop_assert_eq!(texts(&read, "decision"), expected);
        let one = |text: &String| Some(tidy(text)).filter(|text| !text.is_empty()).into_iter().collect::<Vec<_>>();
        prop_assert_eq!(texts(&read, "goal"), one(&goal));
        prop_assert_eq!(texts(&read, "lesson"), one(&extra));
        prop_assert_eq!(readable(&read.text()), tidy(&free));
        // Recording twice equals recording once.
        let mut again = read.clone();
        prop_assert_eq!(again.record(&category("decision"), &decisions, &stamp(1)), []);
        prop_assert_eq!(again.record(&category("goal"), &[goal], &stamp(1)), []);
        prop_assert_eq!(again.write(), file);
        // The changes survive being written to layer 1 and read back.
        prop_assert_eq!(change::parse(&change::write(&changes)), changes);
    }

    #[test]
    fn free_text_of_others_stays_to_the_byte(before in hostile(), after in hostile()) {
        // Without markers of ours, any file is free text.
        let plain = |text: &str| text.lines().map(|line| line.trim_start_matches('<')).collect::<Vec<_>>().join("\n");
        let (before, after) = (plain(&before), plain(&after));
        let mut state = CurrentState::parse(before.as_bytes());
        state.record(&category("decision"), &owned(&["d"]), &stamp(1));
        let mut file = state.write();
        prop_assert!(file.starts_with(before.as_bytes()));
        file.extend(after.as_bytes());
        let mut state = CurrentState::parse(&file);
        state.record(&category("decision"), &owned(&["e"]), &stamp(2));
        state.record(&category("goal"), &owned(&["g"]), &stamp(2));
        let file = state.write();
        prop_assert!(file.starts_with(before.as_bytes()));
        prop_assert!(file.ends_with(after.as_bytes()));
    }
}
