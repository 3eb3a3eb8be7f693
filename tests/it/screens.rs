//! What a person sees of the daily commands, at fixed widths of the terminal.

use std::process::Command;

use super::support::*;

/// The moment at which the screens are looked at.
const MORNING: &str = "2026-11-16T09:00:00+00:00";

/// A project with a few days of work.
fn week() -> World {
    let world = World::with_git();
    let at = |time: &str, arguments: &[&str]| {
        finish(world.command(arguments).env("AGENT_HANDOVER_TEST_NOW", time)).stderr_ignored("progress").expect(0);
    };
    let long = "Refactor the configuration reader so that every key is read once and described by the same table";
    at("2026-11-10T09:00:00Z", &["run", "--agent", "claude-code", "ISO dates are parsed; next: leap seconds"]);
    at("2026-11-12T09:00:00Z", &["history", "create", "--goal", long, "--next", "Describe the key timeout"]);
    at("2026-11-15T18:00:00Z", &["run", "--agent", "codex", "fixed the parser; next: spans"]);
    at("2026-11-16T08:00:00Z", &["history", "create", "--goal", "Spans in errors", "--next", "Underline columns"]);
    let decision = "Errors carry spans, not line numbers, because editors jump by column and people read by line";
    at("2026-11-16T08:10:00Z", &["memory", "add", "decision", decision]);
    at("2026-11-16T08:20:00Z", &["memory", "add", "todo", "Measure the parser on the 100 MB log"]);
    world
}

/// The daily commands.
const DAILY: &[&[&str]] = &[
    &[],
    &["status"],
    &["history", "list"],
    &["memory", "list"],
    &["memory", "list", "--layer", "1"],
    &["search", "parser"],
];

fn screen(world: &World, arguments: &[&str], width: usize, more: &[&str]) -> String {
    let mut command: Command = world.command(arguments);
    command.args(more).env("COLUMNS", width.to_string()).env("AGENT_HANDOVER_TEST_NOW", MORNING);
    let seen = finish(&mut command).expect(0).stdout;
    seen.replace(&world.place().display().to_string(), "$WORLD")
}

fn screens(world: &World, width: usize, more: &[&str]) -> String {
    let one = |arguments: &&[&str]| {
        let line = ["agent-handover"].iter().chain(*arguments).copied().collect::<Vec<_>>().join(" ");
        format!("$ {line}\n{}\n", screen(world, arguments, width, more))
    };
    let durations = regex::Regex::new(r"\d+ ms").unwrap();
    durations.replace_all(&DAILY.iter().map(one).collect::<String>(), "N ms").into_owned()
}

#[test]
fn daily_commands_at_80_and_120_columns() {
    let world = week();
    snapbox::assert_data_eq!(screens(&world, 80, &[]), snapbox::file!["../data/screens/80.txt"].raw());
    snapbox::assert_data_eq!(screens(&world, 120, &[]), snapbox::file!["../data/screens/120.txt"].raw());
    let colored = screens(&world, 80, &["--color", "always"]).replace('\x1b', "ESC");
    snapbox::assert_data_eq!(colored, snapbox::file!["../data/screens/80-color.txt"].raw());
}

#[test]
fn no_screen_is_wider_than_the_terminal() {
    let world = week();
    // A step that failed has a long line.
    let failing = "[[step]]\nname = \"gate\"\nkind = \"command\"\nrun = [\"no-such-program-of-this-machine\"]\n";
    world.write("handover.toml", failing);
    world.run(&["run", "--note", "more"]).stderr_ignored("it fails").expect(1);
    for width in [60, 72, 100, 200] {
        for arguments in DAILY.iter().chain([&["doctor"][..], &["doctor", "--simulate", "claude"]].iter()) {
            let screen = screen(&world, arguments, width, &[]);
            let is_too_wide = |line: &&str| line.chars().count() > width;
            assert_eq!(screen.lines().find(is_too_wide), None, "{arguments:?} at {width}");
        }
    }
}

#[test]
fn the_ids_that_lists_show_are_accepted() {
    let world = week();
    let list = screen(&world, &["history", "list"], 120, &[]);
    let ids: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(ids, ["2026-11-16-0800", "2026-11-15-1800", "2026-11-12-0900", "2026-11-10-0900"]);
    for id in ids {
        for command in [&["history", "show", id][..], &["history", "render", id], &["history", "export", id]] {
            world.run(command).expect(0);
        }
    }
    let status = screen(&world, &["status"], 80, &[]);
    let run = status.lines().find_map(|line| line.strip_prefix("run: ")).unwrap().split(' ').next().unwrap().to_owned();
    assert_eq!(run.len(), 8, "{status}");
    world.run(&["status", "--run", &run]).expect(0);
    world.run(&["logs", &run]).expect(0).stderr_ignored("it printed nothing");
}

