//! Changes texts at random, the same way for the same seed.

/// Parts that formats give a meaning to.
const WORDS: &[&str] = &[
    "---\n",
    "\n",
    "\r\n",
    "\u{2028}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\u",
    ":",
    ",",
    ": ",
    "- ",
    "null",
    "true",
    "-0",
    "1e999",
    "18446744073709551616",
    "<!-- note run=",
    " step=note at=",
    " -->",
    "<!-- /note -->",
    "<!-- ",
    "\u{1b}[31m",
    "\u{202e}",
    "\u{200b}",
    "\0",
    "\u{feff}",
    "## ",
    "# ",
    "* ",
    "[[step]]\n",
    "kind = \"",
    "'''",
    "session_id",
    "schema_version",
    "\"type\":\"",
    "\"content\":[",
    "\"role\":\"user\"",
    "\"message\":",
    "ciphertext",
    "-----BEGIN PRIVATE KEY-----\n",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "2026-11-15T10:04:05Z",
    "9999-99-99",
    "last Tuesday",
    "path:",
    "error:",
    "é",
    "漢",
    "\u{1f600}",
    "\t",
    "&a ",
    "*a",
    "!!str ",
    "|\n  ",
    ">-\n",
    "<|im_start|>",
];

/// A small generator of numbers; the quality of xorshift is enough here.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`; zero if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }
}

/// A text made of one of `seeds` by a few changes, at most `longest` bytes.
pub fn mutated(random: &mut Random, seeds: &[Vec<u8>], longest: usize) -> Vec<u8> {
    let mut text = seeds.get(random.below(seeds.len())).cloned().unwrap_or_default();
    for _ in 0..=random.below(6) {
        change(random, seeds, &mut text);
    }
    text.truncate(longest);
    text
}

fn change(random: &mut Random, seeds: &[Vec<u8>], text: &mut Vec<u8>) {
    let at = random.below(text.len() + 1);
    let end = (at + random.below(32)).min(text.len());
    match random.below(9) {
        0 if at < text.len() => text[at] ^= 1 << random.below(8),
        1 if at < text.len() => text[at] = random.next() as u8,
        2 => drop(text.drain(at..end)),
        3 => {
            let part = text[at..end].to_vec();
            insert(text, at, &part);
        }
        4 => text.truncate(at),
        5 => insert(text, at, &[random.next() as u8].repeat(1 + random.below(64))),
        6 => {
            let other = seeds.get(random.below(seeds.len())).cloned().unwrap_or_default();
            let start = random.below(other.len() + 1);
            insert(text, at, &other[start..(start + random.below(200)).min(other.len())]);
        }
        7 => {
            let word = WORDS[random.below(WORDS.len())].as_bytes();
            insert(text, at, &word.repeat(1 + random.below(4)));
        }
        _ => insert(text, at, WORDS[random.below(WORDS.len())].as_bytes()),
    }
}

fn insert(text: &mut Vec<u8>, at: usize, part: &[u8]) {
    text.splice(at..at, part.iter().copied());
}
