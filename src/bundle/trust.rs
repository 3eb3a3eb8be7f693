//! The keys that this user trusts: a file for each in the user's data directory, where no repository can write.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::key::PublicKey;
use super::name;
use super::seal::BundleSeal;
use crate::base::env;
use crate::base::fs::{self, About, Anchor, Depth, FileKind};
use crate::error::{Category, Error, Result};

/// The largest file of a trusted key.
const MAX_FILE: u64 = 64 << 10;

/// A trusted key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trusted {
    pub key: PublicKey,
    /// The only name that bundles signed with the key may claim. Without one, a claimed name is shown as a claim.
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

    /// All trusted keys, by fingerprint. A list that others can change, or with a file that is not a trusted key, is an error:
    /// nobody knows then whom the user trusts.
    pub(crate) fn keys(&self) -> Result<Vec<Trusted>> {
        let place = Anchor::beside(&self.directory);
        match place.about(&self.directory)? {
            None => return Ok(Vec::new()),
            Some(about) => {
                refuse_kind(&self.directory, &about, FileKind::Directory)?;
                self.refuse_open(&self.directory, &about)?;
            }
        }
        let names = fs::names(&self.directory)?;
        // A kill leaves temporary files, which the next change removes.
        names.iter().filter(|name| !name.starts_with('.')).map(|name| self.read(name)).collect()
    }

    fn read(&self, fingerprint: &str) -> Result<Trusted> {
        let path = self.directory.join(fingerprint);
        let anchor = Anchor::new(&self.directory);
        if let Some(about) = anchor.about(&path)? {
            refuse_kind(&path, &about, FileKind::Regular)?;
            self.refuse_open(&path, &about)?;
        }
        let bytes = anchor.read_within(&path, MAX_FILE)?;
        let damaged = |why: &str| {
            Error::bad_data(format!("the list of trusted keys is damaged: `{}` {why}", path.display()))
                .hint("look at that file, remove it, then add the key again with `agent-handover trust add`")
        };
        let text: TrustedKeyJson = serde_json::from_slice(&bytes).map_err(|_| damaged("is not a trusted key"))?;
        let key =
            PublicKey::decode(&text.public_key).map_err(|error| damaged("has no valid key").cause(error.one_line()))?;
        if key.fingerprint() != fingerprint {
            return Err(damaged("holds another key than its name says"));
        }
        Ok(Trusted { key, name: text.name, added: text.added })
    }

    /// Refuses a file or directory of the list that somebody else owns or may write.
    fn refuse_open(&self, path: &Path, about: &About) -> Result<()> {
        let why = "its owner can change whom you trust";
        fs::refuse_owner_because(about.owner, path, "list of trusted keys", why)?;
        if !about.is_shared {
            return Ok(());
        }
        let shown = path.display();
        Err(Error::bad_data(format!("others can change the list of trusted keys: `{shown}` is writable for them"))
            .hint(format!("run `chmod go-w {shown}`, then look at `agent-handover trust list`")))
    }

    /// Refuses a name that is not for people, or that is or looks like the name of another trusted key.
    fn refuse_name(&self, trusted: &Trusted) -> Result<()> {
        let Some(name) = &trusted.name else { return Ok(()) };
        name::check(name)?;
        match self.namesake(name, &trusted.key)? {
            None => Ok(()),
            Some(other) => {
                let (shown, theirs) = (name::shown(name), name::shown(other.name.as_deref().unwrap_or_default()));
                let like = if *name == theirs { String::new() } else { format!(" looks like `{theirs}`, which") };
                Err(Error::failed(format!("`{shown}`{like} is the name of another key that you trust"))
                    .cause(format!("the fingerprint of that key is {}", other.key.fingerprint()))
                    .hint("pass another name with `--name`, or first `agent-handover trust remove` the other key"))
            }
        }
    }

    /// Sentences about names that nobody can tell apart. This version adds none, but an earlier one did.
    pub(crate) fn doubtful_names(&self) -> Result<Vec<String>> {
        let keys = self.keys()?;
        let mut sentences = Vec::new();
        for (number, trusted) in keys.iter().enumerate() {
            let Some(name) = &trusted.name else { continue };
            let is_like = |other: &&Trusted| other.name.as_deref().is_some_and(|other| name::look_alike(other, name));
            if let Err(error) = name::check(name) {
                sentences.push(error.one_line());
            }
            if let Some(other) = keys[number + 1..].iter().find(is_like) {
                sentences.push(format!("the names of {} and {} look alike", describe(trusted), describe(other)));
            }
        }
        Ok(sentences)
    }

    /// Another trusted key whose name looks like this one.
    fn namesake(&self, name: &str, key: &PublicKey) -> Result<Option<Trusted>> {
        let is_like = |other: &Trusted| {
            other.key != *key && other.name.as_deref().is_some_and(|other| name::look_alike(other, name))
        };
        Ok(self.keys()?.into_iter().find(is_like))
    }

    /// The entry of a key, if it is trusted.
    pub(crate) fn find(&self, key: &PublicKey) -> Result<Option<Trusted>> {
        Ok(self.keys()?.into_iter().find(|trusted| trusted.key == *key))
    }

    /// Trusts a key. The name of a key that is trusted already is replaced.
    pub(crate) fn add(&self, trusted: &Trusted) -> Result<()> {
        self.refuse_name(trusted)?;
        fs::create_private_directories(&self.directory)?;
        let _lock = fs::lock_directory(&self.directory)?;
        self.refuse_name(trusted)?;
        fs::sweep_temporaries(&self.directory, Depth::Directory)?;
        let text = TrustedKeyJson {
            public_key: trusted.key.encode(),
            name: trusted.name.clone(),
            added: trusted.added.clone(),
        };
        let json = super::json::pretty(&text)? + "\n";
        fs::replace(&self.directory.join(trusted.key.fingerprint()), json.as_bytes())
    }

    /// Removes the key with this name, or whose fingerprint begins like this. If another name looks like this one, only a
    /// fingerprint says which key is meant.
    pub(crate) fn remove(&self, which: &str) -> Result<Trusted> {
        let mut found = self.keys()?;
        let is_it = |trusted: &Trusted| {
            trusted.name.as_deref().is_some_and(|name| name::look_alike(name, which))
                || which.len() >= 4 && trusted.key.fingerprint().starts_with(which)
        };
        found.retain(is_it);
        let shown = name::shown(which);
        match found.len() {
            1 if !is_exact(&found[0], which) => {
                let (name, key) = (found[0].name.as_deref().unwrap_or_default(), found[0].key.fingerprint());
                Err(Error::failed(format!("no trusted key is called `{shown}`; `{}` is", name::shown(name)))
                    .hint(format!("if you mean that one, name it by its fingerprint {key}")))
            }
            1 => {
                let trusted = found.remove(0);
                fs::remove_file(&self.directory.join(trusted.key.fingerprint()))?;
                Ok(trusted)
            }
            0 => Err(Error::failed(format!("no trusted key is called `{shown}`"))
                .hint("`agent-handover trust list` shows names and fingerprints")),
            _ => {
                let keys: Vec<String> = found.iter().map(describe).collect();
                Err(Error::failed(format!("several trusted keys fit `{shown}`; none was removed: {}", keys.join(", ")))
                    .hint("name the key by its fingerprint"))
            }
        }
    }

    /// The trusted key that signed a bundle; `None` if it is unsigned and that is allowed.
    pub(crate) fn vouch(&self, seal: &BundleSeal, allow_unsigned: bool) -> Result<Option<Vouched>> {
        let untrusted = |message: String| Error::new(Category::Untrusted, message);
        let (key, name) = match seal {
            BundleSeal::Unsigned(_) if allow_unsigned => return Ok(None),
            BundleSeal::Unsigned(why) => {
                return Err(untrusted(format!("the bundle is unsigned: {why}"))
                    .hint("`--allow-unsigned` imports it and marks it as unsigned"));
            }
            BundleSeal::Signed { key, name } => (key, name),
        };
        let claimed = name.as_deref().map(name::shown);
        let trust = format!("agent-handover trust add {}{}", key.encode(), quoted_name(claimed.as_deref()));
        let Some(trusted) = self.find(key)? else {
            let who = claimed.map_or(String::new(), |name| format!("; it names `{name}` as its owner"));
            let error = untrusted(format!("the bundle is signed with a key that you do not trust{who}"))
                .cause(format!("its fingerprint is {}", key.fingerprint()));
            let namesake = name.as_deref().map(|name| self.namesake(name, key)).transpose()?.flatten();
            return Err(match namesake {
                None => error.hint(format!("if its owner confirms this fingerprint, run `{trust}`")),
                Some(other) => error
                    .cause(format!("you trust another key under that name: {}", describe(&other)))
                    .hint("ask the person whom you trust under that name whether this key is theirs, too"),
            });
        };
        self.refuse_doubtful(&trusted)?;
        // Session-handoff's signature does not cover the name, so it is never more than a claim.
        match (name, &trusted.name) {
            (None, _) => Ok(Some(Vouched { trusted, claimed_name: None })),
            (Some(name), Some(known)) if name == known => Ok(Some(Vouched { trusted, claimed_name: None })),
            (Some(name), None) => match self.namesake(name, key)? {
                None => Ok(Some(Vouched { trusted, claimed_name: claimed })),
                Some(_) => Err(untrusted(format!(
                    "the signer calls itself `{}`, which is or looks like the name of another key that you trust",
                    name::shown(name)
                ))
                .cause(format!("the fingerprint of the signer is {}", key.fingerprint()))),
            },
            (Some(_), Some(known)) => {
                let (claimed, known) = (claimed.unwrap_or_default(), name::shown(known));
                Err(untrusted(format!("the signer calls itself `{claimed}`, but you trust its key as `{known}`"))
                    .hint(format!("if both names mean the same person, run `{trust}`")))
            }
        }
    }
}

