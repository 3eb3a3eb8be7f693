//! A transcript while it is read. Everything that grows with the file is bounded here.
//!
//! Long because every format takes its records into this one type, and its bounds are in one place.

use std::collections::{HashSet, VecDeque};
use std::path::Path;

use chrono::{DateTime, FixedOffset};

use super::actions::Actions;
use super::calls::{Calls, Ended, OpenCall, Question};
use super::cleaning::{clean, raw};
use super::ran::Ran;
use super::repeats::TakenRecords;
use super::slash_command::{self, SlashCommand};
use super::talk::Talk;
use super::todo_list::TodoList;
use super::work::Work;
use super::{ActionKind, Command, Outcome, RateLimit, Todo, TodoStatus, Transcript, UtteranceKind};
use super::{human_text, rate_limit, shell_writes, test_command, test_outcome};
use crate::base::text;
use crate::handoff;

// How many of each are kept. A handover shows fewer.
const MAX_COMMANDS: usize = 200;
const MAX_TESTS: usize = 50;
const MAX_EDITED: usize = 500;
const MAX_PATHS_OF_A_CALL: usize = 50;
const MAX_QUESTIONS: usize = 4;
const MAX_QUESTION: usize = 4 << 10;
/// How many requests can be taken back.
const MAX_MARKS: usize = 1_000;
/// How long a name or an id may be.
const MAX_NAME: usize = 200;

pub(super) struct Draft {
    pub found: Transcript,
    /// Whether to take only what describes the session: id, directory, branch.
    pub about_only: bool,
    /// Whether only what a search finds is kept.
    is_for_search: bool,
    /// Whether the record that is read is of a sub-agent.
    pub is_aside: bool,
    /// The records that were read, if the client may write one twice.
    pub taken: TakenRecords,
    commands: VecDeque<(u64, Command)>,
    next_command: u64,
    next_call: u64,
    /// By [`test_outcome::name`].
    tests: Vec<(String, Command)>,
    edited: HashSet<String>,
    calls: Calls,
    todos: TodoList,
    talk: Talk,
    work: Work,
    ran: Ran,
    actions: Actions,
    /// When the window of use ends that the client named last.
    pub limit_ends: Option<DateTime<FixedOffset>>,
    /// The plan that the agent proposes in its last text.
    pub proposed_plan: Option<String>,
    /// The last requests by the ids of their records, with what was there before each: turns and requests.
    marks: VecDeque<(String, usize, usize)>,
    /// Calls whose results follow in the same order, for agents that give them no ids.
    pub waiting: VecDeque<(String, &'static str)>,
    /// Whether the agent did anything after the last request.
    has_acted: bool,
    is_last_request_queued: bool,
    has_custom_title: bool,
    has_goal: bool,
    unreadable: u64,
    too_long: u64,
    passed_over: u64,
    not_kept: u64,
}

impl Draft {
    pub(super) fn of(agent: &'static str) -> Draft {
        Draft {
            found: Transcript { agent, ..Transcript::default() },
            about_only: false,
            is_for_search: false,
            is_aside: false,
            taken: TakenRecords::default(),
            commands: VecDeque::new(),
            next_command: 0,
            next_call: 0,
            tests: Vec::new(),
            edited: HashSet::new(),
            calls: Calls::default(),
            todos: TodoList::default(),
            talk: Talk::default(),
            work: Work::default(),
            ran: Ran::default(),
            actions: Actions::default(),
            limit_ends: None,
            proposed_plan: None,
            marks: VecDeque::new(),
            waiting: VecDeque::new(),
            has_acted: false,
            is_last_request_queued: false,
            has_custom_title: false,
            has_goal: false,
            unreadable: 0,
            too_long: 0,
            passed_over: 0,
            not_kept: 0,
        }
    }

    /// Keeps only what a search finds: talk, commands with their errors, and edited files.
    pub(super) fn for_search(&mut self) {
        self.is_for_search = true;
    }

    /// Holds this many bytes of talk, and a quarter of it of commands, for a reader that keeps all of it elsewhere.
    pub(super) fn hold(&mut self, room: usize) {
        self.talk.hold(room);
        self.ran.hold(room / 4);
    }

