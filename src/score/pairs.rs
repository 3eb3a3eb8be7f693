//! The pairs of a project, from its record and its transcripts.

use std::collections::HashMap;
use std::path::Path;

use super::page::Page;
use super::pair::Pair;
use crate::checkpoint::{AgentSession, Receipt, ReceiptOutcome, Store};
use crate::error::Result;
use crate::project::Project;
use crate::recap::{self, Material};
use crate::transcript::{self, Source, Transcript};

/// The newest pairs of a project, oldest first: each session that has a predecessor on the same branch, if its transcript can
/// still be read.
pub(crate) fn pairs(project: &Project, last: usize, session: Option<&str>) -> Result<Vec<Pair>> {
    let Some(store) = Store::read(&project.checkpoint_file())? else { return Ok(Vec::new()) };
    let receipts = store.all_receipts()?;
    let mut sessions: Vec<AgentSession> = store.all_sessions()?.into_iter().map(|(session, _)| session).collect();
    sessions.retain(|session| !session.transcript.is_empty() && !session.branch.is_empty());
    sessions.sort_by(|a, b| a.started_at.cmp(&b.started_at));
    let mut newest: HashMap<(String, String), AgentSession> = HashMap::new();
    let mut followed = Vec::new();
    for session in sessions {
        let place = (session.worktree.clone(), session.branch.clone());
        if let Some(before) = newest.insert(place, session.clone()) {
            followed.push((before, session));
        }
    }
    followed.retain(|(_, after)| session.is_none_or(|id| after.id.starts_with(id)));
    let skipped = followed.len().saturating_sub(last);
    Ok(followed.iter().skip(skipped).filter_map(|(before, after)| pair(before, after, &receipts)).collect())
}

fn pair(before: &AgentSession, after: &AgentSession, receipts: &[Receipt]) -> Option<Pair> {
    let is_of_start = |receipt: &&Receipt| {
        (&receipt.agent, &receipt.session) == (&after.agent, &after.id) && receipt.reason != "prompt"
    };
    // The first one: they are sorted newest first.
    let receipt = receipts.iter().rev().find(is_of_start).map(|receipt| receipt.outcome);
    let texts = transcript::injected(Path::new(&after.transcript)).ok().flatten().unwrap_or_default();
    let before = read(before);
    let (page, receipt) = match texts.first() {
        // A session from before there were receipts got a text, and nobody knows whether it was whole.
        Some(injected) => (Page::of(&injected.text), receipt.or(Some(ReceiptOutcome::Unknown))),
        None => (before.as_ref().map(on_record).unwrap_or_default(), receipt),
    };
    Some(Pair {
        agent: after.agent.clone(),
        session: after.id.clone(),
        branch: after.branch.clone(),
        started_at: after.started_at.clone(),
        receipt,
        page,
        before,
        after: read(after)?,
    })
}

/// What a warmup would have said after this session, for the baseline.
fn on_record(before: &Transcript) -> Page {
    let has_changes = !before.edited.is_empty();
    let account = recap::recap(&Material { transcript: Some(before), note: "", state: "", has_changes });
    let next = account.next.iter().map(|line| format!("- {}\n", line.text.replace('\n', " ")));
    let files = before.edited.iter().map(|path| format!("- {path}\n"));
    Page::of(&format!("## Next\n{}## Files\n{}", next.collect::<String>(), files.collect::<String>()))
}

fn read(session: &AgentSession) -> Option<Transcript> {
    Source::pin(Path::new(&session.transcript), &session.id).ok()?.read().ok().flatten()
}
