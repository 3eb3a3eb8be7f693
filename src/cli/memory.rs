//! `memory …`: the three layers, by item and by note.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::NaiveDate;
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use super::{Context, compact};
use crate::base::{clock, duration, env, fs, ids, text};
use crate::config::category::{self, Categories};
use crate::engine::{self, Plan, Policy};
use crate::error::{Error, Result};
use crate::git::{self, Git};
use crate::memory::listing::{self, Listed};
use crate::memory::state::{self, Item, State};
use crate::memory::{self, Author, Change, Edits, Memory, Verb, capture};
use crate::project::{self, Project};

/// What a session says about itself is short; more than this is something else.
const MAX_INPUT: u64 = 4 << 20;
/// How long git may take to say which commit is checked out.
const PATIENCE: Duration = Duration::from_millis(500);
/// From when on an overview may not be true any more.
const STALE_DAYS: i64 = 7;

/// Keep and read what is known: goal, constraints, decisions, open loops and notes
#[derive(Args)]
pub struct MemoryCommand {
    #[command(subcommand)]
    verb: Verbs,
}

#[derive(Subcommand)]
enum Verbs {
    Capture(Capture),
    Add(Add),
    List(List),
    Done(Done),
    Delete(Delete),
    Overview(Overview),
    Compact(compact::Compact),
}

/// Take in what a session says of itself as one JSON object, all of it or nothing
#[derive(Args)]
struct Capture {
    /// The object [default: standard input]
    #[arg(long, visible_alias = "json", value_name = "JSON", allow_hyphen_values = true, conflicts_with = "file")]
    data: Option<String>,
    /// A file with the object
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Empty this category first; may be given several times. Alone it reads no standard input
    #[arg(long, value_name = "CATEGORY")]
    clear: Vec<String>,
    #[command(flatten)]
    by: By,
}

/// Who says it.
#[derive(Args)]
struct By {
    /// The agent that says it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The tag of the notes in which it is told
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Keep it although it looks like a secret of this kind; may be given several times
    #[arg(long, value_name = "KIND")]
    allow_secret: Vec<String>,
}

/// Add one item to a category
#[derive(Args)]
struct Add {
    /// goal, constraint, decision, open_loop, known_issue, recent_change, session_summary, overview, or one of your own
    category: String,
    /// The item, kept as it is; `-` is standard input
    #[arg(allow_hyphen_values = true)]
    text: String,
    #[command(flatten)]
    by: By,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// List the items of the current state, or the notes of layer 1 or 3
#[derive(Args)]
struct List {
    /// Only this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// 1: notes, 2: the current state, 3: the archives
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    layer: u8,
    /// Only notes with this tag; layers 1 and 3
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only what is as new as this: a day such as 2026-11-15, or a time ago such as 7d
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    since: Option<Since>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Close an open loop or a known issue; told in layer 1
#[derive(Args)]
struct Done {
    /// The id of the item, or a unique beginning of it
    id: String,
    #[command(flatten)]
    by: By,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Take an item out of the current state; told in layer 1
#[derive(Args)]
struct Delete {
    /// The id of the item, or a unique beginning of it
    id: String,
    #[command(flatten)]
    by: By,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Say what the project is and how much is remembered of it
#[derive(Args)]
struct Overview {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug)]
enum Since {
    Day(NaiveDate),
    Ago(Duration),
}

fn parse_since(word: &str) -> Result<Since, String> {
    let day = word.parse().map(Since::Day).ok();
    day.or_else(|| duration::parse(word).map(Since::Ago))
        .ok_or_else(|| format!("expected a day such as `2026-11-15`, or {}", duration::EXPECTED))
}

impl Since {
    /// As it compares with the times in markers.
    fn stamp(self) -> String {
        match self {
            Since::Day(day) => day.to_string(),
            Since::Ago(ago) => {
                let ago = chrono::Duration::from_std(ago).unwrap_or(chrono::Duration::MAX);
                let then = clock::now().checked_sub_signed(ago);
                then.map_or_else(String::new, |then| memory::stamp(&then))
            }
        }
    }
}

impl MemoryCommand {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        match self.verb {
            Verbs::Capture(command) => command.execute(context),
            Verbs::Add(command) => command.execute(context),
            Verbs::List(command) => command.execute(context),
            Verbs::Done(command) => {
                let (id, by, json) = (command.id, command.by, command.json);
                close(context, &id, &by, Verb::Done, json)
            }
            Verbs::Delete(command) => {
                let (id, by, json) = (command.id, command.by, command.json);
                close(context, &id, &by, Verb::Deleted, json)
            }
            Verbs::Overview(command) => command.execute(context),
            Verbs::Compact(command) => command.execute(context),
        }
    }

