//! How candidates are scored.
//!
//! A passage is scored with its neighbours by BM25, because a question often names what was said just before or after. A
//! document is as good as its best passages, and better if its other passages speak of the same things. Times in the question
//! count for documents of that time.

use std::collections::HashMap;

use chrono::{DateTime, Datelike, Days, NaiveDate};

use super::candidates::{Term, idf};
use super::dates::NamedTime;
use super::passage::PassageKind;
use super::store::{DocumentFacts, StoredPassage, Totals};
use super::words;

/// The constants of the ranking. They come from a recipe that was measured on LoCoMo and on coding sessions: it was chosen on
/// five of the ten conversations, and judged on the other five and on 309 coding sessions. Nothing was tuned here. The points
/// beside a constant say how much hit@1 falls without it. The recipe also weighs who speaks; that fits only conversations and
/// is left out. `command` is not in the recipe.
pub(super) struct Weights {
    /// How much a neighbour's words count. 1.3 points.
    neighbour: f64,
    /// How soon further occurrences of a word stop to count. Passages are short, so it is soon.
    passage_k1: f64,
    passage_b: f64,
    /// How much of the question's words a passage has, as a factor: one that has all of them is the best answer.
    coverage: f64,
    /// Two words of the question next to each other and in its order: a name or a term.
    in_order: f64,
    /// How much the second and the third passage of a document add to the best one.
    further: f64,
    /// How much the words of the whole document count beside its best passages.
    document: f64,
    document_k1: f64,
    document_b: f64,
    /// A document of a day that the question names, or of the week after it: people talk about it then. 2.6 points with the
    /// next two.
    day: f64,
    month: f64,
    year: f64,
    /// Commands and paths have many words and say little by themselves.
    command: f64,
}

pub(super) const WEIGHTS: Weights = Weights {
    neighbour: 0.5,
    passage_k1: 0.5,
    passage_b: 0.5,
    coverage: 0.6,
    in_order: 1.15,
    further: 0.25,
    document: 0.6,
    document_k1: 1.2,
    document_b: 0.4,
    day: 1.0,
    month: 0.5,
    year: 0.1,
    command: 0.8,
};

/// A passage with the words of the question that it has.
pub(super) struct Counted {
    pub passage: StoredPassage,
    /// How often each word of the question occurs.
    counts: Vec<f64>,
    has_order: bool,
}

impl Counted {
    pub(super) fn of(passage: StoredPassage, terms: &[Term]) -> Counted {
        let mut counts = vec![0.0; terms.len()];
        let mut has_order = false;
        let mut before = None;
        for (word, is_whole) in words::of_line(&passage.terms) {
            let at = terms.iter().position(|term| term.forms.iter().any(|form| form == word));
            if let Some(at) = at {
                counts[at] += 1.0;
                has_order |= before.is_some_and(|before| before + 1 == at);
            }
            if !is_whole {
                before = at;
            }
        }
        Counted { passage, counts, has_order }
    }

    /// Whether it has any word of the question.
    fn has_any(&self) -> bool {
        self.counts.iter().any(|count| *count > 0.0)
    }
}

/// A document with its score, its best passage, and how much of the question that passage and its neighbours have.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    pub document: i64,
    pub passage: i64,
    pub score: f64,
    /// The share of the question's words that it has, by their weight.
    pub coverage: f64,
    /// How many of the question's words it has.
    pub matched: usize,
    pub in_common: InCommon,
}

/// What a passage and its neighbours have in common with a question, word by word. A word that the index lacks is not in common,
/// though it may begin like another one that is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct InCommon {
    pub words: usize,
    /// The share of the question's words, by how rare they are.
    pub share: f64,
}

