//! Consent to a config. Hooks run wherever an agent is opened, so they obey only a config that the user has allowed, at this
//! path and with exactly this content.

use std::path::Path;

use super::consent_store::ConsentStore;
use crate::error::Result;

fn store() -> Result<ConsentStore> {
    ConsentStore::of("allowed")
}

/// Whether the user has allowed this config with this content. If that cannot be looked up, it is not allowed.
pub(crate) fn is_allowed(config: &Path, content: &str) -> bool {
    store().is_ok_and(|store| store.is_set(config, &[content.as_bytes()]))
}

pub(crate) fn allow(config: &Path, content: &str) -> Result<()> {
    store()?.set(config, &[content.as_bytes()])
}

/// Revokes the consent. `false` if there was none.
pub(crate) fn revoke(config: &Path, content: &str) -> Result<bool> {
    store()?.clear(config, &[content.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_is_to_this_content_at_this_place_by_this_user() {
        let world = crate::base::scratch::directory();
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
