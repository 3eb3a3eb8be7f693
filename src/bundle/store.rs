//! Session-handoff's store, read record by record: whatever else a file has is passed over, not held in memory.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::record::HandoffRecord;

/// The most handoffs in a file. Each takes about 12 KB of memory besides its text, and a file that is synced to the disk.
pub(crate) const MAX_RECORDS: usize = 10_000;

/// Session-handoff's own file of records.
#[derive(Deserialize)]
pub(super) struct StoreJson {
    #[serde(deserialize_with = "items")]
    pub items: StoreItems,
}

/// The items of a store.
#[derive(Default)]
pub(super) struct StoreItems {
    /// The first [`MAX_RECORDS`] of them.
    pub first: Vec<Result<HandoffRecord, String>>,
    pub count: usize,
}

/// Reads the items. Those that are too many are only counted.
fn items<'de, D: Deserializer<'de>>(source: D) -> Result<StoreItems, D::Error> {
    struct ItemsVisitor;

    impl<'de> Visitor<'de> for ItemsVisitor {
        type Value = StoreItems;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list of records")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Self::Value, A::Error> {
            let mut items = StoreItems::default();
            while items.count < MAX_RECORDS {
                let Some(StoreItem(record)) = source.next_element()? else { return Ok(items) };
                items.first.push(record);
                items.count += 1;
            }
            while source.next_element::<IgnoredAny>()?.is_some() {
                items.count += 1;
            }
            Ok(items)
        }
    }

    source.deserialize_seq(ItemsVisitor)
}

/// One item of a store. An item that is not a record does not spoil the others.
struct StoreItem(Result<HandoffRecord, String>);

impl<'de> Deserialize<'de> for StoreItem {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<StoreItem, D::Error> {
        source.deserialize_any(ItemVisitor).map(StoreItem)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Result<HandoffRecord, String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut draft = RecordDraft::default();
        while let Some(key) = fields.next_key::<String>()? {
            match key.as_str() {
                "id" => draft.set(0, &key, fields.next_value()?),
                "created_at" => draft.set(1, &key, fields.next_value()?),
                "tool" => draft.set(2, &key, fields.next_value()?),
                "project" => draft.set(3, &key, fields.next_value()?),
                "title" => draft.set(4, &key, fields.next_value()?),
                "summary" => draft.set(5, &key, fields.next_value()?),
                "next" => draft.next = draft.list(draft.next.is_some(), &key, fields.next_value()?),
                "changed" => draft.changed = draft.list(draft.changed.is_some(), &key, fields.next_value()?),
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(draft.finish())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Err("it is a list".to_owned()))
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Err("it is a text".to_owned()))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Err("it is a boolean".to_owned()))
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Err("it is a number".to_owned()))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Err("it is a number".to_owned()))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Err("it is a number".to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Err("it is null".to_owned()))
    }
}

/// The fields of a record as far as they are read, and the first thing that is wrong with it.
#[derive(Default)]
struct RecordDraft {
    /// In the order of the canonical form.
    texts: [Option<String>; 6],
    next: Option<Option<Vec<String>>>,
    changed: Option<Option<Vec<String>>>,
    wrong: Option<String>,
}

impl RecordDraft {
    fn set(&mut self, at: usize, key: &str, value: Lenient) {
        match value {
            _ if self.texts[at].is_some() => self.refuse(format!("it has `{key}` twice")),
            Lenient::Text(text) => self.texts[at] = Some(text),
            _ => self.refuse(format!("its `{key}` is not a text")),
        }
    }

    /// A list field. `is_set` says whether the item had it already.
    fn list(&mut self, is_set: bool, key: &str, value: Lenient) -> Option<Option<Vec<String>>> {
        match value {
            _ if is_set => self.refuse(format!("it has `{key}` twice")),
            Lenient::List(texts) => return Some(Some(texts)),
            Lenient::Null => return Some(None),
            _ => self.refuse(format!("its `{key}` is not a list of texts")),
        }
        Some(None)
    }

    fn refuse(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }

    fn finish(self) -> Result<HandoffRecord, String> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let [Some(id), Some(created_at), Some(tool), Some(project), Some(title), Some(summary)] = self.texts else {
            return Err("it lacks a field that every record has".to_owned());
        };
        let (next, changed) = (self.next.flatten(), self.changed.flatten());
        Ok(HandoffRecord { id, created_at, tool, project, title, summary, next, changed })
    }
}

/// The value of a field that a record has: a text, a list of texts or null. Anything else is passed over.
enum Lenient {
    Text(String),
    List(Vec<String>),
    Null,
    Other,
}

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Lenient, D::Error> {
        source.deserialize_any(LenientVisitor)
    }
}

struct LenientVisitor;

impl<'de> Visitor<'de> for LenientVisitor {
    type Value = Lenient;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Lenient, E> {
        Ok(Lenient::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Lenient, E> {
        Ok(Lenient::Text(text))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Lenient, E> {
        Ok(Lenient::Null)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Lenient, E> {
        Ok(Lenient::Other)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Lenient, E> {
        Ok(Lenient::Other)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Lenient, E> {
        Ok(Lenient::Other)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Lenient, E> {
        Ok(Lenient::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Lenient, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Lenient::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Lenient, A::Error> {
        let (mut texts, mut is_other) = (Vec::new(), false);
        while let Some(item) = items.next_element::<Lenient>()? {
            match item {
                Lenient::Text(text) if !is_other => texts.push(text),
                _ => is_other = true,
            }
        }
        Ok(if is_other { Lenient::Other } else { Lenient::List(texts) })
    }
}
