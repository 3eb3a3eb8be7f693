//! What other machines wrote, taken into the files here: by note, by item and by archive entry, never by line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use chrono::NaiveDate;

use super::archive::{self, ArchiveEntry, Month};
use super::state::{self, CategorySection, CurrentState, Item, Tombstone};
use super::{Author, ChangeVerb, Memory, StateChange, compact, header, listing};
use crate::base::three_way::{self, Choice, Theirs, choose};
use crate::base::{fs, text};
use crate::config::category::Categories;
use crate::error::Result;
use crate::guard::Brake;

impl Memory {
    /// Takes in what they changed. The answer is what a person should know: two truths for one thing, both kept.
    /// `their_time` is when they last wrote their current state.
    pub fn absorb(
        &self,
        author: &Author<'_>,
        categories: &Categories,
        theirs: &[Theirs],
        their_time: Option<SystemTime>,
        brake: &Brake,
    ) -> Result<Vec<String>> {
        if theirs.is_empty() {
            return Ok(Vec::new());
        }
        fs::create_directories(&self.directory)?;
        let _alone = fs::lock_directory(&self.directory)?;
        fs::sweep_temporaries(&self.directory, fs::Depth::Tree)?;
        let mut told = Vec::new();
        let mut touched = BTreeSet::new();
        // Archives first: what they hold is not wanted in layer 1 any more.
        for theirs in theirs {
            stop_if_pressed(brake)?;
            if let Some((month, tag)) = archive_of(&theirs.path) {
                self.absorb_archive(month, tag, theirs)?;
                touched.insert((month, tag.to_owned()));
            }
        }
        for theirs in theirs {
            stop_if_pressed(brake)?;
            if archive_of(&theirs.path).is_some() {
                continue;
            }
            if let Some((tag, day)) = notes_of(&theirs.path) {
                told.extend(self.absorb_notes(day, theirs)?);
                touched.insert((Month::of(day), tag.to_owned()));
            } else if theirs.path == Path::new("layer2/current-state.md") {
                self.absorb_state(author, categories, theirs, their_time)?;
            } else {
                told.extend(three_way::take_over(&self.directory, theirs)?);
            }
        }
        for (month, tag) in touched {
            self.suppress_archived(month, &tag)?;
        }
        Ok(told)
    }

