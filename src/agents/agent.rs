//! What an agent is to us: its names, files, payloads and processes. Each agent fills this in, in its own file.

use std::path::PathBuf;

use serde_json::Value;

use super::AGENTS;
use super::install::server::ServerSettings;
use super::install::{AgentFile, Program};
use super::launch::Launch;
use super::payload::{Event, Payload};
use super::places::{Places, Scope};
use crate::base::{fs, text};
use crate::error::{Error, Result};

/// One coding agent.
pub struct Agent {
    /// The name that a user types and that our hooks pass with `--agent`.
    pub name: &'static str,
    /// The name that people use.
    pub title: &'static str,
    /// The programs that start it.
    pub programs: &'static [&'static str],
    /// How it is started with a first prompt; `None` if there is no program to start.
    pub launch: Option<Launch>,
    /// Files or directories that exist where the agent is used.
    pub traces: fn(&Places, Scope) -> Vec<PathBuf>,
    /// The environment variable with which a user moves its directory.
    pub directory_variable: Option<&'static str>,
    /// Its names for the events that we understand. We install hooks for some of them.
    pub events: &'static [(&'static str, Event)],
    /// Variables that the agent sets for the commands that it runs. Agents started inside the agent inherit them.
    pub command_variables: &'static [(&'static str, Evidence)],
    pub payloads: Payloads,
    pub processes: Processes,
    /// The files that we keep at this scope. Their hooks start the given program.
    pub files: fn(&Places, Scope, &Program) -> Result<Vec<AgentFile>>,
    /// Where it keeps its MCP servers; `None` if we register none there.
    pub server: fn(&Places, Scope) -> Option<ServerSettings>,
    /// The Markdown files in which it keeps what it remembers about this project.
    pub memories: fn(&Places) -> Vec<PathBuf>,
    /// The file that says that our plugin is installed and turned on, if the agent has one.
    pub plugin: fn(&Places) -> Option<PathBuf>,
    /// After how many days it deletes a transcript; `None` if it keeps them, or if nobody knows.
    pub deletes_after: fn(&Places) -> Option<u64>,
    /// Where it reads instructions at the start of each session.
    pub bootstrap: fn(&Places, Scope) -> Bootstrap,
    /// The exact bytes to print on stdout after an event.
    pub answer: fn(&Event, Option<&str>) -> String,
    /// Settings that keep our hooks from running although they are installed.
    pub obstacles: fn(&Places, Scope) -> Vec<String>,
    /// Steps that only the user can do after an install.
    pub clicks: fn(&Places, Scope) -> Vec<String>,
    /// Whether the user has to trust the hooks again that move up when ours are removed.
    pub trusts_hooks_by_position: bool,
    /// Whether other agents run the hooks in its settings too.
    pub settings_read_by_others: bool,
}

impl Agent {
    /// Whether the agent drops what its hooks answer, so that only its instructions lead it to its context.
    pub(crate) fn drops_answers(&self, places: &Places) -> bool {
        !self.events.is_empty() && (self.bootstrap)(places, Scope::User) == Bootstrap::Always
    }
}

/// Where an agent reads instructions at the start of each session, besides its hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bootstrap {
    /// A file of its own, which `install --block` writes into.
    OnRequest(PathBuf),
    /// A file that every install writes.
    Always,
    /// AGENTS.md, which belongs to no single agent.
    AgentsMd,
}

/// How the payloads of an agent are recognised, and where they differ from those of others.
pub struct Payloads {
    /// Whether a payload comes from this agent.
    pub evidence: fn(&Payload) -> Option<Evidence>,
    /// A variable that the agent sets for its hooks. Agents started inside the agent inherit it.
    pub variable: Option<(&'static str, Evidence)>,
    /// The variable with the directory in which the agent was started.
    pub project_variable: Option<&'static str>,
    /// The event of a payload that does not name one.
    pub unnamed_event: fn(&Payload) -> Event,
    /// Whether the environment of a hook says that nobody sits in front of the agent.
    pub is_headless: fn(Variables<'_>) -> bool,
    /// Whether every payload has an `agent_id`. Elsewhere only those of subagents do.
    pub always_has_agent_id: bool,
    /// A payload for `doctor --simulate`, without the keys that belong to the event.
    pub sample: fn(&Sample<'_>) -> Value,
}

impl Payloads {
    /// For agents whose payloads need no special treatment.
    pub const PLAIN: Payloads = Payloads {
        evidence: |_| None,
        variable: None,
        project_variable: None,
        unnamed_event: |_| Event::Unknown(String::new()),
        is_headless: |_| false,
        always_has_agent_id: false,
        sample: |sample| serde_json::json!({ "session_id": sample.session, "cwd": sample.cwd, "hook_event_name": sample.event }),
    };
}

/// How strongly something points to an agent. The strongest evidence wins; among equals, the order of [`AGENTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// Others may send or inherit it as well.
    Weak,
    /// Normally this agent only.
    Strong,
    /// No other agent sends it.
    Certain,
}

/// Looks up an environment variable.
pub(super) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The values of a sample payload.
pub struct Sample<'a> {
    /// The agent's name for the event.
    pub event: &'a str,
    pub session: &'a str,
    pub cwd: &'a str,
}

/// How the sessions of an agent relate to its processes.
pub struct Processes {
    /// Whether a process runs one session at a time. If not, a process says nothing about a session.
    pub one_session_each: bool,
    /// Whether a process with these arguments is a server that keeps many sessions and outlives them. `None` if the agent
    /// has no such server.
    pub is_session_server: Option<fn(&[String]) -> bool>,
    /// Whether a process that has finished a session starts the next one.
    pub reused_by_next_session: bool,
    /// Whether nobody sits in front of a process with these arguments, the program first.
    pub is_headless: fn(&[String]) -> bool,
    /// The variable by which the commands that it runs know the id of its session.
    pub session_variable: Option<&'static str>,
}

impl Processes {
    pub const ONE_SESSION_EACH: Processes = Processes {
        one_session_each: true,
        is_session_server: None,
        reused_by_next_session: false,
        is_headless: |_| false,
        session_variable: None,
    };
    pub const MANY_SESSIONS: Processes = Processes { one_session_each: false, ..Processes::ONE_SESSION_EACH };

