//! The store as a whole: from recorded to completed, and files that are not its own.

use std::time::Duration;

use rusqlite::Connection;

use super::store::KEPT_RUNS;
use super::*;
use crate::error::Category;

fn record(store: &mut Store, id: &str) -> i64 {
    record_with(store, id, &[])
}

fn record_with(store: &mut Store, id: &str, texts: &[(&'static str, String)]) -> i64 {
    store.record(&new_run(id, texts), OnUnfinished::Keep).unwrap().unwrap()
}

pub(super) fn new_run<'a>(id: &'a str, texts: &'a [(&'static str, String)]) -> NewRun<'a> {
    NewRun {
        id,
        recorded_at: "2026-11-15T10:00:00Z",
        agent: "",
        tag: "t",
        memory_dir: "memory",
        head: None,
        worktree: "",
        branch: "",
        plan: "{}",
        inputs: "{\"note\":\"n\"}",
        texts,
        steps: vec![("note", "note"), ("state", "state")],
        begun: None,
        handed: None,
    }
}

fn settled(position: usize, state: StepState) -> Settled {
    Settled { position, state, duration: Duration::ZERO, result: None, detail: None, error: None }
}

#[test]
fn a_run_goes_from_recorded_to_completed() {
    let directory = crate::base::scratch::directory();
    let path = directory.path().join("c.db");
    assert!(Store::read(&CheckpointFile::beside(&path)).unwrap().is_none());
    let mut store = Store::open(&CheckpointFile::beside(&path)).unwrap();
    let run = record(&mut store, "A");
    store.advance(run, &[], Next::Intend { position: 0, intent: "{}", died: false }).unwrap();
    let next = Next::Intend { position: 1, intent: "{}", died: false };
    store.advance(run, &[settled(0, StepState::Done)], next).unwrap();
    let states: Vec<_> = store.steps(run).unwrap().iter().map(|step| step.state).collect();
    assert_eq!(states, [StepState::Done, StepState::Intended]);
    store.advance(run, &[settled(1, StepState::Done)], Next::Complete { at: "x", keeps_inputs: false }).unwrap();

    let reader = Store::read(&CheckpointFile::beside(&path)).unwrap().unwrap();
    assert!(reader.oldest_unfinished().unwrap().is_none());
    assert_eq!(reader.latest().unwrap().unwrap().status, RunStatus::Completed);
    // The note is in the files now, and the checkpoint forgets it.
    assert!(reader.plan_and_inputs(run).is_err());
}

#[test]
fn a_younger_run_is_known_by_what_it_has_begun() {
    let directory = crate::base::scratch::directory();
    let mut store = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
    let (old, young) = (record(&mut store, "A"), record(&mut store, "B"));
    assert_eq!(store.younger_run_with("state", old).unwrap(), None);
    store.advance(young, &[], Next::Intend { position: 1, intent: "{}", died: false }).unwrap();
    assert_eq!(store.younger_run_with("state", old).unwrap().as_deref(), Some("B"));
    assert_eq!(store.younger_run_with("state", young).unwrap(), None);
    // It was begun but abandoned, so nobody will finish it.
    store.abandon(&[young], "x").unwrap();
    assert_eq!(store.younger_run_with("state", old).unwrap(), None);
}

