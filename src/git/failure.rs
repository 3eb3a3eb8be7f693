//! Why git did not do what it was asked.
//!
//! git explains itself only in words. This is the one file that reads them: it turns them into a [`FailureKind`], and
//! everybody else decides by `match`. The words stay in the failure, for the person who reads the error.

use std::time::Duration;

use crate::base::duration;
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
    /// git took longer for something in this repository than this program waits.
    TimedOut,
    /// The remote, or what connects to it, took longer than this program waits.
    RemoteTimedOut,
    /// The program that signs commits took longer than this program waits.
    SigningTimedOut,
    DiskFull,
    /// There is no space left for the repository behind the remote.
    DiskFullThere,
    /// The remote protects the branch.
    Protected,
    /// A hook of the remote refused the push.
    HookDeclined,
    /// Another git process holds a lock.
    Locked,
    /// Another git process holds a lock in the repository behind the remote.
    LockedThere,
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
    /// The git behind the remote cannot write to its repository.
    ReadOnlyThere,
    /// Objects or refs of the repository are missing or cannot be read, as a power cut leaves them.
    Damaged,
    /// Objects or refs of the repository behind the remote are missing or cannot be read.
    DamagedThere,
    /// This program received a signal while git was running.
    Interrupted,
    Other,
}

const UNTRUSTED: &str = "git does not trust this repository, because it belongs to another user";
const TO_TRUST: &str = "if you trust it, list it in git's global `safe.directory`";

/// What git says about an object or a ref that it cannot read.
const DAMAGE: &[&str] = &[
    "missing object",
    "bad object",
    "bad tree object",
    "object file ",
    "is corrupt",
    "unable to read tree",
    "unable to read sha1 file",
    "unable to read object",
    "parse object",
    "parse commit",
    "error: Could not read ",
    "failed to unpack tree object",
    "Failed to traverse parents",
    "invalid object",
    "not a tree object",
    "does not point to a valid object",
    "did not send all necessary objects",
    "missing necessary objects",
    "reference broken",
    "cannot read existing object info",
];

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
    (
        FailureKind::DiskFull,
        &["No space left on device", "Disk quota exceeded", "disk quota exceeded", "couldn't write '"],
    ),
    (FailureKind::Protected, &["protected branch", "GH006", "GH013", "not allowed to push", "Protected branch"]),
    (
        FailureKind::HookDeclined,
        &["hook declined", "pre-receive hook", "remote rejected] (hook", "push declined", "aborted by hook"],
    ),
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

    /// A failure of this command of git, which had `timeout` to answer.
    #[must_use]
    pub(super) fn of_verb(self, verb: &str, timeout: Duration) -> Failure {
        if self.kind != FailureKind::TimedOut {
            return self;
        }
        let error = Error::failed(format!("`git {verb}` did not answer within {}", duration::show(timeout)));
        let error = self.error.causes().iter().fold(error, |error, cause| error.cause(cause));
        Failure { error, ..self }
    }

    /// Whether git is too old for an option.
    pub(super) fn names_unknown_option(&self) -> bool {
        self.error.causes().iter().any(|said| said.starts_with("unknown option:"))
    }

    /// A failure of a git that talks to a remote.
    #[must_use]
    pub(super) fn at_remote(self) -> Failure {
        match self.kind {
            FailureKind::TimedOut => Failure { kind: FailureKind::RemoteTimedOut, ..self },
            FailureKind::Damaged if self.error.causes().iter().any(|said| is_said_by_remote(said)) => {
                Failure { kind: FailureKind::DamagedThere, ..self }
            }
            kind => match there(kind) {
                Some(there) if self.error.causes().iter().any(|said| is_complaint_of_remote(said, kind)) => {
                    Failure { kind: there, ..self }
                }
                _ => self,
            },
        }
    }

    /// A failure of a git that signs a commit. Whatever git cannot do itself is the signing program's.
    #[must_use]
    pub(super) fn at_signing(self) -> Failure {
        let kind = match self.kind {
            FailureKind::TimedOut => FailureKind::SigningTimedOut,
            FailureKind::NoRemote
            | FailureKind::Authentication
            | FailureKind::Unreachable
            | FailureKind::Rejected
            | FailureKind::Other => FailureKind::Signing,
            kind => kind,
        };
        Failure { kind, ..self }
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
    let kind = SIGNS.iter().find(fits).map_or(FailureKind::Other, |(kind, _)| *kind);
    let is_certain = matches!(
        kind,
        FailureKind::NoIdentity
            | FailureKind::ForeignOwner
            | FailureKind::DiskFull
            | FailureKind::Protected
            | FailureKind::HookDeclined
            | FailureKind::Authentication
    );
    // A damaged object explains the complaints that follow from it, such as a ref that cannot be locked.
    if !is_certain && DAMAGE.iter().any(|sign| said.contains(sign)) { FailureKind::Damaged } else { kind }
}

