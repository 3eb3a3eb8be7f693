//! Reads what the home view shows. Nothing is changed, and what cannot be read is reported.

use serde_json::{Value, json};

use super::super::provenance::marked;
use super::super::titles;
use crate::engine::Provenance;
use crate::error::Error;
use crate::history::{History, SessionEntry, Wanted};
use crate::memory::Memory;
use crate::project::Project;
use crate::recap;

/// How many sessions are shown.
const SESSIONS: usize = 3;

/// A text on record, and whether this user's own runs wrote it.
pub(super) struct Text {
    pub text: String,
    pub is_ours: bool,
}

impl Text {
    /// The text, marked if it came with the repository.
    pub(super) fn shown(&self) -> String {
        marked(self.is_ours, &self.text)
    }

    pub(super) fn json(&self) -> Value {
        json!({ "text": self.text, "ours": self.is_ours })
    }
}

pub(super) struct Session {
    pub id: String,
    pub at: String,
    pub agent: String,
    pub branch: String,
    pub status: String,
    pub title: Text,
}

/// Where the project stands.
#[derive(Default)]
pub(super) struct Sources {
    pub goal: Option<Text>,
    pub next: Option<Text>,
    pub open_loops: Vec<Text>,
    pub sessions: Vec<Session>,
    pub problems: Vec<Error>,
}

impl Sources {
    pub(super) fn read(project: &Project) -> Sources {
        let mut sources = Sources::default();
        let provenance = Provenance::of(project);
        sources.read_memory(project, &provenance).unwrap_or_else(|error| sources.problems.push(error));
        sources.read_history(project, &provenance).unwrap_or_else(|error| sources.problems.push(error));
        sources
    }

    fn read_memory(&mut self, project: &Project, provenance: &Provenance) -> Result<(), Error> {
        let state = Memory::at(&project.memory_root, project.memory_dir()?).state()?;
        for (category, item) in state.items() {
            let text = || Text { text: item.text.clone(), is_ours: provenance.owns_item(category, item) };
            match category {
                "goal" => self.goal = Some(text()),
                "open_loop" => self.open_loops.push(text()),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_history(&mut self, project: &Project, provenance: &Provenance) -> Result<(), Error> {
        let history = History::at(&project.memory_root, project.history_dir()?);
        if !history.exists()? {
            return Ok(());
        }
        if let Some(open) = history.newest_open(provenance.of_history(), &mut self.problems) {
            let mut handoff = open.handoff;
            handoff.remove_private();
            let is_ours = provenance.owns_handoff(&open.key);
            let text = |text: &str| Some(Text { text: text.to_owned(), is_ours }).filter(|it| !it.text.is_empty());
            self.next = handoff.texts("next_todo_items").first().copied().and_then(text);
            self.goal = self.goal.take().or_else(|| text(recap::stated_goal(&handoff)));
        }
        let wanted = Wanted { limit: SESSIONS, matches: &|_| true, text: None, may_have_text: &|| None };
        let newest = history.newest(&wanted)?;
        let titles = titles::of(&history, &newest.entries.iter().collect::<Vec<_>>(), provenance);
        let named = newest.entries.iter().zip(titles);
        self.sessions = named.map(|(entry, title)| session(&history, entry, title, provenance)).collect();
        Ok(())
    }
}

fn session(history: &History, entry: &SessionEntry, title: String, provenance: &Provenance) -> Session {
    let get = |key: &str| entry.get(key).to_owned();
    Session {
        id: get("session_id"),
        at: get("generated_at"),
        agent: get("agent"),
        branch: get("current_branch"),
        status: history.status_of_entry(entry, provenance.of_history()).now,
        title: Text { text: title, is_ours: provenance.owns_entry(history, entry) },
    }
}
