//! What an agent sends to a hook, read from whatever comes: who calls, what happened, in which session. Nothing here
//! fails; what cannot be understood is said in [`Call::problems`] and left out.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use super::{AGENTS, Agent, agents_md, claude_code, cline, codex, copilot, cursor, gemini, opencode};
use crate::base::text;

/// What happened, in one word for all agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    SessionStart,
    TurnEnd,
    BeforeCompaction,
    SessionEnd,
    PromptSubmitted,
    /// Nothing that we listen to, by the agent's name for it.
    Unknown(String),
}

impl Event {
    /// For logs and idempotence keys.
    pub fn name(&self) -> &str {
        match self {
            Event::SessionStart => "session-start",
            Event::TurnEnd => "turn-end",
            Event::BeforeCompaction => "before-compaction",
            Event::SessionEnd => "session-end",
            Event::PromptSubmitted => "prompt-submitted",
            Event::Unknown(_) => "unknown",
        }
    }
}

/// One call of a hook. All texts are free of control characters; all paths are absolute.
#[derive(Clone, Debug)]
pub struct Call {
    pub agent: &'static Agent,
    pub event: Event,
    pub session_id: Option<String>,
    /// Where the agent is now; it follows its `cd`.
    pub cwd: Option<PathBuf>,
    /// Where it was started, if it says so.
    pub project_dir: Option<PathBuf>,
    pub transcript_path: Option<PathBuf>,
    /// Why the session started: `startup`, `resume`, `clear`, `compact`, `fork`, `new`.
    pub source: Option<String>,
    /// Why the session ended.
    pub reason: Option<String>,
    /// What made it compact: `manual` or `auto`.
    pub trigger: Option<String>,
    pub model: Option<String>,
    /// What the user asked, where the event says so.
    pub prompt: Option<String>,
    /// What the agent said last, where the event says so; the transcript may lag behind.
    pub last_message: Option<String>,
    pub is_subagent: bool,
    /// Nobody sits in front of it.
    pub is_headless: bool,
    /// The turn goes on because a hook said so.
    pub is_continued_by_hook: bool,
    /// What was wrong with what came, one line each, for the log.
    pub problems: Vec<String>,
}

/// What a hook was given on stdin.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub bytes: Vec<u8>,
    /// How much more there was.
    pub dropped: u64,
}

/// No payload that we can use is larger; its beginning is read all the same.
const MOST: u64 = 4 << 20;
const LONGEST_WORD: usize = 200;
const LONGEST_PATH: usize = 4_096;
const LONGEST_TEXT: usize = 64 << 10;

/// Reads to the end, so that the writer never meets a closed pipe, and keeps the first few megabytes.
pub fn read(mut source: impl Read) -> io::Result<Given> {
    let mut bytes = Vec::new();
    source.by_ref().take(MOST).read_to_end(&mut bytes)?;
    let dropped = io::copy(&mut source, &mut io::sink())?;
    Ok(Given { bytes, dropped })
}

