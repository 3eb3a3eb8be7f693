//! Handing over: a session is recorded as a run of the queue, and the queue is run step by step, however often it is
//! interrupted. [`hand_over()`] is the way in.
//!
//! | file | owns |
//! |---|---|
//! | `hand_over` | the order of things: record, then run the queue here or in a child |
//! | `record` | what a session says, made into a recorded run |
//! | `defer` | what a command was given while paused, recorded as a run of one step |
//! | `at_once` | a command that changes several files: all of it is done, or nothing, also after a kill |
//! | `edit_memory` | a change of the current state for a command or a tool |
//! | `inputs` | the session as the checkpoint keeps it, and back |
//! | `leftovers` | memory in a linked worktree that belongs to the main one |
//! | `own_session` | the agent session that this process runs in, or that a transcript is of |
//! | `plan` | the steps of a run, as they are recorded |
//! | `rate_limit` | whether the last session stopped at a limit of its agent's use |
//! | `queue` | the lock, and running what is unfinished, oldest first |
//! | `runner`, `walk` | carrying out one run; its steps |
//! | `check` | whether a handover was interrupted |
//! | `before_run` | what a run does around the project before its first step |
//! | `replan` | giving an unfinished run the steps of the present config |
//! | `resume` | what to do with a step, given how it was found |
//! | `detach` | starting a child that has the lock, and being that child |
//! | `abandon` | abandoning one run, or all to start anew |
//! | `told` | what a recorded run was told |
//! | `event` | what is reported while a run goes on |
//! | `preview` | what a run would do |
//! | `provenance` | whose memory this is: ours, or came with the repository |
//! | `deliver` | `push` and `pull`: a delivery without a run |

mod abandon;
mod at_once;
mod before_run;
mod check;
mod defer;
mod deliver;
mod detach;
mod edit_memory;
mod event;
mod hand_over;
mod inputs;
mod leftovers;
mod own_session;
mod plan;
mod preview;
#[cfg(test)]
mod property;
mod provenance;
mod queue;
mod rate_limit;
mod record;
mod replan;
mod resume;
mod runner;
mod told;
mod walk;

pub(crate) use abandon::abandon;
pub(crate) use at_once::{
    Issued, carry_out_at_once, finish_interrupted, had_handover, has_unfinished_command, waiting,
};
pub(crate) use before_run::keep_out_of_git;
pub(crate) use check::{Checked, check, pause_of};
pub(crate) use defer::{Deferral, defer, deferred_command, title, waiting_commands};
pub(crate) use deliver::{Direction, deliver};
pub(crate) use detach::{ChildTask, NotDetached, carry_out_inherited};
pub(crate) use edit_memory::{MemoryRequest, edit_memory, keep_out_secrets};
pub(crate) use event::{Event, Listener};
pub(crate) use hand_over::{
    Carrier, HandedOver, HowToRun, Task, finish_due, hand_over, hand_over_to_child, hand_over_with, start_child,
};
pub(crate) use leftovers::{adopt_sessions, left_behind, unmerged};
pub(crate) use plan::{Plan, PlannedStep};
pub(crate) use preview::{preview, summarize};
pub(crate) use provenance::{Adopted, CAME_ALONG, Provenance, adopt_after_upgrade, adopt_all, mark};
pub(crate) use queue::{Drained, RunFailure, RunRelation, between_runs, busy, drain_unattended, due};
pub(crate) use rate_limit::rate_limit;
pub(crate) use record::{
    Attendance, HandOverError, RecordOutcome, Recorded, Request, is_on_record, record, secret_policy,
};
pub(crate) use replan::{REPLAN, is_outdated};
pub(crate) use resume::DEATHS_TO_PARK;
pub(crate) use told::{Told, find, told};
