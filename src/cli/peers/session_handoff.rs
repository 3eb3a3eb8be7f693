//! `session-handoff`: the command lines of that tool.
//!
//! Its one store for all projects is here the archives of all projects. Every error exits with 1.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::TimeDelta;

use super::super::history::duration;
use super::super::provenance::marked;
use super::super::ui::{Color, Ui, Voice};
use super::all_projects::{self, Found, Wanted};
use super::go_flags::{GoFlags, Kind};
use super::peer::{Translation, words};
use crate::base::{clock, fs, text};
use crate::bundle;
use crate::error::{Error, Result};

const USAGE: &str = "\
session-handoff: the commands of session-handoff, carried out by agent-handover

session-handoff save --tool NAME --project DIR --title TEXT --summary TEXT [--next TEXT]...
session-handoff list [--json] [--id PREFIX] [--tool NAME] [--project DIR] [--query TEXT] [--since DURATION] [--latest] [--limit COUNT]
session-handoff render [--id ID] [--target NAME]
session-handoff export [--id ID] [--output FILE] [--format markdown|json] [--target NAME] [--sign-key FILE] [--signer NAME] [--passphrase TEXT]
session-handoff import --input FILE [--on-conflict fail|skip|replace] [--passphrase TEXT] [--allow-unsigned]
session-handoff select [--query TEXT] [--id PREFIX] [--tool NAME] [--project DIR] [--since DURATION] [--limit COUNT] [--print-id]
";

const FILTERS: [(&str, Kind); 6] = [
    ("id", Kind::Text),
    ("tool", Kind::Text),
    ("project", Kind::Text),
    ("query", Kind::Text),
    ("since", Kind::Text),
    ("limit", Kind::Text),
];

/// Carries out a command line of session-handoff.
pub(super) fn execute(arguments: &[OsString]) -> u8 {
    let mut ui = Ui::new(Color::Auto, false);
    let Some((command, rest)) = arguments.split_first() else {
        ui.answer_text(USAGE);
        return 1;
    };
    let done = match command.to_string_lossy().as_ref() {
        "help" | "-h" | "--help" => {
            ui.answer_text(USAGE);
            return 0;
        }
        "save" => save(rest),
        "list" => list(&mut ui, rest),
        "render" => render(rest),
        "export" => export(rest),
        "import" => import(rest),
        "select" => select(&mut ui, rest),
        unknown => Err(Error::usage(format!("unknown command {unknown:?}; `session-handoff help` lists all"))),
    };
    match done {
        Ok(0) => 0,
        Ok(_) => 1,
        Err(error) => {
            ui.error(&error.one_line());
            1
        }
    }
}

fn save(arguments: &[OsString]) -> Result<u8> {
    let known = ["tool", "project", "title", "summary", "next"].map(|name| (name, Kind::Text));
    let flags = parse(arguments, &known)?;
    let required = ["tool", "project", "title", "summary"].map(|name| flags.text(name).map(str::trim));
    let [Some(tool), Some(project), Some(title), Some(summary)] = required else {
        return Err(Error::usage("save requires --tool, --project, --title, --summary"));
    };
    if flags.all("next").iter().any(|next| next.trim().is_empty()) {
        return Err(Error::usage("save requires non-empty --next items"));
    }
    let mut command = words(&["history", "create", "--allow-flagged-todo", "--tool", tool, "--goal", title]);
    command.extend(words(&["--summary", summary]));
    for next in flags.all("next") {
        command.extend(words(&["--next", next]));
    }
    if flags.all("next").is_empty() {
        command.extend(words(&["--next", &format!("Decide what follows from: {title}")]));
    }
    let project = absolute(project)?;
    if !fs::is_directory(&project) {
        return Err(Error::failed(format!("the project `{}` is not a directory", project.display())));
    }
    run(command, Some(project), |line| {
        let id = line.strip_prefix("Wrote handoff for session ")?.strip_suffix(':')?;
        Some(format!("saved handoff {id}"))
    })
}

