//! A world that is put back for each case of a sweep, which is cheaper than to make it again with the program, and what a
//! command passes on its way, so that a sweep kills only where there is something to kill.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use super::support::*;

/// A world and what was in it at first.
pub struct Prepared<'a> {
    world: &'a World,
    places: Vec<PathBuf>,
    commands: u32,
    entries: BTreeMap<PathBuf, Entry>,
}

struct Entry {
    inode: u64,
    mode: u32,
    modified: SystemTime,
    content: Content,
}

#[derive(PartialEq)]
enum Content {
    Directory,
    Link(PathBuf),
    File(Vec<u8>),
}

impl<'a> Prepared<'a> {
    pub fn new(world: &'a World) -> Prepared<'a> {
        Prepared::with(world, &[])
    }

    /// Together with other directories.
    pub fn with(world: &'a World, others: &[&Path]) -> Prepared<'a> {
        let places: Vec<PathBuf> = [world.place()].iter().chain(others).map(|place| place.to_path_buf()).collect();
        let mut entries = BTreeMap::new();
        places.iter().for_each(|place| read(place, &mut entries));
        Prepared { world, places, commands: world.commands.get(), entries }
    }

    /// The world as it was at first. A file that is still the same file is written, not replaced: the program knows its
    /// database by the inode.
    pub fn again(&self) -> &'a World {
        let mut now = BTreeMap::new();
        self.places.iter().for_each(|place| read(place, &mut now));
        // What is in a directory comes after it.
        for (path, entry) in now.iter().rev() {
            let stays = self.entries.get(path).is_some_and(|first| first.inode == entry.inode);
            match entry.content {
                _ if stays => {}
                Content::Directory => std::fs::remove_dir(path).unwrap(),
                _ => std::fs::remove_file(path).unwrap(),
            }
        }
        for (path, first) in &self.entries {
            let found = now.get(path).filter(|entry| entry.inode == first.inode);
            let is_same = found.is_some_and(|entry| entry.content == first.content && entry.modified == first.modified);
            match &first.content {
                _ if is_same => continue,
                Content::Directory if found.is_some() => continue,
                Content::Directory => std::fs::create_dir(path).unwrap(),
                Content::Link(target) => {
                    let _ = std::fs::remove_file(path);
                    std::os::unix::fs::symlink(target, path).unwrap();
                    continue;
                }
                Content::File(bytes) => {
                    // The objects of git can be read only.
                    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
                    std::fs::write(path, bytes).unwrap();
                    let file = std::fs::File::options().append(true).open(path).unwrap();
                    file.set_modified(first.modified).unwrap();
                }
            }
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(first.mode)).unwrap();
        }
        self.world.commands.set(self.commands);
        self.world
    }
}

fn read(directory: &Path, entries: &mut BTreeMap<PathBuf, Entry>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let content = if about.is_dir() {
            read(&path, entries);
            Content::Directory
        } else if about.is_symlink() {
            Content::Link(path.read_link().unwrap())
        } else {
            Content::File(std::fs::read(&path).unwrap())
        };
        let (inode, mode, modified) = (about.ino(), about.mode(), about.modified().unwrap());
        entries.insert(path, Entry { inode, mode, modified, content });
    }
}

/// How often a command passes each place at which it can be killed.
pub struct Passes(BTreeMap<String, usize>);

impl Passes {
    /// Of fault points. Runs the command. If it starts others of our program, the one that passes a point most often counts.
    pub fn points(world: &World, command: &mut Command) -> Passes {
        let file = world.place().join("passed");
        let _ = finish(command.env("AGENT_HANDOVER_TEST_FAULT", format!("{}=record", file.display())))
            .stderr_ignored("the command is looked at when it is killed");
        Passes::recorded(&file)
    }

    /// Of the fault points that processes recorded in a file.
    pub fn recorded(file: &Path) -> Passes {
        let mut processes: BTreeMap<String, usize> = BTreeMap::new();
        for line in std::fs::read_to_string(file).unwrap_or_default().lines() {
            *processes.entry(line.to_owned()).or_default() += 1;
        }
        let _ = std::fs::remove_file(file);
        let mut passes: BTreeMap<String, usize> = BTreeMap::new();
        for (line, count) in processes {
            let most = passes.entry(line.split(' ').nth(1).unwrap().to_owned()).or_default();
            *most = count.max(*most);
        }
        assert!(!passes.is_empty(), "a command that passes no point");
        Passes(passes)
    }

    /// Of system calls that change something. Runs the command.
    pub fn calls<A: AsRef<std::ffi::OsStr>>(world: &World, arguments: &[A]) -> Passes {
        let file = world.place().join("passed");
        let mut strace = world.clean("strace");
        strace.args(["-qq", "-o"]).arg(&file).args(["-e", &format!("trace={}", CHANGING_CALLS.join(",")), BINARY]);
        strace.args(arguments).env("AGENT_HANDOVER_TEST_IDS", seed("counted"));
        let _ = finish(&mut strace).stderr_ignored("the command is looked at when it is killed");
        let mut passes: BTreeMap<String, usize> = BTreeMap::new();
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            *passes.entry(line.split('(').next().unwrap().to_owned()).or_default() += 1;
        }
        std::fs::remove_file(&file).unwrap();
        Passes(passes)
    }

    /// What one of two commands passes.
    pub fn or(mut self, other: Passes) -> Passes {
        for (place, count) in other.0 {
            let most = self.0.entry(place).or_default();
            *most = count.max(*most);
        }
        self
    }

    /// The times at which to kill there: the first and every `apart`th after it.
    pub fn at(&self, place: &str, apart: usize) -> impl Iterator<Item = usize> + use<> {
        (1..=self.0.get(place).copied().unwrap_or_default()).step_by(apart)
    }
}
