//! The figures of many pairs, beside those of sessions that got no warmup.

use serde_json::{Value, json};

use super::MEASURES;
use super::measure::Unit;
use super::pair::Pair;
use crate::checkpoint::ReceiptOutcome;

/// With fewer pairs, two groups are not compared.
pub(crate) const ENOUGH: usize = 30;

/// The figures of a project.
pub(crate) struct Card {
    pub figures: Vec<Figure>,
    /// How many sessions had their handover before them, and how many had none.
    pub warm: usize,
    pub cold: usize,
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
pub(crate) fn card(pairs: &[Pair]) -> Card {
    let warm: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_warm()).collect();
    let cold: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_cold()).collect();
    let figures = MEASURES.iter().map(|measure| {
        let group = |pairs: &[&Pair]| group(measure.unit, pairs.iter().filter_map(|pair| (measure.of)(pair)).collect());
        // Whether a text arrived is asked of all sessions that should have got one.
        let is_of_all = measure.name == MEASURES[0].name;
        let warm = if is_of_all { group(&pairs.iter().collect::<Vec<_>>()) } else { group(&warm) };
        let cold = if is_of_all { group(&[]) } else { group(&cold) };
        Figure { name: measure.name, title: measure.title, unit: measure.unit, warm, cold }
    });
    let sessions = pairs.iter().map(session).collect();
    Card { figures: figures.collect(), warm: warm.len(), cold: cold.len(), sessions }
}

fn session(pair: &Pair) -> Value {
    let figures: serde_json::Map<String, Value> =
        MEASURES.iter().map(|measure| (measure.name.to_owned(), json!((measure.of)(pair)))).collect();
    json!({
        "agent": pair.agent, "session": pair.session, "branch": pair.branch, "started_at": pair.started_at,
        "receipt": pair.receipt.map(ReceiptOutcome::name), "figures": figures,
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
            "sessions": self.sessions,
            "measures": self.figures.iter().map(figure).collect::<Vec<_>>(),
        })
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
    use super::super::scripted::{edit, pair, read};
    use super::*;

    #[test]
    fn groups_are_kept_apart_and_small_ones_are_not_compared() {
        let warm = pair("", &[], &[edit("a")]);
        let mut cold = pair("", &[], &[read("a", "x"), read("b", "x"), edit("a")]);
        cold.receipt = None;
        let card = card(&[warm.clone(), cold.clone(), cold]);
        let actions = card.figures.iter().find(|figure| figure.name == "orientation_actions").unwrap();
        assert_eq!((card.warm, card.cold), (1, 2));
        assert_eq!((actions.warm, actions.cold), (Group { n: 1, value: Some(0.0) }, Group { n: 2, value: Some(2.0) }));
        assert!(!actions.is_comparable());
        let many: Vec<Pair> =
            (0..60).map(|n| Pair { receipt: warm.receipt.filter(|_| n % 2 == 0), ..warm.clone() }).collect();
        assert!(super::card(&many).figures.iter().any(Figure::is_comparable));
        assert_eq!(group(Unit::Number, vec![9.0, 1.0, 3.0, 100.0]).value, Some(6.0));
    }
}
