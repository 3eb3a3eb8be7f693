//! A passage: the smallest text that a search finds, and the document that it belongs to.

/// How many files of one passage are kept by name.
const MAX_NAMED: usize = 20;

/// What a passage is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PassageKind {
    /// A person asked for something.
    #[default]
    Request,
    /// The agent said something.
    Answer,
    /// A person decided something: an answer to a question, a reason for a refusal, a decision in memory.
    Ruling,
    /// Commands that were run and files that were edited.
    Command,
    /// A command that failed, with the lines that name the error.
    Error,
    /// A session note.
    Note,
    /// An item of the current state.
    Item,
    /// A section of a handoff.
    Handoff,
    /// A note of a month that is archived.
    Archive,
}

/// Every kind with its name, in the order of the numbers in the index.
const KINDS: [(PassageKind, &str); 9] = [
    (PassageKind::Request, "request"),
    (PassageKind::Answer, "answer"),
    (PassageKind::Ruling, "ruling"),
    (PassageKind::Command, "command"),
    (PassageKind::Error, "error"),
    (PassageKind::Note, "note"),
    (PassageKind::Item, "item"),
    (PassageKind::Handoff, "handoff"),
    (PassageKind::Archive, "archive"),
];

impl PassageKind {
    pub(crate) fn name(self) -> &'static str {
        KINDS[self.position()].1
    }

    pub(crate) fn of_name(name: &str) -> Option<PassageKind> {
        KINDS.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(_, name)| *name)
    }

    /// The number that stands for it in the index.
    pub(super) fn number(self) -> i64 {
        self.position() as i64
    }

    pub(super) fn of_number(number: i64) -> PassageKind {
        usize::try_from(number).ok().and_then(|number| KINDS.get(number)).map_or(PassageKind::Answer, |(kind, _)| *kind)
    }

    fn position(self) -> usize {
        KINDS.iter().position(|(kind, _)| *kind == self).unwrap_or(0)
    }

    /// Whether it is part of a talk, in which neighbours belong together.
    pub(super) fn is_talk(self) -> bool {
        matches!(self, PassageKind::Request | PassageKind::Answer | PassageKind::Ruling | PassageKind::Handoff)
    }
}

/// A passage that is about to be indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub kind: PassageKind,
    /// Seconds since 1970, if the time is known.
    pub at: Option<i64>,
    pub text: String,
}

/// A session, a note, an item or a handoff: what one hit of a search stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Document {
    /// The agent's id of the session; empty if there is none.
    pub session: String,
    /// The id of the handoff; empty for anything else.
    pub handoff: String,
    pub title: String,
    pub agent: String,
    pub branch: String,
    /// The first and the last time, in seconds since 1970.
    pub started: Option<i64>,
    pub ended: Option<i64>,
    /// Of these times no more than the day is known.
    pub is_day: bool,
    /// What identifies it in the user's own record, and the run that it names; empty for a transcript, which is this user's own.
    pub own_key: String,
    pub run: String,
    /// It is a handoff that was imported.
    pub is_from_outside: bool,
    pub passages: Vec<Passage>,
    /// The words of each passage, as [`super::words::line`] writes them; empty if nobody looked for them yet.
    pub terms: Vec<String>,
    /// The files that it edited.
    pub touched: Vec<Touched>,
    /// The commands that passed or failed in it.
    pub ran: Vec<Ran>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ran {
    /// The command as [`super::action::normalised`] writes it.
    pub command: String,
    pub at: Option<i64>,
    pub has_passed: bool,
    /// The first line that names the error.
    pub error: String,
}

/// The files that a text names: words with a dot and an ending, or with a slash, without what surrounds them.
pub(super) fn named_files(text: &str) -> Vec<&str> {
    let is_edge = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '/');
    let words =
        text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | '<' | '>' | ',' | ';'));
    let mut found: Vec<&str> = Vec::new();
    for word in words {
        // A line number may follow a path.
        let word = word.split(':').next().unwrap_or(word).trim_start_matches("./");
        let path = word.trim_end_matches(is_edge).trim_start_matches(|c: char| is_edge(c) && c != '.');
        let name = path.rsplit('/').next().unwrap_or(path);
        let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
            // "e.g." and "i.e." are no files.
            let is_name = (1..=8).contains(&ending.len()) && stem.len() + ending.len() > 2;
            is_name && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        });
        let is_file = has_ending || path.contains('/') && !name.is_empty();
        if is_file && found.len() < MAX_NAMED && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// A file that a session edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    /// Relative to the project.
    pub path: String,
    pub at: Option<i64>,
}

/// The longest passage in bytes. Longer texts are split, because a long passage has some of every word.
const MAX_PASSAGE: usize = 900;

/// The parts of a text of at most a passage's length, split between paragraphs, lines or sentences.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while rest.len() > MAX_PASSAGE {
        let (part, after) = rest.split_at(split_point(rest));
        parts.push(part.trim_end());
        rest = after.trim_start();
    }
    parts.push(rest);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The best place to split within a passage's length: the later, the better, and never inside of a character.
fn split_point(text: &str) -> usize {
    let head = crate::base::text::cut(text, MAX_PASSAGE);
    let after = |mark: &str| head.rfind(mark).map(|at| at + mark.len()).filter(|at| *at > MAX_PASSAGE / 3);
    ["\n\n", "\n", ". ", "。", " "].iter().find_map(|mark| after(mark)).unwrap_or(head.len()).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_has_a_number_and_a_name() {
        for (number, (kind, name)) in KINDS.iter().enumerate() {
            assert_eq!((kind.number(), kind.name()), (number as i64, *name));
            assert_eq!(PassageKind::of_number(kind.number()), *kind);
            assert_eq!(PassageKind::of_name(name), Some(*kind));
        }
    }

    #[test]
    fn long_texts_are_split_between_paragraphs() {
        let paragraph = "word ".repeat(100);
        let text = format!("{paragraph}\n\n{paragraph}\n\n{paragraph}");
        assert_eq!(split(&text), [paragraph.trim(); 3]);
        assert_eq!(split("  short  "), ["short"]);
        assert_eq!(split(""), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn nothing_of_any_text_is_lost(text in "[a-zé。 \n.]{0,4000}") {
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&split(&text).concat()), letters(&text));
            prop_assert!(split(&text).iter().all(|part| part.len() <= MAX_PASSAGE));
        }
    }
}
