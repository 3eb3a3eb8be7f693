//! What looking for secrets costs.

use crate::floor::floor;
use crate::race::Results;

/// Looking for secrets, against reading the same bytes and looking at each once; in a short note, where being ready to
/// look is most of it, and in more than anybody writes.
pub(crate) fn secrets(results: &mut Results) {
    let directory = tempfile::tempdir().unwrap();
    let notes = include_str!("../../README.md").repeat(64 << 20 >> 14);
    let lines: String = (0..500_000u64)
        .map(|n| {
            let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!("checksum = \"{hash:016x}{:016x}\" and let token_{n} = self.secret(\"{n}\");\n", !hash)
        })
        .collect();
    let texts = [
        ("a note of 1 kB", notes[..1_000].to_owned()),
        ("a note of 100 kB", notes[..100_000].to_owned()),
        ("prose", notes),
        ("hashes and code that speaks of tokens and secrets", lines),
    ];
    for (name, text) in texts {
        let file = directory.path().join(name.replace(' ', "-"));
        std::fs::write(&file, &text).unwrap();
        let file = file.display().to_string();
        let sides = vec![
            floor("read it and look at each byte once", &["count-lines", &file]),
            floor("find secrets in it", &["find-secrets", &file]).at_most(5.0),
        ];
        results.race(&format!("secrets in {name}, {} bytes", text.len()), 25, sides);
    }
}
