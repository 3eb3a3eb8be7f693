//! The histories that 0.1.0 knew. That version kept no record of what is ours; a history in its list is the best sign that
//! this user has worked in a directory.

use std::path::Path;

use crate::base::{env, fs, text};

/// Whether 0.1.0 remembered this history.
pub(crate) fn is_remembered_by_0_1_0(root: &Path, directory: &Path) -> bool {
    let real = |path: &Path| fs::resolve(path).ok()?.to_str().map(str::to_owned);
    let (Some(data), Some(root), Some(directory)) = (env::data_directory(), real(root), real(directory)) else {
        return false;
    };
    !cfg!(test) && is_in(&data.join("projects"), &root, &directory)
}

/// Whether 0.1.0 listed this history in this registry.
pub(crate) fn is_in(registry: &Path, root: &str, directory: &str) -> bool {
    let content = format!("{root}\n{directory}\n");
    let path = registry.join(text::digest(content.as_bytes(), 16));
    fs::read_if_exists(&path).is_ok_and(|found| found.as_deref() == Some(content.as_bytes()))
}
