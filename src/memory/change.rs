//! Changes of the current state as lines of a note. Nothing enters or leaves layer 2 without such a line in layer 1.
//!
//! ```text
//! - added decision 3f2a9c1b07: the item, verbatim;
//!   its further lines are indented
//! - done open_loop 77ab01c2d3: what was open
//! ```

use super::state::{Item, indent, read_bullet};

/// How an item entered or left the current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeVerb {
    Added,
    /// Closed, because it is done.
    Done,
    Deleted,
    /// Removed because the category was emptied or replaced as a whole.
    Cleared,
    /// Removed because the category was full.
    Dropped,
    /// The free text, replaced by another.
    Replaced,
}

const VERBS: [(ChangeVerb, &str); 6] = [
    (ChangeVerb::Added, "added"),
    (ChangeVerb::Done, "done"),
    (ChangeVerb::Deleted, "deleted"),
    (ChangeVerb::Cleared, "cleared"),
    (ChangeVerb::Dropped, "dropped"),
    (ChangeVerb::Replaced, "replaced"),
];

impl ChangeVerb {
    pub fn name(self) -> &'static str {
        VERBS.iter().find(|(verb, _)| *verb == self).map_or("", |(_, name)| name)
    }
}

/// One change of the current state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StateChange {
    pub verb: ChangeVerb,
    pub category: String,
    pub id: String,
    pub text: String,
}

impl StateChange {
    pub(super) fn of(verb: ChangeVerb, category: &str, item: &Item) -> StateChange {
        StateChange { verb, category: category.to_owned(), id: item.id.clone(), text: item.text.clone() }
    }
}

/// The content of a note that records these changes.
pub fn write(changes: &[StateChange]) -> Vec<u8> {
    let line = |change: &StateChange| {
        format!("- {} {} {}: {}", change.verb.name(), change.category, change.id, indent(&change.text))
    };
    changes.iter().map(line).collect::<Vec<_>>().join("\n").into_bytes()
}

#[cfg(test)]
/// The changes that a note records; none for an ordinary note.
pub fn changes(note: &super::note::Note) -> Vec<StateChange> {
    if note.changes.is_empty() { Vec::new() } else { parse(&note.content) }
}

/// The changes in the content of a note.
pub fn parse(content: &[u8]) -> Vec<StateChange> {
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    let mut changes = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        match read_head(lines[at]) {
            Some((verb, category, id, length)) => {
                let (text, next) = read_bullet(&lines, at, length);
                changes.push(StateChange { verb, category, id, text });
                at = next;
            }
            None => at += 1,
        }
    }
    changes
}

/// The verb, category and id at the beginning of a line, and their length in bytes.
fn read_head(line: &[u8]) -> Option<(ChangeVerb, String, String, usize)> {
    let end = line.windows(2).position(|pair| pair == b": ")?;
    let mut words = std::str::from_utf8(&line[..end]).ok()?.strip_prefix("- ")?.split(' ');
    let (verb, category, id) = (words.next()?, words.next()?, words.next()?);
    let (verb, _) = VERBS.iter().find(|(_, name)| *name == verb)?;
    words.next().is_none().then(|| (*verb, category.to_owned(), id.to_owned(), end + 2))
}
