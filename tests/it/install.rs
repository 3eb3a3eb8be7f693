//! `install` and `uninstall` over the settings that people have: byte comparisons.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use agent_handover::testing::agents::state::{self, Which};
use agent_handover::testing::agents::{self, AGENTS, Places, Program, Scope};
use agent_handover::testing::base::fault::POINTS;
use snapbox::{assert_data_eq, str};

use super::support::*;

const CLAUDE: &str = ".claude/settings.json";

/// A program of ours in this directory of the home, and the PATH that finds it.
pub fn program(world: &World, directory: &str) -> (String, String) {
    let bin = world.home().join(directory);
    std::fs::create_dir_all(&bin).unwrap();
    let program = bin.join("agent-handover");
    if program.symlink_metadata().is_err() {
        symlink(BINARY, &program).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    (program.display().to_string(), path)
}

impl World {
    pub fn home_file(&self, path: &str) -> PathBuf {
        self.home().join(path)
    }

    pub fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.home_file(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.home_file(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"))
    }

    /// Runs with the program found in `bin` of the home.
    pub fn agent(&self, arguments: &[&str]) -> Output {
        self.agent_from("bin", arguments)
    }

    pub fn agent_from(&self, bin: &str, arguments: &[&str]) -> Output {
        let (_, path) = program(self, bin);
        finish(self.command(arguments).env("PATH", path))
    }

    /// Everything below home and project: files, links, directories, modes. Not what was made to run us.
    pub fn all(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeMap::new();
        let base = self.home().parent().unwrap().to_path_buf();
        walk(&base, &base, &mut seen);
        seen.retain(|path, _| !path.contains("/bin"));
        seen
    }
}

fn walk(base: &Path, directory: &Path, seen: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(base).unwrap().display().to_string();
        let about = path.symlink_metadata().unwrap();
        let mode = about.mode() & 0o7777;
        if about.is_symlink() {
            seen.insert(name, format!("-> {}", std::fs::read_link(&path).unwrap().display()));
        } else if about.is_dir() {
            seen.insert(name, format!("directory {mode:o}"));
            walk(base, &path, seen);
        } else {
            seen.insert(name, format!("{mode:o} {:?}", String::from_utf8_lossy(&std::fs::read(&path).unwrap())));
        }
    }
}

/// Installs, installs again, installs from another place, and takes all out: each time the bytes are what they must be.
#[track_caller]
pub fn round_trip(world: &World, arguments: &[&str], case: &str) {
    let install = [&["install"], arguments].concat();
    let before = world.all();
    world.agent(&install).expect(0);
    let installed = world.all();
    assert_ne!(installed, before, "{case}: nothing was written");
    world.agent(&install).expect(0);
    assert_eq!(world.all(), installed, "{case}: twice is once");

    // The program has moved: what names it is updated where it is, and nothing else changes.
    world.agent_from("bin with room", &install).expect(0);
    let (old, new) = (program(world, "bin").0, program(world, "bin with room").0);
    for (path, text) in world.all().into_iter().filter(|(path, _)| !path.contains(".local/state")) {
        let back = text.replace(&format!("'{new}'"), &old).replace(&new, &old);
        let unsealed = |text: &str| text.split("agent-handover:seal").next().unwrap().to_owned();
        assert_eq!(unsealed(&back), unsealed(&installed[&path]), "{case}: {path} was not updated in place");
    }
    world.agent(&install).expect(0);

    world.agent(&[&["uninstall"], arguments].concat()).expect(0);
    assert_eq!(world.all(), before, "{case}: uninstall leaves everything as it was");
    world.agent(&[&["uninstall"], arguments].concat()).expect(0);
    assert_eq!(world.all(), before, "{case}: and again");
    assert_eq!(world.strays(), [""; 0]);
}

/// Settings for agents that keep hooks as Claude Code does, in all the ways people write them.
fn grouped(event: &str, other: &str) -> Vec<(&'static str, String)> {
    let theirs =
        format!("{{ \"matcher\": \"startup\",\"hooks\":[ {{\"type\": \"command\",   \"command\": \"{other}\" }} ] }}");
    vec![
        ("empty", String::new()),
        ("blank", "\n\n".to_owned()),
        ("an empty object", "{}".to_owned()),
        ("an empty object with lines", "{\n}\n".to_owned()),
        ("an empty object with room", "{ }\n".to_owned()),
        ("one line", "{\"model\":\"opus\",\"hooks\":{}}".to_owned()),
        ("no last line break", "{\n  \"model\": \"opus\"\n}".to_owned()),
        ("tabs", "{\n\t\"model\": \"opus\",\n\t\"permissions\": { \"allow\": [\"Bash(ls:*)\"] }\n}\n".to_owned()),
        ("a byte order mark", "\u{feff}{\n    \"model\": \"opus\"\n}\n".to_owned()),
        (
            "CRLF",
            format!(
                "{{\r\n   \"hooks\": {{\r\n      \"{event}\": [\r\n         {theirs}\r\n      ]\r\n   }}\r\n}}\r\n"
            ),
        ),
        (
            "comments and odd indentation",
            format!(
                "// mine\n{{\n     \"a\" : 1, // one\n /* two */ \"hooks\": {{\n  \"{event}\": [ {theirs} ], // last\n  \"PostToolUse\": []\n   }}, \"z\": [1,\n2]\n}}\n// end\n"
            ),
        ),
        ("trailing commas", format!("{{\n  \"hooks\": {{\n    \"{event}\": [\n      {theirs},\n    ],\n  }},\n}}\n")),
        ("an empty list for an event", format!("{{\n  \"hooks\": {{ \"{event}\": [] }}\n}}\n")),
        (
            "groups without handlers and strange ones",
            format!("{{\"hooks\":{{\"{event}\":[{{\"hooks\":[]}},{{}},7,null,\"x\"]}}}}\n"),
        ),
    ]
}

fn flat(event: &str, other: &str) -> Vec<(&'static str, String)> {
    vec![
        ("an empty object", "{}\n".to_owned()),
        ("only a version", "{ \"version\": 1 }\n".to_owned()),
        (
            "theirs",
            format!(
                "{{\n    \"version\": 1,\n    \"hooks\": {{\n        \"{event}\": [\n            {{ \"command\": \"{other}\" }} // keep\n        ]\n    }}\n}}\n"
            ),
        ),
        (
            "CRLF",
            format!(
                "{{\r\n\t\"hooks\": {{\r\n\t\t\"{event}\": [{{ \"command\": \"{other}\" }}]\r\n\t}},\r\n\t\"version\": 1\r\n}}\r\n"
            ),
        ),
    ]
}

#[test]
fn every_agent_is_wired_and_unwired_on_a_machine_without_settings() {
    for agent in AGENTS {
        round_trip(&World::new(), &[agent.name], agent.name);
        round_trip(&World::new(), &[agent.name, "--scope", "project"], &format!("{} in a project", agent.name));
    }
    round_trip(
        &World::new(),
        &["claude-code", "codex", "gemini", "antigravity", "cursor", "opencode", "cline", "copilot"],
        "many",
    );
}

#[test]
fn settings_in_every_style_come_back_to_the_byte() {
    let other = "node /opt/other/hook.js";
    for (agent, file, cases) in [
        ("claude-code", CLAUDE, grouped("SessionStart", other)),
        ("codex", ".codex/hooks.json", some(grouped("Stop", other))),
        ("gemini", ".gemini/settings.json", some(grouped("AfterAgent", other))),
        ("cursor", ".cursor/hooks.json", flat("stop", other)),
        ("copilot", ".copilot/hooks/agent-handover.json", flat("agentStop", other)),
    ] {
        for (case, text) in cases.into_iter().step_by(stride(2)) {
            let world = World::new();
            world.put(file, &text);
            std::fs::set_permissions(world.home_file(file), std::fs::Permissions::from_mode(0o600)).unwrap();
            round_trip(&world, &[agent], &format!("{agent}: {case}"));
            world.agent(&["install", agent]).expect(0);
            let installed = world.get(file);
            let count = |text: &str, part: &str| text.matches(part).count();
            // Not every agent takes text at a prompt.
            let hooks = match agent {
                "claude-code" => 6,
                "codex" => 5,
                _ => 4,
            };
            assert_eq!(count(&installed, "hook --agent"), hooks, "{agent}: {case}\n{installed}");
            assert_eq!(count(&installed, other), count(&text, other), "{agent}: {case}: theirs stay");
            let is_crlf = text.contains("\r\n");
            assert!(!is_crlf || !installed.replace("\r\n", "").contains('\n'), "{agent}: {case}: line ends");
            assert!(comments(&text).iter().all(|line| installed.contains(line)), "{agent}: {case}: comments stay");
        }
    }
}

/// Some versions of Claude Code ignore all settings if they find an event that they do not know.
#[test]
fn an_old_claude_code_gets_no_event_that_it_does_not_know() {
    for (state, is_installed) in [
        ("{ \"lastReleaseNotesSeen\": \"2.1.77\" }", false),
        ("{ \"lastReleaseNotesSeen\": \"2.0.999\" }", false),
        ("{ \"lastReleaseNotesSeen\": \"1.0.85\" }", false),
        ("{ \"lastReleaseNotesSeen\": \"2.1.78\" }", true),
        ("{ \"lastReleaseNotesSeen\": \"3.0.0-beta\" }", true),
        ("{ \"lastReleaseNotesSeen\": 7 }", true),
        ("{}", true),
    ] {
        let world = World::new();
        world.put(".claude.json", state);
        world.agent(&["install", "claude-code"]).expect(0);
        assert_eq!(world.get(CLAUDE).contains("\"StopFailure\""), is_installed, "{state}");
    }
}

/// The same code edits these, so a few styles tell.
fn some(cases: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    let told = ["an empty object with room", "CRLF", "comments and odd indentation"];
    cases.into_iter().filter(|(case, _)| told.contains(case)).collect()
}

fn comments(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.find("// ").map(|at| line[at..].trim())).collect()
}

