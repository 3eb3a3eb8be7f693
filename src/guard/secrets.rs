//! What looks like a credential, found before it is written down. The match itself is never shown.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};

/// One kind of secret. A line of data, with an example that must be found and one that must not.
pub struct Detector {
    pub kind: &'static str,
    /// Text that is in every match, whatever its case: where it is missing, the pattern need not be tried.
    keywords: &'static [&'static str],
    /// The secret is the first group, or the whole match if there is none.
    pattern: &'static str,
    /// Bits per character below which it is a word, not a secret.
    entropy: f64,
    /// In pieces, so that this file does not look like a leak itself.
    pub hit: &'static [&'static str],
    pub miss: &'static str,
}

#[rustfmt::skip]
pub const DETECTORS: &[Detector] = &[
    Detector { kind: "private-key", keywords: &["private key"], entropy: 0.0,
        // The first or the last line; `armor` finds the rest.
        pattern: r"-----(?:BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        hit: &["-----BEGIN RSA ", "PRIVATE KEY-----\nMIIEow\n-----END RSA ", "PRIVATE KEY-----"], miss: "-----BEGIN PUBLIC KEY-----" },
    Detector { kind: "aws-access-key", keywords: &["akia", "asia", "abia", "acca"], entropy: 2.5,
        pattern: r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
        hit: &["AKIA", "Z5GFH3LQMNOP7RST"], miss: "AKIAAAAAAAAAAAAAAAAA and ASIAN" },
    Detector { kind: "github-token", keywords: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"], entropy: 3.0,
        pattern: r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{22,})",
        hit: &["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"], miss: "the ghp_ prefix, ghp_xxxxxxxxxxxxxxxxxxxxxxxx" },
    Detector { kind: "gitlab-token", keywords: &["glpat-", "gldt-", "glrt-", "glsoat-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-"], entropy: 3.0,
        pattern: r"\bgl(?:pat|dt|rt|soat|cbt|ptt|ft|imt|agent)-[A-Za-z0-9_-]{20,}",
        hit: &["glpat-", "x9Kq2Lm4Np6Rs8Tv1Wy3"], miss: "glpat-<your-token-goes-in-here>" },
    Detector { kind: "anthropic-key", keywords: &["sk-ant-"], entropy: 3.0,
        pattern: r"\bsk-ant-[A-Za-z0-9_-]{20,}",
        hit: &["sk-ant-", "api03-Xk29fLq81mZp0Rt5Vw7YbC3d"], miss: "sk-ant-..., as the documentation says" },
    Detector { kind: "openai-key", keywords: &["sk-"], entropy: 3.5,
        pattern: r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]{16,}",
        hit: &["sk-", "proj-4Xk29fLq81mZp0Rt5Vw7YbC3dE6"], miss: "sk-learn-contrib-estimators-and-pipelines" },
    Detector { kind: "google-api-key", keywords: &["aiza"], entropy: 3.0,
        pattern: r"\bAIza[A-Za-z0-9_-]{35}",
        hit: &["AIza", "SyB1c2D3e4F5g6H7i8J9k0L1m2N3o4P5q6R"], miss: "AIzawa is a town" },
    Detector { kind: "slack-token", keywords: &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "hooks.slack.com/services/"], entropy: 2.5,
        pattern: r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,}",
        hit: &["xoxb-", "123456789012-abcdefGHIJKL"], miss: "xoxo-hugs, she wrote" },
    Detector { kind: "stripe-key", keywords: &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], entropy: 3.0,
        pattern: r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
        hit: &["sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"], miss: "sk_test_mode = true" },
    Detector { kind: "npm-token", keywords: &["npm_"], entropy: 3.0,
        pattern: r"\bnpm_[A-Za-z0-9]{36}\b",
        hit: &["npm_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"], miss: "npm_config_registry and npm_lifecycle_event" },
    Detector { kind: "pypi-token", keywords: &["pypi-age"], entropy: 3.0,
        pattern: r"\bpypi-AgE[A-Za-z0-9_-]{50,}",
        hit: &["pypi-AgEIcHlwaS5vcmcCJ", "DdjNzk4MDM0LTVhNzItNDFkZC1hYjE0LTVkYmI1ZmE3"], miss: "pypi-agenda" },
    Detector { kind: "huggingface-token", keywords: &["hf_"], entropy: 3.0,
        pattern: r"\bhf_[A-Za-z0-9]{30,}",
        hit: &["hf_", "aBcDeFgHiJkLmNoPqRsTuVwXyZ12345678"], miss: "hf_hub_download(repo_id)" },
    Detector { kind: "jwt", keywords: &["eyj"], entropy: 3.0,
        pattern: r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        hit: &["eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0", ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"], miss: "a token starts with eyJ, as eyJhbGciOiJIUzI1NiJ9 does" },
    Detector { kind: "password-in-url", keywords: &["://"], entropy: 1.5,
        pattern: r"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@]{0,100}:([^\s:/@${}<>*\[\]]{3,200})@[A-Za-z0-9\[]",
        hit: &["postgres://app:", "s3cr3tPa55@db.internal/app"], miss: "postgres://app:${PASSWORD}@db, http://[::1]:80/@x, ssh://git@host:22/a@b" },
    Detector { kind: "authorization", keywords: &["authorization", "bearer", "x-api-key"], entropy: 3.0,
        pattern: r#"(?i)(?:\b(?:authorization|x-api-key)["']?\s{0,3}[:=]\s{0,3}["']?(?:(?:bearer|basic|token)\s{1,3})?|\bbearer\s{1,3})([A-Za-z0-9._~+/-]{16,}={0,2})"#,
        hit: &["Authorization: Bearer ", "q8Zt4Lw1Nx7Ry2Vb5Kp9Md3"], miss: "Authorization: Bearer <token>; the bearer of good news" },
];

/// Something found, by kind and place only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: &'static str,
    pub line: usize,
    range: Range<usize>,
}

