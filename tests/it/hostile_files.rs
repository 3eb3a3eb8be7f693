//! Symlinks, pipes, files of other users and failing disks in the places where we write.

use std::os::unix::fs::PermissionsExt;

use super::prepared::Prepared;
use super::support::*;

/// Makes a named pipe that no process ever opens.
fn pipe(world: &World, path: &str) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_symlink_in_the_state_directory_destroys_and_creates_nothing() {
    for name in ["lock", "checkpoint.db", ".gitignore", "log"] {
        for target in ["precious", "absent"] {
            let world = World::with_config("[[step]]\nname = \"c\"\nkind = \"command\"\nrun = [\"true\"]\n");
            world.write("../precious", "precious");
            std::fs::create_dir(world.path(".agent-handover")).unwrap();
            std::os::unix::fs::symlink(format!("../../{target}"), world.path(".agent-handover").join(name)).unwrap();
            let output = world.run(&["run", "--note", "x"]).expect(1);
            assert!(output.stderr.contains("is a symlink"), "{name}: {}", output.stderr);
            assert_eq!(world.read("../precious"), "precious", "{name}");
            assert!(!world.exists("../absent"), "{name}");
        }
    }
}

#[test]
fn a_user_file_is_not_taken_for_a_lock() {
    let world = World::new();
    world.write("lock", "data");
    world.write("checkpoint.db.lock", "data");
    let output = world.run(&["run", "--checkpoint", "checkpoint.db", "--note", "x"]).expect(1);
    assert!(output.stderr.contains("is not a lock of agent-handover; 01M7"), "{}", output.stderr);
    assert_eq!(world.read("lock"), "data");
    world.run(&["run", "--checkpoint", "lock", "--note", "x"]).expect(64);
    world.run(&["run", "--checkpoint", "cp.db", "--note", "x"]).expect(0);
    assert_eq!(world.read("lock"), "data");
    // Two checkpoints in one directory do not wait for each other.
    assert!(world.exists("cp.db.lock"));
}

#[test]
fn a_pipe_where_a_file_should_be_does_not_hang_anything() {
    for path in [NOTES, ".agent-handover/.gitignore", ".agent-handover/lock", ".agent-handover/checkpoint.db"] {
        let world = World::new();
        pipe(&world, path);
        for arguments in [&["run", "--note", "x"][..], &["check"], &["status"]] {
            let output = world.run(arguments);
            assert_ne!(output.code, 137, "{path} {arguments:?}");
            if arguments[0] == "run" {
                assert_eq!(output.code, 74, "{path}: {}", output.stderr);
                assert!(output.stderr.contains("is not a plain file"), "{path}: {}", output.stderr);
            }
        }
    }
    let world = World::new();
    pipe(&world, "PAUSE");
    world.run(&["run", "--note", "x"]).expect(3);
    let world = World::with_git();
    std::fs::remove_file(world.path(".git/info/exclude")).unwrap();
    pipe(&world, ".git/info/exclude");
    let output = world.run(&["run", "--note", "x"]).expect(0);
    assert!(output.stderr.contains("the memory directories will show up in `git status`"), "{}", output.stderr);
}

