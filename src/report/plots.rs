//! Numbers as drawings in SVG, with plotters. A drawing holds only numbers and months: no text of a session reaches it.
//!
//! Colours are named by an attribute, and the style sheet of the page gives the attribute a colour for a light and a dark
//! background.

use std::collections::{BTreeMap, BTreeSet};

use plotters::coord::Shift;
use plotters::prelude::*;

/// A colour of the page: how plotters writes it, and the class of the legend.
pub(super) struct PlotColor {
    value: RGBColor,
    pub(super) class: &'static str,
}

/// The colours of the layers of a drawing. They have enough contrast on white and on black.
pub(super) const COLORS: [PlotColor; 8] = [
    PlotColor { value: RGBColor(0x2f, 0x7e, 0xc4), class: "c0" },
    PlotColor { value: RGBColor(0xc7, 0x6b, 0x1e), class: "c1" },
    PlotColor { value: RGBColor(0x8a, 0x63, 0xd2), class: "c2" },
    PlotColor { value: RGBColor(0x1f, 0x8f, 0x83), class: "c3" },
    PlotColor { value: RGBColor(0xb8, 0x4f, 0x8c), class: "c4" },
    PlotColor { value: RGBColor(0x7a, 0x7f, 0x87), class: "c5" },
    PlotColor { value: RGBColor(0x2c, 0x8f, 0x4e), class: "good" },
    PlotColor { value: RGBColor(0xcc, 0x44, 0x44), class: "bad" },
];
/// The layer of what went well, and of what did not.
pub(super) const GOOD: usize = 6;
pub(super) const BAD: usize = 7;

/// How many months a drawing shows, the newest.
const MONTHS: i32 = 36;
/// How many months a drawing shows at least, so that a bar is never as wide as the page.
const FEWEST_MONTHS: i32 = 12;
/// How many bars a drawing shows, the newest.
const BARS: usize = 120;
/// How many bars a drawing has room for at least.
const FEWEST_BARS: usize = 24;
const SIZE: (u32, u32) = (860, 220);
const LANE: (u32, u32) = (640, 20);
/// The radius of a dot.
const DOT: i32 = 5;

/// One colour of a drawing: a number for each month.
pub(super) struct Layer {
    color: usize,
    months: BTreeMap<String, usize>,
}

impl Layer {
    pub(super) fn new(color: usize) -> Layer {
        Layer { color, months: BTreeMap::new() }
    }

    pub(super) fn of(color: usize, months: BTreeMap<String, usize>) -> Layer {
        Layer { color, months }
    }

    /// Counts one more in a month, `2026-11`.
    pub(super) fn add(&mut self, month: String) {
        *self.months.entry(month).or_default() += 1;
    }
}

/// A bar for each month, from the first to the last one that has a number; empty if none has.
pub(super) fn months(title: &str, layers: &[Layer]) -> String {
    let known: Vec<i32> =
        layers.iter().flat_map(|layer| layer.months.keys()).filter_map(|month| number(month)).collect();
    let (Some(first), Some(last)) = (known.iter().min(), known.iter().max()) else { return String::new() };
    let first = (*first).clamp(last - MONTHS + 1, last - FEWEST_MONTHS + 1);
    let columns: Vec<Vec<(usize, f64)>> = (first..=*last)
        .map(|month| {
            let month = name(month);
            let part = |layer: &Layer| (layer.color, layer.months.get(&month).map_or(0.0, |number| float(*number)));
            layers.iter().map(part).collect()
        })
        .collect();
    draw(title, &columns, &|at| name(first + at))
}

/// A bar for each number, in order; empty if there is none. A number beyond four thousand million is drawn as that.
pub(super) fn bars(title: &str, numbers: &[u64]) -> String {
    let newest = &numbers[numbers.len().saturating_sub(BARS)..];
    if newest.is_empty() {
        return String::new();
    }
    let column = |number: &u64| vec![(0, float(usize::try_from(*number).unwrap_or(usize::MAX)))];
    let empty = std::iter::repeat_n(Vec::new(), FEWEST_BARS.saturating_sub(newest.len()));
    draw(title, &empty.chain(newest.iter().map(column)).collect::<Vec<_>>(), &|_| String::new())
}

/// A dot for each point in time, by its layer; points that would cover each other are one.
pub(super) fn lane(title: &str, points: &[(i64, usize)], first: i64, last: i64) -> String {
    let (width, margin) = (i64::from(LANE.0), i64::from(DOT) + 2);
    let room = i128::from(width - 2 * margin);
    let place = |time: i64| {
        let (time, first, last) = (i128::from(time), i128::from(first), i128::from(last));
        let share = (time - first) * room / (last - first).max(1);
        margin + i64::try_from(share).unwrap_or_default() / i64::from(DOT) * i64::from(DOT)
    };
    let dots: BTreeSet<(i64, usize)> = points.iter().map(|(time, layer)| (place(*time), *layer)).collect();
    let height = i32::try_from(LANE.1 / 2).unwrap_or_default();
    svg(title, LANE, |area| {
        for (at, layer) in dots {
            let dot =
                Circle::new((i32::try_from(at).ok()?, height), DOT, COLORS[layer.min(COLORS.len() - 1)].value.filled());
            area.draw(&dot).ok()?;
        }
        Some(())
    })
}

