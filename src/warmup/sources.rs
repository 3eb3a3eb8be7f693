//! Reads what is on record: the current state, the newest handoff, rulings, and anything that is in the way.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use super::since::Base;
use crate::base::fs::{self, Anchor};
use crate::base::{lock, text};
use crate::checkpoint::Store;
use crate::engine::{self, Plan, Provenance};
use crate::error::{Error, Result};
use crate::git;
use crate::guard::{Pause, own_record};
use crate::handoff::{Handoff, Value};
use crate::history::{History, OpenHandoff, Origin, Rulings, SessionEntry, older_line, without_standing};
use crate::memory::Memory;
use crate::memory::state::{CurrentState, Item, Tombstone};
use crate::project::{OtherDatabase, Project};
use crate::recap;

/// How many sessions besides the last one are listed.
const ELSEWHERE: usize = 3;
/// How many sessions before the last one are shown.
const BEFORE: usize = 8;
/// How many are looked at to find them: some may be a stranger's. Beyond the first of them, only those are read whose file
/// may be ours by its name or its place.
const BEFORE_LOOKED: usize = 40;
/// How many databases from elsewhere are named.
const NAMED_DATABASES: usize = 2;
/// A larger current state is refused rather than read.
const MAX_STATE: u64 = 4 << 20;

/// Everything on record that a warmup uses.
#[derive(Default)]
pub(super) struct Sources {
    pub state: CurrentState,
    pub open: Option<OpenHandoff>,
    /// Where the open handoff came from, if this user imported it.
    pub origin: Option<Origin>,
    /// The handoffs of this user's sessions before the last one, on its branch, newest first.
    pub before: Vec<Handoff>,
    pub rulings: Rulings,
    /// The lines of the newest rulings in force.
    pub standing: Vec<String>,
    /// The last completed handover, if its commit is known.
    pub handover: Option<Base>,
    /// What a new session should know first, one line each.
    pub notices: Vec<String>,
    pub paused: Option<Pause>,
    /// The ids of unfinished handovers.
    pub unfinished: Vec<String>,
    pub needs_consent: bool,
    pub whose: Whose,
}

/// What of the sources came with the repository instead of from this user's own runs.
#[derive(Default)]
pub(super) struct Whose {
    /// The ids of items that came along.
    items: HashSet<String>,
    pub is_text_strange: bool,
    pub is_handoff_strange: bool,
    /// The removals of items that came along, each with the category and the id of the item.
    removals: HashSet<(String, String)>,
    /// Standing decisions that came along.
    standing: HashSet<String>,
    /// Session ids of earlier handoffs that came along.
    earlier: HashSet<String>,
    /// Whether anything at all is ours.
    pub is_any_ours: bool,
}

impl Whose {
    pub(super) fn is_item_strange(&self, item: &Item) -> bool {
        self.items.contains(&item.id)
    }

    pub(super) fn is_removal_ours(&self, category: &str, removed: &Tombstone) -> bool {
        !self.removals.contains(&(category.to_owned(), removed.id.clone()))
    }

    pub(super) fn is_ruling_strange(&self, line: &str) -> bool {
        self.standing.contains(line)
    }

    pub(super) fn is_entry_strange(&self, entry: &SessionEntry) -> bool {
        self.earlier.contains(entry.get("session_id"))
    }

    pub(super) fn is_any_strange(&self) -> bool {
        self.is_text_strange
            || self.is_handoff_strange
            || [&self.items, &self.standing, &self.earlier].iter().any(|ids| !ids.is_empty())
    }
}

impl Sources {
    /// One handoff alone, with its own standing decisions. `rulings` says which ones were revoked.
    pub(super) fn of_handoff(
        mut open: OpenHandoff,
        rulings: Rulings,
        is_ours: bool,
        origin: Option<Origin>,
    ) -> Sources {
        take_marks_from_outside(&mut open.handoff);
        let decisions = open.handoff.texts("decisions").into_iter();
        let standing: Vec<String> = decisions.filter(|it| it.contains("[standing]")).map(str::to_owned).collect();
        let strange = standing.iter().filter(|_| !is_ours).cloned().collect();
        let whose = Whose { is_handoff_strange: !is_ours, standing: strange, is_any_ours: is_ours, ..Whose::default() };
        let mut sources = Sources { open: Some(open), origin, rulings, standing, whose, ..Sources::default() };
        sources.drop_private();
        sources
    }

