//! Where the kept talk of sessions is: on this machine, or with the history, so that it travels.

use std::path::PathBuf;

use super::Project;
use crate::config::{Keep, TALK};

impl Project {
    /// What is kept of sessions. A config that came with the project keeps nothing more than the user's own config says,
    /// until the user has allowed it.
    pub(crate) fn keep(&self) -> Keep {
        let config = &self.config;
        // Whether the config is allowed takes a digest of it, and each step of a run asks.
        if config.keep <= config.own_keep || self.is_allowed() { config.keep } else { config.own_keep }
    }

    /// The directory of the talk that stays on this machine.
    pub(crate) fn local_talk(&self) -> PathBuf {
        self.state.join(TALK)
    }

    /// The directories in which there may be kept talk, that of this machine first.
    pub(crate) fn talk_directories(&self) -> Vec<PathBuf> {
        let travelling = self.history_dir().map(|history| history.join(TALK));
        std::iter::once(self.local_talk()).chain(travelling).collect()
    }
}
