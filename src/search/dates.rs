//! The times that a question names: "last Tuesday", "in May 2023", "two weeks ago", "2026-11-15".

use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, Days, FixedOffset, Months, NaiveDate, TimeDelta, Weekday};

use super::words;
use crate::base::duration;
use crate::error::{Error, Result};

/// A time that a question names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NamedTime {
    /// A day, or a few. What happened then may be talked about a little later.
    Days(RangeInclusive<NaiveDate>),
    /// A day of any year.
    DayOfYear {
        month: u32,
        day: u32,
    },
    /// A month, of this year if one is given.
    Month {
        month: u32,
        year: Option<i32>,
    },
    Year(i32),
}

impl NamedTime {
    /// The first and the last day. A month or a day without a year is the latest that has begun.
    pub(super) fn days(&self, today: NaiveDate) -> Option<(NaiveDate, NaiveDate)> {
        let latest = |day: &dyn Fn(i32) -> Option<NaiveDate>| {
            [today.year(), today.year() - 1].into_iter().filter_map(day).find(|day| *day <= today)
        };
        match self {
            NamedTime::Days(days) => Some((*days.start(), *days.end())),
            NamedTime::DayOfYear { month, day } => {
                let day = latest(&|year| NaiveDate::from_ymd_opt(year, *month, *day))?;
                Some((day, day))
            }
            NamedTime::Month { month, year } => {
                let of_year = |year: i32| NaiveDate::from_ymd_opt(year, *month, 1);
                let first = year.map_or_else(|| latest(&of_year), of_year)?;
                Some((first, first.checked_add_months(Months::new(1))?.pred_opt()?))
            }
            NamedTime::Year(year) => {
                Some((NaiveDate::from_ymd_opt(*year, 1, 1)?, NaiveDate::from_ymd_opt(*year, 12, 31)?))
            }
        }
    }
}

/// Which end of a day a flag means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Start,
    End,
}

/// Like [`moment`], with an error that says what the flag expects.
pub(crate) fn flag_moment(flag: &str, text: &str, now: &DateTime<FixedOffset>, edge: Edge) -> Result<i64> {
    moment(text, now, edge).ok_or_else(|| {
        Error::usage(format!("`{flag} {text}`: expected a day, a duration or a time"))
            .hint("for example `2026-11-15`, `7d`, `yesterday` or `2026-11-15T10:00:00Z`")
    })
}

/// The time that a flag means, in seconds since 1970: a day, a duration before now, a named time or an exact one.
pub(crate) fn moment(text: &str, now: &DateTime<FixedOffset>, edge: Edge) -> Option<i64> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp());
    }
    if let Some(back) = duration::parse(text).filter(|back| !back.is_zero()) {
        return Some(now.checked_sub_signed(TimeDelta::from_std(back).ok()?)?.timestamp());
    }
    let (times, others) = split_times(text, now.date_naive());
    // "March on Rome" is no time.
    if words::words(&others).iter().any(|word| !word.is_common) {
        return None;
    }
    let today = now.date_naive();
    // Where a text names several days, or may mean one of two, all are kept.
    let days = || times.iter().filter_map(|time| time.days(today));
    let first = days().map(|(first, _)| first).min()?;
    let last = days().map(|(_, last)| last).max()?;
    let day = if edge == Edge::Start { first } else { last.succ_opt()? };
    day.and_hms_opt(0, 0, 0)?.and_local_timezone(*now.offset()).single().map(|at| at.timestamp())
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Mon),
    ("tuesday", Weekday::Tue),
    ("wednesday", Weekday::Wed),
    ("thursday", Weekday::Thu),
    ("friday", Weekday::Fri),
    ("saturday", Weekday::Sat),
    ("sunday", Weekday::Sun),
];
const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// The times that a question names, and the words of it that name none.
pub(super) fn split_times(question: &str, today: NaiveDate) -> (Vec<NamedTime>, String) {
    let lower = question.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .map(|word| word.trim_matches('-'))
        .filter(|word| !word.is_empty())
        .collect();
    let originals: Vec<&str> = question
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .map(|word| word.trim_matches('-'))
        .filter(|word| !word.is_empty())
        .collect();
    let mut found = Vec::new();
    let mut others = String::new();
    let mut at = 0;
    while at < words.len() {
        let is_capital = originals.get(at).is_some_and(|word| word.starts_with(char::is_uppercase));
        let (time, used) = absolute(&words, at, is_capital).or_else(|| relative(&words, at, today)).unzip();
        if time.is_none() {
            others.push_str(words[at]);
            others.push(' ');
        }
        found.extend(time);
        found.extend(week_before(&words, at, today));
        at += used.unwrap_or(1).max(1);
    }
    (found, others)
}

