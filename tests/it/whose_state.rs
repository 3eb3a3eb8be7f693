//! Whose a database is. One that came with a directory is never carried out, ours goes beside it, and neither is forgotten.

use std::path::{Path, PathBuf};

use agent_handover::testing::base::fault::POINTS;

use super::hook::Session;
use super::support::*;

const DATABASE: &str = ".agent-handover/checkpoint.db";

/// Another user, whose last handover failed at a command that leaves a file.
fn stranger() -> World {
    let stranger = World::salted("stranger");
    stranger.git(&["init", "--quiet"]);
    stranger.write(
        "handover.toml",
        "[[step]]\nname = \"evil\"\nkind = \"command\"\nshell = \"touch evil; test -e never\"\n\
         [[step]]\nname = \"note\"\nkind = \"note\"\n",
    );
    stranger.run(&["run", "--note", "words of a stranger"]).expect(1);
    std::fs::remove_file(stranger.path("evil")).unwrap();
    fold(&stranger.path(DATABASE));
    stranger
}

/// Writes the log of a database into it.
fn fold(path: &Path) {
    let database = rusqlite::Connection::open(path).unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

/// Puts the stranger's database into a project.
fn plant(stranger: &World, world: &World) -> Vec<u8> {
    let bytes = std::fs::read(stranger.path(DATABASE)).unwrap();
    world.write(DATABASE, &bytes);
    bytes
}

/// A repository of the victim with a stranger's database in it, checked in.
fn clone_of_a_stranger() -> (World, Vec<u8>) {
    let world = World::with_git();
    let bytes = plant(&stranger(), &world);
    world.git(&["add", "--force", DATABASE]);
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "--quiet", "-m", "x"]);
    (world, bytes)
}

/// The names of the databases in the state directory.
fn databases(world: &World) -> Vec<String> {
    let names = std::fs::read_dir(world.path(".agent-handover")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".db") && !name.starts_with("index"));
    names.sort();
    names
}

fn is_id(file: &Path) -> bool {
    let name = file.file_name().unwrap().to_str().unwrap();
    name != "beside" && !name.starts_with("met-")
}

fn known_ids(world: &World) -> Vec<PathBuf> {
    let ids = std::fs::read_dir(world.home().join(".local/state/agent-handover/states"));
    ids.into_iter().flatten().map(|id| id.unwrap().path()).filter(|file| is_id(file)).collect()
}

#[test]
fn a_checked_in_file_that_is_no_database_does_not_keep_words_from_being_recorded() {
    for bytes in [&b"garbage"[..], b"SQLite format 3\0", &[0; 5_000]] {
        let world = World::with_git();
        world.write(DATABASE, bytes);
        world.run(&["run", "--note", "damaged, not foreign"]).expect(65);
        world.git(&["add", "--force", DATABASE]);
        world.run(&["run", "--note", "our words"]).expect(0);
        assert!(world.read(NOTES).contains("our words"));
        assert_eq!(std::fs::read(world.path(DATABASE)).unwrap(), bytes);
        let status = world.run(&["status"]).expect(0);
        assert!(status.stdout.contains("is not yours and cannot be read"), "{}", status.stdout);
    }
}

#[test]
fn a_database_with_other_tables_than_its_version_says_does_not_keep_words_from_being_recorded() {
    let stranger = stranger();
    for tables in [
        "DROP TABLE meta",
        "ALTER TABLE meta DROP COLUMN value",
        "DROP TABLE meta; CREATE TABLE meta (key, value); INSERT INTO meta VALUES ('id', 7)",
    ] {
        let world = World::with_git();
        plant(&stranger, &world);
        let database = rusqlite::Connection::open(world.path(DATABASE)).unwrap();
        database.execute_batch("PRAGMA journal_mode = DELETE").unwrap();
        database.execute_batch(tables).unwrap();
        drop(database);
        assert!(world.run(&["status"]).expect(0).stdout.contains("is not yours"), "{tables}");
        let start = Session::dying(&world, "s-1").call("SessionStart", serde_json::json!({}));
        assert!(!start.stdout.contains("cannot record"), "{tables}: {}", start.stdout);
        world.run(&["run", "--note", "our words"]).expect(0);
        assert!(world.read(NOTES).contains("our words"), "{tables}");
        assert_eq!(databases(&world).len(), 2, "{tables}");
    }
}

