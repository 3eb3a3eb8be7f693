//! The one hermetic way to ask git, and pure parsers of its answers.
//!
//! | file | owns |
//! |---|---|
//! | `command` | `Git`: how a git process is started, and what it is shielded from |
//! | `failure` | `Failure`: why git did not do what it was asked |
//! | `question` | what the local repository is asked: HEAD, commits, changed files |
//! | `head` | the commit that is checked out, read without starting git |
//! | `index` | that the index names nothing at a path, read without starting git |
//! | `since` | how recorded commits relate to HEAD, and what came after them |
//! | `objects` | trees, commits, refs and index entries, read and written |
//! | `damage` | what git cannot read, as after a power cut |
//! | `remote` | the verbs that reach another repository: ask, fetch, push |
//! | `repository` | where a repository is, and whether it belongs to the directory, found without starting git |
//! | `worktree` | the main work tree of a linked one, and what is checked out, found without starting git |
//! | `delivery_settings` | the settings that a delivery needs, asked for in one question |
//! | `settings` | the settings that say where a work tree is, read without starting git |
//! | `exclude` | our lines in `info/exclude` |
//! | `pipes` | named pipes that git would wait for |
//! | `budget` | how long the git processes of one delivery may take together |
//! | `patience` | how long the questions of one command may wait in total |
//! | `parse` | parsers of what git prints |
//! | `foreign` | all readers of bytes of others as one function, for fuzzing |

mod budget;
mod command;
mod damage;
mod delivery_settings;
mod exclude;
mod failure;
mod foreign;
mod head;
mod hermetic;
mod index;
mod objects;
mod parse;
mod patience;
mod pipes;
mod question;
mod remote;
mod repository;
mod settings;
mod since;
mod worktree;

pub(crate) use budget::Budget;
pub(crate) use command::{Asked, Git};
pub(crate) use damage::ids_in;
pub(crate) use exclude::keep_out;
pub(crate) use failure::{Failure, FailureKind, Result};
pub(crate) use foreign::read_as_everything;
pub(crate) use objects::{CommitBetween, Tip};
pub(crate) use parse::{Change, Commit, Difference, is_object_id, is_part_of_id};
pub(crate) use question::{Head, may_track};
pub(crate) use remote::{Other, PushedTo, local_path};
pub(crate) use repository::{GitDirectories, boundary, broken_at, directories, top_level};
pub(crate) use since::Relation;
pub(crate) use worktree::{MainTree, checked_out_branch, linked_worktrees, shared_tree};
