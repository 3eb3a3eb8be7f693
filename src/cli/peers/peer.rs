//! The names that a link can have, and how a translated command runs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Parser;

use super::super::Cli;
use super::super::start;
use super::super::ui::{Color, Ui, Voice};
use super::{session_glue, session_handoff};
use crate::error::Category;

/// A tool whose command lines the program takes under that tool's name.
pub(in super::super) struct Peer {
    names: &'static [&'static str],
    /// Carries out the arguments after the name. Returns the exit code of that tool.
    pub execute: fn(&[OsString]) -> u8,
}

const PEERS: &[Peer] = &[
    Peer { names: &["glue", "session-glue"], execute: session_glue::execute },
    Peer { names: &["session-handoff"], execute: session_handoff::execute },
];

/// The peer whose name the program was started with.
pub(in super::super) fn of(program: Option<&OsString>) -> Option<&'static Peer> {
    let name = Path::new(program?).file_name().and_then(OsStr::to_str)?;
    PEERS.iter().find(|peer| peer.names.contains(&name))
}

/// One of our commands that does what a peer was asked for.
pub(super) struct Translation {
    /// The arguments of our command, without the name of the program.
    pub arguments: Vec<OsString>,
    /// Where our command runs, if that is not the current directory.
    pub cwd: Option<PathBuf>,
    pub voice: Voice,
}

impl Translation {
    /// Runs the command and returns its exit code, which is one of ours.
    pub(super) fn run(self) -> u8 {
        let ui = Ui::new(Color::Auto, false).with_voice(self.voice);
        let program = OsString::from("agent-handover");
        match Cli::try_parse_from(std::iter::once(program).chain(self.arguments)) {
            Ok(cli) => start::carry_out(cli, ui, self.cwd),
            Err(error) => {
                ui.error(&first_line(&error));
                Category::Usage.exit_code()
            }
        }
    }
}

/// What is wrong with a command line, in one sentence.
pub(super) fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The arguments of one of our commands.
pub(super) fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_found_by_the_last_part_of_the_path() {
        let is_peer = |program: &str| of(Some(&program.into())).is_some();
        for program in ["glue", "/usr/local/bin/glue", "./session-glue", "session-handoff"] {
            assert!(is_peer(program), "{program}");
        }
        for program in ["agent-handover", "/opt/glue/agent-handover", "glue.sh", "", "/"] {
            assert!(!is_peer(program), "{program}");
        }
        assert!(of(None).is_none());
    }
}
