//! `config`: what holds here, where each value came from, and where a run publishes. `run --dry-run` and `doctor` use the
//! same sentences.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::Context;
use super::paint::{Line, Role};
use super::ui::Ui;
use crate::base::{duration, text};
use crate::config::category::BUILT_IN;
use crate::config::{Origin, Secrets};
use crate::engine::{self, Plan, Request};
use crate::error::{Error, Result};
use crate::project::Project;
use crate::publish;

const SCHEMA: &str = "agent-handover/config/1";

/// Print the configuration of this project, where each value comes from, and where handovers are published
#[derive(Args)]
pub(super) struct ConfigCommand {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// As for `run --tag`
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    tag: Option<String>,
    /// As for `run --no-push`
    #[arg(long)]
    no_push: bool,
    /// As for `run --checkpoint`
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
}

/// A value that holds, under its name with dots, such as `backend.branch`.
struct Setting {
    key: String,
    value: Value,
    origin: Origin,
}

impl ConfigCommand {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.examined_project(self.checkpoint.as_deref(), self.tag.as_deref())?;
        let mut plan = Plan::of(&project.config);
        plan.destination.push &= !self.no_push;
        let mut settings = settings(&project, &plan);
        for setting in settings.iter_mut().filter(|setting| self.no_push && setting.key == "backend.push") {
            setting.origin = Origin::Flag("--no-push");
        }
        if self.json {
            context.ui.answer_json(&document(&project, &plan, &settings));
            return Ok(0);
        }
        let file = project.config.file.as_deref();
        let name = file.map_or("none, the defaults apply".to_owned(), |file| file.display().to_string());
        context.ui.answer(&format!("Config: {name}"));
        let own = project.config.own_file().map(|own| own.display().to_string());
        if let Some(own) = &own {
            context.ui.answer(&format!("Your own config: {own}"));
        }
        let short = file.map(|file| show(&project.root, file)).unwrap_or_default();
        let own = own.unwrap_or_default();
        for Setting { key, value, origin } in &settings {
            // A value is on one line, whatever is in it.
            let setting = Line::of(Role::Plain, format!("{key} = {}", text::for_json(&value.to_string())));
            context.ui.answer_line(&setting.and(Role::Quiet, format!("  # {}", origin_text(*origin, &short, &own))));
        }
        context.ui.answer(&format!("Plan: {}.", plan_name(&project, &plan)));
        context.ui.answer(&publishing(&plan));
        Ok(0)
    }
}

fn show(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

fn origin_text(origin: Origin, file: &str, own: &str) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::Own { line } => format!("{own}:{line}"),
        Origin::File { line } => format!("{file}:{line}"),
        Origin::Environment(name) => format!("environment: {name}"),
        Origin::Flag(name) => format!("flag: {name}"),
    }
}

fn origin_json(origin: Origin) -> Value {
    match origin {
        Origin::Default => json!({ "from": "default" }),
        Origin::Own { line } => json!({ "from": "own", "line": line }),
        Origin::File { line } => json!({ "from": "file", "line": line }),
        Origin::Environment(name) => json!({ "from": "environment", "name": name }),
        Origin::Flag(name) => json!({ "from": "flag", "name": name }),
    }
}

/// Every value that holds. What only the Python tool's files have is listed if it is there.
fn settings(project: &Project, plan: &Plan) -> Vec<Setting> {
    let (config, destination) = (&project.config, &plan.destination);
    let secrets = match config.secrets {
        Secrets::Block => "block",
        Secrets::Redact => "redact",
        Secrets::Warn => "warn",
    };
    let timeout = match destination.timeout_ms {
        millis if millis % 1_000 == 0 => format!("{}s", millis / 1_000),
        millis => format!("{millis}ms"),
    };
    let ignored: Vec<String> = config.ignored_directories.iter().map(|path| path.display().to_string()).collect();
    let mut values: Vec<(&str, Value)> = vec![
        ("handover.memory_dir", json!(config.memory_dir)),
        ("handover.history_dir", json!(config.history_dir)),
        ("handover.state_dir", json!(config.state_dir)),
        ("handover.pause_file", json!(config.pause_file)),
        ("handover.checkpoint", json!(show(&project.root, &project.checkpoint))),
        ("handover.tag", json!(config.tag)),
        ("backend.type", json!(destination.backend)),
    ];
    values.extend(config.session_note.as_ref().map(|note| ("note.session", json!(note))));
    values.extend(config.current_state.as_ref().map(|state| ("note.current_state", json!(state))));
    if !destination.is_local() {
        values.extend([
            ("backend.branch", json!(destination.branch)),
            ("backend.remote", json!(destination.remote)),
            ("backend.push", json!(destination.push)),
            ("backend.repo_dir", json!(destination.repo_dir)),
            ("backend.paths", json!(destination.paths)),
            ("backend.message", json!(destination.message)),
            ("backend.timeout", json!(timeout)),
        ]);
    }
    values.extend([
        ("guard.secrets", json!(secrets)),
        ("hook.ignore", json!(ignored)),
        ("hook.headless", json!(config.follows_headless)),
        ("warmup.enabled", json!(config.warms_up)),
        ("warmup.budget", json!(config.warmup_budget)),
        ("recall.first_prompt", json!(config.recalls_at_first_prompt)),
        ("recall.tools", json!(config.recalls_before_tools)),
        ("transcripts.keep", json!(config.keep.name())),
    ]);
    values.extend(config.embed.as_ref().map(|embed| ("search.embed", json!(embed))));
    let timeout = config.embed_timeout.map(duration::show);
    values.extend(timeout.map(|timeout| ("search.embed_timeout", json!(timeout))));
    let mut settings: Vec<Setting> = values
        .into_iter()
        .map(|(key, value)| Setting { key: key.to_owned(), value, origin: config.origin(key) })
        .collect();
    for name in BUILT_IN.iter().map(|known| known.name).chain(config.categories.extra()) {
        let category = config.categories.get(name);
        for (key, value) in [("mode", json!(category.mode)), ("keep", json!(category.keep))] {
            let key = format!("category.{name}.{key}");
            let origin = config.origin(&key);
            settings.push(Setting { key, value, origin });
        }
    }
    settings
}

