//! Examines the program and the project.

use std::path::{Path, PathBuf};

use super::diagnosis::{Diagnosis, Health, diagnosis};
use crate::agents::Program;
use crate::base::{env, fs, lock, text};
use crate::bundle::TrustList;
use crate::checkpoint::{StepState, Store};
use crate::cli::config;
use crate::config::Keep;
use crate::engine::{DEATHS_TO_PARK, Plan};
use crate::git::{self, Git};
use crate::guard::own_record;
use crate::hook::{self, Deletion, DeletionLimits};
use crate::project::{self, Project};
use crate::publish::Ledger;
use crate::steps;
use crate::warmup;

const PERMISSIONS: &str = "check its owner and its permissions";

/// The program itself.
pub(super) fn program() -> Diagnosis {
    let version = env!("CARGO_PKG_VERSION");
    match Program::this() {
        Err(error) => diagnosis("program", Health::Broken, error.one_line(), error.hints().first().map(String::as_str)),
        Ok(program) if program.is_short_lived() => diagnosis(
            "program",
            Health::Remark,
            format!("{version} at {}, which may not stay there", program.path()),
            Some("install it where it stays, then run `agent-handover install` again"),
        ),
        Ok(program) => diagnosis("program", Health::Good, format!("{version} at {}", program.path()), None),
    }
}

/// The keys whose signatures count, if there are any.
pub(super) fn about_trust() -> Option<Diagnosis> {
    let list = TrustList::open().ok()?;
    match list.keys().and_then(|keys| Ok((keys, list.doubtful_names()?))) {
        Ok((keys, _)) if keys.is_empty() => None,
        Ok((keys, doubtful)) if doubtful.is_empty() => {
            Some(diagnosis("trust", Health::Good, text::count(keys.len(), "trusted key"), None))
        }
        Ok((_, doubtful)) => {
            let remedy = "give each key a name that people can tell apart: `agent-handover trust add KEY --name NAME`";
            Some(diagnosis("trust", Health::Remark, doubtful.join("; "), Some(remedy)))
        }
        Err(error) => {
            let remedy = error.hints().first().map(String::as_str);
            Some(diagnosis("trust", Health::Broken, format!("no signature counts: {}", error.one_line()), remedy))
        }
    }
}

/// The directory, and whether hooks act in it.
pub(super) fn about_root(root: &Path) -> Diagnosis {
    let path = root.display();
    if project::is_for_hooks(root) {
        return diagnosis("project", Health::Good, path.to_string(), None);
    }
    let is_home = env::home().is_some_and(|home| fs::real(&home) == root) || root.parent().is_none();
    let remedy = if is_home {
        "hooks never act in the home directory and in `/`: start your agent in a directory of its own"
    } else {
        "`git init` or `agent-handover init` makes it a project"
    };
    diagnosis("project", Health::Remark, format!("{path} is not a project, so hooks do nothing here"), Some(remedy))
}

/// Everything about a project whose config can be read.
pub(super) fn about_project(project: &Project) -> Vec<Diagnosis> {
    let mut findings = vec![about_config(project), plan(project)];
    findings.extend(database(project));
    findings.extend(
        project::sentences_about_others(&project.other_databases(), &project.root)
            .into_iter()
            .map(|sentence| diagnosis("foreign", Health::Remark, sentence, None)),
    );
    findings.push(about_lock(project));
    findings.extend(about_transcripts(project));
    findings.extend(about_talk(project));
    findings.extend(unwritable_files(project));
    findings.push(match project.brake().paused() {
        None => diagnosis("pause", Health::Good, "not paused", None),
        Some(pause) => {
            let remedy = format!("remove {}, or `agent-handover unpause`", pause.path.display());
            diagnosis("pause", Health::Remark, text::one_line(&pause.to_string(), 300), Some(&remedy))
        }
    });
    if !own_record::is_possible() {
        let says =
            "no home directory keeps a record of what is yours: all of it is shown as if it came with the repository";
        findings.push(diagnosis("memory", Health::Remark, says, Some("set HOME")));
    }
    if let Some(file) = own_record::unwritable() {
        let says = format!(
            "{} cannot be written: what you hand over is shown as if it came with the repository",
            file.display()
        );
        findings.push(diagnosis("memory", Health::Remark, says, Some(PERMISSIONS)));
    }
    findings
}

