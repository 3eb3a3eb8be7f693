//! What an examination found.

/// How well something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Good,
    /// It works, but the user should know something.
    Remark,
    Broken,
}

impl Health {
    pub(super) fn name(self) -> &'static str {
        match self {
            Health::Good => "good",
            Health::Remark => "remark",
            Health::Broken => "broken",
        }
    }
}

/// One thing that was examined.
#[derive(Clone, Debug)]
pub(super) struct Diagnosis {
    pub about: String,
    pub health: Health,
    pub says: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

pub(super) fn diagnosis(about: &str, health: Health, says: impl Into<String>, remedy: Option<&str>) -> Diagnosis {
    Diagnosis { about: about.to_owned(), health, says: says.into(), remedy: remedy.map(str::to_owned) }
}
