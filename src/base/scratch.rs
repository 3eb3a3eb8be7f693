//! Directories for unit tests.

/// A new directory, in memory where there is room: most of the time of a test that writes is a disk that syncs. `TMPDIR`
/// decides if it is set.
pub(crate) fn directory() -> tempfile::TempDir {
    const IN_MEMORY: &str = "/dev/shm";
    const ROOM: u64 = 1 << 30;
    let has_room = || rustix::fs::statvfs(IN_MEMORY).is_ok_and(|about| about.f_bavail * about.f_frsize > ROOM);
    let is_free = std::env::var_os("TMPDIR").is_none() && has_room();
    let in_memory = is_free.then(|| tempfile::tempdir_in(IN_MEMORY).ok()).flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}
