//! Mechanisms that know nothing about handovers.

pub(crate) mod clock;
pub(crate) mod duration;
pub(crate) mod env;
pub(crate) mod fault;
pub(crate) mod fs;
pub(crate) mod ids;
pub(crate) mod lock;
pub(crate) mod parallel;
pub(crate) mod process;
mod process_group;
pub(crate) mod process_identity;
#[cfg(test)]
pub(crate) mod scratch;
pub(crate) mod signals;
pub(crate) mod text;
pub(crate) mod three_way;
