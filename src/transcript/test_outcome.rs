//! Whether a command passed: by the exit code if it is the command's own, or else by the output.

use super::Outcome;
use super::command_line::{parts, program};
use super::test_command::{is_test, test_name};

/// Programs that only print or filter text. A failure in their output is another program's.
const READERS: &[&str] = &[
    "awk", "bat", "cat", "curl", "cut", "echo", "egrep", "fd", "find", "gh", "git", "grep", "head", "history", "jq",
    "less", "ls", "nl", "ps", "printf", "rg", "sed", "sort", "strings", "tail", "tree", "tr", "uniq", "wc", "xargs",
    "zcat",
];
/// Filters whose exit code 1 means that they found nothing.
const SEARCHES: &[&str] = &["egrep", "fgrep", "grep", "rg", "ag"];

/// The outcome of a command with this exit code and output.
pub(super) fn judge(command: &str, code: i64, output: &str) -> Outcome {
    let line = Line::of(command);
    match code {
        0 if line.is_own_exit_code => Outcome::Passed,
        0 => line.by_output(output),
        1 if line.ends_in_search => line.by_output(output),
        code => Outcome::Failed(Some(code)),
    }
}

/// The identity of the test that a command runs. `None` if it is not a test.
pub(super) fn name(command: &str, output: &str) -> Option<String> {
    // Most commands are tests, or are none, whatever their output says. To look at it costs more than to read the record.
    let (with, without) = (test_name(command, true), test_name(command, false));
    if with == without || says(output) != Outcome::Unknown { with } else { without }
}

/// What matters of a command line for its outcome.
struct Line {
    is_test: bool,
    /// Whether the exit code is that of the test, or of the last command that is not behind a pipe.
    is_own_exit_code: bool,
    /// Whether the last program searches the output of another.
    ends_in_search: bool,
    /// Whether the output was only read from somewhere.
    is_reader: bool,
}

impl Line {
    fn of(command: &str) -> Line {
        let parts = parts(command);
        let test = parts.iter().rposition(|(part, _)| is_test(part, false));
        let is_pipe = |operator: &str| operator.starts_with('|') && operator != "||";
        let ends = |operator: &str| operator == "&&";
        // Without a test, only the last pipeline counts.
        let last = parts.len().saturating_sub(1);
        let start = parts[..last].iter().rposition(|(_, operator)| !is_pipe(operator)).map_or(0, |at| at + 1);
        let from = test.unwrap_or(start);
        let between = &parts[from.min(last)..last];
        let is_background = parts.last().is_some_and(|(_, operator)| *operator == "&");
        let is_own_exit_code = !is_background
            && (between.iter().all(|(_, operator)| ends(operator))
                || command.contains("pipefail")
                    && between.iter().all(|(_, operator)| ends(operator) || is_pipe(operator)));
        let name = |at: usize| parts.get(at).and_then(|(part, _)| program(part)).map(|(name, _)| name);
        let is_among = |names: &[&str], at: usize| name(at).is_some_and(|name| names.contains(&name.as_str()));
        Line {
            is_test: test.is_some(),
            is_own_exit_code,
            ends_in_search: last > start && is_among(SEARCHES, last) && !command.contains("pipefail"),
            is_reader: is_among(READERS, start),
        }
    }

    /// The outcome as the output says it. Only a test says that it passed, and readers print the failures of others.
    fn by_output(&self, output: &str) -> Outcome {
        match says(output) {
            _ if !self.is_test && self.is_reader => Outcome::Unknown,
            Outcome::Passed if !self.is_test => Outcome::Unknown,
            outcome => outcome,
        }
    }
}

/// The outcome by the end of an output, in the words of common test runners and compilers. A failure wins.
fn says(output: &str) -> Outcome {
    let lines: Vec<String> = output.lines().rev().take(60).map(str::to_lowercase).collect();
    match (lines.iter().any(|line| says_failed(line)), lines.iter().any(|line| says_passed(line))) {
        (true, _) => Outcome::Failed(None),
        (false, true) => Outcome::Passed,
        (false, false) => Outcome::Unknown,
    }
}

fn says_failed(line: &str) -> bool {
    let line = line.trim();
    let starts = [
        "test result: failed",
        "--- fail",
        "fail\t",
        "failed (",
        "not ok ",
        "error: could not compile",
        "error[e",
        "npm err!",
        "npm error",
        "make: ***",
        "build failed",
        "panic: ",
        "[  failed  ]",
        "traceback (most recent call last)",
        "elifecycle",
    ];
    starts.iter().any(|start| line.starts_with(start))
        || line == "fail"
        || line.contains(": error ts")
        || (line.contains("fail") || line.contains("errors")) && counts_failures(line)
}

fn counts_failures(line: &str) -> bool {
    let before = ["failed", "failing", "failures", "errors", "tests failed", "test failed"];
    let after = ["failures", "errors", "# fail", "ℹ fail", "failed"];
    before.iter().any(|word| count_before(line, word)) || after.iter().any(|word| count_after(line, word))
}

fn says_passed(line: &str) -> bool {
    let line = line.trim();
    let starts = ["test result: ok", "ok  \t", "ok \t", "ok\t", "ok (", "100% tests passed"];
    starts.iter().any(|start| line.starts_with(start))
        || line == "ok"
        || line == "pass"
        || line.starts_with("tests run:")
        || count_before(line, "examples") && line.contains(", 0 failures")
        || line.contains("pass") && counts_passes(line)
}

fn counts_passes(line: &str) -> bool {
    ["passed", "passing", "tests passed", "test passed"].iter().any(|word| count_before(line, word))
        || ["# pass", "ℹ pass", "passed"].iter().any(|word| count_after(line, word))
}

