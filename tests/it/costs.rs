//! What a handover costs, in counts that do not depend on the machine: fsyncs, git processes and opened files.

use super::support::*;

/// Runs under strace and counts the calls that wait for the disk; `None` where there is no strace. The log of the
/// database is emptied first, so that folding it in falls into no count.
fn fsyncs(world: &World, arguments: &[&str]) -> Option<usize> {
    world.database().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let trace = world.home().join("trace");
    let mut command = world.clean("strace");
    command.args(["-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync", "-o"]).arg(&trace);
    let ended = command.arg(BINARY).args(arguments).output().ok()?;
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    Some(std::fs::read_to_string(trace).unwrap().lines().filter(|line| line.contains("sync(")).count())
}

fn config(notes: usize) -> String {
    (0..notes).map(|n| format!("[[step]]\nname = \"note{n}\"\nkind = \"note\"\n")).collect()
}

#[test]
fn a_step_costs_one_fsync_and_a_file_two() {
    let world = World::with_config("[[step]]\nname = \"publish\"\nkind = \"publish\"\n");
    world.run(&["run"]).expect(0);
    let Some(one) = fsyncs(&world, &["run", "--note", "n"]) else {
        return skip("strace is not installed");
    };
    // Beginning the log takes two: its header and its name. Then three transactions: recorded, intended, completed. And
    // the user's own state knows the run before it writes anything, so that what it writes is never taken for a stranger's.
    assert_eq!(one, 2 + 3 + 1);
    world.write("handover.toml", config(1));
    world.run(&["run", "--note", "n"]).expect(0);
    let with = |notes: usize| {
        world.write("handover.toml", config(notes));
        fsyncs(&world, &["run", "--note", "n"]).unwrap()
    };
    // One more transaction for each further step, and two fsyncs for its file: the content and its name.
    assert_eq!([with(1), with(2), with(10)], [6 + 2, 6 + 2 + 3, 6 + 2 + 9 * 3]);
}

#[test]
fn a_command_costs_one_transaction_and_its_files() {
    let world = World::new();
    for n in 0..2 {
        world.run(&["memory", "add", "decision", &format!("number {n}")]).expect(0);
    }
    let Some(cost) = fsyncs(&world, &["memory", "add", "decision", "one more"]) else {
        return skip("strace is not installed");
    };
    // Beginning the log takes two, the record one, and removing it none. Then the user's own state and two files.
    assert_eq!(cost, 2 + 1 + 1 + 2 * 2);
}

#[test]
fn readers_write_nothing_and_never_wait_for_the_disk() {
    let world = World::new();
    world.run(&["run", "--note", "n"]).expect(0);
    let trace = world.home().join("trace");
    for arguments in [["check"], ["status"]] {
        let mut command = world.clean("strace");
        command
            .args(["-f", "-qq", "-y", "-e", "trace=fsync,fdatasync,unlink,rename,ftruncate,write,pwrite64", "-o"])
            .arg(&trace);
        if command.arg(BINARY).args(arguments).output().is_err() {
            return skip("strace is not installed");
        }
        let trace = std::fs::read_to_string(&trace).unwrap();
        // SQLite sets up its shared memory, which is a file by name only; and there is the answer itself.
        let others = trace.lines().filter(|line| !line.contains("checkpoint.db-shm>") && !line.contains(" write(1<"));
        assert_eq!(others.collect::<Vec<_>>(), [""; 0]);
    }
}

