//! The talk of a session as it is kept after the agent has deleted its file: what was asked, answered and run, without tool
//! output.
//!
//! A file of kept talk is a line of JSON, which says whose talk it is and from which state of the agent's file, and then the
//! talk as JSON, compressed with zstd. Nothing about such a file is trusted: it may have come with a repository.

use std::io::Read;

use chrono::{DateTime, FixedOffset};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde::{Deserialize, Serialize};

use super::cleaning;
use super::{FORMATS, Outcome, RanCommand, Transcript, Utterance};
use crate::base::fs::FileState;
use crate::base::text;

/// How the name of such a file ends.
pub(crate) const ENDING: &str = ".talk";
/// How long the first line may be.
pub(crate) const MAX_HEAD: u64 = 4 << 10;
/// How large a file may be, and how much may come out of it.
pub(crate) const MAX_FILE: u64 = 8 << 20;
const MAX_CONTENT: u64 = 16 << 20;
const MAX_WINDOW: u64 = 32 << 20;
const VERSION: u32 = 1;
/// How long the id of a session may be that becomes part of a file name.
const MAX_ID: usize = 150;
/// How the part of a name begins that stands for an id which cannot be part of one.
const DIGEST: &str = "id-";

/// The first line of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptHead {
    version: u32,
    pub agent: String,
    pub session: String,
    #[serde(default)]
    branch: String,
    #[serde(default)]
    title: String,
    started: Option<DateTime<FixedOffset>>,
    pub ended: Option<DateTime<FixedOffset>>,
    /// The state of the agent's file from which it was made: its length, and when it was changed, in nanoseconds since 1970.
    #[serde(default)]
    length: u64,
    #[serde(default)]
    modified: u64,
}

#[derive(Serialize, Deserialize)]
struct KeptBody {
    said: Vec<Utterance>,
    said_at: Vec<Option<DateTime<FixedOffset>>>,
    ran: Vec<KeptCommand>,
}

#[derive(Serialize, Deserialize)]
struct KeptCommand {
    turn: usize,
    said_before: usize,
    command: String,
    outcome: Outcome,
    at: Option<DateTime<FixedOffset>>,
}

impl KeptHead {
    /// The first line of a file, from its beginning.
    pub(crate) fn of(start: &[u8]) -> Option<KeptHead> {
        let end = start.iter().take(MAX_HEAD as usize).position(|byte| *byte == b'\n')?;
        let head: KeptHead = serde_json::from_slice(&start[..end]).ok()?;
        (head.version == VERSION).then_some(head)
    }

    /// Whether it was made from this state of the agent's file.
    pub(crate) fn is_of(&self, state: &FileState) -> bool {
        (self.length, self.modified) == (state.length, nanos(state))
    }
}

/// The name of the file for a session; `None` if it has no id. An id that cannot be part of a name is there as its digest.
pub(crate) fn kept_name(agent: &str, session: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_name = session.len() <= MAX_ID && !session.starts_with('.') && !session.starts_with(DIGEST);
    let named = match session {
        "" => return None,
        _ if is_name && session.chars().all(is_plain) => session.to_owned(),
        _ => format!("{DIGEST}{}", text::digest(session.as_bytes(), 16)),
    };
    Some(format!("{named}.{agent}{ENDING}"))
}

/// The session and the agent of a file with this name. Instead of the session it may be its digest.
pub(crate) fn of_kept_name(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix(ENDING)?.rsplit_once('.')
}

/// The session of a file with this name, of which `read_start` reads the beginning if the name has only a digest.
pub(crate) fn kept_session(name: &str, read_start: impl FnOnce() -> Option<Vec<u8>>) -> Option<String> {
    let (named, agent) = of_kept_name(name)?;
    if !named.starts_with(DIGEST) {
        return Some(named.to_owned());
    }
    let session = KeptHead::of(&read_start()?)?.session;
    (kept_name(agent, &session)? == name).then_some(session)
}

/// The file for a session that was read from a file in this state. `None` if nothing was said in it.
pub(crate) fn kept(found: &Transcript, state: &FileState) -> Option<Vec<u8>> {
    if found.talk.is_empty() && found.ran.is_empty() {
        return None;
    }
    let head = KeptHead {
        version: VERSION,
        agent: found.agent.to_owned(),
        session: found.session.clone(),
        // The first line has a limit.
        branch: text::one_line(&found.branch, 200),
        title: text::one_line(&found.title, 300),
        started: found.started,
        ended: found.ended,
        length: state.length,
        modified: nanos(state),
    };
    let ran = found.ran.iter().map(|ran| KeptCommand {
        turn: ran.turn,
        said_before: ran.said_before,
        command: ran.command.clone(),
        outcome: ran.outcome,
        at: ran.at,
    });
    let said_at = found.talk.iter().map(|said| said.at).collect();
    let body = KeptBody { said: found.talk.clone(), said_at, ran: ran.collect() };
    let mut file = serde_json::to_vec(&head).ok()?;
    file.push(b'\n');
    file.extend(compress_to_vec(serde_json::to_vec(&body).ok()?.as_slice(), CompressionLevel::Fastest));
    let is_readable = KeptHead::of(&file).is_some() && file.len() as u64 <= MAX_FILE;
    is_readable.then_some(file)
}

