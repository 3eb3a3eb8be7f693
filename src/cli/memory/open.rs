//! The memory of the project, and how the verbs change it.

use std::path::Path;
use std::time::Duration;

use clap::Args;

use super::super::{Context, run};
use crate::agents::session_agent;
use crate::base::text;
use crate::engine::{self, Attendance, Deferral, Plan};
use crate::error::Result;
use crate::git::{self, Git};
use crate::guard::own_record::{self, OwnKey};
use crate::guard::secrets;
use crate::memory::{Author, ChangeVerb, Edits, Memory, StateChange};
use crate::project::Project;
use crate::steps::MemoryEdit;

/// How long git may take to report the commit that is checked out.
const GIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Who says it.
#[derive(Args)]
pub(super) struct WriteOptions {
    /// The agent that ran the session
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The tag of the note that records the change
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Record text that looks like this kind of secret; may be repeated
    #[arg(long, value_name = "KIND")]
    pub allow_secret: Vec<String>,
}

/// The memory of a project.
pub(super) struct OpenMemory {
    pub project: Project,
    pub memory: Memory,
}

impl OpenMemory {
    /// Opens the memory of the project in the current directory. `tag` replaces the tag of the config.
    pub(super) fn open(context: &Context<'_>, tag: Option<&str>) -> Result<OpenMemory> {
        let project = context.project(None, tag)?;
        let memory = Memory::at(&project.memory_root, project.memory_dir()?);
        Ok(OpenMemory { project, memory })
    }

    /// Like [`OpenMemory::open`], for a verb that changes the memory. What an earlier command left half-done is finished
    /// first, so that the verb sees it.
    pub(super) fn open_to_change(context: &mut Context<'_>, tag: Option<&str>) -> Result<OpenMemory> {
        let open = OpenMemory::open(context, tag)?;
        engine::finish_interrupted(&open.project, &mut |event| run::warn_of(context.ui, &event));
        Ok(open)
    }

    /// Changes the current state, and keeps secrets out. While everything is paused, the edits are recorded to be made later.
    ///
    /// `base` is the commit at which the session began; without one, it is the commit that is checked out.
    pub(super) fn update(
        &self,
        context: &mut Context<'_>,
        step: &str,
        options: &WriteOptions,
        mut edits: Edits,
        base: Option<String>,
    ) -> Result<Vec<StateChange>> {
        let mut agent = session_agent(options.agent.as_deref(), None);
        let mut tag = self.project.config.tag.clone();
        let policy = engine::secret_policy(&self.project.config, Attendance::Attended, &options.allow_secret);
        let recorded =
            edits.record.iter_mut().flat_map(|(name, texts)| texts.iter_mut().map(|text| (name.as_str(), text)));
        let added = edits.add.iter_mut().map(|(name, text)| (name.as_str(), text));
        let fields = recorded.chain(added).chain([("agent", &mut agent), ("tag", &mut tag)]);
        for warning in policy.keep_out(fields)? {
            context.ui.warn(&warning);
        }
        let pause = self.project.brake().paused();
        if pause.is_none()
            && let Some(notice) = engine::keep_out_of_git(&self.project, &Plan::of(&self.project.config))
        {
            context.ui.tell(&notice);
        }
        let commit = base.or_else(|| head(&self.project.root)).unwrap_or_default();
        let verb = if step == ChangeVerb::Deleted.name() { "delete" } else { step };
        let edit = MemoryEdit { step: step.to_owned(), edits, commit };
        let deferral = Deferral {
            step: edit.deferred(verb)?,
            agent: Some(agent.clone()),
            tag: tag.clone(),
            history: None,
            no_exclude: false,
        };
        if let Some(pause) = pause {
            return Err(engine::defer(&self.project, &pause, deferral));
        }
        let mut forgotten = None;
        let listener = &mut |event| run::warn_of(context.ui, &event);
        let changes = engine::carry_out_at_once(&self.project, deferral, listener, |issued| {
            forgotten = self.remember(&issued.run).err();
            let author = Author {
                run: &issued.run,
                step,
                at: issued.at,
                agent: &text::one_line(&agent, 100),
                tag: &tag,
                commit: &edit.commit,
                branch: &secrets::clean(&self.project.branch()),
                is_late: false,
            };
            self.project.prepare_memory_root()?;
            self.memory.update_now(&author, &self.project.config.categories, &edit.edits)
        });
        if let Some(error) = forgotten {
            let what = "this will be shown as if it came with the repository";
            context.ui.warn(&format!("{what}: {}", error.one_line()));
        }
        changes
    }

    /// Makes a run known in the user's own state, so that what it writes is ours.
    fn remember(&self, run: &str) -> Result<()> {
        let (memory, history) = (self.project.memory_dir()?, self.project.history_dir()?);
        engine::adopt_after_upgrade(&self.project.memory_root, &memory, &history)?;
        own_record::remember(OwnKey::of_run(run))
    }
}

/// The commit that is checked out, if git answers in time.
fn head(root: &Path) -> Option<String> {
    git::top_level(root)?;
    Git::at(root).within(GIT_TIMEOUT).head().ok().flatten().map(|head| head.commit)
}
