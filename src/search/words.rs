//! The words of a text, in the form in which the index knows them.
//!
//! A word is written in small letters, without accents, as its stem. An identifier or a path gives its parts and, as one word,
//! all of them together: `parseDateISO` and `parse_date_iso` both give `pars`, `date`, `iso` and `parsedateiso`. A script
//! without spaces gives pairs of characters.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::porter;

/// Longer runs of letters and digits are ids or encoded data, not words.
const MAX_WORD: usize = 40;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The form in which the index knows it.
    pub term: String,
    /// Where it is in the text.
    pub place: Range<usize>,
    /// It says little by itself, and is not in the index.
    pub is_common: bool,
    /// It stands for the whole of an identifier whose parts are words of their own.
    pub is_whole: bool,
}

/// English words that say little by themselves, in small letters and with the halves of short forms such as `don't`.
const COMMON: &str = "a about after again ago all also although am an and another any anything are aren as at away back be \
    because been before being both but by came can cannot come comes coming could couldn d did didn do does doesn doing don \
    done down during each either else even ever every everything few for from further get gets getting go goes going gone got \
    had has hasn have haven having he her here hers him his how i if in into is isn it its itself just let lets like ll m many \
    may maybe me might mine more most much must my myself need needs neither no nor not now of off ok okay on once one only or \
    other our ours out over own per perhaps please quite rather re really s said same say says shall she should shouldn since \
    so some something still such t take than that the their them then there these they thing things this those though through \
    to too under until up upon us use used uses using ve very via was wasn we went were weren what when where whether which \
    while who whom whose why will with within without won would wouldn yes yet you your yours";

/// Forms of English words that no rule of endings joins, each line with its base first.
const IRREGULAR: &str = "\
    be am are been being is was were\nbecome became becoming\nbegin began begun\nbite bit bitten\nblow blew blown\n\
    break broke broken\nbring brought\nbuild built\nbuy bought\ncatch caught\nchild children\nchoose chose chosen\n\
    deal dealt\ndie died dying\ndig dug\ndraw drew drawn\ndream dreamt\ndrink drank drunk\ndrive drove driven\n\
    eat ate eaten\nfall fell fallen\nfeed fed\nfeel felt\nfight fought\nfind found\nfly flew flown\nforget forgot forgotten\n\
    forgive forgave forgiven\nfreeze froze frozen\ngive gave given\ngrow grew grown\nhang hung\nhear heard\nhide hid hidden\n\
    hold held\nindex indices indexes\nkeep kept\nknow knew known\nlay laid\nlead led\nleave left\nlend lent\nlife lives\n\
    lose lost losing\nmake made making\nman men\nmeet met\nmouse mice\nfoot feet\ntooth teeth\npay paid\nride rode ridden\n\
    ring rang rung\nrise rose risen\nrun ran running\nsee saw seen\nsell sold\nsend sent\nshake shook shaken\nshoot shot\n\
    show shown\nsing sang sung\nsink sank sunk\nsit sat\nsleep slept\nspeak spoke spoken\nspend spent\nspin spun\n\
    stand stood\nsteal stole stolen\nstick stuck\nstrike struck\nswim swam swum\nswear swore sworn\ntake took taken\n\
    teach taught\ntear tore torn\ntell told\nthink thought\nthrow threw thrown\nunderstand understood\nwake woke woken\n\
    wear wore worn\nweave wove woven\nwife wives\nwin won\nwoman women\nwrite wrote written writing\nperson people\n\
    fast faster fastest\ngood better best\nbad worse worst\nmatrix matrices\nvertex vertices\nanalysis analyses\n\
    config configuration configure\nrepo repository repositories\nauth authentication authenticate\n\
    delete deletion\ndb database databases\nenv environment\ndir directory directories\ndoc docs documentation";

/// What the tables know about a word.
#[derive(Clone, Copy, Default)]
struct Known {
    is_common: bool,
    base: Option<&'static str>,
}

/// The longest word of the tables.
const MAX_KNOWN: usize = 14;