/// Who calls and why. The payload decides; `argv_agent` is what our entry says, and one entry may be read by several
/// agents.
pub fn recognise(stdin: &[u8], argv_agent: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Call {
    let mut problems = Vec::new();
    let payload = Payload(parse(stdin, &mut problems));
    let agent = caller(&payload, argv_agent, env, &mut problems);
    let name = payload.word(&["hook_event_name", "hookEventName", "hookName", "event"]);
    let event = event(agent, name.as_deref(), &payload);
    if let Event::Unknown(name) = &event {
        problems.push(format!("{} sent an event that is not listened to: `{name}`", agent.name));
    }
    let transcript_path = payload.path(&["transcript_path", "transcriptPath"], &mut problems);
    Call {
        agent,
        session_id: payload.word(&["session_id", "sessionId", "conversation_id", "taskId"]),
        cwd: payload.cwd(&mut problems),
        project_dir: project_dir(agent, env),
        source: payload.word(&["source"]),
        reason: payload.word(&["reason", "stopReason", "stop_reason"]),
        trigger: payload.word(&["trigger"]),
        model: payload.word(&["model"]),
        prompt: payload.text(&["prompt", "initialPrompt"]),
        last_message: payload.text(&["last_assistant_message", "prompt_response"]),
        is_subagent: payload.is_subagent(agent, transcript_path.as_deref()),
        is_headless: payload.flag("is_background_agent")
            || *agent == claude_code::AGENT
                && env("CLAUDE_CODE_ENTRYPOINT").is_some_and(|entry| entry.starts_with("sdk")),
        is_continued_by_hook: payload.flag("stop_hook_active"),
        transcript_path,
        event,
        problems,
    }
}

/// What this agent would send at this event, as far as it matters to us.
pub fn sample(agent: &Agent, name: &str, event: &Event, cwd: &Path, source: Option<&str>) -> Value {
    let (session, cwd) = ("simulated-session", cwd.to_string_lossy());
    let mut payload = match agent.name {
        "cursor" => json!({ "conversation_id": session, "cursor_version": "0", "workspace_roots": [cwd] }),
        "cline" => json!({ "taskId": session, "clineVersion": "0", "hookName": name, "workspaceRoots": [cwd] }),
        "copilot" => json!({ "sessionId": session, "cwd": cwd, "timestamp": 0 }),
        "opencode" => json!({ "agent": "opencode", "event": name, "session_id": session, "cwd": cwd }),
        _ => json!({ "session_id": session, "cwd": cwd }),
    };
    if !matches!(agent.name, "cline" | "copilot" | "opencode") {
        payload["hook_event_name"] = name.into();
    }
    match event {
        Event::SessionStart => payload["source"] = source.unwrap_or("startup").into(),
        Event::TurnEnd => payload["stop_hook_active"] = false.into(),
        Event::BeforeCompaction => payload["trigger"] = "auto".into(),
        Event::SessionEnd => payload["reason"] = "other".into(),
        Event::PromptSubmitted => payload["prompt"] = "a question".into(),
        Event::Unknown(_) => {}
    }
    payload
}

/// By the agent's own variable: one that starts another hands its variables down.
fn project_dir(agent: &Agent, env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let variables = [
        (&claude_code::AGENT, "CLAUDE_PROJECT_DIR"),
        (&cursor::AGENT, "CURSOR_PROJECT_DIR"),
        (&gemini::AGENT, "GEMINI_PROJECT_DIR"),
    ];
    let (_, variable) = variables.into_iter().find(|(known, _)| *known == agent)?;
    env(variable).and_then(|value| absolute(&value))
}

/// What this agent wants to read on stdout after this event, to the byte. Empty means: print nothing.
pub fn answer(agent: &Agent, event: &Event, context: Option<&str>) -> String {
    (agent.answer)(event, context)
}

/// The top-level keys, as many as can be read: of a payload that breaks off, those before the break.
fn parse(stdin: &[u8], problems: &mut Vec<String>) -> Map<String, Value> {
    let mut found = Map::new();
    let body = stdin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stdin);
    if body.iter().all(u8::is_ascii_whitespace) {
        problems.push("nothing came on stdin".to_owned());
        return found;
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    if let Err(cause) = reader.deserialize_any(Keys(&mut found)) {
        problems.push(format!("stdin is not a JSON object to its end: {}", text::one_line(&cause.to_string(), 200)));
    }
    found
}

/// Puts pairs into the map as they come, so that an error later does not take them away.
struct Keys<'a>(&'a mut Map<String, Value>);

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<(), A::Error> {
        while let Some(key) = pairs.next_key::<String>()? {
            if WANTED.contains(&key.as_str()) {
                self.0.insert(key, pairs.next_value()?);
            } else {
                let _: IgnoredAny = pairs.next_value()?;
            }
            if self.0.len() > WANTED.len() {
                return Err(de::Error::custom("too many keys"));
            }
        }
        Ok(())
    }
}

