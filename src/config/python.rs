//! How a file of the Python `agent-handover` is recognised, and how that tool names files. Only with such evidence does a
//! file publish on `main`.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::base::fs::Anchor;
use crate::base::text;

/// Where that tool keeps its checkpoint unless its config names another place, which is evidence itself.
const CHECKPOINT: &str = ".agent-handover/checkpoint.json";

/// What shows that a file is that tool's: it has no `[[step]]`, and something that only that tool has.
pub(super) fn evidence(root: &DeTable<'_>, has_checkpoint: bool) -> Option<&'static str> {
    if root.get("step").is_some() {
        return None;
    }
    let table = |name: &str| root.get(name).and_then(|found| found.get_ref().as_table());
    let has = |name: &str, key: &str| table(name).is_some_and(|table: &DeTable<'_>| table.get(key).is_some());
    if root.get("note").is_some_and(|found| matches!(found.get_ref(), DeValue::Table(_))) {
        Some("it has `[note]`")
    } else if has("handover", "checkpoint") {
        Some("it has `checkpoint` in `[handover]`")
    } else if has("backend", "repo_dir") {
        Some("it has `repo_dir` in `[backend]`")
    } else {
        has_checkpoint.then_some("`.agent-handover/checkpoint.json` is there")
    }
}

/// A tag as that tool writes it into file names, if that is a name that we would give to a file, too.
pub(crate) fn tag_in_file_names(tag: &str) -> Option<String> {
    let name = tag.replace('/', "-").replace(' ', "_");
    Some(name).filter(|name| text::safe_file_name(name) == *name)
}

/// Whether that tool left its checkpoint in this project.
pub(super) fn has_checkpoint(root: &Path) -> bool {
    Anchor::new(root).is_regular(Path::new(CHECKPOINT))
}
