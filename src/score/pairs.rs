//! The pairs of a project, each with its figures.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::MEASURES;
use super::followers::{self, Follower, followers};
use super::ledger::Ledger;
use super::page::Page;
use super::pair::{Pair, is_cold, is_warm};
use super::sessions::{self, Given, Session, account};
use crate::base::text;
use crate::checkpoint::{Receipt, ReceiptOutcome, Store};
use crate::error::{Error, Result};
use crate::handoff::repr;
use crate::history::ambiguous;
use crate::project::Project;
use crate::search::Progress;

/// The kind of what the ledger has about a pair.
const KIND: &str = "pair";
/// The kind of what the ledger has about which session comes after which.
const ORDER: &str = "order";
/// How long the child of a hook computes at most. What is left, the next one does.
const IN_BACKGROUND: Duration = Duration::from_secs(60);
/// For how many of the newest pairs the child computes the figures.
const IN_BACKGROUND_PAIRS: usize = 1_000;

/// Which pairs are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// At most this many, the newest.
    pub last: usize,
    /// Only that of the session with this id, or the only one whose id begins so.
    pub session: Option<&'a str>,
    /// How long figures may be computed.
    pub limit: Duration,
}

/// The pairs that were asked for, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Scores {
    pub pairs: Vec<Scored>,
    /// How many sessions nobody has looked at yet.
    pub missing: usize,
    /// The whole id of the session that was asked for.
    pub meant: Option<String>,
    /// Whether the next call goes on where this one stopped.
    pub goes_on: bool,
}

/// A pair with its figures.
#[derive(Clone, Debug)]
pub(crate) struct Scored {
    pub agent: String,
    /// The session after the handover, and the one before it.
    pub session: String,
    pub before: String,
    /// Why it counts as the next one.
    pub by: &'static str,
    pub branch: String,
    pub started_at: String,
    pub receipt: Option<ReceiptOutcome>,
    pub figures: BTreeMap<String, f64>,
}

impl Scored {
    pub(super) fn is_warm(&self) -> bool {
        is_warm(self.receipt)
    }

    pub(super) fn is_cold(&self) -> bool {
        is_cold(self.receipt)
    }
}

/// What the ledger has about a pair.
#[derive(Serialize, Deserialize)]
struct Kept {
    receipt: Option<String>,
    figures: BTreeMap<String, f64>,
}

/// The newest pairs of a project: each session that has a predecessor on the same branch or with the same goal, if both
/// transcripts can still be read. `progress` is called for each transcript that is looked at.
pub(crate) fn pairs(project: &Project, ask: &Ask<'_>, progress: &mut Progress<'_>) -> Result<Scores> {
    let mut ledger = Ledger::open(project, ask.limit);
    let (mut scores, _) = compute(project, ask, &mut ledger, progress)?;
    scores.goes_on = ledger.is_lasting() || scores.missing > 0 && can_keep(project);
    Ok(scores)
}

/// Makes the directory in which figures are kept, for a project that has none yet.
fn can_keep(project: &Project) -> bool {
    let prepared = project.prepare();
    if let Err(error) = &prepared {
        tracing::debug!(%error, "figures");
    }
    prepared.is_ok() && Ledger::open(project, Duration::ZERO).is_lasting()
}

/// Computes the figures of the newest sessions ahead, for a process that nobody waits for. It fails silently: whoever asks
/// computes the rest.
pub(crate) fn update_in_background(project: &Project) {
    let mut ledger = Ledger::open(project, IN_BACKGROUND);
    if !ledger.is_lasting() {
        return;
    }
    let ask = Ask { last: IN_BACKGROUND_PAIRS, session: None, limit: IN_BACKGROUND };
    match compute(project, &ask, &mut ledger, &mut |_, _| ()) {
        Ok((scores, keys)) if scores.missing == 0 => ledger.forget(KIND, &keys),
        Ok(_) => {}
        Err(error) => tracing::debug!(%error, "figures"),
    }
}

/// The pairs, and the keys under which the ledger has all of the project.
fn compute(
    project: &Project,
    ask: &Ask<'_>,
    ledger: &mut Ledger,
    progress: &mut Progress<'_>,
) -> Result<(Scores, HashSet<String>)> {
    let store = Store::read(&project.checkpoint_file())?;
    let receipts = Receipts::of(&store.as_ref().map(Store::all_receipts).transpose()?.unwrap_or_default());
    let sessions = sessions::sessions(project, store.as_ref(), ledger, progress)?;
    let mut followers = known_followers(&sessions, ledger);
    let keys = followers.iter().map(|follower| sessions[follower.after].file.key()).collect();
    let meant = ask.session.map(|wanted| meant(&sessions, wanted, ledger.missing)).transpose()?;
    followers.retain(|it| meant.as_ref().is_none_or(|id| sessions[it.after].id == *id));
    let skipped = followers.len().saturating_sub(ask.last);
    // The newest first, because time may run out.
    let newest = followers.iter().skip(skipped).rev();
    let mut pairs: Vec<Scored> = newest.filter_map(|follower| scored(&sessions, follower, &receipts, ledger)).collect();
    pairs.reverse();
    Ok((Scores { pairs, missing: ledger.missing, meant, goes_on: false }, keys))
}

