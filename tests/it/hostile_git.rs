//! A repository whose own configuration names programs: none of them runs.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::support::*;

/// Every key whose value git may start as a program, with `*` for a name of the repository's choice.
const KEYS: &[&str] = &[
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "filter.a=b.clean",
    "diff.evil.command",
    "diff.evil.textconv",
    "merge.evil.driver",
    "diff.external",
    "core.fsmonitor",
    "core.pager",
    "pager.log",
    "pager.status",
    "pager.diff",
    "core.editor",
    "sequence.editor",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "credential.helper",
    "credential.https://example.invalid.helper",
    "gpg.program",
    "gpg.openpgp.program",
    "gpg.x509.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "interactive.diffFilter",
    "uploadpack.packObjectsHook",
    "gc.recentObjectsHook",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "remote.origin.vcs",
    "trailer.handover-run.command",
    "trailer.handover-run.cmd",
    "submodule.lib.update",
    "alias.status",
    "alias.log",
    "alias.rev-parse",
    "diff.tool",
    "difftool.evil.cmd",
    "mergetool.evil.cmd",
    "browser.evil.cmd",
    "man.evil.cmd",
    "sendemail.smtpServer",
    "sendemail.sendmailCmd",
    "sendemail.toCmd",
    "guitool.evil.cmd",
    "tar.evil.command",
    "web.browser",
    "help.browser",
    "instaweb.browser",
    "maintenance.strategy",
];

/// Every event of an agent's session that a hook is called for, with a payload of its kind.
const EVENTS: &[(&str, &str)] = &[
    ("SessionStart", "startup"),
    ("UserPromptSubmit", "prompt"),
    ("PreCompact", "manual"),
    ("Stop", "stop"),
    ("SessionEnd", "other"),
];

/// Everything that only reads.
const READERS: &[&[&str]] = &[
    &["warmup"],
    &["status"],
    &["check"],
    &["doctor"],
    &["summarize"],
    &["run", "--dry-run"],
    &["history", "list"],
    &["history", "status"],
    &["history", "validate"],
    &["history", "template"],
    &["history", "resume-prompt"],
    &["memory", "list"],
    &["memory", "overview"],
];

/// A project with a stranger's repository in it, and a program that leaves a mark for each key that started it.
struct Trap {
    world: World,
}

