//! Ed25519 keys: generated, read from PEM files, and named by their fingerprints.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::base::text;
use crate::error::{Category, Error, Result};

/// A private key.
pub(crate) struct SecretKey(SigningKey);

/// A public key, which identifies a signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey(VerifyingKey);

impl SecretKey {
    pub(crate) fn generate() -> Result<SecretKey> {
        let mut seed = [0u8; 32];
        getrandom::fill(&mut seed).map_err(|cause| Error::failed("the system gives no random numbers").cause(cause))?;
        Ok(SecretKey(SigningKey::from_bytes(&seed)))
    }

    /// Reads an unencrypted PKCS#8 key, as `keygen` and `openssl genpkey -algorithm ed25519` write it.
    pub(crate) fn read(pem: &str) -> Result<SecretKey> {
        SigningKey::from_pkcs8_pem(pem).map(SecretKey).map_err(|cause| {
            Error::bad_data("this is not an ed25519 private key in an unencrypted PKCS#8 PEM file")
                .cause(cause)
                .hint("`agent-handover keygen --output FILE` makes one")
        })
    }

    /// The key as PKCS#8 version 1, which every tool reads.
    pub(crate) fn write(&self) -> Result<String> {
        let pair = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let pem = pair.to_pkcs8_pem(LineEnding::LF).map_err(|_| Error::bug("a key cannot be written as PEM"))?;
        Ok(pem.to_string())
    }

    pub(crate) fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.0.sign(message).to_bytes())
    }
}

impl PublicKey {
    /// Reads a public key, or the public half of a private one, from PEM.
    pub(crate) fn read(pem: &str) -> Result<PublicKey> {
        if let Ok(secret) = SigningKey::from_pkcs8_pem(pem) {
            return Ok(PublicKey(secret.verifying_key()));
        }
        let key = VerifyingKey::from_public_key_pem(pem)
            .map_err(|cause| Error::bad_data("this is not an ed25519 key in a PEM file").cause(cause))?;
        PublicKey(key).refuse_weak()
    }

    pub(crate) fn write(&self) -> Result<String> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|_| Error::bug("a key cannot be written as PEM"))
    }

    /// Whether a text has the form in which bundles carry a key, valid or not.
    pub(crate) fn is_form(text: &str) -> bool {
        STANDARD.decode(text).is_ok_and(|bytes| bytes.len() == 32)
    }

    /// Reads a key in the form that bundles carry.
    pub(crate) fn decode(base64: &str) -> Result<PublicKey> {
        let wrong = |what: &str| Error::bad_data(format!("the signer's public key {what}"));
        let bytes = STANDARD.decode(base64).map_err(|_| wrong("is not base64"))?;
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| wrong("has a wrong length"))?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| wrong("is not an ed25519 key"))?;
        PublicKey(key).refuse_weak()
    }

    pub(crate) fn encode(&self) -> String {
        STANDARD.encode(self.0.as_bytes())
    }

    /// Refuses keys whose signatures fit every message, and other encodings of a key, which would have another fingerprint.
    fn refuse_weak(self) -> Result<PublicKey> {
        if self.0.is_weak() || self.0.to_edwards().compress().as_bytes() != self.0.as_bytes() {
            Err(Error::bad_data("the signer's public key is weak: anybody can sign with it"))
        } else {
            Ok(self)
        }
    }

    /// The SHA-256 of the key, in hexadecimal.
    pub(crate) fn fingerprint(&self) -> String {
        text::digest(self.0.as_bytes(), 32)
    }

    /// The beginning of the fingerprint, by which bundles name a key.
    pub(crate) fn id(&self) -> String {
        text::digest(self.0.as_bytes(), 8)
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &str) -> Result<()> {
        let wrong = |what: &str| Error::bad_data(format!("the signature {what}"));
        let bytes = STANDARD.decode(signature).map_err(|_| wrong("is not base64"))?;
        let bytes: [u8; 64] = bytes.try_into().map_err(|_| wrong("has a wrong length"))?;
        self.0.verify_strict(message, &Signature::from_bytes(&bytes)).map_err(|_| {
            Error::new(
                Category::Untrusted,
                "the signature does not match: the bundle was changed, or it was signed with another key",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../../tests/data/session-handoff/signer-public-key.pem");

    #[test]
    fn keys_survive_writing_and_reading() {
        let key = SecretKey::generate().unwrap();
        let pem = key.write().unwrap();
        assert!(
            pem.starts_with(concat!("-----BEGIN PRIV", "ATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI")),
            "not the first version"
        );
        assert_eq!(SecretKey::read(&pem).unwrap().public(), key.public());
        assert_eq!(PublicKey::read(&pem).unwrap(), key.public());
        assert_eq!(PublicKey::read(&key.public().write().unwrap()).unwrap(), key.public());
        assert_eq!(PublicKey::decode(&key.public().encode()).unwrap(), key.public());
        // The second version, with the public key in it.
        let second = key.0.to_pkcs8_pem(LineEnding::LF).unwrap();
        assert_ne!(second.as_str(), pem);
        assert_eq!(SecretKey::read(&second).unwrap().public(), key.public());
    }

    #[test]
    fn a_key_of_session_handoff_has_the_same_id_here() {
        let key = PublicKey::read(SAMPLE).unwrap();
        assert_eq!(key.id(), "4a49626ae1bfbea6");
        assert!(key.fingerprint().starts_with(&key.id()) && key.fingerprint().len() == 64);
    }

    #[test]
    fn invalid_and_weak_keys_are_refused() {
        for pem in [
            "",
            "x",
            SAMPLE,
            concat!("-----BEGIN ENCRYPTED PRIV", "ATE KEY-----\nMC4=\n-----END ENCRYPTED PRIV", "ATE KEY-----\n"),
        ] {
            assert!(SecretKey::read(pem).is_err());
        }
        assert!(PublicKey::read("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n").is_err());
        for base64 in ["", "!", &STANDARD.encode([1u8; 31]), &STANDARD.encode([0u8; 32]), &STANDARD.encode([255u8; 32])]
        {
            assert!(PublicKey::decode(base64).is_err(), "{base64}");
        }
        // The neutral element: its signature fits every message.
        let mut neutral = [0u8; 32];
        neutral[0] = 1;
        assert!(PublicKey::decode(&STANDARD.encode(neutral)).is_err());
    }

    #[test]
    fn a_signature_fits_only_its_message_and_key() {
        let (key, other) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        let signature = key.sign(b"message");
        assert!(key.public().verify(b"message", &signature).is_ok());
        assert!(key.public().verify(b"messagf", &signature).is_err());
        assert!(other.public().verify(b"message", &signature).is_err());
        for wrong in ["", "AAAA", &signature[1..]] {
            assert!(key.public().verify(b"message", wrong).is_err());
        }
    }
}
