//! Finds the handoff to continue from: the newest whose session is not over.

use super::claims::judge;
use super::lifecycle::is_over;
use super::{History, Origin, SessionEntry, index_ends, own_keys};
use crate::base::clock;
use crate::error::Error;
use crate::guard::Voucher;
use crate::guard::own_record::OwnKey;
use crate::handoff::Handoff;

/// How many handoffs are looked at to find one of ours, and how many to check their ends.
const LOOKED_INTO: usize = 100;
/// How many bytes of them are read at most.
const MOST_READ: u64 = 2 << 20;

/// A handoff with the status that its session has now.
#[derive(Debug)]
pub(crate) struct OpenHandoff {
    pub handoff: Handoff,
    /// What identifies its document in the user's own record.
    pub key: OwnKey,
    pub status: String,
    /// Other sessions that are not over, newest first, from the last entries of the index.
    pub earlier: Vec<SessionEntry>,
}

impl History {
    /// The newest handoff whose session is not over; the newest of all if every session near the end of the index is
    /// over. Does not read all of a long index. A handoff of ours goes before others, whatever date they have: a
    /// stranger's would hide it for good. An end of our session that only a stranger states does not count.
    ///
    /// A file that cannot be read is reported in `problems`; the answer comes from the others.
    pub(crate) fn newest_open(&self, voucher: &Voucher, problems: &mut Vec<Error>) -> Option<OpenHandoff> {
        let ends = index_ends::read(self).map_err(|error| problems.push(error.into()));
        let (start, end) = ends.ok().flatten().unwrap_or_default();
        let entries = index_ends::entries(&end);
        let latest = self.latest_handoff(problems).map(|(handoff, key)| {
            let id = handoff.text("session_id");
            let entry = entries.iter().find(|entry| entry.get("session_id") == id).cloned();
            // A session that was followed by many others is near the beginning.
            let entry = entry.or_else(|| index_ends::find_entry(&start, id));
            OpenHandoff {
                status: status_now(&handoff, &key, entry.as_ref(), voucher),
                handoff,
                key,
                earlier: Vec::new(),
            }
        });
        let mut reading = Reading::default();
        let is_open = |entry: &&SessionEntry| {
            !is_over(entry.get("status")) || self.is_end_only_claimed(entry, voucher, &mut reading)
        };
        let mut open: Vec<&SessionEntry> = entries.iter().filter(is_open).collect();
        open.reverse();
        let now = clock::now();
        open.sort_by_key(|entry| std::cmp::Reverse(entry.recency(&now)));
        let newest = match latest {
            Some(latest) if !is_over(&latest.status) => Some(latest),
            latest => {
                let mut found = open.iter().filter_map(|entry| self.open_handoff_of(entry, voucher, problems));
                found.find(|open| !is_over(&open.status)).or(latest)
            }
        };
        let is_strange = newest.as_ref().is_some_and(|newest| !voucher.owns(&newest.key, ""));
        let newest = Some(()).filter(|()| is_strange).and_then(|()| self.newest_of_ours(&open, voucher)).or(newest);
        newest.map(|mut newest| {
            let superseded = self.superseded(&entries, voucher);
            let id = newest.handoff.text("session_id").to_owned();
            let is_other =
                |entry: &&SessionEntry| entry.get("session_id") != id && !superseded.contains(&entry.get("session_id"));
            newest.earlier = open.into_iter().filter(is_other).cloned().collect();
            newest
        })
    }

