//! `trust …`: the keys whose signatures count.

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::json;

use super::table::Table;
use super::{Context, keygen};
use crate::base::{clock, fs, text};
use crate::bundle::{
    Bundle, BundleSeal, MAX_BYTES, PublicKey, TrustList, Trusted, describe_key, shown_name, write_time,
};
use crate::error::{Category, Error, Result};

/// Manage the keys whose signatures on handoffs count
#[derive(Args)]
pub(super) struct Trust {
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    verb: TrustVerb,
}

#[derive(Subcommand)]
enum TrustVerb {
    /// Trust a key
    Add {
        /// A PEM file, a signed bundle, or the key itself as bundles carry it
        #[arg(value_name = "FILE|KEY")]
        key: String,
        /// The name of its owner; a bundle that claims another name is refused. Without it, a claimed name is shown as a claim
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// List the trusted keys
    List,
    /// Stop trusting a key
    Remove {
        /// A name, or the beginning of a fingerprint
        #[arg(value_name = "KEY")]
        key: String,
    },
}

impl Trust {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let list = TrustList::open()?;
        let changes = !matches!(self.verb, TrustVerb::List);
        if changes && let Some(stop) = context.project(None, None)?.brake().pressed() {
            return Err(stop.error());
        }
        let (verb, keys, line) = match self.verb {
            TrustVerb::Add { key, name } => {
                let trusted = with_known_name(context, &list, read(context, &key)?, name)?;
                list.add(&trusted)?;
                let line = format!("trusted {}", describe_key(&trusted));
                ("add", vec![trusted], Some(line))
            }
            TrustVerb::Remove { key } => {
                let trusted = list.remove(&key)?;
                let line = format!("no longer trusted: {}", describe_key(&trusted));
                ("remove", vec![trusted], Some(line))
            }
            TrustVerb::List => ("list", list.keys()?, None),
        };
        if self.json {
            let keys: Vec<_> = keys
                .iter()
                .map(|trusted| {
                    json!({
                        "fingerprint": trusted.key.fingerprint(),
                        "name": trusted.name,
                        "public_key": trusted.key.encode(),
                        "added": trusted.added,
                    })
                })
                .collect();
            context.ui.answer_json(&json!({ "schema": format!("agent-handover/trust-{verb}/1"), "keys": keys }));
            return Ok(0);
        }
        match line {
            Some(line) => context.ui.answer(&line),
            None if keys.is_empty() => {
                context.ui.tell("no key is trusted; `agent-handover trust add FILE` trusts one");
            }
            None => context.ui.answer_table(&table(&keys)),
        }
        Ok(0)
    }
}

/// Reads the key that an argument is, or that the file of that name holds. A repository can have a file with the name of a
/// key, so a key is never taken for a file.
fn read(context: &Context<'_>, what: &str) -> Result<(PublicKey, Option<String>)> {
    if PublicKey::is_form(what.trim()) {
        Ok((PublicKey::decode(what.trim())?, None))
    } else if fs::is_taken(&context.cwd.join(what)) {
        let text = keygen::read_small(context, Path::new(what), MAX_BYTES as u64)?;
        if text.trim_start().starts_with('{') { of_bundle(&text) } else { Ok((PublicKey::read(&text)?, None)) }
    } else {
        Err(Error::failed(format!("`{}` is neither a file nor a public key", text::one_line(what, 100)))
            .hint("name a PEM file or a signed bundle, or give the key as a bundle has it"))
    }
}

/// The entry for a key. Only `--name` changes the name of a key that is trusted already: the name in a bundle is a claim.
fn with_known_name(
    context: &Context<'_>,
    list: &TrustList,
    (key, claimed): (PublicKey, Option<String>),
    name: Option<String>,
) -> Result<Trusted> {
    let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let known = list.find(&key)?;
    let added = known.as_ref().map_or_else(|| write_time(&clock::now().to_utc()), |known| known.added.clone());
    let Some(known) = known.filter(|_| name.is_none()) else {
        return Ok(Trusted { key, name: name.or(claimed), added });
    };
    if claimed.is_some() && claimed != known.name {
        let claimed = shown_name(&claimed.unwrap_or_default());
        context
            .ui
            .warn(&format!("you trust this key already; `--name` gives it the name `{claimed}`, which it claims"));
    }
    Ok(known)
}

/// The key and the claimed name of a bundle's signer.
fn of_bundle(source: &str) -> Result<(PublicKey, Option<String>)> {
    // A file with one bundle a line: the first one decides.
    let first = source.lines().next().unwrap_or_default();
    let (_, seal) = Bundle::read(if first.ends_with('}') { first } else { source }).map_err(|error| {
        error.hint("for an encrypted bundle, `history import --dry-run` shows the key and how to trust it")
    })?;
    match seal {
        BundleSeal::Signed { key, name } => Ok((key, name)),
        BundleSeal::Unsigned(why) => Err(Error::new(Category::Untrusted, format!("the bundle is unsigned: {why}"))),
    }
}

fn table(keys: &[Trusted]) -> Table {
    let mut table = Table::new(&["FINGERPRINT", "ADDED", "NAME"]);
    for trusted in keys {
        let name = trusted.name.as_deref().map(shown_name).unwrap_or_default();
        table.push(vec![trusted.key.fingerprint(), text::one_line(&trusted.added, 30), name]);
    }
    table
}
