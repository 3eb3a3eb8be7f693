//! SHA256SUMS: the digest of each archive, so that a change of one is noticed.
//!
//! The lines are sorted by file name, so machines with the same archives have the same file. `sha256sum --check` reads it.
//! An archive without a line was written by another tool or an older version. The next writer adds its line. A line whose
//! archive is gone stays: it shows that the archive is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{FoundArchive, History};
use crate::base::fs::FileError;
use crate::base::text;
use crate::base::three_way::Theirs;
use crate::error::Result;

/// The name of the file.
pub(super) const FILE: &str = "SHA256SUMS";
/// The number of hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// The digests by the file names of the archives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Digests(BTreeMap<String, String>);

impl Digests {
    /// Reads the file. A line of another form is not a digest.
    pub(super) fn parse(bytes: &[u8]) -> Digests {
        let text = String::from_utf8_lossy(bytes);
        let of_line = |line: &str| {
            let (digest, name) = line.split_once("  sessions/")?;
            let is_digest = digest.len() == DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
            (is_digest && !name.is_empty()).then(|| (name.to_owned(), digest.to_ascii_lowercase()))
        };
        Digests(text.lines().filter_map(of_line).collect())
    }

    pub(super) fn render(&self) -> String {
        self.0.iter().map(|(name, digest)| format!("{digest}  sessions/{name}\n")).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether the archive with this content is not the one whose digest was recorded; `None` if none was.
    pub(super) fn is_changed(&self, name: &str, content: &[u8]) -> Option<bool> {
        self.0.get(name).map(|digest| *digest != of(content))
    }

    pub(super) fn set(&mut self, name: &str, content: &[u8]) {
        self.0.insert(name.to_owned(), of(content));
    }

    /// Keeps only the digests of these archives.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_kept(name));
    }

    /// The digests after both sides changed `base`. If both changed the digest of one archive, the digest of `present`,
    /// its content after the merge, decides.
    fn merged(base: &Digests, ours: &Digests, theirs: &Digests, present: impl Fn(&str) -> Option<String>) -> Digests {
        let names: BTreeSet<&String> = ours.0.keys().chain(theirs.0.keys()).collect();
        let choose = |name: &String| {
            let [base, ours, theirs] = [base, ours, theirs].map(|digests| digests.0.get(name));
            let chosen = if theirs == base || theirs == ours {
                ours
            } else if ours == base {
                theirs
            } else {
                let present = present(name);
                [theirs, ours].into_iter().find(|side| *side == present.as_ref()).unwrap_or(theirs)
            };
            Some((name.clone(), chosen?.clone()))
        };
        Digests(names.into_iter().filter_map(choose).collect())
    }
}

/// The digest of an archive.
fn of(content: &[u8]) -> String {
    text::digest(content, DIGITS / 2)
}

impl History {
    pub(super) fn digests_path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    pub(super) fn digests(&self) -> Result<Digests, FileError> {
        Ok(Digests::parse(&self.read_own(&self.digests_path())?.unwrap_or_default()))
    }

    /// The names of archives whose digest is recorded and whose file is gone.
    pub(crate) fn missing_archives(&self) -> Result<Vec<String>> {
        let there: BTreeSet<String> = self.archive_names()?.names.into_iter().collect();
        Ok(self.digests()?.names().filter(|name| !there.contains(*name)).map(str::to_owned).collect())
    }

    /// Those of the archives that are not as they were archived.
    pub(crate) fn changed_archives<'a>(&self, found: &'a [FoundArchive]) -> Result<Vec<&'a FoundArchive>> {
        let digests = self.digests()?;
        let name = |found: &FoundArchive| found.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_changed = |found: &&FoundArchive| {
            name(found).is_some_and(|name| digests.is_changed(&name, found.text.as_bytes()) == Some(true))
        };
        Ok(found.iter().filter(is_changed).collect())
    }

    /// Records the digests of archives that have none, unless this user archived another document under the name. The caller
    /// holds the lock.
    pub(super) fn record_digests(&self) -> Result<()> {
        let (names, mut digests) = (self.archive_names()?.names, self.digests()?);
        if names.iter().all(|name| digests.has(name)) {
            return Ok(());
        }
        let (held, voucher) = (self.holding_archives(), self.voucher());
        for name in names {
            // `validate` reports an archive that cannot be read.
            if !digests.has(&name)
                && let Ok(text) = held.read_archive_text(&self.sessions().join(&name))
                && !self.is_changed(&name, &text, &digests, &voucher)
            {
                digests.set(&name, text.as_bytes());
            }
        }
        self.write_if_changed(&self.digests_path(), &digests.render())
    }

    /// Merges the digests that other machines recorded, after their archives were merged.
    pub(super) fn absorb_digests(&self, theirs: &Theirs) -> Result<()> {
        let read = |bytes: Option<&[u8]>| Digests::parse(bytes.unwrap_or_default());
        let (base, now) = (read(theirs.base.as_deref()), read(theirs.now.as_deref()));
        let present = |name: &str| Some(of(&self.read_own(&self.sessions().join(name)).ok()??));
        let merged = Digests::merged(&base, &self.digests()?, &now, present);
        self.write_if_changed(&self.digests_path(), &merged.render())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(pairs: &[(&str, &str)]) -> Digests {
        let mut digests = Digests::default();
        for (name, content) in pairs {
            digests.set(name, content.as_bytes());
        }
        digests
    }

    #[test]
    fn what_is_written_is_read() {
        let some = digests(&[("b.md", "two"), ("a.md", "one")]);
        let text = some.render();
        assert!(text.starts_with("7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  sessions/a.md\n"));
        assert_eq!(Digests::parse(text.as_bytes()), some);
        assert_eq!(Digests::parse(format!("{text}abc  sessions/c.md\n<<<<<<< ours\n\n").as_bytes()), some);
        let is_changed = [("a.md", "two"), ("a.md", "one"), ("c.md", "")]
            .map(|(name, content)| some.is_changed(name, content.as_bytes()));
        assert_eq!(is_changed, [Some(true), Some(false), None]);
    }

    #[test]
    fn two_machines_merge_to_the_same_digests() {
        let base = digests(&[("a.md", "a"), ("b.md", "b"), ("gone.md", "g")]);
        let one = digests(&[("a.md", "edited"), ("b.md", "b"), ("one.md", "1"), ("both.md", "x"), ("gone.md", "g")]);
        let two = digests(&[("a.md", "a"), ("b.md", "b"), ("two.md", "2"), ("both.md", "y")]);
        let present = |name: &str| (name == "both.md").then(|| of(b"y"));
        let merged = Digests::merged(&base, &one, &two, present);
        assert_eq!(merged, Digests::merged(&base, &two, &one, present));
        let expected = [("a.md", "edited"), ("b.md", "b"), ("both.md", "y"), ("one.md", "1"), ("two.md", "2")];
        assert_eq!(merged, digests(&expected));
        // An archive that changed without its digest keeps the recorded one.
        assert_eq!(Digests::merged(&base, &base, &base, |_| Some(of(b"tampered"))), base);
    }
}
