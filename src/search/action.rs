//! What an agent is reminded of before a command or an edit: that this very command failed the last time, or that a ruling names
//! this file.

use super::passage::PassageKind;
use super::store::Index;

/// The longest command that is kept, in bytes. A longer one is a script that is written once.
const MAX_COMMAND: usize = 1_000;
/// How many rulings that name a file of this name are looked at.
const LOOKED_AT: usize = 20;

/// Something that an agent should know before it acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reminder {
    /// What it says: the error of the last time, or the ruling.
    pub text: String,
    /// When that was, in seconds since 1970.
    pub at: Option<i64>,
    /// What identifies its document in the user's own record, and the run; empty for a transcript.
    pub own_key: String,
    pub run: String,
}

/// A command in the form in which two runs of it are the same: without leading changes of directory and assignments, and with
/// single spaces outside of quotes. `None` for an empty or very long one.
pub(crate) fn normalised(command: &str) -> Option<String> {
    if command.len() > MAX_COMMAND {
        return None;
    }
    let mut line = String::new();
    let (mut quote, mut has_space) = (None, false);
    for c in command.trim().chars() {
        match quote {
            None if c.is_whitespace() => has_space = true,
            _ => {
                if std::mem::take(&mut has_space) {
                    line.push(' ');
                }
                line.push(c);
                match quote {
                    None if matches!(c, '"' | '\'') => quote = Some(c),
                    Some(open) if c == open => quote = None,
                    _ => {}
                }
            }
        }
    }
    let mut rest = line.as_str();
    while let Some(after) = without_prefix(rest) {
        rest = after;
    }
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// The command after `cd DIRECTORY &&`, or after an assignment.
fn without_prefix(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("cd ") {
        let (directory, after) = rest.split_once(" && ")?;
        return (!directory.contains([';', '|', '&'])).then_some(after);
    }
    let (first, after) = line.split_once(' ')?;
    let (name, value) = first.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !value.contains(['"', '\'', '$', '('])).then_some(after)
}

/// What to know before a command: it failed the last time that it ran, so nothing passed since.
pub(crate) fn before_command(index: &Index, command: &str) -> rusqlite::Result<Option<Reminder>> {
    let Some(command) = normalised(command) else { return Ok(None) };
    let Some(last) = index.last_run(&command)?.filter(|last| !last.has_passed) else { return Ok(None) };
    let Some(document) = index.document(last.document)? else { return Ok(None) };
    Ok(Some(Reminder { text: last.error, at: last.at, own_key: document.own_key, run: document.run }))
}

/// What to know before an edit of a file, given by its path relative to the project: the newest ruling that names it.
pub(crate) fn before_edit(index: &Index, path: &str) -> rusqlite::Result<Option<Reminder>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_it = |named: &str| path == named || path.strip_suffix(named).is_some_and(|before| before.ends_with('/'));
    for (named, passage) in index.rulings_naming(name, LOOKED_AT)? {
        let passage = index.passage(passage)?.filter(|passage| passage.kind == PassageKind::Ruling);
        if let Some(passage) = passage.filter(|_| is_it(&named))
            && let Some(document) = index.document(passage.document)?
        {
            let at = passage.at.or(document.facts.started);
            return Ok(Some(Reminder { text: passage.text, at, own_key: document.own_key, run: document.run }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::passage::{Document, Passage, Ran, named_files};
    use crate::search::store::KnownFile;

    #[test]
    fn the_same_command_is_known_in_other_clothes() {
        for same in [
            "cargo test  lexer",
            " cargo test lexer\n",
            "cd /p && cargo test lexer",
            "RUST_LOG=debug CI=1 cargo test lexer",
        ] {
            assert_eq!(normalised(same).as_deref(), Some("cargo test lexer"), "{same}");
        }
        for other in ["cargo test 'a  b'", "cargo test lexer parser", "cd /p; cargo test", "X=$(rm x) cargo test"] {
            assert_eq!(normalised(other).as_deref(), Some(other));
        }
        assert_eq!((normalised("  "), normalised(&"x".repeat(2_000))), (None, None));
    }

    #[test]
    fn files_are_found_in_rulings() {
        assert_eq!(
            named_files(
                "No: never edit `src/gen/api.rs`, (Makefile.am) or ./build.rs:12. See docs/ and e.g. 2.5 of it."
            ),
            ["src/gen/api.rs", "Makefile.am", "build.rs"]
        );
        assert_eq!(named_files("leave .github/workflows/ci.yml, and no file."), [".github/workflows/ci.yml"]);
    }

    #[test]
    fn only_a_failure_that_nothing_passed_since_and_a_ruling_about_the_file_are_told() {
        let mut index = Index::in_memory();
        let mut writer = index.write().unwrap();
        let file = KnownFile::default();
        let ran = |command: &str, at, has_passed| Ran {
            command: command.to_owned(),
            at: Some(at),
            has_passed,
            error: if has_passed { String::new() } else { "error[E0308]".to_owned() },
        };
        let ruling = |text: &str| Passage { kind: PassageKind::Ruling, at: Some(7), text: text.to_owned() };
        let documents = [
            Document {
                ran: vec![ran("cargo test", 1, false), ran("cargo test", 2, true), ran("make", 1, true)],
                passages: vec![ruling("Never edit src/gen/api.rs by hand")],
                ..Document::default()
            },
            Document { ran: vec![ran("make", 3, false)], ..Document::default() },
        ];
        for (number, document) in documents.iter().enumerate() {
            let id = writer.set_file(&format!("/{number}"), "", &file).unwrap();
            writer.add(id, document).unwrap();
        }
        writer.commit().unwrap();
        let command = |command: &str| before_command(&index, command).unwrap();
        assert_eq!(command("cargo test"), None, "it passed since");
        assert_eq!(command("make all"), None);
        let told = command("cd x && make").unwrap();
        assert_eq!((told.text.as_str(), told.at), ("error[E0308]", Some(3)));
        let edit = |path: &str| before_edit(&index, path).unwrap();
        assert_eq!(edit("src/gen/api.rs").unwrap().text, "Never edit src/gen/api.rs by hand");
        assert!(edit("lib/src/gen/api.rs").is_some());
        assert_eq!((edit("src/api.rs"), edit("gen/api.rs")), (None, None));
        // What is gone is forgotten.
        let mut writer = index.write().unwrap();
        writer.remove_file(1).unwrap();
        writer.remove_file(2).unwrap();
        writer.commit().unwrap();
        assert_eq!(
            (before_command(&index, "make").unwrap(), before_edit(&index, "src/gen/api.rs").unwrap()),
            (None, None)
        );
    }
}
