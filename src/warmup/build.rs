//! Puts a warmup together: which sections it has, by extent.

use serde_json::{Value, json};

use super::lead::FromDisk;
use super::page::{self, Draft, Filling};
use super::placed::ShownSection;
use super::room::{Room, tokens};
use super::since::{Since, WorkTree};
use super::sources::Sources;
use super::talk::Sentences;
use super::told::Told;
use super::writer::Writer;
use super::{disk, lead};
use crate::checkpoint::Store;
use crate::project::{self, Project};
use crate::transcript::{MARK_BYTES, Transcript, WARMUP_MARKER, marked};

/// The budget after a compaction: clients keep no more of a context then.
const SHORT_BUDGET: u64 = 2_000 - MARK_BYTES as u64;

/// How much a session needs to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything: the session is new.
    Whole,
    /// The most important: the client has just compacted the session.
    Short,
    /// Only what happened since the last handover: the session is resumed.
    News,
}

/// The warmup that a caller wants.
pub(crate) struct Ask<'a> {
    /// The largest size, in bytes.
    pub budget: u64,
    pub extent: Extent,
    /// The transcript of the session itself, if it has one already.
    pub session: Option<Transcript>,
    /// The id of the session that starts; empty if unknown.
    pub session_id: &'a str,
    /// Whether transcripts on this machine may stand in for a record, if there is none.
    pub may_read_transcripts: bool,
    pub asked: Asked<'a>,
}

/// What the caller has opened and asked already.
#[derive(Default)]
pub(crate) struct Asked<'a> {
    /// The record of the project.
    pub record: Option<&'a Store>,
    /// The state of the work tree.
    pub work_tree: Option<WorkTree>,
}

/// The finished text, and what it is made of.
#[derive(Debug, Default)]
pub(crate) struct Warmup {
    pub text: String,
    pub sections: Vec<ShownSection>,
    pub notices: Vec<String>,
    /// Whether no earlier session is on record.
    pub is_empty: bool,
    /// Whether nothing in it came with the repository.
    pub is_ours: bool,
}

impl Warmup {
    pub(crate) fn json(&self) -> Value {
        json!({
            "schema": "agent-handover/warmup/1",
            "text": self.text,
            "bytes": self.text.len(),
            "tokens": tokens(&self.text),
            "empty": self.is_empty,
            "ours": self.is_ours,
            "notices": self.notices,
            "sections": self.sections,
        })
    }
}

/// Builds the warmup of a project. It changes nothing and never fails: the text reports what could not be read.
pub(crate) fn build(project: &Project, ask: Ask<'_>) -> Warmup {
    let budget = ask.budget.saturating_sub(MARK_BYTES as u64);
    let unmarked = unmarked(project, Ask { budget, ..ask });
    Warmup { text: marked(&unmarked.text), ..unmarked }
}

fn unmarked(project: &Project, ask: Ask<'_>) -> Warmup {
    let Ask { budget, extent, session, session_id, may_read_transcripts, asked } = ask;
    // git takes longer than all the rest, and where a session was recorded its answer is needed.
    let work_tree = asked.work_tree.or_else(|| WorkTree::ask_if_used(project));
    let sources = Sources::read(project, asked.record);
    let mut told: Vec<Told> = session.map(|own| Told::of_transcript(&project.root, own)).into_iter().collect();
    let mut on_disk = 0;
    if sources.is_empty() && told.is_empty() && extent == Extent::Whole && may_read_transcripts {
        (told, on_disk) = disk::told(project, session_id);
    }
    if sources.is_empty() && sources.notices.is_empty() && told.is_empty() {
        let line = "agent-handover has no earlier session of this project on record";
        // Hooks act only in projects, so elsewhere nobody hands this session over by itself.
        let outlook = if project::is_for_hooks(&project.root) {
            "this one will be, when it ends"
        } else {
            "nor will it record this one by itself, because this directory is not a project: `agent-handover run --note TEXT` does"
        };
        let text = format!("{WARMUP_MARKER} {line}; {outlook}.\n");
        return Warmup { text, sections: Vec::new(), notices: sources.notices, is_empty: true, is_ours: true };
    }
    let from_disk = FromDisk { read: if on_disk == 0 { 0 } else { told.len() }, of: on_disk };
    told.extend(Told::of_handoff(&sources));
    let since = Since::ask(&project.root, sources.bases(&project.branch()), &sources.commits(), work_tree);
    let mut writer = Writer::new(&project.root, &sources, &since, &told);
    if from_disk.read > 0 {
        // No command shows more: nothing is on record.
        writer.more = Some(String::new());
    }
    let budget = if extent == Extent::Short { budget.min(SHORT_BUDGET) } else { budget };
    let page = write(writer, extent, &from_disk, budget);
    Warmup {
        text: page.text,
        sections: page.sections,
        is_empty: sources.is_empty(),
        is_ours: !sources.whose.is_any_strange(),
        notices: sources.notices,
    }
}

fn write(mut writer: Writer<'_>, extent: Extent, from_disk: &FromDisk, budget: u64) -> page::Page {
    let mut lasting = Vec::new();
    if extent != Extent::News {
        lasting = writer.lasting();
    }
    // A page from transcripts has no handover that git could compare with.
    let news = if from_disk.read > 0 { Vec::new() } else { vec![writer.since_then()] };
    let last = if extent == Extent::Whole { vec![writer.earlier()] } else { Vec::new() };
    let sentences = Sentences::of(&writer, budget);
    let draft = Draft {
        lead: lead::lead(writer.sources, extent, from_disk, budget),
        notices: lead::notices(writer.sources, extent),
        lasting,
        news,
        last,
        filling: (extent != Extent::News).then_some(&sentences as &dyn Filling),
        end: if extent == Extent::Whole { lead::end(writer.sources, budget) } else { String::new() },
    };
    page::lay_out(&draft, Room::for_agent(budget))
}
