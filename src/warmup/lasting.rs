//! The sections that change only when the record does.

use super::page::{Section, item};
use super::sources::EARLIER;
use super::writer::{LEADING, Labelled, OUTSIDE, Writer, ours_first, outside};
use crate::history;
use crate::memory::state;

impl Writer<'_> {
    /// The goals of the state and of the last session, the newest first. They may differ.
    pub(super) fn goal(&mut self) -> Section {
        let whose = &self.sources.whose;
        let mut goals: Vec<(String, Labelled)> = Vec::new();
        for item in self.sources.items("goal") {
            let goal = Labelled::ours(item.text.clone(), self.since.label(&item.commit, &item.branch));
            goals.push((item.at.clone(), goal.came_along(whose.is_item_strange(item))));
        }
        if let Some(open) = &self.sources.open {
            let label = match (history::is_over(&open.status), goals.is_empty()) {
                (true, _) => " (of the last session, which is over)",
                (false, true) => "",
                (false, false) => " (of the last session)",
            };
            let label = format!("{label}{}", outside(&open.handoff));
            let label = format!(
                "{label}{}",
                self.since.label(open.handoff.text("head_commit"), open.handoff.text("current_branch"))
            );
            let goal = Labelled::ours(open.handoff.text("primary_goal").to_owned(), label);
            goals.push((utc(open.handoff.text("generated_at")), goal.came_along(whose.is_handoff_strange)));
        }
        goals.sort_by(|a, b| b.0.cmp(&a.0));
        let goals = ours_first(goals.into_iter().map(|(_, goal)| goal).collect());
        let items = goals.iter().filter_map(|goal| self.once(goal, LEADING)).collect();
        self.section("Goal", items, "memory list --category goal", 2)
    }

    pub(super) fn next_action(&mut self) -> Section {
        let of_handoff = if self.is_open() { self.of_handoff("next_todo_items") } else { Vec::new() };
        let all = ours_first(of_handoff.into_iter().chain(self.of_category("open_loop")).collect());
        let items = all.first().and_then(|first| self.once(first, LEADING)).into_iter().collect();
        self.section("First next action", items, "history show latest", 1)
    }

    pub(super) fn open_loops(&mut self) -> Section {
        let mut loops = if self.is_open() { self.of_handoff("next_todo_items") } else { Vec::new() };
        loops.extend(self.of_category("open_loop"));
        let items = self.once_each(loops);
        self.section("Open loops", items, "memory list --category open_loop", 3)
    }

    pub(super) fn rulings(&mut self) -> Section {
        let mut rulings = self.of_category("constraint");
        rulings.extend(self.sources.standing.iter().rev().map(|line| {
            let is_strange = self.sources.whose.is_ruling_strange(line);
            Labelled::ours(line.clone(), String::new()).came_along(is_strange)
        }));
        let items = self.once_each(rulings.into_iter().map(Labelled::into_ruling).collect());
        self.section("Constraints and standing rulings", items, "memory list --category constraint", 4)
    }

    pub(super) fn decisions(&mut self) -> Section {
        let mut decisions = self.of_category("decision");
        // The file has the oldest first.
        decisions.reverse();
        decisions.extend(self.of_handoff("decisions"));
        // Standing decisions are among the rulings.
        decisions.retain(|decision| !decision.text.contains("[standing]"));
        let items = self.once_each(decisions.into_iter().map(Labelled::into_ruling).collect());
        self.section("Decisions, newest first", items, "memory list --category decision", 3)
    }

    /// Sessions before the last one, because the last one may only have asked a question.
    pub(super) fn earlier(&mut self) -> Section {
        let entries = self.sources.open.as_ref().map(|open| open.earlier.as_slice()).unwrap_or_default();
        let line = |entry: &history::SessionEntry| {
            let day = item(entry.get("session_date"), 10);
            let (goal, next) = (item(entry.get("primary_goal"), 140), item(entry.get("first_next_action"), 140));
            let outside = if entry.origin().is_empty() { "" } else { OUTSIDE };
            let label = format!("{outside}{}", self.since.label(entry.get("head_commit"), entry.get("current_branch")));
            let line = format!("{day} {}: {goal}; next: {next}", item(entry.get("agent"), 30));
            Labelled::ours(line, label).came_along(self.sources.whose.is_entry_strange(entry))
        };
        let lines = entries.iter().take(EARLIER).map(line).collect();
        let items = self.once_each(lines);
        let more = format!("cat {}/INDEX.yaml", item(&self.project.config.history_dir, 200));
        Section { title: "Earlier sessions that nobody has closed", items, more, least: 2 }
    }

    /// The free text of the current state, written by people or the Python tool.
    pub(super) fn state_text(&mut self) -> Section {
        let text = String::from_utf8_lossy(&self.sources.state.text()).into_owned();
        let lines = text.lines().filter(|line| !line.trim().is_empty()).take(200);
        let is_strange = self.sources.whose.is_text_strange;
        let labelled = |line: &str| Labelled::ours(line.to_owned(), self.doubt(line).to_owned());
        let lines = lines.map(|line| labelled(line).came_along(is_strange)).collect();
        let items = self.once_each(lines);
        let path = format!("{}/layer2/current-state.md", self.project.config.memory_dir);
        Section { title: "Current state, as written", items, more: format!("cat {}", item(&path, 200)), least: 3 }
    }

    pub(super) fn done(&mut self) -> Section {
        let is_strange = self.sources.whose.is_handoff_strange;
        let passed = self.sources.validation().into_iter().filter_map(passed);
        let mut done: Vec<Labelled> = passed.map(|labelled| labelled.came_along(is_strange)).collect();
        done.extend(self.of_handoff("completed_tasks"));
        done.extend(self.of_category("recent_change"));
        let items = self.once_each(done);
        self.section("Done lately", items, "memory list --category recent_change", 2)
    }

    pub(super) fn other_memory(&mut self) -> Section {
        let shown = ["goal", "constraint", "decision", "open_loop", "known_issue", "recent_change", "session_summary"];
        let mut others = self.of_category("overview");
        let summaries = self.of_category("session_summary");
        others.extend(summaries.into_iter().next_back());
        for section in &self.sources.state.sections {
            let name = section.category.as_str();
            if !shown.contains(&name) && name != "overview" {
                let title = state::title(name);
                let named = |item: Labelled| Labelled { text: format!("{title}: {}", item.text), ..item };
                others.extend(self.of_category(name).into_iter().map(named));
            }
        }
        let items = self.once_each(others);
        self.section("Also remembered", items, "memory list", 2)
    }
}

fn passed((command, result): (String, String)) -> Option<Labelled> {
    result
        .eq_ignore_ascii_case("passed")
        .then(|| Labelled::ours(format!("`{command}` passed when it last ran"), String::new()))
}

/// The time of a handoff in the form of the markers of the current state, so that both can be compared.
fn utc(said: &str) -> String {
    history::time_of(said).map(|at| crate::memory::marker_time(&at)).unwrap_or_default()
}
