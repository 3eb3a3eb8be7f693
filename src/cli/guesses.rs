//! Words that people try first, and what they mean here.

/// A word that is not a command, and the command for it.
const GUESSES: &[(&str, &str)] = &[
    ("resume", "agent-handover run --resume"),
    ("note", "agent-handover run \"what this session did\""),
    ("save", "agent-handover run \"what this session did\""),
    ("handover", "agent-handover run"),
    ("handoff", "agent-handover history create"),
    ("log", "agent-handover logs"),
    ("list", "agent-handover history list"),
    ("show", "agent-handover history show latest"),
    ("export", "agent-handover history export"),
    ("import", "agent-handover history import FILE"),
    ("select", "agent-handover history select"),
    ("add", "agent-handover memory add CATEGORY TEXT"),
    ("todo", "agent-handover memory add todo TEXT"),
    ("decide", "agent-handover memory add decision TEXT"),
    ("decision", "agent-handover memory add decision TEXT"),
    ("goal", "agent-handover memory add goal TEXT"),
    ("find", "agent-handover search WORDS"),
    ("grep", "agent-handover search WORDS"),
    ("context", "agent-handover warmup"),
    ("start", "agent-handover warmup"),
    ("stop", "agent-handover pause"),
    ("setup", "agent-handover install all"),
    ("sync", "agent-handover pull && agent-handover push"),
    ("version", "agent-handover --version"),
];

/// The command that somebody means with a word that is not one.
pub(super) fn meant(word: &str) -> Option<&'static str> {
    GUESSES.iter().find(|(guess, _)| *guess == word).map(|(_, command)| *command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_guess_is_a_command_and_each_names_one() {
        let line = crate::cli::command_line();
        let names: Vec<&str> = line.get_subcommands().map(clap::Command::get_name).collect();
        for (guess, command) in GUESSES {
            assert!(!names.contains(guess), "{guess}");
            let first = command.split(' ').nth(1).unwrap();
            assert!(first == "--version" || names.contains(&first), "{command}");
        }
    }
}
