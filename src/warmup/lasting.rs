//! The sections that change only when the record does.

use super::item::{item, undecorated};
use super::placed::{Part, Section};
use super::shares;
use super::since::NOT_HERE;
use super::sources::{RecordedCheck, section_of, validation_of};
use super::writer::{LEADING, LISTED, LONG, Labelled, OUTSIDE, Writer, doubt, in_turn, ours_first, outside};
use crate::handoff::Handoff;
use crate::history;
use crate::memory::state;
use crate::recap;
use crate::transcript::Outcome;

/// How many sessions before the last one are shown by their last words.
const WITH_LAST_WORDS: usize = 3;
/// The end of a completed task that was a to-do.
const TODO: &str = " (to-do)";
/// The heading of the dead ends in a handoff.
const DEAD_ENDS: &str = "# Failed Attempts / Dead Ends";

impl Writer<'_> {
    /// Every section that changes only with the record, in the order of a page.
    pub(super) fn lasting(&mut self) -> Vec<Section> {
        vec![
            self.goal(),
            self.next(),
            self.rulings(),
            self.open_loops(),
            self.dead_ends(),
            self.checks(),
            self.agent_said(),
            self.asked_before(),
            self.files(),
        ]
    }

    /// The goals of the state and of the last session, the newest first. They may differ.
    pub(super) fn goal(&mut self) -> Section {
        let whose = &self.sources.whose;
        let mut goals: Vec<(String, Labelled)> = Vec::new();
        for item in self.sources.items("goal") {
            let goal = Labelled::ours(item.text.clone(), self.since.label(&item.commit, &item.branch));
            goals.push((item.at.clone(), goal.came_along(whose.is_item_strange(item))));
        }
        if let Some(open) = &self.sources.open {
            let over = if history::is_over(&open.status) { " (of the last session, which is over)" } else { "" };
            let (commit, branch) = (open.handoff.text("head_commit"), open.handoff.text("current_branch"));
            let label = format!("{over}{}{}", outside(&open.handoff), self.since.label(commit, branch));
            let goal = Labelled::ours(recap::stated_goal(&open.handoff).to_owned(), label);
            let goal = self.in_force("goal", vec![goal.came_along(whose.is_handoff_strange)]);
            goals.extend(goal.into_iter().map(|goal| (utc(open.handoff.text("generated_at")), goal)));
        }
        goals.sort_by(|a, b| b.0.cmp(&a.0));
        let stated = self.told.iter().flat_map(|told| self.lines_of(told, told.account.goal.as_slice()));
        let goals: Vec<Labelled> = stated.chain(goals.into_iter().map(|(_, goal)| goal)).collect();
        let mut first = self.part(goals, LEADING, shares::GOAL);
        let others = first.entries.split_off(first.entries.len().min(1));
        let others = Part { entries: others, share: shares::OTHER_GOAL };
        self.section("Goal", vec![first, others], "")
    }

    /// Next actions: of this session or the last one, then what else is open.
    fn next_actions(&self) -> Vec<Labelled> {
        let said = self.told.iter().flat_map(|told| self.lines_of(told, &told.account.next));
        let open = self.sources.handoff().filter(|_| self.is_open());
        let of_handoff = open.map(recap::stated_next).unwrap_or_default().into_iter().take(LISTED);
        let of_handoff = of_handoff.map(|text| self.handoff_line(text.to_owned()));
        let said = self.in_force("open_loop", said.chain(of_handoff).collect());
        let mut all: Vec<Labelled> = said.into_iter().chain(self.of_category("open_loop")).collect();
        // What another branch left open is not what comes next in this one.
        all.sort_by_key(|action| action.label.ends_with(NOT_HERE));
        ours_first(all)
    }

    pub(super) fn next(&mut self) -> Section {
        let all = self.next_actions();
        let first = all.iter().find_map(|first| self.once(first, LEADING));
        let part = Part { entries: first.into_iter().collect(), share: shares::NEXT };
        self.section("Next", vec![part], "")
    }

    pub(super) fn open_loops(&mut self) -> Section {
        let part = self.part(self.next_actions(), LONG, shares::OPEN_LOOPS);
        self.section("Open loops", vec![part], "memory list --category open_loop")
    }

    /// What is in force: constraints and standing rulings, and in turn with them decisions, the newest first.
    pub(super) fn rulings(&mut self) -> Section {
        let mut standing = self.of_category("constraint");
        standing.extend(self.sources.standing.iter().rev().map(|line| {
            let is_strange = self.sources.whose.is_ruling_strange(line);
            Labelled::ours(without_origin(line).to_owned(), String::new()).came_along(is_strange)
        }));
        let mut decisions = Vec::new();
        for told in self.told {
            let said = self.in_force("decision", self.lines_of(told, &told.account.rulings));
            decisions.extend(said.into_iter().rev());
        }
        // The file has the oldest first.
        decisions.extend(self.of_category("decision").into_iter().rev());
        decisions.extend(self.in_force("decision", self.of_handoff("decisions")));
        // Standing decisions are among the rulings.
        let rulings = &self.sources.rulings;
        let is_listed = |text: &str| text.contains("[standing]") && rulings.is_in_force(text);
        decisions.retain(|Labelled { mark, text, .. }| !is_listed(text) && !rulings.is_revoked(text, mark.is_empty()));
        let all = in_turn(ours_first(standing), ours_first(decisions));
        let part = self.part(all.into_iter().map(Labelled::into_ruling).collect(), LONG, shares::RULINGS);
        self.section("Rulings", vec![part], "memory list")
    }

    pub(super) fn dead_ends(&mut self) -> Section {
        let said = self.told.iter().flat_map(|told| self.lines_of(told, &told.account.dead_ends).into_iter().rev());
        let mut dead_ends: Vec<Labelled> = said.collect();
        let attempts = self.sources.section(DEAD_ENDS).into_iter().take(LISTED);
        let is_strange = self.sources.whose.is_handoff_strange;
        let label = self.of_open();
        dead_ends.extend(attempts.map(|line| Labelled::ours(line, label.to_owned()).came_along(is_strange)));
        for handoff in &self.sources.before {
            let attempts = section_of(handoff, DEAD_ENDS).into_iter().take(LISTED);
            dead_ends.extend(attempts.map(|line| Labelled::ours(line, outside(handoff).to_owned())));
        }
        let part = self.part(dead_ends, LONG, shares::DEAD_ENDS);
        self.section("Dead ends", vec![part], "history show latest")
    }

    /// What fails first, then what passed.
    pub(super) fn checks(&mut self) -> Section {
        let is_strange = self.sources.whose.is_handoff_strange;
        let (mut failing, mut passed) = (Vec::new(), Vec::new());
        for told in self.told {
            let label = self.of_told(told);
            for check in &told.account.checks {
                let line = |what: &str| Labelled::ours(format!("`{}` {what}", check.command), label.to_owned());
                match check.outcome {
                    Outcome::Failed(_) => {
                        failing.push(Labelled::ours(check.issue(), label.to_owned()).came_along(told.is_strange));
                    }
                    Outcome::Passed => passed.push(line("passed").came_along(told.is_strange)),
                    Outcome::Unknown => {}
                }
            }
        }
        let mut issues = self.of_category("known_issue");
        issues.reverse();
        issues.extend(self.in_force("known_issue", self.of_handoff("known_issues")));
        for RecordedCheck { command, result, notes } in self.sources.validation().into_iter().take(LISTED) {
            let quoted = format!("`{command}`");
            let notes = if notes.is_empty() { notes } else { format!(" ({notes})") };
            let line = Labelled::ours(format!("{quoted} {result}{notes}"), self.of_open().to_owned());
            let line = line.came_along(is_strange);
            match result.to_lowercase().as_str() {
                "passed" => passed.push(line),
                "not_run" => {}
                // Known issues name it, too.
                _ if issues.iter().any(|issue| issue.text.contains(&quoted)) => {}
                _ => failing.push(line),
            }
        }
        failing.extend(issues);
        let failing = self.part(failing, LONG, shares::FAILING);
        let passed = self.part(passed, LONG, shares::PASSED);
        self.section("Checks", vec![failing, passed], "history show latest")
    }

    /// The files that sessions edited, and those that the last one asks to read.
    pub(super) fn files(&mut self) -> Section {
        let mut files = Vec::new();
        for told in self.told {
            let paths = told.files.iter().map(|path| Labelled::ours(item(path, 200), String::new()));
            files.extend(paths.map(|path| path.came_along(told.is_strange)));
        }
        let is_strange = self.sources.whose.is_handoff_strange;
        for (path, reason) in self.sources.context_files().into_iter().take(LISTED) {
            let reason = if reason.is_empty() { reason } else { format!(": {}", item(&reason, 160)) };
            let line = Labelled::ours(format!("{}{reason}", item(&path, 200)), self.of_open().to_owned());
            files.push(line.came_along(is_strange));
        }
        let mut part = self.part(files, LONG, shares::FILES);
        // Only here, because an item that says it by itself is defused.
        for entry in part.entries.iter_mut().filter(|entry| is_inside(&entry.text)) {
            entry.text.insert_str(0, self.mention);
        }
        self.section("Files", vec![part], "history show latest")
    }

    /// What nobody said in the talk: notes, what was done, what is remembered besides.
    pub(super) fn notes(&mut self) -> Part {
        let mut notes = Vec::new();
        for told in self.told {
            notes.extend(self.claims_of(told, &told.account.done));
        }
        // The agent's last words often name what it ticked off.
        let said: Vec<&str> =
            self.told.iter().flat_map(|told| &told.account.conclusions).map(|it| it.text.as_str()).collect();
        let said = said.join("\n");
        let is_said =
            |task: &Labelled| task.text.ends_with(TODO) && recap::has_words_of(&said, task.text.trim_end_matches(TODO));
        notes.extend(self.of_handoff("completed_tasks").into_iter().filter(|task| !is_said(task)).map(done));
        notes.extend(self.of_category("session_summary").into_iter().next_back());
        notes.extend(self.of_category("recent_change").into_iter().rev());
        notes.extend(self.state_text());
        notes.extend(self.of_category("overview"));
        let elsewhere = [
            "goal",
            "constraint",
            "decision",
            "open_loop",
            "known_issue",
            "recent_change",
            "session_summary",
            "overview",
        ];
        for section in &self.sources.state.sections {
            let name = section.category.as_str();
            if !elsewhere.contains(&name) {
                let title = state::title(name);
                let named = |item: Labelled| Labelled { text: format!("{title}: {}", item.text), ..item };
                notes.extend(self.of_category(name).into_iter().map(named));
            }
        }
        self.part_without_repeats(notes, LONG, shares::NOTES)
    }

    /// The free text of the current state, written by people or the Python tool.
    fn state_text(&self) -> Vec<Labelled> {
        let text = String::from_utf8_lossy(&self.sources.state.text()).into_owned();
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !is_made(line)).take(LISTED);
        let is_strange = self.sources.whose.is_text_strange;
        let labelled = |line: &str| Labelled::ours(line.to_owned(), self.doubt_old(line).to_owned());
        lines.map(|line| labelled(line).came_along(is_strange)).collect()
    }

    /// Open sessions on other branches or by other agents, then the last words of the sessions before the last one, one
    /// line each.
    pub(super) fn earlier(&mut self) -> Section {
        let line = |entry: &history::SessionEntry| {
            let field = |key: &str, max: usize| item(undecorated(entry.get(key)), max);
            let (day, agent, branch) = (field("session_date", 10), field("agent", 30), field("current_branch", 40));
            let (goal, next) = (field("primary_goal", 140), field("first_next_action", 140));
            let outside = if entry.origin().is_empty() { "" } else { OUTSIDE };
            let label = format!("{outside}{}", self.since.label(entry.get("head_commit"), entry.get("current_branch")));
            let line = format!("{day} {agent}, {branch}: {goal}; next: {next}");
            let line = if outside.is_empty() { line } else { history::without_standing(&line) };
            Labelled::ours(line, label).came_along(self.sources.whose.is_entry_strange(entry))
        };
        let lines = self.sources.elsewhere().into_iter().map(line).collect();
        let elsewhere = self.part(lines, LONG, shares::WHAT_IS_LEFT);
        let before = self.sources.before.iter().take(WITH_LAST_WORDS);
        let before = before.filter_map(|handoff| self.last_words(handoff)).collect();
        let before = self.part_without_repeats(before, LONG, shares::BEFORE);
        self.section("Earlier sessions", vec![elsewhere, before], "history list")
    }

    /// The day of a session and the last words of its agent; without those, what it completed. `None` if the page has them.
    fn last_words(&self, handoff: &Handoff) -> Option<Labelled> {
        let words = recap::read_sections(handoff).last_words().map(|line| line.text.clone());
        let words = words.or_else(|| handoff.texts("completed_tasks").first().map(|task| (*task).to_owned()))?;
        if self.shown.repeats(&words) {
            return None;
        }
        let day = item(handoff.text("session_date"), 10);
        let passed: Vec<String> =
            validation_of(handoff).into_iter().filter(RecordedCheck::has_passed).map(|it| it.command).collect();
        let label = format!("{}{}", doubt(&words, &passed), outside(handoff));
        Some(Labelled::ours(format!("{day}: {words}"), label))
    }
}

/// Whether a path cannot lead out of the project. Nobody is made to open another one.
fn is_inside(path: &str) -> bool {
    !path.starts_with(['/', '~']) && !path.split('/').any(|part| part == "..")
}

/// A to-do that was completed, so that nobody reads it as an open one.
fn done(task: Labelled) -> Labelled {
    match task.text.strip_suffix(TODO) {
        Some(todo) => Labelled { text: format!("done: {todo}"), ..task },
        None => task,
    }
}

/// A line of DECISIONS.md without the day and the session before its text.
fn without_origin(line: &str) -> &str {
    let rest = line.trim_start_matches("- ");
    match rest.strip_prefix('[').and_then(|rest| rest.split_once("] [standing]")) {
        Some((_, text)) => &rest[rest.len() - text.len() - "[standing]".len()..],
        None => rest,
    }
}

/// Whether a line only says that nobody wrote the text below it.
fn is_made(line: &str) -> bool {
    ["(derived from the transcript;", "(derived from git;"].iter().any(|made| line.starts_with(made))
}

/// The time of a handoff in the form of the markers of the current state, so that both can be compared.
fn utc(said: &str) -> String {
    history::time_of(said).map(|at| crate::memory::marker_time(&at)).unwrap_or_default()
}
