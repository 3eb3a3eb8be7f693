//! One item of the current state, and what is remembered of one that was removed.

use crate::base::text;

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
}

/// When a change was made, in which run, at which commit and on which branch.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    pub at: String,
    pub run: String,
    pub commit: String,
    pub branch: String,
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
        }
    }

    /// An item that has no marker because somebody wrote it by hand.
    pub(super) fn by_hand(category: &str, text: &str) -> Item {
        let (at, run, commit, branch) = Default::default();
        let nobody = Stamp { at, run, commit, branch };
        Item::new(item_id(category, text, 0), text, &nobody)
    }
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
