//! Why git did not do what it was asked.
//!
//! git explains itself only in words. This is the one file that reads them: it turns them into a [`FailureKind`], and
//! everybody else decides by `match`. The words stay in the failure, for the person who reads the error.

use crate::base::process::NoAnswer;
use crate::error::Error;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// A git that failed: the kind of failure, and git's own words.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub kind: FailureKind,
    error: Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// git knows no name and address to put on a commit.
    NoIdentity,
    /// git could not be started.
    NoGit,
    /// The repository belongs to another user.
    ForeignOwner,
    TimedOut,
    DiskFull,
    /// The remote protects the branch.
    Protected,
    /// A hook of the remote refused the push.
    HookDeclined,
    /// Another git process holds a lock.
    Locked,
    /// A branch `a` keeps a branch `a/b` from existing, or the other way round.
    NameTaken,
    /// The branch is checked out in the repository behind the remote.
    CheckedOutThere,
    /// The branch moved meanwhile.
    Rejected,
    Authentication,
    /// The remote is not configured, or there is no repository behind it.
    NoRemote,
    Unreachable,
    /// The commit could not be signed.
    Signing,
    NotARepository,
    /// git cannot write to the repository.
    ReadOnly,
    /// This program received a signal while git was running.
    Interrupted,
    Other,
}

const UNTRUSTED: &str = "git does not trust this repository, because it belongs to another user";
const TO_TRUST: &str = "if you trust it, list it in git's global `safe.directory`";

/// What git's words contain for each kind. The first row that fits decides, so specific rows stand before general ones.
const SIGNS: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::NoIdentity,
        &[
            "Please tell me who you are",
            "empty ident",
            "no email was given",
            "no name was given",
            "auto-detection is disabled",
        ],
    ),
    (FailureKind::ForeignOwner, &["dubious ownership"]),
    (FailureKind::DiskFull, &["No space left on device", "Disk quota exceeded", "disk quota exceeded"]),
    (FailureKind::Protected, &["protected branch", "GH006", "GH013", "not allowed to push", "Protected branch"]),
    (FailureKind::HookDeclined, &["hook declined", "pre-receive hook", "remote rejected] (hook", "push declined"]),
    (FailureKind::Locked, &[".lock': File exists", "Unable to create", "unable to lock"]),
    (FailureKind::NameTaken, &["; cannot create"]),
    (FailureKind::CheckedOutThere, &["refusing to update checked out branch", "branch is currently checked out"]),
    (
        FailureKind::Rejected,
        &[
            "non-fast-forward",
            "fetch first",
            "cannot lock ref",
            "failed to update ref",
            "incorrect old value",
            "stale info",
            "reference already exists",
            "failed to lock",
        ],
    ),
    (
        FailureKind::Authentication,
        &[
            "Authentication failed",
            "could not read Username",
            "could not read Password",
            "Permission denied",
            "terminal prompts disabled",
            "Invalid username or",
            "Host key verification failed",
            "error: 401",
            "error: 403",
            "access denied",
            "Access denied",
        ],
    ),
    (
        FailureKind::NoRemote,
        &["No such remote", "does not appear to be a git repository", "does not exist", "not found", "No such file"],
    ),
    (
        FailureKind::Unreachable,
        &[
            "Could not resolve host",
            "Couldn't connect",
            "Connection refused",
            "Connection timed out",
            "Connection reset",
            "Connection closed",
            "Network is unreachable",
            "No route to host",
            "unable to access",
            "hung up unexpectedly",
            "early EOF",
            "Could not read from remote repository",
            "error: 5",
            "RPC failed",
        ],
    ),
    (
        FailureKind::Signing,
        &[
            "gpg failed to sign",
            "failed to sign",
            "cannot run gpg",
            "couldn't get agent socket",
            "Couldn't load public key",
        ],
    ),
    (FailureKind::NotARepository, &["not a git repository"]),
    (
        FailureKind::ReadOnly,
        &["Read-only file system", "insufficient permission for adding", "unable to write", "unable to create"],
    ),
];

impl Failure {
    pub(super) fn new(kind: FailureKind, error: Error) -> Failure {
        Failure { kind, error }
    }

