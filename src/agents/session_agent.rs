//! The agent whose session a command records.

use super::agent::Evidence;
use super::{AGENTS, Agent};
use crate::base::{env, text};
use crate::transcript::Source;

/// The name of the agent whose session this is, or an empty text if nothing says it. In this order: the name that the caller
/// gives, `AGENT_HANDOVER_AGENT`, the format of the transcript, and the variables that agents set for their commands.
pub(crate) fn session_agent(named: Option<&str>, transcript: Option<&Source>) -> String {
    let named = named.filter(|name| !name.is_empty()).map(str::to_owned);
    named
        .or_else(|| env::get_text(env::AGENT))
        .or_else(|| transcript.and_then(Source::agent).map(str::to_owned))
        .or_else(|| running(&|name| env::get_text(name)).map(|agent| agent.name.to_owned()))
        .unwrap_or_default()
}

/// The agent behind an MCP client of this name, by our name for it: clients call themselves `codex-mcp-client` or
/// `cursor-vscode`. A client of an agent that we do not know keeps its own name.
#[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "only the MCP server uses it"))]
pub(crate) fn named_by_client(client: &str) -> String {
    let client = client.to_lowercase();
    let known = AGENTS.iter().filter(|agent| client.contains(agent.name)).max_by_key(|agent| agent.name.len());
    known.map_or_else(|| text::one_line(&client, 40).replace(char::is_whitespace, "-"), |agent| agent.name.to_owned())
}

/// The agent that runs this process, as far as its variables say. Of several, the strongest evidence counts; among equals,
/// the order of [`AGENTS`].
fn running(variable: &dyn Fn(&str) -> Option<String>) -> Option<&'static Agent> {
    let is_set = |name: &str| variable(name).is_some_and(|value| is_set(&value));
    let evidence = |agent: &Agent| -> Option<Evidence> {
        agent.command_variables.iter().filter(|(name, _)| is_set(name)).map(|(_, evidence)| *evidence).max()
    };
    let found = AGENTS.iter().rev().filter_map(|agent| Some((evidence(agent)?, *agent)));
    // The registry is read backwards because `max_by_key` returns the last of equals.
    found.max_by_key(|(evidence, _)| *evidence).map(|(_, agent)| agent)
}

/// Whether a variable with this value is set.
fn is_set(value: &str) -> bool {
    !matches!(value, "" | "0" | "false")
}

/// An agent that may have started a process, and the value of the variable that shows it.
pub(crate) struct Starter {
    pub agent: &'static Agent,
    pub value: String,
}

/// The agents whose commands have one of these variables.
pub(crate) fn starters(environment: &[(String, String)]) -> Vec<Starter> {
    let value = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let of = |agent: &&'static Agent| {
        let values = agent.command_variables.iter().filter_map(|(name, _)| value(name));
        values.filter(|value| is_set(value)).map(|value| Starter { agent, value }).next()
    };
    AGENTS.iter().filter_map(of).collect()
}

/// The sessions inside which this process was started, by their agents and ids, as far as its variables name them.
pub(crate) fn sessions_around() -> Vec<(&'static Agent, String)> {
    let of = |agent: &&'static Agent| Some((*agent, env::get_text(agent.processes.session_variable?)?));
    AGENTS.iter().filter_map(of).collect()
}

/// Whether a process of this name and with these arguments runs the agent.
pub(crate) fn is_process_of(agent: &Agent, name: &str, arguments: &[String]) -> bool {
    let is_own = |word: &str| {
        let stem = word.split('.').next().unwrap_or_default();
        agent.programs.iter().any(|program| {
            stem == *program || stem.strip_prefix(program).is_some_and(|rest| ["-cli", "-ai", "-code"].contains(&rest))
        })
    };
    // A script of an interpreter is its first argument.
    is_own(name) || arguments.iter().take(2).flat_map(|word| word.split('/')).any(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_of_an_agent_is_that_agent() {
        for (client, agent) in [
            ("claude-code", "claude-code"),
            ("codex-mcp-client", "codex"),
            ("gemini-cli-mcp-client", "gemini"),
            ("cursor-vscode", "cursor"),
            ("github-copilot-developer", "copilot"),
            ("Visual Studio Code", "visual-studio-code"),
            ("", ""),
        ] {
            assert_eq!(named_by_client(client), agent);
        }
    }

    #[test]
    fn the_agent_that_sets_the_stronger_variable_is_the_one_that_runs() {
        let of = |set: &[(&str, &str)]| {
            let variable =
                |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            running(&variable).map(|agent| agent.name)
        };
        assert_eq!(of(&[("CLAUDECODE", "1")]), Some("claude-code"));
        assert_eq!(of(&[("CLAUDECODE", "1"), ("CODEX_THREAD_ID", "t")]), Some("codex"), "started inside Claude Code");
        assert_eq!(of(&[("GEMINI_CLI", "0"), ("OPENCODE", "1")]), Some("opencode"));
        assert_eq!(of(&[]), None);
    }
}
