//! The databases beside ours: from elsewhere, from another home of the same user, or left behind. Nothing in them is carried
//! out, and what is unfinished in them is not forgotten either.

use std::path::{Path, PathBuf};

use super::claim::{Claim, IDS};
use super::{Project, place_of_others};
use crate::base::{fs, text};
use crate::checkpoint::{Accepts, CheckpointFile, Store};
use crate::config::Origin;

/// How many names of the state directory are looked at. Each database has up to four files.
const MOST_NAMES: usize = 10_000;
/// How many databases are looked into: every new home of a container leaves one.
const MOST: usize = 1_000;

/// A database beside ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherDatabase {
    pub path: PathBuf,
    /// How many unfinished runs it has; `None` if it cannot be read.
    pub unfinished: Option<usize>,
    /// How many sessions in it have not ended, as far as it knows. They may be running in a container.
    pub open_sessions: usize,
}

impl OtherDatabase {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({ "path": self.path.display().to_string(), "unfinished": self.unfinished })
    }

    /// The sentence about it for a person, with the command that takes it over.
    pub(crate) fn sentence(&self, root: &Path) -> String {
        let name = self.path.strip_prefix(root).unwrap_or(&self.path).display();
        let word = text::shell_word(&self.path.display().to_string());
        match self.unfinished {
            None => format!("`{name}` is not yours and cannot be read"),
            Some(0) if self.open_sessions > 0 => format!(
                "`{name}` is not yours and has {} without an end; you may delete it if nobody works there any more",
                text::count(self.open_sessions, "session")
            ),
            Some(0) => format!("`{name}` is not yours; nothing in it is unfinished"),
            Some(count) => format!(
                "`{name}` is not yours and has {}; `agent-handover run --resume --checkpoint {word}` runs what it says, commands included",
                text::count(count, "unfinished handover")
            ),
        }
    }
}

/// The sentences about databases beside ours. Those in which nothing is unfinished share one or two, because a project may
/// have many: each new home of a container leaves one.
pub(crate) fn sentences(others: &[OtherDatabase], root: &Path) -> Vec<String> {
    let (idle, others): (Vec<_>, Vec<_>) = others.iter().partition(|other| other.unfinished == Some(0));
    let mut sentences: Vec<String> = others.iter().map(|other| other.sentence(root)).collect();
    let (open, idle): (Vec<_>, Vec<_>) = idle.into_iter().partition(|other| other.open_sessions > 0);
    for (alike, what) in [
        (open, "have sessions without an end; you may delete them if nobody works there any more"),
        (idle, "have nothing unfinished; you may delete them"),
    ] {
        match &alike[..] {
            [] => {}
            [one] => sentences.push(one.sentence(root)),
            [first, ..] => {
                let directory = first.path.parent().unwrap_or(root);
                let directory = directory.strip_prefix(root).unwrap_or(directory).display();
                sentences.push(format!("{} databases in `{directory}` are not yours and {what}", alike.len()));
            }
        }
    }
    sentences
}

impl Project {
    /// The databases beside ours. None if a person named the database for this command.
    pub(crate) fn other_databases(&self) -> Vec<OtherDatabase> {
        if matches!(self.config.origin("handover.checkpoint"), Origin::Flag(_)) {
            return Vec::new();
        }
        let Some(directory) = self.checkpoint.parent() else { return Vec::new() };
        let ours = self.own_databases_beside();
        let names = fs::names_at_most(directory, MOST_NAMES).unwrap_or_default();
        let is_database = |name: &String| name.starts_with("checkpoint") && name.ends_with(".db");
        let mut names: Vec<String> = names.into_iter().filter(is_database).collect();
        names.sort();
        let is_other = |path: &PathBuf| *path != self.checkpoint && !ours.contains(path);
        let paths = names.into_iter().map(|name| directory.join(name)).filter(is_other);
        paths.take(MOST).map(|path| self.look_into(path)).collect()
    }

    /// Our other databases, from the time when the one in use counted as foreign.
    fn own_databases_beside(&self) -> Vec<PathBuf> {
        if !self.has_database_beside() {
            return Vec::new();
        }
        let Ok(history) = place_of_others(&self.memory_root, &self.config.history_dir) else { return Vec::new() };
        let may_be_foreign = || self.accepts_other_owners();
        let root = fs::real(&self.memory_root);
        let claim = Claim { root: &root, history: &history, may_be_foreign: &may_be_foreign };
        let mut ours = claim.ours_beside(&self.configured_checkpoint);
        ours.retain(|path| *path != self.checkpoint);
        ours
    }

    /// Whether there may be a database beside the configured one. Mostly there is none, and nobody looks further.
    fn has_database_beside(&self) -> bool {
        let (directory, stem) = (self.configured_checkpoint.parent(), self.configured_checkpoint.file_stem());
        let Some((directory, stem)) = directory.zip(stem) else { return false };
        let start = format!("{}-", stem.to_string_lossy());
        let names = fs::names_at_most(directory, MOST_NAMES).unwrap_or_default();
        names.iter().any(|name| name.starts_with(&start) && directory.join(name) != self.checkpoint)
    }

    /// This project with each of our other databases in which something is unfinished.
    pub(crate) fn with_other_own_databases(&self) -> Vec<Project> {
        if matches!(self.config.origin("handover.checkpoint"), Origin::Flag(_)) {
            return Vec::new();
        }
        let with = |checkpoint: PathBuf| Project { checkpoint, accepts: Accepts::Known, ..self.clone() };
        let is_unfinished = |project: &Project| {
            let store = Store::read(&project.checkpoint_file()).ok().flatten();
            store.is_some_and(|store| store.count_unfinished().is_ok_and(|count| count > 0))
        };
        self.own_databases_beside().into_iter().map(with).filter(is_unfinished).collect()
    }

    fn look_into(&self, path: PathBuf) -> OtherDatabase {
        let file = CheckpointFile::new(self.checkpoint_anchor(), &path, IDS, Accepts::Any)
            .of_another_user_if(|| self.accepts_other_owners());
        let store = Store::read(&file);
        let open_sessions = store.iter().flatten().find_map(|store| store.count_open_sessions().ok()).unwrap_or(0);
        let count = |store: Option<Store>| store.map_or(Ok(0), |store| store.count_unfinished());
        OtherDatabase { path, unfinished: store.and_then(count).ok(), open_sessions }
    }
}