/// Scores documents, best first.
pub(super) fn rank(
    counted: &[Counted],
    documents: &HashMap<i64, DocumentFacts>,
    terms: &[Term],
    times: &[NamedTime],
    totals: Totals,
) -> Vec<Ranked> {
    let mut of_document: HashMap<i64, Vec<usize>> = HashMap::new();
    for (at, counted) in counted.iter().enumerate() {
        of_document.entry(counted.passage.document).or_default().push(at);
    }
    let scale = Scale::of(terms, totals);
    let document_idfs = document_idfs(counted, &of_document, terms, totals);
    let mut scored: Vec<(Ranked, f64)> = Vec::new();
    for (id, passages) in &of_document {
        let Some(document) = documents.get(id) else { continue };
        let Some(best) = scale.best_passages(counted, passages) else { continue };
        let whole = document_score(counted, passages, document, &document_idfs, totals);
        scored.push((Ranked { document: *id, ..best }, whole));
    }
    let most = |value: &dyn Fn(&(Ranked, f64)) -> f64| scored.iter().map(value).fold(f64::MIN_POSITIVE, f64::max);
    let (most_passages, most_whole) = (most(&|(ranked, _)| ranked.score), most(&|(_, whole)| *whole));
    let mut ranked: Vec<Ranked> = scored
        .into_iter()
        .map(|(ranked, whole)| {
            let bonus = documents.get(&ranked.document).map_or(0.0, |document| time_bonus(document, times));
            let score = ranked.score / most_passages + WEIGHTS.document * whole / most_whole + bonus;
            Ranked { score, ..ranked }
        })
        .collect();
    // If two are equally good, the newer one comes first. The time of indexing does not matter.
    let age = |ranked: &Ranked| documents.get(&ranked.document).map(|facts| (facts.ended, &facts.session));
    ranked.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| age(b).cmp(&age(a))).then_with(|| b.passage.cmp(&a.passage))
    });
    ranked
}

/// What the scores of passages are measured by.
struct Scale<'a> {
    terms: &'a [Term],
    /// The sum of what all words of the question are worth.
    all: f64,
    /// The sum of how rare they are.
    rarity: f64,
    average: f64,
}

impl Scale<'_> {
    fn of(terms: &[Term], totals: Totals) -> Scale<'_> {
        let all: f64 = terms.iter().map(|term| term.idf * term.weight).sum();
        let average = totals.words as f64 / totals.passages.max(1) as f64;
        let rarity = terms.iter().map(|term| term.idf).sum::<f64>().max(f64::MIN_POSITIVE);
        Scale {
            terms,
            all: all.max(f64::MIN_POSITIVE),
            rarity,
            average: average.max(1.0) * (1.0 + 2.0 * WEIGHTS.neighbour),
        }
    }

    /// The best passage of a document with the score of the best three. `None` if it has no word of the question.
    fn best_passages(&self, counted: &[Counted], passages: &[usize]) -> Option<Ranked> {
        let by_turn: HashMap<i64, usize> = passages
            .iter()
            .filter(|at| counted[**at].passage.turn >= 0)
            .map(|at| (counted[*at].passage.turn, *at))
            .collect();
        let mut found: Vec<Ranked> = Vec::new();
        for at in passages {
            let own = &counted[*at];
            if own.has_any() {
                let beside = |step: i64| by_turn.get(&(own.passage.turn + step)).map(|at| &counted[*at]);
                let is_talk = own.passage.turn >= 0;
                let neighbours = [beside(-1), beside(1)].map(|neighbour| neighbour.filter(|_| is_talk));
                found.push(self.score(own, neighbours));
            }
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.passage.cmp(&a.passage)));
        let further: f64 = found.iter().skip(1).take(2).map(|ranked| ranked.score).sum();
        found.into_iter().next().map(|best| Ranked { score: best.score + WEIGHTS.further * further, ..best })
    }

    fn score(&self, own: &Counted, neighbours: [Option<&Counted>; 2]) -> Ranked {
        let with_neighbours = |value: &dyn Fn(&Counted) -> f64| {
            value(own) + neighbours.iter().flatten().map(|neighbour| WEIGHTS.neighbour * value(neighbour)).sum::<f64>()
        };
        let length = with_neighbours(&|counted| counted.passage.words as f64);
        let norm = WEIGHTS.passage_k1 * (1.0 - WEIGHTS.passage_b + WEIGHTS.passage_b * length / self.average);
        let (mut score, mut covered, mut matched) = (0.0, 0.0, 0);
        let mut in_common = InCommon::default();
        for (number, term) in self.terms.iter().enumerate() {
            let count = with_neighbours(&|counted| counted.counts[number]);
            if count > 0.0 {
                score += term.weight * term.idf * count * (WEIGHTS.passage_k1 + 1.0) / (count + norm);
                covered += term.weight * term.idf;
                matched += 1;
                in_common.words += usize::from(term.is_known);
                in_common.share += if term.is_known { term.idf / self.rarity } else { 0.0 };
            }
        }
        let coverage = covered / self.all;
        score *= 1.0 + WEIGHTS.coverage * coverage;
        if own.has_order {
            score *= WEIGHTS.in_order;
        }
        if own.passage.kind == PassageKind::Command {
            score *= WEIGHTS.command;
        }
        Ranked { document: own.passage.document, passage: own.passage.id, score, coverage, matched, in_common }
    }
}

