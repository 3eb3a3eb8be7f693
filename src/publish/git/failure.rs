//! What git says when it cannot, as one sentence and what to do about it.

use crate::base::text;
use crate::error::{Category, Error};
use crate::guard::secrets;
use crate::publish::Destination;

/// A kind of failure: what git's text has in it, the sentence, and the hint.
struct Kind {
    name: &'static str,
    signs: &'static [&'static str],
    sentence: &'static str,
    hint: &'static str,
}

/// The first that fits counts, so the more specific come first.
const KINDS: &[Kind] = &[
    Kind {
        name: "no-git",
        signs: &["cannot start `git`"],
        sentence: "git is not installed, or not on the PATH",
        hint: "install git, then `agent-handover push` delivers",
    },
    Kind {
        name: "foreign",
        signs: &["dubious ownership"],
        sentence: "git refuses this repository because it belongs to somebody else",
        hint: "see `git help config`, safe.directory",
    },
    Kind {
        name: "timed-out",
        signs: &["did not answer within"],
        sentence: "{remote} did not answer in time",
        hint: "`agent-handover push` delivers when it does; `timeout` under `[backend]` says how long to wait",
    },
    Kind {
        name: "disk-full",
        signs: &["No space left on device", "Disk quota exceeded", "disk quota exceeded"],
        sentence: "there is no space left",
        hint: "make room, then `agent-handover push` delivers",
    },
    Kind {
        name: "protected",
        signs: &["protected branch", "GH006", "GH013", "not allowed to push", "Protected branch"],
        sentence: "{remote} protects the branch `{branch}`",
        hint: "allow pushes to it there, or name another branch under `[backend]`",
    },
    Kind {
        name: "hook",
        signs: &["hook declined", "pre-receive hook", "remote rejected] (hook", "push declined"],
        sentence: "a hook of {remote} refused the push",
        hint: "what it said is above; `agent-handover push` tries again",
    },
    Kind {
        name: "locked",
        signs: &[".lock': File exists", "Unable to create", "unable to lock"],
        sentence: "another git process holds a lock in this repository",
        hint: "wait until it ends, then `agent-handover push`; if none is running, remove the lock file that is named",
    },
    Kind {
        name: "name-taken",
        signs: &["; cannot create"],
        sentence: "another branch stands where `{branch}` should be: of `a` and `a/b` there can be only one",
        hint: "name another branch under `[backend]`, or remove the other one",
    },
    Kind {
        name: "checked-out-there",
        signs: &["refusing to update checked out branch", "branch is currently checked out"],
        sentence: "`{branch}` is checked out in the repository behind {remote}",
        hint: "make that repository a bare one, or check out another branch there",
    },
    Kind {
        name: "rejected",
        signs: &[
            "non-fast-forward",
            "fetch first",
            "cannot lock ref",
            "failed to update ref",
            "incorrect old value",
            "stale info",
            "reference already exists",
            "failed to lock",
        ],
        sentence: "`{branch}` on {remote} moved while it was being pushed to, again and again",
        hint: "`agent-handover push` tries again",
    },
    Kind {
        name: "authentication",
        signs: &[
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
        sentence: "{remote} does not let this user in",
        hint: "make `git push` work without a question (a key in the agent, a credential helper), then `agent-handover push`",
    },
    Kind {
        name: "no-remote",
        signs: &[
            "No such remote",
            "does not appear to be a git repository",
            "does not exist",
            "not found",
            "No such file",
        ],
        sentence: "there is no remote `{remote}` here, or no repository behind it",
        hint: "`git remote -v` shows what there is; set `remote` under `[backend]`, or `push = false`",
    },
    Kind {
        name: "unreachable",
        signs: &[
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
        sentence: "{remote} cannot be reached",
        hint: "what was said is safe here; `agent-handover push`, or the next handover, delivers it",
    },
    Kind {
        name: "signing",
        signs: &[
            "gpg failed to sign",
            "failed to sign",
            "cannot run gpg",
            "couldn't get agent socket",
            "Couldn't load public key",
        ],
        sentence: "the commit could not be signed, and `commit.gpgsign` asks for that",
        hint: "make signing work without a question, or set `commit.gpgsign = false` for this repository",
    },
    Kind {
        name: "not-a-repository",
        signs: &["not a git repository"],
        sentence: "this is not a git repository",
        hint: "run `git init`, or set `type = \"null\"` under `[backend]`",
    },
    Kind {
        name: "read-only",
        signs: &["Read-only file system", "insufficient permission for adding", "unable to write", "unable to create"],
        sentence: "git cannot write to this repository",
        hint: "check who owns it and what is mounted read-only, then `agent-handover push`",
    },
];

fn kind(said: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.signs.iter().any(|sign| said.contains(sign)))
}

/// Everything that git and we said, on which the kind is decided.
fn said(error: &Error) -> String {
    format!("{}\n{}", error.message(), error.causes().join("\n"))
}

/// Whether somebody else was faster, so that trying again is all it takes.
pub fn is_rejected(error: &Error) -> bool {
    kind(&said(error)).is_some_and(|kind| kind.name == "rejected")
}

/// Whether the remote did not answer, so that asking again at once is a waste.
pub fn is_dead(error: &Error) -> bool {
    kind(&said(error)).is_some_and(|kind| ["timed-out", "unreachable"].contains(&kind.name))
}

pub fn is_locked(error: &Error) -> bool {
    kind(&said(error)).is_some_and(|kind| kind.name == "locked")
}

/// One sentence with its hint, and git's own words without anything secret.
pub fn explain(error: Error, destination: &Destination) -> Error {
    if !matches!(error.category(), Category::Failed) {
        return error;
    }
    let said = said(&error);
    let Some(kind) = kind(&said) else { return without_secrets(error) };
    let fill = |text: &str| text.replace("{remote}", &destination.remote).replace("{branch}", &destination.branch);
    let mut explained = Error::failed(fill(kind.sentence));
    for cause in error.causes() {
        explained = explained.cause(clean(cause));
    }
    explained.hint(fill(kind.hint))
}

fn without_secrets(error: Error) -> Error {
    let mut cleaned = Error::new(error.category(), clean(error.message()));
    for cause in error.causes() {
        cleaned = cleaned.cause(clean(cause));
    }
    error.hints().iter().fold(cleaned, |cleaned, hint| cleaned.hint(hint.clone()))
}

/// git's words on one line, with credentials in addresses and whatever else looks like a secret taken out.
fn clean(said: &str) -> String {
    let mut text = secrets::clean(said);
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
        Destination { branch: "b".to_owned(), remote: "origin".to_owned(), ..Destination::null() }
    }

    #[test]
    fn every_failure_has_its_own_sentence() {
        for (said, name) in [
            ("fatal: unable to access 'https://x/': Could not resolve host: x", "unreachable"),
            ("fatal: Authentication failed for 'https://x/'", "authentication"),
            ("git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.", "authentication"),
            ("fatal: 'nowhere' does not appear to be a git repository", "no-remote"),
            (" ! [remote rejected] main -> main (pre-receive hook declined)", "hook"),
            (
                "remote: error: GH006: Protected branch update failed\n ! [remote rejected] x (protected branch hook declined)",
                "protected",
            ),
            (" ! [rejected] a -> b (non-fast-forward)", "rejected"),
            (" ! [remote rejected] a -> b (cannot lock ref 'refs/heads/b': is at 1 but expected 2)", "rejected"),
            ("fatal: Unable to create '/x/.git/index.lock': File exists.", "locked"),
            ("error: file write error: No space left on device", "disk-full"),
            ("fatal: not a git repository (or any of the parent directories): .git", "not-a-repository"),
            ("`git` did not answer within 1.0 s", "timed-out"),
            ("cannot start `git`", "no-git"),
            ("error: gpg failed to sign the data", "signing"),
        ] {
            assert_eq!(kind(said).map(|kind| kind.name), Some(name), "{said}");
            let error = explain(Error::failed("`git push` failed").cause(said), &destination());
            assert_eq!(error.hints().len(), 1);
            assert!(!error.message().contains('{'), "{}", error.message());
        }
    }

    #[test]
    fn credentials_in_addresses_are_not_told() {
        let url = format!("https://{}:{}@example.com/x.git", "someone", "hunter22");
        let error = explain(
            Error::failed("`git push` failed").cause(format!("fatal: unable to access '{url}': gone")),
            &destination(),
        );
        let told = format!("{error:?}");
        assert!(!told.contains("hunter22") && !told.contains("someone"), "{told}");
        assert!(told.contains("example.com/x.git"), "{told}");
    }
}
