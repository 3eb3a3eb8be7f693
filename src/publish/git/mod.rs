//! Publishing through git, without touching the user's index, HEAD, work tree or hooks.
//!
//! The files here become a tree in an index of our own, a commit on the branch, and a push that counts only once the remote
//! confirms it. Many machines share a branch that holds nothing but our files: what they wrote is merged into the files here,
//! item by item, before our commit goes on top.
//!
//! | file | owns |
//! |---|---|
//! | `backend` | the backend: its destination, and which of the verbs below it runs |
//! | `publisher` | one delivery at work: its repository, its git, and what it records at the end |
//! | `race` | when to push again to a branch that many machines push to |
//! | `aside` | a branch of this machine, for a commit that lost the race, and those of others |
//! | `own_branch` | publish and pull for a branch that holds nothing but our files |
//! | `shared_branch` | publish for a branch with the user's code on it |
//! | `kept` | words that are not delivered yet, kept from what a user does to the work tree |
//! | `commit` | the files as a commit, never with a secret in it |
//! | `arrivals` | what a merge brings, and whose it is |
//! | `merge` | what other machines committed, merged into the files here |
//! | `needs` | what a delivery needs on this machine, for a dry run |
//! | `remote` | what is asked of the remote and sent to it |
//! | `durable` | what makes a delivery survive a power cut |
//! | `rebuild` | a branch of our own that git cannot read |
//! | `stale_lock` | locks that a killed git left on our branch |
//! | `ledger` | what is known about the branch between two deliveries |
//! | `failure` | failures in words for a person |
//! | `simulation` | many machines in the race, for tests and benchmarks |

mod arrivals;
mod aside;
mod backend;
mod commit;
mod durable;
mod failure;
mod kept;
mod ledger;
mod merge;
mod needs;
mod own_branch;
mod publisher;
mod race;
mod rebuild;
mod remote;
mod shared_branch;
mod simulation;
mod stale_lock;

pub(super) use backend::GitBackend;
pub(crate) use ledger::Ledger;
pub use simulation::{Outcome, Setup, quantile, simulate};
