//! What agents call: context in at the start of a session, a handover out at its end, and nothing that could go wrong is
//! theirs to suffer from.
//!
//! | event | what is done |
//! |---|---|
//! | session start | sweep, finish what is due within a moment, then the warmup |
//! | turn end, before compaction, prompt | one row is written: how long the transcript is by now |
//! | session end | the run is recorded with HEAD and the transcript's length, and carried out in the background |
//!
//! Each part of a session is handed over once, whoever calls and however often: the row of a session says up to where it was,
//! and recording a run moves that mark in the same transaction.

pub mod log;
mod pending;
mod session;
mod sweep;

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

pub use session::own_session;

use crate::agents::payload::{self, Given};
use crate::agents::{self, Call, Event};
use crate::base::lock::{self, Lock};
use crate::base::{clock, env, text};
use crate::checkpoint::{Session, Store};
use crate::engine;
use crate::error::{Error, Result};
use crate::project::{Options, Project};
use crate::steps;
use crate::transcript::{self, Source, Transcript, WARMUP_MARKER};
use crate::warmup::{self, Ask, Extent};
use log::Entry;
use pending::Part;
use sweep::Caller;

/// How long a session's start is held up by handovers that are not done.
const DUE_LIMIT: Duration = Duration::from_millis(1_000);
/// Two hooks of one installation, or two installations, call within this time.
const AT_ONCE: Duration = Duration::from_secs(5);
/// How long a payload may pause before what came is taken for all of it.
const SILENCE: Duration = Duration::from_secs(2);
/// How much of the end of a session's own transcript is read after a compaction, and how much of its beginning.
const OWN_END: u64 = 8 << 20;
const OWN_BEGINNING: u64 = 1 << 20;

/// What is said to whom.
#[derive(Debug)]
pub struct Reply {
    /// For the agent, to the byte.
    pub stdout: String,
    /// For a person who looks: what was done, and what went wrong.
    pub story: Vec<String>,
    pub is_trouble: bool,
}

/// Everything that comes on standard input. Of a writer that never closes it, what came before it fell silent.
pub fn receive(input: impl Read + Send + 'static) -> Given {
    let (sender, receiver) = mpsc::channel();
    let (piece, pieces) = mpsc::channel();
    // Left behind if it hangs: the process ends soon.
    std::thread::spawn(move || sender.send(payload::read(Watched { input, piece, useful: USEFUL })));
    let mut so_far = Vec::new();
    loop {
        let given = receiver.recv_timeout(SILENCE);
        let before = so_far.len();
        so_far.extend(pieces.try_iter().flatten());
        match given {
            Ok(Ok(given)) => return given,
            Err(mpsc::RecvTimeoutError::Timeout) if so_far.len() > before => {}
            _ => return Given { bytes: so_far, dropped: 0 },
        }
    }
}

/// More is not kept of a payload that has no end.
const USEFUL: usize = 1 << 20;

/// Passes on what is read while it is read: of what is no longer of use, only that it comes.
struct Watched<R> {
    input: R,
    piece: mpsc::Sender<Vec<u8>>,
    useful: usize,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        let useful = read.min(self.useful);
        self.useful -= useful;
        let _ = self.piece.send(if useful > 0 { buffer[..useful].to_vec() } else { vec![b' '; read.min(1)] });
        Ok(read)
    }
}

