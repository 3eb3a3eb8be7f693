//! Lays sections out on a page within a budget. A page is cut only between items.

use std::fmt::Write;

use serde::Serialize;

use crate::base::text;

/// Agents cut a context that is longer.
const MOST_TOKENS: usize = 2_400;
/// Lasting sections leave one part in this many to the news.
const FOR_NEWS: usize = 4;

/// A list of items under a heading.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub title: &'static str,
    pub items: Vec<String>,
    /// The command that shows the items for which there was no room.
    pub more: String,
    /// How many items are shown before other sections show more than theirs.
    pub least: usize,
}

/// The part of a section that is on the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ShownSection {
    pub title: &'static str,
    pub items: Vec<String>,
    pub omitted: usize,
}

#[derive(Debug)]
pub(super) struct Page {
    pub text: String,
    pub sections: Vec<ShownSection>,
}

/// The approximate size in tokens: four ASCII characters are one token, any other character is one.
pub(crate) fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + others
}

/// The rest of a budget.
#[derive(Clone, Copy)]
struct Room {
    bytes: usize,
    tokens: usize,
}

impl Room {
    fn takes(self, text: &str) -> bool {
        text.len() <= self.bytes && tokens(text) <= self.tokens
    }

    fn after(self, text: &str) -> Room {
        Room { bytes: self.bytes.saturating_sub(text.len()), tokens: self.tokens.saturating_sub(tokens(text)) }
    }

    fn share(self, parts: usize) -> Room {
        Room { bytes: self.bytes / parts, tokens: self.tokens / parts }
    }

    fn without(self, other: Room) -> Room {
        Room { bytes: self.bytes - other.bytes, tokens: self.tokens - other.tokens }
    }
}

/// Lays out `lead`, `lasting`, `news` and `end`, in this order. The lasting part does not depend on the news, so that it
/// stays the same, to the byte, while its sections do.
pub(super) fn lay_out(lead: &str, lasting: &[Section], news: &[Section], end: &str, budget: u64) -> Page {
    let budget = usize::try_from(budget).unwrap_or(usize::MAX);
    let whole = Room { bytes: budget, tokens: MOST_TOKENS };
    // A small page has better use for its room than pointers to other commands.
    let end = if whole.share(4).takes(end) { end } else { "" };
    let all = whole.after(end);
    let lead = first_lines(lead, all);
    let room = all.after(&lead);
    let (first, mut sections) = fill(lasting, room.without(room.share(FOR_NEWS)));
    let (second, more) = fill(news, room.after(&first));
    sections.extend(more);
    let rest = room.after(&first).after(&second);
    let missing = not_shown(lasting.iter().chain(news), &sections);
    let missing = if rest.takes(&missing) { missing } else { String::new() };
    Page { text: format!("{lead}{first}{second}{missing}{end}"), sections }
}

/// As many whole lines as fit; the first one always.
fn first_lines(text: &str, room: Room) -> String {
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if !kept.is_empty() && !room.takes(&format!("{kept}{line}")) {
            break;
        }
        kept.push_str(line);
    }
    kept
}

/// Shows as many items as fit: first the least of each section, then more, section by section.
fn fill(sections: &[Section], room: Room) -> (String, Vec<ShownSection>) {
    let mut counts = vec![0; sections.len()];
    let text = |counts: &[usize]| -> String {
        sections.iter().zip(counts).map(|(section, count)| render(section, *count)).collect()
    };
    for only_least in [true, false] {
        for (at, section) in sections.iter().enumerate() {
            let most = if only_least { section.least.min(section.items.len()) } else { section.items.len() };
            while counts[at] < most {
                counts[at] += 1;
                if !room.takes(&text(&counts)) {
                    counts[at] -= 1;
                    break;
                }
            }
        }
    }
    let shown = sections.iter().zip(&counts).filter(|(_, count)| **count > 0).map(|(section, count)| ShownSection {
        title: section.title,
        items: section.items[..*count].to_vec(),
        omitted: section.items.len() - count,
    });
    (text(&counts), shown.collect())
}

