//! How a person starts an agent with a first prompt, so that it continues the work of another one.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;

use super::Agent;

/// How an agent is started in a terminal with its first prompt.
#[derive(Debug)]
pub struct Launch {
    /// The program, as PATH finds it. An agent may have other programs, such as an editor.
    pub program: &'static str,
    /// The option that the prompt follows. Empty if the prompt is an argument of its own.
    pub prompt_option: &'static str,
    /// The longest prompt in bytes that is passed as an argument. A longer one is passed as a file.
    pub longest: usize,
}

/// Linux refuses an argument of 128 KiB or more. Elsewhere all arguments and variables share 256 KiB.
pub(super) const LONGEST: usize = 60_000;

impl Launch {
    /// For an agent that takes its prompt as an argument.
    pub(super) const fn argument(program: &'static str) -> Launch {
        Launch::option(program, "")
    }

    /// For an agent that takes its prompt after an option.
    pub(super) const fn option(program: &'static str, prompt_option: &'static str) -> Launch {
        Launch { program, prompt_option, longest: LONGEST }
    }

    /// The arguments: those of the user first, because options follow a prompt only in some agents.
    pub fn arguments(&self, of_user: &[OsString], prompt: &str) -> Vec<OsString> {
        let option = Some(self.prompt_option).filter(|option| !option.is_empty());
        of_user.iter().cloned().chain(option.map(OsString::from)).chain([prompt.into()]).collect()
    }
}

/// A prompt that names the file with the whole one.
pub fn prompt_by_file(file: &Path) -> String {
    format!(
        "Read {} first. It is the handoff of the session before this one; continue the work from there.",
        file.display()
    )
}

/// The variables that agents set for the commands they run, and those that show that nobody sits in front of them. A program
/// that replaces this one is no longer inside the agent in which this one was started.
pub fn variables_of_agents(agents: &[&Agent]) -> Vec<String> {
    let of_hooks = agents.iter().filter_map(|agent| agent.payloads.variable).map(|(name, _)| name);
    let of_commands = agents.iter().flat_map(|agent| agent.command_variables).map(|(name, _)| *name);
    let of_sessions = agents.iter().filter_map(|agent| agent.processes.session_variable);
    let mut names: Vec<String> = of_hooks.chain(of_commands).chain(of_sessions).map(str::to_owned).collect();
    let asked = RefCell::new(&mut names);
    for agent in agents {
        (agent.payloads.is_headless)(&|name| {
            asked.borrow_mut().push(name.to_owned());
            None
        });
    }
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::AGENTS;

    #[test]
    fn the_prompt_is_one_argument_after_those_of_the_user() {
        let of_user = ["--model".into(), "x y".into()];
        let prompt = "# Handoff: it's \"done\"; $(rm -rf .)\n- `x`";
        let arguments = Launch::option("x", "-i").arguments(&of_user, prompt);
        assert_eq!(arguments, ["--model", "x y", "-i", prompt]);
        assert_eq!(Launch::argument("x").arguments(&[], prompt), [prompt]);
    }

    #[test]
    fn every_agent_with_a_program_can_be_started() {
        for agent in AGENTS {
            let program = agent.launch.as_ref().map(|launch| launch.program);
            assert!(program.map_or(agent.programs.is_empty(), |it| agent.programs.contains(&it)), "{}", agent.name);
        }
        for name in ["CLAUDECODE", "CODEX_THREAD_ID", "CLAUDE_CODE_ENTRYPOINT"] {
            assert!(variables_of_agents(AGENTS).contains(&name.to_owned()), "{name}");
        }
    }
}