/// Transcripts that their agents are about to delete.
fn about_transcripts(project: &Project) -> Vec<Diagnosis> {
    let keep = "`[transcripts] keep = \"talk\"` in your own config keeps what is said in all sessions";
    let about = |deletion: &Deletion| match deletion.command() {
        Some(command) => {
            let keep = if project.keep() == Keep::No { format!("; {keep}") } else { String::new() };
            let remedy = format!("`{command}` hands the oldest of them over{keep}");
            diagnosis("transcripts", Health::Remark, deletion.sentence(), Some(&remedy))
        }
        None if project.keep() == Keep::No => diagnosis("transcripts", Health::Good, deletion.sentence(), Some(keep)),
        None => diagnosis("transcripts", Health::Good, deletion.sentence(), None),
    };
    hook::about_to_be_deleted(project, DeletionLimits::DIAGNOSIS).iter().map(about).collect()
}

/// A place for kept talk that cannot be used. Nobody sees an error when talk is kept, because that happens in the background.
fn about_talk(project: &Project) -> Option<Diagnosis> {
    let is_unusable = |directory: &PathBuf| {
        let anchor = project.anchor(directory);
        anchor.is_taken(directory) && !(anchor.is_directory(directory) && fs::may_write(directory))
    };
    let directory = project.talk_directories().into_iter().find(is_unusable).filter(|_| project.keep() != Keep::No)?;
    let says = format!("{} is not a directory that can be written, so no talk is kept", directory.display());
    Some(diagnosis("transcripts", Health::Remark, says, Some("move it away, or make it writable for you")))
}

fn about_lock(project: &Project) -> Diagnosis {
    let place = project.lock();
    if !fs::may_write(&place.path) && fs::is_directory(&project.state) {
        let says = format!("{} cannot be written, so nothing can be handed over", place.path.display());
        return diagnosis("lock", Health::Broken, says, Some("make it writable for you, or remove it"));
    }
    match lock::holder(&place) {
        None => diagnosis("lock", Health::Good, "free", None),
        Some(owner) => diagnosis("lock", Health::Good, format!("held: {}", lock::describe(owner.as_ref())), None),
    }
}

/// The directories of memory and history that exist and that steps cannot write.
fn unwritable_files(project: &Project) -> Vec<Diagnosis> {
    let directories = |about, directory: crate::error::Result<PathBuf>, below: &[&str]| {
        let Ok(directory) = directory else { return None };
        let mut all = std::iter::once(directory.clone()).chain(below.iter().map(|name| directory.join(name)));
        let path = all.find(|path| fs::is_directory(path) && !fs::is_writable(path))?;
        let says = format!("{} cannot be written, so handovers fail", path.display());
        Some(diagnosis(about, Health::Broken, says, Some(PERMISSIONS)))
    };
    let memory = directories("memory", project.memory_dir(), &["layer1", "layer2", "layer3"]);
    let history = directories("history", project.history_dir(), &["sessions"]);
    memory.into_iter().chain(history).collect()
}

fn plan(project: &Project) -> Diagnosis {
    let plan = Plan::of(&project.config);
    let says = format!("{}. {}", config::plan_name(project, &plan), config::publishing(&plan));
    diagnosis("plan", Health::Good, says, None)
}

fn about_config(project: &Project) -> Diagnosis {
    let Some((file, _)) = project.config.source() else {
        return diagnosis(
            "config",
            Health::Good,
            "none: the built-in plan runs, and nothing leaves this machine",
            None,
        );
    };
    let file = file.display();
    if warmup::needs_consent(project) {
        let says =
            format!("{file} is not allowed: hooks skip its commands, its publishing and paths outside the project");
        return diagnosis("config", Health::Remark, says, Some("read it, then run `agent-handover allow`"));
    }
    let consent = if project.is_allowed() { "allowed" } else { "needs no consent" };
    diagnosis("config", Health::Good, format!("{file}, {consent}"), None)
}

fn database(project: &Project) -> Vec<Diagnosis> {
    let broken = |error: crate::error::Error| {
        let remedy = error.hints().first().map_or("look at the file", String::as_str);
        vec![diagnosis("database", Health::Broken, error.one_line(), Some(remedy))]
    };
    let store = match Store::read(&project.checkpoint_file()) {
        Ok(Some(store)) => store,
        Ok(None) => return vec![diagnosis("database", Health::Good, "none yet: nothing was handed over here", None)],
        Err(error) => return broken(error),
    };
    let looked = store.examine().and_then(|()| store.unfinished(DEATHS_TO_PARK));
    let unfinished = match looked {
        Ok(unfinished) => unfinished,
        Err(error) => return broken(error),
    };
    let mut findings = vec![about_sound(&project.checkpoint)];
    let ledger = match Ledger::read(&project.anchor(&project.state), &project.state) {
        Ok(ledger) => ledger,
        Err(error) => return broken(error),
    };
    findings.extend(damaged_branch(project, &ledger));
    if !ledger.due.is_empty() {
        let says = format!("a push is due ({})", text::one_line(&ledger.due, 200));
        findings.push(diagnosis("push", Health::Remark, says, Some("`agent-handover push` delivers it")));
    }
    if unfinished.is_empty() {
        findings.push(diagnosis("handovers", Health::Good, "none is unfinished", None));
        return findings;
    }
    let ids: Vec<&str> = unfinished.iter().map(|run| run.id.as_str()).take(5).collect();
    let says = format!("{} unfinished: {}", text::count(unfinished.len(), "handover"), ids.join(", "));
    findings.push(diagnosis("handovers", Health::Remark, says, Some("`agent-handover run --resume` finishes them")));
    let is_due = |run: &crate::checkpoint::Run| {
        let steps = store.steps(run.seq).unwrap_or_default();
        steps
            .iter()
            .any(|step| steps::delivers(&step.kind) && !matches!(step.state, StepState::Done | StepState::Skipped))
    };
    let due = unfinished.iter().filter(|run| is_due(run)).count();
    if due > 0 {
        let says = format!("{} not published", text::count(due, "handover"));
        findings.push(diagnosis("publishing", Health::Remark, says, Some("`agent-handover run --resume` tries again")));
    }
    findings
}

