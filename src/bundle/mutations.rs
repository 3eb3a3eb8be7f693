//! Generated changes of whole bundles, keys and trust lists: nothing forged is accepted, nothing panics, and what is read is
//! not much larger than the file.
//!
//! `SWEEPS=all` tries 10,000 of each. The cases depend on their number only, so a failure can be repeated.

use serde_json::Value as Json;

use super::convert::handoff_of;
use super::envelope::Envelope;
use super::input::{Incoming, Input};
use super::key::{PublicKey, SecretKey};
use super::record;
use super::seal::{Bundle, SignWith};
use super::trust::{TrustList, Trusted};
use crate::error::{Category, Error};

const GO_SIGNED: &str = include_str!("../../tests/data/session-handoff/v3-signed.json");
const GO_UNSIGNED: &str = include_str!("../../tests/data/session-handoff/v2-unsigned-escaping.json");
const GO_STORE: &str = include_str!("../../tests/data/session-handoff/store/handoffs.json");
const ENVELOPE: &str = include_str!("../../tests/data/session-handoff/encrypted-v3.json");
const GO_KEY: &str = include_str!("../../tests/data/session-handoff/signer-public-key.pem");

fn cases() -> u64 {
    if std::env::var_os("SWEEPS").is_some_and(|value| value == "all") { 10_000 } else { 400 }
}

/// Numbers that depend on the case only (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % end.max(1) as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// What a forger might put into a file.
const TOKENS: [&str; 24] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "3",
    "2",
    "1",
    "4",
    "1e999",
    "\\u0000",
    "\\ud800",
    "\u{200b}",
    "\n",
    "\"agent_handover\":",
    "\"signature\":\"\",",
    "\"version\":3,",
    "\"checksum\":",
    "[[[[[[[[[[[[[[[[[[[[",
];

/// The text after one to three changes of its bytes or of its JSON.
fn changed(dice: &mut Dice, text: &str, others: &[String]) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.below(3) {
        text = match dice.below(4) {
            0 => changed_json(dice, &text, others).unwrap_or(text),
            _ => changed_bytes(dice, &text, others),
        };
    }
    text
}

fn changed_bytes(dice: &mut Dice, text: &str, others: &[String]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let start = dice.below(bytes.len() + 1);
    let end = (start + dice.below(60)).min(bytes.len());
    let other = dice.pick(others).as_bytes();
    let from = dice.below(other.len());
    let piece = other[from..(from + dice.below(200)).min(other.len())].to_vec();
    match dice.below(7) {
        0 if start < bytes.len() => bytes[start] ^= 1 << dice.below(8),
        1 => drop(bytes.drain(start..end)),
        2 => drop(bytes.splice(start..start, dice.pick(&TOKENS).bytes())),
        3 => drop(bytes.splice(start..end, piece)),
        4 => bytes.truncate(start),
        5 => bytes.extend_from_within(start..end),
        _ => drop(bytes.splice(start..end, dice.pick(&TOKENS).bytes())),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The places of a document, as JSON pointers.
fn pointers(value: &Json, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Json::Object(pairs) => pairs.iter().for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), found)),
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(at_item, value)| pointers(value, &format!("{at}/{at_item}"), found));
        }
        _ => {}
    }
}

/// The document with one value replaced by that of another document, removed, or of another type.
fn changed_json(dice: &mut Dice, text: &str, others: &[String]) -> Option<String> {
    let mut value: Json = serde_json::from_str(text).ok()?;
    let other: Json = serde_json::from_str(dice.pick(others).as_str()).ok()?;
    let mut places = Vec::new();
    pointers(&value, "", &mut places);
    let place = dice.pick(&places).clone();
    let theirs = other.pointer(&place).cloned().unwrap_or(Json::Null);
    let target = value.pointer_mut(&place)?;
    *target = match dice.below(5) {
        0 | 1 => theirs,
        2 => Json::Null,
        3 => Json::Array(vec![target.clone(), theirs]),
        _ => Json::String(format!("{}{}", target.as_str().unwrap_or_default(), dice.pick(&TOKENS))),
    };
    let is_pretty = dice.below(2) == 0;
    if is_pretty { super::json::pretty(&value).ok().map(|it| it + "\n") } else { super::json::compact(&value).ok() }
}

fn signed_by(key: &SecretKey, name: &str, record: &record::HandoffRecord) -> Bundle {
    let document = handoff_of(record).unwrap().render();
    let sign = SignWith { key, name: Some(name) };
    Bundle::new(record.clone(), document, "2026-11-16T00:30:00Z".to_owned(), Some(&sign)).unwrap()
}

