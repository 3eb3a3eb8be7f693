//! Examples for the help, the manual pages and the reference: two or three for each command.

use clap::Command;

/// The examples of each command. A new command needs a line here. Each is what stands behind `agent-handover`, except a line with a
/// pipe in front, which is whole.
pub(super) const EXAMPLES: &[(&str, &[&str])] = &[
    ("run", &[r#"run "fixed the parser; next: spans""#, "run --note-file - < note.md", "run --resume"]),
    ("check", &["check", "check --interrupted || agent-handover run --resume"]),
    ("status", &["status", "status 7QCER", "status --json"]),
    ("logs", &["logs", "logs tests", "logs 7QCER tests"]),
    (
        "search",
        &[
            "search why did we drop pest",
            "search --path src/lexer.rs",
            "cargo test 2>&1 | agent-handover search --error",
        ],
    ),
    ("score", &["score", "score --last 30", "score --json"]),
    ("continue", &["continue codex", "continue claude-code --from latest --print", "continue codex -- --model gpt-5"]),
    ("pause", &["pause", r#"pause --reason "release day""#]),
    ("unpause", &["unpause", "unpause && agent-handover run --resume"]),
    ("init", &["init", "init --full"]),
    ("config", &["config", "config --json"]),
    ("schema", &["schema", "schema > .handover.schema.json"]),
    ("allow", &["allow", "allow --memory"]),
    ("install", &["install all", "install claude-code codex --dry-run", "install agents-md --scope project"]),
    ("uninstall", &["uninstall all", "uninstall codex --scope project"]),
    (
        "history",
        &["history list", "history show latest", r#"history create --goal "ship it" --next "tag the release""#],
    ),
    ("history create", &[r#"history create --goal "ship it" --next "tag the release""#, "history create < handoff.md"]),
    ("history list", &["history list", "history list --query lexer --limit 5", "history list --latest --json"]),
    ("history render", &["history render --target codex", "history render latest --target person"]),
    ("history select", &["history select", "history select --query lexer --print-id"]),
    (
        "history export",
        &[
            "history export --format json --output handoff.json",
            "history export latest --format json --sign-key key.pem --output handoff.json",
            "history export --all --format notebooklm --output notebook",
        ],
    ),
    ("history import", &["history import handoff.json", "history import handoff.json --dry-run"]),
    ("history template", &["history template", "history template > handoff.md"]),
    ("history validate", &["history validate", "history validate --sessions --git"]),
    ("history status", &["history status", "history status --git"]),
    ("history resume-prompt", &["history resume-prompt", "history resume-prompt --json"]),
    ("history close", &["history close --status DONE", "history close 1004-report --status BLOCKED"]),
    ("history revoke", &["history revoke 3f2a", "history revoke 3f2a --json"]),
    ("history accept", &["history accept", "history accept --json"]),
    ("history show", &["history show latest", "history show 1004-report --talk"]),
    ("memory", &[r#"memory add goal "Report the position of parse errors""#, "memory list", "memory done 3f2a"]),
    (
        "memory capture",
        &[
            r#"memory capture --data '{"goal": "ship it", "decisions": ["use SQLite"]}'"#,
            "memory capture --file capture.json",
        ],
    ),
    (
        "memory add",
        &[
            r#"memory add goal "Report the position of parse errors""#,
            r#"memory add todo "test on Windows""#,
            r#"memory add decision "recursive descent: generated parsers lose the column""#,
        ],
    ),
    ("memory list", &["memory list", "memory list open_loop"]),
    ("memory done", &["memory done 3f2a", "memory done 3f2a --json"]),
    ("memory delete", &["memory delete 3f2a", "memory delete --source codex"]),
    ("memory overview", &["memory overview", "memory overview --json"]),
    ("memory import", &["memory import --from claude-code --dry-run", "memory import --from notes.md"]),
    ("memory compact", &["memory compact", r#"memory compact --older-than "2 months" --dry-run"#]),
    ("compact", &["compact", "compact --month 2026-10 --dry-run"]),
    ("push", &["push", "push --json"]),
    ("pull", &["pull", "pull --json"]),
    ("summarize", &["summarize", "summarize --transcript session.jsonl --save"]),
    ("keygen", &["keygen --output ~/.config/agent-handover/key.pem", "keygen --output key.pem --json"]),
    ("trust", &["trust add colleague.pem --name alice", "trust list", "trust remove alice"]),
    ("trust add", &["trust add colleague.pem --name alice", "trust add handoff.json"]),
    ("trust list", &["trust list", "trust list --json"]),
    ("trust remove", &["trust remove alice", "trust remove 3f2a"]),
    ("warmup", &["warmup", "warmup --budget 1500", "warmup --agent codex"]),
    ("report", &["report --open", "report --since 7d --output week.html"]),
    ("hook", &["hook --agent claude-code < payload.json", "doctor --simulate claude-code"]),
    #[cfg(feature = "mcp")]
    ("mcp", &["mcp", "install claude-code"]),
    (
        "completions",
        &[
            "completions bash > ~/.local/share/bash-completion/completions/agent-handover",
            "completions zsh > ~/.zfunc/_agent-handover",
            "completions fish > ~/.config/fish/completions/agent-handover.fish",
        ],
    ),
    ("man", &["man run | man -l -", "man --output ~/.local/share/man/man1"]),
    ("doctor", &["doctor", "doctor --simulate claude-code", "doctor --json"]),
];

/// The examples of a command as lines of a shell.
pub(super) fn lines(path: &str) -> Vec<String> {
    let examples = EXAMPLES.iter().find(|(known, _)| *known == path).map_or(&[][..], |(_, examples)| *examples);
    let whole = |example: &&str| match example.split_once(" | agent-handover ") {
        Some(_) => (*example).to_owned(),
        None => format!("agent-handover {example}"),
    };
    examples.iter().map(whole).collect()
}

/// Adds the examples below the help of each command.
pub(super) fn added_to(program: Command) -> Command {
    program.mut_subcommands(|command| below(command, ""))
}

fn below(command: Command, parent: &str) -> Command {
    let path = format!("{parent}{}", command.get_name());
    let lines = lines(&path);
    let text = format!("Examples:\n  {}", lines.join("\n  "));
    let command = if lines.is_empty() { command } else { command.after_help(text) };
    command.mut_subcommands(|inner| below(inner, &format!("{path} ")))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::Cli;

    fn paths(command: &Command, parent: &str) -> Vec<String> {
        let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
        let of = |inner: &Command| {
            let path = format!("{parent}{}", inner.get_name());
            let mut all = vec![path.clone()];
            all.extend(paths(inner, &format!("{path} ")));
            all
        };
        shown.flat_map(of).collect()
    }

    #[test]
    fn every_command_has_two_or_three_examples_in_its_help() {
        let mut program = added_to(Cli::command());
        program.build();
        for path in paths(&program, "") {
            let mut command = &mut program;
            for name in path.split(' ') {
                command = command.find_subcommand_mut(name).unwrap();
            }
            let help = command.render_long_help().to_string();
            let count = help.lines().filter(|line| line.starts_with("  ") && line.contains("agent-handover ")).count();
            assert!((2..=3).contains(&count), "{path} has {count} examples: {help}");
        }
        assert!(EXAMPLES.iter().all(|(path, _)| paths(&Cli::command(), "").iter().any(|known| known == path)));
    }

    /// The words of a line of a shell, up to a redirection or another command.
    fn words(line: &str) -> Vec<String> {
        let mine = line.split_once(" | agent-handover ").map_or(line, |(_, mine)| mine);
        let mut words = vec!["agent-handover".to_owned()];
        let mut quote = None;
        let mut word = String::new();
        let mine = mine.strip_prefix("agent-handover ").unwrap_or(mine);
        for c in mine.chars().chain([' ']) {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                (c, Some(_)) => word.push(c),
                ('"' | '\'', None) => quote = Some(c),
                ('<' | '>' | '|' | '&', None) => break,
                (' ', None) if !word.is_empty() => words.push(std::mem::take(&mut word)),
                (' ', None) => {}
                (c, None) => word.push(c),
            }
        }
        words
    }

    #[test]
    fn every_example_is_a_command_line_of_this_program() {
        for line in EXAMPLES.iter().flat_map(|(path, _)| lines(path)) {
            if let Err(error) = Cli::try_parse_from(words(&line)) {
                panic!("{line}: {error}");
            }
        }
    }
}
