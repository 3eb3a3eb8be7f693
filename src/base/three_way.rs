//! Merges one file from three versions: the common base, ours and theirs.

use std::path::{Path, PathBuf};

use super::fs::Anchor;
use super::text;
use crate::error::Result;

/// A file that the other side has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Theirs {
    /// Relative to the directory that both sides have.
    pub path: PathBuf,
    /// `None` if the file did not exist, or if no common base is known.
    pub base: Option<Vec<u8>>,
    /// `None` if the other side removed it.
    pub now: Option<Vec<u8>>,
}

/// Which version to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Ours,
    Theirs,
    /// Both sides changed it differently.
    Merge,
}

/// Chooses a version without reading the contents.
pub(crate) fn choose(base: Option<&[u8]>, ours: Option<&[u8]>, theirs: Option<&[u8]>) -> Choice {
    if ours == theirs || theirs == base {
        Choice::Ours
    } else if ours == base {
        Choice::Theirs
    } else {
        Choice::Merge
    }
}

/// Takes over a file below `directory` whose format is unknown. If both sides changed it, ours stays, theirs is written beside it, and the result
/// is a message about it.
pub(crate) fn take_over(anchor: &Anchor, directory: &Path, theirs: &Theirs) -> Result<Option<String>> {
    let path = directory.join(&theirs.path);
    let ours = anchor.read_if_exists(&path)?;
    match (choose(theirs.base.as_deref(), ours.as_deref(), theirs.now.as_deref()), &theirs.now) {
        (Choice::Ours, _) => Ok(None),
        (Choice::Theirs, now) => {
            put(anchor, &path, now.as_deref())?;
            Ok(None)
        }
        // They removed the file that we changed, so ours stays.
        (Choice::Merge, None) => Ok(None),
        (Choice::Merge, Some(now)) if ours.is_none() => {
            put(anchor, &path, Some(now))?;
            Ok(None)
        }
        (Choice::Merge, Some(now)) => {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".theirs-{}", text::digest(now, 4)));
            let beside = path.with_file_name(name);
            put(anchor, &beside, Some(now))?;
            let (shown, beside) = (theirs.path.display(), beside.display());
            Ok(Some(format!(
                "`{shown}` was changed on two machines; both versions are kept, the other one in `{beside}`"
            )))
        }
    }
}

/// Writes a file with its directories, or removes it.
pub(crate) fn put(anchor: &Anchor, path: &Path, content: Option<&[u8]>) -> Result<()> {
    match content {
        Some(content) => {
            if let Some(directory) = path.parent() {
                anchor.create_directories(directory)?;
            }
            if anchor.read_if_exists(path)?.as_deref() != Some(content) {
                anchor.replace(path, content)?;
            }
        }
        None if anchor.about(path)?.is_some() => anchor.remove_file(path)?,
        None => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_did_not_change_it_gives_way() {
        let (a, b, c) = (Some(&b"a"[..]), Some(&b"b"[..]), Some(&b"c"[..]));
        assert_eq!(choose(a, a, b), Choice::Theirs);
        assert_eq!(choose(a, b, a), Choice::Ours);
        assert_eq!(choose(a, b, b), Choice::Ours);
        assert_eq!(choose(a, b, c), Choice::Merge);
        assert_eq!(choose(None, None, a), Choice::Theirs);
        assert_eq!(choose(a, a, None), Choice::Theirs);
        assert_eq!(choose(a, b, None), Choice::Merge);
    }
}
