//! The current time, which tests can pin.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, FixedOffset, Local};

use super::env;

/// From the second day of the year 1 until 1970, and from 1970 until the last day of the year 9999.
const SINCE_YEAR_1: Duration = Duration::from_secs(62_135_510_400);
const UNTIL_YEAR_9999: Duration = Duration::from_secs(253_402_214_400);

/// The current time with the local offset, so that one value has both the instant and the local date.
pub(crate) fn now() -> DateTime<FixedOffset> {
    let pinned = env::get_text(env::TEST_NOW);
    pinned.and_then(|text| DateTime::parse_from_rfc3339(&text).ok()).unwrap_or_else(|| Local::now().fixed_offset())
}

/// The time of a file, with the local offset. Some file systems hold times that no calendar has: those count as the first or
/// the last year that can be written.
pub(crate) fn of_file(time: SystemTime) -> DateTime<FixedOffset> {
    let (first, last) = (SystemTime::UNIX_EPOCH - SINCE_YEAR_1, SystemTime::UNIX_EPOCH + UNTIL_YEAR_9999);
    DateTime::<Local>::from(time.clamp(first, last)).fixed_offset()
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

    #[test]
    fn a_time_of_a_file_that_no_calendar_has_is_cut() {
        let far = Duration::from_secs(1 << 60);
        for (time, years) in [(SystemTime::UNIX_EPOCH - far, 0..=1), (SystemTime::UNIX_EPOCH + far, 9999..=10_000)] {
            let known = of_file(time);
            assert!(
                years.contains(&chrono::Datelike::year(&known)) && parse_stamp(&stamp(&known)).is_some(),
                "{known}"
            );
        }
        let plain = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
        assert_eq!(SystemTime::from(of_file(plain)), plain);
    }
}
