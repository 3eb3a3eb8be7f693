//! One call of a hook: which project it is about, what to do for its event, and the answer.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::context::context;
use super::record::Record;
use super::{action, end, kept_out, recall, receipt, start};
use crate::agents::call_log::{self, Entry};
use crate::agents::payload::Given;
use crate::agents::{self, Call, Event};
use crate::base::{env, fs, text};
use crate::config;
use crate::error::{Error, Result};
use crate::project::{self, KnownWorktree, Options, Project};
use crate::search::Index;
use crate::steps;
use crate::transcript::{self, WARMUP_MARKER};
use crate::warmup::{Asked, WorkTree};

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct Reply {
    /// For the agent, to the byte.
    pub stdout: String,
    /// For a person who looks: what was done, and what went wrong.
    pub story: Vec<String>,
    pub is_trouble: bool,
}

/// What came of a call, before it is put into the form that the agent wants.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Text for the agent's context.
    pub context: Option<String>,
    /// What was done, for the log.
    pub told: Vec<String>,
    pub is_trouble: bool,
}

impl Done {
    pub(super) fn nothing(why: &str) -> Done {
        Done { told: vec![why.to_owned()], ..Done::default() }
    }

    fn trouble(error: &Error) -> Done {
        Done { told: vec![error.one_line()], is_trouble: true, context: None }
    }
}

