//! The JSON Schema of `handover.toml`, made from what the readers ask for and from the page that explains the keys.
//!
//! Only tests compile this file. One test compares the schema with `docs/reference/handover.schema.json`, which the command
//! `schema` prints; `SNAPSHOTS=overwrite` rewrites it. The schema knows less than the reader: it does not know templates, names
//! that are used twice, or which names git accepts for a branch.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use serde_json::{Map, Value, json};
use toml::de::DeTable;

use super::load::{Vocabulary, read_step};
use super::reader::{FILE, Problems, Reader, Shape};
use super::values::Config;

/// Stands for the names of tables that the user chooses.
pub(super) const ANY: &str = "*";

/// Numbers with units, as `base::duration` reads them. `0` needs no unit.
const DURATION: &str = r"^\s*(0|(\d+\s*[A-Za-z]+\s*)+)\s*$";

/// What was asked of a table. It is empty, and nothing is noted, unless the schema is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked(Option<Rc<RefCell<Keys>>>);

#[derive(Debug, Default)]
struct Keys {
    shapes: Vec<(String, Shape)>,
    inside: BTreeMap<String, Asked>,
    required: Vec<String>,
    one_of: Vec<Vec<String>>,
}

impl Asked {
    fn recording() -> Asked {
        Asked(Some(Rc::default()))
    }

    pub(super) fn note(&self, key: &str, shape: &Shape) {
        if let Some(keys) = &self.0 {
            keys.borrow_mut().shapes.push((key.to_owned(), shape.clone()));
        }
    }

    pub(super) fn require(&self, key: &str) {
        if let Some(keys) = &self.0 {
            keys.borrow_mut().required.push(key.to_owned());
        }
    }

    pub(super) fn require_one_of(&self, names: &[&str]) {
        if let Some(keys) = &self.0 {
            keys.borrow_mut().one_of.push(names.iter().map(|name| (*name).to_owned()).collect());
        }
    }

    /// What is asked of the table with this key; `None` unless the schema is made.
    pub(super) fn inside(&self, key: &str) -> Option<Asked> {
        let keys = self.0.as_ref()?;
        Some(keys.borrow_mut().inside.entry(key.to_owned()).or_insert_with(Asked::recording).clone())
    }

    /// The schema of the table. `about` says what each key means.
    fn schema(&self, about: &BTreeMap<String, String>, prefix: &str) -> Value {
        let empty = RefCell::default();
        let keys = self.0.as_deref().unwrap_or(&empty).borrow();
        let mut properties = Map::new();
        for (key, shape) in &keys.shapes {
            let mut schema = match (shape, keys.inside.get(key)) {
                (Shape::Table, Some(inside)) => inside.schema(about, &format!("{prefix}{key}.")),
                (shape, _) => of_shape(shape),
            };
            if let Some(text) = about.get(&format!("{prefix}{key}")) {
                schema["description"] = text.as_str().into();
            }
            properties.insert(key.clone(), schema);
        }
        let others = keys.inside.get(ANY).map(|any| any.schema(about, &format!("{prefix}{ANY}.")));
        let mut schema = json!({ "type": "object", "properties": properties });
        // A key with this beginning is the user's own, and the reader takes it everywhere.
        schema["patternProperties"] = json!({ "^x-": {} });
        schema["additionalProperties"] = others.unwrap_or(false.into());
        if !keys.required.is_empty() {
            schema["required"] = keys.required.clone().into();
        }
        if let [names] = keys.one_of.as_slice() {
            schema["oneOf"] = names.iter().map(|name| json!({ "required": [name] })).collect();
        }
        schema
    }
}

fn of_shape(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Path => json!({ "type": "string", "minLength": 1 }),
        Shape::Words(words) => json!({ "enum": words }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Count(range) => json!({ "type": "integer", "minimum": range.start, "maximum": range.end - 1 }),
        Shape::Duration => json!({ "type": "string", "pattern": DURATION }),
        Shape::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::Program => {
            json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "prefixItems": [{ "minLength": 1 }] })
        }
        Shape::TextTable => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Shape::Table => json!({ "type": "object" }),
        Shape::Tables => json!({ "type": "array" }),
    }
}

