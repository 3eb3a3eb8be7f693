//! What a measure is.

use super::pair::Pair;

/// One question about a pair.
pub(crate) struct Measure {
    /// Its name in JSON.
    pub name: &'static str,
    /// What the figure says, for a person.
    pub title: &'static str,
    pub unit: Unit,
    pub groups: Groups,
    /// The figure of one pair; `None` if the measure does not apply to it.
    pub of: fn(&Pair) -> Option<f64>,
}

/// What a figure counts. Figures of a share are averaged; of numbers, the median is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Percent,
    Number,
}

/// Of which sessions a measure is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    /// Of those with a warmup and of those without one, each with a figure.
    Apart,
    /// Of all together: whether a text arrived is asked of every session that should have got one.
    Together,
}
