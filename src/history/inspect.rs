//! Looking at a history without changing it: is it whole, and where does it stand?

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{History, Origin, decisions, prompt};
use crate::base::{fs, text};
use crate::error::Result;
use crate::git::{self, Git};
use crate::handoff::{self, Handoff, repr};

/// The id of an archive, if it has one, and what is wrong in it.
type Checked = (Option<String>, Vec<String>);

/// How much of either end of INDEX.yaml is read to say where it stands.
const ENDS: u64 = 32 << 10;

/// Where a history stands.
#[derive(Debug, Default)]
pub struct HistoryStatus {
    pub latest_session: String,
    pub latest_file: String,
    pub current_branch: String,
    pub head_commit: String,
    pub first_next_action: String,
    pub status: String,
    pub supersedes: String,
    pub sessions: usize,
    pub decisions: usize,
    pub standing: Vec<String>,
    pub problems: Vec<String>,
}

impl History {
    /// Everything that is wrong; with `sessions`, also inside each archive.
    pub fn validate(&self, sessions: bool) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        if !self.exists() {
            return Ok(vec![format!("no {} directory at {}", super::DIRECTORY, self.directory.display())]);
        }
        let latest = self.check_latest(&mut problems)?;
        let log = self.decisions_log()?;
        let names: Vec<String> =
            fs::names(&self.sessions())?.into_iter().filter(|name| name.ends_with(".md")).collect();
        // Both take long where there are many; neither needs the other.
        let (index, archives) = std::thread::scope(|scope| {
            let archives = scope.spawn(|| if sessions { self.check_each(&names) } else { Vec::new() });
            (self.check_index(&mut problems), archives.join().unwrap_or_default())
        });
        let index = index?;
        let status = index.as_ref().and_then(|index| index.latest()).map_or("", |entry| entry.get("status")).to_owned();
        self.check_prompt(latest.as_ref(), &status, &decisions::standing(&log), &mut problems)?;
        let Some(index) = index else { return Ok(problems) };
        if let Some(latest) = &latest {
            check_head(&index, latest, &mut problems);
        }
        let there: HashSet<&str> = names.iter().map(String::as_str).collect();
        let mut known = HashSet::new();
        let mut ids: HashMap<&str, usize> = HashMap::new();
        for (number, entry) in index.sessions.iter().enumerate() {
            let file = entry.get("file");
            known.insert(file);
            *ids.entry(entry.get("session_id")).or_default() += 1;
            if file.is_empty() {
                problems.push(format!("INDEX.yaml.sessions[{number}].file is malformed ({})", repr(file)));
            } else if file.strip_prefix("sessions/").is_none_or(|name| !there.contains(name)) {
                self.check_file(&format!("sessions[{number}].file"), file, &mut problems);
            }
        }
        for (id, count) in ids.iter().filter(|(_, count)| **count > 1) {
            problems.push(format!("INDEX.yaml has session {} {count} times", repr(id)));
        }
        check_archives(&names, archives, &known, &mut problems)?;
        check_lineage(&index, &mut problems);
        Ok(problems)
    }

    fn decisions_log(&self) -> Result<String> {
        let bytes = fs::read_if_exists(&self.decisions_path())?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn check_latest(&self, problems: &mut Vec<String>) -> Result<Option<Handoff>> {
        let Some(bytes) = fs::read_if_exists(&self.latest_path())? else {
            problems.push("missing LATEST.md".to_owned());
            return Ok(None);
        };
        match Handoff::parse(&String::from_utf8_lossy(&bytes)) {
            Err(wrong) => {
                problems.push(format!("LATEST.md: line {}: {}", wrong.line, wrong.message));
                Ok(None)
            }
            Ok(handoff) => {
                problems.extend(
                    wrong_in(&handoff)
                        .into_iter()
                        .map(|wrong| format!("LATEST.md: line {}: {}", wrong.line, wrong.message)),
                );
                let name = super::file_name(handoff.text("session_id"));
                let archive = self.sessions().join(format!("{name}.md"));
                if fs::read_if_exists(&archive)?.is_some_and(|archived| archived != bytes) {
                    problems.push(format!("LATEST.md differs from its archive sessions/{name}.md"));
                }
                for file in handoff.get("active_context_files").and_then(handoff::Value::list).unwrap_or_default() {
                    let path = file.get("path").and_then(handoff::Value::text).or(file.text()).unwrap_or_default();
                    let root = self.directory.parent().unwrap_or(&self.directory);
                    if !path.is_empty() && root.join(path).symlink_metadata().is_err() {
                        problems.push(format!("LATEST.md: context file {} no longer exists", repr(path)));
                    }
                }
                Ok(Some(handoff))
            }
        }
    }

    fn check_prompt(
        &self,
        latest: Option<&Handoff>,
        status: &str,
        standing: &[String],
        problems: &mut Vec<String>,
    ) -> Result<()> {
        let Some(bytes) = fs::read_if_exists(&self.prompt_path())? else {
            problems.push("missing RESUME_PROMPT.txt".to_owned());
            return Ok(());
        };
        let found = String::from_utf8_lossy(&bytes);
        let Some(latest) = latest else { return Ok(()) };
        let first = latest.texts("next_todo_items").first().copied().unwrap_or_default();
        if !found.contains(&handoff::one_line(first)) {
            problems.push(format!(
                "RESUME_PROMPT.txt is stale: it does not contain LATEST.md next_todo_items[0] ({})",
                repr(first)
            ));
        } else if found != prompt::render(latest, status, standing) && found != prompt::render(latest, "", standing) {
            problems.push(
                "RESUME_PROMPT.txt is not what LATEST.md and DECISIONS.md make it: somebody changed it".to_owned(),
            );
        }
        Ok(())
    }

    fn check_file(&self, what: &str, file: &str, problems: &mut Vec<String>) {
        match self.inside(file) {
            Err(_) => problems.push(format!("INDEX.yaml.{what} ({}) is outside {}/", repr(file), super::DIRECTORY)),
            Ok(path) if !path.exists() => {
                problems.push(format!("INDEX.yaml.{what} ({}) does not exist on disk", repr(file)))
            }
            Ok(_) => {}
        }
    }

    fn check_index(&self, problems: &mut Vec<String>) -> Result<Option<super::index::Index>> {
        let Some(bytes) = fs::read_if_exists(&self.index_path())? else {
            problems.push("missing INDEX.yaml".to_owned());
            return Ok(None);
        };
        match super::index::Index::parse(&String::from_utf8_lossy(&bytes)) {
            Ok(index) => Ok(Some(index)),
            Err(wrong) => {
                problems.push(format!("INDEX.yaml: line {}: {}", wrong.line, wrong.message));
                Ok(None)
            }
        }
    }

    /// The id and the problems of each archive, on as many processors as there are.
    fn check_each(&self, names: &[String]) -> Vec<Result<Checked>> {
        let check = |name: &String| {
            let bytes = fs::read(&self.sessions().join(name))?;
            Ok(match std::str::from_utf8(&bytes).map(Handoff::parse) {
                Err(_) => (None, vec!["it is not UTF-8 text".to_owned()]),
                Ok(Err(wrong)) => (None, vec![format!("line {}: {}", wrong.line, wrong.message)]),
                Ok(Ok(handoff)) => {
                    let wrong = wrong_in(&handoff).into_iter();
                    let wrong = wrong.map(|wrong| format!("line {}: {}", wrong.line, wrong.message)).collect();
                    (Some(handoff.text("session_id").to_owned()), wrong)
                }
            })
        };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let parts = names.chunks(names.len().div_ceil(workers).max(1));
            let threads: Vec<_> =
                parts.map(|part| scope.spawn(move || part.iter().map(check).collect::<Vec<_>>())).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        })
    }

    /// What a person wants to know first. Reads the head of the index and its end, not what lies between.
    pub fn status(&self) -> Result<HistoryStatus> {
        let mut status = HistoryStatus::default();
        let (start, end) = ends(&self.index_path())?.unwrap_or_default();
        let split = start.find("\nsessions:").map_or(start.len(), |at| at + 1);
        let head = &start[..split];
        match super::index::Index::parse(head) {
            Err(wrong) => status.problems.push(format!("INDEX.yaml: line {}: {}", wrong.line, wrong.message)),
            Ok(index) => {
                let mut latest = last_entry(&end, &index.latest_session);
                status.sessions = counted(head).unwrap_or_default();
                // Another tool wrote the index, or the latest is not where the newest stand: then all of it is read.
                if status.sessions == 0 || latest.is_none() {
                    let whole = fs::read_if_exists(&self.index_path())?.unwrap_or_default();
                    let whole = String::from_utf8_lossy(&whole);
                    status.sessions = whole.matches("\n  - session_id:").count();
                    latest = latest.or_else(|| last_entry(&whole, &index.latest_session));
                }
                status.status = latest.as_ref().map(|entry| entry.get("status").to_owned()).unwrap_or_default();
                status.supersedes = latest.as_ref().map(|entry| entry.get("supersedes").to_owned()).unwrap_or_default();
                status.current_branch = index.top("current_branch").to_owned();
                status.head_commit = index.top("head_commit").to_owned();
                status.first_next_action = index.first_next_action.clone();
                status.latest_session = index.latest_session.clone();
                status.latest_file = index.latest_file.clone();
                let mut problems = Vec::new();
                if let Some(latest) = self.check_latest(&mut problems)? {
                    check_head_of(&index, &latest, &status.status, &mut problems);
                    let standing = decisions::standing(&self.decisions_log()?);
                    self.check_prompt(Some(&latest), &status.status, &standing, &mut problems)?;
                }
                self.check_file("latest_file", &status.latest_file, &mut problems);
                status.problems = problems;
            }
        }
        let log = self.decisions_log()?;
        status.decisions = decisions::count(&log);
        status.standing = decisions::standing(&log);
        Ok(status)
    }
}

