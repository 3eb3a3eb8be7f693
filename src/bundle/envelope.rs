//! The encrypted envelope: a text encrypted with a passphrase, by scrypt and AES-256-GCM.

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::json;
use crate::error::{Category, Error, Result};

const VERSION: i64 = 1;
const ALGORITHM: &str = "aes-256-gcm";
const SALT: usize = 16;
const NONCE: usize = 12;
const TAG: usize = 16;
/// The most memory that scrypt may use for a stranger's file: 256 MiB, eight times the cost that we write.
const MAX_COST: u64 = 256 << 20;
/// The lowest cost to accept. A lower one protects nothing, so no tool writes it.
const MIN_LOG_N: u32 = 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeJson {
    version: i64,
    algorithm: String,
    kdf: String,
    salt: String,
    nonce: String,
    ciphertext: String,
}

/// The cost parameters of scrypt.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cost {
    log_n: u8,
    r: u32,
    p: u32,
}

/// The cost that we and session-handoff write.
const COST: Cost = Cost { log_n: 15, r: 8, p: 1 };

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    cost: Cost,
    salt: [u8; SALT],
    nonce: [u8; NONCE],
    ciphertext: Vec<u8>,
}

/// A key derived from a passphrase.
pub(crate) struct EnvelopeKey([u8; 32]);

impl Envelope {
    /// Reads an envelope and checks its parameters. Decrypts nothing yet.
    pub(crate) fn parse(text: &str) -> Result<Envelope> {
        let fields: EnvelopeJson = json::read(text)?;
        let wrong = |what: &str| Error::bad_data(format!("the encrypted bundle cannot be read: {what}"));
        if fields.version != VERSION {
            return Err(wrong(&format!("its version is {}, not {VERSION}", fields.version)));
        }
        if fields.algorithm != ALGORITHM {
            return Err(wrong(&format!("its algorithm is not {ALGORITHM}")));
        }
        let cost = Cost::parse(&fields.kdf)
            .ok_or_else(|| wrong("its kdf is not `scrypt(N=…,r=…,p=…)` with an acceptable cost"))?;
        let decode =
            |name: &str, text: &str| STANDARD.decode(text).map_err(|_| wrong(&format!("its {name} is not base64")));
        let envelope = Envelope {
            cost,
            salt: decode("salt", &fields.salt)?.try_into().map_err(|_| wrong("its salt has a wrong length"))?,
            nonce: decode("nonce", &fields.nonce)?.try_into().map_err(|_| wrong("its nonce has a wrong length"))?,
            ciphertext: decode("ciphertext", &fields.ciphertext)?,
        };
        if envelope.ciphertext.len() < TAG {
            return Err(wrong("its ciphertext is too short"));
        }
        // An envelope has exactly one form. Any difference, even in white space, means that it was changed on the way.
        if envelope.render()? != text.strip_suffix('\n').unwrap_or(text) {
            return Err(wrong("it was changed or reformatted since it was written"));
        }
        Ok(envelope)
    }

    pub(crate) fn render(&self) -> Result<String> {
        json::pretty(&EnvelopeJson {
            version: VERSION,
            algorithm: ALGORITHM.to_owned(),
            kdf: self.cost.render(),
            salt: STANDARD.encode(self.salt),
            nonce: STANDARD.encode(self.nonce),
            ciphertext: STANDARD.encode(&self.ciphertext),
        })
    }

    /// Derives the key. This is slow by design.
    pub(crate) fn key(&self, passphrase: &str) -> Result<EnvelopeKey> {
        derive(&self.cost, passphrase, &self.salt)
    }

    pub(crate) fn open(&self, key: &EnvelopeKey) -> Result<String> {
        let plain = Aes256Gcm::new(&key.0.into()).decrypt(&Nonce::from(self.nonce), self.ciphertext.as_slice());
        let plain = plain.map_err(|_| {
            Error::new(
                Category::Untrusted,
                "the bundle does not open: the passphrase is wrong, or the bundle was changed",
            )
        })?;
        String::from_utf8(plain).map_err(|_| Error::bad_data("the content of the encrypted bundle is not UTF-8 text"))
    }

    /// Encrypts a text with a passphrase, a new salt and a new nonce.
    pub(crate) fn seal(plain: &str, passphrase: &str) -> Result<Envelope> {
        let (mut salt, mut nonce) = ([0u8; SALT], [0u8; NONCE]);
        for random in [&mut salt[..], &mut nonce[..]] {
            getrandom::fill(random)
                .map_err(|cause| Error::failed("the system gives no random numbers").cause(cause))?;
        }
        let key = derive(&COST, passphrase, &salt)?;
        let ciphertext = Aes256Gcm::new(&key.0.into())
            .encrypt(&Nonce::from(nonce), plain.as_bytes())
            .map_err(|_| Error::failed("the bundle is too large to be encrypted"))?;
        Ok(Envelope { cost: COST, salt, nonce, ciphertext })
    }
}

