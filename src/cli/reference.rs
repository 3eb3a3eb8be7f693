//! `docs/reference/commands.md`, made from the command line that clap builds.
//!
//! Only tests compile this file. The one test compares the page with the program; `SNAPSHOTS=overwrite` rewrites it.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

use super::Cli;

const HEADER: &str = "\
# Commands

To find an option, look here or ask the program: `agent-handover COMMAND --help` prints the same text.

- Long options may be shortened as long as they stay unambiguous: `--dry` means `--dry-run`.
- The answer goes to standard output. Progress, warnings and errors go to standard error.
- [Exit codes](exit-codes.md) mean the same for every command.

<!-- This page is generated. `SNAPSHOTS=overwrite cargo test --lib cli::reference` rewrites it. -->
";

/// The page that explains each command. A new command needs a line here.
const GUIDES: &[(&str, &str)] = &[
    ("run", "getting-started.md"),
    ("check", "getting-started.md"),
    ("status", "getting-started.md"),
    ("logs", "getting-started.md"),
    ("schema", "reference/configuration.md"),
    ("completions", "getting-started.md"),
    ("man", "getting-started.md"),
    ("score", "measuring.md"),
    ("search", "search.md"),
    ("continue", "agents.md"),
    ("pause", "getting-started.md"),
    ("unpause", "getting-started.md"),
    ("init", "reference/configuration.md"),
    ("config", "reference/configuration.md"),
    ("allow", "strangers.md"),
    ("install", "agents.md"),
    ("uninstall", "agents.md"),
    ("history", "history.md"),
    ("memory", "memory.md"),
    ("compact", "memory.md"),
    ("push", "publishing.md"),
    ("pull", "publishing.md"),
    ("summarize", "agents.md"),
    ("keygen", "bundles.md"),
    ("trust", "bundles.md"),
    ("warmup", "agents.md"),
    ("report", "report.md"),
    ("hook", "agents.md"),
    ("mcp", "mcp.md"),
    ("doctor", "agents.md"),
];

fn page() -> String {
    let cli = Cli::command();
    let mut page = HEADER.to_owned();
    let row = |command: &Command| {
        let name = command.get_name();
        format!("| [`{name}`](#{name}) | {} |\n", about(command))
    };
    let _ = write!(page, "\n| command | purpose |\n|---|---|\n");
    page.extend(cli.get_subcommands().map(row));
    let _ = write!(page, "\n## Options of every command\n{}", options(&cli));
    for command in cli.get_subcommands() {
        let name = command.get_name();
        let _ = write!(page, "\n## {name}\n\n{}\n\n", sentence(command));
        let guide = GUIDES.iter().find(|(known, _)| *known == name);
        let (_, guide) = guide.unwrap_or_else(|| panic!("`{name}` has no page in GUIDES"));
        let guide = guide.strip_prefix("reference/").map_or_else(|| format!("../{guide}"), str::to_owned);
        let _ = write!(page, "Explained in [{}]({guide}).\n\n{}", title(&guide), usage(command, ""));
        let _ = write!(page, "{}{}", options(command), example_block(name));
        for verb in command.get_subcommands() {
            let _ = write!(page, "\n### {name} {}\n\n{}\n\n", verb.get_name(), sentence(verb));
            let path = format!("{name} {}", verb.get_name());
            let _ = write!(page, "{}{}{}", usage(verb, &format!("{name} ")), options(verb), example_block(&path));
        }
    }
    page
}

/// The examples of a command.
fn example_block(path: &str) -> String {
    let lines = super::examples::lines(path);
    if lines.is_empty() { String::new() } else { format!("\nExamples:\n\n```text\n{}\n```\n", lines.join("\n")) }
}

/// The first heading of a page, given by its path from `docs/reference`.
fn title(page: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference").join(page);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned()
}

fn about(command: &Command) -> String {
    cell(&command.get_about().map(ToString::to_string).unwrap_or_default())
}

