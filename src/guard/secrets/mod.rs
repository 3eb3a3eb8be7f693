//! What looks like a credential, found before it is written down or travels. The match itself is never shown.

mod pem;
mod plausibility;
mod policy;
mod rules;
mod scan;

use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use regex::bytes::RegexBuilder;

use crate::base::text;
use crate::error::{Category, Error};
pub use policy::{OnSecret, Policy};
use rules::RULES;

/// How many findings one message names.
const TOLD: usize = 20;

/// Something found, by kind and place only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: &'static str,
    pub line: usize,
    name: &'static str,
    range: Range<usize>,
}

/// Every kind, each once.
pub fn kinds() -> Vec<&'static str> {
    let mut kinds: Vec<&str> = RULES.iter().map(|rule| rule.kind).collect();
    kinds.dedup();
    kinds
}

/// Everything that looks like a secret, in the order of the text and without overlaps.
pub fn find(text: impl AsRef<[u8]>) -> Vec<Finding> {
    let text = text.as_ref();
    let (mut line, mut counted) = (1, 0);
    let place = |found: scan::Match| {
        line += text[counted..found.range.start].iter().filter(|byte| **byte == b'\n').count();
        counted = found.range.start;
        Finding { kind: found.rule.kind, name: found.rule.name, line, range: found.range }
    };
    scan::scan(text).into_iter().map(place).collect()
}

/// The text with each finding replaced by its kind.
pub fn redact(text: &str, findings: &[Finding]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for finding in findings {
        // Half a character is no text.
        let start = (0..=finding.range.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0).max(at);
        clean.push_str(&text[at..start]);
        clean.push_str(&format!("[redacted:{}]", finding.kind));
        at = (finding.range.end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    }
    clean.push_str(&text[at..]);
    clean
}

/// Finds and replaces, for text that nobody asked to be kept as it is.
pub fn clean(text: &str) -> String {
    redact(text, &find(text))
}

/// Something found in a file that is about to travel: where, what, and which, but not the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    pub path: PathBuf,
    /// None if it is the path itself.
    pub line: Option<usize>,
    pub kind: &'static str,
    /// The first bytes of the SHA-256 of what was found, to tell one from another.
    pub digest: String,
    name: &'static str,
}

impl Leak {
    /// As `memory/layer1/x.md:12: AWS access key (sha256 1a2b3c4d)`.
    pub fn describe(&self) -> String {
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

/// Looks through a file's content, whatever it is, and through its name.
pub fn scan_blob(path: &Path, content: &[u8]) -> Vec<Leak> {
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

/// The refusal to let these travel.
pub fn refuse(leaks: &[Leak]) -> Error {
    let count = match leaks.len() {
        1 => "something that looks like a secret".to_owned(),
        count => format!("{count} things that look like secrets"),
    };
    let error = Error::new(Category::NotGood, format!("{count} would be published"));
    let error = leaks.iter().take(TOLD).fold(error, |error, leak| error.cause(leak.describe()));
    let error = match leaks.len().checked_sub(TOLD) {
        None | Some(0) => error,
        Some(more) => error.cause(format!("and {more} more")),
    };
    let mut files: Vec<String> = leaks.iter().map(Leak::shown_path).collect();
    files.dedup();
    let which = match files.as_slice() {
        [only] if leaks.iter().all(|leak| leak.line.is_some()) => only,
        _ => "FILE",
    };
    error.hint(format!("take it out, or, if it is none, `agent-handover allow --secret {which}`; then run again"))
}

/// The name that Session Glue has for a kind, where it has one.
pub fn label(kind: &'static str) -> &'static str {
    match kind {
        "openai-key" | "anthropic-key" => "OpenAI-style key (sk-)",
        "github-token" => "GitHub token (ghp_/gho_)",
        "aws-access-key" => "AWS access key id (AKIA)",
        "private-key" => "private key block",
        "jwt" => "JWT (eyJ)",
        "slack-token" => "Slack token (xoxb-/xoxp-)",
        other => other,
    }
}

/// The first path in a text that names a person's home.
pub fn personal_path(text: &str) -> Option<String> {
    let pattern = r"(?:/(?:Users|home)/[A-Za-z0-9._-]+|/root/[A-Za-z0-9._-]|(?i:[a-z]:\\users\\)[A-Za-z0-9._-]+)";
    let pattern = RegexBuilder::new(pattern).unicode(false).build().ok()?;
    let found = pattern.find(text.as_bytes())?;
    Some(String::from_utf8_lossy(found.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
