//! Reads the handoffs in a file: one bundle, one bundle a line, an envelope around either, or session-handoff's store.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::convert::{handoff_of, record_of};
use super::envelope::Envelope;
use super::record::{self, HandoffRecord};
use super::seal::{Bundle, BundleSeal};
use super::store::{MAX_RECORDS, StoreJson};
use super::{json, outside};
use crate::error::{Error, Result};
use crate::handoff::Handoff;
use crate::history::{self, Origin, origin};

/// One handoff that was read and is consistent. Whether its signer is trusted is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub record: HandoffRecord,
    /// The handoff as its author wrote it.
    pub handoff: Handoff,
    pub seal: BundleSeal,
    /// Empty if the file does not state it.
    pub exported_at: String,
    /// What the document said about its own origin, the newest first.
    pub before: Vec<String>,
    pub document: DocumentPart,
    /// The name of the format, for people.
    pub format: String,
}

/// What a bundle has besides the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentPart {
    Whole,
    /// Nothing. Session-handoff writes such bundles. Its signature covers the record only, so nothing shows whether somebody
    /// cut a document out of a record of session-handoff that this program had exported.
    Absent,
    /// Nothing, and session-handoff does not write such a record: the document was cut out.
    CutOut,
}

/// The content of a file.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pub incoming: Vec<Incoming>,
    /// Messages about records of a store that cannot be imported. They do not hold up the others.
    pub refused: Vec<String>,
    pub is_encrypted: bool,
}

/// The keys that tell the formats apart.
#[derive(Deserialize)]
struct InputShape {
    #[serde(default)]
    ciphertext: Option<IgnoredAny>,
    #[serde(default)]
    items: Option<IgnoredAny>,
    #[serde(default)]
    record: Option<IgnoredAny>,
}

impl Input {
    /// Reads a file. Calls `passphrase` only if the file is encrypted.
    pub(crate) fn read(text: &str, now: DateTime<Utc>, passphrase: impl FnOnce() -> Result<String>) -> Result<Input> {
        let shape = shape(text)?;
        if shape.as_ref().is_none_or(|shape| shape.ciphertext.is_none()) {
            return plain(text, shape, now);
        }
        let envelope = Envelope::parse(text)?;
        let inner = envelope.open(&envelope.key(&passphrase()?)?)?;
        let shape = self::shape(&inner)?;
        if shape.as_ref().is_some_and(|shape| shape.ciphertext.is_some()) {
            return Err(Error::bad_data("the encrypted bundle holds another encrypted bundle"));
        }
        let mut input = plain(&inner, shape, now)?;
        input.is_encrypted = true;
        Ok(input)
    }
}

/// The shape of a JSON document; `None` for one bundle a line.
fn shape(text: &str) -> Result<Option<InputShape>> {
    let first = text.lines().next().unwrap_or_default();
    let has_more = text.trim_end().len() > first.trim_end().len();
    if has_more && json::read::<InputShape>(first).is_ok() {
        return Ok(None);
    }
    let shape = json::read::<InputShape>(text).map_err(|error| {
        error.hint("a bundle is what `agent-handover history export --format json` or session-handoff writes; a Markdown handoff is archived by `history create --input`")
    })?;
    Ok(Some(shape))
}

/// Reads a text that is not encrypted.
fn plain(text: &str, shape: Option<InputShape>, now: DateTime<Utc>) -> Result<Input> {
    let mut input = Input::default();
    match shape {
        Some(InputShape { items: Some(_), record: Some(_), .. }) => {
            return Err(Error::bad_data("this is not a bundle of handoffs: it has a record and a list of items"));
        }
        Some(InputShape { items: Some(_), .. }) => store(text, now, &mut input)?,
        Some(_) => input.incoming.push(incoming(text, now)?),
        None => {
            let lines = || text.lines().filter(|line| !line.trim().is_empty());
            refuse_too_many(lines().count())?;
            // Each line alone may have fewer values than too many.
            json::within_limits(text)?;
            for (number, line) in lines().enumerate() {
                let one = incoming(line, now).map_err(|error| error.lead(&format!("line {}: ", number + 1)))?;
                input.incoming.push(one);
            }
        }
    }
    Ok(input)
}

fn refuse_too_many(count: usize) -> Result<()> {
    match count {
        0..=MAX_RECORDS => Ok(()),
        _ => Err(Error::bad_data(format!("it has {count} handoffs; {MAX_RECORDS} is the most")).hint(json::IN_PARTS)),
    }
}

