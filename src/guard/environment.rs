//! Keeps the secrets in the environment of a child process out of its log.

use aho_corasick::AhoCorasick;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::base::fs::Anchor;
use crate::error::{Error, Result};

/// A variable whose name contains one of these holds a secret.
const NAMES: &[&str] = &["TOKEN", "SECRET", "PASS", "PWD_", "APIKEY", "CREDENTIAL", "AUTH", "DSN"];
/// A variable whose name ends in one of these holds a secret.
const ENDINGS: &[&str] = &["KEY", "_PAT", "_PW"];
/// A variable whose name ends in one of these holds the place of a secret, which is not secret.
const PLACES: &[&str] = &["_SOCK", "_FILE", "_PATH", "_DIR", "_HOME", "_URL_BASE"];
/// Shorter values are words such as `true` or a port, and would be redacted everywhere.
const SHORTEST: usize = 8;

/// Replaces the values of secret variables.
pub(crate) struct Redactor {
    /// A value that is part of another is replaced in a later pass. In the same pass it could be found first, and the rest of
    /// the longer value would stay.
    passes: Vec<Pass>,
}

struct Pass {
    search: AhoCorasick,
    replacements: Vec<String>,
}

impl Redactor {
    /// A redactor for these variables. `None` if none of them is secret.
    pub(crate) fn for_environment(variables: impl Iterator<Item = (String, String)>) -> Option<Redactor> {
        let mut secrets: Vec<(String, String)> = variables.filter(|(name, value)| is_secret(name, value)).collect();
        secrets.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.cmp(b)));
        secrets.dedup_by(|a, b| a.1 == b.1);
        let mut groups: Vec<Vec<(String, String)>> = Vec::new();
        for secret in secrets {
            let last = groups.iter().rposition(|group| group.iter().any(|(_, longer)| longer.contains(&secret.1)));
            let place = last.map_or(0, |last| last + 1);
            if groups.len() == place {
                groups.push(Vec::new());
            }
            groups[place].push(secret);
        }
        let passes: Option<Vec<Pass>> = groups
            .into_iter()
            .map(|group| {
                let search = AhoCorasick::new(group.iter().map(|(_, value)| value)).ok()?;
                let replacements = group.into_iter().map(|(name, _)| format!("[redacted:{name}]")).collect();
                Some(Pass { search, replacements })
            })
            .collect();
        passes.filter(|passes| !passes.is_empty()).map(|passes| Redactor { passes })
    }

    #[cfg(test)]
    pub(crate) fn redact(&self, text: &str) -> String {
        let first = text.to_owned();
        self.passes.iter().fold(first, |text, pass| pass.search.replace_all(&text, &pass.replacements))
    }

    /// Redacts a file of any size. A file without secrets is not rewritten.
    pub(crate) fn redact_file(&self, anchor: &Anchor, path: &Path) -> Result<()> {
        for pass in &self.passes {
            match pass.search.stream_find_iter(anchor.open(path)?).next() {
                None => {}
                Some(Err(cause)) => return Err(Error::io("read", path, cause)),
                Some(Ok(_)) => anchor.rewrite_private(path, |old, new| pass.copy(old, new))?,
            }
        }
        Ok(())
    }
}

impl Pass {
    fn copy(&self, old: &mut dyn Read, new: &mut dyn Write) -> io::Result<()> {
        self.search.try_stream_replace_all(old, new, &self.replacements).map_err(io::Error::other)
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let by_name = NAMES.iter().any(|part| name.contains(part)) || ENDINGS.iter().any(|ending| name.ends_with(ending));
    let is_place = PLACES.iter().any(|ending| name.ends_with(ending));
    value.len() >= SHORTEST && !is_place && (by_name || !super::secrets::find(value).is_empty())
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
        let url = ["postgres://app:", "s3cr3tPa55@db/app"].concat();
        let found = redactor(&[
            ("AWS_SECRET_ACCESS_KEY", "/abcd/efghIJKLmnop"),
            ("DB_PASS", "hunter2hunter2"),
            ("GITHUB_PAT", "not-so-random"),
            ("DATABASE_URL", &url),
        ])
        .unwrap();
        let text = format!("/abcd/efghIJKLmnop hunter2hunter2 not-so-random {url}");
        let clean = "[redacted:AWS_SECRET_ACCESS_KEY] [redacted:DB_PASS] [redacted:GITHUB_PAT] [redacted:DATABASE_URL]";
        assert_eq!(found.redact(&text), clean);
    }

    #[test]
    fn a_secret_that_begins_with_another_is_blotted_out_whole() {
        let found = redactor(&[
            ("A_TOKEN", "abcdefgh12345678"),
            ("B_TOKEN", "abcdefgh12345678SECRETTAIL"),
            ("C_TOKEN", "12345678S"),
        ]);
        let text = "abcdefgh12345678SECRETTAIL abcdefgh12345678 x12345678S";
        assert_eq!(found.unwrap().redact(text), "[redacted:B_TOKEN] [redacted:A_TOKEN] x[redacted:C_TOKEN]");
    }

    #[test]
    fn a_log_of_any_size_is_cleaned() {
        let directory = crate::base::scratch::directory();
        let log = directory.path().join("log");
        let filler = "x".repeat(300_000);
        std::fs::write(&log, format!("{filler}hunter2hunter2{filler}\nhunter2hunter2")).unwrap();
        redactor(&[("GH_TOKEN", "hunter2hunter2")]).unwrap().redact_file(&Anchor::beside(&log), &log).unwrap();
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text, format!("{filler}[redacted:GH_TOKEN]{filler}\n[redacted:GH_TOKEN]"));
    }
}
