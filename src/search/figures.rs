//! What `score` computed from transcripts: texts by kind and key, each with the mark of what it was computed from. They are kept
//! in the index because they are derived like everything in it, and may be deleted with it.

use std::collections::HashMap;

use rusqlite::{Row, params};

use super::store::Index;
use crate::base::fault;

/// What was computed, and the mark of what it was computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptFigure {
    pub mark: String,
    pub value: String,
}

impl Index {
    /// Whether what is kept lasts longer than this process.
    pub(crate) fn is_lasting(&self) -> bool {
        self.path.is_some()
    }

    /// Everything of a kind by its key, in one statement.
    pub(crate) fn figures(&self, kind: &str) -> rusqlite::Result<HashMap<String, KeptFigure>> {
        let mut statement = self.connection.prepare_cached("SELECT key, mark, value FROM figure WHERE kind = ?1")?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, KeptFigure { mark: row.get(1)?, value: row.get(2)? }));
        statement.query_map([kind], read)?.collect()
    }

    /// Keeps what was computed. Two processes that compute the same keep the same.
    pub(crate) fn keep_figure(&self, kind: &str, key: &str, mark: &str, value: &str) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO figure (kind, key, mark, value) VALUES (?1, ?2, ?3, ?4)";
        self.connection.prepare_cached(sql)?.execute([kind, key, mark, value])?;
        fault::at("index.written");
        Ok(())
    }

    /// Forgets what was kept under these keys: their transcripts are gone.
    pub(crate) fn forget_figures(&mut self, kind: &str, keys: &[String]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for key in keys {
            transaction.execute("DELETE FROM figure WHERE kind = ?1 AND key = ?2", params![kind, key])?;
        }
        transaction.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_figure_with_the_mark_of_what_it_was_computed_from() {
        let mut index = Index::in_memory();
        for (key, mark) in [("a", "1"), ("a", "2"), ("b", "1")] {
            index.keep_figure("pair", key, mark, &format!("{key}{mark}")).unwrap();
        }
        let kept = |mark: &str, value: &str| KeptFigure { mark: mark.to_owned(), value: value.to_owned() };
        let [a, b] = [("a".to_owned(), kept("2", "a2")), ("b".to_owned(), kept("1", "b1"))];
        assert_eq!(index.figures("pair").unwrap(), HashMap::from([a.clone(), b]));
        index.forget_figures("pair", &["b".to_owned()]).unwrap();
        assert_eq!(index.figures("pair").unwrap(), HashMap::from([a]));
        assert_eq!(index.figures("session").unwrap(), HashMap::new());
    }
}
