//! What `packaging/` and the release workflow rely on, without the tools that build the packages.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use toml::{Table, Value};

use super::support::*;

/// Where `packaging/deb` lets `packaging/stage` write.
const STAGED: &str = "target/packaging/share/";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"))
}

fn table(path: &str) -> Table {
    toml::from_str(&text(path)).unwrap()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect()
}

/// Every file below a directory, by its path from the root of the package.
fn files(directory: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(directory)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        if path.is_dir() { found.extend(files(&name)) } else { found.push(name) }
    }
    found
}

// The .deb.

#[test]
fn every_file_of_the_deb_is_in_the_sources_or_is_made_by_the_program() {
    let world = World::new();
    let share = world.path("share");
    let staged = finish(world.clean(root().join("packaging/stage")).arg(BINARY).arg(&share));
    assert_eq!(staged.code, 0, "{}", staged.stderr);
    let manifest = table("Cargo.toml");
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap();
    for asset in assets {
        let source = strings(asset)[0];
        match source.strip_prefix(STAGED) {
            Some(generated) => assert_generated(&share, generated),
            None if source == "target/release/agent-handover" => {}
            None => assert!(root().join(source).is_file(), "{source} does not exist"),
        }
    }
    let sources: Vec<&str> = assets.iter().map(|asset| strings(asset)[0]).collect();
    for wanted in ["target/release/agent-handover", "README.md", "CHANGELOG.md"] {
        assert!(sources.contains(&wanted), "{wanted} is not in the package");
    }
    assert_eq!(sources.iter().filter(|source| source.contains("/completions/")).count(), 3);
    let license = strings(&manifest["package"]["metadata"]["deb"]["license-file"])[0];
    assert!(root().join(license).is_file());
}

/// A name without a star exists, and a star stands for at least the pages of every command.
fn assert_generated(share: &Path, pattern: &str) {
    let Some((directory, ending)) = pattern.split_once('*') else {
        let content = std::fs::read_to_string(share.join(pattern)).unwrap_or_else(|cause| panic!("{pattern}: {cause}"));
        assert!(content.contains("AGENT_HANDOVER_COMPLETE"), "{pattern} asks the program");
        assert!(!content.contains(BINARY), "{pattern} names the program by its path in the build");
        return;
    };
    let entries = std::fs::read_dir(share.join(directory)).unwrap();
    let names: BTreeSet<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| name.ends_with(ending)), "{names:?}");
    for command in
        agent_handover::testing::cli::command_line().get_subcommands().filter(|command| !command.is_hide_set())
    {
        assert!(names.contains(&format!("agent-handover-{}{ending}", command.get_name())), "{}", command.get_name());
    }
}

// The wheel.

