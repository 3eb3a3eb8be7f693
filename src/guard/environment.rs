//! Secrets that a child process was given in its environment must not end up in its log.

use aho_corasick::AhoCorasick;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::base::fs;
use crate::error::{Error, Result};

/// A variable whose name has one of these in it holds something that is not for a log.
const NAMES: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
    "AUTH",
];
/// Shorter values are words such as `true` or a port, and would be blotted out everywhere.
const SHORTEST: usize = 8;

/// Finds and blots out the values of secret variables.
pub struct Redactor {
    search: AhoCorasick,
    replacements: Vec<String>,
}

impl Redactor {
    /// `None` if the environment holds nothing secret.
    pub fn for_environment(variables: impl Iterator<Item = (String, String)>) -> Option<Redactor> {
        let mut secrets: Vec<(String, String)> = variables.filter(|(name, value)| is_secret(name, value)).collect();
        // The longest first, so that a value which contains another is blotted out whole.
        secrets.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.cmp(b)));
        secrets.dedup_by(|a, b| a.1 == b.1);
        if secrets.is_empty() {
            return None;
        }
        let search = AhoCorasick::new(secrets.iter().map(|(_, value)| value)).ok()?;
        let replacements = secrets.into_iter().map(|(name, _)| format!("[redacted:{name}]")).collect();
        Some(Redactor { search, replacements })
    }

    pub fn redact(&self, text: &str) -> String {
        self.search.replace_all(text, &self.replacements)
    }

    /// Rewrites the file if there is something in it that must not be. Its size does not matter.
    pub fn redact_file(&self, path: &Path) -> Result<()> {
        let found = self.search.stream_find_iter(fs::open(path)?).next();
        match found {
            None => Ok(()),
            Some(Err(cause)) => Err(Error::io("read", path, cause)),
            Some(Ok(_)) => fs::rewrite_private(path, |old, new| self.copy(old, new)),
        }
    }

    fn copy(&self, old: &mut dyn Read, new: &mut dyn Write) -> io::Result<()> {
        self.search.try_stream_replace_all(old, new, &self.replacements).map_err(io::Error::other)
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // A path to a secret is not the secret, and blotting it out would hide what a log is about.
    value.len() >= SHORTEST && !value.starts_with('/') && NAMES.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(pairs: &[(&str, &str)]) -> Option<Redactor> {
        Redactor::for_environment(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn only_values_that_are_secret_by_name_are_blotted_out() {
        let found =
            redactor(&[("GH_TOKEN", "hunter2hunter2"), ("PATH", "/usr/bin:/bin"), ("MY_AUTH", "short")]).unwrap();
        assert_eq!(
            found.redact("a hunter2hunter2 b /usr/bin:/bin short"),
            "a [redacted:GH_TOKEN] b /usr/bin:/bin short"
        );
        assert!(redactor(&[("HOME", "/home/somebody"), ("SSH_AUTH_SOCK", "/run/agent.sock")]).is_none());
    }

    #[test]
    fn a_log_of_any_size_is_cleaned() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let filler = "x".repeat(300_000);
        std::fs::write(&log, format!("{filler}hunter2hunter2{filler}\nhunter2hunter2")).unwrap();
        redactor(&[("GH_TOKEN", "hunter2hunter2")]).unwrap().redact_file(&log).unwrap();
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text, format!("{filler}[redacted:GH_TOKEN]{filler}\n[redacted:GH_TOKEN]"));
    }
}
