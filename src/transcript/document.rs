//! Transcripts that are one JSON document with a list `messages`, which their client writes anew each time. Cline and older
//! versions of Gemini CLI keep such files. The messages become records, one a line, so that they are read like any other
//! transcript, within the same limits.
//!
//! The document is never held as a whole. One that breaks off, because its client is writing it, ends with what is there.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::base::fs;
use crate::error::{Error, Result};

/// How much of a document is read, and how much of its messages is kept.
const MAX_INPUT: u64 = 256 << 20;
const MAX_CONTENT: u64 = 256 << 20;
/// The list that holds the messages.
const MESSAGES: &[u8] = b"messages";
/// The names before it whose values never change and say whose session it is. They become the first record.
const HEAD: &[&[u8]] = &[b"sessionId", b"projectHash", b"startTime", b"kind", b"agent"];
/// How long a name or such a value may be.
const MAX_NAME: usize = 64;
const MAX_VALUE: usize = 1 << 10;

/// Whether a file is a document, by its name.
pub(super) fn is_one(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

/// The records of a document, up to `most` bytes, in a file without a name.
pub(super) fn records(file: File, path: &Path, most: u64) -> Result<File> {
    let split = || -> io::Result<File> {
        let mut scratch = fs::scratch_file()?;
        let mut out = BufWriter::new(&mut scratch);
        let is_empty = file.metadata()?.len() == 0;
        let written = split(BufReader::new(file.take(MAX_INPUT)), &mut out, most.min(MAX_CONTENT))?;
        if written == 0 && !is_empty {
            // A document without messages is not an empty transcript, but none.
            out.write_all(b"{}\n")?;
        }
        out.flush()?;
        drop(out);
        scratch.seek(SeekFrom::Start(0))?;
        Ok(scratch)
    };
    split().map_err(|cause| Error::io("read", path, cause))
}

/// Where the reader is in a document.
#[derive(Default)]
struct Splitter {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// The name of the member of the document that is read, and whether its value is.
    name: Vec<u8>,
    in_value: bool,
    value: Vec<u8>,
    head: Vec<Vec<u8>>,
    in_messages: bool,
    in_message: bool,
}

/// Writes the messages of a document, one a line, and before them what it says about itself. Returns how much it wrote.
fn split(mut input: impl BufRead, out: &mut impl Write, most: u64) -> io::Result<u64> {
    let mut splitter = Splitter::default();
    let mut line = Vec::new();
    let mut written = 0;
    loop {
        let available = match input.fill_buf() {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        if available.is_empty() {
            return Ok(written);
        }
        let length = available.len();
        for byte in available {
            splitter.take(*byte, &mut line);
        }
        input.consume(length);
        written += line.len() as u64;
        out.write_all(&line)?;
        line.clear();
        if written >= most {
            return Ok(written);
        }
    }
}

impl Splitter {
    /// Takes a byte of the document, and adds what belongs to the records to `line`.
    fn take(&mut self, byte: u8, line: &mut Vec<u8>) {
        if self.in_message {
            // A line break in a text would be an error in JSON; elsewhere it is a space.
            line.push(if matches!(byte, b'\n' | b'\r') { b' ' } else { byte });
        } else if self.depth == 1 {
            self.member(byte);
        }
        if self.in_text {
            self.in_text = self.is_escaped || byte != b'"';
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => {
                if self.in_messages && self.depth == 2 && byte == b'{' {
                    self.in_message = true;
                    line.push(byte);
                }
                if self.depth == 1 && byte == b'[' && self.is_messages() {
                    self.in_messages = true;
                    line.extend(self.first());
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.in_message && self.depth == 2 {
                    self.in_message = false;
                    line.push(b'\n');
                }
                self.in_messages &= self.depth > 1;
            }
            _ => {}
        }
    }

    /// Takes a byte between the braces of the document itself: a part of a name, or of a value.
    fn member(&mut self, byte: u8) {
        match byte {
            b':' if !self.in_text && !self.in_value => self.in_value = true,
            b',' if !self.in_text => {
                self.keep();
                (self.name, self.value, self.in_value) = (Vec::new(), Vec::new(), false);
            }
            _ if self.in_value && self.value.len() <= MAX_VALUE => self.value.push(byte),
            _ if !self.in_value && self.name.len() <= MAX_NAME => self.name.push(byte),
            _ => {}
        }
    }

    fn is_messages(&self) -> bool {
        self.in_value && plain(&self.name) == MESSAGES
    }

    /// Keeps a value for the first record. It is a text, because a list or a map would have raised the depth.
    fn keep(&mut self) {
        let value = self.value.trim_ascii();
        let is_text = value.len() > 1 && value.len() <= MAX_VALUE && value.starts_with(b"\"") && value.ends_with(b"\"");
        if is_text && HEAD.contains(&plain(&self.name)) && self.head.len() < HEAD.len() {
            self.head.push([b"\"", plain(&self.name), b"\":", value].concat());
        }
    }

    fn first(&mut self) -> Vec<u8> {
        let head = std::mem::take(&mut self.head);
        if head.is_empty() { Vec::new() } else { [b"{", head.join(&b","[..]).as_slice(), b"}\n"].concat() }
    }
}

/// A name without its quotes.
fn plain(name: &[u8]) -> &[u8] {
    let name = name.trim_ascii();
    name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(document: &str, most: u64) -> Vec<String> {
        let mut out = Vec::new();
        // A small buffer, so that everything is cut somewhere.
        split(BufReader::with_capacity(7, document.as_bytes()), &mut out, most).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn messages_become_records_and_the_document_is_named_first() {
        let document = r#"{
  "version": 1, "sessionId": "s,1", "other": {"messages": [{"a": 1}], "sessionId": "inner"}, "n": [1],
  "messages": [
    {"role": "user",
     "content": "a \"quoted\" {brace} ] and , \\"},
    7, null, [{"x": 1}],
    {"b": {"c": [1, 2]}}
  ],
  "system_prompt": "You are", "projectHash": "too late"
}"#;
        let found = lines(document, u64::MAX);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], r#"{"sessionId":"s,1"}"#);
        let second: serde_json::Value = serde_json::from_str(&found[1]).unwrap();
        assert_eq!(second["content"], "a \"quoted\" {brace} ] and , \\");
        assert_eq!(found[2], r#"{"b": {"c": [1, 2]}}"#);
        // What comes first stays the same when messages are added, so that a place in it stays one.
        let more = document.replace("  ],\n  \"system", "  ,{\"d\": 1}],\n  \"system");
        assert_eq!(lines(&more, u64::MAX)[..3], found);
    }

    #[test]
    fn a_document_that_breaks_off_or_is_none_is_no_trouble() {
        let document = r#"{"sessionId":"s","messages":[{"a":1},{"b":"half"#;
        assert_eq!(lines(document, u64::MAX), [r#"{"sessionId":"s"}"#, r#"{"a":1}"#, r#"{"b":"half"#]);
        for text in ["", "[]", "]]]]}}}}", "{\"messages\":", "{\"messages\":{\"a\":1}}", "\"", "{\"messages\":[[[[[["] {
            assert_eq!(lines(text, u64::MAX), [""; 0], "{text}");
        }
        assert!(lines(&format!("{{\"messages\":[{}]}}", "{\"a\":1},".repeat(10_000)), 100).len() < 20);
    }
}
