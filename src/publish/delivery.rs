//! A delivery: what goes where, for which run, and how it ended.

use std::path::Path;

use chrono::{DateTime, FixedOffset};

use super::{Destination, UnreachableRemotes};
use crate::base::fs::Anchor;
use crate::config::category::Categories;
use crate::error::Error;
use crate::guard::{Brake, Stop};

/// The files of a project that a delivery is about.
#[derive(Clone, Copy)]
pub struct DeliveredFiles<'a> {
    pub root: &'a Path,
    /// The bare repository that `root` is in; `None` if it is in a work tree.
    pub bare: Option<&'a Path>,
    pub memory: &'a Path,
    pub history: &'a Path,
    /// The directory for what a backend keeps between two deliveries.
    pub state: &'a Path,
    /// The rules by which memory of another machine is merged.
    pub categories: &'a Categories,
}

impl DeliveredFiles<'_> {
    /// Where the files of the state directory are reached without following a link.
    pub(super) fn state_anchor(&self) -> Anchor {
        Anchor::around(self.root, self.state)
    }
}

/// The run that a delivery is for.
#[derive(Clone, Copy)]
pub struct DeliveredRun<'a> {
    pub id: &'a str,
    pub tag: &'a str,
    pub at: DateTime<FixedOffset>,
}

/// One delivery: the files, their destination, and the run it is for.
pub struct Delivery<'a> {
    pub(super) files: DeliveredFiles<'a>,
    pub(super) destination: &'a Destination,
    pub(super) run: DeliveredRun<'a>,
    /// The destination's message with every template filled in. Empty if nothing is committed.
    pub(super) message: &'a str,
    pub(super) brake: &'a Brake,
    pub(super) unreachable: &'a UnreachableRemotes,
    /// What the destination brings is this user's own, because the user has allowed the config that names it.
    pub(super) is_trusted: bool,
    /// The kept talk of sessions travels, too, unless the branch has code on it.
    pub(super) takes_talk: bool,
}

impl<'a> Delivery<'a> {
    pub fn new(
        files: DeliveredFiles<'a>,
        destination: &'a Destination,
        run: DeliveredRun<'a>,
        brake: &'a Brake,
        unreachable: &'a UnreachableRemotes,
    ) -> Delivery<'a> {
        Delivery { files, destination, run, message: "", brake, unreachable, is_trusted: false, takes_talk: false }
    }

    pub fn files(&self) -> DeliveredFiles<'a> {
        self.files
    }

    pub fn run(&self) -> DeliveredRun<'a> {
        self.run
    }

    pub fn message(&self) -> &'a str {
        self.message
    }

    #[must_use]
    pub fn with_message(self, message: &'a str) -> Delivery<'a> {
        Delivery { message, ..self }
    }

    /// A delivery from and to a destination that the user has allowed, or not.
    #[must_use]
    pub fn trusted(self, is_trusted: bool) -> Delivery<'a> {
        Delivery { is_trusted, ..self }
    }

    #[must_use]
    pub(crate) fn with_talk(self, takes_talk: bool) -> Delivery<'a> {
        Delivery { takes_talk, ..self }
    }
}

/// A delivery that was made.
#[derive(Debug, Default)]
pub struct Delivered {
    /// One line for a person.
    pub detail: String,
    /// What else a person should know.
    pub notices: Vec<String>,
    /// Contradictions between two machines. Both sides are kept.
    pub conflicts: Vec<String>,
}

/// Why a delivery was not made.
#[derive(Debug)]
pub enum NotDelivered {
    Failed(Error),
    /// The brake was pressed. What was going on is ended, and the next delivery finds out how far it got.
    Stopped(Stop),
    /// There is nothing to deliver from this place, now or later, for this reason.
    NotFromHere(String),
}

impl From<Error> for NotDelivered {
    fn from(error: Error) -> NotDelivered {
        NotDelivered::Failed(error)
    }
}
