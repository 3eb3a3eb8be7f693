//! What grows in the state directory.

use std::fmt::Write;
use std::path::Path;

use crate::race::Results;
use crate::world::{World, index};

/// The files of the state directory after so many handovers.
pub(crate) fn state(results: &mut Results) {
    let counts: &[usize] = if results.is_full { &[100, 500, 1_000, 1_500] } else { &[50, 100] };
    let world = World::new("[backend]\ntype = \"git\"\n");
    world.shell(
        "git init -q . && git init -q --bare ../remote.git && git remote add origin $PWD/../remote.git \
         && git config user.name b && git config user.email b@b && git commit -q --allow-empty -m Begin",
    );
    let mut measured = Vec::new();
    let mut done = 0;
    for count in counts {
        while done < *count {
            world.run(&["run", "--quiet", "--note", "the parser is done; next: the docs"]);
            done += 1;
        }
        index(&world);
        measured.push(sizes(&world.state()));
    }
    let heads: Vec<String> = counts.iter().map(|count| format!("after {count} handovers")).collect();
    let mut table = format!("| in `.agent-handover` | {} |\n|---|{}\n", heads.join(" | "), "---:|".repeat(heads.len()));
    let names: std::collections::BTreeSet<&String> = measured.iter().flatten().map(|(name, _)| name).collect();
    for name in names {
        let of =
            |sizes: &Vec<(String, u64)>| sizes.iter().find(|(other, _)| other == name).map_or(0, |(_, bytes)| *bytes);
        let cells: Vec<String> = measured.iter().map(|sizes| format!("{} kB", of(sizes).div_ceil(1_000))).collect();
        writeln!(table, "| `{name}` | {} |", cells.join(" | ")).unwrap();
    }
    println!("\nbytes in the state directory\n{table}");
    results.tables.push(("Bytes in the state directory".to_owned(), table));
}

/// The entries of a directory with all bytes below them. SQLite's logs count as part of their database.
fn sizes(directory: &Path) -> Vec<(String, u64)> {
    let mut sizes: Vec<(String, u64)> = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = name.trim_end_matches("-wal").trim_end_matches("-shm").to_owned();
        let bytes = bytes_below(&entry.path());
        match sizes.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sum)) => *sum += bytes,
            None => sizes.push((name, bytes)),
        }
    }
    sizes
}

fn bytes_below(path: &Path) -> u64 {
    if path.is_dir() {
        return std::fs::read_dir(path).unwrap().flatten().map(|entry| bytes_below(&entry.path())).sum();
    }
    path.metadata().map_or(0, |about| about.len())
}