/// Reads one bundle.
fn incoming(text: &str, now: DateTime<Utc>) -> Result<Incoming> {
    let (bundle, seal) = Bundle::read(text)?;
    bundle.record.check(now)?;
    let Bundle { version, record, ours, .. } = bundle;
    let Some(ours) = ours else {
        let (document, format) = if record.has_id_of_session_handoff() {
            (DocumentPart::Absent, format!("session-handoff bundle v{version}, without a document"))
        } else {
            (DocumentPart::CutOut, format!("bundle v{version} without its document"))
        };
        return Ok(Incoming {
            handoff: handoff_of(&record)?,
            record,
            seal,
            exported_at: String::new(),
            before: Vec::new(),
            document,
            format,
        });
    };
    let lead = |error: Error| error.lead(&format!("handoff {}: ", record.id));
    record::check_past("it was exported", &ours.exported_at, now).map_err(lead)?;
    let handoff = history::parse(&ours.document).map_err(lead)?;
    let (handoff, before) = checked(&record, handoff, now)?;
    let format = format!("agent-handover bundle v{version}");
    let document = DocumentPart::Whole;
    Ok(Incoming { record, handoff, seal, exported_at: ours.exported_at, before, document, format })
}

/// Checks the document beside a record. Both must agree. Returns it without its origin, and what it says about that.
fn checked(record: &HandoffRecord, mut handoff: Handoff, now: DateTime<Utc>) -> Result<(Handoff, Vec<String>)> {
    let before = Origin::stated_before(&handoff);
    origin::remove(&mut handoff);
    outside::check(&record.id, &handoff, now)?;
    if record_of(&handoff)? != *record {
        return Err(Error::bad_data(format!("handoff {}: its document and its record differ", record.id)));
    }
    Ok((handoff, before))
}

/// Reads session-handoff's store.
fn store(text: &str, now: DateTime<Utc>, input: &mut Input) -> Result<()> {
    let items = json::read::<StoreJson>(text)?.items;
    refuse_too_many(items.count)?;
    for (number, item) in items.first.into_iter().enumerate() {
        let record = item
            .map_err(|cause| Error::bad_data("it is not a record").cause(cause))
            .and_then(|record| record.refuse_too_large().and_then(|()| record.check(now)).map(|()| record));
        match record {
            Err(error) => input.refused.push(format!("item {number}: {}", error.one_line())),
            Ok(record) => input.incoming.push(Incoming {
                handoff: handoff_of(&record)?,
                record,
                seal: BundleSeal::Unsigned("a store has no signatures"),
                exported_at: String::new(),
                before: Vec::new(),
                document: DocumentPart::Absent,
                format: "session-handoff store".to_owned(),
            }),
        }
    }
    if input.incoming.is_empty() && !input.refused.is_empty() {
        return Err(Error::bad_data(format!("no record of the store can be read: {}", input.refused[0])));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SAMPLES: [&str; 4] = [
        include_str!("../../tests/data/session-handoff/v2-unsigned.json"),
        include_str!("../../tests/data/session-handoff/v3-signed.json"),
        include_str!("../../tests/data/session-handoff/encrypted-v2.json"),
        include_str!("../../tests/data/session-handoff/store/handoffs.json"),
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Any text is read or refused, and what is read can be archived.
        #[test]
        fn a_mangled_file_is_read_or_refused(
            which in 0..SAMPLES.len(), at in any::<prop::sample::Index>(), length in 0..40usize, put in "\\PC{0,10}|[\\[{},:\"0-9]{0,12}",
        ) {
            let sample = SAMPLES[which];
            let cut = |mut at: usize| { while !sample.is_char_boundary(at) { at -= 1 } at };
            let (start, end) = (cut(at.index(sample.len())), cut((at.index(sample.len()) + length).min(sample.len())));
            let text = format!("{}{put}{}", &sample[..start], &sample[end..]);
            let now = record::time("2026-11-16T01:00:00Z").unwrap();
            let no_passphrase = || Err(Error::failed("not asked for"));
            if let Ok(input) = Input::read(&text, now, no_passphrase) {
                for incoming in input.incoming {
                    incoming.record.check(now).unwrap();
                    let stored = Handoff::parse(&incoming.handoff.render()).unwrap();
                    prop_assert_eq!(record_of(&stored).unwrap(), incoming.record);
                }
            }
        }
    }
}
