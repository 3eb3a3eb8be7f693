//! What a person reads when a delivery through git fails: one sentence, what to do, and git's own words.

use crate::base::fs::FileError;
use crate::base::text;
use crate::error::{Category, Error};
use crate::git::{self, FailureKind};
use crate::guard::{Stop, secrets};
use crate::publish::{Destination, NotDelivered};

/// What the steps of a delivery return. `?` keeps the kind of a git failure.
pub(super) type Result<T, E = Halted> = std::result::Result<T, E>;

/// Why a delivery went no further, before it is put into words.
pub(super) enum Halted {
    /// git failed.
    Git(git::Failure),
    /// Anything else failed.
    Other(Error),
    /// The brake was pressed.
    Stopped(Stop),
    /// Nothing is delivered from this work tree, for this reason.
    NotFromHere(String),
}

impl From<git::Failure> for Halted {
    fn from(failure: git::Failure) -> Halted {
        Halted::Git(failure)
    }
}

impl From<FileError> for Halted {
    fn from(error: FileError) -> Halted {
        Halted::from(Error::from(error))
    }
}

impl From<Error> for Halted {
    fn from(error: Error) -> Halted {
        Halted::Other(error)
    }
}

impl Halted {
    /// Whether git failed in this way.
    pub(super) fn is(&self, kind: FailureKind) -> bool {
        matches!(self, Halted::Git(failure) if failure.kind == kind)
    }

    /// Whether a lock of another git process was in the way, here or there.
    pub(super) fn is_locked(&self) -> bool {
        self.is(FailureKind::Locked) || self.is(FailureKind::LockedThere)
    }

    /// The failure as git and this program worded it.
    pub(super) fn unexplained(self) -> NotDelivered {
        match self {
            Halted::Git(failure) => NotDelivered::Failed(failure.into_error()),
            Halted::Other(error) => NotDelivered::Failed(error),
            Halted::Stopped(stop) => NotDelivered::Stopped(stop),
            Halted::NotFromHere(why) => NotDelivered::NotFromHere(why),
        }
    }

    /// The failure in words for a person, without anything secret.
    pub(super) fn explained(self, destination: &Destination) -> NotDelivered {
        match self {
            Halted::Git(failure) => NotDelivered::Failed(explain(failure, destination)),
            // Our own sentences name the remote, whose address may hold a password.
            Halted::Other(error) if matches!(error.category(), Category::Failed) => {
                NotDelivered::Failed(without_secrets(&error))
            }
            Halted::Other(error) => NotDelivered::Failed(error),
            Halted::Stopped(stop) => NotDelivered::Stopped(stop),
            Halted::NotFromHere(why) => NotDelivered::NotFromHere(why),
        }
    }
}

/// What to do about a failure that this program does not recognise.
const HINT: &str = "everything is kept in the files here; fix what git complains about, then `agent-handover push` or `agent-handover pull` tries again";

/// One sentence with its hint, and git's own words.
pub(super) fn explain(failure: git::Failure, destination: &Destination) -> Error {
    let kind = failure.kind;
    let error = failure.into_error();
    let Some((sentence, hint)) = sentence_and_hint(kind) else {
        return match kind {
            FailureKind::Interrupted => error,
            _ if error.hints().is_empty() => without_secrets(&error).hint(HINT),
            _ => without_secrets(&error),
        };
    };
    let fill = |text: &str| text.replace("{remote}", &destination.remote).replace("{branch}", &destination.branch);
    let explained = Error::failed(fill(sentence));
    // Only the message says which git it was.
    let explained = if kind == FailureKind::TimedOut { explained.cause(clean(error.message())) } else { explained };
    let explained = error.causes().iter().fold(explained, |explained, cause| explained.cause(clean(cause)));
    explained.hint(fill(hint))
}

