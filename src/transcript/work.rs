//! What is done in each turn while a transcript is read: edits, failed commands, and edits that are undone.

use std::collections::VecDeque;

use super::command_line::{parts, program};
use super::talk::cut_at_sentence;
use super::{Outcome, TurnWork};

/// How many bytes of paths and commands are held. Beyond that, the oldest turns are dropped.
const MAX_WORK: usize = 200 << 10;
const MAX_PATHS: usize = 100;
const MAX_FAILED: usize = 20;
const MAX_COMMAND: usize = 2 << 10;
/// What a turn or a line costs besides its text.
const COST: usize = 64;
/// How many files are remembered as edited, for commands that undo edits.
const MAX_KNOWN: usize = 500;

/// The program that takes edits back.
const GIT: &str = "git";
/// Programs whose exit code 1 means that they found nothing, or a difference.
const SEARCHES: &[&str] =
    &["[", "[[", "ag", "cmp", "command", "diff", "egrep", "fgrep", "grep", "pgrep", "rg", "test", "type", "which"];

#[derive(Default)]
pub(super) struct Work {
    turns: VecDeque<TurnWork>,
    size: usize,
    /// The files that were edited after the last commit, and the ones of that commit.
    uncommitted: Vec<String>,
    committed: Vec<String>,
    /// All that were edited before.
    earlier: Vec<String>,
}

impl Work {
    pub(super) fn edited(&mut self, turn: usize, path: &str) {
        if add(&mut self.uncommitted, path, MAX_KNOWN) {
            self.committed.retain(|other| other != path);
            self.earlier.retain(|other| other != path);
        }
        let cost = path.len() + COST;
        if add(&mut self.at(turn).edited, path, MAX_PATHS) {
            self.grow(cost);
        }
    }

    pub(super) fn command_ended(&mut self, turn: usize, command: &str, outcome: Outcome) {
        if let Outcome::Failed(code) = outcome {
            let kept = cut_at_sentence(command, MAX_COMMAND);
            if !(code == Some(1) && is_search(command)) && add(&mut self.at(turn).failed, kept, MAX_FAILED) {
                self.grow(kept.len() + COST);
            }
            return;
        }
        if outcome == Outcome::Passed {
            self.passed(turn, cut_at_sentence(command, MAX_COMMAND));
        }
        for (part, _) in parts(command) {
            let Some((name, arguments)) = program(&part) else { continue };
            if name == GIT {
                self.git(turn, &arguments);
            }
        }
    }

    /// A command that passes in the end did not fail its turn.
    fn passed(&mut self, turn: usize, command: &str) {
        let Some(work) = self.turns.back_mut().filter(|work| work.turn == turn) else { return };
        if let Some(at) = work.failed.iter().position(|failed| failed == command) {
            work.failed.remove(at);
            self.size -= command.len() + COST;
        }
    }

    fn git(&mut self, turn: usize, arguments: &[&str]) {
        let arguments = without_global_options(arguments);
        let [verb, rest @ ..] = arguments else { return };
        let has = |options: &[&str]| rest.iter().any(|word| options.contains(word));
        let names: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let undone = match *verb {
            "commit" => {
                self.earlier.append(&mut self.committed);
                self.earlier.drain(..self.earlier.len().saturating_sub(MAX_KNOWN));
                self.committed = std::mem::take(&mut self.uncommitted);
                return;
            }
            "checkout" if !has(&["-b", "-B", "--orphan", "--track", "-t"]) => self.named(&names),
            "restore" if !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]) => self.named(&names),
            "reset" if has(&["--hard"]) && names.iter().all(|name| *name == "HEAD") => self.uncommitted.clone(),
            "reset" if has(&["--hard"]) => [&self.earlier[..], &self.committed, &self.uncommitted].concat(),
            "revert" if !has(&["--abort", "--quit", "--continue"]) => self.committed.clone(),
            _ => return,
        };
        self.uncommitted.retain(|path| !undone.contains(path));
        for path in undone {
            let cost = path.len() + COST;
            if add(&mut self.at(turn).reverted, &path, MAX_PATHS) {
                self.grow(cost);
            }
        }
    }

    /// The edited files that these words name, as files or as directories.
    fn named(&self, words: &[&str]) -> Vec<String> {
        let known = [&self.uncommitted, &self.committed, &self.earlier].into_iter().flatten();
        let names: Vec<&str> = words
            .iter()
            .map(|word| word.trim_matches(['"', '\'']).trim_start_matches("./").trim_end_matches('/'))
            .collect();
        if names.contains(&".") || words.contains(&"./") {
            return self.uncommitted.clone();
        }
        let is_named = |path: &&String| {
            names.iter().filter(|name| !name.is_empty()).any(|name| {
                path.as_str() == *name
                    || path.strip_suffix(name).is_some_and(|before| before.ends_with('/'))
                    || path.split_once(name).is_some_and(|(before, after)| {
                        (before.is_empty() || before.ends_with('/')) && after.starts_with('/') && name.contains('/')
                    })
            })
        };
        known.filter(is_named).cloned().collect()
    }

    fn at(&mut self, turn: usize) -> &mut TurnWork {
        if self.turns.back().is_none_or(|last| last.turn != turn) {
            self.turns.push_back(TurnWork { turn, ..TurnWork::default() });
            self.grow(COST);
        }
        let last = self.turns.len() - 1;
        &mut self.turns[last]
    }

    fn grow(&mut self, by: usize) {
        self.size += by;
        while self.size > MAX_WORK && self.turns.len() > 1 {
            let oldest = self.turns.pop_front().unwrap_or_default();
            let lines = oldest.edited.iter().chain(&oldest.failed).chain(&oldest.reverted);
            self.size -= COST + lines.map(|line| line.len() + COST).sum::<usize>();
        }
    }

    pub(super) fn finish(self) -> Vec<TurnWork> {
        self.turns.into_iter().filter(TurnWork::did_anything).collect()
    }
}

