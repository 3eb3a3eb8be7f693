//! Moves the notes of finished months from layer 1 into the archives of layer 3.
//!
//! Notes are removed only after the archive was written and read back with every one of them in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, FixedOffset, NaiveDate};

use super::archive::{self, ArchiveEntry};
use super::store::MOST_NOTES;
use super::{Memory, Month, header};
use crate::base::fs::{Depth, Seen};
use crate::base::{parallel, text};
use crate::error::{Error, Result};
use crate::guard::{Brake, Stop};

/// How many months are moved under one lock, on all processors.
const MONTHS_AT_ONCE: usize = 4;

/// The notes to compact.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// Only this month.
    pub month: Option<Month>,
    /// Only months that ended before this day, which is today or earlier.
    pub before: NaiveDate,
    pub tag: Option<String>,
    /// Whether the notes also stay in layer 1.
    pub keep_notes: bool,
    /// Whether to report only, and write nothing.
    pub dry_run: bool,
}

/// One month and tag that was moved.
#[derive(Clone, Debug)]
pub(crate) struct Rolled {
    pub month: Month,
    pub tag: String,
    pub archive: PathBuf,
    /// How many day files there were.
    pub files: usize,
    /// How many notes and foreign texts they held.
    pub entries: usize,
}

/// The result of a compaction.
#[derive(Debug, Default)]
pub(crate) struct Compaction {
    pub rolled: Vec<Rolled>,
    /// Set if PAUSE ended it early.
    pub stopped: Option<Stop>,
    /// Files that were skipped because they cannot be read as notes.
    pub unreadable: Vec<Error>,
}

impl Compaction {
    /// The skipped files as one error. Everything else was compacted.
    pub(crate) fn trouble(&self) -> Option<Error> {
        let (first, more) = self.unreadable.split_first()?;
        let hint = "everything else is compacted; move away what is named here";
        let error = Error::failed(first.one_line()).hint(hint);
        Some(more.iter().fold(error, |error, next| error.cause(next.one_line())))
    }
}

/// The notes that a selection matches.
#[derive(Default)]
struct CompactionSources {
    sources: Vec<MonthNotes>,
    unreadable: Vec<Error>,
}

/// The day files of one month and tag.
struct MonthNotes {
    month: Month,
    tag: String,
    files: Vec<(NaiveDate, PathBuf)>,
}

/// The day before which a month must have ended to be finished: today, or `older_than` ago.
pub(crate) fn ended_before(now: &DateTime<FixedOffset>, older_than: Option<Duration>) -> NaiveDate {
    let ago = older_than.and_then(|ago| chrono::Duration::from_std(ago).ok()).unwrap_or_default();
    now.checked_sub_signed(ago).map_or(NaiveDate::MIN, |then| then.date_naive())
}

/// A day file as it was read.
struct DayFile<'s> {
    day: NaiveDate,
    path: &'s Path,
    content: Vec<u8>,
    seen: Seen,
}

/// What is to be compacted, and when to stop.
struct Order<'a> {
    selection: &'a Selection,
    brake: &'a Brake,
    /// Held by whoever changes files. Months are read at the same time and changed one after the other, so a pause lets no
    /// other month be changed.
    turn: Mutex<()>,
}

impl Order<'_> {
    fn stop(&self) -> Option<Stop> {
        self.brake.pressed().filter(|_| !self.selection.dry_run)
    }
}

impl Memory {
    /// Whether there are notes to compact. Looks at names only.
    pub(crate) fn has_notes(&self, selection: &Selection) -> Result<bool> {
        let found = self.sources(selection)?;
        Ok(!found.sources.is_empty() || !found.unreadable.is_empty())
    }

