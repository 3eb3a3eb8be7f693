//! `handover.toml` as checked values that remember their place.

pub mod category;
mod reader;
pub mod template;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use toml::de::DeTable;

use category::Categories;
pub use reader::{Placed, Problems, Reader};

use crate::base::{fs, text};
use crate::error::{Error, Listing, Problem, Result};

pub const FILE_NAME: &str = "handover.toml";
/// The commented file that `init` writes; it names every key.
pub const EXAMPLE: &str = include_str!("../../handover.toml.example");
/// A config is written by hand; anything larger is not one.
const MAX_SIZE: u64 = 1 << 20;

/// A step kind as far as reading its table goes. The kinds themselves live higher up.
pub struct KindReader {
    pub name: &'static str,
    pub read: fn(&mut Reader<'_>) -> Value,
}

#[derive(Clone, Debug)]
pub struct Config {
    /// The file it came from; `None` for the built-in defaults.
    pub file: Option<PathBuf>,
    pub memory_dir: String,
    pub history_dir: String,
    pub state_dir: String,
    pub pause_file: String,
    /// `None` means `checkpoint.db` in the state directory.
    pub checkpoint: Option<String>,
    pub tag: String,
    /// The Python tool's `[note]`: what to say when no flag says it.
    pub session_note: Option<String>,
    pub current_state: Option<String>,
    pub backend: Option<Backend>,
    pub secrets: Secrets,
    pub warmup_budget: u64,
    pub categories: Categories,
    /// `None` if the file has no `[[step]]` at all.
    pub steps: Option<Vec<Step>>,
    /// Unknown keys of a file of the Python tool, which takes any.
    pub ignored: Vec<Problem>,
    text: String,
    places: Vec<(&'static str, Range<usize>)>,
}

#[derive(Clone, Debug)]
pub struct Backend {
    pub kind: BackendKind,
    pub branch: Option<String>,
    pub remote: Option<String>,
    pub push: bool,
    pub paths: Option<Vec<String>>,
    pub message: Option<String>,
    pub timeout: Duration,
    pub repo_dir: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    Git,
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    Block,
    Redact,
    Warn,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub name: String,
    pub kind: &'static str,
    pub continue_on_failure: bool,
    pub retries: u64,
    /// What the kind read from its table.
    pub params: Value,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            file: None,
            memory_dir: "memory".to_owned(),
            history_dir: ".agent-history".to_owned(),
            state_dir: ".agent-handover".to_owned(),
            pause_file: "PAUSE".to_owned(),
            checkpoint: None,
            tag: "general".to_owned(),
            session_note: None,
            current_state: None,
            backend: None,
            secrets: Secrets::Block,
            warmup_budget: 9_000,
            categories: Categories::default(),
            steps: None,
            ignored: Vec::new(),
            text: String::new(),
            places: Vec::new(),
        }
    }
}

impl Config {
    /// Reads and checks a file. `kinds` are the step kinds this program has.
    pub fn load(path: &Path, kinds: &[KindReader]) -> Result<Config> {
        let about = std::fs::metadata(path).map_err(|cause| {
            Error::bad_data(format!("cannot read the config `{}`", path.display()))
                .cause(&cause)
                .hint("run `agent-handover init` to write one, or name another with `--config`")
        })?;
        if !about.is_file() {
            return Err(Error::bad_data(format!("the config `{}` is not a file", path.display())));
        }
        fs::refuse_foreign_owner(path, "config")?;
        let file = fs::open(path)?;
        let bytes = fs::read_at_most(file, MAX_SIZE).map_err(|cause| Error::io("read", path, cause))?;
        if bytes.len() as u64 > MAX_SIZE {
            return Err(Error::bad_data(format!("`{}` is larger than 1 MiB", path.display())));
        }
        let text = String::from_utf8(bytes)
            .map_err(|cause| Error::bad_data(format!("`{}` is not UTF-8 text", path.display())).cause(cause))?;
        Config::parse(path, &text, kinds)
    }

