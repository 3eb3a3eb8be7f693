//! Cursor CLI: `~/.cursor/projects/<directory>/agent-transcripts/<session>/<session>.jsonl`, or `<session>.jsonl` without a
//! directory of its own. `<directory>` is named after the one in which the session was started.
//!
//! Versions seen: files of 2026 that others published; the client does not run without an account. A record has no time,
//! and tool calls have no results: an edit counts as made, and the outcome of a command is not known. Transcripts in plain
//! text (`.txt`, before 2026) and the database of the editor (`state.vscdb`) are not read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::json::Value;

use super::draft::Draft;
use super::forks::Origin;
use super::format::Place;
use super::listing::{self, Extent, Listing, ListingBudget, ListingLimits};
use super::todo_list::status;
use super::{Todo, TranscriptFormat, human_text};
use crate::base::{env, fs};

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    name: "cursor",
    place: Place { variable: env::CURSOR_CONFIG_DIR, below: "", default: ".cursor" },
    is_one,
    id_mark: b"",
    in_part: &[],
    take,
    candidates,
    states: listing::states,
    directories: |home, roots| listing::directories(candidates(home, roots, &mut ListingLimits::NONE.budget())),
    id,
    origin: |_| Origin::default(),
    file_of: |_, _| None,
    siblings: |_| Vec::new(),
    beside,
    subagents: |_| Vec::new(),
    older: &[],
    is_always_named: false,
    keeps_context: false,
    // The directory of the project is part of the path.
    by_id: |_, _| None,
};

const TRANSCRIPTS: &str = "agent-transcripts";
/// How many directories are looked at to find the one after which another is named.
const MAX_LOOKED_AT: usize = 200;
/// In a directory with more names, none is looked for.
const MAX_NAMES: usize = 10_000;

fn is_one(record: &Value) -> bool {
    let is_message = matches!(record["role"].as_str(), Some("user" | "assistant"));
    is_message && record["message"].is_object() && record["sessionId"].is_null()
}

fn take(draft: &mut Draft, record: &Value) {
    let content = &record["message"]["content"];
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    let texts: Vec<&str> = content.as_str().into_iter().chain(texts).collect();
    match record["role"].as_str() {
        Some("user") => {
            let said: Vec<&str> = texts.into_iter().map(typed).collect();
            draft.asked(&human_text::of_person_in_parts(said.into_iter()));
        }
        Some("assistant") => {
            // The client replaces what the model thought.
            texts.iter().filter(|text| text.trim() != "[REDACTED]").for_each(|text| draft.said(text));
            blocks.iter().filter(|block| block["type"] == "tool_use").for_each(|block| call(draft, block));
        }
        _ => {}
    }
}

/// What the person typed: `<user_query>…</user_query>`, after what the client adds.
fn typed(text: &str) -> &str {
    let inside = text.split_once("<user_query>").and_then(|(_, rest)| rest.split_once("</user_query>"));
    inside.map_or(text, |(inside, _)| inside)
}

fn call(draft: &mut Draft, block: &Value) {
    let input = &block["input"];
    let text = |names: &[&str]| names.iter().find_map(|name| input[*name].as_str()).unwrap_or_default().to_owned();
    // Without an id of its own, each call is another one.
    let id = block["id"].as_str().map_or_else(|| draft.next_id(), str::to_owned);
    match block["name"].as_str().unwrap_or_default() {
        "Shell" | "Bash" | "run_terminal_cmd" | "run_terminal_command" => {
            draft.called_command(&id, &text(&["command"]))
        }
        "Write" | "Edit" | "StrReplace" | "MultiEdit" | "Delete" | "EditNotebook" | "search_replace" | "edit_file"
        | "write" | "delete_file" => {
            let path = text(&["path", "file_path", "target_file", "target_notebook"]);
            if !path.trim().is_empty() {
                draft.edited(draft.in_cwd(&path));
            }
        }
        "ApplyPatch" | "apply_patch" => {
            let patch = input.as_str().map_or_else(|| text(&["patch", "input"]), str::to_owned);
            draft.called_patch(&id, &patch);
            draft.returned(&id, &super::calls::Ended::Code(0, ""), None);
        }
        "TodoWrite" | "todo_write" => {
            let todos = input["todos"].as_array().into_iter().flatten();
            let todos = todos.filter_map(|todo| {
                let number = todo["id"].as_str().unwrap_or_default().to_owned();
                let text = todo["content"].as_str().unwrap_or_default().to_owned();
                Some((number, Todo { text, status: status(todo["status"].as_str()?)? }))
            });
            draft.numbered_todos(todos.collect(), input["merge"] != true);
        }
        name => draft.called_tool(&id, name),
    }
}

