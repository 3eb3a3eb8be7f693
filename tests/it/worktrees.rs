//! Linked worktrees: one memory for a repository, whatever becomes of its worktrees.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::support::*;

/// A repository in `project` with a commit on `main`.
pub struct Repository {
    pub world: World,
}

impl Repository {
    pub fn new() -> Repository {
        let world = World::new();
        world.git(&["init", "--quiet", "-b", "main"]);
        let repository = Repository { world };
        repository.commit(&repository.main(), "begin");
        repository
    }

    pub fn main(&self) -> PathBuf {
        self.world.root().canonicalize().unwrap()
    }

    /// Where the worktree of this name is: beside the main one.
    pub fn at(&self, name: &str) -> PathBuf {
        self.main().parent().unwrap().join(name)
    }

    /// A worktree on a branch of the same name.
    pub fn add(&self, name: &str) -> PathBuf {
        self.git(&self.main(), &["worktree", "add", "--quiet", "-b", name, self.at(name).to_str().unwrap()]);
        self.at(name)
    }

    pub fn git(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = self.world.clean("git").current_dir(directory).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn commit(&self, directory: &Path, subject: &str) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example"];
        self.git(directory, &[&identity[..], &["commit", "--quiet", "--allow-empty", "-m", subject]].concat());
    }

    pub fn command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command.current_dir(directory);
        command
    }

    #[must_use = "the exit code was not looked at"]
    pub fn run(&self, directory: &Path, arguments: &[&str]) -> Output {
        finish(&mut self.command(directory, arguments))
    }

    /// What git would report in a worktree.
    pub fn status(&self, directory: &Path) -> String {
        self.git(directory, &["status", "--porcelain"])
    }

    /// The handoffs on record, by goal: branch and worktree of each.
    pub fn handoffs(&self, directory: &Path) -> BTreeMap<String, (String, Option<String>)> {
        let list = self.run(directory, &["history", "--json", "list"]).expect(0).json();
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let found = list["handoffs"].as_array().unwrap().iter();
        let found: Vec<_> = found
            .map(|one| (text(&one["title"]).unwrap(), (text(&one["branch"]).unwrap(), text(&one["worktree"]))))
            .collect();
        let by_goal: BTreeMap<_, _> = found.iter().cloned().collect();
        assert_eq!(by_goal.len(), found.len(), "a handover is there twice: {found:?}");
        by_goal
    }

    /// A call of Claude Code's hook in a directory, which may be gone.
    fn hook(&self, directory: &Path, session: &str, event: &str) -> Child {
        let payload = json!({
            "session_id": session,
            "transcript_path": self.transcript(session),
            "cwd": directory,
            "hook_event_name": event,
            "source": "startup",
        });
        let mut command = self.world.command(&["hook", "--agent", "claude-code"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        child
    }

    #[must_use = "the answer was not looked at"]
    pub fn call(&self, directory: &Path, session: &str, event: &str) -> Output {
        let output = output(self.hook(directory, session, event));
        assert_eq!(output.code, 0, "{}", output.stderr);
        output
    }

    fn transcript(&self, session: &str) -> PathBuf {
        self.world.home().join(".claude/projects/x").join(format!("{session}.jsonl"))
    }

    /// A session that begins in a directory and asks something.
    pub fn begin(&self, directory: &Path, session: &str, request: &str) {
        let start = self.call(directory, session, "SessionStart");
        drop(start.stderr_ignored("the log of the call"));
        self.ask(directory, session, request);
    }

    pub fn ask(&self, directory: &Path, session: &str, request: &str) {
        self.record(directory, session, "user", &json!({ "role": "user", "content": request }));
    }

    /// Adds a message to the transcript of a session.
    pub fn record(&self, directory: &Path, session: &str, kind: &str, message: &serde_json::Value) {
        let path = self.transcript(session);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
        let record = json!({
            "type": kind, "isSidechain": false, "sessionId": session, "cwd": directory, "message": message,
        });
        writeln!(file, "{record}").unwrap();
    }

    /// Ends a session and waits until its handover is carried out.
    pub fn end(&self, directory: &Path, session: &str) {
        drop(self.call(directory, session, "SessionEnd").stderr_ignored("the log of the call"));
        self.settle();
    }

    /// Waits until no child holds the lock.
    fn settle(&self) {
        let lock = self.world.path(".agent-handover/lock");
        wait_until("the child", || {
            let Ok(file) = std::fs::File::open(&lock) else { return true };
            file.try_lock().is_ok()
        });
    }
}

#[test]
fn all_worktrees_use_the_memory_of_the_main_one() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.run(&main, &["run", "--note", "said in main"]).expect(0);
    repository.run(&topic, &["run", "--note", "said in topic"]).expect(0);
    let notes = repository.world.read(NOTES);
    assert!(notes.contains("said in main") && notes.contains("said in topic"), "{notes}");
    let found = repository.handoffs(&topic);
    assert_eq!(found, repository.handoffs(&main));
    assert_eq!(found["said in main"], ("main".to_owned(), None));
    assert_eq!(found["said in topic"], ("topic".to_owned(), Some(topic.display().to_string())));
    assert_eq!(repository.status(&topic), "");
    assert_eq!(repository.status(&main), "");
    let names: Vec<_> = std::fs::read_dir(&topic).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [".git"], "nothing of ours is in the worktree");
}