#[test]
fn a_checkpoint_or_state_directory_of_another_user_is_refused() {
    for path in [".agent-handover/checkpoint.db", ".agent-handover"] {
        let world = World::with_config("[[step]]\nname = \"c\"\nkind = \"command\"\nrun = [\"touch\", \"../pwned\"]\n");
        let mut killed = world.command(&["run"]);
        finish(killed.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(137);
        std::fs::remove_file(world.path("handover.toml")).unwrap();
        if std::os::unix::fs::chown(world.path(path), Some(12345), None).is_err() {
            return skip("only root can make a file of another user");
        }
        let output = world.run(&["run", "--note", "mine"]).expect(65);
        assert!(output.stderr.contains("belongs to user 12345, not to you"), "{}", output.stderr);
        assert!(!world.exists("../pwned"));
    }
}

#[test]
fn a_state_directory_that_holds_other_files_is_refused() {
    let world = World::with_config("[handover]\nstate_dir = \"src\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    world.write("src/main.c", "int main;");
    let output = world.run(&["run", "--note", "x"]).expect(65);
    assert!(output.stderr.contains("holds files that agent-handover did not write"), "{}", output.stderr);
    assert!(output.stderr.contains("handover.toml:2:13"), "{}", output.stderr);
    assert!(!world.exists("src/.gitignore"));
    std::fs::remove_file(world.path("src/main.c")).unwrap();
    world.run(&["run", "--note", "x"]).expect(0);
    world.run(&["run", "--note", "y"]).expect(0);
}

#[test]
fn odd_directory_names_are_excluded_from_git_status_or_reported() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::with_git();
    for (name, works) in [(&b"a b[c]*"[..], true), (b"bad\xff", true), (b"line\nbreak", false)] {
        let directory = world.root().join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("handover.toml"), "[[step]]\nname = \"n\"\nkind = \"note\"\n").unwrap();
        let output = finish(world.command(&["run", "--note", "x"]).current_dir(&directory)).expect(0);
        let told = output.stderr.contains("will show up in `git status`");
        assert_eq!(told, !works, "{}", output.stderr);
        let mut status = world.clean("git");
        let status = status.args(["status", "--porcelain", "-uall"]).current_dir(&directory).output().unwrap();
        let status = String::from_utf8_lossy(&status.stdout).into_owned();
        assert_eq!(status.lines().filter(|line| line.contains("memory/")).count(), usize::from(!works), "{status}");
        std::fs::remove_dir_all(directory).unwrap();
    }
    let exclude = std::fs::read(world.path(".git/info/exclude")).unwrap();
    let exclude = String::from_utf8_lossy(&exclude);
    assert!(!exclude.contains("break"), "{exclude}");
}

#[test]
fn an_exclude_file_behind_a_symlink_is_not_written() {
    for linked in [".git/info/exclude", ".git/info"] {
        let world = World::with_git();
        let outside = world.home().join("outside");
        std::fs::rename(world.path(linked), &outside).unwrap();
        std::os::unix::fs::symlink(&outside, world.path(linked)).unwrap();
        let before = world.read(".git/info/exclude");
        let output = world.run(&["run", "--note", "x"]).expect(0);
        assert!(output.stderr.contains("the memory directories will show up in `git status`"), "{}", output.stderr);
        assert!(output.stderr.contains("is a symlink"), "{}", output.stderr);
        assert!(world.path(linked).is_symlink());
        assert_eq!(world.read(".git/info/exclude"), before);
    }
}

#[test]
fn a_log_is_not_written_through_a_symlink() {
    for linked in [".agent-handover/log", ".agent-handover/log/hook.log"] {
        let world = World::with_git();
        world.run(&["run", "--note", "x"]).expect(0);
        let outside = world.home().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("hook.log"), "precious\n").unwrap();
        let _ = std::fs::remove_dir_all(world.path(".agent-handover/log"));
        if linked.ends_with("hook.log") {
            std::fs::create_dir(world.path(".agent-handover/log")).unwrap();
            std::os::unix::fs::symlink(outside.join("hook.log"), world.path(linked)).unwrap();
        } else {
            std::os::unix::fs::symlink(&outside, world.path(linked)).unwrap();
        }
        for event in ["SessionStart", "SessionEnd"] {
            let payload =
                format!(r#"{{"hook_event_name":"{event}","session_id":"s","cwd":"{}"}}"#, world.root().display());
            let mut command = world.command(&["hook", "--agent", "claude-code"]);
            let command = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
            let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
            output(child).stderr_ignored("the log says that it is a link").expect(0);
        }
        wait_until("background runs to end", || world.run(&["check"]).code != 4);
        let names = std::fs::read_dir(&outside).unwrap().count();
        assert_eq!((names, std::fs::read_to_string(outside.join("hook.log")).unwrap().as_str()), (1, "precious\n"));
        let own = world.home().join(".local/state/agent-handover/hook.log");
        assert!(std::fs::read_to_string(own).unwrap().contains("session-end"), "{linked}");
    }
}

#[test]
fn no_directory_of_ours_may_be_inside_a_git_directory() {
    for key in ["memory_dir", "history_dir", "state_dir"] {
        for place in [".git/hooks", ".GIT/x", "sub/.git", "link/hooks"] {
            let world = World::with_git();
            std::os::unix::fs::symlink(".git", world.path("link")).unwrap();
            world.write(
                "handover.toml",
                format!("[handover]\n{key} = \"{place}\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n"),
            );
            let before = world.everything();
            let output = world.run(&["run", "--note", "x"]).expect(65);
            assert!(output.stderr.contains("is inside a git directory"), "{key} {place}: {}", output.stderr);
            assert_eq!(world.everything(), before);
        }
    }
}

