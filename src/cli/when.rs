//! Times as a person says them, or in UTC.

use chrono::{DateTime, FixedOffset};

/// A time in UTC, to the minute.
pub(super) fn utc(then: &DateTime<FixedOffset>) -> String {
    then.to_utc().format("%Y-%m-%d %H:%M").to_string()
}

/// How long before `now` something was. A clock that was ahead counts as now, and what is older than four weeks has its date.
pub(super) fn ago(now: &DateTime<FixedOffset>, then: &DateTime<FixedOffset>) -> String {
    let minutes = (*now - *then).num_minutes().max(0);
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} h ago", minutes / 60),
        1440..2880 => "1 day ago".to_owned(),
        2880..40320 => format!("{} days ago", minutes / 1440),
        _ => then.with_timezone(now.offset()).format("%Y-%m-%d").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_for_four_weeks() {
        let at = |text: &str| DateTime::parse_from_rfc3339(text).unwrap();
        let now = at("2026-11-15T10:00:00+01:00");
        for (then, said) in [
            ("2026-11-15T10:05:00+01:00", "just now"),
            ("2026-11-15T08:59:01Z", "just now"),
            ("2026-11-15T08:59:00Z", "1 min ago"),
            ("2026-11-15T08:00:00Z", "1 h ago"),
            ("2026-11-14T09:30:00Z", "23 h ago"),
            ("2026-11-14T09:00:00Z", "1 day ago"),
            ("2026-10-19T09:00:00Z", "27 days ago"),
            ("2026-10-17T23:30:00Z", "2026-10-18"),
        ] {
            assert_eq!(ago(&now, &at(then)), said, "{then}");
        }
    }
}