#[test]
fn status_and_list_show_branch_and_worktree() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.run(&main, &["run", "--note", "said in main"]).expect(0);
    repository.run(&topic, &["run", "--note", "said in topic"]).expect(0);
    for place in [&main, &topic] {
        let status = repository.run(place, &["status"]).expect(0).stdout;
        assert!(status.contains(&format!("tag general, on topic in {}\n", topic.display())), "{status}");
        let status = repository.run(place, &["status", "--json"]).expect(0).json();
        assert_eq!(status["run"]["branch"], "topic");
        assert_eq!(status["run"]["worktree"], topic.to_str().unwrap());
    }
    let list = repository.run(&main, &["history", "list"]).expect(0).stdout;
    assert!(list.lines().next().unwrap().contains("BRANCH"), "{list}");
    let of_topic = repository.run(&main, &["history", "list", "--branch", "topic"]).expect(0).stdout;
    assert!(of_topic.contains("said in topic") && !of_topic.contains("said in main"), "{of_topic}");
    let shown = repository.run(&main, &["history", "show", "latest"]).expect(0).stdout;
    assert!(shown.contains("current_branch: topic") || shown.contains("current_branch: \"topic\""), "{shown}");
    assert!(shown.contains(topic.to_str().unwrap()), "{shown}");
}

/// B4 of 0.1.0: removing a worktree deleted the memory of its sessions.
#[test]
fn removing_a_worktree_loses_nothing() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.begin(&topic, "s1", "Make the parser strict");
    repository.end(&topic, "s1");
    repository.git(&main, &["worktree", "remove", topic.to_str().unwrap()]);
    assert!(!topic.exists());
    let expected = ("topic".to_owned(), Some(topic.display().to_string()));
    assert_eq!(repository.handoffs(&main)["Make the parser strict"], expected);
}

#[test]
fn a_session_whose_worktree_is_gone_before_its_end_leaves_its_handover() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.begin(&topic, "s1", "Make the parser strict");
    repository.git(&main, &["worktree", "remove", topic.to_str().unwrap()]);
    repository.git(&main, &["worktree", "prune"]);
    repository.end(&topic, "s1");
    let expected = ("topic".to_owned(), Some(topic.display().to_string()));
    assert_eq!(repository.handoffs(&main), [("Make the parser strict".to_owned(), expected)].into());
    // Nor does a second end of it say anything new.
    repository.end(&topic, "s1");
    assert_eq!(repository.handoffs(&main).len(), 1);
}

#[test]
fn a_moved_worktree_keeps_the_memory() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.run(&topic, &["run", "--note", "before the move"]).expect(0);
    let moved = repository.at("moved");
    repository.git(&main, &["worktree", "move", topic.to_str().unwrap(), moved.to_str().unwrap()]);
    repository.run(&moved, &["run", "--note", "after the move"]).expect(0);
    let found = repository.handoffs(&main);
    assert_eq!(found["before the move"].1.as_deref(), topic.to_str());
    assert_eq!(found["after the move"].1.as_deref(), moved.to_str());
}

