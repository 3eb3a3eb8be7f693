//! What needs a person, each with the command for it.

use serde_json::{Value, json};

use crate::agents::{Places, Program, state};
use crate::base::lock;
use crate::checkpoint::Store;
use crate::engine;
use crate::error::Result;
use crate::hook::{self, Deletion, DeletionLimits};
use crate::project::Project;
use crate::publish::Ledger;
use crate::warmup;

/// One thing that needs a person.
pub(super) struct Need {
    /// Its name for programs.
    pub kind: &'static str,
    pub says: String,
    pub command: String,
}

impl Need {
    fn new(kind: &'static str, says: impl Into<String>, command: impl Into<String>) -> Need {
        Need { kind, says: says.into(), command: command.into() }
    }

    pub(super) fn json(&self) -> Value {
        json!({ "kind": self.kind, "message": self.says, "command": self.command })
    }
}

/// Everything that needs a person now, the most urgent first.
pub(super) fn needs(project: &Project) -> Vec<Need> {
    let mut needs = Vec::new();
    // While handovers are paused, the commands below are refused.
    if project.brake().paused().is_some() {
        needs.push(Need::new("paused", "handovers are paused", "agent-handover unpause"));
    }
    let of_records = of_records(project, &mut needs);
    if let Err(error) = of_records {
        needs.push(Need::new("unreadable", error.one_line(), "agent-handover doctor"));
    }
    if warmup::needs_consent(project) {
        let says = "hooks skip the commands and the publishing of this config";
        needs.push(Need::new("not_allowed", says, "agent-handover allow"));
    }
    needs.extend(of_transcripts(project));
    if let Ok(Some(need)) = of_agents(project) {
        needs.push(need);
    }
    needs
}

fn of_records(project: &Project, needs: &mut Vec<Need>) -> Result<()> {
    let checked = engine::check(project)?;
    match checked.state {
        "interrupted" => needs.push(Need::new("unfinished", "a handover is unfinished", "agent-handover run --resume")),
        "running" if lock::holder(&project.lock()).is_some() => {
            needs.push(Need::new("running", "a handover is running", "agent-handover status"));
        }
        _ => {}
    }
    let ledger = Ledger::read(&project.anchor(&project.state), &project.state)?;
    if !ledger.due.is_empty() {
        needs.push(Need::new("due", format!("a push is due ({})", ledger.due), "agent-handover push"));
    }
    if let Some(store) = Store::read(&project.checkpoint_file())?
        && let Some(limit) = engine::rate_limit(&store)?
    {
        needs.push(Need::new("limit", limit, "agent-handover continue AGENT"));
    }
    Ok(())
}

/// Transcripts that are about to be deleted and that nobody has handed over.
pub(super) fn of_transcripts(project: &Project) -> Vec<Need> {
    let deletions = hook::about_to_be_deleted(project, DeletionLimits::GLANCE);
    let need = |deletion: &Deletion| {
        let command = deletion.command()?;
        Some(Need::new("deletion", deletion.sentence(), command))
    };
    deletions.iter().filter_map(need).collect()
}

/// Agents that are used on this machine and do not call us.
fn of_agents(project: &Project) -> Result<Option<Need>> {
    let places = Places::here(&project.root)?.with_tools(project.config.recalls_before_tools);
    let program = Program::this()?;
    let unwired = state::unconnected(&places, &program);
    let verb = if unwired.len() == 1 { "does" } else { "do" };
    let need = || {
        let says = format!("{} {verb} not call agent-handover", unwired.join(", "));
        Need::new("not_wired", says, format!("agent-handover install {}", unwired.join(" ")))
    };
    Ok((!unwired.is_empty()).then(need))
}
