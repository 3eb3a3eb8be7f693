//! The handoff: one session's document, frontmatter and Markdown body.
//!
//! | file | owns |
//! |---|---|
//! | `document` | [`Handoff`]: split into fields and body, read, changed and rendered |
//! | `frontmatter` | which of two readers to believe: Session Glue's subset or YAML |
//! | `subset` | Session Glue's YAML subset, read and written |
//! | `yaml` | ordinary YAML within limits |
//! | `value` | a field and its value; where a text cannot be read |
//! | `check` | what a handoff must have |
//! | `problem` | what is wrong with a handoff, by kind |
//! | `first_action` | recognises first actions that are not work |

mod check;
mod document;
mod first_action;
mod frontmatter;
mod problem;
mod subset;
mod value;
mod yaml;

pub use check::{LIST_FIELDS, REQUIRED, SECTIONS, check};
pub use document::Handoff;
pub use first_action::resume_mechanic;
pub use frontmatter::{read_subset_first, write_fields};
pub use problem::{HandoffProblem, HandoffProblemKind};
pub use subset::{one_line, unquote_ours};
pub use value::{SyntaxError, Value, repr};

#[cfg(test)]
mod tests;
