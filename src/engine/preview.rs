//! What a run would do, without doing or recording anything.

use super::provenance::known_before;
use super::record::{Prepared, Request, prepare};
use crate::checkpoint::Store;
use crate::error::Result;
use crate::facts::{self, Scene};
use crate::handoff::Handoff;
use crate::project::{self, Project};
use crate::recap;
use crate::steps::{self, Context, Intent, Provided};

/// What one step would do.
pub(crate) struct Preview {
    pub step: String,
    /// What it would do, or why it would do nothing.
    pub what: String,
    /// What it needs and does not find.
    pub missing: Vec<String>,
    /// Whether the run goes on if this step fails.
    pub may_fail: bool,
}

/// What each step would do. Fails where the run would fail before its first step.
pub(crate) fn preview(project: &Project, request: &Request) -> Result<Vec<Preview>> {
    let base = Store::read(&project.checkpoint_file())?
        .map(|store| store.last_head(&project.worktree()))
        .transpose()?
        .flatten();
    let Prepared { plan, session, .. } = prepare(project, request, request.handed.as_ref(), base)?;
    let memory = project::place(&project.memory_root, &plan.memory_dir)?;
    let history = project::place(&project.memory_root, &plan.history_dir)?;
    let mut values = facts::recorded(&session);
    known_before(project, &memory, &history, &session.branch).add_to(&mut values);
    let mut previews = Vec::new();
    for step in &plan.steps {
        let kind = steps::kind(&step.kind)?;
        values.insert("step".to_owned(), step.name.clone().into());
        values.insert("attempt".to_owned(), 1.into());
        let context = Context {
            root: &project.memory_root,
            work: &project.root,
            is_gone: project.is_gone,
            known_root: project.known_root(),
            bare: project.bare(),
            memory: memory.clone(),
            history: history.clone(),
            logs: project.log_dir().join(&session.run),
            state: &project.state,
            session: &session,
            destination: &plan.destination,
            is_trusted: false,
            takes_talk: false,
            step: &step.name,
            attempt: 1,
            params: &step.params,
            values: &values,
            brake: &project.brake(),
            provided: &Provided::default(),
            categories: &plan.categories,
            overtaken_by: None,
            newest_before: "",
        };
        let mut missing = Vec::new();
        let what = match (kind.intend)(&context)? {
            Intent::Nothing(why) => format!("do nothing: {why}"),
            Intent::Do(intent) => {
                missing = (kind.missing)(&context, &intent)?;
                let what = (kind.preview)(&context, &intent)?;
                // A kind that only reads may act, so that the steps after it are shown as they would be.
                if kind.only_reads
                    && let Ok(outcome) = (kind.act)(&context, &intent)
                {
                    values.extend(outcome.facts);
                }
                what
            }
        };
        previews.push(Preview { step: step.name.clone(), what, missing, may_fail: step.continue_on_failure });
    }
    Ok(previews)
}

/// The handoff that a run with this request would derive from what is known, and what could not be found out. `None` if
/// nothing is known. Nothing is recorded.
pub(crate) fn summarize(project: &Project, request: &Request) -> Result<(Option<Handoff>, Vec<String>)> {
    let base = Store::read(&project.checkpoint_file())?
        .map(|store| store.last_head(&project.worktree()))
        .transpose()?
        .flatten();
    let Prepared { session, warnings, .. } = prepare(project, request, request.handed.as_ref(), base)?;
    let mut values = facts::recorded(&session);
    let (memory, history) = (project.memory_dir()?, project.history_dir()?);
    known_before(project, &memory, &history, &session.branch).add_to(&mut values);
    let scene = Scene {
        session: &session,
        root: &project.root,
        work: &project.root,
        is_gone: false,
        tree_before: None,
        is_first_commit_new: false,
    };
    let found = recap::collect(&scene)?;
    values.extend(found.values);
    let notices = warnings.into_iter().chain(found.notices).collect();
    // Nothing is recorded, so the session is where the whole text is.
    Ok((recap::handoff(&session, &values, project.known_root(), "what the session gave"), notices))
}