/// The words of both tables: each word of a text is looked up once.
static KNOWN: LazyLock<HashMap<&str, Known>> = LazyLock::new(|| {
    let mut known: HashMap<&str, Known> = HashMap::new();
    for word in COMMON.split_whitespace() {
        known.entry(word).or_default().is_common = true;
    }
    for mut family in IRREGULAR.lines().map(|line| line.split_whitespace()) {
        let base = family.next();
        family.for_each(|form| known.entry(form).or_default().base = base);
    }
    known
});

/// What the tables know about a word in small letters. Most words are too long for them, or end in a digit.
fn known(term: &str) -> Known {
    let may_be = term.len() <= MAX_KNOWN && term.ends_with(|c: char| c.is_ascii_lowercase());
    may_be.then(|| KNOWN.get(term)).flatten().copied().unwrap_or_default()
}

/// The words of a text in order, common ones included.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    Walk::of(text, |seen: Seen<'_>| {
        let Seen { term, place, is_common, is_whole } = seen;
        found.push(Word { term: term.to_owned(), place, is_common, is_whole });
    });
    found
}

/// What comes before a term that stands for the whole of an identifier, in a line of terms.
pub(super) const WHOLE: char = '+';

/// The terms of a text in one line, in their order, for [`of_line`].
pub(super) fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    Walk::of(text, |seen: Seen<'_>| {
        if seen.is_common || seen.term.is_empty() {
            return;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        if seen.is_whole {
            line.push(WHOLE);
        }
        line.push_str(seen.term);
    });
    line
}

/// How many terms a line has.
pub(super) fn count(line: &str) -> usize {
    if line.is_empty() { 0 } else { 1 + memchr::memchr_iter(b' ', line.as_bytes()).count() }
}

/// The terms of a line, each with whether it stands for the whole of an identifier.
pub(super) fn of_line(line: &str) -> impl Iterator<Item = (&str, bool)> {
    line.split(' ').filter(|term| !term.is_empty()).map(|term| match term.strip_prefix(WHOLE) {
        Some(term) => (term, true),
        None => (term, false),
    })
}

/// The terms of a text that are indexed, each as often as it occurs.
pub(super) fn terms(text: &str) -> impl Iterator<Item = String> {
    words(text).into_iter().filter(|word| !word.is_common).map(|word| word.term)
}

/// A word as it is seen on the way through a text. Its term is gone with the next one: a text has many words, and most are
/// written elsewhere at once.
struct Seen<'w> {
    term: &'w str,
    place: Range<usize>,
    is_common: bool,
    is_whole: bool,
}

/// The way through a text, word by word.
struct Walk<'t, 'k, F> {
    text: &'t str,
    see: F,
    /// The term of the present word.
    term: String,
    /// How many words were seen.
    seen: usize,
    known: &'k mut Terms,
}

impl<'t, F: FnMut(Seen<'_>)> Walk<'t, '_, F> {
    /// Shows each word of a text.
    fn of(text: &'t str, see: F) {
        TERMS.with_borrow_mut(|known| {
            let mut walk = Walk { text, see, term: String::with_capacity(2 * MAX_WORD), seen: 0, known };
            let mut rest = 0;
            while let Some(run) = next_run(text, rest) {
                rest = run.place.end;
                walk.run(run);
            }
        });
    }

