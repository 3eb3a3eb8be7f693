//! SHA256SUMS: the digest of each archive, so that a change of one is noticed.
//!
//! The lines are sorted by file name, so machines with the same archives have the same file. `sha256sum --check` reads it.
//! An archive without a line was written by another tool or an older version. The next writer adds its line. A line whose
//! archive is gone stays: it shows that the archive is missing.
//!
//! The last line is a comment with a digest of the others. If it is missing or wrong, the file was cut or edited, and an
//! archive without a line may have had one. The next writer then adds only lines of archives that this user wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{History, own_keys};
use crate::base::fs::FileError;
use crate::base::text;
use crate::base::three_way::Theirs;
use crate::error::Result;

/// The name of the file.
pub(super) const FILE: &str = "SHA256SUMS";
/// The number of hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// The digests of the archives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Digests {
    /// By the file names of the archives.
    lines: BTreeMap<String, String>,
    /// Lines may be missing, because the file does not end as it was written.
    is_cut: bool,
}

impl Digests {
    /// Reads the file. A line of another form is not a digest. A file that does not exist is not cut: an older version wrote
    /// none.
    fn of_file(bytes: Option<&[u8]>) -> Digests {
        bytes.map(Digests::parse).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Digests {
        let text = String::from_utf8_lossy(bytes);
        let of_line = |line: &str| {
            let (digest, name) = line.split_once("  sessions/")?;
            let is_digest = digest.len() == DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
            (is_digest && !name.is_empty()).then(|| (name.to_owned(), digest.to_ascii_lowercase()))
        };
        let whole = Digests { lines: text.lines().filter_map(of_line).collect(), is_cut: false };
        let end = whole.end();
        let is_cut = !text.lines().any(|line| line == end);
        Digests { is_cut, ..whole }
    }

    pub(super) fn render(&self) -> String {
        let lines = self.render_lines();
        if self.is_cut { lines } else { format!("{lines}{}\n", self.end()) }
    }

    fn render_lines(&self) -> String {
        self.lines.iter().map(|(name, digest)| format!("{digest}  sessions/{name}\n")).collect()
    }

    /// The last line of the file.
    fn end(&self) -> String {
        let lines = text::count(self.lines.len(), "line");
        format!("# {lines}, digest {}", text::digest(self.render_lines().as_bytes(), DIGITS / 4))
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn count(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.lines.keys().map(String::as_str)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.lines.contains_key(name)
    }

    /// Whether the line of an archive may have been lost.
    pub(super) fn has_lost(&self, name: &str) -> bool {
        self.is_cut && !self.has(name)
    }

    /// Whether the archive with this content is not the one whose digest was recorded; `None` if none was.
    pub(super) fn is_changed(&self, name: &str, content: &[u8]) -> Option<bool> {
        self.lines.get(name).map(|digest| *digest != of(content))
    }

    pub(super) fn set(&mut self, name: &str, content: &[u8]) {
        self.lines.insert(name.to_owned(), of(content));
    }

    /// Keeps only the digests of these archives.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.lines.retain(|name, _| is_kept(name));
    }

    /// Every archive that has a digest has its line now.
    pub(super) fn is_whole_again(&mut self) {
        self.is_cut = false;
    }

    /// The digests after both sides changed `base`. If both changed the digest of one archive, the digest of `present`,
    /// its content after the merge, decides. A line that one side lost is not removed by that.
    fn merged(base: &Digests, ours: &Digests, theirs: &Digests, present: impl Fn(&str) -> Option<String>) -> Digests {
        let is_cut = ours.is_cut || theirs.is_cut;
        let names: BTreeSet<&String> = [base, ours, theirs].into_iter().flat_map(|side| side.lines.keys()).collect();
        let choose = |name: &String| {
            let before = base.lines.get(name);
            let of_side =
                |side: &'_ Digests| side.lines.get(name).cloned().or_else(|| before.filter(|_| side.is_cut).cloned());
            let (base, ours, theirs) = (before.cloned(), of_side(ours), of_side(theirs));
            let chosen = if theirs == base || theirs == ours {
                ours
            } else if ours == base {
                theirs
            } else {
                let present = present(name);
                if ours == present { ours } else { theirs }
            };
            Some((name.clone(), chosen?))
        };
        Digests { lines: names.into_iter().filter_map(choose).collect(), is_cut }
    }
}

/// The digest of an archive.
pub(super) fn of(content: &[u8]) -> String {
    text::digest(content, DIGITS / 2)
}

impl History {
    pub(super) fn digests_path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    pub(super) fn digests(&self) -> Result<Digests, FileError> {
        Ok(Digests::of_file(self.read_own(&self.digests_path())?.as_deref()))
    }

