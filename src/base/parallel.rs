//! The same work on many things, on all processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many parts each processor gets, so that none waits long for another at the end.
const PARTS: usize = 8;

/// What `act` makes of each item, in the order of the items. Where no thread can be started, this thread does all of it.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    if workers < 2 {
        return items.iter().map(act).collect();
    }
    let size = items.len().div_ceil(workers * PARTS);
    let parts: Vec<&[T]> = items.chunks(size).collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(parts.len())));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number) else { return };
            let results: Vec<R> = part.iter().map(&act).collect();
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, results));
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_are_in_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 17, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(map(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
