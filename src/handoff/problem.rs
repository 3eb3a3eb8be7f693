//! What is wrong with a handoff, by kind. The messages are Session Glue's.

use std::fmt;

/// One thing that is wrong with a handoff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandoffProblem {
    pub kind: HandoffProblemKind,
    /// Counted from 1, in the document.
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HandoffProblemKind {
    MissingField(&'static str),
    EmptyField(&'static str),
    FieldIsNotAList(&'static str),
    EmptyItem {
        field: &'static str,
        number: usize,
    },
    ItemIsNotAScalar {
        field: &'static str,
        number: usize,
        found: &'static str,
    },
    ValidationIsNotAMapping {
        number: usize,
        found: &'static str,
    },
    ValidationWithoutCommand {
        number: usize,
    },
    /// `found` is how the message shows the result.
    UnknownValidationResult {
        number: usize,
        found: String,
    },
    DecisionsAreNotAList,
    EmptySupersedes,
    /// The first action is a way of getting back to work; `matched` is the part that says so.
    ResumeMechanic {
        matched: String,
    },
    MissingSections(Vec<&'static str>),
}

impl HandoffProblem {
    /// Whether only the first action is wrong. An imported handoff may have such a problem: its author chose the action.
    pub(crate) fn is_about_first_action(&self) -> bool {
        use HandoffProblemKind::{EmptyItem, ItemIsNotAScalar, ResumeMechanic};
        match self.kind {
            ResumeMechanic { .. } => true,
            EmptyItem { field, number } | ItemIsNotAScalar { field, number, .. } => {
                field == "next_todo_items" && number == 0
            }
            _ => false,
        }
    }
}

impl fmt::Display for HandoffProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

impl fmt::Display for HandoffProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingField(field) => write!(f, "missing required field: {field}"),
            Self::EmptyField(field) => write!(f, "required field is empty: {field}"),
            Self::FieldIsNotAList(field) => write!(f, "required field must be a list: {field}"),
            Self::EmptyItem { field, number } => write!(f, "{field}[{number}] must not be empty"),
            Self::ItemIsNotAScalar { field, number, found } => {
                write!(f, "{field}[{number}] must be a scalar (string or number), not {found}")
            }
            Self::ValidationIsNotAMapping { number, found } => {
                write!(f, "validation[{number}] must be a command/result/notes mapping, not {found}")
            }
            Self::ValidationWithoutCommand { number } => {
                write!(f, "validation[{number}].command is required and must be a non-empty scalar")
            }
            Self::UnknownValidationResult { number, found } => {
                write!(f, "validation[{number}].result must be one of passed/failed/not_run, got {found}")
            }
            Self::DecisionsAreNotAList => write!(f, "optional field must be a list: decisions"),
            Self::EmptySupersedes => write!(f, "supersedes must be a non-empty scalar"),
            Self::ResumeMechanic { matched } => write!(
                f,
                "next_todo_items[0] looks like a resume mechanic (matched '{matched}'); it must be the first productive work item"
            ),
            Self::MissingSections(sections) => {
                write!(f, "missing required body section(s): {}", sections.join(", "))
            }
        }
    }
}