#[test]
fn a_checked_in_database_runs_nothing_and_shows_nothing() {
    let (world, bytes) = clone_of_a_stranger();
    let session = Session::dying(&world, "s-1");
    session.ask("what is here?");
    for event in ["SessionStart", "Stop", "SessionEnd"] {
        let answer = session.call(event, serde_json::json!({})).stderr_ignored("it may report the database");
        assert!(!answer.stdout.contains("words of a stranger"), "{}", answer.stdout);
        assert!(!answer.stdout.contains("--resume"), "{}", answer.stdout);
    }
    wait_until("background runs to end", || world.run(&["check"]).code != 4);
    drop(world.run(&["run", "--resume"]).expect(0).stderr_ignored("it names the database"));
    world.run(&["run", "--note", "my own words"]).expect(0);
    world.run(&["run", "--restart", "--note", "anew"]).expect(0).stderr_ignored("it tells what was abandoned");
    assert!(!world.exists("evil"), "the stranger's command ran");
    assert_eq!(std::fs::read(world.path(DATABASE)).unwrap(), bytes, "the foreign database was changed");
    let notes = world.read(NOTES);
    assert!(notes.contains("my own words") && !notes.contains("words of a stranger"), "{notes}");
    assert_eq!(databases(&world).len(), 2);
}

#[test]
fn check_and_status_name_a_foreign_database_and_answer_for_ours() {
    let (world, _) = clone_of_a_stranger();
    let place = "$WORLD/project/.agent-handover/checkpoint.db";
    let sentence = format!(
        "foreign: `.agent-handover/checkpoint.db` is not yours and has 1 unfinished handover; \
         `agent-handover run --resume --checkpoint {place}` runs what it says, commands included\n"
    );
    assert_eq!(world.run(&["check"]).expect(0).stdout, format!("no handover on record\n{sentence}"));
    assert_eq!(world.run(&["status"]).expect(0).stdout, format!("status: none\n{sentence}"));
    world.run(&["run", "--note", "mine"]).expect(0);
    assert!(world.run(&["check"]).expect(2).stdout.ends_with(&sentence));
    let json = world.run(&["check", "--json"]).expect(2).json();
    assert_eq!(json["foreign"][0]["unfinished"], 1, "{json}");
    let warmup = world.run(&["warmup"]).expect(0).stdout;
    assert!(warmup.contains("is not of this user and has 1 unfinished handover"), "{warmup}");
    assert!(!warmup.contains("--checkpoint"), "an agent would run it: {warmup}");
}

#[test]
fn a_named_database_is_taken_over_for_one_command() {
    let (world, _) = clone_of_a_stranger();
    world.write("never", "");
    world.run(&["run", "--resume", "--checkpoint", DATABASE]).expect(0);
    assert!(world.exists("evil"), "a person said so");
    assert!(world.read(NOTES).contains("words of a stranger"));
    let status = world.run(&["status"]).expect(0).stdout;
    assert!(
        status.contains("foreign: `.agent-handover/checkpoint.db` is not yours; nothing in it is unfinished"),
        "{status}"
    );
    assert_eq!(world.run(&["check"]).expect(0).stdout, "no handover on record\n");
}

#[test]
fn a_database_of_0_1_0_that_is_not_listed_stays_without_an_id_when_it_is_taken_over() {
    let world = World::with_git();
    plant(&stranger(), &world);
    let database = world.database();
    let of_0_1_0 = "DROP TABLE meta; DROP TABLE receipt; ALTER TABLE session DROP COLUMN kept_out; DROP TABLE run_text; DROP TABLE session_word;
        ALTER TABLE session DROP COLUMN warmed_at; DROP TABLE transcript_file; DROP TABLE transcript_place; DROP INDEX session_transcript;
        ALTER TABLE session DROP COLUMN inode; ALTER TABLE session DROP COLUMN beginning;
        ALTER TABLE session DROP COLUMN is_fork; ALTER TABLE run DROP COLUMN worktree; ALTER TABLE run DROP COLUMN branch;
        ALTER TABLE session DROP COLUMN worktree; ALTER TABLE session DROP COLUMN branch;
        PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)";
    database.execute_batch(of_0_1_0).unwrap();
    drop(database);
    assert!(world.run(&["check"]).expect(0).stdout.contains("is not yours and has 1"));
    world.write("never", "");
    world.run(&["run", "--resume", "--checkpoint", DATABASE]).expect(0);
    assert!(world.run(&["status"]).expect(0).stdout.contains("is not yours; nothing in it is unfinished"));
}

