//! The program that hooks start: its path as a shell line, and how our lines are recognised.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::server;
use crate::agents::by_name;
use crate::base::{fs, text};
use crate::error::{Error, Result};

const NAME: &str = "agent-handover";
const VERB: &str = "hook";
const AGENT_OPTION: &str = "--agent";

/// A program that hooks start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    path: String,
}

impl Program {
    /// The program that is running now, by the path that PATH finds if it leads here: that path outlives an upgrade, while a
    /// package manager may keep each version elsewhere.
    pub fn this() -> Result<Program> {
        let unknown = |cause: std::io::Error| Error::failed("this program cannot find its own path").cause(cause);
        let real = fs::real(&std::env::current_exe().map_err(unknown)?);
        let named = crate::base::env::get("PATH").and_then(|path| find(&path, NAME));
        let named = named.filter(|named| fs::real_if_exists(named).is_some_and(|named| named == real));
        let path = named.unwrap_or(real);
        match path.to_str() {
            Some(text) if !text.chars().any(char::is_control) => Ok(Program { path: text.to_owned() }),
            _ => Err(Error::failed(format!("the path of this program cannot be written in a settings file: {path:?}"))
                .hint("move it to a directory with a plain name")),
        }
    }

    pub fn at(path: &str) -> Program {
        Program { path: path.to_owned() }
    }

    /// The program that PATH finds, for files that are shared with other people.
    pub fn by_name() -> Program {
        Program::at(NAME)
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the program is in a build or temporary directory. Hooks that point there fail silently once it is gone.
    pub fn is_short_lived(&self) -> bool {
        let path = Path::new(&self.path);
        let built = path.parent().is_some_and(|parent| parent.ends_with("debug") || parent.ends_with("release"));
        built || path.starts_with("/tmp") || path.starts_with(std::env::temp_dir())
    }

    /// The shell line that calls the program for this agent.
    pub fn line(&self, agent: &str) -> String {
        format!("{} {VERB} {AGENT_OPTION} {agent}", text::shell_word(&self.path))
    }
}

/// The program of our line. A line that does more than call us is the user's.
///
/// A program of our name is ours if it is called with `hook`. A program of another name may be this one, renamed: it is
/// ours if it is called with exactly the arguments that `install` writes, and is not the file of another program.
pub(crate) fn own(line: &str, arguments: &[String]) -> Option<String> {
    let mut words = match arguments {
        [] => words(line)?,
        _ => vec![line.to_owned()],
    };
    words.extend_from_slice(arguments);
    let [program, arguments @ ..] = words.as_slice() else { return None };
    let name = program.rsplit(['/', '\\']).next()?;
    let is_ours = if matches!(name, NAME | "agent-handover.exe") {
        is_simple_hook(arguments)
    } else {
        is_installed_hook(arguments) && (name.starts_with(NAME) || is_renamed(program))
    };
    is_ours.then(|| program.clone())
}

/// The program of an MCP server that starts us. A server of another name may be this program, renamed.
pub(crate) fn own_server(program: &str, arguments: &[String]) -> Option<String> {
    let name = program.rsplit(['/', '\\']).next()?;
    let is_server = arguments.iter().any(|word| word == server::VERB);
    let is_ours = is_server && (name.starts_with(NAME) || arguments.len() == 1 && is_renamed(program));
    is_ours.then(|| program.to_owned())
}

fn is_simple_hook(arguments: &[String]) -> bool {
    let is_shell = |word: &String| word.contains(['|', '&', ';', '<', '>']);
    arguments.first().is_some_and(|verb| verb == VERB) && !arguments.iter().any(is_shell)
}

/// Whether these are the arguments that `install` writes.
fn is_installed_hook(arguments: &[String]) -> bool {
    matches!(arguments, [verb, option, agent] if verb == VERB && option == AGENT_OPTION && by_name(agent).is_some())
}

/// Whether the program can be ours under another name. `install` writes absolute paths. A path where nothing is any more
/// counts, because hooks that call it do nothing; a file that never mentions us is another program.
fn is_renamed(program: &str) -> bool {
    let path = Path::new(program);
    path.is_absolute()
        && match fs::open_if_exists(path) {
            Ok(None) => true,
            Ok(Some(file)) => mentions_us(file).unwrap_or(false),
            Err(_) => false,
        }
}

/// Whether a file contains our name. Every build of this program does.
fn mentions_us(mut file: impl Read) -> std::io::Result<bool> {
    let name = memchr::memmem::Finder::new(NAME);
    let mut seen = Vec::new();
    loop {
        let is_end = file.by_ref().take(1 << 20).read_to_end(&mut seen)? == 0;
        if is_end || name.find(&seen).is_some() {
            return Ok(!is_end);
        }
        // The name may lie across the edge of two parts.
        seen.drain(..seen.len().saturating_sub(NAME.len()));
    }
}

/// Splits a line as a shell does, without expanding anything. `None` if a quote is not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut started) = (Vec::new(), String::new(), false);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' if started => {
                words.push(std::mem::take(&mut word));
                started = false;
            }
            ' ' | '\t' => {}
            '\'' | '"' => {
                started = true;
                loop {
                    match rest.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => word.push(rest.next()?),
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => {
                started = true;
                word.push(rest.next()?);
            }
            other => {
                started = true;
                word.push(other);
            }
        }
    }
    if started {
        words.push(word);
    }
    Some(words)
}

