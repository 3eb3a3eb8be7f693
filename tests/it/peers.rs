//! The program under the names of other tools: their command lines, answers and exit codes.

use std::io::Write;
use std::process::{Command, Stdio};

use super::support::*;

const GLUE: &str = include_str!("../data/handoffs/glue-dialect.md");

impl World {
    /// A command of this world under the name of another tool.
    fn peer(&self, name: &str, arguments: &[&str]) -> Command {
        let bin = self.home().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let link = bin.join(name);
        if !link.is_symlink() {
            std::os::unix::fs::symlink(BINARY, &link).unwrap();
        }
        let ours = self.command(arguments);
        let mut command = self.clean(link);
        command.args(arguments).envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    fn as_peer(&self, name: &str, arguments: &[&str]) -> Output {
        finish(&mut self.peer(name, arguments))
    }

    fn glue(&self, arguments: &[&str]) -> Output {
        self.as_peer("glue", arguments)
    }

    /// `glue create` with a document on standard input.
    fn glue_create(&self, document: &str) -> Output {
        piped(&mut self.peer("glue", &["create"]), document)
    }
}

fn piped(command: &mut Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    output(child)
}

fn world() -> World {
    let world = World::with_git();
    world.write("src/lexer.rs", "");
    world
}

#[test]
fn glue_archives_checks_shows_and_closes_with_its_own_words_and_codes() {
    let world = world();
    let created = world.glue_create(GLUE).expect(0);
    assert!(created.stdout.starts_with("Wrote handoff for session 2026-11-15-1000-parser:\n"), "{}", created.stdout);
    assert_eq!(world.glue(&["validate"]).expect(0).stdout, "glue validate: OK\n");
    let status = world.glue(&["status"]).expect(0).stdout;
    assert!(status.contains("latest session: 2026-11-15-1000-parser\n"), "{status}");
    let prompt = world.glue(&["resume-prompt"]).expect(0).stdout;
    assert_eq!(prompt, world.read(".agent-history/RESUME_PROMPT.txt"));
    let closed = world.glue(&["close", "--status", "DONE"]).expect(0).stdout;
    assert_eq!(closed, "glue close: set session 2026-11-15-1000-parser status to DONE\n");
    std::fs::remove_file(world.path(".agent-history/RESUME_PROMPT.txt")).unwrap();
    let broken = world.glue(&["validate"]).expect(1);
    assert!(broken.stderr.starts_with("glue validate: found problems:\n  - "), "{}", broken.stderr);
    assert!(!world.exists(".agent-handover"), "glue uses only the history");
}

#[test]
fn glue_fails_with_the_codes_of_session_glue() {
    let world = world();
    let absent = world.glue(&["status"]).expect(1);
    assert_eq!(absent.stdout, "glue status: no .agent-history/ found at ./.agent-history\n");
    let cases: [(&[&str], i32, &str); 9] = [
        (&["resume-prompt"], 1, "glue resume-prompt: no .agent-history/RESUME_PROMPT.txt found at "),
        (&["validate"], 1, "glue validate: there is nothing to validate"),
        (&["close", "--status", "DONE"], 1, "glue close: no INDEX.yaml to update"),
        (&["close", "--status", "LOST"], 2, "glue: error: invalid value 'LOST' for '--status"),
        (&["create", "--input", "nowhere.md"], 1, "glue create: cannot read input: "),
        (&["create", "--repo-root", "/nowhere"], 1, "glue create: repo root is not a directory: /nowhere"),
        (&["sync", "push", "--project-id", "x"], 2, "glue sync: error: agent-handover has no personal vault"),
        (&["install", "claude"], 2, "glue install: error: only `--dry-run` is supported"),
        (&["paste"], 2, "glue: error: unrecognized subcommand 'paste'"),
    ];
    for (arguments, code, message) in cases {
        let output = world.glue(arguments).expect(code);
        assert!(output.stderr.starts_with(message), "{arguments:?}: {}", output.stderr);
    }
    assert_eq!(world.glue(&["paste"]).stderr.lines().count(), 1);
    for document in ["no frontmatter\n", &GLUE.replace("head_commit: 3a15bbb\n", "")] {
        world.glue_create(document).expect(2);
    }
    assert!(!world.exists(".agent-history"));
    assert!(world.glue(&["--version"]).expect(0).stdout.starts_with("session-glue 0.4.1"));
    assert!(world.glue(&[]).expect(0).stdout.contains("resume-prompt"));
}

#[test]
fn glue_refuses_ids_that_collide_and_never_overwrites_an_archive() {
    let world = world();
    let with_id = |id: &str| GLUE.replace("session_id: 2026-11-15-1000-parser", &format!("session_id: {id}"));
    world.glue_create(&with_id("team-alpha")).expect(0);
    let before = world.everything();
    let collision = world.glue_create(&with_id("team/alpha")).expect(1);
    assert!(collision.stderr.contains("'team-alpha'") && collision.stderr.contains("'team/alpha'"));
    assert_eq!(world.everything(), before);
    // Session Glue would overwrite the archive.
    let edited = with_id("team-alpha").replace("Two tests fail.", "One test fails.");
    let again = world.glue_create(&edited).expect(0).stderr_ignored("Session Glue's question about short sessions");
    assert!(again.stdout.starts_with("Wrote handoff for session team-alpha-2:\n"), "{}", again.stdout);
    assert!(world.read(".agent-history/sessions/team-alpha.md").contains("Two tests fail."));
    assert!(world.read(".agent-history/sessions/team-alpha-2.md").contains("supersedes: \"team-alpha\"\n"));
}

#[test]
fn session_handoff_saves_lists_renders_and_exports_over_all_projects() {
    let world = World::with_git();
    let project = world.root().display().to_string();
    let save = |title: &str, next: &[&str]| {
        let mut arguments = vec!["save", "--tool", "codex", "-project", &project, "--title", title];
        arguments.push("--summary=Half of it works");
        for next in next {
            arguments.extend(["--next", next]);
        }
        let output = world.as_peer("session-handoff", &arguments).expect(0).stderr_ignored("advice of `create`");
        let id = output.stdout.strip_prefix("saved handoff ").unwrap_or_else(|| panic!("{}", output.stdout));
        id.trim_end().to_owned()
    };
    let first = save("Refactor the lexer", &["Fix the matrix", "Run the race tests"]);
    let second = save("Write the manual", &[]);
    // From another directory, as its store is one for all projects.
    let elsewhere = |arguments: &[&str]| {
        finish(world.peer("session-handoff", arguments).current_dir(world.home())).expect(0).stdout
    };
    let listed = elsewhere(&["list", "--query", "lexer"]);
    let lines = format!(
        "{first}  codex         Refactor the lexer\n  project: {project}\n  next: Fix the matrix | Run the race tests\n"
    );
    assert_eq!(listed, lines);
    let records: serde_json::Value = serde_json::from_str(&elsewhere(&["list", "--json"])).unwrap();
    let ids: Vec<&str> = records.as_array().unwrap().iter().map(|record| record["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&first.as_str()) && ids.contains(&second.as_str()));
    assert!(records[0]["summary"].as_str().unwrap().contains("Half of it works"));
    assert_eq!(elsewhere(&["select", "--query", "manual", "--print-id"]), format!("{second}\n"));
    let rendered = elsewhere(&["render", "--id", &first, "--target", "claude"]);
    assert!(rendered.starts_with("# Session Handoff\n- Source tool: codex\n- Target tool: claude\n"), "{rendered}");
    let exported = elsewhere(&["export", "--id", &first, "--format", "JSON", "--output", "bundle.json"]);
    assert_eq!(exported, format!("exported {}\n", world.home().join("bundle.json").display()));
    assert_eq!(elsewhere(&["list", "--tool", "nobody"]), "no handoffs saved\n");
}

#[test]
fn session_handoff_imports_into_the_current_project() {
    let (here, there) = (World::with_git(), World::salted("there"));
    let project = here.root().display().to_string();
    let save = ["save", "--tool", "codex", "--project", &project, "--title", "Lexer", "--summary", "Half"];
    here.as_peer("session-handoff", &save).expect(0).stderr_ignored("registered in info/exclude");
    let bundle = there.home().join("bundle.json").display().to_string();
    here.as_peer("session-handoff", &["export", "--format", "json", "--output", &bundle]).expect(0);
    let refused = there.as_peer("session-handoff", &["import", "--input", &bundle]).expect(1);
    assert!(refused.stderr.starts_with("error: "), "{}", refused.stderr);
    let imported = there.as_peer("session-handoff", &["import", "--input", &bundle, "--allow-unsigned"]).expect(0);
    assert!(imported.stdout.starts_with("imported handoff "), "{}", imported.stdout);
    let again = |policy: &str| {
        let import = ["import", "--input", &bundle, "--allow-unsigned", "--on-conflict", policy];
        there.as_peer("session-handoff", &import).expect(0).stdout
    };
    assert!(again(" SKIP ").starts_with("skipped handoff ") && again("replace").starts_with("replaced handoff "));
}

#[test]
fn a_handoff_that_was_imported_into_another_project_is_still_one_handoff() {
    let world = World::with_git();
    let save = ["save", "--tool", "codex", "--project", ".", "--title", "Lexer", "--summary", "Half"];
    world.as_peer("session-handoff", &save).expect(0).stderr_ignored("registered in info/exclude");
    let bundle = world.home().join("bundle.json").display().to_string();
    world.as_peer("session-handoff", &["export", "--format", "json", "--output", &bundle]).expect(0);
    let other = world.home().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let import = ["import", "--input", &bundle, "--allow-unsigned"];
    let _ = finish(world.peer("session-handoff", &import).current_dir(&other)).expect(0);
    let rendered = world.as_peer("session-handoff", &["render", "--id", "2026-11-15-1004-lex"]).expect(0).stdout;
    assert!(rendered.contains("- Topic: Lexer\n"), "{rendered}");
}

#[test]
fn session_handoff_fails_with_one_sentence_and_1() {
    let world = World::new();
    let cases: [(&[&str], &str); 9] = [
        (&["save", "--tool", "x"], "error: save requires --tool, --project, --title, --summary\n"),
        (&["list", "--limit", "-1"], "error: --limit must be >= 0\n"),
        (&["list", "--latest", "--limit", "2"], "error: --latest cannot be combined with --limit\n"),
        (&["list", "--since", "soon"], "error: invalid --since duration \"soon\"\n"),
        (&["list", "--since", "-1h"], "error: --since must be > 0\n"),
        (&["render"], "error: no handoffs saved\n"),
        (&["import"], "error: import requires --input\n"),
        (&["list", "--nope"], "error: flag provided but not defined: -nope\n"),
        (&["paste"], "error: unknown command \"paste\"; `session-handoff help` lists all\n"),
    ];
    for (arguments, message) in cases {
        assert_eq!(world.as_peer("session-handoff", arguments).expect(1).stderr.as_str(), message, "{arguments:?}");
    }
    assert_eq!(world.as_peer("session-handoff", &["list", "--json"]).expect(0).stdout, "[]\n");
    let usage = world.as_peer("session-handoff", &["help"]).expect(0).stdout;
    assert_eq!(world.as_peer("session-handoff", &[]).expect(1).stdout, usage);
}
