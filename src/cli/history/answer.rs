//! How the verbs print their answers.

use serde_json::{Map, Value as Json, json};

use super::super::Context;
use crate::base::text;
use crate::handoff::{Handoff, Value};
use crate::history::Origin;

/// Prints lines, or the document with its schema if JSON is wanted.
pub(super) fn answer(context: &mut Context<'_>, as_json: bool, verb: &str, lines: &[&str], mut document: Json) {
    if as_json {
        document["schema"] = format!("agent-handover/history-{verb}/1").into();
        context.ui.answer_json(&document);
    } else {
        for line in lines {
            context.ui.answer(&text::for_model(line));
        }
    }
}

/// Prints a whole text: byte for byte, except on a terminal.
pub(super) fn answer_text(context: &mut Context<'_>, as_json: bool, verb: &str, key: &str, text: &str) {
    if as_json { answer(context, true, verb, &[], json!({ key: text })) } else { context.ui.answer_prose(text) }
}

/// Warns that a handoff is imported, and who vouches for it.
pub(super) fn warn_of_origin(context: &Context<'_>, origin: Option<&Origin>) {
    if let Some(origin) = origin {
        context.ui.warn(&origin.line());
    }
}

pub(super) fn origin_json(origin: Option<&Origin>) -> Json {
    origin.map_or(Json::Null, |origin| {
        json!({
            "signed": origin.is_verified,
            "voucher": origin.voucher(),
            "signer": origin.signer,
            "claimed_name": origin.claimed_name,
            "key": origin.key,
            "before": origin.before,
            "source": origin.source,
            "exported_at": origin.exported_at,
        })
    })
}

/// The frontmatter of a handoff by its keys.
pub(super) fn fields_json(handoff: &Handoff) -> Json {
    handoff.fields.iter().map(|field| (field.key.clone(), value_json(&field.value))).collect::<Map<_, _>>().into()
}

fn value_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(value_json).collect::<Vec<_>>().into(),
        Value::Map(pairs) => {
            pairs.iter().map(|(key, value)| (key.clone(), value_json(value))).collect::<Map<_, _>>().into()
        }
    }
}
