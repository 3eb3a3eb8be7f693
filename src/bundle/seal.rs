//! One bundle: session-handoff's versions 1 to 3, with our whole document in a field that session-handoff ignores.
//!
//! Session-handoff's signature covers the record only. Ours, beside it, covers the version, the record, the document, the time
//! of the export and the signer's name, so that no part of our bundle can be exchanged. A signed bundle must be byte for byte
//! what its writer wrote.

use serde::{Deserialize, Serialize};

use super::json;
use super::key::{PublicKey, SecretKey};
use super::record::HandoffRecord;
use crate::base::text;
use crate::error::{Category, Error, Result};

const UNSIGNED: i64 = 2;
const SIGNED: i64 = 3;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bundle {
    pub version: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
    pub record: HandoffRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer: Option<Signer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "agent_handover")]
    pub ours: Option<Ours>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Signer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    key_id: String,
    public_key: String,
}

/// The part that only this program writes and reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ours {
    /// The whole archived handoff.
    pub document: String,
    checksum: String,
    pub exported_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// Who signed a bundle. Whether the key is trusted is decided elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BundleSeal {
    /// Nobody; the text is the reason.
    Unsigned(&'static str),
    /// The owner of this key, under the name that they claim.
    Signed { key: PublicKey, name: Option<String> },
}

/// The key and the name for a signature.
pub(crate) struct SignWith<'a> {
    pub key: &'a SecretKey,
    pub name: Option<&'a str>,
}

impl Bundle {
    pub(crate) fn new(
        record: HandoffRecord,
        document: String,
        exported_at: String,
        sign: Option<&SignWith<'_>>,
    ) -> Result<Bundle> {
        let checksum = record.checksum()?;
        let ours = Ours { checksum: text::digest(document.as_bytes(), 32), document, exported_at, signature: None };
        let mut bundle = Bundle {
            version: UNSIGNED,
            checksum: Some(checksum.clone()),
            record,
            signer: None,
            signature: None,
            ours: Some(ours),
        };
        if let Some(sign) = sign {
            let public = sign.key.public();
            let name = sign.name.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
            bundle.version = SIGNED;
            bundle.signature = Some(sign.key.sign(checksum.as_bytes()));
            bundle.signer = Some(Signer { name, key_id: public.id(), public_key: public.encode() });
            let message = bundle.message(&checksum)?;
            if let Some(ours) = &mut bundle.ours {
                ours.signature = Some(sign.key.sign(message.as_bytes()));
            }
        }
        Ok(bundle)
    }

    /// The message that our own signature covers. JSON keeps its parts apart.
    fn message(&self, checksum: &str) -> Result<String> {
        let ours = self.ours.as_ref().map(|ours| (&ours.checksum, &ours.exported_at));
        let signer = self.signer.as_ref().map(|signer| (&signer.name, &signer.public_key));
        json::compact(&("agent-handover bundle 1", self.version, checksum, ours, signer))
    }

    /// The bundle as a file of its own.
    pub(crate) fn pretty(&self) -> Result<String> {
        json::pretty(self)
    }

    /// The bundle as one of many lines.
    pub(crate) fn line(&self) -> Result<String> {
        json::compact(self)
    }

    /// Reads a bundle and finds out who signed it. An inconsistent bundle is refused, whoever signed it.
    pub(crate) fn read(source: &str) -> Result<(Bundle, BundleSeal)> {
        let bundle: Bundle = json::read(source)?;
        if bundle.version == 0 {
            return Err(Error::bad_data("the bundle has no version"));
        }
        bundle.record.refuse_too_large()?;
        let checksum = bundle.check_sums()?;
        let seal = bundle.seal(&checksum)?;
        if let BundleSeal::Signed { .. } = seal {
            let source = source.strip_suffix('\n').unwrap_or(source);
            if bundle.pretty()? != source && bundle.line()? != source {
                return Err(untrusted("the bundle is signed, but it was changed or reformatted since")
                    .hint("ask for the file as it was exported"));
            }
        }
        Ok((bundle, seal))
    }

    /// Checks both checksums. Returns that of the record.
    fn check_sums(&self) -> Result<String> {
        let checksum = self.record.checksum()?;
        match &self.checksum {
            Some(stated) if *stated != checksum => {
                return Err(untrusted("the checksum does not match: the bundle was changed or cut off"));
            }
            None if self.version >= UNSIGNED => return Err(Error::bad_data("the bundle has no checksum")),
            _ => {}
        }
        match &self.ours {
            Some(ours) if ours.checksum != text::digest(ours.document.as_bytes(), 32) => {
                Err(untrusted("the checksum of the document does not match: the bundle was changed or cut off"))
            }
            _ => Ok(checksum),
        }
    }

