//! The directory of a history: where its files are, and how they are read and written safely.

use std::path::{Path, PathBuf};

use super::index::Index;
use super::own_keys;
use crate::base::fs::{self, Anchor, Depth, FileError, FileKind};
use crate::base::text;
use crate::error::{Error, Result};
use crate::guard::own_record::{self, OwnKey};
use crate::handoff::{Handoff, repr};

/// The name of the directory, unless the config has another.
pub(crate) const DIRECTORY: &str = ".agent-history";
/// The largest handoff that may be imported. The next agent reads a handoff as a whole.
pub(crate) const MAX_ARCHIVE: u64 = 4 << 20;
/// The largest archive that is read: a run may archive the largest note, which has 64 MiB, with its frontmatter.
const MAX_READ_ARCHIVE: u64 = 80 << 20;
/// The largest file beside the archives: an index of a few hundred thousand sessions.
const MAX_OWN_FILE: u64 = 256 << 20;

/// The history of a project.
pub(crate) struct History {
    /// The project that the history belongs to.
    pub(super) root: PathBuf,
    pub directory: PathBuf,
    /// Every file of the history is reached through it: somebody else may have made them.
    pub(super) anchor: Anchor,
}

/// The names of the archives, and errors about names in their directory that no archive can be read from.
#[derive(Default)]
pub(super) struct ArchiveNames {
    pub names: Vec<String>,
    pub refused: Vec<FileError>,
}

impl History {
    /// The history in this directory of the project at `root`, or outside of it.
    pub(crate) fn at(root: &Path, directory: PathBuf) -> History {
        History { root: root.to_path_buf(), anchor: Anchor::around(root, &directory), directory }
    }

    /// Whether there is a history. An error if a link or a special file is in its place.
    pub(crate) fn exists(&self) -> Result<bool> {
        // Opening it finds out whether it is a directory.
        match self.anchor.about(&self.directory)? {
            None => Ok(false),
            Some(_) => Ok(self.anchor.names_at_most(&self.directory, 0).map(|_| true)?),
        }
    }

    /// The directory of the archives.
    pub(super) fn sessions(&self) -> PathBuf {
        self.directory.join("sessions")
    }

    pub(crate) fn latest_path(&self) -> PathBuf {
        self.directory.join("LATEST.md")
    }

    pub(crate) fn prompt_path(&self) -> PathBuf {
        self.directory.join("RESUME_PROMPT.txt")
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.directory.join("INDEX.yaml")
    }

    pub(super) fn decisions_path(&self) -> PathBuf {
        self.directory.join("DECISIONS.md")
    }

    pub(super) fn lifecycle_path(&self) -> PathBuf {
        self.directory.join("LIFECYCLE.yaml")
    }

    pub(super) fn archive_path(&self, id: &str) -> PathBuf {
        self.sessions().join(format!("{}.md", file_name(id)))
    }

    /// The file names of all archives. A link or a special file is not an archive.
    pub(super) fn archive_names(&self) -> Result<ArchiveNames> {
        let mut archives = ArchiveNames::default();
        for (name, kind) in self.anchor.names_and_kinds(&self.sessions())? {
            if !name.ends_with(".md") {
                continue;
            }
            match kind {
                // Some file systems tell the kind only of a file that is opened.
                FileKind::Regular | FileKind::Unknown => archives.names.push(name),
                _ => archives.refused.extend(self.anchor.require_regular(&self.sessions().join(name)).err()),
            }
        }
        Ok(archives)
    }

    /// The same history, with the directory of the archives held open: for reading many of them.
    pub(super) fn holding_archives(&self) -> History {
        let (root, directory) = (self.root.clone(), self.directory.clone());
        History { root, directory, anchor: self.anchor.holding(&self.sessions()) }
    }

    /// Locks the directory for writing: makes it, refuses symlinks in it, and removes temporaries of killed writers.
    pub(super) fn lock_for_writing(&self) -> Result<fs::DirectoryLock> {
        self.lock_and_count().map(|(lock, _)| lock)
    }

    /// Like [`History::lock_for_writing`]. Also returns how many archives there are.
    pub(super) fn lock_and_count(&self) -> Result<(fs::DirectoryLock, usize)> {
        loop {
            let lock = self.lock_once()?;
            // An import that failed takes back the directory, too, if it had made it.
            if !lock.is_of_removed() {
                self.anchor.sweep_temporaries(&self.directory, Depth::Directory)?;
                let archives = self.anchor.sweep_and_count(&self.sessions(), ".md")?;
                return Ok((lock, archives));
            }
        }
    }

    /// Whether another process holds the lock for writing.
    pub(crate) fn is_being_changed(&self) -> bool {
        self.anchor.is_directory_locked(&self.directory)
    }

