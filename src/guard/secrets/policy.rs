//! What happens to a text that looks like it holds a secret, before that text is recorded.

use super::leak::MAX_LISTED;
use super::{Finding, find, redact};
use crate::error::{Category, Error, Result};

/// What to do with a text in which a secret is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnSecret {
    /// Record nothing, and name what was found.
    Refuse,
    /// Replace each secret by its kind, and say so.
    Redact,
    /// Record the text as it is, and say so.
    Warn,
}

/// What to do with secrets, and which kinds are not treated as secrets this time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy<'a> {
    pub on_secret: OnSecret,
    /// Kinds that the user allowed for this one call.
    pub allowed: &'a [String],
}

impl Policy<'_> {
    /// Applies the policy to named texts. Returns one warning for each secret that was redacted or recorded.
    pub(crate) fn keep_out<'t>(
        &self,
        fields: impl IntoIterator<Item = (&'t str, &'t mut String)>,
    ) -> Result<Vec<String>> {
        let mut told = Vec::new();
        let mut kinds: Vec<&str> = Vec::new();
        for (name, text) in fields {
            let is_allowed = |finding: &Finding| self.allowed.iter().any(|kind| kind == finding.kind);
            let found: Vec<Finding> = find(&*text).into_iter().filter(|finding| !is_allowed(finding)).collect();
            for finding in found.iter().take(MAX_LISTED) {
                told.push(format!("{} in line {} of the {name}", finding.kind, finding.line));
                kinds.push(finding.kind);
            }
            if found.len() > MAX_LISTED {
                told.push(format!("{} more in the {name}", found.len() - MAX_LISTED));
            }
            if self.on_secret == OnSecret::Redact {
                *text = redact(text, &found);
            }
        }
        let what = match self.on_secret {
            OnSecret::Refuse if !kinds.is_empty() => return Err(refused(&told, kinds)),
            OnSecret::Redact => "taken out",
            OnSecret::Refuse | OnSecret::Warn => "recorded",
        };
        Ok(told.iter().map(|told| format!("what looks like a secret was {what}: {told}")).collect())
    }
}

fn refused(told: &[String], mut kinds: Vec<&str>) -> Error {
    kinds.sort_unstable();
    kinds.dedup();
    let flags: Vec<String> = kinds.iter().map(|kind| format!("--allow-secret {kind}")).collect();
    Error::new(Category::NotGood, format!("this looks like a secret: {}", told.join(", ")))
        .hint(format!("take it out and run again, or pass `{}`", flags.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep_out(on_secret: OnSecret, allowed: &[String]) -> (Result<Vec<String>>, String) {
        let mut text = format!("a\nkey {}\n", ["AKIA", "Z5GFH3LQMNOP7RST"].concat());
        let result = Policy { on_secret, allowed }.keep_out([("note", &mut text)]);
        (result, text)
    }

    #[test]
    fn a_secret_is_refused_redacted_or_reported() {
        let (refused, _) = keep_out(OnSecret::Refuse, &[]);
        assert_eq!(refused.unwrap_err().message(), "this looks like a secret: aws-access-key in line 2 of the note");
        let (redacted, text) = keep_out(OnSecret::Redact, &[]);
        assert_eq!(redacted.unwrap(), ["what looks like a secret was taken out: aws-access-key in line 2 of the note"]);
        assert_eq!(text, "a\nkey [redacted:aws-access-key]\n");
        let (warned, text) = keep_out(OnSecret::Warn, &[]);
        assert_eq!(warned.unwrap(), ["what looks like a secret was recorded: aws-access-key in line 2 of the note"]);
        assert!(text.contains("AKIA"));
    }

    #[test]
    fn an_allowed_kind_is_not_a_secret() {
        let (allowed, text) = keep_out(OnSecret::Refuse, &["aws-access-key".to_owned()]);
        assert_eq!(allowed.unwrap(), [""; 0]);
        assert!(text.contains("AKIA"));
    }
}
