//! Acknowledged findings: the user has seen what looks like a secret and allows it to be published.
//!
//! An acknowledgement holds for one path, one content and one kind of secret, and ends when any of these changes. The kind
//! counts because a later version may find more in the same file than the user was shown. Acknowledgements are kept in the
//! user's own state, like consent to a config: they are decisions of a person on this machine, which no repository, merge
//! or other machine can make, and they are never published themselves.

use std::path::Path;

use super::consent_store::ConsentStore;
use super::secrets::{self, Leak};
use crate::error::Result;

fn store() -> Result<ConsentStore> {
    ConsentStore::of("acknowledged")
}

/// What must not be published of this file: everything that looks like a secret and was not acknowledged. `path` is relative
/// to `root`.
pub(crate) fn leaks(root: &Path, path: &Path, content: &[u8]) -> Vec<Leak> {
    let leaks = secrets::scan_blob(path, content);
    match store() {
        Ok(store) if !leaks.is_empty() => without_acknowledged(&store, &root.join(path), content, leaks),
        _ => leaks,
    }
}

fn without_acknowledged(store: &ConsentStore, file: &Path, content: &[u8], mut leaks: Vec<Leak>) -> Vec<Leak> {
    let mut known = kinds_of(&leaks);
    known.retain(|kind| store.is_set(file, &[kind.as_bytes(), content]));
    leaks.retain(|leak| !known.contains(&leak.kind));
    leaks
}

/// Acknowledges the kinds of these findings in this content.
pub(crate) fn record(file: &Path, content: &[u8], leaks: &[Leak]) -> Result<()> {
    record_in(&store()?, file, content, leaks)
}

fn record_in(store: &ConsentStore, file: &Path, content: &[u8], leaks: &[Leak]) -> Result<()> {
    kinds_of(leaks).into_iter().try_for_each(|kind| store.set(file, &[kind.as_bytes(), content]))
}

/// Revokes acknowledgements. `false` if there were none.
pub(crate) fn revoke(file: &Path, content: &[u8], leaks: &[Leak]) -> Result<bool> {
    revoke_in(&store()?, file, content, leaks)
}

fn revoke_in(store: &ConsentStore, file: &Path, content: &[u8], leaks: &[Leak]) -> Result<bool> {
    let mut any = false;
    for kind in kinds_of(leaks) {
        any |= store.clear(file, &[kind.as_bytes(), content])?;
    }
    Ok(any)
}

fn kinds_of(leaks: &[Leak]) -> Vec<&'static str> {
    let mut kinds: Vec<&str> = leaks.iter().map(|leak| leak.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &Path, content: &str) -> Vec<Leak> {
        secrets::scan_blob(path, content.as_bytes())
    }

    #[test]
    fn an_acknowledgement_is_of_this_kind_in_this_content_at_this_place() {
        let world = crate::base::scratch::directory();
        let marks = ConsentStore::at(world.path().join("marks"));
        let (file, other) = (world.path().join("a.md"), world.path().join("b.md"));
        let (aws, github) = (["AKIA", "Z5GFH3LQMNOP7RST"].concat(), ["ghp_", "aB3dE5fG7hI9jK1lM3nO"].concat());
        let (one, both) = (format!("{aws}\n{aws}\n"), format!("{aws}\n{github}\n"));
        let left = |file: &Path, content: &str| {
            let left = without_acknowledged(&marks, file, content.as_bytes(), found(file, content));
            left.into_iter().map(|leak| leak.kind).collect::<Vec<_>>()
        };
        assert_eq!(left(&file, &one), ["aws-access-key", "aws-access-key"]);
        record_in(&marks, &file, one.as_bytes(), &found(&file, &one)).unwrap();
        record_in(&marks, &file, one.as_bytes(), &found(&file, &one)).unwrap();
        assert_eq!(left(&file, &one), [""; 0]);
        assert_eq!(left(&other, &one).len(), 2, "a copy elsewhere");
        assert_eq!(left(&file, &format!("{one}more\n")).len(), 2, "changed since");
        assert_eq!(left(&file, &both).len(), 2, "changed since");
        // What was shown of this content is what counts, not what else a later version finds in it.
        record_in(&marks, &file, both.as_bytes(), &found(&file, &both)[..1]).unwrap();
        assert_eq!(left(&file, &both), ["github-token"]);
        assert!(revoke_in(&marks, &file, one.as_bytes(), &found(&file, &one)).unwrap());
        assert!(!revoke_in(&marks, &file, one.as_bytes(), &found(&file, &one)).unwrap());
        assert_eq!(left(&file, &one).len(), 2);
    }

    #[test]
    fn a_mark_tells_nothing_of_the_secret() {
        let world = crate::base::scratch::directory();
        let directory = world.path().join("marks");
        let (file, content) = (world.path().join("a.md"), ["AKIA", "Z5GFH3LQMNOP7RST"].concat());
        record_in(&ConsentStore::at(directory.clone()), &file, content.as_bytes(), &found(&file, &content)).unwrap();
        for entry in std::fs::read_dir(directory).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            assert_eq!(text, format!("{}\n", file.display()));
        }
    }
}
