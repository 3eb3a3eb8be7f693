//! Which commands are tests. A program or path with "test" in its name is not one by that alone.

use super::command_line::{parts, program};

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
    "pest",
    "phpunit",
    "py.test",
    "pytest",
    "rspec",
    "tap",
    "tox",
    "vitest",
];
/// Programs that run tests if one of these is their verb.
const TOOLS: &[(&str, &[&str])] = &[
    ("bazel", &["test"]),
    ("bazelisk", &["test"]),
    ("cabal", &["test"]),
    ("cargo", &["test", "t", "nextest"]),
    ("cypress", &["run"]),
    ("dart", &["test"]),
    ("dotnet", &["test"]),
    ("flutter", &["test"]),
    ("forge", &["test"]),
    ("go", &["test"]),
    ("gotestsum", &[]),
    ("hatch", &["test"]),
    ("lein", &["test"]),
    ("meson", &["test"]),
    ("mix", &["test"]),
    ("moon", &["test"]),
    ("ng", &["test"]),
    ("node", &["--test"]),
    ("playwright", &["test"]),
    ("rails", &["test"]),
    ("stack", &["test"]),
    ("swift", &["test"]),
    ("tsx", &["--test"]),
    ("zig", &["test"]),
];
/// Programs that run tasks by name: a task may be a test by its name.
const TASK_RUNNERS: &[&str] = &[
    "ant", "bun", "composer", "deno", "dune", "gradle", "gradlew", "grunt", "gulp", "inv", "invoke", "just", "lage",
    "make", "gmake", "mill", "mise", "moon", "mvn", "mvnw", "ninja", "npm", "nx", "pnpm", "poe", "rake", "rtx", "rush",
    "sbt", "task", "turbo", "yarn",
];
/// Task runners that have no verbs of their own, only tasks.
const ONLY_TASKS: &[&str] =
    &["ant", "gmake", "gradle", "gradlew", "just", "make", "mvn", "mvnw", "ninja", "rake", "sbt", "task"];
/// Task runners for which these tasks are tests, too.
const TASKS: &[(&str, &[&str])] = &[
    ("gradle", &["check"]),
    ("gradlew", &["check"]),
    ("make", &["check"]),
    ("gmake", &["check"]),
    ("mvn", &["verify"]),
    ("mvnw", &["verify"]),
    ("npm", &["t"]),
    ("pnpm", &["t"]),
    ("rake", &["spec"]),
];
/// Verbs after which nothing is a test: `npm install test`, `cargo run test`.
const OTHER_VERBS: &[&str] = &[
    "add",
    "bench",
    "build",
    "cache",
    "check",
    "clean",
    "clippy",
    "config",
    "create",
    "doc",
    "env",
    "explain",
    "fmt",
    "get",
    "graph",
    "i",
    "info",
    "init",
    "install",
    "link",
    "list",
    "ls",
    "new",
    "outdated",
    "pkg",
    "prune",
    "publish",
    "remove",
    "rm",
    "show",
    "trust",
    "uninstall",
    "unlink",
    "update",
    "upgrade",
    "use",
    "vet",
    "view",
    "watch",
    "why",
];
/// Words in a task's name that say that it prepares or accompanies tests.
const NOT_A_TEST: &[&str] = &[
    "build", "clean", "compile", "data", "db", "debug", "deploy", "deps", "dev", "docker", "down", "env", "fixtures",
    "generate", "image", "install", "lint", "list", "migrate", "mock", "prepare", "publish", "seed", "serve", "server",
    "setup", "start", "stop", "teardown", "types", "up", "update",
];
/// Words of which the name of a script that runs all tests consists.
const SCRIPT_WORDS: &[&str] =
    &["all", "check", "ci", "e2e", "fast", "integration", "run", "runtests", "smoke", "test", "tests", "unit"];
const SHELLS: &[&str] = &["bash", "dash", "sh", "zsh"];
const INTERPRETERS: &[&str] = &["bun", "deno", "node", "perl", "php", "python", "python3", "ruby", "ts-node", "tsx"];

