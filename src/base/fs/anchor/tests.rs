//! What an anchor promises, with real links, pipes, devices and sparse files.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::{Anchor, FileError, FileKind};
use crate::base::fs::{Created, Depth};
use crate::error::{Category, Error};

const SECRET: &str = "s3cr3t-of-the-victim";

/// A project beside a private file and a private directory.
struct Scene {
    directory: tempfile::TempDir,
    anchor: Anchor,
}

impl Scene {
    fn new() -> Scene {
        let directory = crate::base::scratch::directory();
        fs::create_dir_all(directory.path().join("project/memory/layer2")).unwrap();
        fs::create_dir(directory.path().join("private")).unwrap();
        fs::write(directory.path().join("private/key"), SECRET).unwrap();
        let anchor = Anchor::new(&directory.path().join("project"));
        Scene { directory, anchor }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.anchor.path().join(path)
    }

    fn private(&self, name: &str) -> PathBuf {
        self.directory.path().join("private").join(name)
    }
}

fn kind_of(error: FileError) -> FileKind {
    match error {
        FileError::NotRegular { what, .. } => what,
        other => panic!("{other:?}"),
    }
}

/// Every way to read or write one file, each reduced to its error.
fn every_way(anchor: &Anchor, path: &Path) -> Vec<(&'static str, Option<FileError>)> {
    vec![
        ("open", anchor.open(path).err()),
        ("read", anchor.read(path).err()),
        ("read_if_exists", anchor.read_if_exists(path).err()),
        ("read_text", anchor.read_text(path, 100).err()),
        ("read_start", anchor.read_start(path, 100).err()),
        ("read_ends", anchor.read_ends(path, 100).err()),
        ("read_seen", anchor.read_seen(path, 100).err()),
        ("require_regular", anchor.require_regular(path).err()),
        ("replace", anchor.replace(path, b"ours").err()),
        ("write_marker", anchor.write_marker(path, b"ours").err()),
        ("open_private", anchor.open_private(path).err()),
        ("append_to_log", anchor.append_to_log(path, "ours", 10).err()),
    ]
}

#[test]
fn a_regular_file_is_read_by_a_relative_and_by_a_whole_path() {
    let scene = Scene::new();
    fs::write(scene.at("memory/a.md"), "text").unwrap();
    let relative = Path::new("memory/a.md");
    for path in [relative, &scene.at("memory/a.md"), Path::new("./memory/./a.md")] {
        assert_eq!(scene.anchor.read(path).unwrap(), b"text");
        assert_eq!(scene.anchor.read_text(path, 4).unwrap().as_deref(), Some("text"));
    }
    assert_eq!(scene.anchor.read_start(relative, 2).unwrap(), b"te");
    assert_eq!(scene.anchor.read_ends(relative, 1).unwrap(), Some((b"t".to_vec(), b"t".to_vec())));
    let (content, seen) = scene.anchor.read_seen(relative, 100).unwrap().unwrap();
    assert!(content == b"text" && seen.is_still(&scene.at("memory/a.md")));
    let about = scene.anchor.about(relative).unwrap().unwrap();
    assert_eq!((about.kind, about.length), (FileKind::Regular, 4));
    assert_eq!(about.modified, fs::metadata(scene.at("memory/a.md")).unwrap().modified().unwrap());
}

#[test]
fn nothing_at_the_path_is_not_an_error_for_those_who_ask() {
    let scene = Scene::new();
    fs::write(scene.at("file"), "").unwrap();
    for path in ["absent", "absent/deep/file", "file/below"] {
        let path = Path::new(path);
        assert!(scene.anchor.read_if_exists(path).unwrap().is_none());
        assert!(scene.anchor.read_ends(path, 10).unwrap().is_none());
        assert!(scene.anchor.about(path).unwrap().is_none());
        assert_eq!(scene.anchor.names(path).unwrap(), [""; 0]);
        assert!(scene.anchor.read(path).unwrap_err().is_absent());
        assert!(scene.anchor.require_regular(path).is_ok());
    }
    let nowhere = Anchor::new(&scene.at("no/such/anchor"));
    assert!(nowhere.read_if_exists(Path::new("x")).unwrap().is_none());
}

