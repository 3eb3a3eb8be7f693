//! Installs our part into the files of agents, and removes it. Everything is planned before anything is written.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::agent_file::{AgentFile, FileContent, FileEdit};
use super::record::InstallRecord;
use super::targets::{BlockWish, targets};
use super::{Program, ServerWish, block, diff, state};
use crate::agents::agent::Bootstrap;
use crate::agents::clients::ANY_OTHER;
use crate::agents::{AGENTS, Agent, Places, Scope};
use crate::base::fs;
use crate::error::{Category, Error, Result};

/// The changes to the files of one agent.
#[derive(Debug)]
pub struct InstallPlan {
    pub agent: &'static Agent,
    pub changes: Vec<FileChange>,
    /// What the user should know, whether or not anything changes.
    pub notes: Vec<String>,
    /// Files without a part of ours. The record forgets them, and empty directories of ours above them are removed.
    cleared: Vec<PathBuf>,
}

/// The change of one file.
#[derive(Debug)]
pub struct FileChange {
    /// The path that the agent uses.
    pub path: PathBuf,
    /// The purpose of the file, in a few words.
    pub what: String,
    pub before: Option<String>,
    pub after: Option<String>,
    /// Why the file is left alone although it should change.
    pub left: Option<LeftAlone>,
    /// The path with symlinks resolved.
    real: PathBuf,
    /// The text without our part. `None` if there was no file.
    base: Option<String>,
    is_executable: bool,
    is_essential: bool,
}

/// Why a file is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftAlone {
    /// The file is ours, but somebody has changed it.
    Changed,
    /// A file of somebody else is where ours should be.
    Foreign,
}

impl InstallPlan {
    /// The place of the change of a file, if it is planned already: a settings file may hold several parts of ours.
    fn of_file(&self, real: &Path) -> Option<usize> {
        self.changes.iter().position(|change| change.real == real && change.left.is_none())
    }
}

impl FileChange {
    /// Adds another part of ours to the change of the same file.
    fn join(&mut self, target: &AgentFile, after: Option<String>, base: Option<String>) {
        self.what = format!("{}, {}", self.what, target.describe());
        (self.after, self.base) = (after, base);
    }

    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// Whether the agent calls us through this file. The others only instruct it.
    pub fn is_essential(&self) -> bool {
        self.is_essential
    }

    pub fn diff(&self) -> String {
        diff::unified(&self.path, self.before.as_deref(), self.after.as_deref())
    }
}

/// Plans and applies changes to the files of this user's agents.
pub struct Installer {
    record: InstallRecord,
    /// The lock of the home directory, which always exists. `None` if nothing will be changed.
    alone: Option<(PathBuf, fs::DirectoryLock)>,
}

impl Installer {
    /// An installer that only plans.
    pub fn to_look() -> Result<Installer> {
        Ok(Installer { record: InstallRecord::load()?, alone: None })
    }

    /// An installer that may change files. It waits until no other one is at work.
    pub fn to_change(places: &Places) -> Result<Installer> {
        let home = fs::resolve(&places.home)?;
        let alone = fs::lock_directory(&home)?;
        let record = InstallRecord::load()?;
        record.sweep()?;
        Ok(Installer { record, alone: Some((home, alone)) })
    }