/// The sentence about a kind of failure and its hint. `None` where git's words are all there is to report.
fn sentence_and_hint(kind: FailureKind) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        FailureKind::NoGit => {
            ("git is not installed, or not on the PATH", "install git, then `agent-handover push` delivers it")
        }
        FailureKind::ForeignOwner => {
            ("git refuses this repository because it belongs to somebody else", "see `git help config`, safe.directory")
        }
        FailureKind::TimedOut => (
            "git did not finish its work in this repository in time",
            "`time git status` shows whether git itself is slow here; `agent-handover push` tries again, and a longer `timeout` under `[backend]` leaves git more time",
        ),
        FailureKind::SigningTimedOut => (
            "the program that signs commits did not answer in time, and `commit.gpgsign` asks for it",
            "make signing work without a question (a key in the agent), or set `commit.gpgsign = false` for this repository; then `agent-handover push`",
        ),
        FailureKind::RemoteTimedOut => (
            "{remote} did not answer in time",
            "run `agent-handover push` when it answers again; `timeout` under `[backend]` says how long to wait",
        ),
        FailureKind::DiskFull => ("there is no space left", "make room, then `agent-handover push` delivers it"),
        FailureKind::DiskFullThere => (
            "there is no space left in the repository behind {remote}",
            "make room there, then `agent-handover push` delivers it; everything is kept here",
        ),
        FailureKind::ReadOnlyThere => (
            "the repository behind {remote} cannot be written to",
            "check who owns its files there and what is mounted read-only, then `agent-handover push` delivers it",
        ),
        FailureKind::Protected => (
            "{remote} protects the branch `{branch}`",
            "allow pushes to it there, or name another branch under `[backend]`",
        ),
        FailureKind::HookDeclined => {
            ("a hook of {remote} refused the push", "what it said is above; `agent-handover push` tries again")
        }
        FailureKind::Locked => (
            "another git process holds a lock in this repository",
            "wait until it ends, then `agent-handover push`; if none is running, remove the lock file that is named",
        ),
        FailureKind::LockedThere => (
            "another git process holds a lock in the repository behind {remote}",
            "`agent-handover push` tries again; if no git is running there, remove the lock file that is named",
        ),
        FailureKind::NameTaken => (
            "another branch takes the place of `{branch}`: git cannot have both `a` and `a/b`",
            "name another branch under `[backend]`, or remove the other one",
        ),
        FailureKind::CheckedOutThere => (
            "`{branch}` is checked out in the repository behind {remote}",
            "make that repository a bare one, or check out another branch there",
        ),
        FailureKind::Rejected => (
            "`{branch}` on {remote} moved while it was being pushed to, again and again",
            "`agent-handover push` tries again",
        ),
        FailureKind::Authentication => (
            "{remote} does not let this user in",
            "make `git push` work without a question (a key in the agent, a credential helper), then `agent-handover push`",
        ),
        FailureKind::NoRemote => (
            "there is no remote `{remote}` here, or no repository behind it",
            "`git remote -v` shows what there is; set `remote` under `[backend]`, or `push = false`",
        ),
        FailureKind::Unreachable => (
            "{remote} cannot be reached",
            "everything is kept here; `agent-handover push`, or the next handover, delivers it",
        ),
        FailureKind::Signing => (
            "the commit could not be signed, and `commit.gpgsign` asks for that",
            "make signing work without a question, or set `commit.gpgsign = false` for this repository",
        ),
        FailureKind::NotARepository => {
            ("this is not a git repository", "run `git init`, or set `type = \"null\"` under `[backend]`")
        }
        FailureKind::ReadOnly => (
            "git cannot write to this repository",
            "check who owns it and what is mounted read-only, then `agent-handover push`",
        ),
        FailureKind::Damaged => (
            "git cannot read the branch `{branch}` of this repository: objects or refs are missing or damaged",
            "everything is kept in the files here; `git fsck` names what is damaged and `git fetch --refetch {remote}` brings back what {remote} has; then `agent-handover push`",
        ),
        FailureKind::DamagedThere => (
            "the repository behind {remote} is damaged: objects or refs in it are missing or empty",
            "run `git fsck` there and repair it (git's words above name what is damaged); everything is kept here, and `agent-handover push` delivers it then",
        ),
        FailureKind::NoIdentity | FailureKind::Interrupted | FailureKind::Other => return None,
    })
}

