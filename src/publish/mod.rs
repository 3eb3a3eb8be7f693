//! Makes memory and history reach other machines.
//!
//! | file | owns |
//! |---|---|
//! | `backend` | what a backend does |
//! | `destination` | where the deliveries of a run go |
//! | `delivery` | one delivery, and how it ended |
//! | `unreachable` | remotes that did not answer |
//! | `git/`, `null` | the backends |
//!
//! A new backend is one file with a type that implements [`Backend`], and its line in [`BACKENDS`].

mod backend;
mod delivery;
mod destination;
mod git;
mod null;
mod unreachable;

pub(crate) use backend::{Backend, backend, remote_backend};
pub(crate) use delivery::{Delivered, DeliveredFiles, DeliveredRun, Delivery, NotDelivered};
pub(crate) use destination::Destination;
pub(crate) use git::Ledger;
pub use git::{Outcome, Setup, quantile, simulate};
pub(crate) use unreachable::UnreachableRemotes;

pub(crate) const BACKENDS: &[&dyn Backend] = &[&git::GitBackend, &null::NullBackend];
