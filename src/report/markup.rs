//! The pieces of markup that repeat on the page. Like the template, each escapes what it gets, and takes secrets out.

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, Value};

use crate::guard::secrets;

/// Adds the pieces to those that a template can use:
///
/// - `table(label, heads)` opens a table that can be scrolled, up to its first row. A head that ends with `#` is that of numbers.
///   `caption` and `class` can be added.
/// - `"Took"|number(value)` is a cell with a number; the head is shown beside it on a narrow screen.
/// - `figure(plot)` opens a figure, up to its caption.
pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_function("table", table);
    environment.add_filter("number", number);
    environment.add_function("figure", |plot: &str| Value::from_safe_string(figure(plot)));
}

#[expect(clippy::needless_pass_by_value, reason = "the library hands over values")]
fn table(label: &str, heads: Vec<String>, options: Kwargs) -> Result<Value, Error> {
    let class = options.get::<Option<String>>("class")?.map(|class| format!(" {class}")).unwrap_or_default();
    let caption = options.get::<Option<String>>("caption")?;
    options.assert_all_used()?;
    let caption = caption.map(|text| format!("<caption>{}</caption>\n", escaped(&text))).unwrap_or_default();
    let heads: String = heads.iter().map(|title| head(title)).collect();
    Ok(Value::from_safe_string(format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table class=\"rows{}\">\n{caption}\
         <thead><tr>{heads}</tr></thead>\n<tbody>",
        escaped(label),
        escaped(&class),
    )))
}

fn head(title: &str) -> String {
    match title.strip_suffix('#') {
        Some(title) => format!("<th scope=\"col\" class=\"number\">{}</th>", escaped(title)),
        None => format!("<th scope=\"col\">{}</th>", escaped(title)),
    }
}

fn number(head: &str, value: &Value) -> Value {
    let value = if value.is_none() { String::new() } else { value.to_string() };
    Value::from_safe_string(format!("<td class=\"number\" data-head=\"{}\">{}</td>", escaped(head), escaped(&value)))
}

/// The plot is our own markup.
fn figure(plot: &str) -> String {
    format!("<figure class=\"wide\" tabindex=\"0\">{plot}")
}

fn escaped(text: &str) -> String {
    minijinja::HtmlEscape(&secrets::clean(text)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_piece_gets_cannot_become_markup() {
        let mut environment = Environment::new();
        add_to(&mut environment);
        let hostile = "\"><script>";
        let of = |template: &str| environment.render_str(template, minijinja::context! { hostile }).unwrap();
        for piece in
            ["{{ table(hostile, [hostile], caption=hostile, class=hostile) }}", "{{ hostile|number(hostile) }}"]
        {
            let markup = of(piece);
            assert!(!markup.contains("<script") && markup.contains("&quot;&gt;&lt;script"), "{markup}");
        }
        assert_eq!(of("{{ 'n'|number(none) }}"), "<td class=\"number\" data-head=\"n\"></td>");
        let numbers = of("{{ table('Of', ['When', 'Took#']) }}");
        assert!(
            numbers.contains("<th scope=\"col\">When</th><th scope=\"col\" class=\"number\">Took</th>"),
            "{numbers}"
        );
    }
}