fn document(project: &Project, plan: &Plan, settings: &[Setting]) -> Value {
    let values: Vec<Value> = settings
        .iter()
        .map(|setting| json!({ "key": setting.key, "value": setting.value, "origin": origin_json(setting.origin) }))
        .collect();
    let line = |name: &str| {
        let steps = project.config.steps.iter().flatten();
        steps.filter(|step| step.name == name).map(|step| step.line).next()
    };
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| json!({ "name": step.name, "kind": step.kind, "line": line(&step.name) }))
        .collect();
    json!({
        "schema": SCHEMA,
        "root": project.root.display().to_string(),
        "file": project.config.file.as_ref().map(|file| file.display().to_string()),
        "own_file": project.config.own_file().map(|own| own.display().to_string()),
        "values": values,
        "plan": { "of": whose_plan(project), "why": project.config.python_evidence.filter(|_| project.config.is_python()), "steps": steps },
        "publishing": { "sentence": publishing(plan), "publishes": publishes(plan), "destination": plan.destination },
    })
}

/// Whose steps a run has: the file's own, those of the Python tool, or those built in.
fn whose_plan(project: &Project) -> &'static str {
    match &project.config {
        config if config.steps.is_some() => "file",
        config if config.is_python() => "python",
        _ => "built-in",
    }
}

/// The plan in words, with the names of its steps.
pub(super) fn plan_name(project: &Project, plan: &Plan) -> String {
    let steps: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    let steps = steps.join(", ");
    match whose_plan(project) {
        "file" => format!("the file's own ({steps})"),
        "python" => {
            let why = project.config.python_evidence.unwrap_or_default();
            format!("that of the Python agent-handover, because the file has no `[[step]]` and {why} ({steps})")
        }
        _ if project.config.file.is_some() => format!("built-in, because the file has no `[[step]]` ({steps})"),
        _ => format!("built-in ({steps})"),
    }
}

/// For `run`: which plan applies, if there is a file and the plan is not its own.
pub(super) fn plan_line(project: &Project) -> Option<String> {
    let is_own = project.config.file.is_none() || project.config.steps.is_some();
    (!is_own).then(|| format!("plan: {}", plan_name(project, &Plan::of(&project.config))))
}

fn publishes(plan: &Plan) -> bool {
    plan.delivers() && !plan.destination.is_local()
}

/// Where a run publishes, as one sentence.
pub(super) fn publishing(plan: &Plan) -> String {
    let backend = publish::backend(&plan.destination.backend);
    match backend {
        _ if !plan.delivers() => "Publishing: nowhere (no step of the plan publishes).".to_owned(),
        Ok(backend) => format!("Publishing: {}.", backend.describe(&plan.destination)),
        Err(error) => format!("Publishing: {}.", error.one_line()),
    }
}

/// `run --dry-run`: what each step would do, where it would publish, and what is missing for that.
pub(super) fn dry_run(ui: &mut Ui, project: &Project, request: &Request) -> Result<u8> {
    if let Some(line) = plan_line(project) {
        ui.tell(&line);
    }
    let previews = engine::preview(project, request)?;
    for preview in &previews {
        ui.answer(&format!("{}: would {}", preview.step, preview.what));
    }
    let mut plan = Plan::of(&project.config);
    plan.destination.push &= !request.no_push;
    ui.answer(&publishing(&plan));
    let mut failing = Vec::new();
    for preview in &previews {
        let sentences = preview.missing.iter().map(|missing| format!("step `{}`: {missing}", preview.step));
        for sentence in sentences {
            if preview.may_fail {
                ui.warn(&format!("{sentence}; the step would fail, and the run would continue"));
            } else {
                failing.push(sentence);
            }
        }
    }
    match failing.split_first() {
        None => Ok(0),
        Some((first, more)) => {
            let error = Error::failed(format!("this run would fail: {first}"));
            Err(more.iter().fold(error, |error, next| error.cause(next)))
        }
    }
}
