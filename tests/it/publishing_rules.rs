//! Nothing is published that nobody named (A11), and a dry run looks before it promises (G7).

use super::support::*;

/// A repository with one commit on `main`, a bare `origin`, and this config.
fn with_remote(config: &str) -> World {
    let world = World::new();
    world.git(&["init", "--quiet", "--initial-branch", "main"]);
    world.git(&["config", "user.name", "x"]);
    world.git(&["config", "user.email", "x@example.org"]);
    world.git(&["init", "--quiet", "--bare", "--initial-branch", "main", "../origin.git"]);
    world.git(&["remote", "add", "origin", &world.path("../origin.git").display().to_string()]);
    world.write("code", "x");
    world.git(&["add", "code"]);
    world.git(&["commit", "--quiet", "-m", "first"]);
    world.git(&["push", "--quiet", "origin", "main"]);
    world.write("handover.toml", config);
    world
}

/// Every ref here and at the remote.
fn refs(world: &World) -> String {
    world.git(&["for-each-ref"]) + &world.git(&["ls-remote", "origin"])
}

const NOWHERE: &str = "Publishing: nowhere (backend null).";

#[test]
fn a_file_without_steps_and_without_evidence_publishes_nothing() {
    for config in [
        "",
        "# only a comment\n",
        "[warmup]\nbudget = 5000\n",
        "[handover]\ntag = \"work\"\n",
        "[guard]\nsecrets = \"warn\"\n",
        "[backend]\ntype = \"null\"\n",
    ] {
        let world = with_remote(config);
        let before = refs(&world);
        let output = world.run(&["run", "--note", "private"]).expect(0);
        assert_eq!(output.stdout, "handover steps executed: facts, note, state, history, publish\n", "{config}");
        assert!(
            output
                .stderr
                .contains("plan: built-in, because the file has no `[[step]]` (facts, note, state, history, publish)"),
            "{}",
            output.stderr
        );
        assert_eq!(refs(&world), before, "{config}");
        assert!(world.run(&["config"]).expect(0).stdout.ends_with(&format!("{NOWHERE}\n")));
        assert!(world.run(&["run", "--dry-run"]).expect(0).stdout.ends_with(&format!("{NOWHERE}\n")));
        assert!(world.run(&["doctor"]).stdout.contains(NOWHERE.trim_end_matches('.')));
    }
}

#[test]
fn a_branch_that_git_would_not_make_is_refused_before_anything_is_recorded() {
    for branch in
        ["HEAD", "@", "refs/heads/main", "a..b", "a.lock", "a/.b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a//b", "a."]
    {
        let world = with_remote(&format!("[backend]\ntype = \"git\"\nbranch = \"{branch}\"\n"));
        let before = refs(&world);
        let output = world.run(&["run", "--note", "x"]).expect(65);
        assert!(output.stderr.contains(&format!("`{branch}` is not a name that git accepts for a branch")), "{branch}");
        assert_eq!(refs(&world), before, "{branch}");
        world.run(&["config"]).stderr_ignored("the same error").expect(65);
    }
    let world = with_remote("[backend]\ntype = \"git\"\nbranch = \"memory/\u{fc}ber-@1\"\n");
    world.run(&["run", "--note", "x"]).expect(0);
    assert!(refs(&world).contains("refs/heads/memory/\u{fc}ber-@1"), "{}", refs(&world));
}

#[test]
fn a_git_backend_without_a_branch_uses_one_of_its_own() {
    let world = with_remote("[backend]\ntype = \"git\"\n");
    let main = world.git(&["rev-parse", "main"]);
    let sentence = "Publishing: commits memory, .agent-history on the branch `agent-handover` and pushes it to origin";
    for arguments in [&["config"][..], &["run", "--dry-run", "--note", "n"], &["doctor"]] {
        assert!(world.run(arguments).stdout.contains(sentence), "{arguments:?}");
    }
    world.run(&["run", "--note", "n"]).expect(0);
    assert_eq!(world.git(&["rev-parse", "main"]), main);
    let remote = world.git(&["ls-remote", "--heads", "origin"]);
    assert!(
        remote.contains("refs/heads/agent-handover") && remote.contains(&format!("{}\trefs/heads/main", main.trim())),
        "{remote}"
    );
}

