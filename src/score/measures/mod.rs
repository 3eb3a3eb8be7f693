//! One file a measure. The header of each says what it needs, how it is computed, when it does not apply, and how it was
//! validated.

pub(super) mod asked_again;
pub(super) mod checks;
pub(super) mod contradicted;
pub(super) mod dead_ends;
pub(super) mod delivered;
pub(super) mod files;
pub(super) mod next_action;
pub(super) mod orientation;
pub(super) mod rereads;
pub(super) mod waste;
