//! A planned change as a person reads it.

use std::path::Path;

/// A unified diff. `/dev/null` stands for a missing file. Without a difference the diff is empty.
pub(super) fn unified(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let name = path.display().to_string();
    let side = |text: Option<&str>| if text.is_some() { name.clone() } else { "/dev/null".to_owned() };
    let (old, new) = (side(before), side(after));
    let diff = similar::TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    diff.unified_diff().context_radius(3).header(&old, &new).to_string()
}
