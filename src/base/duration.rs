//! Durations as people write and read them: `30s`, `1m 30s`, `250ms`.

use std::time::Duration;

const UNITS: [(&str, &str, u64); 8] = [
    ("ms", "millisecond", 1),
    ("s", "second", 1_000),
    ("m", "minute", 60_000),
    ("h", "hour", 3_600_000),
    ("d", "day", 86_400_000),
    ("w", "week", 604_800_000),
    // Thirty days, because the start is unknown.
    ("mo", "month", 2_592_000_000),
    ("y", "year", 31_536_000_000),
];

/// What `parse` accepts, for messages.
pub(crate) const EXPECTED: &str = "a duration such as `30s`, `10m`, `1h 30m` or `250ms`";

/// Parses numbers with units, in any order. `0` needs no unit.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: u64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = &rest[..letters];
        let is_it =
            |(short, long, _): &&(&str, &str, u64)| unit == *short || unit.strip_suffix('s').unwrap_or(unit) == *long;
        let (.., millis) = UNITS.iter().find(is_it)?;
        total = total.checked_add(count.checked_mul(*millis)?)?;
        rest = rest[letters..].trim_start();
    }
    (!text.is_empty()).then(|| Duration::from_millis(total))
}

/// The duration in at most two units.
pub(crate) fn show(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let seconds = millis / 1_000;
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{seconds}.{} s", millis % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(parse("10m"), Some(Duration::from_secs(600)));
        assert_eq!(parse("1h 30m"), Some(Duration::from_secs(5_400)));
        assert_eq!(parse("10 minutes"), Some(Duration::from_secs(600)));
        assert_eq!(parse("1 month 2 days"), Some(Duration::from_secs(32 * 86_400)));
        assert_eq!(parse("1h30m"), Some(Duration::from_secs(5_400)));
        assert_eq!(parse("250 ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse("0"), Some(Duration::ZERO));
        for wrong in ["", " ", "10", "m", "-1s", "1.5h", "99999999999999999999s", "s10"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn durations_are_shown_in_at_most_two_units() {
        assert_eq!(show(Duration::from_millis(7)), "7 ms");
        assert_eq!(show(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(show(Duration::from_secs(61)), "1 min 1 s");
        assert_eq!(show(Duration::from_secs(7_260)), "2 h 1 min");
    }
}
