//! The vector of a question, and of the passages that have none yet, newest first and within a time limit.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::program::{Program, Vector};
use super::table::{Table, Waiting};
use crate::project::Project;
use crate::search::store::Index;

/// How many texts the first call after that of the question gets. A program that loads a model needs a second or two for that,
/// and some milliseconds for each text.
const FIRST: usize = 32;
/// How many texts one call gets at most.
const MOST: usize = 512;
/// The next call gets twice as many texts if the last one took less than this: starting the program costs the most then.
const SHORT: Duration = Duration::from_secs(4);

/// What an update of the vectors came to.
#[derive(Debug, Default)]
pub(in crate::search) struct Embedded {
    /// The vector of the question, if one was asked for and there is one.
    pub question: Option<Vector>,
    /// How many passages have no vector.
    pub missing: usize,
    /// Why the program gave no vectors.
    pub failure: Option<String>,
}

/// Asks the program for the vector of the question and of new passages. No call begins after `budget`, and none takes longer
/// than `limit`.
pub(in crate::search) fn embed(
    index: &mut Index,
    project: &Project,
    argv: &[String],
    question: Option<&str>,
    budget: Duration,
    limit: Duration,
) -> Embedded {
    let program = Program { project, argv, limit };
    let mut embedded = Embedded::default();
    if let Err(cause) = update(&mut embedded, index, &program, question, budget) {
        tracing::debug!(%cause, "vectors");
        embedded.failure.get_or_insert_with(|| "the index cannot be written now".to_owned());
    }
    embedded
}

fn update(
    embedded: &mut Embedded,
    index: &mut Index,
    program: &Program<'_>,
    question: Option<&str>,
    budget: Duration,
) -> rusqlite::Result<()> {
    let end = Instant::now() + budget;
    let mut table = Table::open(index, program.argv)?;
    embedded.missing = table.missing()?;
    // The question goes alone: a passage that the program cannot read must not cost its vector.
    if let Some(question) = question {
        match program.vectors(&[question]) {
            Ok(vectors) => embedded.question = vectors.into_iter().next(),
            Err(failure) => {
                embedded.failure = Some(failure);
                return Ok(());
            }
        }
        table.agree_on(embedded.question.as_ref().map_or(0, Vec::len))?;
    }
    let mut size = FIRST;
    while Instant::now() < end {
        let waiting = table.waiting(size)?;
        if waiting.is_empty() {
            embedded.missing = 0;
            return table.prune();
        }
        let start = Instant::now();
        match vectors_of(program, &waiting) {
            Ok(vectors) => {
                table.agree_on(vectors.values().next().map_or(0, Vec::len))?;
                table.store(&vectors, &waiting)?;
            }
            Err(failure) => embedded.failure = Some(failure),
        }
        embedded.missing = table.missing()?;
        if embedded.failure.is_some() {
            return Ok(());
        }
        if start.elapsed() < SHORT {
            size = (size * 2).min(MOST);
        }
    }
    Ok(())
}

/// One call of the program: the vectors of the texts by their digests.
fn vectors_of<'w>(program: &Program<'_>, waiting: &'w [Waiting]) -> Result<HashMap<&'w str, Vector>, String> {
    let mut texts: Vec<(&str, &str)> = waiting.iter().map(|one| (one.digest.as_str(), one.text.as_str())).collect();
    texts.sort_unstable();
    texts.dedup();
    let vectors = program.vectors(&texts.iter().map(|(_, text)| *text).collect::<Vec<_>>())?;
    Ok(texts.into_iter().map(|(digest, _)| digest).zip(vectors).collect())
}
