//! `history import`: handoffs from other machines, after a check of their signatures.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};

use super::super::Context;
use super::super::passphrase::Passphrase;
use super::create::register;
use super::{HistoryPlace, answer, brake, leaks};
use crate::base::{clock, fs, text};
use crate::bundle::{
    BundleSeal, DocumentPart, HandoffRecord, Incoming, Input, MAX_BYTES, TrustList, Vouched, shown_name, too_large,
};
use crate::engine::Issued;
use crate::error::{Error, Result};
use crate::handoff::Handoff;
use crate::history::{Landing, NotChanged, OnConflict, Origin, own_keys, registry};
use crate::steps;

/// How many handoffs are scanned for secrets, which is slow.
const MAX_SCANNED: usize = 100;

/// What it means that a bundle has no document.
const RECORD_ONLY: &str =
    "session-handoff writes only a record, which does not say whether it had another origin before";

/// Import handoffs that this or another tool exported
#[derive(Args)]
pub(super) struct Import {
    /// The file: one bundle, or one for each line, encrypted or not, or session-handoff's handoffs.json; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "named", conflicts_with = "named")]
    file: Option<PathBuf>,
    /// The same, as session-handoff names it
    #[arg(id = "named", long = "input", short = 'i', value_name = "FILE", allow_hyphen_values = true, hide = true)]
    named: Option<PathBuf>,
    /// What to do if a handoff with the same id and other content exists here
    #[arg(long, value_enum, ignore_case = true, default_value_t)]
    on_conflict: ConflictPolicy,
    /// Import unsigned handoffs, too, and mark them as unsigned
    #[arg(long)]
    allow_unsigned: bool,
    /// Refuse a handoff whose id is here, also if it is the same, as session-handoff does
    #[arg(long, hide = true)]
    only_new: bool,
    #[command(flatten)]
    passphrase: Passphrase,
    /// Print what the file holds, who signed it and what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ConflictPolicy {
    /// Import nothing at all
    #[default]
    Fail,
    /// Keep the existing one
    Skip,
    /// Take the new one, unless the existing one has another signer, is newer or was written here
    Replace,
}

/// One handoff of the file, with what is known about its signer.
struct ImportCandidate {
    /// Without its long texts.
    record: HandoffRecord,
    seal: BundleSeal,
    format: String,
    document: DocumentPart,
    voucher: String,
    is_trusted: bool,
}

impl Import {
    fn input(&self) -> &Path {
        self.file.as_deref().or(self.named.as_deref()).unwrap_or(Path::new("-"))
    }

    pub(super) fn execute(self, context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
        let paused = brake(&place.root).paused().filter(|_| !self.dry_run);
        let source = self.read(context)?;
        let mut asked = false;
        let input = Input::read(&source, clock::now().to_utc(), || {
            asked = true;
            self.passphrase.get(context, false)
        })?;
        drop(source);
        if self.passphrase.is_given() && !asked {
            context.ui.warn("the passphrase was not needed: the bundle is not encrypted");
        }
        for refused in &input.refused {
            context.ui.warn(&format!("left out: {refused}"));
        }
        if input.incoming.is_empty() {
            context.ui.warn("the file has no handoffs");
        }
        let trust = TrustList::open()?;
        let (is_encrypted, refused) = (input.is_encrypted, input.refused);
        let is_one = input.incoming.len() == 1;
        let (mut candidates, mut handoffs) = (Vec::new(), Vec::new());
        let (mut untrusted, mut without_document) = (None, Vec::new());
        for incoming in input.incoming {
            let vouched = trust.vouch(&incoming.seal, self.allow_unsigned);
            let lead = if is_one { String::new() } else { format!("handoff {}: ", incoming.record.id) };
            match incoming.document {
                DocumentPart::Whole => {}
                DocumentPart::Absent => without_document.push(incoming.record.id.clone()),
                DocumentPart::CutOut => {
                    let id = &incoming.record.id;
                    context.ui.warn(&format!(
                        "handoff {id} comes without its document: session-handoff makes no such id, so the document was cut \
                         out of the bundle; only the record is left"
                    ));
                }
            }
            let (candidate, handoff) = self.candidate(incoming, vouched.as_ref().ok().and_then(Option::as_ref));
            if let Err(error) = vouched {
                untrusted.get_or_insert(error.lead(&lead));
            }
            candidates.push(candidate);
            handoffs.push(handoff);
        }
        match without_document.as_slice() {
            [] => {}
            [id] => context.ui.tell(&format!("handoff {id} comes without a document; {RECORD_ONLY}")),
            all => context.ui.tell(&format!("{} handoffs come without a document; {RECORD_ONLY}", all.len())),
        }
        if let Some(error) = untrusted {
            return self.refuse(context, &candidates, is_encrypted, error, as_json);
        }
        if self.only_new {
            // A plan that fails now fails again, and is reported then.
            let planned = place.history.plan_import(&handoffs, self.policy()).unwrap_or_default();
            if let Some((candidate, _)) = candidates.iter().zip(planned).find(|(_, landing)| !landing.is_first()) {
                return Err(Error::failed(format!("handoff {} already exists", candidate.record.id)));
            }
        }
        let gaining = if self.dry_run { Vec::new() } else { self.remember_signatures(context, place, &handoffs) };
        let landings = if self.dry_run || paused.is_some() {
            place.history.plan_import(&handoffs, self.policy())
        } else {
            self.import(context, place, &handoffs)?
        };
        let landings = match landings {
            // A failure while writing says itself what is left of it.
            Err(NotChanged::Failed(error) | NotChanged::TakenBack(error)) if !self.dry_run && paused.is_none() => {
                return Err(error);
            }
            Err(reason) => return self.refuse(context, &candidates, is_encrypted, reason.into(), as_json),
            Ok(landings) => gained(landings, &gaining),
        };
        if let Some(pause) = paused {
            warn_of_leaks(context, place, &handoffs);
            return Err(place.defer(&pause, steps::history_import(&handoffs, self.policy())?, None, false));
        }
        if !self.dry_run {
            registry::remember(&place.memory_root, &place.history.directory);
            for line in register(place) {
                context.ui.tell(&line);
            }
            warn_of_leaks(context, place, &handoffs);
        }
        self.report(context, &candidates, &landings, is_encrypted, &refused, as_json);
        Ok(0)
    }