#[test]
fn commands_run_in_the_worktree_of_their_session_and_are_skipped_if_it_is_gone() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    let config = "[[step]]\nname = \"where\"\nkind = \"command\"\nshell = 'pwd >> \"$OUT\"'\n\
                  env = { OUT = \"../where\" }\n[[step]]\nname = \"note\"\nkind = \"note\"\n";
    std::fs::write(topic.join("handover.toml"), config).unwrap();
    repository.run(&topic, &["run", "--note", "first"]).expect(0);
    assert_eq!(std::fs::read_to_string(repository.at("where")).unwrap().trim(), topic.to_str().unwrap());
    // Another worktree carries out what was recorded here.
    let mut killed = repository.command(&topic, &["run", "--note", "second"]);
    finish(killed.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(KILLED);
    repository.run(&main, &["run", "--resume"]).expect(0);
    let places = std::fs::read_to_string(repository.at("where")).unwrap();
    assert_eq!(places.lines().collect::<Vec<_>>(), [topic.to_str().unwrap(); 2]);
    // A worktree that is gone runs nothing, and its words are kept.
    let mut killed = repository.command(&topic, &["run", "--note", "third"]);
    finish(killed.env("AGENT_HANDOVER_TEST_FAULT", "process.started:1=kill")).expect(KILLED);
    repository.git(&main, &["worktree", "remove", "--force", topic.to_str().unwrap()]);
    let resumed = repository.run(&main, &["run", "--resume"]).expect(0);
    let reason = format!("its worktree `{}` is gone", topic.display());
    assert!(resumed.stderr.contains(&reason), "{}", resumed.stderr);
    let status = repository.run(&main, &["status"]).expect(0).stdout;
    assert!(status.contains(&format!("[-] where  ({reason})")) || status.contains(&reason), "{status}");
    assert!(repository.world.read(NOTES).contains("third"));
}

#[test]
fn pause_in_the_main_tree_stops_all_and_in_a_worktree_only_its_own() {
    let repository = Repository::new();
    let (main, one, two) = (repository.main(), repository.add("one"), repository.add("two"));
    std::fs::write(main.join("PAUSE"), "").unwrap();
    repository.run(&one, &["run", "--note", "while main is paused"]).expect(3);
    let unpaused = repository.run(&one, &["unpause"]).expect(3);
    assert!(unpaused.stderr.contains("every worktree of this repository"), "{}", unpaused.stderr);
    std::fs::remove_file(main.join("PAUSE")).unwrap();
    std::fs::write(one.join("PAUSE"), "").unwrap();
    let other = repository.run(&two, &["run", "--note", "said in two"]).expect(0);
    assert!(other.stderr.contains("waits: automation paused"), "{}", other.stderr);
    let notes = repository.world.read(NOTES);
    assert!(notes.contains("said in two") && !notes.contains("while main is paused"), "{notes}");
    std::fs::remove_file(one.join("PAUSE")).unwrap();
    repository.run(&two, &["run", "--resume"]).expect(0);
    assert_eq!(repository.world.read(NOTES).matches("while main is paused").count(), 1);
}

#[test]
fn the_config_is_that_of_the_worktree_and_else_that_of_the_main_tree() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    let tag = |directory: &Path| {
        let config = repository.run(directory, &["config", "--json"]).expect(0).json();
        config["values"].as_array().unwrap().iter().find(|one| one["key"] == "handover.tag").unwrap()["value"].clone()
    };
    std::fs::write(main.join("handover.toml"), "[handover]\ntag = \"of-main\"\n").unwrap();
    assert_eq!(tag(&topic), "of-main");
    std::fs::write(topic.join("handover.toml"), "[handover]\ntag = \"of-topic\"\n").unwrap();
    assert_eq!(tag(&topic), "of-topic");
    assert_eq!(tag(&main), "of-main");
}

#[test]
fn a_bare_repository_keeps_the_memory_of_its_worktrees() {
    let repository = Repository::new();
    let (bare, one, two) = (repository.at("b.git"), repository.at("one"), repository.at("two"));
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    repository.git(&repository.main(), &["clone", "--quiet", "--bare", ".", &path(&bare)]);
    repository.git(&bare, &["worktree", "add", "--quiet", "-b", "one", &path(&one)]);
    repository.git(&bare, &["worktree", "add", "--quiet", "-b", "two", &path(&two)]);
    repository.run(&one, &["memory", "add", "decision", "Use one parser"]).expect(0);
    repository.run(&one, &["run", "--note", "said in one"]).expect(0);
    repository.run(&two, &["run", "--note", "said in two"]).expect(0);
    let notes = std::fs::read_to_string(bare.join("agent-handover").join(NOTES)).unwrap();
    assert!(notes.contains("said in one") && notes.contains("said in two"), "{notes}");
    assert_eq!(repository.handoffs(&two)["said in one"].0, "one");
    assert!(repository.run(&two, &["warmup"]).expect(0).stdout.contains("Use one parser"));
    for tree in [&one, &two] {
        assert_eq!(repository.status(tree), "");
        repository.git(&bare, &["worktree", "remove", tree.to_str().unwrap()]);
    }
    // Its branch can be published although there is no work tree.
    let three = repository.at("three");
    repository.git(&bare, &["worktree", "add", "--quiet", "-b", "three", &path(&three)]);
    let config = "[backend]\ntype = \"git\"\nbranch = \"agent-handover\"\npush = false\n";
    std::fs::write(three.join("handover.toml"), config).unwrap();
    repository.run(&three, &["run", "--note", "said in three"]).expect(0);
    let published = repository.git(&bare, &["show", &format!("agent-handover:{NOTES}")]);
    assert!(published.contains("said in one") && published.contains("said in three"), "{published}");
}

