//! `init`: a commented config to start from.

use std::path::Path;

use clap::Args;

use super::Context;
use crate::base::fs::{Anchor, Created, Depth};
use crate::config;
use crate::error::{Error, Result};
use crate::git::{self, Git};
use crate::project;
use crate::warmup;

/// Write a commented handover.toml for this project
#[derive(Args)]
pub(super) struct Init {}

impl Init {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
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
        match anchor.create_new(&file, for_project(&remotes).as_bytes())? {
            Created::Before => Err(exists(&file)),
            Created::Now => {
                context.ui.answer(&format!("wrote {}", file.display()));
                context.ui.tell("next: read it, then `agent-handover run --note \"what this session did\"`");
                if let Some(found) = found {
                    context.ui.tell(&found);
                }
                Ok(0)
            }
        }
    }
}

/// The example config, with what is known about this project filled in.
fn for_project(remotes: &[String]) -> String {
    let remote = remotes.iter().find(|name| *name == "origin").or(remotes.first());
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
        for remotes in [vec![], vec!["origin".to_owned()], vec!["up\"stream".to_owned()]] {
            let text = for_project(&remotes);
            let config = config::Config::parse(std::path::Path::new("handover.toml"), &text, &vocabulary).unwrap();
            let remote = config.backend.unwrap().remote.unwrap();
            assert_eq!(remote, remotes.first().map_or("origin", String::as_str));
            assert!(!text.contains("(init says"));
        }
    }
}
