//! Decides whether a match is a secret, or a word, an example, an id or a digest of the same shape.

/// A match that has the shape of a secret.
pub(super) struct Candidate<'a> {
    /// The whole text.
    pub text: &'a [u8],
    /// The position of the keyword.
    pub keyword: usize,
    /// The position of the match itself.
    pub start: usize,
    pub secret: &'a [u8],
}

/// Parts of placeholders, which people write in place of a secret.
const PLACEHOLDERS: &[&[u8]] = &[
    b"example",
    b"placeholder",
    b"changeme",
    b"change-me",
    b"change_me",
    b"redacted",
    b"dummy",
    b"sample",
    b"insert",
    b"your-",
    b"your_",
    b"yourapi",
    b"yourkey",
    b"yourtoken",
    b"yoursecret",
    b"yourpass",
    b"replace",
    b"xxxxx",
    b"*****",
    b".....",
    b"-here",
    b"_here",
    b"todo",
    b"fixme",
    b"${",
    b"{{",
    b"$(",
];

/// Words that make a name stand for something else than a secret, such as its hash.
const OTHER_NAMES: &str = " hash hashed digest sha sha1 sha256 sha512 checksum fingerprint public pub id ids path file filename dir name names \
    url uri arn type count length len size limit index field label prefix suffix regex pattern version commit expiry expires expiration ttl csrf \
    xsrf page cursor continuation cancellation color ";

/// Always: the shape alone is proof.
pub(super) fn is_certain(_: &Candidate<'_>) -> bool {
    true
}

/// Neither a word, nor one letter repeated, nor a placeholder.
pub(super) fn is_varied(candidate: &Candidate<'_>) -> bool {
    entropy(candidate.secret) >= 3.0 && !is_placeholder(candidate.secret)
}

/// Like [`is_varied`], with lowercase, uppercase and a digit.
pub(super) fn is_mixed(candidate: &Candidate<'_>) -> bool {
    let has = |class: fn(&u8) -> bool| candidate.secret.iter().any(class);
    is_varied(candidate) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit)
}

/// With a digit, so not a word; and not a placeholder.
pub(super) fn has_number(candidate: &Candidate<'_>) -> bool {
    candidate.secret.iter().any(u8::is_ascii_digit)
        && entropy(candidate.secret) >= 2.5
        && !is_placeholder(candidate.secret)
}

/// Random, rather than words and numbers joined by dashes.
pub(super) fn is_random(candidate: &Candidate<'_>) -> bool {
    is_varied(candidate) && !is_id(candidate.secret) && looks_random(candidate.secret, 12)
}

/// A password, however weak, but not the word "password" or the like.
pub(super) fn is_password(candidate: &Candidate<'_>) -> bool {
    let lower = candidate.secret.to_ascii_lowercase();
    let is_small: fn(&u8) -> bool = u8::is_ascii_lowercase;
    let words: [&[u8]; 12] = [
        b"password",
        b"passwd",
        b"pass",
        b"pwd",
        b"secret",
        b"token",
        b"pw",
        b"mypassword",
        b"user",
        b"root",
        b"null",
        b"none",
    ];
    let is_word = words.contains(&lower.as_slice()) || lower.starts_with(b"pass") && lower.iter().all(is_small);
    !is_word && entropy(candidate.secret) >= 1.5 && !is_placeholder(candidate.secret)
}

/// Base64 of a name, a colon and a password.
pub(super) fn is_basic_credential(candidate: &Candidate<'_>) -> bool {
    let mut bits = 0u32;
    let mut count = 0;
    let mut plain = Vec::new();
    for byte in candidate.secret.iter().filter(|byte| **byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            plain.push((bits >> count & 0xff) as u8);
        }
    }
    let colon = plain.iter().position(|byte| *byte == b':');
    colon.is_some_and(|colon| colon > 0 && colon + 1 < plain.len())
        && plain.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}

/// A secret that was assigned to a name such as `api_key`.
pub(super) fn is_assigned_secret(candidate: &Candidate<'_>) -> bool {
    let value = candidate.secret;
    let name = words_of(name_of(candidate));
    if name.iter().any(|word| is_other_name(word)) || is_placeholder(value) || is_code(value) || is_id(value) {
        return false;
    }
    if name.iter().any(|word| word.starts_with("pass") || word.ends_with("pwd") || word.ends_with("password")) {
        looks_random(value, 8) && entropy(value) >= 2.5
    } else {
        value.len() >= 16 && looks_random(value, 12) && entropy(value) >= 3.0
    }
}

/// The whole name that the keyword is part of.
fn name_of<'a>(candidate: &Candidate<'a>) -> &'a [u8] {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let before = candidate.text[..candidate.keyword].iter().rev().take(40).take_while(|byte| is_name(byte)).count();
    let after = candidate.text[candidate.keyword..candidate.start].iter().take_while(|byte| is_name(byte)).count();
    &candidate.text[candidate.keyword - before..candidate.keyword + after]
}

/// The words of a name in any naming style, in lowercase.
fn words_of(name: &[u8]) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for byte in name {
        let joins = b"_-.".contains(byte);
        if joins || was_small && byte.is_ascii_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !joins) {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        was_small = byte.is_ascii_lowercase();
    }
    words
}

/// Whether this is one of `OTHER_NAMES`, also directly behind a word for a secret, as in `passwordhash`.
fn is_other_name(word: &str) -> bool {
    let rest = ["password", "secret", "token", "key"].into_iter().find_map(|secret| word.strip_prefix(secret));
    word.starts_with("tokeni")
        || [Some(word), rest]
            .into_iter()
            .flatten()
            .any(|word| !word.is_empty() && OTHER_NAMES.contains(&format!(" {word} ")))
}

