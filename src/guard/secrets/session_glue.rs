//! The leak scan of Session Glue: its names for kinds of secrets, its own patterns, and paths that name a person.
//!
//! The scan only warns. Its patterns match more than [`super::find`], which judges how plausible a secret is.

use regex::bytes::{Regex, RegexBuilder};

use super::find;

/// How many paths a warning names at most.
const MAX_PATHS: usize = 10;

/// The patterns of Session Glue, with its names for them.
const PATTERNS: &[(&str, &str)] = &[
    (r"(?:^|[^A-Za-z0-9])sk-[A-Za-z0-9_-]{16}", "OpenAI-style key (sk-)"),
    (r"\bgh[po]_[A-Za-z0-9]{16}", "GitHub token (ghp_/gho_)"),
    (r"\bAKIA[0-9A-Z]{16}\b", "AWS access key id (AKIA)"),
    (r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY", "private key block"),
    (r"\beyJ[A-Za-z0-9_-]{10}", "JWT (eyJ)"),
    (r"\bxox[bp]-[A-Za-z0-9-]{10}", "Slack token (xoxb-/xoxp-)"),
];

const PERSONAL_PATH: &str =
    r"(?:/(?:Users|home)/[A-Za-z0-9._-]+/?|/root/[A-Za-z0-9._-]|(?i:[a-z]:\\users\\)[A-Za-z0-9._-]+\\?)";

/// The kinds of secrets that a text seems to hold, by Session Glue's names where it has one. Sorted, each once.
pub(crate) fn leaked_kinds(text: &str) -> Vec<&'static str> {
    let ours = find(text).into_iter().map(|finding| label(finding.kind));
    let theirs =
        PATTERNS.iter().filter(|(pattern, _)| regex(pattern).is_some_and(|regex| regex.is_match(text.as_bytes())));
    let mut kinds: Vec<&'static str> = ours.chain(theirs.map(|(_, name)| *name)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Paths in a text that name a person's home directory, each once.
pub(crate) fn personal_paths(text: &str) -> Vec<String> {
    let Some(pattern) = regex(PERSONAL_PATH) else { return Vec::new() };
    let mut paths: Vec<String> = Vec::new();
    for found in pattern.find_iter(text.as_bytes()) {
        let path = String::from_utf8_lossy(found.as_bytes()).into_owned();
        if !paths.contains(&path) {
            paths.push(path);
        }
        if paths.len() == MAX_PATHS {
            break;
        }
    }
    paths
}

/// Session Glue's name of a kind of secret.
fn label(kind: &'static str) -> &'static str {
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

fn regex(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_token_is_reported_by_its_kind() {
        let token = format!("token: ghp_{}", "x".repeat(36));
        assert_eq!(leaked_kinds(&token), ["GitHub token (ghp_/gho_)"]);
        assert_eq!(leaked_kinds("-----BEGIN RSA PRIVATE KEY-----"), ["private key block"]);
        assert_eq!(leaked_kinds("this is a task-force-synchronisation-meeting"), [""; 0]);
    }

    #[test]
    fn each_home_directory_is_named_once() {
        let text = "/home/bob/x.py, /Users/carol/y.py, /home/bob/z.py, /path/to/project";
        assert_eq!(personal_paths(text), ["/home/bob/", "/Users/carol/"]);
    }
}
