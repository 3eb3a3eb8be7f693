//! Merges two versions of the current state by category and item.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::category::Categories;
use crate::memory::state::{self, CategorySection, CurrentState, Item, Tombstone};
use crate::memory::{ChangeVerb, StateChange};

pub(super) struct MergedState {
    pub state: CurrentState,
    /// The items and texts of either side that the merged state no longer holds.
    pub changes: Vec<StateChange>,
}

/// Merges their state into ours. `is_ours_newer` decides between two free texts of the same day.
pub(super) fn merge_state(
    base: Option<&CurrentState>,
    ours: &CurrentState,
    theirs: &CurrentState,
    categories: &Categories,
    is_ours_newer: bool,
) -> MergedState {
    let mut state = ours.clone();
    let mut changes = Vec::new();
    let names: BTreeSet<&str> =
        ours.sections.iter().chain(&theirs.sections).map(|section| section.category.as_str()).collect();
    for name in names {
        let merged = merge_category(name, base, ours, theirs, categories.get(name).keep);
        let left = [
            (ChangeVerb::Deleted, &merged.removed),
            (ChangeVerb::Dropped, &merged.dropped),
            (ChangeVerb::Cleared, &merged.cleared_items),
        ];
        for (verb, items) in left {
            changes.extend(items.iter().map(|item| StateChange::of(verb, name, item)));
        }
        state.set_section(name, &merged.cleared, merged.items, merged.tombstones, &merged.texts);
    }
    changes.extend(merge_text(&mut state, base, ours, theirs, is_ours_newer));
    MergedState { state, changes }
}

/// Merges the free text: the later day wins, and on the same day the text that was written later. Reports the text
/// that was replaced.
fn merge_text(
    state: &mut CurrentState,
    base: Option<&CurrentState>,
    ours: &CurrentState,
    theirs: &CurrentState,
    is_ours_newer: bool,
) -> Option<StateChange> {
    let (base_text, our_text, their_text) = (base.map(CurrentState::text), ours.text(), theirs.text());
    if their_text == our_text || Some(&their_text) == base_text.as_ref() {
        return None;
    }
    let is_ours_later = match ours.date().cmp(&theirs.date()) {
        Ordering::Equal => is_ours_newer,
        order => order.is_gt(),
    };
    let is_ours_changed = Some(&our_text) != base_text.as_ref() && !our_text.trim_ascii().is_empty();
    let replaced = if is_ours_changed && is_ours_later {
        their_text
    } else {
        state.set_text(theirs.date().or(ours.date()).unwrap_or_default(), &their_text);
        our_text
    };
    state::replaced_text(&replaced).filter(|_| Some(&replaced) != base_text.as_ref())
}

struct MergedCategory {
    cleared: String,
    items: Vec<Item>,
    tombstones: Vec<Tombstone>,
    /// Texts that people wrote into the section on the other side only.
    texts: Vec<Vec<u8>>,
    /// Items for which the category had no room.
    dropped: Vec<Item>,
    /// Items that one side stated before the other cleared the category.
    cleared_items: Vec<Item>,
    /// Items that one side stated since the base, and the other removed later. The side that removed the item reported
    /// only that the version of the base left.
    removed: Vec<Item>,
}

/// An item and its place among the items of its category.
type PlacedItem = (usize, Item);

fn merge_category(
    name: &str,
    base: Option<&CurrentState>,
    ours: &CurrentState,
    theirs: &CurrentState,
    keep: usize,
) -> MergedCategory {
    let (our_sections, their_sections) = (sections(ours, name), sections(theirs, name));
    let both = || our_sections.iter().chain(&their_sections).copied();
    let cleared = both().map(|section| section.cleared.clone()).max().unwrap_or_default();
    let mut tombstones = latest_tombstones(both());
    let base_sections: Vec<&CategorySection> = base.map(|base| sections(base, name)).unwrap_or_default();
    let items = choose_items(&base_sections, &our_sections, &their_sections);
    let (items, removed): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|(_, item)| tombstones.get(&item.id).is_none_or(|at| *at < item.at));
    let (mut items, cleared_items): (Vec<_>, Vec<_>) = items.into_iter().partition(|(_, item)| item.at >= cleared);
    tombstones.retain(|id, _| items.iter().all(|(_, item)| item.id != *id));
    // Items that one session stated together keep the order in which it stated them.
    items.sort_by(|(a_place, a), (b_place, b)| (&a.at, &a.run, a_place, &a.id).cmp(&(&b.at, &b.run, b_place, &b.id)));
    let beyond = items.len().saturating_sub(keep);
    let dropped: Vec<PlacedItem> = items.drain(..beyond).collect();
    let our_texts: BTreeSet<Vec<u8>> = our_sections.iter().flat_map(|section| section.texts()).collect();
    let their_texts = their_sections.iter().flat_map(|section| section.texts());
    let is_in_base = |item: &Item| base_sections.iter().any(|section| section.items().any(|known| known == item));
    let without_places = |items: Vec<PlacedItem>| -> Vec<Item> { items.into_iter().map(|(_, item)| item).collect() };
    MergedCategory {
        cleared,
        items: without_places(items),
        tombstones: tombstones.into_iter().map(|(id, at)| Tombstone { id, at }).collect(),
        texts: their_texts.filter(|text| !our_texts.contains(text)).collect(),
        dropped: without_places(dropped),
        cleared_items: without_places(cleared_items),
        removed: without_places(removed).into_iter().filter(|item| !is_in_base(item)).collect(),
    }
}

