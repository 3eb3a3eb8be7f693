//! What installs did to files, kept in the user's own state, so that `uninstall` can put back what was there to the
//! byte: an empty object, a file that did not exist, a directory that had to be made.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::{env, fs, text};
use crate::error::{Error, Result};

const SCHEMA: &str = "agent-handover/installs/1";

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct InstallRecord {
    schema: String,
    files: Vec<InstalledFile>,
    /// Made by us; taken away once empty.
    directories: Vec<PathBuf>,
    #[serde(skip)]
    file: PathBuf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct InstalledFile {
    path: PathBuf,
    /// The digest of the text as we left it. If it is another one now, somebody has written there since.
    after: String,
    /// `None` if there was no file.
    was: Option<Undo>,
}

/// What to put in the place of which bytes. Only the part that we changed is kept: settings may hold secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Undo {
    start: usize,
    end: usize,
    text: String,
}

impl InstallRecord {
    /// The one of this user. What cannot be understood counts as none: without it less is put back to the byte.
    pub fn load() -> Result<InstallRecord> {
        let file = directory()?.join("installs.json");
        let bytes = fs::read_if_exists(&file)?.unwrap_or_default();
        let known = serde_json::from_slice::<InstallRecord>(&bytes).ok().filter(|record| record.schema == SCHEMA);
        let mut record = known.unwrap_or_default();
        record.schema = SCHEMA.to_owned();
        record.file = file;
        Ok(record)
    }

    /// What stood there before we came, if the file is as we left it: `Some(None)` if there was none.
    pub fn before(&self, path: &Path, now: &str) -> Option<Option<String>> {
        let digest = digest(now);
        let entry = self.files.iter().find(|entry| entry.path == path && entry.after == digest)?;
        match &entry.was {
            None => Some(None),
            Some(undo) => {
                let (head, tail) = (now.get(..undo.start)?, now.get(undo.end..)?);
                Some(Some(format!("{head}{}{tail}", undo.text)))
            }
        }
    }

    /// Whether it was we who made the file, whatever has become of it.
    pub fn is_made_by_us(&self, path: &Path) -> bool {
        self.files.iter().any(|entry| entry.path == path && entry.was.is_none())
    }

    /// Remembers what a file will be and what it was. The entry for what it is now stays, in case of a kill.
    pub fn remember(&mut self, path: &Path, was: Option<&str>, now: Option<&str>, after: &str) {
        let kept = now.map(digest);
        self.files.retain(|entry| entry.path != path || Some(&entry.after) == kept.as_ref());
        let was = was.map(|was| undo(was, after));
        self.files.push(InstalledFile { path: path.to_path_buf(), after: digest(after), was });
    }

    pub fn forget(&mut self, path: &Path) {
        self.files.retain(|entry| entry.path != path);
    }

    /// Remembers which parts of the way to a directory are missing, then makes them.
    pub fn make_directory(&mut self, path: &Path) -> Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.expect(path);
        self.save()?;
        fs::create_directories(path)
    }

    fn expect(&mut self, path: &Path) {
        for level in path.ancestors().take_while(|level| !level.exists()) {
            if !self.directories.iter().any(|known| known == level) {
                self.directories.push(level.to_path_buf());
            }
        }
    }

    /// Takes away the directories of ours on the way to `path` that are empty now.
    pub fn tidy(&mut self, path: &Path) -> Result<()> {
        for level in path.ancestors().skip(1) {
            let is_ours = self.directories.iter().any(|known| known == level);
            if !is_ours || level.exists() && !fs::names(level)?.is_empty() {
                break;
            }
            if level.exists() {
                fs::remove_empty_directory(level)?;
            }
            self.directories.retain(|known| known != level);
        }
        Ok(())
    }

    /// Written before the files it tells of are. With nothing to tell there is no record.
    pub fn save(&mut self) -> Result<()> {
        let file = self.file.clone();
        let Some(directory) = file.parent() else { return Ok(()) };
        let is_own = |path: &PathBuf| directory.starts_with(path);
        if self.files.is_empty() && self.directories.iter().all(is_own) {
            if file.exists() {
                fs::remove_file(&file)?;
            }
            return self.tidy(&file);
        }
        self.expect(directory);
        fs::create_private_directories(directory)?;
        let text = serde_json::to_string_pretty(self).map_err(|cause| Error::bug("the record").cause(cause))?;
        fs::replace(&file, format!("{text}\n").as_bytes())
    }

    /// Removes what a killed install left beside the record. Only for who is alone.
    pub fn sweep(&self) -> Result<()> {
        match self.file.parent() {
            Some(directory) => fs::sweep_temporaries(directory, fs::Depth::Directory),
            None => Ok(()),
        }
    }
}

fn directory() -> Result<PathBuf> {
    env::user_state().ok_or_else(|| Error::failed("there is no home directory to keep a record in").hint("set HOME"))
}

fn digest(data: &str) -> String {
    text::digest(data.as_bytes(), 32)
}

/// What turns `after` back into `was`: the part between what both begin and what both end with.
fn undo(was: &str, after: &str) -> Undo {
    let same = |one: &u8, other: &u8| one == other;
    let head = was.bytes().zip(after.bytes()).take_while(|(one, other)| same(one, other)).count();
    let head = (0..=head).rev().find(|at| was.is_char_boundary(*at) && after.is_char_boundary(*at)).unwrap_or(0);
    let (one, other) = (&was[head..], &after[head..]);
    let tail = one.bytes().rev().zip(other.bytes().rev()).take_while(|(one, other)| same(one, other)).count();
    let fits = |at: &usize| one.is_char_boundary(one.len() - at) && other.is_char_boundary(other.len() - at);
    let tail = (0..=tail).rev().find(fits).unwrap_or(0);
    Undo { start: head, end: after.len() - tail, text: one[..one.len() - tail].to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_two_texts_can_be_undone(was in "[aé\n]{0,8}", after in "[aé\n]{0,8}") {
            let mut record = InstallRecord::default();
            record.remember(Path::new("/f"), Some(&was), Some(&was), &after);
            prop_assert_eq!(record.before(Path::new("/f"), &after), Some(Some(was)));
            prop_assert_eq!(record.before(Path::new("/f"), "changed"), None);
        }
    }

    #[test]
    fn only_what_was_changed_is_kept() {
        let mut record = InstallRecord::default();
        record.remember(
            Path::new("/f"),
            Some("{\"key\": \"sk-secret\"}"),
            None,
            "{\"key\": \"sk-secret\", \"hooks\": 1}",
        );
        assert!(!serde_json::to_string(&record).unwrap().contains("secret"));
    }
}