    /// Keeps the first value that is not empty.
    pub(super) fn cwd(&mut self, cwd: &str) {
        if self.found.cwd.is_empty() {
            self.found.cwd = text::cut(cwd, 4096).to_owned();
        }
    }

    /// Keeps the last value that is not empty.
    pub(super) fn branch(&mut self, branch: &str) {
        keep_last(&mut self.found.branch, branch);
    }

    pub(super) fn model(&mut self, model: &str) {
        keep_last(&mut self.found.model, model);
    }

    /// Keeps the last title; a person's title wins over a program's.
    pub(super) fn title(&mut self, title: &str, is_custom: bool) {
        if is_custom || !self.has_custom_title {
            keep_last(&mut self.found.title, title);
            self.has_custom_title |= is_custom;
        }
    }

    pub(super) fn at(&mut self, stamp: &str) {
        if let Ok(at) = DateTime::parse_from_rfc3339(stamp) {
            self.found.started.get_or_insert(at);
            self.found.ended = Some(at);
            self.talk.at(at);
        }
    }

    /// Like [`Draft::at`], for a time in milliseconds since 1970.
    pub(super) fn at_millis(&mut self, millis: Option<i64>) {
        if let Some(at) = millis.filter(|millis| *millis > 0).and_then(DateTime::from_timestamp_millis) {
            self.at(&at.to_rfc3339());
        }
    }

    /// Takes a request of a person.
    pub(super) fn asked(&mut self, request: &str) {
        self.request(request, false);
    }

    /// Takes a request that the person typed while the agent was working.
    pub(super) fn queued(&mut self, request: &str) {
        self.request(request, true);
    }

    fn request(&mut self, request: &str, is_queued: bool) {
        if self.about_only {
            return;
        }
        let (said, kind, has_words) = match slash_command::of(request) {
            Some(SlashCommand::OfClient) => return,
            Some(SlashCommand::Request { line, has_words }) => (line, UtteranceKind::SlashCommand, has_words),
            None => match human_text::of_person(request) {
                Some(said) => (said, UtteranceKind::Request, true),
                None => return,
            },
        };
        // Clients record a request more than once: when it is queued and when it is sent.
        let is_recorded_again =
            raw(&said) == self.found.last_request && (!self.has_acted || self.is_last_request_queued);
        if is_recorded_again {
            return;
        }
        self.is_last_request_queued = is_queued;
        self.has_acted = false;
        self.talk.request(kind, &text::without_controls(&said));
        let said = raw(&said);
        // "Continue" is not a goal. A later request may be one.
        let is_goal = !self.has_goal && has_words && handoff::resume_mechanic(&said).is_none();
        if is_goal || self.found.requests == 0 {
            self.found.first_request.clone_from(&said);
        }
        self.has_goal |= is_goal;
        self.found.last_request = said;
        self.found.requests += 1;
    }

    /// Remembers where a request begins, by the id of its record. Before it is [`Draft::asked`].
    pub(super) fn mark(&mut self, id: &str) {
        if !self.about_only && id.len() <= MAX_NAME {
            self.marks.push_back((id.to_owned(), self.talk.turns(), self.found.requests));
            if self.marks.len() > MAX_MARKS {
                self.marks.pop_front();
            }
        }
    }

    /// Takes back what was said since a request, which the person took back. If the request is not known, it came before
    /// everything that was read. What was done is not undone by that.
    pub(super) fn rewind(&mut self, id: &str) {
        let at = self.marks.iter().position(|(other, ..)| other == id);
        let (_, turns, requests) = at.map(|at| self.marks[at].clone()).unwrap_or_default();
        self.marks.truncate(at.unwrap_or(0));
        self.talk.rewind(turns);
        self.found.requests = requests;
        self.found.last_request = raw(self.talk.last_request());
        if requests == 0 {
            self.found.first_request.clear();
            self.has_goal = false;
        }
        (self.has_acted, self.is_last_request_queued) = (true, false);
    }