/// The identity of a test: its program and arguments without options and redirections. `None` if the command is not a test.
/// `prints_outcome` says whether its output is that of a test; then a script that is only named like one is a test, too.
pub(super) fn test_name(command: &str, prints_outcome: bool) -> Option<String> {
    let parts = parts(command);
    let (part, _) = parts.iter().rfind(|(part, _)| is_test(part, prints_outcome))?;
    let (program, arguments) = program(part)?;
    let names = arguments.into_iter().filter(|word| !word.starts_with('-') && !word.contains('>') && *word != "run");
    Some(std::iter::once(program.as_str()).chain(names).collect::<Vec<_>>().join(" "))
}

/// Whether a command runs tests, by its words alone.
pub(crate) fn is_check(command: &str) -> bool {
    test_name(command, false).is_some()
}

/// Whether the test `wider` runs everything that the test `narrow` runs: `cargo test` and `cargo test lexer`.
pub(super) fn covers(wider: &str, narrow: &str) -> bool {
    // `pytest tests/a.py` covers `pytest tests/a.py::one`, but not `pytest tests/a.pyx`.
    narrow.strip_prefix(wider).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '/', ':', '.']))
}

pub(super) fn is_test(part: &str, prints_outcome: bool) -> bool {
    let Some((name, arguments)) = program(part) else { return false };
    let is_path = part.split_whitespace().any(|word| word.contains('/') && word.ends_with(&name));
    is_call(&name, &arguments)
        || runs_in_container(&name, &arguments)
        || is_test_script(&name, &arguments, is_path)
        || prints_outcome && is_named_like_one(&name, &arguments, is_path)
}

fn is_call(name: &str, arguments: &[&str]) -> bool {
    if RUNNERS.contains(&name) || name == "gotestsum" {
        return true;
    }
    let words: Vec<&str> = arguments.iter().map(|word| word.trim_matches(['"', '\''])).collect();
    if matches!(name, "python" | "python3" | "py") {
        return is_python_test(&words);
    }
    let plain = words.iter().copied().filter(|word| !word.starts_with(['-', '+']) || *word == "--test");
    if let Some((_, verbs)) = TOOLS.iter().find(|(tool, _)| *tool == name) {
        let first: Vec<&str> = plain.clone().take(2).collect();
        let verb = first.iter().position(|word| verbs.contains(word));
        // The first word may be the value of an option: `cargo --manifest-path a/Cargo.toml test`.
        let is_behind = |at: usize| first[..at].iter().all(|word| !OTHER_VERBS.contains(word) && *word != "run");
        if verb.is_some_and(is_behind) {
            return true;
        }
    }
    let task_words = match name {
        "cargo" if matches!(words.first(), Some(&("make" | "xtask"))) => plain.clone().skip(1).collect(),
        _ if TASK_RUNNERS.contains(&name) => plain.collect::<Vec<_>>(),
        _ => return false,
    };
    let more = TASKS.iter().find(|(tool, _)| *tool == name).map_or(&[][..], |(_, tasks)| tasks);
    let verb = task_words.first().filter(|_| !ONLY_TASKS.contains(&name));
    verb.is_none_or(|verb| !OTHER_VERBS.contains(verb)) && runs_test_task(&task_words, &words, more)
}

/// Whether a task runner's words name a test: `run test:unit`, `web:test`, `run-many -t test`, `vitest run`.
fn runs_test_task(plain: &[&str], words: &[&str], more: &[&str]) -> bool {
    let is_task = |word: &str| more.contains(&word) || is_test_task(word);
    let is_option = |word: &&str| word.strip_prefix("--target=").is_some_and(is_task);
    let mut tasks =
        plain.iter().filter(|word| !matches!(**word, "run" | "r" | "task" | "tasks" | "exec" | "x" | "dlx"));
    let tool = tasks.clone().next().copied().unwrap_or_default();
    let rest: Vec<&str> = words.iter().copied().skip_while(|word| *word != tool).skip(1).collect();
    let calls_tool = RUNNERS.contains(&tool) || TOOLS.iter().any(|(name, _)| *name == tool) && is_call(tool, &rest);
    calls_tool || words.iter().any(is_option) || tasks.by_ref().take(4).any(|word| is_task(word))
}

/// Whether the name of a task is that of a test: `test`, `test:unit`, `web:test`, `unit-tests`.
fn is_test_task(task: &str) -> bool {
    let words: Vec<&str> = task.split([':', '-', '_', '#', '.']).filter(|word| !word.is_empty()).collect();
    let is_word = |word: Option<&&str>| matches!(word, Some(&("test" | "tests")));
    !task.contains(['/', '=', '\\', '*'])
        && !has_extension(task)
        && (is_word(words.first()) || is_word(words.last()))
        && !words.iter().any(|word| NOT_A_TEST.contains(word))
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && (1..=4).contains(&end.len()) && end != "test")
}

