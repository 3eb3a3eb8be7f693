//! Short ids: what lists show of an id, and every command accepts.

use crate::history::History;

/// The part of a session's id that is shown at least: the minute in which it began.
const SHORTEST: usize = "2026-11-15-1004".len();

/// A beginning that is longer than this gives way to the mark at the end, which a derived handoff has from its run.
const LONGEST: usize = 2 * SHORTEST;
const MARK: usize = 6;

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
        let beginning = end.map_or(id, |end| &id[..end]);
        match id.rsplit_once('-') {
            // Sessions of one minute with the same words differ at the end.
            Some((_, end)) if beginning.len() > LONGEST && self.is_end_of_one(end) => end,
            _ => beginning,
        }
    }

    /// Whether a word ends the id of one session only, and begins none.
    fn is_end_of_one(&self, word: &str) -> bool {
        // A word without digits may come from the goal, which is a part of the id.
        let is_mark = word.len() == MARK && word.bytes().any(|byte| byte.is_ascii_digit());
        let ends = || self.names.iter().filter(|name| name.ends_with(word)).count();
        is_mark && !self.names.iter().any(|name| name.starts_with(word)) && ends() == 1
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
            "2026-11-19-0900-more-words-next-ship-it-0skkt9",
            "2026-11-19-0900-more-words-next-ship-it-6b82qv",
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
                "0skkt9",
                "6b82qv",
            ]
        );
        assert_eq!(all.short("not-among-them-at-all"), "not-among-them-at-all");
        assert_eq!([of_run("01M7G2DHM0C70YV90MA5X6C777"), of_run("é1")], ["A5X6C777", "é1"]);
    }
}