/// A date at this word, and how many words it has. "May" without a capital or a number is a verb.
fn absolute(words: &[&str], at: usize, is_capital: bool) -> Option<(NamedTime, usize)> {
    let word = words[at];
    if let Ok(day) = word.parse::<NaiveDate>() {
        return Some((NamedTime::Days(day..=day), 1));
    }
    if let Some((year, month)) = word.split_once('-').filter(|(year, month)| year.len() == 4 && month.len() == 2)
        && let (Ok(year), Ok(month @ 1..=12)) = (year.parse(), month.parse())
    {
        return Some((NamedTime::Month { month, year: Some(year) }, 1));
    }
    let next = |ahead: usize| words.get(at + ahead).copied().unwrap_or_default();
    if let Some(month) = month(word) {
        if let Some(day) = day_of_month(next(1)) {
            return Some(with_day(day, month, year(next(2)), 2));
        }
        let year = year(next(1));
        let is_name = word != "may" && word != "march" && word.len() > 3 || is_capital || year.is_some();
        return is_name.then(|| (NamedTime::Month { month, year }, 1 + usize::from(year.is_some())));
    }
    if let Some(day) = day_of_month(word) {
        let of = usize::from(next(1) == "of");
        if let Some(month) = month(next(1 + of)) {
            return Some(with_day(day, month, year(next(2 + of)), 2 + of));
        }
    }
    year(word).map(|year| (NamedTime::Year(year), 1))
}

fn with_day(day: u32, month: u32, year: Option<i32>, used: usize) -> (NamedTime, usize) {
    let exact = year.and_then(|year| NaiveDate::from_ymd_opt(year, month, day));
    match exact {
        Some(date) => (NamedTime::Days(date..=date), used + 1),
        None => (NamedTime::DayOfYear { month, day }, used),
    }
}

/// A time that is counted from today.
fn relative(words: &[&str], at: usize, today: NaiveDate) -> Option<(NamedTime, usize)> {
    let next = |ahead: usize| words.get(at + ahead).copied().unwrap_or_default();
    let days_before = |days: u64| today.checked_sub_days(Days::new(days));
    let span =
        |first: Option<NaiveDate>, last: Option<NaiveDate>, used: usize| Some((NamedTime::Days(first?..=last?), used));
    match words[at] {
        "today" => return span(Some(today), Some(today), 1),
        "yesterday" => return span(days_before(1), days_before(1), 1),
        "last" | "past" => {
            let monday = u64::from(today.weekday().num_days_from_monday());
            match next(1) {
                "night" => return span(days_before(1), Some(today), 2),
                "week" => return span(days_before(monday + 7), days_before(monday + 1), 2),
                "month" => return Some((of_month(months_before(today, 1)?), 2)),
                "year" => return Some((NamedTime::Year(today.year() - 1), 2)),
                name => {
                    let back = days_since(weekday(name)?, today);
                    return span(days_before(back), days_before(back), 2);
                }
            }
        }
        "on" => {
            let back = days_since(weekday(next(1))?, today);
            return span(days_before(back), days_before(back), 2);
        }
        "this" => match next(1) {
            "week" => {
                let monday = u64::from(today.weekday().num_days_from_monday());
                return span(days_before(monday), Some(today), 2);
            }
            "month" => return Some((of_month(today), 2)),
            _ => return None,
        },
        _ => {}
    }
    let count = number(words[at]).filter(|_| next(2) == "ago")?;
    // Nobody counts weeks and months exactly.
    match next(1) {
        "day" | "days" => span(days_before(count), days_before(count), 3),
        "week" | "weeks" => span(days_before(count * 7 + 3), days_before((count * 7).saturating_sub(3)), 3),
        "month" | "months" => Some((of_month(months_before(today, u32::try_from(count).ok()?)?), 3)),
        "year" | "years" => Some((NamedTime::Year(today.year() - i32::try_from(count).ok()?), 3)),
        _ => None,
    }
}

/// The other day that "last Tuesday" may mean on a Wednesday: some mean yesterday, some the Tuesday of last week.
fn week_before(words: &[&str], at: usize, today: NaiveDate) -> Option<NamedTime> {
    let day = weekday(words.get(at + 1).copied().filter(|_| words[at] == "last")?)?;
    let back = days_since(day, today);
    let is_of_this_week = back <= u64::from(today.weekday().num_days_from_monday());
    let day = today.checked_sub_days(Days::new(back + 7)).filter(|_| is_of_this_week)?;
    Some(NamedTime::Days(day..=day))
}

fn of_month(day: NaiveDate) -> NamedTime {
    NamedTime::Month { month: day.month(), year: Some(day.year()) }
}

