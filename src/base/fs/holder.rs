//! Who holds the lock of a directory, as far as the system tells, and whether that process works.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

/// A process that holds the lock of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub pid: u32,
}

impl Holder {
    /// The holder of the lock of an open directory. `None` if the system does not tell, as outside of Linux.
    pub(super) fn of(directory: &File) -> Option<Holder> {
        let about = directory.metadata().ok()?;
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let mut pids = locks.lines().filter_map(|line| pid_of_lock(line, about.ino()));
        // The table names the device in another way than some file systems do, so the open files decide.
        pids.find(|pid| has_open(*pid, about.dev(), about.ino())).map(|pid| Holder { pid })
    }

    /// A text that changes as long as the process computes, reads or writes.
    pub(super) fn trace(&self) -> String {
        let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", self.pid)).unwrap_or_default();
        read("stat") + &read("io")
    }
}

/// The process of a line of `/proc/locks` that is about a lock of this inode and is held, not waited for.
fn pid_of_lock(line: &str, inode: u64) -> Option<u32> {
    let mut words = line.split_whitespace();
    words.next().filter(|number| number.ends_with(':'))?;
    words.next().filter(|kind| *kind == "FLOCK")?;
    let pid = words.nth(2)?.parse().ok()?;
    let place = words.next()?;
    let is_it = place.rsplit(':').next().and_then(|found| found.parse::<u64>().ok()) == Some(inode);
    is_it.then_some(pid)
}

fn has_open(pid: u32, device: u64, inode: u64) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let is_it = |entry: fs::DirEntry| {
        fs::metadata(entry.path()).is_ok_and(|about| about.dev() == device && about.ino() == inode)
    };
    open.into_iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_of_locks_names_its_process() {
        let line = "12: FLOCK  ADVISORY  WRITE 4711 00:1a:815 0 EOF";
        assert_eq!(pid_of_lock(line, 815), Some(4711));
        for (line, inode) in [
            (line, 816),
            ("12: -> FLOCK  ADVISORY  WRITE 4711 00:1a:815 0 EOF", 815),
            ("12: POSIX  ADVISORY  WRITE 4711 00:1a:815 0 EOF", 815),
            ("12: FLOCK  ADVISORY  WRITE -1 00:1a:815 0 EOF", 815),
            ("", 815),
        ] {
            assert_eq!(pid_of_lock(line, inode), None, "{line}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_holder_of_a_lock_is_found() {
        let world = crate::base::scratch::directory();
        let (one, other) = (File::open(world.path()).unwrap(), File::open(world.path()).unwrap());
        assert_eq!(Holder::of(&other), None);
        one.lock().unwrap();
        let holder = Holder::of(&other).unwrap();
        assert_eq!(holder.pid, std::process::id());
        assert!(!holder.trace().is_empty());
    }
}