    /// Records the digests of archives that have none, unless this user archived another document under the name. If lines
    /// were lost, only archives that this user wrote get one. The caller holds the lock.
    pub(super) fn record_digests(&self) -> Result<()> {
        let (names, mut digests) = (self.archive_names()?.names, self.digests()?);
        if !digests.is_cut && names.iter().all(|name| digests.has(name)) {
            return Ok(());
        }
        let (held, voucher) = (self.holding_archives(), self.voucher());
        for name in &names {
            // `validate` reports an archive that cannot be read.
            if !digests.has(name)
                && let Ok(text) = held.read_archive_text(&self.sessions().join(name))
                && !self.is_changed(name, &text, &digests, &voucher)
                && (!digests.is_cut || voucher.has(&own_keys::of_text(&text)))
            {
                digests.set(name, text.as_bytes());
            }
        }
        digests.is_cut &= !names.iter().all(|name| digests.has(name));
        self.write_if_changed(&self.digests_path(), &digests.render())
    }

    /// Merges the digests that other machines recorded, after their archives were merged.
    pub(super) fn absorb_digests(&self, theirs: &Theirs) -> Result<()> {
        // A side that removed the file has lost all lines.
        let is_cut = theirs.base.is_some();
        let read = |bytes: Option<&[u8]>| bytes.map_or(Digests { is_cut, ..Digests::default() }, Digests::parse);
        let (base, now) = (read(theirs.base.as_deref()), read(theirs.now.as_deref()));
        let ours = read(self.read_own(&self.digests_path())?.as_deref());
        let present = |name: &str| Some(of(&self.read_own(&self.sessions().join(name)).ok()??));
        let merged = Digests::merged(&base, &ours, &now, present);
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
    fn a_file_that_was_cut_anywhere_shows_it() {
        let text = digests(&[("a.md", "one"), ("b.md", "two")]).render();
        for length in 0..text.len() - 1 {
            let cut = Digests::parse(&text.as_bytes()[..length]);
            assert!(cut.is_cut() && cut.count() <= 2, "{length}");
            assert_eq!(Digests::parse(cut.render().as_bytes()), cut, "writing it again does not hide it");
        }
        assert!(!Digests::parse(text.as_bytes()).is_cut() && !Digests::of_file(None).is_cut());
        let without_one: String = text.split_inclusive('\n').skip(1).collect();
        assert!(Digests::parse(without_one.as_bytes()).has_lost("a.md"));
    }

    #[test]
    fn a_merge_brings_back_the_lines_that_one_side_lost() {
        let base = digests(&[("a.md", "a"), ("b.md", "b")]);
        let cut = Digests { is_cut: true, ..digests(&[("a.md", "a")]) };
        let theirs = digests(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c")]);
        for merged in [Digests::merged(&base, &cut, &theirs, |_| None), Digests::merged(&base, &theirs, &cut, |_| None)]
        {
            assert_eq!(merged, Digests { is_cut: true, ..theirs.clone() });
        }
        let accepted = digests(&[("a.md", "a")]);
        assert_eq!(Digests::merged(&base, &accepted, &base, |_| None), accepted, "a line that was removed on purpose");
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
