//! From a file to checked values: all problems of the file are found in one go.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::file::ConfigFile;
use super::reader::{FILE, Placed, Problems, Reader};
use super::values::{Backend, Config, Keep, MIN_WARMUP_BUDGET, Secrets, Step, line_of};
use super::{brackets, category, python};
use crate::base::{fs, text};
use crate::error::{Error, Listing, Problem, Result};

/// The words that a config may use and that are defined in directories this one may not use.
pub struct Vocabulary {
    pub kinds: Vec<KindReader>,
    pub backends: Vec<&'static str>,
}

/// The part of a step kind that reads its table.
pub struct KindReader {
    pub name: &'static str,
    pub read: fn(&mut Reader<'_>) -> Value,
}

impl Config {
    /// Reads and checks a file.
    /// `root` is the project, where the Python tool would have left its checkpoint. Values that the file does not have are
    /// those of `own`, the user's own config.
    pub fn load(file: &ConfigFile, root: &Path, vocabulary: &Vocabulary, own: Config) -> Result<Config> {
        let config = Config::parse_with(&file.path, &file.read()?, vocabulary, python::has_checkpoint(root), own)?;
        Ok(Config { came_with: file.root().map(Path::to_path_buf), ..config })
    }

    /// Checks a text without looking at anything else.
    pub fn parse(path: &Path, text: &str, vocabulary: &Vocabulary) -> Result<Config> {
        Config::parse_with(path, text, vocabulary, false, Config::default())
    }

    fn parse_with(
        path: &Path,
        text: &str,
        vocabulary: &Vocabulary,
        has_python_checkpoint: bool,
        own: Config,
    ) -> Result<Config> {
        let problems = Problems::default();
        let mut config = Config { file: Some(path.to_path_buf()), text: text.to_owned(), ..own };
        read_file(text, &problems, |root, reader| {
            config.python_evidence = python::evidence(root, has_python_checkpoint);
            config.places = places(root);
            config.read(reader, vocabulary);
            config.name_files_as_python();
        });
        let (ignored, problems): (Vec<Problem>, Vec<Problem>) =
            problems.into_sorted().into_iter().partition(|problem| problem.is_ignorable && config.is_python());
        config.ignored = ignored;
        match problems {
            problems if problems.is_empty() => Ok(config),
            problems => Err(Error::listing(Listing { path: path.to_path_buf(), text: text.to_owned(), problems })),
        }
    }

    pub(super) fn read(&mut self, mut root: Reader<'_>, vocabulary: &Vocabulary) {
        root.table("handover", "`[handover]`", |table| self.read_handover(table));
        root.table("note", "`[note]`", |table| {
            self.session_note = table.text("session").map(|found| found.value);
            self.current_state = table.text("current_state").map(|found| found.value);
        });
        let is_python = self.python_evidence.is_some();
        self.backend =
            root.table("backend", "`[backend]`", |table| read_backend(table, &vocabulary.backends, is_python));
        root.table("guard", "`[guard]`", |table| {
            let choices = [("block", Secrets::Block), ("redact", Secrets::Redact), ("warn", Secrets::Warn)];
            self.secrets = table.choice("secrets", &choices).unwrap_or(self.secrets);
        });
        self.read_common(&mut root);
        root.table("search", "`[search]`", |table| {
            self.embed = read_embed(table);
            self.embed_timeout = table.duration("embed_timeout");
        });
        root.table("hook", "`[hook]`", |table| {
            self.read_hook(table);
            let why = "in `[hook]` counts only in your own config, not in that of a project";
            table.refuse("ignore", why, Some("write it into `~/.config/agent-handover/config.toml`"));
        });
        self.categories = root.table("category", "the category", category::read).unwrap_or_default();
        self.steps = read_steps(&mut root, &self.text, &vocabulary.kinds);
        root.finish();
    }