/// What is wrong inside a handoff. Which first action others chose is theirs to answer for.
fn wrong_in(handoff: &Handoff) -> Vec<handoff::Wrong> {
    let mut wrong = handoff::check(handoff);
    if Origin::of(handoff).is_some() {
        wrong.retain(|wrong| !wrong.message.starts_with("next_todo_items[0] "));
    }
    wrong
}

/// A handoff, and what has become of its session since it was written.
#[derive(Debug)]
pub struct OpenHandoff {
    pub handoff: Handoff,
    pub status: String,
    /// Sessions before it that are not over either, the newest first, as far as they stand near the end of the index.
    pub earlier: Vec<super::SessionEntry>,
}

/// Whoever comes next has nothing to do for these.
pub fn is_over(status: &str) -> bool {
    matches!(status.to_ascii_uppercase().as_str(), "DONE" | "ABANDONED")
}

impl History {
    /// The newest handoff whose session is not over; if all are that can be seen from the end of the index, the newest.
    /// Does not read all of a long index.
    pub fn newest_open(&self) -> Result<Option<OpenHandoff>> {
        let (head, tail) = fs::read_ends(&self.index_path(), ENDS)?.unwrap_or_default();
        let (head, tail) = (String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail));
        let entries = last_entries(&tail);
        let of = |id: &str| entries.iter().find(|entry| entry.get("session_id") == id);
        let status = |handoff: &Handoff, entry: Option<&super::SessionEntry>| {
            let said = entry.map(|entry| entry.get("status")).filter(|status| !status.is_empty());
            said.unwrap_or_else(|| handoff.text("status")).to_owned()
        };
        let latest = match self.read_archive(&self.latest_path()) {
            Ok(handoff) => Some(handoff),
            Err(_) if !self.latest_path().exists() => None,
            Err(error) => return Err(error),
        };
        let latest = latest.map(|handoff| {
            let entry = of(handoff.text("session_id")).cloned();
            // One that was closed long after others had followed stands further up.
            let entry = entry.or_else(|| last_entry(&head, handoff.text("session_id")));
            let status = status(&handoff, entry.as_ref());
            OpenHandoff { handoff, status, earlier: Vec::new() }
        });
        let mut open: Vec<&super::SessionEntry> =
            entries.iter().filter(|entry| !is_over(entry.get("status"))).collect();
        open.reverse();
        open.sort_by_key(|entry| std::cmp::Reverse(entry.age()));
        let newest = match latest {
            Some(latest) if is_over(&latest.status) => {
                let earlier = open.first().and_then(|entry| {
                    let handoff = self.read_archive(&self.inside(entry.get("file")).ok()?).ok()?;
                    Some(OpenHandoff { status: status(&handoff, Some(entry)), handoff, earlier: Vec::new() })
                });
                earlier.or(Some(latest))
            }
            latest => latest,
        };
        Ok(newest.map(|mut newest| {
            let superseded: Vec<&str> = entries.iter().map(|entry| entry.get("supersedes")).collect();
            let id = newest.handoff.text("session_id").to_owned();
            let is_other = |entry: &&super::SessionEntry| {
                entry.get("session_id") != id && !superseded.contains(&entry.get("session_id"))
            };
            newest.earlier = open.into_iter().filter(is_other).cloned().collect();
            newest
        }))
    }

    /// The newest rulings that stand until somebody takes them back.
    pub fn standing(&self) -> Result<Vec<String>> {
        Ok(decisions::standing(&self.decisions_log()?))
    }
}

