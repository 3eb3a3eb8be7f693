//! One search, from the question to the hits.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use chrono::NaiveDate;

use super::candidates::{self, Candidates, Term};
use super::dates::NamedTime;
use super::look::Look;
use super::meaning::Meaning;
use super::path;
use super::query::{Query, Question};
use super::rank::{self, Counted, InCommon, Ranked};
use super::store::{DocumentFacts, Index, StoredDocument, StoredPassage};
use super::traced_file::TracedFile;
use super::update::{Progress, bring_up_to_date, is_damage};
use super::{PassageKind, error_message, words};
use crate::project::Project;

/// How long building a damaged index again may take.
const REBUILD_TIME: Duration = Duration::from_secs(10);

/// How many documents count that are near by their vectors: more than any answer shows, as its other ranking has them too.
#[cfg(feature = "vectors")]
const MOST_NEAR: usize = 100;

/// A document that was found, with its best passage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hit {
    /// The agent's id of the session; empty if none is known.
    pub session: String,
    /// The id of its handoff; empty if there is none.
    pub handoff: String,
    pub kind: PassageKind,
    pub title: String,
    /// When it was said, in seconds since 1970.
    pub at: Option<i64>,
    /// Of that time no more than the day is known.
    pub is_day: bool,
    pub agent: String,
    pub branch: String,
    pub score: f64,
    /// The share of the question that the passage and its neighbours have.
    pub coverage: f64,
    /// How many words of the question they have.
    pub matched: usize,
    pub in_common: InCommon,
    pub text: String,
    /// Where the words of the question are in the text.
    pub matches: Vec<Range<usize>>,
    /// The file that it came from.
    pub path: String,
    /// What identifies it in the user's own record; empty for a transcript, which is this user's own.
    pub own_key: String,
    pub run: String,
    /// It is a handoff that was imported.
    pub is_from_outside: bool,
    /// What was done next, or what was asked, decided and run around it.
    pub near: Vec<Near>,
    /// Whether the file that was asked for has changed since.
    pub changed_since: Option<bool>,
    /// It has no word of the question; only its vector is near.
    pub(super) is_only_near: bool,
    pub(super) document: i64,
    pub(super) number: i64,
}

/// A passage that is shown beside a hit.
#[derive(Clone, Debug)]
pub(crate) struct Near {
    pub kind: PassageKind,
    pub text: String,
}

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub hits: Vec<Hit>,
    /// The question has no word that could be looked for.
    pub is_empty_question: bool,
}

impl Answer {
    /// Whether no passage has a word of the question. What is near by its vector is near to something always.
    pub(crate) fn has_no_words(&self) -> bool {
        self.hits.iter().all(|hit| hit.is_only_near)
    }
}

/// Searches the index of a project. `today` is the day that "yesterday" is counted from. An index that turns out to be damaged
/// is built again first.
pub(crate) fn answer(
    index: Index,
    project: &Project,
    query: &Query,
    meaning: &Meaning,
    today: NaiveDate,
    progress: &mut Progress<'_>,
) -> (Index, Answer) {
    let mut query = query.clone();
    if query.text.contains("path:/") {
        query.roots = project.worktree_roots();
    }
    let query = &query;
    let traced = query.file.as_deref().map(|path| TracedFile::of(project, path));
    let search = |index: &Index| match &traced {
        Some(file) => {
            let hits = path::sessions(index, file, query)?;
            Ok(Answer { hits, is_empty_question: false })
        }
        None if query.is_error => of_error(index, query, today),
        None => search(index, query, meaning, today),
    };
    match search(&index) {
        Ok(answer) => (index, answer),
        Err(cause) => {
            tracing::debug!(%cause, "index");
            let index = if is_damage(&cause) { index.replace(project) } else { Index::in_memory() };
            let (index, _) = bring_up_to_date(index, project, Look::Whole, REBUILD_TIME, progress);
            let answer = search(&index).unwrap_or_default();
            (index, answer)
        }
    }
}

/// The earlier sessions that met an error, each with what was done next.
fn of_error(index: &Index, query: &Query, today: NaiveDate) -> rusqlite::Result<Answer> {
    let text = error_message::question(&query.text);
    let kinds = vec![PassageKind::Error];
    let mut answer = search(index, &Query { text, kinds, ..query.clone() }, &Meaning::of_words(), today)?;
    answer.hits.retain(|hit| hit.coverage >= error_message::LEAST);
    for hit in &mut answer.hits {
        hit.near = error_message::what_was_done(index, hit)?;
    }
    let passes = |hit: &Hit| hit.near.first().is_some_and(|near| near.kind == PassageKind::Command);
    // Where something passed afterwards, the error was probably solved.
    answer.hits.sort_by_key(|hit| !passes(hit));
    Ok(answer)
}

