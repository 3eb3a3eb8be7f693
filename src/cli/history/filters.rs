//! The flags that select handoffs, shared by `list`, `select` and `export`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, FixedOffset, NaiveDate, TimeDelta};
use clap::Args;

use super::super::Context;
use super::HistoryPlace;
use crate::base::{clock, fs};
use crate::error::{Error, Result};
use crate::history::{Catalog, History, SessionEntry, Wanted};
use crate::search;

#[derive(Args, Default)]
pub(super) struct Filters {
    /// Only handoffs of this agent
    #[arg(long, value_name = "NAME", visible_alias = "agent")]
    tool: Option<String>,
    /// Only handoffs of this project: a path, or the name of its directory
    #[arg(long, value_name = "PATH")]
    project: Option<String>,
    /// Only handoffs with this text in the goal, next actions, tags or body
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    query: Option<String>,
    /// Only handoffs since this time: a duration such as `7d`, a date or a time
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    since: Option<String>,
    /// Only handoffs until this time; a date includes its whole day
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    until: Option<String>,
    /// Only handoffs with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only handoffs of this branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only handoffs with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// At most this many, the newest ones; 0 means all
    #[arg(long, value_name = "COUNT")]
    pub limit: Option<usize>,
}

impl Filters {
    pub(super) fn is_any_given(&self) -> bool {
        self.texts().into_iter().any(|(_, text)| given(text).is_some()) || self.limit.is_some()
    }

    /// A flag whose value is blank, perhaps because a variable of a script is not set.
    pub(super) fn blank(&self) -> Option<&'static str> {
        let is_blank = |(_, text): &(&str, &Option<String>)| text.is_some() && given(text).is_none();
        self.texts().into_iter().find(is_blank).map(|(flag, _)| flag)
    }

    fn texts(&self) -> [(&'static str, &Option<String>); 8] {
        [
            ("--tool", &self.tool),
            ("--project", &self.project),
            ("--query", &self.query),
            ("--since", &self.since),
            ("--until", &self.until),
            ("--status", &self.status),
            ("--branch", &self.branch),
            ("--tag", &self.tag),
        ]
    }

    /// The matching handoffs of a history, newest first.
    pub(super) fn of(
        &self,
        context: &Context<'_>,
        place: &HistoryPlace,
        id: Option<&str>,
    ) -> Result<Vec<SessionEntry>> {
        self.parse(&context.cwd)?.of(context, place, id)
    }

    /// How many handoffs are wanted at most.
    pub(super) fn max(&self) -> usize {
        self.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX)
    }

    /// The filters with their values understood. Fails if a flag is wrong, before any history is read.
    pub(super) fn parse(&self, cwd: &Path) -> Result<ParsedFilters<'_>> {
        let now = clock::now();
        let since = given(&self.since).map(|text| moment("--since", text, &now, Edge::Start)).transpose()?;
        let until = given(&self.until).map(|text| moment("--until", text, &now, Edge::End)).transpose()?;
        if let (Some(since), Some(until)) = (since, until)
            && since > until
        {
            return Err(Error::usage("`--since` is later than `--until`"));
        }
        let project = given(&self.project).map(|text| {
            let path = cwd.join(text);
            (text, fs::tidy(&path).unwrap_or(path))
        });
        Ok(ParsedFilters {
            tool: given(&self.tool),
            project,
            status: given(&self.status),
            branch: given(&self.branch),
            tag: given(&self.tag),
            since,
            until,
            query: given(&self.query),
            max: self.max(),
        })
    }
}

/// The value of a flag. A blank one counts as not given, as in session-handoff.
fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

/// The filters with their values understood.
pub(super) struct ParsedFilters<'a> {
    tool: Option<&'a str>,
    project: Option<(&'a str, PathBuf)>,
    status: Option<&'a str>,
    branch: Option<&'a str>,
    tag: Option<&'a str>,
    since: Option<DateTime<FixedOffset>>,
    until: Option<DateTime<FixedOffset>>,
    query: Option<&'a str>,
    max: usize,
}

