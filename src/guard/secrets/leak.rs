//! Secrets in files that are about to be published, and the refusal to publish them.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::finding::{Finding, clean, find};
use crate::base::text;
use crate::error::{Category, Error};

/// How many findings one message lists.
pub(super) const MAX_LISTED: usize = 20;

/// Something that looks like a secret in a file that is about to be published. It never holds the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leak {
    pub path: PathBuf,
    /// `None` if it is in the path itself.
    pub line: Option<usize>,
    pub kind: &'static str,
    /// The first bytes of its SHA-256, so that two findings can be told apart.
    pub digest: String,
    name: &'static str,
}

impl Leak {
    /// One line, such as `memory/layer1/x.md:12: AWS access key (sha256 1a2b3c4d)`.
    pub(crate) fn describe(&self) -> String {
        let path = self.shown_path();
        match self.line {
            Some(line) => format!("{path}:{line}: {} (sha256 {})", self.name, self.digest),
            None => format!("{path}: {} in its name (sha256 {})", self.name, self.digest),
        }
    }

    fn shown_path(&self) -> String {
        clean(&text::one_line(&self.path.display().to_string(), 300))
    }
}

/// Scans the content of a file and its path.
pub(crate) fn scan_blob(path: &Path, content: &[u8]) -> Vec<Leak> {
    let leak = |finding: &Finding, line: Option<usize>, bytes: &[u8]| Leak {
        path: path.to_path_buf(),
        line,
        kind: finding.kind,
        digest: text::digest(&bytes[finding.range.clone()], 4),
        name: finding.name,
    };
    let name = path.as_os_str().as_bytes();
    let in_name = find(name).into_iter().map(|finding| leak(&finding, None, name));
    let inside = find(content).into_iter().map(|finding| leak(&finding, Some(finding.line), content));
    in_name.chain(inside).collect()
}

/// The error that refuses to publish these.
pub(crate) fn refuse(leaks: &[Leak]) -> Error {
    let count = match leaks.len() {
        1 => "something that looks like a secret".to_owned(),
        count => format!("{count} things that look like secrets"),
    };
    let error = Error::new(Category::NotGood, format!("{count} would be published"));
    let error = leaks.iter().take(MAX_LISTED).fold(error, |error, leak| error.cause(leak.describe()));
    let error = match leaks.len().checked_sub(MAX_LISTED) {
        None | Some(0) => error,
        Some(more) => error.cause(format!("and {more} more")),
    };
    let mut files: Vec<String> = leaks.iter().map(Leak::shown_path).collect();
    files.dedup();
    let which = match files.as_slice() {
        [only] if leaks.iter().all(|leak| leak.line.is_some()) => only,
        _ => "FILE",
    };
    error.hint(format!("remove it, or, if it is not a secret, `agent-handover allow --secret {which}`; then run again"))
}
