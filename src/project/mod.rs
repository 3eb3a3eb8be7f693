//! One project on disk: its root, the layout of its directories, its config.
//!
//! | file | owns |
//! |---|---|
//! | `open` | `Project`: reading the config, and which directories and database are used |
//! | `place` | the places that a config names: where they really are |
//! | `root` | the root around a directory, and whether hooks may act there |
//! | `claim` | whose a database is, and where ours is beside a foreign one |
//! | `others` | the databases beside ours |
//! | `owner` | when files of another user are accepted |
//! | `worktree` | linked worktrees: where the memory of a repository is |
//! | `apart` | the memory of a repository whose main work tree cannot be written |
//! | `ignore` | the `.gitignore` of the state directory |
//! | `lock` | where the lock of a project is |
//! | `talk` | where the kept talk of sessions is |
//! | `pause` | the PAUSE files of a project |
//! | `prompts` | the files of prompts that are too long for an argument |
//! | `unattended` | the places that may be used although nobody typed a command |

mod apart;
mod claim;
mod ignore;
mod lock;
mod open;
mod others;
mod owner;
mod pause;
mod place;
mod prompts;
mod root;
mod talk;
mod unattended;
mod worktree;

use open::{DATABASE, STATE_DIR};
pub(crate) use open::{Options, Project};
pub(crate) use others::{OtherDatabase, sentences as sentences_about_others};
pub(crate) use pause::{own_pause_file, plain_brake};
pub(crate) use place::{place, place_of_others};
pub(crate) use root::{is_for_hooks, root};
pub(crate) use unattended::UnattendedPlaces;
pub(crate) use worktree::{KnownWorktree, recall as recall_worktree};
