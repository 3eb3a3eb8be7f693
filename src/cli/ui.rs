//! The only door to the terminal: stdout is the answer, stderr is the story.

#![allow(clippy::disallowed_methods)]

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::base::{env, text};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

pub struct Ui {
    color: anstream::ColorChoice,
    quiet: bool,
    /// The first thing that went wrong while writing the answer.
    failed: Option<io::Error>,
}

const BAD: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const DIM: Style = Style::new().dimmed();

impl Ui {
    pub fn new(color: Color, quiet: bool) -> Ui {
        let color = match color {
            // Asked once, of stderr: progress and errors are what has colour.
            Color::Auto => anstream::AutoStream::choice(&io::stderr()),
            Color::Always => anstream::ColorChoice::AlwaysAnsi,
            Color::Never => anstream::ColorChoice::Never,
        };
        Ui { color, quiet, failed: None }
    }

    pub fn is_colored(&self) -> bool {
        !matches!(self.color, anstream::ColorChoice::Never)
    }

    /// A line of the answer. A reader who has seen enough is no error.
    pub fn answer(&mut self, line: &str) {
        let written = writeln!(io::stdout().lock(), "{}", text::printable(line));
        if let Err(cause) = written
            && cause.kind() != io::ErrorKind::BrokenPipe
        {
            self.failed.get_or_insert(cause);
        }
    }

    pub fn answer_json(&mut self, document: &serde_json::Value) {
        // serde_json escapes control characters itself.
        self.answer(&document.to_string());
    }

    pub fn write_error(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// A line of the story; not told with `--quiet`.
    pub fn tell(&self, line: &str) {
        if !self.quiet {
            self.stderr(&text::printable(line));
        }
    }

    pub fn warn(&self, line: &str) {
        self.stderr(&format!("{HINT}note:{HINT:#} {}", text::printable(line)));
    }

    pub fn error(&self, line: &str) {
        self.stderr(&format!("{BAD}error:{BAD:#} {}", text::printable(line)));
    }

    pub fn cause(&self, line: &str) {
        self.stderr(&format!("  caused by: {}", text::printable(line)));
    }

    pub fn hint(&self, line: &str) {
        self.stderr(&format!("{HINT}hint:{HINT:#} {}", text::printable(line)));
    }

    /// Text whose escape sequences are our own.
    pub fn styled(&self, styled: &str) {
        self.stderr(styled);
    }

    pub fn tell_step(&self, mark: StepMark, name: &str, rest: &str) {
        if !self.quiet {
            let (style, sign) = match mark {
                StepMark::Done => (GOOD, "✓"),
                StepMark::Skipped => (DIM, "-"),
                StepMark::Failed => (BAD, "✗"),
            };
            self.stderr(&format!("{style}{sign}{style:#} {name}  {DIM}{}{DIM:#}", text::printable(rest)));
        }
    }

    fn stderr(&self, line: &str) {
        let mut stream = anstream::AutoStream::new(io::stderr(), self.color);
        let _ = writeln!(stream, "{line}");
    }
}

/// For developers: one line a decision on stderr, if the environment asks for it.
pub fn trace() {
    let Some(level) = env::get_text(env::LOG) else { return };
    if let Ok(level) = level.parse::<tracing::Level>() {
        let _ = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false).try_init();
    }
}

#[derive(Clone, Copy, Debug)]
pub enum StepMark {
    Done,
    Skipped,
    Failed,
}