#[test]
fn a_foreign_or_damaged_file_is_refused_and_left_alone() {
    let directory = crate::base::scratch::directory();
    let text = directory.path().join("text.db");
    std::fs::write(&text, "not a database, but long enough to be read as one".repeat(50)).unwrap();
    let foreign = directory.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    for path in [&text, &foreign] {
        let before = std::fs::read(path).unwrap();
        for error in [
            Store::open(&CheckpointFile::beside(path)).unwrap_err(),
            Store::read(&CheckpointFile::beside(path)).unwrap_err(),
        ] {
            assert_eq!(error.category(), Category::BadData, "{error}");
            assert!(error.hints()[0].contains("--restart"));
        }
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
}

#[test]
fn the_future_is_read_but_not_written() {
    let directory = crate::base::scratch::directory();
    let path = directory.path().join("c.db");
    let mut store = Store::open(&CheckpointFile::beside(&path)).unwrap();
    record(&mut store, "A");
    store.connection.pragma_update(None, "user_version", schema::newest() + 1).unwrap();
    assert!(Store::read(&CheckpointFile::beside(&path)).unwrap().unwrap().oldest_unfinished().unwrap().is_some());
    assert!(Store::open(&CheckpointFile::beside(&path)).unwrap_err().message().contains("newer"));
}

#[test]
fn the_journal_of_an_old_file_keeps_its_steps() {
    let directory = crate::base::scratch::directory();
    let path = directory.path().join("c.db");
    let mut store = Store::open(&CheckpointFile::beside(&path)).unwrap();
    let run = record(&mut store, "A");
    store.advance(run, &[], Next::Intend { position: 1, intent: "{}", died: true }).unwrap();
    let before: Vec<String> = store.steps(run).unwrap().iter().map(|step| format!("{step:?}")).collect();
    schema::as_of_0_1_0(&store.connection).unwrap();
    drop(store);
    let mut store = Store::open(&CheckpointFile::beside(&path)).unwrap();
    assert_eq!(store.steps(run).unwrap().iter().map(|step| format!("{step:?}")).collect::<Vec<_>>(), before);
    let odd = store.connection.execute("UPDATE step SET state = 'odd'", []).unwrap_err();
    assert!(odd.to_string().contains("CHECK constraint failed"), "{odd}");
    // The steps of a run go with it.
    store.write(|transaction| transaction.execute("DELETE FROM run", [])).unwrap();
    assert!(store.steps(run).unwrap().is_empty());
}

#[test]
fn a_step_is_written_without_making_a_table() {
    let directory = crate::base::scratch::directory();
    let store = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
    let sql = "EXPLAIN UPDATE step SET state = 'done' WHERE run = 1 AND position = 1";
    let mut program = store.connection.prepare(sql).unwrap();
    let done: Vec<String> = program.query_map([], |row| row.get(1)).unwrap().map(Result::unwrap).collect();
    assert!(!done.iter().any(|operation| operation == "OpenEphemeral"), "{done:?}");
}

#[test]
fn old_completed_runs_are_forgotten_and_unfinished_ones_never() {
    let directory = crate::base::scratch::directory();
    let mut store = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
    record(&mut store, "unfinished");
    let complete = |store: &mut Store, id: &str| {
        let seq = record(store, id);
        store.advance(seq, &[], Next::Complete { at: "x", keeps_inputs: false }).unwrap();
        seq
    };
    store.connection.pragma_update(None, "synchronous", "OFF").unwrap();
    let old = complete(&mut store, "old");
    // Commands that left no record do not count.
    store.connection.execute("UPDATE sqlite_sequence SET seq = seq + ?1", [KEPT_RUNS]).unwrap();
    for number in 1..KEPT_RUNS {
        complete(&mut store, &format!("run {number}"));
    }
    assert!(store.run(old).unwrap().is_some());
    complete(&mut store, "new");
    assert!(store.run(old).unwrap().is_none());
    assert!(store.steps(old).unwrap().is_empty());
    assert_eq!(store.unfinished(5).unwrap()[0].id, "unfinished");
}

/// The bytes of the database and of the log beside it.
fn size(path: &std::path::Path) -> u64 {
    let log = path.with_extension("db-wal");
    std::fs::metadata(path).unwrap().len() + std::fs::metadata(log).map_or(0, |about| about.len())
}

#[test]
fn the_space_of_a_long_text_is_given_back_and_readers_see_a_whole_file() {
    const LONG: usize = 8 << 20;
    for of_0_1_0 in [false, true] {
        let directory = crate::base::scratch::directory();
        let path = directory.path().join("c.db");
        if of_0_1_0 {
            let old = Connection::open(&path).unwrap();
            old.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).unwrap();
            old.execute_batch("PRAGMA auto_vacuum = NONE; VACUUM").unwrap();
            old.execute_batch("CREATE TABLE first (x); DROP TABLE first").unwrap();
        }
        let mut store = Store::open(&CheckpointFile::beside(&path)).unwrap();
        let mode: i64 = store.connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap();
        let empty = size(&path);
        let texts = [("note", "x".repeat(LONG)), ("state", "y".repeat(LONG))];
        let (done, abandoned) = (record_with(&mut store, "A", &texts), record_with(&mut store, "B", &texts[..1]));
        assert_eq!(store.texts(done).unwrap().len(), 2);
        let reader = Store::read(&CheckpointFile::beside(&path)).unwrap().unwrap();
        reader.connection.execute_batch("BEGIN; SELECT count(*) FROM run").unwrap();
        // The intent repeats the text, as a template may.
        store.advance(abandoned, &[], Next::Intend { position: 0, intent: &texts[0].1, died: false }).unwrap();
        store.advance(done, &[], Next::Complete { at: "x", keeps_inputs: false }).unwrap();
        let count = "SELECT count(*) FROM run_text";
        let seen: i64 = reader.connection.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(seen, 3, "a reader keeps what it began with");
        assert_eq!(super::open::WAITS.get(), 0, "the end of a run does not wait for a reader");
        reader.connection.execute_batch("COMMIT").unwrap();
        drop(reader);
        store.abandon(&[abandoned], "x").unwrap();
        assert!(store.texts(done).unwrap().is_empty());
        let kept = store.texts(abandoned).unwrap();
        assert!(kept.len() == 1 && kept[0].1 == texts[0].1, "nothing else may have the words of an abandoned run");
        let limit = empty + LONG as u64 + LONG as u64 / 4;
        assert!(size(&path) < limit, "{} bytes, auto_vacuum was {mode}", size(&path));
        let mode: i64 = store.connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap();
        assert_eq!(mode, space::INCREMENTAL);
        store.examine().unwrap();
    }
}