fn derive(cost: &Cost, passphrase: &str, salt: &[u8]) -> Result<EnvelopeKey> {
    let bug = |_| Error::bug("scrypt does not take parameters that were checked");
    let params = scrypt::Params::new(cost.log_n, cost.r, cost.p).map_err(bug)?;
    let mut key = [0u8; 32];
    scrypt::scrypt(passphrase.as_bytes(), salt, &params, &mut key)
        .map_err(|_| Error::bug("scrypt does not make keys of this length"))?;
    Ok(EnvelopeKey(key))
}

impl Cost {
    fn parse(text: &str) -> Option<Cost> {
        let inner = text.strip_prefix("scrypt(N=")?.strip_suffix(')')?;
        let (n, rest) = inner.split_once(",r=")?;
        let (r, p) = rest.split_once(",p=")?;
        let (n, r, p): (u64, u32, u32) = (n.parse().ok()?, r.parse().ok()?, p.parse().ok()?);
        let cost = n.checked_mul(128)?.checked_mul(u64::from(r))?.checked_mul(u64::from(p))?;
        let is_sane = n.is_power_of_two() && n.ilog2() >= MIN_LOG_N && r > 0 && p > 0 && cost <= MAX_COST;
        is_sane.then_some(Cost { log_n: u8::try_from(n.ilog2()).ok()?, r, p })
    }

    fn render(&self) -> String {
        format!("scrypt(N={},r={},p={})", 1u64 << self.log_n, self.r, self.p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../../tests/data/session-handoff/encrypted-v2.json");

    #[test]
    fn an_envelope_opens_only_with_its_passphrase() {
        let envelope = Envelope::seal("text ü", "päss wörd").unwrap();
        let again = Envelope::parse(&envelope.render().unwrap()).unwrap();
        assert_eq!(again, envelope);
        assert_eq!(again.open(&again.key("päss wörd").unwrap()).unwrap(), "text ü");
        let error = again.open(&again.key("päss wörd ").unwrap()).unwrap_err();
        assert_eq!(error.category(), Category::Untrusted);
    }

    #[test]
    fn absurd_costs_lengths_and_algorithms_are_refused_before_any_work() {
        let good: EnvelopeJson = json::read(SAMPLE).unwrap();
        let short = STANDARD.encode([0u8; 11]);
        let long = STANDARD.encode([0u8; 64]);
        type Change<'a> = Box<dyn Fn(&mut EnvelopeJson) + 'a>;
        let kdf = |kdf: &'static str| -> Change<'_> { Box::new(move |text| text.kdf = kdf.to_owned()) };
        let changes: Vec<Change<'_>> = vec![
            kdf("scrypt(N=1073741824,r=8,p=1)"),
            kdf("scrypt(N=32768,r=4294967295,p=1)"),
            kdf("scrypt(N=32768,r=8,p=1000000)"),
            kdf("scrypt(N=18446744073709551615,r=8,p=1)"),
            kdf("scrypt(N=9223372036854775808,r=8,p=1)"),
            kdf("scrypt(N=2,r=8,p=1)"),
            kdf("scrypt(N=32767,r=8,p=1)"),
            kdf("scrypt(N=032768,r=8,p=1)"),
            kdf("scrypt(N=+32768,r=8,p=1)"),
            kdf("scrypt(N=32768,r=0,p=1)"),
            kdf("argon2id"),
            Box::new(|text| text.algorithm = "none".to_owned()),
            Box::new(|text| text.version = 2),
            Box::new(|text| text.nonce = short.clone()),
            Box::new(|text| text.nonce = long.clone()),
            Box::new(|text| text.nonce = String::new()),
            Box::new(|text| text.salt = short.clone()),
            Box::new(|text| text.ciphertext = short.clone()),
            Box::new(|text| text.ciphertext = text.ciphertext.trim_end_matches('=').to_owned() + "A"),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut text = good.clone();
            change(&mut text);
            let error = Envelope::parse(&json::pretty(&text).unwrap()).unwrap_err();
            assert_eq!(error.category(), Category::BadData, "{number}");
        }
    }

    /// Each bit, the case of a letter with its neighbours, and all bits at once.
    const MASKS: [u8; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 255, 0x2a, 0x07];

    /// Every byte, changed in many ways: the envelope is refused, or it does not open.
    #[test]
    fn any_flipped_byte_is_noticed() {
        let original = Envelope::parse(SAMPLE).unwrap();
        let key = original.key("correct horse battery staple").unwrap();
        assert!(original.open(&key).unwrap().starts_with("{\n  \"version\": 2,"));
        let mut derived = 0;
        for place in 0..SAMPLE.len() {
            for mask in MASKS {
                let mut bytes = SAMPLE.as_bytes().to_vec();
                bytes[place] ^= mask;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let Ok(changed) = Envelope::parse(&text) else { continue };
                if changed.cost == original.cost && changed.salt == original.salt {
                    assert!(changed.open(&key).is_err(), "{place} ^ {mask}");
                } else if derived < 3 {
                    // Another salt gives another key. Deriving one for each change would take minutes.
                    derived += 1;
                    assert!(changed.open(&changed.key("correct horse battery staple").unwrap()).is_err());
                }
            }
        }
        assert_eq!(derived, 3);
    }
}
