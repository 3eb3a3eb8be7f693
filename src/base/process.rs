//! The one door to other processes: each in a group of its own, output to a file, ended as a group.

#![allow(clippy::disallowed_methods)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::{env, fault, signals};
use crate::error::{Category, Error, Result};

/// How long a group may take to leave after SIGTERM before it gets SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How often a running process is looked after; a brake must act several times a second.
const LOOK: Duration = Duration::from_millis(100);

pub struct Job {
    pub argv: Vec<OsString>,
    pub directory: PathBuf,
    pub env: Vec<(String, OsString)>,
    pub env_remove: Vec<String>,
}

impl Job {
    fn plain(&self) -> Result<duct::Expression> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err(Error::bug("a process without a program"));
        };
        // A program given by a relative path is one of the directory it runs in, not of ours.
        let path = Path::new(program);
        let is_relative = path.is_relative() && path.components().count() > 1;
        let program = if is_relative { self.directory.join(path).into_os_string() } else { program.clone() };
        let mut expression = duct::cmd(program, arguments).dir(&self.directory).unchecked().env(env::CHILD, "1");
        for name in &self.env_remove {
            expression = expression.env_remove(name);
        }
        for (name, value) in &self.env {
            expression = expression.env(name, value);
        }
        Ok(expression)
    }

    /// In a group of its own, so that the whole family can be ended; Ctrl-C at the terminal then reaches only us.
    fn expression(&self) -> Result<duct::Expression> {
        Ok(self.in_a_group(self.plain()?.stdin_null()))
    }

    fn in_a_group(&self, expression: duct::Expression) -> duct::Expression {
        expression.before_spawn(|command| {
            std::os::unix::process::CommandExt::process_group(command, 0);
            Ok(())
        })
    }

    /// Starts it by `how`, leaving a trace of what is run but never of its environment.
    fn begin<T, E>(&self, how: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let program = self.argv.first().map(|program| program.to_string_lossy()).unwrap_or_default();
        let _span = tracing::debug_span!("process", %program, arguments = self.argv.len().saturating_sub(1)).entered();
        tracing::debug!("start");
        let started = how()?;
        fault::at("process.started");
        Ok(started)
    }

    fn not_started(&self, cause: &std::io::Error) -> Error {
        let program = self.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
        let error = Error::failed(format!("cannot start `{program}`")).cause(cause);
        match cause.kind() {
            std::io::ErrorKind::ArgumentListTooLong | std::io::ErrorKind::InvalidInput => {
                error.hint("an argument or a variable is too long or holds a NUL: write it to a file and pass its name")
            }
            std::io::ErrorKind::NotFound => error.hint(format!(
                "check that `{program}` is installed and that the directory `{}` exists",
                self.directory.display()
            )),
            _ => error,
        }
    }
}

/// What became of a process that was watched.
pub enum Ended<S> {
    Exited(ExitStatus),
    TimedOut,
    Stopped(S),
}

pub struct Running {
    handle: duct::Handle,
    group: Option<Pid>,
}

/// Starts with both output streams in `output`: a pipe would stay open as long as any grandchild lives.
pub fn start_logged(job: &Job, output: &File) -> Result<Running> {
    let copy = || output.try_clone().map_err(|cause| Error::failed("cannot share the log file").cause(cause));
    let handle = job.begin(|| {
        let expression = job.expression()?.stdout_file(copy()?).stderr_file(copy()?);
        expression.start().map_err(|cause| job.not_started(&cause))
    })?;
    let group = handle.pids().first().and_then(|pid| Pid::from_raw(i32::try_from(*pid).ok()?));
    Ok(Running { handle, group })
}

/// Starts a process that goes on without us, with `input` as its standard input and its output in `output`. It makes
/// itself a session of its own with `leave_session`.
pub fn start_detached(job: &Job, input: File, output: &File) -> Result<u32> {
    let copy = || output.try_clone().map_err(|cause| Error::failed("cannot share the log file").cause(cause));
    let handle = job.begin(|| {
        let expression = job.plain()?.stdin_file(input).stdout_file(copy()?).stderr_file(copy()?);
        expression.start().map_err(|cause| job.not_started(&cause))
    })?;
    handle.pids().first().copied().ok_or_else(|| Error::bug("a process without a pid"))
}

