//! What `install` teaches agents: the block in CLAUDE.md and the like, and `/handoff`, `/checkpoint` and `/freeze`.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use agent_handover::testing::agents::AGENTS;
use agent_handover::testing::cli::command_line;

use super::install::round_trip;
use super::support::*;

const BLOCK: &str = "<!-- agent-handover:begin -->";

/// Where each agent keeps `/handoff` for its user and in a project, relative to the home directory and the project.
const HANDOFF: [(&str, &str, &str); 8] = [
    ("claude-code", ".claude/commands/handoff.md", ".claude/commands/handoff.md"),
    ("codex", ".agents/skills/handoff/SKILL.md", ".agents/skills/handoff/SKILL.md"),
    ("gemini", ".gemini/commands/handoff.toml", ".gemini/commands/handoff.toml"),
    ("antigravity", ".gemini/config/skills/handoff/SKILL.md", ".agents/skills/handoff/SKILL.md"),
    ("cursor", ".cursor/commands/handoff.md", ".cursor/commands/handoff.md"),
    ("opencode", ".config/opencode/commands/handoff.md", ".opencode/commands/handoff.md"),
    ("cline", "Documents/Cline/Workflows/handoff.md", ".clinerules/workflows/handoff.md"),
    ("copilot", ".copilot/skills/handoff/SKILL.md", ".agents/skills/handoff/SKILL.md"),
];

#[test]
fn each_agent_with_commands_gets_the_three() {
    for (agent, user, project) in HANDOFF {
        let world = World::new();
        world.agent(&["install", agent]).expect(0);
        world.agent(&["install", agent, "--scope", "project"]).expect(0).stderr_ignored("both scopes, on purpose");
        for (name, says) in
            [("handoff", "run --handoff"), ("checkpoint", "memory capture"), ("freeze", "pause --reason")]
        {
            for text in [world.get(&user.replace("handoff", name)), world.read(&project.replace("handoff", name))] {
                assert!(text.contains(&format!("agent-handover {says}")), "{agent} {name}: {text}");
            }
        }
    }
}

