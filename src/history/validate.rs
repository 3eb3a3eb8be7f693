//! Checks that a history is whole.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::compare::{self, ArchiveContent, CheckedEntries, Copies};
use super::digests::{self, Digests};
use super::index::Index;
use super::lifecycle::is_done;
use super::store::{ArchiveNames, file_name};
use super::{DIRECTORY, FROM_OUTSIDE, History, Origin, decisions, own_keys, prompt, rulings, without_standing};
use crate::base::fs::{Anchor, FileError, FileKind};
use crate::base::parallel;
use crate::error::{Error, Result};
use crate::handoff::{self, Handoff, HandoffProblem, repr};

/// What a check of a history found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What is wrong with the history.
    pub problems: Vec<String>,
    /// What has moved on since the latest handoff was written. Nothing is wrong with the history itself.
    pub warnings: Vec<String>,
    /// What a person has to do first.
    pub by_hand: BTreeSet<ByHand>,
}

/// What only a person can correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ByHand {
    /// A file is not valid, or a link or special file is in its place.
    Replace,
    /// A session has several archives.
    KeepOne,
    /// A session supersedes one that does not exist, or itself in a circle.
    Supersedes,
}

/// What the check of one archive found.
struct CheckedArchive {
    /// `None` if the archive cannot be read.
    content: Option<ArchiveContent>,
    problems: Vec<String>,
}

/// The head of an index, and the status that its entry gives the latest session.
pub(super) struct IndexHead<'a> {
    pub index: &'a Index,
    pub status: &'a str,
}

/// What RESUME_PROMPT.txt may be made of, beside LATEST.md. Somebody else who shares the history may not count the same ends
/// and revocations as we do.
pub(super) struct PromptBasis {
    /// The statuses that the latest session may have.
    pub statuses: Vec<String>,
    /// The listings of the standing decisions.
    standing: Vec<Vec<String>>,
}

impl PromptBasis {
    /// `logs` are the whole log, which Session Glue lists, and what counts of it.
    pub(super) fn of(history: &History, logs: [&str; 2], revoked: &BTreeSet<String>) -> PromptBasis {
        let listings = |log: &str| {
            let stated = rulings::prompt_listings(log, revoked);
            let counts = rulings::prompt_listings(log, &history.sorted_revocations(revoked.clone(), log).count);
            counts.into_iter().chain(stated)
        };
        PromptBasis { statuses: vec![String::new()], standing: logs.into_iter().flat_map(listings).collect() }
    }

    fn leads_to(&self, latest: &Handoff, prompt: &str) -> bool {
        let is_it = |status: &String, standing: &Vec<String>| {
            prompt::render(latest, status, standing) == prompt
                || prompt::render_as_before(latest, status, standing) == prompt
        };
        self.statuses.iter().any(|status| self.standing.iter().any(|standing| is_it(status, standing)))
    }
}

