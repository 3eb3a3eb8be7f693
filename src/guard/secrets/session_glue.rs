//! What Session Glue reports about an export, in its own words.

use regex::bytes::RegexBuilder;

/// The name that Session Glue has for a kind of secret, or else the kind.
pub(crate) fn label(kind: &'static str) -> &'static str {
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

/// The first path in a text that names a person's home directory.
pub(crate) fn personal_path(text: &str) -> Option<String> {
    let pattern = r"(?:/(?:Users|home)/[A-Za-z0-9._-]+|/root/[A-Za-z0-9._-]|(?i:[a-z]:\\users\\)[A-Za-z0-9._-]+)";
    let pattern = RegexBuilder::new(pattern).unicode(false).build().ok()?;
    let found = pattern.find(text.as_bytes())?;
    Some(String::from_utf8_lossy(found.as_bytes()).into_owned())
}
