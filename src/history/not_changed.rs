//! Why a history was not changed as a command asked.

use crate::error::Error;

/// Why a history was not changed.
#[derive(Debug)]
pub(crate) enum NotChanged {
    /// The command does not fit what the history holds, such as an unknown session. Trying again does not help.
    DoesNotFit(Error),
    Failed(Error),
    /// Writing failed, and everything is again as it was before.
    TakenBack(Error),
}

impl From<Error> for NotChanged {
    fn from(error: Error) -> NotChanged {
        NotChanged::Failed(error)
    }
}

impl From<crate::base::fs::FileError> for NotChanged {
    fn from(error: crate::base::fs::FileError) -> NotChanged {
        NotChanged::Failed(error.into())
    }
}

impl From<NotChanged> for Error {
    fn from(reason: NotChanged) -> Error {
        match reason {
            NotChanged::DoesNotFit(error) | NotChanged::Failed(error) | NotChanged::TakenBack(error) => error,
        }
    }
}
