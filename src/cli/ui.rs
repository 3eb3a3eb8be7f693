//! The only access to the terminal. The answer goes to stdout; progress, warnings and errors go to stderr.

#![allow(clippy::disallowed_methods)]

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use chrono::{DateTime, FixedOffset};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use unicode_width::UnicodeWidthStr;

use super::live::LiveLine;
use super::paint::{self, Line, Role};
use super::table::{self, Table};
use super::when;
use crate::base::fs::Anchor;
use crate::base::{clock, env, text};
use crate::guard::secrets;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

pub(super) struct Ui {
    /// Whether stderr has colour.
    color: anstream::ColorChoice,
    /// Whether the answer on stdout has colour.
    is_answer_colored: bool,
    quiet: bool,
    /// Whether stderr is a terminal that can rewrite a line.
    live: bool,
    /// The line that shows what is going on.
    running: RefCell<Option<LiveLine>>,
    /// The first error while writing the answer.
    failed: Option<io::Error>,
    /// How another tool prints, if the program was started under its name.
    voice: Option<Voice>,
    /// Whether times are shown in UTC.
    is_utc: bool,
}

/// How the lines of another tool look.
pub(super) struct Voice {
    /// What a warning begins with.
    pub warning: String,
    /// What an error begins with.
    pub error: String,
    /// A line of ours as that tool prints it; `None` if it prints no such line.
    pub line: fn(&str) -> Option<String>,
}

/// How long work takes before it gets a bar.
const BEFORE_BAR: Duration = Duration::from_millis(500);
/// Where a line begins that has no room below the text before it.
const NEAR: usize = 4;
/// How much of a log is looked at for its last line.
const LAST_BYTES: u64 = 2048;

impl Ui {
    pub(super) fn new(color: Color, quiet: bool) -> Ui {
        let choice = |automatic: anstream::ColorChoice| match color {
            Color::Auto => automatic,
            Color::Always => anstream::ColorChoice::AlwaysAnsi,
            Color::Never => anstream::ColorChoice::Never,
        };
        let is_answer_colored = has_color(choice(anstream::AutoStream::choice(&io::stdout())));
        let color = choice(anstream::AutoStream::choice(&io::stderr()));
        let live = !quiet && io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Ui {
            color,
            is_answer_colored,
            quiet,
            live,
            running: RefCell::new(None),
            failed: None,
            voice: None,
            is_utc: false,
        }
    }

    pub(super) fn with_utc(self, is_utc: bool) -> Ui {
        Ui { is_utc, ..self }
    }

    /// A time as a person says it, such as `2 h ago`, or in UTC.
    pub(super) fn when(&self, then: &DateTime<FixedOffset>) -> String {
        if self.is_utc { when::utc(then) } else { when::ago(&clock::now(), then) }
    }

    pub(super) fn with_voice(self, voice: Voice) -> Ui {
        Ui { voice: Some(voice), ..self }
    }

    pub(super) fn is_colored(&self) -> bool {
        has_color(self.color)
    }

    /// The width of the terminal on stdout, or `COLUMNS`. `None` if both are unknown.
    pub(super) fn width(&self) -> Option<usize> {
        if io::stdout().is_terminal() {
            let size = dialoguer::console::Term::stdout().size_checked();
            return size.map(|(_, columns)| usize::from(columns)).filter(|columns| *columns > 0);
        }
        env::get_text("COLUMNS")?.parse().ok()
    }

    /// Whether a person can be asked. stdout need not be a terminal, because it gets only the answer.
    pub(super) fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Whether a person can use an editor: it needs the whole terminal.
    pub(super) fn can_edit(&self) -> bool {
        self.can_ask() && io::stdout().is_terminal() && !self.quiet
    }

    /// Prints a line of the answer. A terminal gets it in lines that are not wider than it is.
    pub(super) fn answer(&mut self, line: &str) {
        let line = match &self.voice {
            Some(voice) => (voice.line)(line),
            None => Some(line.to_owned()),
        };
        let Some(line) = line else { return };
        let width = self.width().filter(|_| self.voice.is_none() && io::stdout().is_terminal());
        self.write(&(table::fold(&text::for_terminal(&line), width).join("\n") + "\n"));
    }

    /// Prints a line that somebody else wrote, such as output of a command, in one piece.
    pub(super) fn answer_quoted(&mut self, line: &str) {
        self.write(&(text::for_terminal(line) + "\n"));
    }

