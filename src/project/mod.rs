//! One project on disk: its root, the layout of its directories, its config.
//!
//! | file | owns |
//! |---|---|
//! | `open` | `Project`: finding the root, reading the config, resolving the directories |
//! | `worktree` | linked worktrees: where the memory of a repository is |
//! | `pause` | the PAUSE files of a project |
//! | `unattended` | the places that may be used although nobody typed a command |

mod open;
mod pause;
mod unattended;
mod worktree;

pub(crate) use open::{Options, Project, place, place_of_others, root};
pub(crate) use pause::{own_pause_file, plain_brake};
pub(crate) use unattended::UnattendedPlaces;
pub(crate) use worktree::recall as recall_worktree;