    /// Takes a text of the client that may say that a limit is reached. What follows shows that it has ended.
    pub(super) fn limited(&mut self, said: &str, until: Option<DateTime<FixedOffset>>) {
        if let Some(limit) = rate_limit::in_text(said, self.found.ended).filter(|_| !self.about_only) {
            self.found.rate_limit = Some(RateLimit { until: until.or(limit.until), ..limit });
        }
    }

    /// Takes a text of the agent.
    pub(super) fn said(&mut self, text: &str) {
        if !self.about_only {
            self.found.rate_limit = None;
            self.has_acted = true;
            self.say(UtteranceKind::AgentText, text, "");
        }
    }

    /// Takes a plan that the person approved.
    pub(super) fn approved(&mut self, plan: &str) {
        if !self.about_only {
            self.say(UtteranceKind::ApprovedPlan, plan, "");
        }
    }

    fn say(&mut self, kind: UtteranceKind, text: &str, about: &str) {
        let [text, about] = [text, about].map(|text| text::without_private(&text::without_controls(text)));
        self.talk.say(kind, &text, &about);
    }

    /// Takes the reason for which the person refused a call. Before the call is [`Draft::returned`].
    pub(super) fn refused(&mut self, id: &str, reason: &str) {
        let Some(call) = self.calls.get(id).filter(|_| !self.about_only) else { return };
        let about = match call {
            OpenCall::Command(number) => {
                let command = self.commands.iter().find(|(other, _)| other == number);
                command.map(|(_, command)| command.command.clone()).unwrap_or_default()
            }
            OpenCall::Edit(paths) => paths.join(" "),
            OpenCall::NewTask(text) | OpenCall::Plan(text) | OpenCall::Tool(text) | OpenCall::Read(text) => {
                text.clone()
            }
            OpenCall::Questions(questions) => {
                questions.iter().map(|question| question.text.as_str()).collect::<Vec<_>>().join(" ")
            }
            OpenCall::Over => return,
        };
        self.say(UtteranceKind::Refusal, reason, &about);
    }

    /// Takes the answers to the questions of a call. `answer` finds the answer to one.
    pub(super) fn answered(&mut self, id: &str, answer: impl Fn(&Question) -> Option<String>) {
        if self.about_only || !matches!(self.calls.get(id), Some(OpenCall::Questions(_))) {
            return;
        }
        let Some(OpenCall::Questions(questions)) = self.calls.end(id) else { return };
        for question in questions {
            if let Some(answer) = answer(&question) {
                self.say(UtteranceKind::Answer, &answer, &question.text);
            }
        }
    }

    /// Whether anything depends on what a call printed. To read that costs more than all the rest of its record.
    pub(super) fn is_output_read(&self, id: &str) -> bool {
        !self.is_for_search
            || matches!(self.calls.get(id), Some(OpenCall::Command(_) | OpenCall::Questions(_) | OpenCall::Plan(_)))
    }

    /// The plan of a call, which the person approved if it returned without an error.
    pub(super) fn plan_of(&self, id: &str) -> Option<&str> {
        match self.calls.get(id)? {
            OpenCall::Plan(plan) => Some(plan),
            _ => None,
        }
    }

    pub(super) fn called_command(&mut self, id: &str, command: &str) {
        if command.trim().is_empty() || !self.is_new(id) {
            return;
        }
        let number = self.next_command;
        self.next_command += 1;
        self.commands.push_back((number, Command { command: raw(command), outcome: Outcome::Unknown }));
        if self.commands.len() > MAX_COMMANDS {
            self.commands.pop_front();
            self.not_kept += 1;
        }
        self.open(id, OpenCall::Command(number));
    }

    pub(super) fn called_edit(&mut self, id: &str, paths: impl IntoIterator<Item = String>) {
        let paths: Vec<String> = paths
            .into_iter()
            .filter(|path| !path.trim().is_empty() && path.len() <= 1024)
            .take(MAX_PATHS_OF_A_CALL)
            .collect();
        if !paths.is_empty() && self.is_new(id) {
            self.open(id, OpenCall::Edit(paths));
        }
    }

