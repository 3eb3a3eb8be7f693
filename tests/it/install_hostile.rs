//! `install` and `uninstall` where something is in the way: renamed programs, odd files, two at once, a full disk.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use agent_handover::testing::agents::AGENTS;

use super::install::{program, round_trip};
use super::support::*;

const CLAUDE: &str = ".claude/settings.json";
const CODEX: &str = ".codex/config.toml";
const HOOKS: usize = 5;

/// A copy of the program under another name, and a command that runs it.
fn renamed(world: &World, name: &str, arguments: &[&str]) -> Command {
    let copy = world.home().parent().unwrap().join("tools").join(name);
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    if !copy.exists() && std::fs::hard_link(BINARY, &copy).is_err() {
        std::fs::copy(BINARY, &copy).unwrap();
    }
    let model = world.command(arguments);
    let mut command = Command::new(copy);
    command.args(arguments).env_clear().current_dir(model.get_current_dir().unwrap());
    command.envs(model.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn names() -> Vec<&'static str> {
    AGENTS.iter().map(|agent| agent.name).collect()
}

#[test]
fn a_renamed_program_leaves_one_entry_for_each_event_and_all_of_them_go() {
    let world = World::new();
    let theirs = "{\n  \"hooks\": {\n    \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"/bin/sh hook --agent claude-code\" }] }]\n  }\n}\n";
    world.put(CLAUDE, theirs);
    world.put(CODEX, "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\"\n");
    let install = [&["install"], names().as_slice()].concat();
    for name in ["ah", "handover nightly", "ah"] {
        finish(&mut renamed(&world, name, &install))
            .expect(0)
            .stderr_ignored("it may say that the program may not stay");
        for (file, agent) in [(CLAUDE, "claude-code"), (CODEX, "codex"), (".cursor/hooks.json", "cursor")] {
            let ours = world.get(file).matches(name).count();
            // Cursor takes no text at a prompt. Claude Code reports failed turns by a hook of their own.
            let hooks = HOOKS - usize::from(agent == "cursor") + usize::from(agent == "claude-code");
            // Here the MCP server is in the same file.
            let servers = usize::from(agent == "codex");
            assert_eq!(ours, hooks + servers, "{agent} after {name}:\n{}", world.get(file));
            let all = world.get(file).matches(&format!("hook --agent {agent}")).count();
            assert_eq!(all, hooks + usize::from(agent == "claude-code"), "{agent} after {name}:\n{}", world.get(file));
        }
    }
    // The program of another name is gone, and so is the record.
    std::fs::remove_dir_all(world.home().parent().unwrap().join("tools")).unwrap();
    std::fs::remove_dir_all(world.home_file(".local")).unwrap();
    world.agent(&[&["uninstall"], names().as_slice()].concat()).expect(0);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&world.get(CLAUDE)), value(theirs), "the hook of another program stays");
    assert_eq!(world.get(CODEX), "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\"\n");
}

#[test]
fn several_entries_of_ours_in_a_toml_config_become_one() {
    let world = World::new();
    let entry = |program: &str| {
        format!(
            "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"{program} hook --agent codex\"\n\n"
        )
    };
    let theirs = "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\" # loud\n";
    world.put(CODEX, format!("{}{}{theirs}", entry("/old/agent-handover"), entry("/older/ah")));
    world.agent(&["install", "codex"]).expect(0);
    let installed = world.get(CODEX);
    assert_eq!(installed.matches("hook --agent codex").count(), HOOKS, "{installed}");
    world.agent(&["uninstall", "codex"]).expect(0);
    assert_eq!(world.get(CODEX).trim_start(), theirs);
}

#[test]
fn an_edited_toml_config_keeps_its_line_ends_and_its_mark() {
    let world = World::new();
    let theirs = "\u{feff}model = \"gpt-5\"\r\n# one\n\n[[hooks.Stop]]\r\n[[hooks.Stop.hooks]]\ntype = \"command\"\r\ncommand = \"say done\"\n";
    world.put(CODEX, theirs);
    round_trip(&world, &["codex"], "mixed line ends and a mark");
    world.agent(&["install", "codex"]).expect(0);
    let edited = |text: &str| text.replace("# one\n", "# one\n# two\r\n");
    world.put(CODEX, edited(&world.get(CODEX)));
    world.agent(&["uninstall", "codex"]).expect(0);
    assert_eq!(world.get(CODEX), edited(theirs));
}

