//! Why the checkpoint could not be used: a kind for code that decides, a sentence for the person who reads it.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::base::signals;
use crate::error::{Category, Error};

/// A failure of the checkpoint file. Outside of this directory only its sentence matters.
#[derive(Debug)]
pub(super) enum Failure {
    /// The file is damaged, not a checkpoint, or somebody else's. `run --restart` may move it aside.
    Unusable(Error),
    /// SQLite could not read or write the file. A copy in another directory may still be readable.
    Io(Error),
    /// Everything else: another process holds the file, a newer program wrote it, this program has a bug.
    Other(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Unusable(error) | Failure::Io(error) | Failure::Other(error) => error,
        }
    }
}

/// The failure of a file that does not hold what this program writes.
pub(super) fn damaged(path: &Path, cause: &str) -> Failure {
    Failure::Unusable(
        Error::bad_data(format!("`{}` is not a usable checkpoint: {cause}", path.display()))
            .hint("`agent-handover run --restart` moves it aside and starts anew; it is never overwritten"),
    )
}

/// The failure that an error of SQLite means.
pub(super) fn explain(path: &Path, cause: rusqlite::Error) -> Failure {
    let code = cause.sqlite_error_code();
    let reason = sentence(&cause);
    match code {
        Some(ErrorCode::NotADatabase) => damaged(path, "it is not a SQLite database"),
        Some(ErrorCode::DatabaseCorrupt) => damaged(path, &reason),
        // A table or a column is missing.
        Some(ErrorCode::Unknown) => damaged(path, &reason),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Failure::Other(locked(path, reason)),
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::PermissionDenied,
        ) => Failure::Io(
            Error::new(Category::Io, format!("cannot use the checkpoint `{}`", path.display()))
                .cause(reason)
                .hint("make room there and make it writable"),
        ),
        Some(ErrorCode::ConstraintViolation | ErrorCode::ApiMisuse) => {
            Failure::Other(Error::bug(format!("the checkpoint `{}` refused a statement", path.display())).cause(reason))
        }
        // The file holds values that this program never writes: a wrong type, or text that is not UTF-8.
        _ => damaged(path, &reason),
    }
}

/// SQLite stops waiting for another writer when the time is up, or when a signal asks this process to end.
fn locked(path: &Path, reason: String) -> Error {
    match signals::received() {
        Some(number) => Error::new(Category::Signal(number), format!("interrupted by {}", signals::name(number))),
        None => Error::failed(format!("`{}` is locked by another process", path.display())).cause(reason),
    }
}

fn sentence(cause: &rusqlite::Error) -> String {
    match cause {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}