    /// Whether one of the arguments is one of these words. What follows `--` is a prompt.
    pub fn has_word(arguments: &[String], words: &[&str]) -> bool {
        let options = arguments.iter().skip(1).take_while(|argument| *argument != "--");
        options.into_iter().any(|argument| words.contains(&argument.split('=').next().unwrap_or_default()))
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Agent) -> bool {
        self.name == other.name
    }
}

/// The program or path that shows that an agent is used here, if there is one.
pub fn detected(agent: &Agent, places: &Places, scope: Scope) -> Option<PathBuf> {
    let program = agent.programs.iter().find_map(|program| places.program(program));
    program.or_else(|| (agent.traces)(places, scope).into_iter().find(|path| fs::exists(path)))
}

/// The agent of this name, if we know it.
pub fn by_name(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().copied().find(|agent| agent.name == name)
}

/// The agent that a user may mean with this short name: that of its program, or its name with `-cli`.
fn by_short_name(name: &str) -> Option<&'static Agent> {
    let is_meant = |agent: &&Agent| agent.programs.contains(&name) || name.strip_suffix("-cli") == Some(agent.name);
    AGENTS.iter().copied().find(is_meant)
}

/// Like [`by_name`], for a name that a user typed: it may be a short one, and an unknown one is a usage error with the
/// nearest name.
pub fn find(name: &str) -> Result<&'static Agent> {
    find_among(name, |_| true)
}

/// Like [`find`], for an agent that is to be started: a suggestion names only agents that have a program.
pub fn find_to_start(name: &str) -> Result<&'static Agent> {
    find_among(name, |agent| agent.launch.is_some())
}

/// The agent of this name. An error suggests only those that are wanted.
fn find_among(name: &str, is_wanted: fn(&Agent) -> bool) -> Result<&'static Agent> {
    by_name(name).or_else(|| by_short_name(name)).ok_or_else(|| {
        let names: Vec<&str> = AGENTS.iter().filter(|agent| is_wanted(agent)).map(|agent| agent.name).collect();
        let programs = AGENTS.iter().filter(|agent| is_wanted(agent)).flat_map(|agent| agent.programs.iter().copied());
        let error = Error::usage(format!("there is no agent `{}`", text::one_line(name, 40)));
        match text::nearest(name, names.iter().copied().chain(programs)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("known: {}", names.join(", "))),
        }
    })
}

/// The name of an agent that is almost this one.
pub fn nearest(name: &str) -> Option<&'static str> {
    text::nearest(name, AGENTS.iter().map(|agent| agent.name))
}

/// The exact bytes that this agent reads on stdout after an event. An empty answer means: print nothing.
pub fn answer(agent: &Agent, event: &Event, context: Option<&str>) -> String {
    (agent.answer)(event, context)
}

/// Whether a context can reach this agent in the answer to an event.
pub fn takes_context(agent: &Agent, event: &Event) -> bool {
    (agent.answer)(event, Some("x")) != (agent.answer)(event, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_agent_is_answered_with_the_nearest_name() {
        assert_eq!(find("codex").unwrap().name, "codex");
        for (short, name) in [("claude", "claude-code"), ("gemini-cli", "gemini"), ("agy", "antigravity")] {
            assert_eq!(find(short).unwrap().name, name);
        }
        assert_eq!(find("copilot-cli").unwrap().name, "copilot");
        assert_eq!(find("claude-cod").unwrap_err().hints(), ["did you mean `claude-code`?"]);
        let hint = &find("zed").unwrap_err().hints()[0].clone();
        assert!(hint.ends_with("agents-md") && !hint.contains("`all`"), "{hint}");
        let hint = &find_to_start("zed").unwrap_err().hints()[0].clone();
        assert!(hint.starts_with("known: claude-code, ") && !hint.contains("agents-md"), "{hint}");
        assert!(!find_to_start("agents-m").unwrap_err().hints()[0].contains("agents-md"));
        assert_eq!(find_to_start("claude").unwrap().name, "claude-code");
    }
}
