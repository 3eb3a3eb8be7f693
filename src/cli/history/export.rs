//! `history export`: handoffs as files that travel.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::super::passphrase::Passphrase;
use super::super::{Context, keygen};
use super::filters::Filters;
use super::render::Form;
use super::{HistoryPlace, answer, brake, notebook};
use crate::base::fs::{self, Anchor, Created, FileKind};
use crate::base::{clock, text};
use crate::bundle::{
    Bundle, Envelope, MAX_BYTES, MAX_RECORDS, Redaction, SecretKey, SignWith, check_session_id, record_of, write_time,
};
use crate::config::Secrets;
use crate::error::{Category, Error, Result};
use crate::history::{self, Catalog, FoundArchive, SessionEntry};

/// Write handoffs as a prompt, or as a bundle that other machines and tools import
#[derive(Args)]
pub(super) struct Export {
    /// The session: its id, a unique beginning or end of it, or `latest`, which is the default
    #[arg(value_name = "SESSION", conflicts_with = "named")]
    id: Option<String>,
    /// The same, as session-handoff names it
    #[arg(id = "named", long = "id", value_name = "SESSION", hide = true)]
    named: Option<String>,
    /// The newest handoff, which is the default
    #[arg(long, hide = true, conflicts_with_all = ["id", "named", "all"])]
    latest: bool,
    /// Every handoff of the archive
    #[arg(long, conflicts_with_all = ["id", "named"])]
    all: bool,
    #[command(flatten)]
    filters: Filters,
    /// A prompt, one bundle, one bundle for each line, or a directory of files for NotebookLM
    #[arg(long, value_enum, ignore_case = true, default_value_t)]
    format: ExportFormat,
    #[command(flatten)]
    form: Form,
    /// Sign with this ed25519 key, a PKCS#8 PEM file
    #[arg(long, value_name = "FILE")]
    sign_key: Option<PathBuf>,
    /// The name of the signer
    #[arg(long, value_name = "NAME", requires = "sign_key")]
    signer: Option<String>,
    /// Encrypt, with a passphrase from a file, AGENT_HANDOVER_PASSPHRASE or a prompt
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    passphrase: Passphrase,
    /// Write to this file, readable only by you [default: standard output, also `-`]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Export text that looks like this kind of secret
    #[arg(long, value_name = "KIND")]
    allow_secret: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    #[default]
    #[value(alias = "md")]
    Markdown,
    Json,
    Jsonl,
    /// One Markdown file a month for NotebookLM, in the directory `--output`, without secrets; an unchanged file is not written
    Notebooklm,
}

impl Export {
    pub(super) fn execute(self, context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
        let output = self.output.as_ref().filter(|path| path.as_os_str() != "-").map(|path| context.cwd.join(path));
        self.refuse_what_would_be_ignored(output.is_some(), as_json)?;
        if let Some(path) = &output {
            if let Some(stop) = brake(&place.root).pressed() {
                return Err(stop.error());
            }
            if self.format == ExportFormat::Notebooklm {
                let Chosen { found, damaged } = self.chosen(context, place)?;
                for left_out in &damaged {
                    context.ui.warn(&format!("left out: {left_out}"));
                }
                let is_everything = damaged.is_empty() && self.id.is_none() && !self.filters.is_any_given();
                notebook::write(context, place, &found, path, is_everything, as_json)?;
                return Ok(u8::from(!damaged.is_empty()));
            }
            refuse_existing(path, self.force)?;
        }
        // The other half of an interrupted import belongs to the export.
        place.finish_interrupted(context);
        let Chosen { found, mut damaged } = self.chosen(context, place)?;
        if place.has_unfinished_command() {
            damaged.push(
                "what an interrupted command has not done yet; `agent-handover run --resume` finishes it".to_owned(),
            );
        }
        for left_out in &damaged {
            context.ui.warn(&format!("left out: {left_out}"));
        }
        for found in place.history.changed_among(&found)? {
            let shown = text::one_line(&found.path.display().to_string(), 300);
            context.ui.warn(&format!("`{shown}` was changed since it was archived; it is exported as it is now"));
        }
        let key = self.sign_key.as_ref().map(|path| keygen::read_secret(context, path)).transpose()?;
        let passphrase =
            if self.encrypt || self.passphrase.is_given() { Some(self.passphrase.get(context, true)?) } else { None };
        let mut content = self.content(context, place, &found, key.as_ref())?;
        if let Some(passphrase) = &passphrase {
            content = Envelope::seal(content.trim_end_matches('\n'), passphrase)?.render()? + "\n";
        }
        if content.len() > MAX_BYTES && self.format != ExportFormat::Markdown {
            return Err(too_much(&format!("the file would be larger than {} MiB", MAX_BYTES >> 20)));
        }
        let Some(path) = output else {
            context.ui.answer_text(&content);
            return Ok(u8::from(!damaged.is_empty()));
        };
        if fs::write_private(&path, content.as_bytes(), self.force)? == Created::Before {
            return Err(exists(&path));
        }
        let ids: Vec<&str> = found.iter().map(|found| found.handoff.text("session_id")).collect();
        let shown = path.display().to_string();
        let document = json!({
            "output": shown,
            "handoffs": ids,
            "left_out": damaged,
            "signed_by": key.as_ref().map(|key| key.public().fingerprint()),
            "encrypted": passphrase.is_some(),
        });
        let line = match ids.len() {
            1 => format!("exported {shown}"),
            count => format!("exported {count} handoffs to {shown}"),
        };
        answer(context, as_json, "export", &[&line], document);
        Ok(u8::from(!damaged.is_empty()))
    }

