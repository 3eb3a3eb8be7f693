//! Publishes to nowhere: the files in the project are all there is.

use super::{Backend, Delivered, Delivery, Destination, Trouble};

pub const BACKEND: Backend = Backend { name: "null", is_remote: false, publish, preview };

fn publish(_: &Delivery<'_>) -> Result<Delivered, Trouble> {
    Ok(Delivered { detail: "kept in this directory only (backend null)".to_owned(), ..Delivered::default() })
}

fn preview(_: &Destination) -> String {
    "publish nothing (backend null)".to_owned()
}