    fn seal(&self, checksum: &str) -> Result<BundleSeal> {
        let signature = self.signature.as_deref().filter(|signature| !signature.trim().is_empty());
        let (signature, signer) = match (self.version, signature) {
            (SIGNED, Some(signature)) => {
                let signer = self.signer.as_ref();
                (signature, signer.ok_or_else(|| Error::bad_data("the bundle has a signature, but no signer"))?)
            }
            (SIGNED, None) => return Ok(BundleSeal::Unsigned("its signature is missing")),
            (1, _) => return Ok(BundleSeal::Unsigned("version 1 has neither checksum nor signature")),
            (UNSIGNED, _) => return Ok(BundleSeal::Unsigned("version 2 has a checksum, but no signature")),
            _ => return Ok(BundleSeal::Unsigned("its version is unknown, so no signature in it counts")),
        };
        let key = PublicKey::decode(&signer.public_key)?;
        if signer.key_id != key.id() {
            return Err(untrusted("the signer's key id is not that of the key"));
        }
        key.verify(checksum.as_bytes(), signature)?;
        if let Some(ours) = &self.ours {
            let signature = ours.signature.as_deref().unwrap_or_default();
            if signature.is_empty() {
                return Err(untrusted("the record is signed, but the document beside it is not"));
            }
            key.verify(self.message(checksum)?.as_bytes(), signature)?;
        }
        Ok(BundleSeal::Signed { key, name: signer.name.clone() })
    }
}

fn untrusted(message: &str) -> Error {
    Error::new(Category::Untrusted, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED_SAMPLE: &str = include_str!("../../tests/data/session-handoff/v3-signed.json");
    const ESCAPED_SAMPLE: &str = include_str!("../../tests/data/session-handoff/v3-signed-no-name-escaping.json");

    fn ours() -> (String, SecretKey) {
        let (bundle, _) = Bundle::read(SIGNED_SAMPLE).unwrap();
        let key = SecretKey::generate().unwrap();
        let sign = SignWith { key: &key, name: Some("Bob <b>") };
        let bundle = Bundle::new(
            bundle.record,
            "---\nthe: document\n---\n".to_owned(),
            "2026-11-16T01:00:00Z".to_owned(),
            Some(&sign),
        );
        (bundle.unwrap().pretty().unwrap(), key)
    }

    #[test]
    fn every_signed_sample_is_verified_and_written_again_to_the_byte() {
        for (sample, name) in [(SIGNED_SAMPLE, Some("Alice Example")), (ESCAPED_SAMPLE, None)] {
            let (bundle, seal) = Bundle::read(sample).unwrap();
            let BundleSeal::Signed { key, name: found } = seal else { panic!("{seal:?}") };
            assert_eq!((key.id().as_str(), found.as_deref()), ("4a49626ae1bfbea6", name));
            assert_eq!(bundle.pretty().unwrap() + "\n", sample);
        }
    }

    #[test]
    fn what_we_sign_is_read_again_pretty_or_on_one_line() {
        let (text, key) = ours();
        let (bundle, seal) = Bundle::read(&text).unwrap();
        assert_eq!(seal, BundleSeal::Signed { key: key.public(), name: Some("Bob <b>".to_owned()) });
        assert_eq!(Bundle::read(&bundle.line().unwrap()).unwrap(), (bundle, seal));
    }

    /// Changes every byte in many ways. Only the name in a bundle of session-handoff may change unnoticed: its signature does
    /// not cover the name, and the trust list checks it.
    #[test]
    fn any_flipped_byte_of_a_signed_bundle_is_noticed() {
        for (text, is_ours) in [(SIGNED_SAMPLE.to_owned(), false), (ESCAPED_SAMPLE.to_owned(), false), (ours().0, true)]
        {
            let (original, seal) = Bundle::read(&text).unwrap();
            let mut renamed = 0;
            for place in 0..text.len() {
                for mask in [1, 2, 4, 8, 16, 32, 64, 128, 255, 0x2a, 0x07] {
                    let mut bytes = text.as_bytes().to_vec();
                    bytes[place] ^= mask;
                    let Ok(changed) = String::from_utf8(bytes) else { continue };
                    match Bundle::read(&changed) {
                        Err(error) => assert!(matches!(error.category(), Category::Untrusted | Category::BadData)),
                        Ok((_, BundleSeal::Unsigned(_))) => {}
                        Ok((bundle, found)) => {
                            assert!(!is_ours && found != seal && bundle.record == original.record, "{place} ^ {mask}");
                            renamed += 1;
                        }
                    }
                }
            }
            assert_eq!(renamed > 0, text == SIGNED_SAMPLE);
        }
    }

    #[test]
    fn stripped_and_downgraded_bundles_are_unsigned_and_half_signed_ones_refused() {
        let change = |from: &str, to: &str| Bundle::read(&SIGNED_SAMPLE.replacen(from, to, 1));
        for version in ["1", "2", "4", "-5"] {
            let (_, seal) = change("\"version\": 3", &format!("\"version\": {version}")).unwrap();
            assert!(matches!(seal, BundleSeal::Unsigned(_)), "{version}");
        }
        let (_, seal) = change("\"signature\"", "\"signatura\"").unwrap();
        assert_eq!(seal, BundleSeal::Unsigned("its signature is missing"));
        assert!(change("\"version\": 3,", "").is_err());
        assert!(change("\"version\": 3", "\"version\": 3.0").is_err());
        assert!(change("\"checksum\"", "\"checksun\"").is_err());
        assert!(change("\"key_id\": \"4a", "\"key_id\": \"5a").is_err());
        // Somebody added a document to a signed record.
        let rider = ",\n  \"agent_handover\": {\"document\":\"x\",\"checksum\":\"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\",\"exported_at\":\"\"}\n}";
        let error =
            Bundle::read(&SIGNED_SAMPLE.trim_end().strip_suffix("\n}").map(|text| text.to_owned() + rider).unwrap())
                .unwrap_err();
        assert!(error.message().contains("the document beside it is not"), "{}", error.message());
    }
}
