//! The library: what other programs call.
//!
//! | file | owns |
//! |---|---|
//! | `project` | [`Project`]: open it, hand over in it, read its memory |
//! | `handover` | [`Handover`]: what the session says, and its steps |
//! | `step` | [`Step`]: built-in steps, and functions of the calling program |
//! | `backend` | [`Backend`]: where a calling program publishes |
//! | `check` | [`Check`]: whether a handover was interrupted |

#![warn(missing_docs)]

mod backend;
mod check;
mod handover;
mod project;
mod step;
#[cfg(test)]
mod tests;

pub use backend::{Backend, PublishedFiles};
pub use check::Check;
pub use handover::{Handover, Report};
pub use project::{Layer, Project};
pub use step::Step;