fn list(ui: &mut Ui, arguments: &[OsString]) -> Result<u8> {
    let known: Vec<(&str, Kind)> =
        FILTERS.into_iter().chain([("json", Kind::Switch), ("latest", Kind::Switch)]).collect();
    let flags = parse(arguments, &known)?;
    let mut wanted = wanted(&flags)?;
    if flags.is_set("latest") {
        if wanted.limit > 0 {
            return Err(Error::usage("--latest cannot be combined with --limit"));
        }
        wanted.limit = 1;
    }
    let found = find(ui, &wanted)?;
    if flags.is_set("json") {
        let records: Vec<&bundle::HandoffRecord> = found.iter().map(|found| &found.record).collect();
        let json = bundle::pretty_json(&records)?;
        // Line by line, because the line breaks of the layout are not part of a text.
        ui.answer_text(&json.lines().map(|line| text::for_json(line) + "\n").collect::<String>());
        return Ok(0);
    }
    if found.is_empty() {
        ui.answer("no handoffs saved");
    }
    for found in &found {
        let record = &found.record;
        ui.answer(&format!("{}  {:<12}  {}", record.id, line(&record.tool), titled(found)));
        ui.answer(&format!("  project: {}", line(&record.project)));
        if !record.next().is_empty() {
            let next: Vec<String> = record.next().iter().map(|next| line(next)).collect();
            ui.answer(&format!("  next: {}", next.join(" | ")));
        }
    }
    Ok(0)
}

fn render(arguments: &[OsString]) -> Result<u8> {
    let flags = parse(arguments, &[("id", Kind::Text), ("target", Kind::Text)])?;
    let found = all_projects::resolve(&here()?, flags.given("id").unwrap_or("latest"))?;
    let target = flags.text("target").unwrap_or("generic");
    let layout = ["--layout", "session-handoff", "--target", target];
    let mut command = words(&["history", "render", "--id", &found.record.id]);
    command.extend(words(&layout));
    run(command, Some(found.root), |line| Some(line.to_owned()))
}

fn export(arguments: &[OsString]) -> Result<u8> {
    let known = ["id", "output", "format", "target", "sign-key", "signer", "passphrase"].map(|name| (name, Kind::Text));
    let flags = parse(arguments, &known)?;
    let found = all_projects::resolve(&here()?, flags.given("id").unwrap_or("latest"))?;
    let format = flags.text("format").unwrap_or("markdown").trim().to_lowercase();
    let mut command = words(&["history", "export", "--id", &found.record.id]);
    match format.as_str() {
        "markdown" | "md" => {
            let target = flags.text("target").unwrap_or("generic");
            command.extend(words(&["--layout", "session-handoff", "--target", target]));
        }
        "json" => command.extend(words(&["--format", "json"])),
        other => return Err(Error::usage(format!("unsupported export format {other:?}; use markdown or json"))),
    }
    for (theirs, ours) in [("output", "--output"), ("sign-key", "--sign-key")] {
        if let Some(path) = flags.text(theirs) {
            command.extend([ours.into(), absolute(path)?.into_os_string()]);
        }
    }
    for (theirs, ours) in [("signer", "--signer"), ("passphrase", "--passphrase")] {
        command.extend(flags.text(theirs).map(|value| words(&[ours, value])).unwrap_or_default());
    }
    if flags.text("output").is_some() {
        command.extend(words(&["--force"]));
    }
    run(command, Some(found.root), |line| Some(line.to_owned()))
}

fn import(arguments: &[OsString]) -> Result<u8> {
    let texts = ["input", "on-conflict", "passphrase"].map(|name| (name, Kind::Text));
    let known: Vec<(&str, Kind)> = texts.into_iter().chain([("allow-unsigned", Kind::Switch)]).collect();
    let flags = parse(arguments, &known)?;
    let input = flags.text("input").ok_or_else(|| Error::usage("import requires --input"))?;
    let policy = flags.text("on-conflict").unwrap_or("fail").trim().to_lowercase();
    let mut command = words(&["history", "import", "--on-conflict", &policy, "--input", input]);
    command.extend(flags.text("passphrase").map(|text| words(&["--passphrase", text])).unwrap_or_default());
    if flags.is_set("allow-unsigned") {
        command.extend(words(&["--allow-unsigned"]));
    }
    // session-handoff has no word for a handoff that is already here as it is.
    match policy.as_str() {
        "replace" => run(command, None, |line| Some(line.replacen("unchanged handoff", "replaced handoff", 1))),
        _ => run(command, None, |line| Some(line.replacen("unchanged handoff", "skipped handoff", 1))),
    }
}

