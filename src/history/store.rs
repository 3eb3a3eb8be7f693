//! The directory of a history: where its files are, and how they are read and written safely.

use std::path::{Path, PathBuf};

use super::index::Index;
use super::own_keys;
use crate::base::fs::{self, Depth};
use crate::base::text;
use crate::error::{Error, Result};
use crate::guard::own_record::{self, OwnKey};
use crate::handoff::{Handoff, repr};

/// The name of the directory, unless the config has another.
pub const DIRECTORY: &str = ".agent-history";
/// The largest archive. The next agent reads a handoff as a whole.
pub(super) const MAX_ARCHIVE: u64 = 4 << 20;

/// The history of a project.
pub struct History {
    pub directory: PathBuf,
}

impl History {
    pub fn at(directory: PathBuf) -> History {
        History { directory }
    }

    pub fn exists(&self) -> bool {
        self.directory.is_dir()
    }

    /// The directory of the archives.
    pub(super) fn sessions(&self) -> PathBuf {
        self.directory.join("sessions")
    }

    pub fn latest_path(&self) -> PathBuf {
        self.directory.join("LATEST.md")
    }

    pub fn prompt_path(&self) -> PathBuf {
        self.directory.join("RESUME_PROMPT.txt")
    }

    pub fn index_path(&self) -> PathBuf {
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

    /// The file names of all archives.
    pub(super) fn archive_names(&self) -> Result<Vec<String>> {
        Ok(fs::names(&self.sessions())?.into_iter().filter(|name| name.ends_with(".md")).collect())
    }

    /// Locks the directory for writing: makes it, refuses symlinks in it, and removes temporaries of killed writers.
    pub(super) fn lock_for_writing(&self) -> Result<fs::DirectoryLock> {
        for path in [
            self.sessions(),
            self.latest_path(),
            self.index_path(),
            self.prompt_path(),
            self.decisions_path(),
            self.lifecycle_path(),
        ] {
            self.refuse_symlink(&path)?;
        }
        let is_new = !self.directory.exists();
        if !self.sessions().is_dir() {
            fs::create_directories(&self.sessions())?;
        }
        if is_new {
            own_record::mark_created(&self.directory);
        }
        let lock = fs::lock_directory(&self.directory)?;
        fs::sweep_temporaries(&self.directory, Depth::Directory)?;
        fs::sweep_temporaries(&self.sessions(), Depth::Directory)?;
        Ok(lock)
    }

    pub(super) fn refuse_symlink(&self, path: &Path) -> Result<()> {
        let base = self.directory.parent().unwrap_or(&self.directory);
        fs::refuse_symlinks(base, path).map_err(|error| error.lead("refusing to write through a symlink: "))
    }

    pub(super) fn read_archive_text(&self, path: &Path) -> Result<String> {
        let bytes = fs::read_at_most(fs::open(path)?, MAX_ARCHIVE).map_err(|cause| Error::io("read", path, cause))?;
        String::from_utf8(bytes).map_err(|_| Error::bad_data(format!("`{}` is not UTF-8 text", path.display())))
    }

    pub(super) fn read_archive(&self, path: &Path) -> Result<Handoff> {
        self.read_archive_with_key(path).map(|(handoff, _)| handoff)
    }

    /// Like [`History::read_archive`], with the key of the document in the user's own record.
    pub(super) fn read_archive_with_key(&self, path: &Path) -> Result<(Handoff, OwnKey)> {
        let text = self.read_archive_text(path)?;
        let handoff = super::parse(&text).map_err(|error| error.lead(&format!("`{}`: ", path.display())))?;
        let key = own_keys::of_document(&text, &handoff);
        Ok((handoff, key))
    }

    pub(super) fn decisions_log(&self) -> Result<String> {
        let bytes = fs::read_if_exists(&self.decisions_path())?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The index as it is on disk.
    pub fn index(&self) -> Result<Index> {
        let path = self.index_path();
        let bytes = fs::read_if_exists(&path)?.ok_or_else(|| {
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
            .hint("the next `agent-handover history create` or `close` makes it anew from the archives")
        })
    }

    /// The path of a file that the index names. It must lie inside the directory.
    pub(super) fn inside(&self, file: &str) -> Result<PathBuf> {
        let path = fs::tidy(Path::new(file)).filter(|path| path.is_relative()).map(|path| self.directory.join(path));
        path.filter(|path| fs::refuse_symlinks(&self.directory, path).is_ok())
            .ok_or_else(|| Error::failed(format!("{} is outside {}", repr(file), self.directory.display())))
    }

    pub(super) fn write_if_changed(&self, path: &Path, content: &str) -> Result<()> {
        if content.is_empty() || fs::read_if_exists(path)?.as_deref() == Some(content.as_bytes()) {
            return Ok(());
        }
        fs::replace(path, content.as_bytes())
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