    /// The tables that the user's own config may have, too.
    pub(super) fn read_common(&mut self, root: &mut Reader<'_>) {
        root.table("warmup", "`[warmup]`", |table| {
            self.warms_up = table.flag("enabled").unwrap_or(self.warms_up);
            self.warmup_budget = table.count("budget", MIN_WARMUP_BUDGET..1_000_001).unwrap_or(self.warmup_budget);
        });
        root.table("recall", "`[recall]`", |table| {
            self.recalls_at_first_prompt = table.flag("first_prompt").unwrap_or(self.recalls_at_first_prompt);
            self.recalls_before_tools = table.flag("tools").unwrap_or(self.recalls_before_tools);
        });
        root.table("transcripts", "`[transcripts]`", |table| {
            self.keep = table.choice("keep", &Keep::CHOICES).unwrap_or(self.keep);
        });
    }

    /// The keys of `[hook]` that both may have.
    pub(super) fn read_hook(&mut self, table: &mut Reader<'_>) {
        self.follows_headless = table.flag("headless").unwrap_or(self.follows_headless);
    }

    /// Takes the tag in the form that the Python tool gives it in file names, so that both tools use the same files. Such a
    /// config has one tag, so no other tag of the project has that name.
    fn name_files_as_python(&mut self) {
        let name = python::tag_in_file_names(&self.tag).filter(|name| self.is_python() && *name != self.tag);
        if let Some(name) = name {
            self.stated_tag = Some(std::mem::replace(&mut self.tag, name));
        }
    }

    fn read_handover(&mut self, table: &mut Reader<'_>) {
        for (key, value) in [
            ("memory_dir", &mut self.memory_dir),
            ("history_dir", &mut self.history_dir),
            ("state_dir", &mut self.state_dir),
        ] {
            if let Some(found) = table.path(key) {
                *value = found.value;
            }
        }
        self.checkpoint = table.path("checkpoint").map(|found| found.value);
        // It may be outside the project and may be empty, because the project's own PAUSE always counts.
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
}

/// Parses a file, and reads it if its syntax is right. After a syntax error parts of the tree are missing, and keys would
/// be reported as missing that are in the file.
pub(super) fn read_file<'p>(
    text: &'p str,
    problems: &'p Problems,
    read: impl for<'t> FnOnce(&'t DeTable<'t>, Reader<'t>),
) {
    let (root, syntax) = DeTable::parse_recoverable(text);
    let is_well_formed = syntax.is_empty();
    let unclosed = brackets::unclosed(text).filter(|_| syntax.len() > 1);
    if let Some(at) = unclosed {
        let (bracket, missing) = if text[at..].starts_with('[') { ('[', ']') } else { ('{', '}') };
        let help = format!("write `{missing}` where it ends");
        problems.add(at..at + 1, format!("this `{bracket}` is not closed"), Some(help));
    }
    for error in syntax.into_iter().filter(|_| unclosed.is_none()) {
        let end = text.len();
        let span = error.span().map_or(0..end, |span| span.start.min(end)..span.end.min(end));
        problems.add(span, text::one_line(error.message(), 200), None);
    }
    if is_well_formed {
        read(root.get_ref(), Reader::new(FILE, 0..0, root.get_ref(), text, problems));
    }
}

/// The span of each value, by its name with dots: `backend.branch`. Steps are not included.
pub(super) fn places(root: &DeTable<'_>) -> BTreeMap<String, Range<usize>> {
    let mut places = BTreeMap::new();
    let mut tables: Vec<(String, &DeTable<'_>)> = vec![(String::new(), root)];
    while let Some((prefix, table)) = tables.pop() {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => tables.push((format!("{name}."), inner)),
                _ => drop(places.insert(name, value.span())),
            }
        }
    }
    places
}

/// Whether git would make a branch of this name. `refs/heads/x` is one for `git update-ref`, but nobody means it, and a branch
/// `HEAD` makes git ask which one is meant.
fn is_branch(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_refused = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    name.split('/').all(is_part)
        && !name.contains(is_refused)
        && !["..", "@{"].iter().any(|part| name.contains(part))
        && !name.ends_with('.')
        && !name.starts_with("refs/")
        && !["HEAD", "@"].contains(&name)
}

