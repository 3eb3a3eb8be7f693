//! Changing the current state for a command or a tool: secrets are kept out, and all of the change is made, or nothing.

use std::path::Path;
use std::time::Duration;

use super::at_once::carry_out_at_once;
use super::before_run::keep_out_of_git;
use super::defer::{Deferral, defer};
use super::event::{Event, Listener};
use super::plan::Plan;
use super::provenance::adopt_after_upgrade;
use crate::agents::session_agent;
use crate::base::text;
use crate::error::Result;
use crate::git::{self, Git};
use crate::guard::own_record::{self, OwnKey};
use crate::guard::secrets::{self, Policy};
use crate::memory::{Author, ChangeVerb, Edits, Memory, StateChange};
use crate::project::Project;
use crate::steps::MemoryEdit;

/// How long git may take to report the commit that is checked out.
const GIT_TIMEOUT: Duration = Duration::from_millis(500);

/// What somebody wants to change in the current state.
pub(crate) struct MemoryRequest<'a> {
    /// The step that layer 1 names for the change: the verb of the command.
    pub step: &'a str,
    pub edits: Edits,
    /// The commit at which the session began; without one, it is the commit that is checked out.
    pub base: Option<String>,
    /// The agent that ran the session, if the caller knows it.
    pub agent: Option<&'a str>,
    pub secrets: Policy<'a>,
}

/// What came of it.
pub(crate) struct EditedMemory {
    pub changes: Vec<StateChange>,
    /// A sentence about git's info/exclude, if it was changed.
    pub notice: Option<String>,
}

/// Applies a policy to the texts of some edits. Returns its warnings.
pub(crate) fn keep_out_secrets(edits: &mut Edits, policy: Policy<'_>) -> Result<Vec<String>> {
    let recorded = edits.record.iter_mut().flat_map(|(name, texts)| texts.iter_mut().map(|text| (name.as_str(), text)));
    let added = edits.add.iter_mut().map(|added| (added.category.as_str(), &mut added.text));
    policy.keep_out(recorded.chain(added))
}

/// Changes the current state. While everything is paused, the edits are recorded to be made later, and the error says so.
/// Secrets that were found are reported to `listener`.
pub(crate) fn edit_memory(
    project: &Project,
    request: MemoryRequest<'_>,
    listener: &mut Listener<'_>,
) -> Result<EditedMemory> {
    let MemoryRequest { step, mut edits, base, agent, secrets: policy } = request;
    let mut agent = session_agent(agent, None);
    let mut tag = project.config.tag.clone();
    let mut warnings = keep_out_secrets(&mut edits, policy)?;
    warnings.extend(policy.keep_out([("agent", &mut agent), ("tag", &mut tag)])?);
    for text in warnings {
        listener(Event::Notice { text });
    }
    let commit = base.or_else(|| head(&project.root)).unwrap_or_default();
    let verb = if step == ChangeVerb::Deleted.name() { "delete" } else { step };
    let edit = MemoryEdit { step: step.to_owned(), edits, commit };
    let deferral = Deferral {
        step: edit.deferred(verb)?,
        agent: Some(agent.clone()),
        tag: tag.clone(),
        history: None,
        no_exclude: false,
    };
    if let Some(pause) = project.brake().paused() {
        return Err(defer(project, &pause, deferral));
    }
    let notice = keep_out_of_git(project, &Plan::of(&project.config));
    let mut forgotten = None;
    let changes = carry_out_at_once(project, deferral, listener, |issued| {
        forgotten = remember(project, &issued.run).err();
        let author = Author {
            run: &issued.run,
            step,
            at: issued.at,
            agent: &text::one_line(&agent, 100),
            tag: &tag,
            commit: &edit.commit,
            branch: &secrets::clean(&project.branch()),
            is_late: false,
        };
        project.prepare_memory_root()?;
        let memory = Memory::at(&project.memory_root, project.memory_dir()?);
        memory.update_now(&author, &project.config.categories, &edit.edits)
    });
    if let Some(error) = forgotten {
        let text = format!("this will be shown as if it came with the repository: {}", error.one_line());
        listener(Event::Notice { text });
    }
    Ok(EditedMemory { changes: changes?, notice })
}

/// Makes a run known in the user's own state, so that what it writes is ours.
fn remember(project: &Project, run: &str) -> Result<()> {
    adopt_after_upgrade(&project.memory_root, &project.memory_dir()?, &project.history_dir()?)?;
    own_record::remember(OwnKey::of_run(run))
}

/// The commit that is checked out, if git answers in time.
fn head(root: &Path) -> Option<String> {
    git::top_level(root)?;
    Git::at(root).within(GIT_TIMEOUT).head().ok().flatten().map(|head| head.commit)
}