/// How rare each word is among documents.
fn document_idfs(
    counted: &[Counted],
    of_document: &HashMap<i64, Vec<usize>>,
    terms: &[Term],
    totals: Totals,
) -> Vec<f64> {
    let has = |passages: &[usize], term: usize| passages.iter().any(|at| counted[*at].counts[term] > 0.0);
    (0..terms.len())
        .map(|term| {
            let having = of_document.values().filter(|passages| has(passages, term)).count();
            terms[term].weight * idf(totals.documents as f64, having as f64)
        })
        .collect()
}

/// BM25 of a whole document.
fn document_score(
    counted: &[Counted],
    passages: &[usize],
    document: &DocumentFacts,
    idfs: &[f64],
    totals: Totals,
) -> f64 {
    let average = (totals.words as f64 / totals.documents.max(1) as f64).max(1.0);
    let length = document.words as f64 / average;
    let norm = WEIGHTS.document_k1 * (1.0 - WEIGHTS.document_b + WEIGHTS.document_b * length);
    idfs.iter()
        .enumerate()
        .map(|(term, idf)| {
            let count: f64 = passages.iter().map(|at| counted[*at].counts[term]).sum();
            idf * count * (WEIGHTS.document_k1 + 1.0) / (count + norm)
        })
        .sum()
}

/// How much the times of the question speak for a document. Of several times the best one counts.
fn time_bonus(document: &DocumentFacts, times: &[NamedTime]) -> f64 {
    let day = |seconds: Option<i64>| DateTime::from_timestamp(seconds?, 0).map(|at| at.date_naive());
    let Some(first) = day(document.started.or(document.ended)) else { return 0.0 };
    let last = day(document.ended).unwrap_or(first).max(first);
    times.iter().map(|time| bonus(first, last, time)).fold(0.0, f64::max)
}

fn bonus(first: NaiveDate, last: NaiveDate, time: &NamedTime) -> f64 {
    let within_week = |from: NaiveDate, to: NaiveDate| {
        let until = to.checked_add_days(Days::new(7)).unwrap_or(to);
        first <= until && last >= from
    };
    let is_month = |month: u32, year: Option<i32>| {
        let is_it = |day: NaiveDate| day.month() == month && year.is_none_or(|year| day.year() == year);
        is_it(first) || is_it(last)
    };
    match time {
        NamedTime::Days(days) if within_week(*days.start(), *days.end()) => WEIGHTS.day,
        NamedTime::Days(days) if is_month(days.start().month(), Some(days.start().year())) => WEIGHTS.month,
        NamedTime::DayOfYear { month, day } => match NaiveDate::from_ymd_opt(first.year(), *month, *day) {
            Some(day) if within_week(day, day) => WEIGHTS.day,
            _ if is_month(*month, None) => WEIGHTS.month,
            _ => 0.0,
        },
        NamedTime::Month { month, year } if is_month(*month, *year) => WEIGHTS.month,
        NamedTime::Year(year) if first.year() == *year || last.year() == *year => WEIGHTS.year,
        _ => 0.0,
    }
}