    pub fn parse(path: &Path, text: &str, kinds: &[KindReader]) -> Result<Config> {
        let problems = Problems::default();
        let (root, syntax) = DeTable::parse_recoverable(text);
        let is_well_formed = syntax.is_empty();
        for error in syntax {
            let end = text.len();
            let span = error.span().map_or(0..end, |span| span.start.min(end)..span.end.min(end));
            problems.add(span, text::one_line(error.message(), 200), None);
        }
        let mut config = Config { file: Some(path.to_path_buf()), text: text.to_owned(), ..Config::default() };
        // After a syntax error the tree has holes, and what it lacks would be reported as missing.
        if is_well_formed {
            config.read(Reader::new("the file", 0..0, root.get_ref(), text, &problems), kinds);
        }
        let (ignored, problems): (Vec<Problem>, Vec<Problem>) =
            problems.into_sorted().into_iter().partition(|problem| problem.is_ignorable && config.steps.is_none());
        config.ignored = ignored;
        match problems {
            problems if problems.is_empty() => Ok(config),
            problems => Err(Error::listing(Listing { path: path.to_path_buf(), text: text.to_owned(), problems })),
        }
    }

    fn read(&mut self, mut root: Reader<'_>, kinds: &[KindReader]) {
        root.table("handover", "`[handover]`", |table| self.read_handover(table));
        root.table("note", "`[note]`", |table| {
            self.session_note = table.text("session").map(|found| found.value);
            self.current_state = table.text("current_state").map(|found| found.value);
        });
        self.backend = root.table("backend", "`[backend]`", read_backend);
        root.table("guard", "`[guard]`", |table| {
            let choices = [("block", Secrets::Block), ("redact", Secrets::Redact), ("warn", Secrets::Warn)];
            self.secrets = table.choice("secrets", &choices).unwrap_or(self.secrets);
        });
        root.table("warmup", "`[warmup]`", |table| {
            self.warmup_budget = table.count("budget", 200..1_000_001).unwrap_or(self.warmup_budget);
        });
        self.categories = root.table("category", "the category", category::read).unwrap_or_default();
        self.steps = read_steps(&mut root, &self.text, kinds);
        root.finish();
    }

    fn read_handover(&mut self, table: &mut Reader<'_>) {
        let places = &mut self.places;
        for (key, value) in [
            ("memory_dir", &mut self.memory_dir),
            ("history_dir", &mut self.history_dir),
            ("state_dir", &mut self.state_dir),
        ] {
            if let Some(found) = table.path(key) {
                *value = found.value;
                places.push((key, found.span));
            }
        }
        if let Some(found) = table.path("checkpoint") {
            places.push(("checkpoint", found.span));
            self.checkpoint = Some(found.value);
        }
        // May be outside the project and may be empty: the project's own PAUSE is honoured in any case.
        if let Some(found) = table.text("pause_file") {
            self.pause_file = found.value;
        }
        if let Some(found) = table.text("tag") {
            match check_tag(&found.value) {
                Ok(()) => self.tag = found.value,
                Err(reason) => table.wrong(found.span, format!("`tag` {reason}"), None),
            }
        }
    }

    /// Whether this is a file of the Python tool: it has no steps, and means what it means there.
    pub fn is_python(&self) -> bool {
        self.file.is_some() && self.steps.is_none()
    }

    /// The file and its text.
    pub fn source(&self) -> Option<(&Path, &str)> {
        self.file.as_deref().map(|file| (file, self.text.as_str()))
    }

    /// The value of this key no longer comes from the file.
    pub fn overridden(&mut self, key: &str) {
        self.places.retain(|(name, _)| *name != key);
    }

    /// An error about a value of the file that only turns out to be wrong later, pointing at where it was written.
    pub fn error_at(&self, key: &str, message: String, help: &str) -> Error {
        match (&self.file, self.places.iter().find(|(name, _)| *name == key)) {
            (Some(file), Some((_, span))) => {
                let help = Some(help.to_owned());
                let problem = Problem { message, span: span.clone(), help, is_ignorable: false };
                let (path, text) = (file.clone(), self.text.clone());
                Error::listing(Listing { path, text, problems: vec![problem] })
            }
            _ => Error::bad_data(message).hint(help),
        }
    }
}

