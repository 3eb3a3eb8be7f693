//! Where a calling program publishes.

use std::path::Path;

use crate::config::Config;
use crate::error;
use crate::publish::{self, Delivered, Delivery, Destination, NotDelivered};

/// A way to publish memory and history that the calling program brings.
pub trait Backend: Sync {
    /// The name of the backend in the checkpoint. It differs from `git` and `null`.
    fn name(&self) -> &'static str;

    /// Publishes the files. It is called again after a crash or a failure, so it must find out what is there already.
    /// Returns one line about what it did.
    ///
    /// # Errors
    ///
    /// The handover stays unfinished, and the next run or resume publishes again.
    fn publish(&self, files: &PublishedFiles<'_>) -> Result<String, Box<dyn std::error::Error>>;
}

/// What a [`Backend`] publishes.
#[non_exhaustive]
pub struct PublishedFiles<'a> {
    /// The root of the project.
    pub root: &'a Path,
    /// The memory directory.
    pub memory: &'a Path,
    /// The history directory.
    pub history: &'a Path,
    /// The id of the run.
    pub run: &'a str,
    /// One line that describes the handover.
    pub message: &'a str,
}

/// A backend of the calling program, as the engine sees backends.
pub(super) struct CallersBackend<'b>(pub &'b dyn Backend);

impl publish::Backend for CallersBackend<'_> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn destination(&self, _: &Config) -> Destination {
        let message = "handover: {{ tag }} {{ date }}".to_owned();
        Destination { backend: self.name().to_owned(), message, ..Destination::nowhere() }
    }

    fn preview(&self, _: &Destination) -> String {
        format!("publish through `{}`", self.name())
    }

    fn describe(&self, _: &Destination) -> String {
        format!("through `{}`, a backend of the calling program", self.name())
    }

    fn publish(&self, delivery: &Delivery<'_>) -> Result<Delivered, NotDelivered> {
        let files = delivery.files();
        let published = PublishedFiles {
            root: files.root,
            memory: files.memory,
            history: files.history,
            run: delivery.run().id,
            message: delivery.message(),
        };
        match self.0.publish(&published) {
            Ok(detail) => Ok(Delivered { detail, ..Delivered::default() }),
            Err(cause) => Err(error::Error::failed(cause.to_string()).into()),
        }
    }
}
