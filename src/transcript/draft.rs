//! A transcript while it is read. Everything that grows with the file is bounded here.

use std::collections::{HashMap, HashSet, VecDeque};

use chrono::DateTime;

use super::{Command, Outcome, Todo, TodoStatus, Transcript, human_text, test_outcome};
use crate::base::text;
use crate::guard::secrets;
use crate::handoff;

// How many of each are kept. A handover shows fewer.
const MAX_COMMANDS: usize = 200;
const MAX_TESTS: usize = 50;
const MAX_EDITED: usize = 500;
const MAX_TODOS: usize = 200;
const MAX_OPEN_CALLS: usize = 256;
const MAX_PATHS_OF_A_CALL: usize = 50;
// How long each may be, in characters.
const MAX_REQUEST: usize = 4_000;
const MAX_LINE: usize = 500;
const MAX_NAME: usize = 200;
/// How many bytes of a text are held until it is scanned for secrets: more than is shown.
const MAX_RAW: usize = 16 << 10;
/// Separates texts that are scanned together. No text contains it, because it is not printable.
const BETWEEN: char = '\u{1e}';

pub(super) struct Draft {
    pub found: Transcript,
    /// Whether to take only what describes the session: id, directory, branch.
    pub about_only: bool,
    commands: VecDeque<(u64, Command)>,
    next_command: u64,
    /// By [`test_outcome::test_name`].
    tests: Vec<(String, Command)>,
    edited: HashSet<String>,
    calls: HashMap<String, OpenCall>,
    call_order: VecDeque<String>,
    /// By the number that the agent gave them.
    tasks: Vec<(String, Todo)>,
    has_custom_title: bool,
    has_goal: bool,
    unreadable: u64,
    too_long: u64,
    passed_over: u64,
    not_kept: u64,
}

/// A tool call that waits for its result.
enum OpenCall {
    Command(u64),
    Edit(Vec<String>),
    NewTask(String),
    /// Finished. Further results for it are ignored.
    Over,
}

/// How a call ended.
pub(super) enum Ended<'a> {
    /// The exit code and the output. The code is 0 for a tool that is not a command and succeeded.
    Code(i64, &'a str),
    Failed,
    /// Refused, so nothing ran.
    NotRun,
    /// Still running, or cut off: another result may follow.
    Unknown,
}