fn is_python_test(words: &[&str]) -> bool {
    let module = words.iter().position(|word| *word == "-m").and_then(|at| words.get(at + 1));
    let is_module = module.is_some_and(|module| RUNNERS.contains(module) || *module == "unittest");
    let script = words.iter().position(|word| !word.starts_with('-')).map(|at| &words[at..]);
    is_module || matches!(script, Some([script, "test", ..]) if script.ends_with("manage.py") || *script == "setup.py")
}

/// `docker compose exec web pytest`: whatever stands before the runner is the container's.
fn runs_in_container(name: &str, arguments: &[&str]) -> bool {
    let is_container = matches!(name, "docker" | "docker-compose" | "podman" | "kubectl")
        && arguments.iter().take(4).any(|word| matches!(*word, "exec" | "run"));
    let calls = |at: usize| {
        let name = arguments[at].rsplit('/').next().unwrap_or_default();
        let rest = &arguments[at + 1..];
        // Any word may be a name here, so only a runner's whole call counts.
        (RUNNERS.contains(&name) || !rest.is_empty()) && is_call(name, rest)
    };
    is_container && (1..arguments.len()).any(calls)
}

/// `./run-tests.sh`, `sh scripts/test`: a script whose name says nothing but that it runs tests.
fn is_test_script(name: &str, arguments: &[&str], is_path: bool) -> bool {
    let script = match arguments.iter().find(|word| !word.starts_with('-')) {
        Some(script) if SHELLS.contains(&name) => script.rsplit('/').next().unwrap_or_default(),
        _ if is_path => name,
        _ => return false,
    };
    let stem = script.trim_matches(['"', '\'']);
    let stem = stem.strip_suffix(".sh").or_else(|| stem.strip_suffix(".bash")).unwrap_or(stem);
    let mut words = stem.split(['-', '_', '.']);
    let is_about_tests = words.clone().any(|word| matches!(word, "test" | "tests" | "runtests"));
    is_about_tests && words.all(|word| SCRIPT_WORDS.contains(&word))
}

