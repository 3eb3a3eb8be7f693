//! A cloned or unpacked project whose state and config are links, pipes, or lead outside: private files are not shown,
//! nothing outside is read or written, and nothing hangs.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::support::*;

const SECRET: &str = "s3cr3t-of-the-victim";

/// A file of the victim, outside the project. Read as TOML, JSON or a PAUSE reason it would be quoted.
fn private_file(world: &World) -> PathBuf {
    world.write("../home/private", format!("{SECRET}\n[{SECRET}]\n"));
    world.home().join("private")
}

fn hook(world: &World, event: &str) -> Output {
    hook_of(world, event, "s-1")
}

fn hook_of(world: &World, event: &str, session: &str) -> Output {
    use std::io::Write;
    let root = world.root().display().to_string();
    let payload =
        format!(r#"{{"hook_event_name":"{event}","session_id":"{session}","source":"startup","cwd":"{root}"}}"#);
    let mut command = world.command(&["hook", "--agent", "claude-code"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    output(child)
}

/// Goes through what reads or writes the state, and returns everything that was printed.
fn go_through(world: &World) -> String {
    let mut seen = String::new();
    let mut keep = |output: Output| seen.push_str(&output.seen());
    for event in ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"] {
        keep(hook(world, event).expect(0));
    }
    for arguments in [
        &["check"][..],
        &["check", "--json"],
        &["status"],
        &["warmup"],
        &["config"],
        &["doctor"],
        &["run", "--dry-run", "--note", "x"],
        &["run", "--note", "x"],
        &["run", "--resume"],
        &["push"],
        &["pull"],
    ] {
        keep(world.run(arguments));
    }
    seen
}

/// Whatever the commands logged.
fn logged(world: &World) -> String {
    let logs = [world.home().join(".local/state/agent-handover/hook.log"), world.path(".agent-handover/log/hook.log")];
    let is_log = |path: &&PathBuf| path.ancestors().all(|part| !part.is_symlink());
    logs.iter().filter(is_log).filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// Every file of the state and the config that a repository can bring along.
const PATHS: &[&str] = &[
    "handover.toml",
    ".agent-handover/handover.toml",
    ".agent-handover/checkpoint.db",
    ".agent-handover/checkpoint.db-wal",
    ".agent-handover/checkpoint.db-shm",
    ".agent-handover/checkpoint.json",
    ".agent-handover/lock",
    ".agent-handover/publish.json",
    ".agent-handover/publish.index",
    ".agent-handover/.gitignore",
    ".agent-handover/log",
    ".agent-handover/log/hook.log",
    ".agent-handover",
    "PAUSE",
];

const PUBLISHING: &str = "[backend]\ntype = \"git\"\npush = false\n[[step]]\nname = \"n\"\nkind = \"note\"\n\
    [[step]]\nname = \"c\"\nkind = \"command\"\nrun = [\"true\"]\n[[step]]\nname = \"p\"\nkind = \"publish\"\n";

/// A project with a config that publishes and runs a command, unless the config is the thing to be replaced.
fn project(path: &str) -> World {
    let world = World::with_git();
    if !path.ends_with("handover.toml") {
        world.write("handover.toml", PUBLISHING);
    }
    std::fs::create_dir_all(world.path(path).parent().unwrap()).unwrap();
    world
}

#[test]
fn a_linked_file_of_state_or_config_is_never_shown_or_written() {
    let cases = PATHS.iter().flat_map(|path| ["file", "directory", "environ"].map(|target| (path, target)));
    // Two has no factor in common with the three targets, so every path and every target has its turn.
    for (path, target) in cases.step_by(stride(2)) {
        let world = project(path);
        let private = private_file(&world);
        std::fs::create_dir(world.home().join("outside")).unwrap();
        let target = match target {
            "file" => private.clone(),
            "directory" => world.home().join("outside"),
            _ => PathBuf::from("/proc/self/environ"),
        };
        symlink(&target, world.path(path)).unwrap();
        let seen = go_through(&world);
        let all = seen.clone() + &logged(&world);
        assert!(!all.contains(SECRET), "{path}: {all}");
        assert!(!all.contains("AGENT_HANDOVER_TEST_NOW="), "{path}: {all}");
        wait_until("background runs to end", || world.run(&["check"]).code != 4);
        assert_eq!(std::fs::read_to_string(&private).unwrap(), format!("{SECRET}\n[{SECRET}]\n"), "{path}");
        let strays = std::fs::read_dir(world.home().join("outside")).unwrap().count();
        assert_eq!(strays, 0, "{path}");
        assert!(world.path(path).is_symlink(), "{path} was replaced");
        if *path != "PAUSE" {
            let sentences = ["is a symlink", "through the symlink", "leaves the project"];
            assert!(sentences.iter().any(|sentence| seen.contains(sentence)), "{path}: {seen}");
        }
    }
}

#[test]
fn a_pipe_in_the_place_of_state_or_config_hangs_nothing() {
    for path in PATHS {
        let world = project(path);
        assert!(std::process::Command::new("mkfifo").arg(world.path(path)).status().unwrap().success());
        let start = Instant::now();
        go_through(&world);
        wait_until("background runs to end", || world.run(&["check"]).code != 4);
        assert!(start.elapsed() < Duration::from_secs(60), "{path}");
    }
}

#[test]
fn a_linked_config_is_reported_in_one_sentence() {
    for path in ["handover.toml", ".agent-handover/handover.toml"] {
        let world = project(path);
        symlink(private_file(&world), world.path(path)).unwrap();
        for arguments in [&["config"][..], &["allow"], &["status"], &["run", "--note", "x"], &["init"]] {
            let output = world.run(arguments).expect(65);
            let sentence =
                format!("the config `$WORLD/project/{path}` is not read: `$WORLD/project/{path}` is a symlink");
            assert!(output.stderr.contains(&sentence), "{}", output.stderr);
            assert!(!output.seen().contains(SECRET));
        }
        // A link that a person names is that person's word.
        world.write("../home/mine.toml", "[handover]\ntag = \"mine\"\n");
        symlink(world.home().join("mine.toml"), world.path("named.toml")).unwrap();
        world.run(&["--config", "named.toml", "config"]).expect(0);
    }
}

#[test]
fn a_relative_config_of_the_environment_is_not_read_through_a_link() {
    let world = World::new();
    symlink(private_file(&world), world.path("mine.toml")).unwrap();
    let output = finish(world.command(&["config"]).env("AGENT_HANDOVER_CONFIG", "mine.toml")).expect(65);
    assert!(output.stderr.contains("is a symlink") && !output.seen().contains(SECRET), "{}", output.stderr);
}

#[test]
fn a_configured_directory_behind_a_link_inside_names_the_real_path() {
    for key in ["memory_dir", "history_dir", "state_dir"] {
        let world = World::with_config(&format!("[handover]\n{key} = \"link/here\"\n"));
        std::fs::create_dir(world.path("real")).unwrap();
        symlink("real", world.path("link")).unwrap();
        let output = world.run(&["run", "--note", "x"]).expect(65);
        assert!(output.stderr.contains("`link/here` goes through the symlink `link`"), "{}", output.stderr);
        assert!(output.stderr.contains("write `real/here`, where it leads"), "{}", output.stderr);
        assert!(output.stderr.contains("handover.toml:2:"), "{}", output.stderr);
        assert_eq!(std::fs::read_dir(world.path("real")).unwrap().count(), 0);
    }
}

#[test]
fn links_above_the_project_are_the_users_own() {
    let world = World::with_git();
    let alias = world.home().join("alias");
    symlink(world.root(), &alias).unwrap();
    finish(world.command(&["run", "--note", "said through the alias"]).current_dir(&alias)).expect(0);
    assert!(world.read(NOTES).contains("said through the alias"));
    // A checkpoint that a person names may be behind a link, too.
    let named = alias.join("other.db");
    world.run(&["run", "--checkpoint", named.to_str().unwrap(), "--note", "x"]).expect(0);
    assert!(world.exists("other.db"));
}

/// A project with memory, as another project's or a private place.
fn other_project(world: &World) -> PathBuf {
    let other = World::new();
    other.run(&["run", "--note", SECRET, "--current-state", SECRET]).expect(0);
    let place = world.home().join("other");
    std::fs::rename(other.root(), &place).unwrap();
    place
}

#[test]
fn places_outside_are_left_alone_until_the_config_is_allowed() {
    let world = World::with_git();
    let other = other_project(&world);
    let at = |name: &str| other.join(name).display().to_string();
    let keys = [
        ("memory_dir", at("memory")),
        ("history_dir", at(".agent-history")),
        ("state_dir", at(".agent-handover")),
        ("checkpoint", at(".agent-handover/checkpoint.db")),
        ("memory_dir", "~/other/memory".to_owned()),
    ];
    let before = listing(&other);
    for (number, (key, place)) in keys.iter().enumerate() {
        let hook = |event: &str| hook_of(&world, event, &format!("s-{number}"));
        world.write("handover.toml", format!("[handover]\n{key} = \"{place}\"\n"));
        let notice = format!("`{key}` of this config leads out of the project");
        let started = hook("SessionStart").stderr_ignored("it may report the place").expect(0);
        let warmed = world.run(&["warmup"]).expect(0);
        for seen in [&started.stdout, &warmed.stdout] {
            assert!(!seen.contains(SECRET), "{key}: {seen}");
            assert_eq!(seen.matches(&notice).count(), 1, "{key}: {seen}");
            assert!(seen.contains("agent-handover allow"), "{key}: {seen}");
        }
        for event in ["Stop", "PreCompact", "SessionEnd"] {
            let output = hook(event).stderr_ignored("it may report the place").expect(0);
            assert!(!output.stdout.contains(SECRET), "{key}: {}", output.stdout);
        }
        assert_eq!(listing(&other), before, "{key} was touched");
        if key.ends_with("_dir") && *key != "state_dir" {
            wait_until("background runs to end", || world.run(&["check"]).code != 4);
            assert_eq!(listing(&other), before, "{key} was touched in the background");
        }
    }
    world.write("handover.toml", format!("[handover]\nmemory_dir = \"{}\"\n", at("memory")));
    world.run(&["allow"]).expect(0);
    let warmed = world.run(&["warmup"]).expect(0);
    assert!(warmed.stdout.contains(SECRET) && !warmed.stdout.contains("out of the project"), "{}", warmed.stdout);
}

#[test]
fn the_rest_of_the_warmup_is_shown_beside_a_place_that_is_left_alone() {
    let world = World::with_git();
    let other = other_project(&world);
    world.run(&["run", "--note", "our own note", "--current-state", "our own state"]).expect(0);
    world.write("handover.toml", format!("[handover]\nhistory_dir = \"{}\"\n", other.join(".agent-history").display()));
    let warmed = world.run(&["warmup"]).expect(0);
    assert!(warmed.stdout.contains("our own state") && !warmed.stdout.contains(SECRET), "{}", warmed.stdout);
}

#[test]
fn a_place_that_the_environment_names_needs_no_consent() {
    let world = World::with_config("[handover]\ntag = \"t\"\n");
    let other = other_project(&world);
    let output = finish(world.command(&["warmup"]).env("AGENT_HANDOVER_MEMORY_DIR", other.join("memory"))).expect(0);
    assert!(output.stdout.contains(SECRET), "{}", output.stdout);
}

#[test]
fn a_pause_file_outside_stops_and_is_neither_shown_nor_removed() {
    let world = World::with_config("[handover]\npause_file = \"~/private\"\n");
    let private = private_file(&world);
    let output = world.run(&["run", "--note", "x"]).expect(3);
    assert!(!output.seen().contains(SECRET), "{}", output.seen());
    assert!(!hook(&world, "SessionStart").stderr_ignored("it is paused").stdout.contains(SECRET));
    let output = world.run(&["unpause"]).expect(1);
    assert!(output.stderr.contains("is outside the project, and its config is not allowed"), "{}", output.stderr);
    assert!(private.exists());
}

/// Every file below a directory with its content, and when each directory was changed.
fn listing(directory: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, about) = (entry.path(), entry.metadata().unwrap());
        found.push(format!("{} {:?}", path.display(), about.modified().unwrap()));
        if about.is_dir() {
            found.extend(listing(&path));
        }
    }
    found.sort();
    found
}

#[test]
fn a_pipe_that_git_would_read_is_named_before_git_starts() {
    let cases = [
        (".git/config", ""),
        (".git/HEAD", ""),
        (".git/info/exclude", ""),
        (".git/objects/info/alternates", ""),
        (".git/refs/heads/main", ""),
        (".gitignore", ""),
        ("pipe", "[core]\n\texcludesFile = pipe\n"),
        (".git/pipe", "[include]\n\tpath = pipe\n"),
    ];
    for (path, setting) in cases {
        let world = World::with_git();
        let config = world.read(".git/config");
        world.write(".git/config", config + setting);
        let _ = std::fs::remove_file(world.path(path));
        assert!(std::process::Command::new("mkfifo").arg(world.path(path)).status().unwrap().success());
        let start = Instant::now();
        hook(&world, "SessionStart").stderr_ignored("it may report the pipe").expect(0);
        let output = world.run(&["run", "--note", "x"]);
        let seen = output.seen();
        assert!(seen.contains("is a named pipe, which git would wait for") || output.code == 0, "{path}: {seen}");
        assert!(start.elapsed() < Duration::from_secs(5), "{path} took {:?}", start.elapsed());
        wait_until("background runs to end", || world.run(&["check"]).code != 4);
    }
}

#[test]
fn a_config_that_nobody_allowed_cannot_make_hooks_write_over_the_users_files() {
    for (key, file) in [("history_dir", "docs/LATEST.md"), ("memory_dir", "docs/layer2/current-state.md")] {
        let world = World::with_config(&format!("[handover]\n{key} = \"docs\"\n"));
        world.git(&["init", "--quiet"]);
        world.write(file, "the user's own words");
        let started = hook_of(&world, "SessionStart", "s-1").stderr_ignored("it reports the place").expect(0);
        let notice = format!("`{key}` of this config names another directory: not read or written");
        assert!(started.stdout.contains(&notice), "{}", started.stdout);
        assert!(!started.stdout.contains("the user's own words"), "{}", started.stdout);
        end_with_transcript(&world, "s-1");
        // The session is recorded, and waits for a person's word.
        wait_until("background runs to end", || world.run(&["check"]).code != 4);
        world.run(&["check"]).expect(1);
        assert_eq!(world.read(file), "the user's own words");
        assert_eq!(std::fs::read_dir(world.path("docs")).unwrap().count(), 1, "{key}: something was added");
    }
}

#[test]
fn a_config_that_nobody_allowed_cannot_choose_where_hooks_put_their_database() {
    for checkpoint in ["docs/x.json", "x.db"] {
        let world = World::with_config(&format!("[handover]\ncheckpoint = \"{checkpoint}\"\n"));
        world.git(&["init", "--quiet"]);
        world.write("docs/own", "the user's own words");
        let before = world.tree();
        let started = hook_of(&world, "SessionStart", "s-1").stderr_ignored("it reports the place").expect(0);
        let notice = "`checkpoint` of this config names another directory: not read or written";
        assert!(started.stdout.contains(notice), "{}", started.stdout);
        hook_of(&world, "SessionEnd", "s-1").stderr_ignored("it reports the place").expect(0);
        let is_user_s = |path: &str| !path.starts_with(".git/") && !path.starts_with(".agent-handover/");
        let now = world.tree().into_iter().filter(|(path, _)| is_user_s(path));
        assert!(now.eq(before.into_iter().filter(|(path, _)| is_user_s(path))), "{checkpoint}");
    }
}

/// Ends a session that has asked something, with the transcript that says so.
fn end_with_transcript(world: &World, session: &str) {
    use std::io::Write;
    let transcript = world.home().join("transcript.jsonl");
    let asked = serde_json::json!({
        "type": "user", "sessionId": session, "cwd": world.root(), "timestamp": NOW, "uuid": "u1",
        "message": { "role": "user", "content": "Fix the parser" },
    });
    std::fs::write(&transcript, format!("{asked}\n")).unwrap();
    let payload = serde_json::json!({
        "hook_event_name": "SessionEnd", "session_id": session, "cwd": world.root(), "reason": "exit",
        "transcript_path": transcript,
    });
    let mut command = world.command(&["hook", "--agent", "claude-code"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    output(child).stderr_ignored("it reports the place").expect(0);
}

#[test]
fn the_words_of_git_do_not_carry_a_private_file_into_the_context() {
    let world = World::with_git();
    let private = private_file(&world);
    symlink(&private, world.path(".git/packed-refs")).unwrap();
    for event in ["SessionStart", "SessionEnd"] {
        let output = hook_of(&world, event, "s-1").stderr_ignored("git may fail").expect(0);
        assert!(!output.seen().contains(SECRET), "{event}: {}", output.seen());
    }
    wait_until("background runs to end", || world.run(&["check"]).code != 4);
    let warmed = world.run(&["warmup"]).stderr_ignored("git may fail");
    assert!(!warmed.seen().contains(SECRET), "{}", warmed.seen());
    assert!(!logged(&world).contains(SECRET), "{}", logged(&world));
}

/// A git that writes down what it is asked.
fn logging_git(world: &World) -> (String, PathBuf) {
    let log = world.home().join("git.log");
    (world.stand_in_for_git(&format!("echo \"$*\" >> {}\nexec $GIT \"$@\"", log.display())), log)
}

fn make_pipe(world: &World, path: &str) {
    let _ = std::fs::remove_file(world.path(path));
    std::fs::create_dir_all(world.path(path).parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(world.path(path)).status().unwrap().success());
}

#[test]
fn a_command_waits_for_at_most_one_git_that_waits_for_a_pipe() {
    let world = World::with_git();
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    world.git(&[&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "first"]].concat());
    let head = world.git(&["rev-parse", "HEAD"]);
    let (object, rest) = head.trim().split_at(2);
    let object = format!(".git/objects/{object}/{rest}");
    // What hangs, and the question at which it hangs.
    for (path, question) in
        [("deep/down/.gitignore", "status "), ("deep/down/.git/HEAD", "status "), (object.as_str(), "HEAD^{commit}")]
    {
        make_pipe(&world, path);
        for directory in ["objects", "refs"] {
            std::fs::create_dir_all(world.path("deep/down/.git").join(directory)).unwrap();
        }
        let (programs, log) = logging_git(&world);
        for arguments in
            [&["run", "--note", "x"][..], &["history", "create", "--goal", question, "--next", "n"], &["warmup"]]
        {
            let _ = std::fs::remove_file(&log);
            let output =
                finish(world.command(arguments).env("PATH", &programs)).stderr_ignored("it may report the pipe");
            let seen = output.expect(0).seen();
            let asked = std::fs::read_to_string(&log).unwrap_or_default();
            let after = asked.lines().skip_while(|line| !line.contains(question)).skip(1).count();
            assert_eq!(after, 0, "{path}, {arguments:?}: {asked}\n{seen}");
            assert!(!seen.contains("did not answer within"), "{path}, {arguments:?}: {seen}");
        }
        let facts = world.run(&["run", "--note", "y"]).expect(0).stderr_ignored("it reports the pipe").seen();
        assert!(facts.contains(&format!("{path}` is a named pipe, which git would wait for")), "{path}: {facts}");
        std::fs::remove_file(world.path(path)).unwrap();
        std::fs::remove_dir_all(world.path("deep/down/.git")).unwrap();
    }
}