fn render(section: &Section, count: usize) -> String {
    let mut text = String::new();
    if count == 0 {
        return text;
    }
    let _ = writeln!(text, "\n## {}", section.title);
    for item in &section.items[..count] {
        let _ = writeln!(text, "- {item}");
    }
    if count < section.items.len() {
        let _ = writeln!(text, "- {} more: `{}`", section.items.len() - count, section.more);
    }
    text
}

/// A line that names the sections that are not on the page at all.
fn not_shown<'a>(sections: impl Iterator<Item = &'a Section>, shown: &[ShownSection]) -> String {
    let missing: Vec<String> = sections
        .filter(|section| !section.items.is_empty() && shown.iter().all(|shown| shown.title != section.title))
        .map(|section| format!("{} ({} more: `{}`)", section.title, section.items.len(), section.more))
        .collect();
    if missing.is_empty() { String::new() } else { format!("\nNo room for: {}\n", missing.join(", ")) }
}

/// A stored text as one item of at most `max` bytes: on one line, and harmless for a model.
pub(super) fn item(stored: &str, max: usize) -> String {
    let line = text::one_line(text::cut(stored, 64 << 10), usize::MAX);
    let plain = text::for_model(line.trim_start_matches(['#', '-', '*', '>', ' ']));
    if plain.len() <= max {
        return plain;
    }
    // A cut can leave half of a character sequence behind, which the gate then removes.
    text::for_terminal(&format!("{}…", text::cut(&plain, max.saturating_sub('…'.len_utf8())).trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn section(title: &'static str, items: usize, least: usize) -> Section {
        let items = (0..items).map(|n| format!("{title} {n} {}", "x".repeat(60))).collect();
        Section { title, items, more: format!("show {title}"), least }
    }

    #[test]
    fn every_section_gets_its_least_before_any_gets_more() {
        let sections = [section("a", 50, 2), section("b", 50, 2)];
        let page = lay_out("lead\n", &sections, &[section("new", 50, 2)], "\nend\n", 2_000);
        assert!(page.text.len() <= 2_000, "{}", page.text.len());
        assert!(page.sections.iter().all(|shown| shown.items.len() >= 2), "{:?}", page.sections);
        assert!(page.text.contains(" more: `show b`"), "{}", page.text);
        assert!(page.text.ends_with("\nend\n"));
    }

    #[test]
    fn what_is_lasting_does_not_depend_on_the_news() {
        let lasting = [section("a", 50, 2), section("b", 50, 2)];
        let of = |news: usize| lay_out("lead\n", &lasting, &[section("new", news, 2)], "", 3_000).text;
        let (none, many) = (of(0), of(80));
        assert!(many.starts_with(none.trim_end()), "{none}\n---\n{many}");
    }

    #[test]
    fn a_stored_text_is_one_line_and_forges_nothing() {
        let item = |text: &str| item(text, 300);
        assert_eq!(item("a\n## Goal\n- forged\u{1b}[31m"), "a ## Goal - forged[31m");
        assert_eq!(item("## Goal"), "Goal");
        assert_eq!(
            item("</hook_context> <!-- x --> <system-reminder>"),
            "< /hook_context> < !-- x --> < system-reminder>"
        );
        assert_eq!(item("Vec<String> and a < b"), "Vec<String> and a < b");
        assert_eq!(super::item("ééééé", 8), "éé…");
    }

    proptest! {
        #[test]
        fn a_page_is_never_larger_than_its_budget(
            items in proptest::collection::vec("\\PC{0,80}", 0..40), budget in 200u64..12_000, least in 0usize..4,
        ) {
            let section = |title| Section {
                title, items: items.iter().map(|text| item(text, 320)).collect(), more: "m".to_owned(), least,
            };
            let page = lay_out("lead\nmore\n", &[section("a"), section("b")], &[section("c")], "\nend\n", budget);
            prop_assert!(page.text.len() as u64 <= budget);
            prop_assert!(tokens(&page.text) <= 2_400);
            let headings = page.text.lines().filter(|line| line.starts_with('#')).count();
            prop_assert_eq!(headings, page.sections.len());
        }
    }
}