impl History {
    /// Everything that is wrong; with `sessions`, also what is wrong with each archive, and what other files say that no
    /// archive does.
    pub(crate) fn validate(&self, sessions: bool) -> Result<Findings> {
        let mut findings = Findings::default();
        if !self.exists()? {
            let missing = format!("no {} directory at {}", DIRECTORY, self.directory.display());
            return Ok(Findings { problems: vec![missing], ..findings });
        }
        let digests = OnceCell::new();
        let latest = self.check_latest(&digests, &mut findings)?;
        let problems = &mut findings.problems;
        let log = readable("DECISIONS.md", self.decisions_log().map(Some), problems)?.unwrap_or_default();
        let digests = match digests.into_inner() {
            Some(digests) => digests,
            None => readable(digests::FILE, self.digests().map(Some), problems)?.unwrap_or_default(),
        };
        let ArchiveNames { names, refused } = self.archive_names()?;
        let has_obstacle =
            !refused.is_empty() || self.own_files().iter().any(|path| self.refuse_symlink(path).is_err());
        let is_latest_invalid = latest.as_ref().is_some_and(|latest| !problems_of(latest).is_empty());
        findings.by_hand.extend((has_obstacle || is_latest_invalid).then_some(ByHand::Replace));
        problems.extend(lost_digests(&digests, &names));
        problems.extend(refused.into_iter().map(|error| Error::from(error).one_line()));
        let (index, is_index_ours) = self.check_index(problems)?;
        let status = index.as_ref().and_then(|index| index.latest()).map_or("", |entry| entry.get("status")).to_owned();
        let lifecycle = readable("LIFECYCLE.yaml", self.lifecycle().map(Some), problems)?.unwrap_or_default();
        let entries = index.as_ref().map(|index| CheckedEntries::of(index, is_index_ours, &lifecycle));
        let archives = if sessions { self.check_archives(&names, &digests, entries.as_ref()) } else { Vec::new() };
        let voucher = self.voucher();
        let backed = self.backed_log(&log, &lifecycle, &voucher);
        problems.extend(backed.problem().filter(|_| !sessions));
        let mut basis = PromptBasis::of(self, [&log, &backed.text], &lifecycle.revoked);
        let entry = index.as_ref().and_then(|index| index.latest());
        basis.statuses.extend(entry.map(|entry| self.status_of_entry(entry, &voucher).now));
        basis.statuses.push(status.clone());
        self.check_prompt(latest.as_ref(), &basis, problems)?;
        let is_any_invalid = archives.iter().flatten().any(|archive| !archive.problems.is_empty());
        findings.by_hand.extend(is_any_invalid.then_some(ByHand::Replace));
        let (Some(index), Some(entries)) = (&index, entries) else { return Ok(findings) };
        if let Some(latest) = &latest {
            check_latest_in_index(&IndexHead { index, status: &status }, latest, problems);
        }
        self.check_entries(index, &names, problems);
        let contents = check_archives_of_index(&entries, &names, archives, problems)?;
        let repeated = repeated_archives(&contents);
        findings.by_hand.extend((!repeated.is_empty()).then_some(ByHand::KeepOne));
        problems.extend(repeated);
        if sessions {
            let copies = Copies {
                lifecycle: &lifecycle,
                log: &log,
                digests: &digests,
                is_written_by_user: self.is_written_by_user(),
            };
            problems.extend(copies.differences(&contents, &voucher));
        }
        let others = problems.len();
        check_lineage(index, problems);
        findings.by_hand.extend((problems.len() > others).then_some(ByHand::Supersedes));
        problems.dedup();
        Ok(findings)
    }

    /// Checks that each entry of the index has an archive, and each session one entry.
    fn check_entries(&self, index: &Index, names: &[String], problems: &mut Vec<String>) {
        let there: HashSet<&str> = names.iter().map(String::as_str).collect();
        if !index.latest_file.is_empty() {
            self.check_file("latest_file", &index.latest_file, problems);
        }
        let mut ids: HashMap<&str, usize> = HashMap::new();
        for (number, entry) in index.sessions.iter().enumerate() {
            let file = entry.get("file");
            *ids.entry(entry.get("session_id")).or_default() += 1;
            if file.is_empty() {
                problems.push(format!("INDEX.yaml.sessions[{number}].file is malformed ({})", repr(file)));
            } else if file.strip_prefix("sessions/").is_none_or(|name| !there.contains(name)) {
                self.check_file(&format!("sessions[{number}].file"), file, problems);
            }
        }
        for (id, count) in ids.iter().filter(|(_, count)| **count > 1) {
            problems.push(format!("INDEX.yaml has session {} {count} times", repr(id)));
        }
    }

    /// Reads LATEST.md and checks it. `digests` are those of SHA256SUMS, once they were read.
    pub(super) fn check_latest(&self, digests: &OnceCell<Digests>, findings: &mut Findings) -> Result<Option<Handoff>> {
        let Findings { problems, warnings, .. } = findings;
        let Some(bytes) = required("LATEST.md", self.read_own(&self.latest_path()), problems)? else { return Ok(None) };
        match Handoff::parse(&String::from_utf8_lossy(&bytes)) {
            Err(error) => {
                problems.push(format!("LATEST.md: line {}: {}", error.line, error.message));
                Ok(None)
            }
            Ok(handoff) => {
                problems.extend(problems_of(&handoff).iter().map(|problem| format!("LATEST.md: {problem}")));
                let name = file_name(handoff.text("session_id"));
                let archive = self.sessions().join(format!("{name}.md"));
                let archived = readable(&format!("sessions/{name}.md"), self.read_own(&archive), problems)?;
                if let Some(archived) = archived {
                    self.check_latest_archive(&format!("{name}.md"), &archived, digests, problems)?;
                    if archived != bytes {
                        problems.push(format!("LATEST.md differs from its archive sessions/{name}.md"));
                    }
                }
                let mark = if Origin::of(&handoff).is_some() { FROM_OUTSIDE } else { "" };
                for file in handoff.get("active_context_files").and_then(handoff::Value::list).unwrap_or_default() {
                    let path = file.get("path").and_then(handoff::Value::text).or(file.text()).unwrap_or_default();
                    if !path.is_empty() && self.is_gone(path) {
                        let path = if mark.is_empty() { path.to_owned() } else { without_standing(path) };
                        warnings.push(format!("{mark}LATEST.md: context file {} no longer exists", repr(&path)));
                    }
                }
                Ok(Some(handoff))
            }
        }
    }

