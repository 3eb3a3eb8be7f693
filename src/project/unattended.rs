//! The places of a project that may be used although nobody typed a command.

use super::Project;
use crate::base::fs;

impl Project {
    /// Whether the configured checkpoint is in the state directory.
    pub(super) fn has_checkpoint_in_state(&self) -> bool {
        self.configured_checkpoint.parent().is_some_and(|directory| fs::real(directory) == fs::real(&self.state))
    }
}

/// The places that may be used although nobody typed a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnattendedPlaces {
    /// The keys of places outside the project, which are closed.
    pub(super) outside: Vec<&'static str>,
    /// The keys of places inside that are not the default ones. They are closed, too.
    pub(super) renamed: Vec<&'static str>,
}

impl UnattendedPlaces {
    pub(crate) fn has_memory(&self) -> bool {
        !self.is_closed("memory_dir")
    }

    pub(crate) fn has_history(&self) -> bool {
        !self.is_closed("history_dir")
    }

    /// Whether the checkpoint, its lock and the logs may be used.
    pub(crate) fn has_state(&self) -> bool {
        !self.is_closed("state_dir") && !self.is_closed("checkpoint")
    }

    fn is_closed(&self, key: &str) -> bool {
        self.outside.iter().chain(&self.renamed).any(|closed| *closed == key)
    }

    /// One line about the places that are left alone; `None` if all may be used.
    pub(crate) fn notice(&self) -> Option<String> {
        let sentence = |keys: &[&str], one: &str, many: &str| {
            let names: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            let verb = if keys.len() == 1 { one } else { many };
            (!keys.is_empty()).then(|| format!("{} of this config {verb}", names.join(" and ")))
        };
        let outside = sentence(&self.outside, "leads out of the project", "lead out of the project");
        let renamed = sentence(&self.renamed, "names another directory", "name other directories");
        let places = [outside, renamed].into_iter().flatten().collect::<Vec<_>>().join(", ");
        (!places.is_empty()).then(|| format!("{places}: not read or written until `agent-handover allow`"))
    }
}