/// Everything that looks like a secret, in the order of the text and without overlaps.
pub fn find(text: &str) -> Vec<Finding> {
    let mut found: Vec<(Range<usize>, &'static str)> = Vec::new();
    for detector in candidates(text) {
        let Some(pattern) = compile(detector) else { continue };
        for captures in pattern.captures_iter(text.as_bytes()) {
            let Some(secret) = captures.get(1).or_else(|| captures.get(0)) else { continue };
            if detector.kind == "private-key" {
                let known = found.last().map_or(0, |(range, _)| range.end);
                if secret.end() > known {
                    found.push((armor(text, secret.range(), known), detector.kind));
                }
            } else if entropy(secret.as_bytes()) >= detector.entropy {
                found.push((secret.range(), detector.kind));
            }
        }
    }
    // Where two patterns meet, the one that begins first and reaches further names it.
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let (mut end, mut line, mut counted) = (0, 1, 0);
    let mut findings = Vec::new();
    for (range, kind) in found {
        if range.start >= end {
            line += text.as_bytes()[counted..range.start].iter().filter(|byte| **byte == b'\n').count();
            counted = range.start;
            end = range.end;
            findings.push(Finding { kind, line, range });
        }
    }
    findings
}

/// A key from its first line to its last; of one that was cut off, the lines that look like its inside, forwards or
/// backwards, but not into what is `known` already.
fn armor(text: &str, marker: Range<usize>, known: usize) -> Range<usize> {
    let is_inside = |line: &str| {
        let line = line.trim().trim_start_matches(['>', '#', '|', '"', '\'', '+']).trim();
        let is_header = line
            .split_once(": ")
            .is_some_and(|(name, _)| matches!(name, "Proc-Type" | "DEK-Info" | "Version" | "Comment" | "Hash"));
        is_header
            || line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte)) && !line.contains(' ')
    };
    if text[marker.clone()].starts_with("-----BEGIN") {
        let mut end = marker.end;
        for line in text[marker.end..].split_inclusive('\n') {
            if line.contains("-----END ") {
                let close = line.rfind("-----").map_or(line.len(), |at| at + 5);
                return marker.start..end + close;
            }
            // What follows on the line of the marker belongs to it.
            if !is_inside(line) {
                break;
            }
            end += line.len();
        }
        return marker.start..end;
    }
    let mut start = marker.start;
    for line in text[known..marker.start].split_inclusive('\n').rev() {
        if !is_inside(line) {
            break;
        }
        start -= line.len();
    }
    start..marker.end
}

/// The text with each finding replaced by its kind.
pub fn redact(text: &str, findings: &[Finding]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for finding in findings {
        clean.push_str(&text[at..finding.range.start]);
        clean.push_str(&format!("[redacted:{}]", finding.kind));
        at = finding.range.end;
    }
    clean.push_str(&text[at..]);
    clean
}

/// Finds and replaces, for text that nobody asked to be kept as it is.
pub fn clean(text: &str) -> String {
    redact(text, &find(text))
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

/// One pass over the text says which patterns are worth the price of compiling.
fn candidates(text: &str) -> Vec<&'static Detector> {
    let keywords: Vec<(usize, &str)> = DETECTORS
        .iter()
        .enumerate()
        .flat_map(|(number, detector)| detector.keywords.iter().map(move |keyword| (number, *keyword)))
        .collect();
    let words = keywords.iter().map(|(_, keyword)| keyword);
    let Ok(search) = AhoCorasick::builder().ascii_case_insensitive(true).build(words) else {
        return DETECTORS.iter().collect();
    };
    let hits: BTreeSet<usize> =
        search.find_overlapping_iter(text).map(|hit| keywords[hit.pattern().as_usize()].0).collect();
    hits.into_iter().map(|number| &DETECTORS[number]).collect()
}

