//! The house rules, read off the sources.
//!
//! | file | rule |
//! |---|---|
//! | `ranks` | a file uses only directories of a lower rank, and the table in `src/lib.rs` says which these are |
//! | `registries` | nothing outside the file of a step kind, backend or agent knows its name |
//! | `rooms` | `mod.rs` is a front door, and a long file says why it is long |
//! | `unsafety` | `unsafe` is in one block of one file |
//! | `sources`, `tokens` | how the sources are read: without comments and without test code |
//!
//! Each rule has a test that plants violations of every sort and sees them found.

mod ranks;
mod registries;
mod rooms;
mod sources;
mod tokens;
mod unsafety;

use sources::{Sources, root, rust_files};

const NONE: [&str; 0] = [];

#[test]
fn no_file_uses_a_directory_of_the_same_or_a_higher_rank() {
    assert_eq!(ranks::violations(Sources::of_package()), NONE);
}

#[test]
fn the_table_in_lib_rs_names_every_directory_with_its_rank() {
    let header = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    assert_eq!(ranks::differences(&header, &Sources::of_package().directories()), NONE);
}

#[test]
fn no_registry_name_is_used_outside_its_file() {
    assert_eq!(registries::violations(Sources::of_package()), NONE);
}

#[test]
fn front_doors_hold_no_logic_and_long_files_say_why() {
    assert_eq!(rooms::violations(Sources::of_package()), NONE);
}

#[test]
fn unsafe_code_is_in_one_block_of_one_file() {
    assert_eq!(unsafety::violations(&unsafety::files()), NONE);
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("\nunsafe_code = \"deny\"\n"), "the lint that finds it");
}

#[test]
fn planted_unsafe_code_is_found() {
    for text in [
        "fn f() { unsafe { g() } }",
        "unsafe fn f() {}",
        "#![allow(unsafe_code)]",
        "#[expect(unsafe_code, reason = \"x\")] fn f() {}",
        "#[cfg(test)] mod tests { unsafe impl Send for A {} }",
    ] {
        assert_eq!(unsafety::planted(&[("src/a.rs", text)]), ["src/a.rs:1 has `unsafe` or allows it"], "{text}");
    }
    let home = "src/search/vectors/extension.rs";
    for (text, blocks) in [("", 0), ("unsafe { f() } unsafe { g() }", 2)] {
        let expected = [format!("{home} has {blocks} blocks of `unsafe`, not 1")];
        assert_eq!(unsafety::planted(&[(home, text)]), expected);
    }
    assert_eq!(unsafety::planted(&[("tests/a.rs", "// unsafe\nconst A: &str = \"unsafe\";")]), NONE);
    assert_eq!(unsafety::violations(&[]), [format!("{home} does not exist")]);
}

#[test]
fn every_source_and_test_file_is_part_of_a_module() {
    for (directory, top) in [("src", "lib.rs"), ("tests/it", "main.rs")] {
        let base = root().join(directory);
        for file in rust_files(&base) {
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            if matches!(name.as_str(), "lib" | "main") {
                continue;
            }
            let parent = file.parent().unwrap();
            let (module, parent) = if name == "mod" {
                (parent.file_name().unwrap().to_str().unwrap().to_owned(), parent.parent().unwrap())
            } else {
                (name, parent)
            };
            // A directory has its front door inside, or beside it with its name.
            let beside = parent.with_extension("rs");
            let declared_in = match parent {
                parent if parent == base => parent.join(top),
                _ if beside.exists() => beside,
                parent => parent.join("mod.rs"),
            };
            let text = std::fs::read_to_string(&declared_in).unwrap();
            assert!(text.contains(&format!("mod {module};")), "{} is in no module", file.display());
        }
    }
}

/// The violations of the rank rule in one made-up file.
fn rank_violations(path: &str, text: &str) -> Vec<String> {
    ranks::violations(&Sources::planted(&[(path, text)]))
}