    /// Reads everything and changes nothing. Whatever cannot be read becomes a notice. `record` is the record of the project,
    /// if it is open already.
    pub(super) fn read(project: &Project, record: Option<&Store>) -> Sources {
        let mut sources = Sources::default();
        let mut problems: Vec<Error> = Vec::new();
        let provenance = OnceCell::new();
        let provenance = || provenance.get_or_init(|| Provenance::of(project));
        let places = project.unattended_places();
        match places.has_memory().then(|| state(project)).transpose() {
            Ok(state) => sources.state = state.unwrap_or_default(),
            Err(error) => problems.push(error),
        }
        let history = || project.history_dir();
        match places.has_history().then(history).transpose() {
            Err(error) => problems.push(error),
            Ok(None) => {}
            Ok(Some(directory)) => {
                let history = History::at(&project.memory_root, directory);
                sources.open = history.newest_open(provenance().of_history(), &mut problems);
                sources.rulings = history.readable_rulings(provenance().of_history(), &mut problems);
            }
        }
        let may_open = places.has_state() && record.is_none();
        let opened = may_open.then(|| Store::read(&project.checkpoint_file())).transpose();
        let opened = opened.map_err(|error| problems.push(error)).ok().flatten().flatten();
        let record = record.or(opened.as_ref());
        if let Some(Err(error)) = record.map(|record| sources.ask_record(project, record)) {
            problems.push(error);
        }
        if !sources.is_empty() {
            sources.ask_whose(project, provenance());
        }
        sources.drop_private();
        sources.paused = project.brake().paused();
        sources.needs_consent = needs_consent(project);
        sources.add_notices(project, record, &problems);
        sources
    }

    /// A document that came from outside is stored as it was signed, also with what its author marked as private.
    fn drop_private(&mut self) {
        let handoffs = self.open.iter_mut().map(|open| &mut open.handoff).chain(&mut self.before);
        for handoff in handoffs {
            handoff.remove_private();
            take_marks_from_outside(handoff);
        }
    }

    fn ask_record(&mut self, project: &Project, store: &Store) -> Result<()> {
        self.unfinished = engine::waiting(project, store)?.into_iter().map(|run| run.id).collect();
        let run = store.last_with_head(&project.worktree())?;
        self.handover = run.and_then(|run| Some(Base::handover(run.head?, &run.recorded_at)));
        Ok(())
    }

    /// Finds out what came along.
    fn ask_whose(&mut self, project: &Project, provenance: &Provenance) {
        let mut whose = Whose::default();
        let mut sort = |is_ours: bool| {
            whose.is_any_ours |= is_ours;
            !is_ours
        };
        whose.items = self
            .state
            .items()
            .filter(|(category, item)| sort(provenance.owns_item(category, item)))
            .map(|(_, item)| item.id.clone())
            .collect();
        let removals = self.state.removals().filter(|(category, removed)| !provenance.owns_removal(category, removed));
        let removals = removals.map(|(category, removed)| (category.to_owned(), removed.id.clone())).collect();
        if !self.state.text().trim_ascii().is_empty() {
            whose.is_text_strange = sort(provenance.owns_text(&self.state));
        }
        if let Some(open) = &self.open {
            whose.is_handoff_strange = sort(provenance.owns_handoff(&open.key));
            self.origin = Origin::of_own(&open.handoff, &open.key, provenance.of_history());
            if let Ok(directory) = project.history_dir() {
                let history = History::at(&project.memory_root, directory);
                let shown = elsewhere(open).into_iter();
                let strange = shown.filter(|entry| sort(provenance.owns_entry(&history, entry)));
                whose.earlier = strange.map(|entry| entry.get("session_id").to_owned()).collect();
                let before = superseded(open).into_iter().enumerate();
                let near = before.filter(|(place, entry)| *place < BEFORE || provenance.may_own(&history, entry));
                let own = near.filter_map(|(_, entry)| provenance.own_handoff(&history, entry));
                self.before = own.take(BEFORE).collect();
            }
        }
        let (newest, older) = self.rulings.newest(|line| provenance.owns_decision(line));
        self.standing.extend(older_line(older));
        for (line, is_ours) in newest {
            self.standing.push(line.to_owned());
            whose.standing.extend(sort(is_ours).then(|| line.to_owned()));
        }
        self.whose = Whose { removals, ..whose };
    }

