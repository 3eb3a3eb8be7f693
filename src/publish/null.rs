//! Delivers nothing: the files in the project are all there is.

use super::{Backend, Delivered, Delivery, Destination, NotDelivered};
use crate::config::Config;

pub(super) struct NullBackend;

impl Backend for NullBackend {
    fn name(&self) -> &'static str {
        "null"
    }

    fn is_remote(&self) -> bool {
        false
    }

    fn destination(&self, _: &Config) -> Destination {
        Destination::nowhere()
    }

    fn preview(&self, _: &Destination) -> String {
        "publish nothing (backend null)".to_owned()
    }

    fn describe(&self, _: &Destination) -> String {
        "nowhere (backend null)".to_owned()
    }

    fn publish(&self, _: &Delivery<'_>) -> Result<Delivered, NotDelivered> {
        Ok(Delivered { detail: "kept in this directory only (backend null)".to_owned(), ..Delivered::default() })
    }
}
