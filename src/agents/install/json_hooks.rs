//! Hooks in a JSON settings file. Comments, order, indentation and line ends stay as they are, existing entries are kept, and
//! a file that cannot be parsed is not changed.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::agent_file::{HookShape, Hooks, JsonDialect, OurPart};
use super::program;

const HOOKS: &str = "hooks";
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why a settings file cannot be edited, and the bytes at fault, if known.
#[derive(Debug)]
pub(crate) struct SyntaxProblem {
    pub message: String,
    pub at: Option<std::ops::Range<usize>>,
}

type Result<T> = std::result::Result<T, SyntaxProblem>;

/// The text with our hooks in it.
pub(crate) fn with(text: &str, hooks: &Hooks) -> Result<String> {
    edit(text, |root| {
        let Some(top) = root.object_value_or_create() else { return Err(wrong("the whole file", "an object")) };
        if let Some((key, value)) = &hooks.top
            && only(&top, key)?.is_none()
        {
            top.append(key, input(value));
        }
        let key = hooks.shape.key();
        let all = match object(&top, key)? {
            Some(all) => all,
            None => top.object_value_or_set(key),
        };
        for (event, handler) in &hooks.entries {
            let list = match array(&all, event)? {
                Some(list) => list,
                None => all.array_value_or_set(event),
            };
            let mut ours = handlers(&list, hooks.shape).into_iter().filter(|found| own(found).is_some());
            match ours.next() {
                Some(first) => update(&first, handler),
                None => drop(list.append(input(&entry(hooks, event, handler)))),
            }
            // Older versions may have left more than one of ours.
            ours.for_each(|extra| remove(extra, &list, hooks.shape));
        }
        // And they may have asked for an event that is not wanted any more.
        // Events with a matcher stay: another project may have asked for them.
        let is_wanted = |name: &str| {
            hooks.entries.iter().any(|(event, _)| *event == name)
                || hooks.matchers.iter().any(|(event, _)| *event == name)
        };
        for event in all.properties() {
            if event.decoded_name().is_some_and(|name| !is_wanted(&name)) {
                remove_ours(event, hooks.shape);
            }
        }
        Ok(())
    })
}

/// The text without our hooks, and without lists and groups that held nothing else.
pub(crate) fn without(text: &str, hooks: &Hooks) -> Result<String> {
    edit(text, |root| {
        let Some(top) = root.object_value() else { return Ok(()) };
        let Some(all) = object(&top, hooks.shape.key())? else { return Ok(()) };
        let mut removed = false;
        for event in all.properties() {
            removed |= remove_ours(event, hooks.shape);
        }
        if removed
            && all.properties().is_empty()
            && !has_comment(&all.children())
            && let Some(property) = top.get(hooks.shape.key())
        {
            property.remove();
        }
        Ok(())
    })
}

/// Takes our handlers out of an event, and the event out if it held nothing else. Returns whether one was there.
fn remove_ours(event: CstObjectProp, shape: HookShape) -> bool {
    let Some(list) = event.array_value() else { return false };
    let ours: Vec<CstObject> = handlers(&list, shape).into_iter().filter(|found| own(found).is_some()).collect();
    if ours.is_empty() {
        return false;
    }
    ours.into_iter().for_each(|handler| remove(handler, &list, shape));
    if list.elements().is_empty() && !has_comment(&list.children()) {
        event.remove();
    }
    true
}

/// Whether the text has nothing that somebody else could have written.
pub(crate) fn is_bare(text: &str, hooks: &Hooks) -> bool {
    let Ok(root) = parse(text) else { return false };
    let Some(top) = root.object_value() else { return text.trim().is_empty() };
    let is_ours = |name: Option<String>| hooks.top.as_ref().is_some_and(|(key, _)| name.as_deref() == Some(key));
    top.properties().iter().all(|property| is_ours(property.decoded_name()))
        && !has_comment(&top.children())
        && !has_comment(&root.children())
}