/// A block or a skill of another version, as it comes with a clone: the uninstall undoes the install, no more.
#[test]
fn older_instructions_of_ours_come_back() {
    let old = "# Rules\r\n\r\n<!-- agent-handover:begin -->\r\nold words\r\n<!-- agent-handover:end -->\r\nlast\r\n";
    let world = World::new();
    world.write("AGENTS.md", old);
    let scope = ["agents-md", "--scope", "project"];
    world.agent(&[&["install"], &scope[..]].concat()).expect(0);
    assert!(!world.read("AGENTS.md").contains("old words"));
    // An upgrade in between changes nothing about what stood there.
    world.agent(&[&["install"], &scope[..]].concat()).expect(0);
    world.agent(&[&["uninstall"], &scope[..]].concat()).expect(0);
    assert_eq!(world.read("AGENTS.md"), old);
    world.agent(&[&["uninstall"], &scope[..]].concat()).expect(0);
    assert_eq!(world.read("AGENTS.md"), "# Rules\r\nlast\r\n", "asked again, that goes too");
}

#[test]
fn a_file_with_two_names_is_refused_and_left() {
    let world = World::new();
    world.put(CLAUDE, "{}\n");
    std::fs::hard_link(world.home_file(CLAUDE), world.home_file("settings of mine.json")).unwrap();
    let before = world.all();
    let output = world.agent(&["install", "claude-code"]).expect(74);
    assert!(
        output.stderr.contains("has 2 names (hard links)") && output.stderr.contains("symlink"),
        "{}",
        output.stderr
    );
    assert_eq!(world.all(), before);
    assert_eq!(world.home_file(CLAUDE).metadata().unwrap().nlink(), 2);
}

#[test]
fn without_a_home_nobody_elses_settings_are_touched() {
    let world = World::new();
    for verb in ["install", "uninstall"] {
        for home in [None, Some(""), Some("somewhere")] {
            let mut command = world.command(&[verb, "claude-code", "--dry-run"]);
            match home {
                None => command.env_remove("HOME"),
                Some(home) => command.env("HOME", home),
            };
            let output = finish(&mut command).expect(1);
            assert!(output.stderr.contains("HOME is not set to a directory"), "{}", output.stderr);
        }
    }
}

#[test]
fn what_is_not_a_file_is_refused_and_nothing_waits_for_it() {
    for kind in ["fifo", "directory"] {
        let world = World::new();
        let place: PathBuf = world.home_file(CLAUDE);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        match kind {
            "fifo" => assert!(Command::new("mkfifo").arg(&place).status().unwrap().success()),
            _ => std::fs::create_dir(&place).unwrap(),
        }
        for verb in ["install", "uninstall"] {
            let output = world.agent(&[verb, "claude-code"]).expect(74);
            assert!(output.stderr.contains("settings.json` is not a plain file"), "{kind}: {}", output.stderr);
        }
    }
}

#[test]
fn many_installs_at_once_leave_what_one_leaves() {
    let (alone, together) = (World::new(), World::new());
    for world in [&alone, &together] {
        world.put(CLAUDE, "{ \"model\": \"opus\" }");
    }
    let install = [&["install"], names().as_slice()].concat();
    alone.agent(&install).expect(0);
    let (_, path) = program(&together, "bin");
    let children: Vec<_> = (0..6)
        .map(|_| {
            together.command(&install).env("PATH", &path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        output(child).expect(0).stderr_ignored("some agents ask for a click");
    }
    let relative = |world: &World| {
        let place = world.home().parent().unwrap().display().to_string();
        let all = world.all().into_iter().filter(|(path, _)| !path.contains(".local/state"));
        all.map(|(path, text)| (path, text.replace(&place, "$WORLD"))).collect::<Vec<_>>()
    };
    let unsealed = |all: Vec<(String, String)>| -> Vec<(String, String)> {
        all.into_iter()
            .map(|(path, text)| (path, text.split("agent-handover:seal").next().unwrap().to_owned()))
            .collect()
    };
    assert_eq!(unsealed(relative(&together)), unsealed(relative(&alone)));
    assert_eq!(together.strays(), [""; 0]);
}

/// A disk that takes no more: files keep their text, and a repeated install works once there is room.
#[test]
fn a_full_disk_costs_no_setting() {
    let world = World::new();
    world.put(CLAUDE, format!("{{ \"env\": {{ \"LONG\": \"{}\" }} }}", "x".repeat(8_000)));
    let before = world.get(CLAUDE);
    let (_, path) = program(&world, "bin");
    for limit in [0, 1, 4, 8] {
        // The limit stands for the disk: every write beyond it fails.
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
        let model = world.command(&[]);
        let mut command = world.clean("bash");
        command.args(["-c", &script, BINARY, "install", "claude-code"]).env("PATH", &path);
        command.envs(
            model.get_envs().filter_map(|(name, value)| Some((name, value?)).filter(|(name, _)| *name != "PATH")),
        );
        let output = finish(&mut command).expect(74);
        assert!(output.stderr.contains("error: "), "{}", output.stderr);
        assert_eq!(world.get(CLAUDE), before, "{limit}");
    }
    world.agent(&["install", "claude-code"]).expect(0);
    world.agent(&["uninstall", "claude-code"]).expect(0);
    assert_eq!(world.get(CLAUDE), before);
    assert_eq!(world.strays(), [""; 0]);
}