#[test]
fn a_database_without_git_is_foreign_by_its_id_alone() {
    let world = World::new();
    let bytes = plant(&stranger(), &world);
    world.run(&["run", "--note", "mine"]).expect(0);
    assert!(!world.exists("evil"));
    assert_eq!(std::fs::read(world.path(DATABASE)).unwrap(), bytes);
    // Ours is found again.
    assert!(world.run(&["check"]).expect(2).stdout.starts_with("completed: "));
    assert_eq!(databases(&world).len(), 2);
    // It stays ours when the foreign one is gone.
    std::fs::remove_file(world.path(DATABASE)).unwrap();
    assert!(world.run(&["check"]).expect(2).stdout.starts_with("completed: "));
    world.run(&["run", "--note", "more"]).expect(0);
    assert_eq!(databases(&world).len(), 1);
}

#[test]
fn the_environment_and_the_config_name_a_place_not_a_stranger() {
    let world = World::new();
    let stranger = stranger();
    std::fs::copy(stranger.path(DATABASE), world.path("theirs.db")).unwrap();
    let resumed = finish(world.command(&["run", "--resume"]).env("AGENT_HANDOVER_CHECKPOINT", "theirs.db")).expect(0);
    assert!(resumed.stdout.contains("executed: (none)"), "{}", resumed.stdout);
    world.write("handover.toml", "[handover]\ncheckpoint = \"theirs.db\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    drop(world.run(&["run", "--resume"]).expect(0).stderr_ignored("it names the database"));
    assert!(!world.exists("evil"));
}

#[test]
fn a_project_that_is_moved_or_copied_stays_ours() {
    let world = World::with_git();
    world.write("handover.toml", "[[step]]\nname = \"c\"\nkind = \"command\"\nshell = \"test -e fixed\"\n");
    world.run(&["run", "--note", "n"]).expect(1);
    let moved = world.root().with_file_name("moved");
    std::fs::rename(world.root(), &moved).unwrap();
    finish(world.command(&["check"]).current_dir(&moved)).expect(1);
    let copied = world.clean("cp").current_dir(world.home()).arg("-R").arg(&moved).arg(world.root()).status().unwrap();
    assert!(copied.success());
    world.run(&["check"]).expect(1);
    world.write("fixed", "");
    world.run(&["run", "--resume"]).expect(0);
    world.run(&["check"]).expect(2);
    finish(world.command(&["check"]).current_dir(&moved)).expect(1);
    assert_eq!(known_ids(&world).len(), 1);
}

#[test]
fn our_own_database_is_foreign_once_git_wrote_it() {
    let world = World::with_git();
    world.write("handover.toml", "[[step]]\nname = \"c\"\nkind = \"command\"\nshell = \"touch evil; false\"\n");
    world.run(&["run", "--note", "n"]).expect(1);
    std::fs::remove_file(world.path("evil")).unwrap();
    fold(&world.path(DATABASE));
    world.git(&["add", "--force", DATABASE]);
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "--quiet", "-m", "x"]);
    // As a pull does with the version of somebody who knows the id by now.
    std::fs::remove_file(world.path(DATABASE)).unwrap();
    world.git(&["checkout", "--quiet", "--", DATABASE]);
    assert!(world.run(&["check"]).expect(0).stdout.contains("is not yours and has 1"));
    drop(world.run(&["run", "--resume"]).expect(0).stderr_ignored("it names the database"));
    assert!(!world.exists("evil"));
}

#[test]
fn our_own_database_is_foreign_while_git_tracks_it() {
    let world = World::with_git();
    world.write("handover.toml", "[[step]]\nname = \"c\"\nkind = \"command\"\nshell = \"touch ran; test -e fixed\"\n");
    world.run(&["run", "--note", "n"]).expect(1);
    world.run(&["check"]).expect(1);
    std::fs::remove_file(world.path("ran")).unwrap();
    world.git(&["add", "--force", DATABASE]);
    assert!(world.run(&["check"]).expect(0).stdout.contains("is not yours and has 1 unfinished handover"));
    drop(world.run(&["run", "--resume"]).expect(0).stderr_ignored("it names the database"));
    assert!(!world.exists("ran"));
    // It is ours again when git lets go of it, and nothing in it was lost.
    world.git(&["rm", "--quiet", "--cached", "--force", DATABASE]);
    world.write("fixed", "");
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.exists("ran"));
}

