//! Errors as a person sees them: a category that decides the exit code, one sentence, its causes, what to do next, and the
//! places in a file.

#![warn(missing_docs)]

use std::any::Any;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// A result whose error a person can read.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every expected outcome other than success. Each category has one exit code, for every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// The command failed. Progress is saved, and nothing is half done.
    Failed,
    /// A PAUSE file exists.
    Paused,
    /// Another process is running a handover.
    Busy,
    /// A check found a problem.
    NotGood,
    /// A signature, checksum or passphrase was refused.
    Untrusted,
    /// The command line is wrong.
    Usage,
    /// A config, handoff, bundle or database cannot be read.
    BadData,
    /// A bug in this program.
    Bug,
    /// Input or output failed.
    Io,
    /// This signal ended the command.
    Signal(i32),
}

impl Category {
    /// The categories without a parameter, in the order of the README's table.
    pub const ALL: [Category; 9] = [
        Category::Failed,
        Category::Paused,
        Category::Busy,
        Category::NotGood,
        Category::Untrusted,
        Category::Usage,
        Category::BadData,
        Category::Bug,
        Category::Io,
    ];

    /// The exit code of a command that fails with this category.
    pub fn exit_code(self) -> u8 {
        match self {
            Category::Failed => 1,
            Category::Paused => 3,
            Category::Busy => 4,
            Category::NotGood => 5,
            Category::Untrusted => 6,
            Category::Usage => 64,
            Category::BadData => 65,
            Category::Bug => 70,
            Category::Io => 74,
            Category::Signal(number) => 128u8.saturating_add(u8::try_from(number).unwrap_or(0)),
        }
    }

    /// The word that `--json` uses.
    pub fn name(self) -> &'static str {
        match self {
            Category::Failed => "failed",
            Category::Paused => "paused",
            Category::Busy => "busy",
            Category::NotGood => "not-good",
            Category::Untrusted => "untrusted",
            Category::Usage => "usage",
            Category::BadData => "bad-data",
            Category::Bug => "bug",
            Category::Io => "io",
            Category::Signal(_) => "signal",
        }
    }
}

/// One thing wrong at one place of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    /// Bytes of the text to underline.
    pub span: Range<usize>,
    pub help: Option<String>,
    /// Whether the text may have been written for a program that ignores this, so that ignoring it does no harm.
    pub is_ignorable: bool,
}

/// A text together with everything that is wrong in it.
#[derive(Clone, Debug)]
pub struct Listing {
    pub path: PathBuf,
    pub text: String,
    pub problems: Vec<Problem>,
}

impl Listing {
    /// The lines of the problems, such as ` in line 2` or ` in lines 2, 5`. Empty without problems.
    fn lines(&self) -> String {
        let line_of = |problem: &Problem| {
            let before = self.text.as_bytes().get(..problem.span.start).unwrap_or(self.text.as_bytes());
            1 + before.iter().filter(|byte| **byte == b'\n').count()
        };
        let lines: BTreeSet<usize> = self.problems.iter().map(line_of).collect();
        let shown: Vec<String> = lines.iter().take(5).map(usize::to_string).collect();
        match (lines.len(), shown.join(", ")) {
            (0, _) => String::new(),
            (1, line) => format!(" in line {line}"),
            (count, shown) if count > 5 => format!(" in lines {shown} and others"),
            (_, shown) => format!(" in lines {shown}"),
        }
    }
}

/// What to do after an input or output error; empty if that depends on more.
fn next_after(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::ReadOnlyFilesystem => "make that file system writable",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space",
        _ => "",
    }
}

/// An error that is ready to be shown.
#[derive(Clone, Debug)]
pub struct Error(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    category: Category,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
    listing: Option<Listing>,
}

impl Error {
    /// An error with a message of one sentence, without a period.
    pub fn new(category: Category, message: impl Into<String>) -> Error {
        Error(Box::new(Parts {
            category,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            listing: None,
        }))
    }

    /// An error of [`Category::Failed`].
    pub fn failed(message: impl Into<String>) -> Error {
        Error::new(Category::Failed, message)
    }

    /// An error of [`Category::Usage`].
    pub fn usage(message: impl Into<String>) -> Error {
        Error::new(Category::Usage, message)
    }

    /// An error of [`Category::BadData`].
    pub fn bad_data(message: impl Into<String>) -> Error {
        Error::new(Category::BadData, message)
    }

    /// An error of [`Category::Bug`], with a hint to report it.
    pub fn bug(message: impl Into<String>) -> Error {
        Error::new(Category::Bug, message)
            .hint("this is a bug in agent-handover; please report it with the command you ran")
    }

