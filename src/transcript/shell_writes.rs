//! The files that a command line writes, as far as its words say so: `sed -i`, `mv`, `cp`, `rm`, `tee`, `git mv`, `git apply`
//! with the patch in the line, and redirections. They are only candidates: git says whether they changed.

use std::path::{Path, PathBuf};

use super::command_line::{parts, program};

/// The program that moves, removes and patches tracked files.
const GIT: &str = "git";
/// How many files of one line are taken.
const MOST: usize = 20;

/// The paths that a line writes, relative to the directory in which it runs, or absolute.
pub(super) fn of(command: &str) -> Vec<String> {
    let mut directory = PathBuf::new();
    let mut found = Vec::new();
    for (part, _) in parts(command) {
        let words = words(&part);
        let mut add = |path: &str| found.extend(plain(path).map(|path| directory.join(path)));
        redirected(&words).for_each(&mut add);
        let Some((name, _)) = program(&part) else { continue };
        let at = words.iter().position(|word| word.rsplit('/').next() == Some(name.as_str()));
        let arguments: Vec<&str> =
            at.map(|at| words[at + 1..].iter().map(String::as_str).collect()).unwrap_or_default();
        let arguments = without_redirections(&arguments);
        match name.as_str() {
            "cd" => directory = directory.join(arguments.first().copied().unwrap_or_default()),
            "sed" => sed(&arguments).into_iter().for_each(&mut add),
            "perl" if has_short_option(&arguments, 'i') => files(&arguments).skip(1).for_each(&mut add),
            "mv" => moved(&arguments, true).iter().for_each(|path| add(path)),
            "cp" => moved(&arguments, false).iter().for_each(|path| add(path)),
            "rm" | "tee" => files(&arguments).for_each(&mut add),
            GIT => match arguments.as_slice() {
                ["mv", rest @ ..] => moved(rest, true).iter().for_each(|path| add(path)),
                ["rm", rest @ ..] => files(rest).for_each(&mut add),
                ["apply", ..] => patched(command).for_each(&mut add),
                _ => {}
            },
            "patch" => patched(command).for_each(&mut add),
            _ => {}
        }
        if found.len() > MOST {
            break;
        }
    }
    let mut paths: Vec<String> = found.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    paths.truncate(MOST);
    paths
}

/// What a word in quotes begins with here: a `>` in quotes is a text.
const QUOTED: char = '\u{1}';

/// The words of a part, without their quotes.
fn words(part: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in part.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                words.iter_mut().last().filter(|word| word.is_empty()).into_iter().for_each(|word| word.push(QUOTED));
            }
            None if c.is_whitespace() => words.push(String::new()),
            _ => words.iter_mut().last().into_iter().for_each(|word| word.push(c)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A path that is one: no device, no variable, no pattern.
fn plain(path: &str) -> Option<&Path> {
    let path = path.trim_start_matches(QUOTED);
    let is_path = !path.is_empty() && !path.starts_with("/dev/") && !path.contains(['$', '*', '?', '&', '<', '`', '(']);
    is_path.then_some(Path::new(path))
}

/// The operator of a redirection to a file at the beginning of a word. Errors that go to a file are not work.
fn redirection(word: &str) -> Option<&str> {
    let rest = word.strip_prefix('1').unwrap_or(word);
    let rest = rest.strip_prefix("&>").or_else(|| rest.strip_prefix('>'))?;
    Some(rest.trim_start_matches(['>', '|']))
}

fn redirected(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().enumerate().filter_map(|(at, word)| match redirection(word)? {
        "" => words.get(at + 1).map(String::as_str),
        path => Some(path),
    })
}

fn without_redirections<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let is_one = |word: &str| redirection(word).is_some() || word.starts_with("2>") || word.starts_with('<');
    words.iter().copied().take_while(|word| !is_one(word)).collect()
}

/// The arguments that are not options.
fn files<'a>(arguments: &[&'a str]) -> impl Iterator<Item = &'a str> {
    arguments.iter().copied().filter(|word| !word.starts_with('-')).collect::<Vec<_>>().into_iter()
}

