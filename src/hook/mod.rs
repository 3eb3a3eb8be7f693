//! What agents call: context at the start of a session, a handover at its end. A call never fails the agent.
//!
//! | event | what happens |
//! |---|---|
//! | session start | other sessions are swept, due handovers get a moment to finish, then the warmup is answered |
//! | turn end, before compaction, prompt | one row is written: the length of the transcript |
//! | first prompt | passages of earlier sessions that speak of the same things are answered, if there are any |
//! | session end | the run is recorded with HEAD and the length of the transcript, and a child carries it out |
//!
//! Each part of a session is handed over once, whoever calls and however often: the row of a session holds how much of it
//! was handed over, and recording a run moves that mark in the same transaction.
//!
//! | file | owns |
//! |---|---|
//! | `receive` | reading the payload, also from an agent that never closes the pipe |
//! | `respond` | one call: finding the project, what to do for the event, the answer |
//! | `record` | the record of the project, opened once a call |
//! | `start` | session start |
//! | `context` | the warmup that a session gets, by why it starts |
//! | `action` | what an agent is reminded of before a command or an edit |
//! | `recall` | what a session is reminded of at its first prompt |
//! | `receipt` | whether the texts that sessions get arrive |
//! | `end` | turn end and session end |
//! | `going_on` | the session that a person continues in another agent |
//! | `kept_out` | sessions that leave no handover of their own: parts of another one, and those that the user keeps out |
//! | `pending` | the part of a session that nobody has handed over |
//! | `session` | the process and the transcript of a session, and whether it is over |
//! | `sweep` | sessions that ended without calling a hook |
//! | `owed` | which session files on disk nobody has dealt with |
//! | `deletion` | transcripts that their agents are about to delete |
//! | `keep` | the talk that is kept before agents delete it |
//! | `carry_out` | the child that runs what is due |

mod action;
mod carry_out;
mod context;
mod deletion;
mod end;
mod going_on;
mod keep;
mod kept_out;
mod owed;
mod pending;
mod recall;
mod receipt;
mod receive;
mod record;
mod respond;
mod session;
mod start;
mod sweep;

pub(crate) use carry_out::carry_out_due;
pub(crate) use deletion::{Deletion, DeletionLimits, about_to_be_deleted};
pub(crate) use going_on::going_on;
pub(crate) use receive::receive;
pub(crate) use respond::{respond, sample_question, simulate};