/// Does what a call asks for, and never fails.
pub fn respond(given: &Given, agent: Option<&str>, cwd: Option<&Path>) -> Reply {
    let start = Instant::now();
    let call = agents::recognise(&given.bytes, agent, &|name| env::get_text(name));
    let silent = |what: &str| Reply {
        stdout: agents::answer(call.agent, &call.event, None),
        story: vec![what.to_owned()],
        is_trouble: false,
    };
    // An agent that one of our own steps started must not hand over in turn, and so on for ever.
    if env::get(env::CHILD).is_some() {
        return silent("called inside a handover: nothing is done");
    }
    let (project, done) = match open(&call, cwd) {
        Ok(project) => {
            let done = act(&project, &call);
            (Some(project), done)
        }
        Err(error) => (None, Err(error)),
    };
    let reply = match done {
        Ok(done) => {
            let mut story = done.told;
            story.extend(call.problems.iter().cloned());
            let stdout = agents::answer(call.agent, &call.event, done.context.as_deref());
            Reply { stdout, story, is_trouble: done.is_trouble }
        }
        Err(error) => {
            let context = (call.event == Event::SessionStart).then(|| unusable(&error));
            let mut story = vec![error.one_line()];
            story.extend(error.hints().iter().cloned());
            story.extend(call.problems.iter().cloned());
            Reply { stdout: agents::answer(call.agent, &call.event, context.as_deref()), story, is_trouble: true }
        }
    };
    log::tell(project.as_ref(), &Entry::of(&call, start.elapsed(), &reply.story.join("; ")));
    reply
}

/// A session should know that it will be told nothing and why.
fn unusable(error: &Error) -> String {
    format!("{WARMUP_MARKER} agent-handover cannot be used here: {}\n", text::model_line(&error.one_line(), 2_000))
}

/// What a call would be answered, without anything being changed.
pub fn simulate(project: &Project, call: &Call) -> String {
    let context = match call.event {
        Event::SessionStart | Event::BeforeCompaction => Some(context(project, call).text),
        _ => None,
    };
    agents::answer(call.agent, &call.event, context.as_deref())
}

/// Where the session was started, else where it is now, else where we are.
fn open(call: &Call, cwd: Option<&Path>) -> Result<Project> {
    let named = [call.project_dir.as_deref(), call.cwd.as_deref()];
    // A session that was somewhere else is none of ours because its directory is gone.
    let ours = cwd.filter(|_| named.iter().all(Option::is_none));
    let place = named.into_iter().chain([ours]).flatten().find(|place| place.is_dir());
    let place = place.ok_or_else(|| Error::failed("none of the directories that the agent names is there"))?;
    let place = place.canonicalize().unwrap_or_else(|_| place.to_path_buf());
    Project::open(&place, &Options::default(), &steps::readers())
}

/// What came of a call.
#[derive(Debug, Default)]
struct Done {
    context: Option<String>,
    told: Vec<String>,
    is_trouble: bool,
}

impl Done {
    fn nothing(why: &str) -> Done {
        Done { told: vec![why.to_owned()], ..Done::default() }
    }
}

fn act(project: &Project, call: &Call) -> Result<Done> {
    let told_by_transcript =
        || call.transcript_path.as_deref().is_some_and(|path| transcript::is_subagent(call.agent.name, path));
    if call.is_subagent || told_by_transcript() {
        return Ok(Done::nothing("a sub-agent's session is part of another's"));
    }
    match call.event {
        Event::SessionStart => Ok(start(project, call)),
        Event::TurnEnd | Event::PromptSubmitted => progress(project, call),
        Event::BeforeCompaction => {
            let mut done = progress(project, call).unwrap_or_else(|error| trouble(&error));
            done.context = Some(context(project, call).text);
            Ok(done)
        }
        Event::SessionEnd => end(project, call),
        Event::Unknown(_) => Ok(Done::default()),
    }
}

fn trouble(error: &Error) -> Done {
    Done { told: vec![error.one_line()], is_trouble: true, context: None }
}

/// The database, unless the config puts things where nobody has allowed anything to be written.
fn store(project: &Project) -> Result<Store> {
    let outside = project.outside();
    if !outside.is_empty() && !project.is_allowed() {
        let places = outside.join(" and ");
        return Err(Error::failed(format!(
            "{places} of this config lead out of the project, which nobody has allowed"
        ))
        .hint("look at the config, then run `agent-handover allow`"));
    }
    project.prepare()?;
    Store::open_briefly(&project.checkpoint)
}

