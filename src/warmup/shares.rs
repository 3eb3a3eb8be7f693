//! How much of a page each part of it gets. The numbers were measured on real sessions.

use super::item::Cut;
#[cfg(test)]
pub(super) use crate::config::MIN_WARMUP_BUDGET as MIN_BUDGET;
use crate::transcript::MARK_BYTES;

// A page is laid out without its mark, so each limit on its size is that much smaller.

/// From this budget up, the first lines describe the last session.
pub(super) const WITH_LAST_SESSION: u64 = 2_000 - MARK_BYTES as u64;
/// From this budget up, the page ends with commands that show more.
pub(super) const WITH_END: u64 = 4_096 - MARK_BYTES as u64;
/// The longest first lines and the last one together, in bytes.
pub(super) const FIRST_AND_LAST_LINES: usize = 390 + 80;
/// Pages that are smaller leave out what is not in the share of a small page.
const LARGE: usize = 2_000 - MARK_BYTES;

/// The room of a part, and what happens if it does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// The most, in percent of the page.
    pub percent: usize,
    /// The most, in bytes.
    pub most: usize,
    /// The smallest page that has this part.
    pub from: usize,
    /// Whether every larger page shows what a smaller one shows.
    pub is_sure: bool,
    /// Whether a sure part also gets the room that nothing else could use.
    pub takes_rest: bool,
    /// Whether the part gets more than its share where room is left.
    pub grows: bool,
    /// Whether items that are not shown count as left out.
    pub is_counted: bool,
    /// Whether it comes after what fills the free room of its section.
    pub follows_filling: bool,
    pub cut: Cut,
    /// The order in which shares are given out, if not all fit.
    pub rank: usize,
}

const NONE: Share = Share {
    percent: 0,
    most: usize::MAX,
    from: 0,
    is_sure: false,
    takes_rest: false,
    grows: false,
    is_counted: true,
    follows_filling: false,
    cut: Cut::Nowhere,
    rank: 0,
};

// The sure parts. At every budget they fit together with the first lines and the share of the news:
// `the_sure_parts_always_fit` adds them up.
pub(super) const GOAL: Share =
    Share { percent: 28, most: 292, is_sure: true, is_counted: false, cut: Cut::Talk, ..NONE };
pub(super) const NEXT: Share = Share { percent: 25, most: 262, is_sure: true, cut: Cut::Words, ..NONE };
pub(super) const RULINGS: Share =
    Share { percent: 25, from: 550, is_sure: true, takes_rest: true, cut: Cut::Sentences, ..NONE };
pub(super) const FAILING: Share =
    Share { percent: 6, from: 1_000 - MARK_BYTES, is_sure: true, cut: Cut::Words, ..NONE };
/// A goal besides the first one: the state and the last session may differ.
pub(super) const OTHER_GOAL: Share = Share { most: 200, from: LARGE, ..GOAL };

pub(super) const LAST_REQUEST: Share = Share { percent: 27, most: 420, cut: Cut::Talk, rank: 1, ..NONE };
/// A small page shows the sentences of the last message as filling, so the message does not count as left out.
pub(super) const LAST_WORDS: Share =
    Share { percent: 20, from: LARGE, is_counted: false, cut: Cut::Talk, rank: 2, ..NONE };
pub(super) const FILES: Share = Share { percent: 6, grows: true, rank: 3, ..NONE };
pub(super) const OPEN_LOOPS: Share = Share { percent: 8, from: LARGE, grows: true, rank: 4, ..NONE };
pub(super) const DEAD_ENDS: Share =
    Share { percent: 5, from: LARGE, grows: true, cut: Cut::Sentences, rank: 5, ..NONE };
pub(super) const EARLIER_REQUESTS: Share =
    Share { percent: 8, from: LARGE, is_counted: false, cut: Cut::Sentences, rank: 6, ..NONE };
pub(super) const CONCLUSIONS: Share =
    Share { percent: 10, from: LARGE, is_counted: false, cut: Cut::Sentences, rank: 7, ..NONE };
pub(super) const NOTES: Share =
    Share { percent: 8, from: LARGE, grows: true, follows_filling: true, cut: Cut::Sentences, rank: 8, ..NONE };
pub(super) const PASSED: Share = Share { percent: 3, from: LARGE, grows: true, is_counted: false, rank: 9, ..NONE };
/// For sections after the lasting ones: they get what is left.
pub(super) const WHAT_IS_LEFT: Share = Share { grows: true, ..NONE };
/// The same for what was said before the last session: no command is named for more of it.
pub(super) const BEFORE: Share = Share { is_counted: false, ..WHAT_IS_LEFT };

/// The share of what changes with the day. Lasting parts never use it, so that news do not move them.
pub(super) const FOR_NEWS: Share = Share { percent: 8, from: 1_500 - MARK_BYTES, ..NONE };

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest first lines: see `lead`.
    fn lead(budget: usize) -> usize {
        if budget < WITH_LAST_SESSION as usize { 120 } else { 390 }
    }

    #[test]
    fn the_sure_parts_always_fit() {
        for budget in MIN_BUDGET as usize - MARK_BYTES..12_000 {
            let room = |share: &Share| {
                if budget < share.from { 0 } else { share.most.min(budget * share.percent / 100) }
            };
            let sure: usize = [&GOAL, &OTHER_GOAL, &NEXT, &RULINGS, &FAILING, &FOR_NEWS].into_iter().map(room).sum();
            assert!(lead(budget) + sure <= budget, "{budget}: {} and {sure}", lead(budget));
        }
    }
}
