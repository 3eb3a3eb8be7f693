//! Names of keys. People compare them by eye, so a name has no character that nobody sees, no letter that only looks like
//! another one, and no name that looks like the name of another key.

use crate::base::text;
use crate::error::{Error, Result};

/// The longest name, in characters.
const LONGEST: usize = 100;

/// Letters of other scripts that look like a Latin one, in lower case.
const LOOKALIKES: [(&str, &str); 8] = [
    // Cyrillic
    ("аеорсухіјѕһԁԛԝвкмнтгпьӏзбч", "aeopcyxijshdqwbkmhtrnbl364"),
    // Greek
    ("αβγεικνορτυχωζημ", "abyeikvoptuxwznu"),
    // Armenian
    ("օսոհցզլքյ", "ounhgql9j"),
    // Cherokee
    ("ꭰꭱꭲꭵꭺꭻꭼꮃꮇꮋꮍꮐꮓꮞꮟꮢꮤꮩꮪꮮꮯꮲꮶꮷꮖꮀ", "drtiajewmhygz4brwvslcpkdih"),
    // Lisu
    ("ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "abcdefghijklmnoprstuvwxyz"),
    // Coptic
    ("ⲁⲃⲉⲏⲓⲕⲙⲛⲟⲣⲥⲧⲩⲭ", "abehikmnopctyx"),
    // Latin letters and digits that are confused among themselves
    ("01i|ıłøđ", "ollllloď"),
    // Phonetic letters, clicks and apostrophes
    ("ɑɡɩɪǀꞁʋʏʟɴʀʜ’‘ʼ′`´", "aglllluylnrh''''''"),
];

/// Checks that a new name can be told apart by eye.
pub(super) fn check(name: &str) -> Result<()> {
    let wrong = |what: String| {
        Error::bad_data(format!("`{}` cannot be the name of a key: {what}", shown(name)))
            .hint("pass another one with `--name`")
    };
    if name.chars().count() > LONGEST {
        return Err(wrong(format!("it has more than {LONGEST} characters")));
    }
    if let Some(c) = name.chars().find(|c| is_unseen(*c)) {
        return Err(wrong(format!("nobody sees its character U+{:04X}", u32::from(c))));
    }
    if let Some(c) = name.chars().find(|c| is_loose_accent(*c)) {
        let point = u32::from(c);
        return Err(wrong(format!(
            "its accent U+{point:04X} is a character of its own, which looks like an accented letter"
        )));
    }
    if let Some(c) = name.chars().find(|c| is_stylized(*c)) {
        return Err(wrong(format!("`{c}` (U+{:04X}) only looks like a letter", u32::from(c))));
    }
    if let Some(c) = name.chars().find(|c| is_symbol(*c)) {
        return Err(wrong(format!("`{c}` (U+{:04X}) is a symbol that can look like a letter or a dot", u32::from(c))));
    }
    let mut scripts: Vec<Script> = name.chars().filter_map(Script::of).collect();
    scripts.sort_unstable();
    scripts.dedup();
    match scripts.as_slice() {
        [first, second, ..] => Err(wrong(format!("it mixes {} and {} letters", first.name(), second.name()))),
        _ => Ok(()),
    }
}

/// Whether two names look the same to a careless eye.
pub(super) fn look_alike(one: &str, other: &str) -> bool {
    skeleton(one) == skeleton(other)
}

/// A name for a message: characters that nobody sees are written out.
pub(crate) fn shown(name: &str) -> String {
    let mut line = String::new();
    for c in name.chars().take(LONGEST) {
        match c {
            c if is_unseen(c) => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    text::one_line(&line, 2 * LONGEST)
}

fn is_unseen(c: char) -> bool {
    text::is_invisible(c) || c.is_control() || c.is_whitespace() && c != ' '
}

/// Accents that join the letter before them. The same name could be written with and without them.
fn is_loose_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Letters of Latin in another style: full width, mathematical, in circles, as numerals.
fn is_stylized(c: char) -> bool {
    matches!(c, '\u{2100}'..='\u{214f}' | '\u{2160}'..='\u{2188}' | '\u{2460}'..='\u{24ff}' | '\u{ff00}'..='\u{ffef}' | '\u{1d400}'..='\u{1d7ff}' | '\u{1f100}'..='\u{1f1ff}')
}

/// Symbols and forms of punctuation, some of which look like a letter or like nothing.
fn is_symbol(c: char) -> bool {
    matches!(c, '\u{2016}' | '\u{2017}' | '\u{201a}'..='\u{209f}' | '\u{2190}'..='\u{23ff}' | '\u{2900}'..='\u{2bff}'
        | '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe6f}')
}

fn skeleton(name: &str) -> String {
    let mut skeleton = String::new();
    for c in name.chars().filter(|c| !is_unseen(*c)).flat_map(char::to_lowercase) {
        let alike = LOOKALIKES.iter().find_map(|(from, to)| {
            let at = from.chars().position(|found| found == c)?;
            to.chars().nth(at)
        });
        match alike.unwrap_or(c) {
            c if c.is_whitespace() || matches!(c, '-' | '_' | '.' | '\u{2010}'..='\u{2015}') => {}
            // Latin confuses these among themselves, whichever script they came from.
            'i' | '1' | '|' => skeleton.push('l'),
            '0' => skeleton.push('o'),
            c => skeleton.push(c),
        }
    }
    skeleton.replace("rn", "m").replace("vv", "w")
}

/// The scripts that a name is written in. East Asian ones stand beside Latin in names, and no letter of theirs looks like one
/// of another script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Cherokee,
    Coptic,
    Other,
}

impl Script {
    fn of(c: char) -> Option<Script> {
        match c {
            'a'..='z' | 'A'..='Z' | '\u{aa}' | '\u{ba}' | '\u{c0}'..='\u{24f}' | '\u{250}'..='\u{2af}' => {
                (!matches!(c, '\u{d7}' | '\u{f7}')).then_some(Script::Latin)
            }
            '\u{1e00}'..='\u{1eff}' | '\u{2c60}'..='\u{2c7f}' | '\u{a720}'..='\u{a7ff}' | '\u{1d00}'..='\u{1dbf}' => {
                Some(Script::Latin)
            }
            '\u{370}'..='\u{3e1}' | '\u{3f0}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Script::Greek),
            '\u{3e2}'..='\u{3ef}' | '\u{2c80}'..='\u{2cff}' => Some(Script::Coptic),
            '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{2de0}'..='\u{2dff}' | '\u{a640}'..='\u{a69f}' => {
                Some(Script::Cyrillic)
            }
            '\u{530}'..='\u{58f}' => Some(Script::Armenian),
            '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Some(Script::Cherokee),
            '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' => {
                None
            }
            '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => None,
            c => c.is_alphabetic().then_some(Script::Other),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Script::Latin => "Latin",
            Script::Greek => "Greek",
            Script::Cyrillic => "Cyrillic",
            Script::Armenian => "Armenian",
            Script::Cherokee => "Cherokee",
            Script::Coptic => "Coptic",
            Script::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nobody_can_tell_apart_are_refused() {
        for name in [
            "Alice",
            "Bob & <Sons>",
            "Алиса",
            "田中さん",
            "Zoë Müller-Lüdenscheidt",
            "Ольга 2",
            "محمد",
            "O'Brien",
            "विष्णु",
            "李 Wei",
            "김철수 Kim",
        ] {
            check(name).unwrap();
        }
        for (name, why) in [
            ("Al\u{200b}ice", "U+200B"),
            ("Al\u{202e}ice", "U+202E"),
            ("Alice\n", "U+000A"),
            ("Al\u{a0}ice", "U+00A0"),
            ("\u{e0041}lice", "U+E0041"),
            ("Аlice", "mixes Latin and Cyrillic"),
            ("Aliϲe", "mixes Latin and Greek"),
            ("Ａlice", "only looks like"),
            ("𝐀lice", "only looks like"),
            ("A\u{217c}ice", "only looks like"),
            ("Zoe\u{308}", "U+0308"),
            ("ꓮlice", "mixes Latin and other"),
            ("𐐀lice", "mixes Latin and other"),
            ("⍺lice", "is a symbol"),
            ("Alice\u{2024}", "is a symbol"),
            ("Alice\u{fe4f}", "is a symbol"),
        ] {
            let error = check(name).unwrap_err();
            assert!(error.message().contains(why), "{}", error.message());
        }
        assert!(check(&"x".repeat(101)).is_err());
        assert_eq!(shown("Al\u{200b}ice\n"), "Al\\u{200b}ice\\u{a}");
    }

    #[test]
    fn names_that_look_alike_are_the_same_to_the_eye() {
        for (one, other) in [
            ("Alice", "alice"),
            ("Alice", "Al\u{200b}ice"),
            ("Alice", "A1ice"),
            ("cop", "сор"),
            ("Bob", "B0b"),
            ("Alice Example", "Alice-Example"),
            ("modern", "modem"),
            ("Alice", "ɑlice"),
            ("Alice's", "Alice’s"),
            ("Alice", "ᎪᏞᏆᏟᎬ"),
            ("Alice", "ꓮꓡꓲꓚꓰ"),
            ("ton", "ⲧⲟⲛ"),
        ] {
            assert!(look_alike(one, other), "{one} {other}");
        }
        for (one, other) in [("Alice", "Alicia"), ("Bob", "Rob"), ("田中", "中田")] {
            assert!(!look_alike(one, other), "{one} {other}");
        }
        for (from, to) in LOOKALIKES {
            assert_eq!(from.chars().count(), to.chars().count(), "{from}");
        }
    }
}
