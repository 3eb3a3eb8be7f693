//! What a backend does.

use std::path::Path;

use super::{BACKENDS, Delivered, Delivery, Destination, NotDelivered};
use crate::config::Config;
use crate::error::{Error, Result};

/// A way to make memory and history reach other machines.
pub trait Backend: Sync {
    /// The name by which the config and recorded runs call it.
    fn name(&self) -> &'static str;

    /// Whether it delivers to somewhere outside the project's own files.
    fn is_remote(&self) -> bool;

    /// The destination that a config names, with this backend's defaults.
    fn destination(&self, config: &Config) -> Destination;

    /// What a delivery to `destination` would do, in one line.
    fn preview(&self, destination: &Destination) -> String;

    /// Where it publishes, as the end of a sentence that begins with "Publishing:".
    fn describe(&self, destination: &Destination) -> String;

    /// What a delivery needs and does not find on this machine, a sentence each. No other machine is asked.
    fn missing(&self, _root: &Path, _: &Destination) -> Vec<String> {
        Vec::new()
    }

    /// Delivers. It can be asked any number of times: what is there already is not delivered again.
    fn publish(&self, delivery: &Delivery<'_>) -> Result<Delivered, NotDelivered>;

    /// Merges what other machines delivered into the files here, and delivers nothing.
    fn pull(&self, _: &Delivery<'_>) -> Result<Delivered, NotDelivered> {
        Err(nowhere_to_deliver(self).into())
    }

    /// Brings back what vanished here and was not deleted on purpose. Returns a sentence about it, if there was anything.
    fn restore(&self, _: &Delivery<'_>) -> Result<Option<String>, NotDelivered> {
        Ok(None)
    }

    /// Whether a command of the user's could take what is in the files away before it is delivered.
    fn has_to_keep(&self, _: &Delivery<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Keeps what is in the files until it is delivered.
    fn keep(&self, _: &Delivery<'_>) -> Result<(), NotDelivered> {
        Ok(())
    }

    /// Whether this file of ours belongs to the user's commits, and is as it was last committed.
    fn is_as_committed(&self, _: &Delivery<'_>, _path: &Path) -> Result<bool, NotDelivered> {
        Ok(false)
    }

    /// Whether the files are published on the branch that is checked out in `root`, and so belong to the user's commits.
    fn is_on_checked_out_branch(&self, _root: &Path, _: &Destination) -> Result<bool> {
        Ok(false)
    }
}

/// The backend of this name.
pub(crate) fn backend(name: &str) -> Result<&'static dyn Backend> {
    BACKENDS.iter().copied().find(|backend| backend.name() == name).ok_or_else(|| {
        let names: Vec<String> = BACKENDS.iter().map(|backend| format!("'{}'", backend.name())).collect();
        Error::bad_data(format!("unknown backend type: '{name}' (expected {})", names.join(" or ")))
    })
}

/// The backend of this destination, for a command that makes sense only if the backend is remote.
pub(crate) fn remote_backend(destination: &Destination) -> Result<&'static dyn Backend> {
    let backend = backend(&destination.backend)?;
    if backend.is_remote() { Ok(backend) } else { Err(nowhere_to_deliver(backend)) }
}

fn nowhere_to_deliver<B: Backend + ?Sized>(backend: &B) -> Error {
    let remote = BACKENDS.iter().find(|backend| backend.is_remote()).map_or("", |backend| backend.name());
    let name = backend.name();
    Error::usage(format!("this project has no remote to push to or pull from: its backend is `{name}`"))
        .hint(format!("put `[backend]` and `type = \"{remote}\"` into handover.toml, then `agent-handover config` shows where it publishes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_backend_is_refused_with_the_names_of_the_known() {
        let error = backend("ftp").err().map(|error| error.message().to_owned());
        assert_eq!(error.as_deref(), Some("unknown backend type: 'ftp' (expected 'git' or 'null')"));
    }

    #[test]
    fn only_a_remote_backend_delivers_on_demand() {
        let error =
            remote_backend(&Destination::nowhere()).err().map(|error| (error.one_line(), error.hints().to_vec()));
        let (message, hints) = error.unwrap();
        assert_eq!(message, "this project has no remote to push to or pull from: its backend is `null`");
        let hint = "put `[backend]` and `type = \"git\"` into handover.toml, then `agent-handover config` shows where it publishes";
        assert_eq!(hints, [hint]);
    }
}