#[test]
fn a_config_that_is_a_symlink_is_refused_and_not_quoted() {
    for path in ["handover.toml", ".agent-handover/handover.toml"] {
        let world = World::new();
        world.write("../private/key", "s3cr3t of the victim\n");
        std::fs::create_dir_all(world.path(".agent-handover")).unwrap();
        std::os::unix::fs::symlink(world.path("../private/key").canonicalize().unwrap(), world.path(path)).unwrap();
        for arguments in [&["status"][..], &["warmup"], &["run", "--note", "x"], &["check"]] {
            let output = world.run(arguments);
            assert!(!output.seen().contains("s3cr3t"), "{path}: {}", output.seen());
            assert!(output.stderr.contains("is a symlink"), "{path}: {}", output.seen());
        }
        world.run(&["run", "--note", "x"]).expect(65);
    }
}

#[test]
fn a_relative_program_is_one_of_the_project() {
    let world = World::with_git();
    world.write("handover.toml", "[[step]]\nname = \"c\"\nkind = \"command\"\nrun = [\"./script\"]\n");
    for (path, text) in [("script", "right"), ("sub/script", "wrong")] {
        world.write(path, format!("#!/bin/sh\necho {text} > \"$PWD/ran\"\n"));
        std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    finish(world.command(&["run"]).current_dir(world.path("sub"))).expect(0);
    assert_eq!(world.read("ran"), "right\n");
}

#[test]
fn waiting_for_standard_input_can_be_interrupted() {
    let world = World::new();
    let mut command = world.command(&["run", "--note-file", "-"]);
    let child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    let input = child.stdin.take();
    signal(child.id(), "TERM");
    output(child).expect(143);
    drop(input);
    assert!(!world.exists(".agent-handover"));
}

#[test]
fn signals_ignored_at_start_stay_ignored() {
    let world = World::with_config(
        "[[step]]\nname = \"slow\"\nkind = \"command\"\nshell = \"touch up; while ! test -e go; do sleep 0.01; done\"\n",
    );
    let mut command = world.clean("nohup");
    command.arg(BINARY).arg("run").stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    world.wait_for("up");
    signal(child.id(), "HUP");
    world.write("go", "");
    output(child).expect(0);
}

#[test]
fn an_interrupt_does_not_wait_for_a_git_that_hangs_nor_for_a_locked_database() {
    let world = World::with_git();
    let path = world.stand_in_for_git("touch up; exec sleep 600");
    let start = |world: &World| {
        let mut command = world.command(&["run", "--note", "x"]);
        let command =
            command.env("PATH", &path).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let child = start(&world);
    world.wait_for("up");
    signal(child.id(), "INT");
    output(child).expect(130);
    std::fs::remove_file(world.home().join("bin/git")).unwrap();
    world.run(&["run", "--note", "first"]).expect(0);
    let database = world.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let child = start(&world);
    // The database is locked, so it cannot get further than opening it.
    wait_until("it to open the database", || has_open(child.id(), "checkpoint.db"));
    signal(child.id(), "INT");
    output(child).expect(130);
}

/// Runs with a system call made to fail; `None` where there is no strace.
fn with_failing(world: &World, inject: &str, arguments: &[&str]) -> Option<Output> {
    let mut command = world.clean("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,write,pwrite64", "-e", inject, BINARY])
        .args(arguments);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().ok().map(output)
}

#[test]
fn a_failing_disk_never_loses_or_doubles_a_note() {
    let world = World::with_config(
        "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n",
    );
    world.run(&["run", "--note", "first"]).expect(0);
    let prepared = Prepared::new(&world);
    for error in ["EIO", "ENOSPC"] {
        for call in ["fsync", "pwrite64"] {
            for nth in (1..).step_by(stride(4)) {
                let world = prepared.again();
                let inject = format!("inject={call}:error={error}:when={nth}");
                let Some(output) = with_failing(world, &inject, &["run", "--note", "SECOND"]) else {
                    return skip("strace is not installed");
                };
                if output.code == 0 {
                    break;
                }
                assert_eq!(output.code, 74, "{inject}: {}", output.stderr);
                // Whoever does as told ends with it said once.
                match (output.stderr.contains("nothing was recorded"), output.stderr.contains("--resume")) {
                    (true, false) => world.run(&["run", "--note", "SECOND"]).expect(0),
                    (false, true) => world.run(&["run", "--resume"]).expect(0),
                    _ => panic!("{inject}: it does not say what to do: {}", output.stderr),
                };
                assert_eq!(world.read(NOTES).matches("\nSECOND\n").count(), 1, "{inject}: {}", output.stderr);
            }
        }
    }
}

#[test]
fn a_read_only_project_can_be_asked_but_not_written() {
    if !is_installed("unshare") {
        return skip("this machine lets nobody mount");
    }
    let world = World::with_config("[[step]]\nname = \"no\"\nkind = \"command\"\nrun = [\"false\"]\n");
    world.run(&["run", "--note", "x"]).expect(1);
    let inside = format!("{BINARY} check; echo $?; {BINARY} status; {BINARY} run --note y; echo $?");
    let script = format!(
        "mount --bind . . && mount -o remount,ro,bind . . && cd $PWD && rm -f .agent-handover/checkpoint.db-shm; {inside}"
    );
    let mut command = world.clean("unshare");
    let output = finish(command.args(["-rm", "sh", "-c", &script]));
    if output.stderr.contains("Operation not permitted")
        || output.stderr.contains("permission denied")
        || output.code == 127
    {
        return skip("this machine lets nobody mount");
    }
    assert!(output.stdout.starts_with("interrupted: handover "), "{}", output.seen());
    assert!(output.stdout.contains("\n1\nstatus: in_progress\n"), "{}", output.seen());
    assert!(output.stdout.ends_with("\n74\n"), "{}", output.seen());
    assert!(output.stderr.contains("nothing was recorded"), "{}", output.seen());
}

#[test]
fn a_lock_damaged_by_a_power_cut_is_taken() {
    for text in [&[0u8; 40][..], b"", b"{\"pid\":12", b"{\"pid\":\0\0\0"] {
        let world = World::new();
        world.write(".agent-handover/lock", text);
        world.run(&["run", "--note", "n"]).expect(0);
    }
}

#[test]
fn every_command_reports_a_file_size_limit() {
    for arguments in ["init", "pause --reason x"] {
        let world = World::new();
        let script = format!("ulimit -f 0; exec {BINARY} {arguments}");
        let output = finish(world.clean("sh").args(["-c", &script]));
        assert_eq!(output.code, 74, "{arguments}: {}", output.stderr);
        assert_eq!(world.strays(), [""; 0]);
    }
}

#[test]
fn a_long_note_does_not_leave_a_large_database() {
    let world = World::with_config("[[step]]\nname = \"note\"\nkind = \"note\"\n");
    world.write("../big", "a line of a long note\n".repeat(200_000));
    world.run(&["run", "--note-file", "../big"]).expect(0);
    let size =
        |name: &str| std::fs::metadata(world.path(&format!(".agent-handover/{name}"))).map_or(0, |about| about.len());
    assert!(
        size("checkpoint.db") + size("checkpoint.db-wal") < 3_000_000,
        "{} {}",
        size("checkpoint.db"),
        size("checkpoint.db-wal")
    );
}

#[test]
fn two_damaged_databases_in_one_second_are_both_kept() {
    let world = World::new();
    for text in ["first ", "second "] {
        world.write(".agent-handover/checkpoint.db", text.repeat(500));
        let _ = std::fs::remove_file(world.path(".agent-handover/checkpoint.db-wal"));
        let output = world.run(&["run", "--restart", "--note", "n"]).expect(0);
        assert!(output.stderr.contains("the damaged database was moved to"), "{}", output.stderr);
    }
    let aside =
        world.everything().into_keys().filter(|path| path.contains(".damaged-") && !path.contains("-shm")).count();
    assert_eq!(aside, 2);
}

#[test]
fn a_locked_memory_directory_does_not_block_signals() {
    let world = World::new();
    std::fs::create_dir(world.path("memory")).unwrap();
    let held = std::fs::File::open(world.path("memory")).unwrap();
    held.lock().unwrap();
    let child = world.start(&["run", "--note", "n"]);
    wait_until("it to be at the note", || world.run(&["status"]).stdout.contains("[>] note  (running, 1 attempt"));
    signal(child.id(), "TERM");
    output(child).expect(143);
    drop(held);
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(NOTES).contains("\nn\n"));
}
