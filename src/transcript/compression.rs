//! Compressed transcripts. Codex compresses old ones with zstd.
//!
//! Nothing about a compressed file is trusted: the memory of the decoder, the bytes that are read and the bytes that come
//! out are all limited.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

use crate::base::fs;
use crate::error::{Error, Result};

/// The most memory that a file may ask for. The strongest usual level of zstd needs 8 MiB.
const MAX_WINDOW: u64 = 32 << 20;
/// How much of a compressed file is read.
const MAX_INPUT: u64 = 256 << 20;
/// How much of the content is kept. It is as much as is read of a plain file; what follows is not read.
const MAX_CONTENT: u64 = 256 << 20;

const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Methods that are recognised only to name them.
const OTHERS: &[(&[u8], &str)] = &[
    (&[0x1f, 0x8b], "gzip"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
    (b"BZh", "bzip2"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
    (b"PK\x03\x04", "zip"),
];

/// The content of a file up to `most` bytes of it: the file itself, or a copy without compression that has no name.
pub(super) fn plain(mut file: File, path: &Path, most: u64) -> Result<File> {
    let failed = |cause: io::Error| Error::io("read", path, cause);
    let mut magic = [0; 6];
    let mut length = 0;
    while length < magic.len() {
        match file.read(&mut magic[length..]).map_err(failed)? {
            0 => break,
            read => length += read,
        }
    }
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let magic = &magic[..length];
    if magic.starts_with(ZSTD) {
        return decompress(file, most.min(MAX_CONTENT))
            .map_err(|cause| Error::bad_data(format!("`{}` cannot be decompressed", path.display())).cause(cause));
    }
    match OTHERS.iter().find(|(other, _)| magic.starts_with(other)) {
        Some((_, name)) => Err(Error::bad_data(format!(
            "`{}` is compressed with {name}, which agent-handover does not read",
            path.display()
        ))),
        None => Ok(file),
    }
}

fn decompress(file: File, most: u64) -> io::Result<File> {
    let mut scratch = fs::scratch_file()?;
    let input = BufReader::new(file.take(MAX_INPUT));
    let decoder = StreamingDecoder::new_with_max_window_size(input, MAX_WINDOW).map_err(io::Error::other)?;
    io::copy(&mut decoder.take(most), &mut scratch)?;
    scratch.seek(SeekFrom::Start(0))?;
    Ok(scratch)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn content(bytes: &[u8], most: u64) -> Result<Vec<u8>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut read = Vec::new();
        plain(file, Path::new("t.jsonl.zst"), most)?.read_to_end(&mut read).unwrap();
        Ok(read)
    }

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn a_plain_file_stays_as_it_is_and_a_compressed_one_is_read() {
        let text = "{\"a\":1}\n".repeat(10_000);
        assert_eq!(content(text.as_bytes(), u64::MAX).unwrap(), text.as_bytes());
        assert_eq!(content(&compressed(text.as_bytes()), u64::MAX).unwrap(), text.as_bytes());
        assert_eq!(content(&compressed(text.as_bytes()), 8).unwrap(), b"{\"a\":1}\n");
        assert_eq!(content(b"", u64::MAX).unwrap(), b"");
        assert_eq!(content(b"{", u64::MAX).unwrap(), b"{");
    }

    /// Blocks that repeat one byte: 4 bytes of the file become 128 KiB.
    #[test]
    fn a_file_that_would_become_huge_is_cut() {
        let mut bomb = ZSTD.to_vec();
        // No checksum, no content size, a window of 128 KiB.
        bomb.extend([0x00, 7 << 3]);
        let block = (128 << 10 << 3) | 0b010u32;
        for _ in 0..4_000 {
            bomb.extend(&block.to_le_bytes()[..3]);
            bomb.push(b'x');
        }
        assert_eq!(content(&bomb, 1 << 20).unwrap().len(), 1 << 20);
        let whole = content(&bomb, u64::MAX).unwrap();
        assert_eq!(whole.len() as u64, MAX_CONTENT);
    }

    #[test]
    fn what_cannot_be_decompressed_is_named() {
        let damaged = |bytes: &[u8]| content(bytes, u64::MAX).unwrap_err().to_string();
        let mut cut = compressed("{\"a\":1}\n".repeat(10_000).as_bytes());
        cut.truncate(cut.len() / 2);
        assert!(damaged(&cut).contains("`t.jsonl.zst` cannot be decompressed"), "{}", damaged(&cut));
        // It asks for a window of more than a gigabyte.
        assert!(damaged(&[ZSTD, &[0x00, 20 << 3, 0, 0, 0]].concat()).contains("cannot be decompressed"));
        assert!(damaged(b"\x1f\x8b\x08\x00\x00\x00\x00").contains("compressed with gzip"));
    }
}