    /// A git that ran and failed. `what` is the sentence about it, `said` are git's words.
    pub(super) fn of_git(what: impl Into<String>, said: &str) -> Failure {
        match classify(said) {
            kind @ FailureKind::ForeignOwner => Failure { kind, error: Error::failed(UNTRUSTED).hint(TO_TRUST) },
            kind => Failure { kind, error: Error::failed(what).cause(said) },
        }
    }

    /// A git that succeeded with an answer that is of no use.
    pub(super) fn of_answer(error: Error) -> Failure {
        Failure { kind: FailureKind::Other, error }
    }

    /// The failure as an error to report, without its kind. There is no `From`, so that `?` cannot lose the kind.
    pub(crate) fn into_error(self) -> Error {
        self.error
    }

    /// The message without git's words, which may quote any file that a repository makes git read.
    pub(crate) fn without_words(&self) -> String {
        self.error.message().to_owned()
    }

    /// The message and git's words on one line.
    pub(crate) fn one_line(&self) -> String {
        self.error.one_line()
    }
}

impl From<NoAnswer> for Failure {
    fn from(none: NoAnswer) -> Failure {
        let (kind, error) = match none {
            NoAnswer::NotStarted(error) => (FailureKind::NoGit, error),
            NoAnswer::TimedOut(error) => (FailureKind::TimedOut, error),
            NoAnswer::Interrupted(error) => (FailureKind::Interrupted, error),
            NoAnswer::DiskFull(error) => (FailureKind::DiskFull, error),
            NoAnswer::Other(error) => (FailureKind::Other, error),
        };
        Failure { kind, error }
    }
}

fn classify(said: &str) -> FailureKind {
    let fits = |(_, signs): &&(FailureKind, &[&str])| signs.iter().any(|sign| said.contains(sign));
    SIGNS.iter().find(fits).map_or(FailureKind::Other, |(kind, _)| *kind)
}

/// Whether `git update-ref` failed because somebody else moved or made the ref.
pub(super) fn is_ref_race(said: &str) -> bool {
    said.contains("but expected") || said.contains("reference already exists")
}

/// Whether `git fetch` failed because the remote has no such branch.
pub(super) fn is_missing_branch(said: &str) -> bool {
    said.contains("couldn't find remote ref")
}

#[cfg(test)]
impl Failure {
    /// What a git that says this makes.
    pub(crate) fn for_test(said: &str) -> Failure {
        Failure::of_git("`git push` failed", said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_understood_by_its_words() {
        for (said, kind) in [
            ("fatal: unable to access 'https://x/': Could not resolve host: x", FailureKind::Unreachable),
            ("fatal: Authentication failed for 'https://x/'", FailureKind::Authentication),
            (
                "git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
                FailureKind::Authentication,
            ),
            ("fatal: 'nowhere' does not appear to be a git repository", FailureKind::NoRemote),
            (" ! [remote rejected] main -> main (pre-receive hook declined)", FailureKind::HookDeclined),
            (
                "remote: error: GH006: Protected branch update failed\n ! [remote rejected] x (protected branch hook declined)",
                FailureKind::Protected,
            ),
            (" ! [rejected] a -> b (non-fast-forward)", FailureKind::Rejected),
            (
                " ! [remote rejected] a -> b (cannot lock ref 'refs/heads/b': is at 1 but expected 2)",
                FailureKind::Rejected,
            ),
            ("fatal: Unable to create '/x/.git/index.lock': File exists.", FailureKind::Locked),
            ("error: file write error: No space left on device", FailureKind::DiskFull),
            ("fatal: not a git repository (or any of the parent directories): .git", FailureKind::NotARepository),
            ("error: gpg failed to sign the data", FailureKind::Signing),
            ("fatal: no email was given and auto-detection is disabled", FailureKind::NoIdentity),
            ("fatal: something else", FailureKind::Other),
        ] {
            assert_eq!(classify(said), kind, "{said}");
        }
    }

    #[test]
    fn a_git_that_gave_no_answer_is_understood_without_words() {
        let kind = |none: NoAnswer| Failure::from(none).kind;
        assert_eq!(kind(NoAnswer::NotStarted(Error::failed("x"))), FailureKind::NoGit);
        assert_eq!(kind(NoAnswer::TimedOut(Error::failed("x"))), FailureKind::TimedOut);
        assert_eq!(kind(NoAnswer::Other(Error::failed("not a git repository"))), FailureKind::Other);
    }
}
