//! `log/hook.log`: one line a call, so that a user can see whether an agent calls its hooks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agents::Call;
use crate::base::{clock, env, fs, text};
use crate::project::Project;

/// A log of this size is moved aside, so that both files together never exceed twice this size.
const MOST: u64 = 256 << 10;
const NAME: &str = "hook.log";

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub at: String,
    pub agent: String,
    pub event: String,
    pub session: String,
    pub millis: u64,
    pub what: String,
}

impl Entry {
    pub fn of(call: &Call, took: Duration, what: &str) -> Entry {
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

/// The directory of the log: the project's, or the user's state directory if the call belongs to no usable project.
fn place(project: Option<&Project>) -> Option<PathBuf> {
    match project.filter(|project| project.state.is_dir()) {
        Some(project) => Some(project.log_dir()),
        None => env::user_state(),
    }
}

/// Logs a call: in the project, or in the user's state directory if that fails. A failing log fails nothing.
pub fn tell(project: Option<&Project>, entry: &Entry) {
    let write = |directory: &Path| {
        let is_there = directory.is_dir() || fs::create_log_directory(directory).is_ok();
        is_there && fs::append_to_log(&directory.join(NAME), &entry.line(), MOST).is_ok()
    };
    let is_written = place(project).is_some_and(|directory| write(&directory));
    if !is_written && project.is_some() {
        place(None).map(|directory| write(&directory));
    }
}

/// The calls in the logs of this project and of the user, oldest first.
pub fn entries(project: &Project) -> Vec<Entry> {
    let mut found = Vec::new();
    for directory in [Some(project.log_dir()), env::user_state()].into_iter().flatten() {
        for name in [format!("{NAME}.1"), NAME.to_owned()] {
            let Ok(Some((_, end))) = fs::read_ends(&directory.join(name), 2 * MOST) else { continue };
            found.extend(String::from_utf8_lossy(&end).lines().filter_map(Entry::parse));
        }
    }
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
