//! Command lines as agents write them: their parts, and the program of each part.

use std::borrow::Cow;

/// Programs that run another program, with the number of arguments of their own.
const WRAPPERS: &[(&str, usize)] = &[
    ("bundle", 1),
    ("bunx", 0),
    ("command", 0),
    ("env", 0),
    ("exec", 0),
    ("hatch", 1),
    ("ionice", 0),
    ("nice", 0),
    ("nohup", 0),
    ("npx", 0),
    ("pdm", 1),
    ("pipenv", 1),
    ("pixi", 1),
    ("pnpx", 0),
    ("poetry", 1),
    ("rye", 1),
    ("stdbuf", 0),
    ("sudo", 0),
    ("time", 0),
    ("timeout", 1),
    ("uv", 1),
    ("uvx", 0),
    ("xvfb-run", 0),
];
/// Wrappers whose own argument must be this one. `poetry add pytest` runs nothing.
const RUN: &[&str] = &["run", "exec"];
/// Programs that run what stands after `--`.
const BEFORE_DASHES: &[&str] =
    &["devbox", "direnv", "doppler", "dotenv", "firejail", "infisical", "mise", "nix", "op", "rtx", "systemd-run"];
/// Words of the shell before a command.
const KEYWORDS: &[&str] = &["!", "do", "elif", "else", "if", "then", "until", "while", "{"];
/// Options of wrappers that take a value.
const WITH_VALUE: &[&str] =
    &["--directory", "--extra", "--group", "--project", "--python", "--with", "-k", "-n", "-p", "-u"];

/// What ends a part of a command line; the longer ones first.
const OPERATORS: [&str; 7] = ["&&", "||", "|&", "|", ";", "\n", "&"];

/// The parts of a command line, each with the operator after it.
pub(super) fn parts(command: &str) -> Vec<(String, &'static str)> {
    let command = without_input(command);
    let mut parts = vec![(String::new(), "")];
    let mut quote = None;
    let mut rest = &*command;
    while let Some(c) = rest.chars().next() {
        // `2>&1` and `&>` do not end a part.
        let is_redirection = || parts.last().is_some_and(|(part, _)| part.ends_with('>')) || rest.starts_with("&>");
        let may_end = quote.is_none() && matches!(c, '&' | '|' | ';' | '\n') && !is_redirection();
        let operator = OPERATORS.into_iter().find(|operator| may_end && rest.starts_with(operator));
        if let (Some(operator), Some(last)) = (operator, parts.last_mut()) {
            last.1 = operator;
            parts.push((String::new(), ""));
            rest = &rest[operator.len()..];
            continue;
        }
        let mut taken = c.len_utf8();
        match (quote, c) {
            (None | Some('"'), '\\') => taken += rest[taken..].chars().next().map_or(0, char::len_utf8),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        if let Some((part, _)) = parts.last_mut() {
            part.push_str(&rest[..taken]);
        }
        rest = &rest[taken..];
    }
    parts.retain(|(part, _)| !part.trim().is_empty() && !part.trim_start().starts_with('#'));
    parts
}

/// The command line without the texts that it gives to programs as input (`<<END`), and with continued lines joined.
fn without_input(command: &str) -> Cow<'_, str> {
    if !command.contains("<<") && !command.contains("\\\n") {
        return Cow::Borrowed(command);
    }
    let joined = command.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut kept = String::new();
    let mut lines = joined.lines();
    while let Some(line) = lines.next() {
        kept.push_str(line);
        kept.push('\n');
        if let Some(end) = end_of_input(line) {
            lines.by_ref().find(|line| line.trim_start_matches('\t') == end);
        }
    }
    Cow::Owned(kept)
}

/// The line with which the input ends that begins after this line.
fn end_of_input(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("<<")?;
    if before.ends_with('<') || after.starts_with('<') {
        return None;
    }
    let after = after.trim_start_matches('-').trim_start().trim_start_matches(['"', '\'', '\\']);
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
    Some(&after[..end]).filter(|word| !word.is_empty())
}

