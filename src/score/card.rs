//! The figures of many pairs, beside those of sessions that got no warmup.

use serde_json::{Value, json};

use super::MEASURES;
use super::measure::{Groups, Measure, Unit};
use super::pairs::{Scored, Scores};
use crate::checkpoint::ReceiptOutcome;

/// With fewer pairs, two groups are not compared.
pub(crate) const ENOUGH: usize = 30;

/// The figures of a project.
pub(crate) struct Card {
    pub figures: Vec<Figure>,
    /// How many sessions had their handover before them, and how many had none.
    pub warm: usize,
    pub cold: usize,
    /// How many sessions nobody has looked at yet.
    pub missing: usize,
    /// Each session with its own figures.
    sessions: Vec<Value>,
}

/// The figure of one measure.
pub(crate) struct Figure {
    pub name: &'static str,
    pub title: &'static str,
    pub unit: Unit,
    pub warm: Group,
    /// Sessions without a warmup.
    pub cold: Group,
}

/// One figure over the pairs to which a measure applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Group {
    pub n: usize,
    pub value: Option<f64>,
}

/// The card of these pairs.
pub(crate) fn card(scores: &Scores) -> Card {
    let pairs = &scores.pairs;
    let warm: Vec<&Scored> = pairs.iter().filter(|pair| pair.is_warm()).collect();
    let cold: Vec<&Scored> = pairs.iter().filter(|pair| pair.is_cold()).collect();
    let all: Vec<&Scored> = pairs.iter().collect();
    let figures = MEASURES.iter().map(|measure| {
        let group = |pairs: &[&Scored]| {
            group(measure.unit, pairs.iter().filter_map(|pair| pair.figures.get(measure.name).copied()).collect())
        };
        let (warm, cold) = match measure.groups {
            Groups::Apart => (group(&warm), group(&cold)),
            Groups::Together => (group(&all), group(&[])),
        };
        let Measure { name, title, unit, .. } = *measure;
        Figure { name, title, unit, warm, cold }
    });
    let sessions = pairs.iter().map(session).collect();
    Card { figures: figures.collect(), warm: warm.len(), cold: cold.len(), missing: scores.missing, sessions }
}

fn session(pair: &Scored) -> Value {
    let figures: serde_json::Map<String, Value> =
        MEASURES.iter().map(|measure| (measure.name.to_owned(), json!(pair.figures.get(measure.name)))).collect();
    json!({
        "agent": pair.agent, "session": pair.session, "before": pair.before, "by": pair.by, "branch": pair.branch,
        "started_at": pair.started_at, "receipt": pair.receipt.map(ReceiptOutcome::name), "figures": figures,
    })
}

fn group(unit: Unit, mut values: Vec<f64>) -> Group {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let value = match (unit, n) {
        (_, 0) => None,
        (Unit::Percent, _) => Some(values.iter().sum::<f64>() / n as f64),
        (Unit::Number, _) => Some(f64::midpoint(values[(n - 1) / 2], values[n / 2])),
    };
    Group { n, value }
}

impl Card {
    /// Whether no session has a predecessor.
    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    pub(crate) fn json(&self) -> Value {
        let group = |group: &Group| json!({ "n": group.n, "value": group.value });
        let figure = |figure: &Figure| {
            let unit = if figure.unit == Unit::Percent { "percent" } else { "number" };
            json!({
                "measure": figure.name, "title": figure.title, "unit": unit,
                "with_warmup": group(&figure.warm), "without_warmup": group(&figure.cold),
                "comparable": figure.is_comparable(),
            })
        };
        json!({
            "schema": "agent-handover/score/1",
            "with_warmup": self.warm,
            "without_warmup": self.cold,
            "missing": self.missing,
            "sessions": self.sessions,
            "measures": self.figures.iter().map(figure).collect::<Vec<_>>(),
        })
    }
}

impl Group {
    /// The figure for people: `-` if the measure applied to no pair.
    pub(crate) fn shown(&self, unit: Unit) -> String {
        match (self.value, unit) {
            (None, _) => "-".to_owned(),
            (Some(value), Unit::Percent) => format!("{value:.0} %"),
            (Some(value), Unit::Number) => format!("{value:.0}"),
        }
    }
}

impl Figure {
    /// Whether both groups are large enough to be compared.
    pub(crate) fn is_comparable(&self) -> bool {
        self.warm.n.min(self.cold.n) >= ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(receipt: Option<ReceiptOutcome>, actions: f64) -> Scored {
        let text = String::new;
        let figures = [("orientation_actions".to_owned(), actions), ("delivered".to_owned(), 100.0)].into();
        Scored {
            agent: text(),
            session: text(),
            before: text(),
            by: "branch",
            branch: text(),
            started_at: text(),
            receipt,
            figures,
        }
    }

    fn of(pairs: Vec<Scored>) -> Card {
        card(&Scores { pairs, missing: 0, meant: None, goes_on: true })
    }

    fn figure<'a>(card: &'a Card, name: &str) -> &'a Figure {
        card.figures.iter().find(|figure| figure.name == name).unwrap()
    }

    #[test]
    fn groups_are_kept_apart_and_small_ones_are_not_compared() {
        let whole = Some(ReceiptOutcome::Whole);
        let card = of(vec![scored(whole, 0.0), scored(None, 2.0), scored(Some(ReceiptOutcome::Missing), 4.0)]);
        let actions = figure(&card, "orientation_actions");
        assert_eq!((card.warm, card.cold), (1, 2));
        assert_eq!((actions.warm, actions.cold), (Group { n: 1, value: Some(0.0) }, Group { n: 2, value: Some(3.0) }));
        assert!(!actions.is_comparable());
        assert_eq!(figure(&card, "delivered").warm.n, 3, "asked of all together");
        let many = (0..60).map(|n| scored(whole.filter(|_| n % 2 == 0), 1.0)).collect();
        assert!(figure(&of(many), "orientation_actions").is_comparable());
        assert_eq!(group(Unit::Number, vec![9.0, 1.0, 3.0, 100.0]).value, Some(6.0));
    }

    #[test]
    fn nobody_knows_about_a_session_whose_receipt_is_open_or_unknown() {
        let card = of(vec![scored(Some(ReceiptOutcome::Unknown), 1.0), scored(Some(ReceiptOutcome::Open), 1.0)]);
        assert_eq!((card.warm, card.cold), (0, 0));
    }
}