#[test]
fn planted_upward_uses_are_found() {
    for (path, text, name) in [
        ("memory/mod.rs", "use crate::engine::Plan;", "engine"),
        ("config/mod.rs", "fn f() { crate::cli::main() }", "cli"),
        ("config/mod.rs", "pub(in crate::cli) fn f() {}", "cli"),
        // A sibling of the same rank, in a group and nested.
        ("git/a.rs", "use crate::{base::fs, config::{a, b}, error};", "config"),
        ("git/a.rs", "use crate::{base::{fs, env}, hook};", "hook"),
        ("git/a.rs", "use crate::{base as b, cli as c};", "cli"),
        // Out of the own directory by `super` and `self`.
        ("git/a.rs", "use super::super::cli;", "cli"),
        ("git/a.rs", "use super::{b, super::cli::{c, d}};", "cli"),
        ("git/a.rs", "use self::super::super::cli;", "cli"),
        ("git/mod.rs", "fn f() { super::cli::main() }", "cli"),
        ("project.rs", "use super::engine::Plan;", "engine"),
        ("git/a.rs", "mod inner { use super::super::super::cli; }", "cli"),
        // Everything at once, or under another name.
        ("git/a.rs", "use crate::*;", "*"),
        ("git/a.rs", "use crate as root;", "*"),
        ("git/a.rs", "use crate::{self as root};", "*"),
        ("project.rs", "use super::*;", "*"),
        // What follows a test item is not a test.
        ("git/a.rs", "#[cfg(test)] mod tests; use crate::cli;", "cli"),
        ("git/a.rs", "#[cfg(test)] mod tests { use crate::hook; } use crate::cli;", "cli"),
        ("git/a.rs", "#[cfg(test)] use crate::hook::{a, b}; use crate::cli;", "cli"),
        ("git/a.rs", "#[cfg(test)] #[must_use] pub fn f() -> u8 { if x { 1 } else { 2 } } use crate::cli;", "cli"),
        ("git/a.rs", "struct S { #[cfg(test)] a: crate::hook::A, b: crate::cli::B }", "cli"),
        ("git/a.rs", "const A: &str = \"#[cfg(test)] mod x {\"; use crate::cli;", "cli"),
    ] {
        assert_eq!(rank_violations(path, text), [format!("{path}:1 uses `{name}`")], "{text}");
    }
    assert_eq!(rank_violations("helpers.rs", ""), ["helpers.rs: `helpers` has no rank"]);
    assert_eq!(rank_violations("git/a.rs", "// one\n/* two\n */ use crate::cli;"), ["git/a.rs:3 uses `cli`"]);
}

#[test]
fn downward_uses_tests_and_comments_are_allowed() {
    for (path, text) in [
        ("steps/a.rs", "use crate::memory::Memory;\nuse crate::steps::Kind;"),
        ("base/a.rs", "use crate::error::Error;"),
        ("git/a/b.rs", "use super::super::cli;"),
        ("git/a.rs", "use super::{self, b}; use self::cli; pub(crate) fn f(self) { self.cli }"),
        ("git/a.rs", "mod inner { use super::super::cli; }"),
        ("git/a.rs", "// crate::cli\n/* crate::cli /* nested */ crate::cli */ const A: &str = \"crate::cli\";"),
        (
            "git/a.rs",
            "const A: &str = r#\"\" crate::cli \"#; const B: char = '\"'; const C: &str = \"\\\" crate::cli\";",
        ),
        ("git/a.rs", "#[cfg(test)] mod tests { use crate::cli; fn f() { { } } }"),
    ] {
        assert_eq!(rank_violations(path, text), NONE, "{text}");
    }
    let files = [("git/mod.rs", "#[cfg(test)] mod tests;"), ("git/tests.rs", "use crate::cli;")];
    assert_eq!(ranks::violations(&Sources::planted(&files)), NONE);
}

