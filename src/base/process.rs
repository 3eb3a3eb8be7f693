//! The one door to other processes. Each runs in a process group of its own, writes to files, and is ended with its group.

#![allow(clippy::disallowed_methods)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::process_group::{GRACE, end_group, others_in};
pub(crate) use super::process_group::{Orphans, end_orphans, leads_session};
use super::{env, fault, fs, signals};
use crate::error::{Category, Error, Result};

/// How often a running process is checked; a PAUSE must act several times a second.
const LOOK: Duration = Duration::from_millis(100);

/// A program to start: its arguments, where it runs, and how its environment differs from ours.
pub(crate) struct Job {
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
        // A relative path to a program is relative to the directory in which the program runs.
        let path = Path::new(program);
        let is_relative = path.is_relative() && path.components().count() > 1;
        let found = if is_relative { Some(self.directory.join(path)) } else { self.on_path(path) };
        let program = found.map_or_else(|| program.clone(), PathBuf::into_os_string);
        let mut expression = duct::cmd(program, arguments).dir(&self.directory).unchecked().env(env::CHILD, "1");
        for name in &self.env_remove {
            expression = expression.env_remove(name);
        }
        for (name, value) in &self.env {
            expression = expression.env(name, value);
        }
        Ok(expression)
    }

    /// The whole path of a program that is named without one. The system starts it without a copy of this process, which is
    /// cheaper; it makes that copy to search a PATH. `None` if only the search of the system gives the right answer.
    fn on_path(&self, program: &Path) -> Option<PathBuf> {
        let is_path = |name: &str| name == "PATH";
        if program.is_absolute()
            || self.env.iter().any(|(name, _)| is_path(name))
            || self.env_remove.iter().any(|name| is_path(name))
        {
            return None;
        }
        let path = env::get("PATH")?;
        let mut places = std::env::split_paths(&path);
        // A relative place is relative to the directory in which the program runs.
        let found = places.find(|place| !place.is_absolute() || fs::is_executable(&place.join(program)))?.join(program);
        let mut start = [0; 2];
        // Anything else is a script for the shell, which only the search of the system starts.
        let is_started = |start: [u8; 2]| [*b"#!", [0x7f, b'E']].contains(&start);
        let is_read = found.is_absolute() && File::open(&found).ok()?.read_exact(&mut start).is_ok();
        (is_read && is_started(start)).then_some(found)
    }

    /// The command in a group of its own, so that its descendants can be ended with it. Ctrl-C at the terminal then reaches
    /// only us.
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

/// How a process that we waited for ended.
pub(crate) enum Ended<S> {
    Exited(ExitStatus),
    /// The time was up. These programs were running then, without the one that was started.
    TimedOut(Vec<String>),
    Stopped(S),
}

/// A process that has been started.
pub(crate) struct Running {
    handle: duct::Handle,
    group: Option<Pid>,
}

/// Starts a process with both output streams in `output`. A pipe would stay open as long as any grandchild lives.
pub(crate) fn start_logged(job: &Job, output: &File) -> Result<Running> {
    let copy = || output.try_clone().map_err(|cause| Error::failed("cannot share the log file").cause(cause));
    let handle = job.begin(|| {
        let expression = job.expression()?.stdout_file(copy()?).stderr_file(copy()?);
        expression.start().map_err(|cause| job.not_started(&cause))
    })?;
    let group = handle.pids().first().and_then(|pid| Pid::from_raw(i32::try_from(*pid).ok()?));
    Ok(Running { handle, group })
}

/// Starts a process that outlives us, with `input` as its standard input and its output in `output`. It calls
/// `leave_session` itself, and `leads_session` tells when.
pub(crate) fn start_detached(job: &Job, input: File, output: &File) -> Result<u32> {
    let copy = || output.try_clone().map_err(|cause| Error::failed("cannot share the log file").cause(cause));
    let handle = job.begin(|| {
        let expression = job.plain()?.stdin_file(input).stdout_file(copy()?).stderr_file(copy()?);
        expression.start().map_err(|cause| job.not_started(&cause))
    })?;
    handle.pids().first().copied().ok_or_else(|| Error::bug("a process without a pid"))
}