    /// Shows the words of one run: parts of an identifier, and pairs of characters of a script without spaces.
    fn run(&mut self, Run { place: run, is_plain }: Run) {
        if is_plain {
            return self.word(run);
        }
        let (text, before) = (self.text, self.seen);
        let mut start = run.start;
        while start < run.end {
            let rest = &text[start..run.end];
            let Some(next) = rest.chars().next() else { return };
            let is_ideographs = is_ideograph(next);
            let length = rest.find(|c| is_ideograph(c) != is_ideographs).unwrap_or(rest.len());
            if is_ideographs {
                self.pairs(start..start + length);
            } else {
                each_part(&text[start..start + length], |part| self.word(start + part.start..start + part.end));
            }
            start += length;
        }
        let has_parts = self.seen > before + 1 && text[run.clone()].is_ascii();
        if has_parts && run.len() <= MAX_WORD {
            self.term.clear();
            self.term.extend(text[run.clone()].chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()));
            self.show(run, false, true);
        }
    }

    /// Shows the word at a place, unless it is too long for one.
    fn word(&mut self, place: Range<usize>) {
        if place.len() > MAX_WORD {
            return;
        }
        let written = &self.text[place.clone()];
        let short = Short::of(written);
        if let Some((term, is_common)) = short.as_ref().and_then(|short| self.known.get(short)) {
            self.seen += 1;
            return (self.see)(Seen { term, place, is_common, is_whole: false });
        }
        self.term.clear();
        if written.is_ascii() {
            self.term.push_str(written);
            self.term.make_ascii_lowercase();
        } else {
            written.chars().for_each(|c| push_plain(c, &mut self.term));
        }
        let Known { is_common, base } = known(&self.term);
        if let Some(base) = base {
            base.clone_into(&mut self.term);
        }
        porter::stem(&mut self.term);
        if let Some(short) = short {
            self.known.set(&short, &self.term, is_common);
        }
        self.show(place, is_common, false);
    }

    /// Shows each pair of neighbours; a character that stands alone is a word.
    fn pairs(&mut self, run: Range<usize>) {
        let text = self.text;
        let ends = || text[run.clone()].char_indices().map(|(at, c)| run.start + at + c.len_utf8());
        let mut start = run.start;
        for (end, next) in ends().zip(ends().skip(1)) {
            self.show_as_written(start..next);
            start = end;
        }
        if start == run.start {
            self.show_as_written(run);
        }
    }

    fn show_as_written(&mut self, place: Range<usize>) {
        self.term.clear();
        self.term.push_str(&self.text[place.clone()]);
        self.show(place, false, false);
    }

    fn show(&mut self, place: Range<usize>, is_common: bool, is_whole: bool) {
        self.seen += 1;
        (self.see)(Seen { term: &self.term, place, is_common, is_whole });
    }
}

/// A word of ASCII that is short enough to be remembered, in small letters, with zeros behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Short([u8; SHORT]);

/// The longest word that is remembered. Its term may be one letter longer.
const SHORT: usize = 16;

impl Short {
    fn of(written: &str) -> Option<Short> {
        let mut letters = [0; SHORT];
        letters.get_mut(..written.len()).filter(|_| written.is_ascii())?.copy_from_slice(written.as_bytes());
        letters.make_ascii_lowercase();
        Some(Short(letters))
    }

    /// Its place among the terms that are remembered.
    fn place(&self) -> usize {
        let number = u128::from_le_bytes(self.0);
        let mixed = (number as u64 ^ (number >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (64 - TERMS_BITS)) as usize
    }
}

/// How many terms are remembered, as a power of two.
const TERMS_BITS: u32 = 12;

/// The terms of words that were seen before: most words of a text are, and to find the stem of one costs more than to look here.
/// Each word has one place, and a new one takes that of the last.
#[derive(Default)]
struct Terms(Vec<(Option<Short>, String, bool)>);

thread_local! {
    static TERMS: RefCell<Terms> = RefCell::default();
}

impl Terms {
    /// The term of a word, and whether the word is common.
    fn get(&self, word: &Short) -> Option<(&str, bool)> {
        let (known, term, is_common) = self.0.get(word.place())?;
        (known.as_ref() == Some(word)).then_some((term, *is_common))
    }

    fn set(&mut self, word: &Short, term: &str, is_common: bool) {
        if self.0.is_empty() {
            self.0.resize_with(1 << TERMS_BITS, Default::default);
        }
        if let Some(place) = self.0.get_mut(word.place()) {
            (place.0, place.2) = (Some(*word), is_common);
            term.clone_into(&mut place.1);
        }
    }
}

/// A run of letters, digits and underscores.
struct Run {
    place: Range<usize>,
    /// It is one word of ASCII: at most its first letter is a capital. Most runs are.
    is_plain: bool,
}

/// The first run from this place on.
fn next_run(text: &str, from: usize) -> Option<Run> {
    let start = from + text[from..].find(belongs)?;
    let bytes = &text.as_bytes()[start..];
    let is_first_plain = bytes[0].is_ascii_alphanumeric();
    let plain = bytes[1..].iter().position(|byte| !(byte.is_ascii_lowercase() || byte.is_ascii_digit()));
    let plain = 1 + plain.unwrap_or(bytes.len() - 1);
    let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| byte.is_ascii() && !belongs(char::from(*byte)));
    if is_first_plain && is_end(bytes.get(plain)) {
        return Some(Run { place: start..start + plain, is_plain: true });
    }
    let end = text[start..].find(|c| !belongs(c)).map_or(text.len(), |length| start + length);
    // A character that is not ASCII may end the run all the same.
    Some(Run { place: start..end, is_plain: is_first_plain && end == start + plain })
}

