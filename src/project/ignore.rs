//! The `.gitignore` of the state directory.

use std::path::Path;

use crate::base::fs::Anchor;
use crate::error::Result;

/// Hides the state directory from git, itself included, but not a config that somebody wrote there.
const IGNORE_ALL: &[u8] = b"*\n!/handover.toml\n";
/// What 0.1.0 wrote, which also hid the config.
const IGNORE_ALL_OF_0_1_0: &[u8] = b"*\n";

/// Writes the file if it is missing, empty or as 0.1.0 wrote it. One that somebody changed stays as it is. `length` is that
/// of the existing file.
pub(super) fn write(anchor: &Anchor, path: &Path, length: Option<u64>) -> Result<()> {
    let is_replaced = match length.unwrap_or(0) {
        0 => true,
        length if length == IGNORE_ALL_OF_0_1_0.len() as u64 => anchor.read(path)? == IGNORE_ALL_OF_0_1_0,
        _ => false,
    };
    if is_replaced {
        anchor.write_marker(path, IGNORE_ALL)?;
    }
    Ok(())
}