#[test]
fn no_generated_change_of_a_bundle_is_accepted_as_signed() {
    let now = record::time("2026-11-16T02:00:00Z").unwrap();
    let (alice, mallory) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    let directory = crate::base::scratch::directory();
    let list = TrustList::at(directory.path().to_path_buf());
    let trust = |key: PublicKey, name: &str| {
        list.add(&Trusted { key, name: Some(name.to_owned()), added: String::new() }).unwrap();
    };
    trust(alice.public(), "Alice");
    trust(PublicKey::read(GO_KEY).unwrap(), "Alice Example");
    let record_in = |text: &str| Bundle::read(text).unwrap().0.record;
    let (one, two) = (record_in(GO_SIGNED), record_in(GO_UNSIGNED));
    let ours = [signed_by(&alice, "Alice", &one), signed_by(&alice, "Alice", &two)];
    let theirs = [signed_by(&mallory, "Alice", &one), signed_by(&mallory, "Mallory", &two)];
    let pretty = |bundle: &Bundle| bundle.pretty().unwrap() + "\n";
    let line = |bundle: &Bundle| bundle.line().unwrap() + "\n";
    let sources: Vec<String> = ours
        .iter()
        .chain(&theirs)
        .flat_map(|bundle| [pretty(bundle), line(bundle)])
        .chain([GO_SIGNED, GO_UNSIGNED, GO_STORE].map(str::to_owned))
        .chain([ours.iter().map(line).collect(), format!("{}{}", line(&ours[0]), line(&theirs[1]))])
        .collect();
    let no_passphrase = || Err(Error::failed("not asked for"));
    let genuine: Vec<Incoming> = [pretty(&ours[0]), pretty(&ours[1]), GO_SIGNED.to_owned()]
        .iter()
        .flat_map(|text| Input::read(text, now, no_passphrase).unwrap().incoming)
        .collect();
    let (mut accepted, mut unsigned, mut refused) = (0, 0, 0);
    for case in 0..cases() {
        let mut dice = Dice(case);
        let source = dice.pick(&sources).clone();
        let text = changed(&mut dice, &source, &sources);
        let input = match Input::read(&text, now, no_passphrase) {
            Ok(input) => input,
            Err(error) => {
                assert!(!matches!(error.category(), Category::Bug), "case {case}: {}", error.message());
                refused += 1;
                continue;
            }
        };
        for incoming in input.incoming {
            assert!(incoming.handoff.render().len() <= 16 * text.len() + 4_096, "case {case} grows");
            match list.vouch(&incoming.seal, true) {
                Err(error) => assert_eq!(error.category(), Category::Untrusted, "case {case}"),
                Ok(None) => unsigned += 1,
                Ok(Some(_)) => {
                    let is_it = |it: &Incoming| it.record == incoming.record && it.handoff == incoming.handoff;
                    // The document of a bundle of ours can be cut out; the record is still what Alice signed.
                    let is_record = |it: &Incoming| {
                        it.record == incoming.record && handoff_of(&it.record).unwrap() == incoming.handoff
                    };
                    assert!(genuine.iter().any(|it| is_it(it) || is_record(it)), "case {case}:\n{text}");
                    accepted += 1;
                }
            }
        }
    }
    assert!(accepted > 0 && unsigned > 0 && refused > 0, "{accepted} {unsigned} {refused}");
}

#[test]
fn no_generated_change_of_an_envelope_opens() {
    let original = Envelope::parse(ENVELOPE).unwrap();
    let key = original.key("correct horse battery staple").unwrap();
    let plain = original.open(&key).unwrap();
    let others = [GO_SIGNED.to_owned(), ENVELOPE.to_owned()];
    for case in 0..cases() {
        let mut dice = Dice(case);
        let text = changed(&mut dice, ENVELOPE, &others);
        let Ok(envelope) = Envelope::parse(&text) else { continue };
        if let Ok(opened) = envelope.open(&key) {
            assert_eq!(opened, plain, "case {case}");
        }
    }
}

#[test]
fn a_generated_change_of_a_key_is_refused_or_another_key() {
    let secret = SecretKey::generate().unwrap();
    let texts =
        [secret.write().unwrap(), secret.public().write().unwrap(), GO_KEY.to_owned(), secret.public().encode()];
    for case in 0..cases() {
        let mut dice = Dice(case);
        let source = dice.pick(&texts).clone();
        let text = changed_bytes(&mut dice, &source, &texts);
        let _ = SecretKey::read(&text).map(|secret| secret.public());
        for key in [PublicKey::read(&text), PublicKey::decode(text.trim())].into_iter().flatten() {
            // One key has one name: another spelling of it would have another fingerprint.
            assert_eq!(PublicKey::decode(&key.encode()).unwrap(), key, "case {case}");
            assert_eq!(PublicKey::read(&key.write().unwrap()).unwrap().fingerprint(), key.fingerprint(), "case {case}");
        }
    }
}

#[test]
fn a_generated_change_of_a_trust_list_adds_no_key() {
    let directory = crate::base::scratch::directory();
    let list = TrustList::at(directory.path().to_path_buf());
    let trusted = |name: &str| {
        let key = SecretKey::generate().unwrap().public();
        Trusted { key, name: Some(name.to_owned()), added: "2026-11-16T00:30:00Z".to_owned() }
    };
    let (alice, bob) = (trusted("Alice"), trusted("Bob"));
    list.add(&alice).unwrap();
    let file = directory.path().join(alice.key.fingerprint());
    let good = std::fs::read_to_string(&file).unwrap();
    let others = [good.replace(&alice.key.encode(), &bob.key.encode()), good.clone(), GO_SIGNED.to_owned()];
    for case in 0..cases() {
        let mut dice = Dice(case);
        let text = changed(&mut dice, &good, &others);
        std::fs::write(&file, text).unwrap();
        match list.keys() {
            Err(error) => assert_eq!(error.category(), Category::BadData, "case {case}"),
            Ok(keys) => assert!(keys.iter().all(|it| it.key == alice.key), "case {case}"),
        }
    }
}
