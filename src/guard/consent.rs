//! Consent to a config: what runs by itself, wherever an agent is opened, obeys only a config that the user has
//! allowed, at this path and with this very content.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::base::{env, fs, text};
use crate::error::{Error, Result};

/// The mark of one config at one place with one content.
fn mark(directory: &Path, config: &Path, content: &str) -> Result<PathBuf> {
    let real = fs::resolve(config)?;
    let mut digest = Sha256::new();
    digest.update(real.as_os_str().as_bytes());
    digest.update([0]);
    digest.update(content.as_bytes());
    Ok(directory.join(text::hex(&digest.finalize())))
}

/// In the user's own state, where no repository can put anything.
fn directory() -> Result<PathBuf> {
    env::user_state()
        .map(|state| state.join("allowed"))
        .ok_or_else(|| Error::failed("there is no home directory to keep your consent in").hint("set HOME"))
}

/// Whether the user has said yes to this config as it is. What cannot be looked up is not allowed.
pub fn is_allowed(config: &Path, content: &str) -> bool {
    directory().is_ok_and(|directory| is_allowed_in(&directory, config, content))
}

fn is_allowed_in(directory: &Path, config: &Path, content: &str) -> bool {
    let mark = mark(directory, config, content);
    mark.is_ok_and(|mark| mark.is_file() && fs::refuse_foreign_owner(&mark, "consent").is_ok())
}

pub fn allow(config: &Path, content: &str) -> Result<()> {
    allow_in(&directory()?, config, content)
}

fn allow_in(directory: &Path, config: &Path, content: &str) -> Result<()> {
    fs::create_private_directories(directory)?;
    // Its name says all; the text is for who looks around.
    fs::create_flag(&mark(directory, config, content)?, format!("{}\n", config.display()).as_bytes()).map(|_| ())
}

/// `false` if there was nothing to take back.
pub fn revoke(config: &Path, content: &str) -> Result<bool> {
    let mark = mark(&directory()?, config, content)?;
    if !mark.is_file() {
        return Ok(false);
    }
    fs::remove_file(&mark).map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_is_to_this_content_at_this_place_by_this_user() {
        let world = tempfile::tempdir().unwrap();
        let (marks, config, other) =
            (world.path().join("marks"), world.path().join("a.toml"), world.path().join("b.toml"));
        std::fs::write(&config, "x").unwrap();
        std::fs::write(&other, "x").unwrap();
        assert!(!is_allowed_in(&marks, &config, "x"));
        allow_in(&marks, &config, "x").unwrap();
        assert!(is_allowed_in(&marks, &config, "x"));
        assert!(!is_allowed_in(&marks, &config, "y"), "changed since");
        assert!(!is_allowed_in(&marks, &other, "x"), "a copy elsewhere");
        let link = world.path().join("link.toml");
        std::os::unix::fs::symlink(&config, &link).unwrap();
        assert!(is_allowed_in(&marks, &link, "x"), "the same file by another name");
    }
}