/// The purpose as a sentence, with the other names of the command.
fn sentence(command: &Command) -> String {
    let aliases: Vec<String> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    let text = command.get_about().map(ToString::to_string).unwrap_or_default();
    let text = wrap(&format!("{}.", text.trim_end_matches('.')));
    if aliases.is_empty() { text } else { format!("{text}\n\nAlso called {}.", aliases.join(", ")) }
}

/// Prose of at most 120 columns a line.
fn wrap(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().unwrap();
        if last.chars().count() + word.chars().count() >= 120 {
            lines.push(word.to_owned());
        } else {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
    }
    lines.join("\n")
}

fn usage(command: &Command, parent: &str) -> String {
    let mut usage = format!("agent-handover {parent}{}", command.get_name());
    for argument in command.get_arguments().filter(|argument| argument.is_required_set() && !argument.is_positional()) {
        let _ = write!(usage, " --{} {}", argument.get_long().unwrap_or_default(), value(argument));
    }
    let (last, positionals): (Vec<&Arg>, Vec<&Arg>) =
        command.get_positionals().partition(|argument| argument.is_last_set());
    for argument in positionals {
        let value = value(argument);
        let _ = if argument.is_required_set() { write!(usage, " {value}") } else { write!(usage, " [{value}]") };
    }
    let options = if command.has_subcommands() { " <COMMAND>" } else { " [OPTIONS]" };
    let last: String = last.into_iter().map(|argument| format!(" [-- {}]", value(argument))).collect();
    format!("```text\n{usage}{options}{last}\n```\n")
}

fn value(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>"));
    let many = argument.get_num_args().is_some_and(|range| range.max_values() > 1);
    format!("{}{}", names.collect::<Vec<_>>().join(" "), if many { "..." } else { "" })
}

fn options(command: &Command) -> String {
    let shown = |argument: &&Arg| !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version");
    let rows: Vec<String> = command.get_arguments().filter(shown).map(option).collect();
    if rows.is_empty() { String::new() } else { format!("\n| option | meaning |\n|---|---|\n{}", rows.concat()) }
}

fn option(argument: &Arg) -> String {
    let takes_value = argument.get_action().takes_values();
    let long = argument.get_long().map(|long| format!("--{long}"));
    let short = argument.get_short().map(|short| format!("-{short}"));
    let mut names: Vec<String> = short.into_iter().chain(long).collect();
    if takes_value {
        let is_optional = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
        let value = value(argument);
        match names.last_mut() {
            Some(last) if is_optional => last.push_str(&format!(" [{value}]")),
            Some(last) => last.push_str(&format!(" {value}")),
            None => names.push(value),
        }
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("| {} | {} |\n", names.join(", "), cell(&meaning(argument, takes_value)))
}

fn meaning(argument: &Arg, takes_value: bool) -> String {
    let mut text = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let mut extra = Vec::new();
    if takes_value {
        let values = argument.get_possible_values();
        if !values.is_empty() {
            let values: Vec<String> = values
                .iter()
                .map(|value| match value.get_help() {
                    Some(help) => format!("`{}` ({help})", value.get_name()),
                    None => format!("`{}`", value.get_name()),
                })
                .collect();
            extra.push(format!("Values: {}.", values.join(", ")));
        }
        let defaults: Vec<String> =
            argument.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
        if !defaults.is_empty() {
            extra.push(format!("Default: {}.", defaults.join(", ")));
        }
    }
    let aliases: Vec<String> =
        argument.get_visible_aliases().unwrap_or_default().iter().map(|alias| format!("`--{alias}`")).collect();
    if !aliases.is_empty() {
        extra.push(format!("Also `{}`.", aliases.join(", ").trim_matches('`')));
    }
    if !extra.is_empty() {
        text = format!("{}{} {}", text.trim_end_matches('.'), if text.is_empty() { "" } else { "." }, extra.join(" "));
    }
    text.trim().to_owned()
}

/// Text that can stand in a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "\\<")
}

#[test]
fn the_page_of_commands_is_current() {
    snapbox::Assert::new()
        .action_env("SNAPSHOTS")
        .eq(page(), snapbox::Data::read_from(&page_path(), Some(snapbox::data::DataFormat::Text)).raw());
}

fn page_path() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/commands.md")
}
