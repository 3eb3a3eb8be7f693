//! The help of the program: its commands by purpose.

use std::fmt::Write;

/// The commands by purpose, each with what it is for. A new command needs a line here.
const GROUPS: &[(&str, &[(&str, &str)])] = &[
    (
        "Every day",
        &[
            ("run", "hand the session over; `run \"what it did; next: …\"`"),
            ("warmup", "print what a new session should know"),
            ("continue", "continue the session in another agent"),
            ("search", "find where something was said, noted or decided"),
        ],
    ),
    (
        "Look",
        &[
            ("status", "show how far the last handover is, step by step"),
            ("check", "say by exit code how the last handover ended"),
            ("logs", "print what the commands of a handover printed"),
            ("doctor", "check agents, config, database and git"),
            ("score", "show whether handovers helped, measure by measure"),
            ("report", "write a page about the project for the browser"),
            ("summarize", "print a handoff made from an agent's transcript"),
        ],
    ),
    (
        "Keep",
        &[
            ("memory", "goal, constraints, decisions, open loops and notes"),
            ("history", "the archived handoffs: write, find, print, export"),
            ("compact", "archive the notes of finished months"),
        ],
    ),
    (
        "Set up",
        &[
            ("install", "connect coding agents"),
            ("uninstall", "remove what `install` added"),
            ("init", "write a config for this project"),
            ("schema", "print the JSON Schema of handover.toml"),
            ("config", "print the config and where each value comes from"),
            ("allow", "let hooks run what this config names"),
            ("pause", "stop all handovers in this project"),
            ("unpause", "let them go on"),
            ("completions", "print completions for your shell"),
            ("man", "print manual pages"),
        ],
    ),
    (
        "Share",
        &[
            ("push", "push what is due"),
            ("pull", "merge what other machines published"),
            ("keygen", "make a key to sign handoffs with"),
            ("trust", "manage the keys whose signatures count"),
        ],
    ),
    (
        "For agents",
        &[
            ("hook", "answer an event of a coding agent"),
            #[cfg(feature = "mcp")]
            ("mcp", "serve this project's memory over MCP"),
        ],
    ),
];

/// The template of the help, with the commands by purpose.
pub(super) fn template() -> String {
    let mut groups = String::new();
    for (heading, commands) in GROUPS {
        let _ = writeln!(groups, "{heading}:");
        for (name, purpose) in *commands {
            let _ = writeln!(groups, "  {name:<12} {purpose}");
        }
        groups.push('\n');
    }
    format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\nWithout a command: where this project stands, and what needs you.\n\n\
         {groups}Options:\n{{options}}\n\n\
         `agent-handover help COMMAND` explains a command."
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_fits_80_columns() {
        let named: Vec<&str> = GROUPS.iter().flat_map(|(_, commands)| commands.iter().map(|(name, _)| *name)).collect();
        let command_line = crate::cli::command_line();
        let all: BTreeSet<&str> = command_line.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(named.len(), all.len(), "a command is in two groups");
        assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), all);
        assert!(template().lines().all(|line| line.chars().count() <= 80));
    }
}
