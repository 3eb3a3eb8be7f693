//! Texts of any size: they are handed over in bounded memory, kept whole in layer 1, shown in part elsewhere, and the
//! checkpoint gives their space back.
//!
//! The sizes here are small. `cargo test --test it size -- --ignored` tries the largest ones.

use super::support::*;

const MARK: &str = "(cut here by agent-handover: the whole text has ";
const MIB: usize = 1 << 20;

/// One line of words, without an end.
fn line(bytes: usize) -> String {
    let words = ["alpha ", "beta ", "gamma. ", "delta ", "epsilon ", "zeta, "];
    let mut line: String = words.iter().cycle().take(bytes / 5 + 1).copied().collect();
    line.truncate(bytes);
    line
}

/// The bytes of a file; 0 if there is none.
fn length(world: &World, path: &str) -> usize {
    std::fs::metadata(world.path(path)).map_or(0, |about| usize::try_from(about.len()).unwrap())
}

fn database_size(world: &World) -> usize {
    [".agent-handover/checkpoint.db", ".agent-handover/checkpoint.db-wal"].iter().map(|path| length(world, path)).sum()
}

/// Runs the program with at most this much memory.
fn run_within(world: &World, mebibytes: usize, arguments: &[&str]) -> Output {
    let script = format!("ulimit -v {}; exec \"$@\"", mebibytes * 1024);
    finish(world.clean("bash").args(["-c", &script, "limited", BINARY]).args(arguments))
}

/// Hands over two long notes and a long state, each by its own way, and looks at every file.
fn any_size_is_handed_over(bytes: usize) {
    let world = World::with_git();
    let text = line(bytes);
    world.write("note", &text);
    // What the program needs anyway, and a small multiple of the text.
    let limit = 256 + 6 * bytes.div_ceil(MIB);
    run_within(&world, limit, &["run", "--note-file", "note"]).expect(0);
    let notes = world.read(NOTES);
    assert!(notes.contains(&format!("\n{text}\n<!-- /note -->")), "the note is whole in layer 1");
    assert_eq!(notes.matches(&text).count(), 1, "and it is there once");
    let state = world.read(STATE);
    assert!(state.len() < 600 << 10 && state.contains(&format!("{MARK}{bytes} bytes and is in the note of handover ")));
    assert!(state.contains(NOTES), "{}", &state[state.len() - 300..]);
    let latest = world.read(".agent-history/LATEST.md");
    assert!(latest.len() < 100 << 10 && latest.contains(MARK) && latest.contains(NOTES));
    for derived in ["INDEX.yaml", "RESUME_PROMPT.txt"] {
        assert!(length(&world, &format!(".agent-history/{derived}")) < 8 << 10, "{derived}");
    }
    assert!(database_size(&world) < 2 * MIB, "{}", database_size(&world));
    world.assert_database_is_sound();
    world.run(&["history", "validate", "--sessions"]).expect(0);
    let warmup = world.run(&["warmup"]).expect(0).stdout;
    assert!(warmup.len() < 64 << 10, "{}", warmup.len());

    // The second one is in the same file, which is then larger than any other that is read.
    run_within(&world, limit + 2 * bytes.div_ceil(MIB), &["run", "--note-file", "note"]).expect(0);
    assert_eq!(world.read(NOTES).matches(&text).count(), 2);
    world.run(&["run", "--note", "a short one"]).expect(0);
    let again = world.read(NOTES);
    assert!(again.len() < 2 * bytes + (8 << 10), "no part of it is recorded as replaced: {}", again.len() - 2 * bytes);
    let listed = world.run(&["memory", "list", "--layer", "1", "--json"]).expect(0).json();
    assert_eq!(listed["notes"].as_array().unwrap().len(), 3);
}

#[test]
fn a_long_line_is_whole_in_layer_1_and_cut_elsewhere() {
    any_size_is_handed_over(2 * MIB);
}

#[test]
#[ignore = "takes a minute; `cargo test --test it size -- --ignored`"]
fn the_longest_line_is_whole_in_layer_1_and_cut_elsewhere() {
    any_size_is_handed_over(50 * MIB);
}

/// A state that is not the note has no other place than the files.
#[test]
fn a_long_state_and_a_note_without_a_step_are_kept_whole() {
    let world = World::with_config(
        "[[step]]\nname = \"now\"\nkind = \"state\"\n[[step]]\nname = \"past\"\nkind = \"history\"\n",
    );
    let text = line(MIB);
    world.write("note", &text);
    world.run(&["run", "--note-file", "note"]).expect(0);
    assert!(world.read(STATE).contains(MARK) && world.read(".agent-history/LATEST.md").contains(MARK));
    assert_eq!(
        world.read(NOTES).matches(&text).count(),
        1,
        "no step writes notes, and the whole text is kept all the same"
    );
}

#[test]
fn an_unfinished_run_with_a_long_note_is_resumed_and_an_abandoned_one_keeps_its_words() {
    let config = "[[step]]\nname = \"gate\"\nkind = \"command\"\nrun = [\"test\", \"!\", \"-e\", \"broken\"]\n\
        [[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n";
    let world = World::with_config(config);
    let text = line(2 * MIB);
    world.write("note", &text);
    world.write("broken", "");
    world.run(&["run", "--note-file", "note"]).expect(1);
    assert!(database_size(&world) < 5 * MIB, "the words are there once: {}", database_size(&world));
    let run: String = world.database().query_row("SELECT id FROM run", [], |row| row.get(0)).unwrap();
    let told = world.run(&["status", "--run", &run, "--json"]).expect(0).json();
    assert!(told["told"]["note"] == text.as_str(), "the words come back whole");
    std::fs::remove_file(world.path("broken")).unwrap();
    world.run(&["run", "--resume"]).expect(0);
    assert_eq!(world.read(NOTES).matches(&text).count(), 1);
    assert!(database_size(&world) < 2 * MIB, "{}", database_size(&world));

    world.write("broken", "");
    world.run(&["run", "--note-file", "note"]).expect(1);
    world.run(&["run", "--abandon"]).expect(0).stderr_ignored("it prints what the run was told");
    assert!(database_size(&world) < 4 * MIB, "{}", database_size(&world));
    world.assert_database_is_sound();
}

/// A kill while space is given back loses nothing.
#[test]
fn killed_while_space_is_given_back_the_run_is_complete() {
    let world = World::new();
    world.write("note", line(2 * MIB));
    let mut command = world.command(&["run", "--note-file", "note"]);
    finish(command.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.shrunk:1=kill")).expect(KILLED);
    world.run(&["check"]).expect(2);
    world.assert_database_is_sound();
    world.run(&["run", "--note", "next"]).expect(0);
    assert!(database_size(&world) < 2 * MIB, "{}", database_size(&world));
}

/// Markers that each scan would follow to the end of a line.
#[test]
fn a_line_of_nothing_but_markers_takes_no_longer_than_others() {
    for unit in
        ["-----BEGIN PRIVATE KEY----- x ", "-----END PRIVATE KEY----- x ", "</private", "<private ", "](", "```"]
    {
        let world = World::new();
        world.write("note", format!("x {}", unit.repeat(MIB / 16 / unit.len())));
        let output = world.run(&["run", "--note-file", "note", "--allow-secret", "private-key"]);
        assert_eq!(output.code, 0, "{unit}: {}", output.stderr);
    }
}
