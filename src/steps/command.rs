//! Runs a program. Its effects are outside of the project, so they may happen more than once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, OnInterrupt, Outcome, Promise, kind};
use crate::base::fs::{self, Anchor};
use crate::base::process::{self, Ended, Job};
use crate::base::{duration, env, text};
use crate::config::{Reader, template};
use crate::error::{Error, Result};
use crate::guard::{Redactor, secrets};
use crate::project;

pub(super) const KIND: Kind = Kind {
    name: "command",
    promise: Promise::AtLeastOnce,
    newest_wins: false,
    only_reads: false,
    collects: false,
    needs_head: false,
    delivers: false,
    runs_in_worktree: true,
    keeps: kind::keeps_mentioned,
    read,
    intend,
    preview,
    missing,
    act,
    before_resume,
    missing_from: kind::loses_nothing,
    on_interrupt,
};

/// The longest command line that is kept as evidence, in bytes.
const MAX_SHOWN: usize = 500;
/// How many bytes of the output's beginning, and of its end, the checkpoint keeps.
const KEPT_OUTPUT: u64 = 2_000;
/// How many bytes around them are searched for secrets.
const MARGIN: u64 = 40_000;

#[derive(Serialize, Deserialize)]
struct Params {
    /// The program and its arguments, each a template. No shell reads them.
    run: Option<Vec<String>>,
    /// A line for `sh -c`, passed on unchanged.
    shell: Option<String>,
    cwd: Option<String>,
    /// Values are templates.
    env: BTreeMap<String, String>,
    timeout_ms: Option<u64>,
    on_interrupt: String,
}

fn read(table: &mut Reader<'_>) -> Value {
    let run = table.program("run");
    let shell = table.text("shell");
    for argument in run.iter().flat_map(|run| &run.value) {
        table.check_template("run", argument);
    }
    let help = "write `run = [\"program\", \"argument\"]`, or `shell = \"…\"` for a shell line";
    table.missing_all_of(&["run", "shell"], Some(help.to_owned()));
    if let (Some(_), Some(shell)) = (&run, &shell) {
        let message = format!("{} has both `run` and `shell`", table.place());
        table.wrong(shell.span.clone(), message, Some("keep one of them".to_owned()));
    }
    if let Some(run) = &run
        && run.value.first().is_none_or(|program| program.value.is_empty())
    {
        let message = format!("`run` in {} names no program", table.place());
        table.wrong(run.span.clone(), message, Some("write `run = [\"program\", \"argument\"]`".to_owned()));
    }
    if let Some(shell) = &shell {
        if shell.value.trim().is_empty() {
            table.wrong(shell.span.clone(), format!("`shell` in {} is empty", table.place()), None);
        } else if template::mentions_a_name(&shell.value) {
            // A shell would run the session's text as part of the line.
            let message = format!("`shell` in {} is not filled in like a template", table.place());
            let help = "pass the value through `env = { NOTE = \"{{ note }}\" }` and write \"$NOTE\"";
            table.wrong(shell.span.clone(), message, Some(help.to_owned()));
        }
    }
    let variables = table.text_table("env").unwrap_or_default();
    for (name, value) in &variables {
        table.check_template("env", value);
        if name.is_empty() || name.contains(['=', '\0']) {
            table.wrong(value.span.clone(), format!("`{name}` cannot be the name of an environment variable"), None);
        }
    }
    let words = [("rerun", "rerun"), ("skip", "skip"), ("stop", "stop")];
    let timeout = table.duration("timeout");
    let params = Params {
        run: run.map(|run| run.value.into_iter().map(|argument| argument.value).collect()),
        shell: shell.map(|shell| shell.value),
        cwd: table.path("cwd").map(|cwd| cwd.value),
        env: variables.into_iter().map(|(name, value)| (name, value.value)).collect(),
        timeout_ms: timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
        on_interrupt: table.choice("on_interrupt", &words).unwrap_or("rerun").to_owned(),
    };
    serde_json::to_value(params).unwrap_or_default()
}

fn params(context: &Context<'_>) -> Result<Params> {
    Params::deserialize(context.params).map_err(|cause| Error::bug("a recorded command cannot be read").cause(cause))
}

