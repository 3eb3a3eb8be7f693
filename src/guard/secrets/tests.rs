use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::rules::{RULES, Start};
use super::*;
use crate::base::text;
use crate::error::Category;

/// Every example of every rule, with its rule.
fn examples() -> Vec<(&'static rules::Rule, String)> {
    RULES.iter().flat_map(|rule| rule.hits.iter().map(move |pieces| (rule, pieces.concat()))).collect()
}

#[test]
fn every_rule_finds_its_examples_and_leaves_the_others_alone() {
    let mut wrong = Vec::new();
    for rule in RULES {
        assert!(scan::compile(rule).is_some(), "{}", rule.pattern);
        assert!(!rule.hits.is_empty() && !rule.misses.is_empty(), "{}", rule.kind);
        let alarms = rule.misses.iter().filter(|miss| !find(miss).is_empty());
        wrong.extend(alarms.map(|miss| format!("{}: found in {miss}", rule.kind)));
    }
    for (rule, hit) in examples() {
        for (before, after) in [("it is ", " there"), ("", ""), ("`", "`,"), ("- ", "\nx"), ("see (", ")")] {
            let text = format!("before\n{before}{hit}{after}\nafter");
            let findings = find(&text);
            let found: Vec<(&str, usize)> = findings.iter().map(|finding| (finding.kind, finding.line)).collect();
            let clean = redact(&text, &findings);
            if found != [(rule.kind, 2)] || !find(&clean).is_empty() {
                wrong.push(format!("{}: {found:?} in {text}, {clean}", rule.kind));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_was_found_is_taken_out_to_its_last_character() {
    let mut wrong = Vec::new();
    for (rule, hit) in examples().into_iter().filter(|(rule, _)| rule.kind != "private-key") {
        // What follows the secret in some examples is no part of it.
        let end = find(&hit).first().map_or(0, |finding| finding.range.end);
        let longer = format!("{}q8Zt4Lw1_-after", &hit[..end]);
        let clean = clean(&longer);
        if clean != longer && clean.contains("after") {
            wrong.push(format!("{}: {clean}", rule.kind));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn kinds_are_named_once_and_in_small_letters() {
    let kinds = kinds();
    let unique: std::collections::BTreeSet<&str> = kinds.iter().copied().collect();
    assert_eq!(kinds.len(), unique.len());
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(kinds.iter().all(|kind| kind.chars().all(plain)));
    assert!(RULES.iter().all(|rule| !matches!(rule.start, Start::Before(0))));
    // They are looked for by their first two bytes.
    assert!(RULES.iter().flat_map(|rule| rule.keywords).all(|keyword| keyword.len() >= 2));
}

#[test]
fn what_session_glue_finds_and_what_it_misses_is_found() {
    let body = ["aB3dE5fG7hI9jK1l", "M3nO5pQ7rS9tU1vW3xY5"];
    for (pieces, kind) in [
        (vec!["sk-", body[0]], "openai-key"),
        (vec!["ghp_", body[0]], "github-token"),
        (vec!["gho_", body[0]], "github-token"),
        (vec!["ghs_", body[0], body[1]], "github-token"),
        (vec!["github_pat_", body[0], body[1]], "github-token"),
        (vec!["AKIA", "Z5GFH3LQMNOP7RST"], "aws-access-key"),
        (vec!["ASIA", "Z5GFH3LQMNOP7RST"], "aws-access-key"),
        (vec!["AIza", "Sy", body[0], body[1], "abcdefghijklmnopqrs"], "google-api-key"),
        (vec!["glpat-", body[1]], "gitlab-token"),
        (vec!["npm_", body[0], body[1]], "npm-token"),
        (vec!["hf_", body[0], body[1]], "huggingface-token"),
        (vec!["sk_live_", body[0]], "stripe-key"),
        (vec!["xoxb-", "1234567890-", body[0]], "slack-token"),
        (vec!["xoxa-", "1234567890-", body[0]], "slack-token"),
        (vec!["password=", "x7!kQ92mWz"], "secret-assignment"),
        (vec!["postgres://u:", "p4ss@h"], "password-in-url"),
        (vec!["Bearer ", body[0], body[1]], "authorization"),
    ] {
        let text = format!("x {} y", pieces.concat());
        let kinds: Vec<&str> = find(&text).iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [kind], "{text}");
    }
    for path in ["/root/x", "c:\\users\\me", "see /home/me", "/Users/me/src"] {
        assert_eq!(personal_paths(path).len(), 1, "{path}");
    }
}

#[test]
fn a_secret_is_found_in_quoted_and_encoded_text_and_among_bytes_that_are_no_text() {
    let token = ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    for (before, after) in
        [("\\n", "\\nx"), ("%3D", "%26"), ("{\\\"a\\\":\\\"", "\\\"}"), ("\u{e4}", "\u{e4}"), ("=", "&")]
    {
        let text = format!("{before}{token}{after}");
        assert_eq!(clean(&text), format!("{before}[redacted:github-token]{after}"));
    }
    let mut bytes = vec![0xff, 0xfe, b'\n', 0x00];
    bytes.extend_from_slice(token.as_bytes());
    bytes.extend_from_slice(&[0x80, b'\n', 0xc3]);
    assert_eq!(
        find(&bytes).iter().map(|finding| (finding.kind, finding.line)).collect::<Vec<_>>(),
        [("github-token", 2)]
    );
}

#[test]
fn where_findings_meet_nothing_of_either_is_left() {
    let token = ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    for text in [
        format!("GITHUB_TOKEN={token}"),
        format!("Authorization: token {token}"),
        format!("https://x:{token}@github.com/a/b"),
        format!("\"token\": \"{token}\""),
    ] {
        let clean = clean(&text);
        assert!(clean.contains("[redacted:github-token]") && !clean.contains("xY5"), "{clean}");
        assert_eq!(clean.matches("redacted").count(), 1, "{clean}");
    }
    let both = format!("password: {token}+and!more9Of8It7 x");
    assert_eq!(clean(&both).matches("redacted").count(), 1);
    assert!(!clean(&both).contains("8It7"), "{}", clean(&both));
}

#[test]
fn a_key_is_found_whole_however_it_was_cut() {
    let line = "MIIEowIBAAKCAQEAsecretsecretsecretsecretsecretsecret\n";
    let (begin, end) =
        (["-----BEGIN RSA ", "PRIVATE KEY-----\n"].concat(), ["-----END RSA ", "PRIVATE KEY-----\n"].concat());
    let quoted = |text: &str| text.replace('\n', "\\n");
    for (text, kept) in [
        (format!("a b\n{begin}{}{end}c d\n", line.repeat(1_000)), "a b\n[redacted:private-key]\nc d\n"),
        (format!("a b\n{begin}{}", line.repeat(20)), "a b\n[redacted:private-key]"),
        (format!("{}{end}c d\n", line.repeat(20)), "[redacted:private-key]\nc d\n"),
        (format!("a b\n{begin}{line}some words after it\n"), "a b\n[redacted:private-key] words after it\n"),
        (format!("{begin}{line}{end}{begin}{line}{end}"), "[redacted:private-key]\n[redacted:private-key]\n"),
        (
            format!("\"k\": \"{}\", x", quoted(&format!("{begin}{line}{end}"))),
            "\"k\": \"[redacted:private-key]\\n\", x",
        ),
        (format!("\"k\": \"{}\", x", quoted(&format!("{begin}{line}"))), "\"k\": \"[redacted:private-key]\", x"),
        (format!("> {begin}> {line}> {line}> {end}"), "> [redacted:private-key]\n"),
        (format!("/// {begin}/// {line}/// Qm==\n/// {end}"), "/// [redacted:private-key]\n"),
        (format!(" 1 | {begin} 2 | {line} 3 | Qm==\n 4 | {end}"), " 1 | [redacted:private-key]\n"),
        (format!("[x] {begin}[x] {line}[x] {line}a b"), "[x] [redacted:private-key] b"),
    ] {
        assert_eq!(clean(&text), kept);
    }
}

#[test]
fn a_token_of_any_length_is_taken_out_whole() {
    let body = "q8Zt4Lw1Nx7Ry2Vb5Kp9Md3".repeat(10_000);
    assert_eq!(clean(&format!("Authorization: Bearer {body} x")), "Authorization: Bearer [redacted:authorization] x");
    assert_eq!(clean(&format!("glpat-{body} x")), "[redacted:gitlab-token] x");
    let mixed = "q8Zt4Lw1+Nx7Ry2/Vb5Kp9=Md3.".repeat(100);
    assert_eq!(clean(&format!("API_SECRET={mixed} x")), "API_SECRET=[redacted:secret-assignment] x");
    assert_eq!(clean(&format!("API_SECRET=\"{mixed}\" x")), "API_SECRET=\"[redacted:secret-assignment]\" x");
}

/// Counted, not timed: a scan that looks back or ahead for each finding would not end within anybody's patience.
#[test]
fn hostile_text_is_looked_through_in_one_go() {
    let url = ["postgres://app:", "s3cr3tPa55@db.internal/app\n"].concat();
    assert_eq!(find(url.repeat(5_000)).len(), 5_000);
    let begin = ["-----BEGIN ", "PRIVATE KEY-----\n"].concat();
    let findings = find(begin.repeat(5_000));
    assert_eq!((findings[0].line, findings.len()), (1, 5_000));
    for piece in [
        "sk-",
        "-eyJaaaaaaaaaaaa.",
        "://:",
        "password=",
        "-----BEGIN ",
        "Q~",
        ";password=",
        "/SK",
        "_authToken=",
        ":AA",
        "x\n",
    ] {
        find(piece.repeat((1 << 18) / piece.len()));
    }
}

#[test]
fn every_spelling_of_a_keyword_leads_to_its_rule() {
    for name in [
        "db_password = ",
        "DB_PASSWORD=",
        "dbPassword: ",
        "Password: ",
        "\"api-key\": ",
        "API_KEY=",
        "apiKey => ",
        "AWS_SECURITY_TOKEN=",
        "profileToken: ",
    ] {
        let text = format!("{name}x7!kQ92mWz5pT3vR8");
        assert_eq!(find(&text).len(), 1, "{text}");
    }
    for name in ["passwordHash = ", "TOKEN_ID=", "secretname: ", "api-key-path: ", "public_token=", "csrfToken: "] {
        let text = format!("{name}x7!kQ92mWz5pT3vR8");
        assert_eq!(find(&text), [], "{text}");
    }
}

/// The same numbers every time.
struct Hat(u64);

impl Hat {
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..length).map(|_| char::from(alphabet[self.draw() as usize % alphabet.len()])).collect()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.draw() as usize % from.len()]
    }
}

const HEX: &str = "0123456789abcdef";
const CROCKFORD: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A line as it stands in notes, logs, lock files and code, with something random in it.
fn harmless(hat: &mut Hat) -> String {
    let base64 = format!("{ALPHANUMERIC}+/");
    let base64url = format!("{ALPHANUMERIC}-_");
    let word =
        hat.pick(&["parser", "lexer", "store", "token", "queue", "secret", "password", "api", "session"]).to_owned();
    let other = hat
        .pick(&["Vec<u8>", "String", "None", "get(1)", "&self.key", "u64", "true", "\"\"", "env::var(\"X\")", "0"])
        .to_owned();
    let number = hat.draw() % 100_000;
    let mut hex = |length| hat.text(HEX, length);
    match number % 22 {
        0 => format!("commit {}", hex(40)),
        1 => format!("{} fix the {word} cache", hex(7)),
        2 => format!("sha256:{}", hex(64)),
        3 => format!("checksum = \"{}\"", hex(64)),
        4 => format!("run {}-{}-4{}-a{}-{} of the {word}", hex(8), hex(4), hex(3), hex(3), hex(12)),
        5 => format!("<!-- note run=01{} step=note -->", hat.text(CROCKFORD, 24)),
        6 => format!("\"integrity\": \"sha512-{}==\"", hat.text(&base64, 86)),
        7 => format!("github.com/{word}/{word}-tokens v1.{number}.0 h1:{}=", hat.text(&base64, 43)),
        8 => format!("    {{file = \"{word}_auth_token-1.0.{number}.tar.gz\", hash = \"sha256:{}\"}},", hex(64)),
        9 => format!("  resolved \"https://registry.yarnpkg.com/js-tokens/-/js-tokens-4.0.0.tgz#{}\"", hex(40)),
        10 => format!("![x](data:image/png;base64,{}=)", hat.text(&base64, 400)),
        11 => hat.text(&base64, 76),
        12 => hat.text(&base64url, 64),
        13 => format!("let {word}_{number} = {other};"),
        14 => format!("    {word}: {other}, // see {word}_{number}"),
        15 => format!("fn {word}_key(&self, {word}: {other}) -> Result<{word}::Key{number}> {{"),
        16 => format!("{word} = self.{word}_provider.get_{word}_v{}({number})", number % 9),
        17 => format!("Etag: W/\"{}\"; id={}", hex(32), hat.text(ALPHANUMERIC, 22)),
        18 => format!("image: registry.example/{word}@sha256:{}", hex(64)),
        19 => format!("trace_id={} span_id={} max_tokens={number}", hex(32), hex(16)),
        20 => format!("https://example.org/{word}?page={number}&ref={}#{}", hex(12), hat.text(ALPHANUMERIC, 21)),
        _ => format!("{word}: {} tokens, {number} ms, id {}", number % 977, hat.text(&base64url, 21)),
    }
}

#[test]
fn ten_thousand_ids_hashes_blobs_and_lines_of_code_raise_no_alarm() {
    let mut hat = Hat(0x9e37_79b9_7f4a_7c15);
    for _ in 0..10_000 {
        let line = harmless(&mut hat);
        let found = find(&line);
        assert!(found.is_empty(), "{line}: {found:?}");
    }
}

#[test]
fn the_sources_of_this_program_and_its_lock_file_raise_no_alarm() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = ["Cargo.lock", "README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let mut files = names.map(|name| root.join(name)).to_vec();
    let mut directories = ["src", "tests", "benches", "examples", "docs"].map(|name| root.join(name)).to_vec();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    // The page shows what is refused, and the fuzzer begins with texts that are.
    let shows_secrets =
        |file: &PathBuf| file.ends_with("docs/secrets.md") || file.starts_with(root.join("tests/data/fuzz/secrets"));
    files.retain(|file| !shows_secrets(file));
    assert!(files.len() > 60);
    let leaks: Vec<String> = files
        .iter()
        .flat_map(|file| scan_blob(file, &std::fs::read(file).unwrap()))
        .map(|leak| leak.describe())
        .collect();
    assert_eq!(leaks, [""; 0]);
}

#[test]
fn a_leak_names_file_line_kind_and_digest_and_never_the_text() {
    let token = ["AKIA", "Z5GFH3LQMNOP7RST"].concat();
    let leaks = scan_blob(Path::new("memory/layer1/x.md"), format!("a\nb\nkey {token}\n").as_bytes());
    let digest = text::digest(token.as_bytes(), 4);
    assert_eq!(leaks[0].describe(), format!("memory/layer1/x.md:3: AWS access key (sha256 {digest})"));
    let error = refuse(&leaks);
    assert_eq!(error.category(), Category::NotGood);
    assert_eq!(error.causes(), [leaks[0].describe()]);
    assert!(error.hints()[0].contains("`agent-handover allow --secret memory/layer1/x.md`"), "{:?}", error.hints());
    let many = refuse(&vec![leaks[0].clone(); 25]);
    assert_eq!((many.causes().len(), many.causes()[20].as_str()), (21, "and 5 more"));
    assert!(!format!("{error} {many}").contains(&token));
}

#[test]
fn a_secret_in_the_name_of_a_file_is_found_and_not_shown_either() {
    let token = ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    let path = PathBuf::from(format!("memory/{token}.md"));
    let leaks = scan_blob(&path, b"nothing\n");
    let digest = text::digest(token.as_bytes(), 4);
    assert_eq!(
        leaks[0].describe(),
        format!("memory/[redacted:github-token].md: GitHub token in its name (sha256 {digest})")
    );
    let error = refuse(&scan_blob(&path, token.as_bytes()));
    assert!(!format!("{error} {:?}", error.hints()).contains(&token), "{error}");
}

/// Random texts made from the patterns: one without a keyword in it would never be looked at. A few are taken for words.
#[test]
fn whatever_a_pattern_matches_has_one_of_its_keywords_in_it_and_is_found() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for rule in RULES.iter().filter(|rule| !rule.pattern.contains("(?i)")) {
        let pattern = rule.pattern.replace(r"\b", "");
        let matching = proptest::string::bytes_regex(&format!("(?s-u:{pattern})")).unwrap();
        let mut found = 0;
        for _ in 0..16 {
            let text = matching.new_tree(&mut runner).unwrap().current();
            let has = |keyword: &&str| text.windows(keyword.len()).any(|window| window == keyword.as_bytes());
            assert!(rule.keywords.iter().any(has), "{}: {}", rule.kind, String::from_utf8_lossy(&text));
            found += usize::from(find(&text).iter().any(|finding| finding.kind == rule.kind));
        }
        // A login in base64 and a bare marker need more than their shape; a password with a bracket may be an example; what is half dashes looks like words with dashes.
        let needs_more =
            matches!(rule.kind, "docker-auth" | "private-key" | "openai-key" | "password-in-url" | "secret-assignment");
        assert!(needs_more || found >= 13, "{}: only {found} of 16", rule.kind);
    }
}

proptest! {
    #[test]
    fn any_text_is_scanned_and_cleaned_without_a_panic(text in any::<String>(), pick in any::<prop::sample::Index>()) {
        clean(&text);
        let (_, hit) = pick.get(&examples()).clone();
        let clean = clean(&format!("{text} {hit} {text}"));
        prop_assert!(!clean.contains(&hit));
    }

    #[test]
    fn any_bytes_are_scanned_without_a_panic(bytes in any::<Vec<u8>>(), pick in any::<prop::sample::Index>()) {
        let (_, hit) = pick.get(&examples()).clone();
        let blob = [&bytes, b"\n".as_slice(), hit.as_bytes(), b"\n", &bytes].concat();
        prop_assert!(!scan_blob(Path::new("x"), &blob).is_empty());
    }
}

#[test]
fn a_secret_that_invisible_characters_split_is_found_whole() {
    let key = ["AKIA", "Z5GFH3LQMNOP7RST"].concat();
    for c in ['\u{200b}', '\u{2060}', '\u{ad}', '\u{e0041}', '\u{200d}', '\u{fe0f}', '\0', '\u{7f}', '\u{1b}'] {
        // In the keyword, in the value, between all characters, and around it.
        let spread: String = key.chars().flat_map(|letter| [letter, c]).collect();
        for split in [key.replace("KI", &format!("K{c}I")), key.replace("H3", &format!("H{c}{c}3")), spread] {
            let text = format!("é{c} a\nkey {split} b{c}");
            let found = find(&text);
            let kinds: Vec<_> = found.iter().map(|finding| (finding.kind, finding.line)).collect();
            assert_eq!(kinds, [("aws-access-key", 2)], "{text:?}");
            let clean = redact(&text, &found);
            assert!(clean.starts_with(&format!("é{c} a\nkey [redacted:aws-access-key]")), "{clean:?}");
            assert!(clean.ends_with(&format!(" b{c}")), "{clean:?}");
        }
    }
    let visible = format!("👩‍🚀 می‌خواهم {key}");
    assert_eq!(redact(&visible, &find(&visible)), "👩‍🚀 می‌خواهم [redacted:aws-access-key]");
}

#[test]
fn a_secret_that_colours_split_is_found_whole() {
    let key = ["AKIA", "Z5GFH3LQMNOP7RST"].concat();
    for sequence in ["\u{1b}[1m", "\u{1b}[01;31m\u{1b}[K", "\u{1b}]8;;https://x.example\u{1b}\\", "\u{1b}]0;title\u{7}"]
    {
        for at in [2, 4, 11] {
            let split = format!("{}{sequence}{}", &key[..at], &key[at..]);
            let text = format!("{sequence}é\nkey {split} b{sequence}");
            let clean = redact(&text, &find(&text));
            assert_eq!(clean, format!("{sequence}é\nkey [redacted:aws-access-key] b{sequence}"), "{text:?}");
        }
    }
}

#[test]
fn a_secret_on_the_line_after_its_name_is_found() {
    let value = "5Kp9Md3Fh6Js0GcTu8Ye2Wn4Ra7Bz1XvkT3vX9bN";
    for before in [
        "aws_secret_access_key: >-\n  ",
        "AWS_SECRET_ACCESS_KEY=\\\n",
        "aws_secret_access_key =\n    ",
        "api_key: |\n    ",
        "export API_KEY=\\\n  ",
        "machine api.example.net\n  login me\n  password ",
    ] {
        let clean = clean(&format!("{before}{value}\nthe next line"));
        assert!(clean.starts_with(before) && clean.ends_with("]\nthe next line") && !clean.contains(value), "{clean}");
    }
}

#[test]
fn a_token_that_was_broken_into_lines_is_found_whole() {
    let token = ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    let aws = ["AKIA", "Z5GFH3LQMNOP7RST"].concat();
    for between in ["\n", "\r\n", "\\\n    ", "\n> ", "\n  | "] {
        for (token, kind, cuts) in
            [(&token, "github-token", &[12][..]), (&token, "github-token", &[14, 28]), (&aws, "aws-access-key", &[9])]
        {
            let mut broken = token.clone();
            cuts.iter().rev().for_each(|cut| broken.insert_str(*cut, between));
            let clean = clean(&format!("it is {broken}\nthe next line"));
            assert_eq!(clean, format!("it is [redacted:{kind}]\nthe next line"), "{between:?} {cuts:?}");
        }
    }
    // A first line that is enough to know the token does not leave the rest.
    let long = ["sk-ant-api03-", &"aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5".repeat(3)].concat();
    for (token, cut) in [(&token, 24), (&long, 60), (&long, 100)] {
        let broken = format!("it is {}\n{}\nthe next line", &token[..cut], &token[cut..]);
        let clean = clean(&broken);
        assert!(!clean.contains(&token[cut..]) && clean.ends_with("]\nthe next line"), "{clean}");
    }
    let kinds: Vec<&str> = find(format!("{token}\n{aws}\n{token}\n")).iter().map(|found| found.kind).collect();
    assert_eq!(kinds, ["github-token", "aws-access-key", "github-token"], "a list of tokens");
    let sha = "3f786850e387550fdab836ed7e6dc881de23001b";
    for next in [sha, "COMMIT_7=x9Kq2Lm4Np6Rs8", "src/guard/x9Kq2Lm4.rs is next", "release-2024-11-15"] {
        assert!(clean(&format!("{token}\n{next}\n")).ends_with(&format!("]\n{next}\n")), "{next}");
    }
    // A whole token takes nothing of the next line, and the beginning of one takes no words.
    assert_eq!(clean(&format!("{token}\nword")), "[redacted:github-token]\nword");
    for harmless in [
        "it begins with ghp_\nThe documentation says more about that",
        "glpat-\nauthentication-of-users-and-groups-in-2024",
        "AKIA\nIS THE FIRST PART",
        "sk-\nproject-management-documentation-v2\n",
        "xoxb-\n123456789012 is a number",
    ] {
        assert_eq!(find(harmless), [], "{harmless}");
    }
}

#[test]
fn many_secrets_are_counted_and_all_of_them_are_taken_out() {
    let (_, one) = examples().swap_remove(0);
    let text = format!("{one}\n").repeat(25);
    let keep_out = |on_secret, text: &mut String| Policy { on_secret, allowed: &[] }.keep_out([("note", text)]);
    let refused = keep_out(OnSecret::Refuse, &mut text.clone()).unwrap_err();
    assert!(format!("{refused:?}").contains("5 more in the note"), "{refused:?}");
    let mut redacted = text.clone();
    let told = keep_out(OnSecret::Redact, &mut redacted).unwrap();
    assert_eq!(told.len(), 21);
    assert!(find(&redacted).is_empty() && !redacted.contains(&one));
}

#[test]
fn an_id_that_sorts_by_time_is_no_secret() {
    let named = |value: &str| format!("session_token = \"{value}\"");
    assert!(find(named("01ARZ3NDEKTSV4RRFFQ69G5FAV")).is_empty());
    assert!(!find(named("91ARZ3NDEKTSV4RRFFQ69G5FAU")).is_empty(), "it is not one");
}
