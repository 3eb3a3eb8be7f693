//! `keygen`: a key to sign handoffs with.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::Context;
use crate::base::fs::{self, Created};
use crate::bundle::SecretKey;
use crate::error::{Category, Error, Result};

/// The largest key file.
const MAX_KEY: u64 = 64 << 10;

/// Make an ed25519 key to sign handoffs with, and print its public half
#[derive(Args)]
pub(super) struct Keygen {
    /// The file for the new key, readable only by you
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Keygen {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        if let Some(stop) = context.project(None, None)?.brake().pressed() {
            return Err(stop.error());
        }
        if self.output.as_os_str() == "-" {
            return Err(Error::usage("a private key is not written to standard output, which has the public key")
                .hint("name a file; `./-` is a file with that name"));
        }
        let key = SecretKey::generate()?;
        let path = context.cwd.join(&self.output);
        if fs::write_private(&path, key.write()?.as_bytes(), false)? == Created::Before {
            return Err(Error::failed(format!("`{}` exists", path.display()))
                .hint("name another file: an overwritten key cannot be restored"));
        }
        let (pem, fingerprint) = (key.public().write()?, key.public().fingerprint());
        context.ui.tell(&format!("wrote {}", path.display()));
        context.ui.tell(&format!("fingerprint: {fingerprint}"));
        if self.json {
            context.ui.answer_json(&json!({
                "schema": "agent-handover/keygen/1",
                "output": path.display().to_string(),
                "fingerprint": fingerprint,
                "public_key": key.public().encode(),
            }));
        } else {
            context.ui.answer_text(&pem);
        }
        Ok(0)
    }
}

/// Reads a small text file: a key or a bundle. Never waits for the other end of a pipe.
pub(super) fn read_small(context: &Context<'_>, path: &Path, max: u64) -> Result<String> {
    let path = context.cwd.join(path);
    let failed = |cause: std::io::Error| Error::io("read", &path, cause);
    let absent = || failed(std::io::ErrorKind::NotFound.into()).in_category(Category::Failed);
    let file = fs::open_if_exists(&path)?.ok_or_else(absent)?;
    let bytes = fs::read_at_most(file, max).map_err(failed)?;
    let is_too_large = u64::try_from(bytes.len()).is_ok_and(|size| size > max);
    match String::from_utf8(bytes) {
        Ok(text) if !is_too_large => Ok(text),
        _ => Err(Error::bad_data(format!("`{}` is too large or not text", path.display()))),
    }
}

pub(super) fn read_secret(context: &Context<'_>, path: &Path) -> Result<SecretKey> {
    let pem = read_small(context, path, MAX_KEY)?;
    if fs::is_readable_by_others(&context.cwd.join(path)) {
        context.ui.warn(&format!("others can read the key `{}`: `chmod 600` it", path.display()));
    }
    SecretKey::read(&pem).map_err(|error| error.lead(&format!("`{}`: ", path.display())))
}