    /// Takes the files of a patch in Codex' own form. Their paths are relative to the session's directory.
    pub(super) fn called_patch(&mut self, id: &str, patch: &str) {
        let named = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
        let lines = patch.lines().filter_map(|line| named.iter().find_map(|name| line.strip_prefix(name)));
        let paths: Vec<String> = lines.map(|path| self.in_cwd(path.trim())).collect();
        self.called_edit(id, paths);
    }

    /// A path, which may be relative to the session's directory.
    pub(super) fn in_cwd(&self, path: &str) -> String {
        Path::new(&self.found.cwd).join(path).to_string_lossy().into_owned()
    }

    pub(super) fn called_new_task(&mut self, id: &str, subject: &str) {
        if self.is_new(id) {
            self.open(id, OpenCall::NewTask(raw(subject)));
        }
    }

    pub(super) fn called_questions(&mut self, id: &str, questions: impl Iterator<Item = Question>) {
        if self.is_new(id) {
            let is_short = |question: &Question| question.id.len().max(question.text.len()) <= MAX_QUESTION;
            self.open(id, OpenCall::Questions(questions.filter(is_short).take(MAX_QUESTIONS).collect()));
        }
    }

    pub(super) fn called_plan(&mut self, id: &str, plan: &str) {
        if self.is_new(id) {
            self.open(id, OpenCall::Plan(raw(plan)));
        }
    }

    /// Takes a call of a tool that is only of interest if the person refuses it.
    pub(super) fn called_tool(&mut self, id: &str, name: &str) {
        if self.is_new(id) {
            self.open(id, OpenCall::Tool(text::cut(name, MAX_NAME).to_owned()));
        }
    }

    pub(super) fn called_read(&mut self, id: &str, path: &str) {
        if self.is_new(id) {
            self.open(id, OpenCall::Read(text::cut(path, 1024).to_owned()));
        }
    }

    fn did(&mut self, kind: ActionKind, what: &str, ended: &Ended<'_>, outcome: Outcome) {
        if !self.is_aside && !self.is_for_search {
            let output = if let Ended::Code(_, output) | Ended::Failed(output) = ended { output } else { "" };
            self.actions.add(kind, what, output, outcome);
        }
    }

    /// An id for a call that has none.
    pub(super) fn next_id(&mut self) -> String {
        self.next_call += 1;
        format!("call {}", self.next_call)
    }

    fn is_new(&self, id: &str) -> bool {
        !self.about_only && self.calls.is_new(id)
    }

    fn open(&mut self, id: &str, call: OpenCall) {
        self.has_acted = true;
        self.calls.add(id, call);
    }

    /// Records the result of a call. `task` is the number of a new task.
    pub(super) fn returned(&mut self, id: &str, ended: &Ended<'_>, task: Option<&str>) {
        if self.about_only || matches!(ended, Ended::Unknown) {
            return;
        }
        let Some(call) = self.calls.end(id) else { return };
        match call {
            OpenCall::Command(number) => self.command_ended(number, ended),
            OpenCall::Edit(paths) if matches!(ended, Ended::Code(0, _)) => {
                for path in paths {
                    self.did(ActionKind::Edit, &path, &Ended::Unknown, Outcome::Passed);
                    self.edited(path);
                }
            }
            OpenCall::Read(path) if matches!(ended, Ended::Code(0, _)) => {
                self.did(ActionKind::Read, &path, ended, Outcome::Passed);
            }
            OpenCall::Read(path) if matches!(ended, Ended::Failed(_) | Ended::Code(..)) => {
                self.did(ActionKind::Read, &path, ended, Outcome::Failed(None));
            }
            OpenCall::Tool(name) => self.did(ActionKind::Other, &name, ended, Outcome::Unknown),
            OpenCall::NewTask(subject) if matches!(ended, Ended::Code(0, _)) => {
                self.todos.add(task, subject);
            }
            _ => {}
        }
    }

