//! What was computed before, in `index.db`. Each entry has the mark of what it was computed from, so that an entry that is too old
//! is computed again, and a ledger that is deleted changes no answer. What cannot be kept is computed each time.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::base::signals;
use crate::project::Project;
use crate::search::Index;

/// Grows with every change of a measure or of what is kept: entries of another version are computed again.
const VERSION: u32 = 1;

pub(super) struct Ledger {
    index: Index,
    end: Instant,
    /// How many entries were not computed for lack of time.
    pub missing: usize,
}

impl Ledger {
    /// Opens the ledger of a project. Nothing is computed once `limit` has passed.
    pub(super) fn open(project: &Project, limit: Duration) -> Ledger {
        Ledger { index: Index::open(project), end: Instant::now() + limit, missing: 0 }
    }

    /// Whether what is computed is there for the next one who asks.
    pub(super) fn is_lasting(&self) -> bool {
        self.index.is_lasting()
    }

    /// What is known under this key, computed now unless it was before. `None` if there is no time left.
    pub(super) fn get<T: Serialize + DeserializeOwned>(
        &mut self,
        kind: &str,
        key: &str,
        mark: &str,
        compute: impl FnOnce() -> T,
    ) -> Option<T> {
        let mark = format!("{VERSION} {mark}");
        let kept = self.index.figure(kind, key, &mark).ok().flatten();
        if let Some(known) = kept.and_then(|kept| serde_json::from_str(&kept).ok()) {
            return Some(known);
        }
        if Instant::now() >= self.end || signals::received().is_some() {
            self.missing += 1;
            return None;
        }
        let new = compute();
        if let Ok(text) = serde_json::to_string(&new)
            && let Err(cause) = self.index.keep_figure(kind, key, &mark, &text)
        {
            tracing::debug!(%cause, "figures");
        }
        Some(new)
    }

    /// Forgets everything of a kind but this.
    pub(super) fn forget(&mut self, kind: &str, but: &HashSet<String>) {
        if let Err(cause) = self.index.forget_figures(kind, but) {
            tracing::debug!(%cause, "figures");
        }
    }
}
