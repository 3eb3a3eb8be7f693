//! The files in the state directory in which agents find prompts that are too long for an argument.

use std::path::{Path, PathBuf};

use super::Project;
use crate::base::{fs, text};
use crate::error::Result;

/// How the names of these files begin and end.
pub(super) const FILES: &str = "continue-";
const ENDING: &str = ".md";
/// How many are kept. An agent may read its file again.
const KEPT: usize = 8;

impl Project {
    /// Writes a prompt to a file, and returns its path. Another prompt has another file, because the agent that reads it may be
    /// started at the same time.
    pub(crate) fn write_prompt(&self, prompt: &str) -> Result<PathBuf> {
        let file = self.state.join(format!("{FILES}{}{ENDING}", text::digest(prompt.as_bytes(), 4)));
        self.prepare()?;
        self.anchor(&self.state).replace(&file, prompt.as_bytes())?;
        self.remove_older_prompts(&file);
        Ok(file)
    }

    /// Removes the oldest files. What cannot be removed harms nobody.
    fn remove_older_prompts(&self, newest: &Path) {
        let names = fs::names(&self.state).unwrap_or_default();
        let of_prompts = names.iter().filter(|name| name.starts_with(FILES) && name.ends_with(ENDING));
        let mut files: Vec<PathBuf> = of_prompts.map(|name| self.state.join(name)).collect();
        files.retain(|file| file != newest);
        files.sort_by_key(|file| std::cmp::Reverse(fs::modified(file)));
        for file in files.iter().skip(KEPT - 1) {
            let _ = fs::remove_file(file);
        }
    }
}
