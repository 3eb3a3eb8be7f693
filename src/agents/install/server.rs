//! Our MCP server in the settings of an agent: which file and key each agent has for it, and the entry that starts it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::agent_file::{AgentFile, FileContent, SettingsFormat};
use super::{Program, json_server, toml_server};
use crate::agents::Scope;

/// The name under which agents know the server.
pub(super) const NAME: &str = "agent-handover";
/// The command that starts it.
pub(super) const VERB: &str = "mcp";

/// Where an agent keeps its MCP servers, and how an entry looks there.
pub struct ServerSettings {
    pub path: PathBuf,
    /// The keys that lead to the table of servers.
    pub table: &'static [&'static str],
    /// The entry that starts this program.
    pub entry: fn(&str) -> Value,
    pub format: SettingsFormat,
}

impl ServerSettings {
    pub fn json(path: PathBuf, table: &'static [&'static str], entry: fn(&str) -> Value) -> ServerSettings {
        ServerSettings { path, table, entry, format: SettingsFormat::Json }
    }
}

/// The entry that most agents understand.
pub(crate) fn plain_entry(program: &str) -> Value {
    json!({ "command": program, "args": [VERB] })
}

/// Like [`plain_entry`], for agents that want to be told that the server speaks on stdio.
pub(crate) fn stdio_entry(program: &str) -> Value {
    json!({ "type": "stdio", "command": program, "args": [VERB] })
}

/// Our server, as an entry of a settings file.
#[derive(Clone, Debug)]
pub struct McpServer {
    pub table: &'static [&'static str],
    pub entry: Value,
}

/// Whether an install registers the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerWish {
    #[default]
    Write,
    /// Does not add it, and removes it where it is registered.
    LeaveOut,
}

impl ServerWish {
    /// What this build can offer: without the feature, there is no server to register.
    pub(super) fn possible(self) -> ServerWish {
        if cfg!(feature = "mcp") { self } else { ServerWish::LeaveOut }
    }
}

/// The file that registers our server. A file in a project may be shared, so it names no path of this machine.
pub(super) fn file(settings: ServerSettings, scope: Scope, program: &Program, wish: ServerWish) -> AgentFile {
    let by_name = Program::by_name();
    let program = match scope {
        Scope::User => program,
        Scope::Project => &by_name,
    };
    let server = McpServer { table: settings.table, entry: (settings.entry)(program.path()) };
    AgentFile {
        path: settings.path,
        content: FileContent::Server(server, settings.format),
        is_wanted: wish == ServerWish::Write,
    }
}

/// The text with our server; `None` if another server has its name.
pub(super) fn with(
    text: &str,
    server: &McpServer,
    format: SettingsFormat,
) -> Result<Option<String>, super::json_hooks::SyntaxProblem> {
    match format {
        SettingsFormat::Json => json_server::with(text, server),
        SettingsFormat::Toml => toml_server::with(text, server),
    }
}

/// The text without our server.
pub(super) fn without(
    text: &str,
    server: &McpServer,
    format: SettingsFormat,
) -> Result<String, super::json_hooks::SyntaxProblem> {
    match format {
        SettingsFormat::Json => json_server::without(text, server),
        SettingsFormat::Toml => toml_server::without(text, server),
    }
}

/// The program that our server is, if it is registered.
pub(super) fn look(text: &str, server: &McpServer, format: SettingsFormat) -> Option<String> {
    match format {
        SettingsFormat::Json => json_server::look(text, server),
        SettingsFormat::Toml => toml_server::look(text, server),
    }
}

/// Whether a file with this text has nothing that somebody else could have written.
pub(super) fn is_bare(text: &str, format: SettingsFormat) -> bool {
    match format {
        SettingsFormat::Json => json_server::is_bare(text),
        SettingsFormat::Toml => text.trim().is_empty(),
    }
}

