//! The picture of the README, drawn from what the program prints: the talk of a session on the left, and on the right the
//! text that another agent receives from its hook the next morning. `SNAPSHOTS=overwrite cargo test --test it picture::`
//! draws it again.

use std::fmt::Write;

use serde_json::json;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::claude_talk::Transcript;
use super::hook::{Session, feed, settled};
use super::support::*;

const NIGHT: &str = "2026-11-15T18:05:00.000Z";
const MORNING: &str = "2026-11-16T08:30:00Z";
/// The characters of a line.
const COLUMNS: usize = 56;
/// The size of a character. A font may be a little narrower, never wider.
const CHARACTER: f64 = 7.83;
const LINE: usize = 19;
const PADDING: usize = 18;
/// The height of the bar above a panel.
const BAR: usize = 34;
const GAP: usize = 20;

/// What each sort of text looks like in the light and in the dark: a class, and its two colours.
const COLORS: &[(&str, &str, &str)] = &[
    ("plain", "#24292f", "#d1d7e0"),
    ("quiet", "#656d76", "#8b949e"),
    ("head", "#0550ae", "#6cb6ff"),
    ("good", "#1a7f37", "#57ab5a"),
    ("bad", "#cf222e", "#f47067"),
];
const PANEL: (&str, &str) = ("#f6f8fa", "#161b22");
const FRAME: (&str, &str) = ("#d0d7de", "#30363d");

/// A session that ends without a note or a handoff: somebody closes the terminal.
fn night(world: &World) -> String {
    let own = world.home().join(".config/agent-handover");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("config.toml"), "[transcripts]\nkeep = \"talk\"\n[warmup]\nbudget = 1000\n").unwrap();
    let mut talk = Transcript::of(world, "night", NIGHT);
    talk.asks("Reject bank statements with a wrong checksum. Never log account numbers.");
    talk.edits("importer/checksum.py");
    talk.runs("pytest -q tests/test_checksum.py", "6 passed", false);
    talk.says(
        "I tried to hash the decoded text, but it did not work: the bank signs the raw bytes. It hashes the bytes now.",
    );
    talk.asks("No, use the csv module, not pandas: the image must stay small");
    talk.edits("importer/loader.py");
    talk.runs("pytest -q tests/test_loader.py", "FAILED tests/test_loader.py::test_latin1", true);
    talk.says("Files from before 2019 are Latin-1. Next: detect the encoding in importer/loader.py:88");
    let end = Session::of(world, "night").payload("SessionEnd", json!({ "reason": "other" })).to_string();
    let mut hook = world.command(&["hook", "--agent", "claude-code"]);
    feed(hook.env("AGENT_HANDOVER_TEST_NOW", NIGHT), end.as_bytes()).expect(0);
    settled(world);
    wait_until("the handover", || world.run(&["check"]).stderr_ignored("a state").code == 2);
    world.run(&["history", "show", "latest", "--talk"]).expect(0).stdout
}

