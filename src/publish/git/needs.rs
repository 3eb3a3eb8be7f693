//! What publishing through git needs on this machine. No network is asked.

use std::path::Path;

use super::publisher::symbolic;
use crate::base::fs;
use crate::git::{self, Git};
use crate::project;
use crate::publish::Destination;

/// What is not there, a sentence each. Without a repository nothing else is looked at.
pub(super) fn missing(root: &Path, destination: &Destination) -> Vec<String> {
    let place = project::place_of_others(root, &destination.repo_dir).and_then(|place| fs::resolve(&place));
    let place = match place {
        Ok(place) => place,
        Err(error) => return vec![error.one_line()],
    };
    let Some(top) = git::top_level(&place) else {
        return vec![format!("`{}` is not in a git repository", place.display())];
    };
    let git = Git::at(top);
    let remotes = match git.check_repository().and_then(|()| git.remotes()) {
        Ok(remotes) => remotes,
        Err(error) => return vec![format!("git cannot use `{}`: {}", top.display(), error.one_line())],
    };
    let target = git.symbolic_target(&destination.branch).ok().flatten();
    let mut missing: Vec<String> = target.iter().map(|target| symbolic(&destination.branch, target)).collect();
    if destination.push {
        missing.extend(missing_remote(&git, top, &remotes, &destination.remote));
    }
    missing
}

/// A remote is a name that git knows, or an address. Only an address on this machine can be looked for.
fn missing_remote(git: &Git, top: &Path, remotes: &[String], remote: &str) -> Option<String> {
    if !remotes.iter().any(|known| known == remote) {
        let is_address = remote.contains(['/', ':']);
        return match git::local_path(top, remote).filter(|path| !fs::exists(path)) {
            Some(path) if is_address => Some(format!("the remote `{}` does not exist", path.display())),
            _ if is_address => None,
            _ => Some(format!("there is no remote `{remote}`")),
        };
    }
    let address = git.push_address(remote).ok()?;
    let path = git::local_path(top, &address).filter(|path| !fs::exists(path))?;
    Some(format!("the remote `{remote}` is `{}`, which does not exist", path.display()))
}
