//! Every environment variable this program reads, in one list.

use std::ffi::OsString;

pub struct Variable {
    pub name: &'static str,
    pub help: &'static str,
}

pub const CONFIG: &str = "AGENT_HANDOVER_CONFIG";
pub const MEMORY_DIR: &str = "AGENT_HANDOVER_MEMORY_DIR";
pub const HISTORY_DIR: &str = "AGENT_HANDOVER_HISTORY_DIR";
pub const STATE_DIR: &str = "AGENT_HANDOVER_STATE_DIR";
pub const PAUSE_FILE: &str = "AGENT_HANDOVER_PAUSE_FILE";
pub const CHECKPOINT: &str = "AGENT_HANDOVER_CHECKPOINT";
pub const TAG: &str = "AGENT_HANDOVER_TAG";
pub const AGENT: &str = "AGENT_HANDOVER_AGENT";
pub const WAIT: &str = "AGENT_HANDOVER_WAIT";
pub const PASSPHRASE: &str = "AGENT_HANDOVER_PASSPHRASE";
pub const LOG: &str = "AGENT_HANDOVER_LOG";
/// Variables of agents: the directories in which they keep their sessions.
pub const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
pub const CODEX_HOME: &str = "CODEX_HOME";
pub const COPILOT_HOME: &str = "COPILOT_HOME";
pub const CURSOR_CONFIG_DIR: &str = "CURSOR_CONFIG_DIR";
pub const GEMINI_CLI_HOME: &str = "GEMINI_CLI_HOME";
pub const CLINE_DIR: &str = "CLINE_DIR";
/// The user's own settings, of this program and of OpenCode.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// The user's own data, of this program and of OpenCode.
pub const XDG_DATA_HOME: &str = "XDG_DATA_HOME";

/// The editor of the user, for `run` on a terminal.
pub const VISUAL: &str = "VISUAL";
pub const EDITOR: &str = "EDITOR";

/// Set by a shell that asks what to offer when somebody presses Tab.
pub const COMPLETE: &str = "AGENT_HANDOVER_COMPLETE";

/// Set for the children of `command` steps. If it is set, we run inside such a step.
pub const RUN: &str = "AGENT_HANDOVER_RUN";
pub const STEP: &str = "AGENT_HANDOVER_STEP";
pub const ATTEMPT: &str = "AGENT_HANDOVER_ATTEMPT";
/// The project of such a child.
pub const ROOT: &str = "AGENT_HANDOVER_ROOT";

/// Set for every process that we start, so that an agent among them does not start another handover from its hooks.
pub const CHILD: &str = "AGENT_HANDOVER_CHILD";

/// Pins for tests. They change nothing unless set.
pub const TEST_NOW: &str = "AGENT_HANDOVER_TEST_NOW";
pub const TEST_IDS: &str = "AGENT_HANDOVER_TEST_IDS";
pub const TEST_FAULT: &str = "AGENT_HANDOVER_TEST_FAULT";

/// The variables that a user may set. The README's table is tested against this list.
pub const VARIABLES: &[Variable] = &[
    Variable { name: CONFIG, help: "the config file to read, as `--config`" },
    Variable { name: MEMORY_DIR, help: "overrides `memory_dir`" },
    Variable { name: HISTORY_DIR, help: "overrides `history_dir`" },
    Variable { name: STATE_DIR, help: "overrides `state_dir`" },
    Variable { name: PAUSE_FILE, help: "overrides `pause_file`" },
    Variable { name: CHECKPOINT, help: "the checkpoint database, as `--checkpoint`" },
    Variable { name: TAG, help: "overrides `tag`, as `--tag`" },
    Variable { name: AGENT, help: "the agent that ran the session, as `--agent`" },
    Variable { name: WAIT, help: "how long `run` waits for another run, as `--wait`" },
    Variable { name: PASSPHRASE, help: "the passphrase of encrypted bundles" },
    Variable { name: CHILD, help: "if set, hooks do nothing; set for every process that a handover starts" },
    Variable { name: LOG, help: "`debug` prints each decision to stderr, for developers" },
    Variable { name: CLAUDE_CONFIG_DIR, help: "where Claude Code keeps its transcripts, if not in `~/.claude`" },
    Variable { name: CODEX_HOME, help: "where Codex keeps its transcripts, if not in `~/.codex`" },
    Variable { name: COPILOT_HOME, help: "where Copilot keeps its transcripts, if not in `~/.copilot`" },
    Variable { name: CURSOR_CONFIG_DIR, help: "where Cursor keeps its transcripts, if not in `~/.cursor`" },
    Variable { name: GEMINI_CLI_HOME, help: "the directory of Gemini's `.gemini`, if not the home directory" },
    Variable { name: CLINE_DIR, help: "where Cline keeps its transcripts, if not in `~/.cline`" },
    Variable { name: VISUAL, help: "the editor that `run` opens on a terminal if nothing is said" },
    Variable { name: EDITOR, help: "the same, if `VISUAL` is not set" },
];

/// A variable that is set and not empty.
pub fn get(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Like [`get`], as text. Bytes that are not UTF-8 are replaced.
pub fn get_text(name: &str) -> Option<String> {
    get(name).map(|value| value.to_string_lossy().into_owned())
}

/// The user's home directory, if the system knows one.
pub fn home() -> Option<std::path::PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// The directory of this user's state of this program, which no repository can reach.
pub fn user_state() -> Option<std::path::PathBuf> {
    let state = get("XDG_STATE_HOME").map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| home().map(|home| home.join(".local/state")));
    state.map(|state| state.join("agent-handover"))
}

/// The directory of this user's own config of this program, which no repository can reach.
pub fn config_directory() -> Option<std::path::PathBuf> {
    let config = get(XDG_CONFIG_HOME).map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    config.or_else(|| home().map(|home| home.join(".config"))).map(|config| config.join("agent-handover"))
}

/// The directory of this user's data of this program, which no repository can reach.
pub fn data_directory() -> Option<std::path::PathBuf> {
    let data = get(XDG_DATA_HOME).map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    data.or_else(|| home().map(|home| home.join(".local/share"))).map(|data| data.join("agent-handover"))
}
