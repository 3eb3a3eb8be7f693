//! The PAUSE files of a project.

use std::path::Path;

use super::open::STATE_DIR;
use crate::base::fs::Anchor;
use crate::base::{env, fs};
use crate::config::{Config, Origin};
use crate::guard::{Brake, PauseFile, consent};

/// The brake of a project whose config cannot be read.
pub(crate) fn plain_brake(root: &Path) -> Brake {
    brake(vec![own_pause_file(root)])
}

/// The PAUSE file that every project has.
pub(crate) fn own_pause_file(root: &Path) -> PauseFile {
    PauseFile::new(root.join("PAUSE"), Some(Anchor::new(root)))
}

pub(super) fn brake(mut files: Vec<PauseFile>) -> Brake {
    for name in [STATE_DIR, ".agent_handover"] {
        let path = env::home().map(|home| home.join(name).join("PAUSE"));
        files.extend(path.map(|path| PauseFile::new(path.clone(), Some(Anchor::beside(&path)))));
    }
    Brake::new(files)
}

/// The PAUSE files that a config names, and the one that every project has.
pub(super) fn pause_files(root: &Path, config: &Config) -> Vec<PauseFile> {
    let own = own_pause_file(root);
    let configured = config.pause_file.as_str();
    let path = match (configured.strip_prefix("~/"), env::home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => root.join(configured),
    };
    let path = fs::tidy(&path).unwrap_or(path);
    if configured.is_empty() || path == own.path {
        return vec![own];
    }
    let anchor = if path.starts_with(root) {
        Some(Anchor::new(root))
    } else {
        // Somebody else's config may name any file of this user; its text must not be shown as a reason.
        let is_from_file = matches!(config.origin("handover.pause_file"), Origin::File { .. });
        let is_allowed = || config.source().is_none_or(|(file, text)| consent::is_allowed(file, text));
        (!is_from_file || is_allowed()).then(|| Anchor::beside(&path))
    };
    vec![PauseFile::new(path, anchor), own]
}
