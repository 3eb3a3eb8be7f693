//! Which characters nobody sees, and where they are part of visible text after all.

/// What becomes of a character between its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    /// It is shown.
    No,
    /// It separates lines where no line may be forged: a space is shown.
    Break,
    /// It is removed.
    Yes,
}

impl Hidden {
    /// `before` is the character that was shown last, `after` the one that comes next in the text.
    pub(super) fn of(c: char, before: Option<char>, after: Option<char>) -> Hidden {
        let is_before = |is: fn(char) -> bool| before.is_some_and(is);
        let is_after = |is: fn(char) -> bool| after.is_some_and(is);
        let belongs = match c {
            '\n' | '\t' => true,
            '\u{2028}' | '\u{2029}' => return Hidden::Break,
            '\u{200c}' => is_before(is_joining) && is_after(is_joining),
            // After a virama it makes the form of the letter itself, also at the end of a word.
            '\u{200d}' => {
                is_before(is_joining) && is_after(is_joining)
                    || is_before(is_virama)
                    || is_before(is_end_of_emoji) && is_after(is_pictograph)
            }
            '\u{fe0e}' | '\u{fe0f}' => is_before(is_pictograph) || is_before(is_keycap) && after == Some('\u{20e3}'),
            '\u{180b}'..='\u{180d}' | '\u{180f}' => is_before(is_mongolian_letter),
            _ => !is_control(c) && !is_hidden(c),
        };
        if belongs { Hidden::No } else { Hidden::Yes }
    }
}

/// C0 and C1, newline and tab among them.
pub(super) fn is_control(c: char) -> bool {
    c.is_control()
}

/// Invisible by itself: Unicode's default ignorable characters, bidirectional controls, line separators, and blanks that are
/// not spaces. Some belong to visible text between the right neighbours; `Hidden::of` decides that.
pub(super) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{1345f}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether nobody sees this character where it stands alone: it is hidden, or a control character other than white space.
pub(crate) fn is_invisible(c: char) -> bool {
    is_hidden(c) || is_control(c) && !matches!(c, '\t'..='\r')
}

/// Letters and marks of scripts in which neighbours join or stack, so that a joiner between them is visible.
fn is_joining(c: char) -> bool {
    !is_hidden(c)
        && matches!(c,
            '\u{600}'..='\u{8ff}' // Arabic, Syriac, Thaana, N'Ko, Mandaic and their extensions
            | '\u{900}'..='\u{dff}' // Devanagari to Sinhala
            | '\u{f00}'..='\u{109f}' // Tibetan, Myanmar
            | '\u{1780}'..='\u{18af}' // Khmer, Mongolian
            | '\u{1a20}'..='\u{1aad}' | '\u{1b00}'..='\u{1c4f}' // Tai Tham, Balinese to Lepcha
            | '\u{1cd0}'..='\u{1cff}'
            | '\u{a800}'..='\u{a82f}' | '\u{a840}'..='\u{a87f}' | '\u{a880}'..='\u{a8ff}'
            | '\u{a980}'..='\u{a9df}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' | '\u{abc0}'..='\u{abff}'
            | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' // Arabic presentation forms
            | '\u{10a00}'..='\u{10a5f}' | '\u{10ac0}'..='\u{10aff}' | '\u{10d00}'..='\u{10d3f}'
            | '\u{10f30}'..='\u{10fdf}' | '\u{11000}'..='\u{11d5f}' // Brahmi to Masaram Gondi
            | '\u{1e900}'..='\u{1e95f}')
        && !c.is_ascii_punctuation()
}

/// Marks that take a consonant's vowel away, of the scripts that use a joiner after them.
fn is_virama(c: char) -> bool {
    matches!(
        c,
        '\u{94d}'
            | '\u{9cd}'
            | '\u{a4d}'
            | '\u{acd}'
            | '\u{b4d}'
            | '\u{bcd}'
            | '\u{c4d}'
            | '\u{ccd}'
            | '\u{d4d}'
            | '\u{dca}'
            | '\u{1039}'
            | '\u{17d2}'
    )
}

fn is_mongolian_letter(c: char) -> bool {
    matches!(c, '\u{1820}'..='\u{18aa}')
}

fn is_keycap(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*')
}

/// What can stand before the joiner of an emoji sequence: a pictograph, its variation selector, or a skin tone.
fn is_end_of_emoji(c: char) -> bool {
    is_pictograph(c) || matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// Unicode's `Extended_Pictographic`, with what is reserved for later emoji.
fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{2199}'
        | '\u{21a9}' | '\u{21aa}' | '\u{231a}' | '\u{231b}' | '\u{2328}' | '\u{2388}' | '\u{23cf}'
        | '\u{23e9}'..='\u{23f3}' | '\u{23f8}'..='\u{23fa}' | '\u{24c2}' | '\u{25aa}' | '\u{25ab}' | '\u{25b6}'
        | '\u{25c0}' | '\u{25fb}'..='\u{25fe}' | '\u{2600}'..='\u{2605}' | '\u{2607}'..='\u{2612}'
        | '\u{2614}'..='\u{2685}' | '\u{2690}'..='\u{2705}' | '\u{2708}'..='\u{2712}' | '\u{2714}' | '\u{2716}'
        | '\u{271d}' | '\u{2721}' | '\u{2728}' | '\u{2733}' | '\u{2734}' | '\u{2744}' | '\u{2747}' | '\u{274c}'
        | '\u{274e}' | '\u{2753}'..='\u{2755}' | '\u{2757}' | '\u{2763}'..='\u{2767}' | '\u{2795}'..='\u{2797}'
        | '\u{27a1}' | '\u{27b0}' | '\u{27bf}' | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b07}' | '\u{2b1b}'
        | '\u{2b1c}' | '\u{2b50}' | '\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1f0ff}' | '\u{1f10d}'..='\u{1f10f}' | '\u{1f12f}' | '\u{1f16c}'..='\u{1f171}'
        | '\u{1f17e}' | '\u{1f17f}' | '\u{1f18e}' | '\u{1f191}'..='\u{1f19a}' | '\u{1f1ad}'..='\u{1f1e5}'
        | '\u{1f201}'..='\u{1f20f}' | '\u{1f21a}' | '\u{1f22f}' | '\u{1f232}'..='\u{1f23a}'
        | '\u{1f23c}'..='\u{1f23f}' | '\u{1f249}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1f53d}'
        | '\u{1f546}'..='\u{1f64f}' | '\u{1f680}'..='\u{1f6ff}' | '\u{1f774}'..='\u{1f77f}'
        | '\u{1f7d5}'..='\u{1f7ff}' | '\u{1f80c}'..='\u{1f80f}' | '\u{1f848}'..='\u{1f84f}'
        | '\u{1f85a}'..='\u{1f85f}' | '\u{1f888}'..='\u{1f88f}' | '\u{1f8ae}'..='\u{1f8ff}'
        | '\u{1f90c}'..='\u{1f93a}' | '\u{1f93c}'..='\u{1f945}' | '\u{1f947}'..='\u{1faff}'
        | '\u{1fc00}'..='\u{1fffd}')
}
