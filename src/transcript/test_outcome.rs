//! Which commands are tests, and whether they passed: by the exit code if it is the test's own, or else by the output.

use super::Outcome;

/// Programs that run tests whatever their arguments.
const RUNNERS: &[&str] = &[
    "ava",
    "bats",
    "behave",
    "ctest",
    "elm-test",
    "jest",
    "karma",
    "mocha",
    "nose2",
    "nosetests",
    "nox",
    "phpunit",
    "py.test",
    "pytest",
    "rspec",
    "tap",
    "tox",
    "vitest",
];
/// Programs that run tests if one of these is among their first arguments.
const TOOLS: &[(&str, &[&str])] = &[
    ("bazel", &["test"]),
    ("bun", &["test"]),
    ("cabal", &["test"]),
    ("cargo", &["test", "t", "nextest"]),
    ("cypress", &["run"]),
    ("dart", &["test"]),
    ("deno", &["test"]),
    ("dotnet", &["test"]),
    ("flutter", &["test"]),
    ("go", &["test"]),
    ("gradle", &["test", "check"]),
    ("gradlew", &["test", "check"]),
    ("just", &["test", "tests"]),
    ("lein", &["test"]),
    ("make", &["test", "tests", "check"]),
    ("meson", &["test"]),
    ("mix", &["test"]),
    ("mvn", &["test", "verify"]),
    ("mvnw", &["test", "verify"]),
    ("ninja", &["test"]),
    ("node", &["--test"]),
    ("npm", &["test", "t"]),
    ("playwright", &["test"]),
    ("pnpm", &["test", "t"]),
    ("python", &["pytest", "test", "unittest"]),
    ("python3", &["pytest", "test", "unittest"]),
    ("rails", &["test"]),
    ("rake", &["test", "spec"]),
    ("sbt", &["test"]),
    ("stack", &["test"]),
    ("swift", &["test"]),
    ("yarn", &["test"]),
    ("zig", &["test"]),
];
/// Programs that run another program, with the number of arguments of their own.
const WRAPPERS: &[(&str, usize)] = &[
    ("bundle", 1),
    ("env", 0),
    ("exec", 0),
    ("ionice", 0),
    ("nice", 0),
    ("npx", 0),
    ("pipenv", 1),
    ("poetry", 1),
    ("pnpx", 0),
    ("stdbuf", 1),
    ("sudo", 0),
    ("time", 0),
    ("timeout", 1),
    ("uv", 1),
    ("uvx", 0),
    ("xvfb-run", 0),
];
const SHELLS: &[&str] = &["bash", "dash", "node", "perl", "php", "python", "python3", "ruby", "sh", "zsh"];

