//! `memory import`: items that another tool or agent kept.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value as Json, json};

use super::super::Context;
use super::input;
use super::json::change as change_json;
use super::open::{OpenMemory, WriteOptions};
use crate::agents::{self, Places};
use crate::base::{fs, text};
use crate::config::category::Categories;
use crate::error::{Error, Result};
use crate::guard::secrets;
use crate::memory::bridge::{self, REMEMBERED};
use crate::memory::state::CurrentState;
use crate::memory::{Added, ChangeVerb, Edits, StateChange, import};
use crate::project::Project;

/// Add the items that another tool or agent kept to the current state: all of them, or nothing
#[derive(Args)]
pub(super) struct Import {
    /// An agent that keeps memories, such as `claude-code`; or a JSON file of another tool, a Markdown file with a list, or
    /// `-` for standard input
    #[arg(long, value_name = "AGENT|FILE", required = true, num_args = 1..)]
    from: Vec<PathBuf>,
    /// Print what would be added, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    options: WriteOptions,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Import {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let open = OpenMemory::open_to_change(context, self.options.tag.as_deref())?;
        let mut all = Edits::default();
        // Every source is read before anything is changed.
        for from in &self.from {
            let of_one = self.edits(context, from, &open.project)?;
            all.record.extend(of_one.record);
            all.add.extend(of_one.add);
        }
        let known = only_new(&mut all, &open.memory.state()?);
        refuse_too_many(&all, &open.project.config.categories, &self.from)?;
        if self.dry_run {
            preview(context, &all);
            open.check(context, &self.options, all)?;
        } else {
            let changes = open.update(context, "import", &self.options, all, None)?;
            self.report(context, &changes);
        }
        if known > 0 {
            context.ui.tell(&format!("{} left out: known already, or deleted here before", text::count(known, "item")));
        }
        Ok(0)
    }

    /// What one source holds.
    fn edits(&self, context: &Context<'_>, from: &Path, project: &Project) -> Result<Edits> {
        let agent =
            from.to_str().and_then(|name| agents::find(name).ok()).filter(|_| !fs::exists(&context.cwd.join(from)));
        let Some(agent) = agent else {
            let source = read(context, from)?;
            let edits = import::parse(&source, &project.config.categories);
            let is_json = source.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']);
            let items = if edits.is_err() && !is_json { bridge::items(&source) } else { Vec::new() };
            let edits = if items.is_empty() { edits? } else { remembered(items) };
            return Ok(from_source(edits, &source_name(from)));
        };
        let places = Places::here(&project.root)?;
        let mut items = Vec::new();
        for file in (agent.memories)(&places) {
            items.extend(bridge::items(&input::read_plain(&file).and_then(|text| refuse_nul(text, &shown(&file)))?));
        }
        if items.is_empty() {
            return Err(Error::failed(format!("{} keeps no memories of this project on this machine", agent.title))
                .hint("name a file instead: `agent-handover memory import --from FILE`"));
        }
        Ok(from_source(remembered(items), agent.name))
    }

    fn report(&self, context: &mut Context<'_>, changes: &[StateChange]) {
        let with = |verb: ChangeVerb| changes.iter().filter(move |change| change.verb == verb);
        if self.json {
            let list = |verb| with(verb).map(change_json).collect::<Vec<Json>>();
            context.ui.answer_json(&json!({
                "schema": "agent-handover/memory-import/1",
                "added": list(ChangeVerb::Added),
                "dropped": list(ChangeVerb::Dropped),
            }));
            return;
        }
        context.ui.answer(&format!("added {}", text::count(with(ChangeVerb::Added).count(), "item")));
        let dropped = with(ChangeVerb::Dropped).count();
        if dropped > 0 {
            let dropped = text::count(dropped, "item");
            context.ui.tell(&format!("{dropped} did not fit into their categories and are recorded in layer 1"));
        }
    }
}

/// Reads one source as text. `-` is standard input.
fn read(context: &Context<'_>, from: &Path) -> Result<String> {
    let what = if from.as_os_str() == "-" { "standard input".to_owned() } else { shown(from) };
    let source = input::read(context, Some(from), &what).map_err(|error| with_near_agent(error, context, from))?;
    refuse_nul(source, &what)
}

fn shown(file: &Path) -> String {
    format!("`{}`", file.display())
}

/// A file that is not there may be the name of an agent with a slip.
fn with_near_agent(error: Error, context: &Context<'_>, from: &Path) -> Error {
    let near = from.to_str().filter(|_| !fs::exists(&context.cwd.join(from))).and_then(agents::nearest);
    match near {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

fn refuse_nul(source: String, what: &str) -> Result<String> {
    if source.contains('\0') {
        let error = Error::bad_data(format!("{what} is not text: it has a NUL byte; nothing was imported"));
        return Err(error.hint("name a JSON file or a Markdown file"));
    }
    Ok(source)
}

fn remembered(items: Vec<String>) -> Edits {
    Edits { add: items.into_iter().map(|item| Added::new(REMEMBERED, item)).collect(), ..Edits::default() }
}

/// Marks the added items with where they come from.
fn from_source(mut edits: Edits, source: &str) -> Edits {
    for added in &mut edits.add {
        source.clone_into(&mut added.source);
    }
    edits
}

/// The name of a file as the mark of its items.
pub(super) fn source_name(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    text::cut(&name, 60).chars().map(plain).collect()
}

/// Leaves out what is remembered already, what was once imported and removed, and what an earlier source has as well. Returns
/// how many of the first two there are.
fn only_new(edits: &mut Edits, state: &CurrentState) -> usize {
    let mut left_out = 0;
    let mut known = std::collections::HashSet::new();
    edits.add.retain(|Added { category, text, .. }| {
        let is_there = state.items().any(|(of, item)| of == category && item.text == *text);
        let is_new = !is_there && state.removals_of(category, text).next().is_none();
        left_out += usize::from(!is_new);
        is_new && known.insert((category.clone(), text.clone()))
    });
    left_out
}

/// Items that do not fit would push out each other, at every import again.
fn refuse_too_many(edits: &Edits, categories: &Categories, from: &[PathBuf]) -> Result<()> {
    let keep = categories.get(REMEMBERED).keep;
    let count = edits.add.iter().filter(|added| added.category == REMEMBERED).count();
    if count <= keep {
        return Ok(());
    }
    let have = match from {
        [one] => format!("`{}` has", one.display()),
        several => format!("{} have", text::count(several.len(), "source")),
    };
    let message = format!("{have} {count} new items, and `{REMEMBERED}` keeps {keep}; nothing was imported");
    Err(Error::bad_data(message).hint(format!("raise `keep` in `[category.{REMEMBERED}]`, or shorten the list")))
}

fn preview(context: &mut Context<'_>, edits: &Edits) {
    let recorded = edits.record.iter().flat_map(|(name, texts)| texts.iter().map(move |text| (name, text)));
    for (category, item) in recorded.chain(edits.add.iter().map(|added| (&added.category, &added.text))) {
        context.ui.answer(&format!("{category}: {}", text::model_line(&secrets::clean(item), 200)));
    }
}