fn belongs(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Adds a character in small letters and without an accent.
fn push_plain(c: char, term: &mut String) {
    if c.is_ascii() {
        term.push(c.to_ascii_lowercase());
        return;
    }
    for c in c.to_lowercase() {
        match c {
            'à'..='å' | 'ā' | 'ă' | 'ą' => term.push('a'),
            'ç' | 'ć' | 'č' => term.push('c'),
            'è'..='ë' | 'ē' | 'ę' | 'ě' => term.push('e'),
            'ì'..='ï' | 'ī' => term.push('i'),
            'ł' => term.push('l'),
            'ñ' | 'ń' | 'ň' => term.push('n'),
            'ò'..='ö' | 'ø' | 'ō' | 'ő' => term.push('o'),
            'ř' => term.push('r'),
            'ś' | 'š' | 'ş' => term.push('s'),
            'ß' => term.push_str("ss"),
            'ù'..='ü' | 'ū' | 'ů' | 'ű' => term.push('u'),
            'ý' | 'ÿ' => term.push('y'),
            'ź' | 'ż' | 'ž' => term.push('z'),
            // Accents that are characters of their own.
            '\u{300}'..='\u{36f}' => {}
            other => term.push(other),
        }
    }
}

/// The parts of `HTTPServer_name2`: `HTTP`, `Server`, `name2`.
fn each_part(run: &str, mut part: impl FnMut(Range<usize>)) {
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut chars = run.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let begins_word = c.is_uppercase()
            && before.is_some_and(|before| !before.is_uppercase() || next.is_some_and(char::is_lowercase));
        if c == '_' || begins_word {
            if start < at {
                part(start..at);
            }
            start = if c == '_' { at + 1 } else { at };
        }
        before = Some(c);
    }
    if start < run.len() {
        part(start..run.len());
    }
}

/// Chinese characters and Japanese syllables.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.term).collect()
    }

    #[test]
    fn identifiers_give_their_parts_and_the_whole() {
        assert_eq!(all("parseDateISO"), ["pars", "date", "iso", "parsedateiso"]);
        assert_eq!(all("parse_date_iso"), ["pars", "date", "iso", "parsedateiso"]);
        assert_eq!(all("HTTPServerName2"), ["http", "server", "name2", "httpservername2"]);
        assert_eq!(all("src/date_parser.rs:42"), ["src", "date", "parser", "dateparser", "rs", "42"]);
        assert_eq!(all("E0308 __init__"), ["e0308", "init"]);
    }

    #[test]
    fn forms_of_a_word_are_the_same_word() {
        for (one, other) in [
            ("tests", "testing"),
            ("went", "went"),
            ("ran", "runs"),
            ("children", "child"),
            ("chose", "choosing"),
            ("café", "Cafe"),
        ] {
            assert_eq!(all(one), all(other), "{one} {other}");
        }
    }

    #[test]
    fn every_word_of_the_tables_is_looked_up() {
        for word in KNOWN.keys() {
            let Known { is_common, base } = known(word);
            assert!(is_common || base.is_some(), "{word}");
        }
    }

    #[test]
    fn common_words_are_not_indexed() {
        assert_eq!(terms("The parser doesn't work").collect::<Vec<_>>(), ["parser", "work"]);
    }

    #[test]
    fn other_scripts_have_words_too_and_ids_have_none() {
        assert_eq!(all("修复parser解析器"), ["修复", "parser", "解析", "析器"]);
        assert_eq!(all("Ошибка größer 错"), ["ошибка", "grosser", "错"]);
        assert_eq!(all(&"a1".repeat(40)), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn any_text_has_words_in_their_places(text in any::<String>()) {
            for word in words(&text) {
                prop_assert!(text.get(word.place.clone()).is_some_and(|found| !found.is_empty()));
                prop_assert!(!word.term.contains(char::is_whitespace));
            }
        }
    }
}
