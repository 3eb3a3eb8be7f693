//! Slash commands: which of them are requests to the agent, and their words.

use crate::base::text;

/// Commands that change the client and ask nothing of the agent, whatever their words.
const OF_THE_CLIENT: &[&str] = &[
    "/add-dir",
    "/agents",
    "/allowed-tools",
    "/approvals",
    "/bashes",
    "/branch",
    "/bug",
    "/chrome",
    "/clear",
    "/color",
    "/compact",
    "/config",
    "/context",
    "/copy",
    "/cost",
    "/desktop",
    "/diff",
    "/doctor",
    "/effort",
    "/exit",
    "/export",
    "/extra-usage",
    "/fast",
    "/feedback",
    "/fork",
    "/heapdump",
    "/help",
    "/hooks",
    "/ide",
    "/insights",
    "/install-github-app",
    "/install-slack-app",
    "/keybindings",
    "/login",
    "/logout",
    "/mcp",
    "/memory",
    "/mobile",
    "/model",
    "/new",
    "/output-style",
    "/passes",
    "/permissions",
    "/plugin",
    "/plugins",
    "/privacy-settings",
    "/quit",
    "/release-notes",
    "/reload-plugins",
    "/remote-control",
    "/remote-env",
    "/rename",
    "/reset",
    "/resume",
    "/rewind",
    "/sandbox",
    "/skills",
    "/stats",
    "/status",
    "/statusline",
    "/stickers",
    "/tag",
    "/tasks",
    "/teleport",
    "/terminal-setup",
    "/theme",
    "/todos",
    "/undo",
    "/upgrade",
    "/usage",
    "/version",
    "/vim",
    "/voice",
];

/// A text that is a slash command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SlashCommand {
    /// A command of the client, which is not a request.
    OfClient,
    /// A request: the command with its words.
    Request { line: String, has_words: bool },
}

/// The slash command that a text is: as clients record it, or as a person types it. `None` if it is not one.
pub(super) fn of(text: &str) -> Option<SlashCommand> {
    let text = text::without_private(text);
    let text = text.trim();
    let (name, words) = if text.starts_with("<command-") { recorded(text)? } else { typed(text)? };
    let plain = if name.starts_with('/') { name.to_owned() } else { format!("/{name}") };
    if OF_THE_CLIENT.contains(&plain.as_str()) {
        return Some(SlashCommand::OfClient);
    }
    Some(SlashCommand::Request { line: format!("{plain} {words}").trim().to_owned(), has_words: !words.is_empty() })
}

/// `<command-name>/fix-issue</command-name> … <command-args>4711 login loops</command-args>`
fn recorded(text: &str) -> Option<(&str, &str)> {
    let name = inside(text, "<command-name>", "</command-name>").filter(|name| !name.is_empty())?;
    Some((name, inside(text, "<command-args>", "</command-args>").unwrap_or_default()))
}

/// The arguments may contain anything, so the last closing tag counts.
fn inside<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    let end = if open == "<command-args>" { rest.rfind(close) } else { rest.find(close) };
    Some(rest[..end.unwrap_or(rest.len())].trim())
}

/// `/fix-issue 4711 login loops`. A path is not a command: it has a second slash or a dot. `/etc is full` is taken for one,
/// which does no harm, because its words stay the same.
fn typed(text: &str) -> Option<(&str, &str)> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, words) = text.split_at(end);
    let letters = name.strip_prefix('/')?;
    let is_name = letters.starts_with(|c: char| c.is_ascii_lowercase())
        && letters.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'));
    is_name.then(|| (name, words.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_its_words_is_a_request() {
        for (text, line, has_words) in [
            (
                "<command-message>fix-issue is running…</command-message>\n<command-name>/fix-issue</command-name>\n<command-args>4711 login loops</command-args>",
                "/fix-issue 4711 login loops",
                true,
            ),
            ("<command-name>review</command-name>\n            <command-args></command-args>", "/review", false),
            (
                "<command-name>/x:y</command-name><command-args>a </command-args> b</command-args>",
                "/x:y a </command-args> b",
                true,
            ),
            ("<command-name>/x</command-name><command-args>no end", "/x no end", true),
            ("<command-name>/x</command-name><command-args>a <private>b</private> c</command-args>", "/x a  c", true),
            ("/fix-issue 4711", "/fix-issue 4711", true),
            ("/plan\nfirst the lexer", "/plan first the lexer", true),
        ] {
            let expected = SlashCommand::Request { line: line.to_owned(), has_words };
            assert_eq!(of(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_command_of_the_client_is_none() {
        for text in [
            "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
            "<command-name>/model</command-name><command-args>opus</command-args>",
            "/compact keep the plan",
            "/exit",
        ] {
            assert_eq!(of(text), Some(SlashCommand::OfClient), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_commands() {
        for text in [
            "fix <command-name>/x</command-name>",
            "<command-message>x</command-message>",
            "<command-name></command-name>",
            "/usr/bin/env fails",
            "/README.md is old",
            "/ 2",
            "/",
            "",
            "<private>/x y</private>",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
