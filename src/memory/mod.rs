//! The three layers of plain Markdown: session notes, the current state, and (later) the monthly archive.

pub mod note;

use std::path::{Path, PathBuf};

use chrono::NaiveDate;

use crate::base::fs::{self, Depth, DirectoryLock};
use crate::base::text;
use crate::error::Result;
use note::Note;

/// The first line of every memory file; the Python tool writes the same.
pub fn header(layer: &str, date: NaiveDate) -> String {
    format!("<!-- agent-handover | {layer} | {date} -->\n")
}

/// The memory directory of a project.
pub struct Memory {
    directory: PathBuf,
}

impl Memory {
    pub fn at(directory: PathBuf) -> Memory {
        Memory { directory }
    }

    /// `layer1/YYYY-MM/<tag>-YYYY-MM-DD.md`
    pub fn note_path(&self, tag: &str, date: NaiveDate) -> PathBuf {
        let month = date.format("%Y-%m").to_string();
        self.directory.join("layer1").join(month).join(format!("{}-{date}.md", text::safe_file_name(tag)))
    }

    pub fn state_path(&self) -> PathBuf {
        self.directory.join("layer2").join("current-state.md")
    }

    /// Adds a note to its day, or replaces the block with the same key. Twice equals once.
    pub fn put_note(&self, tag: &str, date: NaiveDate, note: &Note) -> Result<PathBuf> {
        let path = self.note_path(tag, date);
        let _alone = self.make_way(&path)?;
        let old = fs::read_if_exists(&path)?.unwrap_or_else(|| header("layer1", date).into_bytes());
        fs::replace(&path, &note::put(&old, note))?;
        Ok(path)
    }

    /// Replaces the current state.
    pub fn put_state(&self, date: NaiveDate, content: &str) -> Result<PathBuf> {
        let path = self.state_path();
        let _alone = self.make_way(&path)?;
        let mut text = header("layer2", date);
        text.push_str(content);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        fs::replace(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Makes the directories, and makes sure that nobody else writes here meanwhile: several projects may share one
    /// memory. What a killed writer left in this place goes.
    fn make_way(&self, path: &Path) -> Result<DirectoryLock> {
        fs::refuse_symlinks(&self.directory, path)?;
        let Some(directory) = path.parent() else { return fs::lock_directory(&self.directory) };
        if !directory.is_dir() {
            fs::create_directories(directory)?;
        }
        let alone = fs::lock_directory(&self.directory)?;
        fs::sweep_temporaries(directory, Depth::Directory)?;
        Ok(alone)
    }

    /// Removes what killed writers left anywhere.
    pub fn sweep(&self) -> Result<()> {
        if !self.directory.is_dir() {
            return Ok(());
        }
        let _alone = fs::lock_directory(&self.directory)?;
        fs::sweep_temporaries(&self.directory, Depth::Tree)
    }
}
