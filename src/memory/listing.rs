//! Lists the notes of layers 1 and 3 one by one, and measures the layers.

use std::path::Path;

use super::archive::{self, ArchiveEntry};
use super::store::MOST_NOTES;
use super::{Memory, Month, compact};
use crate::base::fs::Anchor;
use crate::config;
use crate::error::{Error, Result};

/// A note, or a foreign text between notes.
pub(crate) struct ListedNote {
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
pub(crate) fn notes(
    memory: &Memory,
    layer: u8,
    tag: Option<&str>,
    visit: &mut dyn FnMut(ListedNote),
) -> Result<Vec<Error>> {
    // With a config of the Python tool, files have the tag in that tool's form.
    let python = tag.and_then(config::python_tag_in_file_names);
    let is_wanted = |found: &str| compact::is_tag(found, tag) || python.as_deref() == Some(found);
    if layer == 3 {
        return archived_notes(memory, &is_wanted, visit);
    }
    let (months, mut unreadable) = months(memory)?;
    for (month, mut days) in months {
        let directory = memory.directory.join("layer1").join(&month);
        let anchor = memory.anchor.holding(&directory);
        days.sort_by(|a, b| {
            compact::split_name(a).map(|(_, day)| day).cmp(&compact::split_name(b).map(|(_, day)| day))
        });
        for name in days {
            let Some((found, day)) = compact::split_name(&name).filter(|(found, _)| is_wanted(found)) else { continue };
            let Some(file) = read(&anchor, &directory.join(&name), &mut unreadable) else { continue };
            archive::of_notes(&file, day).iter().for_each(|entry| visit(listed(entry, found)));
        }
    }
    Ok(unreadable)
}

fn archived_notes(
    memory: &Memory,
    is_wanted: &dyn Fn(&str) -> bool,
    visit: &mut dyn FnMut(ListedNote),
) -> Result<Vec<Error>> {
    let mut unreadable = Vec::new();
    let directory = memory.directory.join("layer3");
    let anchor = memory.anchor.holding(&directory);
    for name in memory.anchor.names(&directory)? {
        let Some((_, found)) = archive_name(&name).filter(|(_, found)| is_wanted(found)) else { continue };
        let Some(file) = read(&anchor, &directory.join(&name), &mut unreadable) else { continue };
        archive::parse(&file).iter().for_each(|entry| visit(listed(entry, found)));
    }
    Ok(unreadable)
}

/// The content of a file. One that cannot be read does not hold up the others.
fn read(anchor: &Anchor, path: &Path, unreadable: &mut Vec<Error>) -> Option<Vec<u8>> {
    match anchor.read_within(path, MOST_NOTES) {
        Ok(file) => return Some(file),
        Err(error) if error.is_absent() => {}
        Err(error) => unreadable.push(error.into()),
    }
    None
}

/// The name of a month, and the names in its directory.
type MonthNames = (String, Vec<String>);

/// The months of layer 1 with the names in each, and errors about months that cannot be listed.
fn months(memory: &Memory) -> Result<(Vec<MonthNames>, Vec<Error>)> {
    let layer = memory.directory.join("layer1");
    let (mut months, mut unreadable) = (Vec::new(), Vec::new());
    for month in memory.anchor.names(&layer)?.into_iter().filter(|name| Month::parse(name).is_some()) {
        match memory.anchor.names(&layer.join(&month)) {
            Ok(names) => months.push((month, names)),
            Err(error) => unreadable.push(error.into()),
        }
    }
    Ok((months, unreadable))
}

fn listed(entry: &ArchiveEntry<'_>, tag: &str) -> ListedNote {
    let text = String::from_utf8_lossy(&entry.content()).into_owned();
    let (run, step, agent) = entry.note().map(|note| (note.run, note.step, note.agent)).unwrap_or_default();
    let at = entry.time.clone().into_owned();
    ListedNote { run, step, at, agent, tag: tag.to_owned(), text, records_changes: entry.records_changes() }
}

/// `YYYY-MM-<tag>-archive.md`
pub(crate) fn archive_name(name: &str) -> Option<(Month, &str)> {
    let stem = name.strip_suffix("-archive.md")?;
    Some((Month::parse(stem.get(..7)?)?, stem.get(7..)?.strip_prefix('-')?))
}

/// How much a memory holds.
pub(crate) struct Measure {
    pub state_bytes: usize,
    pub note_files: usize,
    pub note_months: usize,
    pub archives: usize,
    /// Errors about months that cannot be listed.
    pub unreadable: Vec<Error>,
}

pub(crate) fn measure(memory: &Memory) -> Result<Measure> {
    let (months, unreadable) = months(memory)?;
    let is_note = |name: &&String| compact::split_name(name).is_some();
    let note_files = months.iter().map(|(_, names)| names.iter().filter(is_note).count()).sum();
    let archives = memory.anchor.names(&memory.directory.join("layer3"))?;
    let archives = archives.iter().filter(|name| archive_name(name).is_some()).count();
    let state_bytes = memory.anchor.read_if_exists(&memory.state_path())?.unwrap_or_default().len();
    Ok(Measure { state_bytes, note_files, note_months: months.len(), archives, unreadable })
}