    fn command_ended(&mut self, number: u64, ended: &Ended<'_>) {
        let Some(at) = self.commands.iter().position(|(other, _)| *other == number) else { return };
        let command = &mut self.commands[at].1;
        // Colours divide the words that say how a command ended.
        let plain = match ended {
            Ended::Code(_, output) | Ended::Failed(output) if output.contains('\u{1b}') => text::without_styles(output),
            _ => String::new(),
        };
        let said = match *ended {
            Ended::Code(code, _) if !plain.is_empty() => Ended::Code(code, &plain),
            Ended::Failed(_) if !plain.is_empty() => Ended::Failed(&plain),
            ended => ended,
        };
        command.outcome = match said {
            Ended::NotRun => {
                self.commands.remove(at);
                return;
            }
            Ended::Code(code, output) => test_outcome::judge(&command.command, code, output),
            Ended::Failed(_) => Outcome::Failed(None),
            Ended::Unknown => return,
        };
        let command = command.clone();
        self.did(ActionKind::Command, &command.command, ended, command.outcome);
        let turn = self.talk.turn();
        self.ran.add(turn, self.talk.len(), &command, &said, self.found.ended);
        self.work.command_ended(turn, &command.command, command.outcome);
        if self.is_for_search {
            return;
        }
        if command.outcome == Outcome::Passed {
            self.may_have_written(turn, &command.command);
        }
        let output = if let Ended::Code(_, output) = said { output } else { "" };
        if let Some(name) = test_outcome::name(&command.command, output) {
            self.tested(name, command);
        }
    }

    fn may_have_written(&mut self, turn: usize, command: &str) {
        for path in shell_writes::of(command) {
            let entry = (turn, self.in_cwd(&path));
            if self.found.shell_writes.len() < MAX_EDITED && !self.found.shell_writes.contains(&entry) {
                self.found.shell_writes.push(entry);
            }
        }
    }

    /// Keeps the last outcome of each test. A test that passed closes the failed ones that it covers.
    fn tested(&mut self, name: String, test: Command) {
        let has_passed = test.outcome == Outcome::Passed;
        self.tests.retain(|(other, earlier)| {
            let is_closed =
                has_passed && matches!(earlier.outcome, Outcome::Failed(_)) && test_command::covers(&name, other);
            *other != name && !is_closed
        });
        self.tests.push((name, test));
        if self.tests.len() > MAX_TESTS {
            self.tests.remove(0);
        }
    }

    pub(super) fn edited(&mut self, path: String) {
        if self.about_only || path.len() > 1024 {
            return;
        }
        let turn = self.talk.turn();
        self.work.edited(turn, &path);
        if !self.is_aside {
            self.found.edited_by_subagents.retain(|other| *other != path);
        }
        if self.edited.contains(&path) {
            return;
        }
        if self.edited.len() >= MAX_EDITED {
            self.not_kept += 1;
            return;
        }
        self.edited.insert(path.clone());
        if self.is_aside {
            self.found.edited_by_subagents.push(path.clone());
        }
        self.found.edited.push(path);
    }

    /// Replaces the whole list, for agents that write all of it each time.
    pub(super) fn todos(&mut self, todos: impl Iterator<Item = Todo>) {
        if !self.about_only {
            self.todos.replace(todos.map(|todo| Todo { text: raw(&todo.text), ..todo }));
        }
    }

    /// Takes to-dos with the numbers that the agent gave them: all of them, or only those that changed.
    pub(super) fn numbered_todos(&mut self, todos: Vec<(String, Todo)>, is_whole: bool) {
        if !self.about_only {
            let todos = todos.into_iter().map(|(number, todo)| (number, Todo { text: raw(&todo.text), ..todo }));
            self.todos.merge(todos, is_whole);
        }
    }

    /// Changes one task, for agents that write only changes. Without a status the task is removed.
    pub(super) fn task_changed(&mut self, number: &str, status: Option<TodoStatus>, subject: Option<&str>) {
        if !self.about_only {
            self.todos.change(number, status, subject.map(raw));
        }
    }

    pub(super) fn unreadable(&mut self) {
        self.unreadable += 1;
    }

    pub(super) fn too_long(&mut self) {
        self.too_long += 1;
    }

    pub(super) fn passed_over(&mut self, bytes: u64) {
        self.passed_over += bytes;
    }