/// Whether a number above 0 stands before the word: `3 failed`.
fn count_before(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].trim_end().rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        before.parse::<u64>().is_ok_and(|count| count > 0)
    })
}

/// Whether a number above 0 stands after the word: `failures: 1`, `failures=1`, `# fail 1`.
fn count_after(line: &str, word: &str) -> bool {
    let is_plain = word.starts_with(['#', 'ℹ']);
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        let after = after.strip_prefix([':', '=']).or(is_plain.then_some(after)).unwrap_or_default().trim_start();
        after
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .is_some_and(|digits| digits.parse().is_ok_and(|count: u64| count > 0))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_exit_code_counts_only_where_it_is_the_tests() {
        let ok = "test result: ok. 3 passed; 0 failed; 0 ignored";
        let bad = "test result: FAILED. 2 passed; 1 failed; 0 ignored";
        for (command, code, output, expected) in [
            ("cargo test", 0, "", Outcome::Passed),
            ("cargo test 2>&1", 0, "", Outcome::Passed),
            ("cargo test", 101, ok, Outcome::Failed(Some(101))),
            ("cargo test | tail -5", 0, bad, Outcome::Failed(None)),
            ("cargo test | tail -5", 0, ok, Outcome::Passed),
            ("cargo test | tail -5", 0, "", Outcome::Unknown),
            ("cargo test 2>&1 | grep -c panicked", 1, "0", Outcome::Unknown),
            ("cargo test 2>&1 | grep 'test result'", 0, bad, Outcome::Failed(None)),
            ("cargo test | tee log", 2, "", Outcome::Failed(Some(2))),
            ("set -o pipefail; cargo test | tail -5", 0, "", Outcome::Passed),
            ("set -o pipefail; cargo test | tail -5", 1, "", Outcome::Failed(Some(1))),
            ("cargo test || true", 0, "", Outcome::Unknown),
            ("pytest; echo done", 0, "= 2 failed, 3 passed in 1s =", Outcome::Failed(None)),
            ("pytest; echo done", 0, "= 3 passed in 1s =", Outcome::Passed),
            ("npm test &", 0, "", Outcome::Unknown),
            ("cargo fmt && cargo test && git push", 0, "", Outcome::Passed),
            ("mise run test \\\n | tail -5", 0, bad, Outcome::Failed(None)),
        ] {
            assert_eq!(judge(command, code, output), expected, "{command}");
        }
    }

    #[test]
    fn behind_a_pipe_a_command_that_is_no_test_did_not_pass() {
        for (command, code, output, expected) in [
            ("ls | grep x", 0, "x", Outcome::Unknown),
            ("ls | grep x", 1, "", Outcome::Unknown),
            ("cat log | tail -5", 0, "3 failed", Outcome::Unknown),
            ("git log --oneline | head -3", 0, "fix 2 failed tests", Outcome::Unknown),
            ("cargo build 2>&1 | tail -3", 0, "error: could not compile `x`", Outcome::Failed(None)),
            ("cargo build 2>&1 | tail -3", 0, "3 passed", Outcome::Unknown),
            ("npx tsc --noEmit | head", 0, "src/a.ts(3,1): error TS2322: no", Outcome::Failed(None)),
            ("a | b && cargo build", 0, "", Outcome::Passed),
            ("cargo build; ls", 0, "", Outcome::Passed),
            ("cargo build &", 0, "", Outcome::Unknown),
            ("ls", 2, "", Outcome::Failed(Some(2))),
        ] {
            assert_eq!(judge(command, code, output), expected, "{command}");
        }
    }

    #[test]
    fn the_words_of_runners_are_known() {
        let bad = Outcome::Failed(None);
        for (output, expected) in [
            ("FAILED (failures=1)", bad),
            ("Tests run: 5, Failures: 1, Errors: 0, Skipped: 0", bad),
            ("Tests run: 5, Failures: 0, Errors: 0, Skipped: 0", Outcome::Passed),
            ("5 examples, 0 failures", Outcome::Passed),
            ("5 examples, 2 failures", bad),
            ("# pass 5\n# fail 0", Outcome::Passed),
            ("# pass 5\n# fail 1", bad),
            ("ℹ pass 5\nℹ fail 0", Outcome::Passed),
            ("Passed!  - Failed:     0, Passed:     5", Outcome::Passed),
            ("Failed!  - Failed:     2, Passed:     5", bad),
            ("80% tests passed, 1 tests failed out of 5", bad),
            ("100% tests passed, 0 tests failed out of 5", Outcome::Passed),
            ("Ran 3 tests in 0.1s\n\nOK (skipped=1)", Outcome::Passed),
            ("ok  \texample.org/x\t0.1s", Outcome::Passed),
            ("--- FAIL: TestX (0.00s)", bad),
            ("FAIL\texample.org/x\t0.1s", bad),
            (" Tests  1 failed | 20 passed (21)", bad),
            ("npm ERR! code ELIFECYCLE", bad),
            ("all is well", Outcome::Unknown),
            ("0 errors, 0 failed", Outcome::Unknown),
            ("", Outcome::Unknown),
        ] {
            assert_eq!(says(output), expected, "{output}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_judged(command in "[a-z|&;'\"=/ \n>é]{0,40}", output in any::<String>()) {
            let line = Line::of(&command);
            if line.is_own_exit_code {
                prop_assert_eq!(judge(&command, 0, &output), Outcome::Passed);
            }
            prop_assert_eq!(judge(&command, 3, &output), Outcome::Failed(Some(3)));
            prop_assert!(name(&output, &command).is_none_or(|name| !name.is_empty() && name.len() <= output.len()));
        }
    }
}