/// Reads `[backend]`. Publishing is never a guess, so `type` is required; only for the Python tool it is git by default.
fn read_backend(table: &mut Reader<'_>, backends: &[&'static str], is_python: bool) -> Backend {
    if !is_python {
        let help = "write `type = \"git\"` to publish through git, or `type = \"null\"` to keep the files here";
        table.missing("type", Some(help.to_owned()));
    }
    let kind = table.word("type", backends).and_then(|found| {
        if backends.contains(&found.value.as_str()) {
            return Some(found.value);
        }
        let known: Vec<String> = backends.iter().map(|name| format!("'{name}'")).collect();
        // The Python tool's words, which scripts may search for.
        let message = format!("unknown backend type: '{}' (expected {})", found.value, known.join(" or "));
        let near = text::nearest(&found.value, backends.iter().copied());
        table.wrong(found.span, message, near.map(|near| format!("did you mean `{near}`?")));
        None
    });
    let mut option = |key| {
        let found = table.text(key)?;
        if found.value.is_empty() || found.value.starts_with('-') {
            let message = format!("`{key}` in `[backend]` must be a name that does not start with `-`");
            table.wrong(found.span, message, None);
            return None;
        }
        if key == "branch" && !is_branch(&found.value) {
            let message = format!("`{}` is not a name that git accepts for a branch", found.value);
            let near = found.value.strip_prefix("refs/heads/").map(|near| format!("did you mean `{near}`?"));
            table.wrong(found.span, message, near);
            return None;
        }
        Some(found.value)
    };
    let (branch, remote) = (option("branch"), option("remote"));
    Backend {
        kind,
        branch,
        remote,
        push: table.flag("push").unwrap_or(true),
        paths: table.texts("paths").map(|paths| read_paths(table, paths.value)),
        message: table.template("message").map(|found| found.value),
        timeout: table.duration("timeout").unwrap_or(Duration::from_secs(60)),
        repo_dir: table.path("repo_dir").map(|found| found.value),
    }
}

/// The program that makes vectors, with its arguments. A build that cannot use it still checks it, because a team shares the
/// file.
fn read_embed(table: &mut Reader<'_>) -> Option<Vec<String>> {
    let found = table.program("embed")?;
    let embed: Vec<String> = found.value.into_iter().map(|argument| argument.value).collect();
    if embed.first().is_none_or(String::is_empty) {
        let help = "write `embed = [\"program\", \"argument\"]`, or remove the key";
        table.wrong(found.span, "`embed` in `[search]` names no program", Some(help.to_owned()));
        return None;
    }
    Some(embed)
}

/// Published paths are inside the project, and git can never take one for an option.
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
    let mut names = HashSet::new();
    for item in root.tables("step")? {
        let Some(table) = item.get_ref().as_table() else { continue };
        let mut reader = Reader::new("a step", item.span(), table, text, root.problems);
        let name = reader.text("name");
        if let Some(found) = &name {
            if let Err(reason) = check_step_name(&found.value) {
                reader.wrong(found.span.clone(), format!("the step name `{}` {reason}", found.value), None);
            } else if !names.insert(found.value.clone()) {
                let message = format!("the step name `{}` is used twice", found.value);
                reader.wrong(found.span.clone(), message, Some("every step needs a name of its own".to_owned()));
            }
        } else {
            reader.missing("name", Some("every step needs a `name` of its own".to_owned()));
        }
        let Some(kind) = read_kind(&mut reader, kinds) else { continue };
        reader.rename(format!("a `{}` step", kind.name));
        let name = name.map(|found| found.value).unwrap_or_default();
        steps.push(read_step(&mut reader, kind, name, line_of(text, item.span().start)));
        reader.finish();
    }
    Some(steps)
}

/// The keys of a step that come after its name and kind.
pub(super) fn read_step(reader: &mut Reader<'_>, kind: &KindReader, name: String, line: usize) -> Step {
    let on_failure = reader.choice("on_failure", &[("stop", false), ("continue", true)]);
    let retries = reader.count("retries", 0..101);
    Step {
        name,
        kind: kind.name,
        line,
        continue_on_failure: on_failure.unwrap_or(false),
        retries: retries.unwrap_or(0),
        params: (kind.read)(reader),
    }
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
pub(crate) fn check_tag(tag: &str) -> Result<(), &'static str> {
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
