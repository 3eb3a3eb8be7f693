//! The current time, which tests can pin.

use std::time::SystemTime;

use chrono::{DateTime, FixedOffset, Local};

use super::env;

/// The current time with the local offset, so that one value has both the instant and the local date.
pub(crate) fn now() -> DateTime<FixedOffset> {
    let pinned = env::get_text(env::TEST_NOW);
    pinned.and_then(|text| DateTime::parse_from_rfc3339(&text).ok()).unwrap_or_else(|| Local::now().fixed_offset())
}

/// The time of a file, with the local offset.
pub(crate) fn of_file(time: SystemTime) -> DateTime<FixedOffset> {
    DateTime::<Local>::from(time).fixed_offset()
}

/// The form in which times are stored. It keeps the instant and the local date.
pub(crate) fn stamp(time: &DateTime<FixedOffset>) -> String {
    time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

pub(crate) fn parse_stamp(text: &str) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_keeps_the_instant_and_the_local_date() {
        let time = DateTime::parse_from_rfc3339("2026-11-15T23:30:00.250+14:00").unwrap();
        let back = parse_stamp(&stamp(&time)).unwrap();
        assert_eq!(back, time);
        assert_eq!(back.date_naive().to_string(), "2026-11-15");
    }
}
