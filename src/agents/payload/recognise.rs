//! Turns a payload into a [`Call`]: finds out who sent it and what happened.

use std::path::{Path, PathBuf};

use super::call::{Call, Event};
use super::fields::{self, Payload};
use super::tool_use::{ToolUse, coming_tool_use, tool_use};
use crate::agents::agent::{Evidence, Variables};
use crate::agents::clients::ANY_OTHER;
use crate::agents::{AGENTS, Agent, find};
use crate::base::text;

/// Reads who calls and why. The payload decides. `argv_agent` is the name in our hook, and several agents may read the
/// same hook.
pub fn recognise(stdin: &[u8], argv_agent: Option<&str>, env: Variables<'_>) -> Call {
    let mut problems = Vec::new();
    let payload = Payload::parse(stdin, &mut problems);
    let agent = caller(&payload, argv_agent, env, &mut problems);
    let name = payload.word(&["hook_event_name", "hookEventName", "hookName", "event"]);
    let event = event(agent, name.as_deref(), &payload);
    let ToolUse { edited, command } = match &event {
        Event::Unknown(name) => tool_use(name, &payload),
        Event::BeforeTool => coming_tool_use(&payload),
        _ => ToolUse::default(),
    };
    if let Event::Unknown(name) = &event
        && edited.is_empty()
        && command.is_none()
    {
        problems.push(format!("{} sent the event `{name}`, which agent-handover does not use", agent.name));
    }
    let transcript_path = payload.path(&["transcript_path", "transcriptPath"], &mut problems);
    Call {
        agent,
        session_id: payload.session(),
        cwd: payload.cwd(&mut problems),
        project_dir: project_dir(agent, env),
        source: payload.word(&["source"]),
        reason: payload.word(&["reason", "stopReason", "stop_reason"]),
        trigger: payload.word(&["trigger"]),
        model: payload.word(&["model", "modelName"]),
        prompt: payload.text(&["prompt", "initialPrompt"]),
        last_message: payload.text(&["last_assistant_message", "prompt_response"]),
        error: payload.word(&["error", "error_details"]),
        edited,
        command,
        is_subagent: is_subagent(agent, &payload, transcript_path.as_deref()),
        is_headless: payload.flag("is_background_agent") || (agent.payloads.is_headless)(env),
        is_continued_by_hook: payload.flag("stop_hook_active"),
        transcript_path,
        event,
        problems,
    }
}

fn caller(
    payload: &Payload,
    argv_agent: Option<&str>,
    env: Variables<'_>,
    problems: &mut Vec<String>,
) -> &'static Agent {
    if let Some(agent) = strongest(|agent| (agent.payloads.evidence)(payload)) {
        return agent;
    }
    let named = argv_agent.and_then(|name| find(name).ok());
    if let (Some(name), None) = (argv_agent, named) {
        problems.push(format!("no agent is called `{}`", text::one_line(name, 40)));
    }
    match named {
        Some(agent) if !agent.settings_read_by_others => agent,
        _ => by_environment(env).or(named).unwrap_or(ANY_OTHER),
    }
}

fn by_environment(env: Variables<'_>) -> Option<&'static Agent> {
    strongest(|agent| {
        let (variable, evidence) = agent.payloads.variable?;
        env(variable).filter(|value| !value.is_empty()).map(|_| evidence)
    })
}

/// The agent with the strongest evidence; of several, the first in the registry.
fn strongest(evidence: impl Fn(&Agent) -> Option<Evidence>) -> Option<&'static Agent> {
    let found = AGENTS.iter().rev().filter_map(|agent| Some((evidence(agent)?, *agent)));
    // The registry is read backwards because `max_by_key` returns the last of equals.
    found.max_by_key(|(evidence, _)| *evidence).map(|(_, agent)| agent)
}

fn event(agent: &Agent, name: Option<&str>, payload: &Payload) -> Event {
    let Some(name) = name else { return (agent.payloads.unnamed_event)(payload) };
    // An agent that reads another one's settings may use the event names of either.
    let others = AGENTS.iter().flat_map(|other| other.events);
    let known = agent.events.iter().chain(others).find(|(known, _)| *known == name);
    known.map_or_else(|| Event::Unknown(name.to_owned()), |(_, event)| event.clone())
}

/// Reads only the agent's own variable, because an agent inherits the variables of the agent that started it.
fn project_dir(agent: &Agent, env: Variables<'_>) -> Option<PathBuf> {
    env(agent.payloads.project_variable?).and_then(|value| fields::absolute(&value))
}

fn is_subagent(agent: &Agent, payload: &Payload, transcript: Option<&Path>) -> bool {
    let has_own_id = !agent.payloads.always_has_agent_id && payload.raw(&["agent_id"]).is_some();
    let is_below = transcript.is_some_and(|path| path.components().any(|part| part.as_os_str() == "subagents"));
    has_own_id || is_below || payload.flag("is_subagent") || payload.raw(&["parent_agent_id"]).is_some()
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};
    use std::path::PathBuf;

    use super::super::receive::read;
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
        for (name, meant) in [("claude", "claude-code"), ("gemini-cli", "gemini"), ("agy", "antigravity")] {
            let call = call(r#"{"hook_event_name":"Stop"}"#, Some(name), &[]);
            assert_eq!((call.agent.name, call.problems), (meant, Vec::new()));
        }
    }

    /// Cline names its files after the session, and not after the conversation in it.
    #[test]
    fn a_conversation_belongs_to_its_session() {
        let head = r#"{"hookName":"agent_end","taskId":"conv_1","agent_id":"a","sessionContext":"#;
        let session = |context: &str, more: &str| {
            let call = call(&format!("{head}{context}{more}}}"), Some("cline"), &[]);
            (call.session_id.unwrap_or_default(), call.is_subagent)
        };
        assert_eq!(session(r#"{"rootSessionId":"17_a"}"#, r#","parent_agent_id":null"#), ("17_a".to_owned(), false));
        assert_eq!(session(r#"{"rootSessionId":"17_a"}"#, r#","parent_agent_id":"a0""#), ("17_a".to_owned(), true));
        for context in ["null", "7", "{}", r#"{"rootSessionId":" "}"#, r#"{"rootSessionId":["x"]}"#] {
            assert_eq!(session(context, ""), ("conv_1".to_owned(), false), "{context}");
        }
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
        assert!(cut.problems[0].starts_with("stdin is not one whole JSON object"), "{:?}", cut.problems);
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