#[test]
fn install_appends_after_the_entries_of_others() {
    let world = World::new();
    world.put(
        CLAUDE,
        r#"{
  // what I use
  "model": "opus",
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "say done" } ] }
    ]
  }
}
"#,
    );
    let (program, _) = program(&world, "bin");
    let output = world.agent(&["install", "claude-code"]).expect(0);
    assert!(
        output.stderr.contains("settings.json` line 2: this is not JSON: Comments are not allowed"),
        "{}",
        output.stderr
    );
    assert_data_eq!(
        world.get(CLAUDE).replace(&program, "[PROGRAM]"),
        str![[r#"
{
  // what I use
  "model": "opus",
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "say done" } ] },
      {
        "hooks": [
          {
            "type": "command",
            "command": "[PROGRAM] hook --agent claude-code",
            "timeout": 10
          }
        ]
      }
    ],
    "SessionStart": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "[PROGRAM] hook --agent claude-code",
            "timeout": 10
          }
        ]
      }
    ],
    "UserPromptSubmit": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "[PROGRAM] hook --agent claude-code",
            "timeout": 10
          }
        ]
      }
    ],
    "StopFailure": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "[PROGRAM] hook --agent claude-code",
            "timeout": 10
          }
        ]
      }
    ],
    "PreCompact": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "[PROGRAM] hook --agent claude-code",
            "timeout": 10
          }
        ]
      }
    ],
    "SessionEnd": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "[PROGRAM] hook --agent claude-code",
            "timeout": 5
          }
        ]
      }
    ]
  }
}

"#]]
    );
}

#[test]
fn install_updates_our_entry_in_place_and_keeps_user_settings() {
    let world = World::new();
    let text = r#"{"hooks": {"Stop": [
  {"matcher": "", "hooks": [{"type": "command", "command": "/gone/agent-handover", "args": ["hook", "--agent", "claude-code"], "timeout": 42},
                            {"type": "command", "command": "mine"}]},
  {"hooks": [{"type": "command", "command": "'/my old/agent-handover' hook"}]},
  {"hooks": [{"type": "command", "command": "notify && agent-handover hook"}]}
]}}
"#;
    world.put(CLAUDE, text);
    world.agent(&["install", "claude-code"]).expect(0);
    let (program, _) = program(&world, "bin");
    let settings: serde_json::Value = serde_json::from_str(&world.get(CLAUDE)).unwrap();
    let stop = &settings["hooks"]["Stop"];
    assert_eq!(stop[0]["hooks"][0]["command"], format!("{program} hook --agent claude-code"));
    assert_eq!(stop[0]["hooks"][0]["timeout"], 42);
    assert!(stop[0]["hooks"][0].get("args").is_none());
    assert_eq!(stop[0]["hooks"][1]["command"], "mine");
    assert_eq!(stop[1]["hooks"][0]["command"], "notify && agent-handover hook", "not ours alone, so not ours");
    assert_eq!(stop.as_array().unwrap().len(), 2, "one of ours is enough");
}