#[test]
fn words_of_the_time_when_git_tracked_our_database_are_finished_afterwards() {
    let world = World::with_git();
    world.run(&["run", "--note", "first"]).expect(0);
    world.git(&["add", "--force", ".agent-handover/checkpoint.db"]);
    world.write("PAUSE", "");
    world.run(&["run", "--note", "said while it was tracked"]).expect(3);
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    world.git(&["rm", "--quiet", "--cached", ".agent-handover/checkpoint.db"]);
    let checked = world.run(&["check"]).expect(1).stdout;
    assert!(checked.contains("is unfinished in a second database of yours"), "{checked}");
    let status = world.run(&["status"]).expect(0).stdout;
    assert!(
        !status.contains("not yours") && status.contains("`agent-handover run --resume` finishes them"),
        "{status}"
    );
    world.run(&["run", "--resume"]).expect(0);
    assert_eq!(world.read(NOTES).matches("\nsaid while it was tracked\n").count(), 1);
    assert!(world.run(&["check"]).expect(2).stdout.starts_with("completed"));
    let status = world.run(&["status"]).expect(0).stdout;
    assert!(!status.contains("not yours") && !status.contains("second database"), "{status}");
}

#[test]
fn a_strangers_database_that_is_written_into_our_file_is_noticed() {
    let world = World::with_git();
    world.run(&["run", "--note", "ours"]).expect(0);
    fold(&world.path(DATABASE));
    let bytes = std::fs::read(stranger().path(DATABASE)).unwrap();
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(world.path(&format!("{DATABASE}{suffix}")));
    }
    // The file stays the same, only its content is another.
    std::io::Write::write_all(&mut std::fs::File::create(world.path(DATABASE)).unwrap(), &bytes).unwrap();
    let refused = world.run(&["run", "--note", "two"]).expect(65);
    assert!(refused.stderr.contains("came from elsewhere") && refused.stderr.contains("run the command again"));
    world.run(&["run", "--note", "two"]).expect(0);
    assert!(!world.exists("evil"));
    assert_eq!(databases(&world).len(), 2);
}

#[test]
fn an_unreadable_database_is_damaged_and_not_foreign() {
    let world = World::new();
    world.write(DATABASE, "no database at all ".repeat(100));
    world.run(&["check"]).expect(65);
    world.run(&["run", "--note", "n"]).expect(65);
    assert_eq!(databases(&world), ["checkpoint.db"]);
}

/// A container whose home is new each time, and whose project stays.
#[test]
fn a_new_home_takes_words_and_forgets_nothing() {
    let world = World::with_git();
    world.write("handover.toml", "[[step]]\nname = \"c\"\nkind = \"command\"\nshell = \"test -e fixed\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    for n in 1..=3 {
        std::fs::rename(world.home(), world.path(&format!("../home-{n}"))).unwrap();
        std::fs::create_dir(world.home()).unwrap();
        world.run(&["run", "--note", &format!("session {n}")]).expect(1);
    }
    assert_eq!(databases(&world).len(), 3);
    let check = world.run(&["check"]).expect(1).stdout;
    assert_eq!(check.matches("is not yours and has 1 unfinished handover").count(), 2, "{check}");
    world.write("fixed", "");
    for name in databases(&world) {
        world.run(&["run", "--resume", "--checkpoint", &format!(".agent-handover/{name}")]).expect(0);
    }
    let notes = world.read(NOTES);
    assert!((1..=3).all(|n| notes.matches(&format!("session {n}")).count() == 1), "{notes}");
    assert!(!world.run(&["check"]).expect(2).stdout.contains("not yours"));
    let idle = "2 databases in `.agent-handover` are not yours and have nothing unfinished; you may delete them";
    assert!(world.run(&["status"]).expect(0).stdout.contains(idle));
    assert!(world.run(&["doctor"]).stdout.contains(idle));
    // An old home comes back.
    std::fs::rename(world.home(), world.path("../home-4")).unwrap();
    std::fs::rename(world.path("../home-3"), world.home()).unwrap();
    world.run(&["check"]).expect(2);
    assert_eq!(databases(&world).len(), 3);
}

