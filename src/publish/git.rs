//! Publishing through git: the config is understood, the delivery does not exist yet.

use super::{Backend, Destination};
use crate::error::{Error, Result};

pub const BACKEND: Backend = Backend { name: "git", publish, preview, landed };

/// Fails rather than pretends, so the run stays unfinished and a version that can deliver will.
fn publish(_: &Destination) -> Result<String> {
    Err(Error::failed("publishing with backend `git` is not built yet").hint(
        "set `type = \"null\"` under `[backend]`; what was said is in the memory files, and `agent-handover run \
         --abandon` gives up the delivery",
    ))
}

fn preview(_: &Destination) -> String {
    "fail: publishing with backend `git` is not built yet".to_owned()
}

fn landed(_: &Destination) -> Result<bool> {
    Ok(false)
}
