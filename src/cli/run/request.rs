//! What the session says, read from the arguments, from files and from standard input.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::Path;

use chrono::{DateTime, Duration, FixedOffset};

use super::Run;
use crate::base::{clock, fs};
use crate::cli::ui::Ui;
use crate::engine::{Attendance, Request};
use crate::error::{Error, Result};
use crate::transcript::{self, Source};

/// The largest note that is read. A note is text for people.
const MAX_NOTE: u64 = 64 << 20;
/// A transcript that has not changed for this long belongs to a session of the past.
const PAST: Duration = Duration::hours(1);

impl Run {
    /// What the session says.
    pub(super) fn request(&self, ui: &Ui) -> Result<Request> {
        let words = self.words.as_ref().map(said).transpose()?;
        let note = match (self.note.as_ref().or(words), &self.note_file) {
            (Some(note), _) => Some(text_of(ui, "the note", note.clone().into_encoded_bytes())),
            (None, Some(file)) => {
                let bytes = read_note(ui, file)?;
                if bytes.is_empty() {
                    ui.warn(&format!("there is no note in `{}`", file.display()));
                }
                Some(text_of(ui, "the note", bytes))
            }
            (None, None) => None,
        };
        let state = self.current_state.clone().map(|state| text_of(ui, "the state", state.into_encoded_bytes()));
        let handoff = self
            .handoff
            .as_deref()
            .map(|file| Ok::<_, Error>(text_of(ui, "the handoff", read_note(ui, file)?)))
            .transpose()?;
        let transcript = self.transcript.as_deref().map(pin).transpose()?;
        let is_only_transcript = note.is_none() && state.is_none() && handoff.is_none();
        Ok(Request {
            at: transcript.as_ref().filter(|_| is_only_transcript).and_then(ended),
            note,
            state,
            handoff,
            agent: self.agent.clone(),
            transcript,
            allow_secrets: self.allow_secret.clone(),
            no_push: self.no_push,
            attendance: if self.detach { Attendance::Detached } else { Attendance::Attended },
            ..Request::default()
        })
    }
}

/// The note that is given without a flag. A single word such as `resume` was meant as the flag, and is refused.
fn said(words: &OsString) -> Result<&OsString> {
    let word = words.to_string_lossy();
    match word.as_ref() {
        "resume" | "replan" | "abandon" | "restart" | "detach" | "dry-run" => {
            Err(Error::usage(format!("`run {word}` is not a note; did you mean `run --{word}`?"))
                .hint(format!("`run --note {word}` records the word")))
        }
        _ => Ok(words),
    }
}

/// Pins the transcript, by its absolute path: the run may be carried out from another directory.
fn pin(file: &Path) -> Result<Source> {
    let path = std::path::absolute(file).map_err(|cause| Error::io("find", file, cause))?;
    if !fs::exists(&path) && transcript::state(&path).is_none() {
        return Err(fs::absent(&path));
    }
    Source::pin(&path, "")
}

/// When the session of a transcript ended, if that is more than an hour ago: it is then not the newest session.
fn ended(source: &Source) -> Option<DateTime<FixedOffset>> {
    let changed = clock::of_file(transcript::state(&source.path)?.modified);
    (clock::now() - changed > PAST).then_some(changed)
}

fn read_note(ui: &Ui, file: &Path) -> Result<Vec<u8>> {
    if file.as_os_str() == "-" && std::io::stdin().is_terminal() {
        ui.tell("write here, then press Enter and Ctrl-D");
    }
    let failed = |cause: std::io::Error| Error::io("read the note from", file, cause);
    let source: Box<dyn Read> =
        if file.as_os_str() == "-" { Box::new(std::io::stdin().lock()) } else { Box::new(fs::open(file)?) };
    let bytes = fs::read_at_most(source, MAX_NOTE).map_err(failed)?;
    if bytes.len() as u64 > MAX_NOTE {
        let place = if file.as_os_str() == "-" { "standard input".to_owned() } else { format!("`{}`", file.display()) };
        return Err(Error::bad_data(format!("the note in {place} is larger than 64 MiB"))
            .hint("a note is what the next session reads; put long material in a file and name it in the note"));
    }
    Ok(bytes)
}

/// The bytes as text. Bytes that are not UTF-8 are replaced: refusing the text would lose what the session says.
fn text_of(ui: &Ui, what: &str, bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|wrong| {
        ui.warn(&format!("{what} is not UTF-8; unreadable bytes were replaced by \u{fffd}"));
        String::from_utf8_lossy(wrong.as_bytes()).into_owned()
    })
}
