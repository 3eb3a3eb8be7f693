//! A small version of `fuzz/`: every parser gets its seeds, and a few hundred texts that were made of them. `fuzz/` uses
//! the two files beside this one: it is a package of its own, which the crate does not contain.

use std::path::Path;

use agent_handover::testing::parsers::PARSERS;

mod mutate;
mod seeds;

const LONGEST: usize = 16 << 10;

#[test]
fn no_parser_panics_or_breaks_its_promise() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for parser in PARSERS {
        let seeds = seeds::of(root, parser.name, LONGEST);
        assert!(!seeds.is_empty(), "{} has no seed in tests/data/fuzz", parser.name);
        for seed in &seeds {
            (parser.parse)(seed);
        }
        let mut random = mutate::Random::new(7);
        for _ in 0..300 {
            (parser.parse)(&mutate::mutated(&mut random, &seeds, LONGEST));
        }
    }
}