#[test]
fn an_id_that_two_sessions_of_one_minute_share_is_shown_longer() {
    let world = World::new();
    for goal in ["Ship the parser", "Ship the lexer"] {
        world.run(&["history", "create", "--goal", goal, "--next", "Tag it"]).expect(0);
    }
    let list = world.run(&["history", "list"]).expect(0).stdout;
    assert!(list.contains("2026-11-15-1004-ship-the-parser\n"), "{list}");
    assert!(list.contains("2026-11-15-1004-ship-the-lexer\n"), "{list}");
}

#[test]
fn a_wrong_config_is_shown_by_doctor_as_check_shows_it_and_once() {
    let world = World::with_config("[handover]\ntag = 7\n");
    let checked = world.run(&["check"]).expect(65);
    let examined = world.run(&["doctor"]).expect(5);
    let complaint = "must be a string, found `7`";
    assert!(checked.stderr.contains(complaint), "{}", checked.stderr);
    assert_eq!((examined.stderr.to_owned() + &examined.stdout).matches(complaint).count(), 1, "{}", examined.stderr);
    assert!(examined.stderr.contains("tag = 7"), "{}", examined.stderr);
}

#[test]
fn a_dry_run_of_install_colours_its_diff_only_where_it_is_wanted() {
    let world = World::new();
    let diff = |color: &str| {
        world
            .run(&["install", "claude", "--dry-run", "--color", color])
            .stderr_ignored("where the program of the tests is")
    };
    let (plain, colored) = (diff("never").stdout, diff("always").stdout);
    assert!(!plain.contains('\x1b') && plain.contains("\n+"), "{plain}");
    assert!(colored.contains("\n\x1b[32m+"), "{colored}");
}

#[test]
fn a_simulation_shows_the_text_and_not_the_json_around_it() {
    let world = week();
    let shown = screen(&world, &["doctor", "--simulate", "claude"], 100, &[]);
    assert!(shown.contains("  | ## Goal\n  | - Spans in errors\n"), "{shown}");
    assert!(!shown.contains("hookSpecificOutput") && !shown.contains("\\n"), "{shown}");
    assert!(shown.contains("\nnothing is sent at: "), "{shown}");
}

#[test]
fn a_run_ends_with_one_line_that_says_how_it_went() {
    let world = World::with_git();
    let run = world.run(&["run", "fixed the parser"]).expect(0);
    let last = run.stderr.lines().last().unwrap().to_owned();
    assert!(last.starts_with("✓ handed over  ") && last.contains(" steps done, in "), "{last}");
    assert!(run.stdout.starts_with("handover steps executed: "));
    let quiet = world.run(&["run", "--quiet", "more"]).expect(0);
    assert_eq!(&*quiet.stderr, "");
}

/// A handover that went on without a step must not look as if all was well.
#[test]
fn the_last_line_of_a_run_names_the_steps_that_failed() {
    let step = |name: &str, program: &str| {
        format!("[[step]]\nname = \"{name}\"\nkind = \"command\"\nrun = [\"{program}\"]\non_failure = \"continue\"\n")
    };
    let world = World::with_config(&[step("good", "true"), step("gate", "false"), step("silent", "true")].concat());
    let run = world.run(&["run", "--note", "n"]).expect(0);
    let last = run.stderr.lines().last().unwrap().to_owned();
    assert!(last.starts_with("✓ handed over  2 steps done, 1 failed (gate), in "), "{last}");
    let logs = world.run(&["logs", "silent"]).expect(0).stdout;
    assert_eq!(logs, "== silent (printed nothing)\n");
}

