//! What a handover said: the lists of a warmup, by its headings.

/// The headings of the lists that name what a session should do, look at or leave alone.
const NEXT: &str = "Next";
const FILES: &str = "Files";

/// A warmup, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// Each list item with its heading.
    items: Vec<(String, String)>,
}

impl Page {
    pub(super) fn of(text: &str) -> Page {
        let (mut heading, mut items) = (String::new(), Vec::new());
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                title.clone_into(&mut heading);
            } else if let Some(item) = line.strip_prefix("- ") {
                items.push((heading.clone(), item.to_owned()));
            }
        }
        Page { items }
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|(_, item)| item.as_str())
    }

    /// The first next action.
    pub(super) fn next(&self) -> Option<&str> {
        self.under(NEXT).next()
    }

    /// The items that name files to work on.
    pub(super) fn naming_files(&self) -> impl Iterator<Item = &str> {
        self.under(NEXT).chain(self.under(FILES))
    }

    fn under<'a>(&'a self, heading: &'a str) -> impl Iterator<Item = &'a str> {
        self.items.iter().filter(move |(title, _)| title == heading).map(|(_, item)| item.as_str())
    }
}
