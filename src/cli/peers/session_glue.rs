//! `glue` and `session-glue`: the command lines of Session Glue.
//!
//! Exit codes are 0, 1 for a failure or a problem, and 2 for wrong usage or a handoff that is refused. Where Session Glue
//! would overwrite an archive, a new one supersedes it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{CommandFactory, Parser, Subcommand};

use super::super::ui::{Color, Ui, Voice};
use super::peer::{Translation, first_line, words};
use crate::agents::AGENTS;
use crate::base::fs::Anchor;
use crate::history;

/// The version whose command lines these are. Scripts look for it.
const VERSION: &str = concat!("0.4.1 (agent-handover ", env!("CARGO_PKG_VERSION"), ")");
const FAILED: u8 = 1;
const REFUSED: u8 = 2;

/// The commands of Session Glue, carried out by agent-handover
#[derive(Parser)]
#[command(name = "session-glue", bin_name = "glue", version = VERSION, infer_long_args = true, disable_help_subcommand = true)]
struct Glue {
    #[command(subcommand)]
    command: Option<GlueCommand>,
}

#[derive(Subcommand)]
enum GlueCommand {
    /// Archive a handoff
    Create {
        /// The document; `-` is standard input
        #[arg(long, short, value_name = "PATH", default_value = "-", allow_hyphen_values = true)]
        input: PathBuf,
        #[arg(long, value_name = "PATH", default_value = ".")]
        repo_root: PathBuf,
        /// Archive it although its first next action only says to resume
        #[arg(long)]
        allow_flagged_todo: bool,
        /// Do not register the directory in git's info/exclude
        #[arg(long)]
        no_exclude: bool,
    },
    /// Check that the archive is complete and consistent
    Validate {
        #[arg(long, value_name = "PATH", default_value = ".")]
        repo_root: PathBuf,
        /// Check every archived session, too
        #[arg(long)]
        sessions: bool,
        /// Report how the repository has moved since the latest handoff
        #[arg(long)]
        git: bool,
    },
    /// Show the latest session, standing rulings and problems
    Status {
        #[arg(long, value_name = "PATH", default_value = ".")]
        repo_root: PathBuf,
        /// Report how the repository has moved since the latest handoff
        #[arg(long)]
        git: bool,
    },
    /// Print RESUME_PROMPT.txt
    ResumePrompt {
        #[arg(long, value_name = "PATH", default_value = ".")]
        repo_root: PathBuf,
    },
    /// Record how a session ended
    Close {
        #[arg(long, value_name = "PATH", default_value = ".")]
        repo_root: PathBuf,
        /// The session [default: the latest]
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        #[arg(long, value_parser = PossibleValuesParser::new(history::CLOSED))]
        status: String,
    },
    /// Show what `agent-handover install` would change
    Install {
        agent: String,
        #[arg(long)]
        dry_run: bool,
    },
    /// Connect a coding agent, as `agent-handover install` does
    Skill {
        #[command(subcommand)]
        verb: SkillVerb,
    },
    /// Not available: `agent-handover push` and `pull` deliver the history
    #[command(disable_help_flag = true)]
    Sync {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<OsString>,
    },
}

#[derive(Subcommand)]
enum SkillVerb {
    /// List the agents
    List,
    /// Show what an installation would write
    Show { agent: String },
    /// Connect a coding agent
    Install {
        #[command(flatten)]
        target: SkillTarget,
        /// Accepted, and not needed: files that `install` wrote are updated
        #[arg(long)]
        replace: bool,
    },
    /// Remove what `install` wrote
    Uninstall {
        #[command(flatten)]
        target: SkillTarget,
    },
}

