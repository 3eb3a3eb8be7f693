//! The uncommitted files of a repository: as signals of a handoff, by name and status, and as a mark that tells whether
//! anything about them changed since the last handover. Their contents are never read.

use std::fmt::Write;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::base::fs::{self, Anchor, FileKind};
use crate::base::text;
use crate::git::{self, Change, Git};
use crate::guard::secrets;
use crate::handoff::{Handoff, Value, one_line};

/// The field of a handoff that lists them.
const FIELD: &str = "working_tree";
/// How many files are looked at for a mark. Beyond that nobody can say quickly that nothing changed.
const MOST: usize = 2_000;
/// How many a handoff names.
const NAMED: usize = 200;

/// The brake of this program, which is no work of a session.
fn is_brake(change: &Change) -> bool {
    change.status == '?' && change.path == "PAUSE"
}

/// A mark of the uncommitted files: it differs if a name, a status or a time of change does. `None` if there are too many.
pub(super) fn mark(top: &Path, dirty: &[Change]) -> Option<String> {
    let mut lines = String::new();
    let (mut room, anchor) = (MOST, Anchor::new(top));
    for change in dirty.iter().filter(|change| !is_brake(change)) {
        let _ = writeln!(lines, "{} {} {:?}", change.status, change.path, change.from);
        add_times(&anchor, &top.join(&change.path), &mut lines, &mut room)?;
    }
    Some(text::digest(lines.as_bytes(), 16))
}

/// Adds when a file changed, or every file below a directory: git names an untracked directory once.
fn add_times(anchor: &Anchor, path: &Path, lines: &mut String, room: &mut usize) -> Option<()> {
    *room = room.checked_sub(1)?;
    let changed = fs::modified(path).and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let _ = writeln!(lines, "{}.{}", changed.as_secs(), changed.subsec_nanos());
    let about = anchor.about(path).ok().flatten();
    if about.is_some_and(|about| about.kind == FileKind::Directory) {
        for name in anchor.names(path).unwrap_or_default() {
            let _ = writeln!(lines, "{name}");
            add_times(anchor, &path.join(name), lines, room)?;
        }
    }
    Some(())
}

/// The lines of a handoff for uncommitted files, such as `M src/lib.rs` and `R old -> new`.
pub(crate) fn signals(dirty: &[Change]) -> Vec<String> {
    let line = |change: &Change| {
        let from = change.from.as_ref().map(|from| format!("{from} -> ")).unwrap_or_default();
        one_line(&secrets::clean(&format!("{} {from}{}", change.status, change.path)))
    };
    dirty.iter().filter(|change| !is_brake(change)).take(NAMED).map(line).collect()
}

/// Adds the uncommitted files to a handoff that does not list them.
pub(crate) fn add_to(handoff: &mut Handoff, dirty: &[Change]) {
    let signals: Vec<Value> = signals(dirty).into_iter().map(Value::Text).collect();
    if !signals.is_empty() && handoff.get(FIELD).is_none() {
        handoff.set(FIELD, Value::List(signals));
    }
}

/// The uncommitted files below a project; none without a repository, or if git does not answer.
pub(crate) fn uncommitted(root: &Path) -> Vec<Change> {
    if git::top_level(root).is_none() {
        return Vec::new();
    }
    Git::at(root).dirty().unwrap_or_default()
}