    /// An input or output error. `doing` follows "cannot": "write", "create the directory".
    pub fn io(doing: &str, path: &Path, cause: impl fmt::Display + 'static) -> Error {
        let next = (&cause as &dyn Any).downcast_ref::<io::Error>().map(next_after).unwrap_or_default();
        Error::new(Category::Io, format!("cannot {doing} `{}`", path.display())).cause(cause).hint(next)
    }

    /// All problems of one text, reported together.
    pub fn listing(listing: Listing) -> Error {
        let count = listing.problems.len();
        let path = listing.path.display();
        let mut error = Error::bad_data(match count {
            1 => format!("`{path}` has a problem"),
            _ => format!("`{path}` has {count} problems"),
        });
        error.0.listing = Some(listing);
        error
    }

    /// The same error in another category.
    #[must_use]
    pub fn in_category(mut self, category: Category) -> Error {
        self.0.category = category;
        self
    }

    /// Adds what led to the error.
    #[must_use]
    pub fn cause(mut self, cause: impl fmt::Display) -> Error {
        self.0.causes.push(cause.to_string());
        self
    }

    /// Puts a text before the message.
    #[must_use]
    pub fn lead(mut self, before: &str) -> Error {
        self.0.message.insert_str(0, before);
        self
    }

    /// Appends a text to the message.
    #[must_use]
    pub fn follow(mut self, more: &str) -> Error {
        self.0.message.push_str(more);
        self
    }

    /// Adds a next action, ideally a command to paste.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        let hint = hint.into();
        if !hint.is_empty() && !self.0.hints.contains(&hint) {
            self.0.hints.push(hint);
        }
        self
    }

    /// What kind of failure it is.
    pub fn category(&self) -> Category {
        self.0.category
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What led to it, the nearest first.
    pub fn causes(&self) -> &[String] {
        &self.0.causes
    }

    /// What to do next.
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }

    /// The problems in a file, with their places, if it is about a file.
    pub fn problems(&self) -> Option<&Listing> {
        self.0.listing.as_ref()
    }

    /// Message and causes on one line, for a checkpoint or a log. Of problems in a file it has only the lines, because the
    /// file may be a stranger's.
    pub fn one_line(&self) -> String {
        let mut line = self.0.message.clone();
        if let Some(listing) = &self.0.listing {
            line.push_str(&listing.lines());
        }
        for cause in &self.0.causes {
            line.push_str(": ");
            line.push_str(cause);
        }
        // A cause may be what another program printed.
        line.lines().map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.one_line())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_can_never_be_confused_with_a_failure_of_usage() {
        // 2 belongs to `check` alone, and agents take 2 as "block".
        assert!(Category::ALL.iter().all(|c| c.exit_code() != 2 && c.exit_code() != 0));
        assert_eq!(Category::Signal(15).exit_code(), 143);
    }

    #[test]
    fn a_cause_of_several_lines_stays_on_one_line() {
        let error = Error::failed("`git push` failed").cause("remote: no\n\n  fatal: refused\r\n");
        assert_eq!(error.one_line(), "`git push` failed: remote: no fatal: refused");
    }

    #[test]
    fn problems_of_a_file_are_named_by_their_lines() {
        let problem = |start: &usize| {
            let span = *start..start + 1;
            Problem { message: "m".to_owned(), span, help: None, is_ignorable: false }
        };
        let error = |starts: &[usize]| {
            let (path, text) = (PathBuf::from("f"), "a\nb\nc\n".to_owned());
            Error::listing(Listing { path, text, problems: starts.iter().map(problem).collect() }).one_line()
        };
        assert_eq!(error(&[2]), "`f` has a problem in line 2");
        assert_eq!(error(&[2, 0]), "`f` has 2 problems in lines 1, 2");
        assert_eq!(error(&[99]), "`f` has a problem in line 4");
    }

    #[test]
    fn a_full_and_a_read_only_disk_have_a_next_step() {
        let hints = |kind: io::ErrorKind| Error::io("write", Path::new("f"), io::Error::from(kind)).hints().to_vec();
        let read_only = hints(io::ErrorKind::ReadOnlyFilesystem);
        assert_eq!(read_only, ["make that file system writable"]);
        assert_eq!(hints(io::ErrorKind::StorageFull), ["free some space"]);
        assert_eq!(hints(io::ErrorKind::NotFound), [""; 0]);
    }

    #[test]
    fn a_hint_is_given_once() {
        let error = Error::failed("x").hint("do y").hint("do y");
        assert_eq!(error.hints(), ["do y"]);
    }
}