/// Every key that is looked at. The rest, which may be large, is read past.
const WANTED: &[&str] = &[
    "agent",
    "agent_id",
    "clineVersion",
    "conversation_id",
    "cursor_version",
    "cwd",
    "event",
    "hookEventName",
    "hookName",
    "hook_event_name",
    "initialPrompt",
    "is_background_agent",
    "is_subagent",
    "last_assistant_message",
    "model",
    "prompt",
    "prompt_response",
    "reason",
    "sessionId",
    "session_id",
    "source",
    "stopReason",
    "stop_hook_active",
    "stop_reason",
    "taskId",
    "timestamp",
    "transcriptPath",
    "transcript_path",
    "trigger",
    "turn_id",
    "workingDir",
    "working_dir",
    "workspaceInfo",
    "workspaceRoots",
    "workspace_roots",
];

struct Payload(Map<String, Value>);

impl Payload {
    fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| !value.is_null())
    }

    /// The first of these that is a text with something in it.
    fn raw(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().filter_map(|key| self.0.get(*key)?.as_str()).find(|text| !text.trim().is_empty())
    }

    fn word(&self, keys: &[&str]) -> Option<String> {
        self.raw(keys).map(|word| text::one_line(text::cut(word, LONGEST_PATH), LONGEST_WORD))
    }

    fn text(&self, keys: &[&str]) -> Option<String> {
        self.raw(keys).map(|long| text::without_controls(text::cut(long, LONGEST_TEXT)))
    }

    fn flag(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    fn path(&self, keys: &[&str], problems: &mut Vec<String>) -> Option<PathBuf> {
        let said = self.raw(keys)?;
        let path = absolute(said);
        if path.is_none() {
            problems.push(format!("`{}` is not an absolute path: {}", keys[0], text::one_line(said, 80)));
        }
        path
    }

    fn cwd(&self, problems: &mut Vec<String>) -> Option<PathBuf> {
        if let Some(cwd) = self.path(&["cwd", "workingDir", "working_dir"], problems) {
            return Some(cwd);
        }
        let roots = ["workspace_roots", "workspaceRoots"].into_iter().filter_map(|key| self.0.get(key)?.as_array());
        let first = roots.flatten().find_map(|root| absolute(root.as_str()?));
        first.or_else(|| absolute(self.0.get("workspaceInfo")?.get("rootPath")?.as_str()?))
    }

    fn is_subagent(&self, agent: &Agent, transcript: Option<&Path>) -> bool {
        // Cline gives every session an agent's id; the others only those that a session started.
        let has_id = *agent != cline::AGENT && self.raw(&["agent_id"]).is_some();
        let is_below = transcript.is_some_and(|path| path.components().any(|part| part.as_os_str() == "subagents"));
        has_id || is_below || self.flag("is_subagent")
    }
}

/// A path that says where it is whatever the current directory, and that a file may have.
fn absolute(said: &str) -> Option<PathBuf> {
    let is_fit = said.starts_with('/') && said.len() <= LONGEST_PATH && !said.chars().any(char::is_control);
    is_fit.then(|| PathBuf::from(said))
}

fn caller(
    payload: &Payload,
    argv_agent: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
    problems: &mut Vec<String>,
) -> &'static Agent {
    if let Some(agent) = by_payload(payload) {
        return agent;
    }
    let said = argv_agent.and_then(|name| AGENTS.iter().copied().find(|agent| agent.name == name));
    if let (Some(name), None) = (argv_agent, said) {
        problems.push(format!("no agent is called `{}`", text::one_line(name, 40)));
    }
    match said {
        // Only Claude Code's settings are read by others too.
        Some(agent) if *agent != claude_code::AGENT => agent,
        _ => by_environment(env).or(said).unwrap_or(&agents_md::AGENT),
    }
}

