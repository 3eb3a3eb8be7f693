//! SHA256SUMS: the digest of each archive, so that a change of one is noticed.
//!
//! The lines are sorted by file name, so machines with the same archives have the same file. `sha256sum --check` reads it.
//! An archive without a line was written by another tool or an older version. The next writer adds its line. A line whose
//! archive is gone stays: it shows that the archive is missing.
//!
//! The last line is a comment with a digest of the others. If it is missing or wrong, the file was cut or edited, and an
//! archive without a line may have had one. The next writer then adds only lines of archives that this user wrote.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{FoundArchive, History, own_keys};
use crate::base::fs::FileError;
use crate::base::text;
use crate::base::three_way::Theirs;
use crate::error::Result;

/// The name of the file.
pub(super) const FILE: &str = "SHA256SUMS";
/// The number of hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// What stands between the digest and the name in a line.
const BETWEEN: &str = "  sessions/";

/// The digests of the archives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Digests {
    /// The lines of the file without the last one. A history may have very many, so they are not parsed any further.
    lines: String,
    /// Where each line begins. The lines are sorted by file name.
    starts: Vec<usize>,
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
        let mut lines: Vec<(&str, &str)> = text.lines().filter_map(read_line).collect();
        if !lines.is_sorted_by(|one, next| one.0 < next.0) {
            // Of several lines about one archive, the last one counts.
            lines = lines.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect();
        }
        let whole = Digests::of_lines(lines, false);
        let end = whole.end();
        let is_cut = text.lines().next_back() != Some(&end) && !text.lines().any(|line| line == end);
        Digests { is_cut, ..whole }
    }

    /// The digests of these archives, which are sorted by name.
    fn of_lines<'l>(sorted: impl IntoIterator<Item = (&'l str, &'l str)>, is_cut: bool) -> Digests {
        let mut digests = Digests { is_cut, ..Digests::default() };
        for (name, digest) in sorted {
            let start = digests.lines.len();
            digests.starts.push(start);
            digests.lines.push_str(digest);
            digests.lines[start..].make_ascii_lowercase();
            digests.lines.extend([BETWEEN, name, "\n"]);
        }
        digests
    }

    pub(super) fn render(&self) -> String {
        if self.is_cut { self.lines.clone() } else { format!("{}{}\n", self.lines, self.end()) }
    }

    /// The last line of the file.
    fn end(&self) -> String {
        let lines = text::count(self.count(), "line");
        format!("# {lines}, digest {}", text::digest(self.lines.as_bytes(), DIGITS / 4))
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The name and the digest in a line.
    fn line(&self, number: usize) -> (&str, &str) {
        let end = self.starts.get(number + 1).copied().unwrap_or(self.lines.len());
        let (digest, name) = self.lines[self.starts[number]..end - 1].split_at(DIGITS);
        (&name[BETWEEN.len()..], digest)
    }

    fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        (0..self.count()).map(|number| self.line(number))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.all().map(|(name, _)| name)
    }

    fn get(&self, name: &str) -> Option<&str> {
        let (mut from, mut to) = (0, self.count());
        while from < to {
            let middle = usize::midpoint(from, to);
            let (found, digest) = self.line(middle);
            match found.cmp(name) {
                Ordering::Less => from = middle + 1,
                Ordering::Equal => return Some(digest),
                Ordering::Greater => to = middle,
            }
        }
        None
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether the line of an archive may have been lost.
    pub(super) fn has_lost(&self, name: &str) -> bool {
        self.is_cut && !self.has(name)
    }

    /// Whether the archive with this content is not the one whose digest was recorded; `None` if none was.
    pub(super) fn is_changed(&self, name: &str, content: &[u8]) -> Option<bool> {
        self.get(name).map(|digest| *digest != of(content))
    }

    /// Like [`Digests::is_changed`], for an archive whose digest is known already.
    pub(super) fn is_another(&self, name: &str, digest: &str) -> Option<bool> {
        self.get(name).map(|recorded| recorded != digest)
    }

    /// Records the digests of archives.
    pub(super) fn set<'n>(&mut self, new: impl IntoIterator<Item = (&'n str, String)>) {
        let new: BTreeMap<&str, String> = new.into_iter().collect();
        let mut new = new.iter().map(|(name, digest)| (*name, digest.as_str())).peekable();
        let mut old = self.all().peekable();
        let merged = std::iter::from_fn(move || match (old.peek(), new.peek()) {
            (Some((known, _)), Some((name, _))) if known < name => old.next(),
            (_, Some((name, _))) => {
                old.next_if(|(known, _)| known == name);
                new.next()
            }
            (_, None) => old.next(),
        });
        let merged = Digests::of_lines(merged, self.is_cut);
        *self = merged;
    }

    /// Keeps only the digests of these archives.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        *self = Digests::of_lines(self.all().filter(|(name, _)| is_kept(name)), self.is_cut);
    }

    /// Every archive that has a digest has its line now.
    pub(super) fn is_whole_again(&mut self) {
        self.is_cut = false;
    }

    /// The digests after both sides changed `base`. If both changed the digest of one archive, the digest of `present`,
    /// its content after the merge, decides. A line that one side lost is not removed by that.
    fn merged(base: &Digests, ours: &Digests, theirs: &Digests, present: impl Fn(&str) -> Option<String>) -> Digests {
        let is_cut = ours.is_cut || theirs.is_cut;
        let names: BTreeSet<&str> = [base, ours, theirs].into_iter().flat_map(Digests::names).collect();
        let choose = |name: &&'_ str| {
            let before = base.get(name);
            let (ours, theirs) = (
                ours.get(name).or(before.filter(|_| ours.is_cut)),
                theirs.get(name).or(before.filter(|_| theirs.is_cut)),
            );
            if theirs == before || theirs == ours {
                ours
            } else if ours == before || ours != present(name).as_deref() {
                theirs
            } else {
                ours
            }
        };
        let chosen = names.iter().filter_map(|name| Some((*name, choose(name)?)));
        Digests::of_lines(chosen, is_cut)
    }
}

