//! `/handoff`, `/checkpoint` and `/freeze`, in the form that each agent has for commands of its user.

use std::path::Path;

use super::agent_file::{AgentFile, WholeFile};
use super::seal;

/// A command that a user types in an agent.
struct SlashCommand {
    name: &'static str,
    /// One plain line, without a colon, so that it needs no quotes in YAML.
    description: &'static str,
    body: &'static str,
}

const COMMANDS: [SlashCommand; 3] = [
    SlashCommand {
        name: "handoff",
        description: "Hand this session over with agent-handover, so that the next one continues without questions",
        body: include_str!("commands/handoff.md"),
    },
    SlashCommand {
        name: "checkpoint",
        description: "Record with agent-handover where the work stands now, and go on",
        body: include_str!("commands/checkpoint.md"),
    },
    SlashCommand {
        name: "freeze",
        description: "Pause the handovers of this project with agent-handover; only when the user asks for it",
        body: include_str!("commands/freeze.md"),
    },
];

/// How an agent wants a command to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandForm {
    /// `NAME.md`, with a description before the text.
    Markdown,
    /// `NAME.md`, and all of it is the text.
    PlainMarkdown,
    /// `NAME.toml`, with the text as `prompt`.
    Toml,
    /// A skill of that name, for agents that let their users call skills.
    Skill,
}

/// Every command, as files in this directory.
pub(crate) fn slash_commands(directory: &Path, form: CommandForm) -> Vec<AgentFile> {
    let file = |command: &SlashCommand| {
        let SlashCommand { name, description, body } = command;
        let (path, text) = match form {
            CommandForm::Markdown => {
                (format!("{name}.md"), format!("---\ndescription: {description}\n---\n\n{body}\n"))
            }
            CommandForm::PlainMarkdown => (format!("{name}.md"), format!("{body}\n")),
            CommandForm::Toml => {
                (format!("{name}.toml"), format!("description = \"{description}\"\nprompt = '''\n{body}'''\n"))
            }
            CommandForm::Skill => {
                (format!("{name}/SKILL.md"), format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"))
            }
        };
        let sealed = match form {
            CommandForm::Toml => seal::sealed(&text, "# ", ""),
            _ => seal::sealed(&text, "<!-- ", " -->"),
        };
        AgentFile::whole(directory.join(path), WholeFile::Command, sealed)
    };
    COMMANDS.iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::install::agent_file::FileContent;

    fn texts(form: CommandForm) -> Vec<String> {
        let text = |file: AgentFile| match file.content {
            FileContent::Whole { text, .. } => text,
            other => panic!("{other:?}"),
        };
        slash_commands(Path::new("/d"), form).into_iter().map(text).collect()
    }

    #[test]
    fn every_form_keeps_the_text_and_can_be_parsed() {
        for (text, command) in texts(CommandForm::Toml).iter().zip(&COMMANDS) {
            let parsed: toml::Value = toml::from_str(text).unwrap();
            assert_eq!(parsed["prompt"].as_str(), Some(command.body));
            assert_eq!(parsed["description"].as_str(), Some(command.description));
        }
        for form in [CommandForm::Markdown, CommandForm::Skill] {
            for (text, command) in texts(form).iter().zip(&COMMANDS) {
                let (head, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
                assert!(head.ends_with(&format!("description: {}", command.description)), "{head}");
                assert!(!command.description.contains(": "), "plain YAML");
                assert!(body.contains(command.body));
            }
        }
        for (text, command) in texts(CommandForm::PlainMarkdown).iter().zip(&COMMANDS) {
            assert!(text.starts_with(command.body));
        }
    }

    /// Agents replace these in a command: arguments, files, the output of programs.
    #[test]
    fn no_text_has_a_placeholder_of_an_agent() {
        for command in &COMMANDS {
            for sign in ["$", "{{", "!{", "@{", "!`", " @"] {
                assert!(!command.body.contains(sign), "{}: {sign}", command.name);
            }
        }
    }
}