    /// Imports the handoffs. After a kill the next command that changes something imports the rest of them.
    fn import(
        &self,
        context: &Context<'_>,
        place: &HistoryPlace,
        handoffs: &[Handoff],
    ) -> Result<Result<Vec<Landing>, NotChanged>> {
        let policy = self.policy();
        place.finish_interrupted(context);
        let step = steps::history_import(handoffs, policy)?;
        let bar = context.ui.progress("importing");
        let act = |_: &mut Issued| match place.history.import(handoffs, policy, &mut |done, of| bar.show(done, of)) {
            Err(NotChanged::Failed(error)) => Err(error),
            answer => Ok(answer),
        };
        let answer = place.carry_out_recorded(context, step, None, false, act);
        bar.end();
        answer
    }

    /// Remembers the signatures that were verified, before anything is recorded: a step that is read from a file proves none.
    /// Returns what the import does with each handoff without that knowledge; empty if none is signed.
    fn remember_signatures(&self, context: &Context<'_>, place: &HistoryPlace, handoffs: &[Handoff]) -> Vec<Landing> {
        if !handoffs.iter().any(|handoff| Origin::of(handoff).is_some_and(|origin| origin.is_signed())) {
            return Vec::new();
        }
        // A plan that fails now fails again, and is reported then.
        let planned = place.history.plan_import(handoffs, self.policy()).unwrap_or_default();
        if let Err(error) = own_keys::remember_signatures(handoffs) {
            let why = error.one_line();
            context.ui.warn(&format!("the verified signature could not be recorded, so it is shown as a claim: {why}"));
        }
        planned
    }

    fn policy(&self) -> OnConflict {
        match self.on_conflict {
            ConflictPolicy::Fail => OnConflict::Fail,
            ConflictPolicy::Skip => OnConflict::Skip,
            ConflictPolicy::Replace => OnConflict::Replace,
        }
    }

    fn is_stdin(&self) -> bool {
        self.input().as_os_str() == "-"
    }

    fn read(&self, context: &Context<'_>) -> Result<String> {
        let failed = |cause: std::io::Error| Error::io("read", self.input(), cause);
        let source: Box<dyn Read> = if self.is_stdin() {
            if std::io::stdin().is_terminal() {
                context.ui.warn("reading a bundle from the terminal: end it with Ctrl-D, or pass `--input FILE`");
            }
            Box::new(std::io::stdin().lock())
        } else {
            Box::new(fs::open(&context.cwd.join(self.input()))?)
        };
        let bytes = fs::read_at_most(source, MAX_BYTES as u64).map_err(failed)?;
        if bytes.len() > MAX_BYTES {
            return Err(too_large());
        }
        String::from_utf8(bytes).map_err(|_| Error::bad_data("this is not a bundle of handoffs: it is not UTF-8 text"))
    }

    /// The candidate, and its handoff as it would be archived.
    fn candidate(&self, incoming: Incoming, vouched: Option<&Vouched>) -> (ImportCandidate, Handoff) {
        let file = if self.is_stdin() {
            "standard input".to_owned()
        } else {
            self.input().file_name().unwrap_or_default().to_string_lossy().into_owned()
        };
        let origin = Origin {
            key: vouched.map(|vouched| vouched.trusted.key.fingerprint()).unwrap_or_default(),
            signer: vouched.and_then(|vouched| vouched.trusted.name.as_deref().map(shown_name)).unwrap_or_default(),
            claimed_name: vouched.and_then(|vouched| vouched.claimed_name.clone()).unwrap_or_default(),
            source: format!("{} ({})", text::one_line(&file, 100), incoming.format),
            exported_at: incoming.exported_at,
            before: incoming.before,
            is_verified: vouched.is_some(),
        };
        let mut handoff = incoming.handoff;
        origin.write_to(&mut handoff);
        let voucher = match (&incoming.seal, vouched) {
            (BundleSeal::Unsigned(why), _) => format!("unsigned: {why}"),
            (BundleSeal::Signed { .. }, Some(_)) => format!("{}, whom you trust", origin.voucher()),
            (BundleSeal::Signed { key, .. }, None) => format!("signed with key {}, not trusted", key.fingerprint()),
        };
        let Incoming { mut record, seal, format, document, .. } = incoming;
        // The handoff has them, too, and nobody reports them.
        (record.summary, record.next, record.changed) = (String::new(), None, None);
        (ImportCandidate { record, seal, format, document, voucher, is_trusted: origin.is_signed() }, handoff)
    }

