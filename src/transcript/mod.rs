//! What agents leave on disk of a session: one file a format, read as a stream, within limits, and never believed.
//!
//! The formats are their owners' and change without notice: what is not understood is passed over. Nothing of a
//! transcript is kept but what [`Transcript`] holds, and that without secrets and without what was said in private.

mod claude_code;
mod codex;
mod draft;
mod lean;
mod lines;
mod said;
mod verdict;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, FixedOffset};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::{env, fs};
use crate::error::{Category, Error, Result};
use draft::Draft;
use lines::{Line, Lines};

/// The first line of what we inject into a session, by which we know it again and do not take it for something said.
pub const WARMUP_MARKER: &str = "<!-- agent-handover warmup -->";

/// How much of a file is looked at: this much of its beginning, where the goal is,
const MAX_BEGINNING: u64 = 16 << 20;
/// and this much of its end, where the work is.
const MAX_END: u64 = 240 << 20;
/// By then a file has said what it is.
const HEAD_RECORDS: usize = 50;
const HEAD_BYTES: u64 = 4 << 20;

/// One way of writing a session down. A new one is a file, its `mod` line and its line in `FORMATS`.
pub struct Format {
    /// The name of the agent.
    pub name: &'static str,
    /// The variable that says where it keeps its files, and the directory in the home that it keeps them in otherwise.
    place: (&'static str, &'static str),
    /// Whether a record is one of these.
    is_one: fn(&Value) -> bool,
    /// Adds what a record says.
    take: fn(&mut Draft, &Value),
    /// The files of sessions that may belong to a project, by what can be told without opening them.
    candidates: fn(place: &Path, root: &Path) -> Vec<PathBuf>,
    /// The session's id, from its file's name.
    id: fn(&Path) -> Option<String>,
}

pub const FORMATS: &[Format] = &[claude_code::FORMAT, codex::FORMAT];

/// What a session did, as far as its transcript tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transcript {
    /// The agent whose format it is.
    pub agent: &'static str,
    pub session: String,
    /// Where it was started.
    pub cwd: String,
    pub branch: String,
    pub model: String,
    pub title: String,
    /// What a person asked for first and last; what they asked in private is not in it.
    pub first_request: String,
    pub last_request: String,
    pub requests: usize,
    /// Absolute where that is known, in the order of their first edit.
    pub edited: Vec<String>,
    /// The last ones, in their order.
    pub commands: Vec<Command>,
    /// Each test command once, with how it ended last.
    pub tests: Vec<Command>,
    /// As the list stood at the end.
    pub todos: Vec<Todo>,
    pub started: Option<DateTime<FixedOffset>>,
    pub ended: Option<DateTime<FixedOffset>>,
    /// Asked by another agent, not by a person.
    pub is_subagent: bool,
    /// Run without a person in front of it, if that is known.
    pub is_headless: Option<bool>,
    /// What was not read, or not kept.
    pub notices: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub command: String,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// With its exit code, if it is the command's own.
    Failed(Option<i64>),
    /// Not over, or not to be told: the exit code behind a pipe is another program's.
    Unknown,
}

impl Serialize for Command {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (result, exit_code) = match self.outcome {
            Outcome::Passed => ("passed", Some(0)),
            Outcome::Failed(code) => ("failed", code),
            Outcome::Unknown => ("unknown", None),
        };
        let mut fields = serializer.serialize_struct("Command", 3)?;
        fields.serialize_field("command", &self.command)?;
        fields.serialize_field("result", result)?;
        fields.serialize_field("exit_code", &exit_code)?;
        fields.end()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Todo {
    pub text: String,
    pub status: TodoStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// A part of a transcript, pinned: what is written to the file later is not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub path: PathBuf,
    /// The session's id as its agent says it; empty if nobody did.
    #[serde(default)]
    pub session: String,
    #[serde(default)]
    pub start: u64,
    pub end: u64,
}

/// A session's file, known by its beginning and by what the file system says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFile {
    pub agent: &'static str,
    pub path: PathBuf,
    pub session: String,
    /// Where the session was started.
    pub cwd: PathBuf,
    pub size: u64,
    pub modified: SystemTime,
    pub is_subagent: bool,
}

impl Source {
    /// All that is in the file now. One that is not there yet is a session that has said nothing.
    pub fn pin(path: &Path, session: &str) -> Result<Source> {
        if path.to_str().is_none() {
            let message = format!("the path `{}` is not UTF-8 and cannot be recorded", path.display());
            return Err(Error::usage(message).hint("make a link with a plain name to it"));
        }
        fs::refuse_what_is_no_file(path)?;
        let end = match std::fs::metadata(path) {
            Ok(about) => about.len(),
            Err(cause) if fs::is_absent(&cause) => 0,
            Err(cause) => return Err(Error::io("read", path, cause)),
        };
        Ok(Source { path: path.to_path_buf(), session: session.to_owned(), start: 0, end })
    }

