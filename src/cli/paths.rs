//! How paths look to people.

use crate::base::env;

/// The text with `~` for the home directory at the beginning of each path.
pub(super) fn from_home(text: &str) -> String {
    let home = env::home().map(|home| home.display().to_string()).filter(|home| home.len() > 1);
    home.map_or_else(|| text.to_owned(), |home| with_tilde(text, &home))
}

fn with_tilde(text: &str, home: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let (before, after) = (&rest[..at], &rest[at + home.len()..]);
        let begins = before.chars().next_back().is_none_or(|c| c.is_whitespace() || "`\"'(".contains(c));
        let ends = after.chars().next().is_none_or(|c| !c.is_alphanumeric() && !"._-".contains(c));
        shown.push_str(before);
        shown.push_str(if begins && ends { "~" } else { home });
        rest = after;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_paths_below_the_home_directory_are_shortened() {
        let shown = |text: &str| with_tilde(text, "/home/ann");
        assert_eq!(shown("wrote /home/ann/.claude.json, `/home/ann/x` (/home/ann)"), "wrote ~/.claude.json, `~/x` (~)");
        for unchanged in ["/home/anna/x", "/srv/home/ann/x", "/home/ann.old/x", "nothing"] {
            assert_eq!(shown(unchanged), unchanged);
        }
    }
}
