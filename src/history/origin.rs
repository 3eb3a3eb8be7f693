//! Where an imported handoff came from.
//!
//! An import writes it into fields of the handoff. A file can state anything, so those fields are claims. That a signature was
//! verified is in the user's own record, and only that record makes a signature count.

use super::own_keys;
use crate::base::text;
use crate::guard::Voucher;
use crate::guard::own_record::OwnKey;
use crate::handoff::{Handoff, Value};

/// The mark before a text of an imported handoff.
pub(crate) const FROM_OUTSIDE: &str = "[from outside] ";

const SEAL: &str = "origin";
const SIGNER: &str = "origin_signer";
const CLAIMED_NAME: &str = "origin_claimed_name";
const KEY: &str = "origin_key";
const SOURCE: &str = "origin_source";
const EXPORTED_AT: &str = "origin_exported_at";
const BEFORE: &str = "origin_before";
const FIELDS: [&str; 7] = [SEAL, SIGNER, CLAIMED_NAME, KEY, SOURCE, EXPORTED_AT, BEFORE];
/// How many earlier origins a handoff keeps, the newest ones.
const MOST_BEFORE: usize = 8;

/// Where an imported handoff came from, and who vouches for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The fingerprint of the trusted key that signed it; empty if it is unsigned.
    pub key: String,
    /// The name under which that key is trusted; may be empty.
    pub signer: String,
    /// The name that the bundle claims, if the key is trusted without a name.
    pub claimed_name: String,
    /// The file it was in, and its format.
    pub source: String,
    /// When it was exported, if that is known.
    pub exported_at: String,
    /// What the document said about its origin when it arrived, the newest first: claims of whoever exported it.
    pub before: Vec<String>,
    /// The user's own record has that the signature was verified here.
    pub is_verified: bool,
}

impl Origin {
    /// The origin that a handoff states; `None` if it was written here.
    pub(crate) fn of(handoff: &Handoff) -> Option<Origin> {
        handoff.get(SEAL)?;
        let text = |key: &str| handoff.text(key).to_owned();
        Some(Origin {
            key: text(KEY),
            signer: text(SIGNER),
            claimed_name: text(CLAIMED_NAME),
            source: text(SOURCE),
            exported_at: text(EXPORTED_AT),
            before: handoff.texts(BEFORE).into_iter().take(MOST_BEFORE).map(str::to_owned).collect(),
            is_verified: false,
        })
    }

    /// The origin of a handoff of this user, and whether its signature was verified here. `document` is the key of the
    /// archive. A handoff that came along has none: nobody has checked what it says about itself.
    pub(crate) fn of_own(handoff: &Handoff, document: &OwnKey, voucher: &Voucher) -> Option<Origin> {
        let mut origin = Origin::of(handoff)?;
        origin.is_verified = origin.was_verified(handoff, document, voucher);
        (origin.is_verified || voucher.owns(document, "")).then_some(origin)
    }

    /// Whether this user's own record has that the signature of this archive was verified.
    pub(super) fn was_verified(&self, handoff: &Handoff, document: &OwnKey, voucher: &Voucher) -> bool {
        self.is_signed() && voucher.wrote(&own_keys::of_signature(handoff, document, &self.key))
    }

    /// Whether it states a signature.
    pub(crate) fn is_signed(&self) -> bool {
        !self.key.is_empty()
    }

    /// What a document that arrives says about its origin.
    pub(crate) fn stated_before(handoff: &Handoff) -> Vec<String> {
        let Some(origin) = Origin::of(handoff) else { return Vec::new() };
        let last = format!("{}, {}", text::one_line(&origin.source, 120), origin.stated());
        let earlier = origin.before.iter().map(|line| text::one_line(line, 300));
        std::iter::once(last).chain(earlier).take(MOST_BEFORE).collect()
    }