    pub fn plan_install(
        &self,
        agent: &'static Agent,
        places: &Places,
        scope: Scope,
        program: &Program,
        block: BlockWish,
        server: ServerWish,
    ) -> Result<InstallPlan> {
        let mut plan = InstallPlan { agent, changes: Vec::new(), notes: Vec::new(), cleared: Vec::new() };
        let targets = targets(agent, places, scope, program, block, server)?;
        let python_note = python_block(&targets, places);
        for target in targets {
            let (real, now) = self.look(&target.path)?;
            let earlier = plan.of_file(&real);
            let now = earlier.map_or(now, |at| plan.changes[at].after.clone());
            if !target.is_wanted && !now.as_deref().is_some_and(|now| target.look(now).is_there) {
                continue;
            }
            plan.notes.extend(now.as_deref().and_then(|now| target.oddity(now)));
            plan.notes.extend(now.as_deref().and_then(|now| target.rejection(now, agent.title)));
            if let (Some(text), true, None) = (&now, target.is_server() && !target.is_wanted, earlier) {
                let after = match (self.record.before(&real, text), target.without(text)?) {
                    (Some(was), _) => was,
                    (None, FileEdit::Text(rest)) => self.unless_bare(&target, &real, rest),
                    (None, FileEdit::LeftAsChanged | FileEdit::LeftAsForeign) => continue,
                };
                plan.changes.push(change(&target, real, now, after));
                continue;
            }
            let edit = match &now {
                Some(now) if target.is_server() && !target.is_wanted => target.without(now)?,
                now => target.with(now.as_deref())?,
            };
            if target.is_server() && edit == FileEdit::LeftAsForeign {
                let path = target.path.display();
                plan.notes.push(format!("`{path}` has another MCP server of our name, which was not changed"));
                continue;
            }
            if let (Some(at), FileEdit::Text(after)) = (earlier, &edit) {
                let base = match plan.changes[at].base.take() {
                    Some(base) if target.look(&base).is_there => self.base(&target, &real, Some(&base))?,
                    base => base,
                };
                plan.changes[at].join(&target, Some(after.clone()), base);
                continue;
            }
            let change = match edit {
                FileEdit::Text(after) => {
                    let base = self.base(&target, &real, now.as_deref())?;
                    FileChange { base, ..change(&target, real, now, Some(after)) }
                }
                FileEdit::LeftAsChanged => left(&target, real, now, LeftAlone::Changed),
                FileEdit::LeftAsForeign => left(&target, real, now, LeftAlone::Foreign),
            };
            plan.changes.push(change);
        }
        plan.notes.extend(python_note);
        if block == BlockWish::Write && (agent.bootstrap)(places, scope) == Bootstrap::AgentsMd {
            let install = format!("agent-handover install {} --scope {}", ANY_OTHER.name, scope.name());
            plan.notes.push(format!("{} reads AGENTS.md: `{install}` writes the block into it", agent.title));
        }
        plan.notes.extend(other_scope(agent, places, scope));
        plan.notes.extend(beside_plugin(agent, places));
        Ok(plan)
    }