fn on_interrupt(params: &Value) -> OnInterrupt {
    match params["on_interrupt"].as_str() {
        Some("skip") => OnInterrupt::Skip,
        Some("stop") => OnInterrupt::Stop,
        _ => OnInterrupt::Rerun,
    }
}

/// The arguments of the program. The environment is not part of the intent: it may hold secrets, and it can be built again.
fn intend(context: &Context<'_>) -> Result<Intent> {
    let params = params(context)?;
    let argv = match (&params.run, &params.shell) {
        (Some(run), _) => run.iter().map(|argument| context.render(argument)).collect::<Result<Vec<_>>>()?,
        (None, Some(shell)) => vec!["sh".to_owned(), "-c".to_owned(), shell.clone()],
        (None, None) => return Err(Error::bug("a recorded command without a program")),
    };
    Ok(Intent::Do(json!({ "argv": argv })))
}

fn preview(context: &Context<'_>, intent: &Value) -> Result<String> {
    let job = job(context, &params(context)?, intent)?;
    Ok(format!("run `{}` in {}", text::one_line(&shown(&job.argv), 200), job.directory.display()))
}

fn missing(context: &Context<'_>, intent: &Value) -> Result<Vec<String>> {
    let job = job(context, &params(context)?, intent)?;
    if !fs::is_directory(&job.directory) {
        return Ok(vec![format!("there is no directory `{}`", job.directory.display())]);
    }
    let Some(program) = job.argv.first() else { return Ok(Vec::new()) };
    let is_program = |path: PathBuf| fs::is_executable(&path);
    let is_there = if Path::new(program).components().count() > 1 {
        is_program(job.directory.join(program))
    } else {
        let own = job.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let path = own.or_else(|| env::get("PATH")).unwrap_or_default();
        std::env::split_paths(&path).any(|directory| is_program(job.directory.join(directory).join(program)))
    };
    Ok(if is_there { Vec::new() } else { vec![format!("there is no program `{}`", program.to_string_lossy())] })
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let params = params(context)?;
    let job = job(context, &params, intent)?;
    let redactor = redactor(&job);
    let anchor = log_anchor(context);
    anchor.create_log_directory(&context.logs).map_err(Error::from)?;
    let log = log_path(context, context.attempt);
    let output = anchor.open_private(&log).map_err(Error::from)?;

    let start = Instant::now();
    let running = process::start_logged(&job, &output)?;
    let ended = running.wait(params.timeout_ms.map(Duration::from_millis), || context.brake.pressed())?;
    if let Some(redactor) = &redactor {
        redactor.redact_file(&anchor, &log)?;
    }
    let (head, tail) = (read_start(&anchor, &log)?, read_end(&anchor, &log)?);
    let evidence = json!({
        "command": text::kept_line(&secrets::clean(&shown(&job.argv)), MAX_SHOWN),
        "passed": matches!(&ended, Ended::Exited(status) if status.success()),
        "exit_code": if let Ended::Exited(status) = &ended { status.code() } else { None },
        "took_ms": u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    let result = json!({ "log": context.show(&log), "head": head, "tail": tail, "evidence": evidence });
    let failed = |what: String| {
        let last = text::last_line(&tail).map(|line| secrets::clean(&line));
        let error = last.map_or(Error::failed(&what), |line| Error::failed(&what).cause(text::one_line(&line, 200)));
        Failure::Failed(error.hint(format!("its output is in `{}`", context.show(&log))), result.clone())
    };
    match ended {
        Ended::Stopped(stop) => Err(Failure::Stopped(stop)),
        Ended::TimedOut(_) => {
            let timeout = Duration::from_millis(params.timeout_ms.unwrap_or(0));
            Err(failed(format!("timed out after {}", duration::show(timeout))))
        }
        Ended::Exited(status) if status.success() => {
            let detail = text::one_line(&shown(&job.argv), 80);
            Ok(Outcome { result, ..Outcome::new(detail) })
        }
        Ended::Exited(status) => Err(failed(how(status))),
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

fn job(context: &Context<'_>, params: &Params, intent: &Value) -> Result<Job> {
    let argv = intent["argv"].as_array().ok_or_else(|| Error::bug("a command intent without arguments"))?;
    let mut variables: Vec<(String, OsString)> = Vec::new();
    for (name, value) in &params.env {
        variables.push((name.clone(), context.render(value)?.into()));
    }
    variables.push((env::ROOT.to_owned(), context.work.to_string_lossy().into_owned().into()));
    variables.push((env::RUN.to_owned(), context.session.run.clone().into()));
    variables.push((env::STEP.to_owned(), context.step.into()));
    variables.push((env::ATTEMPT.to_owned(), context.attempt.to_string().into()));
    Ok(Job {
        argv: argv.iter().filter_map(Value::as_str).map(OsString::from).collect(),
        directory: match &params.cwd {
            Some(cwd) => project::place_of_others(context.work, cwd)?,
            None => context.work.to_path_buf(),
        },
        env: variables,
        env_remove: Vec::new(),
    })
}

fn redactor(job: &Job) -> Option<Redactor> {
    let inherited = std::env::vars_os();
    let own = job.env.iter().map(|(name, value)| (OsString::from(name), value.clone()));
    let text = |value: OsString| value.into_string().ok();
    Redactor::for_environment(inherited.chain(own).filter_map(|(name, value)| Some((text(name)?, text(value)?))))
}

/// Ends the program if it is still running, because only the process that watched it may have been killed. Its log was not
/// searched for secrets, and the environment that says what they are may be gone; so the log is removed.
fn before_resume(context: &Context<'_>) -> Result<()> {
    process::end_orphans(&[(env::RUN, &context.session.run), (env::STEP, context.step)], process::Orphans::All)?;
    remove_logs(&log_anchor(context), &context.logs, context.step, context.attempt)
}

/// Removes the log of an attempt whose end was not recorded.
pub(crate) fn remove_logs(anchor: &Anchor, logs: &Path, step: &str, attempt: u32) -> Result<()> {
    anchor.sweep_temporaries(logs, fs::Depth::Directory)?;
    let log = log_file(logs, step, attempt);
    if anchor.about(&log)?.is_some() {
        anchor.remove_file(&log)?;
    }
    Ok(())
}

fn log_anchor(context: &Context<'_>) -> Anchor {
    Anchor::around(context.root, context.state)
}

fn log_path(context: &Context<'_>, attempt: u32) -> PathBuf {
    log_file(&context.logs, context.step, attempt)
}

/// Where an attempt at a step writes what its command prints, in the directory of its run.
pub(crate) fn log_file(logs: &Path, step: &str, attempt: u32) -> PathBuf {
    logs.join(format!("{step}-{attempt}.log"))
}

/// The command of a step in one line, as its config has it.
pub(crate) fn as_configured(params: &Value) -> Option<String> {
    let Params { run, shell, .. } = Params::deserialize(params).ok()?;
    let line = match (run, shell) {
        (Some(run), _) => run.iter().map(|argument| text::shell_word(argument)).collect::<Vec<_>>().join(" "),
        (None, shell) => shell?,
    };
    Some(text::one_line(&line, MAX_SHOWN))
}

fn shown(argv: &[OsString]) -> String {
    argv.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn read_start(anchor: &Anchor, log: &Path) -> Result<String> {
    let cleaned = read_part(anchor, log, |file| file.take(KEPT_OUTPUT + MARGIN))?;
    Ok(text::cut(&cleaned, KEPT_OUTPUT as usize).to_owned())
}

fn read_end(anchor: &Anchor, log: &Path) -> Result<String> {
    let cleaned = read_part(anchor, log, |mut file| {
        let length = file.metadata().map_or(0, |about| about.len());
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(KEPT_OUTPUT + MARGIN)));
        file.take(KEPT_OUTPUT + MARGIN)
    })?;
    let skip = cleaned.len().saturating_sub(KEPT_OUTPUT as usize);
    let start = (skip..=cleaned.len()).find(|at| cleaned.is_char_boundary(*at)).unwrap_or(0);
    Ok(cleaned[start..].to_owned())
}

/// A part of the log without secrets. More is read than is kept, because a secret may lie across the cut.
fn read_part(anchor: &Anchor, log: &Path, part: impl FnOnce(File) -> std::io::Take<File>) -> Result<String> {
    let bytes = fs::read_at_most(part(anchor.open(log)?), KEPT_OUTPUT + MARGIN)
        .map_err(|cause| Error::io("read", log, cause))?;
    Ok(secrets::clean(&text::without_controls(&String::from_utf8_lossy(&bytes))))
}
