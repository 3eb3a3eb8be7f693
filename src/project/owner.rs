//! When the files of another user are accepted: their owner could change them at any time, and they can make this program run
//! commands. git asks the same question, so its answer counts here, too.

use std::path::Path;

use crate::base::{env, fs};
use crate::config::ConfigFile;
use crate::git::Git;
use crate::guard::consent;

/// Whether a config of another user may be read: a person allowed exactly this text, or trusts the directory.
pub(super) fn may_read_config(file: &ConfigFile, text: &str) -> bool {
    consent::is_allowed(&file.path, text) || file.root().is_some_and(is_safe)
}

/// Whether git's global `safe.directory` lists a directory. The repository's own configuration is not asked.
pub(super) fn is_safe(directory: &Path) -> bool {
    let Some(home) = env::home() else { return false };
    let arguments = ["config", "--global", "--null", "--type=path", "--get-all", "safe.directory"];
    let Ok(answer) = Git::at(&home).ask(&arguments) else { return false };
    answer.succeeded && lists(&String::from_utf8_lossy(&answer.stdout), &fs::real(directory))
}

/// Reads the values as git does: an empty one clears the list, `*` is every directory, `x/*` all below `x`.
fn lists(values: &str, directory: &Path) -> bool {
    values.split_terminator('\0').fold(false, |is_listed, value| match value.strip_suffix("/*") {
        _ if value.is_empty() => false,
        _ if value == "*" => true,
        Some(above) => is_listed || directory.starts_with(above),
        None => is_listed || directory == Path::new(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_directories_are_read_as_git_does() {
        let project = Path::new("/srv/code/parser");
        for (values, expected) in [
            ("", false),
            ("/srv/code/parser\0", true),
            ("/srv/code\0", false),
            ("/srv/code/*\0", true),
            ("*\0", true),
            ("*\0\0", false),
            ("/a\0\0/srv/code/parser\0", true),
        ] {
            assert_eq!(lists(values, project), expected, "{values:?}");
        }
    }
}