/// The command and the arguments of an entry: a text and a list, or one list.
pub(super) fn command_of(entry: &Value) -> Option<(String, Vec<String>)> {
    let texts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    };
    match entry.get("command")? {
        Value::String(program) => Some((program.clone(), texts(entry.get("args").unwrap_or(&json!([])))?)),
        list => {
            let mut words = texts(list)?.into_iter();
            Some((words.next()?, words.collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ours(program: &str) -> McpServer {
        McpServer { table: &["mcpServers"], entry: stdio_entry(program) }
    }

    #[test]
    fn a_json_file_keeps_everything_else_to_the_byte() {
        let server = ours("/new/agent-handover");
        for text in [
            "",
            "{}",
            "{\n  \"mcpServers\": {}\n}\n",
            "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" },\n  },\n}\n",
            "\u{feff}{\r\n  \"numStartups\": 7,\r\n  \"projects\": {\"/p\": {\"mcpServers\": {\"agent-handover\": {}}}}\r\n}\r\n",
        ] {
            let with = json_server::with(text, &server).unwrap().unwrap();
            assert_eq!(json_server::look(&with, &server).as_deref(), Some("/new/agent-handover"), "{with}");
            assert_eq!(json_server::with(&with, &server).unwrap().unwrap(), with, "twice");
            let without = json_server::without(&with, &server).unwrap();
            assert_eq!(json_server::look(&without, &server), None);
            if text.contains("other") || text.contains("numStartups") {
                assert_eq!(without, text);
            }
        }
    }

    #[test]
    fn an_older_entry_is_updated_and_keeps_what_its_user_added() {
        let text = r#"{"mcpServers": {"agent-handover": {"command": "/old/agent-handover", "args": ["mcp"], "env": {"A": "b"}}}}"#;
        let with = json_server::with(text, &ours("/new/agent-handover")).unwrap().unwrap();
        assert!(
            with.contains(r#""command": "/new/agent-handover""#) && with.contains(r#""env": {"A": "b"}"#),
            "{with}"
        );
        let list =
            McpServer { table: &["mcp"], entry: json!({ "type": "local", "command": ["/new/agent-handover", "mcp"] }) };
        let text = r#"{"mcp": {"agent-handover": {"type": "local", "command": ["/old/agent-handover", "mcp"], "enabled": false}}}"#;
        let with = json_server::with(text, &list).unwrap().unwrap();
        assert!(with.contains("/new/") && with.contains("\"enabled\": false"), "{with}");
    }

    #[test]
    fn a_server_of_somebody_else_is_left_alone() {
        let server = ours("/new/agent-handover");
        for entry in [
            r#"{"command": "other"}"#,
            r#"{"url": "https://x"}"#,
            "7",
            r#"{"command": "agent-handover", "args": ["hook"]}"#,
        ] {
            let text = format!("{{\"mcpServers\": {{\"agent-handover\": {entry}}}}}");
            assert_eq!(json_server::with(&text, &server).unwrap(), None, "{entry}");
            assert_eq!(json_server::without(&text, &server).unwrap(), text);
        }
        assert!(json_server::with("{\"mcpServers\": 7}", &server).is_err());
        assert!(json_server::with("{", &server).is_err());
        let toml = McpServer { table: &["mcp_servers"], entry: plain_entry("/new/agent-handover") };
        let text = "[mcp_servers.agent-handover]\ncommand = \"other\"\n";
        assert_eq!(toml_server::with(text, &toml).unwrap(), None);
        assert_eq!(toml_server::without(text, &toml).unwrap(), text);
    }

    #[test]
    fn a_toml_file_keeps_everything_else_to_the_byte() {
        let server = McpServer { table: &["mcp_servers"], entry: plain_entry("/new/agent-handover") };
        for text in [
            "",
            "model = \"m\" # mine\n",
            "model = \"m\"",
            "[mcp_servers.other]\r\ncommand = \"x\"\r\n",
            "[mcp_servers]\n# mine\n\n[features]\nhooks = true\n",
        ] {
            let with = toml_server::with(text, &server).unwrap().unwrap();
            assert_eq!(toml_server::look(&with, &server).as_deref(), Some("/new/agent-handover"), "{with}");
            assert_eq!(toml_server::with(&with, &server).unwrap().unwrap(), with, "twice");
            let without = toml_server::without(&with, &server).unwrap();
            assert_eq!(toml_server::look(&without, &server), None, "{without}");
            assert_eq!(without.trim_end(), text.trim_end());
            let older = with.replace("/new/", "/old/").replace("args", "startup_timeout_sec = 5\nargs");
            let updated = toml_server::with(&older, &server).unwrap().unwrap();
            assert!(updated.contains("/new/") && updated.contains("startup_timeout_sec = 5"), "{updated}");
        }
        assert!(toml_server::with("mcp_servers = {}\n", &server).is_err());
    }

    proptest! {
        #[test]
        fn any_json_object_survives_install_and_uninstall(keys in proptest::collection::btree_map("[a-z]{1,3}", "[a-z]{0,4}", 0..4)) {
            let text = serde_json::to_string_pretty(&json!({ "a": keys, "mcpServers": keys.iter().map(|(key, value)| (key.clone(), json!({ "command": value }))).collect::<serde_json::Map<_, _>>() })).unwrap();
            let with = json_server::with(&text, &ours("/x/agent-handover")).unwrap().unwrap();
            let without = json_server::without(&with, &ours("/x/agent-handover")).unwrap();
            if keys.is_empty() {
                prop_assert!(!without.contains("agent-handover"));
            } else {
                prop_assert_eq!(without, text);
            }
        }
    }
}