    /// Plans an uninstall. Files that are shared with an installed agent outside `leaving` stay.
    pub fn plan_uninstall(
        &self,
        agent: &'static Agent,
        places: &Places,
        scope: Scope,
        leaving: &[&'static Agent],
    ) -> Result<InstallPlan> {
        let mut plan = InstallPlan { agent, changes: Vec::new(), notes: Vec::new(), cleared: Vec::new() };
        for target in targets(agent, places, scope, &Program::by_name(), BlockWish::Keep, ServerWish::Write)? {
            let (real, now) = self.look(&target.path)?;
            let earlier = plan.of_file(&real);
            let now = earlier.map_or(now, |at| plan.changes[at].after.clone());
            let seen = now.as_deref().map(|now| target.look(now)).unwrap_or_default();
            plan.notes.extend(now.as_deref().and_then(|now| target.oddity(now)));
            let Some(now) = now.filter(|_| seen.is_there) else {
                plan.cleared.extend(earlier.is_none().then_some(real));
                continue;
            };
            if seen.is_followed && agent.trusts_hooks_by_position {
                plan.notes.push(format!(
                    "hooks that come after ours change their place: {} will ask again whether you trust them",
                    agent.title
                ));
            }
            if is_needed(&real, places, scope, leaving)? {
                continue;
            }
            let after = match self.record.before(&real, &now) {
                Some(was) => was,
                None => match target.without(&now)? {
                    FileEdit::LeftAsChanged | FileEdit::LeftAsForeign => {
                        plan.changes.push(left(&target, real, Some(now), LeftAlone::Changed));
                        continue;
                    }
                    FileEdit::Text(text) => self.unless_bare(&target, &real, text),
                },
            };
            match earlier {
                Some(at) => plan.changes[at].join(&target, after.clone(), after),
                None => plan.changes.push(change(&target, real, Some(now), after)),
            }
        }
        Ok(plan)
    }

    /// Applies a plan. If it is killed at any moment, each file is old or new, and the record knows which files were touched.
    pub fn apply(&mut self, plan: &InstallPlan) -> Result<()> {
        for change in plan.changes.iter().filter(|change| change.is_change()) {
            self.apply_one(change)?;
        }
        for real in &plan.cleared {
            self.settle(real)?;
        }
        Ok(())
    }

    /// The real path and the text of a file. With the lock held, this first removes temporary files of a killed install.
    fn look(&self, path: &Path) -> Result<(PathBuf, Option<String>)> {
        let found = read(path)?;
        let Some((home, _)) = &self.alone else { return Ok(found) };
        if let Some(directory) = found.0.parent().filter(|directory| fs::is_directory(directory)) {
            let _alone = if directory == home { None } else { Some(fs::lock_directory(directory)?) };
            fs::sweep_temporaries(directory, fs::Depth::Directory)?;
        }
        Ok(found)
    }

    fn apply_one(&mut self, change: &FileChange) -> Result<()> {
        let directory = change.real.parent().unwrap_or(Path::new("/"));
        if read(&change.path)?.1 != change.before {
            return Err(Error::failed(format!("`{}` was changed by another program just now", change.path.display()))
                .hint("try again"));
        }
        let Some(after) = &change.after else {
            fs::remove_file(&change.real)?;
            return self.settle(&change.real);
        };
        refuse_unwritable(&change.real)?;
        if change.base != change.after {
            self.record.remember(&change.real, change.base.as_deref(), change.before.as_deref(), after);
        }
        self.record.make_directory(directory)?;
        self.record.save()?;
        if change.is_executable {
            fs::replace_executable(&change.real, after.as_bytes())?
        } else {
            fs::replace(&change.real, after.as_bytes())?
        }
        if change.base == change.after { self.settle(&change.real) } else { Ok(()) }
    }

    /// Forgets a file that has no part of ours any more.
    fn settle(&mut self, real: &Path) -> Result<()> {
        self.record.tidy(real)?;
        self.record.forget(real);
        self.record.save()
    }

    /// The text that the file has, or would have, without our part.
    fn base(&self, target: &AgentFile, real: &Path, now: Option<&str>) -> Result<Option<String>> {
        let Some(now) = now else { return Ok(None) };
        if let Some(was) = self.record.before(real, now) {
            return Ok(was);
        }
        // Instructions of ours in a file that no install on record wrote, such as one that came with a clone: the uninstall
        // restores them. Hooks are removed wherever they come from, because the agent would go on calling us.
        let is_older = target.only_instructs() && !self.record.knows(real);
        if is_older || !target.look(now).is_there {
            Ok(Some(now.to_owned()))
        } else {
            Ok(match target.without(now)? {
                FileEdit::Text(text) => self.unless_bare(target, real, text),
                FileEdit::LeftAsChanged | FileEdit::LeftAsForeign => Some(now.to_owned()),
            })
        }
    }

    /// The text, or `None` if the file can be removed: it is entirely ours, or we created it and nothing is left in it.
    fn unless_bare(&self, target: &AgentFile, real: &Path, text: String) -> Option<String> {
        let is_whole = matches!(target.content, FileContent::Whole { .. });
        let is_gone = target.is_bare(&text) && (is_whole || self.record.is_made_by_us(real));
        (!is_gone).then_some(text)
    }
}

/// The real path and the text of a file.
pub(super) fn read(path: &Path) -> Result<(PathBuf, Option<String>)> {
    let real = fs::resolve(path)?;
    let text = match fs::read_if_exists(&real)? {
        None => None,
        Some(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
            Error::bad_data(format!("`{}` is not UTF-8", path.display()))
                .hint("nothing was changed: fix the file, then try again")
        })?),
    };
    Ok((real, text))
}

