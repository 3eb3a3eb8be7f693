//! The room on a page, in bytes and tokens.

use super::shares::Share;
use crate::transcript::MARK_BYTES;

/// Agents cut a context that is longer.
pub(super) const MOST_TOKENS: usize = 2_400;

/// The approximate size in tokens: four ASCII characters are one token, any other character is one.
pub(crate) fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + others
}

/// A size, or the rest of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    pub bytes: usize,
    pub tokens: usize,
}

impl Room {
    /// The room of a context that an agent takes in at once, without its mark.
    pub(super) fn for_agent(budget: u64) -> Room {
        Room { bytes: usize::try_from(budget).unwrap_or(usize::MAX), tokens: MOST_TOKENS - MARK_BYTES.div_ceil(4) }
    }

    /// Room that only bytes limit: no text has more tokens than bytes.
    pub(super) fn of_bytes(budget: usize) -> Room {
        Room { bytes: budget, tokens: budget }
    }

    pub(super) fn taken_by(text: &str) -> Room {
        Room { bytes: text.len(), tokens: tokens(text) }
    }

    pub(super) fn takes(self, size: Room) -> bool {
        size.bytes <= self.bytes && size.tokens <= self.tokens
    }

    pub(super) fn without(self, size: Room) -> Room {
        Room { bytes: self.bytes.saturating_sub(size.bytes), tokens: self.tokens.saturating_sub(size.tokens) }
    }

    pub(super) fn and(self, size: Room) -> Room {
        Room { bytes: self.bytes + size.bytes, tokens: self.tokens + size.tokens }
    }

    pub(super) fn smaller(self, other: Room) -> Room {
        Room { bytes: self.bytes.min(other.bytes), tokens: self.tokens.min(other.tokens) }
    }

    pub(super) fn larger(self, other: Room) -> Room {
        Room { bytes: self.bytes.max(other.bytes), tokens: self.tokens.max(other.tokens) }
    }

    pub(super) fn percent(self, percent: usize) -> Room {
        let part = |whole: usize| whole.saturating_mul(percent) / 100;
        Room { bytes: part(self.bytes), tokens: part(self.tokens) }
    }

    /// What this share is of the whole page; nothing if the page is too small for it.
    pub(super) fn share(self, share: &Share) -> Room {
        if self.bytes < share.from {
            return Room { bytes: 0, tokens: 0 };
        }
        let part = self.percent(share.percent);
        Room { bytes: part.bytes.min(share.most), ..part }
    }
}

/// How many bytes of a text fit.
pub(super) fn longest(text: &str, room: Room) -> usize {
    let (mut ascii, mut others) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        if c.is_ascii() {
            ascii += 1;
        } else {
            others += 1;
        }
        // One more token for the ellipsis.
        if at + c.len_utf8() > room.bytes || ascii.div_ceil(4) + others + 1 > room.tokens {
            return at;
        }
    }
    text.len()
}
