//! What the functions of this directory promise.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;

#[test]
fn replacing_keeps_the_mode_and_leaves_no_temporary() {
    let directory = crate::base::scratch::directory();
    let file = directory.path().join("a/b/file.md");
    create_directories(file.parent().unwrap()).unwrap();
    replace(&file, b"one").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    replace(&file, b"two").unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"two");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o666);
    assert_eq!(names(file.parent().unwrap()).unwrap(), ["file.md"]);
}

#[test]
fn creating_never_overwrites() {
    let directory = crate::base::scratch::directory();
    let file = directory.path().join("f");
    let anchor = Anchor::new(directory.path());
    assert_eq!(anchor.create_new(&file, b"one").unwrap(), Created::Now);
    assert_eq!(anchor.create_new(&file, b"two").unwrap(), Created::Before);
    assert_eq!(fs::read(&file).unwrap(), b"one");
    assert_eq!(names(directory.path()).unwrap(), ["f"]);
}

#[test]
fn only_our_own_temporaries_are_swept() {
    let directory = crate::base::scratch::directory();
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
