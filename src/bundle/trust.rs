//! The keys that this user trusts: a file for each in the user's data directory, where no repository can write.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::key::PublicKey;
use super::seal::BundleSeal;
use crate::base::fs::{self, Depth};
use crate::base::{env, text};
use crate::error::{Category, Error, Result};

/// A trusted key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trusted {
    pub key: PublicKey,
    /// The only name that bundles signed with the key may claim.
    pub name: Option<String>,
    pub added: String,
}

#[derive(Serialize, Deserialize)]
struct TrustedKeyJson {
    public_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    added: String,
}

pub(crate) struct TrustList {
    directory: PathBuf,
}

impl TrustList {
    pub(crate) fn open() -> Result<TrustList> {
        let data = env::data_directory();
        let data =
            data.ok_or_else(|| Error::failed("there is no home directory to keep trusted keys in").hint("set HOME"))?;
        Ok(TrustList::at(data.join("trusted")))
    }

    pub(crate) fn at(directory: PathBuf) -> TrustList {
        TrustList { directory }
    }

    /// All trusted keys, by fingerprint. Files of another owner, or with a name that does not match the key, are ignored.
    pub(crate) fn keys(&self) -> Result<Vec<Trusted>> {
        Ok(fs::names(&self.directory)?.iter().filter_map(|name| self.read(name)).collect())
    }

    pub(crate) fn find(&self, key: &PublicKey) -> Option<Trusted> {
        self.read(&key.fingerprint()).filter(|trusted| trusted.key == *key)
    }

    fn read(&self, fingerprint: &str) -> Option<Trusted> {
        let path = self.directory.join(fingerprint);
        fs::refuse_foreign_owner(&path, "trusted key").ok()?;
        let bytes = fs::read_if_exists(&path).ok()??;
        let text: TrustedKeyJson = serde_json::from_slice(&bytes).ok()?;
        let key = PublicKey::decode(&text.public_key).ok()?;
        (key.fingerprint() == fingerprint).then_some(Trusted { key, name: text.name, added: text.added })
    }

    pub(crate) fn add(&self, trusted: &Trusted) -> Result<()> {
        fs::create_private_directories(&self.directory)?;
        let _lock = fs::lock_directory(&self.directory)?;
        fs::sweep_temporaries(&self.directory, Depth::Directory)?;
        let text = TrustedKeyJson {
            public_key: trusted.key.encode(),
            name: trusted.name.clone(),
            added: trusted.added.clone(),
        };
        let json = super::json::pretty(&text)? + "\n";
        fs::replace(&self.directory.join(trusted.key.fingerprint()), json.as_bytes())
    }

    /// Removes the key with this name, or whose fingerprint begins like this.
    pub(crate) fn remove(&self, which: &str) -> Result<Trusted> {
        let mut found = self.keys()?;
        let is_it = |trusted: &Trusted| {
            trusted.name.as_deref() == Some(which) || which.len() >= 4 && trusted.key.fingerprint().starts_with(which)
        };
        found.retain(is_it);
        let shown = text::one_line(which, 80);
        match found.len() {
            1 => {
                let trusted = found.remove(0);
                fs::remove_file(&self.directory.join(trusted.key.fingerprint()))?;
                Ok(trusted)
            }
            0 => Err(Error::failed(format!("no trusted key is called `{shown}`"))
                .hint("`agent-handover trust list` shows names and fingerprints")),
            _ => {
                let keys: Vec<String> = found.iter().map(|trusted| trusted.key.fingerprint()).collect();
                Err(Error::failed(format!("several trusted keys are called `{shown}`: {}", keys.join(", "))))
            }
        }
    }