/// Leaves the terminal and the process group we were started in, so that their end is not ours.
pub fn leave_session() {
    // Fails only for who leads a group already, and then there is nothing to leave.
    let _ = rustix::process::setsid();
}

/// Why a process was ended.
enum Why {
    Signal(i32),
    TooLong,
    Over,
}

pub struct Captured {
    /// It ended well, or would have gone on saying more than was wanted.
    pub succeeded: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// `stdout` is all there was, rather than cut at the limit.
    pub whole: bool,
}

/// Why a process that was asked a question gave no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The program could not be started.
    NotStarted(Error),
    /// It took longer than the caller waits.
    TimedOut(Error),
    /// This program received a signal, so it ended the process it had started.
    Interrupted(Error),
    /// There is no space left for the answer.
    DiskFull(Error),
    Other(Error),
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> NoAnswer {
        NoAnswer::Other(error)
    }
}

/// For short questions, such as those to git. An answer longer than `max` bytes, or one that takes longer than `timeout`,
/// ends the process with its family. The answer goes through files: a pipe would stay open as long as anything that the
/// program left behind.
pub fn capture(job: &Job, timeout: Duration, max: u64) -> Result<Captured, NoAnswer> {
    converse(job, timeout, max, None, &|| false)
}

/// The same with something to say to it, and with somebody who may end it: `is_over` is asked several times a second.
pub fn converse(
    job: &Job,
    timeout: Duration,
    max: u64,
    input: Option<&[u8]>,
    is_over: &dyn Fn() -> bool,
) -> Result<Captured, NoAnswer> {
    let program = job.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    let failed = |cause: std::io::Error| {
        let error = Error::failed(format!("cannot read what `{program}` says")).cause(&cause);
        match cause.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => NoAnswer::DiskFull(error),
            _ => NoAnswer::Other(error),
        }
    };
    let (mut out, mut err) = (tempfile::tempfile().map_err(failed)?, tempfile::tempfile().map_err(failed)?);
    let copy = |file: &File| file.try_clone().map_err(failed);
    let input = input
        .map(|input| -> std::io::Result<File> {
            let mut file = tempfile::tempfile()?;
            file.write_all(input)?;
            file.rewind()?;
            Ok(file)
        })
        .transpose()
        .map_err(failed)?;
    let handle = job.begin(|| {
        let expression = match input {
            Some(input) => job.in_a_group(job.plain()?.stdin_file(input)),
            None => job.expression()?,
        };
        let expression = expression.stdout_file(copy(&out)?).stderr_file(copy(&err)?);
        expression.start().map_err(|cause| NoAnswer::NotStarted(job.not_started(&cause)))
    })?;
    let group = handle.pids().first().and_then(|pid| Pid::from_raw(i32::try_from(*pid).ok()?));
    let length = |file: &File| file.metadata().map_or(0, |about| about.len());
    let ended = Running { handle, group }.wait(Some(timeout), || match signals::received() {
        Some(signal) => Some(Why::Signal(signal)),
        None if length(&out) > max => Some(Why::TooLong),
        None if is_over() => Some(Why::Over),
        None => None,
    })?;
    let status = match ended {
        Ended::TimedOut => {
            let error = Error::failed(format!("`{program}` did not answer within {}", super::duration::show(timeout)));
            return Err(NoAnswer::TimedOut(error));
        }
        Ended::Stopped(Why::Signal(signal)) => {
            let error = Error::new(Category::Signal(signal), format!("interrupted by {}", signals::name(signal)));
            return Err(NoAnswer::Interrupted(error));
        }
        Ended::Stopped(Why::Over) => return Err(Error::failed(format!("`{program}` was ended")).into()),
        Ended::Stopped(Why::TooLong) => None,
        Ended::Exited(status) => Some(status),
    };
    let read = |file: &mut File, max: u64| -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(max).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let whole = status.is_some() && length(&out) <= max;
    let (stdout, stderr) = (read(&mut out, max).map_err(failed)?, read(&mut err, 64 << 10).map_err(failed)?);
    Ok(Captured { succeeded: status.is_none_or(|status| status.success()), stdout, stderr, whole })
}

