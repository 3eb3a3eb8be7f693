//! The sections of what was said: by the agent, by a person, and the sentences that fill the free room.

use super::item::{Entry, item};
use super::page::Filling;
use super::placed::{Filler, Part, Section};
use super::shares::{self, Share};
use super::writer::{LISTED, Labelled, Writer};
use crate::recap::{self, Line, Speaker};

pub(super) const AGENT_SAID: &str = "The agent said";
pub(super) const ASKED_BEFORE: &str = "Asked before";

/// The longest last message that is looked at, in bytes.
const LAST_WORDS: usize = 4_000;
/// The longest text of an earlier turn, in bytes.
const CONCLUSION: usize = 420;
/// The longest request, in bytes.
const REQUEST: usize = 400;
/// The longest sentence that fills room, in bytes.
const SENTENCE: usize = 450;
/// How many sentences are looked at.
const MOST_SENTENCES: usize = 2_000;

impl Writer<'_> {
    /// The agent's last message, its last texts in earlier turns, and notes.
    pub(super) fn agent_said(&mut self) -> Section {
        let mut said = Vec::new();
        for told in self.told {
            said.extend(self.claims_of(told, &told.account.conclusions).into_iter().rev());
        }
        let earlier = said.split_off(said.len().min(1));
        let parts = vec![
            self.part(said, LAST_WORDS, shares::LAST_WORDS),
            self.part(earlier, CONCLUSION, shares::CONCLUSIONS),
            self.notes(),
        ];
        self.section(AGENT_SAID, parts, "history show latest")
    }

    /// The last request, and earlier ones.
    pub(super) fn asked_before(&mut self) -> Section {
        let mut asked = Vec::new();
        for told in self.told {
            asked.extend(self.lines_of(told, &told.account.asked).into_iter().rev());
        }
        let earlier = asked.split_off(asked.len().min(1));
        let parts = vec![
            self.part_without_goal(asked, shares::LAST_REQUEST),
            self.part_without_goal(earlier, shares::EARLIER_REQUESTS),
        ];
        self.section(ASKED_BEFORE, parts, "")
    }

    /// Requests without the one that is the goal. If the goal is cut, sentences from the rest of it may fill free room.
    fn part_without_goal(&mut self, mut requests: Vec<Labelled>, share: Share) -> Part {
        requests.retain(|request| !self.shown.has_beginning_of(&request.text));
        self.part(requests, REQUEST, share)
    }
}

/// Sentences of the talk, from which the free room is filled.
pub(super) struct Sentences {
    /// Each sentence, and how it is shown.
    lines: Vec<(Line, Labelled)>,
    budget: usize,
}

impl Sentences {
    /// The stored sentences, and those of requests and conclusions, which may not have fitted as a whole.
    pub(super) fn of(writer: &Writer<'_>, budget: u64) -> Sentences {
        let mut lines = Vec::new();
        for told in writer.told {
            let account = &told.account;
            let mut said: Vec<Line> = account.sentences.clone();
            for line in account.asked.iter().chain(&account.conclusions).take(LISTED) {
                let parts = recap::outline_sentences(&line.text).into_iter();
                said.extend(parts.map(|text| Line { text, ..line.clone() }));
            }
            said.truncate(MOST_SENTENCES);
            let shown = said.iter().map(|line| match line.who {
                Speaker::Person => writer.lines_of(told, std::slice::from_ref(line)),
                Speaker::Agent | Speaker::Program => writer.claims_of(told, std::slice::from_ref(line)),
            });
            let shown: Vec<Labelled> = shown.flatten().collect();
            lines.extend(said.into_iter().zip(shown));
        }
        // They are read in the order in which they were said.
        lines.sort_by_key(|(line, _)| line.turn);
        Sentences { lines, budget: usize::try_from(budget).unwrap_or(usize::MAX) }
    }
}

impl Filling for Sentences {
    fn size(&self) -> usize {
        self.lines.iter().map(|(line, _)| line.text.len() + 3).sum()
    }

    fn choose(&self, page: &str, room: usize) -> Vec<Filler> {
        let candidates: Vec<Line> = self.lines.iter().map(|(line, _)| line.clone()).collect();
        let chosen = recap::choose(&candidates, page, room, self.budget);
        let known = |line: &Line| self.lines.iter().position(|(known, _)| known == line);
        chosen.iter().filter_map(known).map(|at| self.filler(at)).collect()
    }
}

impl Sentences {
    fn filler(&self, order: usize) -> Filler {
        let (line, Labelled { mark, text, label }) = &self.lines[order];
        let title = if line.who == Speaker::Person { ASKED_BEFORE } else { AGENT_SAID };
        let entry = Entry { text: format!("{mark}{}", item(text, SENTENCE)), label: label.clone() };
        Filler { title, order, entry }
    }
}
