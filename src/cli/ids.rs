//! Short ids: what lists show of an id, and every command accepts.

use crate::history::History;

/// The part of a session's id that is shown at least: the minute in which it began.
const SHORTEST: usize = "2026-11-15-1004".len();

pub(super) use crate::base::ids::short_run_id as of_run;

/// The ids of all sessions of a history, to shorten some of them.
pub(super) struct SessionIds {
    /// Sorted.
    names: Vec<String>,
}

impl SessionIds {
    pub(super) fn of(history: &History) -> SessionIds {
        SessionIds { names: history.archive_stems() }
    }

    /// The shortest beginning of an id that ends with a word and fits no other session.
    pub(super) fn short<'a>(&self, id: &'a str) -> &'a str {
        // A file name has no letters outside ASCII: it is compared with other file names, as far as it is the id.
        let stem = History::archive_stem(id);
        let Ok(at) = self.names.binary_search(&stem) else { return id };
        let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| self.names.get(at));
        let shared = neighbours.map(|other| alike(&stem, other)).max().unwrap_or(0);
        let same = alike(&stem, id);
        let is_enough = |end: &usize| *end >= SHORTEST && *end > shared && *end <= same;
        let end = id.match_indices('-').map(|(at, _)| at).find(is_enough);
        end.map_or(id, |end| &id[..end])
    }
}

/// How many bytes two texts have in common at their beginning.
fn alike(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_id_fits_one_session_only() {
        let ids = [
            "20261115-100400",
            "2026-11-15-1004-parse-dates-in-logs",
            "2026-11-15-1004-parse-spans",
            "2026-11-15-1800-ship",
            "2026-11-15-1800-ship-it",
            "2026-11-16-0900-tag-it-now",
            "2026-11-17-0900-日本語のメッセージ",
            "2026-11-18-0900-日本語のメッセージ",
            "2026-11-18-0900-中文消息",
        ];
        let mut names: Vec<String> = ids.map(History::archive_stem).to_vec();
        names.sort();
        let all = SessionIds { names };
        assert_eq!(
            ids.map(|id| all.short(id)),
            [
                "20261115-100400",
                "2026-11-15-1004-parse-dates",
                "2026-11-15-1004-parse-spans",
                "2026-11-15-1800-ship",
                "2026-11-15-1800-ship-it",
                "2026-11-16-0900",
                "2026-11-17-0900",
                "2026-11-18-0900-日本語のメッセージ",
                "2026-11-18-0900-中文消息",
            ]
        );
        assert_eq!(all.short("not-among-them-at-all"), "not-among-them-at-all");
        assert_eq!([of_run("01M7G2DHM0C70YV90MA5X6C777"), of_run("é1")], ["A5X6C777", "é1"]);
    }
}
