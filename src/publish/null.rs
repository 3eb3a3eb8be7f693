//! Publishes to nowhere: the files in the project are all there is.

use super::{Backend, Delivered, Delivery, Destination, NotDelivered};

pub const BACKEND: Backend = Backend { name: "null", publish, preview };

fn publish(_: &Delivery<'_>) -> Result<Delivered, NotDelivered> {
    Ok(Delivered { detail: "kept in this directory only (backend null)".to_owned(), ..Delivered::default() })
}

fn preview(_: &Destination) -> String {
    "publish nothing (backend null)".to_owned()
}