/// The name and the digest in a line; `None` if it has another form.
fn read_line(line: &str) -> Option<(&str, &str)> {
    let (digest, name) = line.split_at_checked(DIGITS)?;
    let name = name.strip_prefix(BETWEEN).filter(|name| !name.is_empty())?;
    digest.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some((name, digest))
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

    /// The names of archives whose digest is recorded and whose file is gone.
    pub(crate) fn missing_archives(&self) -> Result<Vec<String>> {
        let there: BTreeSet<String> = self.archive_names()?.names.into_iter().collect();
        Ok(self.digests()?.names().filter(|name| !there.contains(*name)).map(str::to_owned).collect())
    }

    /// Those of the archives that are not as they were archived.
    pub(crate) fn changed_among<'a>(&self, found: &'a [FoundArchive]) -> Result<Vec<&'a FoundArchive>> {
        let digests = self.digests()?;
        let name = |found: &FoundArchive| found.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_changed = |found: &&FoundArchive| {
            name(found).is_some_and(|name| digests.is_changed(&name, found.text.as_bytes()) == Some(true))
        };
        Ok(found.iter().filter(is_changed).collect())
    }

    /// Records the digests of archives that have none, unless this user archived another document under the name. If lines
    /// were lost, only archives that this user wrote get one. The caller holds the lock.
    pub(super) fn record_digests(&self) -> Result<()> {
        let (names, mut digests) = (self.archive_names()?.names, self.digests()?);
        if !digests.is_cut && names.iter().all(|name| digests.has(name)) {
            return Ok(());
        }
        let (held, voucher) = (self.holding_archives(), self.voucher());
        let mut new: Vec<(&str, String)> = Vec::new();
        for name in names.iter().filter(|name| !digests.has(name)) {
            // `validate` reports an archive that cannot be read.
            if let Ok(text) = held.read_archive_text(&self.sessions().join(name))
                && !self.is_changed(name, &text, &digests, &voucher)
                && (!digests.is_cut || voucher.has(&own_keys::of_text(&text)))
            {
                new.push((name, of(text.as_bytes())));
            }
        }
        digests.set(new);
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
        digests.set(pairs.iter().map(|(name, content)| (*name, of(content.as_bytes()))));
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
