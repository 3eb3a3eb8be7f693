//! `history list` with a limit or a query reads what it shows, however many archives there are.

use super::support::*;

const ARCHIVES: usize = 150;

/// A history whose archives are not indexed in the order of their times. Every seventh speaks of a badger.
fn world() -> World {
    world_of(ARCHIVES)
}

fn world_of(archives: usize) -> World {
    let world = World::with_git();
    let create = ["history", "create", "--goal", "Say \"first\" again", "--next", "Fix it", "--summary", "a FEW words"];
    world.run(&create).expect(0);
    let sessions = world.path(".agent-history/sessions");
    let first = std::fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&first).unwrap();
    let id = first.file_stem().unwrap().to_str().unwrap().to_owned();
    for number in 1..archives {
        let day = format!("2026-{:02}-{:02}T08:00:00", number * 7 % 10 + 1, number * 11 % 28 + 1);
        let copy = text.replace(&id, &format!("s{number:03}")).replace("2026-11-15T10:04:05", &day);
        let copy = if number % 7 == 0 { copy.replace("a FEW words", "a badger was here") } else { copy };
        std::fs::write(sessions.join(format!("s{number:03}.md")), copy).unwrap();
    }
    world.run(&["history", "close", "--status", "BLOCKED"]).expect(0);
    world.run(&["run", "--note", "n"]).expect(0);
    world
}

