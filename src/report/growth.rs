//! How much memory, history and databases hold, how memory grew, and who publishes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::plots::{self, Layer};
use crate::base::fs::Anchor;
use crate::base::text;
use crate::error::Error;
use crate::git::Git;
use crate::memory::Month;
use crate::project::Project;
use crate::publish::Destination;
use crate::search::Index;

/// How many commits of the published branch are looked at.
const COMMITS: usize = 2_000;
/// How many authors are listed.
const AUTHORS: usize = 50;

#[derive(Debug, Default, Serialize)]
pub(super) struct Growth {
    sizes: Vec<Size>,
    /// Bytes of notes and handoffs a month.
    plot: String,
    /// Documents of the index a month.
    index_plot: String,
}

#[derive(Debug, Serialize)]
struct Size {
    what: &'static str,
    files: usize,
    bytes: String,
}

/// Somebody whose commits are on the published branch.
#[derive(Debug, Serialize)]
pub(super) struct Publisher {
    name: String,
    commits: usize,
    first: String,
    last: String,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    files: usize,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

pub(super) fn collect(project: &Project, problems: &mut Vec<Error>) -> Growth {
    let mut growth = Growth::default();
    let notes = match project.memory_dir() {
        Ok(directory) => of_memory(&project.anchor(&directory), &directory, &mut growth),
        Err(error) => {
            problems.push(error);
            BTreeMap::new()
        }
    };
    let mut handoffs = BTreeMap::new();
    if let Ok(directory) = project.history_dir() {
        let sessions = directory.join("sessions");
        let all = files_in(&project.anchor(&directory), &sessions, &mut |name, bytes| {
            // The name of a handoff begins with its day.
            if let Some(month) = name.get(..7).filter(|month| Month::parse(month).is_some()) {
                *handoffs.entry(month.to_owned()).or_default() += usize::try_from(bytes).unwrap_or(usize::MAX);
            }
        });
        growth.add("handoffs", all);
    }
    growth.plot = plots::months("Bytes of notes and handoffs a month", &[Layer::of(0, notes), Layer::of(1, handoffs)]);
    let anchor = project.anchor(&project.state);
    for (what, name) in [("checkpoint database", "checkpoint.db"), ("search index", "index.db")] {
        let mut sum = Sum::default();
        anchor.about(&project.state.join(name)).ok().flatten().into_iter().for_each(|about| sum.add(about.length));
        growth.add(what, sum);
    }
    let documents = Index::open_existing(project).and_then(|index| index.documents_a_month().ok());
    growth.index_plot = plots::months("Documents of the index a month", &[Layer::of(0, documents.unwrap_or_default())]);
    growth
}

/// Adds the sizes of notes and archives. Returns the bytes of notes by month.
fn of_memory(anchor: &Anchor, memory: &Path, growth: &mut Growth) -> BTreeMap<String, usize> {
    let layer1 = memory.join("layer1");
    let (mut notes, mut months) = (Sum::default(), BTreeMap::new());
    let names = anchor.names(&layer1).unwrap_or_default();
    for month in names.into_iter().filter(|name| Month::parse(name).is_some()) {
        let of_month = files_in(anchor, &layer1.join(&month), &mut |_, _| ());
        notes.files += of_month.files;
        notes.bytes += of_month.bytes;
        months.insert(month, usize::try_from(of_month.bytes).unwrap_or(usize::MAX));
    }
    growth.add("notes", notes);
    growth.add("archives of notes", files_in(anchor, &memory.join("layer3"), &mut |_, _| ()));
    months
}

/// The sum of the files in a directory; `each` gets the name and the size of each.
fn files_in(anchor: &Anchor, directory: &Path, each: &mut dyn FnMut(&str, u64)) -> Sum {
    let mut sum = Sum::default();
    for name in anchor.names(directory).unwrap_or_default() {
        if let Ok(Some(about)) = anchor.about(&directory.join(&name)) {
            each(&name, about.length);
            sum.add(about.length);
        }
    }
    sum
}

impl Growth {
    fn add(&mut self, what: &'static str, sum: Sum) {
        if sum.files > 0 {
            self.sizes.push(Size { what, files: sum.files, bytes: bytes(sum.bytes) });
        }
    }
}

/// A size for people.
fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let unit = UNITS.into_iter().find(|(_, size)| bytes >= *size);
    unit.map_or_else(
        || text::count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
        |(unit, size)| format!("{}.{} {unit}", bytes / size, bytes % size * 10 / size),
    )
}

/// The authors of the commits on the published branch, the last one first. A branch that is not there has none.
pub(super) fn publishers(project: &Project) -> Vec<Publisher> {
    let branch = format!("refs/heads/{}", Destination::of(&project.config).branch);
    let git = Git::at(&project.root);
    if !matches!(git.commit_of(&branch), Ok(Some(_))) {
        return Vec::new();
    }
    let mut found: Vec<Publisher> = Vec::new();
    for commit in git.log("", &branch, COMMITS).unwrap_or_default() {
        let (name, day) = (text::one_line(&commit.author, 100), commit.date.chars().take(10).collect::<String>());
        if let Some(publisher) = found.iter_mut().find(|publisher| publisher.name == name) {
            (publisher.commits, publisher.first) = (publisher.commits + 1, day);
        } else if found.len() < AUTHORS {
            found.push(Publisher { name, commits: 1, first: day.clone(), last: day });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_people_expect() {
        assert_eq!(bytes(0), "0 bytes");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(bytes(12_345_678), "12.3 MB");
    }
}