/// What only one agent sends.
fn by_payload(payload: &Payload) -> Option<&'static Agent> {
    let transcript = payload.raw(&["transcript_path", "transcriptPath"]).unwrap_or_default();
    let name = payload.raw(&["hook_event_name"]).unwrap_or_default();
    if payload.has("cursor_version") || payload.has("conversation_id") {
        Some(&cursor::AGENT)
    } else if payload.has("clineVersion") || payload.has("hookName") {
        Some(&cline::AGENT)
    } else if payload.raw(&["agent"]) == Some(opencode::AGENT.name) {
        Some(&opencode::AGENT)
    } else if payload.has("sessionId") {
        Some(&copilot::AGENT)
    } else if transcript.contains("/.claude/projects/") {
        Some(&claude_code::AGENT)
    } else if payload.has("turn_id") || transcript.contains("/.codex/") {
        Some(&codex::AGENT)
    } else if transcript.contains("/.gemini/") || ["AfterAgent", "BeforeAgent", "PreCompress"].contains(&name) {
        Some(&gemini::AGENT)
    } else {
        None
    }
}

fn by_environment(env: &dyn Fn(&str) -> Option<String>) -> Option<&'static Agent> {
    let is_set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
    if is_set("CURSOR_VERSION") {
        Some(&cursor::AGENT)
    } else if is_set("GEMINI_SESSION_ID") {
        Some(&gemini::AGENT)
    } else if is_set("COPILOT_CLI") {
        Some(&copilot::AGENT)
    } else if is_set("CLAUDECODE") {
        Some(&claude_code::AGENT)
    } else {
        None
    }
}

fn event(agent: &Agent, name: Option<&str>, payload: &Payload) -> Event {
    let Some(name) = name else {
        return if *agent == copilot::AGENT { nameless(payload) } else { Event::Unknown(String::new()) };
    };
    // An entry in one agent's settings may be called by another, which then uses the names of either.
    let others = AGENTS.iter().flat_map(|other| other.events);
    let known = agent.events.iter().chain(others).find(|(known, _)| *known == name);
    known.map_or_else(|| Event::Unknown(name.to_owned()), |(_, event)| event.clone())
}

