//! The names in a directory. Names that are not UTF-8 are given with replacement characters.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::plain_read::is_absent;
use crate::error::{Error, Result};

/// The names in a directory, sorted; none if the directory does not exist.
pub fn names(directory: &Path) -> Result<Vec<String>> {
    names_beginning(directory, "")
}

/// The names in a directory that begin with `prefix`, sorted; none if the directory does not exist.
pub fn names_beginning(directory: &Path, prefix: &str) -> Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(cause) if is_absent(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(Error::io("list", directory, cause)),
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names
        .filter(|name| name.as_bytes().starts_with(prefix.as_bytes()))
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// The names in a directory, in any order; `None` if there are more than `limit`. A huge directory is not read to its end.
pub fn names_at_most(directory: &Path, limit: usize) -> Option<Vec<String>> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(limit.saturating_add(1));
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    (names.len() <= limit).then_some(names)
}