    /// The finished transcript, fit to be kept: printable, short, without secrets.
    pub(super) fn finish(mut self) -> Transcript {
        let mut found = std::mem::take(&mut self.found);
        if self.is_for_search {
            // What nobody reads is not scanned for secrets either.
            (found.edited, found.edited_by_subagents, found.shell_writes) = Default::default();
        } else {
            found.commands = self.commands.into_iter().map(|(_, command)| command).collect();
            found.tests = self.tests.into_iter().map(|(_, test)| test).collect();
            (found.todos, found.dropped_todos) = self.todos.finish();
        }
        found.talk = self.talk.finish();
        found.work = self.work.finish();
        found.ran = self.ran.finish();
        found.actions = self.actions.finish();
        for (count, what) in [
            (self.unreadable, "records of the transcript that could not be read"),
            (self.too_long, "records of the transcript that are too long to be read"),
            (self.passed_over, "bytes in the middle of the transcript that were passed over"),
            (self.not_kept, "commands and files of the transcript beyond those that are kept"),
        ] {
            if count > 0 {
                found.notices.push(format!("{what}: {count}"));
            }
        }
        clean(&mut found);
        found
    }
}

fn keep_last(kept: &mut String, text: &str) {
    if !text.trim().is_empty() {
        *kept = raw(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: Ended<'_> = Ended::Code(0, "");

    #[test]
    fn only_what_worked_counts_and_only_once() {
        let mut draft = Draft::of("x");
        for (id, path) in [("1", "a"), ("1", "again"), ("2", "b"), ("3", "c"), ("4", "a")] {
            draft.called_edit(id, [path.to_owned()]);
        }
        for (id, ended) in [("1", DONE), ("2", Ended::Failed("")), ("4", DONE), ("1", DONE)] {
            draft.returned(id, &ended, None);
        }
        draft.called_command("5", "rm -rf /");
        draft.returned("5", &Ended::NotRun, None);
        let found = draft.finish();
        assert_eq!(found.edited, ["a"]);
        assert_eq!(found.commands, []);
    }

    #[test]
    fn a_goal_is_work() {
        let mut draft = Draft::of("x");
        for text in ["continue", "Fix the lexer", "Fix the parser"] {
            draft.asked(text);
        }
        let found = draft.finish();
        assert_eq!((found.first_request.as_str(), found.requests), ("Fix the lexer", 3));
    }

    #[test]
    fn a_command_that_goes_on_in_the_background_may_end_later() {
        let mut draft = Draft::of("x");
        draft.called_command("1", "cargo test");
        draft.returned("1", &Ended::Unknown, None);
        draft.returned("1", &Ended::Code(1, ""), None);
        assert_eq!(draft.finish().tests[0].outcome, Outcome::Failed(Some(1)));
    }

    #[test]
    fn a_test_counts_as_it_ended_last() {
        let mut draft = Draft::of("x");
        for (id, command, code) in [("1", "cargo test --quiet", 1), ("2", "cargo test", 0)] {
            draft.called_command(id, command);
            draft.returned(id, &Ended::Code(code, ""), None);
        }
        let found = draft.finish();
        assert_eq!(found.tests, [Command { command: "cargo test".to_owned(), outcome: Outcome::Passed }]);
        assert_eq!(found.commands.len(), 2);
    }

    #[test]
    fn what_grows_with_the_file_is_bounded() {
        let mut draft = Draft::of("x");
        for number in 0..5_000 {
            draft.called_command(&format!("c{number}"), &format!("cargo test {number}"));
            draft.returned(&format!("c{number}"), &Ended::Code(0, ""), None);
            draft.called_edit(&format!("e{number}"), [format!("f{number}")]);
            draft.returned(&format!("e{number}"), &DONE, None);
            draft.called_new_task(&format!("t{number}"), "x");
            draft.returned(&format!("t{number}"), &DONE, None);
        }
        let found = draft.finish();
        assert_eq!(found.commands.len(), MAX_COMMANDS);
        assert_eq!(found.commands.last().unwrap().command, "cargo test 4999");
        assert_eq!((found.tests.len(), found.edited.len(), found.todos.len()), (MAX_TESTS, MAX_EDITED, 200));
        assert!(found.notices[0].ends_with("kept: 9300"), "{:?}", found.notices);
    }
}