/// The file that this PATH finds for a program. Relative entries are ignored, because they depend on the current directory.
pub(crate) fn find(path: &OsStr, name: &str) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| fs::is_executable(file);
    std::env::split_paths(path).filter(|directory| directory.is_absolute()).map(|d| d.join(name)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn our_lines_are_known_wherever_the_program_lies_and_others_are_not() {
        let own = |line: &str| own(line, &[]);
        assert_eq!(own("/old/agent-handover hook --agent codex").as_deref(), Some("/old/agent-handover"));
        assert_eq!(own("agent-handover hook").as_deref(), Some("agent-handover"));
        assert_eq!(own("'/my tools/agent-handover' hook").as_deref(), Some("/my tools/agent-handover"));
        assert_eq!(own(r#""C:/a b/agent-handover.exe" hook"#).as_deref(), Some("C:/a b/agent-handover.exe"));
        for foreign in [
            "notify && agent-handover hook",
            "agent-handover hook | tee log",
            "agent-handover run --note hook",
            "/x/not-agent-handover hook",
            "python agent-handover hook",
            "agent-handover 'hook",
            "agent-handover",
            "",
        ] {
            assert_eq!(own(foreign), None, "{foreign}");
        }
        let arguments = ["hook".to_owned(), "--agent".to_owned()];
        assert_eq!(super::own("/a b/agent-handover", &arguments).as_deref(), Some("/a b/agent-handover"));
        assert_eq!(super::own("/a b/other", &arguments), None);
    }

    #[test]
    fn a_renamed_program_is_known_by_what_it_is_called_with() {
        let own = |line: &str| own(line, &[]);
        let this = std::env::current_exe().unwrap().display().to_string();
        for ours in ["/gone/ah hook --agent codex", "agent-handover-nightly hook --agent cursor"] {
            assert_eq!(own(ours).as_deref(), ours.split(' ').next(), "{ours}");
        }
        assert_eq!(own(&Program::at(&this).line("codex")), Some(this));
        for foreign in [
            "/bin/sh hook --agent codex",
            "/ hook --agent codex",
            "other hook --agent codex",
            "./ah hook --agent codex",
            "/gone/ah hook --agent nobody",
            "/gone/ah hook",
            "/gone/ah hook --agent codex --more",
            "/gone/ah hook --agent codex; notify",
        ] {
            assert_eq!(own(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn our_name_is_found_across_the_edge_of_two_parts() {
        let mut bytes = vec![b'.'; (1 << 20) - 5];
        assert!(!mentions_us(bytes.as_slice()).unwrap());
        bytes.extend_from_slice(NAME.as_bytes());
        assert!(mentions_us(bytes.as_slice()).unwrap());
    }

    proptest! {
        #[test]
        fn any_path_survives_being_quoted(directory in "[^\\x00-\\x1f/]{1,20}") {
            let program = Program::at(&format!("/{directory}/agent-handover"));
            prop_assert_eq!(own(&program.line("codex"), &[]), Some(program.path().to_owned()));
        }
    }
}