/// Whether git complained about an object or a ref that it cannot read.
pub(super) fn names_damage(said: &str) -> bool {
    classify(said) == FailureKind::Damaged
}

/// Whether the git at the other end complained about an object or a ref that it cannot read.
fn is_said_by_remote(said: &str) -> bool {
    let is_damage = |line: &str| DAMAGE.iter().any(|sign| line.contains(sign));
    // The git that serves a path runs in that repository, and writes to the same terminal.
    let is_there = |line: &str| line.starts_with("remote:") || line.contains(" ./objects/");
    // git before 2.41 shows some lines of the other end twice, once without the word in front.
    let is_shown_twice = |line: &str| {
        said.lines().any(|other| other.strip_prefix("remote: ").map(str::trim_end) == Some(line.trim_end()))
    };
    // A file of an object that is here. The other end only complains about what it did not get.
    let is_here = |line: &str| line.contains("(stored in ") && !is_there(line) && !is_shown_twice(line);
    if said.lines().any(is_here) {
        return false;
    }
    said.contains("[remote rejected]")
        || said.contains("fatal: remote error:")
        || said.lines().any(|line| is_there(line) && is_damage(line))
}

/// The same failure in the repository behind the remote.
fn there(kind: FailureKind) -> Option<FailureKind> {
    match kind {
        FailureKind::Locked => Some(FailureKind::LockedThere),
        FailureKind::DiskFull => Some(FailureKind::DiskFullThere),
        FailureKind::ReadOnly => Some(FailureKind::ReadOnlyThere),
        _ => None,
    }
}