/// Calls `read` with a reader that notes what it is asked.
fn asked(read: impl FnOnce(Reader<'_>)) -> Asked {
    let (table, problems, asked) = (DeTable::new(), Problems::default(), Asked::recording());
    let mut reader = Reader::new(FILE, 0..0, &table, "", &problems);
    reader.asked = asked.clone();
    read(reader);
    asked
}

/// The schema of a file of this program.
fn schema(vocabulary: &Vocabulary, about: &BTreeMap<String, String>) -> Value {
    let mut schema = asked(|reader| Config::default().read(reader, vocabulary)).schema(about, "");
    let steps = vocabulary.kinds.iter().map(|kind| {
        let asked = asked(|mut reader| {
            reader.text("name");
            reader.text("kind");
            read_step(&mut reader, kind, String::new(), 0);
        });
        asked.require("name");
        asked.require("kind");
        let mut step = asked.schema(about, "step.");
        step["properties"]["kind"] = json!({ "const": kind.name });
        step["properties"]["name"] = json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" });
        step
    });
    schema["properties"]["step"]["items"] = json!({ "oneOf": steps.collect::<Vec<_>>() });
    schema["properties"]["step"]["minItems"] = 1.into();
    let mut whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "handover.toml",
        "description": "The config of agent-handover: what happens at the end of a coding session.",
    });
    for (key, value) in schema.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    whole
}

/// What each key means, from the tables of the page about the config.
fn about() -> BTreeMap<String, String> {
    let mut about = BTreeMap::new();
    let mut table = None;
    for line in include_str!("../../docs/reference/configuration.md").lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let name = heading.trim_matches(['`', '[', ']']);
            table = match heading {
                "Step kinds" => Some("step."),
                "Categories" => Some("category.*."),
                _ if heading.starts_with("`[") => Some(name),
                _ => None,
            };
        }
        let (Some(table), Some(row)) = (table, line.strip_prefix("| `")) else { continue };
        let (Some((key, _)), Some(meaning)) =
            (row.split_once('`'), line.trim_end_matches([' ', '|']).rsplit(" | ").next())
        else {
            continue;
        };
        let prefix = if table.ends_with('.') { table.to_owned() } else { format!("{table}.") };
        about.entry(format!("{prefix}{key}")).or_insert_with(|| plain(meaning));
    }
    about
}

/// A cell of a table without links.
fn plain(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, (label, after))) =
        rest.split_once('[').and_then(|(before, after)| Some((before, after.split_once("](")?)))
    {
        text.push_str(before);
        text.push_str(label);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text + rest
}

fn current() -> String {
    format!("{:#}\n", schema(&crate::steps::vocabulary(), &about()))
}

#[test]
fn the_schema_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/handover.schema.json");
    snapbox::Assert::new()
        .action_env("SNAPSHOTS")
        .eq(current(), snapbox::Data::read_from(&file, Some(snapbox::data::DataFormat::Text)).raw());
}

/// Whether the schema and the reader accept a config.
fn accepted(text: &str) -> (bool, bool) {
    let document: Value = serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    let schema = serde_json::from_str(super::SCHEMA).unwrap();
    let by_schema = jsonschema::draft202012::is_valid(&schema, &document);
    (by_schema, Config::parse(Path::new("handover.toml"), text, &crate::steps::vocabulary()).is_ok())
}

#[test]
fn the_schema_accepts_every_example() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut examples = vec![directory.join("handover.toml.example")];
    let found = std::fs::read_dir(directory.join("examples")).unwrap().map(|entry| entry.unwrap().path());
    examples.extend(found.filter(|path| path.extension().is_some_and(|ending| ending == "toml")));
    assert!(examples.len() >= 3);
    for example in examples {
        let text = std::fs::read_to_string(&example).unwrap();
        assert_eq!(accepted(&text), (true, true), "{}", example.display());
    }
}

