//! Whose memory this is: what this user's own runs wrote, and what came with the repository.
//!
//! A piece of memory or history is ours if one of these holds:
//!
//! 1. The user's own record has its digest: a run of ours wrote it, or an allowed pull brought it.
//! 2. The user adopted it with `allow --memory`.
//! 3. Its directory was made here by a run of ours, git does not track it and it is not shared with others, and it names
//!    no run but ours.
//! 4. 0.1.0 wrote into this project, which kept no record. Everything is ours until the first write, which adopts it.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use super::plan::Plan;
use crate::error::Result;
use crate::git;
use crate::guard::own_record::{self, OwnKey, OwnRecord};
use crate::guard::{Voucher, registry};
use crate::handoff::Handoff;
use crate::history::{History, HistoryStatus, Origin, SessionEntry, own_keys as history_keys};
use crate::memory::listing::ListedNote;
use crate::memory::state::{CurrentState, Item, Tombstone};
use crate::memory::{Memory, own_keys as memory_keys};
use crate::project::{self, Project};
use crate::publish::Destination;
use crate::recap::Before;
use crate::search::{Hit, PassageKind};

/// Answers for every piece of a project's memory and history whether it is ours.
pub(crate) struct Provenance {
    memory: Voucher,
    history: Voucher,
}

impl Provenance {
    pub(crate) fn of(project: &Project) -> Provenance {
        let root = &project.memory_root;
        let directory = |text: &str| project::place(root, text).unwrap_or_else(|_| root.join(text));
        let (memory, history) = (directory(&project.config.memory_dir), directory(&project.config.history_dir));
        Provenance::at(root, &memory, &history)
    }

    pub(crate) fn at(root: &Path, memory: &Path, history: &Path) -> Provenance {
        let record = Rc::new(OwnRecord::open());
        let voucher = |directory: &Path| Voucher::of(&record, root, history, directory, git::may_track);
        Provenance { memory: voucher(memory), history: voucher(history) }
    }

    pub(crate) fn owns_item(&self, category: &str, item: &Item) -> bool {
        self.memory.owns(&memory_keys::of_item(category, item), &item.run)
    }

    /// Whether this user removed an item.
    pub(crate) fn owns_removal(&self, category: &str, removed: &Tombstone) -> bool {
        self.memory.owns(&memory_keys::of_removal(category, removed), "")
    }

    pub(crate) fn owns_note(&self, note: &ListedNote) -> bool {
        self.memory.owns(&memory_keys::of_note(note), &note.run)
    }

    /// Whether the free text of the current state is ours. A blank one is.
    pub(crate) fn owns_text(&self, state: &CurrentState) -> bool {
        memory_keys::of_state_text(state).is_none_or(|key| self.memory.owns(&key, ""))
    }

    /// Whether a handoff with this key is ours.
    pub(crate) fn owns_handoff(&self, key: &OwnKey) -> bool {
        self.history.owns(key, "")
    }

    /// Whether the text with this key is ours, in the history or else in memory. `run` is the run that it names, if any. Kept
    /// talk is of the history, whatever passage of it was found.
    pub(crate) fn owns_key(&self, key: &OwnKey, run: &str, is_of_history: bool) -> bool {
        if is_of_history || history_keys::is_of_talk(key) {
            self.history.owns(key, run)
        } else {
            self.memory.owns(key, run)
        }
    }

    /// Judges for each hit of a search whether it is ours.
    pub(crate) fn judge(project: &Project) -> impl Fn(&Hit) -> bool + use<> {
        let provenance = Provenance::of(project);
        move |hit| provenance.owns_hit(hit)
    }

    /// Whether what a search found is ours. A transcript, which has no key, is.
    pub(crate) fn owns_hit(&self, hit: &Hit) -> bool {
        let key = OwnKey::of_stored(&hit.own_key).map(|key| key.in_file(Path::new(&hit.path)));
        key.is_none_or(|key| self.owns_key(&key, &hit.run, hit.kind == PassageKind::Handoff))
    }

    /// Whether a text of the index is ours, by the key that is stored with it.
    pub(crate) fn owns_stored(&self, own_key: &str, run: &str, is_handoff: bool) -> bool {
        OwnKey::of_stored(own_key).is_none_or(|key| self.owns_key(&key, run, is_handoff))
    }

    /// Whether the handoff of an entry is ours and says what the entry says.
    pub(crate) fn owns_entry(&self, history: &History, entry: &SessionEntry) -> bool {
        history.key_of(entry).is_some_and(|key| self.owns_handoff(&key)) || self.history.vouches_for_all()
    }

    /// Where the handoff of an entry came from, if this user imported it.
    pub(crate) fn origin_of_entry(&self, history: &History, entry: &SessionEntry) -> Option<Origin> {
        if entry.origin().is_empty() {
            // An index that leaves it out does not agree with the archive, so the entry is not ours.
            return None;
        }
        let (key, handoff) = history.handoff_of(entry)?;
        Origin::of_own(&handoff, &key, &self.history)
    }

