//! What somebody reads who typed a wrong command line: what is wrong, and the command to type instead.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, ValueEnum};

use super::ui::{Color, Ui};
use super::{Cli, examples, guesses};
use crate::base::text;
use crate::error::Category;

/// The last line of clap's message. It names no command, so ours replaces it.
const WHERE_TO_LOOK: &str = "For more information, try";

/// Reports that the command line cannot be followed, or prints the help that was asked for. The exit code of wrong usage is
/// never 2, because that is an answer of `check`, and agents take it as "block".
pub(super) fn report(error: &clap::Error, arguments: &[OsString], is_hook: bool) -> ExitCode {
    let mut ui = Ui::new(wanted_color(arguments), false);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion if is_hook => ui.styled(&error.to_string()),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ui.answer_styled(&error.render().ansi().to_string()),
        ErrorKind::InvalidSubcommand => unknown_command(&ui, error, arguments),
        _ => {
            let command = typed_command(arguments);
            match complaint(error, &command) {
                Some(complaint) => ui.error(&complaint),
                None => ui.styled(&message(error)),
            }
            let meant = context(error, ContextKind::SuggestedArg);
            if !meant.is_empty() && error.kind() == ErrorKind::UnknownArgument {
                ui.hint(&format!("did you mean `{meant}`?"));
            }
            // The help itself was the answer.
            if error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
                ui.hint(&hint(error, &command));
            }
        }
    }
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(Category::Usage.exit_code()),
    }
}

/// When to use colour, as far as a wrong command line says it.
fn wanted_color(arguments: &[OsString]) -> Color {
    let words: Vec<&str> = arguments.iter().skip(1).filter_map(|argument| argument.to_str()).collect();
    let behind = |pair: &[&str]| (pair[0] == "--color").then(|| pair[1].to_owned());
    let joined = || words.iter().find_map(|word| word.strip_prefix("--color=").map(str::to_owned));
    let wanted = words.windows(2).find_map(behind).or_else(joined);
    wanted.and_then(|word| Color::from_str(&word, false).ok()).unwrap_or_default()
}

/// Names the command that is meant by a word that is not a command.
fn unknown_command(ui: &Ui, error: &clap::Error, arguments: &[OsString]) {
    let word = context(error, ContextKind::InvalidSubcommand);
    ui.error(&format!("`{}` is not a command", text::one_line(&word, 40)));
    let before = typed_command(arguments);
    let nearest = match error.get(ContextKind::SuggestedSubcommand) {
        // The last one is the nearest.
        Some(ContextValue::Strings(names)) => names.last().cloned(),
        Some(ContextValue::String(name)) => Some(name.clone()),
        _ => None,
    };
    let meant = guesses::meant(&word).filter(|_| before == "agent-handover");
    ui.hint(&match (meant, nearest) {
        (Some(command), _) => format!("you may mean `{}`", with_rest(command, &word, arguments)),
        (None, Some(name)) => format!("did you mean `{before} {name}`?"),
        (None, None) => match nearest_command(&word, arguments) {
            Some(name) => format!("did you mean `{before} {name}`?"),
            None => format!("`{before} --help` lists all commands"),
        },
    });
}

/// The command with what was typed behind the word that is meant to be it.
fn with_rest(command: &str, word: &str, arguments: &[OsString]) -> String {
    let rest = arguments.iter().skip_while(|argument| *argument != word).skip(1);
    let rest: Vec<String> = rest.map(|argument| text::one_line(&argument.to_string_lossy(), 80)).collect();
    if rest.is_empty() || command.contains("&&") || command.ends_with("CATEGORY TEXT") {
        return command.to_owned();
    }
    let each = || rest.iter().map(|argument| text::shell_word(argument)).collect::<Vec<_>>().join(" ");
    // A text of several words is one argument.
    let text = || text::shell_word(&rest.join(" "));
    let has_options = rest.iter().any(|argument| argument.starts_with('-'));
    let (place, typed) = match (command.find(" \"").or_else(|| command.find(" TEXT")), command.rfind(' ')) {
        (Some(place), _) if has_options => (place, each()),
        (Some(place), _) => (place, text()),
        (None, Some(last)) if matches!(&command[last..], " FILE" | " WORDS" | " latest") => (last, each()),
        (None, _) => (command.len(), each()),
    };
    format!("{} {typed}", &command[..place])
}