    fn check_latest_archive(
        &self,
        name: &str,
        content: &[u8],
        digests: &OnceCell<Digests>,
        problems: &mut Vec<String>,
    ) -> Result<()> {
        // The caller reports a file that cannot be read.
        let none = Digests::default();
        let digests = match readable(digests::FILE, self.digests().map(Some), &mut Vec::new())? {
            Some(read) => digests.get_or_init(|| read),
            None => &none,
        };
        if self.is_changed(name, &String::from_utf8_lossy(content), digests, &self.voucher()) {
            problems.push(compare::changed(name));
        }
        Ok(())
    }

    /// Checks that RESUME_PROMPT.txt is the one that LATEST.md and DECISIONS.md lead to.
    pub(super) fn check_prompt(
        &self,
        latest: Option<&Handoff>,
        basis: &PromptBasis,
        problems: &mut Vec<String>,
    ) -> Result<()> {
        let Some(bytes) = required("RESUME_PROMPT.txt", self.read_own(&self.prompt_path()), problems)? else {
            return Ok(());
        };
        let found = String::from_utf8_lossy(&bytes);
        let Some(latest) = latest else { return Ok(()) };
        let first = latest.texts("next_todo_items").first().copied().unwrap_or_default();
        let shown = handoff::one_line(first);
        let is_outside = Origin::of(latest).is_some();
        let has_it = if is_outside {
            found.contains(&prompt::from_outside(&shown)) || found.contains(&without_standing(&shown))
        } else {
            found.contains(&shown)
        };
        if !has_it {
            problems.push(format!(
                "RESUME_PROMPT.txt is stale: it does not contain LATEST.md next_todo_items[0] ({})",
                repr(first)
            ));
        } else if !basis.leads_to(latest, &found) {
            problems.push(
                "RESUME_PROMPT.txt is not what LATEST.md and DECISIONS.md make it: somebody changed it".to_owned(),
            );
        }
        Ok(())
    }

    /// Checks that a file that the index names exists and is inside the directory.
    pub(super) fn check_file(&self, what: &str, file: &str, problems: &mut Vec<String>) {
        let shown = format!("INDEX.yaml.{what} ({})", repr(file));
        let Ok(path) = self.inside(file) else {
            return problems.push(format!("{shown} is outside {DIRECTORY}/"));
        };
        match self.anchor.about(&path) {
            Ok(None) => problems.push(format!("{shown} does not exist on disk")),
            Ok(Some(about)) if about.kind != FileKind::Link => {}
            _ => problems.push(format!("{shown} is behind a symlink")),
        }
    }

    /// Whether a path of the project no longer exists. A path that leads out of the project never counts.
    fn is_gone(&self, path: &str) -> bool {
        let is_inside_project = self.anchor.path() != self.directory;
        let beside = Anchor::new(self.directory.parent().unwrap_or(&self.directory));
        let root = if is_inside_project { &self.anchor } else { &beside };
        matches!(root.about(Path::new(path)), Ok(None))
    }

    /// Reads the index. The second value says whether we wrote it last.
    fn check_index(&self, problems: &mut Vec<String>) -> Result<(Option<Index>, bool)> {
        let bytes = required("INDEX.yaml", self.read_own(&self.index_path()), problems)?;
        let Some(bytes) = bytes else { return Ok((None, false)) };
        match Index::parse(&String::from_utf8_lossy(&bytes)) {
            Ok(index) => Ok((Some(index), Index::is_of_ours(&bytes))),
            Err(error) => {
                problems.push(format!("INDEX.yaml: line {}: {}", error.line, error.message));
                Ok((None, false))
            }
        }
    }

    /// Checks each archive, on all processors.
    fn check_archives(
        &self,
        names: &[String],
        digests: &Digests,
        entries: Option<&CheckedEntries<'_>>,
    ) -> Vec<Result<CheckedArchive>> {
        let history = self.holding_archives();
        let check = |name: &String| {
            let unreadable = |problem: String| CheckedArchive { content: None, problems: vec![problem] };
            let bytes = match history.read_own(&self.sessions().join(name)) {
                Ok(bytes) => bytes.unwrap_or_default(),
                Err(error) if error.is_refusal() => return Ok(unreadable(Error::from(error).one_line())),
                Err(error) => return Err(error.into()),
            };
            let Ok(text) = std::str::from_utf8(&bytes) else {
                return Ok(unreadable("it is not UTF-8 text".to_owned()));
            };
            Ok(match Handoff::parse(text) {
                Err(error) => unreadable(format!("line {}: {}", error.line, error.message)),
                Ok(handoff) => {
                    let (digest, file) = (digests::of(&bytes), format!("sessions/{name}"));
                    CheckedArchive {
                        problems: problems_of(&handoff).iter().map(HandoffProblem::to_string).collect(),
                        content: Some(ArchiveContent {
                            session_id: handoff.text("session_id").to_owned(),
                            key: own_keys::of_digest(&digest, &handoff),
                            false_entry: entries.map_or_else(Vec::new, |entries| entries.differences(&file, &handoff)),
                            has_other_digest: digests.is_another(name, &digest),
                            decisions: decisions::lines(&handoff),
                        }),
                    }
                }
            })
        };
        parallel::map(names, check)
    }
}