/// Adds a line that the list does not have yet, if there is room.
fn add(list: &mut Vec<String>, line: &str, most: usize) -> bool {
    let is_new = list.len() < most && !list.iter().any(|other| other == line);
    if is_new {
        list.push(line.to_owned());
    }
    is_new
}

/// Whether the exit code of the line is that of a search.
fn is_search(command: &str) -> bool {
    let parts = parts(command);
    let Some((name, arguments)) = parts.last().and_then(|(part, _)| program(part)) else { return false };
    SEARCHES.contains(&name.as_str()) || name == GIT && matches!(arguments.first(), Some(&("diff" | "grep")))
}

/// The arguments from the verb on: `git -C dir -c a=b checkout …`.
fn without_global_options<'a, 'b>(mut arguments: &'b [&'a str]) -> &'b [&'a str] {
    while let [option, rest @ ..] = arguments {
        arguments = match *option {
            "-C" | "-c" | "--git-dir" | "--work-tree" => rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') => rest,
            _ => break,
        };
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reverted(command: &str) -> Vec<String> {
        let mut work = Work::default();
        for path in ["/w/src/old.rs", "/w/src/done.rs"] {
            work.edited(1, path);
            work.command_ended(1, "git add -A && git commit -qm 'x'", Outcome::Passed);
        }
        work.edited(2, "/w/src/lexer.rs");
        work.edited(2, "/w/src/deep/a.rs");
        work.command_ended(3, command, Outcome::Passed);
        let last = work.finish().into_iter().find(|work| work.turn == 3);
        last.map(|work| work.reverted).unwrap_or_default()
    }

    #[test]
    fn edits_that_git_takes_back_are_known() {
        let (lexer, deep, done, old) = ("/w/src/lexer.rs", "/w/src/deep/a.rs", "/w/src/done.rs", "/w/src/old.rs");
        for (command, expected) in [
            ("git checkout -- src/lexer.rs", &[lexer][..]),
            ("git checkout src/lexer.rs && cargo build", &[lexer]),
            ("git checkout HEAD~1 -- src/done.rs", &[done]),
            ("cd /w && git restore ./src/lexer.rs", &[lexer]),
            ("git restore --staged --worktree src/lexer.rs", &[lexer]),
            ("git restore --source=HEAD src/deep/", &[deep]),
            ("git checkout -- .", &[lexer, deep]),
            ("git -C /w restore .", &[lexer, deep]),
            ("git reset --hard", &[lexer, deep]),
            ("git reset --hard HEAD", &[lexer, deep]),
            ("git reset --hard HEAD~3", &[old, done, lexer, deep]),
            ("git revert --no-edit HEAD", &[done]),
            ("git checkout main", &[]),
            ("git checkout -b src/lexer.rs", &[]),
            ("git restore --staged src/lexer.rs", &[]),
            ("git reset src/lexer.rs", &[]),
            ("git reset --soft HEAD~1", &[]),
            ("git revert --abort", &[]),
            ("git stash", &[]),
            ("echo git checkout -- src/lexer.rs", &[]),
            ("git checkout -- lexer.r", &[]),
            ("git checkout --", &[]),
            ("git", &[]),
        ] {
            assert_eq!(reverted(command), expected, "{command}");
        }
    }

    #[test]
    fn commands_that_fail_are_known_by_their_turn() {
        let mut work = Work::default();
        for (turn, command, outcome) in [
            (1, "cargo build", Outcome::Failed(Some(101))),
            (1, "cargo build", Outcome::Failed(Some(101))),
            (1, "grep -rn x src", Outcome::Failed(Some(1))),
            (1, "ls | rg x", Outcome::Failed(Some(1))),
            (1, "git diff --exit-code", Outcome::Failed(Some(1))),
            (1, "grep -rn x nowhere", Outcome::Failed(Some(2))),
            (2, "ls", Outcome::Passed),
            (3, "git checkout -- a", Outcome::Failed(Some(128))),
            (3, "cargo test", Outcome::Failed(Some(101))),
            (3, "cargo test", Outcome::Passed),
        ] {
            work.command_ended(turn, command, outcome);
        }
        let found: Vec<(usize, Vec<String>)> = work.finish().into_iter().map(|work| (work.turn, work.failed)).collect();
        let line = str::to_owned;
        assert_eq!(
            found,
            [(1, vec![line("cargo build"), line("grep -rn x nowhere")]), (3, vec![line("git checkout -- a")])]
        );
    }

    #[test]
    fn any_amount_of_work_is_bounded() {
        let mut work = Work::default();
        for turn in 1..3_000 {
            for number in 0..30 {
                work.edited(turn, &format!("/w/{turn}/{number}/{}", "x".repeat(500)));
            }
            work.command_ended(turn, &"false ".repeat(5_000), Outcome::Failed(None));
            work.command_ended(turn, "git commit -am x; git reset --hard HEAD~9", Outcome::Passed);
        }
        let found = work.finish();
        let lines = found.iter().flat_map(|work| work.edited.iter().chain(&work.failed).chain(&work.reverted));
        assert!(lines.map(String::len).sum::<usize>() <= MAX_WORK);
        assert_eq!(found.last().map(|work| work.turn), Some(2_999));
    }
}
