//! The passages that have words of a question, found from the rarest words first.
//!
//! A common word is in a large part of all passages, and reading where it is would take longer the more there are. So each word
//! may be looked up in so many passages, and all words together in so many more. What is left out are passages that have only
//! common words of the question, and of these the older ones.

use std::collections::HashMap;

use super::store::{Index, Order, Totals};

/// How many passages of each word are always looked up: enough for any word that tells sessions apart.
const FIRST_LOOK: usize = 1_000;
/// How many passages of one word are looked up at most.
const LONG_LOOK: usize = 8_000;
/// How many more are looked up for all words together: about ten milliseconds.
const BUDGET: usize = 16_000;
/// How many passages are read and scored: about ten milliseconds.
pub(super) const MOST: usize = 1_500;
/// How many letters of a word that the index lacks are looked for at the beginning of others, and how much those count: half
/// of a stem is often another word.
const PREFIX: usize = 5;
const PREFIX_WEIGHT: f64 = 0.6;
/// How many words may stand for one that the index lacks.
const MOST_PREFIXED: usize = 8;

/// A word of the question as the index knows it.
#[derive(Clone, Debug)]
pub(super) struct Term {
    /// The words that stand for it: itself, or those that begin like it.
    pub forms: Vec<String>,
    /// How much it counts: less if other words stand for it.
    pub weight: f64,
    /// Whether the index has the word itself.
    pub is_known: bool,
    /// How rare it is.
    pub idf: f64,
}

/// The words of a question and the passages that have them.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    pub terms: Vec<Term>,
    /// The ids of the passages, best first by the words that they have.
    pub passages: Vec<i64>,
}

struct Lookup {
    forms: Vec<String>,
    weight: f64,
    is_known: bool,
    passages: Vec<i64>,
    is_whole: bool,
}

impl Lookup {
    /// In how many passages the word is, by how dense it is among those that were looked up.
    fn frequency(&self, totals: Totals) -> f64 {
        let found = self.passages.len() as f64;
        match totals.order.span(&self.passages) {
            span if span > 0 && !self.is_whole => (found / span as f64 * totals.passages as f64).max(found),
            _ => found,
        }
    }
}

/// Finds the candidates for these words, at most so many.
pub(super) fn find(index: &Index, words: &[String], totals: Totals, most: usize) -> rusqlite::Result<Candidates> {
    let mut lookups = Vec::new();
    for word in words {
        lookups.push(look_up(index, word, totals.order)?);
    }
    let mut open: Vec<usize> = (0..lookups.len()).filter(|at| !lookups[*at].is_whole).collect();
    open.sort_by(|a, b| lookups[*a].frequency(totals).total_cmp(&lookups[*b].frequency(totals)));
    let mut left = BUDGET;
    for at in open {
        if left < LONG_LOOK {
            break;
        }
        let more = passages_of(index, &lookups[at].forms, LONG_LOOK, totals.order)?;
        left -= more.len().min(left);
        lookups[at].is_whole = more.len() < LONG_LOOK;
        lookups[at].passages = more;
    }
    let mut scores: HashMap<i64, f64> = HashMap::new();
    let mut terms = Vec::new();
    for lookup in lookups {
        let idf = idf(totals.passages as f64, lookup.frequency(totals));
        for passage in &lookup.passages {
            *scores.entry(*passage).or_default() += idf * lookup.weight;
        }
        terms.push(Term { forms: lookup.forms, weight: lookup.weight, is_known: lookup.is_known, idf });
    }
    let newness = |id: i64| totals.order.newness(id);
    let mut passages: Vec<(f64, i64)> = scores.into_iter().map(|(passage, score)| (score, passage)).collect();
    passages.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| newness(b.1).cmp(&newness(a.1))));
    passages.truncate(most);
    Ok(Candidates { terms, passages: passages.into_iter().map(|(_, passage)| passage).collect() })
}

fn look_up(index: &Index, word: &str, order: Order) -> rusqlite::Result<Lookup> {
    let own = vec![word.to_owned()];
    let passages = passages_of(index, &own, FIRST_LOOK, order)?;
    if !passages.is_empty() {
        let is_whole = passages.len() < FIRST_LOOK;
        return Ok(Lookup { forms: own, weight: 1.0, is_known: true, passages, is_whole });
    }
    let prefix: String = word.chars().take(PREFIX).collect();
    let is_long = prefix.chars().count() == PREFIX || !word.is_ascii();
    let forms = if is_long { index.terms_beginning(&prefix, MOST_PREFIXED)? } else { Vec::new() };
    let passages = passages_of(index, &forms, FIRST_LOOK, order)?;
    let is_whole = passages.len() < FIRST_LOOK;
    Ok(Lookup { forms, weight: PREFIX_WEIGHT, is_known: false, passages, is_whole })
}

/// The passages that have one of these words, newest first.
fn passages_of(index: &Index, forms: &[String], most: usize, order: Order) -> rusqlite::Result<Vec<i64>> {
    let mut found = Vec::new();
    for form in forms {
        found.extend(index.passages_with(form, most, order)?);
    }
    if forms.len() > 1 {
        found.sort_unstable_by_key(|id| std::cmp::Reverse(order.newness(*id)));
        found.dedup();
        found.truncate(most);
    }
    Ok(found)
}

/// How much it says about a passage that it has a word, by how many of all have it.
pub(super) fn idf(all: f64, having: f64) -> f64 {
    (1.0 + (all - having + 0.5).max(0.0) / (having + 0.5)).ln()
}