/// A database that can be read. SQLite writes the two files beside it, too, and makes them if they are not there.
fn about_sound(database: &Path) -> Diagnosis {
    let path = database.display();
    let beside = |suffix: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let files = [database.to_path_buf(), beside("-wal"), beside("-shm")];
    if let Some(file) = files.iter().find(|file| !fs::may_write(file)) {
        let file = file.display();
        let says = format!("{path} is sound but cannot be written, so nothing can be handed over");
        return diagnosis("database", Health::Broken, says, Some(&format!("check the permissions of {file}")));
    }
    match database.parent().filter(|directory| !fs::is_writable(directory)) {
        None => diagnosis("database", Health::Good, format!("{path} is sound"), None),
        Some(directory) => {
            let says = format!("{path} is sound, but nothing new can be made in {}", directory.display());
            diagnosis("database", Health::Remark, says, Some(PERMISSIONS))
        }
    }
}

/// The branch that memory is published on, if git cannot read it.
fn damaged_branch(project: &Project, ledger: &Ledger) -> Option<Diagnosis> {
    if ledger.branch.is_empty() || project.bare().is_some() {
        return None;
    }
    let place = project::place_of_others(&project.memory_root, &Plan::of(&project.config).destination.repo_dir).ok()?;
    let said = Git::at(&place).damage_of_branch(&ledger.branch).ok()??;
    let branch = &ledger.branch;
    let says = format!("git cannot read the branch `{branch}`: {}", text::one_line(&said, 300));
    let remedy = if ledger.is_own {
        "`agent-handover push` rebuilds it from the files here and what the remote has".to_owned()
    } else {
        format!(
            "`git fsck` names what is damaged; `git fetch --refetch {}` brings back what that has",
            text::shell_word(&ledger.remote)
        )
    };
    Some(diagnosis("branch", Health::Broken, says, Some(&remedy)))
}

/// Git, without which handovers have no git facts.
pub(super) fn about_git(root: &Path) -> Diagnosis {
    if git::boundary(root).is_some_and(|top| git::directories(top).is_none()) {
        let says = "the `.git` here leads to a repository that does not know this directory, or to none: handovers have no git facts";
        let remedy = "if you moved this worktree or its repository, run `git worktree repair`";
        return diagnosis("git", Health::Remark, says, Some(remedy));
    }
    let answer = Git::at(root).ask(&["--version"]);
    match answer.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned()) {
        Err(error) => diagnosis(
            "git",
            Health::Remark,
            format!("{}: handovers have no git facts", error.one_line()),
            Some("install git, or make sure that it is on the PATH of your agents"),
        ),
        Ok(version) => match git::top_level(root) {
            Some(top) if is_distrusted(top) => {
                let says = format!(
                    "git does not trust {}, which belongs to another user: handovers have no git facts",
                    top.display()
                );
                let remedy = format!(
                    "if you trust it, run `git config --global --add safe.directory {}`",
                    text::shell_word(&top.display().to_string())
                );
                diagnosis("git", Health::Remark, says, Some(&remedy))
            }
            Some(top) => diagnosis("git", Health::Good, format!("{version}, repository {}", top.display()), None),
            None => diagnosis("git", Health::Good, format!("{version}; this is not a repository"), None),
        },
    }
}

/// Whether git refuses a repository because of its owner.
fn is_distrusted(top: &Path) -> bool {
    let answer = Git::at(top).ask(&["rev-parse", "--git-dir"]);
    answer.is_ok_and(|answer| !answer.succeeded && String::from_utf8_lossy(&answer.stderr).contains("safe.directory"))
}
