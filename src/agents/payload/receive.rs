//! Reads the stdin of a hook.

use std::io::{self, Read};

/// The bytes that a hook received on stdin.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub bytes: Vec<u8>,
    /// How many more bytes there were.
    pub dropped: u64,
}

/// No useful payload is larger. Of a larger one the beginning is used.
const MAX_BYTES: u64 = 4 << 20;

/// Reads to the end, so that the writer never meets a closed pipe, and keeps the first few megabytes.
pub fn read(mut source: impl Read) -> io::Result<Given> {
    let mut bytes = Vec::new();
    source.by_ref().take(MAX_BYTES).read_to_end(&mut bytes)?;
    let dropped = io::copy(&mut source, &mut io::sink())?;
    Ok(Given { bytes, dropped })
}
