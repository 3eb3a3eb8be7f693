//! Writes the current state as a file.

use super::bullet::indent;
use super::current::CurrentState;
use super::item::{Item, Tombstone};
use super::section::{CategorySection, SectionPart};
use crate::memory::marker;

pub(super) const SECTION_CLOSE: &str = "<!-- /section -->\n";

impl CurrentState {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for section in &self.sections {
            section.write(&mut file);
        }
        if !self.rest.is_empty() {
            end_line(&mut file);
        }
        file.extend(&self.rest);
        file
    }
}

impl CategorySection {
    fn write(&self, file: &mut Vec<u8>) {
        if !self.before.is_empty() {
            end_line(file);
        }
        file.extend(&self.before);
        end_line(file);
        file.extend(&self.open);
        for part in &self.parts {
            let (SectionPart::Item(_, bytes) | SectionPart::Tombstone(_, bytes) | SectionPart::Text(bytes)) = part;
            end_line(file);
            file.extend(bytes);
        }
        if !self.close.is_empty() {
            end_line(file);
        }
        file.extend(&self.close);
    }
}

/// Ends the last line. A file that was read may lack its last newline, and more may follow now.
fn end_line(file: &mut Vec<u8>) {
    if !file.is_empty() && !file.ends_with(b"\n") {
        file.push(b'\n');
    }
}

pub(super) fn section_open(category: &str, cleared: &str) -> Vec<u8> {
    format!("{}\n", marker::line("section", &[("name", category), ("cleared", cleared)])).into_bytes()
}

pub(super) fn tombstone(tombstone: &Tombstone) -> Vec<u8> {
    format!("{}\n", marker::line("gone", &[("id", &tombstone.id), ("at", &tombstone.at)])).into_bytes()
}

pub(super) fn item(item: &Item) -> Vec<u8> {
    let attributes = [
        ("id", item.id.as_str()),
        ("at", &item.at),
        ("since", &item.since),
        ("run", &item.run),
        ("commit", &item.commit),
        ("branch", &item.branch),
        ("by", &item.by),
    ];
    let mut bytes = format!("{}\n", marker::line("item", &attributes)).into_bytes();
    match item.bytes.as_slice() {
        [] => bytes.extend(format!("- {}\n", indent(&item.text)).bytes()),
        as_read => bytes.extend(as_read),
    }
    bytes
}