/// Our hooks in the text, and the programs that they start.
pub(crate) fn look(text: &str, hooks: &Hooks) -> OurPart {
    let mut seen = OurPart::default();
    let key = hooks.shape.key();
    let Some(all) = parse(text).ok().and_then(|root| root.object_value()?.object_value(key)) else { return seen };
    for event in all.properties() {
        let (Some(name), Some(list)) = (event.decoded_name(), event.array_value()) else { continue };
        let owners: Vec<Option<String>> = handlers(&list, hooks.shape).iter().map(own).collect();
        let first = owners.iter().position(Option::is_some).unwrap_or(owners.len());
        seen.is_followed |= owners[first..].iter().any(Option::is_none);
        for program in owners.into_iter().flatten() {
            seen.events.push(name.clone());
            seen.programs.push(program);
        }
    }
    seen.events.dedup();
    seen
}

/// Whether an agent that accepts this dialect can parse the text. An empty file counts as no settings.
pub(crate) fn check(text: &str, dialect: JsonDialect) -> Result<()> {
    let mark = text.len() - text.trim_start_matches(BYTE_ORDER_MARK).len();
    let body = &text[mark..];
    if body.trim().is_empty() {
        return Ok(());
    }
    let options = ParseOptions {
        allow_comments: dialect != JsonDialect::Strict,
        allow_trailing_commas: dialect == JsonDialect::CommentsAndTrailingCommas,
        ..OPTIONS
    };
    let parsed = jsonc_parser::parse_to_ast(body, &jsonc_parser::CollectOptions::default(), &options);
    parsed.map(drop).map_err(|cause| {
        let range = cause.range();
        let message = format!("this is not JSON: {}", cause.kind());
        SyntaxProblem { message, at: place(range.start..range.end).map(|at| at.start + mark..at.end + mark) }
    })
}

/// The value at this path of keys, as JSON.
pub(crate) fn value(text: &str, keys: &[&str]) -> Option<String> {
    let mut object = parse(text).ok()?.object_value()?;
    let (last, way) = keys.split_last()?;
    for key in way {
        object = object.object_value(key)?;
    }
    object.get(last)?.value().map(|value| value.to_string())
}

/// The names of the top-level keys.
pub(crate) fn keys(text: &str) -> Vec<String> {
    let top = parse(text).ok().and_then(|root| root.object_value());
    top.map(|top| top.properties().iter().filter_map(|p| p.decoded_name()).collect()).unwrap_or_default()
}

pub(super) fn edit(text: &str, change: impl FnOnce(&CstRootNode) -> Result<()>) -> Result<String> {
    let (mark, body) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(body) => (BYTE_ORDER_MARK.to_string(), body),
        None => (String::new(), text),
    };
    let shifted = |problem: SyntaxProblem| {
        let shift = |at: std::ops::Range<usize>| {
            if at.is_empty() { at } else { at.start + mark.len()..at.end + mark.len() }
        };
        SyntaxProblem { at: problem.at.map(shift), ..problem }
    };
    let root = parse(body).map_err(shifted)?;
    change(&root)?;
    Ok(format!("{mark}{root}"))
}

/// The most that any agent accepts.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_extended_string_escapes: false,
    allow_non_finite_numbers: false,
};

pub(super) fn parse(text: &str) -> Result<CstRootNode> {
    CstRootNode::parse(text.trim_start_matches(BYTE_ORDER_MARK), &OPTIONS).map_err(|cause| {
        let range = cause.range();
        SyntaxProblem { message: format!("this is not JSON: {}", cause.kind()), at: place(range.start..range.end) }
    })
}

/// The place of a problem. Parsers report `0..0` if they do not know it.
pub(crate) fn place(range: std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
    (range != (0..0)).then_some(range)
}

pub(super) fn wrong(what: &str, expected: &str) -> SyntaxProblem {
    SyntaxProblem { message: format!("{what} should be {expected}"), at: None }
}

/// The value of a key. Two properties of the same name are refused, because programs differ on which one counts.
pub(super) fn only(object: &CstObject, key: &str) -> Result<Option<CstNode>> {
    let mut found = object.properties().into_iter().filter(|p| p.decoded_name().as_deref() == Some(key));
    let first = found.next();
    match found.next() {
        Some(_) => Err(SyntaxProblem { message: format!("`{key}` is there twice"), at: None }),
        None => Ok(first.and_then(|property| property.value())),
    }
}