#[test]
fn planted_differences_from_the_table_are_found() {
    let differences = |table: &str, directories: &[&str]| {
        ranks::differences(table, &directories.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    };
    let right =
        "//! | rank | directory | owns |\n//! |---|---|---|\n//! | 0 | [`base`] | x |\n//! | 9 | [`cli`] | y |\n";
    assert_eq!(differences(right, &["base", "cli"]), NONE);
    for (table, directories, found) in [
        (right, &["base", "cli", "git"][..], "`git` has 0 rows in the table of src/lib.rs"),
        (right, &["base"], "the table of src/lib.rs has a row for `cli`, which does not exist"),
        ("//! | 8 | [`cli`] | y |", &["cli"], "`cli` has rank 8 in src/lib.rs and Some(9) in the test"),
        ("//! | 9 | [`cli`] | |", &["cli"], "the table of src/lib.rs does not say what `cli` owns"),
        ("//! | 9 | [`cli`] | y |\n//! | 9 | `cli` | y |", &["cli"], "`cli` has 2 rows in the table of src/lib.rs"),
        (
            "//! | 9 | [`cli`] | y |\n//! | 0 | [`base`] | x |",
            &["base", "cli"],
            "the table of src/lib.rs is not in the order of the ranks",
        ),
    ] {
        assert_eq!(differences(table, directories), [found], "{table}");
    }
}

/// The registry names that one made-up file uses, with a kind, a backend and an agent around it.
fn names_used(path: &str, text: &str) -> Vec<String> {
    let files = [
        ("steps/note.rs", "pub const KIND: Kind = Kind { read: |x| { name: \"inner\" }, name: \"note\", act };"),
        (
            "publish/git/mod.rs",
            "pub struct GitBackend; impl Backend for GitBackend { fn name(&self) -> &str { \"git\" } }",
        ),
        ("agents/codex.rs", "pub const AGENT: Agent = Agent { name: \"codex\", title: \"Codex\" };"),
        ("agents/clients/cline.rs", "pub static AGENT: Agent = Agent { name: \"cline\" };"),
        (path, text),
    ];
    registries::uses(&Sources::planted(&files)).into_iter().map(|(_, _, name)| name).collect()
}

#[test]
fn planted_registry_names_are_found() {
    for (path, text, name) in [
        ("engine/a.rs", "fn f() { step.kind == \"note\" }", "note"),
        ("engine/a.rs", "fn f() { \"note\" != step.kind }", "note"),
        ("engine/a.rs", "fn f() { step.kind() == Some(\"note\") }", "note"),
        ("engine/a.rs", "fn f() { match kind { \"note\" => 1, _ => 2 } }", "note"),
        ("engine/a.rs", "fn f() { match kind { \"x\" | \"note\" | \"y\" => 1, _ => 2 } }", "note"),
        ("engine/a.rs", "fn f() { match (kind, x) { (\"note\", _) => 1, _ => 2 } }", "note"),
        ("engine/a.rs", "fn f() { match kind { Some(\"note\") if x => 1, _ => 2 } }", "note"),
        ("engine/a.rs", "fn f() { matches!(step.kind.as_str(), \"x\" | \"note\") }", "note"),
        ("engine/a.rs", "fn f() { if let Some(\"note\") = kind {} }", "note"),
        ("engine/a.rs", "fn f() { Step { kind: \"note\".to_owned() } }", "note"),
        ("cli/a.rs", "fn f() { Destination { backend: \"git\" } }", "git"),
        // One kind's file knows no other entry.
        ("steps/state.rs", "fn f() { step.kind == \"note\" }", "note"),
        // The name of an agent is nobody else's word, and the built-in plans have no use for one.
        ("hook/a.rs", "const LIST: &[&str] = &[\"codex\"];", "codex"),
        ("hook/a.rs", "fn f() { f(\"cline\") }", "cline"),
        ("engine/plan.rs", "fn f() { f(\"codex\") }", "codex"),
    ] {
        assert_eq!(names_used(path, text), [name], "{text}");
    }
}

#[test]
fn ordinary_words_plans_and_the_home_of_a_name_are_allowed() {
    for (path, text) in [
        ("config/a.rs", "fn f() { root.table(\"note\"); json!({ \"note\": 1 }); [\"note\", \"git\"] }"),
        ("config/a.rs", "fn f() { match x { 1 => \"note\", 2 => g(\"note\", 1), \"y\" => 3 } }"),
        ("config/a.rs", "fn f() { let Some(x) = g(\"note\") else { return }; x[\"note\"] = 1; }"),
        ("config/a.rs", "// == \"note\"\nfn f() { x == \"notes\" }"),
        ("config/a.rs", "fn f() {} #[cfg(test)] mod tests { fn f() { kind == \"note\"; g(\"codex\") } }"),
        ("engine/plan.rs", "fn f() { step.kind == \"note\" || backend == \"git\" }"),
        ("publish/git/deep/a.rs", "fn f() { backend == \"git\" }"),
        ("transcript/codex.rs", "const FORMAT: Format = Format { name: \"codex\" }; fn f() { x == \"codex\" }"),
        ("engine/a.rs", "fn f() { x == \"inner\" }"),
    ] {
        assert_eq!(names_used(path, text), NONE, "{text}");
    }
}

#[test]
fn every_entry_of_every_registry_is_found_in_the_sources() {
    let sources = Sources::of_package();
    let entries = registries::entries(sources);
    for (constant, directory) in registries::REGISTRIES {
        let doors = sources.code().filter(|(path, _)| path.starts_with(directory) && path.ends_with("/mod.rs"));
        let mut listed: Vec<&str> = doors.flat_map(|(_, tokens)| owners(tokens, constant)).collect();
        listed.sort_unstable();
        listed.dedup();
        assert!(listed.len() > 1, "{directory}mod.rs lists no `{constant}`");
        let found = entries.iter().filter(|entry| entry.registry == *constant).count();
        assert_eq!(found, listed.len(), "{listed:?}\n{entries:?}");
    }
}

/// The modules whose constant of this name is used: `note` for `note::KIND`.
fn owners<'a>(tokens: &'a [tokens::Placed], constant: &str) -> Vec<&'a str> {
    if constant == registries::BACKEND {
        // `&git::GitBackend` in the list of backends.
        let is_backend = |word: &&str| word.len() > constant.len() && word.ends_with(constant);
        let uses = tokens.windows(2).filter(|path| path[0].token.is("::"));
        return uses.filter_map(|path| path[1].token.word()).filter(is_backend).collect();
    }
    let uses = tokens.windows(3).filter(|path| path[1].token.is("::") && path[2].token.is(constant));
    uses.filter_map(|path| path[0].token.word()).collect()
}