/// Whatever goes wrong on the way, the session gets its context.
fn start(project: &Project, call: &Call) -> Done {
    let mut done = Done::default();
    let is_first = match before(project, call, &mut done.told) {
        Ok(is_first) => is_first,
        Err(error) => {
            done.told.push(error.one_line());
            done.is_trouble = true;
            true
        }
    };
    if is_first {
        let warmup = context(project, call);
        done.told.push(format!("{} bytes of context for `{}`", warmup.text.len(), source(call)));
        done.context = Some(warmup.text);
    } else {
        done.told.push("the same was answered just now".to_owned());
    }
    done
}

/// Looks after the other sessions, then writes this one down. `false` if another call of the same hook was faster.
fn before(project: &Project, call: &Call, told: &mut Vec<String>) -> Result<bool> {
    let session = call.session_id.clone().unwrap_or_default();
    let mut store = store(project)?;
    let process = session::process(call.agent.name);
    let is_paused = project.brake().pressed().is_some();
    let mut is_whole = false;
    if !is_paused {
        let caller = Caller { agent: call.agent.name, session: &session, process: &process };
        match sweep::sweep(project, &mut store, &caller) {
            Ok(swept) => {
                told.extend(swept.told);
                is_whole = swept.is_whole;
            }
            Err(error) => told.push(format!("not swept: {}", error.one_line())),
        }
        finish_due(project, &store, told)?;
    }
    if session.is_empty() {
        told.push("the agent names no session".to_owned());
        return Ok(true);
    }
    let mut seen = session::seen(call, &session);
    seen.warmed = source(call).to_owned();
    seen.swept = is_whole;
    seen.is_copied = source(call) == "fork";
    let at_once = chrono::Duration::from_std(AT_ONCE).unwrap_or_default();
    store.note_session(&seen, &clock::stamp(&(clock::now() - at_once)))
}

/// Carries out what is unfinished and may be, in a child, because nobody can wait for a push that hangs.
fn finish_due(project: &Project, store: &Store, told: &mut Vec<String>) -> Result<()> {
    let (due, left) = engine::due(project, store)?;
    if !left.is_empty() {
        told.push(format!("{} left for `agent-handover run --resume`, for want of consent", left.len()));
    }
    let Some(first) = due.first() else { return Ok(()) };
    let start = Instant::now();
    if let Some(lock) = Lock::try_take(&project.lock())? {
        engine::detach(project, &first.id, Some(lock), arguments_of_child(project))?;
    }
    while lock::holder(&project.lock()).is_some() && start.elapsed() < DUE_LIMIT {
        std::thread::sleep(Duration::from_millis(2));
    }
    let (still, _) = engine::due(project, store)?;
    told.push(format!("{} of {} due finished", due.len().saturating_sub(still.len()), due.len()));
    Ok(())
}

fn source(call: &Call) -> &str {
    call.source.as_deref().unwrap_or("startup")
}

/// What this session is told, by why it starts.
fn context(project: &Project, call: &Call) -> warmup::Warmup {
    let extent = match (&call.event, source(call)) {
        (Event::BeforeCompaction, _) | (_, "compact") => Extent::Short,
        // It has its past with it.
        (_, "resume" | "fork") => Extent::News,
        _ => Extent::Whole,
    };
    let own = (extent == Extent::Short).then(|| own_past(call)).flatten();
    warmup::build(project, &Ask { budget: project.config.warmup_budget, extent, session: own.as_ref() })
}

/// What the session has done so far, from both ends of its transcript.
fn own_past(call: &Call) -> Option<Transcript> {
    let path = session::transcript(call)?;
    let whole = Source::pin(path, "").ok()?;
    let end = Source { start: whole.end.saturating_sub(OWN_END), ..whole.clone() };
    let mut found = end.read().ok()??;
    if end.start > 0
        && let Ok(Some(beginning)) = (Source { end: OWN_BEGINNING.min(whole.end), ..whole }).read()
        && !beginning.first_request.is_empty()
    {
        found.first_request = beginning.first_request;
    }
    (found.requests > 0 || !found.first_request.is_empty()).then_some(found)
}