#[test]
fn a_mistyped_command_line_is_answered_with_the_command_to_type() {
    let world = World::new();
    for (typed, said) in [
        (&["staus"][..], "error: `staus` is not a command\nhint: did you mean `agent-handover status`?\n"),
        (&["instal", "claude"], "error: `instal` is not a command\nhint: did you mean `agent-handover install`?\n"),
        (&["memory", "ad"], "error: `ad` is not a command\nhint: did you mean `agent-handover memory add`?\n"),
        (&["rnu"], "error: `rnu` is not a command\nhint: did you mean `agent-handover run`?\n"),
        (
            &["run", "--nte", "x"],
            "error: `--nte` is not an option of `agent-handover run`\nhint: did you mean `--note`?\n\
             hint: `agent-handover run --help` explains it\n",
        ),
        (
            &["push", "extra"],
            "error: `extra` is not an argument of `agent-handover push`\nhint: `agent-handover push --help` explains it\n",
        ),
        (
            &["memory", "add"],
            "error: `agent-handover memory add` needs <CATEGORY> and <TEXT>\n\
             hint: for example `agent-handover memory add goal \"Report the position of parse errors\"`; \
             `agent-handover memory add --help` explains it\n",
        ),
        (
            &["completions", "tcsh"],
            "error: `<SHELL>` cannot be `tcsh`: expected bash, zsh, fish, elvish, powershell\n\
             hint: `agent-handover completions --help` explains it\n",
        ),
        (
            &["history", "list", "--limit", "x"],
            "error: `--limit <COUNT>` cannot be `x`: expected a whole number\n\
             hint: `agent-handover history list --help` explains it\n",
        ),
        (
            &["run", "--resume", "now"],
            "error: `--resume` cannot be combined with `[NOTE]`\nhint: `agent-handover run --help` explains it\n",
        ),
        (&["run", "--note"], "error: `--note <TEXT>` needs a value\nhint: `agent-handover run --help` explains it\n"),
        (
            &["status", "-q", "-q"],
            "error: `--quiet` is given more than once\nhint: `agent-handover status --help` explains it\n",
        ),
        (
            &["todo", "fix", "it"],
            "error: `todo` is not a command\nhint: you may mean `agent-handover memory add todo 'fix it'`\n",
        ),
        (
            &["import", "a.json"],
            "error: `import` is not a command\nhint: you may mean `agent-handover history import a.json`\n",
        ),
        (&["continue", "claud", "--print"], "error: there is no agent `claud`\nhint: did you mean `claude`?\n"),
        (&["qqq"], "error: `qqq` is not a command\nhint: `agent-handover --help` lists all commands\n"),
        (
            &["export", "--latest", "a b"],
            "error: `export` is not a command\nhint: you may mean `agent-handover history export --latest 'a b'`\n",
        ),
        (&["note", "x"], "error: `note` is not a command\nhint: you may mean `agent-handover run x`\n"),
        (
            &["note"],
            "error: `note` is not a command\nhint: you may mean `agent-handover run \"what this session did\"`\n",
        ),
    ] {
        assert_eq!(&*world.run(typed).expect(64).stderr, said);
    }
    for (typed, hint) in [
        (
            &["continue"][..],
            "hint: for example `agent-handover continue codex`; `agent-handover continue --help` explains it",
        ),
        (&["install"], "hint: for example `agent-handover install all`; `agent-handover install --help` explains it"),
        (&["run", "wrote", "the", "spans"], "hint: put a text of several words in quotes"),
        (&["memory", "add", "todo", "measure", "it"], "hint: put a text of several words in quotes"),
    ] {
        let said = world.run(typed).expect(64).stderr;
        assert_eq!(said.lines().last(), Some(hint), "{said}");
        assert!(!said.contains("For more information"), "{said}");
    }
}

#[test]
fn a_command_group_alone_prints_its_help_and_nothing_else() {
    let help = World::new().run(&["memory"]).expect(64).stderr;
    assert!(help.contains("\nCommands:\n") && !help.contains("hint:"), "{help}");
    let (own, of_all) = help.split_once("\nOptions of every command:\n").unwrap();
    assert!(own.contains("--help") && !own.contains("--utc") && of_all.contains("--utc"), "{help}");
}

#[test]
fn why_a_step_failed_is_printed_once() {
    let world = World::with_git();
    let step =
        |rest: &str| format!("[[step]]\nname = \"tests\"\nkind = \"command\"\nrun = [\"no-such-program\"]\n{rest}\n");
    for (rest, code) in [("", 1), ("on_failure = \"continue\"", 0)] {
        world.write("handover.toml", step(rest));
        let told = world.run(&["run", "--restart", "--note", "n"]).expect(code).stderr;
        assert_eq!(told.matches("cannot start `no-such-program`").count(), 1, "{told}");
        assert_eq!(told.matches("✗ tests  ").count(), 1, "{told}");
    }
    // Each attempt is reported when it fails, and why the last one did with the error.
    world.write("handover.toml", step("retries = 1"));
    let told = world.run(&["run", "--restart", "--note", "n"]).expect(1).stderr;
    assert_eq!(told.matches("✗ tests  ").count(), 2, "{told}");
    assert_eq!(told.matches("cannot start `no-such-program`").count(), 2, "{told}");
}

#[test]
fn color_is_as_it_is_asked_for_also_in_help_and_in_what_is_wrong() {
    let world = World::new();
    for (color, is_colored) in [("--color=always", true), ("--color=never", false), ("--color=auto", false)] {
        let help = world.run(&[color, "status", "--help"]).expect(0).stdout;
        let wrong = world.run(&["status", "--nonsense", color]).expect(64).stderr;
        assert_eq!([&*help, &*wrong].map(|said| said.contains('\x1b')), [is_colored; 2], "{color}: {help} {wrong}");
    }
}

/// Every other command is refused while handovers are paused.
#[test]
fn the_home_view_names_the_end_of_a_pause_before_what_the_pause_refuses() {
    let world = World::with_git();
    world.run(&["pause"]).expect(0);
    world.run(&["run", "--note", "n"]).stderr_ignored("it waits").expect(3);
    let home = world.run(&[]).expect(0).stdout;
    let needs: Vec<&str> = home.lines().filter(|line| line.starts_with("! ")).collect();
    assert_eq!(
        needs,
        [
            "! handovers are paused: `agent-handover unpause`",
            "! a handover is unfinished: `agent-handover run --resume`"
        ]
    );
}