fn has_short_option(arguments: &[&str], option: char) -> bool {
    let options = arguments.iter().take_while(|word| word.starts_with('-'));
    options.filter(|word| !word.starts_with("--")).any(|word| word.contains(option))
}

/// The files of `sed -i`: what comes after the script.
fn sed<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let in_place =
        |word: &&str| word.starts_with("-i") || word.starts_with("--in-place") || *word == "-Ei" || *word == "-ni";
    if !arguments.iter().any(in_place) {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut has_script = false;
    let mut rest = arguments.iter().copied();
    while let Some(word) = rest.next() {
        match word {
            "-e" | "-f" | "--expression" | "--file" => {
                has_script = true;
                rest.next();
            }
            word if word.starts_with('-') => has_script |= word.starts_with("--expression="),
            word => names.push(word),
        }
    }
    // An empty ending of backups, as some versions want it.
    names.retain(|name| name.chars().any(|c| c != QUOTED));
    names.into_iter().skip(usize::from(!has_script)).collect()
}

/// What a move or a copy writes: its target, and what it takes away.
fn moved(arguments: &[&str], takes_away: bool) -> Vec<String> {
    let names: Vec<&str> = files(arguments).collect();
    let Some((target, sources)) = names.split_last().filter(|(_, sources)| !sources.is_empty()) else {
        return Vec::new();
    };
    let into =
        |source: &&str| Some(format!("{}/{}", target.trim_end_matches('/'), Path::new(source).file_name()?.to_str()?));
    let mut paths: Vec<String> = sources.iter().filter_map(into).collect();
    // Whether the target is a directory is not known; git confirms one of both.
    paths.push((*target).to_owned());
    if takes_away {
        paths.extend(sources.iter().map(|source| (*source).to_owned()));
    }
    paths
}

/// The files of a patch that the line itself has.
fn patched(command: &str) -> impl Iterator<Item = &str> {
    let lines = command.lines().filter_map(|line| line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")));
    let name = |line: &'_ str| line.split('\t').next().map(str::len).unwrap_or_default();
    lines.map(move |line| &line[..name(line)]).map(|path| path.trim_start_matches("a/").trim_start_matches("b/").trim())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_files_that_a_line_writes_are_found() {
        for (command, expected) in [
            ("sed -i 's/a/b/' src/a.rs src/b.rs", &["src/a.rs", "src/b.rs"][..]),
            ("sed -i.bak -e 's/a b/c/' -e 's/d/e/' x.txt 2>/dev/null", &["x.txt"]),
            ("sed -n 1,5p src/a.rs", &[]),
            ("cd web && perl -pi -e 's/a/b/' index.js", &["web/index.js"]),
            ("echo hi > notes.md && cat <<'EOF' >> log.txt\nx > y\nEOF", &["notes.md", "log.txt"]),
            ("cargo test > /dev/null 2>&1", &[]),
            ("cargo build 2> errors.txt", &[]),
            ("printf x >\"a b.txt\"", &["a b.txt"]),
            ("mv src/old.rs src/new.rs", &["src/new.rs/old.rs", "src/new.rs", "src/old.rs"]),
            ("git mv a b/", &["b/a", "b/", "a"]),
            ("git rm -q a.txt", &["a.txt"]),
            ("ls | tee -a list.txt", &["list.txt"]),
            ("git apply <<'EOF'\n--- a/src/x.rs\n+++ b/src/x.rs\n@@ -1 +1 @@\n-a\n+b\nEOF", &["src/x.rs", "src/x.rs"]),
            ("git apply fix.patch", &[]),
            ("grep -rn '>' src", &[]),
            ("echo $X > $FILE", &[]),
            ("if [ 1 -gt 0 ]; then rm -f out.log; fi", &["out.log"]),
        ] {
            assert_eq!(of(command), expected, "{command}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_looked_through(command in "[a-z>|&;'\"=/ \n<$-]{0,80}", program in "(sed -i|mv|cp|rm|tee|git mv|cd|git apply)") {
            let _ = of(&command);
            let found = of(&format!("{program} {command}"));
            prop_assert!(found.len() <= MOST);
        }
    }
}
