//! Every agent, one file each. A new one is a file, its `mod` line and its line in [`AGENTS`].

use super::{Agent, Places, Scope};

mod agents_md;
mod antigravity;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod nested_answer;
mod opencode;

/// The registry, in the order in which agents are listed to a person.
pub const AGENTS: &[&Agent] = &[
    &claude_code::AGENT,
    &codex::AGENT,
    &gemini::AGENT,
    &antigravity::AGENT,
    &cursor::AGENT,
    &opencode::AGENT,
    &cline::AGENT,
    &copilot::AGENT,
    &agents_md::AGENT,
];

/// The entry that stands for every agent without a file of its own.
pub(super) const ANY_OTHER: &Agent = &agents_md::AGENT;

/// For agents without obstacles or clicks.
fn nothing(_: &Places, _: Scope) -> Vec<String> {
    Vec::new()
}