fn change(target: &AgentFile, real: PathBuf, before: Option<String>, after: Option<String>) -> FileChange {
    FileChange {
        path: target.path.clone(),
        what: target.describe(),
        base: after.clone(),
        before,
        after,
        left: None,
        real,
        is_executable: target.is_executable(),
        is_essential: target.is_essential(),
    }
}

fn left(target: &AgentFile, real: PathBuf, now: Option<String>, why: LeftAlone) -> FileChange {
    FileChange { left: Some(why), ..change(target, real, now.clone(), now) }
}

/// Refuses a read-only file, although replacing it could work, a file of another user, whose owner would change, and a file
/// with several names: replacing it would leave the other names with the old text, and writing into it could be
/// interrupted halfway.
#[allow(clippy::disallowed_methods, reason = "the user's own settings, behind whatever links")]
fn refuse_unwritable(path: &Path) -> Result<()> {
    let Ok(about) = std::fs::metadata(path) else { return Ok(()) };
    let refused = |why: String| Error::new(Category::Io, format!("`{}` {why}", path.display()));
    if about.mode() & 0o222 == 0 {
        return Err(refused("is read-only".to_owned()).hint("make it writable with `chmod u+w`, then try again"));
    }
    if about.nlink() > 1 {
        let why = format!("has {} names (hard links), and replacing it would separate them", about.nlink());
        return Err(refused(why).hint("replace it with a copy of its own, or with a symlink, then try again"));
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused(format!("belongs to user {}, not to you", about.uid())).hint("run this as that user"));
    }
    Ok(())
}

/// Whether another agent that is installed at this scope uses the same file.
fn is_needed(real: &Path, places: &Places, scope: Scope, leaving: &[&'static Agent]) -> Result<bool> {
    for other in AGENTS.iter().copied().filter(|other| !leaving.contains(other)) {
        let theirs = (other.files)(places, scope, &Program::by_name())?;
        let shares = theirs.iter().any(|their| fs::resolve(&their.path).is_ok_and(|their| their == real));
        if shares && state::is_wired(other, places, scope) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A note about the Python tool's block in AGENTS.md, which sends agents to a script that is not there. If AGENTS.md is
/// among the files of this install, the block is replaced anyway.
fn python_block(files: &[AgentFile], places: &Places) -> Option<String> {
    let file = places.project.join("AGENTS.md");
    if files.iter().any(|kept| kept.path == file) {
        return None;
    }
    let text = read(&file).ok()?.1?;
    block::is_python(&text).then(|| {
        format!(
            "`{}` has the block of the Python tool: `agent-handover install {} --scope project` upgrades it",
            file.display(),
            ANY_OTHER.name
        )
    })
}

/// Our plugin calls us for the same events.
fn beside_plugin(agent: &'static Agent, places: &Places) -> Option<String> {
    (agent.plugin)(places)?;
    let title = agent.title;
    Some(format!("{title} has our plugin, too: it calls twice for each event, and the second call does nothing"))
}

fn other_scope(agent: &'static Agent, places: &Places, scope: Scope) -> Option<String> {
    let other = Scope::ALL.into_iter().find(|other| *other != scope)?;
    let is_same = fs::real(&places.home) == fs::real(&places.project);
    let is_both = !agent.events.is_empty() && !is_same && state::is_wired(agent, places, other);
    is_both.then(|| {
        format!(
            "{} has hooks at {} scope too, and would call them twice: `agent-handover uninstall {} --scope {}`",
            agent.title,
            other.name(),
            agent.name,
            other.name()
        )
    })
}
