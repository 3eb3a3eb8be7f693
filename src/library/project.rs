//! A project, as a calling program sees it.

use std::path::Path;

use super::check::Check;
use super::handover::{Handover, Report};
use super::step::Step;
use crate::error::{Error, Result};
use crate::memory::{Memory, listing};
use crate::project::{self, Options};
use crate::steps;

/// A project in which handovers are made.
#[derive(Debug)]
pub struct Project(project::Project);

/// A layer of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Layer 1: the session notes.
    Notes,
    /// Layer 2: the current state. It has no tags.
    State,
    /// Layer 3: the notes of finished months.
    Archive,
}

impl Project {
    /// Opens the project around `directory`, with its `handover.toml` if there is one.
    ///
    /// # Errors
    ///
    /// The config cannot be read, or a directory in it is not allowed.
    pub fn open(directory: impl AsRef<Path>) -> Result<Project> {
        let directory =
            std::path::absolute(directory.as_ref()).map_err(|cause| Error::io("find", directory.as_ref(), cause))?;
        let project = project::Project::open(&directory, &Options::default(), &steps::vocabulary())?;
        project.config.own_trouble().map_or(Ok(()), |trouble| Err(trouble.clone()))?;
        Ok(Project(project))
    }

    /// The root of the project.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// The file that stops all handovers of the project while it exists.
    #[must_use]
    pub fn pause_file(&self) -> Option<&Path> {
        self.0.pause_files.first().map(|file| file.path.as_path())
    }

    /// Whether a PAUSE file stops handovers here.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.0.brake().paused().is_some()
    }

    /// Whether a handover was interrupted.
    ///
    /// # Errors
    ///
    /// The checkpoint cannot be read.
    pub fn check(&self) -> Result<Check> {
        Check::of(&self.0)
    }

    /// Records a handover and carries it out, after older ones that were interrupted. What is recorded cannot be lost: if
    /// this fails or the process is killed, the next handover or [`resume`](Project::resume) finishes it.
    ///
    /// # Errors
    ///
    /// A step failed, the project is paused, or another process is running a handover.
    pub fn hand_over(&self, handover: &Handover<'_>) -> Result<Report> {
        handover.run(&self.0)
    }

    /// Finishes what was interrupted. `handover` provides the functions and the backend of its steps; what it says is not
    /// recorded.
    ///
    /// # Errors
    ///
    /// As for [`hand_over`](Project::hand_over).
    pub fn resume(&self, handover: &Handover<'_>) -> Result<Report> {
        handover.resume(&self.0)
    }

    /// Appends a note to layer 1.
    ///
    /// # Errors
    ///
    /// As for [`hand_over`](Project::hand_over).
    pub fn write_note(&self, text: impl Into<String>) -> Result<()> {
        self.hand_over(&Handover::new().note(text).steps(vec![Step::note()])).map(drop)
    }

    /// Replaces the current state in layer 2.
    ///
    /// # Errors
    ///
    /// As for [`hand_over`](Project::hand_over).
    pub fn write_state(&self, text: impl Into<String>) -> Result<()> {
        self.hand_over(&Handover::new().state(text).steps(vec![Step::state()])).map(drop)
    }

    /// The newest text of a layer; of layers 1 and 3 only the notes with this tag, if one is given.
    ///
    /// # Errors
    ///
    /// The memory cannot be read.
    pub fn latest(&self, layer: Layer, tag: Option<&str>) -> Result<Option<String>> {
        let memory = Memory::at(&self.0.memory_root, self.0.memory_dir()?);
        let number = match layer {
            Layer::Notes => 1,
            Layer::Archive => 3,
            Layer::State => {
                let text = String::from_utf8_lossy(&memory.state()?.text()).into_owned();
                let text = text.strip_suffix('\n').unwrap_or(&text);
                return Ok(Some(text.to_owned()).filter(|text| !text.is_empty()));
            }
        };
        let mut newest: Option<(String, String)> = None;
        listing::notes(&memory, number, tag, &mut |note| {
            if newest.as_ref().is_none_or(|(at, _)| note.at >= *at) {
                newest = Some((note.at, note.text));
            }
        })?;
        Ok(newest.map(|(_, text)| text))
    }
}