    fn absorb_archive(&self, month: Month, tag: &str, theirs: &Theirs) -> Result<()> {
        let path = self.directory.join(&theirs.path);
        fs::refuse_symlinks(&self.directory, &path)?;
        let ours = fs::read_if_exists(&path)?;
        match choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()) {
            Choice::Ours => Ok(()),
            Choice::Theirs => three_way::put(&path, theirs.now.as_deref()),
            Choice::Merge => {
                let (Some(now), Some(ours)) = (&theirs.now, &ours) else {
                    // One of us removed what the other went on with.
                    return three_way::put(&path, theirs.now.as_deref().or(ours.as_deref()));
                };
                let base = theirs.base.as_deref().map(archive::parse).unwrap_or_default();
                let (ours, theirs) = (archive::parse(ours), archive::parse(now));
                // What one of us took out by hand stays out.
                let is_out = |entry: &ArchiveEntry<'_>| {
                    base.contains(entry) && !(ours.contains(entry) && theirs.contains(entry))
                };
                let all = ours.iter().chain(&theirs);
                let mut entries: Vec<ArchiveEntry<'_>> =
                    all.filter(|entry| base.is_empty() || !is_out(entry)).cloned().collect();
                archive::sort(&mut entries);
                three_way::put(&path, Some(&archive::write(month, tag, &entries)))
            }
        }
    }

    fn absorb_notes(&self, day: NaiveDate, theirs: &Theirs) -> Result<Option<String>> {
        let path = self.directory.join(&theirs.path);
        fs::refuse_symlinks(&self.directory, &path)?;
        let ours = fs::read_if_exists(&path)?;
        match choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()) {
            Choice::Ours => Ok(None),
            Choice::Theirs => three_way::put(&path, theirs.now.as_deref()).map(|()| None),
            Choice::Merge => {
                let three = [theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()];
                let (merged, doubled) = merge_notes(day, three.map(Option::unwrap_or_default));
                three_way::put(&path, merged.as_deref())?;
                let shown = theirs.path.display();
                Ok((!doubled.is_empty()).then(|| {
                    let keys = doubled.join(", ");
                    format!("`{shown}`: a note has two contents, from two machines; both are kept ({keys})")
                }))
            }
        }
    }

    fn absorb_state(
        &self,
        author: &Author<'_>,
        categories: &Categories,
        theirs: &Theirs,
        their_time: Option<SystemTime>,
    ) -> Result<()> {
        let path = self.directory.join(&theirs.path);
        fs::refuse_symlinks(&self.directory, &path)?;
        let our_time = std::fs::metadata(&path).and_then(|about| about.modified()).ok();
        let ours = fs::read_if_exists(&path)?;
        match choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()) {
            Choice::Ours => Ok(()),
            Choice::Theirs => three_way::put(&path, theirs.now.as_deref()),
            Choice::Merge => {
                let Some(now) = &theirs.now else { return Ok(()) };
                let base = theirs.base.as_deref().map(CurrentState::parse);
                let mut ours = CurrentState::parse(ours.as_deref().unwrap_or_default());
                let mut theirs = CurrentState::parse(now);
                // What people wrote by hand is as new as anything there is.
                let by = super::by(author, ours.newest().max(theirs.newest()));
                let mut told = ours.adopt(&by);
                told.extend(theirs.adopt(&by));
                let merged = merge_state(base.as_ref(), &ours, &theirs, categories, our_time > their_time);
                told.extend(merged.gave_way);
                let new = merged.state.write();
                // What gave way is told, as always; under a name that is the same wherever the same is merged.
                let was = text::digest(&new, 5);
                let author = Author { run: &format!("merge-{was}"), ..*author };
                self.tell(&author, &told, &was)?;
                three_way::put(&path, Some(&new))
            }
        }
    }

    /// Takes out of layer 1 what the archive of its month holds.
    fn suppress_archived(&self, month: Month, tag: &str) -> Result<()> {
        let Some(file) = fs::read_if_exists(&self.archive_path(month, tag))? else { return Ok(()) };
        let archived: BTreeSet<Vec<u8>> =
            archive::parse(&file).into_iter().map(|entry| entry.block.into_owned()).collect();
        let directory = self.directory.join("layer1").join(month.to_string());
        if !directory.is_dir() {
            return Ok(());
        }
        for name in fs::names(&directory)? {
            let Some((_, day)) = compact::split_name(&name).filter(|(found, _)| *found == tag) else { continue };
            let path = directory.join(&name);
            fs::refuse_symlinks(&self.directory, &path)?;
            let Some(file) = fs::read_if_exists(&path)? else { continue };
            let entries = archive::of_notes(&file, day);
            let left: Vec<&ArchiveEntry<'_>> =
                entries.iter().filter(|entry| !archived.contains(entry.block.as_ref())).collect();
            if left.len() < entries.len() {
                three_way::put(&path, write_notes(day, &left).as_deref())?;
            }
        }
        if fs::names(&directory)?.is_empty() {
            fs::remove_empty_directory_lazily(&directory)?;
        }
        Ok(())
    }
}

fn stop_if_pressed(brake: &Brake) -> Result<()> {
    brake.pressed().map_or(Ok(()), |stop| Err(stop.error()))
}

/// `layer3/YYYY-MM-<tag>-archive.md`
fn archive_of(path: &Path) -> Option<(Month, &str)> {
    listing::archive_name(path.strip_prefix("layer3").ok()?.to_str()?)
}

/// `layer1/YYYY-MM/<tag>-YYYY-MM-DD.md`
fn notes_of(path: &Path) -> Option<(&str, NaiveDate)> {
    let below = path.strip_prefix("layer1").ok()?;
    let (month, name) = (below.parent()?.to_str()?, below.file_name()?.to_str()?);
    let (tag, day) = compact::split_name(name)?;
    (month == Month::of(day).to_string()).then_some((tag, day))
}

