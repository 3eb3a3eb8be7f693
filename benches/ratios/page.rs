//! The results as a page of the documentation, with drawings beside it.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use plotters::prelude::*;

use crate::daily::{DAILY, YEARS};
use crate::race::{Results, Row};

const COLORS: [RGBColor; 8] = [
    RGBColor(0x2f, 0x7e, 0xc4),
    RGBColor(0xc7, 0x6b, 0x1e),
    RGBColor(0x8a, 0x63, 0xd2),
    RGBColor(0x1f, 0x8f, 0x83),
    RGBColor(0xb8, 0x4f, 0x8c),
    RGBColor(0x7a, 0x7f, 0x87),
    RGBColor(0x2c, 0x8f, 0x4e),
    RGBColor(0xcc, 0x44, 0x44),
];

/// What the page says about limits. A person writes it.
const LIMITS: &str = include_str!("limits.md");
/// What the page says about many machines. A person writes it.
const MACHINES: &str = include_str!("machines.md");

/// A line of a drawing: its name, and its points.
type Line = (String, Vec<(f64, f64)>);

/// Writes the page of all results, or of the subjects that were named.
pub(crate) fn write(file: &str, results: &Results, named: &[String]) {
    let file = Path::new(file);
    let drawings = file.with_extension("");
    std::fs::create_dir_all(&drawings).unwrap();
    let name = drawings.file_name().unwrap().to_string_lossy().into_owned();
    let mut page = heading(results, named);
    page.push_str(&aims(results));
    for (title, what, axis) in [("Sessions", DAILY, "sessions"), ("Years of notes", YEARS, "years")] {
        let lines = curves(results, what);
        if lines.is_empty() {
            continue;
        }
        writeln!(page, "## {title}\n").unwrap();
        // More lines than colours cannot be told apart.
        for (number, lines) in lines.chunks(COLORS.len()).enumerate() {
            let drawing = format!("{axis}-{}.svg", number + 1);
            draw(&drawings.join(&drawing), &format!("milliseconds by {axis}"), lines);
            writeln!(page, "![Milliseconds by {axis}, drawing {}]({name}/{drawing})\n", number + 1).unwrap();
        }
        page.push_str(&curve_table(results, what, axis));
    }
    page.push_str("## Every measurement\n\n");
    page.push_str(&races(results));
    page.push_str(MACHINES);
    for (title, table) in &results.tables {
        if !title.starts_with("Bytes") {
            writeln!(page, "\n### {title}\n\n{}", table.trim_end()).unwrap();
        }
    }
    page.push('\n');
    page.push_str(LIMITS);
    for (title, table) in &results.tables {
        if title.starts_with("Bytes") {
            writeln!(page, "\n### {title}\n\n{}", table.trim_end()).unwrap();
        }
    }
    std::fs::write(file, page).unwrap();
    println!("wrote {}", file.display());
}

fn heading(results: &Results, named: &[String]) -> String {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    };
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"]);
    let changed = if said("git", &["status", "--porcelain", "--", "src", "Cargo.lock"]).is_empty() {
        ""
    } else {
        " with changes"
    };
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().take(3).collect::<Vec<_>>().join(", ");
    let build = match option_env!("CARGO_PROFILE_BENCH_LTO") {
        None => "the release profile".to_owned(),
        Some(lto) => format!("the release profile with `lto = {lto}`, so not as it is shipped"),
    };
    let full = if results.is_full { " --full" } else { "" };
    let subjects = named.iter().fold(String::new(), |all, name| format!("{all} {name}"));
    let command = format!("cargo bench --bench ratios --{subjects}{full} --page docs/performance.md");
    format!(
        "# Performance\n\n\
         You want to know what a command costs, how that grows, and whether it keeps what this project aims at. A program made\n\
         this page. Do not edit it: run the command again.\n\n\
         | | |\n|---|---|\n| command | `{command}` |\n| date | {} |\n| commit | `{commit}`{changed} |\n| build | {build} |\n\
         | machine | {processors} processors, {} {} |\n| load when it ended | {load} |\n\n\
         The times of one machine say little about another. So every command is measured beside a floor: a process that does\n\
         only what cannot be avoided, such as to open the database and read a row, or to write the same bytes durably. The\n\
         sides take turns, and their medians are compared.\n\n",
        said("date", &["-u", "+%Y-%m-%d"]),
        said("uname", &["-s"]),
        said("uname", &["-m"]),
    )
}

/// Every aim, and whether it is met.
fn aims(results: &Results) -> String {
    let judged: Vec<_> = results.rows.iter().filter_map(|row| Some((row, row.aim.as_ref()?))).collect();
    let met = judged.iter().filter(|(_, aim)| aim.is_met).count();
    let mut table = format!(
        "## Aims\n\n{met} of {} are met. If an aim names no row, it is a multiple of the first row of the same measurement.\n\n\
         | measurement | row | aim | measured | |\n|---|---|---|---:|---|\n",
        judged.len()
    );
    for (row, aim) in judged {
        writeln!(table, "| {} | {} | {} | {:.2}x | {} |", row.race, row.name, aim.text, aim.ratio, aim.word()).unwrap();
    }
    table + "\n"
}

