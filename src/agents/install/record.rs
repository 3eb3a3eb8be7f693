//! The record of what installs did, kept in the user's own state. With it, an uninstall restores files to the byte: an empty
//! object, a file that did not exist, a directory that we created.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::{env, fs, text};
use crate::error::{Error, Result};

const SCHEMA: &str = "agent-handover/installs/1";

/// Every file and directory that installs changed or created.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct InstallRecord {
    schema: String,
    files: Vec<InstalledFile>,
    /// Directories that we created. They are removed once they are empty.
    directories: Vec<PathBuf>,
    #[serde(skip)]
    file: PathBuf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct InstalledFile {
    path: PathBuf,
    /// The digest of the text as we left it. If it differs now, somebody has changed the file.
    after: String,
    /// How to restore the text before us. `None` if there was no file.
    was: Option<Undo>,
}

/// A replacement for a range of bytes. Only the part that we changed is kept, because settings may hold secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Undo {
    start: usize,
    end: usize,
    text: String,
}

impl InstallRecord {
    /// The record of this user. One that cannot be parsed counts as empty; then less can be restored to the byte.
    pub(super) fn load() -> Result<InstallRecord> {
        let file = directory()?.join("installs.json");
        let bytes = fs::read_if_exists(&file)?.unwrap_or_default();
        let known = serde_json::from_slice::<InstallRecord>(&bytes).ok().filter(|record| record.schema == SCHEMA);
        let mut record = known.unwrap_or_default();
        record.schema = SCHEMA.to_owned();
        record.file = file;
        Ok(record)
    }

    /// The text before our install, if the file is as we left it. `Some(None)` if there was no file.
    pub(super) fn before(&self, path: &Path, now: &str) -> Option<Option<String>> {
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

    /// Whether an install wrote this file, whatever it contains now.
    pub(super) fn knows(&self, path: &Path) -> bool {
        self.files.iter().any(|entry| entry.path == path)
    }

    /// Whether we created the file, whatever it contains now.
    pub(super) fn is_made_by_us(&self, path: &Path) -> bool {
        self.files.iter().any(|entry| entry.path == path && entry.was.is_none())
    }

    /// Remembers the next text of a file and its original one. The entry for its present text stays, in case we are killed before
    /// the file is written.
    pub(super) fn remember(&mut self, path: &Path, was: Option<&str>, now: Option<&str>, after: &str) {
        let kept = now.map(digest);
        self.files.retain(|entry| entry.path != path || Some(&entry.after) == kept.as_ref());
        let was = was.map(|was| undo(was, after));
        self.files.push(InstalledFile { path: path.to_path_buf(), after: digest(after), was });
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.files.retain(|entry| entry.path != path);
    }

    /// Remembers which directories on the way are missing, then creates them.
    pub(super) fn make_directory(&mut self, path: &Path) -> Result<()> {
        if fs::is_directory(path) {
            return Ok(());
        }
        self.expect(path);
        self.save()?;
        fs::create_directories(path)
    }

    fn expect(&mut self, path: &Path) {
        for level in path.ancestors().take_while(|level| !fs::exists(level)) {
            if !self.directories.iter().any(|known| known == level) {
                self.directories.push(level.to_path_buf());
            }
        }
    }

    /// Removes directories above `path` that we created and that are empty now.
    pub(super) fn tidy(&mut self, path: &Path) -> Result<()> {
        for level in path.ancestors().skip(1) {
            let is_ours = self.directories.iter().any(|known| known == level);
            if !is_ours || fs::exists(level) && !fs::names(level)?.is_empty() {
                break;
            }
            if fs::exists(level) {
                fs::remove_empty_directory(level)?;
            }
            self.directories.retain(|known| known != level);
        }
        Ok(())
    }

    /// Saves the record, before the files that it describes are written. An empty record is removed.
    pub(super) fn save(&mut self) -> Result<()> {
        let file = self.file.clone();
        let Some(directory) = file.parent() else { return Ok(()) };
        let is_own = |path: &PathBuf| directory.starts_with(path);
        if self.files.is_empty() && self.directories.iter().all(is_own) {
            if fs::exists(&file) {
                fs::remove_file(&file)?;
            }
            return self.tidy(&file);
        }
        self.expect(directory);
        fs::create_private_directories(directory)?;
        let text = serde_json::to_string_pretty(self).map_err(|cause| Error::bug("the record").cause(cause))?;
        fs::replace(&file, format!("{text}\n").as_bytes())
    }

    /// Removes temporary files of a killed install. The caller must hold the lock.
    pub(super) fn sweep(&self) -> Result<()> {
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

/// What turns `after` back into `was`: the part between their common beginning and their common end.
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
