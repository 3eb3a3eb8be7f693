//! `install` registers the MCP server with each agent that has one, `--no-mcp` leaves it out, and `uninstall` takes it out to
//! the byte.

use super::support::*;

/// The agents that have MCP, the file of each, and what a user may have there.
const FILES: &[(&str, &str, &str)] = &[
    (
        "claude-code",
        ".claude.json",
        "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}",
    ),
    ("codex", ".codex/config.toml", "model = \"m\" # mine\r\n\r\n[mcp_servers.other]\r\ncommand = \"x\"\r\n"),
    ("gemini", ".gemini/settings.json", "{\n  // mine\n  \"mcpServers\": {},\n}\n"),
    ("antigravity", ".gemini/config/mcp_config.json", "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}}\n"),
    ("cursor", ".cursor/mcp.json", "{\"mcpServers\": {}}"),
    ("copilot", ".copilot/mcp-config.json", "{}"),
    (
        "opencode",
        ".config/opencode/opencode.json",
        "{\"mcp\": {\"other\": {\"type\": \"local\", \"command\": [\"x\"]}}}\n",
    ),
];

fn names() -> Vec<&'static str> {
    FILES.iter().map(|(agent, ..)| *agent).collect()
}

fn install(world: &World, more: &[&str]) {
    let arguments = [&["install"], names().as_slice(), more].concat();
    world.agent(&arguments).stderr_ignored("comments that a client rejects").expect(0);
}

fn has_server(world: &World, file: &str) -> bool {
    world.home_file(file).exists() && world.get(file).contains("agent-handover") && world.get(file).contains("\"mcp\"]")
}

#[test]
fn the_server_is_registered_once_and_taken_out_to_the_byte() {
    for is_there in [true, false] {
        let world = World::new();
        for (_, file, text) in FILES.iter().filter(|_| is_there) {
            world.put(file, text);
        }
        let before = world.all();
        install(&world, &[]);
        let once = world.all();
        for (agent, file, _) in FILES {
            assert!(has_server(&world, file), "{agent}: {}", world.get(file));
            assert_eq!(
                world.get(file).contains("other"),
                is_there && FILES.iter().any(|(a, _, text)| a == agent && text.contains("other"))
            );
        }
        install(&world, &[]);
        assert_eq!(world.all(), once, "twice is once");
        let arguments = [&["uninstall"], names().as_slice()].concat();
        world.agent(&arguments).expect(0);
        assert_eq!(world.all(), before);
    }
}

#[test]
fn without_mcp_it_is_not_registered_and_removed_where_it_was() {
    let world = World::new();
    for (_, file, text) in FILES {
        world.put(file, text);
    }
    install(&world, &["--no-mcp"]);
    for (agent, file, _) in FILES {
        assert!(!has_server(&world, file), "{agent}: {}", world.get(file));
    }
    install(&world, &[]);
    install(&world, &["--no-mcp"]);
    for (agent, file, text) in FILES {
        assert!(!has_server(&world, file), "{agent}: {}", world.get(file));
        // Gemini has its hooks in the same file.
        assert!(*agent == "gemini" || world.get(file) == *text, "{agent}: {}", world.get(file));
    }
    assert!(world.get(".gemini/settings.json").contains("hook --agent gemini"), "the hooks stay");
    world.agent(&[&["uninstall"], names().as_slice()].concat()).expect(0);
    for (agent, file, text) in FILES {
        assert_eq!(world.get(file), *text, "{agent}");
    }
}

#[test]
fn a_server_of_somebody_else_with_our_name_stays() {
    let world = World::new();
    let theirs = "{\"mcpServers\": {\"agent-handover\": {\"command\": \"npx\", \"args\": [\"something\"]}}}";
    world.put(".cursor/mcp.json", theirs);
    let output = world.agent(&["install", "cursor"]).expect(0);
    assert!(output.stderr.contains("has another MCP server of our name"), "{}", output.stderr);
    assert_eq!(world.get(".cursor/mcp.json"), theirs);
    world.agent(&["uninstall", "cursor"]).expect(0);
    assert_eq!(world.get(".cursor/mcp.json"), theirs);
}