/// The parts of a command line, each with the operator after it.
fn parts(command: &str) -> Vec<(String, &'static str)> {
    let mut parts = vec![(String::new(), "")];
    let mut quote = None;
    // The lines after `<<` are input for a program, not commands.
    let text = command.find("<<").and_then(|at| command[at..].find('\n').map(|end| at + end));
    let mut rest = &command[..text.unwrap_or(command.len())];
    while let Some(c) = rest.chars().next() {
        let operators = ["&&", "||", "|&", "|", ";", "\n", "&"];
        // `2>&1` and `&>` do not end a part.
        let is_redirection = parts.last().is_some_and(|(part, _)| part.ends_with('>')) || rest.starts_with("&>");
        let operator =
            operators.into_iter().find(|operator| quote.is_none() && !is_redirection && rest.starts_with(operator));
        if let (Some(operator), Some(last)) = (operator, parts.last_mut()) {
            last.1 = operator;
            parts.push((String::new(), ""));
            rest = &rest[operator.len()..];
            continue;
        }
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        if let Some((part, _)) = parts.last_mut() {
            part.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    parts.retain(|(part, _)| !part.trim().is_empty());
    parts
}

/// The program's name without its directory, and its arguments.
fn program(part: &str) -> Option<(String, Vec<&str>)> {
    let mut words: Vec<&str> = part.split_whitespace().collect();
    loop {
        let first = *words.first()?;
        let name = first.trim_start_matches(['(', '{']).rsplit('/').next().unwrap_or(first).to_owned();
        let is_assignment = first
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        let skipped = match WRAPPERS.iter().find(|(word, _)| *word == name) {
            _ if is_assignment => 1,
            Some((_, more)) => {
                let flags = words.iter().skip(1).take_while(|word| word.starts_with('-')).count();
                1 + flags + more
            }
            None => return Some((name, words.split_off(1))),
        };
        words.drain(..skipped.min(words.len()));
    }
}

fn part_is_test(part: &str) -> bool {
    let Some((name, arguments)) = program(part) else { return false };
    let plain = |word: &&&str| !word.starts_with('-') || **word == "--test";
    let mut first = arguments.iter().filter(plain).take(3).map(|word| word.trim_matches(['"', '\'']));
    let names_test = |script: &str| {
        let stem = script.rsplit('/').next().unwrap_or(script);
        stem.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| matches!(word, "test" | "tests" | "spec"))
    };
    if RUNNERS.contains(&name.as_str()) {
        return true;
    }
    if let Some((_, verbs)) = TOOLS.iter().find(|(tool, _)| *tool == name)
        && first.clone().any(|word| verbs.contains(&word) || word.starts_with("test:") || word.starts_with("test-"))
    {
        return true;
    }
    if SHELLS.contains(&name.as_str()) {
        return first.next().is_some_and(names_test);
    }
    let is_a_path = part.split_whitespace().next().is_some_and(|word| word.contains('/'));
    is_a_path && names_test(&name)
}

/// The identity of a test: its program and arguments without options and redirections. `None` if the command is not a test.
pub(super) fn test_name(command: &str) -> Option<String> {
    let parts = parts(command);
    let (part, _) = parts.iter().rfind(|(part, _)| part_is_test(part))?;
    let (program, arguments) = program(part)?;
    let names = arguments.into_iter().filter(|word| !word.starts_with('-') && !word.contains('>'));
    Some(std::iter::once(program.as_str()).chain(names).collect::<Vec<_>>().join(" "))
}

/// Whether the exit code of the line is that of its test. After a pipe, `;` or `||` it is not.
fn is_own_exit_code(command: &str) -> bool {
    let parts = parts(command);
    let Some(last) = parts.iter().rposition(|(part, _)| part_is_test(part)) else { return true };
    command.contains("pipefail") && parts[last..].iter().all(|(_, operator)| *operator != "||" && *operator != ";")
        || parts[last..parts.len() - 1].iter().all(|(_, operator)| *operator == "&&")
            && parts.last().is_some_and(|(_, operator)| *operator != "&")
}

/// The outcome of a command with this exit code and output.
pub(super) fn judge(command: &str, code: i64, output: &str) -> Outcome {
    match code {
        0 if test_name(command).is_none() || is_own_exit_code(command) => Outcome::Passed,
        0 => by_output(output),
        code => Outcome::Failed(Some(code)),
    }
}

/// The outcome by the end of the output, in the words of common test runners.
fn by_output(output: &str) -> Outcome {
    let lines: Vec<String> = output.lines().rev().take(60).map(str::to_lowercase).collect();
    let counts = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| {
            let before = line[..at].trim_end().rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            before.parse::<u64>().is_ok_and(|count| count > 0)
        })
    };
    let failed = |line: &String| {
        line.starts_with("test result: failed")
            || line.starts_with("--- fail")
            || line.starts_with("fail\t")
            || line.trim() == "fail"
            || ["failed", "failing", "failures", "errors"].iter().any(|word| counts(line, word))
    };
    let passed = |line: &String| {
        line.starts_with("test result: ok")
            || line.starts_with("ok  \t")
            || line.trim() == "ok"
            || line.trim() == "pass"
            || ["passed", "passing"].iter().any(|word| counts(line, word))
    };
    match (lines.iter().any(failed), lines.iter().any(passed)) {
        (true, _) => Outcome::Failed(None),
        (false, true) => Outcome::Passed,
        (false, false) => Outcome::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tests_are_known_by_their_runner() {
        for command in [
            "cargo test",
            "cd a && RUST_LOG=x cargo nextest run --all 2>&1 | tail -3",
            "timeout 60 npm test",
            "npm run test:unit",
            "npx vitest run",
            "uv run pytest -q",
            "python3 -m pytest tests",
            "python -m unittest",
            "go test ./...",
            "python manage.py test app",
            "make -j4 check",
            "sh ./test.sh",
            "./scripts/run-tests.sh fast",
            "bundle exec rspec",
            "./gradlew test",
            "bash -e scripts/test",
        ] {
            assert!(test_name(command).is_some(), "{command}");
        }
        for command in [
            "cat test.sh",
            "grep -rn test src",
            "git commit -m 'cargo test passes'",
            "cargo build",
            "ls tests/",
            "echo 'pytest; cargo test'",
            "npm install",
            "cat > run.sh <<'EOF'\ncargo test\nEOF",
            "python3 manage.py migrate",
            "",
        ] {
            assert!(test_name(command).is_none(), "{command}");
        }
    }

    #[test]
    fn a_test_is_the_same_however_it_prints() {
        for command in
            ["cargo test", "cargo test --quiet", "cd a && cargo test 2>&1 | tail -3", "X=1 cargo test -q >log"]
        {
            assert_eq!(test_name(command).unwrap(), "cargo test", "{command}");
        }
        assert_eq!(test_name("pytest -q a.py").unwrap(), "pytest a.py");
        assert_eq!(test_name("ls"), None);
    }

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
            ("set -o pipefail; cargo test | tail -5", 0, "", Outcome::Passed),
            ("cargo test || true", 0, "", Outcome::Unknown),
            ("pytest; echo done", 0, "= 2 failed, 3 passed in 1s =", Outcome::Failed(None)),
            ("pytest; echo done", 0, "= 3 passed in 1s =", Outcome::Passed),
            ("npm test &", 0, "", Outcome::Unknown),
            ("cargo fmt && cargo test && git push", 0, "", Outcome::Passed),
            ("ls | grep x", 0, "", Outcome::Passed),
        ] {
            assert_eq!(judge(command, code, output), expected, "{command}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_judged(command in "[a-z|&;'\"=/ \n>é]{0,40}", output in any::<String>()) {
            // Only a test whose exit code is another program's is judged by its output.
            let is_judged_by_output = test_name(&command).is_some() && !is_own_exit_code(&command);
            let expected = if is_judged_by_output { by_output(&output) } else { Outcome::Passed };
            prop_assert_eq!(judge(&command, 0, &output), expected);
            prop_assert_eq!(judge(&command, 3, &output), Outcome::Failed(Some(3)));
            prop_assert!(test_name(&output).is_none_or(|name| !name.is_empty() && name.len() <= output.len()));
        }
    }
}