    /// The sessions that others of these supersede. A session that came along or was imported supersedes none of ours.
    fn superseded<'a>(&self, entries: &'a [SessionEntry], voucher: &Voucher) -> Vec<&'a str> {
        let mut reading = Reading::default();
        let mut is_ours = |entry: &SessionEntry| {
            let archive = reading.has_room_for(self, entry).then(|| self.handoff_of(entry)).flatten();
            archive.is_some_and(|(key, handoff)| Origin::of(&handoff).is_none() && voucher.owns(&key, ""))
        };
        let by_id = |id: &str| entries.iter().find(|entry| entry.get("session_id") == id);
        let mut superseded = Vec::new();
        for entry in entries.iter().filter(|entry| !entry.get("supersedes").is_empty()) {
            let id = entry.get("supersedes");
            if is_ours(entry) || !by_id(id).is_some_and(&mut is_ours) {
                superseded.push(id);
            }
        }
        superseded
    }

    /// The newest of these sessions whose handoff is ours. A session start waits for this, so it reads only so much.
    fn newest_of_ours(&self, open: &[&SessionEntry], voucher: &Voucher) -> Option<OpenHandoff> {
        let now = clock::now().timestamp_millis();
        let mut open = open.to_vec();
        // However many dates of a stranger are in the future, ours are not.
        open.sort_by_key(|entry| entry.age().1 > now);
        let mut reading = Reading::default();
        let near = open.into_iter().filter(|entry| reading.has_room_for(self, entry));
        let mut found = near.filter_map(|entry| self.open_handoff_of(entry, voucher, &mut Vec::new()));
        let is_wanted = |open: &OpenHandoff| voucher.owns(&open.key, "") && !is_over(&open.status);
        found.find(is_wanted).or_else(|| self.newest_of_our_names(voucher, is_wanted))
    }

    /// The newest handoff that is wanted, among those whose file names the user's own record has. However many a stranger
    /// adds, and wherever ours is in the index, they hide none of ours.
    fn newest_of_our_names(&self, voucher: &Voucher, is_wanted: impl Fn(&OpenHandoff) -> bool) -> Option<OpenHandoff> {
        let mut names = self.archive_names().ok()?.names;
        names.retain(|name| own_keys::may_be_ours(name, voucher));
        names.sort_unstable_by(|a, b| b.cmp(a));
        let lifecycle = self.lifecycle().unwrap_or_default();
        let mut found = names.iter().take(LOOKED_INTO).filter_map(|name| {
            let path = self.sessions().join(name);
            let (handoff, key) = self.parse_with_key(&path, &self.read_archive_text(&path).ok()?).ok()?;
            let stated = lifecycle.status(handoff.text("session_id")).unwrap_or_else(|| handoff.text("status"));
            let status = judge(stated, &handoff, &key, voucher).now;
            Some(OpenHandoff { status, handoff, key, earlier: Vec::new() })
        });
        found.find(is_wanted)
    }

    /// Whether this entry ends a session of ours although nobody here said so.
    fn is_end_only_claimed(&self, entry: &SessionEntry, voucher: &Voucher, reading: &mut Reading) -> bool {
        let end = own_keys::of_end(entry.get("session_id"), entry.get("status")).in_file(&self.index_path());
        !voucher.owns(&end, "")
            && reading.has_room_for(self, entry)
            && self.open_handoff_of(entry, voucher, &mut Vec::new()).is_some_and(|open| !is_over(&open.status))
    }

    /// The handoff in LATEST.md; `None` if there is no such file.
    fn latest_handoff(&self, problems: &mut Vec<Error>) -> Option<(Handoff, OwnKey)> {
        let path = self.latest_path();
        match self.read_archive_text(&path) {
            Ok(text) => self.parse_with_key(&path, &text).map_err(|error| problems.push(error)).ok(),
            Err(error) => {
                problems.extend((!error.is_absent()).then(|| error.into()));
                None
            }
        }
    }

    fn open_handoff_of(
        &self,
        entry: &SessionEntry,
        voucher: &Voucher,
        problems: &mut Vec<Error>,
    ) -> Option<OpenHandoff> {
        let path = self.inside(entry.get("file")).ok()?;
        let text =
            self.read_archive_text(&path).map_err(|error| problems.extend(error.is_refusal().then(|| error.into())));
        let (handoff, key) = self.parse_with_key(&path, &text.ok()?).ok()?;
        let status = status_now(&handoff, &key, Some(entry), voucher);
        Some(OpenHandoff { status, handoff, key, earlier: Vec::new() })
    }
}

/// How much more may be read.
struct Reading {
    handoffs: usize,
    bytes: u64,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading { handoffs: LOOKED_INTO, bytes: MOST_READ }
    }
}

impl Reading {
    /// Whether the archive of this entry may still be read; it then counts as read.
    fn has_room_for(&mut self, history: &History, entry: &SessionEntry) -> bool {
        let Some(handoffs) = self.handoffs.checked_sub(1) else { return false };
        self.handoffs = handoffs;
        let path = history.inside(entry.get("file")).ok();
        let about = path.and_then(|path| history.anchor.about(&path).ok().flatten());
        let rest = about.and_then(|about| self.bytes.checked_sub(about.length));
        self.bytes = rest.unwrap_or(self.bytes);
        rest.is_some()
    }
}

/// The status in the index as far as it counts. It is newer than the one in the archive.
fn status_now(handoff: &Handoff, key: &OwnKey, entry: Option<&SessionEntry>, voucher: &Voucher) -> String {
    let in_index = entry.map(|entry| entry.get("status")).filter(|status| !status.is_empty());
    judge(in_index.unwrap_or_else(|| handoff.text("status")), handoff, key, voucher).now
}