    pub fn json(&self) -> bool {
        match &self.verb {
            Verbs::Capture(_) => true,
            Verbs::Add(command) => command.json,
            Verbs::List(command) => command.json,
            Verbs::Done(command) => command.json,
            Verbs::Delete(command) => command.json,
            Verbs::Overview(command) => command.json,
            Verbs::Compact(command) => command.json,
        }
    }
}

/// The memory of a project that may be written.
struct Open {
    project: Project,
    memory: Memory,
}

fn open(context: &Context<'_>, tag: Option<&str>) -> Result<Open> {
    let project = context.project(None, tag)?;
    let memory = Memory::at(project::place(&project.root, &project.config.memory_dir)?);
    Ok(Open { project, memory })
}

impl Open {
    /// Changes the current state, if nothing stands in the way.
    fn update(
        &self,
        context: &mut Context<'_>,
        step: &str,
        by: &By,
        mut edits: Edits,
        base: Option<String>,
    ) -> Result<Vec<Change>> {
        if let Some(stop) = self.project.brake().pressed() {
            return Err(stop.error().follow("; nothing was kept"));
        }
        let mut agent = by.agent.clone().or_else(|| env::get_text(env::AGENT)).unwrap_or_default();
        let mut tag = self.project.config.tag.clone();
        let policy = Policy { config: self.project.config.secrets, allowed: &by.allow_secret, unattended: false };
        let puts = edits.put.iter_mut().flat_map(|(name, texts)| texts.iter_mut().map(|text| (name.as_str(), text)));
        let adds = edits.add.iter_mut().map(|(name, text)| (name.as_str(), text));
        let fields = puts.chain(adds).chain([("agent", &mut agent), ("tag", &mut tag)]);
        for warning in engine::keep_secrets_out(&policy, fields)? {
            context.ui.warn(&warning);
        }
        if let Some(notice) = engine::keep_out_of_git(&self.project.root, &Plan::of(&self.project.config)) {
            context.ui.tell(&notice);
        }
        let commit = base.or_else(|| head(&self.project.root)).unwrap_or_default();
        let author = Author {
            run: &ids::new_run_id()?,
            step,
            at: clock::now(),
            agent: &text::one_line(&agent, 100),
            tag: &tag,
            commit: &commit,
            is_late: false,
        };
        self.memory.say(&author, &self.project.config.categories, &edits)
    }
}

fn head(root: &Path) -> Option<String> {
    git::top_level(root)?;
    Git::at(root).within(PATIENCE).head().ok().flatten().map(|head| head.commit)
}

/// The category that a word means; one that is nearly a known one is not made by mistake.
fn category(categories: &Categories, state: &State, word: &str) -> Result<String> {
    let known = || category::BUILT_IN.iter().map(|known| known.name).chain(categories.extra());
    let name = categories.named(word).ok_or_else(|| {
        let word = capture::shown(word);
        Error::usage(format!("`{word}` cannot be a category")).hint(format!("a name is {}", category::NAME_RULE))
    })?;
    let exists = known().any(|known| known == name) || state.sections.iter().any(|section| section.category == name);
    match text::nearest(&name, known()).filter(|_| !exists) {
        Some(near) => Err(Error::usage(format!("there is no category `{name}`"))
            .hint(format!("did you mean `{near}`? One of your own that is so alike needs `[category.{name}]`"))),
        None => Ok(name),
    }
}

impl Capture {
    fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let open = open(context, self.by.tag.as_deref())?;
        let categories = &open.project.config.categories;
        // Who only clears says nothing else, and has nothing to pipe in.
        let is_data = self.data.is_some() || self.file.is_some() || self.clear.is_empty();
        let (mut edits, base) =
            if is_data { capture::parse(&self.read(context)?, categories)? } else { (Edits::default(), None) };
        let state = open.memory.state()?;
        for name in &edits.clear {
            category(categories, &state, name).map_err(|wrong| {
                let error = Error::bad_data(format!("`clear`: {}", wrong.message()));
                wrong.hints().iter().fold(error, |error, hint| error.hint(hint))
            })?;
        }
        for word in &self.clear {
            edits.clear.push(category(categories, &state, word)?);
        }
        let changes = open.update(context, "capture", &self.by, edits, base)?;
        let mut document = json!({ "schema": "agent-handover/memory-capture/1" });
        for (verb, key) in [(Verb::Added, "added"), (Verb::Cleared, "cleared"), (Verb::Dropped, "dropped")] {
            document[key] = counts(&changes, verb);
        }
        context.ui.answer_json(&document);
        Ok(0)
    }