impl Draft {
    pub(super) fn of(agent: &'static str) -> Draft {
        Draft {
            found: Transcript { agent, ..Transcript::default() },
            about_only: false,
            commands: VecDeque::new(),
            next_command: 0,
            tests: Vec::new(),
            edited: HashSet::new(),
            calls: HashMap::new(),
            call_order: VecDeque::new(),
            tasks: Vec::new(),
            has_custom_title: false,
            has_goal: false,
            unreadable: 0,
            too_long: 0,
            passed_over: 0,
            not_kept: 0,
        }
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
        }
    }

    pub(super) fn asked(&mut self, request: &str) {
        let Some(said) = human_text::of_person(request).filter(|_| !self.about_only) else { return };
        let said = raw(&said);
        if said == self.found.last_request {
            // Clients record a request more than once: when it is queued and when it is sent.
            return;
        }
        // "Continue" is not a goal. A later request may be one.
        let is_goal = !self.has_goal && handoff::resume_mechanic(&said).is_none();
        if is_goal || self.found.requests == 0 {
            self.found.first_request.clone_from(&said);
        }
        self.has_goal |= is_goal;
        self.found.last_request = said;
        self.found.requests += 1;
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

    pub(super) fn called_new_task(&mut self, id: &str, subject: &str) {
        if self.is_new(id) {
            self.open(id, OpenCall::NewTask(raw(subject)));
        }
    }

    fn is_new(&self, id: &str) -> bool {
        !self.about_only && !self.calls.contains_key(text::cut(id, MAX_NAME))
    }

    fn open(&mut self, id: &str, call: OpenCall) {
        let id = text::cut(id, MAX_NAME).to_owned();
        self.calls.insert(id.clone(), call);
        self.call_order.push_back(id);
        if self.call_order.len() > MAX_OPEN_CALLS
            && let Some(oldest) = self.call_order.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }

    /// Records the result of a call. `task` is the number of a new task.
    pub(super) fn returned(&mut self, id: &str, ended: &Ended<'_>, task: Option<&str>) {
        if self.about_only || matches!(ended, Ended::Unknown) {
            return;
        }
        let Some(call) = self.calls.get_mut(text::cut(id, MAX_NAME)) else { return };
        match std::mem::replace(call, OpenCall::Over) {
            OpenCall::Command(number) => self.command_ended(number, ended),
            OpenCall::Edit(paths) if matches!(ended, Ended::Code(0, _)) => {
                paths.into_iter().for_each(|path| self.edited(path));
            }
            OpenCall::NewTask(subject) if matches!(ended, Ended::Code(0, _)) => {
                let number = task.map_or_else(|| (self.tasks.len() + 1).to_string(), str::to_owned);
                if self.tasks.len() < MAX_TODOS {
                    self.tasks.push((number, Todo { text: subject, status: TodoStatus::Pending }));
                }
            }
            OpenCall::Edit(_) | OpenCall::NewTask(_) | OpenCall::Over => {}
        }
    }

    fn command_ended(&mut self, number: u64, ended: &Ended<'_>) {
        let Some(at) = self.commands.iter().position(|(other, _)| *other == number) else { return };
        let command = &mut self.commands[at].1;
        command.outcome = match ended {
            Ended::NotRun => {
                self.commands.remove(at);
                return;
            }
            Ended::Code(code, output) => test_outcome::judge(&command.command, *code, output),
            Ended::Failed => Outcome::Failed(None),
            Ended::Unknown => return,
        };
        if let Some(name) = test_outcome::test_name(&command.command) {
            let test = command.clone();
            self.tests.retain(|(other, _)| *other != name);
            self.tests.push((name, test));
            if self.tests.len() > MAX_TESTS {
                self.tests.remove(0);
            }
        }
    }

    pub(super) fn edited(&mut self, path: String) {
        if self.about_only || path.len() > 1024 || self.edited.contains(&path) {
            return;
        }
        if self.edited.len() >= MAX_EDITED {
            self.not_kept += 1;
            return;
        }
        self.edited.insert(path.clone());
        self.found.edited.push(path);
    }

    /// Replaces the whole list, for agents that write all of it each time.
    pub(super) fn todos(&mut self, todos: impl Iterator<Item = Todo>) {
        if !self.about_only {
            let todos = todos.take(MAX_TODOS).map(|todo| Todo { text: raw(&todo.text), ..todo });
            self.tasks = todos.map(|todo| (String::new(), todo)).collect();
        }
    }

    /// Changes one task, for agents that write only changes. Without a status the task is removed.
    pub(super) fn task_changed(&mut self, number: &str, status: Option<TodoStatus>, subject: Option<&str>) {
        if self.about_only {
            return;
        }
        match status {
            None => self.tasks.retain(|(other, _)| other != number),
            Some(status) => {
                for (_, todo) in self.tasks.iter_mut().filter(|(other, _)| other == number) {
                    todo.status = status;
                    if let Some(subject) = subject {
                        todo.text = raw(subject);
                    }
                }
            }
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
        found.commands = self.commands.into_iter().map(|(_, command)| command).collect();
        found.tests = self.tests.into_iter().map(|(_, test)| test).collect();
        found.todos = self.tasks.into_iter().map(|(_, todo)| todo).collect();
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

/// A text as it is held until [`clean`] scans all of them: printable, and cut between words.
fn raw(text: &str) -> String {
    let kept = text::cut(text, MAX_RAW);
    let end = if kept.len() < text.len() { kept.rfind(char::is_whitespace) } else { None };
    text::without_controls(&kept[..end.unwrap_or(kept.len())])
}

/// Removes private passages and secrets from all texts, then cuts them. All are scanned together, because one scan per text
/// would cost more than reading the file.
fn clean(found: &mut Transcript) {
    let mut texts: Vec<(&mut String, usize)> = Vec::new();
    texts.extend([&mut found.first_request, &mut found.last_request].map(|text| (text, MAX_REQUEST)));
    texts.extend([&mut found.cwd, &mut found.session].map(|text| (text, 4096)));
    texts.extend([&mut found.branch, &mut found.model, &mut found.title].map(|text| (text, MAX_NAME)));
    texts.extend(found.edited.iter_mut().map(|path| (path, 1024)));
    texts.extend(found.commands.iter_mut().chain(&mut found.tests).map(|command| (&mut command.command, MAX_LINE)));
    texts.extend(found.todos.iter_mut().map(|todo| (&mut todo.text, MAX_LINE)));
    let together: Vec<String> =
        texts.iter().map(|(text, _)| human_text::without_private(&text::without_controls(text.as_str()))).collect();
    let cleaned = secrets::clean(&together.join(&format!("\n{BETWEEN}\n")));
    let mut cleaned = cleaned.split(BETWEEN);
    for (text, max) in texts {
        // There are as many as before: no secret reaches across the separator.
        let clean = cleaned.next().unwrap_or_default().trim();
        *text = match max {
            MAX_REQUEST => clean.chars().take(max).collect(),
            _ => text::kept_line(clean, max),
        };
    }
    found.edited.retain(|path| !path.is_empty());
    found.commands.retain(|command| !command.command.is_empty());
    found.tests.retain(|command| !command.command.is_empty());
    found.todos.retain(|todo| !todo.text.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: Ended<'_> = Ended::Code(0, "");

    #[test]
    fn a_secret_never_reaches_from_one_text_into_another() {
        let key = ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat();
        let mut draft = Draft::of("x");
        draft.asked(&format!("use {key}\nMIIEow"));
        draft.asked("and go on");
        draft.called_command("1", concat!("echo glp", "at-x9Kq2Lm4Np6Rs8Tv1Wy3"));
        draft.called_command("2", "ls <private>hidden");
        draft.called_command("3", "ls");
        let found = draft.finish();
        assert_eq!(found.first_request, "use [redacted:private-key]");
        assert_eq!(found.last_request, "and go on");
        let commands: Vec<&str> = found.commands.iter().map(|command| command.command.as_str()).collect();
        assert_eq!(commands, ["echo [redacted:gitlab-token]", "ls", "ls"]);
    }

    #[test]
    fn no_half_of_a_secret_is_left_where_a_text_is_cut() {
        let token = ["glpat-", "x9Kq2Lm4Np6Rs8Tv1Wy3"].concat();
        let mut draft = Draft::of("x");
        draft.title(&format!("{} {token}", "a".repeat(MAX_NAME - 9)), false);
        draft.called_command("1", &format!("{} {token}", "b ".repeat(MAX_LINE / 2 - 4)));
        let found = draft.finish();
        for text in [&found.title, &found.commands[0].command] {
            assert!(!text.contains("glpat") && text.contains("[redac"), "{text}");
        }
    }

    #[test]
    fn only_what_worked_counts_and_only_once() {
        let mut draft = Draft::of("x");
        for (id, path) in [("1", "a"), ("1", "again"), ("2", "b"), ("3", "c"), ("4", "a")] {
            draft.called_edit(id, [path.to_owned()]);
        }
        for (id, ended) in [("1", DONE), ("2", Ended::Failed), ("4", DONE), ("1", DONE)] {
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
        assert!(draft.calls.len() <= MAX_OPEN_CALLS && draft.call_order.len() <= MAX_OPEN_CALLS);
        let found = draft.finish();
        assert_eq!(found.commands.len(), MAX_COMMANDS);
        assert_eq!(found.commands.last().unwrap().command, "cargo test 4999");
        assert_eq!((found.tests.len(), found.edited.len(), found.todos.len()), (MAX_TESTS, MAX_EDITED, MAX_TODOS));
        assert!(found.notices[0].ends_with("kept: 9300"), "{:?}", found.notices);
    }
}