#[test]
fn many_that_make_the_database_at_once_all_find_it_theirs() {
    for _ in 0..20 {
        let place = crate::base::scratch::directory();
        let path = place.path().join("checkpoint.db");
        std::thread::scope(|scope| {
            let openers: Vec<_> =
                (0..4).map(|_| scope.spawn(|| Store::open(&CheckpointFile::beside(&path)).map(drop))).collect();
            for opener in openers {
                opener.join().unwrap().unwrap();
            }
        });
    }
}

/// The memory of a worktree that is gone, or of a repository that could not be written, has sessions of its own.
#[test]
fn sessions_of_another_checkpoint_are_adopted_as_far_as_they_were_handed_over() {
    let directory = crate::base::scratch::directory();
    let open = |name: &str| Store::open(&CheckpointFile::beside(&directory.path().join(name))).unwrap();
    let (mut here, mut there) = (open("here.db"), open("there.db"));
    let seen = |id: &str, size: u64| SessionSighting {
        agent: "codex".into(),
        id: id.into(),
        at: "1".into(),
        transcript: format!("/{id}"),
        is_turn_end: true,
        size,
        ..SessionSighting::default()
    };
    let hand_over = |store: &mut Store, run: &str, before: u64, to: u64| {
        let (agent, id) = ("codex".into(), "s".into());
        let part = HandedPart { agent, id, before, to, turns: 1, is_over: true, ..HandedPart::default() };
        let run = NewRun { steps: vec![("note", "note")], handed: Some(&part), ..new_run(run, &[]) };
        store.record(&run, OnUnfinished::Keep).unwrap().unwrap();
    };
    for (store, size) in [(&mut here, 50), (&mut there, 70)] {
        store.note_session(&seen("s", size), &AtOnce::default()).unwrap();
        hand_over(store, "A", 0, size);
    }
    there.note_session(&seen("open", 5), &AtOnce::default()).unwrap();
    let known = there.all_sessions().unwrap();
    let found: Vec<_> = known.iter().map(|(session, is_over)| (session.id.as_str(), *is_over)).collect();
    assert_eq!(found, [("s", true), ("open", false)]);
    for _ in 0..2 {
        here.adopt_sessions(&known, "/tree").unwrap();
        let session = here.session("codex", "s").unwrap().unwrap();
        assert_eq!((session.handed_over, session.worktree.as_str()), (70, "/tree"));
        let open = here.session("codex", "open").unwrap().unwrap();
        assert_eq!((open.transcript.as_str(), open.handed_over), ("/open", 0));
        assert_eq!(here.all_sessions().unwrap().len(), 2);
    }
    // What was handed over here since then is not taken back.
    hand_over(&mut here, "B", 70, 90);
    here.adopt_sessions(&known, "/tree").unwrap();
    assert_eq!(here.session("codex", "s").unwrap().unwrap().handed_over, 90);
}

/// `check` and `status` read a database of 0.1.0 and change nothing in it.
#[test]
fn a_reader_of_a_database_of_0_1_0_finds_nothing_of_what_came_later() {
    let directory = crate::base::scratch::directory();
    let path = directory.path().join("c.db");
    let file = CheckpointFile::beside(&path);
    let mut store = Store::open(&file).unwrap();
    let run = record(&mut store, "A");
    schema::as_of_0_1_0(&store.connection).unwrap();
    drop(store);
    let reader = Store::read(&file).unwrap().unwrap();
    assert_eq!(reader.oldest_unfinished().unwrap().map(|run| run.id).as_deref(), Some("A"));
    assert!(reader.texts(run).unwrap().is_empty());
    assert_eq!(reader.words("claude-code", "s").unwrap().0, 0);
    assert_eq!(reader.kept_out("claude-code", "s").unwrap(), None);
    assert!(reader.all_sessions().unwrap().is_empty());
    assert_eq!(reader.count_open_sessions().unwrap(), 0);
    assert!(reader.all_receipts().unwrap().is_empty());
    // A writer brings it up to date and loses nothing.
    drop(reader);
    assert_eq!(Store::open(&file).unwrap().oldest_unfinished().unwrap().map(|run| run.id).as_deref(), Some("A"));
}
