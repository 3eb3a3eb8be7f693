//! `score`: whether the handovers of this project helped, and whether a handoff is good before it is used.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use unicode_width::UnicodeWidthStr;

use super::Context;
use super::paint::{Line, Role};
use super::table::Table;
use crate::base::{fs, text};
use crate::error::{Category, Error, Result};
use crate::handoff::Handoff;
use crate::history::History;
use crate::project::Project;
use crate::score::{self, Ask, Card, ENOUGH, Judgement, Scores};

/// How long figures are computed that nobody has computed before.
const LIMIT: Duration = Duration::from_secs(20);
/// The largest handoff that is read.
const MAX_HANDOFF: u64 = 16 << 20;
/// The word for the newest handoff.
const LATEST: &str = "latest";

/// Show whether the handovers of this project helped: a figure for each measure, and over how many sessions
#[derive(Args)]
pub(super) struct Score {
    /// Look at this session only; a unique beginning or end of its id is enough
    session: Option<String>,
    /// Look at this many of the newest sessions
    #[arg(long, value_name = "N", default_value_t = 100, conflicts_with = "session", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    last: u32,
    /// Judge this handoff before anybody uses it: a file, `-` for standard input, or `latest`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["session", "last"])]
    handoff: Option<String>,
    /// Exit with 5 if the handoff scores less, from 0 to 100
    #[arg(long, value_name = "N", requires = "handoff", value_parser = clap::value_parser!(u8).range(0..=100), allow_negative_numbers = true)]
    bar: Option<u8>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Score {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project(None, None)?;
        if let Some(handoff) = &self.handoff {
            return self.judge(context, &project, handoff);
        }
        let ask = Ask { last: self.last as usize, session: self.session.as_deref(), limit: LIMIT };
        let bar = context.ui.progress("reading sessions");
        let scores = score::pairs(&project, &ask, &mut |done, total| bar.show(done, total));
        bar.end();
        let scores = scores?;
        let card = score::card(&scores);
        if self.json {
            context.ui.answer_json(&card.json());
        } else {
            print(context, &card, &scores);
        }
        Ok(0)
    }

    fn judge(&self, context: &mut Context<'_>, project: &Project, handoff: &str) -> Result<u8> {
        let (name, document) = read(context, project, handoff)?;
        let parsed = Handoff::parse(&document).map_err(|error| {
            let line = format!("`{name}`, line {}: {}", error.line, error.message);
            Error::bad_data(line).hint("`agent-handover history template` prints a handoff to fill in")
        })?;
        let judgement = score::judge(&parsed, document.len(), &project.anchor(&project.root));
        let (score, bar) = (judgement.score(), self.bar.map(usize::from));
        if self.json {
            context.ui.answer_json(&judgement.json(&name, bar));
        } else {
            print_judgement(context, &judgement);
        }
        match bar.filter(|bar| score < *bar) {
            // With `--json` the document says it, and is the only one on standard output.
            Some(_) if self.json => Ok(Category::NotGood.exit_code()),
            Some(bar) => {
                let message = format!("the handoff `{name}` scores {score}, and the bar is {bar}");
                Err(Error::new(Category::NotGood, message).hint("improve the parts with a remark"))
            }
            None => Ok(0),
        }
    }
}

/// The name and the text of a handoff.
fn read(context: &Context<'_>, project: &Project, handoff: &str) -> Result<(String, String)> {
    if handoff == LATEST {
        let found = History::at(&project.memory_root, project.history_dir()?).find(LATEST)?;
        return Ok((found.path.display().to_string(), found.text));
    }
    let path = context.cwd.join(handoff);
    let bytes = if handoff == "-" {
        fs::read_at_most(std::io::stdin().lock(), MAX_HANDOFF)
    } else {
        let hint = "name the file of a handoff, or `latest`, or `-` for standard input";
        let with_hint = |error: Error| if error.hints().is_empty() { error.hint(hint) } else { error };
        fs::read_at_most(fs::open_plain(&path).map_err(with_hint)?, MAX_HANDOFF)
    };
    let bytes = bytes.map_err(|cause| Error::io("read", Path::new(handoff), cause))?;
    let name = text::one_line(handoff, 400);
    if bytes.len() as u64 > MAX_HANDOFF {
        return Err(Error::bad_data(format!("`{name}` is larger than 16 MiB and cannot be a handoff")));
    }
    String::from_utf8(bytes)
        .map(|text| (name.clone(), text))
        .map_err(|_| Error::bad_data(format!("`{name}` is not UTF-8 text")))
}

