//! `log/hook.log`: one line a call, so that a user can see whether an agent calls its hooks.

use std::path::PathBuf;
use std::time::Duration;

use super::Call;
use crate::base::fs::{self, Anchor, FileError};
use crate::base::{clock, env, text};
use crate::error::Error;
use crate::project::Project;

/// A log of this size is moved aside, so that both files together never exceed twice this size.
const MOST: u64 = 256 << 10;
const NAME: &str = "hook.log";

/// The event of a line that says that a client uses our MCP server.
pub(crate) const SERVER_START: &str = "mcp-start";

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub at: String,
    pub agent: String,
    pub event: String,
    pub session: String,
    pub millis: u64,
    pub what: String,
}

impl Entry {
    pub(crate) fn of(call: &Call, took: Duration, what: &str) -> Entry {
        let word = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("_");
        Entry {
            at: clock::stamp(&clock::now()),
            agent: call.agent.name.to_owned(),
            event: call.event.name().to_owned(),
            session: call.session_id.as_deref().map_or("-".to_owned(), word),
            millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            what: text::one_line(what, 1_000),
        }
    }

    /// The start of the MCP server by a client of this agent.
    #[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "only the MCP server uses it"))]
    pub(crate) fn of_server(agent: &str, what: &str) -> Entry {
        let agent = if agent.is_empty() { "-" } else { agent };
        Entry {
            at: clock::stamp(&clock::now()),
            agent: agent.split_whitespace().collect::<Vec<_>>().join("_"),
            event: SERVER_START.to_owned(),
            session: "-".to_owned(),
            millis: 0,
            what: text::one_line(what, 1_000),
        }
    }

    fn line(&self) -> String {
        let Entry { at, agent, event, session, millis, what } = self;
        format!("{at} {agent} {event} {session} {millis}ms {what}")
    }

    fn parse(line: &str) -> Option<Entry> {
        let mut words = line.splitn(6, ' ');
        let mut word = || words.next().map(str::to_owned);
        let (at, agent, event, session, millis) = (word()?, word()?, word()?, word()?, word()?);
        clock::parse_stamp(&at)?;
        let millis = millis.strip_suffix("ms")?.parse().ok()?;
        Some(Entry { at, agent, event, session, millis, what: word().unwrap_or_default() })
    }
}

/// A directory for the log, and the anchor below which it is reached without following links.
struct LogPlace {
    anchor: Anchor,
    directory: PathBuf,
}

impl LogPlace {
    fn of_project(project: &Project) -> LogPlace {
        LogPlace { anchor: project.anchor(&project.state), directory: project.log_dir() }
    }

    fn of_user() -> Option<LogPlace> {
        env::user_state().map(|directory| LogPlace { anchor: Anchor::new(&directory), directory })
    }

    fn append(&self, entry: &Entry) -> Result<(), FileError> {
        self.anchor.create_log_directory(&self.directory)?;
        self.anchor.append_to_log(&self.directory.join(NAME), &entry.line(), MOST)
    }

    fn entries(&self) -> Vec<Entry> {
        let mut found = Vec::new();
        for name in [format!("{NAME}.1"), NAME.to_owned()] {
            let Ok(Some((_, end))) = self.anchor.read_ends(&self.directory.join(name), 2 * MOST) else { continue };
            found.extend(String::from_utf8_lossy(&end).lines().filter_map(Entry::parse));
        }
        found
    }
}

/// Whether the project has a state directory that a hook may use.
fn is_usable(project: &Project) -> bool {
    let anchor = project.anchor(&project.state);
    let is_there = if anchor.path() == project.state {
        fs::is_directory(&project.state)
    } else {
        anchor.is_directory(&project.state)
    };
    is_there && project.unattended_places().has_state()
}

/// Records a call: in the project's state if it has one and can be written, else in the user's own state. A log that
/// cannot be written is no reason to fail. Returns a sentence about a link or a special file in the place of the project's
/// log.
pub(crate) fn tell(project: Option<&Project>, entry: &Entry) -> Option<String> {
    let about = project.map(about_project).unwrap_or_default();
    let project = project.filter(|project| is_usable(project));
    let refused = match project.map(|project| LogPlace::of_project(project).append(entry)) {
        Some(Ok(())) => return None,
        Some(Err(error @ FileError::NotRegular { .. })) => Some(Error::from(error).one_line()),
        _ => None,
    };
    let mut entry = entry.clone();
    entry.what.extend(refused.iter().map(|sentence| format!("; {sentence}")));
    entry.what.push_str(&about);
    let _ = LogPlace::of_user().map(|place| place.append(&entry));
    refused
}

/// The end of a line in the user's own log, which all projects share.
fn about_project(project: &Project) -> String {
    format!(" (project {})", serde_json::Value::from(project.root.to_string_lossy()))
}

/// The calls about this project, recorded in it or in the user's own state, the oldest first.
pub(crate) fn entries(project: &Project) -> Vec<Entry> {
    let about = about_project(project);
    let users = LogPlace::of_user().map(|place| place.entries()).unwrap_or_default();
    let mine = users.into_iter().filter_map(|entry| {
        let what = entry.what.strip_suffix(&about)?.to_owned();
        Some(Entry { what, ..entry })
    });
    let mut found = LogPlace::of_project(project).entries();
    found.extend(mine);
    found.sort_by(|a, b| a.at.cmp(&b.at));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_read_back() {
        let entry = Entry {
            at: "2026-11-15T10:04:05.000Z".into(),
            agent: "codex".into(),
            event: "session-end".into(),
            session: "s-1".into(),
            millis: 12,
            what: "recorded 01K and more".into(),
        };
        assert_eq!(Entry::parse(&entry.line()), Some(entry));
        assert_eq!(Entry::parse("somebody else's line"), None);
    }
}