/// The talk in a file. `None` if it is not one, or is damaged.
pub(crate) fn read_kept(file: &[u8]) -> Option<Transcript> {
    let head = KeptHead::of(file)?;
    let agent = FORMATS.iter().find(|format| format.name == head.agent)?.name;
    let body = file.iter().position(|byte| *byte == b'\n').map(|end| &file[end + 1..])?;
    let mut content = Vec::new();
    let decoder = StreamingDecoder::new_with_max_window_size(body, MAX_WINDOW).ok()?;
    decoder.take(MAX_CONTENT).read_to_end(&mut content).ok()?;
    let body: KeptBody = serde_json::from_slice(&content).ok()?;
    let mut said_at = body.said_at.into_iter();
    let talk = body.said.into_iter().map(|said| Utterance { at: said_at.next().flatten(), ..said }).collect();
    let ran = body.ran.into_iter().map(|ran| RanCommand {
        turn: ran.turn,
        said_before: ran.said_before,
        command: ran.command,
        outcome: ran.outcome,
        errors: String::new(),
        at: ran.at,
    });
    let mut found = Transcript {
        agent,
        session: head.session,
        branch: head.branch,
        title: head.title,
        started: head.started,
        ended: head.ended,
        talk,
        ran: ran.collect(),
        ..Transcript::default()
    };
    let asked = |said: &&Utterance| said.kind.is_of_person();
    found.first_request = found.talk.iter().find(asked).map(|said| said.text.clone()).unwrap_or_default();
    found.last_request = found.talk.iter().rev().find(asked).map(|said| said.text.clone()).unwrap_or_default();
    cleaning::clean(&mut found);
    Some(found)
}

fn nanos(state: &FileState) -> u64 {
    let since = state.modified.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::super::UtteranceKind;
    use super::*;

    fn state(length: u64) -> FileState {
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(7);
        FileState { inode: 1, length, modified, changed: modified, owner: 0 }
    }

    fn session() -> Transcript {
        let at = DateTime::parse_from_rfc3339("2026-11-15T10:04:05Z").ok();
        let said = |kind, text: &str| Utterance { turn: 1, kind, text: text.to_owned(), about: String::new(), at };
        Transcript {
            agent: "codex",
            session: "s-1".to_owned(),
            branch: "main".to_owned(),
            title: "Retry".to_owned(),
            ended: at,
            talk: vec![
                said(UtteranceKind::Request, "retry the upload"),
                said(UtteranceKind::AgentText, "It retries three times."),
            ],
            ran: vec![RanCommand {
                turn: 1,
                said_before: 1,
                command: "cargo test".to_owned(),
                outcome: Outcome::Failed(Some(101)),
                errors: "error: what the tool printed".to_owned(),
                at,
            }],
            ..Transcript::default()
        }
    }

    #[test]
    fn talk_comes_back_as_it_was_without_tool_output() {
        let file = kept(&session(), &state(5)).unwrap();
        let found = read_kept(&file).unwrap();
        let before = session();
        assert_eq!((found.agent, &found.session, &found.branch), ("codex", &before.session, &before.branch));
        assert_eq!((found.talk, found.ended), (before.talk, before.ended));
        assert_eq!((found.ran[0].outcome, found.ran[0].errors.as_str()), (Outcome::Failed(Some(101)), ""));
        assert_eq!(found.first_request, "retry the upload");
        let head = KeptHead::of(&file).unwrap();
        assert!(head.is_of(&state(5)) && !head.is_of(&state(6)));
        assert_eq!(kept(&Transcript::default(), &state(5)), None, "nothing was said");
        let long = Transcript { title: "ä".repeat(5_000), branch: "b".repeat(5_000), ..session() };
        assert!(read_kept(&kept(&long, &state(5)).unwrap()).is_some());
    }

    #[test]
    fn a_name_says_whose_talk_it_is() {
        let name = kept_name("claude-code", "0a.b_c-9").unwrap();
        assert_eq!(of_kept_name(&name), Some(("0a.b_c-9", "claude-code")));
        assert_eq!(kept_name("codex", ""), None);
        let mut names = std::collections::HashSet::new();
        let taken = kept_name("codex", "a b").unwrap().replace(".codex.talk", "");
        for id in ["../x", "a/b", ".hidden", "a b", "ä", "a\nb", &"a".repeat(151), &taken] {
            let name = kept_name("codex", id).unwrap();
            assert!(name.starts_with("id-") && name.len() < 60 && name.is_ascii(), "{name}");
            let file = kept(&Transcript { session: id.to_owned(), ..session() }, &state(5)).unwrap();
            assert_eq!(kept_session(&name, || Some(file)).as_deref(), Some(id));
            assert!(names.insert(name), "{id}");
        }
        let other = kept(&session(), &state(5)).unwrap();
        assert_eq!(kept_session(&kept_name("codex", "a b").unwrap(), || Some(other)), None, "of another session");
    }

    #[test]
    fn a_hostile_file_is_refused_or_cleaned() {
        let file = kept(&session(), &state(5)).unwrap();
        for end in 0..file.len() {
            assert!(read_kept(&file[..end]).is_none(), "{end}");
        }
        for at in 0..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 0x55;
            drop(read_kept(&changed));
        }
        let mut evil = session();
        let token = ["glpat-", "x9Kq2Lm4Np6Rs8Tv1Wy3"].concat();
        evil.talk[0].text = format!("\u{1b}[2J <private>mine</private> {token} \u{202e}go");
        let found = read_kept(&kept(&evil, &state(5)).unwrap()).unwrap();
        let text = &found.talk[0].text;
        assert!(!text.contains('\u{1b}') && !text.contains("mine") && !text.contains("glpat"), "{text}");
        // Four bytes of the file that become 128 KiB, many times.
        let mut bomb = file[..=file.iter().position(|byte| *byte == b'\n').unwrap()].to_vec();
        bomb.extend([0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3]);
        for _ in 0..4_000 {
            bomb.extend(&((128u32 << 10 << 3) | 0b010).to_le_bytes()[..3]);
            bomb.push(b'[');
        }
        assert!(read_kept(&bomb).is_none());
    }
}