#[test]
fn a_submodule_is_a_project_of_its_own() {
    let repository = Repository::new();
    let main = repository.main();
    let inner = Repository::new();
    let allow = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", inner.world.root().to_str().unwrap(), "sub"].map(str::to_owned);
    let add: Vec<&str> = allow.into_iter().chain(add.iter().map(String::as_str)).collect();
    repository.git(&main, &add);
    let sub = main.join("sub");
    repository.run(&sub, &["run", "--note", "said in the submodule"]).expect(0);
    assert!(sub.join(NOTES).exists() && !main.join(NOTES).exists());
    // A worktree of the submodule shares that of the submodule.
    let of_sub = repository.at("of-sub");
    repository.git(&sub, &["worktree", "add", "--quiet", "-b", "s", of_sub.to_str().unwrap()]);
    repository.run(&of_sub, &["run", "--note", "said beside the submodule"]).expect(0);
    let notes = std::fs::read_to_string(sub.join(NOTES)).unwrap();
    assert!(notes.contains("said beside the submodule"), "{notes}");
}

#[test]
fn tracked_memory_belongs_to_the_branch_and_stays_in_its_worktree() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.run(&main, &["run", "--note", "said in main"]).expect(0);
    // Published on the branch that is checked out: known from the config.
    let config = "[backend]\ntype = \"git\"\nbranch = \"topic\"\npush = false\n";
    std::fs::write(topic.join("handover.toml"), config).unwrap();
    repository.run(&topic, &["run", "--note", "said in topic"]).expect(0);
    assert!(std::fs::read_to_string(topic.join(NOTES)).unwrap().contains("said in topic"));
    assert!(!repository.world.read(NOTES).contains("said in topic"));
    assert!(repository.git(&main, &["show", &format!("topic:{NOTES}")]).contains("said in topic"));
    // Tracked without a config: git's index knows.
    std::fs::remove_file(topic.join("handover.toml")).unwrap();
    repository.run(&topic, &["run", "--note", "said again"]).expect(0);
    assert!(std::fs::read_to_string(topic.join(NOTES)).unwrap().contains("said again"));
    assert!(!repository.world.read(NOTES).contains("said again"));
}

#[test]
fn a_git_file_that_leads_to_another_repository_gains_nothing() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.commit(&topic, "a secret subject");
    repository.run(&topic, &["run", "--note", "a secret note"]).expect(0);
    let thief = repository.at("thief");
    std::fs::create_dir(&thief).unwrap();
    let targets = [main.join(".git/worktrees/topic"), main.join(".git")];
    let (mut cases, link) = (Vec::new(), thief.join(".git"));
    cases.extend(targets.iter().map(|target| format!("gitdir: {}\n", target.display())));
    for case in cases {
        std::fs::write(&link, &case).unwrap();
        let warmup = repository.run(&thief, &["warmup"]).expect(0);
        assert!(!warmup.stdout.contains("secret") && !warmup.stdout.contains("topic"), "{}", warmup.stdout);
        let run = repository.run(&thief, &["run", "--note", "said by the thief"]).expect(0);
        assert!(!run.stderr.contains("topic"), "{}", run.stderr);
        assert!(!repository.world.read(NOTES).contains("said by the thief"));
        assert!(thief.join(NOTES).exists(), "it is a directory without a repository");
    }
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(main.join(".git"), &link).unwrap();
    let warmup = repository.run(&thief, &["warmup"]).expect(0).stdout;
    assert!(!warmup.contains("secret") && !warmup.contains("now on"), "{warmup}");
    // A pipe in its place holds nobody up.
    std::fs::remove_file(&link).unwrap();
    assert!(Command::new("mkfifo").arg(&link).status().unwrap().success());
    drop(repository.run(&thief, &["check"]));
    drop(repository.run(&thief, &["warmup"]).expect(0).stderr_ignored("whatever is said about the pipe"));
}

/// The worktree is cut off from its repository for the time of `act`, as if it belonged to none.
pub fn on_its_own<T>(repository: &Repository, name: &str, act: impl FnOnce() -> T) -> T {
    let link = repository.main().join(".git/worktrees").join(name).join("gitdir");
    let aside = link.with_file_name("gitdir-aside");
    std::fs::rename(&link, &aside).unwrap();
    let done = act();
    std::fs::rename(&aside, &link).unwrap();
    done
}