pub(super) fn search(index: &Index, query: &Query, meaning: &Meaning, today: NaiveDate) -> rusqlite::Result<Answer> {
    let _reading = index.reading()?;
    let mut question = Question::of(&query.text, today);
    question.make_relative(&query.roots);
    if question.words.is_empty() && question.times.is_empty() {
        return Ok(Answer { is_empty_question: true, ..Answer::default() });
    }
    if question.is_only_time {
        let hits = of_time(index, query, &question.times, today)?;
        if !hits.is_empty() {
            return Ok(Answer { hits, is_empty_question: false });
        }
    }
    let totals = index.totals()?;
    let Candidates { terms, mut passages } =
        candidates::find(index, &question.words, totals, query.scored.unwrap_or(candidates::MOST))?;
    if passages.is_empty() && !question.times.is_empty() && !meaning.is_used() {
        return Ok(Answer { hits: of_time(index, query, &question.times, today)?, is_empty_question: false });
    }
    // In their order in the file, passages of one session are near each other.
    passages.sort_unstable();
    let mut counted = Vec::with_capacity(passages.len());
    for id in passages {
        let passage = if question.phrases.is_empty() { index.passage_without_text(id)? } else { index.passage(id)? };
        if let Some(passage) = passage
            && query.wants(&passage, &question)
        {
            counted.push(Counted::of(passage, &terms));
        }
    }
    #[cfg_attr(not(feature = "vectors"), allow(unused_mut, reason = "only vectors add documents"))]
    let mut documents = wanted_documents(index, counted.iter().map(of_document), query, &question)?;
    counted.retain(|counted| documents.contains_key(&counted.passage.document));
    let ranked = rank::rank(&counted, &documents, &terms, &question.times, totals);
    #[cfg(feature = "vectors")]
    let ranked = {
        let near = near(index, query, meaning, &question)?;
        documents.extend(wanted_documents(index, near.iter().map(|ranked| ranked.document), query, &question)?);
        let near: Vec<Ranked> = near.into_iter().filter(|ranked| documents.contains_key(&ranked.document)).collect();
        if near.is_empty() { ranked } else { super::fuse::fuse(ranked, &near) }
    };
    Ok(Answer { hits: hits(index, ranked, &terms, query.limit)?, is_empty_question: false })
}

fn of_document(counted: &Counted) -> i64 {
    counted.passage.document
}

/// The documents that are near to the question by their vectors, nearest first, each with its nearest passage.
#[cfg(feature = "vectors")]
fn near(index: &Index, query: &Query, meaning: &Meaning, question: &Question) -> rusqlite::Result<Vec<Ranked>> {
    let Some(vector) = &meaning.question else { return Ok(Vec::new()) };
    // An index that was just built again has no vectors yet.
    let nearest = super::vectors::nearest(index, vector).unwrap_or_default();
    let mut near: Vec<Ranked> = Vec::new();
    let mut seen = HashSet::new();
    for id in nearest {
        if near.len() >= MOST_NEAR {
            break;
        }
        if let Some(passage) = index.passage(id)?
            && query.wants(&passage, question)
            && seen.insert(passage.document)
        {
            near.push(Ranked {
                document: passage.document,
                passage: id,
                score: 0.0,
                coverage: 0.0,
                matched: 0,
                in_common: InCommon::default(),
            });
        }
    }
    Ok(near)
}

/// The sessions of the times that a question names, newest first, for a question that names nothing else: "what did I ask
/// last week?"
fn of_time(index: &Index, query: &Query, times: &[NamedTime], today: NaiveDate) -> rusqlite::Result<Vec<Hit>> {
    let start = |day: NaiveDate| day.and_hms_opt(0, 0, 0).map(|at| at.and_utc().timestamp());
    let mut hits = Vec::new();
    // A session may have gone on from one of the times to another.
    let mut seen = HashSet::new();
    for (first, last) in times.iter().filter_map(|time| time.days(today)) {
        let (Some(from), Some(to)) = (start(first), last.succ_opt().and_then(start)) else { continue };
        let new = index.documents_between(from, to, query.limit)?.into_iter().filter(|id| seen.insert(*id));
        for id in new.collect::<Vec<_>>() {
            let first = index.passages_between(id, 0, 0)?.into_iter().next();
            let wanted = first.filter(|passage| query.wants(passage, &Question::default()));
            if let (Some(document), Some(passage)) = (index.document(id)?, wanted)
                && query.wants_document(&document.facts)
            {
                hits.push(hit_of(index, &document, passage, document.facts.started)?);
            }
        }
    }
    hits.truncate(query.limit);
    Ok(hits)
}

impl Query {
    /// Whether a document passes the filters by agent and branch.
    pub(super) fn wants_document(&self, document: &DocumentFacts) -> bool {
        let is_agent = self.agent.as_ref().is_none_or(|agent| document.agent.eq_ignore_ascii_case(agent));
        is_agent && self.branch.as_ref().is_none_or(|branch| document.branch == *branch)
    }

