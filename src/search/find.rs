//! One search as a person or an agent asks for it: the index is brought up to date, the question is answered, and copies are
//! folded into one hit.

use std::time::Duration;

use super::answer::{Hit, answer};
use super::copies::without_copies;
use super::look::Look;
use super::meaning::{Asker, Meaning, meaning};
use super::query::Query;
use super::store::Index;
use super::update::{Freshness, Progress, bring_up_to_date};
use crate::base::clock;
use crate::project::{self, Project};

/// What a search found.
pub(crate) struct Found {
    /// The hits, best first, each with whether it is this user's own.
    pub hits: Vec<(Hit, bool)>,
    pub freshness: Freshness,
    /// The question has no word that could be looked for.
    pub is_empty_question: bool,
    /// What the vectors of the question and of the passages say.
    pub meaning: Meaning,
    /// The index that was asked, for what comes before and after a hit.
    pub index: Index,
}

/// Searches a project. Vectors are compared only for an `asker`. An update of the index takes at most `time` and reports its
/// `progress`. `judge` makes the function that decides of each hit whether it is this user's own.
pub(crate) fn find<Owns: Fn(&Hit) -> bool>(
    project: &Project,
    query: &Query,
    asker: Option<Asker>,
    time: Duration,
    progress: &mut Progress<'_>,
    judge: impl FnOnce(&Project) -> Owns,
) -> Found {
    // Without a place for the index, it is built in memory. A search does not make a directory a project, in which hooks act.
    if project::is_for_hooks(&project.root) {
        let _ = project.prepare();
    }
    let today = clock::now().date_naive();
    // Some of the hits are copies of others.
    let asked = Query { limit: query.limit.saturating_mul(2), ..query.clone() };
    let (mut index, mut freshness) = bring_up_to_date(Index::open(project), project, Look::Quick, time, progress);
    let meaning = asker.map_or_else(Meaning::of_words, |asker| meaning(&mut index, project, query, asker));
    let (mut index, mut found) = answer(index, project, &asked, &meaning, today, progress);
    // Before nothing is found, everything was looked at.
    if found.has_no_words() && !found.is_empty_question && freshness.is_quick {
        (index, freshness) = bring_up_to_date(index, project, Look::Whole, time, progress);
        (index, found) = answer(index, project, &asked, &meaning, today, progress);
    }
    let owns = judge(project);
    let judged: Vec<(&Hit, bool)> = found.hits.iter().map(|hit| (hit, owns(hit))).collect();
    let shown = without_copies(&judged).into_iter().take(query.limit);
    let hits = shown.map(|at| (judged[at].0.clone(), judged[at].1)).collect();
    Found { hits, freshness, is_empty_question: found.is_empty_question, meaning, index }
}
