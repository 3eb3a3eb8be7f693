//! Comparisons. The sides of a race take turns, so that a busy moment of the machine hits all of them alike, and their
//! medians are compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command, what is put back after each time it ran, and how it should compare with another side.
pub(crate) struct Side {
    name: String,
    command: Box<dyn Fn() -> Command>,
    /// What it reads.
    input: Option<PathBuf>,
    after: Box<dyn Fn()>,
    aim: Option<Aim>,
    size: Option<usize>,
    times: Vec<Duration>,
}

/// What a ratio should be.
#[derive(Clone)]
struct Aim {
    bound: Bound,
    /// The name of the side that it is compared with; `None` for the first one.
    against: Option<String>,
}

#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

pub(crate) fn side(name: &str, command: impl Fn() -> Command + 'static) -> Side {
    Side {
        name: name.to_owned(),
        command: Box::new(command),
        input: None,
        after: Box::new(|| ()),
        aim: None,
        size: None,
        times: Vec::new(),
    }
}

impl Side {
    pub(crate) fn after(mut self, after: impl Fn() + 'static) -> Side {
        self.after = Box::new(after);
        self
    }

    pub(crate) fn input(mut self, file: &Path) -> Side {
        self.input = Some(file.to_path_buf());
        self
    }

    /// It should take at most so many times as long as the first side.
    pub(crate) fn at_most(mut self, times: f64) -> Side {
        self.aim = Some(Aim { bound: Bound::AtMost(times), against: None });
        self
    }

    /// It should take at most so many times as long as the side of this name.
    pub(crate) fn at_most_of(mut self, times: f64, against: &str) -> Side {
        self.aim = Some(Aim { bound: Bound::AtMost(times), against: Some(against.to_owned()) });
        self
    }

    /// It takes at least so many times as long as the side of this name.
    pub(crate) fn at_least_of(mut self, times: f64, against: &str) -> Side {
        self.aim = Some(Aim { bound: Bound::AtLeast(times), against: Some(against.to_owned()) });
        self
    }

    /// It is a point of a curve: what it costs where there are so many.
    pub(crate) fn at(mut self, size: usize) -> Side {
        self.size = Some(size);
        self
    }

    fn run(&mut self) -> Duration {
        let mut command = (self.command)();
        let input = self.input.as_ref().map_or_else(Stdio::null, |path| std::fs::File::open(path).unwrap().into());
        command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(input);
        let start = Instant::now();
        command.status().unwrap();
        let took = start.elapsed();
        (self.after)();
        took
    }

    fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times[times.len() / 2]
    }
}

/// One side as it was measured.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) race: String,
    pub(crate) name: String,
    pub(crate) milliseconds: f64,
    /// Beside the first side of the race.
    pub(crate) ratio: f64,
    pub(crate) aim: Option<Judged>,
    pub(crate) size: Option<usize>,
}

/// An aim and what became of it.
#[derive(Clone)]
pub(crate) struct Judged {
    pub(crate) text: String,
    pub(crate) ratio: f64,
    pub(crate) is_met: bool,
}

impl Judged {
    pub(crate) fn word(&self) -> &'static str {
        if self.is_met { "met" } else { "missed" }
    }
}

/// Everything that is measured in one run.
#[derive(Default)]
pub(crate) struct Results {
    /// Also what takes long to build.
    pub(crate) is_full: bool,
    pub(crate) rows: Vec<Row>,
    /// Tables of other things than times, as Markdown under a heading.
    pub(crate) tables: Vec<(String, String)>,
}

impl Results {
    /// Runs all sides in turns, and prints and keeps each beside the first.
    pub(crate) fn race(&mut self, title: &str, rounds: usize, mut sides: Vec<Side>) {
        for round in 0..=rounds {
            for side in &mut sides {
                let took = side.run();
                // The first round warms up.
                if round > 0 {
                    side.times.push(took);
                }
            }
        }
        println!("\n{title}");
        let first = sides[0].median();
        for side in &sides {
            let aim = side.aim.as_ref().map(|aim| judge(aim, side, &sides));
            let row = Row {
                race: title.to_owned(),
                name: side.name.clone(),
                milliseconds: side.median().as_secs_f64() * 1e3,
                ratio: side.median().as_secs_f64() / first.as_secs_f64(),
                aim,
                size: side.size,
            };
            let aim = row.aim.as_ref().map_or_else(String::new, |aim| format!("  {}: {}", aim.text, aim.word()));
            println!("  {:<56} {:>10.3} ms  {:>7.2}x{aim}", row.name, row.milliseconds, row.ratio);
            self.rows.push(row);
        }
    }
}

fn judge(aim: &Aim, side: &Side, sides: &[Side]) -> Judged {
    let name = aim.against.as_ref().unwrap_or(&sides[0].name);
    let against = sides.iter().find(|side| side.name == *name);
    let against = against.unwrap_or_else(|| panic!("`{}` is compared with `{name}`, which is no side", side.name));
    let ratio = side.median().as_secs_f64() / against.median().as_secs_f64();
    let (text, is_met) = match aim.bound {
        Bound::AtMost(times) => (format!("at most {times}x"), ratio <= times),
        Bound::AtLeast(times) => (format!("at least {times}x"), ratio >= times),
    };
    let of = aim.against.as_ref().map_or_else(String::new, |name| format!(" of \"{name}\""));
    Judged { text: format!("{text}{of}"), ratio, is_met }
}
