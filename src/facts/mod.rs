//! What the session did, as far as a program can know it.
//!
//! | file | owns |
//! |---|---|
//! | `session` | [`Session`]: what was recorded when the handover was requested |
//! | `collect` | asks the collectors and joins their facts |
//! | `inputs` | what the session stated itself |
//! | `transcript` | what the agent's transcript shows |
//! | `rate_limit` | the limit at which the session stopped, as a sentence |
//! | `git` | what happened in the repository |
//! | `working_tree` | its uncommitted files, by name, and whether they changed since the last handover |

mod collect;
mod git;
mod inputs;
mod rate_limit;
mod session;
mod transcript;
mod working_tree;

pub(crate) use collect::{Collector, Facts, Scene, collect};
pub(crate) use git::TREE;
pub(crate) use rate_limit::{FACT as RATE_LIMIT, sentence as limit_sentence};
pub(crate) use session::{Session, recorded, texts};
pub(crate) use transcript::only_project_files;
pub(crate) use working_tree::{add_to as add_working_tree, uncommitted};

/// Every source of facts, in order. A later one may replace a value of an earlier one.
pub(crate) const COLLECTORS: &[Collector] = &[inputs::COLLECTOR, transcript::COLLECTOR, git::COLLECTOR];
