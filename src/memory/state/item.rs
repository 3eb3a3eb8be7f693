//! One item of the current state, and what is remembered of one that was removed.

use chrono::{DateTime, TimeDelta, Utc};

use crate::base::{clock, ids, text};
use crate::memory::marker_time;

/// The mark of a ruling that a person made in the talk.
pub(crate) const BY_PERSON: &str = "person";

/// One statement of a session or a person, verbatim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub id: String,
    pub text: String,
    /// The bytes of the list item if they are not UTF-8; `text` is then a readable form of them. Empty otherwise.
    pub(super) bytes: Vec<u8>,
    /// When it was last stated, in UTC; empty if somebody wrote it by hand.
    pub at: String,
    /// When it was first stated, if that was earlier.
    pub since: String,
    pub run: String,
    pub commit: String,
    /// The branch that was checked out; empty if it is unknown.
    pub branch: String,
    /// Who said it, if that is known: [`BY_PERSON`], or the agent or file that it was imported from.
    pub by: String,
}

/// When a change was made, in which run, at which commit and on which branch.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    pub at: String,
    pub run: String,
    pub commit: String,
    pub branch: String,
    pub by: String,
    /// When exactly, to order changes within one second. `None` for a change that is newer than everything in the file.
    pub moment: Option<DateTime<Utc>>,
}

impl Stamp {
    /// Whether the item was stated before this change, or in the same moment.
    pub(super) fn follows(&self, item: &Item) -> bool {
        let is_stated_later =
            |moment: &DateTime<Utc>| ids::time_of_run_id(&item.run).is_some_and(|stated| stated > *moment);
        item.at < self.at || item.at == self.at && !self.moment.as_ref().is_some_and(is_stated_later)
    }
}

/// An item that was deleted or done. It is remembered so that another machine's copy does not bring it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub id: String,
    pub at: String,
}

impl Item {
    pub(super) fn new(id: String, text: &str, stamp: &Stamp) -> Item {
        Item {
            id,
            text: text.to_owned(),
            bytes: Vec::new(),
            at: stamp.at.clone(),
            since: String::new(),
            run: stamp.run.clone(),
            commit: stamp.commit.clone(),
            branch: stamp.branch.clone(),
            by: stamp.by.clone(),
        }
    }

    /// An item that has no marker because somebody wrote it by hand.
    pub(super) fn by_hand(category: &str, text: &str) -> Item {
        let (at, run, commit, branch) = Default::default();
        let nobody = Stamp { at, run, commit, branch, by: String::new(), moment: None };
        Item::new(item_id(category, text, 0), text, &nobody)
    }
}

/// The second after a time, in the form that markers have. A time that cannot be read stays as it is.
pub(in crate::memory) fn second_after(time: &str) -> String {
    let next = clock::parse_stamp(time).and_then(|time| time.checked_add_signed(TimeDelta::seconds(1)));
    next.map_or_else(|| time.to_owned(), |next| marker_time(&next))
}

/// The id of a text: the same on every machine. A `salt` other than 0 gives another id, for when the first is taken.
pub(in crate::memory) fn item_id(category: &str, text: &str, salt: u32) -> String {
    let salt = if salt == 0 { String::new() } else { format!("\0{salt}") };
    text::digest(format!("{category}\0{text}{salt}").as_bytes(), 5)
}

/// Normalises an incoming item: line ends become `\n`, white space around it is removed.
pub(crate) fn tidy(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned()
}

/// Bytes as tidy text, for comparing and reporting.
pub(in crate::memory) fn readable(text: &[u8]) -> String {
    tidy(&text::of_bytes(text))
}