    fn lock_once(&self) -> Result<fs::DirectoryLock> {
        let is_new = !self.anchor.is_taken(&self.directory);
        self.anchor.create_directories(&self.sessions()).map_err(refused)?;
        for path in self.own_files() {
            self.refuse_symlink(&path)?;
        }
        if is_new {
            own_record::mark_created(&self.directory);
        }
        self.anchor.lock_directory_after_work(&self.directory)
    }

    /// What every change of the history changes at least one of: the files beside the archives, and their directory.
    pub(crate) fn changing_files(&self) -> Vec<PathBuf> {
        self.own_files().into_iter().chain([self.sessions()]).collect()
    }

    /// The files that stand beside the archives.
    pub(super) fn own_files(&self) -> [PathBuf; 6] {
        let derived = [self.latest_path(), self.index_path(), self.prompt_path(), self.decisions_path()];
        let [latest, index, prompt, decisions] = derived;
        [latest, index, prompt, decisions, self.lifecycle_path(), self.digests_path()]
    }

    pub(super) fn refuse_symlink(&self, path: &Path) -> Result<()> {
        self.anchor.require_regular(path).map_err(refused)
    }

    /// The content of a file beside the archives; `None` if there is none.
    pub(super) fn read_own(&self, path: &Path) -> Result<Option<Vec<u8>>, FileError> {
        match self.anchor.read_within(path, MAX_OWN_FILE) {
            Err(error) if error.is_absent() => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// The text of LATEST.md; `None` if there is none.
    pub(crate) fn latest_text(&self) -> Result<Option<String>> {
        Ok(self.read_own(&self.latest_path())?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The text of RESUME_PROMPT.txt; `None` if there is none.
    pub(crate) fn prompt_text(&self) -> Result<Option<String>> {
        Ok(self.read_own(&self.prompt_path())?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    pub(super) fn read_archive_text(&self, path: &Path) -> Result<String, FileError> {
        let bytes = self.anchor.read_within(path, MAX_READ_ARCHIVE)?;
        String::from_utf8(bytes).map_err(|_| FileError::NotText { path: path.to_path_buf() })
    }

    pub(super) fn read_archive(&self, path: &Path) -> Result<Handoff> {
        self.parse_archive(path, &self.read_archive_text(path)?)
    }

    pub(super) fn parse_archive(&self, path: &Path, text: &str) -> Result<Handoff> {
        super::parse(text).map_err(|error| error.lead(&format!("`{}`: ", path.display())))
    }

    /// Like [`History::parse_archive`], with the key of the document in the user's own record.
    pub(super) fn parse_with_key(&self, path: &Path, text: &str) -> Result<(Handoff, OwnKey)> {
        let handoff = self.parse_archive(path, text)?;
        let key = own_keys::of_document(text, &handoff).in_file(path);
        Ok((handoff, key))
    }

    pub(super) fn decisions_log(&self) -> Result<String, FileError> {
        let bytes = self.read_own(&self.decisions_path())?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The index as it is on disk.
    pub(crate) fn index(&self) -> Result<Index> {
        let path = self.index_path();
        let bytes = self.read_own(&path)?.ok_or_else(|| {
            Error::failed(format!("no INDEX.yaml at {}", path.display()))
                .hint("`agent-handover history create` makes one")
        })?;
        let text = String::from_utf8_lossy(&bytes);
        Index::parse(&text).map_err(|error| {
            Error::bad_data(format!(
                "cannot read INDEX.yaml at {}: line {}: {}",
                path.display(),
                error.line,
                error.message
            ))
            .hint("the next `agent-handover history create` or `close` rebuilds it from the archives")
        })
    }

    /// The path of a file that the index names. It must lie inside the directory, by its name; opening it refuses links.
    pub(super) fn inside(&self, file: &str) -> Result<PathBuf> {
        let path = fs::tidy(Path::new(file)).filter(|path| path.is_relative()).map(|path| self.directory.join(path));
        path.ok_or_else(|| Error::failed(format!("{} is outside {}", repr(file), self.directory.display())))
    }

    pub(super) fn write_if_changed(&self, path: &Path, content: &str) -> Result<()> {
        if content.is_empty() || self.read_own(path)?.as_deref() == Some(content.as_bytes()) {
            return Ok(());
        }
        Ok(self.anchor.replace(path, content.as_bytes())?)
    }
}

/// The refusal to write to a file, in Session Glue's words if it is because of a link.
fn refused(error: FileError) -> Error {
    match error {
        FileError::NotRegular { what: FileKind::Link, .. } => {
            Error::from(error).lead("refusing to write through a symlink: ")
        }
        error => error.into(),
    }
}

/// The name of an archive without its extension: the id as Session Glue writes it, if that is a safe file name; otherwise
/// a safe form with a digest.
pub(super) fn file_name(id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if id.len() <= 100
        && id.chars().all(plain)
        && !id.starts_with(['-', '.'])
        && !id.ends_with(['-', '.'])
        && !id.is_empty()
    {
        return id.to_owned();
    }
    text::safe_file_name(id)
}
