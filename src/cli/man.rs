//! `man`: manual pages, made from the command line that clap builds.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use super::{Cli, Context, examples};
use crate::base::fs::Anchor;
use crate::error::{Error, Result};

/// Print the manual page of the program or of a command, or write all pages into a directory
#[derive(Args)]
pub(super) struct Man {
    /// The command, such as `run` or `history show` [default: the program itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands into this directory, such as `man1` below a directory of MANPATH
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    output: Option<PathBuf>,
}

impl Man {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        match &self.output {
            Some(directory) => write_all(context, &context.cwd.join(directory)),
            None => self.print(context),
        }
    }

    fn print(&self, context: &mut Context<'_>) -> Result<u8> {
        let wanted = self.command.join(" ");
        let pages = pages();
        let page = pages.iter().find(|(path, _)| *path == wanted).ok_or_else(|| {
            Error::usage(format!("there is no command `{wanted}`")).hint("`agent-handover help` lists all commands")
        })?;
        context.ui.answer_text(&render(page)?);
        Ok(0)
    }
}

/// Every command with its path: empty for the program itself.
fn pages() -> Vec<(String, clap::Command)> {
    // `help` has no page of its own.
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = vec![(String::new(), program.clone())];
    let mut at = 0;
    while at < pages.len() {
        let (path, command) = pages[at].clone();
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
            pages.push((format!("{path} {}", inner.get_name()).trim_start().to_owned(), inner.clone()));
        }
        at += 1;
    }
    pages
}

/// The name of a page: `agent-handover-history-show`.
fn page_name(path: &str) -> String {
    format!("agent-handover {path}").trim_end().replace(' ', "-")
}

fn render((path, command): &(String, clap::Command)) -> Result<String> {
    let name = page_name(path);
    // Without a date, so that the page is the same every day, and without a name of the manual, which has no room beside that of
    // a long command.
    let page = clap_mangen::Man::new(command.clone().display_name(name.clone())).title(name).date(" ");
    let page = page.source(concat!("agent-handover ", env!("CARGO_PKG_VERSION"))).manual(" ");
    let mut bytes = Vec::new();
    page.render(&mut bytes).map_err(|cause| Error::bug(format!("a manual page cannot be written: {cause}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned() + &examples_section(path))
}

/// The examples of a command, each on a line as it is: people copy them.
fn examples_section(path: &str) -> String {
    let literal =
        |line: &String| format!("\\&{}\n", line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq"));
    let lines: String = examples::lines(path).iter().map(literal).collect();
    if lines.is_empty() { lines } else { format!(".SH EXAMPLES\n.nf\n{lines}.fi\n") }
}

fn write_all(context: &mut Context<'_>, directory: &std::path::Path) -> Result<u8> {
    crate::base::fs::create_directories(directory)?;
    let anchor = Anchor::new(directory);
    let pages = pages();
    for page in &pages {
        let file = directory.join(format!("{}.1", page_name(&page.0)));
        anchor.replace(&file, render(page)?.as_bytes())?;
    }
    context.ui.answer(&format!("wrote {} into {}", crate::base::text::count(pages.len(), "page"), directory.display()));
    Ok(0)
}
