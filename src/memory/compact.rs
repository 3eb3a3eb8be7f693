//! Rolls finished months of layer 1 into layer 3. Notes go only after the archive that holds them was read back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, FixedOffset, NaiveDate};

use super::archive::{self, ArchiveEntry, Month};
use super::{Memory, header};
use crate::base::fs::{self, Depth};
use crate::base::text;
use crate::error::{Error, Result};
use crate::guard::{Brake, Stop};

/// What to compact.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Only this month.
    pub month: Option<Month>,
    /// Only what ended before this day, which is the first that is not over yet or earlier.
    pub before: NaiveDate,
    pub tag: Option<String>,
    /// The notes stay where they are, too.
    pub keep_notes: bool,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// The notes of one month and tag.
#[derive(Clone, Debug)]
pub struct Rolled {
    pub month: Month,
    pub tag: String,
    pub archive: PathBuf,
    /// How many day files there were.
    pub files: usize,
    /// How many notes and texts came from them.
    pub entries: usize,
}

#[derive(Debug, Default)]
pub struct Compaction {
    pub rolled: Vec<Rolled>,
    /// Why it ended before the end.
    pub stopped: Option<Stop>,
    /// What was left alone because it is no file that can be read as notes.
    pub odd: Vec<Error>,
}

impl Compaction {
    /// Everything else is done; this is what somebody should look at.
    pub fn trouble(&self) -> Option<Error> {
        let (first, more) = self.odd.split_first()?;
        let hint = "everything else is compacted; move it out of layer 1";
        let error = Error::failed(first.one_line()).hint(hint);
        Some(more.iter().fold(error, |error, next| error.cause(next.one_line())))
    }
}

/// What there is to do.
#[derive(Default)]
struct CompactionSources {
    sources: Vec<MonthNotes>,
    odd: Vec<Error>,
}

/// The day files of one month and tag.
struct MonthNotes {
    month: Month,
    tag: String,
    files: Vec<(NaiveDate, PathBuf)>,
}

/// The first day that is not over long enough: months that ended by then are finished.
pub fn ended_before(now: &DateTime<FixedOffset>, older_than: Option<Duration>) -> NaiveDate {
    let ago = older_than.and_then(|ago| chrono::Duration::from_std(ago).ok()).unwrap_or_default();
    now.checked_sub_signed(ago).map_or(NaiveDate::MIN, |then| then.date_naive())
}

/// A day file as it was read.
struct DayFile<'s> {
    day: NaiveDate,
    path: &'s Path,
    content: Vec<u8>,
    seen: fs::Seen,
}

impl Memory {
    /// Whether there are any notes to compact. Reads no file.
    pub fn has_notes(&self, selection: &Selection) -> Result<bool> {
        let found = self.sources(selection)?;
        Ok(!found.sources.is_empty() || !found.odd.is_empty())
    }

