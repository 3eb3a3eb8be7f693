//! The memory of the project, and how the verbs change it.

use clap::Args;

use super::super::{Context, run};
use crate::engine::{self, Attendance, MemoryRequest};
use crate::error::Result;
use crate::guard::secrets::Policy;
use crate::memory::{Edits, Memory, StateChange};
use crate::project::Project;

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
        edits: Edits,
        base: Option<String>,
    ) -> Result<Vec<StateChange>> {
        let secrets = self.secrets(options);
        let request = MemoryRequest { step, edits, base, agent: options.agent.as_deref(), secrets };
        let edited = engine::edit_memory(&self.project, request, &mut |event| run::warn_of(context.ui, &event))?;
        if let Some(notice) = edited.notice {
            context.ui.tell(&notice);
        }
        Ok(edited.changes)
    }

    /// Says what [`OpenMemory::update`] would do with secrets in the edits, and changes nothing.
    pub(super) fn check(&self, context: &mut Context<'_>, options: &WriteOptions, mut edits: Edits) -> Result<()> {
        for text in engine::keep_out_secrets(&mut edits, self.secrets(options))? {
            context.ui.warn(&text);
        }
        Ok(())
    }

    fn secrets<'a>(&self, options: &'a WriteOptions) -> Policy<'a> {
        engine::secret_policy(&self.project.config, Attendance::Attended, &options.allow_secret)
    }
}