#[test]
fn a_link_is_refused_wherever_it_is_and_its_target_is_neither_read_nor_written() {
    let scene = Scene::new();
    symlink(scene.private("key"), scene.at("memory/direct")).unwrap();
    symlink("../../private/key", scene.at("memory/relative")).unwrap();
    symlink("direct", scene.at("memory/chain")).unwrap();
    symlink(scene.private(""), scene.at("linked")).unwrap();
    symlink("/proc/self/environ", scene.at("memory/environ")).unwrap();
    symlink("/dev/zero", scene.at("memory/zero")).unwrap();
    symlink("nowhere", scene.at("memory/dangling")).unwrap();
    let paths = [
        "memory/direct",
        "memory/relative",
        "memory/chain",
        "linked/key",
        "memory/environ",
        "memory/zero",
        "memory/dangling",
    ];
    for path in paths {
        for (way, error) in every_way(&scene.anchor, Path::new(path)) {
            let error = error.unwrap_or_else(|| panic!("{way} {path} was not refused"));
            let shown = error.path().to_path_buf();
            assert_eq!(kind_of(error), FileKind::Link, "{way} {path}");
            assert!(scene.at(path).starts_with(&shown), "{way} {path}: {}", shown.display());
        }
    }
    assert_eq!(fs::read_to_string(scene.private("key")).unwrap(), SECRET);
    assert_eq!(fs::read_dir(scene.private("")).unwrap().count(), 1);
    assert!(!scene.at("memory/nowhere").exists());
}

#[test]
fn a_linked_directory_is_neither_listed_nor_locked_nor_filled_nor_swept() {
    let scene = Scene::new();
    fs::write(scene.private(".agent-handover-1.tmp"), "").unwrap();
    symlink(scene.private(""), scene.at("linked")).unwrap();
    let linked = Path::new("linked");
    let anchor = &scene.anchor;
    assert_eq!(kind_of(anchor.names(linked).unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.names_at_most(linked, 9).unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.count_names(linked, "").unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.create_directories(linked).unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.create_directories(&linked.join("a/b")).unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.create_log_directory(&linked.join("log")).unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.create_new(&linked.join("new"), b"").unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.create_flag(&linked.join("new"), b"").unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.create_private_if_absent(&linked.join("new")).unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.remove_file(&linked.join("key")).unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.rename(&linked.join("key"), Path::new("mine")).unwrap_err()), FileKind::Link);
    assert_eq!(kind_of(anchor.sweep_temporaries(linked, Depth::Tree).unwrap_err()), FileKind::Link);
    assert!(anchor.lock_directory(linked).is_err_and(|error| error.message().contains("is a symlink")));
    anchor.sweep_temporaries(Path::new(""), Depth::Tree).unwrap();
    assert!(!anchor.is_directory(linked) && anchor.is_directory(Path::new("memory")));
    assert_eq!(fs::read_dir(scene.private("")).unwrap().count(), 2);
}

#[test]
fn a_link_above_or_at_the_anchor_is_the_persons_own() {
    let scene = Scene::new();
    fs::write(scene.at("memory/a.md"), "text").unwrap();
    let alias = scene.directory.path().join("alias");
    symlink("project", &alias).unwrap();
    let anchor = Anchor::new(&alias);
    assert_eq!(anchor.read(&alias.join("memory/a.md")).unwrap(), b"text");
    anchor.replace(Path::new("memory/a.md"), b"new").unwrap();
    assert_eq!(fs::read(scene.at("memory/a.md")).unwrap(), b"new");
}

#[test]
fn neither_dots_nor_another_absolute_path_leave_the_anchor() {
    let scene = Scene::new();
    let outside = [PathBuf::from("../private/key"), PathBuf::from("memory/../../private/key"), scene.private("key")];
    for path in outside {
        for (way, error) in every_way(&scene.anchor, &path) {
            assert!(matches!(error, Some(FileError::Outside { .. })), "{way} {}", path.display());
        }
        assert!(matches!(scene.anchor.names(&path), Err(FileError::Outside { .. })));
        assert!(matches!(scene.anchor.create_directories(&path), Err(FileError::Outside { .. })));
    }
    assert_eq!(fs::read_to_string(scene.private("key")).unwrap(), SECRET);
}