#[test]
fn planted_logic_in_a_front_door_and_unexplained_length_are_found() {
    let function = |lines: usize| format!("fn f(a: [u8; 2]) {{\n{}}}\n", "{ g(); }\n".repeat(lines));
    for (lines, text) in [
        (30, function(30)),
        (3, "fn a() { 1 }\nfn b() -> u8 { 1 }\ntrait T { fn c(&self); fn d() {\n x\n } }".to_owned()),
        (0, format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(30))),
        (0, "struct S {\n a: fn(u8) -> u8,\n b: u8,\n}\n".to_owned()),
    ] {
        assert_eq!(rooms::body_lines(&tokens::without_tests(&tokens::tokens(&text))), lines, "{text}");
    }
    let about = |path: &str, text: &str| {
        let found = rooms::violations(&Sources::planted(&[(path, text)]));
        found.into_iter().find(|line| line.starts_with(path)).unwrap_or_default()
    };
    assert_eq!(about("new/mod.rs", &function(40)), "");
    assert_eq!(about("new/mod.rs", &function(41)), "new/mod.rs has 41 lines of functions; a front door has at most 40");
    assert_eq!(about("new/a.rs", &function(41)), "");
    let long = "//\n".repeat(501);
    assert_eq!(about("new/a.rs", &long), "new/a.rs has 501 lines; without `//! Long because …` a file has at most 500");
    assert_eq!(about("new/a.rs", &format!("//! A.\n//! Long because it is one table.\n{long}")), "");
    assert_ne!(about("new/a.rs", &format!("//! A.\n//! Long because\n{long}")), "");
}