fn select(ui: &mut Ui, arguments: &[OsString]) -> Result<u8> {
    let known: Vec<(&str, Kind)> = FILTERS.into_iter().chain([("print-id", Kind::Switch)]).collect();
    let flags = parse(arguments, &known)?;
    let found = find(ui, &wanted(&flags)?)?;
    if found.is_empty() {
        return Err(Error::failed("no handoffs match selector filters"));
    }
    let chosen = if flags.is_set("print-id") { 0 } else { ask(ui, &found)? };
    ui.answer(&found[chosen].record.id);
    Ok(0)
}

/// Asks for a number. The list is on stderr, so that `$(session-handoff select)` is the id alone.
fn ask(ui: &Ui, found: &[Found]) -> Result<usize> {
    for (number, found) in found.iter().enumerate() {
        ui.tell(&format!("{}) {}  {:<10} {}", number + 1, found.record.id, line(&found.record.tool), titled(found)));
    }
    ui.tell("Select number:");
    let mut typed = String::new();
    let length =
        std::io::stdin().read_line(&mut typed).map_err(|cause| Error::failed("read selection").cause(cause))?;
    if length == 0 {
        return Err(Error::failed("read selection: EOF"));
    }
    let number = typed.trim().parse::<usize>().ok().filter(|number| (1..=found.len()).contains(number));
    number.map(|number| number - 1).ok_or_else(|| Error::failed("invalid selection"))
}

fn parse(arguments: &[OsString], known: &[(&str, Kind)]) -> Result<GoFlags> {
    GoFlags::parse(arguments, known).map_err(Error::usage)
}

fn wanted(flags: &GoFlags) -> Result<Wanted<'_>> {
    let limit = flags.text("limit").unwrap_or("0").trim();
    let limit: i64 = limit.parse().map_err(|_| Error::usage(format!("invalid value {limit:?} for flag -limit")))?;
    let limit = usize::try_from(limit).map_err(|_| Error::usage("--limit must be >= 0"))?;
    let since = flags.text("since").map(|given| {
        if given.trim().strip_prefix('-').is_some_and(|rest| duration(rest).is_some()) {
            return Err(Error::usage("--since must be > 0"));
        }
        let back = duration(given.trim()).ok_or_else(|| Error::usage(format!("invalid --since duration {given:?}")))?;
        if back == Duration::ZERO {
            return Err(Error::usage("--since must be > 0"));
        }
        let back = TimeDelta::from_std(back).ok().and_then(|back| clock::now().checked_sub_signed(back));
        back.ok_or_else(|| Error::usage(format!("invalid --since duration {given:?}")))
    });
    Ok(Wanted {
        id: flags.text("id"),
        tool: flags.text("tool"),
        project: flags.text("project").map(absolute).transpose()?,
        query: flags.text("query"),
        since: since.transpose()?,
        limit,
    })
}

fn find(ui: &Ui, wanted: &Wanted<'_>) -> Result<Vec<Found>> {
    let (found, problems) = all_projects::find(&here()?, wanted);
    for problem in problems {
        ui.warn(&problem.one_line());
    }
    Ok(found)
}

/// A field on one line.
fn line(field: &str) -> String {
    text::one_line(field, 200)
}

fn titled(found: &Found) -> String {
    marked(found.is_ours, &line(&found.record.title))
}

fn here() -> Result<PathBuf> {
    std::env::current_dir().map_err(|cause| Error::failed("the current directory cannot be read").cause(cause))
}

/// The path from the current directory, because our command may run in another one.
fn absolute(path: &str) -> Result<PathBuf> {
    let path = here()?.join(Path::new(path));
    Ok(fs::tidy(&path).unwrap_or(path))
}

fn run(arguments: Vec<OsString>, cwd: Option<PathBuf>, line: fn(&str) -> Option<String>) -> Result<u8> {
    let voice = Voice { warning: "note:".to_owned(), error: "error:".to_owned(), line };
    Ok(Translation { arguments, cwd, voice }.run())
}
