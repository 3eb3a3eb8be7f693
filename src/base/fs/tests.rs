//! What the functions of this directory promise.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;

#[test]
fn replacing_keeps_the_mode_and_leaves_no_temporary() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a/b/file.md");
    create_directories(file.parent().unwrap()).unwrap();
    replace(&file, b"one").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    replace(&file, b"two").unwrap();
    assert_eq!(read(&file).unwrap(), b"two");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o666);
    assert_eq!(names(file.parent().unwrap()).unwrap(), ["file.md"]);
}

#[test]
fn creating_never_overwrites() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    assert_eq!(create_new(&file, b"one").unwrap(), Created::Now);
    assert_eq!(create_new(&file, b"two").unwrap(), Created::Before);
    assert_eq!(read(&file).unwrap(), b"one");
    assert_eq!(names(directory.path()).unwrap(), ["f"]);
}

#[test]
fn a_symlink_anywhere_on_the_way_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    fs::create_dir(base.join("real")).unwrap();
    std::os::unix::fs::symlink("real", base.join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", base.join("real/dangling")).unwrap();
    assert!(refuse_symlinks(base, &base.join("real/new/file")).is_ok());
    assert!(refuse_symlinks(base, &base.join("link/file")).is_err());
    assert!(refuse_symlinks(base, &base.join("real/dangling")).is_err());
}

#[test]
fn only_our_own_temporaries_are_swept() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("a");
    fs::create_dir(&deep).unwrap();
    for name in [".agent-handover-x.tmp", "note.tmp", ".agent-handover-notes.md"] {
        fs::write(deep.join(name), "").unwrap();
    }
    sweep_temporaries(directory.path(), Depth::Tree).unwrap();
    assert_eq!(names(&deep).unwrap(), [".agent-handover-notes.md", "note.tmp"]);
}

#[test]
fn climbing_out_by_dots_is_noticed() {
    assert_eq!(tidy(Path::new("a/./b/../c")), Some(PathBuf::from("a/c")));
    assert_eq!(tidy(Path::new("a/../..")), None);
}
