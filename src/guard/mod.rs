//! May this happen, and may this be written down? PAUSE, signals that ask us to stop, secrets.

pub mod acknowledge;
pub mod consent;
mod consent_store;
mod environment;
mod pause;
pub mod secrets;

pub use environment::Redactor;
pub use pause::{Brake, Pause, Stop};