impl Trap {
    fn new() -> Trap {
        let trap = Trap { world: World::with_git() };
        trap.world.write("kept", "one\n");
        trap.world.write("other", "one\n");
        trap.world.write(".gitattributes", "kept filter=evil diff=evil merge=evil\nother filter=a=b\n");
        trap.commit("first");
        trap.world.write("../canary", format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexec cat\n", trap.marks().display()));
        std::fs::set_permissions(trap.world.path("../canary"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir(trap.marks().parent().unwrap()).unwrap();
        trap
    }

    fn marks(&self) -> PathBuf {
        self.world.path("../marks/ran")
    }

    fn canary(&self, key: &str) -> String {
        format!("{} {key}", self.world.path("../canary").canonicalize().unwrap().display())
    }

    /// Commits with the user's git, whose configuration is still harmless.
    fn commit(&self, subject: &str) {
        self.world.git(&["add", "-A"]);
        self.world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", subject]);
    }

    /// Makes git look into the files again: their times are newer than what the index knows.
    fn touch(&self) {
        for file in ["kept", "other"] {
            self.world.write(file, "two\n");
        }
    }

    fn ran(&self) -> String {
        std::fs::read_to_string(self.marks()).unwrap_or_default()
    }

    #[track_caller]
    fn assert_quiet(&self, after: &str) {
        assert_eq!(self.ran(), "", "after {after}");
    }

    /// Goes through all events of a session and all reading commands.
    fn go_through_everything(&self) {
        for round in 0..2 {
            for (event, detail) in EVENTS {
                self.touch();
                let payload = serde_json::json!({
                    "hook_event_name": event, "session_id": format!("s-{round}"), "cwd": self.world.root(),
                    "source": detail, "reason": detail, "trigger": detail, "prompt": "go on", "transcript_path": "",
                });
                self.hook(&payload.to_string());
                self.assert_quiet(event);
            }
            for arguments in READERS {
                self.touch();
                self.world.run(arguments).stderr_ignored("only what runs matters");
                self.assert_quiet(&arguments.join(" "));
            }
        }
        // The events came through: the session is on record.
        assert!(self.world.read(".agent-handover/log/hook.log").contains("session-end s-1"));
        wait_until("background runs to end", || self.world.run(&["check"]).code != 4);
        self.assert_quiet("everything");
    }

    fn hook(&self, payload: &str) {
        use std::io::Write;
        use std::process::Stdio;
        let mut command = self.world.command(&["hook", "--agent", "claude-code"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        output(child).expect(0);
    }
}

#[test]
fn no_program_that_a_repository_names_runs() {
    let trap = Trap::new();
    // Something to compare with: a handover before the trap is set, and a commit after it.
    trap.world.run(&["run", "--note", "n"]).expect(0);
    trap.world.write("third", "x");
    trap.commit("second");
    for key in KEYS {
        trap.world.git(&["config", key, &trap.canary(key)]);
    }
    trap.world.git(&["config", "filter.evil.required", "true"]);
    trap.world.git(&["config", "log.showSignature", "true"]);
    trap.world.git(&["config", "protocol.ext.allow", "always"]);
    trap.world.git(&["config", "remote.origin.url", &format!("ext::{}", trap.canary("ext"))]);
    trap.world.git(&["config", "url.ext::x.insteadOf", "https://example.invalid"]);
    let _ = std::fs::remove_file(trap.marks());
    let hooks = trap.world.path(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-index-change", "pre-commit", "reference-transaction", "post-checkout", "fsmonitor-watchman"] {
        std::fs::copy(trap.world.path("../canary"), hooks.join(hook)).unwrap();
    }
    trap.go_through_everything();
    trap.world.run(&["run", "--note", "typed"]).expect(0);
    trap.assert_quiet("a typed run that publishes nothing");
}

#[test]
fn a_filter_does_not_run_by_whatever_file_it_is_defined() {
    for place in ["include", "include-in-tree", "worktree", "capitals", "linked", "worktree-of"] {
        let trap = Trap::new();
        let program = trap.canary(place);
        let text = format!("[filter \"evil\"]\n\tclean = {program}\n\trequired = true\n");
        match place {
            "include" => {
                std::fs::write(trap.world.home().join("more"), text).unwrap();
                let more = trap.world.home().join("more");
                trap.world.git(&["config", "include.path", more.to_str().unwrap()]);
            }
            "include-in-tree" => {
                trap.world.write("settings", text);
                trap.world.git(&["config", "includeIf.gitdir:**.path", "../settings"]);
            }
            "worktree" => {
                trap.world.git(&["config", "extensions.worktreeConfig", "true"]);
                trap.world.write(".git/config.worktree", text);
            }
            "capitals" => {
                let config = trap.world.read(".git/config") + &text.replace("filter", "FilTer");
                trap.world.write(".git/config", config);
            }
            // A configuration that we do not read ourselves, because it is behind a link.
            "linked" => {
                let config = trap.world.read(".git/config") + &text;
                trap.world.write("../config", config);
                std::fs::remove_file(trap.world.path(".git/config")).unwrap();
                std::os::unix::fs::symlink("../../config", trap.world.path(".git/config")).unwrap();
            }
            _ => {
                trap.world.git(&["worktree", "add", "-q", "--detach", "tree"]);
                let config = trap.world.read(".git/config") + &text;
                trap.world.write(".git/config", config);
                trap.world.write("tree/kept", "two\n");
                for arguments in READERS {
                    finish(trap.world.command(arguments).current_dir(trap.world.path("tree")))
                        .stderr_ignored("only what runs matters");
                    trap.assert_quiet(&arguments.join(" "));
                }
            }
        }
        trap.touch();
        trap.world.run(&["warmup"]).expect(0);
        trap.assert_quiet(place);
        trap.world.run(&["run", "--note", "n"]).expect(0);
        trap.assert_quiet(place);
        // The trap would have sprung.
        trap.touch();
        trap.world.git(&["status"]);
        assert_ne!(trap.ran(), "", "{place}: the trap is not one");
    }
}

#[test]
fn a_filter_of_a_submodule_does_not_run() {
    let trap = Trap::new();
    let library = World::with_git();
    library.write("file", "one\n");
    library.write(".gitattributes", "file filter=evil\n");
    library.git(&["add", "-A"]);
    library.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x"]);
    let from = library.root().display().to_string();
    trap.world.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "lib"]);
    trap.commit("with a submodule");
    trap.world.git(&["-C", "lib", "config", "filter.evil.clean", &trap.canary("submodule")]);
    trap.world.write("lib/file", "two\n");
    trap.go_through_everything();
    trap.world.git(&["status"]);
    assert_ne!(trap.ran(), "", "the trap is not one");
}

#[test]
fn a_bare_repository_inside_a_clone_is_refused() {
    let trap = Trap::new();
    // What a plain clone can carry: files that look like a git directory, with a configuration of their own.
    let text = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {}\n[filter \"evil\"]\n\tclean = {}\n",
        trap.world.path("vendor").display(),
        trap.canary("bare")
    );
    trap.world.write("vendor/lib/config", text);
    trap.world.write("vendor/lib/HEAD", "ref: refs/heads/main\n");
    trap.world.write("vendor/lib/refs/keep", "");
    trap.world.write("vendor/lib/objects/keep", "");
    trap.world.write("vendor/lib/info/attributes", "* filter=evil\n");
    trap.world.write("vendor/file", "one\n");
    let inside = trap.world.path("vendor/lib");
    let mut add = trap.world.clean("git");
    assert!(
        add.args(["-C", "vendor/lib", "-c", "filter.evil.clean=cat", "add", "../file"]).status().unwrap().success()
    );
    for place in ["vendor/lib", "vendor"] {
        trap.world.write(
            &format!("{place}/handover.toml"),
            "[handover]\ntag = \"x\"\n[[step]]\nname = \"f\"\nkind = \"collect\"\n",
        );
    }
    for arguments in READERS.iter().chain(&[&["run", "--note", "n"][..]]) {
        trap.world.write("vendor/file", "two\n");
        finish(trap.world.command(arguments).current_dir(&inside)).stderr_ignored("only what runs matters");
        trap.assert_quiet(&arguments.join(" "));
    }
    let mut status = trap.world.clean("git");
    status.arg("status").current_dir(&inside).output().unwrap();
    assert_ne!(trap.ran(), "", "the trap is not one");
}

#[test]
fn a_repository_that_only_looks_like_one_hides_no_other() {
    let trap = Trap::new();
    // git does not take `sub/.git` for a repository, and would go on to the one above, whose configuration is hostile.
    trap.world.write("sub/.git/config", "[core]\n");
    trap.world.write("sub/handover.toml", "[[step]]\nname = \"f\"\nkind = \"collect\"\n");
    trap.world.git(&["config", "filter.evil.clean", &trap.canary("above")]);
    for arguments in READERS.iter().chain(&[&["run", "--note", "n"][..]]) {
        trap.touch();
        finish(trap.world.command(arguments).current_dir(trap.world.path("sub")))
            .stderr_ignored("only what runs matters");
        trap.assert_quiet(&arguments.join(" "));
    }
}

#[test]
fn a_work_tree_elsewhere_is_not_looked_into() {
    let world = World::with_git();
    world.write("../private/secret-plans.txt", "x");
    world.git(&["config", "core.worktree", world.path("../private").to_str().unwrap()]);
    world.write("mine", "x");
    let output = world.run(&["run"]).expect(0);
    let warm = world.run(&["warmup"]).expect(0);
    let seen = format!("{}{}{:?}", output.seen(), warm.seen(), world.tree());
    assert!(!seen.contains("secret-plans"), "{seen}");
    assert!(seen.contains("mine"), "{seen}");
}

/// A stand-in for git-lfs, defined by the user: stores a pointer, shows the content.
fn with_global_filter(trap: &Trap, program: &str) -> PathBuf {
    let global = trap.world.home().join("gitconfig");
    let text = format!("[filter \"evil\"]\n\tclean = {program}\n\tsmudge = cat\n\trequired = true\n");
    std::fs::write(&global, text).unwrap();
    global
}

#[test]
fn a_filter_of_the_users_own_still_gives_a_clean_answer() {
    for also_local in [false, true] {
        let trap = Trap::new();
        let global = with_global_filter(&trap, "tr a-z A-Z");
        let git = |arguments: &[&str]| {
            let mut command = trap.world.clean("git");
            let command = command.args(["-c", "user.name=t", "-c", "user.email=t@example"]);
            let output = command.args(arguments).env("GIT_CONFIG_GLOBAL", &global).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["add", "--renormalize", "kept"]);
        git(&["commit", "-qm", "stored in capitals"]);
        assert_eq!(git(&["cat-file", "blob", "HEAD:kept"]), "ONE\n");
        if also_local {
            trap.world.git(&["config", "filter.evil.clean", &trap.canary("local")]);
        }
        // The same content with a new time: only the filter can tell that nothing changed.
        trap.world.write("kept", "one\n");
        let collect = |trap: &Trap| {
            let mut command = trap.world.command(&["run", "--json"]);
            finish(command.env("GIT_CONFIG_GLOBAL", &global)).expect(0);
            let warm = finish(trap.world.command(&["warmup"]).env("GIT_CONFIG_GLOBAL", &global)).expect(0);
            warm.stdout
        };
        let warm = collect(&trap);
        assert!(!warm.contains("kept"), "{warm}");
        trap.assert_quiet("the user's own filter");
        trap.world.write("kept", "changed\n");
        let warm = collect(&trap);
        assert!(warm.contains("kept"), "{warm}");
        trap.assert_quiet("the user's own filter");
    }
}

#[test]
fn a_file_whose_filter_does_not_run_is_not_called_changed() {
    let trap = Trap::new();
    trap.world.git(&["config", "filter.evil.clean", "tr a-z A-Z"]);
    trap.world.git(&["add", "--renormalize", "kept"]);
    trap.commit("stored in capitals");
    trap.world.write("kept", "one\n");
    trap.world.write("third", "new\n");
    trap.world.write("other", "two\n");
    trap.world.run(&["run", "--note", "n"]).expect(0);
    let warm = trap.world.run(&["warmup"]).expect(0).stdout;
    assert!(!warm.contains("kept"), "{warm}");
    assert!(warm.contains("third") && warm.contains("other"), "{warm}");
}

#[test]
fn a_repository_without_filters_costs_no_more_git() {
    let trap = Trap::new();
    let log = trap.world.home().join("git.log");
    let path = trap.world.stand_in_for_git(&format!("echo \"$@\" >> {}\nexec $GIT \"$@\"", log.display()));
    let count = || {
        let _ = std::fs::remove_file(&log);
        trap.touch();
        finish(trap.world.command(&["warmup"]).env("PATH", &path)).expect(0);
        std::fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    trap.world.run(&["run", "--note", "n"]).expect(0);
    assert_eq!(count().len(), 1);
    trap.world.git(&["config", "filter.evil.clean", "cat"]);
    // Which filters there are, asked once, and which of the changed files have one.
    let asked = count();
    assert_eq!(asked.iter().filter(|line| line.starts_with("config ")).count(), 1, "{asked:?}");
    assert_eq!(asked.len(), 1 + 1 + 1, "{asked:?}");
}
