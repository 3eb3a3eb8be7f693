//! The library for agents: `agent-handover mcp` answers an MCP client on standard input and output.
//!
//! Hooks bring context to a session by themselves. Here an agent asks for more of it, and writes down what it learns. The
//! words of `instructions` and of the tools are what an agent sees of us, so they say when to look and when to write.
//!
//! | file | owns |
//! |---|---|
//! | `serve` | the server: its runtime, and what each request of the protocol gets |
//! | `transport` | messages as lines, and the answer to a line that is not one |
//! | `members` | the id in a message that cannot be read |
//! | `place` | the project that a client works in: its roots, else its working directory |
//! | `tool` | [`Tool`]: what a tool is to us |
//! | `tools/` | one file a tool |
//! | `arguments` | the arguments of a call, checked |
//! | `answer` | an answer within its budget, through the gate |
//! | `current_state` | the current state as text, with the ids of its items |
//! | `words` | the instructions, the prompt and the resource |
//!
//! A call sees only the project of its client. It opens it like a hook does: without consent to its config, nothing is
//! published, no command runs and no unusual place is read.

mod answer;
mod arguments;
mod current_state;
mod members;
mod place;
mod serve;
mod tool;
mod tools;
mod transport;
mod words;

pub(crate) use serve::serve;
pub(crate) use transport::read_frames;

use tool::Tool;

/// Every tool, in the order in which clients list them.
const TOOLS: &[&Tool] =
    &[&tools::search::TOOL, &tools::show::TOOL, &tools::warmup::TOOL, &tools::capture::TOOL, &tools::handover::TOOL];
