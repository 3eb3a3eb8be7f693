//! The sessions that touched a file or a directory, with what was asked, decided and run around it.

use super::answer::{Hit, Near, hit_of};
use super::passage::PassageKind;
use super::query::Query;
use super::store::{Index, StoredPassage};
use super::traced_file::TracedFile;
use crate::base::text;

/// How many passages around an edit are shown, and how long each may be.
const SHOWN: usize = 4;
const MAX_SHOWN: usize = 300;
/// How many passages before and after an edit belong to it.
const AROUND: i64 = 12;

/// The sessions that touched a file, newest first. The filters by agent, branch and time count.
pub(super) fn sessions(index: &Index, file: &TracedFile, query: &Query) -> rusqlite::Result<Vec<Hit>> {
    let _reading = index.reading()?;
    let mut touched: Vec<(i64, Option<i64>)> = Vec::new();
    for name in &file.names {
        for (document, at) in index.touched(name)? {
            match touched.iter_mut().find(|(known, _)| *known == document) {
                Some((_, latest)) => *latest = at.max(*latest),
                None => touched.push((document, at)),
            }
        }
    }
    touched.sort_by_key(|(document, at)| std::cmp::Reverse((*at, *document)));
    let mut hits = Vec::new();
    touched.retain(|(_, at)| {
        query.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && query.until.is_none_or(|until| at.is_some_and(|at| at < until))
    });
    for (document, at) in touched {
        if hits.len() == query.limit {
            break;
        }
        if index.document_facts(document)?.is_some_and(|document| query.wants_document(&document)) {
            hits.extend(hit(index, file, document, at)?);
        }
    }
    Ok(hits)
}

fn hit(index: &Index, file: &TracedFile, document: i64, at: Option<i64>) -> rusqlite::Result<Option<Hit>> {
    let Some(stored) = index.document(document)? else { return Ok(None) };
    let passages = index.passages_between(document, 0, i64::MAX)?;
    let names: Vec<String> = file.names.iter().flat_map(|name| [format!(" {name} "), format!(" {name}/")]).collect();
    let is_naming = |passage: &&StoredPassage| {
        passage.kind == PassageKind::Command && names.iter().any(|name| format!(" {} ", passage.text).contains(name))
    };
    let is_edit = |passage: &&StoredPassage| passage.text.starts_with("edited ") && is_naming(passage);
    // A long list of edits is in several passages, and only the first of them says what it is.
    let newest = || passages.iter().rev();
    let edit = newest().find(is_edit).or_else(|| newest().find(is_naming)).or(passages.last());
    let Some(edit) = edit else { return Ok(None) };
    let before = passages.iter().rev().filter(|passage| passage.number < edit.number);
    let asked = before.clone().find(|passage| passage.kind == PassageKind::Request);
    let around = |kinds: &[PassageKind]| -> Vec<Near> {
        let near = passages.iter().filter(|passage| (passage.number - edit.number).abs() <= AROUND);
        let wanted = near.filter(|passage| kinds.contains(&passage.kind) && passage.number != edit.number);
        wanted.map(|passage| Near { kind: passage.kind, text: text::kept_line(&passage.text, MAX_SHOWN) }).collect()
    };
    let mut near = around(&[PassageKind::Ruling]);
    near.extend(around(&[PassageKind::Error]).into_iter().take(1));
    near.extend(around(&[PassageKind::Command]).into_iter().take(1));
    near.extend(around(&[PassageKind::Answer]).pop());
    near.truncate(SHOWN);
    let changed_since = file.has_changed(at, stored.facts.started);
    let hit = hit_of(index, &stored, asked.unwrap_or(edit).clone(), at)?;
    Ok(Some(Hit { near, changed_since, ..hit }))
}