fn is_curve(row: &Row) -> bool {
    row.race.starts_with(DAILY) || row.race.starts_with(YEARS)
}

/// The titles of races, in the order in which they ran.
fn titles(results: &Results, is_wanted: impl Fn(&Row) -> bool) -> Vec<&str> {
    let mut titles: Vec<&str> = results.rows.iter().filter(|row| is_wanted(row)).map(|row| row.race.as_str()).collect();
    titles.dedup();
    titles
}

fn races(results: &Results) -> String {
    let mut text = String::new();
    for title in titles(results, |row| !is_curve(row)) {
        writeln!(text, "| {title} | median | |\n|---|---:|---:|").unwrap();
        for row in results.rows.iter().filter(|row| row.race == title) {
            writeln!(text, "| {} | {:.2} ms | {:.2}x |", row.name, row.milliseconds, row.ratio).unwrap();
        }
        text.push('\n');
    }
    text
}

fn points<'r>(results: &'r Results, title: &'r str) -> impl Iterator<Item = (usize, f64)> + 'r {
    results.rows.iter().filter(move |row| row.race == title).filter_map(|row| Some((row.size?, row.milliseconds)))
}

fn curves(results: &Results, what: &str) -> Vec<Line> {
    let titles = titles(results, |row| row.race.starts_with(what));
    #[allow(clippy::cast_precision_loss)]
    let line = |title: &str| {
        let points = points(results, title).map(|(size, milliseconds)| (size as f64, milliseconds)).collect();
        (title[what.len()..].to_owned(), points)
    };
    titles.into_iter().map(line).collect()
}

/// A row for each command, a column for each size.
fn curve_table(results: &Results, what: &str, axis: &str) -> String {
    let titles = titles(results, |row| row.race.starts_with(what));
    let sizes: Vec<usize> =
        titles.first().map(|title| points(results, title).map(|(size, _)| size).collect()).unwrap_or_default();
    let heads: Vec<String> = sizes.iter().map(|size| format!("{size} {axis}")).collect();
    let mut table =
        format!("| milliseconds | {} | growth |\n|---|{}---:|\n", heads.join(" | "), "---:|".repeat(sizes.len()));
    for title in titles {
        let values: Vec<f64> = points(results, title).map(|(_, milliseconds)| milliseconds).collect();
        let cells: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
        let growth = values.last().zip(values.first()).map_or(0.0, |(last, first)| last / first);
        writeln!(table, "| {} | {} | {growth:.1}x |", &title[what.len()..], cells.join(" | ")).unwrap();
    }
    table + "\n"
}

/// A drawing with logarithmic axes. The name of each line is at its last point.
fn draw(file: &Path, label: &str, lines: &[Line]) {
    let all = || lines.iter().flat_map(|(_, points)| points);
    let least = |value: fn(&(f64, f64)) -> f64| all().map(value).fold(f64::INFINITY, f64::min);
    let most = |value: fn(&(f64, f64)) -> f64| all().map(value).fold(0.0, f64::max);
    let area = SVGBackend::new(file, (860, 420)).into_drawing_area();
    area.fill(&WHITE).unwrap();
    // Room for the names on the right.
    let right = most(|point| point.0) * 6.0;
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(32)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (least(|point| point.0)..right).log_scale(),
            (least(|point| point.1) * 0.8..most(|point| point.1) * 1.3).log_scale(),
        )
        .unwrap();
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .y_desc(label)
        .x_label_formatter(&|value| format!("{value}"))
        .y_label_formatter(&|value| format!("{value}"))
        .label_style(("sans-serif", 13))
        .draw()
        .unwrap();
    // Names of lines that end close to each other are kept apart.
    let mut ends: Vec<(usize, f64)> =
        lines.iter().enumerate().filter_map(|(at, (_, points))| Some((at, points.last()?.1))).collect();
    ends.sort_by(|one, other| one.1.total_cmp(&other.1));
    let apart = (most(|point| point.1) * 1.3 / (least(|point| point.1) * 0.8)).powf(1.0 / 22.0);
    for at in 1..ends.len() {
        ends[at].1 = ends[at].1.max(ends[at - 1].1 * apart);
    }
    for (at, height) in ends {
        let (name, points) = &lines[at];
        let color = COLORS[at % COLORS.len()];
        chart.draw_series(std::iter::once(PathElement::new(points.clone(), color.stroke_width(2)))).unwrap();
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, color.filled()))).unwrap();
        let end = points.last().map_or(0.0, |point| point.0 * 1.15);
        let style = ("sans-serif", 13).into_font().color(&color);
        chart.draw_series(std::iter::once(Text::new(name.clone(), (end, height), style))).unwrap();
    }
    area.present().unwrap();
}