    /// The session that was named.
    fn session(&self) -> Option<&str> {
        self.id.as_deref().or(self.named.as_deref()).or(self.latest.then_some("latest"))
    }

    /// Refuses options that would have no effect, so that nobody believes they had one.
    fn refuse_what_would_be_ignored(&self, to_file: bool, as_json: bool) -> Result<()> {
        // Without the filter, something else would leave this machine.
        if let Some(flag) = self.filters.blank() {
            return Err(Error::usage(format!("`{flag}` is blank, so it chooses nothing to export"))
                .hint(format!("leave `{flag}` out, or give it a value")));
        }
        let is_secret = self.encrypt || self.passphrase.is_given();
        let is_notebook = self.format == ExportFormat::Notebooklm;
        let problem = if is_notebook && !to_file {
            "`--format notebooklm` writes several files: it needs `--output DIRECTORY`"
        } else if is_notebook && (is_secret || self.sign_key.is_some() || self.force || !self.allow_secret.is_empty()) {
            "`--format notebooklm` is neither signed nor encrypted, writes over its own files, and never has secrets"
        } else if self.format == ExportFormat::Markdown && is_secret {
            "Markdown is not encrypted: a passphrase needs `--format json` or `jsonl`"
        } else if self.format == ExportFormat::Markdown && self.sign_key.is_some() {
            "Markdown is not signed: `--sign-key` needs `--format json` or `jsonl`"
        } else if self.format != ExportFormat::Markdown && self.form.is_any_given() {
            "`--target`, `--layout` and `--budget` are for `--format markdown`"
        } else if self.force && !to_file {
            "`--force` needs `--output FILE`"
        } else if as_json && !to_file {
            "`--json` describes the file that was written: it needs `--output FILE`"
        } else if self.session().is_some() && self.filters.is_any_given() {
            "`--id` names one handoff: it cannot be combined with filters"
        } else if self.all && self.filters.is_any_given() {
            "`--all` is every handoff: it cannot be combined with filters"
        } else {
            return Ok(());
        };
        Err(Error::usage(problem))
    }

    fn chosen(&self, context: &Context<'_>, place: &HistoryPlace) -> Result<Chosen> {
        let is_notebook = self.format == ExportFormat::Notebooklm;
        if !self.all && !self.filters.is_any_given() && (self.session().is_some() || !is_notebook) {
            let one = place.history.find(self.session().unwrap_or("latest"))?;
            history::parse(&one.text).map_err(|error| error.lead(&format!("`{}`: ", one.path.display())))?;
            return Ok(Chosen { found: vec![one], damaged: Vec::new() });
        }
        let Catalog { entries, refused, damaged } = self.filters.parse(&context.cwd)?.every(place)?;
        if entries.is_empty() {
            return Err(Error::failed("no handoff matches, so nothing was exported"));
        }
        if entries.len() > MAX_RECORDS && !is_notebook {
            return Err(too_much(&format!("{} handoffs match, and {MAX_RECORDS} is the most", entries.len())));
        }
        if entries.len() > 1 && !is_notebook && self.format != ExportFormat::Jsonl {
            return Err(Error::usage(format!("{} handoffs match", entries.len()))
                .hint("`--format jsonl` exports several, `--id` one"));
        }
        // Oldest first, so that an import adds them in the order in which they were made.
        let mut chosen = Chosen::default();
        if self.all {
            // Whatever a filter would choose: nobody knows what these hold.
            chosen.damaged.extend(refused.iter().chain(&damaged).map(Error::one_line));
            let missing = place.history.missing_archives()?.into_iter();
            chosen.damaged.extend(missing.map(|name| format!("`{}` is missing", text::one_line(&name, 300))));
        }
        for entry in entries.iter().rev() {
            match readable(place, entry) {
                Ok(found) => chosen.found.push(found),
                Err(error) => chosen.damaged.push(error.one_line()),
            }
        }
        match chosen.damaged.first().filter(|_| chosen.found.is_empty()) {
            Some(first) => Err(Error::bad_data(format!("no handoff can be read, so nothing was exported: {first}"))),
            None => Ok(chosen),
        }
    }