fn without_secrets(error: &Error) -> Error {
    let cleaned = Error::new(error.category(), clean(error.message()));
    let cleaned = error.causes().iter().fold(cleaned, |cleaned, cause| cleaned.cause(clean(cause)));
    error.hints().iter().fold(cleaned, |cleaned, hint| cleaned.hint(hint.clone()))
}

/// git's words without the lines that it prints after every failure of a remote, if there are others.
fn without_advice(said: &str) -> String {
    const ADVICE: &[&str] = &[
        "fatal: Could not read from remote repository.",
        "Please make sure you have the correct access rights",
        "and the repository exists.",
    ];
    let lines: Vec<&str> = said.lines().filter(|line| !ADVICE.contains(&line.trim())).collect();
    if lines.iter().all(|line| line.trim().is_empty()) { said.to_owned() } else { lines.join("\n") }
}

/// git's words on one line, without credentials in addresses and anything else that looks like a secret.
fn clean(said: &str) -> String {
    let mut text = secrets::clean(&without_advice(said));
    let mut from = 0;
    while let Some(at) = text[from..].find("://").map(|at| from + at + 3) {
        let end = text[at..].find(|c: char| c.is_whitespace() || "/'\"".contains(c)).map_or(text.len(), |end| at + end);
        if let Some(host) = text[at..end].rfind('@') {
            text.replace_range(at..=at + host, "");
        }
        from = at;
    }
    text::one_line(&text, 600)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination() -> Destination {
        Destination { branch: "b".to_owned(), remote: "origin".to_owned(), ..Destination::nowhere() }
    }

    fn explain_words(said: &str) -> Error {
        explain(git::Failure::for_test(said), &destination())
    }

    #[test]
    fn a_failure_is_one_sentence_with_a_hint_and_the_words_of_git() {
        let said = " ! [remote rejected] main -> main (pre-receive hook declined)";
        let error = explain_words(said);
        assert_eq!(error.message(), "a hook of origin refused the push");
        assert_eq!((error.causes().len(), error.hints().len()), (1, 1));
        let error = explain_words("error: gpg failed to sign the data");
        assert!(error.message().contains("could not be signed"), "{}", error.message());
    }

    #[test]
    fn sentences_name_the_branch_and_the_remote() {
        let said = " ! [rejected] a -> b (non-fast-forward)";
        assert_eq!(explain_words(said).message(), "`b` on origin moved while it was being pushed to, again and again");
    }

    #[test]
    fn each_way_to_be_refused_has_a_sentence_of_its_own_and_a_remedy() {
        for (said, sentence, remedy) in [
            ("remote: error: GH006: Protected branch update failed", "origin protects the branch `b`", "allow pushes"),
            ("remote: error: refusing to update checked out branch: refs/heads/b", "`b` is checked out", "a bare one"),
            ("fatal: Authentication failed for 'https://x/'", "origin does not let this user in", "without a question"),
            ("error: file write error: No space left on device", "there is no space left", "make room"),
            (
                "error: remote unpack failed: unable to create temporary object directory",
                "the repository behind origin cannot be written to",
                "mounted read-only",
            ),
            ("fatal: not a git repository: '.git'", "this is not a git repository", "git init"),
        ] {
            let error = explain_words(said);
            assert!(error.message().starts_with(sentence), "{said}: {}", error.message());
            assert!(error.hints().iter().any(|hint| hint.contains(remedy)), "{said}: {:?}", error.hints());
            assert_eq!(error.causes().len(), 1, "git's own words stay: {said}");
        }
    }

    #[test]
    fn words_that_nobody_knows_are_reported_as_they_are() {
        let error = explain_words("fatal: something else");
        assert_eq!(error.one_line(), "`git push` failed: fatal: something else");
        assert_eq!(error.hints(), [HINT]);
    }

    #[test]
    fn credentials_in_addresses_are_not_reported() {
        let url = format!("https://{}:{}@example.com/x.git", "someone", "hunter22");
        let error = explain_words(&format!("fatal: unable to access '{url}': gone"));
        let told = format!("{error:?}");
        assert!(!told.contains("hunter22") && !told.contains("someone"), "{told}");
        assert!(told.contains("example.com/x.git"), "{told}");
    }
}