pub(super) fn object(parent: &CstObject, key: &str) -> Result<Option<CstObject>> {
    match only(parent, key)? {
        None => Ok(None),
        Some(node) => node.as_object().map(Some).ok_or_else(|| wrong(&format!("`{key}`"), "an object")),
    }
}

fn array(parent: &CstObject, key: &str) -> Result<Option<CstArray>> {
    match only(parent, key)? {
        None => Ok(None),
        Some(node) => node.as_array().map(Some).ok_or_else(|| wrong(&format!("`{key}`"), "a list")),
    }
}

/// All handlers of one event, ours and others'.
fn handlers(list: &CstArray, shape: HookShape) -> Vec<CstObject> {
    let entries = list.elements().into_iter().filter_map(|element| element.as_object());
    match shape {
        HookShape::Flat | HookShape::Named => entries.collect(),
        HookShape::Groups => entries.filter_map(|group| group.array_value(HOOKS)).flat_map(|g| objects(&g)).collect(),
    }
}

fn objects(list: &CstArray) -> Vec<CstObject> {
    list.elements().into_iter().filter_map(|element| element.as_object()).collect()
}

/// The program that our handler starts. `None` if the handler is not ours.
fn own(handler: &CstObject) -> Option<String> {
    let arguments: Vec<String> =
        handler.array_value("args").map(|list| list.elements().iter().filter_map(string).collect()).unwrap_or_default();
    let lines = ["command", "exec", "bash"].into_iter().filter_map(|key| string(&handler.get(key)?.value()?));
    lines.into_iter().find_map(|line| program::own(&line, &arguments))
}

fn string(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}

/// Updates our handler. Its command is replaced; other settings of the user stay.
fn update(handler: &CstObject, wanted: &Value) {
    for (key, value) in wanted.as_object().into_iter().flatten() {
        match handler.get(key) {
            None => drop(handler.append(key, input(value))),
            Some(property) if key == "command" => {
                if property.value().as_ref().and_then(string).as_deref() != value.as_str() {
                    property.set_value(input(value));
                }
            }
            Some(_) => {}
        }
    }
    for other in ["args", "exec", "bash"] {
        if let Some(property) = handler.get(other) {
            property.remove();
        }
    }
}

fn remove(handler: CstObject, list: &CstArray, shape: HookShape) {
    let group = match shape {
        HookShape::Flat | HookShape::Named => None,
        HookShape::Groups => list.elements().into_iter().filter_map(|element| element.as_object()).find(|group| {
            group.array_value(HOOKS).is_some_and(|inner| objects(&inner).iter().any(|o| same(o, &handler)))
        }),
    };
    handler.remove();
    if let Some(group) = group
        && let Some(inner) = group.array_value(HOOKS)
        && inner.elements().is_empty()
        && !has_comment(&inner.children())
        && !has_comment(&group.children())
    {
        group.remove();
    }
}

/// Whether both are the same node of the tree, rather than two nodes with the same text.
fn same(one: &CstObject, other: &CstObject) -> bool {
    let place = |object: &CstObject| {
        let mut way = vec![object.child_index()];
        way.extend(object.ancestors().filter(|node| !node.is_root()).map(|node| CstNode::from(node).child_index()));
        way
    };
    place(one) == place(other)
}

pub(super) fn has_comment(children: &[CstNode]) -> bool {
    children.iter().any(CstNode::is_comment)
}

fn entry(hooks: &Hooks, event: &str, handler: &Value) -> Value {
    let matcher = hooks.matchers.iter().find(|(name, _)| *name == event).map(|(_, matcher)| matcher);
    match (hooks.shape, matcher) {
        (HookShape::Flat | HookShape::Named, _) => handler.clone(),
        (HookShape::Groups, None) => serde_json::json!({ "hooks": [handler] }),
        (HookShape::Groups, Some(matcher)) => serde_json::json!({ "matcher": matcher, "hooks": [handler] }),
    }
}

