//! `{{ … }}` in config values: which names there are, and what they become.

use std::collections::BTreeMap;
use std::ops::Range;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use serde_json::Value;

use crate::base::text;
use crate::error::{Error, Result};

/// Every name a template may use. A known name without a value renders empty.
pub const NAMES: &[&str] = &[
    "note",
    "state",
    "summary",
    "tag",
    "date",
    "time",
    "host",
    "user",
    "agent",
    "run",
    "step",
    "attempt",
    "branch",
    "head",
    "base",
    "commits",
    "changes",
    "dirty",
    "handoff",
    "goal",
    "last_request",
    "edited",
    "commands",
    "tests",
    "todos",
];

pub(crate) type Values = BTreeMap<String, Value>;

/// A value that a template uses.
#[derive(Serialize)]
#[serde(untagged)]
enum Used<'v> {
    Text(&'v str),
    Fact(&'v Value),
}

/// More instructions than any sane template needs; a loop without end stops here.
const FUEL: u64 = 100_000;

pub(crate) struct Wrong {
    pub message: String,
    /// Bytes of the template.
    pub range: Option<Range<usize>>,
    pub help: Option<String>,
}

fn environment<'a>() -> Environment<'a> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(true);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
    environment
}

/// Most values are plain text, and starting a template engine is not free.
fn is_plain(template: &str) -> bool {
    !["{{", "{%", "{#"].iter().any(|opening| template.contains(opening))
}

pub(crate) fn check(template: &str) -> Result<(), Wrong> {
    if is_plain(template) {
        return Ok(());
    }
    let environment = environment();
    let compiled = environment.template_from_str(template).map_err(|error| Wrong {
        message: format!("bad template: {}", error.detail().unwrap_or("it cannot be read")),
        range: error.range(),
        help: None,
    })?;
    let mut unknown: Vec<String> = compiled
        .undeclared_variables(false)
        .into_iter()
        .filter(|name| !NAMES.contains(&name.as_str()) && !environment.globals().any(|(global, _)| global == name))
        .collect();
    unknown.sort();
    match unknown.first() {
        None => Ok(()),
        Some(name) => Err(Wrong {
            message: format!("unknown name `{name}`"),
            range: find_word(template, name),
            help: Some(match text::nearest(name, NAMES.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known names: {}", NAMES.join(", ")),
            }),
        }),
    }
}

/// Whether this text would be a template with one of our names in it.
pub(crate) fn mentions_a_name(template: &str) -> bool {
    !is_plain(template)
        && environment().template_from_str(template).is_ok_and(|compiled| {
            compiled.undeclared_variables(false).iter().any(|name| NAMES.contains(&name.as_str()))
        })
}

/// The template with values filled in. `texts` are values, too: long ones, which are not copied unless they are used.
pub(crate) fn render(template: &str, values: &Values, texts: &[(&str, &str)]) -> Result<String> {
    if is_plain(template) {
        return Ok(template.to_owned());
    }
    let texts = texts.iter().map(|(name, text)| (*name, Used::Text(text)));
    let values = values.iter().map(|(name, value)| (name.as_str(), Used::Fact(value)));
    // The engine copies what it is given, so it is not given what the template does not name.
    let used: BTreeMap<&str, Used<'_>> = texts.chain(values).filter(|(name, _)| template.contains(name)).collect();
    environment().render_str(template, minijinja::value::Serde(used)).map_err(|error| {
        Error::failed(format!("the template `{}` cannot be filled in", text::one_line(template, 60))).cause(&error)
    })
}

/// Where `name` stands as a word of its own inside `{{ … }}` or `{% … %}`.
fn find_word(template: &str, name: &str) -> Option<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    template.match_indices(name).find_map(|(start, _)| {
        let end = start + name.len();
        let inside = template[..start].rfind(['{', '}']).is_some_and(|brace| template[brace..].starts_with('{'))
            || template[..start].rfind('%').is_some();
        let alone = !template[..start].ends_with(|c| is_word(c) || c == '.') && !template[end..].starts_with(is_word);
        (inside && alone).then_some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect()
    }

    #[test]
    fn known_names_without_a_value_render_empty() {
        let values = values(&[("tag", "x")]);
        assert_eq!(render("[{{ tag }}|{{ note }}|{{ handoff.goal.deep }}]\n", &values, &[]).unwrap(), "[x||]\n");
    }

    #[test]
    fn values_are_not_rendered_again_and_not_escaped() {
        let said = [("note", "<b>{{ tag }} & {% x %}")];
        assert_eq!(render("{{ note }}", &values(&said), &[]).unwrap(), "<b>{{ tag }} & {% x %}");
        assert_eq!(render("{{ note }}", &Values::new(), &said).unwrap(), "<b>{{ tag }} & {% x %}");
        assert_eq!(render("{{ note }}", &values(&[("note", "first")]), &said).unwrap(), "first");
    }

    #[test]
    fn unknown_names_and_bad_syntax_are_found_before_anything_runs() {
        let wrong = check("a {{ summray }}").unwrap_err();
        assert_eq!(wrong.message, "unknown name `summray`");
        assert_eq!(wrong.range, Some(5..12));
        assert_eq!(wrong.help.as_deref(), Some("did you mean `summary`?"));
        assert!(check("{{ note").unwrap_err().message.starts_with("bad template"));
        assert!(check("{% for c in commits %}{{ c.id }}{% endfor %}").is_ok());
        assert!(check("100 % of { }").is_ok());
    }

    #[test]
    fn a_template_cannot_run_for_ever() {
        let endless = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        assert!(render(endless, &Values::new(), &[]).is_err());
    }
}