/// An earlier version asked Gemini CLI for an event that it fires before every request.
#[test]
fn an_event_that_is_not_wanted_any_more_is_taken_out_by_the_next_install() {
    let world = World::new();
    let ours = r#"{"name": "agent-handover", "type": "command", "command": "/old/agent-handover hook --agent gemini"}"#;
    let theirs = r#"{"type": "command", "command": "mine"}"#;
    for (old, left) in [
        (format!(r#"{{"hooks": [{ours}]}}"#), None),
        (format!(r#"{{"hooks": [{theirs}, {ours}]}}"#), Some(format!(r#"[{{"hooks": [{theirs}]}}]"#))),
    ] {
        let text =
            format!("{{\"hooks\": {{\"PreCompress\": [{old}], \"BeforeTool\": [{{\"hooks\": [{theirs}]}}]}}}}\n");
        world.put(".gemini/settings.json", text);
        world.agent(&["install", "gemini"]).expect(0);
        let settings: serde_json::Value = serde_json::from_str(&world.get(".gemini/settings.json")).unwrap();
        let left = left.map(|left| serde_json::from_str::<serde_json::Value>(&left).unwrap());
        assert_eq!(settings["hooks"].get("PreCompress"), left.as_ref(), "{settings}");
        assert_eq!(settings["hooks"]["BeforeTool"][0]["hooks"][0]["command"], "mine");
        assert!(settings["hooks"]["SessionStart"].is_array());
        let again = world.agent(&["install", "gemini"]).expect(0);
        assert!(
            again.stdout.contains("nothing changed") || again.stderr.contains("nothing changed"),
            "{}",
            again.stdout
        );
        world.agent(&["uninstall", "gemini"]).expect(0);
        assert!(!world.get(".gemini/settings.json").contains("agent-handover"));
    }
}

/// Codex remembers trust by place.
#[test]
fn install_reports_that_codex_asks_for_trust_again() {
    let world = World::new();
    world.agent(&["install", "codex"]).expect(0);
    let alone = world.agent(&["uninstall", "codex"]).expect(0);
    assert!(!alone.stderr.contains("trust"), "{}", alone.stderr);
    world.agent(&["install", "codex"]).expect(0);
    let later = r#""Stop": [{"hooks": [{"type": "command", "command": "X hook"}]}, {"hooks": [{"type": "command", "command": "say"}]}]"#;
    let (program, _) = program(&world, "bin");
    world.put(".codex/hooks.json", format!("{{\"hooks\": {{{}}}}}", later.replace('X', &program)));
    let followed = world.agent(&["uninstall", "codex"]).expect(0);
    assert!(followed.stderr.contains("Codex will ask again"), "{}", followed.stderr);
    let left: serde_json::Value = serde_json::from_str(&world.get(".codex/hooks.json")).unwrap();
    assert_eq!(
        left,
        serde_json::json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "say" }] }] } })
    );
}

#[test]
fn edits_after_an_install_survive_uninstall() {
    let world = World::new();
    world.put(CLAUDE, "{\n  \"model\": \"opus\"\n}\n");
    world.agent(&["install", "claude-code"]).expect(0);
    let edited = world.get(CLAUDE).replace("\"opus\",", "\"sonnet\", // cheaper\n  \"env\": { \"A\": \"1\" },");
    world.put(CLAUDE, &edited);
    world.agent_from("bin-of-another", &["install", "claude-code"]).expect(0);
    world.agent(&["uninstall", "claude-code"]).expect(0);
    assert_eq!(world.get(CLAUDE), "{\n  \"model\": \"sonnet\", // cheaper\n  \"env\": { \"A\": \"1\" }\n}\n");

    // A file that we made and its user went on with stays; one that holds nothing else goes.
    world.agent(&["install", "cursor", "gemini"]).expect(0);
    let mine = world.get(".gemini/settings.json").replacen('{', "{\n  \"theme\": \"dark\",", 1);
    world.put(".gemini/settings.json", mine);
    let spaced = format!("{}\n", world.get(".cursor/hooks.json"));
    world.put(".cursor/hooks.json", spaced);
    world.agent(&["uninstall", "cursor", "gemini"]).expect(0);
    assert_eq!(world.get(".gemini/settings.json"), "{\n  \"theme\": \"dark\"\n}\n");
    assert!(!world.home_file(".cursor").exists());
}

#[test]
fn uninstall_without_a_record_removes_only_our_entries() {
    for (case, text) in grouped("SessionStart", "theirs") {
        let world = World::new();
        world.put(CLAUDE, &text);
        world.agent(&["install", "claude-code"]).expect(0);
        std::fs::remove_dir_all(world.home_file(".local")).unwrap();
        world.agent(&["uninstall", "claude-code"]).expect(0);
        let left = world.get(CLAUDE);
        assert!(!left.contains("agent-handover"), "{case}: {left}");
        assert_eq!(left.matches("theirs").count(), text.matches("theirs").count(), "{case}");
        assert!(comments(&text).iter().all(|line| left.contains(line)), "{case}: {left}");
    }
}

