//! What a measure is.

use super::pair::Pair;

/// One question about a pair.
pub(crate) struct Measure {
    /// Its name in JSON.
    pub name: &'static str,
    /// What the figure says, for a person.
    pub title: &'static str,
    pub unit: Unit,
    /// The figure of one pair; `None` if the measure does not apply to it.
    pub of: fn(&Pair) -> Option<f64>,
}

/// What a figure counts. Figures of a share are averaged; of numbers, the median is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Percent,
    Number,
}