    fn add_notices(&mut self, project: &Project, record: Option<&Store>, problems: &[Error]) {
        if let Some(pause) = &self.paused {
            // A repository can bring the file, so its text is not quoted as a notice of ours.
            let pause = Pause { reason: None, ..pause.clone() };
            self.notices.push(text::one_line(&pause.to_string(), 200));
        }
        if !self.unfinished.is_empty() {
            let count = text::count(self.unfinished.len(), "handover");
            let what = match lock::holder(&project.lock()) {
                Some(_) => "being carried out right now".to_owned(),
                None => {
                    let whose = if self.unfinished.len() == 1 { "its" } else { "their" };
                    format!("unfinished, so {whose} content may be missing here: `agent-handover run --resume`")
                }
            };
            self.notices.push(format!("{count} {what}"));
        }
        if project.unattended_places().has_state() {
            if let Some(unmerged) = engine::unmerged(project) {
                self.notices.push(unmerged.sentence.to_owned());
            }
            self.add_foreign(project);
            self.notices.extend(record.and_then(|store| engine::rate_limit(store).ok().flatten()));
        }
        if let Some(notice) = project.unattended_places().notice() {
            self.notices.push(notice);
        } else if self.needs_consent {
            let what = "hooks skip the commands and the publishing of this config until `agent-handover allow`";
            self.notices.push(what.to_owned());
        }
        if self.whose.is_any_strange() && !own_record::is_possible() {
            let what = "no home directory keeps a record of what is yours, so all of it is shown as if it came along: set HOME";
            self.notices.push(what.to_owned());
        }
        let unread = |problem: &Error| format!("could not be read: {}", text::one_line(&problem.one_line(), 200));
        self.notices.extend(problems.iter().map(unread));
    }

    /// Names the databases that came from elsewhere and have something unfinished. An agent reads this, so it names no
    /// command that would run what a stranger recorded.
    fn add_foreign(&mut self, project: &Project) {
        let waits = |other: &OtherDatabase| other.unfinished.is_some_and(|count| count > 0);
        let waiting: Vec<OtherDatabase> = project.other_databases().into_iter().filter(waits).collect();
        for other in waiting.iter().take(NAMED_DATABASES) {
            let name = other.path.strip_prefix(&project.root).unwrap_or(&other.path).display();
            let count = text::count(other.unfinished.unwrap_or_default(), "unfinished handover");
            let what = format!("`{name}` is not of this user and has {count}: a person decides what becomes of it");
            self.notices.push(text::one_line(&what, 300));
        }
        if let Some(more @ 1..) = waiting.len().checked_sub(NAMED_DATABASES) {
            let more = text::count(more, "more database");
            self.notices.push(format!("{more} like this: `agent-handover status` names them"));
        }
    }

