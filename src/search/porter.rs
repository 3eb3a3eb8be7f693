//! The stem of an English word, by Porter's algorithm of 1980 with the author's two later changes ("logi" and "bli").
//!
//! SQLite has the same algorithm. It is here because a passage is scored word by word, outside of SQLite, and both sides have
//! to agree about every word.

/// Replaces a word of small ASCII letters by its stem. Any other word stays as it is.
pub(super) fn stem(word: &mut String) {
    if word.len() <= 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    plural(word);
    past(word);
    final_y(word);
    replace_first(word, DOUBLE_ENDINGS, 0);
    replace_first(word, SINGLE_ENDINGS, 0);
    long_ending(word);
    final_e(word);
}

const DOUBLE_ENDINGS: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

const SINGLE_ENDINGS: &[(&str, &str)] =
    &[("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

const LONG_ENDINGS: &[&str] = &[
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
];

fn plural(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
}

fn past(word: &mut String) {
    if word.ends_with("eed") {
        if measure(&word[..word.len() - 3]) > 0 {
            word.pop();
        }
        return;
    }
    let Some(ending) = ["ed", "ing"].into_iter().find(|ending| word.ends_with(ending)) else { return };
    let length = word.len() - ending.len();
    if !has_vowel(&word[..length]) {
        return;
    }
    word.truncate(length);
    if ["at", "bl", "iz"].iter().any(|end| word.ends_with(end)) {
        word.push('e');
    } else if ends_double(word) && !word.ends_with(['l', 's', 'z']) {
        word.pop();
    } else if measure(word) == 1 && ends_short(word) {
        word.push('e');
    }
}

fn final_y(word: &mut String) {
    if word.ends_with('y') && has_vowel(&word[..word.len() - 1]) {
        word.pop();
        word.push('i');
    }
}

/// Replaces the longest of these endings if what comes before it has a measure of more than `least`.
fn replace_first(word: &mut String, endings: &[(&str, &str)], least: usize) {
    let found = endings.iter().filter(|(ending, _)| has_ending(word, ending)).max_by_key(|(ending, _)| ending.len());
    if let Some((ending, other)) = found
        && measure(&word[..word.len() - ending.len()]) > least
    {
        word.truncate(word.len() - ending.len());
        word.push_str(other);
    }
}

/// Whether a word has an ending. Its last two letters rule most of them out.
fn has_ending(word: &str, ending: &str) -> bool {
    word.as_bytes().last_chunk::<2>() == ending.as_bytes().last_chunk::<2>() && word.ends_with(ending)
}

fn long_ending(word: &mut String) {
    let found = LONG_ENDINGS.iter().filter(|ending| has_ending(word, ending)).max_by_key(|ending| ending.len());
    let Some(ending) = found else { return };
    let before = &word[..word.len() - ending.len()];
    if measure(before) > 1 && (*ending != "ion" || before.ends_with(['s', 't'])) {
        word.truncate(before.len());
    }
}

fn final_e(word: &mut String) {
    if let Some(before) = word.strip_suffix('e') {
        let measure = measure(before);
        if measure > 1 || measure == 1 && !ends_short(before) {
            word.pop();
        }
    }
    if word.ends_with("ll") && measure(&word[..word.len() - 1]) > 1 {
        word.pop();
    }
}

fn is_vowel(word: &[u8], at: usize) -> bool {
    match word[at] {
        b'a' | b'e' | b'i' | b'o' | b'u' => true,
        b'y' => at > 0 && !is_vowel(word, at - 1),
        _ => false,
    }
}

/// How often a vowel is followed by a consonant.
fn measure(word: &str) -> usize {
    let (mut count, mut is_after_vowel) = (0, false);
    for (at, letter) in word.bytes().enumerate() {
        let is_vowel = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => true,
            b'y' => at > 0 && !is_after_vowel,
            _ => false,
        };
        count += usize::from(is_after_vowel && !is_vowel);
        is_after_vowel = is_vowel;
    }
    count
}

fn has_vowel(word: &str) -> bool {
    (0..word.len()).any(|at| is_vowel(word.as_bytes(), at))
}

fn ends_double(word: &str) -> bool {
    let word = word.as_bytes();
    let end = word.len();
    end >= 2 && word[end - 1] == word[end - 2] && !is_vowel(word, end - 1)
}

/// Whether a word ends with consonant, vowel, consonant, and the last is not w, x or y.
fn ends_short(word: &str) -> bool {
    let word = word.as_bytes();
    let end = word.len();
    end >= 3
        && !is_vowel(word, end - 1)
        && is_vowel(word, end - 2)
        && !is_vowel(word, end - 3)
        && !matches!(word[end - 1], b'w' | b'x' | b'y')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the paper.
    #[test]
    fn words_have_the_stems_of_the_paper() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("feed", "feed"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("bled", "bled"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("sized", "size"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("digitizer", "digit"),
            ("vietnamization", "vietnam"),
            ("formaliti", "formal"),
            ("sensibiliti", "sensibl"),
            ("triplicate", "triplic"),
            ("hopefulness", "hope"),
            ("replacement", "replac"),
            ("adoption", "adopt"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("controlling", "control"),
            ("is", "is"),
            ("größer", "größer"),
            ("e0308", "e0308"),
        ] {
            let mut found = word.to_owned();
            stem(&mut found);
            assert_eq!(found, expected, "{word}");
        }
    }

    #[test]
    fn any_word_has_a_stem() {
        for word in ["", "y", "yy", "yyy", "sss", "ing", "eed", "ed", "ies", "ion", "aaaa", "bbbbb"] {
            let mut found = word.to_owned();
            stem(&mut found);
            assert!(found.len() <= word.len() + 1, "{word}");
        }
    }
}
