//! Lists the notes of layers 1 and 3 one by one, and measures the layers.

use std::path::Path;

use super::archive::{self, ArchiveEntry};
use super::{Memory, Month, compact};
use crate::base::fs;
use crate::error::{Error, Result};

/// A note, or a foreign text between notes.
pub struct ListedNote {
    /// Empty for a foreign text.
    pub run: String,
    pub step: String,
    pub at: String,
    pub agent: String,
    pub tag: String,
    pub text: String,
    /// It is our own record of how the current state changed.
    pub records_changes: bool,
}

/// Calls `visit` for every note of a layer, oldest month first. Only one file is in memory at a time.
///
/// Returns errors about files that cannot be read.
pub fn notes(memory: &Memory, layer: u8, tag: Option<&str>, visit: &mut dyn FnMut(ListedNote)) -> Result<Vec<Error>> {
    let is_wanted = |found: &str| compact::is_tag(found, tag);
    let mut unreadable = Vec::new();
    let mut read = |path: &Path| match fs::read_seen(path) {
        Ok(file) => file.map(|(content, _)| content).unwrap_or_default(),
        Err(error) => {
            unreadable.push(error);
            Vec::new()
        }
    };
    if layer == 3 {
        for name in names(&memory.directory.join("layer3"))? {
            let Some((_, found)) = archive_name(&name).filter(|(_, found)| is_wanted(found)) else { continue };
            let file = read(&memory.directory.join("layer3").join(&name));
            archive::parse(&file).iter().for_each(|entry| visit(listed(entry, found)));
        }
        return Ok(unreadable);
    }
    let directory = memory.directory.join("layer1");
    for month in names(&directory)?.into_iter().filter(|name| Month::parse(name).is_some()) {
        let mut days: Vec<_> = names(&directory.join(&month))?;
        days.sort_by(|a, b| {
            compact::split_name(a).map(|(_, day)| day).cmp(&compact::split_name(b).map(|(_, day)| day))
        });
        for name in days {
            let Some((found, day)) = compact::split_name(&name).filter(|(found, _)| is_wanted(found)) else { continue };
            let file = read(&directory.join(&month).join(&name));
            archive::of_notes(&file, day).iter().for_each(|entry| visit(listed(entry, found)));
        }
    }
    Ok(unreadable)
}

fn listed(entry: &ArchiveEntry<'_>, tag: &str) -> ListedNote {
    let text = String::from_utf8_lossy(&entry.content()).into_owned();
    let (run, step, agent) = entry.note().map(|note| (note.run, note.step, note.agent)).unwrap_or_default();
    let at = entry.time.clone().into_owned();
    ListedNote { run, step, at, agent, tag: tag.to_owned(), text, records_changes: entry.records_changes() }
}

/// `YYYY-MM-<tag>-archive.md`
pub fn archive_name(name: &str) -> Option<(Month, &str)> {
    let stem = name.strip_suffix("-archive.md")?;
    Some((Month::parse(stem.get(..7)?)?, stem.get(7..)?.strip_prefix('-')?))
}

fn names(directory: &Path) -> Result<Vec<String>> {
    let mut names = if directory.is_dir() { fs::names(directory)? } else { Vec::new() };
    names.sort_unstable();
    Ok(names)
}

/// How much a memory holds.
pub struct Measure {
    pub state_bytes: usize,
    pub note_files: usize,
    pub note_months: usize,
    pub archives: usize,
}

pub fn measure(memory: &Memory) -> Result<Measure> {
    let layer1 = memory.directory.join("layer1");
    let months: Vec<String> = names(&layer1)?.into_iter().filter(|name| Month::parse(name).is_some()).collect();
    let mut note_files = 0;
    for month in &months {
        note_files += names(&layer1.join(month))?.iter().filter(|name| compact::split_name(name).is_some()).count();
    }
    let archives = names(&memory.directory.join("layer3"))?.iter().filter(|name| archive_name(name).is_some()).count();
    let state_bytes = fs::read_if_exists(&memory.state_path())?.unwrap_or_default().len();
    Ok(Measure { state_bytes, note_files, note_months: months.len(), archives })
}