    /// Whether no earlier session is on record.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_none()
            && self.rulings.in_force.is_empty()
            && self.state.items().next().is_none()
            && self.state.text().trim_ascii().is_empty()
    }

    pub(super) fn items<'a>(&'a self, category: &'a str) -> impl Iterator<Item = &'a Item> {
        self.state.items().filter(move |(of, _)| *of == category).map(|(_, item)| item)
    }

    pub(super) fn handoff(&self) -> Option<&Handoff> {
        self.open.as_ref().map(|open| &open.handoff)
    }

    /// The open sessions besides the last one.
    pub(super) fn elsewhere(&self) -> Vec<&SessionEntry> {
        self.open.as_ref().map(elsewhere).unwrap_or_default()
    }

    /// Whether a handover is on record.
    pub(super) fn has_handover(&self) -> bool {
        self.handover.is_some() || self.open.is_some()
    }

    /// The ends of earlier sessions that git may compare HEAD with, the best one first.
    ///
    /// A session that ends with `memory capture` hands nothing over, so the newest item that is this user's own and of
    /// this branch counts, too. Its commit may be unknown here, because another machine recorded it.
    pub(super) fn bases(&self, branch: &str) -> Vec<Base> {
        let of_handoff =
            || self.handoff().map(|it| Base::handover(it.text("head_commit").to_owned(), it.text("generated_at")));
        let handover = self.handover.clone().or_else(of_handoff).filter(|base| git::is_object_id(&base.commit));
        let is_of_branch = |item: &Item| item.branch.is_empty() || branch.is_empty() || item.branch == branch;
        let counts =
            |item: &&Item| git::is_part_of_id(&item.commit) && is_of_branch(item) && !self.whose.is_item_strange(item);
        let newest = self.state.items().map(|(_, item)| item).filter(counts).max_by(|a, b| a.at.cmp(&b.at));
        let item = newest.map(Base::item).filter(|item| handover.as_ref().is_none_or(|last| item.follows(last)));
        item.into_iter().chain(handover).collect()
    }

    /// Every commit at which an item or the handoff was recorded.
    pub(super) fn commits(&self) -> BTreeSet<String> {
        let of_handoff = self.handoff().map(|handoff| handoff.text("head_commit").to_owned());
        self.state.items().map(|(_, item)| item.commit.clone()).chain(of_handoff).collect()
    }

    /// The lines of a section of the handoff's body, without placeholders such as "none".
    pub(super) fn section(&self, heading: &str) -> Vec<String> {
        self.handoff().map(|handoff| section_of(handoff, heading)).unwrap_or_default()
    }

    /// The validation commands of the handoff, each with its result.
    pub(super) fn validation(&self) -> Vec<RecordedCheck> {
        self.handoff().map(validation_of).unwrap_or_default()
    }

    /// The files that the handoff names, each with the reason that somebody wrote.
    pub(super) fn context_files(&self) -> Vec<(String, String)> {
        let list = self.handoff().and_then(|handoff| handoff.get("active_context_files")).and_then(Value::list);
        let path = |file: &Value| file.get("path").and_then(Value::text).or(file.text()).map(str::to_owned);
        let reason = |file: &Value| {
            let reason = file.get("reason").and_then(Value::text).unwrap_or_default().trim();
            // This program wrote those, and they say only that the file was edited.
            let is_made = reason.ends_with("derived)")
                || ["edited", "changed", "edited in this session"].contains(&reason)
                || reason.starts_with("changed in this session (");
            if is_made { String::new() } else { reason.to_owned() }
        };
        let files = list.unwrap_or_default().iter().filter_map(|file| Some((path(file)?, reason(file))));
        files.filter(|(path, _)| !path.trim().is_empty()).collect()
    }
}

/// The validation commands of a handoff, each with its result.
pub(super) fn validation_of(handoff: &Handoff) -> Vec<RecordedCheck> {
    let list = handoff.get("validation").and_then(Value::list).unwrap_or_default();
    let field = |check: &Value, key: &str| check.get(key).and_then(Value::text).unwrap_or_default().to_owned();
    let notes = |check: &Value| Some(field(check, "notes")).filter(|notes| !recap::is_made_note(notes));
    let ran = list.iter().map(|check| RecordedCheck {
        command: field(check, "command"),
        result: field(check, "result"),
        notes: notes(check).unwrap_or_default(),
    });
    ran.filter(|check| !check.command.trim().is_empty() && !check.command.starts_with("(none")).collect()
}

