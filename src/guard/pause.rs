//! The kill switch: a file at one of a few paths stops everything, and `touch` is enough to create it.

use std::path::PathBuf;

use crate::base::fs::{self, Anchor};
use crate::base::{signals, text};
use crate::error::{Category, Error};

/// How much of a reason is read.
const MAX_REASON: u64 = 1_000;

/// The file that pauses automation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    pub path: PathBuf,
    /// The text of the file, on one line.
    pub reason: Option<String>,
}

/// Why no new effect may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    Paused(Pause),
    Signal(i32),
}

/// A path at which a file pauses automation.
#[derive(Clone, Debug)]
pub struct PauseFile {
    pub path: PathBuf,
    /// Where the file is read from and written to without following a link. `None` for a path outside the project that
    /// nobody has allowed: such a file pauses, and its text is not read.
    pub anchor: Option<Anchor>,
}

/// Says whether to stop. It is asked before every effect, and several times a second during long ones.
#[derive(Clone, Debug)]
pub struct Brake {
    files: Vec<PauseFile>,
}

impl PauseFile {
    pub fn new(path: PathBuf, anchor: Option<Anchor>) -> PauseFile {
        PauseFile { path, anchor }
    }

    /// Whether anything is at the path. A directory or a dangling symlink counts. So does a path that cannot be examined,
    /// because a failing brake must stop.
    pub fn is_there(&self) -> bool {
        fs::may_be_taken(&self.path)
    }

    /// The beginning of a regular file's text, on one line.
    fn reason(&self) -> Option<String> {
        let bytes = self.anchor.as_ref()?.read_start(&self.path, MAX_REASON).ok()?;
        let line = text::one_line(&String::from_utf8_lossy(&bytes), 200);
        (!line.is_empty()).then_some(line)
    }
}

impl Brake {
    pub fn new(files: Vec<PauseFile>) -> Brake {
        Brake { files }
    }

    /// A brake that stops when one of the two does.
    #[must_use]
    pub fn and(&self, other: Brake) -> Brake {
        let mut files = self.files.clone();
        // Most sessions run in the directory of the project, and its files need not be looked for twice.
        files.extend(other.files.into_iter().filter(|file| self.files.iter().all(|known| known.path != file.path)));
        Brake { files }
    }

    pub fn pressed(&self) -> Option<Stop> {
        signals::received().map(Stop::Signal).or_else(|| self.paused().map(Stop::Paused))
    }

    pub fn paused(&self) -> Option<Pause> {
        let file = self.files.iter().find(|file| file.is_there())?;
        Some(Pause { path: file.path.clone(), reason: file.reason() })
    }
}

impl std::fmt::Display for Pause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "automation paused: remove {} to resume", self.path.display())?;
        match &self.reason {
            Some(reason) => write!(f, " (reason: {reason})"),
            None => Ok(()),
        }
    }
}

impl Pause {
    /// The pause as it appears in JSON output.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({ "file": self.path.display().to_string(), "reason": self.reason })
    }
}

impl Stop {
    pub fn error(&self) -> Error {
        match self {
            Stop::Paused(pause) => Error::new(Category::Paused, pause.to_string()),
            Stop::Signal(number) => {
                Error::new(Category::Signal(*number), format!("interrupted by {}", signals::name(*number)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_at_the_path_is_a_pause() {
        let directory = crate::base::scratch::directory();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("file"), "deploying \x1b[31m\nuntil noon\n").unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        let file = |name: &str| PauseFile::new(at(name), Some(Anchor::new(directory.path())));
        let reason = |name: &str| Brake::new(vec![file(name)]).paused().map(|pause| pause.reason);
        assert_eq!(reason("file"), Some(Some("deploying [31m until noon".to_owned())));
        assert_eq!(reason("directory"), Some(None));
        assert_eq!(reason("dangling"), Some(None));
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        assert_eq!(reason("link"), Some(None), "whatever a link leads to is not shown");
        let outside = PauseFile::new(at("file"), None);
        assert_eq!(Brake::new(vec![outside]).paused().map(|pause| pause.reason), Some(None));
        assert_eq!(reason("absent"), None);
        assert_eq!(reason("file/below"), None);
    }

    #[test]
    fn what_cannot_be_examined_counts_as_paused() {
        // A name that is too long cannot be looked up; root, who runs some tests, can look up anything else.
        assert!(Brake::new(vec![PauseFile::new("x".repeat(5_000).into(), None)]).paused().is_some());
    }
}