/// The pairs as they were the last time, if the sessions are still the same.
fn known_followers(sessions: &[Session], ledger: &mut Ledger) -> Vec<Follower> {
    let mark = followers::mark(sessions);
    let is_possible = |it: &Follower| it.before < it.after && it.after < sessions.len();
    let kept: Option<Vec<Follower>> = ledger.kept(ORDER, "", &mark);
    kept.filter(|kept| kept.iter().all(is_possible)).unwrap_or_else(|| {
        let new = followers(sessions);
        ledger.keep(ORDER, "", &mark, &new);
        new
    })
}

/// The whole id of the session that is wanted. While sessions are `missing`, the wanted one may be among them.
fn meant(sessions: &[Session], wanted: &str, missing: usize) -> Result<String> {
    if wanted.trim().is_empty() {
        return Err(Error::usage("an id must not be empty").hint("without an id, all sessions count"));
    }
    let ids: BTreeSet<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    let fits = |id: &&str| id.starts_with(wanted) || id.ends_with(wanted);
    let fitting: Vec<&str> = ids.iter().copied().filter(fits).collect();
    match fitting.as_slice() {
        _ if ids.contains(wanted) => Ok(wanted.to_owned()),
        [] if missing > 0 => Ok(wanted.to_owned()),
        [id] => Ok((*id).to_owned()),
        [] => Err(Error::failed(format!("unknown session id {}", repr(&text::one_line(wanted, 200))))
            .hint("`agent-handover score --json` lists the sessions")),
        several => Err(ambiguous(wanted, several)),
    }
}

fn scored(sessions: &[Session], follower: &Follower, receipts: &Receipts, ledger: &mut Ledger) -> Option<Scored> {
    let (before, after) = (&sessions[follower.before], &sessions[follower.after]);
    let receipt = receipts.of_start(after);
    let mark = format!(
        "{} | {} {} | {}",
        after.file.mark(),
        before.file.key(),
        before.file.mark(),
        receipt.map_or("none", ReceiptOutcome::name)
    );
    let kept = ledger.get(KIND, &after.file.key(), &mark, || kept(before, after, receipt))??;
    Some(Scored {
        agent: after.agent.clone(),
        session: after.id.clone(),
        before: before.id.clone(),
        by: follower.by.name(),
        branch: after.branch.clone(),
        started_at: after.started_at.clone(),
        receipt: kept.receipt.as_deref().map(ReceiptOutcome::named),
        figures: kept.figures,
    })
}

/// What became of the texts that sessions got at their starts, by agent and session.
struct Receipts(HashMap<(String, String), ReceiptOutcome>);

impl Receipts {
    /// Of these, which are sorted newest first. The first text of a session counts.
    fn of(receipts: &[Receipt]) -> Receipts {
        let starts = receipts.iter().filter(|receipt| receipt.reason != "prompt");
        Receipts(starts.map(|it| ((it.agent.clone(), it.session.clone()), it.outcome)).collect())
    }

    /// `None` if nobody put a text into the session.
    fn of_start(&self, session: &Session) -> Option<ReceiptOutcome> {
        self.0.get(&(session.agent.clone(), session.id.clone())).copied()
    }
}

/// The figures of a pair; `None` if the later session cannot be read.
fn kept(before: &Session, after: &Session, receipt: Option<ReceiptOutcome>) -> Option<Kept> {
    let pair = read(before, after, receipt)?;
    let figures = MEASURES.iter().filter_map(|measure| Some((measure.name.to_owned(), (measure.of)(&pair)?))).collect();
    Some(Kept { receipt: pair.receipt.map(|receipt| receipt.name().to_owned()), figures })
}

/// A text that arrived whole, but not before the agent began to work, divides the session: it is in neither group.
fn without_start(receipt: ReceiptOutcome) -> ReceiptOutcome {
    if receipt == ReceiptOutcome::Whole { ReceiptOutcome::Unknown } else { receipt }
}

fn read(before: &Session, after: &Session, receipt: Option<ReceiptOutcome>) -> Option<Pair> {
    let earlier = before.file.read(&before.id);
    let (page, receipt) = match after.file.given() {
        // Receipts are kept for a while. After that the mark of the text counts. A session from before there were marks got a
        // text, and nobody knows whether it was whole.
        Some(Given { page, is_whole: true }) => (page, receipt.or(Some(ReceiptOutcome::Whole))),
        Some(Given { page, is_whole: false }) => (page, receipt.or(Some(ReceiptOutcome::Unknown))),
        None => {
            let on_record = earlier.as_ref().map(|earlier| Page::on_record(&account(earlier), &earlier.edited));
            (on_record.unwrap_or_default(), receipt.map(without_start))
        }
    };
    Some(Pair { receipt, page, before: earlier, after: after.file.read(&after.id)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_meant_by_its_whole_id_or_the_beginning_of_one() {
        let session = |id: &str| Session { id: id.to_owned(), ..sessions::example("/w", "main", "") };
        let all = [session("a-1"), session("a-12"), session("b-1"), session("b-1")];
        let of = |wanted: &str| meant(&all, wanted, 0).map_err(|error| error.one_line());
        assert_eq!((of("a-1").as_deref(), of("b").as_deref()), (Ok("a-1"), Ok("b-1")));
        assert!(of("a").unwrap_err().contains("several sessions begin with 'a': a-1, a-12"));
        assert!(of("c").unwrap_err().contains("unknown session id 'c'"));
        assert_eq!(meant(&all, "c", 1).unwrap(), "c", "it may be among those that nobody has looked at");
    }
}