    /// Whether a passage passes the filters that need nothing else.
    fn wants(&self, passage: &StoredPassage, question: &Question) -> bool {
        let is_kind = self.kinds.is_empty() || self.kinds.contains(&passage.kind);
        let is_error = !question.is_about_error || passage.kind == PassageKind::Error;
        // A passage without a time passes only if nobody asks for one.
        let is_in_time = self.since.is_none_or(|since| passage.at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| passage.at.is_some_and(|at| at < until));
        is_kind && is_error && is_in_time && question.phrases.iter().all(|phrase| has_phrase(&passage.text, phrase))
    }
}

/// Whether a text has these words next to each other.
fn has_phrase(text: &str, phrase: &[String]) -> bool {
    let words: Vec<String> =
        words::words(text).into_iter().filter(|word| !word.is_whole).map(|word| word.term).collect();
    words.windows(phrase.len()).any(|window| window == phrase)
}

/// The documents of these passages that pass the filters.
fn wanted_documents(
    index: &Index,
    ids: impl Iterator<Item = i64>,
    query: &Query,
    question: &Question,
) -> rusqlite::Result<HashMap<i64, DocumentFacts>> {
    let mut documents = HashMap::new();
    let touched = touched(index, &question.paths)?;
    let ids: HashSet<i64> = ids.collect();
    for id in ids {
        let Some(document) = index.document_facts(id)? else { continue };
        let is_touched = touched.iter().all(|documents| documents.contains(&id));
        if query.wants_document(&document) && is_touched {
            documents.insert(id, document);
        }
    }
    Ok(documents)
}

/// For each path the documents that touched it or name it.
fn touched(index: &Index, paths: &[String]) -> rusqlite::Result<Vec<HashSet<i64>>> {
    paths.iter().map(|path| index.documents_with_path(path)).collect()
}

fn hits(index: &Index, ranked: Vec<Ranked>, terms: &[Term], limit: usize) -> rusqlite::Result<Vec<Hit>> {
    let mut hits: Vec<Hit> = Vec::new();
    for ranked in ranked {
        if hits.len() >= limit {
            break;
        }
        let (Some(document), Some(passage)) = (index.document(ranked.document)?, index.passage(ranked.passage)?) else {
            continue;
        };
        // The transcript and the handoff of a session are one hit.
        let session = &document.facts.session;
        if !session.is_empty() && hits.iter().any(|hit| hit.session == *session) {
            continue;
        }
        let matches = matches(&passage.text, terms);
        let at = passage.at.or(document.facts.started);
        let Ranked { score, coverage, matched, in_common, .. } = ranked;
        let is_only_near = matched == 0;
        hits.push(Hit {
            score,
            coverage,
            matched,
            in_common,
            matches,
            is_only_near,
            ..hit_of(index, &document, passage, at)?
        });
    }
    Ok(hits)
}

/// The hit that stands for a document by one of its passages.
pub(super) fn hit_of(
    index: &Index,
    document: &StoredDocument,
    passage: StoredPassage,
    at: Option<i64>,
) -> rusqlite::Result<Hit> {
    let handoff = match &document.facts.session {
        session if document.handoff.is_empty() && !session.is_empty() => index.handoff_of(session)?,
        _ => Some(document.handoff.clone()),
    };
    Ok(Hit {
        session: document.facts.session.clone(),
        handoff: handoff.unwrap_or_default(),
        kind: passage.kind,
        title: document.title.clone(),
        at,
        is_day: document.is_day,
        agent: document.facts.agent.clone(),
        branch: document.facts.branch.clone(),
        text: passage.text,
        path: document.path.clone(),
        own_key: document.own_key.clone(),
        run: document.run.clone(),
        is_from_outside: document.is_from_outside,
        document: passage.document,
        number: passage.number,
        ..Hit::default()
    })
}

/// Where the words of the question are in a text.
fn matches(text: &str, terms: &[Term]) -> Vec<Range<usize>> {
    let is_asked = |term: &String| terms.iter().any(|asked| asked.forms.contains(term));
    let mut places: Vec<Range<usize>> = words::words(text)
        .into_iter()
        .filter(|word| !word.is_common && is_asked(&word.term))
        .map(|word| word.place)
        .collect();
    places.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    let mut end = 0;
    places.retain(|place| {
        let is_new = place.start >= end;
        end = end.max(place.end);
        is_new
    });
    places
}

impl Hit {
    /// The passages before and after the hit, at most so many on each side.
    pub(crate) fn context(&self, index: &Index, around: usize) -> rusqlite::Result<(Vec<String>, Vec<String>)> {
        let around = i64::try_from(around).unwrap_or(i64::MAX);
        let texts = |first: i64, last: i64| -> rusqlite::Result<Vec<String>> {
            Ok(index.passages_between(self.document, first, last)?.into_iter().map(|passage| passage.text).collect())
        };
        Ok((
            texts(self.number.saturating_sub(around), self.number - 1)?,
            texts(self.number + 1, self.number.saturating_add(around))?,
        ))
    }
}