impl Running {
    /// Waits until the process exits, its time is up, or `watch` says stop; in the latter two cases the whole group
    /// is gone when this returns.
    pub fn wait<S>(self, timeout: Option<Duration>, mut watch: impl FnMut() -> Option<S>) -> Result<Ended<S>> {
        let start = Instant::now();
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            let waited = self.handle.wait_timeout(left.unwrap_or(LOOK).min(LOOK));
            match waited.map_err(|cause| Error::failed("cannot wait for a process").cause(cause))? {
                Some(output) => {
                    fault::at("process.ended");
                    tracing::debug!(status = %output.status, "process ended");
                    return Ok(Ended::Exited(output.status));
                }
                None if left == Some(Duration::ZERO) => {
                    self.end();
                    return Ok(Ended::TimedOut);
                }
                None => {}
            }
            if let Some(stop) = watch() {
                self.end();
                return Ok(Ended::Stopped(stop));
            }
        }
    }

    fn end(&self) {
        if let Some(group) = self.group {
            // Reaping the leader is what lets the group become empty.
            end_group(group, || drop(self.handle.try_wait()));
        }
        let _ = self.handle.wait_timeout(GRACE);
    }
}

/// SIGTERM, a moment, SIGKILL; returns when no process of the group is left, or after a second moment.
fn end_group(group: Pid, mut reap: impl FnMut()) {
    for signal in [Signal::TERM, Signal::KILL] {
        if kill_process_group(group, signal).is_err() {
            return;
        }
        // A stopped process acts on nothing but SIGKILL until it goes on.
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

/// Whether a process of the group can still do anything. A zombie cannot, and where the first process of a container
/// does not collect them, zombies stay.
fn lives(group: Pid) -> bool {
    let acts = |stat: Stat| stat.group == group.as_raw_nonzero().get() && !stat.is_zombie;
    let can_tell = stat(std::process::id().cast_signed()).is_some();
    test_kill_process_group(group).is_ok() && (!can_tell || processes().filter_map(stat).any(acts))
}

struct Stat {
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
    // The name stands in parentheses and may hold anything; what follows the last one is regular.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    Some(Stat { is_zombie, group: fields.nth(1)?.parse().ok()? })
}

/// A process above this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// The name of its program, cut by the system after fifteen characters.
    pub name: String,
    pub identity: Identity,
}

/// One process and no other, also after its number is given to another and after a reboot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(String);

impl Identity {
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// The processes above this one, the nearest first. Only systems with `/proc` can answer; elsewhere there are none.
pub fn ancestors() -> Vec<Ancestor> {
    const MOST: usize = 16;
    let mut found = Vec::new();
    let mut pid = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    while pid > 1 && found.len() < MOST {
        let Some((name, parent, identity)) = about(pid) else { break };
        found.push(Ancestor { name, identity });
        pid = parent;
    }
    found
}

/// Whether the process with this identity still runs; `None` if this system cannot say.
pub fn is_alive(identity: &str) -> Option<bool> {
    boot()?;
    let pid = identity.split(' ').next().and_then(|pid| pid.parse().ok())?;
    Some(about(pid).is_some_and(|(_, _, now)| now.0 == identity))
}

/// How a process was called.
pub fn arguments(identity: &Identity) -> Vec<String> {
    let pid = identity.0.split(' ').next().unwrap_or_default();
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn boot() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

/// Name, parent and identity of a process that is not a zombie.
fn about(pid: i32) -> Option<(String, i32, Identity)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (before, after) = text.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let (state, parent, start) = (fields.first()?, fields.get(1)?.parse().ok()?, fields.get(19)?);
    (!matches!(*state, "Z" | "X")).then(|| Some((name, parent, Identity(format!("{pid} {start} {}", boot()?)))))?
}

/// Ends what is left of a process started with these variables in its environment, wherever it has gone since.
///
/// The environment identifies our children better than a recorded group id: it cannot be confused by a reused
/// pid, and it also finds a child whose parent was killed before it could note the group. Only systems with
/// `/proc` can answer; elsewhere nothing is found.
pub fn end_orphans(marks: &[(&str, &str)]) -> Result<usize> {
    let wanted: Vec<Vec<u8>> = marks.iter().map(|(name, value)| format!("{name}={value}").into_bytes()).collect();
    let mut groups = Vec::new();
    for pid in processes() {
        let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { continue };
        let has = |mark: &Vec<u8>| environment.split(|byte| *byte == 0).any(|variable| variable == mark);
        if pid.unsigned_abs() == std::process::id() || !wanted.iter().all(has) {
            continue;
        }
        let group = Pid::from_raw(pid).and_then(|pid| rustix::process::getpgid(Some(pid)).ok());
        // Never our own group: then we are ourselves inside that command.
        if let Some(group) = group.filter(|group| *group != rustix::process::getpgrp())
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
    use super::*;

    fn shell(script: &str) -> Job {
        Job {
            argv: vec!["sh".into(), "-c".into(), script.into()],
            directory: std::env::temp_dir(),
            env: Vec::new(),
            env_remove: Vec::new(),
        }
    }

    #[test]
    fn a_timeout_ends_the_whole_family() {
        let log = tempfile::tempfile().unwrap();
        let running = start_logged(&shell("sleep 1000 & sleep 1000 & wait"), &log).unwrap();
        let group = running.group.unwrap();
        let ended = running.wait(Some(Duration::from_millis(50)), || None::<()>).unwrap();
        assert!(matches!(ended, Ended::TimedOut));
        assert!(!lives(group), "a process of the group is still alive");
    }

    #[test]
    fn a_process_that_ignores_sigterm_is_ended_too() {
        let log = tempfile::tempfile().unwrap();
        let job = shell("trap '' TERM; while :; do sleep 0.05; done");
        let running = start_logged(&job, &log).unwrap();
        let group = running.group.unwrap();
        let ended = running.wait(None, || Some("stop")).unwrap();
        assert!(matches!(ended, Ended::Stopped("stop")));
        assert!(!lives(group));
    }

    #[test]
    fn a_grandchild_holding_the_output_does_not_hold_us() {
        let log = tempfile::tempfile().unwrap();
        let running = start_logged(&shell("sleep 1000 & echo done"), &log).unwrap();
        let group = running.group.unwrap();
        let ended = running.wait(Some(Duration::from_secs(20)), || None::<()>).unwrap();
        assert!(matches!(ended, Ended::Exited(status) if status.success()));
        end_group(group, || {});
    }

    #[test]
    fn an_answer_is_cut_at_its_limit_in_length_and_in_time() {
        let long = capture(&shell("yes"), Duration::from_secs(20), 1_000).unwrap();
        assert_eq!((long.stdout.len(), long.whole), (1_000, false));
        let short = capture(&shell("echo out; echo err >&2; exit 3"), Duration::from_secs(20), 1_000).unwrap();
        assert_eq!(
            (short.stdout.as_slice(), short.stderr.as_slice(), short.whole),
            (&b"out\n"[..], &b"err\n"[..], true)
        );
        assert!(!short.succeeded && long.succeeded);
        // What it leaves behind with its output in hand holds nobody up.
        let left = capture(&shell("setsid sleep 1000 & echo $!"), Duration::from_secs(20), 1_000).unwrap();
        let _ = std::process::Command::new("kill").arg(String::from_utf8_lossy(&left.stdout).trim()).status();
        let slow = capture(&shell("sleep 1000"), Duration::from_millis(50), 1_000);
        assert!(
            matches!(slow, Err(NoAnswer::TimedOut(error)) if error.message().contains("did not answer within 50 ms"))
        );
    }

    #[test]
    fn orphans_are_found_by_their_environment() {
        let log = tempfile::tempfile().unwrap();
        let mut job = shell("sleep 1000");
        let mark = format!("orphan-{}", std::process::id());
        job.env = vec![("AGENT_HANDOVER_RUN".to_owned(), mark.clone().into())];
        let running = start_logged(&job, &log).unwrap();
        assert_eq!(end_orphans(&[("AGENT_HANDOVER_RUN", "another")]).unwrap(), 0);
        assert_eq!(end_orphans(&[("AGENT_HANDOVER_RUN", &mark)]).unwrap(), 1);
        assert!(!running.handle.wait().unwrap().status.success());
    }
}