#[test]
fn a_kill_anywhere_in_the_first_run_never_makes_our_database_foreign() {
    let mut hit = 0;
    for point in POINTS {
        for nth in 1..=3 {
            let world = World::new();
            let mut command = world.command(&["run", "--note", "n"]);
            let first = finish(command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{nth}=kill")));
            let first = first.stderr_ignored("it may be killed");
            if first.code != KILLED {
                break;
            }
            hit += 1;
            let case = format!("{point}:{nth}");
            let check = world.run(&["check"]);
            assert!([0, 1, 2].contains(&check.code) && !check.stdout.contains("not yours"), "{case}: {}", check.stdout);
            world.run(&["run", "--note", "again"]).expect(0).stderr_ignored("it may resume");
            assert_eq!(databases(&world), ["checkpoint.db"], "{case}");
            world.run(&["check"]).expect(2);
        }
    }
    assert!(hit > 10, "{hit}");
}

/// The order that a power cut sees: the file of the id and its name are on disk before the first byte of the database is written.
#[test]
fn the_id_is_on_disk_before_the_database_has_it() {
    let world = World::new();
    let trace = world.home().join("trace");
    let mut command = world.clean("strace");
    command
        .args(["-f", "-qq", "-y", "-s", "64", "-e", "trace=openat,fsync,fdatasync,write,pwrite64", "-o"])
        .arg(&trace);
    let Ok(ended) = command.arg(BINARY).args(["run", "--quiet", "--note", "n"]).output() else {
        return skip("strace is not installed");
    };
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let trace = std::fs::read_to_string(&trace).unwrap();
    let ids = known_ids(&world);
    let [id] = &ids[..] else { panic!("{ids:?}") };
    let (file, directory) = (format!("<{}>", id.display()), format!("<{}>", id.parent().unwrap().display()));
    let name = id.file_name().unwrap().to_str().unwrap();
    let is_synced = |line: &str, what: &str| line.contains("sync(") && line.contains(what);
    let at =
        |what: &str, is: &dyn Fn(&str) -> bool| trace.lines().position(is).unwrap_or_else(|| panic!("{what}: {trace}"));
    let created = at("the id is created", &|line| line.contains("openat(") && line.contains(name));
    let content = at("its file is synced", &|line| is_synced(line, &file));
    let named = trace.lines().enumerate().position(|(at, line)| at > content && is_synced(line, &directory)).unwrap();
    // The id is in the first transaction of the log. What was written before is the empty database in its mode.
    let is_log = |line: &str| line.contains("pwrite64(") && line.contains("checkpoint.db-wal>");
    let carried = at("the database gets it", &is_log);
    assert!(created < content && content < named && named < carried, "{created} {content} {named} {carried}: {trace}");
    let above: Vec<&str> = trace.lines().take(carried).filter(|line| is_synced(line, "agent-handover>")).collect();
    assert!(!above.is_empty(), "the directory of the ids has no durable name: {trace}");
}

/// The order that a kill sees.
#[test]
fn the_id_is_known_before_the_database_exists() {
    let world = World::new();
    let mut command = world.command(&["run", "--note", "n"]);
    let _ = finish(command.env("AGENT_HANDOVER_TEST_FAULT", "state.known:1=kill")).expect(KILLED);
    assert_eq!(known_ids(&world).len(), 1);
    let tables: i64 = world.database().query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 0);
}

#[test]
fn an_id_in_a_database_cannot_lead_out_of_the_directory_of_ids() {
    let world = World::new();
    plant(&stranger(), &world);
    world.write("../home/.local/state/agent-handover/allowed/x", "");
    world.database().execute("UPDATE meta SET value = '../allowed/x'", []).unwrap();
    assert!(world.run(&["check"]).expect(0).stdout.contains("is not yours"));
}

#[test]
fn a_hook_outside_of_projects_answers_nothing_and_leaves_nothing() {
    let world = World::new();
    world.write("notes.txt", "a scratch directory");
    let session = Session::dying(&world, "s-1");
    session.ask("what is here?");
    for event in ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"] {
        let answer = session.call(event, serde_json::json!({})).stderr_ignored("it says that this is not a project");
        assert!(!answer.stdout.contains("agent-handover"), "{event}: {}", answer.stdout);
    }
    assert_eq!(world.everything().into_keys().collect::<Vec<_>>(), ["notes.txt"]);
    let log = std::fs::read_to_string(world.home().join(".local/state/agent-handover/hook.log")).unwrap();
    assert_eq!(log.lines().count(), 5, "{log}");
    assert!(log.lines().all(|line| line.contains("is not a project: nothing is done")), "{log}");
    // A typed command makes it a project.
    world.run(&["run", "--note", "mine"]).expect(0);
    let answer = session.call("SessionStart", serde_json::json!({ "source": "startup" }));
    assert!(answer.stdout.contains("mine"), "{}", answer.stdout);
}