#[test]
fn install_refuses_unreadable_settings_and_leaves_them() {
    for (file, agent, text) in [
        (CLAUDE, "claude-code", &b"{ \"hooks\": "[..]),
        (CLAUDE, "claude-code", b"[]"),
        (CLAUDE, "claude-code", b"{\"hooks\": []}"),
        (CLAUDE, "claude-code", b"{\"hooks\": {\"Stop\": {}}}"),
        (CLAUDE, "claude-code", b"{\"hooks\": {}, \"hooks\": {}}"),
        (CLAUDE, "claude-code", b"{'model': 1}"),
        (CLAUDE, "claude-code", b"{\"model\": \"\xff\xfe\"}"),
        (CLAUDE, "claude-code", b"{} {}"),
        (".codex/hooks.json", "codex", b"not json"),
        (".codex/config.toml", "codex", b"[hooks]\nStop = [{ hooks = [] }]\n"),
        (".gemini/settings.json", "gemini", b"{\"hooks\": 7}"),
        (".cursor/hooks.json", "cursor", b"{\"hooks\": {\"stop\": \"x\"}}"),
        (".copilot/hooks/agent-handover.json", "copilot", b"{,}"),
        (".agents/AGENTS.md", "agents-md", b"caf\xe9\n"),
    ] {
        let world = World::new();
        world.put(file, text);
        let before = world.all();
        let output = world.agent(&["install", agent]).expect(65);
        assert!(output.stderr.contains(file), "{}", output.stderr);
        assert!(output.stderr.contains("nothing was changed"), "{}", output.stderr);
        assert_eq!(world.all(), before, "{file}: {}", String::from_utf8_lossy(text));
    }
    // Nesting that would exhaust the stack.
    let world = World::new();
    world.put(CLAUDE, "[".repeat(1_000_000));
    world.agent(&["install", "claude-code"]).expect(65);
}

#[test]
fn a_failure_for_one_agent_does_not_stop_the_others() {
    let world = World::new();
    world.put(CLAUDE, "{");
    world.put(".gemini/settings.json", "{}");
    world.agent(&["install", "all"]).expect(65);
    assert!(world.get(".gemini/settings.json").contains("hook --agent gemini"));
    assert_eq!(world.get(CLAUDE), "{");
}

#[test]
fn a_symlink_stays_and_what_it_points_at_is_edited() {
    let world = World::new();
    world.put("dotfiles/claude.json", "{\n  \"model\": \"opus\"\n}\n");
    std::fs::create_dir(world.home_file(".claude")).unwrap();
    symlink("../dotfiles/claude.json", world.home_file(CLAUDE)).unwrap();
    round_trip(&world, &["claude-code"], "a link to a file");
    world.agent(&["install", "claude-code"]).expect(0);
    assert!(world.home_file(CLAUDE).is_symlink());
    assert!(world.get("dotfiles/claude.json").contains("hook --agent claude-code"));

    let world = World::new();
    std::fs::create_dir(world.home_file("codex-elsewhere")).unwrap();
    symlink("codex-elsewhere", world.home_file(".codex")).unwrap();
    round_trip(&world, &["codex"], "a link to a directory");

    let world = World::new();
    std::fs::create_dir(world.home_file(".claude")).unwrap();
    symlink("nowhere.json", world.home_file(CLAUDE)).unwrap();
    let before = world.all();
    world.agent(&["install", "claude-code"]).expect(74);
    assert_eq!(world.all(), before, "a dangling link is not guessed about");
}

#[test]
fn install_leaves_read_only_files_alone() {
    let world = World::new();
    world.put(CLAUDE, "{}");
    std::fs::set_permissions(world.home_file(CLAUDE), std::fs::Permissions::from_mode(0o444)).unwrap();
    let before = world.all();
    let output = world.agent(&["install", "claude-code"]).expect(74);
    assert!(output.stderr.contains("chmod u+w"), "{}", output.stderr);
    assert_eq!(world.all(), before);
}

