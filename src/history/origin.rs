//! Where an imported handoff came from. It is kept in fields of the handoff that only an import sets.

use crate::base::text;
use crate::handoff::{Handoff, Value};

const SEAL: &str = "origin";
const SIGNER: &str = "origin_signer";
const KEY: &str = "origin_key";
const SOURCE: &str = "origin_source";
const EXPORTED_AT: &str = "origin_exported_at";
const FIELDS: [&str; 5] = [SEAL, SIGNER, KEY, SOURCE, EXPORTED_AT];

/// Where an imported handoff came from, and who vouches for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The fingerprint of the trusted key that signed it; empty if it is unsigned.
    pub key: String,
    /// The name under which that key is trusted; may be empty.
    pub signer: String,
    /// The file it was in, and its format.
    pub source: String,
    /// When it was exported, if that is known.
    pub exported_at: String,
}

impl Origin {
    /// The origin of a handoff; `None` if it was written here.
    pub(crate) fn of(handoff: &Handoff) -> Option<Origin> {
        handoff.get(SEAL)?;
        let text = |key: &str| handoff.text(key).to_owned();
        Some(Origin { key: text(KEY), signer: text(SIGNER), source: text(SOURCE), exported_at: text(EXPORTED_AT) })
    }

    /// The origin of a handoff that this user's import recorded. Whatever a handoff that came along says about its origin
    /// and its signature, nobody has checked it.
    pub(crate) fn of_own(handoff: &Handoff, is_ours: bool) -> Option<Origin> {
        Origin::of(handoff).filter(|_| is_ours)
    }

    pub(crate) fn is_signed(&self) -> bool {
        !self.key.is_empty()
    }

    /// Writes the origin into a handoff, in place of any that it states itself.
    pub(crate) fn write_to(&self, handoff: &mut Handoff) {
        remove(handoff);
        let seal = if self.is_signed() { "signed" } else { "unsigned" };
        for (key, value) in [
            (SEAL, seal),
            (SIGNER, &self.signer),
            (KEY, &self.key),
            (SOURCE, &self.source),
            (EXPORTED_AT, &self.exported_at),
        ] {
            if !value.is_empty() {
                handoff.set(key, Value::from(value));
            }
        }
    }

    /// Who vouches for it, in a few words.
    pub(crate) fn voucher(&self) -> String {
        let key = text::cut(&self.key, 16);
        match (self.is_signed(), self.signer.is_empty()) {
            (false, _) => "unsigned, nobody vouches for it".to_owned(),
            (true, true) => format!("signed by key {key}"),
            (true, false) => format!("signed by {} (key {key})", text::one_line(&self.signer, 60)),
        }
    }

    /// One sentence for whoever reads the handoff.
    pub(crate) fn line(&self) -> String {
        format!("text from outside: {}, {}", text::one_line(&self.source, 120), self.voucher())
    }
}

/// Removes the origin: the handoff is then as its author wrote it.
pub(crate) fn remove(handoff: &mut Handoff) {
    handoff.fields.retain(|field| !FIELDS.contains(&field.key.as_str()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_written_read_and_removed() {
        let mut handoff = Handoff::parse("---\nsession_id: \"a\"\norigin_signer: \"forged\"\n---\nbody\n").unwrap();
        assert_eq!(Origin::of(&handoff), None);
        let origin = Origin { source: "f.json".to_owned(), ..Origin::default() };
        origin.write_to(&mut handoff);
        assert_eq!(Origin::of(&handoff), Some(origin.clone()));
        assert_eq!(origin.line(), "text from outside: f.json, unsigned, nobody vouches for it");
        let signed = Origin { key: "ab".repeat(32), signer: "Al\nice".to_owned(), ..origin };
        signed.write_to(&mut handoff);
        assert_eq!(signed.voucher(), "signed by Al ice (key abababababababab)");
        remove(&mut handoff);
        assert_eq!(handoff.render(), "---\nsession_id: \"a\"\n---\nbody\n");
    }
}