#[test]
fn a_hook_does_nothing_in_the_home_directory_and_in_a_directory_of_a_dotfiles_repository() {
    let world = World::new();
    let git = |directory: &Path| {
        assert!(world.clean("git").current_dir(directory).args(["init", "-q"]).status().unwrap().success())
    };
    git(&world.home());
    std::fs::write(world.home().join("handover.toml"), "").unwrap();
    std::fs::create_dir_all(world.home().join("work/plain")).unwrap();
    for place in ["", "work/plain"] {
        let payload = serde_json::json!({
            "session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": world.home().join(place),
        });
        let answer =
            super::hook::feed(&mut world.command(&["hook", "--agent", "claude-code"]), payload.to_string().as_bytes());
        let answer = answer.expect(0).stderr_ignored("it says that this is not a project");
        assert_eq!(answer.stdout, "", "{place}");
    }
    assert!(
        !world.home().join(".agent-handover").exists() && !world.home().join("work/plain/.agent-handover").exists()
    );
}

#[test]
fn a_planted_state_directory_above_claims_nothing_and_one_of_ours_does() {
    let world = World::new();
    let at = |place: &str| {
        let directory = world.path(place);
        std::fs::create_dir_all(&directory).unwrap();
        directory
    };
    let (client, below) = (at("planted/client"), at("ours/src/parser"));
    std::fs::create_dir_all(world.path("planted/.agent-handover")).unwrap();
    std::fs::copy(stranger().path(DATABASE), world.path("planted").join(DATABASE)).unwrap();
    finish(world.command(&["run", "--note", "client"]).current_dir(&client)).expect(0);
    assert!(client.join("memory").exists(), "the planted directory swallowed it");
    finish(world.command(&["run", "--note", "x"]).current_dir(world.path("ours"))).expect(0);
    finish(world.command(&["run", "--note", "y"]).current_dir(&below)).expect(0);
    assert!(!below.join("memory").exists(), "it is a part of the project above");
}

/// Gives a file to another user; `false` where that is not possible.
fn give_away(path: &Path) -> bool {
    std::os::unix::fs::chown(path, Some(12345), None).is_ok()
}

#[test]
fn a_config_of_another_user_is_refused_until_a_person_says_otherwise() {
    let world = World::with_git();
    world.write("handover.toml", "[[step]]\nname = \"n\"\nkind = \"note\"\n");
    if !give_away(&world.path("handover.toml")) {
        return skip("files cannot be given to another user");
    }
    let refused = world.run(&["run", "--note", "x"]).expect(65);
    assert!(refused.stderr.contains("belongs to user 12345, not to you"), "{}", refused.stderr);
    assert!(refused.stderr.contains("`safe.directory`, or run `agent-handover allow`"), "{}", refused.stderr);
    let settings = world.home().join("gitconfig");
    let with = |directory: &str| {
        std::fs::write(&settings, format!("[safe]\n\tdirectory = {directory}\n")).unwrap();
        finish(world.command(&["run", "--note", "x"]).env("GIT_CONFIG_GLOBAL", &settings))
    };
    with("/elsewhere").expect(65);
    with(world.root().canonicalize().unwrap().to_str().unwrap()).expect(0);
    // The configuration of the repository itself does not count.
    world.git(&["config", "safe.directory", "*"]);
    world.run(&["check"]).expect(65);
    world.run(&["allow"]).expect(0).stderr_ignored("it lists what is allowed");
    world.run(&["run", "--note", "y"]).expect(0);
    world.write("handover.toml", "[[step]]\nname = \"changed\"\nkind = \"note\"\n");
    world.run(&["check"]).expect(65);
}

