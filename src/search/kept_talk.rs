//! Kept talk in the index: it takes the place of a transcript that is gone, and makes room for one that is there.

use std::path::{Path, PathBuf};

use rusqlite::OptionalExtension;

use super::session_passages;
use super::sources::TALK;
use super::store::Index;
use crate::base::fault;
use crate::history;
use crate::project::Project;
use crate::transcript;

/// Indexes the kept talk of each session whose transcript is not indexed, and takes out that of all others.
pub(super) fn settle(index: &mut Index, project: &Project, roots: &[PathBuf]) -> rusqlite::Result<()> {
    for (path, known) in index.files_of(TALK)? {
        let path = Path::new(&path);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some((_, agent)) = transcript::of_kept_name(name) else { continue };
        let read_start = || project.anchor(path.parent()?).read_start(path, transcript::MAX_KEPT_HEAD).ok();
        let Some(session) = transcript::kept_session(name, read_start) else { continue };
        let has_transcript = index.has_transcript(&session, agent)?;
        let mut writer = match (has_transcript, index.has_document(known.id)?) {
            (true, true) | (false, false) => index.write()?,
            _ => continue,
        };
        if has_transcript {
            writer.remove_documents(known.id)?;
        } else if let Some(document) = document(project, path, (&session, agent), roots) {
            writer.add(known.id, &document)?;
        } else {
            continue;
        }
        writer.commit()?;
        fault::at("index.written");
    }
    Ok(())
}

/// What a file of kept talk says. `None` if it cannot be read, or is that of another session than its name says.
fn document(
    project: &Project,
    path: &Path,
    (session, agent): (&str, &str),
    roots: &[PathBuf],
) -> Option<super::passage::Document> {
    let directory = path.parent()?;
    let file = project.anchor(directory).read_within(path, transcript::MAX_KEPT_FILE).ok()?;
    let found =
        transcript::read_kept(&file).filter(|found| (found.session.as_str(), found.agent) == (session, agent))?;
    let own_key = history::own_keys::of_talk(&file).stored();
    Some(super::passage::Document { own_key, ..session_passages::of_transcript(&found, roots) })
}

impl Index {
    /// Whether a transcript of this session is indexed.
    fn has_transcript(&self, session: &str, agent: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM document JOIN file ON file.id = document.file
                   WHERE document.session = ?1 AND session <> '' AND file.place = ?2 LIMIT 1";
        let found = self.connection.prepare_cached(sql)?.query_row([session, agent], |_| Ok(())).optional()?;
        Ok(found.is_some())
    }

    fn has_document(&self, file: i64) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM document WHERE file = ?1)";
        self.connection.prepare_cached(sql)?.query_row([file], |row| row.get(0))
    }
}
