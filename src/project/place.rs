//! The places that a config names: where they really are, and whether they may be used.

use std::path::{Path, PathBuf};

use crate::base::fs::{About, Anchor, FileError, FileKind};
use crate::base::{env, fs};
use crate::config::Config;
use crate::error::{Error, Result};

/// Resolves the path of a directory of ours: relative to the project, with `~` expanded. A relative path that leaves the
/// project, or that has a link in it, is an error.
pub(crate) fn place(root: &Path, text: &str) -> Result<PathBuf> {
    let path = place_of_others(root, text)?;
    if path.starts_with(root) {
        refuse_link_on_the_way(root, &path, text)?;
    }
    Ok(path)
}

/// Like [`place`], for directories that are not ours, such as that of a command: links inside the project are fine.
pub(crate) fn place_of_others(root: &Path, text: &str) -> Result<PathBuf> {
    if let Some(rest) = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        let home = env::home().ok_or_else(|| Error::failed(format!("`{text}`: there is no home directory")))?;
        return Ok(home.join(rest.trim_start_matches('/')));
    }
    if Path::new(text).is_absolute() {
        return Ok(PathBuf::from(text));
    }
    let path = fs::tidy(Path::new(text)).map(|path| root.join(path));
    path.filter(|path| is_inside(root, path))
        .ok_or_else(|| Error::failed(format!("`{text}` leaves the project `{}`", root.display())))
}

/// Whether a path, where it really is, is inside the project.
pub(super) fn is_inside(root: &Path, path: &Path) -> bool {
    has_no_link_below(root, path)
        || fs::resolve(path).is_ok_and(|real| fs::resolve(root).is_ok_and(|root| real.starts_with(root)))
}

/// Whether a path is below the root by its name, and no link is on the way there: then it is where its name says.
fn has_no_link_below(root: &Path, path: &Path) -> bool {
    let found = path.starts_with(root).then(|| Anchor::new(root).about(path));
    found.is_some_and(|found| found.is_ok_and(|about| about.is_none_or(|about| about.kind != FileKind::Link)))
}

/// Refuses a path with a link in it, naming the path to configure instead.
fn refuse_link_on_the_way(root: &Path, path: &Path, text: &str) -> Result<()> {
    let Err(FileError::NotRegular { path: link, .. }) = refuse_link(&Anchor::new(root), path) else { return Ok(()) };
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let link = name(&link);
    let error = Error::failed(format!("`{text}` goes through the symlink `{link}`"));
    Err(match fs::resolve(path).ok().and_then(|real| real.strip_prefix(fs::real(root)).ok().map(name)) {
        Some(real) => error.hint(format!("write `{real}`, where it leads, or make `{link}` a real directory")),
        None => error.hint(format!("make `{link}` a real directory")),
    })
}

/// Refuses a link at the path or on the way to it. Anything else may be there.
pub(super) fn refuse_link(anchor: &Anchor, path: &Path) -> Result<(), FileError> {
    match anchor.about(path) {
        Ok(Some(About { kind: FileKind::Link, .. })) => anchor.require_regular(path),
        Err(error @ FileError::NotRegular { what: FileKind::Link, .. }) => Err(error),
        // Whoever uses the path reports everything else that may be wrong with it.
        _ => Ok(()),
    }
}

/// The place of a directory or file that the config names. Mistakes are shown in the config.
pub(super) fn place_inside(root: &Path, config: &Config, key: &str, text: &str) -> Result<PathBuf> {
    let wrong = |error: Error| {
        let help = "make it a real directory, or write an absolute path if you mean a place outside";
        let help = error.hints().first().map_or(help, String::as_str);
        config.error_at(key, format!("`{key}`: {}", error.message()), help)
    };
    if is_in_git_directory(root, &place_of_others(root, text).map_err(wrong)?) {
        let message = format!("`{key}`: `{text}` is inside a git directory");
        return Err(config.error_at(key, message, "what is written there could become a hook or a setting of git"));
    }
    place(root, text).map_err(wrong)
}

/// The path of a place with the links of its directory resolved. Below the root there are none: [`place`] refused them, and
/// one that appears later must not lead elsewhere.
pub(super) fn resolve_place(root: &Path, path: PathBuf) -> PathBuf {
    if let Ok(below) = path.strip_prefix(root) {
        return fs::real(root).join(below);
    }
    let directory = path.parent().and_then(|directory| fs::resolve(directory).ok());
    match (directory, path.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => path,
    }
}

/// Whether a path, by name or where it really is, leads into a `.git` below the project root.
fn is_in_git_directory(root: &Path, path: &Path) -> bool {
    let is_inside = |root: &Path, path: &Path| {
        let below = path.strip_prefix(root).unwrap_or(path);
        below.iter().any(|name| name.eq_ignore_ascii_case(".git"))
    };
    let real = |path: &Path| fs::resolve(path).unwrap_or_else(|_| path.to_path_buf());
    is_inside(root, path) || !has_no_link_below(root, path) && is_inside(&real(root), &real(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let directory = crate::base::scratch::directory();
        for path in paths {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        directory
    }

    #[test]
    fn a_symlink_is_refused_and_one_inside_names_the_real_path() {
        let tree = tree(&["root/inside/x", "outside/x"]);
        let root = tree.path().join("root");
        std::os::unix::fs::symlink("../outside", root.join("out")).unwrap();
        std::os::unix::fs::symlink("inside", root.join("in")).unwrap();
        assert!(place(&root, "out/memory").is_err());
        let inside = place(&root, "in/memory").unwrap_err();
        assert_eq!(inside.message(), "`in/memory` goes through the symlink `in`");
        assert_eq!(inside.hints(), ["write `inside/memory`, where it leads, or make `in` a real directory"]);
        assert!(place_of_others(&root, "in/memory").is_ok());
        assert!(place(&root, root.join("in").to_str().unwrap()).is_err());
        // Links above the root are the person's own.
        std::os::unix::fs::symlink("root", tree.path().join("alias")).unwrap();
        assert!(place(&tree.path().join("alias"), "inside").is_ok());
        assert!(place(&root, "not/there/yet").is_ok());
        assert_eq!(place(&root, "/elsewhere").unwrap(), Path::new("/elsewhere"));
    }
}