#[test]
fn in_a_trusted_directory_the_state_of_another_user_is_foreign_and_ours_goes_beside_it() {
    let world = World::with_git();
    let bytes = plant(&stranger(), &world);
    if !give_away(&world.path(DATABASE)) || !give_away(&world.path(".agent-handover")) {
        return skip("files cannot be given to another user");
    }
    world.run(&["run", "--note", "x"]).expect(65);
    let settings = world.home().join("gitconfig");
    std::fs::write(&settings, "[safe]\n\tdirectory = *\n").unwrap();
    let run = |arguments: &[&str]| finish(world.command(arguments).env("GIT_CONFIG_GLOBAL", &settings));
    run(&["run", "--note", "mine"]).expect(0);
    assert!(run(&["check"]).expect(2).stdout.contains("is not yours and has 1 unfinished handover"));
    assert!(!world.exists("evil"));
    assert_eq!(std::fs::read(world.path(DATABASE)).unwrap(), bytes);
}

#[test]
fn what_another_user_planted_in_a_shared_directory_claims_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.write("shared/handover.toml", "[[step]]\nname = \"planted\"\nkind = \"note\"\n");
    world.write("shared/.git/HEAD", "ref: refs/heads/main\n");
    world.write("shared/mine/x", "");
    std::fs::set_permissions(world.path("shared"), std::fs::Permissions::from_mode(0o1777)).unwrap();
    if !give_away(&world.path("shared/handover.toml")) || !give_away(&world.path("shared/.git")) {
        return skip("files cannot be given to another user");
    }
    let run = finish(world.command(&["run", "--note", "x"]).current_dir(world.path("shared/mine")));
    run.expect(0).stderr_ignored("git does not use the planted repository either");
    assert!(world.exists("shared/mine/memory") && !world.exists("shared/memory"));
}

#[test]
fn without_a_home_that_can_be_written_words_are_taken_and_found_again() {
    let world = World::new();
    world.write("no-home", "a file where the home would be");
    let run = |arguments: &[&str]| finish(world.command(arguments).env("HOME", world.path("no-home/home")));
    for said in ["first", "second"] {
        run(&["run", "--note", said]).expect(0).stderr_ignored("it says that nothing keeps a record");
        assert!(world.read(NOTES).contains(said));
    }
    assert!(run(&["check"]).expect(2).stdout.starts_with("completed: "));
    assert_eq!(databases(&world), ["checkpoint.db"]);
}

/// A container that was stopped leaves a session without an end, and one that runs has such a session, too.
#[test]
fn a_database_with_a_session_that_did_not_end_is_not_called_finished() {
    let world = World::with_git();
    let session = Session::dying(&world, "s1");
    session.start("startup");
    std::fs::rename(world.home(), world.path("../home-1")).unwrap();
    std::fs::create_dir(world.home()).unwrap();
    let what = "foreign: `.agent-handover/checkpoint.db` is not yours and has 1 session without an end";
    let status = world.run(&["status"]).expect(0).stdout;
    assert!(status.contains(what) && !status.contains("nothing in it is unfinished"), "{status}");
}

#[test]
fn a_resume_and_a_session_start_name_what_is_left_in_the_databases_of_other_homes() {
    let world = World::with_git();
    world.write("PAUSE", "");
    for n in 0..5 {
        std::fs::rename(world.home(), world.path(&format!("../home-{n}"))).unwrap();
        std::fs::create_dir(world.home()).unwrap();
        world.run(&["run", "--note", "waits"]).expect(3);
    }
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    world.run(&["run", "--resume", "--checkpoint", DATABASE]).expect(0);
    let resumed = world.run(&["run", "--resume"]).expect(0).stderr;
    assert_eq!(resumed.matches("left alone: `.agent-handover/checkpoint").count(), 3, "{resumed}");
    std::fs::rename(world.home(), world.path("../home-5")).unwrap();
    std::fs::create_dir(world.home()).unwrap();
    let warmup = world.run(&["warmup"]).expect(0).stdout;
    assert_eq!(warmup.matches("has 1 unfinished handover: a person decides").count(), 2, "{warmup}");
    assert!(warmup.contains("1 more database like this: `agent-handover status` names them"), "{warmup}");
}

