//! Finds the item that a person means by an id, or by the beginning or the end of one.

use std::collections::HashSet;

use super::capture;
use super::state::{CurrentState, Item};
use crate::error::{Error, Result};

/// The category and the item with this id, or the only item whose id begins with it, or else ends with it.
pub(crate) fn find<'s>(state: &'s CurrentState, id: &str) -> Result<(&'s str, &'s Item)> {
    let (shown, id) = (capture::shown(id), id.to_lowercase());
    let matching = |is_meant: fn(&str, &str) -> bool| -> Vec<_> {
        state.items().filter(|(_, item)| !id.is_empty() && is_meant(&item.id, &id)).collect()
    };
    let mut beginning = matching(|item, id| item.starts_with(id));
    let mut matching =
        if beginning.is_empty() { matching(|item, id| item.ends_with(id)) } else { std::mem::take(&mut beginning) };
    // A merge by line can leave a section twice, with the same items.
    let mut seen = HashSet::new();
    matching.retain(|(_, item)| seen.insert(&item.id));
    if let Some(exact) = matching.iter().position(|(_, item)| item.id == id) {
        return Ok(matching.swap_remove(exact));
    }
    match matching.as_slice() {
        [one] => Ok(*one),
        [] => Err(Error::failed(format!("no item has the id `{shown}`"))
            .hint("`agent-handover memory list` shows what there is")),
        several => {
            let ids: Vec<&str> = several.iter().map(|(_, item)| item.id.as_str()).collect();
            Err(Error::usage(format!("`{id}` is the beginning or the end of several ids: {}", ids.join(", ")))
                .hint("give one more letter"))
        }
    }
}