/// The blocks of TOML on a page.
fn blocks(page: &str) -> impl Iterator<Item = &str> {
    page.split("\n```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next())
}

#[test]
fn the_schema_judges_the_blocks_in_the_documents_as_the_reader_does() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages =
        ["README.md", "docs/reference/configuration.md", "docs/publishing.md", "docs/memory.md", "docs/search.md"];
    let pages = pages.map(|page| std::fs::read_to_string(directory.join(page)).unwrap());
    let mut count = 0;
    for block in pages.iter().flat_map(|page| blocks(page)) {
        let config = Config::parse(Path::new("handover.toml"), block, &crate::steps::vocabulary());
        // The Python tool's files may leave out `type`.
        if config.is_ok_and(|config| config.is_python()) {
            continue;
        }
        let (by_schema, by_reader) = accepted(block);
        assert_eq!(by_schema, by_reader, "{block}");
        count += 1;
    }
    assert!(count > 5, "{count} blocks");
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let step = |rest: &str| format!("[[step]]\nname = \"a\"\nkind = \"command\"\n{rest}\n");
    let wrong = [
        "tagg = \"x\"".to_owned(),
        "[handover]\ntagg = \"x\"".to_owned(),
        "[handover]\ntag = 3".to_owned(),
        "[handover]\nmemory_dir = \"\"".to_owned(),
        "[backend]\nbranch = \"x\"".to_owned(),
        "[backend]\ntype = \"svn\"".to_owned(),
        "[backend]\ntype = \"git\"\npush = \"yes\"".to_owned(),
        "[backend]\ntype = \"git\"\ntimeout = 60".to_owned(),
        "[backend]\ntype = \"git\"\ntimeout = \"soon\"".to_owned(),
        "[backend]\ntype = \"git\"\npaths = \"memory\"".to_owned(),
        "[guard]\nsecrets = \"off\"".to_owned(),
        "[warmup]\nbudget = 1".to_owned(),
        "[warmup]\nbudget = 2000000".to_owned(),
        "[recall]\ntools = 1".to_owned(),
        "[transcripts]\nkeep = \"all\"".to_owned(),
        "[search]\nembed = []".to_owned(),
        "[hook]\nignore = [\"~/x\"]".to_owned(),
        "[category.x]\nmode = \"replace\"".to_owned(),
        "[category.x]\nkeep = 0".to_owned(),
        "[category.x]\nkept = 1".to_owned(),
        "step = []".to_owned(),
        "step = 3".to_owned(),
        "[[step]]\nkind = \"note\"".to_owned(),
        "[[step]]\nname = \"a\"".to_owned(),
        "[[step]]\nname = \"a b\"\nkind = \"note\"".to_owned(),
        "[[step]]\nname = \"a\"\nkind = \"nota\"".to_owned(),
        "[[step]]\nname = \"a\"\nkind = \"note\"\nrun = [\"x\"]".to_owned(),
        step(""),
        step("run = [\"x\"]\nshell = \"x\""),
        step("run = []"),
        step("run = [\"\"]"),
        step("run = \"x\""),
        step("run = [\"x\"]\nretries = 101"),
        step("run = [\"x\"]\non_failure = \"ignore\""),
        step("run = [\"x\"]\non_interrupt = \"retry\""),
        step("run = [\"x\"]\nenv = { A = 1 }"),
    ];
    for text in wrong {
        assert_eq!(accepted(&text), (false, false), "{text}");
    }
    let right = ["", "x-mine = 1", "[category.todo]\nkeep = 3", "[backend]\ntype = \"null\"\nx-why = \"test\""];
    for text in right
        .into_iter()
        .map(str::to_owned)
        .chain([step("shell = \"make\""), step("run = [\"make\"]\ntimeout = \"1h 30m\"")])
    {
        assert_eq!(accepted(&text), (true, true), "{text}");
    }
}
