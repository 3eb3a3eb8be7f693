//! Ids of runs and of databases: sortable by time, unique across machines (the ULID layout).

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::{clock, env};
use crate::error::{Error, Result};

/// How long a short id of a run is.
const SHORT: usize = 8;
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A new id: 48 bits of milliseconds, then 80 random bits, in Crockford's base 32.
pub(crate) fn new_run_id() -> Result<String> {
    new_id("")
}

/// A new id of a database, in the form of a run id. Nobody can guess it.
pub(crate) fn new_state_id() -> Result<String> {
    new_id("state")
}

/// A new id of an index, like that of a database.
pub(crate) fn new_index_id() -> Result<String> {
    new_id("index")
}

/// `sort` keeps pinned ids of one process apart.
fn new_id(sort: &str) -> Result<String> {
    let millis = u64::try_from(clock::now().timestamp_millis()).unwrap_or(0);
    let mut random = [0u8; 10];
    match env::get_text(env::TEST_IDS) {
        Some(seed) => random.copy_from_slice(&Sha256::digest(format!("{seed}{sort}"))[..10]),
        None => getrandom::fill(&mut random)
            .map_err(|cause| Error::failed("the system gives no random numbers").cause(cause))?,
    }
    Ok(encode(millis, random))
}

/// The part of a run's id that people see: its end, because runs of one day begin alike. Every command accepts it.
pub(crate) fn short_run_id(id: &str) -> &str {
    id.char_indices().nth_back(SHORT - 1).map_or(id, |(at, _)| &id[at..])
}

/// Whether a name has the form of an id.
pub(crate) fn is_run_id(name: &str) -> bool {
    name.len() == 26 && name.bytes().all(|byte| ALPHABET.contains(&byte))
}

/// When a run was recorded, according to its id; `None` if this is not an id.
pub(crate) fn time_of_run_id(id: &str) -> Option<DateTime<Utc>> {
    if !is_run_id(id) {
        return None;
    }
    let digit = |byte: u8| ALPHABET.iter().position(|known| *known == byte).and_then(|at| i64::try_from(at).ok());
    let millis = id.bytes().take(10).try_fold(0i64, |millis, byte| Some((millis << 5) | digit(byte)?))?;
    DateTime::from_timestamp_millis(millis)
}

fn encode(millis: u64, random: [u8; 10]) -> String {
    let mut bytes = [0u8; 16];
    bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&random);
    let number = u128::from_be_bytes(bytes);
    (0..26)
        .rev()
        .map(|place| {
            let digit = usize::try_from((number >> (place * 5)) & 31).unwrap_or(0);
            char::from(ALPHABET[digit])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_have_one_length() {
        let old = encode(1_000, [255; 10]);
        let new = encode(1_001, [0; 10]);
        assert!(old < new);
        assert_eq!((old.len(), new.len()), (26, 26));
        assert!(is_run_id(&old) && !is_run_id("projects"));
        assert_eq!(time_of_run_id(&new).map(|time| time.timestamp_millis()), Some(1_001));
        assert_eq!(encode(0, [0; 10]), "0".repeat(26));
        assert_eq!(encode((1 << 48) - 1, [255; 10]), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    }
}