/// The sessions of the directories at or below the roots. Different paths can have the same name, so others may be among
/// them. A sub-agent has a directory below that of its session.
fn candidates(home: &Path, roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing> {
    let projects = home.join("projects");
    let names: Vec<String> = roots.iter().map(|root| name_of(root)).collect();
    let is_below = |directory: &str, name: &String| {
        directory.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let directories = budget.directories(&projects).unwrap_or_else(|| names.clone());
    let directories = directories.into_iter().filter(|directory| names.iter().any(|name| is_below(directory, name)));
    let places: BTreeSet<PathBuf> = directories.map(|name| projects.join(name).join(TRANSCRIPTS)).collect();
    let places = places.into_iter().filter(|place| fs::is_directory(place));
    places
        .map(|place| {
            let Some(names) = budget.names(&place) else {
                return Listing { place, files: Vec::new(), extent: Extent::TooMany };
            };
            let file = |name: &String| match name.strip_suffix(".jsonl") {
                Some(_) => place.join(name),
                None => place.join(name).join(format!("{name}.jsonl")),
            };
            let files = names.iter().filter(|name| !name.ends_with(".txt")).map(file).collect();
            Listing { place, files, extent: Extent::Whole }
        })
        .collect()
}

/// Every character but ASCII letters and digits becomes a dash; there is none at the beginning.
fn name_of(path: &Path) -> String {
    let name: String =
        path.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    name.trim_start_matches('-').to_owned()
}

fn id(path: &Path) -> Option<String> {
    path.file_stem()?.to_str().map(str::to_owned)
}

/// The directory of the session: the one after which its own is named, if there is exactly one on this machine.
fn beside(draft: &mut Draft, path: &Path) {
    let transcripts = path.ancestors().find(|above| above.file_name().is_some_and(|name| name == TRANSCRIPTS));
    draft.found.is_subagent = path.ancestors().any(|above| above.file_name().is_some_and(|name| name == "subagents"));
    let name = transcripts.and_then(|place| place.parent()?.file_name()?.to_str());
    if let Some(directory) = name.and_then(|name| directory_named(Path::new("/"), name)) {
        draft.cwd(&directory.to_string_lossy());
    }
}

/// The directory below `top` whose path makes this name. `None` if there is none, or more than one.
fn directory_named(top: &Path, name: &str) -> Option<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(top.to_path_buf(), name.to_owned())];
    let mut looked_at = 0;
    while let Some((directory, rest)) = open.pop() {
        if rest.is_empty() {
            found.push(directory);
            continue;
        }
        looked_at += 1;
        if looked_at > MAX_LOOKED_AT {
            return None;
        }
        for below in fs::names_at_most(&directory, MAX_NAMES).unwrap_or_default() {
            let own = name_of(Path::new(&below));
            // A name that begins with a dot makes a second dash.
            let left = rest.trim_start_matches('-').strip_prefix(own.as_str());
            let Some(left) = left.filter(|left| !own.is_empty() && (left.is_empty() || left.starts_with('-'))) else {
                continue;
            };
            let path = directory.join(&below);
            if fs::is_directory(&path) && !is_link(&path) {
                open.push((path, left.strip_prefix('-').unwrap_or(left).to_owned()));
            }
        }
    }
    if found.len() == 1 { found.pop() } else { None }
}

fn is_link(path: &Path) -> bool {
    fs::real_if_exists(path).is_some_and(|real| real != path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_found_by_its_name_unless_two_have_it() {
        let world = tempfile::tempdir().unwrap();
        let top = world.path().canonicalize().unwrap();
        for directory in ["a/b.c/d", "a-b/x", "a/.hidden/y", "dev/one-two", "dev/one/two"] {
            std::fs::create_dir_all(top.join(directory)).unwrap();
        }
        for (name, expected) in [
            ("a-b-c-d", Some("a/b.c/d")),
            ("a-b-x", Some("a-b/x")),
            ("a--hidden-y", Some("a/.hidden/y")),
            ("dev-one", Some("dev/one")),
            ("dev-one-two", None),
            ("a-b-nowhere", None),
        ] {
            assert_eq!(directory_named(&top, name), expected.map(|path| top.join(path)), "{name}");
        }
        assert_eq!(name_of(Path::new("/home/me/my.app")), "home-me-my-app");
    }
}