/// Whether a script has a test's name: `python test_api.py`, `node spec/lexer.spec.js`, `./parser_test`.
fn is_named_like_one(name: &str, arguments: &[&str], is_path: bool) -> bool {
    let script = match arguments.iter().find(|word| !word.starts_with('-')) {
        Some(script) if SHELLS.contains(&name) || INTERPRETERS.contains(&name) => script,
        _ if is_path => name,
        _ => return false,
    };
    let stem = script.rsplit('/').next().unwrap_or_default();
    stem.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| matches!(word, "test" | "tests" | "spec"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_runner() {
        for command in [
            "cargo test",
            "cargo +nightly t lexer",
            "cargo --manifest-path a/Cargo.toml test",
            "cargo make test",
            "cargo xtask test",
            "cd a && RUST_LOG=x cargo nextest run --all 2>&1 | tail -3",
            "timeout 60 npm test",
            "npm t",
            "npm run test:unit",
            "npm run -s test -- --watch=false",
            "npm --prefix web test",
            "npx vitest run",
            "npx turbo run test --filter=web",
            "pnpm -r test",
            "pnpm --filter web test",
            "pnpm exec vitest",
            "pnpm playwright test",
            "yarn jest a",
            "yarn workspace web test",
            "bun test",
            "bun run test:unit",
            "deno task test",
            "deno test a.ts",
            "uv run pytest -q",
            "uv run --with x pytest",
            "hatch test",
            "pdm run pytest",
            "python3 -m pytest tests",
            "python -m unittest",
            "python manage.py test app",
            "go test ./...",
            "gotestsum -- ./...",
            "make -j4 check",
            "make -C web test",
            "make build test",
            "make test-unit",
            "just test",
            "just web-test",
            "mise run test",
            "mise r test:unit",
            "mise test",
            "mise exec -- pytest -q",
            "task test",
            "task web:test",
            "turbo test",
            "turbo run build test",
            "nx test web",
            "nx run web:test",
            "nx run-many -t test",
            "nx run-many --target=test",
            "npx nx affected -t test",
            "rake spec",
            "poe test",
            "moon run :test",
            "./gradlew test",
            "./gradlew :app:test --tests X",
            "mvn -q verify",
            "sbt test",
            "bazel test //...",
            "node --test",
            "sh ./test.sh",
            "./scripts/run-tests.sh fast",
            "bundle exec rspec",
            "bash -e scripts/test",
            "docker compose exec -T web pytest -q",
            "docker run --rm img cargo test",
            "cargo test \\\n  --workspace \\\n  lexer",
            "if ! cargo test; then exit 1; fi",
            "cat > x <<'EOF'\nx\nEOF\ncargo test",
        ] {
            assert!(test_name(command, false).is_some(), "{command}");
        }
    }

    #[test]
    fn a_name_with_test_in_it_is_not_a_test() {
        for command in [
            "",
            "cat test.sh",
            "grep -rn test src",
            "git commit -m 'cargo test passes'",
            "cargo build",
            "cargo run test",
            "cargo run --bin test-server",
            "cargo build --tests",
            "cargo add test-case",
            "cargo install cargo-nextest",
            "ls tests/",
            "echo 'pytest; cargo test'",
            "npm install",
            "npm install test",
            "npm i -D vitest",
            "npm run build",
            "npm run build:test",
            "npm run test:setup",
            "npm run test-server",
            "pnpm add -D vitest",
            "yarn add jest",
            "poetry add pytest",
            "uv add pytest",
            "uv pip install pytest",
            "pip install pytest",
            "go vet ./test",
            "go build ./cmd/test",
            "go run ./test",
            "cat > run.sh <<'EOF'\ncargo test\nEOF",
            "git add \\\n  tests/test_a.py \\\n  ./tests/run",
            "cp a.py \\\n  ./tests/test",
            "python3 manage.py migrate",
            "python3 scripts/seed.py test",
            "python test_api.py",
            "python3 -c 'import test'",
            "node test.js",
            "node scripts/create-test-user.js",
            "./target/debug/my-test-tool --help",
            "./bin/test-server",
            "/tmp/test/app run",
            "tests/fixtures/setup.sh",
            "mise install",
            "mise run lint",
            "mise use pytest",
            "task build",
            "task --list",
            "turbo run build",
            "nx build test-app",
            "nx run web:build",
            "just --list",
            "make build",
            "make tests/data.json",
            "make TEST=1 build",
            "docker run test-image",
            "docker build -t test .",
            "docker exec test ls",
            "test -f x",
            "[ -d tests ]",
            "mkdir -p test && cd test",
            "# cargo test",
            "which pytest",
            "kubectl get pods -n test",
            "terraform test-plan",
            "ssh test ls",
        ] {
            assert_eq!(test_name(command, false), None, "{command}");
        }
    }

    #[test]
    fn a_script_that_prints_what_a_test_prints_is_one() {
        for command in ["python test_api.py", "node test.js", "./build/parser_test", "ruby spec/lexer_spec.rb"] {
            assert!(test_name(command, true).is_some(), "{command}");
        }
        for command in ["cat test.log", "grep failed tests.txt", "gh run view", "python report.py"] {
            assert_eq!(test_name(command, true), None, "{command}");
        }
    }

    #[test]
    fn a_test_is_the_same_however_it_prints() {
        for command in
            ["cargo test", "cargo test --quiet", "cd a && cargo test 2>&1 | tail -3", "X=1 cargo test -q >log"]
        {
            assert_eq!(test_name(command, false).unwrap(), "cargo test", "{command}");
        }
        assert_eq!(test_name("uv run pytest -q a.py", false).unwrap(), "pytest a.py");
        assert_eq!(test_name("npm run test", false), test_name("npm test", false));
        assert_eq!(test_name("ls", false), None);
    }

    #[test]
    fn a_wider_test_covers_a_narrower_one() {
        for (wider, narrow, expected) in [
            ("cargo test", "cargo test", true),
            ("cargo test", "cargo test lexer", true),
            ("cargo test lexer", "cargo test lexer::spans", true),
            ("pytest tests", "pytest tests/test_a.py::one", true),
            ("cargo test lexer", "cargo test", false),
            ("cargo test lex", "cargo test lexer", false),
            ("npm test", "cargo test", false),
        ] {
            assert_eq!(covers(wider, narrow), expected, "{wider} / {narrow}");
        }
    }
}