/// Replaces this process by the program: it has our terminal, our process id, and no sign that a handover started it. Returns
/// only if that fails.
pub(crate) fn replace_by(job: &Job) -> Error {
    let Some(mut command) = unmarked(job) else { return Error::bug("a process without a program") };
    tracing::debug!(arguments = job.argv.len() - 1, "replace this process");
    job.not_started(&std::os::unix::process::CommandExt::exec(&mut command))
}

/// Runs a program on our terminal without a sign that a handover started it, such as the browser of a person, and waits until
/// it ends. What it leaves running may start agents, whose hooks must work.
pub(crate) fn run_unmarked(job: &Job) -> Result<ExitStatus> {
    let Some(mut command) = unmarked(job) else { return Err(Error::bug("a process without a program")) };
    job.begin(|| command.status().map_err(|cause| job.not_started(&cause)))
}

fn unmarked(job: &Job) -> Option<std::process::Command> {
    let (program, arguments) = job.argv.split_first()?;
    let mut command = std::process::Command::new(program);
    command.args(arguments).current_dir(&job.directory).env_remove(env::CHILD);
    for name in &job.env_remove {
        command.env_remove(name);
    }
    command.envs(job.env.iter().map(|(name, value)| (name, value)));
    Some(command)
}

/// Runs a program on our terminal, such as the editor of a person, and waits until it ends.
pub(crate) fn run_in_front(job: &Job) -> Result<ExitStatus> {
    let output = job.begin(|| job.plain()?.run().map_err(|cause| job.not_started(&cause)))?;
    Ok(output.status)
}

/// Leaves the terminal and the process group that we were started in, so that we do not end with them. Returns whether we have
/// a session of our own now: the leader of a process group cannot begin one.
pub(crate) fn leave_session() -> bool {
    rustix::process::setsid().is_ok()
}

/// Why we ended a process.
enum Why {
    Signal(i32),
    TooLong,
    Over,
}

/// What a process printed.
pub(crate) struct Captured {
    /// The process exited with 0, or was ended because it printed more than the limit.
    pub succeeded: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// `stdout` is the whole output, not cut at the limit.
    pub whole: bool,
}

/// Why a process that was asked a question gave no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
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
pub(crate) fn capture(job: &Job, timeout: Duration, max: u64) -> Result<Captured, NoAnswer> {
    converse(job, timeout, max, None, &|| false)
}

/// Like [`capture`], with `input` on standard input. The process is ended as soon as `is_over` returns `true`; it is called
/// several times a second.
pub(crate) fn converse(
    job: &Job,
    timeout: Duration,
    max: u64,
    input: Option<&[u8]>,
    is_over: &dyn Fn() -> bool,
) -> Result<Captured, NoAnswer> {
    Conversation::begin(job, input)?.answer(timeout, max, is_over)
}

/// A program that was asked a question, and whose answer is waited for later. It is ended if nobody does.
pub(crate) struct Conversation {
    program: String,
    begun: Instant,
    running: Option<Running>,
    out: File,
    err: File,
}

impl Conversation {
    pub(crate) fn begin(job: &Job, input: Option<&[u8]>) -> Result<Conversation, NoAnswer> {
        let program = job.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
        let failed = |cause: std::io::Error| unread(&program, &cause);
        let (out, err) = (tempfile::tempfile().map_err(failed)?, tempfile::tempfile().map_err(failed)?);
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
        let running = Some(Running { handle, group });
        Ok(Conversation { program, begun: Instant::now(), running, out, err })
    }

