//! Publishing through git, without touching the user's index, HEAD, work tree or hooks.
//!
//! The files here become a tree in an index of our own, a commit on the branch, and a push that counts only once the
//! remote was asked. A branch that holds nothing but our files is shared by many machines: what they wrote is taken into
//! the files here, by item, before ours goes on top.

mod commit;
mod failure;
mod ledger;
mod merge;
mod needs;
mod own_branch;
mod publisher;
mod shared_branch;

pub use ledger::Ledger;

use super::{Backend, Delivered, Delivery, Destination, Trouble};
use publisher::Publisher;

pub const BACKEND: Backend = Backend { name: "git", publish, preview, describe, missing: needs::missing };

fn publish(delivery: &Delivery<'_>) -> Result<Delivered, Trouble> {
    let mut publisher = Publisher::open(delivery)?;
    let done = publisher.publish();
    publisher.close(done, delivery.destination.push)
}

/// Brings back from the branch what was swept away here as a whole. Whether there was anything.
pub fn restore(delivery: &Delivery<'_>) -> Result<bool, Trouble> {
    Publisher::open(delivery)?.restore()
}

/// Takes in what the remote has, and delivers nothing.
pub fn pull(delivery: &Delivery<'_>) -> Result<Delivered, Trouble> {
    let mut publisher = Publisher::open(delivery)?;
    let done = publisher.pull();
    publisher.close(done, false)
}

fn preview(destination: &Destination) -> String {
    let Destination { branch, remote, .. } = destination;
    let paths = destination.paths.join(" and ");
    if destination.push {
        format!("commit {paths} on the branch `{branch}` and push it to {remote}")
    } else {
        format!("commit {paths} on the branch `{branch}`")
    }
}

fn describe(destination: &Destination) -> String {
    let Destination { branch, remote, .. } = destination;
    let paths = destination.paths.join(", ");
    let place = match destination.repo_dir.as_str() {
        "." => String::new(),
        directory => format!(" of the repository in `{directory}`"),
    };
    let push = if destination.push { format!("and pushes it to {remote}") } else { "and does not push it".to_owned() };
    format!("commits {paths} on the branch `{branch}`{place} {push}")
}
