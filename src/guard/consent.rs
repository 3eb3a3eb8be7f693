//! Consent to a config: what runs by itself, wherever an agent is opened, obeys only a config that the user has
//! allowed, at this path and with this very content.

use std::path::Path;

use super::consent_store::ConsentStore;
use crate::error::Result;

fn marks() -> Result<ConsentStore> {
    ConsentStore::of("allowed")
}

/// Whether the user has said yes to this config as it is. What cannot be looked up is not allowed.
pub fn is_allowed(config: &Path, content: &str) -> bool {
    marks().is_ok_and(|marks| marks.is_set(config, &[content.as_bytes()]))
}

pub fn allow(config: &Path, content: &str) -> Result<()> {
    marks()?.set(config, &[content.as_bytes()])
}

/// `false` if there was nothing to take back.
pub fn revoke(config: &Path, content: &str) -> Result<bool> {
    marks()?.clear(config, &[content.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_is_to_this_content_at_this_place_by_this_user() {
        let world = tempfile::tempdir().unwrap();
        let (config, other) = (world.path().join("a.toml"), world.path().join("b.toml"));
        let marks = ConsentStore::at(world.path().join("marks"));
        std::fs::write(&config, "x").unwrap();
        std::fs::write(&other, "x").unwrap();
        assert!(!marks.is_set(&config, &[b"x"]));
        marks.set(&config, &[b"x"]).unwrap();
        assert!(marks.is_set(&config, &[b"x"]));
        assert!(!marks.is_set(&config, &[b"y"]), "changed since");
        assert!(!marks.is_set(&other, &[b"x"]), "a copy elsewhere");
        let link = world.path().join("link.toml");
        std::os::unix::fs::symlink(&config, &link).unwrap();
        assert!(marks.is_set(&link, &[b"x"]), "the same file by another name");
    }
}
