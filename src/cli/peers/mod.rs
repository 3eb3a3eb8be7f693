//! Other tools' command lines: started by a link with such a tool's name, the program takes its arguments and exits with its
//! codes, so that scripts and instructions that were written for it keep working.
//!
//! A peer translates its arguments into one of our commands, and the lines and exit code of that command into its own. It
//! has no behaviour of its own beyond that.
//!
//! | file | owns |
//! |---|---|
//! | `peer` | the names that a link can have, and how a translated command runs |
//! | `session_glue` | `glue` and `session-glue` |
//! | `session_handoff` | `session-handoff` |
//! | `all_projects` | the handoffs of every project, which session-handoff keeps in one store |
//! | `go_flags` | flags as Go's `flag` package reads them |

mod all_projects;
mod go_flags;
mod peer;
mod session_glue;
mod session_handoff;

pub(super) use peer::of;
