//! The kill switch: a file at one of a few paths stops everything, and `touch` is enough to create it.

use std::path::{Path, PathBuf};

use crate::base::{fs, signals, text};
use crate::error::{Category, Error};

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

/// Says whether to stop. It is asked before every effect, and several times a second during long ones.
#[derive(Clone, Debug)]
pub struct Brake {
    paths: Vec<PathBuf>,
}

impl Brake {
    pub fn new(paths: Vec<PathBuf>) -> Brake {
        Brake { paths }
    }

    pub fn pressed(&self) -> Option<Stop> {
        signals::received().map(Stop::Signal).or_else(|| self.paused().map(Stop::Paused))
    }

    pub fn paused(&self) -> Option<Pause> {
        self.paths.iter().find(|path| exists(path)).map(|path| Pause { path: path.clone(), reason: reason(path) })
    }
}

/// Whether anything is at the path. A directory or a dangling symlink counts. So does a path that cannot be examined, because
/// a failing brake must stop.
fn exists(path: &Path) -> bool {
    match std::fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(cause) => !fs::is_absent(&cause),
    }
}

fn reason(path: &Path) -> Option<String> {
    // Opening anything but a regular file could block forever.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let bytes = fs::read_at_most(fs::open(path).ok()?, 1_000).ok()?;
    let line = text::one_line(&String::from_utf8_lossy(&bytes), 200);
    (!line.is_empty()).then_some(line)
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
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("file"), "deploying \x1b[31m\nuntil noon\n").unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        let reason = |name: &str| Brake::new(vec![at(name)]).paused().map(|pause| pause.reason);
        assert_eq!(reason("file"), Some(Some("deploying [31m until noon".to_owned())));
        assert_eq!(reason("directory"), Some(None));
        assert_eq!(reason("dangling"), Some(None));
        assert_eq!(reason("absent"), None);
        assert_eq!(reason("file/below"), None);
    }

    #[test]
    fn what_cannot_be_examined_counts_as_paused() {
        // A name that is too long cannot be looked up; root, who runs some tests, can look up anything else.
        assert!(Brake::new(vec![PathBuf::from("x".repeat(5_000))]).paused().is_some());
    }
}
