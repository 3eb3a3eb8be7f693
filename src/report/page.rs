//! The HTML document: one file, without a network, readable without a script.
//!
//! No text of a session can become markup or script, for two reasons. The template escapes every value. And the content
//! policy in the page forbids every script and style but ours, which it knows by their digests, and every connection.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context, escape_formatter};
use sha2::{Digest, Sha256};

use super::{Picture, markup};
use crate::base::text;
use crate::error::{Error, Result};
use crate::guard::secrets;

const PAGE: &str = include_str!("page.html");
const PROJECT: &str = include_str!("project.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How much of a file shows whether it is a page of ours.
pub(crate) const HEAD: u64 = 200;
/// How every page of ours begins, up to the version.
const BEGINNING: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"generator\" \
                         content=\"agent-handover ";

/// Whether a file that begins so is a page of ours.
pub(crate) fn is_page(start: &[u8]) -> bool {
    start.starts_with(BEGINNING.as_bytes())
}

/// The page about these projects, made at `at`. `since` says what it leaves out.
pub(crate) fn render(projects: &[Picture], at: &str, since: Option<&str>) -> Result<String> {
    let is_only = projects.len() == 1;
    let mut articles = String::new();
    for (number, project) in (1..).zip(projects) {
        articles.push_str(&fill(PROJECT, context! { project => Serde(project), number, is_only })?);
    }
    fill(
        PAGE,
        context! {
            projects => Serde(projects),
            articles,
            at,
            since,
            version => env!("CARGO_PKG_VERSION"),
            style => STYLE,
            script => SCRIPT,
            policy => policy(),
        },
    )
}

/// A template with its values, each of them escaped unless the template calls it safe: our own text, or what was escaped.
/// Secrets are kept out at writing; one that came in otherwise is taken out here, because people pass pages on.
fn fill(template: &str, values: Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_formatter(|out, state, value| match value.as_str().filter(|_| !value.is_safe()) {
        Some(text) => escape_formatter(out, state, &Value::from(secrets::clean(text))),
        None => escape_formatter(out, state, value),
    });
    markup::add_to(&mut environment);
    environment.add_filter("count", |number: usize, noun: &str| text::count(number, noun));
    let filled = environment.render_str(template, values);
    filled.map_err(|cause| Error::bug("the template of the report is wrong").cause(cause))
}

fn policy() -> String {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;

    /// A project in which every part of the page has something to show.
    fn project(text: &str) -> Json {
        let text = if text.is_empty() { "x" } else { text };
        json!({
            "name": text, "root": text, "last": text, "is_strange": true, "notices": [text], "problems": [text],
            "stands": [{ "title": text, "items": [text], "omitted": 3 }],
            "timeline": {
                "total": 2, "left_out": 1, "agent_count": 7, "branch_count": 9, "first": text, "last": text,
                "places": [{ "directory": text, "sessions": 1, "last": text }],
                "branches": [{ "name": text, "sessions": 1, "plot": "<svg></svg>" }], "plot": "<svg></svg>", "checks_plot": "<svg></svg>",
                "rows": [{ "at": text, "agent": text, "branch": text, "status": text, "title": text, "next": text,
                    "id": text, "is_strange": true }],
                "agents": [{ "name": text, "sessions": 2, "color": "c0" }],
                "decisions": [{ "day": text, "text": text, "session": text, "is_strange": true }],
                "decisions_left_out": 1,
                "checks": [{ "command": text, "passed": 1, "failed": 0, "last": text, "day": text }],
                "checks_left_out": 2,
            },
            "handovers": { "plot": "<svg></svg>", "rows": [{ "at": text, "agent": text, "branch": text,
                "status": text, "took_ms": 4, "remarks": [text, text], "id": text }] },
            "hooks": [{ "agent": text, "event": text, "calls": 1, "median_ms": 1, "p95_ms": 1, "slowest_ms": 1,
                "last": text }],
            "starts": { "whole": 1, "known": 2, "plot": "<svg></svg>", "left_out": 3,
                "agents": [{ "agent": text, "starts": 4, "whole": 1, "cut": 1, "missing": 1, "unknown": 1 }],
                "rows": [{ "at": text, "agent": text, "reason": text, "session": text, "bytes": 1, "receipt": text }] },
            "helped": { "warm": 1, "cold": 2, "enough": 30, "missing": 1, "is_comparable": false,
                "rows": [{ "title": text, "warm": text, "warm_n": 1, "cold": text, "cold_n": 2 }] },
            "growth": { "plot": "<svg></svg>", "index_plot": "<svg></svg>", "sizes": [{ "what": text, "files": 1, "bytes": text }] },
            "machine": { "name": text, "deliveries": 2, "last": text },
            "publishers": [{ "name": text, "commits": 1, "first": text, "last": text }],
        })
    }

    fn article(text: &str) -> String {
        let project = project(text);
        fill(PROJECT, context! { project => Serde(&project), number => 1, is_only => true }).unwrap()
    }

    /// The tags of a page with the names of their attributes.
    fn skeleton(page: &str) -> Vec<String> {
        let tags = regex::Regex::new(r#"<[^>]*>"#).unwrap();
        let values = regex::Regex::new(r#""[^"]*""#).unwrap();
        tags.find_iter(page).map(|tag| values.replace_all(tag.as_str(), "").into_owned()).collect()
    }

    proptest! {
        #[test]
        fn property_no_text_becomes_markup(text in "(?s).{1,30}|.{0,5}(</script>|<img src=x onerror=a>|\" onclick=\"a|'><b>|<!--|]]>|&lt;script&gt;).{0,5}") {
            prop_assert_eq!(skeleton(&article(&text)), skeleton(&article("x")));
        }
    }

    #[test]
    fn the_policy_names_our_script_and_style_and_nothing_else() {
        let page = render(&[], "2026-11-15 10:04", None).unwrap();
        let inside = |tag: &str| {
            let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
            assert_eq!((page.matches(&open).count(), page.matches(&close).count()), (1, 1), "{tag}");
            let (start, end) = (page.find(&open).unwrap() + open.len(), page.find(&close).unwrap());
            format!("'sha256-{}'", STANDARD.encode(Sha256::digest(&page[start..end])))
        };
        let policy = format!("default-src 'none'; style-src {}; script-src {};", inside("style"), inside("script"));
        assert!(page.contains(&policy), "{policy}");
    }

    #[test]
    fn no_secret_gets_on_the_page() {
        let token = ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
        let page = article(&format!("use {token} <b>here</b>"));
        assert!(!page.contains(&token) && page.contains("github-token") && page.contains("&lt;b&gt;here"), "{page}");
    }

    #[test]
    fn a_page_is_known_by_its_beginning() {
        let page = render(&[], "now", None).unwrap();
        assert!(is_page(&page.as_bytes()[..200]) && BEGINNING.len() < 200);
        assert!(!is_page(b"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Mine"));
    }

    #[test]
    fn the_page_loads_nothing_and_has_no_inline_handlers_or_styles() {
        let page = [render(&[], "now", None).unwrap(), article("x")].concat();
        for forbidden in ["http:", "https:", "//", "src=", "url(", "@import", " style=", " onclick", " onload"] {
            let found = page.match_indices(forbidden).map(|(at, _)| &page[at..(at + 40).min(page.len())]);
            assert_eq!(found.collect::<Vec<_>>(), Vec::<&str>::new(), "{forbidden}");
        }
    }

    #[test]
    fn every_element_is_closed() {
        const VOID: [&str; 4] = ["meta", "input", "br", "!DOCTYPE"];
        let mut open: Vec<String> = Vec::new();
        for tag in skeleton(&render(&[], "now", Some("then")).unwrap().replace("</main>", &(article("x") + "</main>")))
        {
            let name = tag.trim_matches(['<', '>', '/']).split_whitespace().next().unwrap().to_owned();
            if tag.starts_with("</") {
                assert_eq!(open.pop(), Some(name), "before {tag}");
            } else if !VOID.contains(&name.as_str()) {
                open.push(name);
            }
        }
        assert_eq!(open, Vec::<String>::new());
    }
}
