//! Writes the archive that holds some entries.

use chrono::NaiveDate;

use super::entry::ArchiveEntry;
use crate::memory::{Month, header, marker, rollup};

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
