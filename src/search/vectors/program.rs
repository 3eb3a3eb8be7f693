//! The user's own program: lines of text in, one JSON array of numbers a line out. Nothing that it prints is trusted.

use std::collections::HashSet;
use std::time::Duration;

use crate::base::process::{self, Captured, Job, NoAnswer};
use crate::base::{env, text};
use crate::guard::secrets;
use crate::project::Project;

/// The longest vector. The models that people run have 256 to 3,072 numbers.
const MAX_DIMENSIONS: usize = 4_096;
/// How many bytes one number takes at most, written with all of its digits.
const MAX_NUMBER: usize = 32;

/// A vector of a text.
pub(in crate::search) type Vector = Vec<f32>;

/// The program that a config names, for one search.
pub(super) struct Program<'a> {
    pub project: &'a Project,
    pub argv: &'a [String],
    /// How long one call may take.
    pub limit: Duration,
}

impl Program<'_> {
    /// The vectors of these texts, all of one length. The error is the reason why there are none, as a part of a sentence.
    pub(super) fn vectors(&self, texts: &[&str]) -> Result<Vec<Vector>, String> {
        let mut input = String::new();
        for text in texts {
            input.push_str(&line(text));
            input.push('\n');
        }
        let job = Job {
            argv: self.argv.iter().map(Into::into).collect(),
            directory: self.project.root.clone(),
            env: vec![(env::ROOT.to_owned(), self.project.root.clone().into_os_string())],
            env_remove: Vec::new(),
        };
        let most = (texts.len() * MAX_DIMENSIONS * MAX_NUMBER) as u64;
        let brake = self.project.brake();
        let is_over = || brake.pressed().is_some();
        match process::converse(&job, self.limit, most, Some(input.as_bytes()), &is_over) {
            Ok(captured) => self.read(&captured, texts.len()),
            Err(
                NoAnswer::NotStarted(error)
                | NoAnswer::TimedOut(error)
                | NoAnswer::Interrupted(error)
                | NoAnswer::DiskFull(error)
                | NoAnswer::Other(error),
            ) => Err(error.one_line()),
        }
    }

    fn read(&self, captured: &Captured, texts: usize) -> Result<Vec<Vector>, String> {
        let program = self.name();
        if !captured.succeeded {
            let error = text::of_bytes(&captured.stderr);
            let last = error.lines().rev().find(|line| !line.trim().is_empty()).map(secrets::clean);
            let last = last.map(|line| format!(": {}", text::one_line(&line, 160))).unwrap_or_default();
            return Err(format!("`{program}` failed{last}"));
        }
        if !captured.whole {
            return Err(format!("`{program}` printed too much for {}", text::count(texts, "text")));
        }
        parse(&captured.stdout, texts).map_err(|wrong| format!("`{program}` {wrong}"))
    }

    fn name(&self) -> String {
        text::one_line(self.argv.first().map(String::as_str).unwrap_or_default(), 80)
    }
}

/// A text on one line.
fn line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The vectors that a program printed for so many texts.
fn parse(output: &[u8], texts: usize) -> Result<Vec<Vector>, String> {
    let output = output.strip_suffix(b"\n").unwrap_or(output);
    let lines: Vec<&[u8]> = if output.is_empty() { Vec::new() } else { output.split(|byte| *byte == b'\n').collect() };
    if lines.len() != texts {
        return Err(format!("printed {} for {}", text::count(lines.len(), "line"), text::count(texts, "text")));
    }
    let mut vectors = Vec::with_capacity(texts);
    for (number, line) in (1..).zip(lines) {
        vectors.push(vector(line).map_err(|wrong| format!("printed {wrong} in line {number}"))?);
    }
    let lengths: HashSet<usize> = vectors.iter().map(Vec::len).collect();
    if lengths.len() > 1 {
        return Err("printed vectors of different lengths".to_owned());
    }
    Ok(vectors)
}

fn vector(line: &[u8]) -> Result<Vector, String> {
    let numbers: Vec<f64> =
        serde_json::from_slice(line).map_err(|_| "something else than a JSON array of numbers".to_owned())?;
    if numbers.is_empty() || numbers.len() > MAX_DIMENSIONS {
        return Err(format!("a vector of {} numbers, where 1 to {MAX_DIMENSIONS} are possible,", numbers.len()));
    }
    let vector: Vector = numbers.into_iter().map(|number| number as f32).collect();
    let is_finite = vector.iter().all(|number| number.is_finite());
    is_finite.then_some(vector).ok_or_else(|| "a number that is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_as_many_vectors_of_one_length_as_there_are_texts_are_read() {
        assert_eq!(parse(b"[1, 2.5]\n[-3e2,0]\r\n", 2), Ok(vec![vec![1.0, 2.5], vec![-300.0, 0.0]]));
        let long = format!("[{}0]", "0,".repeat(MAX_DIMENSIONS));
        for (output, texts, wrong) in [
            ("", 1, "printed 0 lines for 1 text"),
            ("[1]\n", 2, "printed 1 line for 2 texts"),
            ("[1]\n[1]\n", 1, "printed 2 lines for 1 text"),
            ("[1]\n\n", 1, "printed 2 lines for 1 text"),
            ("[1]\n[1, 2]\n", 2, "printed vectors of different lengths"),
            ("[]", 1, "printed a vector of 0 numbers, where 1 to 4096 are possible, in line 1"),
            (&long, 1, "printed a vector of 4097 numbers, where 1 to 4096 are possible, in line 1"),
            ("[1]\n[1e39]", 2, "printed a number that is too large in line 2"),
            ("[1e999]", 1, "printed something else than a JSON array of numbers in line 1"),
            ("[NaN]", 1, "printed something else than a JSON array of numbers in line 1"),
            ("[null]", 1, "printed something else than a JSON array of numbers in line 1"),
            ("[[1]]", 1, "printed something else than a JSON array of numbers in line 1"),
            ("1 2 3", 1, "printed something else than a JSON array of numbers in line 1"),
            ("\u{1b}[2J", 1, "printed something else than a JSON array of numbers in line 1"),
        ] {
            assert_eq!(parse(output.as_bytes(), texts), Err(wrong.to_owned()), "{output:.40}");
        }
        assert!(parse(b"[1]\n\xff\xfe", 2).is_err());
        assert!(parse("[".repeat(100_000).as_bytes(), 1).is_err());
    }

    #[test]
    fn every_text_is_one_line() {
        assert_eq!(line("a\n\nb\r\u{2028}c\u{85}d\0e\u{b}"), "a b c d e");
        assert_eq!(line(" \n"), "");
    }
}
