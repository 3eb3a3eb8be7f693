//! `score`: whether the handovers of this project helped.

use clap::Args;

use super::Context;
use super::table::Table;
use crate::error::Result;
use crate::score::{self, Card, Unit};

/// Show whether the handovers of this project helped: a figure for each measure, and over how many sessions
#[derive(Args)]
pub(super) struct Score {
    /// Look at this session only; the beginning of its id is enough
    session: Option<String>,
    /// Look at this many of the newest sessions
    #[arg(long, value_name = "N", default_value_t = 100, conflicts_with = "session")]
    last: usize,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Score {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project(None, None)?;
        let pairs = score::pairs(&project, self.last, self.session.as_deref())?;
        let card = score::card(&pairs);
        if self.json {
            context.ui.answer_json(&card.json());
        } else {
            print(context, &card);
        }
        Ok(0)
    }
}

fn print(context: &mut Context<'_>, card: &Card) {
    if card.warm + card.cold == 0 {
        context.ui.answer("no session with a predecessor on the same branch is on record");
        return;
    }
    let mut table = Table::new(&["with warmup", "n", "without", "n", "measure"]);
    let shown = |value: Option<f64>, unit| match (value, unit) {
        (None, _) => "-".to_owned(),
        (Some(value), Unit::Percent) => format!("{value:.0} %"),
        (Some(value), Unit::Number) => format!("{value:.0}"),
    };
    for figure in &card.figures {
        table.push(vec![
            shown(figure.warm.value, figure.unit),
            figure.warm.n.to_string(),
            shown(figure.cold.value, figure.unit),
            figure.cold.n.to_string(),
            figure.title.to_owned(),
        ]);
    }
    for line in table.lines(context.ui.width()) {
        context.ui.answer(&line);
    }
    if !card.figures.iter().any(score::Figure::is_comparable) {
        context.ui.answer("not enough data to compare: a group has fewer than 30 sessions");
    }
}
