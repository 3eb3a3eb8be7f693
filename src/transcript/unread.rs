//! Sessions on this machine that cannot be read: of an older version, or in a format that nobody knows yet. They are named,
//! and never guessed at.

use std::path::{Path, PathBuf};

use super::listing::ListingLimits;
use super::{FORMATS, TranscriptFormat, opencode_database, source};
use crate::base::fs;

/// How many files of an agent are looked into, the newest.
const LOOKED_INTO: usize = 3;

/// Something of an agent that is not read.
pub(crate) struct Unread {
    pub agent: &'static str,
    pub path: PathBuf,
    pub why: String,
}

/// What is there and is not read, for a project with these roots.
pub(crate) fn unread(roots: &[PathBuf]) -> Vec<Unread> {
    let mut found = Vec::new();
    for format in FORMATS {
        let Some(home) = format.place.directory() else { continue };
        let older = format.older.iter().filter(|(below, ending, _)| has_entries(&home.join(below), ending));
        found.extend(older.map(|(below, _, why)| Unread {
            agent: format.name,
            path: home.join(below),
            why: (*why).to_owned(),
        }));
        found.extend(not_understood(format, &home, roots));
    }
    found
}

fn has_entries(directory: &Path, ending: &str) -> bool {
    let has = |names: Vec<String>| names.iter().any(|name| name.ends_with(ending));
    fs::is_directory(directory) && fs::names(directory).is_ok_and(has)
}

/// The newest files of an agent that have none of its records.
fn not_understood(format: &'static TranscriptFormat, home: &Path, roots: &[PathBuf]) -> Vec<Unread> {
    let unread = |path: PathBuf, why: String| Unread { agent: format.name, path, why };
    if format.name == super::opencode::FORMAT.name
        && let Some(error) = opencode_database::trouble(&home.join(super::opencode::DATABASE))
    {
        return vec![unread(home.join(super::opencode::DATABASE), error.one_line())];
    }
    let mut budget = ListingLimits::GLANCE.budget();
    let listed = (format.candidates)(home, roots, &mut budget).into_iter().flat_map(|listing| listing.files);
    let mut files: Vec<_> = listed.filter_map(|path| Some((source::state(&path)?, path))).collect();
    files.retain(|(state, _)| state.length > 0);
    files.sort_by_key(|(state, _)| std::cmp::Reverse(state.modified));
    let newest = files.into_iter().take(LOOKED_INTO);
    newest
        .filter_map(|(_, path)| match source::has_records(format, &path) {
            Ok(true) => None,
            Ok(false) => Some(unread(path, "has no record that this program can read".to_owned())),
            Err(error) => Some(unread(path, error.one_line())),
        })
        .collect()
}
