//! What a session amounts to: its goal, what was asked and ruled, what the agent concluded, what comes next. Rules choose
//! from what was said and seen; no model is involved. Everything kept is verbatim: chosen and cut, never reworded.
//!
//! | file | owns |
//! |---|---|
//! | `account` | [`Account`], the result, and [`Line`], a text that knows who said it |
//! | `material` | [`Material`], what the rules choose from |
//! | `document` | the account as sections of a handoff's body, written and read |
//! | `goal`, `asked`, `rulings`, `note_lines`, `next`, `idle` | one rule each |
//! | `cues` | the words by which the rules know what a text is, as data |
//! | `passages` | a text as headings, items, prose and what was pasted |

mod account;
mod asked;
mod cues;
mod document;
#[cfg(test)]
mod examples;
mod goal;
mod idle;
mod material;
mod next;
mod note_lines;
mod passages;
#[cfg(test)]
mod ruling_examples;
mod rulings;

pub(crate) use account::{Account, Check, GoalSource, Line, Speaker};
pub(crate) use document::{read_sections, write_sections};
pub(crate) use material::{Material, recap};

/// One rule: it looks at the material and adds what it chose to the account.
pub(crate) struct Rule {
    pub name: &'static str,
    pub apply: fn(&Material<'_>, &mut Account),
}

/// Every rule, in order. A later rule sees what earlier ones chose.
pub(crate) const RULES: &[Rule] = &[note_lines::RULE, goal::RULE, asked::RULE, rulings::RULE, next::RULE, idle::RULE];