#[test]
fn the_wheel_has_the_version_and_the_program_of_the_crate() {
    let project = table("packaging/python/pyproject.toml");
    let metadata = project["project"].as_table().unwrap();
    assert_eq!(metadata["name"].as_str(), Some("agent-handover-rs"), "the Python tool owns the other name");
    assert!(!metadata.contains_key("version") && strings(&metadata["dynamic"]).contains(&"version"));
    let maturin = &project["tool"]["maturin"];
    assert_eq!(maturin["bindings"].as_str(), Some("bin"));
    let manifest = root().join("packaging/python").join(maturin["manifest-path"].as_str().unwrap());
    assert_eq!(manifest.canonicalize().unwrap(), root().join("Cargo.toml").canonicalize().unwrap());
    assert_eq!(table("Cargo.toml")["package"]["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
}

/// The scripts read the version with sed, so that they need no other tool.
#[test]
fn the_scripts_read_the_version_of_the_crate() {
    let world = World::new();
    let script = format!("source '{}'; echo \"$version\"", root().join("packaging/common").display());
    let output = finish(world.clean("bash").args(["-euo", "pipefail", "-c", &script]));
    assert_eq!((output.code, output.stdout.trim()), (0, env!("CARGO_PKG_VERSION")), "{}", output.stderr);
}

// The scripts and who names them.

/// The names after `packaging/` in a text, where they name a script.
fn scripts_named(text: &str) -> BTreeSet<String> {
    let after = text.split("packaging/").enumerate().skip(1).filter(|(part, _)| {
        let before = text.split("packaging/").nth(part - 1).unwrap();
        !before.ends_with("target/")
    });
    let name = |rest: &str| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "./_".contains(*c)).collect();
    let names = after.map(|(_, rest)| name(rest)).map(|name: String| name.trim_end_matches('.').to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn the_workflow_and_the_pages_name_only_scripts_that_exist() {
    for page in [".github/workflows/release.yml", "packaging/README.md", "docs/installing.md", "CONTRIBUTING.md"] {
        let named = scripts_named(&text(page));
        assert!(!named.is_empty(), "{page} names no script");
        for name in named {
            assert!(root().join("packaging").join(&name).exists(), "{page} names packaging/{name}");
        }
    }
    let workflow = scripts_named(&text(".github/workflows/release.yml"));
    let expected = ["crate", "deb", "tarball", "try", "wheel"].map(str::to_owned);
    assert_eq!(workflow, BTreeSet::from(expected), "the workflow builds and tries every package");
}

#[test]
fn every_script_can_be_run_and_stops_at_the_first_failure() {
    let mut seen = 0;
    let is_script = |name: &String| !name.contains('.') && !name.contains("/python/") && !name.ends_with("/common");
    for name in files("packaging").into_iter().filter(is_script) {
        let name = name.as_str();
        let script = text(name);
        assert!(script.starts_with("#!/usr/bin/env bash\n#"), "{name} says what it does");
        assert!(script.contains("\nset -euo pipefail\n"), "{name} goes on after a failure");
        let mode = std::fs::metadata(root().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name} cannot be run");
        let checked = finish(World::new().clean("bash").arg("-n").arg(root().join(name)));
        assert_eq!(checked.code, 0, "{name}: {}", checked.stderr);
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[test]
fn a_script_whose_tool_is_missing_names_the_command_that_installs_it() {
    let world = World::new();
    let bin = world.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for tool in ["bash", "dirname", "basename", "sed", "head", "git"] {
        std::os::unix::fs::symlink(on_path(tool.as_ref()), bin.join(tool)).unwrap();
    }
    for (script, hint) in [
        ("deb", "cargo-deb is not installed; run `cargo install cargo-deb --locked`"),
        ("wheel", "maturin is not installed; run `pip install maturin`"),
        ("tarball", "cargo-cyclonedx is not installed; run `cargo install cargo-cyclonedx --locked`"),
    ] {
        let path = root().join("packaging").join(script);
        let output = finish(world.clean("bash").arg(path).env("PATH", &bin));
        assert_eq!((output.code, output.stderr.as_str()), (1, format!("{script}: {hint}\n").as_str()));
    }
}

// The crate.

/// What cargo adds by itself, what no package has, and a directory with suites that stay in the repository.
const OTHERS: &[&str] = &["Cargo.toml", "Cargo.lock", ".git", ".gitignore", "tests"];

/// What `include` in Cargo.toml covers. Its entries are whole directories and single files.
struct Included(Vec<String>);

impl Included {
    fn read() -> Included {
        let manifest = table("Cargo.toml");
        Included(strings(&manifest["package"]["include"]).into_iter().map(str::to_owned).collect())
    }

    fn covers(&self, path: &str) -> bool {
        !is_of_another_package(path)
            && self.0.iter().any(|pattern| {
                let pattern = pattern.strip_prefix('/').unwrap();
                match pattern.strip_suffix("**") {
                    Some(directory) => path.starts_with(directory),
                    None => path == pattern,
                }
            })
    }
}

/// Whether cargo leaves a path out because a directory above it has a `Cargo.toml` of its own, whatever `include` says.
fn is_of_another_package(path: &str) -> bool {
    let above = Path::new(path).ancestors().skip(1).filter(|directory| !directory.as_os_str().is_empty());
    above.into_iter().any(|directory| root().join(directory).join("Cargo.toml").exists())
}

/// A path without `..`, or nothing if it leads out.
fn normal(path: &Path) -> Option<String> {
    let mut parts = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir if parts.pop() => {}
            Component::ParentDir => return None,
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    Some(parts.display().to_string())
}

/// The files and directories that string literals of the sources and tests name: relative to the file that names them, or
/// to the root of the package. That a name is not read does no harm.
fn named_by_the_tests() -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for file in ["src", "tests/it", "benches"].into_iter().flat_map(files).filter(|file| file.ends_with(".rs")) {
        let source = text(&file);
        let directory = Path::new(&file).parent().unwrap();
        // What is between two literals is looked at too, and names nothing.
        for literal in source.split('"').filter(|part| part.len() < 200 && !part.contains(['\n', '\0'])) {
            let from_root = literal.trim_start_matches('/').trim_end_matches('/');
            named.extend(
                [Path::new(from_root).to_owned(), directory.join(literal)].iter().filter_map(|path| normal(path)),
            );
        }
    }
    named.retain(|path| !path.is_empty() && !path.starts_with('/') && root().join(path).exists());
    named
}

#[test]
fn the_crate_has_everything_that_its_tests_read() {
    let included = Included::read();
    let mut named = named_by_the_tests();
    assert!(named.len() > 60, "only {} files were found", named.len());
    let is_made =
        |path: &Path| ["target", ".git", "fuzz/target", "fuzz/found"].iter().any(|made| path.starts_with(made));
    named.retain(|path| !OTHERS.contains(&path.as_str()) && !is_made(Path::new(path)));
    let is_missing = |path: &&String| !included.covers(path) && !included.covers(&format!("{path}/"));
    let missing: Vec<&String> = named.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "`include` in Cargo.toml lacks {missing:?}");
    // The tests of the pages follow every link.
    for page in files("docs").iter().filter(|page| page.ends_with(".md")).map(String::as_str).chain(["README.md"]) {
        for link in text(page).split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let target = Path::new(page).parent().unwrap().join(link);
            let Some(target) = normal(&target).filter(|target| root().join(target).is_file()) else { continue };
            assert!(included.covers(&target), "{page} links to {target}, which the crate lacks");
        }
    }
}

#[test]
fn the_crate_has_no_entry_for_nothing_and_no_suite_that_it_cannot_run() {
    let included = Included::read();
    for pattern in &included.0 {
        let path = pattern.trim_start_matches('/').trim_end_matches("/**");
        assert!(pattern.starts_with('/') && !path.contains('*'), "{pattern} is neither a file nor a whole directory");
        assert!(root().join(path).exists(), "{pattern} matches nothing");
        assert!(
            !is_of_another_package(&format!("{path}/x")),
            "{pattern} is in another package, so cargo leaves it out"
        );
    }
    for suite in ["browser", "peers", "power", "real_clients"] {
        assert!(!included.covers(&format!("tests/{suite}/x.py")), "{suite}");
    }
}

// The address that the project does not have yet.

#[test]
fn no_address_is_claimed_before_there_is_one() {
    let manifest = table("Cargo.toml");
    let keys = manifest["package"].as_table().unwrap();
    let project = table("packaging/python/pyproject.toml");
    let listed = text("CONTRIBUTING.md");
    let section = listed.split("\n## When the project has an address\n").nth(1).expect("the list");
    let section = section.split("\n## ").next().unwrap();
    for key in ["repository", "homepage", "documentation"] {
        assert!(!keys.contains_key(key), "{key}");
        assert!(section.contains(&format!("`{key}`")), "{key} is not in the list");
    }
    assert!(project["project"].get("urls").is_none());
    for page in files("docs").iter().filter(|page| page.ends_with(".md")).map(String::as_str).chain(["README.md"]) {
        for registry in ["cargo install agent-handover", "pip install agent-handover-rs", "apt install agent-handover"]
        {
            assert!(!text(page).contains(registry), "{page}: `{registry}` needs a registry that has the package");
        }
    }
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let places: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    assert!(places.len() > 5, "{places:?}");
    for place in places {
        assert!(root().join(place).is_file(), "{place} is in the list and does not exist");
    }
}