#[test]
fn memory_that_was_left_in_a_worktree_is_merged_once() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.run(&main, &["run", "--note", "said in main"]).expect(0);
    on_its_own(&repository, "topic", || {
        repository.run(&topic, &["run", "--note", "left in topic"]).expect(0);
        repository.run(&topic, &["memory", "add", "decision", "Left on purpose"]).expect(0);
        // One that is not finished.
        let mut killed = repository.command(&topic, &["run", "--note", "unfinished in topic"]);
        finish(killed.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(KILLED);
    });
    assert!(topic.join("memory").exists() && topic.join(".agent-history").exists());
    std::fs::write(topic.join("memory/own.txt"), "the user's own file").unwrap();
    let merged = repository.run(&topic, &["run", "--note", "said in topic"]).expect(0);
    assert!(merged.stderr.contains("merged the memory of this worktree"), "{}", merged.stderr);
    for _ in 0..2 {
        let notes = repository.world.read(NOTES);
        for note in ["said in main", "left in topic", "unfinished in topic", "said in topic"] {
            assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{note}: {notes}");
        }
        let found = repository.handoffs(&main);
        assert_eq!(found.len(), 4, "{found:?}");
        let listed = repository.run(&main, &["memory", "list"]).expect(0).stdout;
        assert_eq!(listed.matches("Left on purpose").count(), 1, "{listed}");
        assert!(!listed.contains("came along"), "{listed}");
        assert!(!topic.join("memory/layer1").exists() && !topic.join(".agent-history").exists());
        assert_eq!(std::fs::read_to_string(topic.join("memory/own.txt")).unwrap(), "the user's own file");
        // Nothing is merged again.
        let again = repository.run(&topic, &["run", "--resume"]).expect(0);
        assert!(!again.stderr.contains("merged the memory"), "{}", again.stderr);
    }
    std::fs::remove_file(topic.join("memory/own.txt")).unwrap();
    assert_eq!(repository.status(&topic), "");
    repository.git(&main, &["worktree", "remove", topic.to_str().unwrap()]);
}