/// One row, one transaction, no git.
fn progress(project: &Project, call: &Call) -> Result<Done> {
    let Some(session) = &call.session_id else { return Ok(Done::nothing("the agent names no session")) };
    let mut seen = session::seen(call, session);
    seen.is_turn_end = call.event == Event::TurnEnd;
    store(project)?.note_session(&seen, "")?;
    Ok(Done::nothing(&format!("noted at {} bytes", seen.size)))
}

/// Records the run and lets a child carry it out.
fn end(project: &Project, call: &Call) -> Result<Done> {
    let Some(id) = &call.session_id else { return Ok(Done::nothing("the agent names no session")) };
    let seen = session::seen(call, id);
    let mut store = store(project)?;
    let known = store.session(call.agent.name, id)?;
    let mut session = known.unwrap_or_else(|| pending::unseen(call.agent.name, id, &seen.transcript));
    if !seen.transcript.is_empty() {
        session.transcript.clone_from(&seen.transcript);
    }
    let why = call.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let request = match pending::left(&session, None)? {
        Part::Something(request) => request,
        Part::Nothing(size) => return over(&mut store, &session, size, &why),
    };
    // Taken before anything is on record, so that nobody finds it there and thinks it was left behind.
    let is_paused = project.brake().pressed().is_some();
    let lock = if is_paused { None } else { Lock::try_take(&project.lock())? };
    let Some(recorded) = pending::record(project, &mut store, &request)? else {
        return Ok(Done::nothing("another call has handed it over"));
    };
    drop(store);
    let mut told = vec![format!("recorded {}{why}", recorded.id)];
    told.extend(recorded.warnings);
    let mut is_trouble = false;
    match lock {
        Some(lock) => match engine::detach(project, &recorded.id, Some(lock), arguments_of_child(project)) {
            Ok(pid) => told.push(format!("carried out by pid {pid}")),
            Err(error) => {
                is_trouble = true;
                told.push(format!("it waits: {}", error.one_line()));
            }
        },
        None if is_paused => told.push("it waits until PAUSE is gone".to_owned()),
        None => told.push("it is left to the process that is at it".to_owned()),
    }
    Ok(Done { context: None, told, is_trouble })
}

fn over(store: &mut Store, session: &Session, size: u64, why: &str) -> Result<Done> {
    // Of a session that no hook has seen before nothing needs to be known.
    if !session.started_at.is_empty() {
        store.sessions_are_over(&[(session, size)])?;
    }
    Ok(Done::nothing(&format!("nothing was asked since the last handover{why}")))
}

/// Absolute paths, because the child stands at the root of the project.
fn arguments_of_child(project: &Project) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["hook".into(), "--drain".into()];
    if let Some(config) = &project.config.file {
        arguments.extend(["--config".into(), config.clone().into_os_string()]);
    }
    arguments.extend(["--checkpoint".into(), project.checkpoint.clone().into_os_string()]);
    arguments
}

/// The child: the lock is standard input.
pub fn drain(project: &Project, tell: &mut dyn FnMut(&engine::Event)) -> Result<engine::Drained> {
    let mut lock = Lock::inherited(&project.lock())?;
    // Whoever started us waits for this.
    lock.sign("")?;
    let mut store = Store::open(&project.checkpoint)?;
    let drained = engine::drain_unattended(project, &mut store, lock, &mut |event| tell(&event))?;
    // Nobody waits any more: here is the time to look at what may take long.
    if project.brake().pressed().is_some() || sweep::sweep_disk(project, &mut store)?.is_empty() {
        return Ok(drained);
    }
    match Lock::try_take(&project.lock())? {
        Some(lock) => engine::drain_unattended(project, &mut store, lock, &mut |event| tell(&event)),
        None => Ok(drained),
    }
}