#[test]
fn a_dry_run_shows_the_difference_and_changes_nothing() {
    let world = World::new();
    world.put(CLAUDE, "{\n  \"model\": \"opus\"\n}\n");
    world.put(".claude/skills/handover/SKILL.md", "mine\n");
    let before = world.all();
    let output = world.agent(&["install", "cursor", "--dry-run"]).expect(0);
    let place = world.home().parent().unwrap().display().to_string();
    let hooks = output.stdout.split("--- /dev/null\n+++").nth(1).unwrap().replace(&place, "$WORLD");
    assert_data_eq!(
        hooks,
        str![[r#"
 $WORLD/home/.cursor/hooks.json
@@ -0,0 +1,29 @@
+{
+  "version": 1,
+  "hooks": {
+    "sessionStart": [
+      {
+        "command": "$WORLD/home/bin/agent-handover hook --agent cursor",
+        "timeout": 10
+      }
+    ],
+    "stop": [
+      {
+        "command": "$WORLD/home/bin/agent-handover hook --agent cursor",
+        "timeout": 10
+      }
+    ],
+    "preCompact": [
+      {
+        "command": "$WORLD/home/bin/agent-handover hook --agent cursor",
+        "timeout": 10
+      }
+    ],
+    "sessionEnd": [
+      {
+        "command": "$WORLD/home/bin/agent-handover hook --agent cursor",
+        "timeout": 5
+      }
+    ]
+  }
+}

"#]]
    );
    let output = world.agent(&["install", "claude-code", "--dry-run"]).expect(0);
    assert!(output.stdout.contains("\n+  \"hooks\": {\n"), "{}", output.stdout);
    assert!(
        output.stderr.contains("SKILL.md` is not a file of agent-handover and was not changed"),
        "{}",
        output.stderr
    );
    assert_eq!(world.all(), before);
    world.agent(&["install", "codex"]).expect(0);
    let installed = world.all();
    let output = world.agent(&["uninstall", "codex", "--dry-run"]).expect(0);
    assert!(output.stdout.contains("\n+++ /dev/null\n"), "{}", output.stdout);
    assert_eq!(world.all(), installed);
}

#[test]
fn nothing_changes_while_paused_but_looking_is_free() {
    for (pause, is_in_home) in [("PAUSE", false), (".agent-handover/PAUSE", true)] {
        let world = World::new();
        world.agent(&["install", "cursor"]).expect(0);
        if is_in_home {
            world.put(pause, "")
        } else {
            world.write(pause, "")
        }
        let before = world.all();
        world.agent(&["install", "claude-code"]).expect(3);
        world.agent(&["uninstall", "all"]).expect(3);
        world.agent(&["install", "claude-code", "--dry-run"]).expect(0);
        assert_eq!(world.all(), before);
    }
}

#[test]
fn a_config_of_codex_that_holds_hooks_gets_ours_too() {
    let theirs = "# mine\nmodel = \"gpt-5\"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\" # loud\n\n\
        [hooks.state.\"x:stop:0:0\"]\ntrusted_hash = \"abc\"\n";
    for (case, text) in [
        ("plain", theirs.to_owned()),
        ("CRLF", theirs.replace('\n', "\r\n")),
        ("no last line break", theirs.trim_end().to_owned()),
    ] {
        let world = World::new();
        world.put(".codex/config.toml", &text);
        round_trip(&world, &["codex"], case);
        world.agent(&["install", "codex"]).expect(0);
        let installed = world.get(".codex/config.toml");
        assert!(!world.home_file(".codex/hooks.json").exists(), "{case}: one representation");
        assert!(installed.starts_with(&text), "{case}: only appended");
        assert_eq!(text.contains("\r\n"), !installed.replace("\r\n", "").contains('\n'), "{case}");
        let parsed: toml::Value = toml::from_str(&installed).unwrap();
        assert_eq!(parsed["hooks"]["Stop"].as_array().unwrap().len(), 2);
        assert_eq!(parsed["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"].as_integer(), Some(3));
        // Edited since: what is ours goes, the edit stays.
        world.put(".codex/config.toml", format!("approval = \"never\"\n{installed}"));
        world.agent(&["uninstall", "codex"]).expect(0);
        let left = world.get(".codex/config.toml");
        let left_values: toml::Value = toml::from_str(&left).unwrap();
        let mut expected: toml::Value = toml::from_str(&text).unwrap();
        expected.as_table_mut().unwrap().insert("approval".to_owned(), "never".into());
        assert_eq!(left_values, expected, "{case}: {left}");
        assert!(left.contains("# loud") && left.contains("# mine"), "{case}: {left}");
    }
    // Trust alone is no representation.
    let world = World::new();
    world.put(".codex/config.toml", "[hooks.state.\"x:stop:0:0\"]\ntrusted_hash = \"abc\"\n");
    world.agent(&["install", "codex"]).expect(0);
    assert!(world.home_file(".codex/hooks.json").exists());
}

/// As the Python tool writes it.
const PYTHON: &str = "<!-- agent-handover:begin -->\n## Session handover (agent-handover)\n\nAt the START of every session, before anything else, run:\n\n\
    ```bash\nagent-handover check --checkpoint .agent-handover/checkpoint.json\n```\n\n- exit `1` -> a previous handover was interrupted\n\n\
    At the END of the session, run the end-of-session handover (see `examples/codex-cli/end_of_session.py`).\n<!-- agent-handover:end -->\n";

#[test]
fn the_block_of_the_python_tool_is_taken_over() {
    for (agent, file) in [("agents-md", "AGENTS.md"), ("cline", ".clinerules/00-agent-handover.md")] {
        for text in [PYTHON.to_owned(), format!("# Rules\n\n{PYTHON}\nlast rule\n").replace('\n', "\r\n")] {
            let world = World::new();
            world.write(file, &text);
            round_trip(&world, &[agent, "--scope", "project"], agent);
            world.agent(&["install", agent, "--scope", "project"]).expect(0);
            let installed = world.read(file);
            assert_eq!(installed.matches("agent-handover:begin").count(), 1);
            assert!(!installed.contains("end_of_session.py") && installed.contains("run --resume"), "{installed}");
            assert_eq!(installed.contains("last rule"), text.contains("last rule"));
            assert_eq!(text.contains("\r\n"), !installed.replace("\r\n", "").contains('\n'));
        }
    }
    let world = World::new();
    world.write("AGENTS.md", PYTHON);
    let output = world.agent(&["install", "codex"]).expect(0);
    assert!(output.stderr.contains("install agents-md --scope project` upgrades it"), "{}", output.stderr);
    world.agent(&["uninstall", "agents-md", "--scope", "project"]).expect(0);
    assert_eq!(world.read("AGENTS.md"), PYTHON, "not ours to take away");
}

#[test]
fn a_deleted_or_stray_marker_loses_no_line() {
    let world = World::new();
    world.write("AGENTS.md", "# Rules\n");
    let install = ["install", "agents-md", "--scope", "project"];
    world.agent(&install).expect(0);
    let torn = world.read("AGENTS.md").replace("<!-- agent-handover:end -->\n", "") + "my rule\n";
    world.write("AGENTS.md", &torn);
    for _ in 0..3 {
        let output = world.agent(&install).expect(0);
        assert!(output.stderr.contains("marker without its partner"), "{}", output.stderr);
        let text = world.read("AGENTS.md");
        assert!(text.starts_with(&torn), "{text}");
        assert_eq!(text.matches("agent-handover:begin").count(), 2, "it does not grow");
    }
    let output = world.agent(&["uninstall", "agents-md", "--scope", "project"]).expect(0);
    assert!(output.stderr.contains("marker without its partner"), "{}", output.stderr);
    assert_eq!(world.read("AGENTS.md"), torn);
}

#[test]
fn uninstall_keeps_files_that_a_user_changed_or_made() {
    let world = World::new();
    world.agent(&["install", "opencode"]).expect(0);
    let skill = ".agents/skills/handover/SKILL.md";
    world.put(skill, world.get(skill).replace("# Handover", "# Our way"));
    let mine = world.get(skill);
    let output = world.agent(&["install", "opencode"]).expect(0);
    assert!(output.stderr.contains("was edited after `install` wrote it"), "{}", output.stderr);
    let output = world.agent(&["uninstall", "opencode"]).expect(0);
    assert!(output.stderr.contains("was edited after `install` wrote it"), "{}", output.stderr);
    assert_eq!(world.get(skill), mine);
    assert!(!world.home_file(".config").exists());

    let world = World::new();
    world.put(".cline/hooks/TaskComplete", "#!/bin/sh\nnotify-send done\n");
    let before = world.all();
    let output = world.agent(&["install", "cline"]).expect(1);
    assert!(output.stderr.contains("let it call `agent-handover hook --agent cline`"), "{}", output.stderr);
    assert_eq!(world.get(".cline/hooks/TaskComplete"), "#!/bin/sh\nnotify-send done\n");
    let script = world.home_file(".cline/hooks/SessionShutdown");
    assert_eq!(script.metadata().unwrap().mode() & 0o111, 0o111, "the others are there, and can be started");
    world.agent(&["uninstall", "cline"]).expect(0);
    assert_eq!(world.all(), before);
}

#[test]
fn a_skill_that_two_agents_share_goes_with_the_last() {
    let world = World::new();
    let before = world.all();
    world.agent(&["install", "codex", "gemini", "claude-code"]).expect(0);
    world.agent(&["uninstall", "codex"]).expect(0);
    assert!(world.home_file(".agents/skills/handover/SKILL.md").exists());
    assert!(!world.home_file(".codex").exists());
    world.agent(&["uninstall", "all"]).expect(0);
    assert_eq!(world.all(), before);
}

#[test]
fn install_all_means_the_agents_that_are_installed() {
    let world = World::new();
    let nowhere = finish(world.command(&["install", "all"]).env("PATH", "/nowhere"));
    assert_eq!(nowhere.code, 1);
    assert!(nowhere.stderr.contains("no coding agent was found"), "{}", nowhere.stderr);
    std::fs::create_dir(world.home_file(".gemini")).unwrap();
    let output = finish(world.command(&["install", "all"]).env("PATH", "/nowhere"));
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(output.stdout.lines().all(|line| line.starts_with("gemini: ")), "{}", output.stdout);
    world.write("AGENTS.md", "# Rules\n");
    let user = finish(world.command(&["install", "all"]).env("PATH", "/nowhere"));
    assert!(!user.stdout.contains("agents-md"), "that file is the project's: {}", user.stdout);
    let project = finish(world.command(&["install", "all", "--scope", "project"]).env("PATH", "/nowhere"));
    assert!(project.stdout.contains("agents-md: changed"), "{}", project.stdout);
    assert!(project.stderr.contains("has hooks at user scope too"), "{}", project.stderr);
    world.agent(&["install", "claude-cod"]).expect(64);
    world.agent(&["install"]).expect(64);
}

#[test]
fn project_scope_writes_no_path_of_this_machine() {
    let world = World::new();
    let (program, _) = program(&world, "bin");
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    world.agent(&[&["install"], names.as_slice(), &["--scope", "project"]].concat()).expect(0);
    for (path, text) in world.tree() {
        // These settings are local by their name.
        let is_local = path == ".claude/settings.local.json";
        assert_eq!(
            text.contains(&program.replace(&world.home().parent().unwrap().display().to_string(), "$WORLD")),
            is_local,
            "{path}"
        );
    }
    let output = world.agent(&["install", "codex"]).expect(0);
    assert!(output.stderr.contains("uninstall codex --scope project"), "{}", output.stderr);
}

#[test]
fn agents_lists_the_state_of_each_agent() {
    let world = World::new();
    let (program, _) = program(&world, "bin");
    let places = Places::at(&world.home(), &world.root());
    let program = Program::at(&program);
    let of = |name: &str| state::of(agents::find(name).unwrap(), &places, &program);
    assert!(of("codex").found.is_none() && of("codex").wirings.is_empty());
    world.agent(&["install", "codex", "claude-code", "opencode", "cline"]).expect(0);
    for name in ["codex", "claude-code", "opencode", "cline"] {
        let state = of(name);
        let wiring = &state.wirings[0];
        assert!(state.found.is_some() && wiring.scope == Scope::User && wiring.is_whole(), "{state:?}");
        assert!(wiring.programs.iter().all(|program| program.is == Which::This) && !wiring.programs.is_empty());
    }
    assert_eq!(of("codex").wirings[0].events, ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"]);
    assert_eq!(of("codex").wirings[0].clicks.len(), 1, "trust");
    let file = world.home_file(".codex/hooks.json").display().to_string();
    world.put(".codex/config.toml", format!("[hooks.state.\"{file}:session_start:0:0\"]\ntrusted_hash = \"x\"\n"));
    assert!(of("codex").wirings[0].clicks.is_empty());

    let settings =
        world.get(CLAUDE).replace("\"PreCompact\"", "\"Other\"").replacen('{', "{ \"disableAllHooks\": true,", 1);
    world.put(CLAUDE, settings.replace(program.path(), "/gone/agent-handover"));
    let claude = of("claude-code");
    assert_eq!(claude.wirings[0].missing, ["PreCompact"]);
    assert_eq!(claude.wirings[0].programs[0].is, Which::Missing);
    assert_eq!(claude.wirings[0].obstacles.len(), 1, "{claude:?}");
    world.put(".codex/hooks.json", world.get(".codex/hooks.json").replacen('{', "{ \"mine\": 1,", 1));
    assert!(of("codex").wirings[0].obstacles[0].contains("`mine`"));
}

/// Killed anywhere, in an install or an uninstall: each can be done again, and in the end all is as it was.
#[test]
fn killed_anywhere_an_install_can_be_repeated_and_undone() {
    let agents = ["claude-code"];
    let mut reached = 0;
    for verb in ["install", "uninstall"] {
        for point in POINTS {
            for nth in (1..).step_by(stride(3)) {
                let case = format!("{verb} killed at {point}:{nth}");
                let world = World::new();
                world.put(CLAUDE, "{ }");
                let (_, path) = program(&world, "bin");
                let before = world.all();
                if verb == "uninstall" {
                    world.agent(&[&["install"], &agents[..]].concat()).expect(0);
                }
                let mut command = world.command(&[&[verb], &agents[..]].concat());
                command.env("PATH", &path).env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{nth}=kill"));
                if finish(&mut command).code != 137 {
                    break;
                }
                reached += 1;
                if nth % 2 == 0 {
                    world.agent(&[&["install"], &agents[..]].concat()).expect(0);
                    assert_eq!(world.strays(), [""; 0], "{case}");
                }
                world.agent(&[&["uninstall"], &agents[..]].concat()).expect(0);
                // The directories above the user's state were made by the first command and stay.
                let mut after = world.all();
                after.retain(|path, text| !(path.starts_with("home/.local") && text.starts_with("directory")));
                assert_eq!(after, before, "{case}");
            }
        }
    }
    assert!(reached > 20, "only {reached}");
}

/// OpenCode's side of the plugin, as far as it matters: the same calls in the same order, with a stand-in for us that
/// writes down what it is sent.
#[test]
fn the_plugin_calls_us_and_passes_on_what_we_say() {
    let world = World::new();
    if !is_installed("node") {
        return skip("node is not installed");
    }
    world.agent(&["install", "opencode"]).expect(0);
    let stand_in = world.home_file("bin/agent-handover");
    std::fs::remove_file(&stand_in).unwrap();
    let log = world.home_file("log").display().to_string();
    std::fs::write(
        &stand_in,
        format!("#!/bin/sh\necho \"$*\" >>{log}\ncat >>{log}\necho >>{log}\necho '{{\"context\":\"CONTEXT\"}}'\n"),
    )
    .unwrap();
    std::fs::set_permissions(&stand_in, std::fs::Permissions::from_mode(0o755)).unwrap();
    let plugin = world.get(".config/opencode/plugins/agent-handover.js");
    world.put("plugin.mjs", plugin);
    world.put(
        "drive.mjs",
        r#"import { AgentHandover } from "./plugin.mjs"
const plugin = await AgentHandover({ directory: process.cwd() })
const transform = async (input) => { const output = { system: ["base"] }; await plugin["experimental.chat.system.transform"](input, output); return output.system }
console.log(JSON.stringify(await transform({})))
console.log(JSON.stringify(await transform({ sessionID: "s1" })))
console.log(JSON.stringify(await transform({ sessionID: "s1" })))
await plugin.event({ event: { type: "session.created", properties: { info: { id: "s2", parentID: "s1" } } } })
await plugin.event({ event: { type: "session.idle", properties: { sessionID: "s2" } } })
await plugin.event({ event: { type: "file.edited", properties: {} } })
const compacting = { context: [] }
await plugin["experimental.session.compacting"]({ sessionID: "s1" }, compacting)
console.log(JSON.stringify(compacting.context))
await plugin.dispose()
await plugin.dispose()
"#,
    );
    let driver = world.home_file("drive.mjs");
    let output = finish(world.clean("node").arg(&driver)).expect(0);
    assert_eq!(
        output.stdout, "[\"base\"]\n[\"base\",\"CONTEXT\"]\n[\"base\",\"CONTEXT\"]\n[\"CONTEXT\"]\n",
        "{}",
        output.stderr
    );
    let place = world.home().parent().unwrap().display().to_string();
    assert_data_eq!(
        world.get("log").replace(&place, "$WORLD"),
        str![[r#"
hook --agent opencode
{"agent":"opencode","cwd":"$WORLD/project","event":"session.start","session_id":"s1","is_subagent":false,"source":"startup"}
hook --agent opencode
{"agent":"opencode","cwd":"$WORLD/project","event":"session.compacting","session_id":"s1","is_subagent":false}
hook --agent opencode
{"agent":"opencode","cwd":"$WORLD/project","event":"session.end","session_id":"s1","is_subagent":false,"reason":"exit"}

"#]]
    );
    // The first prompt is answered once, and the answer is there at each step, because the list is a new one each time.
    std::fs::remove_file(world.home_file("log")).unwrap();
    let numbered = format!("#!/bin/sh\ncat >>{log}\necho >>{log}\necho '{{\"context\":\"'$(grep -c . {log})'\"}}'\n");
    std::fs::write(&stand_in, numbered).unwrap();
    world.put(
        "prompts.mjs",
        r#"import { AgentHandover } from "./plugin.mjs"
const plugin = await AgentHandover({ directory: process.cwd() })
const transform = async () => { const output = { system: [] }; await plugin["experimental.chat.system.transform"]({ sessionID: "s1" }, output); return output.system }
const say = (...parts) => plugin["chat.message"]({ sessionID: "s1" }, { message: {}, parts })
await plugin["chat.message"]({}, {})
await say({ type: "text", text: "added", synthetic: true })
await say({ type: "text", text: "one" }, { type: "file" }, { type: "text", text: "two" })
console.log(JSON.stringify([await transform(), await transform()]))
await say({ type: "text", text: "later" })
console.log(JSON.stringify(await transform()))
await plugin.event({ event: { type: "session.deleted", properties: { info: { id: "s1" } } } })
"#,
    );
    let output = finish(world.clean("node").arg(world.home_file("prompts.mjs"))).expect(0);
    assert_eq!(output.stdout, "[[\"1\",\"2\"],[\"1\",\"2\"]]\n[\"1\",\"2\"]\n", "{}", output.stderr);
    let log = world.get("log");
    let events: Vec<&str> = log.split("\"event\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(events, ["session.start", "prompt.submitted", "prompt.submitted", "session.end"]);
    assert!(log.contains("\"prompt\":\"one\\ntwo\""), "{log}");
    // With us gone, the agent works on.
    std::fs::remove_file(&stand_in).unwrap();
    let output = finish(world.clean("node").arg(&driver)).expect(0);
    assert_eq!(output.stdout, "[\"base\"]\n[\"base\"]\n[\"base\"]\n[]\n", "{}", output.stderr);
}

/// The rules by which each version of OpenCode takes a plugin out of a module, and what it does with it.
#[test]
fn one_plugin_file_loads_in_both_versions() {
    let world = World::new();
    if !is_installed("node") {
        return skip("node is not installed");
    }
    world.agent(&["install", "opencode"]).expect(0);
    let stand_in = world.home_file("bin/agent-handover");
    std::fs::remove_file(&stand_in).unwrap();
    let log = world.home_file("log").display().to_string();
    let numbered = format!("#!/bin/sh\ncat >>{log}\necho >>{log}\necho '{{\"context\":\"'$(grep -c . {log})'\"}}'\n");
    std::fs::write(&stand_in, numbered).unwrap();
    std::fs::set_permissions(&stand_in, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.put("plugin.mjs", world.get(".config/opencode/plugins/agent-handover.js"));
    world.put(
        "loaders.mjs",
        r#"import * as module from "./plugin.mjs"
const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value)
const definition = module.default
// Version 1: a default object with `id` and `server`, and no `tui`; else every export is a function that is called.
if (!isRecord(definition) || typeof definition.id !== "string" || typeof definition.server !== "function") throw Error("refused by 1")
if ("tui" in definition || definition.server !== module.AgentHandover) throw Error("refused by 1")
const hooks = await definition.server({ directory: process.cwd() })
console.log(Object.keys(hooks).sort().join(" "))
// Version 2: a default object with `id` and `setup`.
if (!definition.id.trim() || typeof definition.setup !== "function") throw Error("refused by 2")
const registered = {}
let send
const events = (async function* () { for (;;) yield await new Promise((resolve) => (send = resolve)) })()
const parents = { s2: "s1" }
const ctx = {
  location: { directory: process.cwd() },
  session: {
    hook: async (name, handle) => { registered[name] = handle },
    get: async ({ sessionID }) => ({ data: { id: sessionID, parentID: parents[sessionID] } }),
  },
  event: { subscribe: () => events },
}
const cleanup = await definition.setup(ctx)
console.log(Object.keys(registered).sort().join(" "))
const ask = async (name, sessionID, more) => { const event = { sessionID, system: [{ type: "text", text: "base" }], ...more }; await registered[name](event); return event.system.map((part) => part.type + ":" + part.text) }
await registered.prompt({ sessionID: "s1", prompt: { text: "Fix the parser" } })
console.log(JSON.stringify([await ask("context", "s1"), await ask("context", "s1"), await ask("compaction", "s1")]))
await ask("context", "s2")
const sent = async (event) => { while (!send) await new Promise((resolve) => setTimeout(resolve, 1)); const now = send; send = undefined; now(event); while (!send) await new Promise((resolve) => setTimeout(resolve, 1)) }
await sent({ type: "session.execution.succeeded", data: { sessionID: "s1" } })
// The events of all directories arrive.
await sent({ type: "session.execution.succeeded", data: { sessionID: "elsewhere" } })
await sent({ type: "session.text.delta", data: { sessionID: "s1" } })
await sent({ type: "session.deleted", data: { sessionID: "s2" } })
await ask("context", undefined)
await cleanup()
await cleanup()
// A version that lacks these parts still loads the plugin.
for (const poor of [{}, { session: {} }, { session: { hook: () => { throw Error("no") } }, event: { subscribe: async () => { throw Error("no") } } }]) await (await definition.setup(poor))()
process.exit(0)
"#,
    );
    let output = finish(world.clean("node").arg(world.home_file("loaders.mjs"))).expect(0);
    assert_data_eq!(
        output.stdout,
        str![[r#"
chat.message dispose event experimental.chat.system.transform experimental.session.compacting
compaction context prompt
[["text:base","text:1","text:2"],["text:base","text:1","text:2"],["text:base","text:3"]]

"#]]
    );
    let place = world.home().parent().unwrap().display().to_string();
    assert_data_eq!(
        world.get("log").replace(&place, "$WORLD"),
        str![[r#"
{"agent":"opencode","cwd":"$WORLD/project","event":"session.start","session_id":"s1","is_subagent":false,"source":"startup"}
{"agent":"opencode","cwd":"$WORLD/project","event":"prompt.submitted","session_id":"s1","is_subagent":false,"prompt":"Fix the parser"}
{"agent":"opencode","cwd":"$WORLD/project","event":"session.compacting","session_id":"s1","is_subagent":false}
{"agent":"opencode","cwd":"$WORLD/project","event":"session.start","session_id":"s2","is_subagent":true,"source":"startup"}
{"agent":"opencode","cwd":"$WORLD/project","event":"session.idle","session_id":"s1","is_subagent":false}
{"agent":"opencode","cwd":"$WORLD/project","event":"session.end","session_id":"s2","is_subagent":true,"reason":"deleted"}
{"agent":"opencode","cwd":"$WORLD/project","event":"session.end","session_id":"s1","is_subagent":false,"reason":"exit"}

"#]]
    );
}

/// Antigravity drops a file of hooks as a whole if one entry has the wrong shape, and reports nothing.
#[test]
fn a_file_that_antigravity_would_drop_is_reported() {
    let world = World::new();
    let file = ".gemini/config/hooks.json";
    let mine = "{\n  \"mine\": { \"Stop\": [{ \"type\": \"command\", \"command\": \"x\" }] }\n}\n";
    world.put(file, mine);
    world.agent(&["install", "agy"]).expect(0);
    let installed: serde_json::Value = serde_json::from_str(&world.get(file)).unwrap();
    for event in ["PreInvocation", "Stop"] {
        let handlers = installed["agent-handover"][event].as_array().unwrap();
        let command = handlers[0]["command"].as_str().unwrap();
        assert!(handlers.len() == 1 && command.ends_with(" hook --agent antigravity"), "{installed}");
    }
    let output = world.agent(&["doctor"]).stdout;
    assert!(output.contains("antigravity: wired (user)"), "{output}");
    let wrong = world.get(file).replace("{ \"type\": \"command\", \"command\": \"x\" }", "{ \"hooks\": [] }");
    world.put(file, &wrong);
    let output = world.agent(&["doctor"]).expect(5).stdout;
    assert!(output.contains("`Stop` of `mine` is not of the right shape in "), "{output}");
    assert!(output.contains("Antigravity ignores the whole file"), "{output}");
    world.put(file, wrong.replace("{ \"hooks\": [] }", "{ \"type\": \"command\", \"command\": \"x\" }"));
    world.agent(&["uninstall", "agy"]).expect(0);
    assert_eq!(world.get(file), mine);
}

#[test]
fn an_install_ends_with_what_happens_now_and_reports_that_nothing_would_change() {
    let world = World::new();
    let output = world.agent(&["install", "claude", "--dry-run"]).expect(0);
    assert!(!output.stderr.contains("nothing would change") && output.stdout.contains("+++"), "{}", output.stdout);
    let output = world.agent(&["install", "claude"]).expect(0);
    let now = "now start a new session of your agent; `agent-handover doctor` shows when its hooks fired\n";
    assert!(output.stderr.ends_with(now), "{}", output.stderr);
    let output = world.agent(&["install", "claude", "--dry-run"]).expect(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", "nothing would change\n"));
    let output = world.agent(&["install", "claude"]).expect(0);
    assert_eq!(output.stderr.as_str(), "nothing changed: all of it is installed already\n");
    world.agent(&["uninstall", "claude"]).expect(0);
    let output = world.agent(&["uninstall", "claude", "--dry-run"]).expect(0);
    assert_eq!(output.stderr.as_str(), "nothing would change\n");
    let output = world.agent(&["install", "gemni"]).expect(64);
    assert!(output.stderr.contains("did you mean `gemini`?"), "{}", output.stderr);
}