/// The words of a line, as a shell reads them.
fn words(line: &str) -> Vec<String> {
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("for word in {line}; do printf '%s\\n' \"$word\"; done")])
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The calls of our program in a text: in code spans, in indented lines and in fences, where `\\` continues a line.
fn calls(text: &str) -> BTreeSet<String> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("agent-handover "));
    let spans = text.split('`').skip(1).step_by(2).filter(|span| span.starts_with("agent-handover "));
    lines.chain(spans).map(|call| call.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Every call that an installed text names is one that the program accepts. A call in a sentence may leave out arguments.
#[test]
fn every_command_that_a_text_names_exists() {
    let world = World::new();
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    world
        .agent(&[&["install"], names.as_slice(), &["--scope", "project", "--block"]].concat())
        .expect(0)
        .stderr_ignored("clicks");
    let mut seen = BTreeSet::new();
    for (path, text) in world.tree() {
        let is_text = path.ends_with(".md") || path.ends_with(".mdc") || path.ends_with(".toml");
        let found = if is_text { calls(&text) } else { BTreeSet::new() };
        for call in found {
            if let Err(error) = command_line().try_get_matches_from(words(&call)) {
                let is_mention =
                    error.kind() == clap::error::ErrorKind::MissingRequiredArgument && !call.contains(" -");
                assert!(is_mention, "{path}: {call}: {error}");
            }
            seen.insert(call);
        }
    }
    for verb in [
        "check",
        "warmup",
        "run --resume",
        "run --handoff",
        "pause --reason",
        "unpause",
        "memory capture --data",
        "history create",
    ] {
        assert!(seen.iter().any(|call| call.starts_with(&format!("agent-handover {verb}"))), "{verb}: {seen:#?}");
    }
}

/// The commands do what their texts promise.
#[test]
fn the_commands_work_in_the_order_of_their_texts() {
    let world = World::with_git();
    world.agent(&["install", "claude-code", "--scope", "project"]).expect(0);
    let checkpoint = world.read(".claude/commands/checkpoint.md");
    let capture = calls(&checkpoint).into_iter().find(|call| call.contains("--data")).unwrap();
    let arguments = words(&capture);
    world.run(&arguments[1..].iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
    world.run(&["check"]).expect(0);

    let form = world.run(&["history", "template"]).expect(0).stdout;
    let goal = form.lines().find(|line| line.starts_with("primary_goal:")).unwrap();
    let filled = form
        .replace(goal, "primary_goal: \"Report columns\"")
        .replace("next_todo_items:\n  - \"…\"", "next_todo_items:\n  - \"fix the off-by-one in lexer.rs:42\"")
        .replace("search_tags:\n  - \"\"", "search_tags:\n  - \"parser\"")
        .replace("command: \"\"", "command: \"cargo test\"");
    let file = world.home_file("form.md");
    std::fs::write(&file, filled).unwrap();
    world.run(&["run", "--handoff", file.to_str().unwrap(), "--note", "columns begun"]).expect(0);
    world.run(&["check"]).expect(2);
    assert!(world.read(".agent-history/LATEST.md").contains("Report columns"));

    world.run(&["pause", "--reason", "the user wants quiet"]).expect(0);
    world.run(&["run", "--note", "later"]).expect(3);
    world.run(&["unpause"]).expect(0);
    world.run(&["run", "--resume"]).expect(0);
}

#[test]
fn the_block_goes_into_the_file_that_the_agent_reads() {
    for (agent, user, project) in [
        ("claude-code", Some(".claude/CLAUDE.md"), Some("CLAUDE.md")),
        ("codex", Some(".codex/AGENTS.md"), None),
        ("gemini", Some(".gemini/GEMINI.md"), Some("GEMINI.md")),
        ("antigravity", None, None),
        ("opencode", Some(".config/opencode/AGENTS.md"), None),
        ("copilot", Some(".copilot/copilot-instructions.md"), Some(".github/copilot-instructions.md")),
        ("cursor", None, Some(".cursor/rules/agent-handover.mdc")),
        ("cline", Some("Documents/Cline/Rules/agent-handover.md"), Some(".clinerules/00-agent-handover.md")),
        ("agents-md", Some(".agents/AGENTS.md"), Some("AGENTS.md")),
    ] {
        for (scope, file) in [("user", user), ("project", project)] {
            let world = World::new();
            let output = world.agent(&["install", agent, "--scope", scope, "--block"]).expect(0);
            let Some(file) = file else {
                let says = format!("reads AGENTS.md: `agent-handover install agents-md --scope {scope}`");
                assert!(output.stderr.contains(&says), "{agent}: {}", output.stderr);
                continue;
            };
            let output = output.stderr_ignored("some agents ask for a click");
            let text = if scope == "user" { world.get(file) } else { world.read(file) };
            assert!(
                text.contains("run `agent-handover check --interrupted`"),
                "{agent} {scope}: {text}\n{}",
                output.stdout
            );
            for code in ["`0`: nothing waits", "`1`: a handover was interrupted"] {
                assert!(text.contains(code), "{agent} {scope}: {code}: {text}");
            }
        }
    }
}

#[test]
fn a_block_in_claude_md_comes_and_goes_cleanly() {
    for text in ["# Rules\n", "# Rules\r\nuse tabs\r\n", "no line break at the end", ""] {
        let world = World::new();
        world.write("CLAUDE.md", text);
        round_trip(&world, &["claude-code", "--scope", "project"], "without a block");
        assert!(!world.read("CLAUDE.md").contains(BLOCK));
        let before = world.all();
        let install = ["install", "claude-code", "--scope", "project", "--block"];
        world.agent(&install).expect(0);
        let installed = world.read("CLAUDE.md");
        assert!(installed.starts_with(text) && installed.matches(BLOCK).count() == 1, "{installed}");
        world.agent(&install).expect(0);
        // Without the flag, a block that is there is kept and kept up to date.
        world.agent(&["install", "claude-code", "--scope", "project"]).expect(0);
        assert_eq!(world.read("CLAUDE.md"), installed);
        world.agent(&["uninstall", "claude-code", "--scope", "project"]).expect(0);
        assert_eq!(world.all(), before);
    }
    let world = World::new();
    world.write(".claude/CLAUDE.md", "# Ours\n");
    world.agent(&["install", "claude-code", "--scope", "project", "--block"]).expect(0);
    assert!(world.read(".claude/CLAUDE.md").contains(BLOCK) && !world.exists("CLAUDE.md"));
}

/// Many projects link one to the other.
#[test]
fn claude_md_that_is_a_link_to_agents_md_has_one_block() {
    let world = World::new();
    world.write("AGENTS.md", "# Rules\n");
    symlink("AGENTS.md", world.path("CLAUDE.md")).unwrap();
    let before = world.all();
    world.agent(&["install", "agents-md", "--scope", "project"]).expect(0);
    world.agent(&["install", "claude-code", "--scope", "project", "--block"]).expect(0);
    assert!(world.path("CLAUDE.md").is_symlink());
    assert_eq!(world.read("AGENTS.md").matches(BLOCK).count(), 1);
    world.agent(&["uninstall", "claude-code", "--scope", "project"]).expect(0);
    assert_eq!(world.read("AGENTS.md").matches(BLOCK).count(), 1, "agents-md still needs it");
    world.agent(&["uninstall", "agents-md", "--scope", "project"]).expect(0);
    assert_eq!(world.all(), before);
}

#[test]
fn a_command_of_the_user_stays() {
    let world = World::new();
    let mine = "Do it our way.\n";
    world.put(".claude/commands/handoff.md", mine);
    let output = world.agent(&["install", "claude-code"]).expect(0);
    assert!(
        output.stderr.contains("handoff.md` is not a file of agent-handover and was not changed"),
        "{}",
        output.stderr
    );
    assert_eq!(world.get(".claude/commands/handoff.md"), mine);
    assert!(world.get(".claude/commands/freeze.md").contains("agent-handover pause"));
    let report = world.agent(&["doctor"]).expect(0);
    assert!(!report.stdout.contains("handoff.md"), "{}", report.stdout);
    std::fs::remove_file(world.home_file(".claude/commands/freeze.md")).unwrap();
    let report = world.agent(&["doctor"]).expect(0);
    assert!(
        report.stdout.contains("note   claude-code: ") && report.stdout.contains("freeze.md is not installed"),
        "{}",
        report.stdout
    );
    world.agent(&["uninstall", "claude-code"]).expect(0);
    assert_eq!(world.get(".claude/commands/handoff.md"), mine);
}