impl RecordedCheck {
    pub(super) fn has_passed(&self) -> bool {
        self.result.eq_ignore_ascii_case("passed")
    }
}

/// The lines of a section of a handoff's body, without placeholders such as "none".
pub(super) fn section_of(handoff: &Handoff, heading: &str) -> Vec<String> {
    let lines = handoff.body.lines().skip_while(|line| line.trim_end() != heading).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("# "));
    let is_nothing = |line: &str| {
        let word = line.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        word.is_empty() || ["none", "n/a", "nothing recorded", "none recorded", "nothing"].contains(&word.as_str())
    };
    let is_mark = |line: &str| line.starts_with("(derived by agent-handover");
    lines.map(str::trim).filter(|line| !is_nothing(line) && !is_mark(line)).map(str::to_owned).collect()
}

/// A command in the validation of a handoff.
pub(super) struct RecordedCheck {
    pub command: String,
    pub result: String,
    /// What somebody wrote about it.
    pub notes: String,
}

/// Takes the mark of a standing ruling out of every text of an imported handoff: nobody of this machine made a ruling there.
fn take_marks_from_outside(handoff: &mut Handoff) {
    if Origin::of(handoff).is_none() {
        return;
    }
    for field in &mut handoff.fields {
        field.value.change_texts(&without_standing);
    }
    handoff.body = without_standing(&handoff.body);
}

/// Open sessions on other branches or by other agents. A session is superseded by a later one of its agent on its branch.
fn elsewhere(open: &OpenHandoff) -> Vec<&SessionEntry> {
    let mut places = vec![(open.handoff.text("current_branch"), open.handoff.text("agent"))];
    // A handoff from outside stands for no session of this user, whatever branch and agent it names.
    places.retain(|_| Origin::of(&open.handoff).is_none());
    let mut sessions = Vec::new();
    for entry in &open.earlier {
        let place = (entry.get("current_branch"), entry.get("agent"));
        let is_imported = !entry.origin().is_empty();
        let is_known = |known: &(&str, &str)| if is_imported { *known == place } else { is_same_place(*known, place) };
        if !places.iter().any(is_known) {
            places.push(place);
            sessions.push(entry);
        }
    }
    sessions.truncate(ELSEWHERE);
    sessions
}

/// The sessions that the last one supersedes, newest first.
fn superseded(open: &OpenHandoff) -> Vec<&SessionEntry> {
    let last = (open.handoff.text("current_branch"), open.handoff.text("agent"));
    let is_of_place = |entry: &&SessionEntry| {
        entry.origin().is_empty() && is_same_place(last, (entry.get("current_branch"), entry.get("agent")))
    };
    open.earlier.iter().filter(is_of_place).take(BEFORE_LOOKED).collect()
}

/// Whether branch and agent are the same. A person who gives a note names no agent and goes on where any agent stopped.
fn is_same_place(one: (&str, &str), other: (&str, &str)) -> bool {
    let is_unknown = |agent: &str| agent.is_empty() || agent == "unknown";
    one.0 == other.0 && (one.1 == other.1 || is_unknown(one.1) || is_unknown(other.1))
}

fn state(project: &Project) -> Result<CurrentState> {
    let memory = Memory::at(&project.memory_root, project.memory_dir()?);
    memory.state_within(MAX_STATE)
}

/// Whether the config asks for more than a hook does without consent.
pub(crate) fn needs_consent(project: &Project) -> bool {
    if project.config.source().is_none() || project.is_allowed() {
        return false;
    }
    let whole = Plan::of(&project.config);
    !whole.may_run_unattended(&project.config) || !project.outside().is_empty()
}

/// Whether a path of the project no longer exists. A path that leads out of the project never counts.
pub(super) fn is_gone(root: &Path, path: &str) -> bool {
    let inside = fs::tidy(Path::new(path)).filter(|path| path.is_relative());
    inside.is_some_and(|path| matches!(Anchor::new(root).about(&path), Ok(None)))
}