#[test]
fn killed_while_it_merges_a_worktree_nothing_is_lost_or_doubled() {
    for (point, nth) in [("fs.replaced", 2), ("fs.replaced", 4), ("fs.moved", 1), ("fs.moved", 4), ("fs.written", 6)] {
        let repository = Repository::new();
        let (main, topic) = (repository.main(), repository.add("topic"));
        repository.run(&main, &["run", "--note", "said in main"]).expect(0);
        on_its_own(&repository, "topic", || repository.run(&topic, &["run", "--note", "left in topic"]).expect(0));
        let mut killed = repository.command(&topic, &["run", "--note", "said in topic"]);
        let ended = finish(killed.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{nth}=kill")));
        drop(ended.stderr_ignored("it may have been killed"));
        repository.run(&topic, &["run", "--resume"]).expect(0).stderr_ignored("what is merged is reported");
        let notes = repository.world.read(NOTES);
        for note in ["said in main", "left in topic", "said in topic"] {
            assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{point}:{nth} {note}: {notes}");
        }
        assert_eq!(repository.handoffs(&main).len(), 3, "{point}:{nth}");
        assert!(!topic.join("memory").exists() || !topic.join("memory/layer1").exists());
    }
}

/// The program for somebody who became root to make a mount: it runs as the user who they are otherwise.
fn as_before(world: &World) -> PathBuf {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() {
        return BINARY.into();
    }
    let script = world.home().join("as-before");
    let (user, group) = (user.as_raw(), group.as_raw());
    let text = format!("#!/bin/sh\nexec unshare --map-user={user} --map-group={group} \"{BINARY}\" \"$@\"\n");
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

/// Runs a script in a worktree while the main one cannot be written; `None` where nobody may mount.
pub fn with_read_only_main(repository: &Repository, worktree: &Path, script: &str) -> Option<Output> {
    let script = format!(
        "mount --bind {0} {0} && mount -o remount,bind,ro {0} && cd {1} && {{ {script}; }}",
        repository.main().display(),
        worktree.display()
    );
    let mut command = repository.world.clean("unshare");
    let output = finish(command.args(["-rm", "sh", "-c", &script]).env("BINARY", as_before(&repository.world)));
    let is_refused = output.stderr.contains("unshare:") || output.stderr.contains("mount:");
    if is_refused { None } else { Some(output) }
}

#[test]
fn while_the_main_tree_is_read_only_its_memory_is_seen_and_words_outlive_their_worktree() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.run(&main, &["run", "--note", "said in main"]).expect(0);
    repository.run(&main, &["memory", "add", "decision", "Parse once"]).expect(0);
    repository.run(&main, &["memory", "add", "decision", "Parse twice"]).expect(0);
    let script = "\"$BINARY\" warmup; \"$BINARY\" run --note 'said meanwhile'; echo \"exit $?\"
        \"$BINARY\" memory add decision 'Decided meanwhile'; \"$BINARY\" history list; \"$BINARY\" check; echo \"exit $?\"";
    let Some(output) = with_read_only_main(&repository, &topic, script) else {
        return skip("this machine lets nobody make a mount");
    };
    assert!(output.stdout.contains("exit 0\n") && output.stdout.ends_with("exit 2\n"), "{}", output.seen());
    assert!(output.stdout.contains("Parse once"), "the shared memory is not seen: {}", output.seen());
    let told = format!("`{}` cannot be written: the words are kept in `", main.display());
    assert!(output.stderr.contains(&told), "{}", output.seen());
    let list = &output.stdout[output.stdout.find("WHEN ").unwrap()..];
    assert!(list.contains("said in main") && list.contains("said meanwhile"), "{list}");
    assert!(!repository.world.read(NOTES).contains("said meanwhile"));
    // Nothing of ours is in the worktree, so it may go.
    repository.git(&main, &["worktree", "remove", topic.to_str().unwrap()]);
    let status = repository.run(&main, &["status"]).expect(0).stdout;
    assert!(status.contains("not merged: your own state has memory of the time"), "{status}");
    // What was deleted here meanwhile does not come back.
    let listed = repository.run(&main, &["memory", "list", "--json"]).expect(0).json();
    let twice = listed["items"].as_array().unwrap().iter().find(|item| item["text"] == "Parse twice").unwrap();
    repository.run(&main, &["memory", "delete", twice["id"].as_str().unwrap()]).expect(0);
    let merged = repository.run(&main, &["run", "--resume"]).expect(0).stderr;
    assert!(merged.contains("merged the memory that was kept in your own state into"), "{merged}");
    for _ in 0..2 {
        let notes = repository.world.read(NOTES);
        for note in ["said in main", "said meanwhile"] {
            assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{note}: {notes}");
        }
        let found = repository.handoffs(&main);
        assert_eq!(found["said meanwhile"], ("topic".to_owned(), Some(topic.display().to_string())));
        assert_eq!(found.len(), 2, "{found:?}");
        let items = repository.run(&main, &["memory", "list"]).expect(0).stdout;
        assert!(items.contains("Parse once") && items.contains("Decided meanwhile"), "{items}");
        assert!(!items.contains("Parse twice") && !items.contains("came along"), "{items}");
        let again = repository.run(&main, &["run", "--resume"]).expect(0).stderr;
        assert!(!again.contains("merged"), "{again}");
    }
}

#[test]
fn a_handover_that_could_not_publish_while_the_main_tree_was_read_only_is_finished_later() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    let config = "[backend]\ntype = \"git\"\nbranch = \"agent-handover\"\npush = false\n";
    std::fs::write(topic.join("handover.toml"), config).unwrap();
    let script = "\"$BINARY\" run --quiet --note 'said meanwhile'; echo \"exit $?\"";
    let Some(output) = with_read_only_main(&repository, &topic, script) else {
        return skip("this machine lets nobody make a mount");
    };
    assert!(output.stdout.ends_with("exit 1\n"), "{}", output.seen());
    repository.git(&main, &["worktree", "remove", "--force", topic.to_str().unwrap()]);
    let checked = repository.run(&main, &["check"]).expect(1).stdout;
    assert!(checked.contains("run `agent-handover run --resume`"), "{checked}");
    drop(repository.run(&main, &["run", "--resume"]).expect(0).stderr_ignored("it tells what is merged"));
    assert!(repository.git(&main, &["show", &format!("agent-handover:{NOTES}")]).contains("said meanwhile"));
    assert_eq!(repository.world.read(NOTES).matches("\nsaid meanwhile\n").count(), 1);
    assert_eq!(repository.run(&main, &["check"]).expect(0).stdout, "no handover on record\n");
}

