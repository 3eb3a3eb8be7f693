//! `run` as a person types it: words without a flag, `-m`, and a form in the editor on a terminal.

use super::support::*;

#[test]
fn words_are_the_note_with_and_without_a_flag() {
    for arguments in [&["run", "fixed the parser; next: spans"][..], &["run", "-m", "fixed the parser; next: spans"]] {
        let world = World::new();
        let output = world.run(arguments).expect(0);
        assert_eq!(output.stdout, "handover steps executed: facts, note, state, history, publish\n");
        assert!(world.read(NOTES).contains("fixed the parser; next: spans"));
        let warmup = world.run(&["warmup"]).expect(0).stdout;
        assert!(warmup.contains("## Next\n- spans"), "{warmup}");
    }
}

#[test]
fn a_flag_without_its_hyphens_is_not_taken_for_a_note() {
    let world = World::new();
    for word in ["resume", "replan", "abandon", "restart", "detach", "dry-run"] {
        let refused = world.run(&["run", word]).expect(64);
        assert!(refused.stderr.contains(&format!("did you mean `run --{word}`?")), "{}", refused.stderr);
    }
    world.run(&["run", "words", "--note", "others"]).expect(64);
    world.run(&["run", "words", "--resume"]).expect(64);
    assert!(!world.exists(".agent-handover"));
}

/// `run` on a terminal of its own, with this script as the editor of the form `$1`. Returns the screen and the exit code;
/// `None` where there is no `script` with the flags of util-linux.
fn on_terminal(world: &World, arguments: &str, editor: &str, agent: Option<&str>) -> Option<(String, i32)> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    std::fs::write(world.path("../editor.sh"), editor).unwrap();
    let mut script = world.clean("script");
    script.args(["-qec", &format!("{BINARY} run {arguments}"), "/dev/null"]);
    script.env("TERM", "xterm").env("SHELL", "/bin/sh").env("VISUAL", "sh ../editor.sh").env("EDITOR", "false");
    script.env_remove("CI").env("AGENT_HANDOVER_TEST_NOW", NOW);
    if let Some(agent) = agent {
        script.env("AGENT_HANDOVER_AGENT", agent);
    }
    let output = finish(&mut script).stderr_ignored("script writes both streams to stdout");
    Some((output.stdout.clone(), output.code))
}

#[test]
fn on_a_terminal_the_editor_opens_a_form() {
    let world = World::with_git();
    let edit = "cp \"$1\" ../form; sed -i -e 's/^## Done/&\\nfixed the parser/' -e 's/^## Next/&\\n- spans/' \
        -e 's/^## State/&\\nbeta/' \"$1\"\n";
    let Some((screen, code)) = on_terminal(&world, "", edit, None) else { return skip("no script(1)") };
    assert_eq!(code, 0, "{screen}");
    let note = world.read(NOTES);
    assert!(note.contains("fixed the parser\n\n## Next\n\n- spans") && !note.contains("<!-- What"), "{note}");
    assert!(world.read(STATE).contains("beta"), "{}", world.read(STATE));
    let form = world.read("../form");
    for comment in ["This becomes the note", "becomes the next action", "This becomes the current state"] {
        assert!(form.contains(comment), "{form}");
    }
}

#[test]
fn an_unchanged_form_hands_over_what_is_known_and_an_empty_one_cancels() {
    let world = World::with_git();
    let run = |editor: &str| on_terminal(&world, "", editor, None);
    let Some((screen, code)) = run("truncate -s 0 \"$1\"\n") else { return skip("no script(1)") };
    assert!(code == 0 && screen.contains("cancelled: "), "{screen}");
    let (screen, code) = run("exit 3\n").unwrap();
    assert!(code == 1 && screen.contains("the editor `sh ../editor.sh` failed"), "{screen}");
    assert!(!world.exists(".agent-handover"), "nothing was recorded");
    let (screen, code) = run(":\n").unwrap();
    assert!(code == 0 && screen.contains("handover steps executed: facts, publish"), "{screen}");
}

#[test]
fn what_was_saved_in_an_editor_that_failed_is_kept() {
    let world = World::with_git();
    let Some((screen, code)) = on_terminal(&world, "", "echo 'fixed the parser' > \"$1\"; kill -9 $$\n", None) else {
        return skip("no script(1)");
    };
    assert_eq!(code, 1, "{screen}");
    let (_, path) = screen.split_once("what you wrote is in `").unwrap_or_else(|| panic!("{screen}"));
    let path = path.split('`').next().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "fixed the parser\n");
    assert!(screen.contains("run --note-file"), "{screen}");
}

#[test]
fn agents_and_commands_that_say_something_get_no_editor() {
    let world = World::new();
    let spy = "touch ../opened\n";
    let Some((screen, code)) = on_terminal(&world, "", spy, Some("claude-code")) else { return skip("no script(1)") };
    assert_eq!(code, 0, "{screen}");
    for arguments in ["words", "--resume", "--dry-run", "--json", "--quiet"] {
        let (screen, code) = on_terminal(&world, arguments, spy, None).unwrap();
        assert_eq!(code, 0, "{screen}");
    }
    world.run(&["run"]).expect(0);
    assert!(!world.exists("../opened"));
}

#[test]
fn what_was_written_in_the_editor_is_kept_if_it_cannot_be_recorded() {
    let world = World::new();
    let token = format!("ghp_{}", "x1Yz9QwErTyUiOpAsDfGhJkLzXcVbNm012345");
    let editor = format!("echo 'push with {token}' > \"$1\"\n");
    let Some((screen, code)) = on_terminal(&world, "", &editor, None) else { return skip("no script(1)") };
    assert_ne!(code, 0, "{screen}");
    let (_, path) = screen.split_once("what you wrote is in `").unwrap_or_else(|| panic!("{screen}"));
    let path = path.split('`').next().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), format!("push with {token}\n"));
    std::fs::remove_file(path).unwrap();
}