/// What Codex receives when it starts.
fn morning(world: &World) -> String {
    let payload = json!({
        "session_id": "morning", "cwd": world.root(), "hook_event_name": "SessionStart", "source": "startup",
    });
    let mut hook = world.command(&["hook", "--agent", "codex"]);
    let answer = feed(hook.env("AGENT_HANDOVER_TEST_NOW", MORNING), payload.to_string().as_bytes()).expect(0).json();
    settled(world);
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

#[test]
fn the_picture_shows_what_the_program_prints() {
    let world = World::with_git();
    for file in ["importer/checksum.py", "importer/loader.py"] {
        world.write(file, "");
    }
    world.git(&["checkout", "-q", "-b", "main"]);
    world.git(&["add", "importer"]);
    let mut commit = world.clean("git");
    commit.args(["-c", "user.name=Ann", "-c", "user.email=ann@example", "commit", "-q", "-m", "Start"]);
    commit.env("GIT_AUTHOR_DATE", NIGHT).env("GIT_COMMITTER_DATE", NIGHT);
    assert!(commit.status().unwrap().success());
    let left = Panel { title: "last night: Claude Code, until the terminal is closed", text: night(&world) };
    let right = Panel { title: "this morning: what Codex knows when it starts", text: morning(&world) };
    snapbox::assert_data_eq!(draw(&[left, right]), snapbox::file!["../../docs/picture/morning.svg"].raw());
}

struct Panel {
    title: &'static str,
    text: String,
}

/// The panels side by side, as SVG for light and dark pages.
fn draw(panels: &[Panel]) -> String {
    let width = (COLUMNS as f64 * CHARACTER) as usize + 2 * PADDING;
    let lines: Vec<Vec<(&str, String)>> = panels.iter().map(|panel| lines(&panel.text)).collect();
    let heights: Vec<usize> = lines.iter().map(|lines| BAR + lines.len() * LINE + PADDING + 6).collect();
    let whole = panels.len() * (width + GAP) - GAP + 2;
    let titles: Vec<&str> = panels.iter().map(|panel| panel.title).collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {whole} {}\" role=\"img\" aria-label=\"{}\">\n<style>\n{}</style>\n",
        heights.iter().max().unwrap_or(&0) + 2,
        escaped(&titles.join("; ")),
        style(),
    );
    for (number, ((panel, lines), height)) in panels.iter().zip(&lines).zip(&heights).enumerate() {
        let x = 1 + number * (width + GAP);
        let left = x + PADDING;
        writeln!(svg, "<rect class=\"panel\" x=\"{x}\" y=\"1\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>")
            .unwrap();
        writeln!(svg, "<text class=\"quiet title\" x=\"{left}\" y=\"23\">{}</text>", escaped(panel.title)).unwrap();
        writeln!(svg, "<path class=\"frame\" d=\"M{x} {BAR}h{width}\"/>").unwrap();
        for (row, (class, line)) in lines.iter().enumerate().filter(|(_, (_, line))| !line.is_empty()) {
            let y = BAR + 6 + (row + 1) * LINE;
            writeln!(svg, "<text class=\"{class}\" x=\"{left}\" y=\"{y}\">{}</text>", escaped(line)).unwrap();
        }
    }
    svg + "</svg>\n"
}

fn style() -> String {
    let theme = |pick: fn(&(&'static str, &'static str)) -> &'static str| {
        let color = |(class, light, dark): &(&str, &'static str, &'static str)| {
            format!(".{class}{{fill:{}}}", pick(&(*light, *dark)))
        };
        let colors: String = COLORS.iter().map(color).collect();
        format!(".panel{{fill:{};stroke:{}}}.frame{{stroke:{}}}{colors}", pick(&PANEL), pick(&FRAME), pick(&FRAME))
    };
    format!(
        "text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}\n\
         .title,.head{{font-weight:600}}\n{}\n@media (prefers-color-scheme:dark){{{}}}\n",
        theme(|(light, _)| light),
        theme(|(_, dark)| dark),
    )
}

/// The lines of a text, none wider than a panel, each with the class of its text.
fn lines(text: &str) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for line in text.trim_end().lines() {
        let class = class_of(line);
        let indent = if line.starts_with("- ") { "  " } else { "" };
        let mut part = String::new();
        for word in line.split(' ') {
            if part.width() + 1 + word.width() > COLUMNS && !part.trim().is_empty() {
                lines.push((class, std::mem::replace(&mut part, indent.to_owned() + word)));
            } else {
                part = if part.is_empty() { word.to_owned() } else { format!("{part} {word}") };
            }
        }
        lines.push((class, part));
    }
    assert!(lines.iter().all(|(_, line)| line.chars().filter_map(UnicodeWidthChar::width).sum::<usize>() <= COLUMNS));
    lines
}

fn class_of(line: &str) -> &'static str {
    match line {
        line if line.starts_with("## ") || line.starts_with("**Request**") => "head",
        line if line.starts_with("<!--") || line.starts_with("Records of ") || line.starts_with("# ") => "quiet",
        line if line.contains("` failed") || line.contains("(failed") => "bad",
        line if line.contains("` passed") || line.contains("(passed") => "good",
        _ => "plain",
    }
}

/// The text as it is in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