/// The last resort.
#[test]
fn words_are_kept_in_the_worktree_if_neither_the_main_tree_nor_the_home_can_be_written() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.run(&main, &["run", "--note", "said in main"]).expect(0);
    let script = "mount --bind \"$HOME\" \"$HOME\" && mount -o remount,bind,ro \"$HOME\"
        \"$BINARY\" run --note 'said meanwhile'; echo \"exit $?\"";
    let Some(output) = with_read_only_main(&repository, &topic, script) else {
        return skip("this machine lets nobody make a mount");
    };
    assert!(output.stdout.ends_with("exit 0\n"), "{}", output.seen());
    assert!(output.stderr.contains("do not remove it before a later handover has merged them"), "{}", output.seen());
    assert!(std::fs::read_to_string(topic.join(NOTES)).unwrap().contains("said meanwhile"));
    let merged = repository.run(&topic, &["run", "--note", "said later"]).expect(0);
    assert!(merged.stderr.contains("merged the memory of this worktree"), "{}", merged.stderr);
    let notes = repository.world.read(NOTES);
    for note in ["said in main", "said meanwhile", "said later"] {
        assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{note}: {notes}");
    }
    assert_eq!(repository.handoffs(&main).len(), 3);
}

/// Sessions in four worktrees and the main one end at once; `fault` may kill any of the processes. Ends that were killed
/// are repeated, as the next session would.
fn ended_at_once(fault: Option<&str>) {
    let repository = Repository::new();
    let main = repository.main();
    let mut places = vec![("main".to_owned(), main.clone())];
    places.extend((1..5).map(|n| (format!("w{n}"), repository.add(&format!("w{n}")))));
    for (branch, place) in &places {
        repository.begin(place, branch, &format!("Work on part {branch}"));
    }
    let end = |(branch, place): &(String, PathBuf), fault: Option<&str>| {
        let payload = json!({
            "session_id": branch, "transcript_path": repository.transcript(branch), "cwd": place,
            "hook_event_name": "SessionEnd",
        });
        let mut command = repository.world.command(&["hook", "--agent", "claude-code"]);
        if let Some(fault) = fault {
            command.env("AGENT_HANDOVER_TEST_FAULT", format!("{fault}=kill"));
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // One that is killed early reads nothing.
        let _ = child.stdin.take().unwrap().write_all(payload.to_string().as_bytes());
        child
    };
    let children: Vec<Child> = places.iter().map(|place| end(place, fault)).collect();
    children.into_iter().for_each(|child| drop(output(child).stderr_ignored("it may have been killed")));
    repository.settle();
    // A worktree may be gone by then.
    repository.git(&main, &["worktree", "remove", places[4].1.to_str().unwrap()]);
    for place in &places {
        drop(output(end(place, None)).expect(0).stderr_ignored("the log of the call"));
        repository.settle();
    }
    let resumed = repository.run(&main, &["run", "--resume"]).expect(0);
    drop(resumed.stderr_ignored("there may be nothing left"));
    let found = repository.handoffs(&main);
    let expected: BTreeMap<String, (String, Option<String>)> = places
        .iter()
        .map(|(branch, place)| {
            let worktree = (place != &main).then(|| place.display().to_string());
            (format!("Work on part {branch}"), (branch.clone(), worktree))
        })
        .collect();
    assert_eq!(found, expected, "{fault:?}");
    let notes = repository.world.read(NOTES);
    for (branch, place) in &places {
        assert_eq!(notes.matches(&format!("\nGoal: Work on part {branch}\n")).count(), 1, "{notes}");
        assert!(!place.join(".agent-handover").exists() || place == &main, "{}", place.display());
    }
    repository.world.assert_database_is_sound();
}

#[test]
fn sessions_that_end_at_once_in_five_worktrees_share_one_memory() {
    ended_at_once(None);
}

#[test]
fn killed_while_five_worktrees_end_nothing_is_lost_or_doubled() {
    let faults = ["checkpoint.recorded:1", "step.acted:3", "fs.replaced:2", "queue.empty:1"];
    for fault in faults.into_iter().step_by(stride(2)) {
        ended_at_once(Some(fault));
    }
}

/// The whole sweep: `cargo test --test it -- --ignored worktrees`, about two minutes.
#[test]
#[ignore = "takes minutes: cargo test --test it -- --ignored killed_anywhere_while_five_worktrees"]
fn killed_anywhere_while_five_worktrees_end_nothing_is_lost_or_doubled() {
    for point in agent_handover::testing::base::fault::POINTS {
        for nth in [1, 2, 3, 5, 8] {
            ended_at_once(Some(&format!("{point}:{nth}")));
        }
    }
}

#[test]
fn a_worktree_asks_git_no_more_than_the_main_tree() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    let log = repository.world.home().join("git.log");
    let path = repository.world.stand_in_for_git(&format!("echo \"$@\" >> {}\nexec $GIT \"$@\"", log.display()));
    let asked = |directory: &Path, arguments: &[&str]| {
        let _ = std::fs::remove_file(&log);
        let ended = finish(repository.command(directory, arguments).env("PATH", &path));
        assert!([0, 2].contains(&ended.code), "{}", ended.seen());
        std::fs::read_to_string(&log).unwrap_or_default().lines().count()
    };
    asked(&main, &["run", "--note", "first"]);
    for arguments in [&["run", "--note", "second"][..], &["check"], &["status"], &["warmup"]] {
        assert_eq!(asked(&topic, arguments), asked(&main, arguments), "{arguments:?}");
    }
}