/// As on a full disk, the word in the name of the database cannot be kept.
#[test]
fn a_word_that_cannot_be_kept_leaves_one_database_and_not_one_for_each_command() {
    let world = World::with_git();
    plant(&stranger(), &world);
    std::fs::create_dir_all(world.home().join(".local/state/agent-handover/states/beside")).unwrap();
    for note in ["first", "second"] {
        world.run(&["run", "--quiet", "--note", note]).expect(0);
    }
    assert_eq!(databases(&world).len(), 2, "{:?}", databases(&world));
    assert_eq!(world.run(&["history", "--json", "list"]).expect(0).json()["handoffs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_named_database_that_does_not_exist_is_reported() {
    let world = World::new();
    for arguments in [&["run", "--resume"][..], &["run", "--abandon"]] {
        let refused = world.run(&[arguments, &["--checkpoint", "typo.db"]].concat()).expect(1);
        assert_eq!(refused.stdout, "");
        assert!(refused.stderr.contains("there is no database at `$WORLD/project/typo.db`"), "{}", refused.stderr);
        assert!(refused.stderr.contains("`agent-handover status` names"), "{}", refused.stderr);
    }
    // `check` answers with the code of the Python tool, and says why.
    let checked = world.run(&["check", "--checkpoint", "typo.db"]).expect(0).stdout;
    assert_eq!(checked, "no handover on record: there is no database at `$WORLD/project/typo.db`\n");
    let status = world.run(&["status", "--checkpoint", "typo.db"]).expect(0).stdout;
    assert_eq!(status, "status: none\nmissing: there is no database at `$WORLD/project/typo.db`\n");
    assert_eq!(world.everything().len(), 0, "{:?}", world.everything());
    // A handover makes it, and without the option nothing was named.
    world.run(&["run", "--resume"]).expect(0);
    world.run(&["run", "--note", "n", "--checkpoint", "typo.db"]).expect(0);
    world.run(&["run", "--resume", "--checkpoint", "typo.db"]).expect(0);
}

#[test]
fn warmup_outside_of_projects_promises_nothing() {
    let world = World::new();
    let outside = world.run(&["warmup"]).expect(0).stdout;
    assert!(!outside.contains("will be, when it ends"), "{outside}");
    assert!(outside.contains("this directory is not a project: `agent-handover run --note TEXT` does"), "{outside}");
    world.git(&["init", "--quiet"]);
    assert!(world.run(&["warmup"]).expect(0).stdout.contains("this one will be, when it ends"));
}

/// Runs a script with a file system of its own at the home directory; `None` where nobody may mount.
fn with_home(world: &World, options: &str, script: &str) -> Option<Output> {
    let script = format!("mount -t tmpfs -o {options} none \"$HOME\" && {{ {script}; }}");
    let output = finish(world.clean("unshare").args(["-rm", "sh", "-c", &script]).env("BINARY", BINARY));
    let is_refused = output.stderr.contains("unshare:") || output.stderr.contains("mount:");
    if is_refused { None } else { Some(output) }
}

#[test]
fn a_full_home_takes_words_and_keeps_the_id_as_soon_as_there_is_room() {
    // No room for the content of a file; no room for its name either.
    for (options, fill) in [("size=64k", "cat /dev/zero > \"$HOME/fill\""), ("nr_inodes=2", ": > \"$HOME/fill\"")] {
        let world = World::with_git();
        let script = format!(
            "{fill}; for note in first second; do \"$BINARY\" run --note $note || exit 1; done
             rm \"$HOME/fill\"; mount -o remount,nr_inodes=1000 \"$HOME\"
             \"$BINARY\" run --quiet --note third || exit 1
             rm -rf \"$TMPDIR\"/agent-handover-*; \"$BINARY\" check; echo \"exit $?\""
        );
        let Some(output) = with_home(&world, options, &script) else {
            return skip("this machine lets nobody make a mount");
        };
        assert!(
            output.stdout.ends_with("exit 2\n") && !output.stdout.contains("foreign"),
            "{options}: {}",
            output.seen()
        );
        assert_eq!(databases(&world), ["checkpoint.db"], "{options}");
        let notes = world.read(NOTES);
        assert!(["first", "second", "third"].iter().all(|note| notes.contains(note)), "{notes}");
        let warning = "this handover will be shown as if it came with the repository";
        assert_eq!(output.stderr.matches(warning).count(), 2, "{options}: {}", output.seen());
        let is_told =
            output.stderr.contains("; the id of its database is in `") && output.stderr.contains("until there is room");
        assert_eq!(is_told, options == "nr_inodes=2", "{}", output.seen());
    }
}