#[test]
fn special_files_are_refused_without_waiting() {
    let scene = Scene::new();
    let make = |program: &str, path: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(program);
        command.arg(scene.at(path)).args(arguments).stderr(std::process::Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    assert!(make("mkfifo", "fifo", &[]));
    let _socket = UnixListener::bind(scene.at("socket")).unwrap();
    let mut specials = vec![("fifo", FileKind::Fifo), ("socket", FileKind::Socket), ("memory", FileKind::Directory)];
    // Only root can make a device; 1, 5 is /dev/zero.
    if make("mknod", "zero", &["c", "1", "5"]) {
        specials.push(("zero", FileKind::Device));
    }
    for (path, kind) in specials {
        for (way, error) in every_way(&scene.anchor, Path::new(path)) {
            let error = error.unwrap_or_else(|| panic!("{way} {path} was not refused"));
            assert_eq!(kind_of(error), kind, "{way} {path}");
        }
    }
}

#[test]
fn a_file_that_is_too_large_is_refused_without_being_read() {
    let scene = Scene::new();
    let sparse = scene.at("sparse");
    File::create(&sparse).unwrap().set_len(1 << 30).unwrap();
    let path = Path::new("sparse");
    for error in [
        scene.anchor.read(path).err(),
        scene.anchor.read_if_exists(path).err(),
        scene.anchor.read_text(path, 1 << 20).err(),
        scene.anchor.read_seen(path, 1 << 20).err(),
    ] {
        assert!(matches!(error, Some(FileError::TooLarge { .. })), "{error:?}");
    }
    let (head, tail) = scene.anchor.read_ends(path, 1000).unwrap().unwrap();
    assert_eq!((head.len(), tail.len()), (1000, 1000));
    assert_eq!(scene.anchor.read_start(path, 10).unwrap().len(), 10);
    fs::write(&sparse, "12345").unwrap();
    assert!(scene.anchor.read_within(path, 5).is_ok());
    let error = Error::from(scene.anchor.read_within(path, 4).unwrap_err());
    assert_eq!(error.category(), Category::BadData);
    assert_eq!(error.message(), format!("`{}` is larger than 4 bytes", sparse.display()));
}

#[test]
fn a_refusal_names_the_path_and_the_real_place_but_no_content() {
    let scene = Scene::new();
    fs::create_dir_all(scene.at("docs/memory")).unwrap();
    fs::remove_dir_all(scene.at("memory")).unwrap();
    symlink("docs/memory", scene.at("memory")).unwrap();
    symlink(scene.private("key"), scene.at("key")).unwrap();
    fs::write(scene.at("bytes"), b"\xff\xfe").unwrap();
    let seen = |path: &str| format!("{:?}", Error::from(scene.anchor.read_text(Path::new(path), 100).unwrap_err()));
    let inside = seen("memory/layer2/current-state.md");
    assert!(inside.contains(&format!("`{}` is a symlink", scene.at("memory").display())), "{inside}");
    assert!(inside.contains("it leads to `docs/memory`: configure that path"), "{inside}");
    let outside = seen("key");
    assert!(outside.contains("is a symlink") && !outside.contains("private"), "{outside}");
    assert!(!outside.contains(SECRET));
    assert!(seen("bytes").contains("is not UTF-8 text"));
}

#[test]
fn replacing_keeps_the_mode_and_leaves_no_temporary() {
    let scene = Scene::new();
    let path = Path::new("memory/deep/er/file.md");
    scene.anchor.create_directories(path.parent().unwrap()).unwrap();
    scene.anchor.replace(path, b"one").unwrap();
    fs::set_permissions(scene.at("memory/deep/er/file.md"), fs::Permissions::from_mode(0o640)).unwrap();
    scene.anchor.replace(path, b"two").unwrap();
    assert_eq!(scene.anchor.read(path).unwrap(), b"two");
    assert_eq!(fs::metadata(scene.at("memory/deep/er/file.md")).unwrap().mode() & 0o777, 0o640);
    assert_eq!(scene.anchor.names(path.parent().unwrap()).unwrap(), ["file.md"]);
    assert_eq!(scene.anchor.create_new(path, b"three").unwrap(), Created::Before);
    assert_eq!(scene.anchor.create_new(Path::new("new"), b"three").unwrap(), Created::Now);
    assert_eq!(scene.anchor.create_flag(Path::new("new"), b"four").unwrap(), Created::Before);
    assert_eq!(scene.anchor.read(Path::new("new")).unwrap(), b"three");
    assert_eq!(scene.anchor.names(Path::new("")).unwrap(), ["memory", "new"]);
}

#[test]
fn directories_are_created_with_the_modes_that_were_asked_for() {
    let scene = Scene::new();
    let mode = |path: &str| fs::metadata(scene.at(path)).unwrap().mode() & 0o777;
    scene.anchor.create_private_directories(Path::new("a/b")).unwrap();
    assert_eq!(mode("a/b"), 0o700);
    scene.anchor.create_log_directory(Path::new("c/d")).unwrap();
    assert_eq!((mode("c"), mode("c/d")), (0o700, 0o700));
    scene.anchor.open_private(Path::new("c/d/log")).unwrap();
    assert_eq!(mode("c/d/log"), 0o600);
    let missing = Anchor::new(&scene.at("not/yet"));
    missing.create_directories(Path::new("x/y")).unwrap();
    assert!(scene.at("not/yet/x/y").is_dir());
    Anchor::new(&scene.at("also/not/yet")).create_private_directories(&scene.at("also/not/yet")).unwrap();
    assert_eq!(mode("also/not/yet"), 0o700);
}

#[test]
fn a_log_is_moved_aside_when_it_has_grown() {
    let scene = Scene::new();
    let log = Path::new("memory/log");
    for line in ["one", "two", "three"] {
        scene.anchor.append_to_log(log, line, 5).unwrap();
    }
    assert_eq!(fs::read_to_string(scene.at("memory/log")).unwrap(), "three\n");
    assert_eq!(fs::read_to_string(scene.at("memory/log.1")).unwrap(), "one\ntwo\n");
}

#[test]
fn only_our_own_temporaries_are_swept() {
    let scene = Scene::new();
    for name in ["memory/.agent-handover-x.tmp", "memory/layer2/.agent-handover-y.tmp", "memory/note.tmp"] {
        fs::write(scene.at(name), "").unwrap();
    }
    scene.anchor.sweep_temporaries(Path::new("memory"), Depth::Directory).unwrap();
    assert_eq!(scene.anchor.names(Path::new("memory")).unwrap(), ["layer2", "note.tmp"]);
    scene.anchor.sweep_temporaries(Path::new("memory"), Depth::Tree).unwrap();
    assert_eq!(scene.anchor.names(Path::new("memory/layer2")).unwrap(), [""; 0]);
}

#[test]
fn a_tree_is_removed_without_following_a_link() {
    let scene = Scene::new();
    fs::create_dir_all(scene.at("logs/a/b")).unwrap();
    fs::write(scene.at("logs/a/b/file"), "").unwrap();
    symlink(scene.private(""), scene.at("logs/a/out")).unwrap();
    symlink(scene.private(""), scene.at("linked")).unwrap();
    scene.anchor.remove_tree(Path::new("logs")).unwrap();
    scene.anchor.remove_tree(Path::new("logs")).unwrap();
    assert!(!scene.at("logs").exists());
    scene.anchor.remove_tree(Path::new("linked")).unwrap();
    assert_eq!(kind_of(scene.anchor.remove_tree(Path::new("linked/deep")).unwrap_err()), FileKind::Link);
    assert_eq!(fs::read_to_string(scene.private("key")).unwrap(), SECRET);
}

#[test]
fn a_log_is_rewritten_in_place_of_the_old_one() {
    let scene = Scene::new();
    fs::write(scene.at("log"), "a key").unwrap();
    symlink(scene.private("key"), scene.at("linked")).unwrap();
    let change = |old: &mut dyn std::io::Read, new: &mut dyn std::io::Write| {
        let mut text = String::new();
        old.read_to_string(&mut text)?;
        new.write_all(text.replace("key", "***").as_bytes())
    };
    scene.anchor.rewrite_private(Path::new("log"), change).unwrap();
    assert_eq!(fs::read_to_string(scene.at("log")).unwrap(), "a ***");
    assert_eq!(fs::metadata(scene.at("log")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(kind_of(scene.anchor.rewrite_private(Path::new("linked"), change).unwrap_err()), FileKind::Link);
    assert_eq!(scene.anchor.names(Path::new("")).unwrap(), ["linked", "log", "memory"]);
}

#[test]
fn walking_refuses_what_one_call_refuses() {
    let scene = Scene::new();
    fs::write(scene.at("memory/layer2/a"), "text").unwrap();
    symlink("memory", scene.at("linked")).unwrap();
    symlink("a", scene.at("memory/layer2/b")).unwrap();
    let start = openat(CWD, scene.anchor.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    let walk = |path: &str| {
        super::walk::walk(&start, Path::new(path), OFlags::RDONLY | OFlags::NOFOLLOW, Mode::empty()).is_ok()
    };
    assert!(walk("memory/layer2/a") && walk("memory"));
    assert!(!walk("linked/layer2/a") && !walk("memory/layer2/b") && !walk("linked") && !walk("memory/absent"));
}

/// Run by hand: `cargo test --release cost_of_careful -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement, not a test"]
#[allow(clippy::print_stderr)]
fn cost_of_careful_access() {
    let scene = Scene::new();
    let path = scene.at("memory/layer2/current-state.md");
    fs::write(&path, "x".repeat(4000)).unwrap();
    let time = |name: &str, act: &dyn Fn()| {
        let start = std::time::Instant::now();
        (0..20_000).for_each(|_| act());
        eprintln!("{name}: {:?} a call", start.elapsed() / 20_000);
    };
    time("plain read", &|| drop(crate::base::fs::read_if_exists(&path).unwrap()));
    time("careful read", &|| drop(scene.anchor.read_if_exists(&path).unwrap()));
    time("plain names", &|| drop(crate::base::fs::names(&scene.at("memory")).unwrap()));
    time("careful names", &|| drop(scene.anchor.names(&scene.at("memory")).unwrap()));
    time("plain directories", &|| crate::base::fs::create_directories(&scene.at("memory/layer2")).unwrap());
    time("careful directories", &|| scene.anchor.create_directories(&scene.at("memory/layer2")).unwrap());
}

#[test]
fn a_held_directory_is_as_careful_as_the_anchor() {
    let scene = Scene::new();
    fs::write(scene.at("memory/layer2/a.md"), "text").unwrap();
    symlink(scene.private("key"), scene.at("memory/layer2/link.md")).unwrap();
    symlink(scene.directory.path().join("private"), scene.at("memory/layer2/private")).unwrap();
    let held = scene.anchor.holding(&scene.at("memory/layer2"));
    assert_eq!(held.read(&scene.at("memory/layer2/a.md")).unwrap(), b"text");
    for path in ["memory/layer2/link.md", "memory/layer2/private/key"] {
        assert_eq!(kind_of(held.read(&scene.at(path)).unwrap_err()), FileKind::Link, "{path}");
    }
    assert!(matches!(held.read(Path::new("memory/layer2/../../../private/key")), Err(FileError::Outside { .. })));
    // The directory stays the one that was opened, whatever takes its name.
    fs::rename(scene.at("memory/layer2"), scene.at("memory/moved")).unwrap();
    symlink(scene.directory.path().join("private"), scene.at("memory/layer2")).unwrap();
    assert!(held.read(&scene.at("memory/layer2/key")).unwrap_err().is_absent());
    // A directory behind a link is not held.
    let held = scene.anchor.holding(&scene.at("memory/layer2"));
    assert_eq!(kind_of(held.read(&scene.at("memory/layer2/key")).unwrap_err()), FileKind::Link);
}

#[test]
fn a_listing_says_what_each_name_leads_to() {
    let scene = Scene::new();
    fs::write(scene.at("memory/a.md"), "").unwrap();
    symlink("a.md", scene.at("memory/b.md")).unwrap();
    let names = scene.anchor.names_and_kinds(&scene.at("memory")).unwrap();
    let expected = [("a.md", FileKind::Regular), ("b.md", FileKind::Link), ("layer2", FileKind::Directory)];
    assert_eq!(names, expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn an_anchor_knows_whether_it_exists_itself() {
    let scene = Scene::new();
    assert!(scene.anchor.is_directory(scene.anchor.path()));
    let absent = scene.at("nowhere");
    assert!(!Anchor::new(&absent).is_directory(&absent));
}
