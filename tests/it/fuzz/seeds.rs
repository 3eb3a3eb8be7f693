//! Where the texts come from that are changed at random.

use std::path::{Path, PathBuf};

/// The data of the tests that a parser reads, below `tests/data`, besides its own directory in `fuzz`.
const DATA: &[(&str, &str)] = &[
    ("document", "handoffs"),
    ("bundle", "session-handoff"),
    ("envelope", "session-handoff"),
    ("key", "session-handoff"),
    ("payload", "hooks"),
    ("json", "hooks"),
    ("json", "transcripts"),
    ("transcript", "transcripts"),
];

/// The seeds of a parser, each at most `longest` bytes. `root` is the directory of the repository.
pub fn of(root: &Path, parser: &str, longest: usize) -> Vec<Vec<u8>> {
    let own = root.join("tests/data/fuzz").join(parser);
    let data = DATA.iter().filter(|(name, _)| *name == parser).map(|(_, path)| root.join("tests/data").join(path));
    let mut files: Vec<PathBuf> = Vec::new();
    for directory in std::iter::once(own).chain(data) {
        collect(&directory, &mut files);
    }
    // Sorted, so that a seed of the random numbers always means the same.
    files.sort();
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for file in files {
        let bytes = std::fs::read(file).unwrap_or_default();
        // A record is a text of its own for the parser of records.
        if parser == "json" {
            seeds.extend(bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
        } else {
            seeds.push(bytes);
        }
    }
    seeds.retain(|seed| !seed.is_empty() && seed.len() <= longest);
    seeds
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