/// The program's name without its directory, and its arguments. Programs that run other programs are skipped.
pub(super) fn program(part: &str) -> Option<(String, Vec<&str>)> {
    let mut words: Vec<&str> = part.split_whitespace().collect();
    loop {
        let first = *words.first()?;
        let name = first.trim_start_matches(['(', '{']).rsplit('/').next().unwrap_or(first).to_owned();
        let is_assignment = first
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        if is_assignment || KEYWORDS.contains(&first) || name.is_empty() {
            words.remove(0);
            continue;
        }
        let dashes = words.iter().position(|word| *word == "--").filter(|_| BEFORE_DASHES.contains(&name.as_str()));
        if let Some(dashes) = dashes.filter(|dashes| dashes + 1 < words.len()) {
            words.drain(..=dashes);
            continue;
        }
        let Some((_, own)) = WRAPPERS.iter().find(|(word, _)| *word == name) else {
            return Some((name, words.split_off(1)));
        };
        let runs = *own == 0 || name == "timeout" || words.iter().skip(1).take(4).any(|word| RUN.contains(word));
        let skipped = 1 + options(&words[1..]);
        let skipped = (skipped + own).min(words.len());
        let skipped = skipped + options(&words[skipped..]);
        if !runs || skipped >= words.len() {
            return Some((name, words.split_off(1)));
        }
        words.drain(..skipped);
    }
}

/// The number of leading words that are options or their values.
fn options(words: &[&str]) -> usize {
    let mut count = 0;
    while let Some(word) = words.get(count).filter(|word| word.starts_with('-')) {
        count += if WITH_VALUE.contains(word) { 2 } else { 1 };
        if *word == "--" {
            break;
        }
    }
    count.min(words.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_divided_where_the_shell_divides_it() {
        for (command, expected) in [
            ("a && b || c; d | e & f", &["a", "b", "c", "d", "e", "f"][..]),
            ("a 'b; c' \"d | \\\" e\" \\; f", &["a 'b; c' \"d | \\\" e\" \\; f"]),
            ("a 2>&1 &> x", &["a 2>&1 &> x"]),
            ("a \\\n  --b \\\n  c\nd", &["a    --b    c", "d"]),
            ("cat <<'EOF' > x\ncargo test\nEOF\nls", &["cat <<'EOF' > x", "ls"]),
            ("cat <<-END\ncargo test", &["cat <<-END"]),
            ("grep x <<< 'y'\nls", &["grep x <<< 'y'", "ls"]),
            ("# a note; more\nls", &["more", "ls"]),
        ] {
            let found: Vec<String> = parts(command).into_iter().map(|(part, _)| part.trim().to_owned()).collect();
            assert_eq!(found, expected, "{command}");
        }
    }

    #[test]
    fn the_program_is_behind_its_wrappers() {
        for (part, expected) in [
            ("RUST_LOG=x /usr/bin/cargo test", "cargo test"),
            ("timeout -k 5 60 npm test", "npm test"),
            ("uv run --with x pytest -q", "pytest -q"),
            ("uv sync", "uv sync"),
            ("poetry add pytest", "poetry add pytest"),
            ("mise exec -- pytest a", "pytest a"),
            ("mise run test", "mise run test"),
            ("if ! (cargo check", "cargo check"),
            ("time", "time"),
            ("sudo -u x env A=1 ls", "ls"),
        ] {
            let (name, arguments) = program(part).unwrap();
            let found = std::iter::once(name.as_str()).chain(arguments).collect::<Vec<_>>().join(" ");
            assert_eq!(found, expected, "{part}");
        }
        assert_eq!(program("A=1"), None);
    }

    proptest! {
        #[test]
        fn any_line_is_divided(command in "[a-z|&;'\"=/\\\\ \n><#-]{0,60}") {
            for (part, _) in parts(&command) {
                let _ = program(&part);
            }
        }
    }
}
