//! `report`: the page about a project.

use crate::support::World;

/// A text that would run a script if a page took it for markup.
const HOSTILE: &str = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&";

fn page(world: &World) -> String {
    page_of(world, &["report"])
}

fn page_of(world: &World, arguments: &[&str]) -> String {
    let output = world.run(arguments).expect(0);
    assert!(output.stdout.as_str().trim_end().ends_with(".agent-handover/report.html"), "the path is the answer");
    world.read(".agent-handover/report.html")
}

fn create(world: &World, arguments: &[&str]) {
    world.run(&[&["history", "create", "--quiet"], arguments].concat()).expect(0);
}

#[test]
fn a_page_shows_where_a_project_stands_and_how_its_sessions_went() {
    let world = World::with_git();
    create(
        &world,
        &[
            "--goal",
            "Report the position of parse errors",
            "--next",
            "Give each token a byte range in src/lexer.rs",
            "--decision",
            "Keep recursive descent",
            "--validation",
            "cargo test=passed",
            "--validation",
            "cargo clippy=failed",
        ],
    );
    world.run(&["run", "--note", "parser done"]).expect(0);
    let page = page(&world);
    for expected in [
        "Report the position of parse errors",
        "Give each token a byte range in src&#x2f;lexer.rs",
        "Keep recursive descent",
        "<code>cargo test</code>",
        "<span class=\"bad-text\">failed</span>",
        "What was decided when",
        "Handovers on this machine",
        "aria-label=\"Sessions a month\"",
    ] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_project_without_sessions_has_a_page_that_says_what_to_do() {
    let world = World::with_git();
    assert!(page(&world).contains("Nothing is on record yet"));
}

#[test]
fn the_page_goes_where_the_user_wants_it() {
    let world = World::with_git();
    let output = world.run(&["report", "--output", "page.html"]).expect(0);
    assert!(output.stdout.as_str().trim().ends_with("page.html"));
    assert!(world.read("page.html").starts_with("<!DOCTYPE html>"));
    let refused = world.run(&["report", "--output", "missing/page.html"]).expect(74);
    let said = refused.stderr.as_str();
    assert!(said.contains("missing/page.html") && said.contains("hint: name a directory that exists"), "{said}");
}

#[test]
fn where_no_state_can_be_the_page_can_be_elsewhere() {
    let world = World::with_git();
    world.write(".agent-handover", "a file in the place of the state directory");
    let refused = world.run(&["report"]).expect(74).seen();
    assert!(refused.contains("hint: write the page elsewhere with `--output FILE`"), "{refused}");
    world.run(&["report", "--output", "page.html"]).expect(0);
}

#[test]
fn only_an_earlier_page_is_written_over() {
    let world = World::with_git();
    world.write("mine.txt", "my notes");
    std::os::unix::fs::symlink("mine.txt", world.path("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.path("dangling")).unwrap();
    assert!(world.clean("mkfifo").arg("pipe").status().unwrap().success());
    std::fs::create_dir(world.path("directory")).unwrap();
    for file in ["mine.txt", "link", "dangling", "pipe", "directory"] {
        let before = std::fs::symlink_metadata(world.path(file)).unwrap().file_type();
        let refused = world.run(&["report", "--output", file]).expect(1);
        let said = refused.stderr.as_str();
        assert!(said.contains(&format!("{file}` exists and is not a page")) && said.contains("hint: "), "{said}");
        assert_eq!(std::fs::symlink_metadata(world.path(file)).unwrap().file_type(), before, "{file}");
    }
    assert_eq!(world.read("mine.txt"), "my notes");
    for name in ["handover.toml", "PAUSE", "-"] {
        let refused = world.run(&["report", "--output", name]).expect(64);
        assert!(refused.stderr.contains(&format!("cannot have the name `{name}`")), "{}", refused.stderr);
        assert!(!world.path(name).exists());
    }
    world.write("page.html", "");
    for _ in 0..2 {
        world.run(&["report", "--output", "page.html"]).expect(0);
    }
    assert!(world.read("page.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn while_paused_a_page_is_written_to_the_state_directory_only() {
    let world = World::with_git();
    world.write("PAUSE", "");
    let refused = world.run(&["report", "--output", "page.html"]).expect(3);
    assert!(refused.stderr.contains("automation paused"), "{}", refused.stderr);
    assert!(!world.path("page.html").exists());
    world.run(&["report"]).expect(0);
    assert!(world.read(".agent-handover/report.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn agents_and_branches_are_all_counted_although_few_have_a_row() {
    let world = World::with_git();
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
    for number in 0..12 {
        world.git(&["checkout", "-qb", &format!("branch-{number}")]);
        create(&world, &["--tool", &format!("agent-{number}"), "--goal", &format!("Goal {number}"), "--next", "x"]);
    }
    let page = page(&world);
    assert!(page.contains("<strong>12</strong> agents"), "{page}");
    assert!(page.contains("<strong>12</strong> branches"), "{page}");
}

#[test]
fn hostile_text_in_every_field_stays_text() {
    let world = World::with_git();
    create(
        &world,
        &[
            "--goal",
            HOSTILE,
            "--next",
            HOSTILE,
            "--decision",
            HOSTILE,
            "--issue",
            HOSTILE,
            "--validation",
            &format!("{HOSTILE}=passed"),
        ],
    );
    world.run(&["run", "--note", HOSTILE, "--tag", "hostile"]).expect(0);
    let page = page(&world);
    assert!(page.matches("&lt;script&gt;").count() >= 4, "the text is there\n{page}");
    assert_eq!(page.matches("<script").count(), 1, "only our script");
    assert_eq!(page.matches("<img").count(), 0);
}

#[test]
fn what_is_older_than_since_is_left_out() {
    let world = World::with_git();
    create(&world, &["--goal", "Yesterday's work", "--next", "x", "--decision", "An old decision"]);
    let page = page_of(&world, &["report", "--since", "2999-01-01"]);
    assert!(!page.contains("What was decided when") && !page.contains("<h2 id=\"p1-sessions\">"), "{page}");
    assert!(page.contains("An old decision"), "where the project stands does not depend on the time");
    let refused = world.run(&["report", "--since", "whenever"]).expect(64);
    assert!(refused.stderr.as_str().contains("expected a day, a duration or a time"));
}

#[test]
fn twenty_thousand_sessions_make_a_page_of_less_than_three_megabytes() {
    let world = World::with_git();
    create(&world, &["--goal", "The first of many", "--next", "x"]);
    let index = world.read(".agent-history/INDEX.yaml");
    let archive = std::fs::read_dir(world.path(".agent-history/sessions")).unwrap().next().unwrap().unwrap().path();
    let (text, id) = (std::fs::read_to_string(&archive).unwrap(), archive.file_stem().unwrap().to_owned());
    let id = id.to_str().unwrap();
    let start = index.find("  - ").expect("a list of sessions");
    let entry = index[start..].to_owned();
    let mut whole = index.clone();
    for number in 0..20_000 {
        let new = format!("{id}-{number}");
        if number < 2_500 {
            world.write(&format!(".agent-history/sessions/{new}.md"), text.replace(id, &new));
        }
        whole.push_str(&entry.replace(id, &new));
    }
    world.write(".agent-history/INDEX.yaml", whole);
    let page = page(&world);
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert!(page.contains("2501 sessions"), "sessions without an archive do not count");
    assert!(page.contains("501 older sessions"));
}

#[test]
fn this_machine_is_among_those_that_publish_once_it_has_published() {
    let nowhere = "[backend]\ntype = \"null\"\n";
    let site = super::publish::Site::new(nowhere);
    site.world.run(&["run", "--note", "kept here"]).expect(0);
    assert!(!page(&site.world).contains("This machine, "));
    site.world.write("handover.toml", "[backend]\ntype = \"git\"\n");
    site.world.run(&["run", "--note", "sent"]).expect(0);
    let page = page(&site.world);
    let (_, machine) = page.split_once("<p>This machine, <strong>").unwrap_or_else(|| panic!("{page}"));
    assert!(machine.contains(": 1 handover on record here went out."), "{machine}");
    assert!(page.contains("A User"), "the author of the commit");
}

#[test]
fn all_projects_are_on_one_page() {
    let world = World::with_git();
    create(&world, &["--goal", "The goal here", "--next", "x"]);
    let other = world.place().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let mut command = world.command(&["history", "create", "--quiet", "--goal", "The goal there", "--next", "y"]);
    crate::support::finish(command.current_dir(&other)).expect(0);
    let page = page_of(&world, &["report", "--all-projects"]);
    for expected in ["2 projects", "The goal here", "The goal there", "href=\"#p2\""] {
        assert!(page.contains(expected), "{expected}");
    }
}

#[test]
fn open_starts_the_program_of_the_desktop_with_the_page() {
    let world = World::with_git();
    let bin = world.place().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let script = format!("#!/bin/sh\nprintf '%s' \"$1\" > '{}'\n", world.place().join("opened").display());
    std::fs::write(bin.join(program), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join(program), mode).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = crate::support::finish(world.command(&["report", "--open"]).env("PATH", path)).expect(0);
    let opened = std::fs::read_to_string(world.place().join("opened")).unwrap();
    assert!(output.stdout.as_str().trim_end().ends_with(".agent-handover/report.html"), "the path is printed first");
    assert!(std::fs::read_to_string(opened).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_desktop_that_cannot_open_the_page_is_an_error_that_names_the_page() {
    let world = World::with_git();
    let bin = world.place().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    std::fs::write(bin.join(program), "#!/bin/sh\nexit 3\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join(program), mode).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let failed = crate::support::finish(world.command(&["report", "--open"]).env("PATH", path)).expect(1);
    let said = failed.stderr.as_str();
    assert!(
        said.contains(&format!("`{program}` did not open the page")) && said.contains("report.html yourself"),
        "{said}"
    );
}