    fn read(&self, context: &Context<'_>) -> Result<String> {
        if let Some(data) = &self.data {
            return Ok(data.clone());
        }
        read_text(context, self.file.as_deref(), "the capture")
    }
}

fn counts(changes: &[Change], verb: Verb) -> Json {
    let mut counts = serde_json::Map::new();
    for change in changes.iter().filter(|change| change.verb == verb) {
        let count = counts.get(&change.category).and_then(Json::as_u64).unwrap_or(0);
        counts.insert(change.category.clone(), (count + 1).into());
    }
    Json::Object(counts)
}

/// From a file or standard input, with an end.
fn read_text(context: &Context<'_>, file: Option<&Path>, what: &str) -> Result<String> {
    let source: Box<dyn Read> = match file.filter(|file| file.as_os_str() != "-") {
        Some(file) => Box::new(fs::open(&context.cwd.join(file))?),
        None if std::io::stdin().is_terminal() => {
            return Err(Error::usage(format!("{what} is missing")).hint("give it by a flag, or pipe it in"));
        }
        None => Box::new(std::io::stdin().lock()),
    };
    let bytes = fs::read_at_most(source, MAX_INPUT)
        .map_err(|cause| Error::io("read", file.unwrap_or(Path::new("standard input")), cause))?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(Error::bad_data(format!("{what} is larger than 4 MiB; nothing was kept")));
    }
    String::from_utf8(bytes).map_err(|_| Error::bad_data(format!("{what} is not UTF-8 text; nothing was kept")))
}

impl Add {
    fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let open = open(context, self.by.tag.as_deref())?;
        let category = category(&open.project.config.categories, &open.memory.state()?, &self.category)?;
        let item = if self.text == "-" { read_text(context, None, "the item")? } else { self.text.clone() };
        let item = state::tidy(&item);
        if item.is_empty() {
            return Err(Error::usage("an item must say something"));
        }
        capture::check(&item).map_err(|reason| Error::bad_data(format!("the item {reason}")))?;
        let edits = Edits { add: vec![(category.clone(), item)], ..Edits::default() };
        let changes = open.update(context, "add", &self.by, edits, None)?;
        let added = changes.iter().find(|change| change.verb == Verb::Added);
        let dropped: Vec<Json> =
            changes.iter().filter(|change| change.verb == Verb::Dropped).map(change_json).collect();
        if self.json {
            let document = json!({
                "schema": "agent-handover/memory-add/1",
                "added": added.map(change_json),
                "dropped": dropped,
            });
            context.ui.answer_json(&document);
            return Ok(0);
        }
        match added {
            Some(change) => context.ui.answer(&format!("added {} to {category}", change.id)),
            None => context.ui.answer(&format!("{category} has that already")),
        }
        for change in changes.iter().filter(|change| change.verb == Verb::Dropped) {
            let was = text::model_line(&change.text, 60);
            context.ui.tell(&format!("{category} was full: {} left it for layer 1 ({was})", change.id));
        }
        Ok(0)
    }
}

fn change_json(change: &Change) -> Json {
    json!({ "id": change.id, "category": change.category, "text": change.text })
}

fn close(context: &mut Context<'_>, id: &str, by: &By, verb: Verb, as_json: bool) -> Result<u8> {
    let open = open(context, by.tag.as_deref())?;
    let state = open.memory.state()?;
    let (category, item) = memory::find(&state, id)?;
    let (category, item) = (category.to_owned(), item.clone());
    if verb == Verb::Done && !matches!(category.as_str(), "open_loop" | "known_issue") {
        return Err(Error::usage(format!("`{}` is in {category}, which cannot be done", item.id))
            .hint(format!("`agent-handover memory delete {}` takes it out", item.id)));
    }
    let ids = vec![item.id.clone()];
    let edits = match verb {
        Verb::Done => Edits { done: ids, ..Edits::default() },
        _ => Edits { delete: ids, ..Edits::default() },
    };
    let changes = open.update(context, verb.name(), by, edits, None)?;
    let Some(change) = changes.first() else {
        return Err(Error::failed(format!("`{}` is gone already", item.id)));
    };
    if as_json {
        let mut document = change_json(change);
        document["schema"] = format!("agent-handover/memory-{}/1", verb.name()).into();
        context.ui.answer_json(&document);
    } else {
        context.ui.answer(&format!("{} {}: {}", verb.name(), change.id, text::model_line(&change.text, 200)));
    }
    Ok(0)
}