impl TrustList {
    /// Refuses a key whose name looks like the name of another key, as lists of an earlier version may have it: whoever reads
    /// the name would take one for the other. Two keys with the very same name are the user's own choice.
    fn refuse_doubtful(&self, trusted: &Trusted) -> Result<()> {
        let Some(name) = &trusted.name else { return Ok(()) };
        let Some(other) = self.namesake(name, &trusted.key)?.filter(|other| other.name != trusted.name) else {
            return Ok(());
        };
        let message =
            format!("the names of two keys that you trust look alike: {} and {}", describe(trusted), describe(&other));
        let hint = "remove the wrong one with `agent-handover trust remove FINGERPRINT`, or give one another name with \
                    `trust add KEY --name NAME`";
        Err(Error::new(Category::Untrusted, message).hint(hint))
    }
}

/// Refuses another kind of file in the place of the list or of a key. An empty list would not say that it is damaged.
fn refuse_kind(path: &Path, about: &About, kind: FileKind) -> Result<()> {
    if about.kind == kind {
        return Ok(());
    }
    let shown = path.display();
    let kind = if kind == FileKind::Directory { "directory" } else { "plain file" };
    Err(Error::bad_data(format!("the list of trusted keys is damaged: `{shown}` is not a {kind}"))
        .hint("look at it, move it away, then add the keys again with `agent-handover trust add`"))
}

