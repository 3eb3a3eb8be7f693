//! The sessions that touched a file or a directory, with what was asked, decided and run around it.

use std::path::Path;
use std::time::Duration;

use super::answer::{Hit, Near, hit_of};
use super::passage::PassageKind;
use super::query::Query;
use super::store::{Index, StoredPassage};
use crate::base::text;
use crate::git::Git;
use crate::project::Project;

/// How long git may take to follow the names of a file.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many earlier names of a file are looked for.
const MAX_NAMES: usize = 20;
/// How many passages around an edit are shown, and how long each may be.
const SHOWN: usize = 4;
const MAX_SHOWN: usize = 300;
/// How many passages before and after an edit belong to it.
const AROUND: i64 = 12;

/// A file of the project as git knows it.
#[derive(Debug, Default)]
pub(super) struct TracedFile {
    /// Its name, then the names that it had before.
    pub names: Vec<String>,
    /// When it was last changed, in seconds since 1970, committed or not.
    pub changed: Option<i64>,
}

impl TracedFile {
    /// Traces a file by its path relative to the project.
    pub(super) fn of(project: &Project, path: &str) -> TracedFile {
        let git = Git::at(&project.root).within(PATIENCE).with_config(&["core.quotepath=false"]);
        let mut traced = TracedFile { names: vec![path.to_owned()], changed: None };
        // A directory has no earlier names, and something in it changes often.
        if crate::base::fs::is_directory(&project.root.join(path)) {
            return traced;
        }
        // The name of a file may have brackets, which git would take for a pattern. The project may be below the top of the work
        // tree, and its names are relative to itself.
        let log_of = |path: &str| {
            let spec = format!(":(literal){path}");
            let log = ["log", "--follow", "--relative", "--format=%ct", "--name-only", "--max-count=500", "--", &spec];
            asked(&git, &log)
        };
        let mut log = log_of(path);
        // A name that no commit has may be new, and the file be renamed but not committed.
        if log.is_empty() {
            let renamed = asked(
                &git,
                &["diff", "--cached", "--relative", "--name-status", "--find-renames", "--diff-filter=R", "HEAD"],
            );
            let fields = renamed.lines().map(|line| line.split('\t').collect::<Vec<_>>());
            let before = fields.filter(|fields| fields.get(2) == Some(&path)).find_map(|fields| fields.get(1).copied());
            log = before.map(log_of).unwrap_or_default();
        }
        for line in log.lines().filter(|line| !line.is_empty()) {
            match line.parse::<i64>() {
                Ok(at) => traced.changed = traced.changed.max(Some(at)),
                Err(_) if traced.names.len() < MAX_NAMES && !traced.names.iter().any(|name| name == line) => {
                    traced.names.push(line.to_owned());
                }
                Err(_) => {}
            }
        }
        traced.changed = traced.changed.max(written(&project.root.join(path)));
        traced
    }
}

/// What git prints; empty if it fails.
fn asked(git: &Git, arguments: &[&str]) -> String {
    let answer = git.ask(arguments).ok().filter(|answer| answer.succeeded);
    answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned()).unwrap_or_default()
}

/// When a file was last written.
fn written(path: &Path) -> Option<i64> {
    let since = crate::base::fs::modified(path)?.duration_since(std::time::SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

/// The sessions that touched a file, newest first. The filters by agent, branch and time count.
pub(super) fn sessions(index: &Index, file: &TracedFile, query: &Query) -> rusqlite::Result<Vec<Hit>> {
    let _reading = index.reading()?;
    let mut touched: Vec<(i64, Option<i64>)> = Vec::new();
    for name in &file.names {
        for (document, at) in index.touched(name)? {
            match touched.iter_mut().find(|(known, _)| *known == document) {
                Some((_, latest)) => *latest = at.max(*latest),
                None => touched.push((document, at)),
            }
        }
    }
    touched.sort_by_key(|(document, at)| std::cmp::Reverse((*at, *document)));
    let mut hits = Vec::new();
    touched.retain(|(_, at)| {
        query.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && query.until.is_none_or(|until| at.is_some_and(|at| at < until))
    });
    for (document, at) in touched {
        if hits.len() == query.limit {
            break;
        }
        if index.document_facts(document)?.is_some_and(|document| query.wants_document(&document)) {
            hits.extend(hit(index, file, document, at)?);
        }
    }
    Ok(hits)
}

fn hit(index: &Index, file: &TracedFile, document: i64, at: Option<i64>) -> rusqlite::Result<Option<Hit>> {
    let Some(stored) = index.document(document)? else { return Ok(None) };
    let passages = index.passages_between(document, 0, i64::MAX)?;
    let names: Vec<String> = file.names.iter().flat_map(|name| [format!(" {name} "), format!(" {name}/")]).collect();
    let is_naming = |passage: &&StoredPassage| {
        passage.kind == PassageKind::Command && names.iter().any(|name| format!(" {} ", passage.text).contains(name))
    };
    let is_edit = |passage: &&StoredPassage| passage.text.starts_with("edited ") && is_naming(passage);
    // A long list of edits is in several passages, and only the first of them says what it is.
    let newest = || passages.iter().rev();
    let edit = newest().find(is_edit).or_else(|| newest().find(is_naming)).or(passages.last());
    let Some(edit) = edit else { return Ok(None) };
    let before = passages.iter().rev().filter(|passage| passage.number < edit.number);
    let asked = before.clone().find(|passage| passage.kind == PassageKind::Request);
    let around = |kinds: &[PassageKind]| -> Vec<Near> {
        let near = passages.iter().filter(|passage| (passage.number - edit.number).abs() <= AROUND);
        let wanted = near.filter(|passage| kinds.contains(&passage.kind) && passage.number != edit.number);
        wanted.map(|passage| Near { kind: passage.kind, text: text::kept_line(&passage.text, MAX_SHOWN) }).collect()
    };
    let mut near = around(&[PassageKind::Ruling]);
    near.extend(around(&[PassageKind::Error]).into_iter().take(1));
    near.extend(around(&[PassageKind::Command]).into_iter().take(1));
    near.extend(around(&[PassageKind::Answer]).pop());
    near.truncate(SHOWN);
    let changed_since = file.changed.zip(at).map(|(changed, at)| changed > at);
    let hit = hit_of(index, &stored, asked.unwrap_or(edit).clone(), at)?;
    Ok(Some(Hit { near, changed_since, ..hit }))
}
