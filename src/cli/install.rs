//! `install` and `uninstall`: our part in the files of coding agents.

use clap::{Args, ValueEnum};

use super::{Context, paths};
use crate::agents::install::{BlockWish, FileChange, InstallPlan, Installer, LeftAlone, ServerWish};
use crate::agents::{self, AGENTS, Agent, Places, Program, Scope};
use crate::error::{Error, Result};
use crate::project;
use crate::warmup;

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Where {
    /// Those in your home directory, for all projects
    #[default]
    User,
    /// Those in this project
    Project,
}

impl From<Where> for Scope {
    fn from(scope: Where) -> Scope {
        match scope {
            Where::User => Scope::User,
            Where::Project => Scope::Project,
        }
    }
}

/// Connect coding agents: add hooks, a skill, commands, instructions and the MCP server to their files
#[derive(Args)]
pub(super) struct Install {
    #[arg(required = true, value_name = "AGENT", help = names())]
    agents: Vec<String>,
    /// Which files to change
    #[arg(long, value_enum, default_value_t)]
    scope: Where,
    /// Also write instructions, with the exit codes of `check`, into the agent's own file, such as CLAUDE.md
    #[arg(long)]
    block: bool,
    /// Do not register the MCP server, and remove it if it is registered
    #[arg(long)]
    no_mcp: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Remove what `install` added to the files of coding agents
#[derive(Args)]
pub(super) struct Uninstall {
    /// As for `install`
    #[arg(required = true, value_name = "AGENT")]
    agents: Vec<String>,
    /// Which files to change
    #[arg(long, value_enum, default_value_t)]
    scope: Where,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What a dry run prints if no file would change.
const NOTHING_TO_DO: &str = "nothing would change";

/// The names that a user may type.
fn names() -> String {
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    format!("{}; or `all`: every one that is found on this machine", names.join(", "))
}

impl Install {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let scope = Scope::from(self.scope);
        let (places, mut installer) = open(context, self.dry_run)?;
        let program = Program::this()?;
        let agents = chosen(&self.agents, |agent| agents::detected(agent, &places, scope).is_some())?;
        if agents.is_empty() {
            return Err(Error::failed("no coding agent was found on this machine")
                .hint(format!("name one: `agent-handover install {}`", AGENTS[0].name)));
        }
        if program.is_short_lived() {
            context.ui.warn(&format!(
                "hooks will call {}, which may not stay there: install the program first, then do this again",
                program.path()
            ));
        }
        let each = Each { agents: &agents, is_dry: self.dry_run };
        let block = if self.block { BlockWish::Write } else { BlockWish::Keep };
        let server = if self.no_mcp { ServerWish::LeaveOut } else { ServerWish::Write };
        let plan =
            |installer: &Installer, agent| installer.plan_install(agent, &places, scope, &program, block, server);
        let changed = each.go(context, plan, &mut installer)?;
        if changed.is_empty() {
            context.ui.tell(if self.dry_run {
                NOTHING_TO_DO
            } else {
                "nothing changed: all of it is installed already"
            });
        }
        let changed = if self.dry_run { Vec::new() } else { changed };
        for agent in &changed {
            for click in (agent.clicks)(&places, scope) {
                context.ui.tell(&format!("next, for {}: {click}", agent.title));
            }
        }
        if changed.iter().any(|agent| !agent.events.is_empty()) {
            context
                .ui
                .tell("now start a new session of your agent; `agent-handover doctor` shows when its hooks fired");
        }
        if let Some(found) = context.project(None, None).ok().as_ref().and_then(warmup::sessions_found) {
            context.ui.tell(&found);
        }
        Ok(0)
    }
}

impl Uninstall {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let scope = Scope::from(self.scope);
        let (places, mut installer) = open(context, self.dry_run)?;
        let agents = chosen(&self.agents, |_| true)?;
        let each = Each { agents: &agents, is_dry: self.dry_run };
        // A file that two agents share is removed with the last of them.
        let leaving = |agent: &Agent| {
            let at = agents.iter().position(|other| *other == agent).unwrap_or(0);
            agents[..=at].to_vec()
        };
        let changed = each.go(
            context,
            |installer, agent| installer.plan_uninstall(agent, &places, scope, &leaving(agent)),
            &mut installer,
        )?;
        if self.dry_run && changed.is_empty() {
            context.ui.tell(NOTHING_TO_DO);
        }
        Ok(0)
    }
}