    /// Prints a line of the answer whose parts look different.
    pub(super) fn answer_line(&mut self, line: &Line) {
        if self.voice.is_some() {
            return self.answer(&line.render(false, str::to_owned));
        }
        self.write(&(line.render(self.is_answer_colored, text::for_terminal) + "\n"));
    }

    pub(super) fn answer_table(&mut self, table: &Table) {
        for line in table.painted(self.width()) {
            self.answer_line(&line);
        }
    }

    /// Prints a text behind a lead. On a terminal, further lines of it begin where the first one does.
    pub(super) fn answer_hanging(&mut self, role: Role, lead: &str, text: &str) {
        let room = self.width().map(|width| width.saturating_sub(lead.width()));
        let mut lead = lead.to_owned();
        for part in table::wrap(text, room) {
            let next = " ".repeat(lead.width());
            self.answer_line(&Line::of(role, std::mem::replace(&mut lead, next)).plain(part));
        }
    }

    /// Writes a part of the answer. A closed pipe is not an error.
    fn write(&mut self, whole: &str) {
        self.clear_live();
        if let Err(cause) = io::stdout().lock().write_all(whole.as_bytes())
            && cause.kind() != io::ErrorKind::BrokenPipe
        {
            self.failed.get_or_insert(cause);
        }
    }

    /// Prints a text that somebody may keep, such as a key, a bundle or a document: unchanged, except on a terminal.
    pub(super) fn answer_text(&mut self, whole: &str) {
        let shown = if io::stdout().is_terminal() { text::for_terminal(whole) } else { whole.to_owned() };
        self.write(&shown);
    }

    /// Prints a diff, in colour on a terminal.
    pub(super) fn answer_diff(&mut self, diff: &str) {
        if !self.is_answer_colored {
            return self.answer_text(diff);
        }
        for line in diff.lines() {
            self.answer_line(&paint::of_diff(line));
        }
    }

    /// Prints a text that is read, perhaps by a model. Hidden characters and chat markup in it become harmless.
    pub(super) fn answer_prose(&mut self, whole: &str) {
        self.write(&text::for_model(whole));
    }

    /// Prints a document that somebody may keep: unchanged, except on a terminal, where long lines are broken between words.
    pub(super) fn answer_document(&mut self, whole: &str) {
        if !io::stdout().is_terminal() {
            return self.write(whole);
        }
        let width = self.width();
        let folded: Vec<String> =
            whole.lines().flat_map(|line| table::fold_item(&text::for_terminal(line), width)).collect();
        self.write(&(folded.join("\n") + "\n"));
    }

    pub(super) fn answer_json(&mut self, document: &serde_json::Value) {
        self.write(&(text::for_json(&document.to_string()) + "\n"));
    }

