//! All that the index has of one session, for a reader who found a part of it.

use super::store::Index;

/// How many passages are read at most.
const MOST: i64 = 2_000;

impl Index {
    /// What was said and done in the session with this id of its agent, in order: the kind of each passage and its text.
    #[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "only the MCP server uses it"))]
    pub(crate) fn session_passages(&self, session: &str) -> rusqlite::Result<Vec<(&'static str, String)>> {
        let mut passages = Vec::new();
        for document in self.documents_of_session(session)? {
            let found = self.passages_between(document, 0, MOST)?;
            passages.extend(found.into_iter().map(|passage| (passage.kind.name(), passage.text)));
        }
        Ok(passages)
    }
}