#[test]
fn a_branch_that_is_only_another_name_for_a_branch_is_not_published_to() {
    // The second one has no commit yet.
    for target in ["main", "unborn"] {
        let world = with_remote("[backend]\ntype = \"git\"\n");
        world.git(&["symbolic-ref", "refs/heads/agent-handover", &format!("refs/heads/{target}")]);
        let before = refs(&world);
        let sentence = format!("the branch `agent-handover` is a symbolic ref to `{target}`");
        for arguments in [&["run", "--note", "private"][..], &["push"], &["pull"]] {
            let output = world.run(arguments).expect(1);
            assert!(output.stderr.contains(&sentence), "{arguments:?}: {}", output.stderr);
            assert!(output.stderr.contains("git symbolic-ref --delete refs/heads/agent-handover"), "{}", output.stderr);
        }
        let dry = world.run(&["run", "--dry-run", "--note", "n"]);
        assert!(dry.seen().contains(&sentence), "{}", dry.seen());
        assert_eq!(refs(&world), before);
        world.git(&["symbolic-ref", "--delete", "refs/heads/agent-handover"]);
        world.run(&["push"]).expect(0);
        assert!(!world.git(&["ls-tree", "-r", "--name-only", "main"]).contains("memory"));
    }
}

#[test]
fn allow_says_where_the_config_publishes() {
    let world = with_remote("[backend]\ntype = \"git\"\n");
    let output = world.run(&["allow"]).expect(0);
    let sentence = "Publishing: commits memory, .agent-history on the branch `agent-handover` and pushes it to origin.";
    assert!(output.stderr.contains(sentence), "{}", output.stderr);
    let world = with_remote("[backend]\ntype = \"git\"\nrepo_dir = \"notes\"\npush = false\n");
    let output = world.run(&["allow"]).expect(0);
    let sentence = "on the branch `main` of the repository in `notes` and does not push it.";
    assert!(output.stderr.contains(sentence), "{}", output.stderr);
}

#[test]
fn evidence_of_the_python_tool_keeps_its_meaning() {
    for (config, why) in [
        ("[note]\nsession = \"n\"\n", "it has `[note]`"),
        ("[handover]\ncheckpoint = \".agent-handover/checkpoint.json\"\n", "it has `checkpoint` in `[handover]`"),
        ("[backend]\nrepo_dir = \".\"\n", "it has `repo_dir` in `[backend]`"),
        ("[handover]\ntag = \"codex\"\n", "`.agent-handover/checkpoint.json` is there"),
    ] {
        let world = with_remote(config);
        if why.contains("is there") {
            let steps = r#"{"session_note": "done", "current_state": "done", "publish": "done"}"#;
            world
                .write(".agent-handover/checkpoint.json", format!("{{\"status\": \"completed\", \"steps\": {steps}}}"));
        }
        let output = world.run(&["run", "--note", "n"]).expect(0);
        assert_eq!(output.stdout, "handover steps executed: session_note, current_state, publish\n");
        let plan = format!("plan: that of the Python agent-handover, because the file has no `[[step]]` and {why}");
        assert!(output.stderr.contains(&plan), "{}", output.stderr);
        let config = world.run(&["config"]).expect(0).stdout;
        assert!(
            config.ends_with("Publishing: commits memory on the branch `main` and pushes it to origin.\n"),
            "{config}"
        );
        assert!(world.git(&["ls-tree", "-r", "--name-only", "origin/main"]).contains("memory/layer2"), "{why}");
    }
}

#[test]
fn steps_of_its_own_make_a_file_ours_whatever_else_is_in_it() {
    let world = with_remote("[note]\nsession = \"n\"\n[[step]]\nname = \"p\"\nkind = \"publish\"\n");
    let before = refs(&world);
    world.run(&["run"]).expect(0);
    assert_eq!(refs(&world), before);
}

#[test]
fn the_sentence_says_what_is_not_pushed_and_what_does_not_publish() {
    let says = |config: &str, more: &[&str]| {
        let output = with_remote(config).run(&[&["config"], more].concat()).expect(0).stdout;
        output.lines().last().unwrap().to_owned()
    };
    let git = "[backend]\ntype = \"git\"\npush = false\nbranch = \"notes\"\n";
    let unpushed = "Publishing: commits memory, .agent-history on the branch `notes` and does not push it.";
    assert_eq!(says(git, &[]), unpushed);
    assert_eq!(says(&git.replace("false", "true"), &["--no-push"]), unpushed);
    let step = "[[step]]\nname = \"n\"\nkind = \"note\"\n";
    assert_eq!(says(&format!("{git}{step}"), &[]), "Publishing: nowhere (no step of the plan publishes).");
}

