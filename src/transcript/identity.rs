//! Which file a transcript is: a path alone does not say it, because a client may write another file under the same name.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::base::fs;

/// How much of the beginning of a file is digested. The first records name the session and hold its first request.
const BEGINNING: u64 = 4 << 10;
/// How many bytes of the digest are kept.
const KEPT: usize = 16;
/// How much of what comes before a place in a file marks it.
const BEFORE: u64 = 1 << 10;

/// A digest of the first bytes of a file, of which `length` bytes are known: `BYTES:HEX`.
pub(super) fn beginning(file: &mut File, length: u64) -> io::Result<String> {
    let bytes = length.min(BEGINNING);
    Ok(format!("{bytes}:{}", digest(file, bytes)?))
}

/// Whether the file begins with the bytes of which this is the digest. `None` if the digest is unknown.
pub(super) fn begins_with(file: &mut File, beginning: &str) -> io::Result<Option<bool>> {
    let Some((bytes, hex)) = beginning.split_once(':') else { return Ok(None) };
    let Ok(bytes) = bytes.parse::<u64>() else { return Ok(None) };
    Ok(Some(digest(file, bytes.min(BEGINNING))? == hex))
}

/// A mark of what comes right before a place in a file: another one if the file was written anew, because hardly anything that is
/// changed further above leaves all that follows where it was. `None` if the file is shorter or cannot be read.
pub(crate) fn mark_before(path: &Path, place: u64) -> Option<i64> {
    let mut file = fs::open_if_exists(path).ok()??;
    let length = place.min(BEFORE);
    file.seek(SeekFrom::Start(place - length)).ok()?;
    let mut read = [0; BEFORE as usize];
    let read = &mut read[..length as usize];
    file.read_exact(read).ok()?;
    Some(mark_of(read))
}

/// The mark of a place in a file that has this before it.
pub(super) fn mark_of(before: &[u8]) -> i64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&before[before.len().saturating_sub(BEFORE as usize)..]);
    i64::from_ne_bytes(hasher.finish().to_ne_bytes())
}

fn digest(file: &mut File, bytes: u64) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut read = Vec::new();
    Read::by_ref(file).take(bytes).read_to_end(&mut read)?;
    Ok(Sha256::digest(&read).iter().take(KEPT).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_grew_begins_as_before_and_another_one_does_not() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\ntwo\n").unwrap();
        let known = beginning(&mut file, 8).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(&[b'x'; 10_000]).unwrap();
        assert_eq!(begins_with(&mut file, &known).unwrap(), Some(true));
        let longer = beginning(&mut file, 10_008).unwrap();
        assert!(longer.starts_with("4096:"), "{longer}");
        file.set_len(3).unwrap();
        assert_eq!(begins_with(&mut file, &known).unwrap(), Some(false));
        assert_eq!(begins_with(&mut file, "").unwrap(), None);
    }
}