fn read_backend(table: &mut Reader<'_>) -> Backend {
    let kind = table.text("type").and_then(|found| match found.value.as_str() {
        "git" => Some(BackendKind::Git),
        "null" => Some(BackendKind::Null),
        other => {
            // The Python tool's words, which scripts may look for.
            let message = format!("unknown backend type: '{other}' (expected 'git' or 'null')");
            let help = text::nearest(other, ["git", "null"]).map(|near| format!("did you mean `{near}`?"));
            table.wrong(found.span, message, help);
            None
        }
    });
    let mut option = |key| {
        let found = table.text(key)?;
        if found.value.is_empty() || found.value.starts_with('-') {
            let message = format!("`{key}` in `[backend]` must be a name that does not start with `-`");
            table.wrong(found.span, message, None);
            return None;
        }
        Some(found.value)
    };
    let (branch, remote) = (option("branch"), option("remote"));
    Backend {
        kind: kind.unwrap_or(BackendKind::Git),
        branch,
        remote,
        push: table.flag("push").unwrap_or(true),
        paths: table.texts("paths").map(|paths| read_paths(table, paths.value)),
        message: table.template("message").map(|found| found.value),
        timeout: table.duration("timeout").unwrap_or(Duration::from_secs(60)),
        repo_dir: table.path("repo_dir").map(|found| found.value),
    }
}

/// What is published must be inside the project and can never be taken for an option.
fn read_paths(table: &mut Reader<'_>, paths: Vec<Placed<String>>) -> Vec<String> {
    let mut values = Vec::new();
    for Placed { value, span } in paths {
        let path = Path::new(&value);
        if value.is_empty() || value.starts_with('-') || path.is_absolute() || fs::tidy(path).is_none() {
            table.wrong(span, format!("`{value}` in `paths` of `[backend]` is not a path inside the project"), None);
        } else {
            values.push(value);
        }
    }
    values
}

fn read_steps(root: &mut Reader<'_>, text: &str, kinds: &[KindReader]) -> Option<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    for item in root.tables("step")? {
        let Some(table) = item.get_ref().as_table() else { continue };
        let mut reader = Reader::new("a step", item.span(), table, text, root.problems);
        let name = reader.text("name");
        if let Some(found) = &name {
            if let Err(reason) = check_step_name(&found.value) {
                reader.wrong(found.span.clone(), format!("the step name `{}` {reason}", found.value), None);
            } else if steps.iter().any(|step| step.name == found.value) {
                let message = format!("the step name `{}` is used twice", found.value);
                reader.wrong(found.span.clone(), message, Some("every step needs a name of its own".to_owned()));
            }
        } else {
            reader.missing("name", Some("every step needs a `name` of its own".to_owned()));
        }
        let Some(kind) = read_kind(&mut reader, kinds) else { continue };
        reader.rename(format!("a `{}` step", kind.name));
        let on_failure = reader.choice("on_failure", &[("stop", false), ("continue", true)]);
        let retries = reader.count("retries", 0..101);
        let params = (kind.read)(&mut reader);
        reader.finish();
        steps.push(Step {
            name: name.map(|found| found.value).unwrap_or_default(),
            kind: kind.name,
            continue_on_failure: on_failure.unwrap_or(false),
            retries: retries.unwrap_or(0),
            params,
        });
    }
    Some(steps)
}

fn read_kind<'k>(reader: &mut Reader<'_>, kinds: &'k [KindReader]) -> Option<&'k KindReader> {
    let known = || kinds.iter().map(|kind| format!("`{}`", kind.name)).collect::<Vec<_>>().join(", ");
    let Some(found) = reader.text("kind") else {
        reader.missing("kind", Some(format!("kinds: {}", known())));
        return None;
    };
    let kind = kinds.iter().find(|kind| kind.name == found.value);
    if kind.is_none() {
        let help = match text::nearest(&found.value, kinds.iter().map(|kind| kind.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("kinds: {}", known()),
        };
        reader.wrong(found.span, format!("unknown step kind `{}`", found.value), Some(help));
    }
    kind
}

/// Step names stand in note markers, in lists and in file names.
fn check_step_name(name: &str) -> Result<(), &'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() {
        return Err("must not be empty");
    }
    if name.len() > 64 {
        return Err("is longer than 64 characters");
    }
    if !name.chars().all(allowed) || !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Err("may only use letters, digits, `_`, `-` and `.`, and starts with a letter or digit");
    }
    Ok(())
}

/// Any text can be a tag, as long as it is one line and not endless.
pub fn check_tag(tag: &str) -> Result<(), &'static str> {
    if tag.trim().is_empty() {
        return Err("must not be empty");
    }
    if tag.len() > 200 {
        return Err("is longer than 200 bytes");
    }
    if tag.chars().any(char::is_control) {
        return Err("must be one line without control characters");
    }
    Ok(())
}
