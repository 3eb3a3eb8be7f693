//! Text from a file or standard input.

use std::io::{IsTerminal, Read};
use std::path::Path;

use super::super::Context;
use crate::base::fs;
use crate::error::{Error, Result};

/// The largest input in bytes. A session's account of itself is short.
const MAX_INPUT: u64 = 4 << 20;

/// Reads a file, or standard input without one or for `-`. `what` names the text in errors.
pub(super) fn read(context: &Context<'_>, file: Option<&Path>, what: &str) -> Result<String> {
    let source: Box<dyn Read> = match file.filter(|file| file.as_os_str() != "-") {
        Some(file) => Box::new(fs::open(&context.cwd.join(file))?),
        None if std::io::stdin().is_terminal() => {
            return Err(Error::usage(format!("{what} is missing")).hint("give it by a flag, or pipe it in"));
        }
        None => Box::new(std::io::stdin().lock()),
    };
    let bytes = fs::read_at_most(source, MAX_INPUT)
        .map_err(|cause| Error::io("read", file.unwrap_or(Path::new("standard input")), cause))?;
    as_text(bytes, what)
}

/// Reads a plain file that nobody named. It may be anything, so no link is followed, and a pipe is refused.
pub(super) fn read_plain(file: &Path) -> Result<String> {
    let anchor = fs::Anchor::beside(file);
    anchor.require_regular(file)?;
    let bytes = fs::read_at_most(anchor.open(file)?, MAX_INPUT).map_err(|cause| Error::io("read", file, cause))?;
    as_text(bytes, &format!("`{}`", file.display()))
}

fn as_text(bytes: Vec<u8>, what: &str) -> Result<String> {
    if bytes.len() as u64 > MAX_INPUT {
        return Err(Error::bad_data(format!("{what} is larger than 4 MiB; nothing was kept"))
            .hint("`agent-handover run --note-file FILE` keeps a long text; an item has at most 64 KiB"));
    }
    String::from_utf8(bytes).map_err(|_| Error::bad_data(format!("{what} is not UTF-8 text; nothing was kept")))
}
