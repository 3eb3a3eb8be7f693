//! Process groups and the processes in them, as `/proc` shows them: who is left, and how all of them are ended.
//!
//! On systems without `/proc` no process is found.

#![allow(clippy::disallowed_methods, reason = "files of the kernel")]

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::env;
use crate::error::{Error, Result};

/// How long a group may take to end after SIGTERM before it gets SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// The names of the programs in a group, without its leader and without shells, which only started the others.
pub(super) fn others_in(group: Pid) -> Vec<String> {
    const WRAPPERS: [&str; 4] = ["sh", "dash", "bash", "git"];
    let leader = group.as_raw_nonzero().get();
    let mut names = Vec::new();
    for pid in processes().filter(|pid| *pid != leader) {
        let Some(stat) = stat(pid).filter(|stat| stat.group == leader && !stat.is_zombie) else { continue };
        if !WRAPPERS.contains(&stat.name.as_str()) && !names.contains(&stat.name) {
            names.push(stat.name);
        }
    }
    names
}

/// Whether a process leads a session of its own. `None` where processes cannot be seen.
pub(crate) fn leads_session(pid: u32) -> Option<bool> {
    let pid = i32::try_from(pid).ok()?;
    stat(pid).map(|stat| stat.session == pid)
}

/// Sends SIGTERM, waits, then sends SIGKILL. Returns when no process of the group is left, or after waiting again.
pub(super) fn end_group(group: Pid, mut reap: impl FnMut()) {
    for signal in [Signal::TERM, Signal::KILL] {
        if kill_process_group(group, signal).is_err() {
            return;
        }
        // A stopped process acts on no signal but SIGKILL until it is continued.
        let _ = kill_process_group(group, Signal::CONT);
        let start = Instant::now();
        while start.elapsed() < GRACE {
            reap();
            if !lives(group) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether a process of the group can still act. A zombie cannot; in a container whose first process does not reap them,
/// zombies stay.
pub(super) fn lives(group: Pid) -> bool {
    let acts = |stat: Stat| stat.group == group.as_raw_nonzero().get() && !stat.is_zombie;
    let can_tell = stat(std::process::id().cast_signed()).is_some();
    test_kill_process_group(group).is_ok() && (!can_tell || processes().filter_map(stat).any(acts))
}

/// What `/proc/PID/stat` says.
struct Stat {
    /// The name of the program, cut by the system after fifteen characters.
    name: String,
    /// The first process of the session. A daemon begins a session of its own.
    session: i32,
    /// 0 if the leader of the group is outside this PID namespace.
    group: i32,
    is_zombie: bool,
}

/// The pids of all processes, where the system has `/proc`.
fn processes() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn stat(pid: i32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain anything; the fields after the last parenthesis are regular.
    let (before, after) = text.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let mut fields = after.split_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    let (group, session) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Stat { name, session, group, is_zombie })
}

/// Which of the processes with our variables in their environment are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orphans {
    /// All of them.
    All,
    /// All but daemons, which began a session of their own: a key agent or a shared connection that our child started
    /// serves the user's other programs, too.
    ButDaemons,
}

/// Ends every process group that has a process with these variables in its environment, whatever its parent is by now.
///
/// The environment identifies our children better than a recorded group id: a reused pid cannot be mistaken for one, and a
/// child whose parent was killed before it could record the group is found, too. On systems without `/proc` nothing is
/// found.
pub(crate) fn end_orphans(marks: &[(&str, &str)], which: Orphans) -> Result<usize> {
    let mut wanted: Vec<Vec<u8>> = marks.iter().map(|(name, value)| format!("{name}={value}").into_bytes()).collect();
    // Pinned ids are those of every run of the tests, each of which has a home of its own.
    let home = env::get(env::TEST_IDS).and_then(|_| env::get("HOME"));
    wanted.extend(home.map(|home| [b"HOME=", home.as_encoded_bytes()].concat()));
    // Read from `/proc`, because `getpgrp` has no answer if the group's leader is outside this PID namespace.
    let group_of = |pid: i32| stat(pid).map_or(0, |stat| stat.group);
    let own = group_of(std::process::id().cast_signed());
    let is_marked = |pid: i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        wanted.iter().all(|mark| environment.split(|byte| *byte == 0).any(|variable| variable == mark))
    };
    let is_daemon = |pid: i32| stat(pid).is_some_and(|stat| stat.session > 0 && is_marked(stat.session));
    let mut groups = Vec::new();
    for pid in processes() {
        if pid.unsigned_abs() == std::process::id() || !is_marked(pid) {
            continue;
        }
        if which == Orphans::ButDaemons && is_daemon(pid) {
            continue;
        }
        let group = Some(group_of(pid)).filter(|group| *group > 0);
        // Our own group means that we run inside that command. A group of 0 cannot be signalled from here; each command
        // of ours leads a group, so it is not one.
        if let Some(group) = group.filter(|group| *group != own).and_then(Pid::from_raw)
            && !groups.contains(&group)
        {
            groups.push(group);
        }
    }
    for group in &groups {
        tracing::debug!(group = group.as_raw_nonzero().get(), "end orphaned process group");
        end_group(*group, || {});
        if lives(*group) {
            return Err(Error::failed(format!(
                "process group {} of an interrupted step does not end",
                group.as_raw_nonzero()
            )));
        }
    }
    Ok(groups.len())
}

#[cfg(test)]
mod tests {
    use super::super::process::{start_logged, tests::shell};
    use super::*;

    #[test]
    fn orphans_are_found_by_their_environment() {
        let log = tempfile::tempfile().unwrap();
        let mut job = shell("sleep 1000");
        let mark = format!("orphan-{}", std::process::id());
        job.env = vec![("AGENT_HANDOVER_RUN".to_owned(), mark.clone().into())];
        let running = start_logged(&job, &log).unwrap();
        assert_eq!(end_orphans(&[("AGENT_HANDOVER_RUN", "another")], Orphans::All).unwrap(), 0);
        assert_eq!(end_orphans(&[("AGENT_HANDOVER_RUN", &mark)], Orphans::All).unwrap(), 1);
        assert!(!is_success(running));
    }

    #[test]
    fn daemons_that_a_child_started_are_spared_where_they_may_serve_others() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut job = shell("setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000");
        let mark = format!("daemon-{}", std::process::id());
        job.env = vec![("AGENT_HANDOVER_RUN".to_owned(), mark.clone().into())];
        let running = start_logged(&job, log.as_file()).unwrap();
        let daemon = || std::fs::read_to_string(log.path()).unwrap().trim().parse::<i32>().ok();
        let start = Instant::now();
        while daemon().is_none() && start.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        let daemon = Pid::from_raw(daemon().unwrap()).unwrap();
        let marks = [("AGENT_HANDOVER_RUN", mark.as_str())];
        assert_eq!(end_orphans(&marks, Orphans::ButDaemons).unwrap(), 1);
        assert!(!is_success(running));
        assert!(lives(daemon), "the daemon was ended");
        assert_eq!(end_orphans(&marks, Orphans::All).unwrap(), 1);
    }
    fn is_success(running: super::super::process::Running) -> bool {
        let ended = running.wait(None, || None::<()>).unwrap();
        matches!(ended, super::super::process::Ended::Exited(status) if status.success())
    }
}