#[test]
fn info_exclude_hides_memory_once_and_never_a_tracked_file() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.run(&topic, &["run", "--note", "said in topic"]).expect(0);
    repository.run(&main, &["run", "--note", "said in main"]).expect(0);
    let exclude = repository.world.read(".git/info/exclude");
    assert_eq!(exclude.matches("/memory/").count(), 1, "{exclude}");
    assert!(!main.join(".git/worktrees/topic/info/exclude").exists());
    // A branch that has a directory of this name for other things still shows what changes in it.
    std::fs::create_dir(topic.join("memory")).unwrap();
    std::fs::write(topic.join("memory/of-code.txt"), "1").unwrap();
    repository.git(&topic, &["add", "-f", "memory/of-code.txt"]);
    repository.commit(&topic, "code about memory");
    std::fs::write(topic.join("memory/of-code.txt"), "2").unwrap();
    assert_eq!(repository.status(&topic), " M memory/of-code.txt\n");
}

#[test]
fn items_carry_their_branch_and_warmup_names_the_one_that_is_not_here() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.commit(&topic, "only in topic");
    repository.run(&topic, &["memory", "add", "decision", "Parse twice"]).expect(0);
    repository.run(&main, &["memory", "add", "decision", "Parse once"]).expect(0);
    let state = repository.world.read(STATE);
    assert!(state.contains(" branch=topic -->") && state.contains(" branch=main -->"), "{state}");
    let listed = repository.run(&main, &["memory", "list", "--json"]).expect(0).json();
    let branches: Vec<_> = listed["items"].as_array().unwrap().iter().map(|item| &item["branch"]).collect();
    assert!(branches.contains(&&json!("topic")) && branches.contains(&&json!("main")), "{listed}");
    let warmup = repository.run(&main, &["warmup"]).expect(0).stdout;
    let of_topic = warmup.lines().find(|line| line.contains("Parse twice")).unwrap();
    assert!(of_topic.contains(" on topic, which is not in this branch)"), "{of_topic}");
    let of_main = warmup.lines().find(|line| line.contains("Parse once")).unwrap();
    assert!(!of_main.contains("not in this branch"), "{of_main}");
}

#[test]
fn a_project_in_a_subdirectory_has_its_counterpart_in_the_main_tree() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    std::fs::create_dir_all(topic.join("parts/parser/src")).unwrap();
    std::fs::write(topic.join("parts/parser/handover.toml"), "").unwrap();
    // The branch of the main tree does not have the directory.
    repository.run(&topic.join("parts/parser/src"), &["run", "--note", "said in a part"]).expect(0);
    let notes = std::fs::read_to_string(main.join("parts/parser").join(NOTES)).unwrap();
    assert!(notes.contains("said in a part"), "{notes}");
    assert_eq!(repository.status(&main), "");
    // Nor may a link there lead anywhere else.
    let outside = repository.at("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(topic.join("linked")).unwrap();
    std::fs::write(topic.join("linked/handover.toml"), "").unwrap();
    std::os::unix::fs::symlink(&outside, main.join("linked")).unwrap();
    repository.run(&topic.join("linked"), &["run", "--note", "said beside a link"]).expect(0);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert!(topic.join("linked").join(NOTES).exists());
}

#[test]
fn a_worktree_inside_the_main_tree_may_be_gone_before_the_end() {
    let repository = Repository::new();
    let main = repository.main();
    let inner = main.join(".trees/inner");
    repository.git(&main, &["worktree", "add", "--quiet", "-b", "inner", inner.to_str().unwrap()]);
    std::fs::create_dir(inner.join("src")).unwrap();
    repository.begin(&inner.join("src"), "s1", "Make the lexer strict");
    repository.git(&main, &["worktree", "remove", "--force", inner.to_str().unwrap()]);
    repository.end(&inner.join("src"), "s1");
    let expected = ("inner".to_owned(), Some(inner.display().to_string()));
    assert_eq!(repository.handoffs(&main), [("Make the lexer strict".to_owned(), expected)].into());
}