/// Copilot does not say what happened; what comes with it does.
fn nameless(payload: &Payload) -> Event {
    if payload.has("source") {
        Event::SessionStart
    } else if payload.has("trigger") {
        Event::BeforeCompaction
    } else if ["stopReason", "stop_reason", "stop_hook_active"].iter().any(|key| payload.has(key)) {
        Event::TurnEnd
    } else if payload.has("reason") {
        Event::SessionEnd
    } else if payload.has("prompt") {
        Event::PromptSubmitted
    } else {
        Event::Unknown(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(payload: &str, agent: Option<&str>, variables: &[(&str, &str)]) -> Call {
        let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        recognise(payload.as_bytes(), agent, &env)
    }

    #[test]
    fn the_payload_says_who_calls_whatever_the_entry_says() {
        let who = |payload: &str, variables: &[(&str, &str)]| call(payload, Some("claude-code"), variables).agent.name;
        assert_eq!(who(r#"{"hook_event_name":"SessionStart","cursor_version":"3.1"}"#, &[]), "cursor");
        assert_eq!(who(r#"{"sessionId":"x","source":"new"}"#, &[]), "copilot");
        assert_eq!(who(r#"{"hook_event_name":"Stop","turn_id":"t"}"#, &[]), "codex");
        assert_eq!(who(r#"{"hook_event_name":"SessionStart"}"#, &[]), "claude-code");
        assert_eq!(who(r#"{"hook_event_name":"SessionStart"}"#, &[("COPILOT_CLI", "1")]), "copilot");
        // Claude Code that was started inside a shell of Gemini's.
        let own = r#"{"hook_event_name":"Stop","transcript_path":"/home/u/.claude/projects/-p/s.jsonl"}"#;
        assert_eq!(who(own, &[("GEMINI_SESSION_ID", "1")]), "claude-code");
        assert_eq!(call(r#"{"hook_event_name":"Stop"}"#, Some("codex"), &[("CLAUDECODE", "1")]).agent.name, "codex");
        assert_eq!(call("{}", Some("nobody"), &[]).agent.name, "agents-md");
    }

    #[test]
    fn an_event_by_another_agents_name_is_understood() {
        let bridged = call(r#"{"hook_event_name":"Stop","conversation_id":"c"}"#, Some("claude-code"), &[]);
        assert_eq!((bridged.agent.name, bridged.event), ("cursor", Event::TurnEnd));
        let other = call(r#"{"hook_event_name":"PostToolUse"}"#, Some("claude-code"), &[]);
        assert_eq!(other.event, Event::Unknown("PostToolUse".to_owned()));
    }

    #[test]
    fn what_comes_before_a_break_is_used() {
        let cut = call(r#"{"session_id":"s","hook_event_name":"Stop","prompt":"and th"#, Some("codex"), &[]);
        assert_eq!((cut.session_id.as_deref(), cut.event), (Some("s"), Event::TurnEnd));
        assert!(cut.problems[0].starts_with("stdin is not a JSON object"), "{:?}", cut.problems);
    }

    #[test]
    fn nothing_that_comes_is_believed_too_much() {
        let deep = format!(r#"{{"session_id":"s","x":{}"#, "[".repeat(200_000));
        for payload in ["", "null", "[1]", "\"x\"", "{", "\u{feff}{}", "{\"session_id\":", deep.as_str()] {
            let call = call(payload, Some("claude-code"), &[]);
            assert_eq!(call.event, Event::Unknown(String::new()), "{}", text::cut(payload, 20));
            assert!(!call.problems.is_empty());
        }
        let wrong = call(
            r#"{"session_id":7,"cwd":["/"],"hook_event_name":{},"transcript_path":true,"source":null,"stop_hook_active":"yes"}"#,
            Some("codex"),
            &[],
        );
        assert_eq!((wrong.session_id, wrong.cwd, wrong.transcript_path), (None, None, None));
        assert!(!wrong.is_continued_by_hook);
        let tricky = call(
            r#"{"session_id":"a\u001b[31mb\nc","cwd":"../..","transcript_path":"/x\u0000y","hook_event_name":"Stop"}"#,
            Some("codex"),
            &[],
        );
        assert_eq!(tricky.session_id.as_deref(), Some("a[31mb c"));
        assert_eq!((tricky.cwd, tricky.transcript_path), (None, None));
        assert_eq!(tricky.problems.len(), 2, "{:?}", tricky.problems);
        assert!(tricky.problems.iter().all(|line| !line.contains(['\0', '\u{1b}'])));
    }

    #[test]
    fn a_payload_of_any_size_is_read_to_its_end_and_little_of_it_kept() {
        let head = br#"{"session_id":"s","hook_event_name":"Stop","x":""#;
        let huge = head.chain(io::repeat(b'a')).take(200 << 20);
        let given = read(huge).unwrap();
        assert_eq!(given.bytes.len() as u64 + given.dropped, 200 << 20);
        assert_eq!(given.bytes.len(), 4 << 20);
        let call = recognise(&given.bytes, Some("claude-code"), &|_| None);
        assert_eq!((call.session_id.as_deref(), call.event), (Some("s"), Event::TurnEnd));
    }

    #[test]
    fn what_an_outer_agent_left_in_the_environment_is_not_believed() {
        let outer = [("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"), ("CLAUDE_PROJECT_DIR", "/outer"), ("CLAUDECODE", "1")];
        let inner = call(r#"{"hook_event_name":"SessionStart","cwd":"/inner"}"#, Some("codex"), &outer);
        assert_eq!((inner.agent.name, inner.is_headless, inner.project_dir), ("codex", false, None));
        let own = call(r#"{"hook_event_name":"SessionStart"}"#, Some("claude-code"), &outer);
        assert_eq!((own.is_headless, own.project_dir), (true, Some(PathBuf::from("/outer"))));
    }

    #[test]
    fn a_sub_agent_is_known_by_its_id_or_its_transcript() {
        let is = |payload: &str| call(payload, Some("claude-code"), &[]).is_subagent;
        assert!(is(r#"{"agent_id":"a1","hook_event_name":"Stop"}"#));
        assert!(is(r#"{"transcript_path":"/h/.claude/projects/p/s/subagents/agent-1.jsonl"}"#));
        assert!(!is(r#"{"agent_type":"reviewer","hook_event_name":"Stop"}"#), "a main session with a role");
        assert!(!is(r#"{"clineVersion":"3","agent_id":"a1"}"#));
    }
}
