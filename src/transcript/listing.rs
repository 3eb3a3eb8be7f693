//! Which files an agent keeps its sessions in, found by listing directories within limits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::base::fs::{self, FileState};

/// How much may be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListingLimits {
    /// Names, in all directories together.
    pub entries: usize,
    /// Directories of one day, for an agent that has one for each day.
    pub days: usize,
}

impl ListingLimits {
    pub(crate) const NONE: ListingLimits = ListingLimits { entries: usize::MAX, days: usize::MAX };
    /// What a person does not notice: a millisecond or two.
    pub(crate) const GLANCE: ListingLimits = ListingLimits { entries: 1_000, days: 60 };

    pub(super) fn budget(self) -> ListingBudget {
        ListingBudget { entries: self.entries, days: self.days }
    }
}

/// What is left of the limits.
pub(super) struct ListingBudget {
    entries: usize,
    pub days: usize,
}

impl ListingBudget {
    /// How many names are left.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Counts names that were read in another way.
    pub(super) fn spend(&mut self, names: usize) {
        self.entries = self.entries.saturating_sub(names);
    }

    /// The names in a directory of directories, which do not count; `None` if there are very many.
    pub(super) fn directories(&self, directory: &Path) -> Option<Vec<String>> {
        fs::names_at_most(directory, self.entries.saturating_mul(5))
    }

    /// The names in a directory, in any order; `None` if there are more than are left. Names that were read count.
    pub(super) fn names(&mut self, directory: &Path) -> Option<Vec<String>> {
        let names = fs::names_at_most(directory, self.entries);
        self.entries -= names.as_ref().map_or(self.entries, Vec::len);
        names
    }
}

/// How much of a place was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// The newest days; there are more days than were allowed.
    NewestDays,
    /// There are more names than were allowed. The files, if there are any, are those of the newest days.
    TooMany,
}

/// A directory of session files, as far as it was listed.
pub(super) struct Listing {
    pub place: PathBuf,
    pub files: Vec<PathBuf>,
    pub extent: Extent,
}

/// The sessions of an agent that keeps a directory for each, for all projects, in `place`. `file_of` names the file of a session.
pub(super) fn one_directory_each(
    place: PathBuf,
    budget: &mut ListingBudget,
    file_of: fn(place: &Path, session: &str) -> PathBuf,
) -> Vec<Listing> {
    if !fs::is_directory(&place) {
        return Vec::new();
    }
    let (files, extent) = match budget.names(&place) {
        Some(names) => {
            let visible = names.iter().filter(|name| !name.starts_with('.'));
            (visible.map(|name| file_of(&place, name)).collect(), Extent::Whole)
        }
        None => (Vec::new(), Extent::TooMany),
    };
    vec![Listing { place, files, extent }]
}

/// The directories of the files that are listed for these roots, and those in which they would appear: for an agent whose
/// directories are found by listing them.
pub(super) fn directories(listings: Vec<Listing>) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for listing in listings {
        found.extend(listing.files.iter().filter_map(|file| file.parent()).map(Path::to_path_buf));
        found.insert(listing.place);
    }
    found.into_iter().collect()
}

/// The state of each of these files.
pub(super) fn states(files: &[PathBuf]) -> Vec<Option<FileState>> {
    files.iter().map(|file| fs::state(file)).collect()
}