    fn content(
        &self,
        context: &Context<'_>,
        place: &HistoryPlace,
        found: &[FoundArchive],
        key: Option<&SecretKey>,
    ) -> Result<String> {
        let exported_at = write_time(&clock::now().to_utc());
        let sign = key.map(|key| SignWith { key, name: self.signer.as_deref() });
        let mut content = String::new();
        for found in found {
            let found = self.without_secrets(context, place, found)?;
            let one = match self.format {
                ExportFormat::Markdown => self.form.write(place, &found, place.owns(&found))?,
                format => {
                    check_session_id(found.handoff.text("session_id"))?;
                    let bundle =
                        Bundle::new(record_of(&found.handoff)?, found.text, exported_at.clone(), sign.as_ref())?;
                    if format == ExportFormat::Json { bundle.pretty()? + "\n" } else { bundle.line()? + "\n" }
                }
            };
            content.push_str(&one);
        }
        Ok(content)
    }

    /// The handoff as it is archived, without secrets if the config says so. Its origin travels with it, as a claim.
    fn without_secrets(
        &self,
        context: &Context<'_>,
        place: &HistoryPlace,
        found: &FoundArchive,
    ) -> Result<FoundArchive> {
        let id = found.handoff.text("session_id").to_owned();
        let redaction = Redaction::allowing(&self.allow_secret);
        let kinds = redaction.kinds(&found.handoff, &found.text);
        let unchanged =
            || FoundArchive { path: found.path.clone(), text: found.text.clone(), handoff: found.handoff.clone() };
        match place.secrets {
            _ if kinds.is_empty() => Ok(unchanged()),
            Secrets::Block => {
                let flags: Vec<String> = kinds.iter().map(|kind| format!("--allow-secret {kind}")).collect();
                let message =
                    format!("handoff {id} is not exported: it holds what looks like a secret ({})", kinds.join(", "));
                Err(Error::new(Category::NotGood, message)
                    .hint(format!("if it is not a secret, pass `{}`", flags.join(" "))))
            }
            Secrets::Redact => {
                let handoff = redaction.redact(&found.handoff)?;
                // The id may hold words of the secret, so the message has the new one.
                let id = handoff.text("session_id");
                let kinds = kinds.join(", ");
                context.ui.warn(&format!("what looks like a secret was removed from handoff {id}: {kinds}"));
                Ok(FoundArchive { path: found.path.clone(), text: handoff.render(), handoff })
            }
            Secrets::Warn => {
                context.ui.warn(&format!("handoff {id} holds what looks like a secret: {}", kinds.join(", ")));
                Ok(unchanged())
            }
        }
    }
}

/// The handoffs to export.
#[derive(Default)]
struct Chosen {
    found: Vec<FoundArchive>,
    /// Messages about archives that cannot be read. They do not hold up the others.
    damaged: Vec<String>,
}

/// The archive of an entry. An error names the file if it is not a handoff of that session.
fn readable(place: &HistoryPlace, entry: &SessionEntry) -> Result<FoundArchive> {
    let path = place.history.directory.join(entry.get("file"));
    let lead = |error: Error| error.lead(&format!("`{}`: ", text::one_line(&path.display().to_string(), 300)));
    let found = place.history.archive_of(entry).map_err(lead)?;
    let handoff = history::parse(&found.text).map_err(lead)?;
    if handoff.text("session_id") != entry.get("session_id") {
        return Err(lead(Error::bad_data("it holds another session than INDEX.yaml says")));
    }
    Ok(found)
}

/// The error about an export that no import would take.
fn too_much(what: &str) -> Error {
    Error::failed(format!("{what}: nobody could import it at once, so nothing was exported"))
        .hint("export in parts, by `--since` and `--until`, or by `--project`")
}

fn refuse_existing(path: &Path, force: bool) -> Result<()> {
    match Anchor::beside(path).about(path) {
        Ok(Some(_)) if !force => Err(exists(path)),
        Ok(Some(about)) if about.kind == FileKind::Link => {
            Err(Error::failed(format!("`{}` is a symlink", text::for_terminal(&path.display().to_string())))
                .hint("name the file itself; nothing was written"))
        }
        _ => Ok(()),
    }
}

fn exists(path: &Path) -> Error {
    Error::failed(format!("`{}` exists", path.display())).hint("name another file, or write over it with `--force`")
}
