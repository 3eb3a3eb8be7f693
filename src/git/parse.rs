//! Pure parsers of what git prints. They take any bytes: a file name may be one.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub id: String,
    pub author: String,
    pub date: String,
    pub subject: String,
}

/// A file that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// git's letter: M, A, D, R, C, T, U, or `?` for a file it does not know.
    pub status: char,
    pub path: String,
    /// Where it was, if it was renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
}

/// Fields of a commit, parted by a character that cannot be in any of them.
pub const LOG_FORMAT: &str = "--format=%H%x1f%an%x1f%aI%x1f%s";

/// The answer of `git log -z` with that format. A record that was cut off is left out.
pub fn log(answer: &[u8]) -> Vec<Commit> {
    fields(answer)
        .filter_map(|record| {
            let record = text(record);
            let mut parts = record.splitn(4, '\u{1f}').map(str::to_owned);
            let (id, author, date, subject) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
            super::is_object_id(&id).then_some(Commit { id, author, date, subject })
        })
        .collect()
}

/// The answer of `git diff-tree -z --name-status`: a letter, then one path, or two for renames and copies.
pub fn name_status(answer: &[u8]) -> Vec<Change> {
    let mut fields = fields(answer);
    let mut changes = Vec::new();
    while let Some(letter) = fields.next().and_then(|field| field.first().copied()) {
        let (Some(first), second) = (fields.next(), if matches!(letter, b'R' | b'C') { fields.next() } else { None })
        else {
            break;
        };
        let (path, from) = match second {
            Some(path) => (path, Some(text(first))),
            None => (first, None),
        };
        changes.push(Change { status: char::from(letter), path: text(path), from });
    }
    changes
}

/// The answer of `git status --porcelain=v2 -z`.
pub fn status(answer: &[u8]) -> Vec<Change> {
    let mut fields = fields(answer);
    let mut changes = Vec::new();
    while let Some(record) = fields.next() {
        // Ordinary and unmerged entries end in the path after a fixed number of words; so do renames, whose old path
        // is a field of its own.
        let (skip, from) = match record.first() {
            Some(b'1') => (8, None),
            Some(b'2') => (9, fields.next().map(text)),
            Some(b'u') => (10, None),
            Some(b'?') => (1, None),
            _ => continue,
        };
        let words: Vec<&[u8]> = record.splitn(skip + 1, |byte| *byte == b' ').collect();
        let (Some(letters), Some(path)) = (words.get(1), words.get(skip)) else { continue };
        let status = match record[0] {
            b'?' => '?',
            b'u' => 'U',
            // What was staged says more than what came after; a dot means unchanged.
            _ => letters.iter().copied().find(|letter| *letter != b'.').map_or('M', char::from),
        };
        changes.push(Change { status, path: text(path), from });
    }
    changes
}

fn fields(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

/// A name that is not UTF-8 is still shown, with what cannot be read replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn renames_and_odd_names_are_read() {
        let answer = b"M\0a b\nc\0R087\0old\0new\0D\0bad\xffname\0";
        let changes = name_status(answer);
        assert_eq!(changes[0], Change { status: 'M', path: "a b\nc".to_owned(), from: None });
        assert_eq!(changes[1], Change { status: 'R', path: "new".to_owned(), from: Some("old".to_owned()) });
        assert_eq!(changes[2].path, "bad\u{fffd}name");
    }

    #[test]
    fn every_record_of_status_is_read() {
        let answer = b"# branch.oid x\x001 .M N... 100644 100644 100644 1 2 a b\x002 R. N... 100644 100644 100644 1 2 R100 new\0old\0\
            u UU N... 1 2 3 4 5 6 7 both\0? new file\0! ignored\0";
        let changes: Vec<String> =
            status(answer).into_iter().map(|c| format!("{} {} {:?}", c.status, c.path, c.from)).collect();
        assert_eq!(changes, ["M a b None", "R new Some(\"old\")", "U both None", "? new file None"]);
    }

    proptest! {
        #[test]
        fn no_answer_makes_a_parser_panic(answer in proptest::collection::vec(any::<u8>(), 0..300)) {
            log(&answer);
            name_status(&answer);
            status(&answer);
        }
    }
}
