//! Reads the head and the last entries of INDEX.yaml without reading all of a long one.

use super::index::Index;
use super::{History, SessionEntry};
use crate::base::fs::FileError;

/// How many bytes of either end are read.
const END_BYTES: u64 = 32 << 10;

/// The beginning and the end of an index; both are the whole file if it is short.
pub(super) fn read(history: &History) -> Result<Option<(String, String)>, FileError> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(history.anchor.read_ends(&history.index_path(), END_BYTES)?.map(|(start, end)| (text(start), text(end))))
}

/// The number of sessions, from the comment that we write into the first line.
pub(super) fn session_count(start: &str) -> Option<usize> {
    start.lines().next()?.strip_prefix("# sessions: ")?.parse().ok()
}

/// The entry of this session, searched from the end, where the newest entries are.
pub(super) fn find_entry(text: &str, id: &str) -> Option<SessionEntry> {
    let mut end = text.len();
    while let Some(start) = text[..end].rfind("\n  - session_id:") {
        let entry = format!("\nsessions:{}\n", &text[start..end]);
        let parsed = Index::parse(&entry).ok()?.sessions.pop()?;
        if parsed.get("session_id") == id {
            return Some(parsed);
        }
        end = start;
    }
    None
}

/// The entries that are complete in the end of an index.
pub(super) fn entries(end: &str) -> Vec<SessionEntry> {
    let Some(start) = end.find("\n  - session_id:") else { return Vec::new() };
    let entries = format!("\nsessions:{}\n", end[start..].trim_end());
    Index::parse(&entries).map(|index| index.sessions).unwrap_or_default()
}
