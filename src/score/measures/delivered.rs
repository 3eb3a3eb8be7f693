//! Delivered: the share of starts whose text arrived whole.
//!
//! Needs: a receipt. Computed: 100 if the transcript has the mark of the text, else 0. Does not apply: to sessions that got no
//! text, that are not over, or whose client does not write down what hooks add. Validated: `tests/it/receipts.rs` plays
//! clients that keep, cut and drop the text.

use crate::checkpoint::ReceiptOutcome;
use crate::score::{Groups, Measure, Unit};

pub(in crate::score) const MEASURE: Measure = Measure {
    name: "delivered",
    title: "starts whose text arrived whole",
    unit: Unit::Percent,
    groups: Groups::Together,
    of: |pair| match pair.receipt? {
        ReceiptOutcome::Whole => Some(100.0),
        ReceiptOutcome::Cut | ReceiptOutcome::Missing => Some(0.0),
        ReceiptOutcome::Open | ReceiptOutcome::Unknown => None,
    },
};