/// The number of a month `2026-11` since the year 0.
fn number(month: &str) -> Option<i32> {
    let (year, month) = month.split_once('-')?;
    let (year, month): (i32, i32) = (year.parse().ok()?, month.parse().ok()?);
    ((0..10_000).contains(&year) && (1..=12).contains(&month)).then_some(year * 12 + month - 1)
}

fn name(month: i32) -> String {
    format!("{:04}-{:02}", month.div_euclid(12), month.rem_euclid(12) + 1)
}

/// A label of the axis of heights. Nothing is counted in halves.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "plotters passes a reference")]
fn whole(number: &f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { String::new() }
}

/// A height on the axis.
fn float(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

/// Stacked bars.
fn draw(title: &str, columns: &[Vec<(usize, f64)>], label: &dyn Fn(i32) -> String) -> String {
    svg(title, SIZE, |area| bars_on(area, columns, label))
}

/// A drawing as an element of a page. One that plotters refuses is left out: the tables of the page have the numbers.
fn svg(title: &str, size: (u32, u32), fill: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Option<()>) -> String {
    let mut svg = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        fill(&area).is_some() && area.present().is_ok()
    };
    let Some(body) = svg.strip_prefix("<svg ").filter(|_| drawn) else { return String::new() };
    // Inside HTML a drawing needs no name space, and without it the page names no address at all.
    let body = body.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
    format!("<svg role=\"img\" aria-label=\"{title}\" {body}")
}

fn bars_on(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    columns: &[Vec<(usize, f64)>],
    label: &dyn Fn(i32) -> String,
) -> Option<()> {
    let height = |column: &Vec<(usize, f64)>| column.iter().map(|(_, height)| height).sum::<f64>();
    let highest = columns.iter().map(height).fold(1.0, f64::max);
    let width = i32::try_from(columns.len()).ok()?;
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(26)
        .y_label_area_size(64)
        .build_cartesian_2d((0..width - 1).into_segmented(), 0.0..highest)
        .ok()?;
    let month = |at: &SegmentValue<i32>| match at {
        SegmentValue::CenterOf(at) | SegmentValue::Exact(at) => label(*at),
        SegmentValue::Last => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .y_labels(5)
        .x_labels(12)
        .x_label_formatter(&month)
        .y_label_formatter(&whole)
        .label_style(("sans-serif", 12))
        .draw()
        .ok()?;
    for (at, column) in (0i32..).zip(columns) {
        let mut below = 0.0;
        for (color, height) in column.iter().filter(|(_, height)| *height > 0.0) {
            let corners = [(SegmentValue::Exact(at), below), (SegmentValue::Exact(at + 1), below + height)];
            let mut bar = Rectangle::new(corners, COLORS[*color].value.filled());
            bar.set_margin(0, 0, 2, 2);
            chart.draw_series(std::iter::once(bar)).ok()?;
            below += height;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(months: &[(&str, usize)]) -> Layer {
        Layer::of(0, months.iter().map(|(month, number)| ((*month).to_owned(), *number)).collect())
    }

    #[test]
    fn a_drawing_has_a_bar_for_each_number_and_a_name_for_screen_readers() {
        let svg = months("Sessions a month", &[layer(&[("2025-12", 3), ("2026-02", 1)]), layer(&[("2026-02", 2)])]);
        assert!(svg.starts_with("<svg role=\"img\" aria-label=\"Sessions a month\" "), "{svg}");
        assert_eq!(svg.matches("#2F7EC4").count(), 3);
        assert!(svg.contains("2026-01"), "the month between has a place, too");
        assert!(!svg.contains("style="), "the content policy of the page forbids style attributes");
    }

    #[test]
    fn nothing_to_draw_and_impossible_months_are_no_drawing() {
        assert_eq!(months("x", &[layer(&[])]), "");
        assert_eq!(months("x", &[layer(&[("soon", 1), ("2026-13", 1), ("-5-01", 4)])]), "");
        assert_eq!(bars("x", &[]), "");
        assert!(!bars("x", &[0]).is_empty());
        assert!(!bars("x", &[u64::MAX, 1]).is_empty());
    }

    #[test]
    fn a_lane_has_a_dot_for_each_point_that_can_be_told_apart() {
        let svg = lane("x", &[(0, 0), (1, 0), (50_000, 1), (100_000, 0)], 0, 100_000);
        assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
        let many: Vec<(i64, usize)> = (0..20_000).map(|at| (at * 60, 3)).collect();
        assert!(lane("x", &many, 0, 20_000 * 60).len() < 20_000);
        assert!(!lane("x", &[(7, 0)], 7, 7).is_empty());
        assert!(!lane("x", &[(i64::MIN / 2, 0), (i64::MAX / 2, 99)], i64::MIN / 2, i64::MAX / 2).is_empty());
    }

    #[test]
    fn a_drawing_stays_small_however_many_months_there_are() {
        let many: Vec<String> = (0..4_000).map(|at| name(12 * 1_700 + at)).collect();
        let many: Vec<(&str, usize)> = many.iter().map(|month| (month.as_str(), 5)).collect();
        assert!(months("x", &[layer(&many)]).len() < 40_000);
    }
}