    /// Reads what was pinned. `None` if the file is gone.
    pub fn read(&self) -> Result<Option<Transcript>> {
        read(&self.path, self.start, self.end).map(|read| {
            read.map(|mut read| {
                if !self.session.is_empty() {
                    read.session.clone_from(&self.session);
                }
                read
            })
        })
    }
}

/// Reads a transcript from `start` to `end`. `None` if there is no file.
pub fn read(path: &Path, start: u64, end: u64) -> Result<Option<Transcript>> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    let failed = |cause: io::Error| Error::io("read", path, cause);
    if end == 0 {
        return Ok(Some(Draft::of("").finish()));
    }
    let mut format = None;
    let is_unknown = |record| {
        format = FORMATS.iter().find(|format| (format.is_one)(&record));
        format.is_none()
    };
    head(&mut file, end, is_unknown).map_err(failed)?;
    let Some(format) = format else {
        let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        return Err(Error::bad_data(format!("`{}` is no transcript of {}", path.display(), known.join(" or "))));
    };
    let mut draft = Draft::of(format.name);
    if let Some(id) = (format.id)(path) {
        draft.found.session = id;
    }
    if start > 0 {
        // Who it was is said at the beginning only.
        draft.about_only = true;
        let take = |record| {
            (format.take)(&mut draft, &record);
            true
        };
        head(&mut file, start, take).map_err(failed)?;
        draft.about_only = false;
    }
    for (from, to) in pieces(start, end) {
        if from > start {
            draft.passed_over(from - start - MAX_BEGINNING.min(from - start));
        }
        read_piece(&mut file, from, to, format, &mut draft).map_err(failed)?;
    }
    Ok(Some(draft.finish()))
}

/// What is looked at of a file: all of it, or its two ends.
fn pieces(start: u64, end: u64) -> Vec<(u64, u64)> {
    if end.saturating_sub(start) <= MAX_BEGINNING + MAX_END {
        return vec![(start, end)];
    }
    vec![(start, start + MAX_BEGINNING), (end - MAX_END, end)]
}

fn read_piece(file: &mut File, from: u64, to: u64, format: &Format, draft: &mut Draft) -> io::Result<()> {
    // One byte earlier, so that a line that begins exactly here is told from one that is cut.
    file.seek(SeekFrom::Start(from.saturating_sub(1)))?;
    let reader = BufReader::with_capacity(64 << 10, Read::by_ref(file).take(to - from.saturating_sub(1).min(to)));
    let mut lines = Lines::of(reader);
    if from > 0 {
        lines.next()?;
    }
    while let Some(line) = lines.next()? {
        match line {
            Line::TooLong => draft.too_long(),
            // Whoever writes it is not done, unless it reads as a record all the same.
            Line::Unended(line) => lean::parse(line).iter().for_each(|record| (format.take)(draft, record)),
            Line::Whole(line) => match lean::parse(line) {
                Some(record) => (format.take)(draft, &record),
                None if line.iter().all(u8::is_ascii_whitespace) => {}
                None => draft.unreadable(),
            },
        }
    }
    Ok(())
}

/// A pipe or a device would be waited for; a file that is not there is nothing wrong.
fn open(path: &Path) -> Result<Option<File>> {
    fs::refuse_what_is_no_file(path)?;
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if fs::is_absent(&cause) => Ok(None),
        Err(cause) => Err(Error::io("read", path, cause)),
    }
}

