//! Mechanisms that know nothing about handovers.

pub mod clock;
pub mod duration;
pub mod env;
pub mod fault;
pub mod fs;
pub mod ids;
pub mod lock;
pub mod process;
pub mod signals;
pub mod text;
pub mod three_way;
