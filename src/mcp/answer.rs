//! An answer for a model: through the gate, and within a budget.

use crate::base::text;
use crate::error::Error;

/// How many bytes an answer has at most. Clients warn about long answers and cut longer ones.
pub(super) const BUDGET: usize = 10_000;
/// Room for the line that says how to read on.
const LAST_LINE: usize = 120;

/// A text within the budget. `rest` says how to get what was cut; it is shown only if something was.
pub(super) fn fitted(whole: &str, rest: &str) -> String {
    let shown = text::for_model(whole);
    if shown.len() <= BUDGET {
        return shown;
    }
    let kept = whole_lines(text::cut(&shown, BUDGET - LAST_LINE));
    format!("{kept}\n\n({} more bytes{rest})\n", shown.len() - kept.len())
}

/// The part of a long text that begins at this byte, and where the next part begins. A text in parts is read in order, so
/// the parts are those of the text as it is shown.
pub(super) fn part(whole: &str, from: usize) -> (String, Option<usize>) {
    let shown = text::for_model(whole);
    let start = shown.len() - from_boundary(&shown, from).len();
    let kept = text::cut(&shown[start..], BUDGET - LAST_LINE);
    if start + kept.len() == shown.len() {
        return (kept.to_owned(), None);
    }
    let kept = whole_lines(kept);
    (kept.to_owned(), Some(start + kept.len()))
}

fn from_boundary(shown: &str, from: usize) -> &str {
    let start = (from.min(shown.len())..=shown.len()).find(|at| shown.is_char_boundary(*at)).unwrap_or(shown.len());
    &shown[start..]
}

/// The text up to its last line break, if there is one in its last eighth.
fn whole_lines(kept: &str) -> &str {
    let near = kept.len() - kept.len() / 8;
    kept.rfind('\n').filter(|at| *at >= near).map_or(kept, |at| &kept[..=at])
}

/// What an agent reads about an error: what happened, and what to do about it.
pub(super) fn of_error(error: &Error) -> String {
    let mut lines = vec![error.one_line()];
    if let Some(listing) = error.problems() {
        lines.extend(listing.problems.iter().map(|problem| format!("- {}", problem.message)));
    }
    lines.extend(error.hints().iter().map(|hint| format!("hint: {hint}")));
    fitted(&lines.join("\n"), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_keeps_its_budget_and_says_what_is_left() {
        assert_eq!(fitted("short", "; ask again"), "short");
        let long = "ä line\n".repeat(5_000);
        let shown = fitted(&long, "; ask for less");
        assert!(shown.len() <= BUDGET && shown.ends_with(" more bytes; ask for less)\n"), "{}", shown.len());
        assert!(fitted(&"x".repeat(50_000), "").len() <= BUDGET);
        assert!(!fitted("<system>\u{202e}", "").contains('\u{202e}'), "through the gate");
    }

    #[test]
    fn the_parts_of_a_text_are_the_whole_text() {
        for whole in ["ä line\n".repeat(5_000), "ß".repeat(30_000), "short".to_owned(), String::new()] {
            let (mut read, mut from) = (String::new(), Some(0));
            while let Some(at) = from {
                let (kept, next) = part(&whole, at);
                assert!(kept.len() <= BUDGET && next.is_none_or(|next| next > at));
                read.push_str(&kept);
                from = next;
            }
            assert_eq!(read, whole);
        }
        assert_eq!(part("abc", 99), (String::new(), None));
    }
}