    /// The trusted key that signed a bundle; `None` if it is unsigned and that is allowed.
    pub(crate) fn vouch(&self, seal: &BundleSeal, allow_unsigned: bool) -> Result<Option<Trusted>> {
        let untrusted = |message: String| Error::new(Category::Untrusted, message);
        let (key, name) = match seal {
            BundleSeal::Unsigned(_) if allow_unsigned => return Ok(None),
            BundleSeal::Unsigned(why) => {
                return Err(untrusted(format!("the bundle is unsigned: {why}"))
                    .hint("`--allow-unsigned` imports it and marks it as unsigned"));
            }
            BundleSeal::Signed { key, name } => (key, name),
        };
        let claimed = name.as_deref().map(|name| text::one_line(name, 80));
        let trust = format!("agent-handover trust add {}{}", key.encode(), quoted_name(claimed.as_deref()));
        let Some(trusted) = self.find(key) else {
            let who = claimed.map_or(String::new(), |name| format!("; it names `{name}` as its owner"));
            return Err(untrusted(format!("the bundle is signed with a key that you do not trust{who}"))
                .cause(format!("its fingerprint is {}", key.fingerprint()))
                .hint(format!("if its owner confirms this fingerprint, run `{trust}`")));
        };
        // Session-handoff's signature does not cover the name, so it must be the one that the user trusts.
        match (name, &trusted.name) {
            (None, _) => Ok(Some(trusted)),
            (Some(name), Some(known)) if name == known => Ok(Some(trusted)),
            (Some(_), known) => {
                let known = known.as_ref().map_or("without a name".to_owned(), |known| format!("as `{known}`"));
                let claimed = claimed.unwrap_or_default();
                Err(untrusted(format!("the signer calls itself `{claimed}`, but you trust its key {known}"))
                    .hint(format!("if both names mean the same person, run `{trust}`")))
            }
        }
    }
}

/// The `--name` option, quoted for a shell.
fn quoted_name(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!(" --name '{}'", name.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::key::SecretKey;

    fn trusted(name: Option<&str>) -> Trusted {
        let key = SecretKey::generate().unwrap().public();
        Trusted { key, name: name.map(str::to_owned), added: String::new() }
    }

    #[test]
    fn a_key_counts_from_when_it_is_added_until_it_is_removed() {
        let world = tempfile::tempdir().unwrap();
        let list = TrustList::at(world.path().join("trusted"));
        let (alice, bob) = (trusted(Some("Alice")), trusted(None));
        assert_eq!(list.find(&alice.key), None);
        list.add(&alice).unwrap();
        list.add(&bob).unwrap();
        assert_eq!(list.find(&alice.key), Some(alice.clone()));
        assert_eq!(list.keys().unwrap().len(), 2);
        assert!(list.remove("Carol").is_err() && list.remove("").is_err());
        list.remove("Alice").unwrap();
        list.remove(&bob.key.fingerprint()[..12]).unwrap();
        assert_eq!(list.keys().unwrap(), []);
    }

    #[test]
    fn a_file_that_is_not_what_its_name_says_is_trusted_by_nobody() {
        let world = tempfile::tempdir().unwrap();
        let list = TrustList::at(world.path().to_path_buf());
        let (alice, mallory) = (trusted(Some("Alice")), trusted(Some("Mallory")));
        list.add(&mallory).unwrap();
        let file = |trusted: &Trusted| world.path().join(trusted.key.fingerprint());
        std::fs::copy(file(&mallory), file(&alice)).unwrap();
        std::fs::write(world.path().join("rubbish"), "{").unwrap();
        assert_eq!(list.find(&alice.key), None);
        assert_eq!(list.keys().unwrap(), [mallory]);
    }

    #[test]
    fn a_seal_counts_by_its_key_and_a_name_only_if_it_is_known() {
        let world = tempfile::tempdir().unwrap();
        let list = TrustList::at(world.path().to_path_buf());
        let (alice, mallory) = (trusted(Some("Alice")), trusted(None));
        let seal = |who: &Trusted, name: Option<&str>| BundleSeal::Signed {
            key: who.key.clone(),
            name: name.map(str::to_owned),
        };
        list.add(&alice).unwrap();
        assert_eq!(list.vouch(&seal(&alice, Some("Alice")), false).unwrap(), Some(alice.clone()));
        assert_eq!(list.vouch(&seal(&alice, None), false).unwrap(), Some(alice.clone()));
        for seal in
            [seal(&alice, Some("Alicf")), seal(&mallory, Some("Alice")), seal(&mallory, None), BundleSeal::Unsigned("")]
        {
            assert_eq!(list.vouch(&seal, false).unwrap_err().category(), Category::Untrusted);
        }
        // An unknown key is not the same as no signature.
        assert!(list.vouch(&seal(&mallory, None), true).is_err());
        assert_eq!(list.vouch(&BundleSeal::Unsigned(""), true).unwrap(), None);
        list.add(&mallory).unwrap();
        assert!(list.vouch(&seal(&mallory, Some("Alice")), false).is_err());
        let hint = list.vouch(&seal(&mallory, Some("x' ; rm -rf ~ '\x1b")), false).unwrap_err().hints().join("");
        assert!(hint.contains("--name 'x'\\'' ; rm -rf ~ '\\'''"), "{hint}");
    }
}
