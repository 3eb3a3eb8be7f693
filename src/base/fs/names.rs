//! Listing directories.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::plain_read::is_absent;
use crate::error::{Error, Result};

/// The names in a directory, sorted; none if the directory does not exist.
pub fn names(directory: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(cause) if is_absent(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(Error::io("list", directory, cause)),
    };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// The names in a directory that begin with `beginning`, sorted.
pub fn names_beginning(directory: &Path, beginning: &str) -> Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(cause) if is_absent(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(Error::io("list", directory, cause)),
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names
        .filter(|name| name.as_bytes().starts_with(beginning.as_bytes()))
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// The names in a directory in any order; `None` if there are more than `most`. Reads no more than `most + 1` of them.
pub fn names_at_most(directory: &Path, most: usize) -> Option<Vec<String>> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(most.saturating_add(1));
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    (names.len() <= most).then_some(names)
}

/// How many names in a directory end with `ending`.
pub fn count_names(directory: &Path, ending: &str) -> Result<usize> {
    match fs::read_dir(directory) {
        Ok(entries) => {
            Ok(entries.flatten().filter(|entry| entry.file_name().as_bytes().ends_with(ending.as_bytes())).count())
        }
        Err(cause) if is_absent(&cause) => Ok(0),
        Err(cause) => Err(Error::io("list", directory, cause)),
    }
}