    /// Waits for the answer, until `timeout` has passed since the question.
    pub(crate) fn answer(
        mut self,
        timeout: Duration,
        max: u64,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Captured, NoAnswer> {
        let program = self.program.clone();
        let failed = |cause: std::io::Error| unread(&program, &cause);
        let length = |file: &File| file.metadata().map_or(0, |about| about.len());
        let Some(running) = self.running.take() else { return Err(Error::bug("an answer was taken twice").into()) };
        let left = timeout.saturating_sub(self.begun.elapsed());
        let ended = running.wait(Some(left), || match signals::received() {
            Some(signal) => Some(Why::Signal(signal)),
            None if length(&self.out) > max => Some(Why::TooLong),
            None if is_over() => Some(Why::Over),
            None => None,
        })?;
        let status = match ended {
            Ended::TimedOut(others) => {
                let error =
                    Error::failed(format!("`{program}` did not answer within {}", super::duration::show(timeout)));
                let error = if others.is_empty() { error } else { error.cause(still_running(&others)) };
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
        let whole = status.is_some() && length(&self.out) <= max;
        let stdout = read(&mut self.out, max).map_err(failed)?;
        let stderr = read(&mut self.err, 64 << 10).map_err(failed)?;
        Ok(Captured { succeeded: status.is_none_or(|status| status.success()), stdout, stderr, whole })
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // One that has exited by itself only has to be reaped.
        if let Some(running) = self.running.take().filter(|running| !matches!(running.handle.try_wait(), Ok(Some(_)))) {
            running.end();
        }
    }
}

fn unread(program: &str, cause: &std::io::Error) -> NoAnswer {
    let error = Error::failed(format!("cannot read the output of `{program}`")).cause(cause);
    match cause.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => NoAnswer::DiskFull(error),
        _ => NoAnswer::Other(error),
    }
}

impl Running {
    /// Waits until the process exits, its time is up, or `watch` returns a reason to stop. In the latter two cases the
    /// whole group is gone when this returns.
    pub(crate) fn wait<S>(self, timeout: Option<Duration>, mut watch: impl FnMut() -> Option<S>) -> Result<Ended<S>> {
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
                    let others = self.group.map(others_in).unwrap_or_default();
                    self.end();
                    return Ok(Ended::TimedOut(others));
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
            // The group becomes empty only when its leader is reaped.
            end_group(group, || drop(self.handle.try_wait()));
        }
        let _ = self.handle.wait_timeout(GRACE);
    }
}

/// The sentence about the programs that kept the one we started waiting.
fn still_running(programs: &[String]) -> String {
    let names: Vec<String> = programs.iter().map(|name| format!("`{name}`")).collect();
    let verb = if names.len() == 1 { "was" } else { "were" };
    format!("{} {verb} still running", names.join(", "))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::process_group::lives;
    use super::*;

    pub(in crate::base) fn shell(script: &str) -> Job {
        Job {
            argv: vec!["sh".into(), "-c".into(), script.into()],
            directory: std::env::temp_dir(),
            env: Vec::new(),
            env_remove: Vec::new(),
        }
    }

    #[test]
    fn a_program_is_found_as_the_system_would_find_it() {
        let mut job = shell("exit 0");
        assert!(job.on_path(Path::new("sh")).unwrap().ends_with("sh"));
        assert_eq!(job.on_path(Path::new("no-such-program")), None);
        // The job says where to search, so this is left to the system.
        job.env = vec![("PATH".to_owned(), "/elsewhere".into())];
        assert_eq!(job.on_path(Path::new("sh")), None);
    }

    #[test]
    fn a_timeout_ends_the_whole_family() {
        let log = tempfile::tempfile().unwrap();
        let running = start_logged(&shell("sleep 1000 & sleep 1000 & wait"), &log).unwrap();
        let group = running.group.unwrap();
        let ended = running.wait(Some(Duration::from_millis(50)), || None::<()>).unwrap();
        assert!(matches!(ended, Ended::TimedOut(others) if others == ["sleep"]));
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
    fn an_answer_can_wait_and_a_question_that_is_dropped_is_ended() {
        let asked = Conversation::begin(&shell("cat; sleep 0.05; echo b"), Some(b"a")).unwrap();
        let other = Conversation::begin(&shell("sleep 1000 & sleep 1000"), None).unwrap();
        let group = other.running.as_ref().unwrap().group.unwrap();
        let answer = asked.answer(Duration::from_secs(20), 1_000, &|| false).unwrap();
        assert_eq!((answer.stdout.as_slice(), answer.succeeded), (&b"ab\n"[..], true));
        assert!(lives(group));
        drop(other);
        assert!(!lives(group), "a process of the group is still alive");
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
        // A process that is left behind with the output open does not delay us.
        let left = capture(&shell("setsid sleep 1000 & echo $!"), Duration::from_secs(20), 1_000).unwrap();
        let _ = std::process::Command::new("kill").arg(String::from_utf8_lossy(&left.stdout).trim()).status();
        let slow = capture(&shell("sleep 1000"), Duration::from_millis(50), 1_000);
        assert!(
            matches!(slow, Err(NoAnswer::TimedOut(error)) if error.message().contains("did not answer within 50 ms"))
        );
    }
}
