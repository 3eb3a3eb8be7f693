//! Publishes to nowhere: the files in the project are all there is.

use super::{Backend, Destination};
use crate::error::Result;

pub const BACKEND: Backend = Backend { name: "null", publish, preview, landed };

fn publish(_: &Destination) -> Result<String> {
    Ok("kept in this directory only (backend null)".to_owned())
}

fn preview(_: &Destination) -> String {
    "publish nothing (backend null)".to_owned()
}

/// There is nothing that could be half-done.
fn landed(_: &Destination) -> Result<bool> {
    Ok(true)
}
