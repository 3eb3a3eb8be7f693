//! The agent on record: from the flag, the transcript, or what agents set for the commands that they run.

use super::support::*;

/// The agent of the newest archived handoff.
fn archived(world: &World) -> String {
    let text = world.read(".agent-history/LATEST.md");
    let line = text.lines().find_map(|line| line.strip_prefix("agent: ")).unwrap_or_else(|| panic!("no agent: {text}"));
    line.trim_matches('"').to_owned()
}

fn run_as(world: &World, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    finish(world.command(arguments).envs(variables.iter().copied())).expect(0)
}

#[test]
fn a_command_inside_an_agent_records_that_agent() {
    for (variable, agent) in [
        ("CLAUDECODE", "claude-code"),
        ("CODEX_THREAD_ID", "codex"),
        ("CODEX_SANDBOX", "codex"),
        ("GEMINI_CLI", "gemini"),
        ("CURSOR_AGENT", "cursor"),
        ("OPENCODE", "opencode"),
        ("CLINE_ACTIVE", "cline"),
        ("COPILOT_CLI", "copilot"),
    ] {
        let world = World::with_git();
        let inside = [(variable, "1")];
        run_as(&world, &inside, &["run", "--note", "parser done; next: fix the lexer"]);
        assert_eq!(archived(&world), agent, "run with {variable}");
        let template = run_as(&world, &inside, &["history", "template"]);
        assert!(template.stdout.contains(&format!("agent: \"{agent}\"")), "{}", template.stdout);
        let create = ["history", "create", "--goal", "g", "--summary", "s", "--next", "fix the lexer in lexer.rs"];
        run_as(&world, &inside, &create);
        assert_eq!(archived(&world), agent, "history create with {variable}");
        run_as(&world, &inside, &["memory", "add", "decision", "keep it small"]);
        let notes = run_as(&world, &[], &["memory", "list", "--layer", "1", "--json"]).json();
        assert!(notes.to_string().contains(&format!("\"agent\":\"{agent}\"")), "{notes}");
    }
}

#[test]
fn a_name_that_a_person_gives_comes_first_and_then_the_transcript() {
    let world = World::with_git();
    world.write(
        "session.jsonl",
        r#"{"type":"user","uuid":"u1","timestamp":"2026-11-15T09:00:00.000Z","cwd":"/p","sessionId":"s1","message":{"role":"user","content":"Fix the lexer"}}
"#,
    );
    run_as(&world, &[], &["run", "--transcript", "session.jsonl"]);
    assert_eq!(archived(&world), "claude-code", "its format says so");
    run_as(&world, &[("CODEX_THREAD_ID", "t")], &["run", "--transcript", "session.jsonl", "--note", "two"]);
    assert_eq!(archived(&world), "claude-code", "the session is the transcript's, not the caller's");
    run_as(&world, &[("CLAUDECODE", "1")], &["run", "--note", "three", "--agent", "aider"]);
    assert_eq!(archived(&world), "aider");
    run_as(&world, &[("CLAUDECODE", "1"), ("AGENT_HANDOVER_AGENT", "amp")], &["run", "--note", "four"]);
    assert_eq!(archived(&world), "amp");
    run_as(&world, &[], &["run", "--note", "five"]);
    assert_eq!(archived(&world), "unknown");
}

/// A project that cannot be written leaves no record, and the session must not count on one.
#[test]
fn a_session_in_a_read_only_project_is_promised_nothing() {
    let world = World::with_git();
    let payload = r#"{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}"#;
    let inside = format!("printf '%s' '{payload}' | {BINARY} hook --agent claude-code; echo; echo \"exit $?\"");
    let script = format!("mount --bind . . && mount -o remount,ro,bind . . && cd $PWD && {inside}");
    let output = finish(world.clean("unshare").args(["-rm", "sh", "-c", &script]));
    if !output.stdout.contains("exit 0") {
        return skip(&format!("this machine lets nobody mount: {}", output.stderr.as_str()));
    }
    assert!(output.stdout.contains("cannot record this one: "), "{}", output.stdout);
    assert!(!output.stdout.contains("will be, when it ends"), "{}", output.stdout);
    assert!(output.stderr.contains("agent-handover"), "{}", output.stderr);
}
