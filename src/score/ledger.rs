//! What was computed before, in `index.db`. Each entry has the mark of what it was computed from, so that an entry that is too old
//! is computed again, and a ledger that is deleted changes no answer. What cannot be kept is computed each time.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::base::signals;
use crate::project::Project;
use crate::search::{Index, KeptFigure};

/// Grows with every change of a measure or of what is kept: entries of another version are computed again.
const VERSION: u32 = 3;

pub(super) struct Ledger {
    index: Index,
    /// What the index has, by kind. Each kind is read once, whole.
    known: HashMap<&'static str, HashMap<String, KeptFigure>>,
    end: Instant,
    /// How many entries were not computed for lack of time.
    pub missing: usize,
}

impl Ledger {
    /// Opens the ledger of a project. Nothing is computed once `limit` has passed.
    pub(super) fn open(project: &Project, limit: Duration) -> Ledger {
        Ledger::over(Index::open(project), limit)
    }

    fn over(index: Index, limit: Duration) -> Ledger {
        Ledger { index, known: HashMap::new(), end: Instant::now() + limit, missing: 0 }
    }

    /// Whether what is computed is there for the next one who asks.
    pub(super) fn is_lasting(&self) -> bool {
        self.index.is_lasting()
    }

    /// What is known under this key, computed now unless it was before. `None` if there is no time left.
    pub(super) fn get<T: Serialize + DeserializeOwned>(
        &mut self,
        kind: &'static str,
        key: &str,
        mark: &str,
        compute: impl FnOnce() -> T,
    ) -> Option<T> {
        if let Some(known) = self.kept(kind, key, mark) {
            return Some(known);
        }
        if Instant::now() >= self.end || signals::received().is_some() {
            self.missing += 1;
            return None;
        }
        let new = compute();
        self.keep(kind, key, mark, &new);
        Some(new)
    }

    /// What was computed before from what has this mark.
    pub(super) fn kept<T: DeserializeOwned>(&mut self, kind: &'static str, key: &str, mark: &str) -> Option<T> {
        let kept = self.known(kind).get(key).filter(|kept| kept.mark == versioned(mark))?;
        serde_json::from_str(&kept.value).ok()
    }

    /// Keeps what was computed.
    pub(super) fn keep<T: Serialize>(&mut self, kind: &'static str, key: &str, mark: &str, new: &T) {
        let mark = versioned(mark);
        let Ok(value) = serde_json::to_string(new) else { return };
        if let Err(cause) = self.index.keep_figure(kind, key, &mark, &value) {
            tracing::debug!(%cause, "figures");
        }
        self.known(kind).insert(key.to_owned(), KeptFigure { mark, value });
    }

    /// Forgets everything of a kind but this. Nothing is written if there is nothing else.
    pub(super) fn forget(&mut self, kind: &'static str, but: &HashSet<String>) {
        let others: Vec<String> = self.known(kind).keys().filter(|key| !but.contains(*key)).cloned().collect();
        if others.is_empty() {
            return;
        }
        if let Err(cause) = self.index.forget_figures(kind, &others) {
            tracing::debug!(%cause, "figures");
        }
        self.known(kind).retain(|key, _| but.contains(key));
    }

    fn known(&mut self, kind: &'static str) -> &mut HashMap<String, KeptFigure> {
        let index = &self.index;
        self.known.entry(kind).or_insert_with(|| {
            index.figures(kind).unwrap_or_else(|cause| {
                tracing::debug!(%cause, "figures");
                HashMap::new()
            })
        })
    }
}

fn versioned(mark: &str) -> String {
    format!("{VERSION} {mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_computed_from_something_else_is_computed_again() {
        let mut ledger = Ledger::over(Index::in_memory(), Duration::from_secs(600));
        let mut computed = 0;
        let mut get = |mark: &str| {
            ledger.get("pair", "a", mark, || {
                computed += 1;
                computed
            })
        };
        assert_eq!([get("1"), get("1"), get("2"), get("2")], [Some(1), Some(1), Some(2), Some(2)]);
        ledger.forget("pair", &HashSet::from(["a".to_owned()]));
        assert_eq!(ledger.kept::<i32>("pair", "a", "2"), Some(2));
        ledger.forget("pair", &HashSet::new());
        assert_eq!(ledger.kept::<i32>("pair", "a", "2"), None);
    }

    #[test]
    fn nothing_is_computed_once_the_time_is_over() {
        let mut ledger = Ledger::over(Index::in_memory(), Duration::ZERO);
        assert_eq!(ledger.get("pair", "a", "1", || 1), None);
        assert_eq!(ledger.missing, 1);
    }
}