#[derive(clap::Args)]
struct SkillTarget {
    agent: String,
    #[arg(long, value_parser = ["repo", "user"], default_value = "repo")]
    scope: String,
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo_root: PathBuf,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Carries out a command line of Session Glue.
pub(super) fn execute(arguments: &[OsString]) -> u8 {
    let name = OsString::from("glue");
    let glue = match Glue::try_parse_from(std::iter::once(&name).chain(arguments)) {
        Ok(glue) => glue,
        Err(error) if error.exit_code() == 0 => {
            Ui::new(Color::Auto, false).answer_text(&error.to_string());
            return 0;
        }
        Err(error) => return refuse("glue", &first_line(&error)),
    };
    match glue.command {
        None => {
            Ui::new(Color::Auto, false).answer_text(&Glue::command().render_help().to_string());
            0
        }
        Some(command) => command.execute(),
    }
}

impl GlueCommand {
    fn execute(self) -> u8 {
        match self {
            GlueCommand::Create { input, repo_root, allow_flagged_todo, no_exclude } => {
                let mut arguments = history("create", &repo_root);
                arguments.extend(words(&["--strict", "--supersede", "--input"]));
                arguments.push(input.into_os_string());
                arguments.extend(flag("--allow-flagged-todo", allow_flagged_todo));
                arguments.extend(flag("--no-exclude", no_exclude));
                match run("glue create", arguments, None) {
                    // The handoff itself is what is wrong.
                    5 | 65 => REFUSED,
                    code => exit_code(code),
                }
            }
            GlueCommand::Validate { repo_root, sessions, git } => {
                let mut arguments = history("validate", &repo_root);
                arguments.push("--strict".into());
                arguments.extend(flag("--sessions", sessions));
                arguments.extend(flag("--git", git));
                exit_code(run("glue validate", arguments, None))
            }
            GlueCommand::Status { repo_root, git } => {
                let directory = repo_root.join(history::DIRECTORY);
                if !Anchor::beside(&directory).is_taken(&directory) {
                    let line = format!("glue status: no .agent-history/ found at {}", directory.display());
                    Ui::new(Color::Auto, false).answer(&line);
                    return FAILED;
                }
                let mut arguments = history("status", &repo_root);
                arguments.extend(flag("--git", git));
                exit_code(run("glue status", arguments, None))
            }
            GlueCommand::ResumePrompt { repo_root } => {
                exit_code(run("glue resume-prompt", history("resume-prompt", &repo_root), None))
            }
            GlueCommand::Close { repo_root, session, status } => {
                let mut arguments = history("close", &repo_root);
                arguments.extend(session.into_iter().flat_map(|id| ["--session".into(), OsString::from(id)]));
                arguments.extend(words(&["--status", &status]));
                exit_code(run("glue close", arguments, None))
            }
            GlueCommand::Install { dry_run: false, .. } => refuse(
                "glue install",
                "only `--dry-run` is supported; `agent-handover install AGENT` connects an agent",
            ),
            GlueCommand::Install { agent, dry_run: true } => {
                exit_code(run("glue install", words(&["install", ours(&agent), "--dry-run"]), None))
            }
            GlueCommand::Skill { verb } => verb.execute(),
            GlueCommand::Sync { .. } => refuse(
                "glue sync",
                "agent-handover has no personal vault; `agent-handover push` and `pull` deliver the history with git",
            ),
        }
    }
}

impl SkillVerb {
    fn execute(self) -> u8 {
        match self {
            SkillVerb::List => {
                let mut ui = Ui::new(Color::Auto, false);
                for agent in AGENTS {
                    ui.answer(&format!("{}: bundled skill present", agent.name));
                }
                0
            }
            SkillVerb::Show { agent } => {
                let arguments = words(&["install", ours(&agent), "--scope", "project", "--dry-run"]);
                exit_code(run("glue skill show", arguments, None))
            }
            SkillVerb::Install { target, .. } => target.run("install"),
            SkillVerb::Uninstall { target } => target.run("uninstall"),
        }
    }
}

impl SkillTarget {
    fn run(self, verb: &str) -> u8 {
        let scope = if self.scope == "repo" { "project" } else { "user" };
        let mut arguments = words(&[verb, ours(&self.agent), "--scope", scope]);
        arguments.extend(flag("--dry-run", self.dry_run));
        exit_code(run(&format!("glue skill {verb}"), arguments, Some(self.repo_root)))
    }
}

fn history(verb: &str, repo_root: &Path) -> Vec<OsString> {
    let mut arguments = words(&["history", verb, "--repo-root"]);
    arguments.push(repo_root.into());
    arguments
}

fn flag(name: &str, is_given: bool) -> Option<OsString> {
    is_given.then(|| name.into())
}

/// Our name of an agent, which may have one more word than that of Session Glue.
fn ours(agent: &str) -> &str {
    let is_longer = |ours: &str| ours.strip_prefix(agent).is_some_and(|rest| rest.starts_with('-'));
    let is_known = AGENTS.iter().any(|ours| ours.name == agent);
    let longer = AGENTS.iter().map(|ours| ours.name).find(|ours| is_longer(ours));
    longer.filter(|_| !is_known).unwrap_or(agent)
}

/// Runs one of our commands. `speaker` begins each line on stderr, and the answers that begin so in Session Glue.
fn run(speaker: &str, arguments: Vec<OsString>, cwd: Option<PathBuf>) -> u8 {
    let voice = Voice { warning: format!("{speaker}:"), error: format!("{speaker}:"), line };
    Translation { arguments, cwd, voice }.run()
}

/// A line of ours as Session Glue prints it.
fn line(ours: &str) -> Option<String> {
    match ours {
        "history validate: OK" => Some("glue validate: OK".to_owned()),
        line if line.starts_with("set session ") => Some(format!("glue close: {line}")),
        line => Some(line.strip_prefix("history validate: ").unwrap_or(line).to_owned()),
    }
}

/// The exit code of Session Glue for one of ours.
fn exit_code(ours: u8) -> u8 {
    match ours {
        0 => 0,
        64 => REFUSED,
        _ => FAILED,
    }
}

fn refuse(speaker: &str, why: &str) -> u8 {
    let voice = Voice { warning: String::new(), error: format!("{speaker}: error:"), line };
    Ui::new(Color::Auto, false).with_voice(voice).error(why);
    REFUSED
}
