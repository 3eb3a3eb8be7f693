//! What a session amounts to: its goal, what was asked and ruled, what the agent concluded, what comes next. Rules choose
//! from what was said and seen; no model is involved. Everything kept is verbatim: chosen and cut, never reworded.
//!
//! | file | owns |
//! |---|---|
//! | `account` | [`Account`], the result, and [`Line`], a text that knows who said it |
//! | `material` | [`Material`], what the rules choose from |
//! | `document` | the account as sections of a handoff's body, written and read |
//! | `handoff` | the account as a handoff, for a session that wrote none |
//! | `state` | the account as changes to the current state |
//! | `summary` | the account as a note, for a session that gave none |
//! | `collect` | the account among the facts of a session |
//! | `captured` | captures that the agent wrote into its answers |
//! | `before` | what was known before the session, and stays until it is replaced |
//! | `goal`, `asked`, `rulings`, `note_lines`, `next`, `idle` | one rule each |
//! | `conclusions`, `dead_ends`, `evidence` | one rule each |
//! | `finished` | whether a session says that it did what an earlier one left open |
//! | `sentences` | the rule that chooses sentences of the talk to fill free room |
//! | `cues` | the words by which the rules know what a text is, as data |
//! | `passages` | a text as headings, items, prose and what was pasted |
//! | `plain`, `inline` | text without Markdown marks: one line, or sentences |
//! | `words` | the words of a text, and which of them are common |

mod account;
mod asked;
mod before;
mod captured;
mod collect;
mod conclusions;
mod cues;
mod dead_ends;
mod document;
mod evidence;
#[cfg(test)]
mod examples;
mod finished;
mod goal;
mod handoff;
mod idle;
mod inline;
mod material;
mod next;
mod note_lines;
mod passages;
mod plain;
#[cfg(test)]
mod ruling_examples;
mod rulings;
mod sentences;
mod state;
mod summary;
mod words;

pub(crate) use account::{Account, Check, GoalSource, Line, Seen, Speaker};
pub(crate) use before::Before;
pub(crate) use collect::{account_of, collect, evidence};
pub(crate) use document::{read_sections, write_sections};
pub(crate) use evidence::is_delivery;
pub(crate) use handoff::{MOST_SUMMARY, given_text, handoff, is_made_note, is_made_up, stated_goal, stated_next};
pub(crate) use material::{Material, recap};
pub(crate) use plain::{outline, outline_sentences};
pub(crate) use sentences::choose;
pub(crate) use state::{StateAccount, Wrote};
pub(crate) use summary::is_written_by_rules;
pub(crate) use words::{WordKind, for_each_word, has_words_of};

/// One rule: it looks at the material and adds what it chose to the account.
pub(crate) struct Rule {
    pub name: &'static str,
    pub apply: fn(&Material<'_>, &mut Account),
}

/// Every rule, in order. A later rule sees what earlier ones chose.
pub(crate) const RULES: &[Rule] = &[
    note_lines::RULE,
    goal::RULE,
    asked::RULE,
    rulings::RULE,
    conclusions::RULE,
    next::RULE,
    dead_ends::RULE,
    evidence::RULE,
    idle::RULE,
    sentences::RULE,
];
