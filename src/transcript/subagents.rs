//! What sub-agents did, for agents that write them down in transcripts of their own. Their edits and failures are part of the
//! session that started them, and marked as theirs; what they said is not.

use std::path::Path;

use super::{Outcome, Transcript, TurnWork, format, source};

/// How many sub-agents are read, and how much of each.
const MOST: usize = 30;
const MOST_BYTES: u64 = 8 << 20;
/// How many failed commands of all of them are kept.
const MAX_FAILED: usize = 20;
/// With more tests than this, those of sub-agents are left out.
const MAX_TESTS: usize = 60;
/// What their commands begin with.
pub(super) const MARK: &str = "(sub-agent) ";

/// Adds what the sub-agents of the session in `path` did, as far as they belong to the part that was read.
pub(super) fn add(found: &mut Transcript, path: &Path) {
    let Some(format) = format::of_agent(found.agent) else { return };
    let mut files: Vec<_> =
        (format.subagents)(path).into_iter().filter_map(|file| Some((source::state(&file)?, file))).collect();
    files.sort_by_key(|(state, _)| state.modified);
    let newest = files.len().saturating_sub(MOST);
    let mut failed = 0;
    for (_, file) in files.drain(newest..) {
        let Ok(end) = source::Source::pin(&file, "").map(|whole| whole.end) else { continue };
        let Ok(Some(theirs)) = source::read(&file, end.saturating_sub(MOST_BYTES), end) else { continue };
        // A sub-agent of an earlier part was handed over with that one.
        if theirs.ended.zip(found.started).is_some_and(|(ended, started)| ended < started) {
            continue;
        }
        for path in theirs.edited {
            if !found.edited.contains(&path) {
                found.edited.push(path.clone());
                found.edited_by_subagents.push(path);
            }
        }
        let turn = found.work.last().map_or(1, |work| work.turn);
        found.shell_writes.extend(theirs.shell_writes.into_iter().map(|(_, path)| (turn, path)));
        let theirs_failed = theirs.work.iter().flat_map(|work| &work.failed);
        for command in theirs_failed {
            if failed < MAX_FAILED {
                failed += 1;
                fail(found, turn, format!("{MARK}{command}"));
            }
        }
        for mut test in theirs.tests {
            let is_open = matches!(test.outcome, Outcome::Failed(_)) && found.tests.len() < MAX_TESTS;
            let is_known = found.tests.iter().any(|own| own.command == test.command);
            if is_open && !is_known {
                test.command.insert_str(0, MARK);
                found.tests.push(test.clone());
                found.commands.push(test);
            }
        }
    }
}

/// Adds a command that failed to the work of a turn.
fn fail(found: &mut Transcript, turn: usize, command: String) {
    if found.work.last().is_none_or(|work| work.turn != turn) {
        found.work.push(TurnWork { turn, ..TurnWork::default() });
    }
    if let Some(work) = found.work.last_mut().filter(|work| !work.failed.contains(&command)) {
        work.failed.push(command);
    }
}