/// The entries that are whole in the end of an index.
fn last_entries(tail: &str) -> Vec<super::SessionEntry> {
    let Some(start) = tail.find("\n  - session_id:") else { return Vec::new() };
    let entries = format!("sessions:{}\n", tail[start..].trim_end());
    super::index::Index::parse(&entries).map(|index| index.sessions).unwrap_or_default()
}

/// What is wrong with the archives: unknown to the index, several of one id, and what was found inside.
fn check_archives(
    names: &[String],
    archives: Vec<Result<Checked>>,
    known: &HashSet<&str>,
    problems: &mut Vec<String>,
) -> Result<()> {
    let unknown = names.iter().filter(|name| !known.contains(format!("sessions/{name}").as_str()));
    problems.extend(unknown.map(|name| format!("sessions/{name} is missing from INDEX.yaml")));
    let mut ids: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, checked) in names.iter().zip(archives) {
        let (id, wrong) = checked?;
        problems.extend(wrong.into_iter().map(|wrong| format!("sessions/{name}: {wrong}")));
        if let Some(id) = id {
            ids.entry(id).or_default().push(name.clone());
        }
    }
    for (id, names) in ids.into_iter().filter(|(_, names)| names.len() > 1) {
        problems.push(format!("session {} is archived several times: {}", repr(&id), names.join(", ")));
    }
    Ok(())
}

