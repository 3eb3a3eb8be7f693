//! Orders entries and writes the archive that holds them.

use chrono::NaiveDate;

use super::entry::ArchiveEntry;
use crate::memory::{Month, header, marker, rollup};

/// Sorts entries and removes repetitions. Of a text that was archived and then continued, the longer version stays.
pub(crate) fn sort(entries: &mut Vec<ArchiveEntry<'_>>) {
    entries.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    entries.dedup_by(|a, b| a.sort_key() == b.sort_key());
    let outgrown: Vec<bool> = (0..entries.len()).map(|at| is_outgrown(entries, at)).collect();
    let mut outgrown = outgrown.into_iter();
    entries.retain(|_| outgrown.next() != Some(true));
}

/// Whether another text of the same place begins with this one.
fn is_outgrown(entries: &[ArchiveEntry<'_>], at: usize) -> bool {
    let this = &entries[at];
    if !this.is_text {
        return false;
    }
    // Texts of one place are neighbours, because their blocks begin with the same line.
    let is_near = |other: &&ArchiveEntry<'_>| other.is_text && other.opening() == this.opening();
    let others = entries[..at].iter().rev().take_while(is_near).chain(entries[at + 1..].iter().take_while(is_near));
    let text = this.content();
    others.into_iter().any(|other| match other.content().trim_ascii().strip_prefix(text.trim_ascii()) {
        // They differ only in the white space around them: exactly one of the two stays.
        Some([]) => (other.block.len(), &other.block) > (this.block.len(), &this.block),
        rest => rest.is_some(),
    })
}

/// The archive of these entries, which must be sorted.
pub(crate) fn write(month: Month, tag: &str, entries: &[ArchiveEntry<'_>]) -> Vec<u8> {
    let mut file = header("layer3", month.last_day()).into_bytes();
    let month = month.to_string();
    file.extend(format!("{}\n", marker::line("roll-up", &[("month", &month), ("tag", tag)])).bytes());
    file.extend(rollup::write(&month, tag, entries).bytes());
    file.extend(b"<!-- /roll-up -->\n");
    file.reserve(entries.iter().map(|entry| entry.block.len()).sum::<usize>() + 1_000);
    let mut day = "";
    for entry in entries {
        let entry_day = entry.time.get(..10).unwrap_or(&entry.time);
        if entry_day != day {
            day = entry_day;
            if day.parse::<NaiveDate>().is_ok() {
                file.extend(format!("\n## {day}\n\n").bytes());
            }
        }
        file.extend(entry.block.iter());
    }
    file
}
