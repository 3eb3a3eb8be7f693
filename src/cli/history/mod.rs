//! `history …`: the archive of handoffs.
//!
//! | file | verbs |
//! |---|---|
//! | `accept`, `create`, `export`, `import`, `list`, `render`, `revoke`, `select` | the verb of that name |
//! | `notebook` | `export --format notebooklm` |
//! | `inspect` | `status` and `validate` |
//! | `print` | `show`, `template` and `resume-prompt` |
//! | `talk` | `show --talk` |
//! | `close` | `close` |
//! | `filters` | the flags that select handoffs |
//! | `leaks` | warnings about secrets and personal paths |
//! | `place` | the project whose history a verb uses |
//! | `answer` | how answers are printed |

mod accept;
mod answer;
mod close;
mod create;
mod export;
mod filters;
mod import;
mod inspect;
mod leaks;
mod list;
mod notebook;
mod place;
mod print;
mod render;
mod revoke;
mod select;
mod talk;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Context;
use crate::error::Result;
use crate::history;
pub(super) use filters::duration;
pub(super) use render::handoff_prompt;

use answer::{answer, answer_text, fields_json, origin_json, warn_of_origin};
use place::{HistoryPlace, brake, machine};

/// Behind the options that only one command has.
const LAST: usize = 900;

/// Write, find and print the handoffs in .agent-history
#[derive(Args)]
pub(super) struct HistoryCommand {
    /// The project [default: found from the current directory]
    #[arg(long, value_name = "DIR", global = true, display_order = LAST)]
    repo_root: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true, display_order = LAST)]
    pub json: bool,
    #[command(subcommand)]
    verb: HistoryVerb,
}

#[derive(Subcommand)]
enum HistoryVerb {
    Create(Box<create::Create>),
    List(Box<list::List>),
    Render(render::Render),
    Select(select::Select),
    Export(Box<export::Export>),
    Import(import::Import),
    /// Print an empty handoff to fill in, with what is known about this repository
    Template,
    /// Check that the archive is complete and consistent; exits with 5 if it is not
    Validate {
        /// Check every archived session, too
        #[arg(long)]
        sessions: bool,
        /// Report how the repository has moved since the latest handoff
        #[arg(long)]
        git: bool,
        /// Warn of personal paths as Session Glue does, also where nothing is under git
        #[arg(long)]
        strict: bool,
    },
    /// Show the latest session, standing rulings and problems
    Status {
        /// Report how the repository has moved since the latest handoff
        #[arg(long)]
        git: bool,
    },
    /// Print RESUME_PROMPT.txt, a prompt to paste into a new session
    ResumePrompt,
    /// Record how a session ended
    Close {
        /// The session: its id, or a unique beginning or end of it [default: the latest]
        #[arg(value_name = "SESSION", conflicts_with = "named")]
        id: Option<String>,
        /// The same, as Session Glue names it
        #[arg(id = "named", long = "session", value_name = "SESSION", hide = true)]
        session: Option<String>,
        /// How it ended
        #[arg(long, ignore_case = true, value_parser = clap::builder::PossibleValuesParser::new(history::CLOSED))]
        status: String,
    },
    Revoke(revoke::Revoke),
    /// Accept archives and decisions that somebody changed by hand
    Accept,
    /// Print an archived handoff
    Show {
        /// The session: its id, a unique beginning or end of it, or `latest`
        #[arg(value_name = "SESSION")]
        id: String,
        /// Print what was said in the session, if it is kept; the id may also be the agent's own
        #[arg(long)]
        talk: bool,
    },
}

impl HistoryCommand {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let place = HistoryPlace::open(context, self.repo_root.as_deref())?;
        match self.verb {
            HistoryVerb::Create(create) => create.execute(context, &place, self.json),
            HistoryVerb::List(list) => list.execute(context, &place, self.json),
            HistoryVerb::Render(render) => render.execute(context, &place, self.json),
            HistoryVerb::Select(select) => select.execute(context, &place, self.json),
            HistoryVerb::Export(export) => export.execute(context, &place, self.json),
            HistoryVerb::Import(import) => import.execute(context, &place, self.json),
            HistoryVerb::Template => print::template(context, &place, self.json),
            HistoryVerb::Validate { sessions, git, strict } => {
                let extent = inspect::Extent { sessions, git, strict };
                inspect::validate(context, &place, &extent, self.json)
            }
            HistoryVerb::Status { git } => inspect::status(context, &place, git, self.json),
            HistoryVerb::ResumePrompt => print::resume_prompt(context, &place, self.json),
            HistoryVerb::Close { id, session, status } => {
                close::close(context, &place, id.or(session).as_deref(), &status.to_ascii_uppercase(), self.json)
            }
            HistoryVerb::Accept => accept::accept(context, &place, self.json),
            HistoryVerb::Revoke(revoke) => revoke.execute(context, &place, self.json),
            HistoryVerb::Show { id, talk: true } => talk::show(context, &place, &id, self.json),
            HistoryVerb::Show { id, talk: false } => print::show(context, &place, &id, self.json),
        }
    }
}
