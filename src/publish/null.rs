//! Publishes to nowhere: the files in the project are all there is.

use std::path::Path;

use super::{Backend, Delivered, Delivery, Destination, Trouble};

pub const BACKEND: Backend = Backend { name: "null", publish, preview, describe, missing };

fn publish(_: &Delivery<'_>) -> Result<Delivered, Trouble> {
    Ok(Delivered { detail: "kept in this directory only (backend null)".to_owned(), ..Delivered::default() })
}

fn preview(_: &Destination) -> String {
    "publish nothing (backend null)".to_owned()
}

fn describe(_: &Destination) -> String {
    "nowhere (backend null)".to_owned()
}

fn missing(_: &Path, _: &Destination) -> Vec<String> {
    Vec::new()
}
