//! The git backend: its destination, and the verbs it runs.

use std::path::Path;

use super::failure::Halted;
use super::ledger::Ledger;
use super::needs;
use super::publisher::{Aim, Publisher};
use crate::base::fs::Anchor;
use crate::config::Config;
use crate::error;
use crate::git::{self, Git};
use crate::publish::{Backend, Delivered, Delivery, Destination, NotDelivered};

/// How long a delivery may take where the config does not say.
const TIMEOUT_MS: u64 = 60_000;

pub(in crate::publish) struct GitBackend;

impl Backend for GitBackend {
    fn name(&self) -> &'static str {
        "git"
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn destination(&self, config: &Config) -> Destination {
        let is_python = config.is_python();
        let backend = config.backend.as_ref();
        let or = |value: Option<&String>, default: &str| value.cloned().unwrap_or_else(|| default.to_owned());
        let message = match &config.stated_tag {
            Some(tag) => format!("handover: {tag} session"),
            None if is_python => "handover: {{ tag }} session".to_owned(),
            None => "handover: {{ tag }} {{ date }}".to_owned(),
        };
        Destination {
            backend: self.name().to_owned(),
            branch: or(backend.and_then(|b| b.branch.as_ref()), if is_python { "main" } else { "agent-handover" }),
            remote: or(backend.and_then(|b| b.remote.as_ref()), "origin"),
            push: backend.is_none_or(|b| b.push),
            repo_dir: or(backend.and_then(|b| b.repo_dir.as_ref()), "."),
            paths: backend.and_then(|b| b.paths.clone()).filter(|paths| !paths.is_empty()).unwrap_or_else(|| {
                let both = [config.memory_dir.clone(), config.history_dir.clone()];
                // The Python tool knows only the first.
                both.into_iter().take(if is_python { 1 } else { 2 }).collect()
            }),
            message: or(backend.and_then(|b| b.message.as_ref()), &message),
            timeout_ms: backend.map_or(TIMEOUT_MS, |b| u64::try_from(b.timeout.as_millis()).unwrap_or(u64::MAX)),
        }
    }

    fn preview(&self, destination: &Destination) -> String {
        let Destination { branch, remote, .. } = destination;
        let paths = destination.paths.join(" and ");
        if destination.push {
            format!("commit {paths} on the branch `{branch}` and push it to {remote}")
        } else {
            format!("commit {paths} on the branch `{branch}`")
        }
    }

    fn describe(&self, destination: &Destination) -> String {
        let Destination { branch, remote, .. } = destination;
        let paths = destination.paths.join(", ");
        let place = match destination.repo_dir.as_str() {
            "." => String::new(),
            directory => format!(" of the repository in `{directory}`"),
        };
        let push =
            if destination.push { format!("and pushes it to {remote}") } else { "and does not push it".to_owned() };
        format!("commits {paths} on the branch `{branch}`{place} {push}")
    }

    fn missing(&self, root: &Path, destination: &Destination) -> Vec<String> {
        needs::missing(root, destination)
    }

    fn publish(&self, delivery: &Delivery<'_>) -> Result<Delivered, NotDelivered> {
        let mut publisher = Publisher::open(delivery).map_err(Halted::unexplained)?;
        let done = publisher.with_repairs(Publisher::publish);
        publisher.finish(done, if delivery.destination.push { Aim::Push } else { Aim::Commit })
    }

    fn pull(&self, delivery: &Delivery<'_>) -> Result<Delivered, NotDelivered> {
        let mut publisher = Publisher::open(delivery).map_err(Halted::unexplained)?;
        let done = publisher.with_repairs(Publisher::pull);
        publisher.finish(done, Aim::Pull)
    }

    fn restore(&self, delivery: &Delivery<'_>) -> Result<Option<String>, NotDelivered> {
        let files = delivery.files();
        let is_there = |path: &Path| Anchor::around(files.root, path).is_taken(path);
        let ledger = Ledger::read(&Anchor::around(files.root, files.state), files.state)?;
        if is_there(files.memory) && is_there(files.history) && ledger.kept.is_empty() {
            return Ok(None);
        }
        let mut publisher = Publisher::open(delivery).map_err(Halted::unexplained)?;
        publisher.restore().map_err(|halted| {
            if let Halted::Git(failure) = &halted {
                publisher.remember_if_unreachable(failure);
            }
            halted.unexplained()
        })
    }

    fn has_to_keep(&self, delivery: &Delivery<'_>) -> error::Result<bool> {
        let files = delivery.files();
        let ledger = Ledger::read(&Anchor::around(files.root, files.state), files.state)?;
        if ledger.synced.is_empty() && ledger.kept.is_empty() {
            // Nothing was delivered from here yet.
            return self.is_on_checked_out_branch(files.root, delivery.destination);
        }
        Ok(!ledger.is_own)
    }

    fn keep(&self, delivery: &Delivery<'_>) -> Result<(), NotDelivered> {
        Publisher::open(delivery).and_then(|mut publisher| publisher.keep_now()).map_err(Halted::unexplained)
    }

    fn is_as_committed(&self, delivery: &Delivery<'_>, path: &Path) -> Result<bool, NotDelivered> {
        let asked = Publisher::open(delivery).and_then(|mut publisher| publisher.is_as_committed(path));
        asked.map_err(Halted::unexplained)
    }

    fn is_on_checked_out_branch(&self, root: &Path, destination: &Destination) -> error::Result<bool> {
        let branch = Git::at(root).branch().map_err(git::Failure::into_error)?;
        Ok(branch.as_ref() == Some(&destination.branch))
    }
}
