//! Transcripts: the files in which agents record their sessions.
//!
//! The formats belong to the agents and change without notice, so anything that is not understood is skipped. Files are
//! read as streams, within limits, and nothing in them is trusted. Only what [`Transcript`] holds is kept, without secrets
//! and without what was marked as private.
//!
//! | file | owns |
//! |---|---|
//! | `antigravity`, `claude_code`, `cline`, `codex`, `copilot`, `cursor`, `gemini`, `opencode` | one format each |
//! | `format` | what a format has to know: [`TranscriptFormat`] |
//! | `source` | one file, or the part of it that was there at some moment |
//! | `identity` | which file a transcript is, beside its path |
//! | `forks` | where a session begins that starts with a copy of another |
//! | `compression` | compressed transcripts |
//! | `document` | transcripts that are one JSON document, as records |
//! | `opencode_database`, `opencode_messages` | the sessions in OpenCode's database, as records; those of version 2 |
//! | `repeats` | records that a client writes twice |
//! | `kept` | the talk of a session that is kept after its agent deleted the file |
//! | `listing` | listing directories within limits |
//! | `sessions` | the session files on this machine |
//! | `unread` | what is there and cannot be read |
//! | `lines`, `bounded_json`, `json` | lines and records of any size, read within limits; a record as a value |
//! | `draft` | a transcript while it is read, everything in it bounded |
//! | `cleaning` | takes secrets and private passages out of a draft, and cuts it |
//! | `contents` | the result: [`Transcript`] |
//! | `calls`, `talk`, `work`, `todo_list` | parts of the draft: open tool calls; what was said, done in each turn, planned |
//! | `human_text`, `slash_command` | what a person wrote, without what programs added and what is private |
//! | `mark` | the mark at the end of the texts that we put into a session |
//! | `injected` | those texts, as a transcript has them |
//! | `hook_words` | a transcript made of what the agent passed to its hooks |
//! | `command_line` | a command line's parts and programs |
//! | `shell_writes` | the files that a command line writes |
//! | `rate_limit` | whether a limit of the agent's use is reached |
//! | `subagents` | what sub-agents did, from their own transcripts |
//! | `actions` | part of the draft: the first actions, in order |
//! | `ran` | part of the draft: the commands that ended |
//! | `error_lines` | the lines of a command's output that name an error |
//! | `test_command`, `test_outcome` | which commands are tests, and whether commands passed |

mod actions;
mod antigravity;
mod bounded_json;
mod calls;
mod claude_code;
mod cleaning;
mod cline;
mod codex;
mod command_line;
mod compression;
mod contents;
mod copilot;
mod cursor;
mod document;
mod draft;
mod error_lines;
mod forks;
mod format;
mod gemini;
mod hook_words;
mod human_text;
mod identity;
mod injected;
mod json;
mod kept;
mod lines;
mod listing;
mod mark;
mod opencode;
mod opencode_database;
mod opencode_messages;
mod ran;
mod rate_limit;
mod repeats;
mod sessions;
mod shell_writes;
mod slash_command;
mod source;
mod subagents;
mod talk;
mod test_command;
mod test_outcome;
mod todo_list;
mod unread;
mod work;

pub(crate) use bounded_json::parse_to_keep as parse_json;
pub use contents::{
    Action, ActionKind, Command, Outcome, RanCommand, RateLimit, Todo, TodoStatus, Transcript, TurnWork, Utterance,
    UtteranceKind,
};
pub use format::{TranscriptFormat, is_readable};
pub(crate) use format::{is_always_named, path_of};
pub use hook_words::{add_last_answer, of_words, word};
pub use human_text::{CONTINUE_LEAD, WARMUP_MARKER, keepable};
pub(crate) use identity::mark_before;
pub(crate) use injected::{Injected, injected, injected_at_start, keeps_context};
pub(crate) use kept::{
    KeptHead, MAX_FILE as MAX_KEPT_FILE, MAX_HEAD as MAX_KEPT_HEAD, kept, kept_name, kept_session, of_kept_name,
    read_kept,
};
pub(crate) use listing::{Extent, ListingLimits};
pub(crate) use mark::{MARK_BYTES, first_mark, marked};
pub(crate) use rate_limit::limit_in;
pub(crate) use sessions::{
    FoundFile, FoundPlace, directories_of, directories_of_agent, found_before, places_of, places_of_agent, session_in,
    sessions_at_a_glance,
};
pub use sessions::{SessionFile, is_subagent, sessions};
pub use source::{Asks, Source, read};
pub(crate) use source::{read_for_search, read_small_for_search, read_with_room, state};
pub(crate) use test_command::is_check;
pub(crate) use unread::{Unread, unread};

/// Every format. A new one is a file, its `mod` line and its entry here.
pub const FORMATS: &[TranscriptFormat] = &[
    claude_code::FORMAT,
    codex::FORMAT,
    copilot::FORMAT,
    gemini::FORMAT,
    opencode::FORMAT,
    cline::FORMAT,
    cursor::FORMAT,
    antigravity::FORMAT,
];