/// A git that writes down each call, in front of the real one.
fn count_git(world: &World) -> impl Fn(&[&str]) -> Vec<String> {
    let log = world.home().join("git.log");
    let path = world.stand_in_for_git(&format!("echo \"$@\" >> {}\nexec $GIT \"$@\"", log.display()));
    move |arguments| {
        let _ = std::fs::remove_file(&log);
        let output = finish(world.command(arguments).env("PATH", &path));
        assert!([0, 2].contains(&output.code), "{arguments:?}: {}", output.seen());
        std::fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

#[test]
fn git_is_asked_no_more_than_needed() {
    let world = World::with_git();
    let git = count_git(&world);
    assert_eq!(git(&["check"]).len(), 0);
    // Where the exclude file is, the branch without a commit, what is not committed.
    assert_eq!(git(&["run", "--note", "first"]).len(), 1 + 1 + 1);
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
    // From now on the files of the repository say that we are excluded. The first commit is new: its log and its files.
    assert_eq!(git(&["run", "--note", "second"]).len(), 2 + 1);
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
    let asked: Vec<String> = git(&["run", "--note", "third"]);
    let verbs: Vec<&str> = asked.iter().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(verbs, ["merge-base", "log", "diff-tree", "status"], "{asked:?}");
    // A plan that collects nothing does not ask what happened.
    world.write("handover.toml", "[[step]]\nname = \"note\"\nkind = \"note\"\n");
    assert_eq!(git(&["run", "--note", "fourth"]).len(), 0);
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    assert_eq!(git(&["check"]).len(), 0);
    assert_eq!(git(&["status"]).len(), 0);
    assert_eq!(git(&["pause"]).len(), 0);
    assert_eq!(git(&["unpause"]).len(), 0);
    assert_eq!(git(&["init"]).len(), 1);
    assert_eq!(git(&["warmup"]).len(), 1, "what is not committed");
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
    for n in 0..20 {
        world.run(&["memory", "add", "decision", &format!("number {n}")]).expect(0);
        world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
    }
    // However many commits and branches are in what is remembered.
    let asked = git(&["warmup"]);
    let mut verbs: Vec<&str> = asked.iter().filter_map(|line| line.split(' ').nth(2)).collect();
    verbs.sort_unstable();
    assert_eq!(verbs, ["diff", "log", "rev-list", "rev-parse", "status"], "{asked:?}");
}

/// The files of the project that the page of a new session opens, in order; `None` where there is no strace.
fn opened_at_start(world: &World) -> Option<Vec<String>> {
    let trace = world.home().join("trace");
    let mut command = world.clean("strace");
    command.args(["-f", "-qq", "-y", "-e", "trace=open,openat,openat2", "-o"]).arg(&trace);
    command.arg(BINARY).arg("warmup");
    let ended = command.output().ok()?;
    let [said, complaint] = [&ended.stdout, &ended.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(said.contains("## "), "{said}{complaint}");
    let root = world.root().display().to_string();
    let opened = |line: &str| {
        let file = line.rsplit_once('<')?.1.split('>').next()?;
        let inside = file.strip_prefix(&root)?.trim_start_matches('/');
        std::path::Path::new(file).is_file().then(|| inside.to_owned())
    };
    Some(std::fs::read_to_string(trace).unwrap().lines().filter_map(opened).collect())
}

#[test]
fn a_session_start_opens_no_more_files_however_many_sessions_there_were() {
    let world = World::with_git();
    let sessions = |from: usize, to: usize| {
        for n in from..to {
            world
                .run(&["run", "--note", &format!("part {n} done. tried way {n}, too slow. next: part {}", n + 1)])
                .expect(0);
        }
    };
    sessions(0, 12);
    let Some(after_12) = opened_at_start(&world) else { return skip("strace is not installed") };
    sessions(12, 30);
    let after_30 = opened_at_start(&world).unwrap();
    let archives = |opened: &[String]| opened.iter().filter(|file| file.contains("/sessions/")).count();
    // At most eight before the newest handoff, which LATEST.md holds, and each only once.
    assert_eq!((archives(&after_12), archives(&after_30)), (8, 8), "{after_30:#?}");
    let each_once: std::collections::BTreeSet<&String> =
        after_30.iter().filter(|file| file.contains("/sessions/")).collect();
    assert_eq!(each_once.len(), 8, "{after_30:#?}");
    assert_eq!(after_12.len(), after_30.len(), "{after_12:#?}\n{after_30:#?}");
}

#[test]
fn a_session_start_opens_few_archives_of_strangers_and_finds_ours_behind_them() {
    let world = World::with_git();
    let mut first = world.command(&["run", "--note", "the first part is ours. next: part 2"]);
    finish(first.env("AGENT_HANDOVER_TEST_NOW", "2026-11-13T10:00:00Z")).expect(0).stderr_ignored("progress");
    let sessions = world.path(".agent-history/sessions");
    let ours = std::fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path();
    let (text, id) = (std::fs::read_to_string(&ours).unwrap(), ours.file_stem().unwrap().to_str().unwrap().to_owned());
    for n in 0..30 {
        // Theirs are of the day after, and so newer than ours.
        let of_stranger = text.replace(&id, &format!("s{n:03}")).replace("is ours", &format!("is theirs, {n}"));
        let of_stranger = of_stranger.replace("2026-11-13", "2026-11-14");
        let file = sessions.join(format!("s{n:03}.md"));
        std::fs::write(&file, of_stranger).unwrap();
        // Otherwise git reads them, too: they could have changed since they were added.
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        std::fs::File::options().append(true).open(&file).unwrap().set_modified(long_ago).unwrap();
    }
    // What git tracks came with the repository unless this user's own record has it.
    world.git(&["add", "--force", ".agent-history"]);
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x"]);
    world.run(&["run", "--note", "the second part is ours. next: part 3"]).expect(0);
    let Some(opened) = opened_at_start(&world) else { return skip("strace is not installed") };
    let archives: Vec<&String> = opened.iter().filter(|file| file.contains("/sessions/")).collect();
    assert!(archives.len() <= 12, "{archives:#?}");
    let page = world.run(&["warmup"]).expect(0).stdout;
    assert!(page.contains("the second part is ours") && page.contains("the first part is ours"), "{page}");
}