fn ids(world: &World, arguments: &[&str]) -> Vec<String> {
    let answer = world.run(&[&["history", "list", "--json"], arguments].concat()).expect(0).json();
    answer["handoffs"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// How many archives a command opens; `None` without strace.
fn opened(world: &World, arguments: &[&str]) -> Option<usize> {
    let log = world.path("../opened");
    let mut command = world.clean("strace");
    command.args(["-f", "-qq", "-e", "trace=openat,openat2,open", "-o"]).arg(&log).arg(BINARY).args(arguments);
    is_installed("strace").then(|| {
        finish(&mut command).expect(0).stderr_ignored("that nothing matches");
        let log = std::fs::read_to_string(log).unwrap();
        log.lines()
            .filter(|line| line.contains("s0") || line.contains("s1"))
            .filter(|line| line.contains(".md\""))
            .count()
    })
}

#[test]
fn a_limit_is_the_beginning_of_the_whole_list() {
    let world = world();
    let all = ids(&world, &[]);
    assert_eq!(all.len(), ARCHIVES + 1);
    for limit in [1, 2, 40] {
        assert_eq!(ids(&world, &["--limit", &limit.to_string()]), all[..limit]);
    }
    let filtered = ids(&world, &["--since", "2026-03-01", "--until", "2026-03-31"]);
    assert!(filtered.len() > 5, "{filtered:?}");
    assert_eq!(ids(&world, &["--since", "2026-03-01", "--until", "2026-03-31", "--limit", "5"]), filtered[..5]);
    // An archive that INDEX.yaml does not have yet, one that is gone, and an index that somebody else wrote.
    let text = world.read(".agent-history/sessions/s003.md");
    world.write(".agent-history/sessions/added.md", text.replace("s003", "added").replace("T08:", "T09:"));
    std::fs::remove_file(world.path(&format!(".agent-history/sessions/{}.md", all[1]))).unwrap();
    let changed = ids(&world, &[]);
    assert!(changed.contains(&"added".to_owned()) && !changed.contains(&all[1]), "{changed:?}");
    assert_eq!(ids(&world, &["--limit", "3"]), changed[..3]);
    let index = world.read(".agent-history/INDEX.yaml");
    world.write(".agent-history/INDEX.yaml", index.split_once('\n').unwrap().1);
    assert_eq!(ids(&world, &["--limit", "3"]), changed[..3]);
}

#[test]
fn a_query_has_the_same_answer_with_and_without_the_index() {
    let world = world();
    let queries = [
        "badger",
        "a BADGER was",
        "adge",
        "few w",
        "say \"first\"",
        "\"",
        "zzz",
        "ba",
        "Fix it",
        "s007",
        "",
        "schema_version",
    ];
    let answers = || -> Vec<Vec<String>> {
        let whole = queries.iter().map(|query| ids(&world, &["--query", query]));
        whole.chain(queries.iter().map(|query| ids(&world, &["--query", query, "--limit", "3"]))).collect()
    };
    let expected = answers();
    assert_eq!(expected[0].len(), ARCHIVES / 7);
    assert_eq!(expected[queries.len()], expected[0][..3]);
    world.run(&["search", "badger"]).expect(0);
    assert_eq!(answers(), expected);
    // What has come since is found at once.
    let text = world.read(".agent-history/sessions/s007.md");
    world.write(".agent-history/sessions/new.md", text.replace("s007", "new").replace("a badger", "a heron"));
    assert_eq!(ids(&world, &["--query", "a heron"]), ["new"]);
    assert_eq!(ids(&world, &["--query", "a heron", "--limit", "3"]), ["new"]);
}

#[test]
fn archives_that_are_not_shown_are_not_opened() {
    let world = world();
    let Some(few) = opened(&world, &["history", "list", "--json", "--limit", "2"]) else {
        return skip("strace is not installed");
    };
    assert!(few <= 8, "{few}");
    let without = opened(&world, &["history", "list", "--query", "zzz"]).unwrap();
    assert!(without >= ARCHIVES - 1, "{without}");
    world.run(&["search", "badger"]).expect(0);
    // The first archives are read before the index is asked: sixteen for each processor.
    let block = 16 * std::thread::available_parallelism().unwrap().get();
    for more in [&[][..], &["--all-projects"], &["--limit", "0"]] {
        let none = opened(&world, &[&["history", "list", "--query", "zzz"], more].concat()).unwrap();
        assert!(none <= block + 2 || block > ARCHIVES, "{more:?}: {none}");
    }
}

/// The files and directories of the project that a command opens or examines; `None` without strace. How often it looks at
/// `.git` depends on how long it takes, so that does not count.
fn touched(world: &World, arguments: &[&str]) -> Option<usize> {
    let log = world.path("../touched");
    let mut command = world.clean("strace");
    command.args(["-f", "-qq", "-e", "trace=openat,openat2,open,newfstatat,statx,stat,lstat,fstat", "-o"]);
    command.arg(&log).arg(BINARY).args(arguments);
    is_installed("strace").then(|| {
        finish(&mut command).expect(0);
        let log = std::fs::read_to_string(log).unwrap();
        // A call that another thread interrupts has a second line for its end.
        let is_other = |line: &&str| ["/proc/", "/.git", " resumed>"].iter().all(|odd| !line.contains(odd));
        log.lines().filter(is_other).count()
    })
}

#[test]
fn what_shows_a_few_archives_examines_as_many_files_among_30_as_among_300() {
    let worlds = [30, 300].map(|archives| {
        let world = world_of(archives);
        world.run(&["search", "badger"]).expect(0);
        world
    });
    let commands: [&[&str]; 5] = [
        &["history", "list", "--json", "--limit", "20"],
        &["history", "list", "--latest", "--json"],
        &["history", "show", "s007"],
        &["history", "show", "latest"],
        &["history", "list", "--query", "few words", "--limit", "5"],
    ];
    for arguments in commands {
        let Some(among_30) = touched(&worlds[0], arguments) else { return skip("strace is not installed") };
        let among_300 = touched(&worlds[1], arguments).unwrap();
        // A query reads the first archives before it asks the index: sixteen for each processor.
        let block = 16 * std::thread::available_parallelism().unwrap().get();
        let more = if arguments.contains(&"--query") { 20 * block.saturating_sub(30) } else { 0 };
        assert!(among_300 <= among_30 + 4 + more, "{arguments:?}: {among_30} and {among_300}");
    }
}
