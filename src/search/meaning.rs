//! A search by meaning: whether the user's own program may be asked for vectors, and what an answer says about it.
//!
//! Only `[search] embed` names a program. It is started only if the user has allowed the config: nobody who types a search
//! expects that it runs what a repository names. Without the feature `vectors` it is never started.

use super::query::Query;
use super::store::Index;
use crate::base::env;
use crate::project::Project;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A person typed the search.
    Person,
    /// An agent asks, and waits for less time.
    #[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "only the MCP server asks for an agent"))]
    Agent,
}

/// What is known of the meaning of a question.
#[derive(Debug, Default)]
pub(crate) struct Meaning {
    /// The vector of the question.
    #[cfg(feature = "vectors")]
    pub(super) question: Option<super::vectors::Vector>,
    /// The config names a program.
    pub is_configured: bool,
    /// How many passages have no vector.
    pub missing: usize,
    /// Why vectors were not compared, or not all of them, as the end of a sentence.
    pub reason: Option<String>,
}

impl Meaning {
    /// Words only, because there is no vector to compare.
    pub(crate) fn of_words() -> Meaning {
        Meaning::default()
    }

    /// Whether vectors were compared.
    pub(crate) fn is_used(&self) -> bool {
        #[cfg(feature = "vectors")]
        return self.question.is_some();
        #[cfg(not(feature = "vectors"))]
        false
    }

    /// What the answer lacks, as one sentence.
    pub(crate) fn notice(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        let what =
            if self.is_used() { "not every passage was compared by its vector" } else { "only words were compared" };
        Some(format!("{what}: {reason}"))
    }

    fn without(reason: impl Into<String>) -> Meaning {
        Meaning { is_configured: true, reason: Some(reason.into()), ..Meaning::default() }
    }
}

/// Asks the user's program what a question means, if the config names one, and for the vectors of new passages.
pub(crate) fn meaning(index: &mut Index, project: &Project, query: &Query, asker: Asker) -> Meaning {
    // Errors and files are found by what they are called.
    if project.config.embed.is_none() || query.is_error || query.file.is_some() {
        return Meaning::default();
    }
    if let Some(reason) = refusal(index, project).or_else(nested) {
        return Meaning::without(reason);
    }
    with_vectors(index, project, query, asker)
}

/// A program that searches would start itself again, without end.
fn nested() -> Option<String> {
    let reason = "a program that agent-handover started cannot start the program of `embed`";
    env::get(env::CHILD).map(|_| reason.to_owned())
}

/// Why the program must not be started.
fn refusal(index: &Index, project: &Project) -> Option<String> {
    if !cfg!(feature = "vectors") {
        let build = "this build of agent-handover ignores `embed` in `[search]`; build it with `--features vectors`";
        return Some(build.to_owned());
    }
    if !project.is_allowed() {
        let consent = "`embed` in `[search]` names a program that is not allowed; read the config, then run `agent-handover allow`";
        return Some(consent.to_owned());
    }
    if project.brake().pressed().is_some() {
        return Some("agent-handover is paused here, so no program is started".to_owned());
    }
    // Without a place for vectors, all of them would be made for this one answer.
    index.path.is_none().then(|| "the index cannot be kept here, and vectors are kept in it".to_owned())
}

#[cfg(not(feature = "vectors"))]
fn with_vectors(_index: &mut Index, _project: &Project, _query: &Query, _asker: Asker) -> Meaning {
    Meaning::default()
}

/// How long vectors of new passages are made, and how long one call of the program may take if the config does not say.
#[cfg(feature = "vectors")]
type Limits = (std::time::Duration, std::time::Duration);

/// As long as a search brings the index up to date. A model that is loaded from a cold disk takes some seconds.
#[cfg(feature = "vectors")]
const OF_PERSON: Limits = (std::time::Duration::from_secs(10), std::time::Duration::from_secs(20));
/// An agent waits for the answer, and clients end a call after a minute or less.
#[cfg(feature = "vectors")]
const OF_AGENT: Limits = (std::time::Duration::from_secs(5), std::time::Duration::from_secs(10));
/// Nobody waits for the child of a hook.
#[cfg(feature = "vectors")]
const IN_BACKGROUND: Limits = (std::time::Duration::from_secs(60), std::time::Duration::from_secs(60));

#[cfg(feature = "vectors")]
fn with_vectors(index: &mut Index, project: &Project, query: &Query, asker: Asker) -> Meaning {
    use crate::base::text;
    use crate::guard::secrets;

    let Some(argv) = &project.config.embed else { return Meaning::default() };
    let (budget, limit) = match asker {
        Asker::Person => OF_PERSON,
        Asker::Agent => OF_AGENT,
    };
    let limit = project.config.embed_timeout.unwrap_or(limit);
    // The index has neither secrets nor private text. A question may.
    let question = secrets::clean(&text::without_private(text::cut(&query.text, super::query::MAX_QUESTION)));
    let found = super::vectors::embed(index, project, argv, Some(&question), budget, limit);
    Meaning { question: found.question, is_configured: true, missing: found.missing, reason: found.failure }
}

/// Makes the vectors of new passages for a process that nobody waits for.
#[cfg(feature = "vectors")]
pub(super) fn embed_in_background(index: &mut Index, project: &Project) {
    if let Some(argv) = &project.config.embed
        && refusal(index, project).is_none()
    {
        let (budget, limit) = IN_BACKGROUND;
        let limit = project.config.embed_timeout.unwrap_or(limit);
        super::vectors::embed(index, project, argv, None, budget, limit);
    }
}