    /// Reports that nothing was imported. A dry run lists the content nonetheless.
    fn refuse(
        &self,
        context: &mut Context<'_>,
        candidates: &[ImportCandidate],
        is_encrypted: bool,
        error: Error,
        as_json: bool,
    ) -> Result<u8> {
        if !self.dry_run {
            return Err(error.follow("; nothing was imported"));
        }
        if !as_json {
            for line in contents(candidates, is_encrypted, None) {
                context.ui.answer(&line);
            }
            return Err(error);
        }
        let document = json!({
            "dry_run": true,
            "encrypted": is_encrypted,
            "handoffs": candidates.iter().map(|candidate| one_json(candidate, None)).collect::<Vec<_>>(),
            "error": super::super::render::parts(&error),
        });
        answer(context, true, "import", &[], document);
        super::super::render::error(context.ui, &error, &context.cwd);
        Ok(error.category().exit_code())
    }

    fn report(
        &self,
        context: &mut Context<'_>,
        candidates: &[ImportCandidate],
        landings: &[Landing],
        is_encrypted: bool,
        refused: &[String],
        as_json: bool,
    ) {
        let pairs = candidates.iter().zip(landings);
        let lines = if self.dry_run {
            contents(candidates, is_encrypted, Some(landings))
        } else {
            pairs.clone().map(|(one, landing)| format!("{} handoff {}", landing.name(), one.record.id)).collect()
        };
        let document = json!({
            "dry_run": self.dry_run,
            "encrypted": is_encrypted,
            "handoffs": pairs.map(|(one, landing)| one_json(one, Some(*landing))).collect::<Vec<_>>(),
            "left_out": refused,
            "error": null,
        });
        answer(context, as_json, "import", &lines.iter().map(String::as_str).collect::<Vec<_>>(), document);
    }
}

/// The landings for the report: an archive whose file is the same, but whose signature nobody had verified, gained it.
fn gained(landings: Vec<Landing>, before: &[Landing]) -> Vec<Landing> {
    let one = |(number, landing): (usize, Landing)| match (landing, before.get(number)) {
        (Landing::Unchanged, Some(Landing::Signed)) => Landing::Signed,
        (landing, _) => landing,
    };
    landings.into_iter().enumerate().map(one).collect()
}

fn warn_of_leaks(context: &Context<'_>, place: &HistoryPlace, handoffs: &[Handoff]) {
    let mut warnings: Vec<String> = Vec::new();
    for handoff in handoffs.iter().take(MAX_SCANNED) {
        warnings.extend(leaks::warnings(place, &handoff.render(), false));
    }
    warnings.dedup();
    for warning in warnings {
        context.ui.warn(&warning);
    }
}

/// The content of the file, for people.
fn contents(candidates: &[ImportCandidate], is_encrypted: bool, landings: Option<&[Landing]>) -> Vec<String> {
    let sealed = if is_encrypted { "encrypted" } else { "not encrypted" };
    let is_whole = candidates.iter().all(|candidate| candidate.document != DocumentPart::CutOut);
    let whole = if is_whole { "whole" } else { "not whole" };
    let mut lines = vec![format!("handoffs: {}, {sealed}, {whole}", candidates.len())];
    for (number, candidate) in candidates.iter().enumerate() {
        let record = &candidate.record;
        let title = text::model_line(&record.title, 100);
        lines.push(format!("{}  {}  {}  {title}", record.id, record.created_at, text::model_line(&record.tool, 30)));
        lines.push(format!("  {}: {}", candidate.format, candidate.voucher));
        if let Some(landing) = landings.and_then(|landings| landings.get(number)) {
            lines.push(format!("  would be {}", landing.name()));
        }
    }
    lines
}

fn one_json(candidate: &ImportCandidate, landing: Option<Landing>) -> Json {
    let record = &candidate.record;
    let (key, name) = match &candidate.seal {
        BundleSeal::Unsigned(_) => (None, None),
        BundleSeal::Signed { key, name } => (Some(key.fingerprint()), name.clone()),
    };
    json!({
        "id": record.id,
        "created_at": record.created_at,
        "tool": record.tool,
        "project": record.project,
        "title": record.title,
        "format": candidate.format,
        "has_document": candidate.document == DocumentPart::Whole,
        "signed": key.is_some(),
        "key": key,
        "claimed_signer": name,
        "trusted": candidate.is_trusted,
        "voucher": candidate.voucher,
        "action": landing.map(Landing::name),
    })
}