/// What was read of a file. A link, a special file or a file that is too large is a problem of the history.
pub(super) fn readable<T>(
    name: &str,
    answer: Result<Option<T>, FileError>,
    problems: &mut Vec<String>,
) -> Result<Option<T>> {
    match answer {
        Err(error) if error.is_refusal() => {
            problems.push(format!("{name}: {}", Error::from(error).one_line()));
            Ok(None)
        }
        answer => Ok(answer?),
    }
}

/// Like [`readable`], for a file that every history has.
fn required<T>(name: &str, answer: Result<Option<T>, FileError>, problems: &mut Vec<String>) -> Result<Option<T>> {
    if matches!(answer, Ok(None)) {
        problems.push(format!("missing {name}"));
    }
    readable(name, answer, problems)
}

/// The archives whose lines SHA256SUMS may have lost.
fn lost_digests(digests: &Digests, names: &[String]) -> Option<String> {
    let lost: Vec<&String> = names.iter().filter(|name| digests.has_lost(name)).collect();
    let others = match lost.len().checked_sub(1)? {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{} was cut or edited: it lacks sessions/{}{others}", digests::FILE, lost.first()?))
}

/// The problems of one handoff. The first action of an imported one is its author's choice and not checked.
fn problems_of(handoff: &Handoff) -> Vec<HandoffProblem> {
    let mut problems = handoff::check(handoff);
    if Origin::of(handoff).is_some() {
        problems.retain(|problem| !problem.is_about_first_action());
    }
    problems
}

/// Reports archives that the index does not have, and the problems inside each. Returns what can be read, with its file
/// names.
fn check_archives_of_index<'a>(
    entries: &CheckedEntries<'_>,
    names: &'a [String],
    archives: Vec<Result<CheckedArchive>>,
    problems: &mut Vec<String>,
) -> Result<Vec<(&'a str, ArchiveContent)>> {
    let unknown = names.iter().filter(|name| !entries.has(&format!("sessions/{name}")));
    problems.extend(unknown.map(|name| format!("sessions/{name} is missing from INDEX.yaml")));
    let mut contents = Vec::new();
    for (name, checked) in names.iter().zip(archives) {
        let checked = checked?;
        problems.extend(checked.problems.iter().map(|problem| format!("sessions/{name}: {problem}")));
        contents.extend(checked.content.map(|content| (name.as_str(), content)));
    }
    Ok(contents)
}

/// The problems of sessions that have several archives.
fn repeated_archives(contents: &[(&str, ArchiveContent)]) -> Vec<String> {
    let mut ids: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, content) in contents {
        ids.entry(&content.session_id).or_default().push(name);
    }
    let repeated = ids.into_iter().filter(|(_, names)| names.len() > 1);
    repeated
        .map(|(id, names)| format!("session {} is archived several times: {}", repr(id), names.join(", ")))
        .collect()
}

/// Checks that the head of the index agrees with LATEST.md.
pub(super) fn check_latest_in_index(head: &IndexHead<'_>, latest: &Handoff, problems: &mut Vec<String>) {
    let IndexHead { index, status } = head;
    let first = latest.texts("next_todo_items").first().copied().unwrap_or_default();
    let is_cleared = index.first_next_action.is_empty() && is_done(status);
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

/// Checks that superseded sessions exist, and that none supersedes itself in a circle. An imported session may supersede one
/// that stayed where it was made.
fn check_lineage(index: &Index, problems: &mut Vec<String>) {
    let parents: HashMap<&str, &str> =
        index.sessions.iter().map(|entry| (entry.get("session_id"), entry.get("supersedes"))).collect();
    let imported = index.sessions.iter().filter(|entry| !entry.origin().is_empty());
    let imported: HashSet<&str> = imported.map(|entry| entry.get("session_id")).collect();
    for (id, parent) in parents.iter().filter(|(_, parent)| !parent.is_empty()) {
        if !parents.contains_key(parent) && !imported.contains(id) {
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