fn months_before(today: NaiveDate, months: u32) -> Option<NaiveDate> {
    today.checked_sub_months(Months::new(months))
}

/// How many days ago the last such weekday was: 1 to 7.
fn days_since(weekday: Weekday, today: NaiveDate) -> u64 {
    let days = 7 + today.weekday().num_days_from_monday() - weekday.num_days_from_monday();
    u64::from(if days > 7 { days - 7 } else { days })
}

fn month(word: &str) -> Option<u32> {
    let is_it = |name: &&str| {
        *name == word || word.len() == 3 && name.starts_with(word) || word == "sept" && *name == "september"
    };
    (1..).zip(MONTHS).find(|(_, name)| is_it(name)).map(|(number, _)| number)
}

fn weekday(word: &str) -> Option<Weekday> {
    WEEKDAYS.iter().find(|(name, _)| *name == word).map(|(_, day)| *day)
}

/// `15`, `15th`.
fn day_of_month(word: &str) -> Option<u32> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    digits.parse().ok().filter(|day| digits.len() <= 2 && (1..=31).contains(day))
}

fn year(word: &str) -> Option<i32> {
    word.parse().ok().filter(|year| word.len() == 4 && (1970..2200).contains(year))
}

fn number(word: &str) -> Option<u64> {
    let named = (1..).zip(NUMBERS).find(|(_, name)| *name == word).map(|(number, _)| number);
    named.or((word == "a" || word == "an").then_some(1)).or_else(|| word.parse().ok().filter(|number| *number < 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_times(question: &str, today: NaiveDate) -> Vec<NamedTime> {
        split_times(question, today).0
    }

    #[test]
    fn times_in_questions_are_known() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let days = |first: &str, last: &str| NamedTime::Days(day(first)..=day(last));
        // A Wednesday.
        let today = day("2026-11-18");
        for (question, expected) in [
            ("what broke on 2026-11-15?", days("2026-11-15", "2026-11-15")),
            ("what did we do on 8 May, 2023", days("2023-05-08", "2023-05-08")),
            ("the 3rd of June 2026 release", days("2026-06-03", "2026-06-03")),
            ("since July 4", NamedTime::DayOfYear { month: 7, day: 4 }),
            ("in January", NamedTime::Month { month: 1, year: None }),
            ("back in May", NamedTime::Month { month: 5, year: None }),
            ("may 2025", NamedTime::Month { month: 5, year: Some(2025) }),
            ("2026-03", NamedTime::Month { month: 3, year: Some(2026) }),
            ("during 2024", NamedTime::Year(2024)),
            ("yesterday's parser fix", days("2026-11-17", "2026-11-17")),
            ("what did I ask on Tuesday", days("2026-11-17", "2026-11-17")),
            ("last Sunday", days("2026-11-15", "2026-11-15")),
            ("last wednesday", days("2026-11-11", "2026-11-11")),
            ("last week", days("2026-11-09", "2026-11-15")),
            ("two weeks ago", days("2026-11-01", "2026-11-07")),
            ("3 days ago", days("2026-11-15", "2026-11-15")),
            ("a month ago", NamedTime::Month { month: 10, year: Some(2026) }),
        ] {
            assert_eq!(named_times(question, today), [expected], "{question}");
        }
    }

    #[test]
    fn a_last_weekday_of_this_week_is_also_that_of_last_week() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let one = |text: &str| NamedTime::Days(day(text)..=day(text));
        let wednesday = day("2026-11-18");
        for (question, expected) in [
            ("what did I ask last Tuesday", ["2026-11-17", "2026-11-10"]),
            ("last monday", ["2026-11-16", "2026-11-09"]),
        ] {
            assert_eq!(named_times(question, wednesday), expected.map(one), "{question}");
        }
        let now = DateTime::parse_from_rfc3339("2026-11-18T12:00:00Z").unwrap();
        let at = |text: &str| Some(DateTime::parse_from_rfc3339(text).unwrap().timestamp());
        assert_eq!(moment("last Tuesday", &now, Edge::Start), at("2026-11-10T00:00:00Z"));
        assert_eq!(moment("last Tuesday", &now, Edge::End), at("2026-11-18T00:00:00Z"));
    }

    #[test]
    fn other_words_and_numbers_are_not_times() {
        let today = NaiveDate::from_ymd_opt(2026, 11, 18).unwrap();
        for question in
            ["it may fail", "march on", "exit code 101", "port 8080", "step 3 of 5", "", "last one", "31 files"]
        {
            assert_eq!(named_times(question, today), [], "{question}");
        }
        for days in ["99999999999999999999 days ago", "999 years ago", "last", "on", "-", "2026-13-45"] {
            named_times(days, NaiveDate::MIN);
        }
    }
}
