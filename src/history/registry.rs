//! The histories that this user has written: a small file for each in the user's data directory, so that they can be listed
//! together.

use std::path::{Path, PathBuf};

use crate::base::fs::{self, Anchor};
use crate::base::{env, text};
use crate::guard::registry as registry_of_0_1_0;

/// A history of this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownArchive {
    pub root: PathBuf,
    /// The directory of the history.
    pub directory: PathBuf,
}

/// Remembers a history that exists. A failure is ignored: the history is then only missing from the list.
pub(crate) fn remember(root: &Path, directory: &Path) {
    // Tests of the library itself have no home of their own.
    if cfg!(test) {
        return;
    }
    if let Some(data) = env::data_directory().filter(|_| Anchor::around(root, directory).is_directory(directory)) {
        let _ = remember_in(&data.join("projects"), root, directory);
    }
}

fn remember_in(registry: &Path, root: &Path, directory: &Path) -> crate::error::Result<()> {
    let (root, directory) = (fs::resolve(root)?, fs::resolve(directory)?);
    let (Some(root), Some(directory)) = (root.to_str(), directory.to_str()) else { return Ok(()) };
    if root.contains('\n') || directory.contains('\n') {
        return Ok(());
    }
    if is_in(registry, root, directory) {
        return Ok(());
    }
    let content = content(root, directory);
    let path = registry.join(text::digest(content.as_bytes(), 16));
    fs::create_private_directories(registry)?;
    fs::write_marker(&path, content.as_bytes())
}

/// Whether this user has written this history.
pub(super) fn is_remembered(root: &Path, directory: &Path) -> bool {
    let real = |path: &Path| fs::resolve(path).ok()?.to_str().map(str::to_owned);
    let (Some(data), Some(root), Some(directory)) = (env::data_directory(), real(root), real(directory)) else {
        return false;
    };
    is_in(&data.join("projects"), &root, &directory)
}

fn is_in(registry: &Path, root: &str, directory: &str) -> bool {
    let content = content(root, directory);
    let found = fs::read_if_exists(&registry.join(text::digest(content.as_bytes(), 16)));
    found.is_ok_and(|found| found.as_deref() == Some(content.as_bytes()))
        || registry_of_0_1_0::is_in(registry, root, directory)
}

/// The content of the file of a history. 0.1.0 wrote no third line, so a file without one shows that 0.1.0 knew the history.
fn content(root: &str, directory: &str) -> String {
    format!("{root}\n{directory}\n2\n")
}

/// Every remembered history that still exists, by path.
pub(crate) fn known() -> Vec<KnownArchive> {
    env::data_directory().map(|data| known_in(&data.join("projects"))).unwrap_or_default()
}

fn known_in(registry: &Path) -> Vec<KnownArchive> {
    let read = |name: &String| {
        let content = String::from_utf8(fs::read_if_exists(&registry.join(name)).ok()??).ok()?;
        // The name is the digest of the content; a file that a kill cut off does not match.
        let mut lines = content.lines().filter(|_| text::digest(content.as_bytes(), 16) == *name);
        let known = KnownArchive { root: lines.next()?.into(), directory: lines.next()?.into() };
        Anchor::around(&known.root, &known.directory).is_directory(&known.directory).then_some(known)
    };
    let mut known: Vec<KnownArchive> = fs::names(registry).unwrap_or_default().iter().filter_map(read).collect();
    known.sort_by(|a, b| a.directory.cmp(&b.directory));
    known.dedup_by(|a, b| a.directory == b.directory);
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_listed_once_and_while_it_exists() {
        let world = crate::base::scratch::directory();
        let world = world.path().canonicalize().unwrap();
        let (registry, root) = (world.join("registry"), world.join("project"));
        let archive = root.join(".agent-history");
        std::fs::create_dir_all(&archive).unwrap();
        for _ in 0..2 {
            remember_in(&registry, &root, &archive).unwrap();
        }
        assert_eq!(known_in(&registry), [KnownArchive { root: root.clone(), directory: archive.clone() }]);
        let note = registry.join(&fs::names(&registry).unwrap()[0]);
        std::fs::write(&note, "cut").unwrap();
        assert_eq!(known_in(&registry), []);
        remember_in(&registry, &root, &archive).unwrap();
        assert_eq!(known_in(&registry).len(), 1);
        std::fs::remove_dir(&archive).unwrap();
        assert_eq!(known_in(&registry), []);
    }
}
