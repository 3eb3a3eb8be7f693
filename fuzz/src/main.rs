//! Fuzzing with a stable compiler: gives every parser texts that were changed at random.
//!
//! ```sh
//! cargo run --release --manifest-path fuzz/Cargo.toml -- --runs 1000000
//! ```
//!
//! What makes a parser panic, or takes it longer than a second, is written to `fuzz/found/`.

#[path = "../../tests/it/fuzz/mutate.rs"]
mod mutate;
#[path = "../../tests/it/fuzz/seeds.rs"]
mod seeds;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_handover::testing::parsers::PARSERS;
use agent_handover::testing::transcript;
use mutate::Random;

/// The longest text.
const LONGEST: usize = 16 << 10;
/// A parser that takes longer than this for such a text does too much work.
const PATIENCE: Duration = Duration::from_secs(1);

const USAGE: &str = "usage: fuzz [--runs N] [--seed N] [PARSER…]";

struct Wanted {
    runs: u64,
    seed: u64,
    parsers: Vec<String>,
}

fn main() {
    let wanted = arguments();
    std::panic::set_hook(Box::new(|_| ()));
    let names = PARSERS.iter().map(|parser| parser.name).chain(["transcript"]);
    let names: Vec<&str> =
        names.filter(|name| wanted.parsers.is_empty() || wanted.parsers.iter().any(|it| it == name)).collect();
    if names.is_empty() {
        eprintln!(
            "no such parser; there are {}",
            PARSERS.iter().map(|parser| parser.name).collect::<Vec<_>>().join(", ")
        );
        std::process::exit(64);
    }
    let found: u64 = names.iter().map(|name| fuzz(name, &wanted)).sum();
    println!("executions: {}, failures: {found}", wanted.runs * names.len() as u64);
    std::process::exit(i32::from(found > 0));
}

fn arguments() -> Wanted {
    let mut wanted = Wanted { runs: 100_000, seed: 1, parsers: Vec::new() };
    let mut words = std::env::args().skip(1);
    let number = |word: Option<String>| {
        word.and_then(|word| word.replace('_', "").parse().ok()).unwrap_or_else(|| {
            eprintln!("{USAGE}");
            std::process::exit(64);
        })
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--runs" => wanted.runs = number(words.next()),
            "--seed" => wanted.seed = number(words.next()),
            _ if word.starts_with('-') => {
                eprintln!("{USAGE}");
                std::process::exit(64);
            }
            _ => wanted.parsers.push(word),
        }
    }
    wanted
}

/// Fuzzes one parser, and returns how many texts it failed at.
fn fuzz(name: &str, wanted: &Wanted) -> u64 {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let seeds = seeds::of(&root, name, LONGEST);
    let start = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let found: u64 = std::thread::scope(|scope| {
        let each: Vec<_> = (0..threads)
            .map(|thread| {
                let seeds = &seeds;
                let runs = wanted.runs / threads + u64::from(thread < wanted.runs % threads);
                scope.spawn(move || work(name, seeds, wanted.seed ^ (thread << 32), runs))
            })
            .collect();
        each.into_iter().map(|thread| thread.join().unwrap_or(1)).sum()
    });
    let (runs, seconds) = (wanted.runs, start.elapsed().as_secs_f64());
    println!("{name}: {runs} executions from {} seeds in {seconds:.1} s, {found} failures", seeds.len());
    found
}

fn work(name: &str, seeds: &[Vec<u8>], seed: u64, runs: u64) -> u64 {
    let mut random = Random::new(seed);
    let parse = parser(name);
    let mut found = 0;
    for _ in 0..runs {
        let text = mutate::mutated(&mut random, seeds, LONGEST);
        let start = Instant::now();
        let is_whole = catch_unwind(AssertUnwindSafe(|| parse(&text))).is_ok();
        if !is_whole || start.elapsed() > PATIENCE {
            found += 1;
            keep(name, if is_whole { "slow" } else { "panic" }, &text);
        }
    }
    found
}

/// A parser by its name. Transcripts are files.
fn parser(name: &str) -> Box<dyn Fn(&[u8])> {
    if let Some(parser) = PARSERS.iter().find(|parser| parser.name == name) {
        return Box::new(parser.parse);
    }
    let directory = tempfile::Builder::new().prefix("fuzz").tempdir().expect("a temporary directory");
    Box::new(move |bytes| {
        // The names of real session files, because a few formats are recognised by their names.
        for name in ["session.jsonl", "chat.json"] {
            let path: PathBuf = directory.path().join(name);
            std::fs::write(&path, bytes).expect("a file in a temporary directory");
            let _ = transcript::read(&path, 0, bytes.len() as u64);
        }
    })
}

/// Writes a text that a parser failed at, once for each content.
fn keep(name: &str, why: &str, text: &[u8]) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("found");
    let digest = text
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    let path = directory.join(format!("{name}-{why}-{digest:016x}"));
    if std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&path, text)).is_ok() {
        println!("{name}: {why}, kept in {}", path.display());
    }
}
