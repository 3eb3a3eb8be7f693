//! The tools, one file each. The registry is `TOOLS` in the front door above.

pub(super) mod capture;
pub(super) mod handover;
pub(super) mod search;
pub(super) mod show;
pub(super) mod warmup;