/// Opens an installer. It refuses while paused, because the files of agents are outside the state directory; a dry run changes
/// nothing and is allowed.
fn open(context: &Context<'_>, is_dry: bool) -> Result<(Places, Installer)> {
    let project = context.project(None, None);
    let root = project.as_ref().map_or_else(|_| project::root(&context.cwd), |project| project.root.clone());
    let with_tools = project.as_ref().is_ok_and(|project| project.config.recalls_before_tools);
    let brake = project.map_or_else(|_| project::plain_brake(&root), |project| project.brake());
    let places = Places::to_change(&root)?.with_tools(with_tools);
    if is_dry {
        return Ok((places, Installer::to_look()?));
    }
    if let Some(stop) = brake.pressed() {
        return Err(stop.error());
    }
    let installer = Installer::to_change(&places)?;
    Ok((places, installer))
}

/// The agents of these names, each once. `all` stands for those that `is_meant` accepts.
fn chosen(names: &[String], is_meant: impl Fn(&Agent) -> bool) -> Result<Vec<&'static Agent>> {
    let mut agents: Vec<&'static Agent> = Vec::new();
    for name in names {
        let meant = match name.as_str() {
            "all" => AGENTS.iter().copied().filter(|agent| is_meant(agent)).collect(),
            _ => vec![agents::find(name).map_err(|error| error.hint("`all` stands for every agent on this machine"))?],
        };
        for agent in meant {
            if !agents.contains(&agent) {
                agents.push(agent);
            }
        }
    }
    Ok(agents)
}

struct Each<'a> {
    agents: &'a [&'static Agent],
    is_dry: bool,
}

impl Each<'_> {
    /// Plans and applies for each agent, and returns those whose files changed, or would change. The failure of one agent
    /// does not stop the others; the first error is returned at the end.
    fn go(
        &self,
        context: &mut Context<'_>,
        plan: impl Fn(&Installer, &'static Agent) -> Result<InstallPlan>,
        installer: &mut Installer,
    ) -> Result<Vec<&'static Agent>> {
        let (mut changed, mut first) = (Vec::new(), None);
        for agent in self.agents {
            match (plan(installer, agent).and_then(|plan| self.one(context, &plan, installer)), &first) {
                (Ok(true), _) => changed.push(*agent),
                (Ok(false), _) => {}
                (Err(error), None) => first = Some(error),
                (Err(error), Some(_)) => context.ui.warn(&format!("{}: {}", agent.name, error.one_line())),
            }
        }
        first.map_or(Ok(changed), Err)
    }

    /// Applies one plan, and returns whether anything changed, or would change.
    fn one(&self, context: &mut Context<'_>, plan: &InstallPlan, installer: &mut Installer) -> Result<bool> {
        for note in &plan.notes {
            context.ui.warn(note);
        }
        if self.is_dry {
            for change in &plan.changes {
                context.ui.answer_diff(&change.diff());
            }
        } else {
            installer.apply(plan)?;
        }
        tell(context, plan, self.is_dry);
        let foreign = |change: &&FileChange| change.left == Some(LeftAlone::Foreign) && change.is_essential();
        let is_changed = plan.changes.iter().any(FileChange::is_change);
        plan.changes.iter().find(foreign).map_or(Ok(is_changed), |change| {
            let line = Program::by_name().line(plan.agent.name);
            Err(Error::failed(format!(
                "`{}` is not a file of agent-handover and was not changed",
                change.path.display()
            ))
            .hint(format!("let it call `{line}`, or move it away and try again")))
        })
    }
}

fn tell(context: &mut Context<'_>, plan: &InstallPlan, is_dry: bool) {
    let name = plan.agent.name;
    if plan.changes.is_empty() && !is_dry {
        context.ui.answer(&format!("{name}: nothing to remove"));
    }
    for change in &plan.changes {
        let path = change.path.display();
        let said = match (change.left, &change.before, &change.after) {
            (Some(LeftAlone::Foreign), ..) => {
                if !change.is_essential() {
                    context.ui.warn(&format!("`{path}` is not a file of agent-handover and was not changed"));
                }
                continue;
            }
            (Some(LeftAlone::Changed), ..) => {
                context.ui.warn(&format!("`{path}` was edited after `install` wrote it, and was not changed"));
                continue;
            }
            (None, before, after) if before == after => format!("{name}: unchanged {path}"),
            (None, _, None) => format!("{name}: removed {path}"),
            (None, None, Some(_)) => format!("{name}: wrote {path} ({})", change.what),
            (None, Some(_), Some(_)) => format!("{name}: changed {path} ({})", change.what),
        };
        if !is_dry {
            context.ui.answer(&paths::from_home(&said));
        }
    }
}
