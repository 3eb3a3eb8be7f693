//! A calendar month, the unit of an archive.

use chrono::{Datelike, NaiveDate};

/// A calendar month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Month {
    first: NaiveDate,
}

impl Month {
    /// `YYYY-MM`
    pub(crate) fn parse(text: &str) -> Option<Month> {
        let is_shaped = text.len() == 7 && text.as_bytes()[4] == b'-';
        let first: NaiveDate = is_shaped.then(|| format!("{text}-01").parse().ok())??;
        (first.format("%Y-%m").to_string() == text).then_some(Month { first })
    }

    pub(crate) fn of(date: NaiveDate) -> Month {
        Month { first: date.with_day(1).unwrap_or(date) }
    }

    /// The first day after the month.
    pub(crate) fn end(self) -> NaiveDate {
        self.first + chrono::Months::new(1)
    }

    pub(crate) fn last_day(self) -> NaiveDate {
        self.end().pred_opt().unwrap_or(self.first)
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.first.format("%Y-%m"))
    }
}