/// The first records of a file, as far as `wanted` wants more.
fn head(file: &mut File, end: u64, mut wanted: impl FnMut(Value) -> bool) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut lines = Lines::of(BufReader::new(Read::by_ref(file).take(end.min(HEAD_BYTES))));
    for _ in 0..HEAD_RECORDS {
        match lines.next()? {
            None => break,
            Some(Line::TooLong) => {}
            Some(Line::Whole(line) | Line::Unended(line)) => {
                if lean::parse(line).is_some_and(|record| !wanted(record)) {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// The sessions of every format that were started where `belongs` says, newest first. Only files changed after `since` are
/// opened, each when it is asked for, and only their beginning is read.
pub fn sessions(
    root: &Path,
    since: Option<SystemTime>,
    belongs: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = SessionFile> {
    let places = FORMATS.iter().filter_map(|format| {
        let (variable, directory) = format.place;
        let place = env::get(variable).map(PathBuf::from).or_else(|| Some(env::home()?.join(directory)))?;
        Some((format, place))
    });
    sessions_at(places, root, since, belongs)
}

fn sessions_at(
    places: impl Iterator<Item = (&'static Format, PathBuf)>,
    root: &Path,
    since: Option<SystemTime>,
    belongs: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = SessionFile> {
    let mut found = Vec::new();
    for (format, place) in places {
        for path in (format.candidates)(&place, root) {
            let Ok(about) = std::fs::metadata(&path) else { continue };
            let Ok(modified) = about.modified() else { continue };
            if about.is_file() && since.is_none_or(|since| modified > since) {
                found.push((format, path, about.len(), modified));
            }
        }
    }
    found.sort_by(|a, b| b.3.cmp(&a.3).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().filter_map(move |(format, path, size, modified)| {
        let about = about(format, &path)?;
        let cwd = PathBuf::from(&about.cwd);
        let is_ours = belongs(&cwd);
        let (agent, session, is_subagent) = (format.name, about.session, about.is_subagent);
        is_ours.then_some(SessionFile { agent, path, session, cwd, size, modified, is_subagent })
    })
}

/// What the beginning of a file says of its session, up to where it was started.
fn about(format: &'static Format, path: &Path) -> Option<Transcript> {
    let mut file = open(path).ok()??;
    let mut draft = Draft::of(format.name);
    if let Some(id) = (format.id)(path) {
        draft.found.session = id;
    }
    draft.about_only = true;
    let take = |record| {
        (format.take)(&mut draft, &record);
        draft.found.cwd.is_empty()
    };
    head(&mut file, u64::MAX, take).ok()?;
    let about = draft.finish();
    (!about.cwd.is_empty()).then_some(about)
}

/// The sentence for who looked for a transcript in vain.
pub fn none_found(root: &Path) -> Error {
    Error::new(Category::Failed, format!("no transcript of a session in `{}` was found", root.display()))
        .hint("name one with `--transcript FILE`")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn put(path: &Path, cwd: &str, more: &str, age: u64) -> SystemTime {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let record = serde_json::json!({ "type": "user", "sessionId": "s", "cwd": cwd, "isSidechain": false });
        std::fs::write(path, format!("{{\"half\n{record}\n{more}")).unwrap();
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
        File::options().append(true).open(path).unwrap().set_modified(changed).unwrap();
        changed
    }

    #[test]
    fn sessions_are_listed_newest_first_with_size_and_time() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_path_buf();
        let projects = place.join("projects");
        put(&projects.join("-a-b-c/old.jsonl"), "/a/b.c", "", 50);
        let changed = put(&projects.join("-a-b-c/new.jsonl"), "/a/b.c", "more", 10);
        put(&projects.join("-a-b-c-deep/below.jsonl"), "/a/b.c/deep", "", 20);
        // Names that the same rule makes of other places, and what is no session.
        put(&projects.join("-a-b-c/other.jsonl"), "/a/b/c", "", 5);
        put(&projects.join("-a-b-cd/other.jsonl"), "/a/b.cd", "", 5);
        put(&projects.join("-a-b-c/new/subagents/agent-1.jsonl"), "/a/b.c", "", 5);
        std::fs::write(projects.join("-a-b-c/empty.jsonl"), "").unwrap();
        let root = Path::new("/a/b.c");
        let list = |since: Option<SystemTime>| -> Vec<SessionFile> {
            let places = [(&FORMATS[0], place.clone())].into_iter();
            sessions_at(places, root, since, |cwd| cwd.starts_with(root)).collect()
        };
        let all = list(None);
        let ids: Vec<&str> = all.iter().map(|session| session.session.as_str()).collect();
        assert_eq!(ids, ["new", "below", "old"]);
        assert_eq!((all[0].modified, all[0].agent, all[0].is_subagent), (changed, "claude-code", false));
        assert_eq!(all[0].size, all[2].size + 4);
        assert_eq!(list(Some(changed - Duration::from_secs(1))).len(), 1);
        assert_eq!(list(Some(changed)), []);
    }

    #[test]
    fn of_a_file_that_is_too_large_both_ends_are_read() {
        assert_eq!(pieces(0, 10), [(0, 10)]);
        assert_eq!(pieces(20, 10), [(20, 10)]);
        let end = 1 << 40;
        assert_eq!(pieces(7, end), [(7, 7 + MAX_BEGINNING), (end - MAX_END, end)]);
    }
}
