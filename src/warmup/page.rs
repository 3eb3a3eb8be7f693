//! A page of sections, cut at the boundaries of items to what may be spent.

use std::fmt::Write;

use serde::Serialize;

use crate::base::text;

/// No agent takes more without cutting it itself.
const MOST_TOKENS: usize = 2_400;
/// Of this the part that is the same from session to session leaves some to what is new.
const FOR_NEWS: usize = 4;

/// A list of items under a heading.
#[derive(Clone, Debug, Default)]
pub struct Section {
    pub title: &'static str,
    pub items: Vec<String>,
    /// The command that shows those for which there was no room.
    pub more: String,
    /// How many are shown before other sections show more.
    pub least: usize,
}

/// A section as it is on the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    pub title: &'static str,
    pub items: Vec<String>,
    pub omitted: usize,
}

#[derive(Debug)]
pub struct Page {
    pub text: String,
    pub sections: Vec<Shown>,
}

/// What a text costs, roughly: four ASCII characters are a token, any other character is one.
pub fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + others
}

/// What may still be spent.
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

/// The page: `lead`, then what is `lasting`, then the `news`, then the `end`. What is lasting does not depend on the news, so
/// that it is the same, to the byte, as long as it says the same.
pub fn lay_out(lead: &str, lasting: &[Section], news: &[Section], end: &str, budget: u64) -> Page {
    let budget = usize::try_from(budget).unwrap_or(usize::MAX);
    let whole = Room { bytes: budget, tokens: MOST_TOKENS };
    // Where there is little room, pointers elsewhere are not what it is for.
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

/// As many whole lines as there is room for, and always the first.
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

fn fill(sections: &[Section], room: Room) -> (String, Vec<Shown>) {
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
    let shown = sections.iter().zip(&counts).filter(|(_, count)| **count > 0).map(|(section, count)| Shown {
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

/// The sections of which nothing is on the page.
fn not_shown<'a>(sections: impl Iterator<Item = &'a Section>, shown: &[Shown]) -> String {
    let missing: Vec<String> = sections
        .filter(|section| !section.items.is_empty() && shown.iter().all(|shown| shown.title != section.title))
        .map(|section| format!("{} ({} more: `{}`)", section.title, section.items.len(), section.more))
        .collect();
    if missing.is_empty() { String::new() } else { format!("\nNo room for: {}\n", missing.join(", ")) }
}

/// A stored text as one item: one line, as a model may read it, and not longer than `max` bytes.
pub fn item(stored: &str, max: usize) -> String {
    let line = text::one_line(text::cut(stored, 64 << 10), usize::MAX);
    let plain = text::for_model(line.trim_start_matches(['#', '-', '*', '>', ' ']));
    if plain.len() <= max {
        return plain;
    }
    // A cut can leave half of a sequence behind, which then is not shown either.
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
        assert_eq!(item("<system>@~/.ssh/id\u{e0041}"), "< system>@ ~/.ssh/id");
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