    /// Compacts the selected notes. `progress` receives how many day files are done, and of how many.
    pub(crate) fn compact(
        &self,
        selection: &Selection,
        brake: &Brake,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Compaction> {
        let CompactionSources { mut sources, mut unreadable } = self.sources(selection)?;
        // The other archives do not wait until somebody has removed a link in the place of one.
        sources.retain(|source| {
            let refused = self.anchor.require_regular(&self.archive_path(source.month, &source.tag)).err();
            let is_refused = refused.is_some();
            unreadable.extend(refused.map(Error::from));
            !is_refused
        });
        let total = sources.iter().map(|source| source.files.len()).sum();
        let mut compaction = Compaction { unreadable, ..Compaction::default() };
        let mut done = 0;
        // The tags of a month share a directory. Other writers wait for a few months at a time only.
        let months: Vec<&[MonthNotes]> = sources.chunk_by(|one, next| one.month == next.month).collect();
        for some in months.chunks(MONTHS_AT_ONCE) {
            progress(done, total);
            done += some.iter().copied().flatten().map(|source| source.files.len()).sum::<usize>();
            let _lock = if selection.dry_run { None } else { Some(self.lock_archives()?) };
            let order = Order { selection, brake, turn: Mutex::new(()) };
            for rolled in parallel::map(some, |month| self.roll_month(month, &order)) {
                let Compaction { rolled, stopped, unreadable } = rolled?;
                compaction.rolled.extend(rolled);
                compaction.unreadable.extend(unreadable);
                compaction.stopped = compaction.stopped.or(stopped);
            }
            if compaction.stopped.is_some() {
                break;
            }
        }
        progress(total, total);
        Ok(compaction)
    }

    /// Moves the notes of one month. The caller holds the lock.
    fn roll_month(&self, sources: &[MonthNotes], order: &Order<'_>) -> Result<Compaction> {
        let mut compaction = Compaction::default();
        for source in sources {
            compaction.stopped = order.stop();
            if compaction.stopped.is_some() {
                break;
            }
            let rolled = self.roll(source, order, &mut compaction)?;
            compaction.rolled.extend(rolled);
        }
        Ok(compaction)
    }

    /// The selected notes, oldest month first.
    fn sources(&self, selection: &Selection) -> Result<CompactionSources> {
        let layer = self.directory.join("layer1");
        let mut sources: BTreeMap<(Month, String), Vec<(NaiveDate, PathBuf)>> = BTreeMap::new();
        let mut unreadable = Vec::new();
        for name in self.anchor.names(&layer)? {
            let Some(month) = Month::parse(&name) else { continue };
            if selection.month.is_some_and(|only| only != month) || month.end() > selection.before {
                continue;
            }
            let directory = layer.join(&name);
            for file in self.anchor.names(&directory).unwrap_or_else(|error| {
                unreadable.push(error.into());
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
        Ok(CompactionSources { sources: sorted.collect(), unreadable })
    }

    /// Moves one month and tag. `None` if the archive did not change and there was no note to remove.
    fn roll(&self, source: &MonthNotes, order: &Order<'_>, compaction: &mut Compaction) -> Result<Option<Rolled>> {
        let (selection, unreadable) = (order.selection, &mut compaction.unreadable);
        let path = self.archive_path(source.month, &source.tag);
        // Somebody may have put a link there meanwhile.
        if let Err(error) = self.anchor.require_regular(&path) {
            unreadable.push(error.into());
            return Ok(None);
        }
        let mut files = Vec::new();
        for (day, file) in &source.files {
            match self.anchor.read_seen(file, MOST_NOTES) {
                Ok(Some((content, seen))) => files.push(DayFile { day: *day, path: file, content, seen }),
                // Another process compacted it while we waited for the lock.
                Ok(None) => {}
                Err(error) => unreadable.push(error.into()),
            }
        }
        let mut entries: Vec<ArchiveEntry<'_>> =
            files.iter().flat_map(|file| archive::of_notes(&file.content, file.day)).collect();
        archive::sort(&mut entries);
        let count = entries.len();
        let old = self.read_notes(&path)?;
        let all = archive::unite(old.as_deref().map(archive::parse).unwrap_or_default(), entries.clone());
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
        let _turn = order.turn.lock().unwrap_or_else(PoisonError::into_inner);
        compaction.stopped = order.stop();
        if compaction.stopped.is_some() {
            return Ok(None);
        }
        if is_new {
            self.anchor.replace(&path, &new)?;
        }
        if selection.keep_notes {
            return Ok(is_new.then_some(rolled));
        }
        if !entries.is_empty() {
            self.verify_archive(&path, &all)?;
        }
        self.remove_notes(&files)?;
        Ok((count > 0).then_some(rolled))
    }

    /// Reads the archive back and checks that it holds every entry.
    fn verify_archive(&self, path: &Path, entries: &[ArchiveEntry<'_>]) -> Result<()> {
        let written = self.anchor.read_within(path, MOST_NOTES)?;
        let mut found = archive::parse(&written).into_iter();
        // Both are sorted, so one pass is enough.
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

    /// Removes day files that are still as they were read. Somebody may have one open in an editor.
    fn remove_notes(&self, files: &[DayFile<'_>]) -> Result<()> {
        let Some(directory) = files.first().and_then(|file| file.path.parent()) else { return Ok(()) };
        // No fsync: a note that a power cut brings back is in the archive, and the next compaction removes it.
        for file in files.iter().filter(|file| self.anchor.is_still(file.path, &file.seen)) {
            self.anchor.remove_file_lazily(file.path)?;
        }
        self.anchor.sweep_temporaries(directory, Depth::Directory)?;
        if self.anchor.names(directory)?.is_empty() {
            self.anchor.remove_empty_directory_lazily(directory)?;
        }
        Ok(())
    }
}

/// Whether the tag in the name of a file is the wanted one, as people write it or as file names have it.
pub(super) fn is_tag(found: &str, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| found == wanted || found == text::safe_file_name(wanted))
}

/// `<tag>-YYYY-MM-DD.md`
pub(crate) fn split_name(name: &str) -> Option<(&str, NaiveDate)> {
    let stem = name.strip_suffix(".md")?;
    let at = stem.len().checked_sub(11)?;
    let (tag, date) = (stem.get(..at)?, stem.get(at..)?.strip_prefix('-')?);
    let day: NaiveDate = date.parse().ok()?;
    // Only dates in the form that we write, so that the header line is the one we know.
    (header("layer1", day).contains(date)).then_some((tag, day))
}
