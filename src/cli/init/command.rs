//! The arguments of `init`, and writing the file.

use std::path::Path;

use clap::Args;

use super::super::Context;
use super::detect::{self, TestCommand};
use super::short;
use crate::agents::{Places, Program, state};
use crate::base::fs::{Anchor, Created, Depth};
use crate::config;
use crate::error::{Error, Result};
use crate::git::{self, Git};
use crate::project;
use crate::warmup;

/// Write a handover.toml for this project, with the tests and the git remote that are found in it
#[derive(Args)]
pub(in super::super) struct Init {
    /// Write a file that explains every key
    #[arg(long)]
    full: bool,
}

impl Init {
    pub(in super::super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let exists = |path: &Path| {
            Error::failed(format!("`{}` already exists and was not changed", path.display()))
                .hint("edit it, or move it away and run `agent-handover init` again")
        };
        // With `--config`, that is the file to write, and it need not exist yet.
        let named = context.config.take().map(|path| context.cwd.join(path));
        let project = match context.project(None, None) {
            Err(error) if named.is_none() => return Err(error),
            other => other,
        };
        let root = project.as_ref().map_or_else(|_| project::root(&context.cwd), |project| project.root.clone());
        if let Some(stop) = project.as_ref().ok().and_then(|project| project.brake().pressed()) {
            return Err(stop.error());
        }
        let found = project.as_ref().ok().and_then(warmup::sessions_found);
        let existing = project.ok().and_then(|project| project.config.file);
        let file = named.clone().unwrap_or_else(|| root.join(config::FILE_NAME));
        if let Some(existing) = existing.filter(|_| named.is_none()) {
            return Err(exists(&existing));
        }
        let remotes = match git::top_level(&root) {
            Some(_) => Git::at(&root).remotes().unwrap_or_default(),
            None => Vec::new(),
        };
        // An `init` that was killed here may have left a temporary file. No other command leaves one here.
        let anchor = Anchor::beside(&file);
        let _alone = anchor.lock_directory(anchor.path())?;
        anchor.sweep_temporaries(anchor.path(), Depth::Directory)?;
        let remote = remotes.iter().find(|name| *name == "origin").or(remotes.first());
        let tests = detect::test_command(&root).filter(|_| !self.full);
        let text = if self.full { full(remote) } else { short::text(tests.as_ref(), remote.map(String::as_str)) };
        match anchor.create_new(&file, text.as_bytes())? {
            Created::Before => Err(exists(&file)),
            Created::Now => {
                context.ui.answer(&format!("wrote {}", file.display()));
                // Without commands, and while nothing is published, hooks may follow the file as it is.
                let needs_consent = self.full || tests.is_some();
                report(context, &root, tests.as_ref(), remote, needs_consent);
                if let Some(found) = found {
                    context.ui.tell(&found);
                }
                Ok(0)
            }
        }
    }
}

/// Says what was found, and what to do next.
fn report(
    context: &mut Context<'_>,
    root: &Path,
    tests: Option<&TestCommand>,
    remote: Option<&String>,
    needs_consent: bool,
) {
    if let Some(tests) = tests {
        context.ui.tell(&format!("found tests: `{}` ({})", tests.argv.join(" "), tests.file));
    }
    if let Some(remote) = remote {
        let name = crate::base::text::one_line(remote, 80);
        context.ui.tell(&format!("found the git remote {name}; nothing is pushed to it until the file says so"));
    }
    let unwired = unwired(root);
    if !unwired.is_empty() {
        let agents = unwired.join(" ");
        context
            .ui
            .tell(&format!("found agents that do not call agent-handover yet: `agent-handover install {agents}`"));
    }
    context.ui.tell(if needs_consent {
        "next: read the file, then `agent-handover allow`, so that hooks follow it"
    } else {
        "next: read the file; `agent-handover run \"what it did; next: …\"` hands a session over"
    });
}

/// The agents on this machine that do not call us.
fn unwired(root: &Path) -> Vec<&'static str> {
    let (Ok(places), Ok(program)) = (Places::here(root), Program::this()) else { return Vec::new() };
    state::unconnected(&places, &program)
}

/// The example config, with the remote of this project.
fn full(remote: Option<&String>) -> String {
    let (comment, name) = match remote {
        Some(name) => (format!("# This project has the git remote `{name}`."), name.as_str()),
        None => ("# This project has no git remote.".to_owned(), "origin"),
    };
    config::EXAMPLE
        .replace("# (init says here whether this project has a git remote.)", &comment)
        .replace("remote  = \"origin\"", &format!("remote  = {}", serde_json::Value::from(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_init_writes_is_a_config_without_problems() {
        let vocabulary = crate::steps::vocabulary();
        let tests = TestCommand { argv: vec!["go", "test", "./..."], file: "go.mod" };
        for remote in [None, Some("origin".to_owned()), Some("up\"stream".to_owned())] {
            for is_full in [true, false] {
                for tests in [None, Some(&tests)] {
                    let short = || short::text(tests, remote.as_deref());
                    let text = if is_full { full(remote.as_ref()) } else { short() };
                    let parsed = config::Config::parse(Path::new("handover.toml"), &text, &vocabulary);
                    let config = parsed.unwrap_or_else(|error| panic!("{text}: {}", error.one_line()));
                    let backend = config.backend.unwrap();
                    assert_eq!(backend.kind.as_deref(), Some("null"));
                    assert_eq!(
                        backend.remote.unwrap_or_else(|| "origin".to_owned()),
                        remote.as_deref().unwrap_or("origin")
                    );
                    assert!(!text.contains("(init says"));
                }
            }
        }
    }
}