impl ParsedFilters<'_> {
    /// The matching handoffs of a history, newest first. `id` is a prefix of the session id.
    /// Warns about what is not listed because it is a link or a special file.
    pub(super) fn of(
        &self,
        context: &Context<'_>,
        place: &HistoryPlace,
        id: Option<&str>,
    ) -> Result<Vec<SessionEntry>> {
        let Catalog { entries, refused, damaged: _ } = self.ask(place, id, History::newest)?;
        for error in &refused {
            context.ui.warn(&error.one_line());
        }
        Ok(entries)
    }

    /// The matching handoffs, and every archive that could not be looked at.
    pub(super) fn every(&self, place: &HistoryPlace) -> Result<Catalog> {
        self.ask(place, None, History::matching)
    }

    fn ask(
        &self,
        place: &HistoryPlace,
        id: Option<&str>,
        look: impl Fn(&History, &Wanted<'_>) -> Result<Catalog>,
    ) -> Result<Catalog> {
        let history = &place.history;
        let voucher = history.voucher();
        let has_status = |entry: &SessionEntry| {
            self.status.is_none_or(|wanted| alike(wanted, &history.status_of_entry(entry, &voucher).now))
        };
        let has_id = |entry: &SessionEntry| id.is_none_or(|id| entry.get("session_id").starts_with(id));
        let wanted = Wanted {
            limit: self.max,
            matches: &|entry| has_id(entry) && self.matches(entry) && has_status(entry),
            text: self.query,
            may_have_text: &|| search::archives_with(&place.project_of_index()?, self.query?),
        };
        look(history, &wanted)
    }

    fn matches(&self, entry: &SessionEntry) -> bool {
        let same = |wanted: Option<&str>, found: &str| wanted.is_none_or(|wanted| alike(wanted, found));
        let has_tag = |tag: &str| entry.get("search_tags").split(',').any(|found| alike(tag, found));
        same(self.tool, entry.get("agent"))
            && self.branch.is_none_or(|branch| branch == entry.get("current_branch"))
            && self.tag.is_none_or(has_tag)
            && self.is_of_project(entry)
            && self.is_in_time(entry)
    }

    /// Compares the whole path, or only its last part, which is the same on another machine. An imported handoff has the
    /// path of another machine, so the last part decides.
    fn is_of_project(&self, entry: &SessionEntry) -> bool {
        let Some((text, path)) = &self.project else { return true };
        let root = Path::new(entry.get("project_root"));
        let has_name = |name: Option<&OsStr>| name.is_some() && root.file_name() == name;
        root == path
            || !text.contains('/') && has_name(Some(OsStr::new(text)))
            || !entry.origin().is_empty() && has_name(path.file_name())
    }

    fn is_in_time(&self, entry: &SessionEntry) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        let is_in = |time: DateTime<FixedOffset>| {
            self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time <= until)
        };
        entry.time().is_some_and(is_in)
    }
}

fn alike(wanted: &str, found: &str) -> bool {
    wanted.to_lowercase() == found.trim().to_lowercase()
}

/// Which end of a day a date means.
#[derive(Clone, Copy)]
enum Edge {
    Start,
    End,
}

/// The time that a flag means.
fn moment(flag: &str, text: &str, now: &DateTime<FixedOffset>, edge: Edge) -> Result<DateTime<FixedOffset>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time);
    }
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        let time = match edge {
            Edge::Start => date.and_hms_opt(0, 0, 0),
            Edge::End => date.and_hms_milli_opt(23, 59, 59, 999),
        };
        let local = time.and_then(|time| time.and_local_timezone(*now.offset()).single());
        return local.ok_or_else(|| Error::usage(format!("`{flag} {text}`: there is no such time")));
    }
    let expected = || {
        Error::usage(format!("`{flag} {text}`: expected a duration, a date or a time"))
            .hint("for example `90m`, `1.5h`, `7d`, `2026-11-15` or `2026-11-15T10:00:00Z`")
    };
    let back = duration(text).ok_or_else(expected)?;
    if back.is_zero() {
        return Err(Error::usage(format!("{flag} must be > 0")));
    }
    TimeDelta::from_std(back).ok().and_then(|back| now.checked_sub_signed(back)).ok_or_else(expected)
}

/// A duration in Go's syntax, and with days and weeks.
pub(in super::super) fn duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 10] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("μs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3_600.0),
        ("d", 86_400.0),
        ("w", 604_800.0),
    ];
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let count: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == &rest[..letters])?;
        seconds += count * unit;
        rest = rest[letters..].trim_start();
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them_and_in_days() {
        let millis = |text: &str| duration(text).map(|duration| duration.as_millis());
        assert_eq!(millis("300ms"), Some(300));
        assert_eq!(millis("1.5h"), Some(5_400_000));
        assert_eq!(millis("7h30m"), Some(27_000_000));
        assert_eq!(millis("7d"), Some(604_800_000));
        assert_eq!(millis("1w 1d"), Some(691_200_000));
        for wrong in ["", "d", "7", "7x", "-1h", "1..5h", ".", "1e9h", "99999999999999999999999999999w"] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_date_is_a_day_from_its_start_to_its_end() {
        let now = DateTime::parse_from_rfc3339("2026-11-15T10:04:05+02:00").unwrap();
        let at = |text: &str, edge: Edge| moment("--since", text, &now, edge).unwrap().to_rfc3339();
        assert_eq!(at("2026-11-14", Edge::Start), "2026-11-14T00:00:00+02:00");
        assert_eq!(at("2026-11-14", Edge::End), "2026-11-14T23:59:59.999+02:00");
        assert_eq!(at("1d", Edge::Start), "2026-11-14T10:04:05+02:00");
        for wrong in ["0", "0s", "yesterday", "2026-13-01", "999999999w"] {
            assert!(moment("--since", wrong, &now, Edge::Start).is_err(), "{wrong}");
        }
    }
}
