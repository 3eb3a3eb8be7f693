//! The text of the short config: the built-in steps, the project's tests, and where it publishes.

use serde_json::Value;

use super::detect::TestCommand;

/// The steps before and after the tests, each with its kind.
const BEFORE: [(&str, &str); 2] = [("facts", "collect"), ("note", "note")];
const AFTER: [(&str, &str); 3] = [("state", "state"), ("history", "history"), ("publish", "publish")];

/// The config with what was found. Nothing is published until a person changes `type`.
pub(super) fn text(tests: Option<&TestCommand>, remote: Option<&str>) -> String {
    let step = |(name, kind): (&str, &str)| format!("  {{ name = \"{name}\", kind = \"{kind}\" }},\n");
    format!(
        "# What happens at the end of a session.\n# `agent-handover init --full` writes a file that explains every key.\n\n\
         step = [\n{}{}{}]\n\n{}",
        BEFORE.map(step).concat(),
        test_step(tests),
        AFTER.map(step).concat(),
        backend(remote)
    )
}

fn test_step(tests: Option<&TestCommand>) -> String {
    let Some(tests) = tests else {
        return "  # Your tests: { name = \"tests\", kind = \"command\", run = [\"make\", \"test\"], on_failure = \"continue\" },\n".to_owned();
    };
    let argv: Vec<String> = tests.argv.iter().map(|word| Value::from(*word).to_string()).collect();
    let run = argv.join(", ");
    format!(
        "  {{ name = \"tests\", kind = \"command\", run = [{run}], timeout = \"10m\", on_failure = \"continue\" }},\n"
    )
}

fn backend(remote: Option<&str>) -> String {
    let Some(remote) = remote else {
        return "# This project has no git remote, so nothing is published.\n[backend]\ntype = \"null\"\n".to_owned();
    };
    let quoted = Value::from(remote).to_string();
    format!(
        "# `type = \"git\"` publishes memory and history on a branch of their own,\n\
         # `agent-handover`, and pushes it to the remote below, from where your other\n\
         # machines get them. Everybody who can read the remote can read them.\n\
         [backend]\ntype = \"null\"\nremote = {quoted}\n"
    )
}