/// Whether the git at the other end complained like this.
fn is_complaint_of_remote(said: &str, kind: FailureKind) -> bool {
    let is_there = |line: &str| line.starts_with("remote:") || line.starts_with("error: remote unpack failed: ");
    said.lines().any(|line| is_there(line) && classify(line) == kind)
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
    /// What a git that says this while it pushes makes.
    pub(crate) fn for_test(said: &str) -> Failure {
        Failure::of_git("`git push` failed", said).at_remote()
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
            // A file that was opened could not be filled.
            ("error: cannot update ref 'refs/x/b': couldn't write '/r/.git/refs/x/b.lock'", FailureKind::DiskFull),
            (
                "fatal: ref updates aborted by hook\nsend-pack: unexpected disconnect while reading sideband packet\n\
                 fatal: the remote end hung up unexpectedly",
                FailureKind::HookDeclined,
            ),
            ("fatal: not a git repository (or any of the parent directories): .git", FailureKind::NotARepository),
            ("error: gpg failed to sign the data", FailureKind::Signing),
            ("fatal: no email was given and auto-detection is disabled", FailureKind::NoIdentity),
            ("fatal: failed to unpack tree object bb33", FailureKind::Damaged),
            (
                "fatal: update_ref failed for ref 'refs/heads/b': cannot lock ref 'refs/heads/b': unable to resolve \
                 reference 'refs/heads/b': reference broken",
                FailureKind::Damaged,
            ),
            (
                "error: object file .git/objects/1b/ee is empty\nfatal: missing object 1bee for refs/heads/b",
                FailureKind::Damaged,
            ),
            ("ssh: x\nfatal: Could not read from remote repository.", FailureKind::Unreachable),
            ("fatal: something else", FailureKind::Other),
        ] {
            assert_eq!(classify(said), kind, "{said}");
        }
    }

    #[test]
    fn damage_is_blamed_on_the_side_that_complains() {
        let kind = |said: &str| Failure::of_git("`git push` failed", said).at_remote().kind;
        let there =
            "remote: fatal: bad object refs/heads/b\n! x:refs/heads/b [remote rejected] (missing necessary objects)";
        assert_eq!(kind(there), FailureKind::DamagedThere);
        assert_eq!(kind("fatal: bad object refs/heads/b"), FailureKind::Damaged);
        let path = "error: object file ./objects/51/24 is empty\nfatal: oops (5124)";
        assert_eq!(kind(path), FailureKind::DamagedThere);
        assert_eq!(kind("error: object file .git/objects/51/24 is empty"), FailureKind::Damaged);
        let stored = "fatal: loose object 5124 (stored in r.git/objects/51/24) is corrupt";
        assert_eq!(kind(stored), FailureKind::Damaged);
        assert_eq!(kind(&format!("remote: {stored}        \n{stored}")), FailureKind::DamagedThere);
    }

    #[test]
    fn what_keeps_git_from_writing_is_blamed_on_the_side_that_complains() {
        let kind = |said: &str| Failure::of_git("`git push` failed", said).at_remote().kind;
        for (words, here, there) in [
            (
                "error: cannot lock ref 'refs/heads/b': Unable to create '/r/refs/heads/b.lock': File exists.",
                FailureKind::Locked,
                FailureKind::LockedThere,
            ),
            (
                "fatal: unable to write loose object file: No space left on device",
                FailureKind::DiskFull,
                FailureKind::DiskFullThere,
            ),
            (
                "error: insufficient permission for adding an object to repository database ./objects",
                FailureKind::ReadOnly,
                FailureKind::ReadOnlyThere,
            ),
        ] {
            let rejected = format!("remote: {words}\nTo /r\n! x:refs/heads/b [remote rejected] (unpacker error)");
            assert_eq!(kind(&rejected), there);
            assert_eq!(kind(words), here);
        }
        let refused = "error: remote unpack failed: unable to create temporary object directory\n\
            ! x:refs/heads/b [remote rejected] (unpacker error)";
        assert_eq!(kind(refused), FailureKind::ReadOnlyThere);
    }

    #[test]
    fn what_git_cannot_do_while_it_signs_is_the_signing_programs_failure() {
        let kind = |said: &str| Failure::of_git("`git commit-tree` failed", said).at_signing().kind;
        assert_eq!(kind("error: cannot run gpg: No such file or directory"), FailureKind::Signing);
        assert_eq!(kind("error: gpg failed to sign the data"), FailureKind::Signing);
        assert_eq!(kind("fatal: no email was given and auto-detection is disabled"), FailureKind::NoIdentity);
        let slow = Failure::from(NoAnswer::TimedOut(Error::failed("x"))).at_signing().kind;
        assert_eq!(slow, FailureKind::SigningTimedOut);
    }

    #[test]
    fn a_git_that_gave_no_answer_is_understood_without_words() {
        let kind = |none: NoAnswer| Failure::from(none).kind;
        assert_eq!(kind(NoAnswer::NotStarted(Error::failed("x"))), FailureKind::NoGit);
        assert_eq!(kind(NoAnswer::TimedOut(Error::failed("x"))), FailureKind::TimedOut);
        assert_eq!(kind(NoAnswer::Other(Error::failed("not a git repository"))), FailureKind::Other);
    }
}
