//! The project that a client works in: one of its roots, else its working directory. Never another one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::fs;
use crate::config;
use crate::error::{Error, Result};
use crate::project::{self, Options, Project};
use crate::search::{self, Freshness, Index, Look};
use crate::steps;

/// The directory that the client works in. A working directory inside one of the roots is more exact than the root. Editors
/// start servers in the home directory; then the first root with a project counts.
pub(super) fn directory(roots: &[PathBuf], cwd: &Path) -> PathBuf {
    let cwd = fs::real(cwd);
    let is_inside = |root: &PathBuf| cwd.starts_with(root);
    if roots.is_empty() || roots.iter().any(is_inside) {
        return cwd;
    }
    let project = roots.iter().find(|root| project::is_for_hooks(root));
    project.or(roots.first()).cloned().unwrap_or(cwd)
}

/// The directory that a root names, if it is one of this machine.
pub(super) fn of_uri(uri: &str) -> Option<PathBuf> {
    let path = without_start(uri, "file:")?;
    // After two slashes comes the name of the machine, which is empty or "localhost" for this one.
    let path = match path.strip_prefix("//") {
        Some(path) => without_start(path, "localhost").filter(|rest| rest.starts_with('/')).unwrap_or(path),
        None => path,
    };
    let path = PathBuf::from(decoded(path)?);
    (path.is_absolute() && fs::is_directory(&path)).then(|| fs::real(&path))
}

/// What follows these letters, in any case.
fn without_start<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    text.get(..start.len()).filter(|found| found.eq_ignore_ascii_case(start)).map(|_| &text[start.len()..])
}

/// A path with its `%xx` replaced. `None` if that is not UTF-8.
fn decoded(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let code = (*byte == b'%').then(|| path.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                decoded.push(code);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).ok().filter(|path| !path.contains('\0'))
}

/// Opens the project around a directory like a hook does: nobody typed a command.
pub(super) fn open(directory: &Path, config: Option<&Path>) -> Result<Project> {
    if !project::is_for_hooks(directory) {
        let what = format!("`{}` is not a project, so nothing is remembered here", directory.display());
        return Err(
            Error::failed(what).hint("a git repository is one, and so is a directory after `agent-handover init`")
        );
    }
    // If the user's own config cannot be read, nobody knows what it keeps us out of.
    if config::user_config()?.ignores(directory) {
        let what = format!("`{}` is in a directory that the user's own config ignores", directory.display());
        return Err(Error::failed(what).hint("nothing is read or written here; do not ask again"));
    }
    let options = Options { config: config.map(Path::to_path_buf), is_unattended: true, ..Options::default() };
    Project::open(directory, &options, &steps::vocabulary())
}

/// Refuses a project whose config puts memory, history or state into unusual places that nobody allowed.
pub(super) fn refuse_closed(project: &Project) -> Result<()> {
    match project.unattended_places().notice() {
        Some(notice) => Err(Error::failed(notice).hint("only the user can decide that; tell them")),
        None => Ok(()),
    }
}

/// The index of a project, as new as it can be made in this time.
pub(super) fn index(project: &Project, look: Look, limit: Duration) -> (Index, Freshness) {
    // Without a place for the index, it is built in memory.
    let _ = project.prepare();
    search::bring_up_to_date(Index::open(project), project, look, limit, &mut |_, _| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_works_in_its_working_directory_if_that_is_inside_a_root_and_else_in_a_root() {
        let world = tempfile::tempdir().unwrap();
        let world = fs::real(world.path());
        let [one, two, home] = ["one", "two", "home"].map(|name| world.join(name));
        for path in [&one.join("src"), &two.join(".git"), &home] {
            std::fs::create_dir_all(path).unwrap();
        }
        std::fs::write(two.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(directory(&[], &home), home);
        assert_eq!(directory(&[two.clone(), one.clone()], &one.join("src")), one.join("src"));
        assert_eq!(directory(std::slice::from_ref(&one), &home), one);
        assert_eq!(directory(&[two.clone(), one], &home), two);
    }

    #[test]
    fn roots_are_directories_of_this_machine() {
        let world = tempfile::tempdir().unwrap();
        let path = fs::real(world.path()).join("a b%");
        std::fs::create_dir_all(&path).unwrap();
        let uri = format!("file://{}", path.display()).replace('%', "%25").replace(' ', "%20");
        assert_eq!(of_uri(&uri), Some(path.clone()));
        for same in ["file://localhost", "FILE://LOCALHOST", "file:", "File://", "file:////"] {
            assert_eq!(of_uri(&uri.replace("file://", same)), Some(path.clone()), "{same}");
        }
        for wrong in
            ["file:///no/such/place", "file://other/tmp", "https://example.org/", "/tmp", "file://%00", "file://%ff"]
        {
            assert_eq!(of_uri(wrong), None, "{wrong}");
        }
    }
}