impl List {
    fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let open = open(context, None)?;
        if self.layer == 2 { self.items(context, &open) } else { self.notes(context, &open) }
    }

    fn items(&self, context: &mut Context<'_>, open: &Open) -> Result<u8> {
        if self.tag.is_some() {
            return Err(Error::usage("the current state has no tags").hint("add `--layer 1` to list notes"));
        }
        let state = open.memory.state()?;
        let categories = &open.project.config.categories;
        let wanted = self.category.as_deref().map(|word| category(categories, &state, word)).transpose()?;
        let since = self.since.map(Since::stamp).unwrap_or_default();
        let items: Vec<(&str, &Item)> = state
            .items()
            .filter(|(name, _)| wanted.as_deref().is_none_or(|wanted| wanted == *name))
            // What somebody wrote by hand is newer than what is told of it.
            .filter(|(_, item)| item.at.is_empty() || item.at >= since)
            .collect();
        if self.json {
            let items: Vec<Json> = items.iter().map(|(name, item)| item_json(name, item)).collect();
            context.ui.answer_json(&json!({ "schema": "agent-handover/memory-list/1", "items": items }));
            return Ok(0);
        }
        let mut shown = "";
        for (name, item) in &items {
            if *name != shown {
                context.ui.answer(&state::title(name));
                shown = name;
            }
            let day = item.at.get(..10).unwrap_or("by hand   ");
            context.ui.answer(&format!("  {}  {day}  {}", item.id, text::model_line(&item.text, 200)));
        }
        if items.is_empty() {
            context.ui.tell("nothing is remembered here; `agent-handover memory add decision \"…\"` is a beginning");
        }
        Ok(0)
    }

    fn notes(&self, context: &mut Context<'_>, open: &Open) -> Result<u8> {
        if self.category.is_some() {
            return Err(Error::usage("notes have no categories").hint("leave `--layer` out to list items"));
        }
        let since = self.since.map(Since::stamp).unwrap_or_default();
        let mut count = 0;
        let mut all = Vec::new();
        let odd = listing::notes(&open.memory, self.layer, self.tag.as_deref(), &mut |note: Listed| {
            if note.at.as_str() < since.as_str() {
                return;
            }
            count += 1;
            if self.json {
                all.push(json!({
                    "run": note.run, "step": note.step, "at": note.at, "agent": note.agent, "tag": note.tag,
                    "text": note.text,
                }));
            } else {
                let (day, key) = (note.at.get(..10).unwrap_or(&note.at), note.run);
                let line = text::model_line(&note.text, 120);
                context.ui.answer(&format!("{day}  {}  {key:<26}  {line}", text::model_line(&note.tag, 20)));
            }
        })?;
        for error in &odd {
            context.ui.warn(&error.one_line());
        }
        if self.json {
            context.ui.answer_json(&json!({ "schema": "agent-handover/memory-notes/1", "notes": all }));
        } else if count == 0 {
            context.ui.tell("there are no such notes");
        }
        Ok(0)
    }
}

fn item_json(category: &str, item: &Item) -> Json {
    json!({
        "id": item.id,
        "category": category,
        "text": item.text,
        "at": item.at,
        "since": if item.since.is_empty() { &item.at } else { &item.since },
        "run": item.run,
        "commit": item.commit,
    })
}

impl Overview {
    fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let open = open(context, None)?;
        let state = open.memory.state()?;
        let overview = state.items().find(|(name, _)| *name == "overview").map(|(_, item)| item);
        let days =
            overview.and_then(|item| clock::parse_stamp(&item.at)).map(|at| (clock::now() - at).num_days().max(0));
        let counts: Vec<(&str, usize)> =
            state.sections.iter().map(|section| (section.category.as_str(), section.items().count())).collect();
        let layers = listing::measure(&open.memory)?;
        if self.json {
            let categories: serde_json::Map<String, Json> =
                counts.iter().map(|(name, count)| ((*name).to_owned(), (*count).into())).collect();
            context.ui.answer_json(&json!({
                "schema": "agent-handover/memory-overview/1",
                "overview": overview.map(|item| item_json("overview", item)),
                "overview_days": days,
                "categories": categories,
                "state_bytes": layers.state_bytes,
                "note_files": layers.note_files,
                "note_months": layers.note_months,
                "archives": layers.archives,
            }));
            return Ok(0);
        }
        match (overview, days) {
            (Some(item), days) => {
                context.ui.answer_prose(&format!("{}\n", item.text));
                if let Some(days) = days.filter(|days| *days >= STALE_DAYS) {
                    context.ui.warn(&format!(
                        "this was written {days} days ago; `agent-handover memory add overview \"…\"` replaces it"
                    ));
                }
                context.ui.answer("");
            }
            (None, _) => {
                context.ui.tell("nothing says what this project is; `agent-handover memory add overview \"…\"` does")
            }
        }
        for (name, count) in counts.iter().filter(|(_, count)| *count > 0) {
            context.ui.answer(&format!("{}: {count}", state::title(name)));
        }
        context.ui.answer(&format!(
            "layer 1: {} in {}; layer 2: {} bytes; layer 3: {}",
            text::count(layers.note_files, "file"),
            text::count(layers.note_months, "month"),
            layers.state_bytes,
            text::count(layers.archives, "archive"),
        ));
        Ok(0)
    }
}
