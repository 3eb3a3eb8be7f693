//! A passphrase from a file, a flag, the environment or a prompt.

use std::path::PathBuf;

use clap::Args;

use super::{Context, ask};
use crate::base::{env, fs};
use crate::error::{Error, Result};

const MAX_LENGTH: u64 = 64 << 10;

#[derive(Args)]
pub(super) struct Passphrase {
    /// Read the passphrase from this file, which has one line
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// The passphrase itself; other users can see it in the list of processes
    #[arg(long, value_name = "TEXT", conflicts_with = "passphrase_file", allow_hyphen_values = true)]
    passphrase: Option<String>,
}

impl Passphrase {
    /// Whether a flag gives a passphrase. The environment does not count.
    pub(super) fn is_given(&self) -> bool {
        self.passphrase_file.is_some() || self.passphrase.is_some()
    }

    /// The passphrase from the file, the flag, the environment or a person, in this order. A person types a new one twice.
    pub(super) fn get(&self, context: &Context<'_>, is_new: bool) -> Result<String> {
        let passphrase = if let Some(file) = &self.passphrase_file {
            self.of_file(context, file)?
        } else if let Some(passphrase) = &self.passphrase {
            context.ui.warn("a passphrase on the command line can be seen by others; `--passphrase-file` cannot");
            passphrase.clone()
        } else if let Some(passphrase) = env::get_text(env::PASSPHRASE) {
            passphrase
        } else if context.ui.can_ask() {
            ask::passphrase(is_new)?
        } else {
            return Err(Error::usage("a passphrase is needed, and there is no terminal to ask on")
                .hint(format!("pass `--passphrase-file FILE`, or set {}", env::PASSPHRASE)));
        };
        if passphrase.trim().is_empty() { Err(Error::usage("the passphrase is blank")) } else { Ok(passphrase) }
    }

    fn of_file(&self, context: &Context<'_>, file: &std::path::Path) -> Result<String> {
        let path = context.cwd.join(file);
        let bytes = fs::read_at_most(fs::open(&path)?, MAX_LENGTH).map_err(|cause| Error::io("read", &path, cause))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_LENGTH) {
            return Err(Error::bad_data(format!("the passphrase in `{}` is longer than 64 KiB", file.display())));
        }
        if fs::is_readable_by_others(&path) {
            context.ui.warn(&format!("others can read the passphrase in `{}`: `chmod 600` it", file.display()));
        }
        let text =
            String::from_utf8(bytes).map_err(|_| Error::bad_data(format!("`{}` is not UTF-8 text", file.display())))?;
        // The newline that an editor adds at the end does not count; everything else does.
        let line = text.lines().next().unwrap_or_default().to_owned();
        if text.trim_end_matches(['\r', '\n']) == line {
            Ok(line)
        } else {
            Err(Error::bad_data(format!("`{}` has more than one line", file.display())))
        }
    }
}
