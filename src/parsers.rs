//! Every parser that reads bytes of others, as a function of bytes, for fuzzing (`fuzz/README.md`).
//!
//! A parser may refuse its input. It must not panic, and what it accepted must keep the promise that its entry checks.

use std::path::Path;
use std::sync::LazyLock;

use chrono::{DateTime, NaiveDate};
use serde_json::Value;

use crate::agents::{self, AGENTS};
use crate::base::text;
use crate::bundle::{Bundle, Envelope, Input, PublicKey, SecretKey};
use crate::config::Config;
use crate::config::category::Categories;
use crate::error::Error;
use crate::git;
use crate::guard::secrets;
use crate::handoff::{Handoff, read_subset_first};
use crate::history::Index;
use crate::memory::state::CurrentState;
use crate::memory::{archive, capture, import, note};
use crate::search;
use crate::steps;
use crate::transcript;

/// The length up to which our reader of JSON keeps a record whole.
const SMALL: usize = 4096;
/// The depth up to which it does.
const SHALLOW: usize = 100;

/// A parser with its name.
pub struct Parser {
    pub name: &'static str,
    /// Parses, and panics if a promise is broken.
    pub parse: fn(&[u8]),
}

/// Every parser. A new one is a function and its entry here.
pub const PARSERS: &[Parser] = &[
    Parser { name: "config", parse: config },
    Parser { name: "own-config", parse: own_config },
    Parser { name: "document", parse: document },
    Parser { name: "index", parse: index },
    Parser { name: "bundle", parse: bundle },
    Parser { name: "envelope", parse: envelope },
    Parser { name: "key", parse: key },
    Parser { name: "notes", parse: notes },
    Parser { name: "state", parse: state },
    Parser { name: "archive", parse: archives },
    Parser { name: "capture", parse: captured },
    Parser { name: "payload", parse: payload },
    Parser { name: "json", parse: json },
    Parser { name: "question", parse: question },
    Parser { name: "secrets", parse: find_secrets },
    Parser { name: "gate", parse: gate },
    Parser { name: "git", parse: git::read_as_everything },
    #[cfg(feature = "mcp")]
    Parser { name: "mcp", parse: crate::mcp::read_frames },
];

fn config(bytes: &[u8]) {
    let _ = Config::parse(Path::new("handover.toml"), &text::of_bytes(bytes), &steps::vocabulary());
}

fn own_config(bytes: &[u8]) {
    let _ = Config::parse_own(Path::new("config.toml"), &text::of_bytes(bytes));
}

/// A document that we wrote is read, and written the same again. The first time, writing removes control characters.
fn document(bytes: &[u8]) {
    let source = text::of_bytes(bytes);
    let _ = read_subset_first(&source);
    let Ok(first) = Handoff::parse(&source) else { return };
    let written = first.render();
    match Handoff::parse(&written) {
        Ok(second) => assert_eq!(second.render(), written, "a document changed by reading and writing it"),
        Err(_) => panic!("a document that we wrote is refused:\n{written}"),
    }
}

fn index(bytes: &[u8]) {
    let _ = Index::parse(&text::of_bytes(bytes));
}

fn bundle(bytes: &[u8]) {
    let source = text::of_bytes(bytes);
    let _ = Bundle::read(&source);
    // A passphrase costs a second of work, and is nothing that the file decides.
    let _ = Input::read(&source, DateTime::UNIX_EPOCH, || Err(Error::failed("no passphrase")));
}

fn envelope(bytes: &[u8]) {
    let source = text::of_bytes(bytes);
    let Ok(envelope) = Envelope::parse(&source) else { return };
    assert!(envelope.render().is_ok(), "an envelope that was read cannot be written");
}

fn key(bytes: &[u8]) {
    let source = text::of_bytes(bytes);
    let _ = SecretKey::read(&source);
    let _ = PublicKey::read(&source);
    if let Ok(key) = PublicKey::decode(source.trim()) {
        assert!(PublicKey::decode(&key.encode()).is_ok(), "a key that was read cannot be written");
    }
}

fn notes(bytes: &[u8]) {
    let _ = note::parse(bytes);
    let _ = archive::of_notes(bytes, NaiveDate::default());
}

/// A state that was read and written is written the same the next time: nothing grows or gets lost by repetition.
fn state(bytes: &[u8]) {
    let once = CurrentState::parse(bytes).write();
    let twice = CurrentState::parse(&once).write();
    assert_eq!(text::of_bytes(&twice), text::of_bytes(&once), "a state changed by reading and writing it");
}

fn archives(bytes: &[u8]) {
    let _ = archive::parse(bytes);
}

fn captured(bytes: &[u8]) {
    static DEFAULT: LazyLock<Categories> = LazyLock::new(|| {
        let config = Config::parse(Path::new("handover.toml"), "", &steps::vocabulary());
        config.map(|config| config.categories).unwrap_or_default()
    });
    let source = text::of_bytes(bytes);
    let _ = capture::parse(&source, &DEFAULT);
    let _ = import::parse(&source, &DEFAULT);
}

fn payload(bytes: &[u8]) {
    let _ = agents::recognise(bytes, None, &|_| None);
    for agent in AGENTS {
        let _ = agents::recognise(bytes, Some(agent.name), &|_| None);
    }
}

/// What serde_json accepts as an object, ours reads as the same. Ours bounds what it keeps of a large or deep one.
fn json(bytes: &[u8]) {
    let ours = transcript::parse_json(bytes);
    let Ok(theirs @ Value::Object(_)) = serde_json::from_slice::<Value>(bytes) else { return };
    if bytes.len() <= SMALL && depth(&theirs) <= SHALLOW {
        assert_eq!(ours, Some(theirs), "serde_json reads this otherwise");
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn question(bytes: &[u8]) {
    let _ = search::asks_only_for_a_time(&text::of_bytes(bytes), NaiveDate::default());
}

fn find_secrets(bytes: &[u8]) {
    let _ = secrets::find(bytes);
    let _ = secrets::clean(&text::of_bytes(bytes));
}

/// What passed a gate once passes it unchanged.
fn gate(bytes: &[u8]) {
    let source = text::of_bytes(bytes);
    let shown = text::for_terminal(&source);
    assert_eq!(text::for_terminal(&shown), shown, "the gate to the terminal is not stable");
    let told = text::for_model(&source);
    assert_eq!(text::for_model(&told), told, "the gate to the model is not stable");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parser_reads_what_is_nothing_and_what_is_nonsense() {
        for parser in PARSERS {
            for bytes in [&b""[..], b"\0", b"\xff\xfe", b"---\n", b"{", b"[[[[", b"a: b\n", b"<!-- note -->"] {
                (parser.parse)(bytes);
            }
        }
    }
}
