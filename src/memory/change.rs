//! How the current state changed, told in layer 1: nothing enters or leaves layer 2 without a line here.
//!
//! ```text
//! - added decision 3f2a9c1b07: the item, verbatim;
//!   its further lines are indented
//! - done open_loop 77ab01c2d3: what was open
//! ```

use super::state::{Item, indent, read_bullet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeVerb {
    Added,
    /// Closed, because it is done.
    Done,
    Deleted,
    /// Made way for what was said instead, or for nothing.
    Cleared,
    /// Left because the category was full.
    Dropped,
    /// The free text that another took the place of.
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

/// As the content of a note.
pub fn write(changes: &[StateChange]) -> Vec<u8> {
    let line = |change: &StateChange| {
        format!("- {} {} {}: {}", change.verb.name(), change.category, change.id, indent(&change.text))
    };
    changes.iter().map(line).collect::<Vec<_>>().join("\n").into_bytes()
}

/// The changes that a note's content tells.
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

/// What stands before the text, and how long it is.
fn read_head(line: &[u8]) -> Option<(ChangeVerb, String, String, usize)> {
    let end = line.windows(2).position(|pair| pair == b": ")?;
    let mut words = std::str::from_utf8(&line[..end]).ok()?.strip_prefix("- ")?.split(' ');
    let (verb, category, id) = (words.next()?, words.next()?, words.next()?);
    let (verb, _) = VERBS.iter().find(|(_, name)| *name == verb)?;
    words.next().is_none().then(|| (*verb, category.to_owned(), id.to_owned(), end + 2))
}