    pub(super) fn write_error(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Prints a line about what happens, unless `--quiet` is set.
    pub(super) fn tell(&self, line: &str) {
        if !self.quiet {
            self.stderr(&table::fold(&text::for_terminal(line), stderr_width()).join("\n"));
        }
    }

    pub(super) fn warn(&self, line: &str) {
        let lead = self.voice.as_ref().map_or("note:", |voice| &voice.warning);
        self.stderr_hanging(Role::Notice, lead, line);
    }

    pub(super) fn error(&self, line: &str) {
        let lead = self.voice.as_ref().map_or("error:", |voice| &voice.error);
        let theirs = self.voice.as_ref().and_then(|voice| (voice.line)(line));
        let line = theirs.as_deref().unwrap_or(line);
        self.stderr_hanging(Role::Bad, lead, line);
    }

    pub(super) fn cause(&self, line: &str) {
        self.stderr_hanging(Role::Plain, "  caused by:", line);
    }

    pub(super) fn hint(&self, line: &str) {
        self.stderr_hanging(Role::Notice, "hint:", line);
    }

    /// Prints a message behind a lead. On a terminal, further lines of it begin where the first one does.
    fn stderr_hanging(&self, role: Role, lead: &str, text: &str) {
        let indent = lead.width() + 1;
        let room = stderr_width().filter(|_| self.voice.is_none()).map(|width| width.saturating_sub(indent));
        let next = format!("\n{}", " ".repeat(if room.is_some() { indent } else { 0 }));
        let text = table::fold(text, room).join(&next);
        self.stderr_line(&Line::of(role, lead).plain(format!(" {text}")));
    }

    /// The width of the terminal that messages go to.
    pub(super) fn message_width(&self) -> Option<usize> {
        stderr_width()
    }

    /// Prints text with our own escape sequences.
    pub(super) fn styled(&self, styled: &str) {
        self.stderr(styled);
    }

    pub(super) fn tell_step(&self, mark: StepMark, name: &str, rest: &str) {
        if self.quiet {
            return;
        }
        let (role, sign) = match mark {
            StepMark::Done => (Role::Good, "✓"),
            StepMark::Skipped => (Role::Quiet, "-"),
            StepMark::Failed => (Role::Bad, "✗"),
        };
        let lead = format!(" {name}  ");
        let mut indent = sign.width() + lead.width();
        let width = stderr_width();
        let room = |indent: usize| width.map(|width| width.saturating_sub(indent));
        let mut parts = table::wrap(rest, room(indent));
        if parts.iter().any(|part| room(indent).is_some_and(|room| part.width() > room)) {
            // A long path has a line of its own, with as much room as there is.
            parts = table::wrap_after(indent, NEAR, rest, width);
            indent = NEAR;
        }
        let mut parts = parts.into_iter();
        let first = parts.next().unwrap_or_default();
        self.stderr_line(&Line::of(role, sign).plain(lead).and(Role::Quiet, first));
        for part in parts {
            self.stderr_line(&Line::of(Role::Plain, " ".repeat(indent)).and(Role::Quiet, part));
        }
    }

    /// Shows what is going on, on a terminal only: for how long, and the last line of `log`. The next line replaces it.
    pub(super) fn tell_live(&self, line: &str, log: Option<&Path>) {
        if !self.live {
            return;
        }
        let says = text::one_line(&text::for_terminal(line), 60);
        let log = log.map(Path::to_path_buf);
        let tail = move || log.as_deref().map(last_line).unwrap_or_default();
        self.clear_live();
        self.running.replace(Some(LiveLine::on_stderr(says, || stderr_width().unwrap_or(80), tail)));
    }

    /// Removes the line that shows what is going on.
    fn clear_live(&self) {
        drop(self.running.take());
    }

    /// Shows a bar for work that takes long, on a terminal only.
    pub(super) fn progress(&self, what: &'static str) -> Progress {
        let target = if self.live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target).with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos} of {len}") {
            bar.set_style(style);
        }
        Progress { bar, is_shown: self.live, start: Instant::now() }
    }

    fn stderr_line(&self, line: &Line) {
        self.stderr(&line.render(true, text::for_terminal));
    }

    /// Prints a line without colour if stderr has none.
    fn stderr(&self, line: &str) {
        self.clear_live();
        let mut stream = anstream::AutoStream::new(io::stderr(), self.color);
        let _ = writeln!(stream, "{line}");
    }
}

/// The width of the terminal on stderr. `None` if there is none.
fn stderr_width() -> Option<usize> {
    let size = dialoguer::console::Term::stderr().size_checked().filter(|_| io::stderr().is_terminal());
    size.map(|(_, columns)| usize::from(columns)).filter(|columns| *columns > 0)
}

fn has_color(choice: anstream::ColorChoice) -> bool {
    !matches!(choice, anstream::ColorChoice::Never)
}

/// The last line that a command printed so far, without secrets.
fn last_line(log: &Path) -> String {
    let ends = Anchor::beside(log).read_ends(log, LAST_BYTES).ok().flatten();
    let end = String::from_utf8_lossy(&ends.unwrap_or_default().1).into_owned();
    let line = end.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    text::one_line(&text::for_terminal(&secrets::clean(line)), 200)
}

/// The progress of long work.
pub(super) struct Progress {
    bar: ProgressBar,
    is_shown: bool,
    start: Instant,
}

impl Progress {
    pub(super) fn show(&self, done: usize, total: usize) {
        if self.is_shown && self.start.elapsed() >= BEFORE_BAR {
            self.bar.set_length(total as u64);
            self.bar.set_position(done as u64);
        }
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Prints one line per decision to stderr if the environment asks for it. This is for developers.
pub(super) fn trace() {
    let Some(level) = env::get_text(env::LOG) else { return };
    if let Ok(level) = level.parse::<tracing::Level>() {
        let _ = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false).try_init();
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum StepMark {
    Done,
    Skipped,
    Failed,
}