    /// Writes the origin into a handoff, in place of any that it states itself.
    pub(crate) fn write_to(&self, handoff: &mut Handoff) {
        remove(handoff);
        let seal = if self.is_signed() { "signed" } else { "unsigned" };
        for (key, value) in [
            (SEAL, seal),
            (SIGNER, &self.signer),
            (CLAIMED_NAME, &self.claimed_name),
            (KEY, &self.key),
            (SOURCE, &self.source),
            (EXPORTED_AT, &self.exported_at),
        ] {
            if !value.is_empty() {
                handoff.set(key, Value::from(value));
            }
        }
        if !self.before.is_empty() {
            handoff.set(BEFORE, Value::List(self.before.iter().map(|line| Value::from(line.as_str())).collect()));
        }
    }

    /// Who vouches for it according to its fields, in a few words.
    pub(crate) fn stated(&self) -> String {
        let key = text::cut(&self.key, 16);
        let (signer, claimed) = (text::one_line(&self.signer, 60), text::one_line(&self.claimed_name, 60));
        match (self.is_signed(), signer.is_empty(), claimed.is_empty()) {
            (false, _, _) => "unsigned, nobody vouches for it".to_owned(),
            (true, false, _) => format!("signed by {signer} (key {key})"),
            (true, true, true) => format!("signed by key {key}"),
            (true, true, false) => format!("signed by key {key}, whose owner claims the name `{claimed}`"),
        }
    }

    /// Who vouches for it, in a few words.
    pub(crate) fn voucher(&self) -> String {
        if self.is_verified || !self.is_signed() { self.stated() } else { self.claim() }
    }

    /// Its fields as the claim that they are.
    fn claim(&self) -> String {
        if self.is_signed() {
            format!("a file claims that it is {}; this user verified no signature", self.stated())
        } else {
            self.stated()
        }
    }

    /// One sentence for whoever reads the handoff.
    pub(crate) fn line(&self) -> String {
        let before =
            self.before.first().map(|before| format!("; before that, it says: {}", text::one_line(before, 200)));
        let source = text::one_line(&self.source, 120);
        format!("text from outside: {source}, {}{}", self.voucher(), before.unwrap_or_default())
    }

    /// Like [`Origin::line`], for a file, which cannot know what was verified.
    pub(crate) fn line_in_file(&self) -> String {
        format!("text from outside: {}, {}", text::one_line(&self.source, 120), self.claim())
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
        let origin = Origin { source: "f.json".to_owned(), before: vec!["g.json, x".to_owned()], ..Origin::default() };
        origin.write_to(&mut handoff);
        assert_eq!(Origin::of(&handoff), Some(origin.clone()));
        assert_eq!(
            origin.line(),
            "text from outside: f.json, unsigned, nobody vouches for it; before that, it says: g.json, x"
        );
        assert_eq!(
            Origin::stated_before(&handoff),
            ["f.json, unsigned, nobody vouches for it".to_owned(), "g.json, x".to_owned()]
        );
        let signed = Origin { key: "ab".repeat(32), signer: "Al\nice".to_owned(), ..origin };
        signed.write_to(&mut handoff);
        remove(&mut handoff);
        assert_eq!(handoff.render(), "---\nsession_id: \"a\"\n---\nbody\n");
    }

    #[test]
    fn a_signature_that_nobody_verified_here_is_shown_as_a_claim() {
        let stated = Origin { key: "ab".repeat(32), signer: "Al\nice".to_owned(), ..Origin::default() };
        assert_eq!(
            stated.voucher(),
            "a file claims that it is signed by Al ice (key abababababababab); this user verified no signature"
        );
        assert_eq!(Origin { is_verified: true, ..stated.clone() }.voucher(), "signed by Al ice (key abababababababab)");
        let unnamed = Origin { signer: String::new(), claimed_name: "Bob".to_owned(), is_verified: true, ..stated };
        assert_eq!(unnamed.voucher(), "signed by key abababababababab, whose owner claims the name `Bob`");
    }
}
