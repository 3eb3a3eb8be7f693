//! Pure parsers of what git prints. They accept any bytes, because a file name may consist of any.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Commit {
    pub id: String,
    pub author: String,
    pub date: String,
    pub subject: String,
}

/// A file that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// git's letter: M, A, D, R, C, T, U, or `?` for an untracked file.
    pub status: char,
    pub path: String,
    /// The old path, if the file was renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
}

/// A file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub path: PathBuf,
    /// The object in the old tree. `None` if there is none, or if it is not a regular file.
    pub old: Option<String>,
    /// The object in the new tree, in the same way.
    pub new: Option<String>,
}

/// Whether this is a full object id and nothing else, so that it can never be read as an option or an expression.
pub(crate) fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hexadecimal(text)
}

/// Whether this is a full object id, or a part long enough to mean one object.
pub(crate) fn is_part_of_id(text: &str) -> bool {
    (7..=64).contains(&text.len()) && is_hexadecimal(text)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Fields of a commit, separated by a character that none of them can contain.
pub(super) const LOG_FORMAT: &str = "--format=%H%x1f%an%x1f%aI%x1f%s";

/// The answer of `git log -z` with `LOG_FORMAT`. A record that was cut off is left out.
pub(super) fn log(answer: &[u8]) -> Vec<Commit> {
    fields(answer)
        .filter_map(|record| {
            let record = text(record);
            let mut parts = record.splitn(4, '\u{1f}').map(str::to_owned);
            let (id, author, date, subject) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
            is_object_id(&id).then_some(Commit { id, author, date, subject })
        })
        .collect()
}

/// The answer of `git diff-tree -z --name-status`: a letter, then one path, or two for renames and copies.
pub(super) fn name_status(answer: &[u8]) -> Vec<Change> {
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
pub(super) fn status(answer: &[u8]) -> Vec<Change> {
    let mut fields = fields(answer);
    let mut changes = Vec::new();
    while let Some(record) = fields.next() {
        // Each record ends in the path, after a fixed number of words. The old path of a rename is the next field.
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
            // The first letter is the staged change, the second the unstaged one. A dot means unchanged.
            _ => letters.iter().copied().find(|letter| *letter != b'.').map_or('M', char::from),
        };
        changes.push(Change { status, path: text(path), from });
    }
    changes
}

/// The answer of `git diff-tree -z --raw`: `:100644 100644 <old> <new> M\0path\0…`. Only regular files count.
pub(super) fn raw_differences(answer: &[u8]) -> Vec<Difference> {
    let mut fields = answer.split(|byte| *byte == 0);
    let mut differences = Vec::new();
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let head = String::from_utf8_lossy(head).into_owned();
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        if let [old_mode, new_mode, old, new, _] = words.as_slice() {
            let side = |mode: &str, id: &str| mode.starts_with("100").then(|| id.to_owned());
            let path = Path::new(OsStr::from_bytes(path)).to_path_buf();
            differences.push(Difference { path, old: side(old_mode, old), new: side(new_mode, new) });
        }
    }
    differences
}

/// The answer of `git ls-files --unmerged -z`: `100644 <id> <stage>\tpath\0…`, once for each side. Each path counts once.
pub(super) fn unmerged(answer: &[u8]) -> Vec<PathBuf> {
    let path = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        Some(Path::new(OsStr::from_bytes(&entry[tab + 1..])).to_path_buf())
    };
    let mut paths: Vec<PathBuf> = answer.split(|byte| *byte == 0).filter_map(path).collect();
    paths.dedup();
    paths
}

/// The answer of `git ls-files --stage -z`: `100644 <id> <stage>\tpath\0…`. The mode and the path of each file, without links.
pub(super) fn staged_files(answer: &[u8]) -> Vec<(String, PathBuf)> {
    let file = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let mode = String::from_utf8_lossy(entry[..tab].split(|byte| *byte == b' ').next()?).into_owned();
        mode.starts_with("100").then(|| (mode, Path::new(OsStr::from_bytes(&entry[tab + 1..])).to_path_buf()))
    };
    answer.split(|byte| *byte == 0).filter_map(file).collect()
}

/// The answer of `git check-attr -z`: path, attribute and value. The paths that have one of the attributes.
pub(super) fn attributed(answer: &[u8]) -> HashSet<PathBuf> {
    let fields: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
    let has_one = |field: &&[&[u8]]| !matches!(field[2], b"unspecified" | b"unset");
    fields.chunks_exact(3).filter(has_one).map(|field| Path::new(OsStr::from_bytes(field[0])).to_path_buf()).collect()
}

/// The answer of `git ls-tree -r -z`: `100644 blob <id>\tpath\0…`. Each file counts as new.
pub(super) fn tree(answer: &[u8]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for entry in answer.split(|byte| *byte == 0) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let head = String::from_utf8_lossy(&entry[..tab]).into_owned();
        let words: Vec<&str> = head.split(' ').collect();
        if let [mode, _, id] = words.as_slice() {
            let new = mode.starts_with("100").then(|| (*id).to_owned());
            let path = Path::new(OsStr::from_bytes(&entry[tab + 1..])).to_path_buf();
            differences.push(Difference { path, old: None, new });
        }
    }
    differences
}

fn fields(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

/// A name that is not UTF-8 is still shown, with replacement characters.
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

    #[test]
    fn raw_differences_know_regular_files() {
        let answer = b":100644 000000 aa 00 D\0gone\0:000000 120000 00 bb A\0link\0:100644 100755 aa cc M\0a\tb\0";
        let found: Vec<_> = raw_differences(answer).into_iter().map(|d| (d.path, d.old, d.new)).collect();
        let id = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [
                (PathBuf::from("gone"), id("aa"), None),
                (PathBuf::from("link"), None, None),
                (PathBuf::from("a\tb"), id("aa"), id("cc")),
            ]
        );
    }

    proptest! {
        #[test]
        fn no_answer_makes_a_parser_panic(answer in proptest::collection::vec(any::<u8>(), 0..300)) {
            log(&answer);
            name_status(&answer);
            status(&answer);
            raw_differences(&answer);
            tree(&answer);
        }
    }
}
