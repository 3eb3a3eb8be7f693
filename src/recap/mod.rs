//! What a session amounts to: its goal, what was asked and ruled, what the agent concluded, what comes next. Rules choose
//! from what was said and seen; no model is involved. Everything kept is verbatim: chosen and cut, never reworded.
//!
//! | file | owns |
//! |---|---|
//! | `account` | [`Account`], the result, and [`Line`], a text that knows who said it |
//! | `material` | [`Material`], what the rules choose from |
//! | `document` | the account as sections of a handoff's body, written and read |
//! | `plain`, `inline` | text without Markdown marks: one line, or sentences |
//! | `words` | the words of a text, and which of them are common |
//! | `conclusions`, `dead_ends`, `evidence` | one rule each |
//! | `sentences` | the rule that chooses sentences of the talk to fill free room |

mod account;
mod conclusions;
mod dead_ends;
mod document;
mod evidence;
mod inline;
mod material;
mod plain;
mod sentences;
mod words;

pub(crate) use account::{Account, Check, Line, Speaker};
pub(crate) use document::{read_sections, write_sections};
pub(crate) use material::{Material, recap};
pub(crate) use plain::{beginning, plain, sentences};
pub(crate) use sentences::choose;

/// One rule: it looks at the material and adds what it chose to the account.
pub(crate) struct Rule {
    pub name: &'static str,
    pub apply: fn(&Material<'_>, &mut Account),
}

/// Every rule, in order. A later rule sees what earlier ones chose.
pub(crate) const RULES: &[Rule] = &[conclusions::RULE, dead_ends::RULE, evidence::RULE, sentences::RULE];