fn compile(detector: &Detector) -> Option<Regex> {
    RegexBuilder::new(detector.pattern).unicode(false).size_limit(50 << 20).build().ok()
}

/// Shannon's, in bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let length = bytes.len().max(1) as f64;
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length).map(|p| -p * p.log2()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_detector_finds_its_example_and_leaves_the_other_alone() {
        for detector in DETECTORS {
            assert!(compile(detector).is_some(), "{}", detector.kind);
            let hit = detector.hit.concat();
            let text = format!("before\nit is {hit} there\nafter");
            let findings = find(&text);
            let kinds: Vec<&str> = findings.iter().map(|finding| finding.kind).collect();
            assert_eq!(kinds, [detector.kind], "{hit}");
            assert_eq!(findings[0].line, 2);
            let clean = redact(&text, &findings);
            assert!(clean.contains(&format!("[redacted:{}]", detector.kind)), "{clean}");
            assert_eq!(find(&clean), [], "{clean}");
            assert_eq!(find(detector.miss), [], "{}", detector.miss);
        }
    }

    #[test]
    fn a_key_is_found_whole_however_it_was_cut() {
        let line = "MIIEowIBAAKCAQEAsecretsecretsecretsecretsecretsecret\n";
        let (begin, end) =
            (["-----BEGIN RSA ", "PRIVATE KEY-----\n"].concat(), ["-----END RSA ", "PRIVATE KEY-----\n"].concat());
        for (text, kept) in [
            (format!("a b\n{begin}{}{end}c d\n", line.repeat(2_000)), "a b\n[redacted:private-key]\nc d\n"),
            (format!("a b\n{begin}{}", line.repeat(20)), "a b\n[redacted:private-key]"),
            (format!("{}{end}c d\n", line.repeat(20)), "[redacted:private-key]\nc d\n"),
            (format!("a b\n{begin}{line}some words after it\n"), "a b\n[redacted:private-key]some words after it\n"),
            (format!("{begin}{line}{end}{begin}{line}{end}"), "[redacted:private-key]\n[redacted:private-key]\n"),
        ] {
            assert_eq!(clean(&text), kept);
        }
    }

    #[test]
    fn a_token_of_any_length_is_taken_out_whole() {
        let token = "q8Zt4Lw1Nx7Ry2Vb5Kp9Md3".repeat(100);
        assert_eq!(
            clean(&format!("Authorization: Bearer {token} x")),
            "Authorization: Bearer [redacted:authorization] x"
        );
        assert_eq!(clean(&format!("glpat-{token} x")), "[redacted:gitlab-token] x");
    }

    /// Counted, not timed: a scan that looks back for each finding would not end within anybody's patience.
    #[test]
    fn many_findings_are_found_in_one_go() {
        let url = ["postgres://app:", "s3cr3tPa55@db.internal/app\n"].concat();
        assert_eq!(find(&url.repeat(50_000)).len(), 50_000);
        let begin = ["-----BEGIN ", "PRIVATE KEY-----\n"].concat();
        let findings = find(&begin.repeat(20_000));
        assert_eq!((findings[0].line, findings.len()), (1, 20_000));
    }

    #[test]
    fn a_keyword_is_part_of_every_pattern_it_guards() {
        for detector in DETECTORS {
            let hit = detector.hit.concat().to_lowercase();
            assert!(detector.keywords.iter().any(|keyword| hit.contains(keyword)), "{}", detector.kind);
            assert!(detector.keywords.iter().all(|keyword| *keyword == keyword.to_lowercase()));
        }
    }

    #[test]
    fn ids_hashes_and_ordinary_text_are_no_secrets() {
        let text = "commit 3a15bbb0c1d2e3f405162738495a6b7c8d9e0f10\n\
            uuid 123e4567-e89b-12d3-a456-426614174000 run 01M7FAKZG8DE3B4WZZ6KYE37BB\n\
            sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n\
            integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\n\
            https://example.com/a:b/c@d see user@host:path and task-list-with-many-words-in-it\n";
        assert_eq!(find(text), []);
    }

    proptest! {
        #[test]
        fn any_text_is_scanned_and_cleaned_without_a_panic(text in any::<String>(), pick in 0..DETECTORS.len()) {
            clean(&text);
            let hit = DETECTORS[pick].hit.concat();
            let clean = clean(&format!("{text} {hit} {text}"));
            prop_assert!(!clean.contains(&hit));
        }
    }
}
