//! What a person sees on a real terminal: a pseudo terminal that script(1) makes, and the screen that its output leaves.

use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};

use super::support::*;

/// The screen that output leaves on a terminal of this width, as far as this program uses one.
fn screen(output: &str, columns: usize) -> String {
    let (mut rows, mut row, mut column) = (vec![Vec::new()], 0, 0);
    let mut rest = output.chars();
    while let Some(c) = rest.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\x1b' => {
                let sequence: String = rest.by_ref().skip(1).take_while_inclusive(|c| !c.is_ascii_alphabetic());
                match sequence.as_str() {
                    "J" => {
                        rows.truncate(row + 1);
                        rows[row].truncate(column);
                    }
                    "2K" => rows[row].clear(),
                    "K" => rows[row].truncate(column),
                    colour => assert!(colour.ends_with('m'), "an escape sequence that is not known here: {colour:?}"),
                }
            }
            c => {
                if column == columns {
                    (row, column) = (row + 1, 0);
                }
                rows.resize(rows.len().max(row + 1), Vec::new());
                let length = rows[row].len().max(column + 1);
                rows[row].resize(length, ' ');
                rows[row][column] = c;
                column += 1;
            }
        }
        rows.resize(rows.len().max(row + 1), Vec::new());
    }
    let lines = rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

trait TakeWhileInclusive: Iterator<Item = char> {
    /// The characters up to the first that does not fit, and that one.
    fn take_while_inclusive(self, fits: impl Fn(char) -> bool) -> String;
}

impl<I: Iterator<Item = char>> TakeWhileInclusive for I {
    fn take_while_inclusive(mut self, fits: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        for c in self.by_ref() {
            taken.push(c);
            if !fits(c) {
                break;
            }
        }
        taken
    }
}

/// A command of the program on a terminal of its own with this many columns. What it prints goes to a file.
struct Terminal<'a> {
    world: &'a World,
    columns: usize,
    child: Child,
}

impl<'a> Terminal<'a> {
    fn start(world: &'a World, columns: usize, arguments: &str) -> Terminal<'a> {
        let output = File::create(world.path("../screen")).unwrap();
        let mut script = world.clean("script");
        script.args(["-qec", &format!("stty cols {columns} rows 24; {BINARY} {arguments}"), "/dev/null"]);
        script.env("TERM", "xterm").env("SHELL", "/bin/sh").env("AGENT_HANDOVER_AGENT", "codex");
        let child = script.stdin(Stdio::piped()).stdout(output).stderr(Stdio::null()).spawn().unwrap();
        Terminal { world, columns, child }
    }

    fn printed(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.world.path("../screen")).unwrap()).into_owned()
    }

    fn screen(&self) -> String {
        screen(&self.printed(), self.columns)
    }

    fn press(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// The screen when the command has ended, and its exit code.
    fn end(mut self) -> (String, i32) {
        let status = self.child.wait().unwrap();
        (self.screen(), status.code().unwrap())
    }
}

/// Whether this machine has what these tests need. The reason is reported if it has not.
fn has_terminals() -> bool {
    // script(1) of macOS has other flags.
    let has = cfg!(target_os = "linux") && is_installed("script") && is_installed("stty");
    if !has {
        skip("no script(1) of util-linux");
    }
    has
}

/// A project whose second step prints a long line and then waits for the file `go`.
fn slow() -> World {
    let world = World::with_git();
    let script = "echo 'the lexer is tested with every number that has a sign, a point and an exponent'; \
        until test -e go; do sleep 0.01; done";
    let step = |name: &str, rest: &str| format!("[[step]]\nname = \"{name}\"\n{rest}\n\n");
    let plan = step("note", "kind = \"note\"") + &step("tests", &format!("kind = \"command\"\nshell = \"{script}\""));
    world.write("handover.toml", plan);
    world
}

#[test]
fn messages_break_between_words() {
    if !has_terminals() {
        return;
    }
    let world = World::with_git();
    let long = "Errors carry spans, not line numbers, because editors jump by column and people read by line";
    world.run(&["memory", "add", "decision", long]).expect(0);
    world.run(&["history", "create", "--quiet", "--goal", long, "--next", "Underline columns"]).expect(0);
    let words = ["numbers,", "because", "Underline", "columns", "agent-handover", "expected"];
    for columns in [40, 60, 80] {
        world.write("handover.toml", "");
        // An error with a hint, documents, a list, and what clap finds wrong.
        for arguments in ["memory done zzzz", "history show latest", "warmup", "memory list", "run --wait soon"] {
            let (screen, code) = Terminal::start(&world, columns, arguments).end();
            assert!([0, 1, 64].contains(&code), "{arguments}: {screen}");
            // A word that a terminal breaks is whole only if the lines are joined again.
            let joined = screen.replace('\n', "");
            for word in words.iter().filter(|word| joined.contains(**word)) {
                let is_whole = screen.matches(word).count() == joined.matches(word).count();
                assert!(is_whole, "`{word}` is broken in `{arguments}` at {columns}:\n{screen}");
            }
        }
        // A wrong config, with a help of several lines.
        world.write("handover.toml", "[[step]]\nname = \"a\"\nkind = \"command\"\nretry_after = 1\n");
        let (screen, code) = Terminal::start(&world, columns, "check").end();
        assert_eq!(code, 65, "{screen}");
        assert!(screen.contains("\n          `") && screen.contains("`on_interrupt`"), "at {columns}:\n{screen}");
    }
}

#[test]
fn the_line_of_a_slow_step_is_shown_and_removed() {
    if !has_terminals() {
        return;
    }
    let world = slow();
    let terminal = Terminal::start(&world, 60, "run words");
    let mut line = String::new();
    wait_until("the line of the step with the end of its output", || {
        line = terminal.screen().lines().last().unwrap_or_default().to_owned();
        line.starts_with("… tests (2 of 2)  ") && line.contains("the lexer is") && line.ends_with('…')
    });
    assert!(line.chars().count() <= 52, "{line}");
    world.write("go", "");
    let (screen, code) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("… tests") && !screen.contains("\n\n"), "{screen}");
    assert!(screen.contains("\n✓ tests  "), "{screen}");
}

#[test]
fn the_line_of_a_step_is_removed_after_ctrl_c() {
    if !has_terminals() {
        return;
    }
    let world = slow();
    let mut terminal = Terminal::start(&world, 60, "run words");
    wait_until("the line of the step", || terminal.screen().contains("… tests (2 of 2)  "));
    terminal.press("\x03");
    let (screen, code) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert!(!screen.contains("… tests") && !screen.contains("^C"), "{screen}");
    assert!(screen.contains("`agent-handover run --resume` continues"), "{screen}");
}
