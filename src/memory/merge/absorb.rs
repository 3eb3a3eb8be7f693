//! Merges the changes of other machines into the files of a memory.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

use chrono::NaiveDate;

use super::current_state::merge_state;
use super::notes::{merge_entries, merge_notes, not_archived, write_notes};
use crate::base::fs::Depth;
use crate::base::text;
use crate::base::three_way::{self, Choice, Theirs, choose};
use crate::config::category::Categories;
use crate::error::Result;
use crate::guard::Brake;
use crate::memory::archive::{self, ArchiveEntry};
use crate::memory::state::{self, CurrentState};
use crate::memory::{Author, ChangeVerb, Memory, Month, StateChange, change, compact, listing};

impl Memory {
    /// Merges the files that other machines changed into the files here.
    ///
    /// Returns messages about conflicts; both sides of each are kept. `their_time` is when the others last wrote their
    /// current state.
    pub(crate) fn absorb(
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
        self.anchor.create_directories(&self.directory)?;
        let _lock = self.anchor.lock_directory(&self.directory)?;
        self.anchor.sweep_temporaries(&self.directory, Depth::Tree)?;
        let mut conflicts = Vec::new();
        let mut touched = BTreeSet::new();
        // Archives first: notes that an archive holds are then removed from layer 1.
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
                conflicts.extend(self.absorb_notes(day, theirs)?);
                touched.insert((Month::of(day), tag.to_owned()));
            } else if theirs.path == Path::new("layer2/current-state.md") {
                self.absorb_state(author, categories, theirs, their_time)?;
            } else {
                conflicts.extend(three_way::take_over(&self.anchor, &self.directory, theirs)?);
            }
        }
        for (month, tag) in touched {
            self.remove_archived_notes(month, &tag)?;
        }
        Ok(conflicts)
    }

    fn absorb_archive(&self, month: Month, tag: &str, theirs: &Theirs) -> Result<()> {
        let path = self.directory.join(&theirs.path);
        let ours = self.read_notes(&path)?;
        match choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()) {
            Choice::Ours => Ok(()),
            Choice::Theirs => three_way::put(&self.anchor, &path, theirs.now.as_deref()),
            Choice::Merge => {
                let (Some(now), Some(ours)) = (&theirs.now, &ours) else {
                    // One side removed the file and the other changed it: it stays.
                    return three_way::put(&self.anchor, &path, theirs.now.as_deref().or(ours.as_deref()));
                };
                let base = theirs.base.as_deref().map(archive::parse).unwrap_or_default();
                let (entries, _) = merge_entries(&base, &archive::parse(ours), &archive::parse(now));
                three_way::put(&self.anchor, &path, Some(&archive::write(month, tag, &entries)))
            }
        }
    }

    fn absorb_notes(&self, day: NaiveDate, theirs: &Theirs) -> Result<Option<String>> {
        let path = self.directory.join(&theirs.path);
        let ours = self.read_notes(&path)?;
        match choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()) {
            Choice::Ours => Ok(None),
            Choice::Theirs => three_way::put(&self.anchor, &path, theirs.now.as_deref()).map(|()| None),
            Choice::Merge => {
                let three = [theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()];
                let (merged, doubled) = merge_notes(day, three.map(Option::unwrap_or_default));
                three_way::put(&self.anchor, &path, merged.as_deref())?;
                let shown = theirs.path.display();
                Ok((!doubled.is_empty()).then(|| {
                    let keys = doubled.join(", ");
                    format!("`{shown}`: a note differs between two machines; both versions are kept ({keys})")
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
        let our_time = self.anchor.about(&path)?.map(|about| about.modified);
        let ours = self.anchor.read_if_exists(&path)?;
        match choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()) {
            Choice::Ours => Ok(()),
            Choice::Theirs => three_way::put(&self.anchor, &path, theirs.now.as_deref()),
            Choice::Merge => {
                let Some(now) = &theirs.now else { return Ok(()) };
                let base = theirs.base.as_deref().map(CurrentState::parse);
                let mut ours = CurrentState::parse(ours.as_deref().unwrap_or_default());
                let mut theirs = CurrentState::parse(now);
                let before = [ours.clone(), theirs.clone()];
                // Items that people wrote by hand are as new as the newest on either side.
                let stamp = author.stamp(ours.newest().max(theirs.newest()));
                let mut changes = ours.adopt(&stamp);
                changes.extend(theirs.adopt(&stamp));
                let merged = merge_state(base.as_ref(), &ours, &theirs, categories, our_time > their_time);
                let days = before.iter().filter_map(CurrentState::date).collect();
                for change in merged.changes {
                    let is_noted = change.verb == ChangeVerb::Replaced && self.is_noted_on(&days, &change.text)?;
                    changes.extend(Some(change).filter(|_| !is_noted));
                }
                let new = merged.state.write();
                // Every machine that merges the same versions makes the same name of a run.
                let digest = text::digest(&new, 5);
                let author = Author { run: &format!("merge-{digest}"), ..*author };
                self.record_changes(&author, &changes, &digest, self.owns_changes(&changes, &before))?;
                three_way::put(&self.anchor, &path, Some(&new))
            }
        }
    }

    /// Whether a note of one of these days has exactly this text or records that it was replaced, whatever its tag, in layer
    /// 1 or in an archive.
    fn is_noted_on(&self, days: &BTreeSet<NaiveDate>, text: &str) -> Result<bool> {
        let is_replaced = |changed: &StateChange| changed.verb == ChangeVerb::Replaced && changed.text == text;
        let is_it = |entry: &ArchiveEntry<'_>| {
            !entry.is_text
                && (state::readable(&entry.content()) == text
                    || entry.note().is_some_and(|note| {
                        !note.changes.is_empty() && change::parse(&note.content).iter().any(is_replaced)
                    }))
        };
        for day in days {
            let month = Month::of(*day);
            let notes = self.directory.join("layer1").join(month.to_string());
            let is_of_day = |name: &str| compact::split_name(name).is_some_and(|(_, found)| found == *day);
            for file in self.files_named(&notes, is_of_day)? {
                if archive::of_notes(&file, *day).iter().any(is_it) {
                    return Ok(true);
                }
            }
            let is_of_month = |name: &str| listing::archive_name(name).is_some_and(|(found, _)| found == month);
            for file in self.files_named(&self.directory.join("layer3"), is_of_month)? {
                if archive::parse(&file).iter().any(is_it) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The contents of the files in a directory whose names are wanted.
    fn files_named(&self, directory: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Vec<u8>>> {
        let names = self.anchor.names(directory)?.into_iter().filter(|name| is_wanted(name));
        let files = names.map(|name| Ok(self.read_notes(&directory.join(name))?.unwrap_or_default()));
        files.collect()
    }

    /// Removes notes from layer 1 that the archive of their month holds.
    fn remove_archived_notes(&self, month: Month, tag: &str) -> Result<()> {
        let Some(file) = self.read_notes(&self.archive_path(month, tag))? else { return Ok(()) };
        let archived = archive::parse(&file);
        let directory = self.directory.join("layer1").join(month.to_string());
        if self.anchor.about(&directory)?.is_none() {
            return Ok(());
        }
        for name in self.anchor.names(&directory)? {
            let Some((_, day)) = compact::split_name(&name).filter(|(found, _)| *found == tag) else { continue };
            let path = directory.join(&name);
            let Some(file) = self.read_notes(&path)? else { continue };
            if let Some(left) = not_archived(&archive::of_notes(&file, day), &archived) {
                three_way::put(&self.anchor, &path, write_notes(day, &left).as_deref())?;
            }
        }
        if self.anchor.names(&directory)?.is_empty() {
            self.anchor.remove_empty_directory_lazily(&directory)?;
        }
        Ok(())
    }
}

fn stop_if_pressed(brake: &Brake) -> Result<()> {
    brake.pressed().map_or(Ok(()), |stop| Err(stop.error()))
}

/// `layer3/YYYY-MM-<tag>-archive.md`
pub(in crate::memory) fn archive_of(path: &Path) -> Option<(Month, &str)> {
    listing::archive_name(path.strip_prefix("layer3").ok()?.to_str()?)
}

/// `layer1/YYYY-MM/<tag>-YYYY-MM-DD.md`
pub(in crate::memory) fn notes_of(path: &Path) -> Option<(&str, NaiveDate)> {
    let below = path.strip_prefix("layer1").ok()?;
    let (month, name) = (below.parent()?.to_str()?, below.file_name()?.to_str()?);
    let (tag, day) = compact::split_name(name)?;
    (month == Month::of(day).to_string()).then_some((tag, day))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::base::fs;
    use crate::memory::Edits;

    #[test]
    fn text_written_into_a_section_by_hand_survives_a_merge() {
        let place = crate::base::scratch::directory();
        let memory = Memory::at(place.path(), place.path().to_path_buf());
        let categories = Categories::default();
        let at = chrono::DateTime::parse_from_rfc3339("2026-11-15T10:00:00Z").unwrap();
        let author = Author { run: "R", step: "pull", at, agent: "", tag: "t", commit: "", branch: "", is_late: false };
        let mut edits = Edits::default();
        edits.record("open_loop", vec!["said".to_owned()]);
        memory.update_now(&author, &categories, &edits).unwrap();
        let base = std::fs::read(memory.state_path()).unwrap();
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
        let merged = std::fs::read(memory.state_path()).unwrap();
        for item in [&b"\n- said\n"[..], b"\n- ours \xe9\n", b"\n- theirs \xff\n"] {
            assert_eq!(memchr::memmem::find_iter(&merged, item).count(), 1, "{}", String::from_utf8_lossy(&merged));
        }
        let notes = std::fs::read(memory.note_path("t", at.date_naive())).unwrap();
        assert!(memchr::memmem::find(&notes, b": ours \\xe9\n").is_some(), "{}", String::from_utf8_lossy(&notes));
    }
}