/// The beginning and the end of an index.
pub(super) fn ends(path: &std::path::Path) -> Result<Option<(String, String)>> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(fs::read_ends(path, ENDS)?.map(|(start, end)| (text(start), text(end))))
}

/// How many sessions there are, as our own comment says.
pub(super) fn counted(head: &str) -> Option<usize> {
    head.lines().next()?.strip_prefix("# sessions: ")?.parse().ok()
}

/// The entry of this session, looked for from the end, where the newest stand.
pub(super) fn last_entry(sessions: &str, id: &str) -> Option<super::SessionEntry> {
    let mut end = sessions.len();
    while let Some(start) = sessions[..end].rfind("\n  - session_id:") {
        let entry = format!("sessions:{}\n", &sessions[start..end]);
        let parsed = super::index::Index::parse(&entry).ok()?.sessions.pop()?;
        if parsed.get("session_id") == id {
            return Some(parsed);
        }
        end = start;
    }
    None
}

fn check_head(index: &super::index::Index, latest: &Handoff, problems: &mut Vec<String>) {
    let status = index.latest().map_or("", |entry| entry.get("status"));
    check_head_of(index, latest, status, problems);
}

fn check_head_of(index: &super::index::Index, latest: &Handoff, status: &str, problems: &mut Vec<String>) {
    let first = latest.texts("next_todo_items").first().copied().unwrap_or_default();
    let is_cleared = index.first_next_action.is_empty() && status == "DONE";
    if index.first_next_action != first && !is_cleared {
        problems.push(format!(
            "INDEX.yaml.first_next_action ({}) does not match LATEST.md next_todo_items[0] ({})",
            repr(&index.first_next_action),
            repr(first)
        ));
    }
    if index.latest_session != latest.text("session_id") {
        problems.push(format!(
            "INDEX.yaml.latest_session ({}) does not match LATEST.md session_id ({})",
            repr(&index.latest_session),
            repr(latest.text("session_id"))
        ));
    }
}

/// What supersedes what must be there, and must not go in circles.
fn check_lineage(index: &super::index::Index, problems: &mut Vec<String>) {
    let parents: HashMap<&str, &str> =
        index.sessions.iter().map(|entry| (entry.get("session_id"), entry.get("supersedes"))).collect();
    for (id, parent) in parents.iter().filter(|(_, parent)| !parent.is_empty()) {
        if !parents.contains_key(parent) {
            problems.push(format!("session {} supersedes unknown session id {}", repr(id), repr(parent)));
        }
        let mut seen = HashSet::from([*id]);
        let mut at = *parent;
        while let Some(next) = parents.get(at) {
            if !seen.insert(at) {
                if at == *id {
                    problems.push(format!("session {} supersedes itself in a circle", repr(id)));
                }
                break;
            }
            at = next;
        }
    }
    problems.sort();
}

/// How the repository differs from what a handoff recorded, in Session Glue's words.
pub fn drift(root: &std::path::Path, branch: &str, commit: &str) -> Vec<String> {
    let head = git::top_level(root).and_then(|_| Git::at(root).head().ok().flatten());
    let Some(head) = head else { return vec!["--git: git unavailable or not a repository".to_owned()] };
    let is_unknown = |value: &str| matches!(value.trim(), "" | "unknown" | "(unknown)" | "none");
    let now = if head.branch.is_empty() { "HEAD" } else { &head.branch };
    let mut lines = Vec::new();
    if is_unknown(branch) {
        lines.push("--git: recorded current_branch is missing/unknown — skipping branch check".to_owned());
    }
    if is_unknown(commit) {
        lines.push("--git: recorded head_commit is missing/unknown — skipping commit check".to_owned());
    }
    let moved = !is_unknown(commit) && !head.commit.starts_with(&commit.to_lowercase());
    if moved || !is_unknown(branch) && branch != now {
        let short = text::cut(&head.commit, commit.len().clamp(7, 40));
        lines.push(format!("drift: handoff recorded {branch}@{commit} but repo is at {now}@{short}"));
    }
    lines
}