fn is_placeholder(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|placeholder| contains(&lower, placeholder)) || is_template(value)
}

/// Whether words in angle brackets stand for the secret, as in `<password>` or `prefix-<token>`. A password may have such
/// brackets, too, but is then random without what is in them. A bracket that only closes belongs to the text around it.
fn is_template(value: &[u8]) -> bool {
    let Some(first) = value.iter().position(|byte| b"<>".contains(byte)) else { return false };
    if value[first] == b'>' {
        return true;
    }
    let (mut outside, mut has_words, mut rest) = (Vec::new(), false, value);
    while let Some(open) = rest.iter().position(|byte| *byte == b'<') {
        outside.extend_from_slice(&rest[..open]);
        rest = &rest[open + 1..];
        let Some(close) = rest.iter().position(|byte| *byte == b'>') else { break };
        has_words |= rest[..close].iter().all(|byte| byte.is_ascii_alphabetic() || b" _-.".contains(byte));
        rest = &rest[close + 1..];
    }
    outside.extend_from_slice(rest);
    has_words && !looks_random(&outside, 8)
}

/// Whether a token that was put together from several lines is one: not a beginning of a token before some word.
pub(super) fn is_token_in_lines(candidate: &Candidate<'_>) -> bool {
    candidate.secret.iter().any(u8::is_ascii_digit) && looks_random(candidate.secret, 12)
}

/// Whether a line of a broken token looks like one: with digits and letters, and not like a word.
pub(super) fn is_part_of_token(part: &[u8]) -> bool {
    part.len() >= 8 && looks_random(part, 8)
}

/// Whether a line behind a token looks like more of it: not like a hash, and not like a name with its value.
pub(super) fn is_rest_of_token(part: &[u8]) -> bool {
    let is_hash = part.len() >= 32 && part.iter().all(u8::is_ascii_hexdigit);
    is_part_of_token(part) && !is_hash && !part.trim_ascii_end().strip_suffix(b"==").unwrap_or(part).contains(&b'=')
}

/// Whether the value is a variable, a path, an address or a call.
fn is_code(value: &[u8]) -> bool {
    let begins: [&[u8]; 7] = [b"$", b"%", b"@", b"/", b"./", b"~/", b"../"];
    let has: [&[u8]; 6] = [b"://", b"::", b"(", b"[", b"=>", b"->"];
    begins.iter().any(|begin| value.starts_with(begin))
        || has.iter().any(|part| contains(value, part))
        || is_type(value)
}

/// Whether the value is a type with parameters, such as `Result<Vec<u8>>`, or begins like one.
fn is_type(value: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let name = value.iter().take_while(|byte| is_name(byte)).count();
    let parameter = value.get(name + 1..).unwrap_or_default();
    let is_simple = |text: &[u8]| text.iter().all(|byte| is_name(byte) || b"<>&?*".contains(byte));
    name > 0
        && value[0].is_ascii_alphabetic()
        && value.get(name) == Some(&b'<')
        && value.ends_with(b">")
        && is_simple(parameter)
}

/// Whether the value is a UUID, a ULID, or a digest with a prefix that names its algorithm.
fn is_id(value: &[u8]) -> bool {
    let is_uuid = value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    let is_ulid = value.len() == 26
        && value[0] <= b'7'
        && value.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase() && !b"ILOU".contains(byte));
    let labels: [&[u8]; 8] = [b"sha1", b"sha256", b"sha384", b"sha512", b"md5", b"h1:", b"blake", b"data:"];
    is_uuid || is_ulid || labels.iter().any(|label| value.starts_with(label))
}

/// Whether at least `least` bytes belong to parts that are neither words nor numbers.
fn looks_random(value: &[u8], least: usize) -> bool {
    let parts = value.split(|byte| b"-_.:/, ".contains(byte));
    let odd: usize = parts.filter(|part| is_odd(part)).map(<[u8]>::len).sum();
    odd >= least
}

/// Whether the part looks random: uppercase, lowercase and digits alternate too often for a word, a camel-case name or a word
/// with a number, or it cannot be pronounced. The thresholds are empirical: of random alphanumerics they catch 95 in 100 at
/// a length of 16 and all but a few in a thousand at 32; of the names in a hundred libraries, only those that are numbers.
fn is_odd(part: &[u8]) -> bool {
    let turns = part.windows(2).filter(|pair| is_turn(pair[0], pair[1])).count();
    let numbers = part.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty()).count();
    let at_least = |share: usize, least: usize| turns >= least && turns * share >= part.len().saturating_sub(1);
    let takes_turns = match numbers {
        0 => at_least(3, 5),
        1 => at_least(3, 3),
        2 => at_least(5, 3),
        _ => at_least(6, 0),
    };
    takes_turns || numbers > 0 && at_least(8, 2) && is_unspeakable(part)
}

fn is_turn(before: u8, after: u8) -> bool {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    // An uppercase letter before a lowercase one begins a word.
    (class(before), class(after)) != (1, 0) && class(before) != class(after)
}

/// Whether there are five consonants in a row.
fn is_unspeakable(part: &[u8]) -> bool {
    let is_consonant = |byte: &u8| byte.is_ascii_alphabetic() && !b"aeiouyAEIOUY".contains(byte);
    part.windows(5).any(|window| window.iter().all(is_consonant))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// The Shannon entropy, in bits per byte.
pub(super) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let length = bytes.len().max(1) as f64;
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length).map(|p| -p * p.log2()).sum()
}
