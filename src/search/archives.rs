//! The archived handoffs that may have a piece of text, for `history list --query`.
//!
//! The index only leaves archives out that cannot have the text; the archives themselves decide. It is asked only if it has all of
//! them: the directory of the archives is as it was when the index was last up to date.

use std::collections::HashSet;
use std::path::Path;

use super::store::Index;
use super::{look, sources};
use crate::project::Project;

/// How many letters make a group.
const GROUP: usize = 3;
/// How many groups of a text are looked for. More would leave out little more.
const MAX_GROUPS: usize = 32;

/// The file names of the archives that may have this text. `None` if the index does not know.
pub(crate) fn archives_with(project: &Project, text: &str) -> Option<HashSet<String>> {
    let groups = groups(&text.to_lowercase())?;
    let index = Index::open_existing(project)?;
    let known = look::archives_of_index(&index)?;
    if sources::archives_changed(project) != Some(known) {
        return None;
    }
    let paths = index.archives_with(&groups).ok()?;
    let name = |path: &String| Path::new(path).file_name().and_then(|name| name.to_str()).map(str::to_owned);
    Some(paths.iter().filter_map(name).collect())
}

/// The groups of three letters of a text, as a question to the index. `None` if there is none, or if it has control characters,
/// which the index lacks.
fn groups(text: &str) -> Option<String> {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() < GROUP || letters.iter().any(|c| c.is_control()) {
        return None;
    }
    let quoted = |group: &[char]| format!("\"{}\"", group.iter().collect::<String>().replace('"', "\"\""));
    let groups: Vec<String> = letters.windows(GROUP).take(MAX_GROUPS).map(quoted).collect();
    Some(groups.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::store::KnownFile;

    #[test]
    fn archives_are_found_by_any_piece_of_their_text() {
        let mut index = Index::in_memory();
        let writer = index.write().unwrap();
        let file = KnownFile::default();
        let texts = [Some("say \"no\" to größe 修复了解析器"), Some("nothing of it"), None];
        for (number, text) in texts.iter().enumerate() {
            let id = writer.set_file(&format!("/h/{number}.md"), "", &file).unwrap();
            writer.set_archive_text(id, *text).unwrap();
        }
        writer.commit().unwrap();
        let found = |text: &str| index.archives_with(&groups(text).unwrap()).unwrap();
        for text in ["größ", "y \"no\"", "\" to", "解析器", "修复了解析"] {
            assert_eq!(found(text), ["/h/0.md", "/h/2.md"], "{text}");
        }
        assert_eq!(found("zzz"), ["/h/2.md"], "an archive that is not wholly indexed may have anything");
        assert_eq!((groups("ab"), groups("a\nbc")), (None, None));
        // An archive that is indexed again or removed leaves nothing behind.
        let mut writer = index.write().unwrap();
        writer.remove_documents(1).unwrap();
        writer.set_archive_text(1, Some("other words")).unwrap();
        writer.remove_file(3).unwrap();
        writer.commit().unwrap();
        assert_eq!(index.archives_with(&groups("größ").unwrap()).unwrap(), [""; 0]);
        assert_eq!(index.archives_with(&groups("other").unwrap()).unwrap(), ["/h/0.md"]);
    }
}