/// The command with the name that is nearest to a word, for letters in the wrong order, which clap does not recognise.
fn nearest_command(word: &str, arguments: &[OsString]) -> Option<String> {
    let command = typed(arguments).1;
    let names = command.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name);
    text::nearest(word, names).map(str::to_owned)
}

/// What is wrong with the options or arguments, in our words; `None` if clap has to say it.
fn complaint(error: &clap::Error, command: &str) -> Option<String> {
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return None };
            Some(format!("`{command}` needs {}", missing.join(" and ")))
        }
        ErrorKind::InvalidUtf8 => Some("an argument is not text in UTF-8".to_owned()),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => Some(wrong_value(error)),
        ErrorKind::ArgumentConflict => {
            let argument = context(error, ContextKind::InvalidArg);
            let others = match error.get(ContextKind::PriorArg) {
                Some(ContextValue::String(other)) => vec![other.clone()],
                Some(ContextValue::Strings(others)) => others.clone(),
                _ => return None,
            };
            if others.contains(&argument) {
                return Some(format!("`{argument}` is given more than once"));
            }
            let others: Vec<String> = others.iter().map(|other| format!("`{other}`")).collect();
            Some(format!("`{argument}` cannot be combined with {}", others.join(", ")))
        }
        ErrorKind::TooManyValues => {
            let value = text::one_line(&context(error, ContextKind::InvalidValue), 80);
            Some(format!("`{}` takes no value such as `{value}`", context(error, ContextKind::InvalidArg)))
        }
        ErrorKind::UnknownArgument => {
            let word = text::one_line(&context(error, ContextKind::InvalidArg), 80);
            let what = if word.starts_with('-') { "an option" } else { "an argument" };
            Some(format!("`{word}` is not {what} of `{command}`"))
        }
        _ => None,
    }
}

/// What is wrong with the value of an option or argument.
fn wrong_value(error: &clap::Error) -> String {
    let name = context(error, ContextKind::InvalidArg);
    let value = text::one_line(&context(error, ContextKind::InvalidValue), 80);
    let what =
        if value.is_empty() { format!("`{name}` needs a value") } else { format!("`{name}` cannot be `{value}`") };
    let why = match (error.get(ContextKind::ValidValue), std::error::Error::source(error)) {
        (Some(ContextValue::Strings(values)), _) if !values.is_empty() => format!("expected {}", values.join(", ")),
        (_, Some(why)) => why.to_string().replace("invalid digit found in string", "expected a whole number"),
        _ => String::new(),
    };
    if why.is_empty() { what } else { format!("{what}: {why}") }
}

/// What clap says, without its last line.
fn message(error: &clap::Error) -> String {
    let whole = error.render().ansi().to_string();
    let lines: Vec<&str> = whole.lines().filter(|line| !line.contains(WHERE_TO_LOOK)).collect();
    lines.join("\n").trim_end().to_owned()
}

fn hint(error: &clap::Error, command: &str) -> String {
    let word = context(error, ContextKind::InvalidArg);
    let takes_a_text = matches!(command, "agent-handover run" | "agent-handover memory add");
    if error.kind() == ErrorKind::UnknownArgument && takes_a_text && !word.starts_with('-') {
        return "put a text of several words in quotes".to_owned();
    }
    let examples = examples::lines(command.strip_prefix("agent-handover ").unwrap_or_default());
    match examples.first().filter(|_| error.kind() == ErrorKind::MissingRequiredArgument) {
        Some(example) => format!("for example `{example}`; `{command} --help` explains it"),
        None => format!("`{command} --help` explains it"),
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => String::new(),
    }
}

/// The command that was typed, as far as it is one.
fn typed_command(arguments: &[OsString]) -> String {
    typed(arguments).0
}

fn typed(arguments: &[OsString]) -> (String, clap::Command) {
    let mut command = Cli::command();
    let mut typed = "agent-handover".to_owned();
    for argument in arguments.iter().skip(1) {
        let Some(next) = argument.to_str().and_then(|name| command.find_subcommand(name)).cloned() else { continue };
        typed = format!("{typed} {}", next.get_name());
        command = next;
    }
    (typed, command)
}