pub(super) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn ours(shape: HookShape, program: &str) -> Hooks {
        let handler = json!({ "command": format!("{program} hook --agent x"), "timeout": 10 });
        Hooks {
            shape,
            matchers: &[],
            dialect: JsonDialect::Strict,
            top: None,
            entries: vec![("Start", handler.clone()), ("Stop", handler)],
        }
    }

    fn handler() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(json!({ "command": "theirs" })),
            Just(json!({ "command": "/old/agent-handover hook" })),
            Just(json!({ "command": "agent-handover run" })),
            Just(json!(7)),
            Just(json!({})),
        ]
    }

    fn event(shape: HookShape) -> impl Strategy<Value = Value> {
        let entry = match shape {
            HookShape::Flat | HookShape::Named => handler().boxed(),
            HookShape::Groups => prop_oneof![
                proptest::collection::vec(handler(), 0..3).prop_map(|list| json!({ "matcher": "m", "hooks": list })),
                Just(json!(7)),
                Just(json!({ "command": "theirs" })),
                Just(json!({})),
            ]
            .boxed(),
        };
        proptest::collection::vec(entry, 0..4).prop_map(Value::from)
    }

    fn settings(shape: HookShape) -> impl Strategy<Value = Value> {
        let names = prop_oneof![Just("Start"), Just("Stop"), Just("Other")];
        let hooks = proptest::collection::btree_map(names, event(shape), 0..4);
        (proptest::option::of(hooks), any::<bool>()).prop_map(move |(hooks, more)| {
            let mut settings = serde_json::Map::new();
            if more {
                settings.insert("model".to_owned(), json!({ "name": "m" }));
            }
            if let Some(hooks) = hooks {
                settings.insert(shape.key().to_owned(), json!(hooks));
            }
            Value::Object(settings)
        })
    }

    fn commands(value: &Value, is_ours: bool) -> usize {
        match value {
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| match value.as_str() {
                    Some(line) if key == "command" => usize::from(program::own(line, &[]).is_some() == is_ours),
                    _ => commands(value, is_ours),
                })
                .sum(),
            Value::Array(items) => items.iter().map(|item| commands(item, is_ours)).sum(),
            _ => 0,
        }
    }

    fn check(shape: HookShape, settings: &Value, text: &str) -> std::result::Result<(), TestCaseError> {
        let hooks = ours(shape, "/new/agent-handover");
        let installed = with(text, &hooks).map_err(|problem| TestCaseError::fail(problem.message))?;
        let value: Value = serde_json::from_str(&installed).map_err(|cause| TestCaseError::fail(cause.to_string()))?;
        prop_assert_eq!(with(&installed, &hooks).ok(), Some(installed.clone()), "twice is once");
        prop_assert_eq!(commands(&value, false), commands(settings, false), "theirs stay");
        for event in ["Start", "Stop"] {
            prop_assert_eq!(commands(&value[shape.key()][event], true), 1, "one of ours: {}", installed);
        }
        prop_assert_eq!(value.get("model"), settings.get("model"));
        let removed = without(&installed, &hooks).map_err(|problem| TestCaseError::fail(problem.message))?;
        let value: Value = serde_json::from_str(&removed).map_err(|cause| TestCaseError::fail(cause.to_string()))?;
        prop_assert_eq!((commands(&value, true), commands(&value, false)), (0, commands(settings, false)));
        if commands(settings, true) == 0 && settings.get(shape.key()).is_none() {
            prop_assert_eq!(&value, settings);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn whatever_is_there_stays_and_ours_is_there_once(
            (shape, settings) in prop_oneof![Just(HookShape::Flat), Just(HookShape::Named), Just(HookShape::Groups)]
                .prop_flat_map(|shape| (Just(shape), settings(shape))),
            is_pretty in any::<bool>(),
        ) {
            let text = if is_pretty { serde_json::to_string_pretty(&settings).unwrap() } else { settings.to_string() };
            check(shape, &settings, &text)?;
        }
    }
}