fn sections<'s>(state: &'s CurrentState, category: &str) -> Vec<&'s CategorySection> {
    state.sections.iter().filter(|section| section.category == category).collect()
}

/// The time of each tombstone by id; the latest if both sides have one.
fn latest_tombstones<'s>(sections: impl Iterator<Item = &'s CategorySection>) -> BTreeMap<String, String> {
    let mut tombstones: BTreeMap<String, String> = BTreeMap::new();
    for tombstone in sections.flat_map(CategorySection::tombstones) {
        let at = tombstones.entry(tombstone.id.clone()).or_default();
        *at = std::mem::take(at).max(tombstone.at.clone());
    }
    tombstones
}

/// The items that either side has. An item that one side removed by hand and the other left unchanged stays removed.
fn choose_items(base: &[&CategorySection], ours: &[&CategorySection], theirs: &[&CategorySection]) -> Vec<PlacedItem> {
    let by_id = |sections: &[&CategorySection]| -> BTreeMap<String, PlacedItem> {
        let items = sections.iter().flat_map(|section| section.items()).cloned().enumerate();
        items.map(|(place, item)| (item.id.clone(), (place, item))).collect()
    };
    let (base, ours, theirs) = (by_id(base), by_id(ours), by_id(theirs));
    let ids: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let mut items = Vec::new();
    for id in ids {
        let in_base = base.get(id).map(|(_, item)| item);
        let chosen = match (ours.get(id), theirs.get(id)) {
            (Some(ours), Some(theirs)) => Some(newer(ours, theirs, in_base)),
            (Some(one), None) | (None, Some(one)) => Some(one).filter(|(_, item)| Some(item) != in_base),
            (None, None) => None,
        };
        items.extend(chosen.cloned());
    }
    items
}

/// The newer of two versions of one item; at the same time, the one that somebody edited.
fn newer<'i>(ours: &'i PlacedItem, theirs: &'i PlacedItem, base: Option<&Item>) -> &'i PlacedItem {
    match ours.1.at.cmp(&theirs.1.at) {
        Ordering::Greater => ours,
        Ordering::Less => theirs,
        Ordering::Equal if base.is_some_and(|base| base.text == ours.1.text) => theirs,
        Ordering::Equal if base.is_some_and(|base| base.text == theirs.1.text) => ours,
        Ordering::Equal => std::cmp::max_by_key(ours, theirs, |(_, item)| item.text.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::state::Stamp;

    fn stamp(run: &str, at: &str) -> Stamp {
        let (commit, branch) = Default::default();
        Stamp { at: at.to_owned(), run: run.to_owned(), commit, branch, by: String::new(), moment: None }
    }

    fn with(mut state: CurrentState, text: &str, stamp: &Stamp) -> CurrentState {
        state.add(&Categories::default().get("decision"), text, stamp);
        state
    }

    fn without(mut state: CurrentState, stamp: &Stamp) -> CurrentState {
        let id = state.items().next().map(|(_, item)| item.id.clone()).unwrap_or_default();
        state.remove(&id, ChangeVerb::Deleted, stamp);
        state
    }

    fn texts(state: &CurrentState) -> Vec<&str> {
        state.items().map(|(_, item)| item.text.as_str()).collect()
    }

    const EARLY: &str = "2026-11-15T10:00:00Z";
    const LATE: &str = "2027-11-15T10:00:00Z";

    #[test]
    fn an_item_said_again_after_it_was_deleted_survives_every_merge() {
        let base = with(CurrentState::default(), "x", &stamp("A", EARLY));
        // In the same second, and after a deletion by a machine whose clock is a year ahead.
        for deleted_at in [EARLY, LATE] {
            let deleted = without(base.clone(), &stamp("B", deleted_at));
            let again = with(deleted.clone(), "x", &stamp("C", deleted_at));
            for (base, ours, theirs) in
                [(&deleted, &again, &deleted), (&base, &again, &deleted), (&base, &deleted, &again)]
            {
                let merged = merge_state(Some(base), ours, theirs, &Categories::default(), false);
                assert_eq!(texts(&merged.state), ["x"], "{deleted_at}");
                assert!(merged.changes.is_empty());
            }
        }
    }

    #[test]
    fn what_a_merge_takes_out_is_reported() {
        let base = with(CurrentState::default(), "x", &stamp("A", EARLY));
        let deleted = without(base.clone(), &stamp("B", LATE));
        let reported = |ours: &CurrentState, theirs: &CurrentState| -> Vec<(ChangeVerb, String)> {
            let merged = merge_state(Some(&base), ours, theirs, &Categories::default(), false);
            assert_eq!(texts(&merged.state), [""; 0]);
            merged.changes.into_iter().map(|change| (change.verb, change.text)).collect()
        };
        // Said again meanwhile by somebody who had not seen the deletion.
        let again = with(base.clone(), "x", &stamp("C", "2026-11-16T10:00:00Z"));
        assert_eq!(reported(&again, &deleted), [(ChangeVerb::Deleted, "x".to_owned())]);
        assert_eq!(reported(&deleted, &again), [(ChangeVerb::Deleted, "x".to_owned())]);
        // Whoever deleted it reported that already.
        assert_eq!(reported(&base, &deleted), []);
    }
}