/// Does what a call asks for. It never fails; problems are part of the reply.
pub(crate) fn respond(given: &Given, agent: Option<&str>, cwd: Option<&Path>) -> Reply {
    let start = Instant::now();
    let mut call = agents::recognise(&given.bytes, agent, &|name| env::get_text(name));
    call.is_headless |= kept_out::is_headless(&call);
    let call = call;
    let silent = |what: &str| Reply {
        stdout: agents::answer(call.agent, &call.event, None),
        story: vec![what.to_owned()],
        is_trouble: false,
    };
    // An agent that one of our own steps started must not hand over in turn, without end.
    if env::get(env::CHILD).is_some() {
        return silent("called inside a handover: nothing is done");
    }
    let place = place(&call, cwd);
    if let Ok(CallPlace::Directory(place)) = &place
        && !project::is_for_hooks(place)
    {
        let what = format!("`{}` is not a project: nothing is done", place.display());
        call_log::tell(None, &Entry::of(&call, start.elapsed(), &what));
        return silent(&what);
    }
    // If the user's own config cannot be read, nobody knows what it keeps us out of.
    let place = place.and_then(|place| Ok((config::user_config()?, place)));
    if let Ok((own, place)) = &place
        && own.ignores(place.directory())
    {
        let what = format!("`{}` is in a directory that your own config ignores", place.directory().display());
        call_log::tell(None, &Entry::of(&call, start.elapsed(), &what));
        return silent(&what);
    }
    let options = Options { is_unattended: true, ..Options::default() };
    let opened = place.and_then(|(_, place)| match place {
        CallPlace::Directory(place) => Project::open(&place, &options, &steps::vocabulary()),
        CallPlace::GoneWorktree(known) => Project::open_gone(known, &options, &steps::vocabulary()),
    });
    let (project, done) = match opened {
        Ok(project) => {
            let done = act(&project, &call);
            (Some(project), done)
        }
        Err(error) => (None, Err(error)),
    };
    let mut reply = match done {
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
    if call.event == Event::BeforeTool && reply.story.is_empty() {
        return reply;
    }
    let unlogged = call_log::tell(project.as_ref(), &Entry::of(&call, start.elapsed(), &reply.story.join("; ")));
    reply.is_trouble |= unlogged.is_some();
    reply.story.extend(unlogged);
    reply
}

/// The context of a session that gets no warmup: it should know why.
fn unusable(error: &Error) -> String {
    let why = text::model_line(&error.one_line(), 2_000);
    transcript::marked(&format!("{WARMUP_MARKER} agent-handover cannot be used here: {why}\n"))
}

/// The answer that a call would get. Nothing is changed.
pub(crate) fn simulate(project: &Project, call: &Call) -> String {
    let context = match call.event {
        Event::SessionStart | Event::BeforeCompaction => {
            project.config.warms_up.then(|| context(project, call, Asked::default()).text)
        }
        Event::PromptSubmitted => recall::simulated(project, call),
        Event::BeforeTool => action::simulated(project, call),
        _ => None,
    };
    agents::answer(call.agent, &call.event, context.as_deref())
}

/// A prompt or a command of an earlier session, to which there is something to say: for a simulation.
pub(crate) fn sample_question(project: &Project, event: &Event) -> Option<String> {
    let index = || Index::open_existing(project);
    match event {
        Event::PromptSubmitted => index()?.oldest_title().ok()?,
        Event::BeforeTool => index()?.failed_command().ok()?,
        _ => None,
    }
}

/// Where the session of a call is.
enum CallPlace {
    Directory(PathBuf),
    /// In a worktree that does not exist any more. The words of the session belong to the repository.
    GoneWorktree(KnownWorktree),
}

impl CallPlace {
    fn directory(&self) -> &Path {
        match self {
            CallPlace::Directory(place) => place,
            CallPlace::GoneWorktree(known) => &known.root,
        }
    }
}

/// The place of a call: where the session was started, else where it is now, else the directory of this process.
fn place(call: &Call, cwd: Option<&Path>) -> Result<CallPlace> {
    let named = [call.project_dir.as_deref(), call.cwd.as_deref()];
    // If the agent names directories and they are gone, the session does not belong to the directory of this process.
    let ours = cwd.filter(|_| named.iter().all(Option::is_none));
    for place in named.into_iter().chain([ours]).flatten() {
        if fs::is_directory(place) {
            return Ok(CallPlace::Directory(fs::real(place)));
        }
        if let Some(known) = project::recall_worktree(place) {
            return Ok(CallPlace::GoneWorktree(known));
        }
    }
    Err(Error::failed("none of the directories that the agent names exists"))
}

fn act(project: &Project, call: &Call) -> Result<Done> {
    let is_subagent_by_transcript =
        || call.transcript_path.as_deref().is_some_and(|path| transcript::is_subagent(call.agent.name, path));
    if call.is_subagent || is_subagent_by_transcript() {
        return Ok(Done::nothing("a sub-agent's session is part of another's"));
    }
    // git takes longer to look at the work tree than all the rest of a session start takes, so it is asked first.
    let is_start = call.event == Event::SessionStart && project.config.warms_up;
    let work_tree = if is_start { WorkTree::ask_if_used(project) } else { None };
    let mut record = Record::of(project);
    if let Some(why) = kept_out::kept_out(project, call, &mut record)? {
        return Ok(Done::nothing(&why));
    }
    let mut done = match call.event {
        Event::SessionStart => start::start(project, call, record, work_tree),
        Event::TurnEnd => end::progress(project, call, None, record)?,
        Event::PromptSubmitted => {
            let context = recall::at_first_prompt(project, call);
            let receipt = context.as_deref().and_then(|context| receipt::of("prompt", context));
            Done { context, ..end::progress(project, call, receipt, record)? }
        }
        Event::BeforeCompaction => {
            // Most agents take none here, and some ask before each request to the model.
            let is_wanted = project.config.warms_up && agents::takes_context(call.agent, &call.event);
            let context =
                is_wanted.then(|| context(project, call, Asked { record: record.read(), work_tree: None }).text);
            let receipt = context.as_deref().and_then(|context| receipt::of("compact", context));
            let noted = end::progress(project, call, receipt, record).unwrap_or_else(|error| Done::trouble(&error));
            Done { context, ..noted }
        }
        Event::SessionEnd => end::end(project, call, record)?,
        Event::BeforeTool => return Ok(before_tool(project, call)),
        Event::Unknown(_) if !call.edited.is_empty() || call.command.is_some() => {
            end::progress(project, call, None, record)?
        }
        Event::Unknown(_) => Done::default(),
    };
    let notice = project.unattended_places().notice();
    done.told.extend(notice.filter(|notice| !done.told.iter().any(|told| told.contains(notice))));
    Ok(done)
}

/// Tools are used often, so a call that has nothing to say is not logged.
fn before_tool(project: &Project, call: &Call) -> Done {
    let context = action::before_tool(project, call);
    let told = context.iter().map(|line| format!("{} bytes before a tool", line.len())).collect();
    Done { context, told, is_trouble: false }
}
