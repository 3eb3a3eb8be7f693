//! May this happen, and may this be recorded or published?
//!
//! | file | owns |
//! |---|---|
//! | `pause` | the PAUSE file and signals: may a new effect start? |
//! | `consent` | may hooks obey this config? |
//! | `acknowledge` | may this finding be published, because the user has seen it? |
//! | `consent_store` | where both are kept |
//! | `own_record` | did a run of this user write this, or did it come with the repository? |
//! | `voucher` | is a text in this directory of memory or history this user's own? |
//! | `state_ids` | did this user make this database, or did it come with the directory? |
//! | `registry` | the histories that 0.1.0 knew, which had no record of what is ours |
//! | `environment` | secrets of the environment, kept out of logs |
//! | `secrets/` | what looks like a credential |

pub(crate) mod acknowledge;
pub(crate) mod consent;
mod consent_store;
mod environment;
pub(crate) mod own_record;
mod pause;
pub(crate) mod registry;
pub(crate) mod secrets;
pub(crate) mod state_ids;
mod voucher;

pub(crate) use environment::Redactor;
pub(crate) use pause::{Brake, Pause, PauseFile, Stop};
pub(crate) use voucher::Voucher;