/// A layer-1 file with just these; `None` if there are none.
fn write_notes(day: NaiveDate, entries: &[&ArchiveEntry<'_>]) -> Option<Vec<u8>> {
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

/// What makes an entry the same in two versions of a file.
fn identity(entry: &ArchiveEntry<'_>) -> Vec<u8> {
    if !entry.is_text {
        entry.block.to_vec()
    } else {
        [b"\0", entry.time.as_bytes(), b"\0", entry.content().trim_ascii()].concat()
    }
}

/// What either side has and neither took out; and the keys of notes that each side gave another content.
fn merge_notes(day: NaiveDate, [base, ours, theirs]: [&[u8]; 3]) -> (Option<Vec<u8>>, Vec<String>) {
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

struct Merged {
    state: CurrentState,
    /// What is in neither layer 2 any more.
    gave_way: Vec<StateChange>,
}

fn merge_state(
    base: Option<&CurrentState>,
    ours: &CurrentState,
    theirs: &CurrentState,
    categories: &Categories,
    is_ours_newer: bool,
) -> Merged {
    let mut state = ours.clone();
    let mut gave_way = Vec::new();
    let names: BTreeSet<&str> =
        ours.sections.iter().chain(&theirs.sections).map(|section| section.category.as_str()).collect();
    for name in names {
        let section = merge_category(name, base, ours, theirs, categories.get(name).keep);
        gave_way.extend(section.dropped.iter().map(|item| StateChange::of(ChangeVerb::Dropped, name, item)));
        gave_way.extend(section.cleared_away.iter().map(|item| StateChange::of(ChangeVerb::Cleared, name, item)));
        state.set_section(name, &section.cleared, section.items, section.gone, &section.texts);
    }
    let (base_text, our_text, their_text) = (base.map(CurrentState::text), ours.text(), theirs.text());
    if their_text != our_text && Some(&their_text) != base_text.as_ref() {
        // Both say where we are: the later day counts, and of one day what was written later.
        let is_later = match ours.date().cmp(&theirs.date()) {
            std::cmp::Ordering::Equal => is_ours_newer,
            order => order.is_gt(),
        };
        let is_ours_kept = Some(&our_text) != base_text.as_ref() && !our_text.trim_ascii().is_empty() && is_later;
        let loser = if is_ours_kept {
            their_text
        } else {
            state.set_text(theirs.date().or(ours.date()).unwrap_or_default(), &their_text);
            our_text
        };
        gave_way.extend(state::replaced_text(&loser).filter(|_| Some(&loser) != base_text.as_ref()));
    }
    Merged { state, gave_way }
}

struct MergedCategory {
    cleared: String,
    items: Vec<Item>,
    gone: Vec<Tombstone>,
    /// What people wrote into the section on the other side.
    texts: Vec<Vec<u8>>,
    dropped: Vec<Item>,
    /// What was said elsewhere before the category was cleared.
    cleared_away: Vec<Item>,
}

fn merge_category(
    name: &str,
    base: Option<&CurrentState>,
    ours: &CurrentState,
    theirs: &CurrentState,
    keep: usize,
) -> MergedCategory {
    let sections = |state: &'_ CurrentState| -> Vec<CategorySection> {
        state.sections.iter().filter(|section| section.category == name).cloned().collect()
    };
    let (our_sections, their_sections) = (sections(ours), sections(theirs));
    let both = || our_sections.iter().chain(&their_sections);
    let cleared = both().map(|section| section.cleared.clone()).max().unwrap_or_default();
    let mut gone: BTreeMap<String, String> = BTreeMap::new();
    for tombstone in both().flat_map(CategorySection::tombstones) {
        let at = gone.entry(tombstone.id.clone()).or_default();
        *at = std::mem::take(at).max(tombstone.at.clone());
    }
    let in_base: BTreeMap<String, Item> = base
        .into_iter()
        .flat_map(sections)
        .flat_map(|section| section.items().cloned().collect::<Vec<_>>())
        .map(|item| (item.id.clone(), item))
        .collect();
    let index = |sections: &[CategorySection]| -> BTreeMap<String, (usize, Item)> {
        let items = sections.iter().flat_map(CategorySection::items).cloned().enumerate();
        items.map(|(place, item)| (item.id.clone(), (place, item))).collect()
    };
    let (our_items, their_items) = (index(&our_sections), index(&their_sections));
    let ids: BTreeSet<&String> = our_items.keys().chain(their_items.keys()).collect();
    let mut items: Vec<(usize, Item)> = Vec::new();
    for id in ids {
        let chosen = match (our_items.get(id), their_items.get(id), in_base.get(id)) {
            (Some(ours), Some(theirs), base) => Some(newer(ours, theirs, base)),
            // The other side took it out by hand, and nobody said it again.
            (Some((_, one)), None, Some(base)) | (None, Some((_, one)), Some(base)) if one == base => None,
            (Some(one), None, _) | (None, Some(one), _) => Some(one),
            (None, None, _) => None,
        };
        items.extend(chosen.cloned());
    }
    items.retain(|(_, item)| gone.get(&item.id).is_none_or(|at| *at < item.at));
    let (kept, cleared_away): (Vec<_>, Vec<_>) = items.into_iter().partition(|(_, item)| item.at >= cleared);
    let mut items = kept;
    gone.retain(|id, _| items.iter().all(|(_, item)| item.id != *id));
    // Of what one session said at once, the order is the order in which it said it.
    items.sort_by(|(a_place, a), (b_place, b)| (&a.at, &a.run, a_place, &a.id).cmp(&(&b.at, &b.run, b_place, &b.id)));
    let beyond = items.len().saturating_sub(keep);
    let dropped = items.drain(..beyond).map(|(_, item)| item).collect();
    let our_texts: BTreeSet<Vec<u8>> = our_sections.iter().flat_map(CategorySection::texts).collect();
    let texts =
        their_sections.iter().flat_map(CategorySection::texts).filter(|text| !our_texts.contains(text)).collect();
    MergedCategory {
        cleared,
        items: items.into_iter().map(|(_, item)| item).collect(),
        gone: gone.into_iter().map(|(id, at)| Tombstone { id, at }).collect(),
        texts,
        dropped,
        cleared_away: cleared_away.into_iter().map(|(_, item)| item).collect(),
    }
}

/// Of two versions of one item: what was said last; of the same time, the one that somebody edited.
fn newer<'i>(ours: &'i (usize, Item), theirs: &'i (usize, Item), base: Option<&Item>) -> &'i (usize, Item) {
    match ours.1.at.cmp(&theirs.1.at) {
        std::cmp::Ordering::Greater => ours,
        std::cmp::Ordering::Less => theirs,
        std::cmp::Ordering::Equal if base.is_some_and(|base| base.text == ours.1.text) => theirs,
        std::cmp::Ordering::Equal if base.is_some_and(|base| base.text == theirs.1.text) => ours,
        std::cmp::Ordering::Equal => std::cmp::max_by_key(ours, theirs, |(_, item)| item.text.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;
    use crate::memory::Edits;

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

    fn said(file: &[u8]) -> BTreeSet<String> {
        archive::of_notes(file, day()).iter().map(|entry| String::from_utf8_lossy(&entry.block).into_owned()).collect()
    }

    fn notes() -> impl Strategy<Value = Vec<(u8, u8)>> {
        proptest::collection::vec((0..6u8, 0..3u8), 0..6)
    }

    #[test]
    fn what_people_wrote_into_a_section_survives_a_merge_to_the_byte() {
        let place = tempfile::tempdir().unwrap();
        let memory = Memory::at(place.path().to_path_buf());
        let categories = Categories::default();
        let at = chrono::DateTime::parse_from_rfc3339("2026-11-15T10:00:00Z").unwrap();
        let author = Author { run: "R", step: "pull", at, agent: "", tag: "t", commit: "", is_late: false };
        let mut edits = Edits::default();
        edits.put("open_loop", vec!["said".to_owned()]);
        memory.say(&author, &categories, &edits).unwrap();
        let base = fs::read(&memory.state_path()).unwrap();
        let with = |item: &[u8]| {
            let end = memchr::memmem::find(&base, b"<!-- /section -->").unwrap();
            [&base[..end], item, &base[end..]].concat()
        };
        fs::replace(&memory.state_path(), &with(b"- ours \xe9\n")).unwrap();
        let theirs = Theirs {
            path: PathBuf::from("layer2/current-state.md"),
            base: Some(base.clone()),
            now: Some(with(b"- theirs \xff\n")),
        };
        memory.absorb(&author, &categories, &[theirs], None, &Brake::new(Vec::new())).unwrap();
        let merged = fs::read(&memory.state_path()).unwrap();
        for item in [&b"\n- said\n"[..], b"\n- ours \xe9\n", b"\n- theirs \xff\n"] {
            assert_eq!(memchr::memmem::find_iter(&merged, item).count(), 1, "{}", String::from_utf8_lossy(&merged));
        }
        let notes = fs::read(&memory.note_path("t", at.date_naive())).unwrap();
        assert!(memchr::memmem::find(&notes, b": ours \\xe9\n").is_some(), "{}", String::from_utf8_lossy(&notes));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_either_side_added_is_there_and_what_either_removed_is_not(base in notes(), ours in notes(), theirs in notes()) {
            let [b, o, t] = [&base, &ours, &theirs].map(|notes| file(notes));
            let (merged, _) = merge_notes(day(), [&b, &o, &t]);
            let merged = said(&merged.unwrap_or_default());
            let [b, o, t] = [b, o, t].map(|file| said(&file));
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
        fn it_does_not_matter_who_merges(base in notes(), ours in notes(), theirs in notes()) {
            let [b, o, t] = [&base, &ours, &theirs].map(|notes| file(notes));
            let (here, _) = merge_notes(day(), [&b, &o, &t]);
            let (there, _) = merge_notes(day(), [&b, &t, &o]);
            prop_assert_eq!(said(&here.unwrap_or_default()), said(&there.unwrap_or_default()));
        }
    }
}