/// G7: "would commit and push" where there is no repository, "would run" for a program that does not exist.
#[test]
fn a_dry_run_names_what_is_missing() {
    let publish = "[backend]\ntype = \"git\"\n[[step]]\nname = \"p\"\nkind = \"publish\"\n";
    let world = World::with_config(publish);
    let output = world.run(&["run", "--dry-run"]).expect(1);
    assert!(
        output.stderr.contains("this run would fail: step `p`: `$WORLD/project` is not in a git repository"),
        "{}",
        output.stderr
    );
    assert!(!world.exists(".agent-handover") && !world.exists("memory"));
    world.git(&["init", "--quiet"]);
    let output = world.run(&["run", "--dry-run"]).expect(1);
    assert!(output.stderr.contains("this run would fail: step `p`: there is no remote `origin`"), "{}", output.stderr);
    world.run(&["run", "--dry-run", "--no-push"]).expect(0);
    let gone = world.path("../gone.git").display().to_string();
    world.git(&["remote", "add", "origin", &gone]);
    let output = world.run(&["run", "--dry-run"]).expect(1);
    assert!(output.stderr.contains("gone.git`, which does not exist"), "{}", output.stderr);
    world.git(&["init", "--quiet", "--bare", "../gone.git"]);
    world.run(&["run", "--dry-run"]).expect(0);
    world.git(&["remote", "set-url", "origin", "https://example.invalid/x.git"]);
    world.run(&["run", "--dry-run"]).expect(0);
    // An address in the place of a name: only one on this machine can be looked for.
    let named = |remote: &str| publish.replace("\"git\"\n", &format!("\"git\"\nremote = \"{remote}\"\n"));
    world.write("handover.toml", named("../nowhere.git"));
    let output = world.run(&["run", "--dry-run"]).expect(1);
    assert!(output.stderr.contains("nowhere.git` does not exist"), "{}", output.stderr);
    world.write("handover.toml", named("https://example.invalid/x.git"));
    world.run(&["run", "--dry-run"]).expect(0);
    std::fs::write(world.path(".git/config"), "[core\n").unwrap();
    let output = world.run(&["run", "--dry-run"]);
    assert_ne!(output.code, 0, "{}", output.seen());
    assert!(output.stderr.contains("git cannot use `$WORLD/project`"), "{}", output.stderr);
}

#[test]
fn a_dry_run_looks_for_the_programs_of_command_steps() {
    let step = |name: &str, more: &str| format!("[[step]]\nname = \"{name}\"\nkind = \"command\"\n{more}\n");
    let world = World::with_config(&step("tests", "run = [\"cagro\", \"test\"]"));
    let output = world.run(&["run", "--dry-run"]).expect(1);
    assert!(
        output.stderr.contains("this run would fail: step `tests`: there is no program `cagro`"),
        "{}",
        output.stderr
    );
    assert!(output.stdout.contains("tests: would run `cagro test`"), "{}", output.stdout);
    world.write("handover.toml", step("tests", "run = [\"cagro\"]\non_failure = \"continue\""));
    let output = world.run(&["run", "--dry-run"]).expect(0);
    assert!(
        output.stderr.contains("there is no program `cagro`; the step would fail, and the run would continue"),
        "{}",
        output.stderr
    );
    world.write("handover.toml", step("a", "run = [\"./here\"]") + &step("b", "run = [\"true\"]\ncwd = \"nowhere\""));
    let output = world.run(&["run", "--dry-run"]).expect(1);
    assert!(output.stderr.contains("step `a`: there is no program `./here`"), "{}", output.stderr);
    assert!(output.stderr.contains("step `b`: there is no directory `$WORLD/project/nowhere`"), "{}", output.stderr);
    for good in ["run = [\"true\"]", "shell = \"cagro\"", "run = [\"/bin/sh\"]"] {
        world.write("handover.toml", step("a", good));
        world.run(&["run", "--dry-run"]).expect(0);
    }
}
