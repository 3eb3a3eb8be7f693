//! What `score` computed from transcripts: texts by kind and key, each with the mark of what it was computed from. They are kept
//! in the index because they are derived like everything in it, and may be deleted with it.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, params};

use super::store::Index;
use crate::base::fault;

impl Index {
    /// Whether what is kept lasts longer than this process.
    pub(crate) fn is_lasting(&self) -> bool {
        self.path.is_some()
    }

    /// What was kept under this key, if it was computed from what has this mark.
    pub(crate) fn figure(&self, kind: &str, key: &str, mark: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT value FROM figure WHERE kind = ?1 AND key = ?2 AND mark = ?3";
        self.connection.prepare_cached(sql)?.query_row([kind, key, mark], |row| row.get(0)).optional()
    }

    /// Keeps what was computed. Two processes that compute the same keep the same.
    pub(crate) fn keep_figure(&self, kind: &str, key: &str, mark: &str, value: &str) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO figure (kind, key, mark, value) VALUES (?1, ?2, ?3, ?4)";
        self.connection.prepare_cached(sql)?.execute([kind, key, mark, value])?;
        fault::at("index.written");
        Ok(())
    }

    /// Forgets what was kept under other keys: their transcripts are gone.
    pub(crate) fn forget_figures(&mut self, kind: &str, but: &HashSet<String>) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let all: Vec<String> = {
            let mut statement = transaction.prepare("SELECT key FROM figure WHERE kind = ?1")?;
            statement.query_map([kind], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
        };
        for key in all.iter().filter(|key| !but.contains(*key)) {
            transaction.execute("DELETE FROM figure WHERE kind = ?1 AND key = ?2", params![kind, key])?;
        }
        transaction.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_counts_only_for_what_it_was_computed_from() {
        let mut index = Index::in_memory();
        for (key, mark) in [("a", "1"), ("a", "2"), ("b", "1")] {
            index.keep_figure("pair", key, mark, &format!("{key}{mark}")).unwrap();
        }
        let figure = |index: &Index, key: &str, mark: &str| index.figure("pair", key, mark).unwrap();
        assert_eq!(figure(&index, "a", "1"), None);
        assert_eq!(figure(&index, "a", "2").as_deref(), Some("a2"));
        index.forget_figures("pair", &HashSet::from(["a".to_owned()])).unwrap();
        assert_eq!((figure(&index, "a", "2").is_some(), figure(&index, "b", "1")), (true, None));
    }
}