    /// `progress` gets how many of how many day files are done.
    pub fn compact(
        &self,
        selection: &Selection,
        brake: &Brake,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Compaction> {
        let CompactionSources { sources, odd } = self.sources(selection)?;
        let total = sources.iter().map(|source| source.files.len()).sum();
        let mut compaction = Compaction { odd, ..Compaction::default() };
        let mut done = 0;
        for source in sources {
            if let Some(stop) = brake.pressed().filter(|_| !selection.dry_run) {
                compaction.stopped = Some(stop);
                break;
            }
            progress(done, total);
            done += source.files.len();
            let rolled = self.roll(&source, selection, &mut compaction.odd)?;
            compaction.rolled.extend(rolled);
        }
        progress(total, total);
        Ok(compaction)
    }

    /// What there is to compact, oldest first.
    fn sources(&self, selection: &Selection) -> Result<CompactionSources> {
        let layer = self.directory.join("layer1");
        let mut sources: BTreeMap<(Month, String), Vec<(NaiveDate, PathBuf)>> = BTreeMap::new();
        let mut odd = Vec::new();
        let mut names = if layer.is_dir() { fs::names(&layer)? } else { Vec::new() };
        names.sort_unstable();
        for name in names {
            let Some(month) = Month::parse(&name) else { continue };
            if selection.month.is_some_and(|only| only != month) || month.end() > selection.before {
                continue;
            }
            let directory = layer.join(&name);
            let files = fs::refuse_symlinks(&self.directory, &directory).and_then(|()| fs::names(&directory));
            for file in files.unwrap_or_else(|error| {
                odd.push(error);
                Vec::new()
            }) {
                if let Some((tag, day)) = split_name(&file)
                    && is_tag(tag, selection.tag.as_deref())
                {
                    sources.entry((month, tag.to_owned())).or_default().push((day, directory.join(&file)));
                }
            }
        }
        let sorted = sources.into_iter().map(|((month, tag), mut files)| {
            files.sort_unstable();
            MonthNotes { month, tag, files }
        });
        Ok(CompactionSources { sources: sorted.collect(), odd })
    }

    /// `layer3/YYYY-MM-<tag>-archive.md`, with the tag as it stands in the names of day files.
    pub(super) fn archive_path(&self, month: Month, tag: &str) -> PathBuf {
        self.directory.join("layer3").join(format!("{month}-{tag}-archive.md"))
    }

    /// One month and tag. `None` if there was nothing new in it and no note to remove.
    fn roll(&self, source: &MonthNotes, selection: &Selection, odd: &mut Vec<Error>) -> Result<Option<Rolled>> {
        let path = self.archive_path(source.month, &source.tag);
        let _alone = if selection.dry_run { None } else { Some(self.make_way(&path)?) };
        let mut files = Vec::new();
        for (day, file) in &source.files {
            match fs::read_seen(file) {
                Ok(Some((content, seen))) => files.push(DayFile { day: *day, path: file, content, seen }),
                // Tombstone if somebody else compacted it while we waited.
                Ok(None) => {}
                Err(error) => odd.push(error),
            }
        }
        let mut entries: Vec<ArchiveEntry<'_>> =
            files.iter().flat_map(|file| archive::of_notes(&file.content, file.day)).collect();
        archive::sort(&mut entries);
        let count = entries.len();
        let old = fs::read_if_exists(&path)?;
        let mut all = old.as_deref().map(archive::parse).unwrap_or_default();
        all.extend(entries.iter().cloned());
        archive::sort(&mut all);
        let new = archive::write(source.month, &source.tag, &all);
        let is_new = !all.is_empty() && old.as_deref() != Some(&new);
        let rolled = Rolled {
            month: source.month,
            tag: source.tag.clone(),
            archive: path.clone(),
            files: files.len(),
            entries: count,
        };
        if selection.dry_run {
            return Ok((is_new || !selection.keep_notes && count > 0).then_some(rolled));
        }
        if is_new {
            fs::replace(&path, &new)?;
        }
        if selection.keep_notes {
            return Ok(is_new.then_some(rolled));
        }
        if !entries.is_empty() {
            self.make_sure(&path, &all)?;
        }
        self.remove_notes(&files)?;
        Ok((count > 0).then_some(rolled))
    }

    /// Reads the archive back and looks for every entry in it.
    fn make_sure(&self, path: &Path, entries: &[ArchiveEntry<'_>]) -> Result<()> {
        let written = fs::read(path)?;
        let mut found = archive::parse(&written).into_iter();
        // Both are sorted, so one walk through both finds them all.
        for entry in entries {
            if !found.any(|candidate| candidate == *entry) {
                return Err(Error::bug(format!(
                    "`{}` does not hold all that was written to it; no note was removed",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Only what still is as it was read: somebody may have an editor open.
    fn remove_notes(&self, files: &[DayFile<'_>]) -> Result<()> {
        let Some(directory) = files.first().and_then(|file| file.path.parent()) else { return Ok(()) };
        // Not waited for: a note that a power cut brings back is in the archive, and goes with the next compaction.
        for file in files.iter().filter(|file| file.seen.is_still(file.path)) {
            fs::remove_file_lazily(file.path)?;
        }
        fs::sweep_temporaries(directory, Depth::Directory)?;
        if fs::names(directory)?.is_empty() {
            fs::remove_empty_directory_lazily(directory)?;
        }
        Ok(())
    }

    /// Whether the archive of its month has this note already: then it is not written again.
    pub(super) fn is_archived(&self, tag: &str, date: NaiveDate, note: &super::note::Note) -> Result<bool> {
        let path = self.archive_path(Month::of(date), &text::safe_file_name(tag));
        let Some(file) = fs::read_if_exists(&path)? else { return Ok(false) };
        let is_it = |entry: &ArchiveEntry<'_>| entry.note().as_ref() == Some(note);
        Ok(archive::parse(&file).iter().any(is_it))
    }
}

/// Whether the tag in a file's name is the one that is wanted, as people know it or as the file has it.
pub(super) fn is_tag(found: &str, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| found == wanted || found == text::safe_file_name(wanted))
}

/// `<tag>-YYYY-MM-DD.md`
pub fn split_name(name: &str) -> Option<(&str, NaiveDate)> {
    let stem = name.strip_suffix(".md")?;
    let at = stem.len().checked_sub(11)?;
    let (tag, date) = (stem.get(..at)?, stem.get(at..)?.strip_prefix('-')?);
    let day: NaiveDate = date.parse().ok()?;
    // The one way to write it that we write, so that its header is the one we know.
    (header("layer1", day).contains(date)).then_some((tag, day))
}
