//! Flags as Go's `flag` package reads them: `-x` equals `--x`, a value follows or comes after `=`, and the first argument
//! that is not a flag ends them.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Whether a flag has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Switch,
}

/// The flags of one command line. The last of several values counts, except for flags that may be repeated.
#[derive(Default)]
pub(super) struct GoFlags {
    values: BTreeMap<String, Vec<String>>,
}

impl GoFlags {
    /// Reads the flags that a command knows. The error is one sentence in Go's words.
    pub(super) fn parse(arguments: &[OsString], known: &[(&str, Kind)]) -> Result<GoFlags, String> {
        let mut flags = GoFlags::default();
        let mut rest = arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
        while let Some(argument) = rest.next() {
            let Some(name) = argument.strip_prefix('-') else { break };
            let name = name.strip_prefix('-').unwrap_or(name);
            // A single hyphen is an argument; two end the flags.
            if name.is_empty() {
                break;
            }
            let (name, given) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (name, None),
            };
            if matches!(name, "h" | "help") {
                return Err("flag: help requested".to_owned());
            }
            let Some((_, kind)) = known.iter().find(|(flag, _)| *flag == name) else {
                return Err(format!("flag provided but not defined: -{name}"));
            };
            let value = match (kind, given) {
                (_, Some(value)) => value,
                (Kind::Switch, None) => "true".to_owned(),
                (Kind::Text, None) => rest.next().ok_or_else(|| format!("flag needs an argument: -{name}"))?,
            };
            if *kind == Kind::Switch && switch(&value).is_none() {
                return Err(format!("invalid boolean value {value:?} for -{name}: parse error"));
            }
            flags.values.entry(name.to_owned()).or_default().push(value);
        }
        Ok(flags)
    }

    /// The value of a flag that is not blank.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.given(name).filter(|value| !value.trim().is_empty())
    }

    /// The value of a flag, also a blank one.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.all(name).last().map(String::as_str)
    }

    /// Every value of a flag that may be repeated.
    pub(super) fn all(&self, name: &str) -> &[String] {
        self.values.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.given(name).and_then(switch).unwrap_or(false)
    }
}

/// A boolean as Go reads it.
fn switch(value: &str) -> Option<bool> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<GoFlags, String> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        GoFlags::parse(&arguments, &[("next", Kind::Text), ("json", Kind::Switch)])
    }

    #[test]
    fn one_and_two_hyphens_are_the_same_and_the_first_argument_ends_the_flags() {
        let flags = parse("-next a --next=b=c --json ignored --next d").unwrap();
        assert_eq!(flags.all("next"), ["a", "b=c"]);
        assert!(flags.is_set("json"));
        assert!(!parse("--json=false").unwrap().is_set("json"));
        assert_eq!(parse("--next -x").unwrap().given("next"), Some("-x"));
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_go() {
        let problem = |line: &str| parse(line).err().unwrap_or_default();
        assert_eq!(problem("--nope"), "flag provided but not defined: -nope");
        assert_eq!(problem("--next"), "flag needs an argument: -next");
        assert_eq!(problem("--json=maybe"), "invalid boolean value \"maybe\" for -json: parse error");
        assert_eq!(problem("-h"), "flag: help requested");
    }
}