    /// Whether the head of the index is ours: its latest session is, and it says about it what the archive says.
    pub(crate) fn owns_head(&self, history: &History, status: &HistoryStatus, latest: Option<&SessionEntry>) -> bool {
        let owns = |entry: &SessionEntry| self.owns_entry(history, entry) && status.agrees_with(entry);
        latest.is_none_or(owns) || self.history.vouches_for_all()
    }

    /// Who vouches for texts of the history.
    pub(crate) fn of_history(&self) -> &Voucher {
        &self.history
    }

    /// Whether the handoff of an entry may be ours, by the name of its file or by its place. Reads no file.
    pub(crate) fn may_own(&self, history: &History, entry: &SessionEntry) -> bool {
        let name = Path::new(entry.get("file")).file_name().and_then(OsStr::to_str).unwrap_or_default();
        history_keys::may_be_ours(name, &self.history)
            || history.vouches_for_place(entry, &self.history)
            || self.history.vouches_for_all()
    }

    /// The handoff of an entry, if it is ours and says what the entry says.
    pub(crate) fn own_handoff(&self, history: &History, entry: &SessionEntry) -> Option<Handoff> {
        let (key, handoff) = history.handoff_of(entry)?;
        (self.owns_handoff(&key) || self.history.vouches_for_all()).then_some(handoff)
    }

    pub(crate) fn owns_decision(&self, line: &str) -> bool {
        self.history.owns(&history_keys::of_decision(line), "")
    }

    /// Whether RESUME_PROMPT.txt is ours, with every ruling in it.
    pub(crate) fn owns_prompt(&self, history: &History) -> bool {
        let owns_lines = |lines: &[String]| lines.iter().all(|line| line.starts_with("(+") || self.owns_decision(line));
        let owns_with = |standing: &Vec<String>| {
            owns_lines(standing) && history.key_of_prompt(standing).is_some_and(|key| self.owns_handoff(&key))
        };
        history.prompt_listings().unwrap_or_default().iter().any(owns_with) || self.history.vouches_for_all()
    }
}

/// The mark before a text that came with the repository.
pub(crate) const CAME_ALONG: &str = "[came along] ";

/// The mark of an item: none if it is ours. Rulings that came along are claims.
pub(crate) fn mark(is_ours: bool, category: &str) -> &'static str {
    match category {
        _ if is_ours => "",
        "decision" | "constraint" => "[came along] claims: ",
        _ => CAME_ALONG,
    }
}

/// The goal and the next actions in the current state for this branch, as far as they are this user's own. What came with the repository
/// is left out: a session of this user would make it its own by carrying it on.
pub(super) fn known_before(project: &Project, memory: &Path, history: &Path, branch: &str) -> Before {
    let Ok(state) = Memory::at(&project.memory_root, memory.to_path_buf()).state() else { return Before::default() };
    let provenance = Provenance::at(&project.memory_root, memory, history);
    let is_of_branch = |item: &Item| item.branch.is_empty() || branch.is_empty() || item.branch == branch;
    let mut own: Vec<(&str, &Item)> =
        state.items().filter(|(category, item)| is_of_branch(item) && provenance.owns_item(category, item)).collect();
    own.sort_by(|(_, a), (_, b)| b.at.cmp(&a.at));
    let texts = |category: &str| {
        own.iter().filter(|(of, _)| *of == category).map(|(_, item)| item.text.clone()).collect::<Vec<_>>()
    };
    Before { goal: texts("goal").into_iter().next(), next: texts("open_loop"), ..Before::default() }
}

/// How much the user adopted.
pub(crate) struct Adopted {
    pub items: usize,
    pub handoffs: usize,
}

/// Adopts everything that is in memory and history now.
pub(crate) fn adopt_all(root: &Path, memory: &Path, history: &Path) -> Result<Adopted> {
    let pieces = Memory::at(root, memory.to_path_buf()).pieces()?;
    let items = pieces.iter().filter(|piece| piece.is_statement).count();
    let (keys, handoffs) = History::at(root, history.to_path_buf()).own_keys()?;
    own_record::adopt(memory, pieces.into_iter().map(|piece| piece.key))?;
    own_record::adopt(history, keys)?;
    Ok(Adopted { items, handoffs })
}

/// Adopts what 0.1.0 left, once, before anything is written beside it.
pub(crate) fn adopt_after_upgrade(root: &Path, memory: &Path, history: &Path) -> Result<()> {
    let is_due = !own_record::was_adopted(history) && own_record::is_possible();
    if is_due && registry::is_remembered_by_0_1_0(root, history) {
        adopt_all(root, memory, history)?;
    }
    Ok(())
}

/// Whether what comes from this destination is this user's: the config that names it is allowed.
pub(super) fn is_trusted(project: &Project, destination: &Destination) -> bool {
    let named = Plan::of(&project.config).destination;
    let is_named = (&named.branch, &named.remote, &named.repo_dir)
        == (&destination.branch, &destination.remote, &destination.repo_dir);
    is_named && project.config.source().is_some() && project.is_allowed()
}
