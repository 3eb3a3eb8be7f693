//! What the process that runs the queue provides to the steps, besides what is recorded.

use crate::error::Result;
use crate::publish::{self, Backend, UnreachableRemotes};

/// A function of a program that uses this crate. It may run more than once.
pub(crate) type StepFunction = dyn Fn() -> std::result::Result<(), Box<dyn std::error::Error>>;

#[derive(Default)]
pub struct Provided<'p> {
    /// The remotes that did not answer this process.
    pub unreachable: UnreachableRemotes,
    /// The functions of the calling program, each with the name of its step.
    pub functions: Vec<(&'p str, &'p StepFunction)>,
    /// The backend of the calling program.
    pub backend: Option<&'p dyn Backend>,
}

impl<'p> Provided<'p> {
    pub(super) fn function(&self, step: &str) -> Option<&'p StepFunction> {
        self.functions.iter().find(|(name, _)| *name == step).map(|(_, function)| *function)
    }

    /// The backend of this name: the calling program's, or one of this crate's.
    pub(super) fn backend(&self, name: &str) -> Result<&'p dyn Backend> {
        match self.backend {
            Some(backend) if backend.name() == name => Ok(backend),
            _ => publish::backend(name).map(|backend| backend as &'p dyn Backend),
        }
    }
}