fn print(context: &mut Context<'_>, card: &Card, scores: &Scores) {
    if card.is_empty() {
        context.ui.answer(&why_empty(scores));
    } else {
        let mut table = Table::new(&["with warmup", "n", "without", "n", "measure"]);
        for figure in &card.figures {
            table.push(vec![
                figure.warm.shown(figure.unit),
                figure.warm.n.to_string(),
                figure.cold.shown(figure.unit),
                figure.cold.n.to_string(),
                figure.title.to_owned(),
            ]);
        }
        context.ui.answer_table(&table);
        if !card.figures.iter().any(score::Figure::is_comparable) {
            context.ui.answer(&format!("not enough data to compare: a group has fewer than {ENOUGH} sessions"));
        }
    }
    if scores.missing > 0 {
        context.ui.warn(&what_is_left(scores));
    }
}

/// Why a card has no figure.
fn why_empty(scores: &Scores) -> String {
    match &scores.meant {
        _ if scores.missing > 0 => "no figure is computed yet".to_owned(),
        Some(id) => format!("the session `{}` has no predecessor of the same branch or goal", text::one_line(id, 200)),
        None => "no session with a predecessor of the same branch or goal is on record; \
                 figures need two sessions of a coding agent"
            .to_owned(),
    }
}

fn what_is_left(scores: &Scores) -> String {
    let left = format!("{} not looked at for lack of time", text::count(scores.missing, "session"));
    if scores.goes_on {
        format!("{left}; the same command goes on with them")
    } else {
        format!("{left}, and figures cannot be kept here; `agent-handover doctor` says why")
    }
}

fn print_judgement(context: &mut Context<'_>, judgement: &Judgement) {
    const SCORE: usize = "score".len();
    const GAP: &str = "  ";
    let score = |score: Option<usize>| score.map_or("-".to_owned(), |score| score.to_string());
    let title = judgement.parts.iter().map(|part| part.title.width()).max().unwrap_or(0);
    let room = context.ui.width().map(|width| width.saturating_sub(SCORE + title + 2 * GAP.len()));
    if judgement.parts.iter().all(|part| room.is_none_or(|room| part.says.width() <= room)) {
        let mut table = Table::new(&["score", "part", "remark"]);
        for part in &judgement.parts {
            table.push(vec![score(part.score), part.title.to_owned(), part.says.clone()]);
        }
        context.ui.answer_table(&table);
    } else {
        // A remark says what to improve, so it is not cut: it stands below its part.
        for part in &judgement.parts {
            context.ui.answer_line(&Line::of(Role::Plain, format!("{:<SCORE$}{GAP}{}", score(part.score), part.title)));
            if !part.says.is_empty() {
                context.ui.answer_hanging(Role::Quiet, &" ".repeat(SCORE + GAP.len()), &part.says);
            }
        }
    }
    context.ui.answer(&format!("score {} of 100", judgement.score()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_time_did_not_suffice_for_does_not_say_that_there_is_nothing() {
        let nothing = Scores::default();
        assert!(why_empty(&nothing).starts_with("no session with a predecessor"));
        let late = Scores { missing: 3, goes_on: true, meant: Some("a-1".to_owned()), ..Scores::default() };
        assert_eq!(why_empty(&late), "no figure is computed yet");
        assert!(what_is_left(&late).ends_with("the same command goes on with them"));
        let in_vain = Scores { goes_on: false, ..late };
        assert!(what_is_left(&in_vain).contains("cannot be kept here"), "nobody is asked to try in vain");
    }
}