/// A trusted key that signed a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vouched {
    pub trusted: Trusted,
    /// The name that the bundle claims, if the key is trusted without a name.
    pub claimed_name: Option<String>,
}

/// Whether a person named exactly this key.
fn is_exact(trusted: &Trusted, which: &str) -> bool {
    trusted.name.as_deref() == Some(which) || trusted.key.fingerprint().starts_with(which)
}

/// A key for people: its name, if it has one, and its fingerprint.
pub(crate) fn describe(trusted: &Trusted) -> String {
    let name = trusted.name.as_ref().map_or(String::new(), |name| format!("{} ", name::shown(name)));
    format!("{name}{}", trusted.key.fingerprint())
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
        let world = crate::base::scratch::directory();
        let list = TrustList::at(world.path().join("trusted"));
        let (alice, bob) = (trusted(Some("Alice")), trusted(None));
        assert_eq!(list.keys().unwrap(), []);
        list.add(&alice).unwrap();
        list.add(&bob).unwrap();
        assert!(list.keys().unwrap().contains(&alice));
        assert_eq!(list.keys().unwrap().len(), 2);
        assert!(list.remove("Carol").is_err() && list.remove("").is_err());
        list.remove("Alice").unwrap();
        list.remove(&bob.key.fingerprint()[..12]).unwrap();
        assert_eq!(list.keys().unwrap(), []);
    }

    #[test]
    fn a_list_that_is_damaged_or_that_others_can_change_counts_for_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let world = crate::base::scratch::directory();
        let list = TrustList::at(world.path().to_path_buf());
        let (alice, mallory) = (trusted(Some("Alice")), trusted(Some("Mallory")));
        list.add(&mallory).unwrap();
        let seal = BundleSeal::Signed { key: mallory.key.clone(), name: None };
        let refused = |why: &str| {
            for error in [list.keys().unwrap_err(), list.vouch(&seal, false).unwrap_err()] {
                assert!(error.category() == Category::BadData && error.message().contains(why), "{}", error.message());
            }
        };
        let file = |trusted: &Trusted| world.path().join(trusted.key.fingerprint());
        std::fs::copy(file(&mallory), file(&alice)).unwrap();
        refused("holds another key than its name says");
        std::fs::remove_file(file(&alice)).unwrap();
        std::fs::write(world.path().join("rubbish"), "{").unwrap();
        refused("is not a trusted key");
        std::fs::remove_file(world.path().join("rubbish")).unwrap();
        std::fs::write(world.path().join(".agent-handover-1.tmp"), "{").unwrap();
        for path in [world.path().to_path_buf(), file(&mallory)] {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
            refused("others can change the list");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(list.keys().unwrap(), [mallory]);
    }

    #[test]
    fn no_two_names_look_alike() {
        let world = crate::base::scratch::directory();
        let list = TrustList::at(world.path().to_path_buf());
        let alice = trusted(Some("Alice"));
        list.add(&alice).unwrap();
        for name in ["Alice", "alice", "A1ice", "Al\u{200b}ice", "Аlice"] {
            assert!(list.add(&trusted(Some(name))).is_err(), "{name}");
        }
        assert_eq!(list.keys().unwrap(), std::slice::from_ref(&alice));
        // The same key may get another name.
        let renamed = Trusted { name: Some("ALICE".to_owned()), ..alice };
        list.add(&renamed).unwrap();
        assert!(list.remove("Alice").is_err());
        // As an older version let them in.
        let twin = Trusted { name: Some("Al\u{200b}ice".to_owned()), ..trusted(None) };
        let json = serde_json::json!({ "public_key": twin.key.encode(), "name": twin.name, "added": "" });
        std::fs::write(world.path().join(twin.key.fingerprint()), json.to_string()).unwrap();
        let error = list.remove("ALICE").unwrap_err();
        assert!(error.message().contains("Al\\u{200b}ice"), "{}", error.message());
        list.remove(&twin.key.fingerprint()).unwrap();
        list.remove("ALICE").unwrap();
    }

    #[test]
    fn a_seal_counts_by_its_key_and_a_name_only_if_it_is_known() {
        let world = crate::base::scratch::directory();
        let list = TrustList::at(world.path().to_path_buf());
        let (alice, mallory) = (trusted(Some("Alice")), trusted(None));
        let seal = |who: &Trusted, name: Option<&str>| BundleSeal::Signed {
            key: who.key.clone(),
            name: name.map(str::to_owned),
        };
        list.add(&alice).unwrap();
        let vouched = |trusted: &Trusted, claimed: Option<&str>| {
            Some(Vouched { trusted: trusted.clone(), claimed_name: claimed.map(str::to_owned) })
        };
        assert_eq!(list.vouch(&seal(&alice, Some("Alice")), false).unwrap(), vouched(&alice, None));
        assert_eq!(list.vouch(&seal(&alice, None), false).unwrap(), vouched(&alice, None));
        for seal in
            [seal(&alice, Some("Alicf")), seal(&mallory, Some("Alice")), seal(&mallory, None), BundleSeal::Unsigned("")]
        {
            assert_eq!(list.vouch(&seal, false).unwrap_err().category(), Category::Untrusted);
        }
        // An unknown key is not the same as no signature.
        assert!(list.vouch(&seal(&mallory, None), true).is_err());
        assert_eq!(list.vouch(&BundleSeal::Unsigned(""), true).unwrap(), None);
        // Without a name a key vouches, and the name is a claim, unless it is that of another key.
        list.add(&mallory).unwrap();
        assert_eq!(list.vouch(&seal(&mallory, Some("Mal")), false).unwrap(), vouched(&mallory, Some("Mal")));
        for name in ["Alice", "A1ice", "Al\u{200b}ice"] {
            assert!(list.vouch(&seal(&mallory, Some(name)), false).is_err(), "{name}");
        }
        let stranger = trusted(None);
        let hint = list.vouch(&seal(&stranger, Some("x' ; rm -rf ~ '\x1b")), false).unwrap_err().hints().join("");
        assert!(hint.contains("--name 'x'\\'' ; rm -rf ~ '\\''\\u{1b}'"), "{hint}");
    }
}
