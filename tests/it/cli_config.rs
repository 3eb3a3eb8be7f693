//! A wrong config is reported with the place of every problem, all at once, before anything happens.

use snapbox::{assert_data_eq, str};

use super::support::*;

/// What a person sees, having made sure that nothing was recorded or written.
#[track_caller]
fn told(config: &str) -> String {
    let world = World::with_config(config);
    let output = world.run(&["run", "--note", "n"]).expect(65);
    assert_eq!(output.stdout, "");
    assert_eq!(world.tree().into_keys().collect::<Vec<_>>(), ["handover.toml"]);
    assert!(!world.exists(".agent-handover"));
    output.stderr.to_string()
}

#[test]
fn an_unknown_key_suggests_the_nearest() {
    assert_data_eq!(
        told("[handover]\nmemorydir = \"m\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n"),
        str![[r#"
error: unknown key `memorydir` in `[handover]`
 --> handover.toml:2:1
  |
2 | memorydir = "m"
  | ^^^^^^^^^
  |
  = help: did you mean `memory_dir`?
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[handover]\ncolour = \"m\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n"),
        str![[r#"
error: unknown key `colour` in `[handover]`
 --> handover.toml:2:1
  |
2 | colour = "m"
  | ^^^^^^
  |
  = help: known here: `memory_dir`, `history_dir`, `state_dir`, `checkpoint`, `pause_file`, `tag`
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"note\"\nbody = \"x\"\n"),
        str![[r#"
error: unknown key `body` in a `note` step
 --> handover.toml:4:1
  |
4 | body = "x"
  | ^^^^
  |
  = help: known here: `name`, `kind`, `on_failure`, `retries`, `content`
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[handovr]\n[[step]]\nname = \"n\"\nkind = \"note\"\n"),
        str![[r#"
error: unknown key `handovr` in the file
 --> handover.toml:1:2
  |
1 | [handovr]
  |  ^^^^^^^
  |
  = help: did you mean `[handover]`?
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
}

#[test]
fn a_wrong_type_names_what_was_expected() {
    assert_data_eq!(
        told("[backend]\ntype = \"git\"\npush = \"false\"\n"),
        str![[r#"
error: `push` in `[backend]` must be `true` or `false`, found `"false"`
 --> handover.toml:3:8
  |
3 | push = "false"
  |        ^^^^^^^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[backend]\ntype = \"git\"\npaths = \"memory\"\n"),
        str![[r#"
error: `paths` in `[backend]` must be an array of strings, found `"memory"`
 --> handover.toml:3:9
  |
3 | paths = "memory"
  |         ^^^^^^^^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"t\"\nkind = \"command\"\nrun = \"make test\"\n"),
        str![[r#"
error: `run` in a `command` step must be an array of strings, found `"make test"`
 --> handover.toml:4:7
  |
4 | run = "make test"
  |       ^^^^^^^^^^^
  |
  = help: write `run = ["make", "test"]`
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    let piped = told("[[step]]\nname = \"t\"\nkind = \"command\"\nrun = \"make | tail\"\n");
    assert!(!piped.contains("help: write"), "{piped}");
    assert_data_eq!(
        told("[note]\nsession = 5\n"),
        str![[r#"
error: `session` in `[note]` must be a string, found `5`
 --> handover.toml:2:11
  |
2 | session = 5
  |           ^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("step = 3\n"),
        str![[r#"
error: `step` in the file must be an array of tables, `[[step]]`, found `3`
 --> handover.toml:1:8
  |
1 | step = 3
  |        ^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[warmup]\nbudget = -1\n"),
        str![[r#"
error: `budget` in `[warmup]` must be a whole number from 300 to 1000000, found `-1`
 --> handover.toml:2:10
  |
2 | budget = -1
  |          ^^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("handover = 3\n"),
        str![[r#"
error: `handover` in the file must be a table, found `3`
 --> handover.toml:1:12
  |
1 | handover = 3
  |            ^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
}

#[test]
fn a_word_that_is_none_of_the_choices_lists_them() {
    assert_data_eq!(
        told("[backend]\ntype = \"gti\"\n"),
        str![[r#"
error: unknown backend type: 'gti' (expected 'git' or 'null')
 --> handover.toml:2:8
  |
2 | type = "gti"
  |        ^^^^^
  |
  = help: did you mean `git`?
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"note\"\non_failure = \"ignore\"\n"),
        str![[r#"
error: `on_failure` in a `note` step must be `stop` or `continue`, found `ignore`
 --> handover.toml:4:14
  |
4 | on_failure = "ignore"
  |              ^^^^^^^^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
}

#[test]
fn steps_need_a_name_of_their_own_and_a_kind_that_exists() {
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"note\"\n[[step]]\nname = \"a\"\nkind = \"state\"\n"),
        str![[r#"
error: the step name `a` is used twice
 --> handover.toml:5:8
  |
5 | name = "a"
  |        ^^^
  |
  = help: every step needs a name of its own
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nkind = \"note\"\n"),
        str![[r#"
error: `name` is missing in a step
 --> handover.toml:1:1
  |
1 | [[step]]
  | ^^^^^^^^
  |
  = help: every step needs a `name` of its own
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\n"),
        str![[r#"
error: `kind` is missing in a step
 --> handover.toml:1:1
  |
1 | [[step]]
  | ^^^^^^^^
  |
  = help: kinds: `collect`, `command`, `note`, `state`, `history`, `compact`, `publish`
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"comand\"\n"),
        str![[r#"
error: unknown step kind `comand`
 --> handover.toml:3:8
  |
3 | kind = "comand"
  |        ^^^^^^^^
  |
  = help: did you mean `command`?
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a, b\"\nkind = \"note\"\n"),
        str![[r#"
error: the step name `a, b` may only use letters, digits, `_`, `-` and `.`, and starts with a letter or digit
 --> handover.toml:2:8
  |
2 | name = "a, b"
  |        ^^^^^^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("step = []\n"),
        str![[r#"
error: `step` is empty, so there is nothing to do
 --> handover.toml:1:8
  |
1 | step = []
  |        ^^
  |
  = help: write at least one `[[step]]`, or remove the key
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
}

#[test]
fn a_command_needs_something_to_run() {
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"command\"\n"),
        str![[r#"
error: `run` is missing in a `command` step
 --> handover.toml:1:1
  |
1 | [[step]]
  | ^^^^^^^^
  |
  = help: write `run = ["program", "argument"]`, or `shell = "…"` for a shell line
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"command\"\nrun = []\n"),
        str![[r#"
error: `run` in a `command` step names no program
 --> handover.toml:4:7
  |
4 | run = []
  |       ^^
  |
  = help: write `run = ["program", "argument"]`
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"command\"\nrun = [\"x\"]\nshell = \"y\"\n"),
        str![[r#"
error: a `command` step has both `run` and `shell`
 --> handover.toml:5:9
  |
5 | shell = "y"
  |         ^^^
  |
  = help: keep one of them
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"command\"\nshell = \"echo {{ note }}\"\n"),
        str![[r#"
error: `shell` in a `command` step is not filled in like a template
 --> handover.toml:4:9
  |
4 | shell = "echo {{ note }}"
  |         ^^^^^^^^^^^^^^^^^
  |
  = help: pass the value through `env = { NOTE = "{{ note }}" }` and write "$NOTE"
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
}

#[test]
fn bad_durations_and_templates_are_found_before_anything_runs() {
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"command\"\nrun = [\"x\"]\ntimeout = \"10 lightyears\"\n"),
        str![[r#"
error: `timeout` in a `command` step must be a duration such as `30s`, `10m`, `1h 30m` or `250ms`, found `"10 lightyears"`
 --> handover.toml:5:11
  |
5 | timeout = "10 lightyears"
  |           ^^^^^^^^^^^^^^^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"note\"\ncontent = \"see {{ sumary }}\"\n"),
        str![[r#"
error: unknown name `sumary` in `content` of a `note` step
 --> handover.toml:4:19
  |
4 | content = "see {{ sumary }}"
  |                   ^^^^^^
  |
  = help: did you mean `summary`?
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[[step]]\nname = \"a\"\nkind = \"note\"\ncontent = \"\"\"\none\n{{ note \"\"\"\n"),
        str![[r#"
error: bad template: unexpected end of input, expected end of variable block in `content` of a `note` step
 --> handover.toml:6:4
  |
6 | {{ note """
  |    ^^^^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
}

#[test]
fn a_path_that_leaves_the_project_is_refused() {
    assert_data_eq!(
        told("[handover]\nmemory_dir = \"../elsewhere\"\n"),
        str![[r#"
error: `memory_dir` in `[handover]` leaves the project
 --> handover.toml:2:14
  |
2 | memory_dir = "../elsewhere"
  |              ^^^^^^^^^^^^^^
  |
  = help: write a path below the project, or an absolute path if you mean a place outside
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("[backend]\ntype = \"git\"\npaths = [\"-A\"]\n"),
        str![[r#"
error: `-A` in `paths` of `[backend]` is not a path inside the project
 --> handover.toml:3:10
  |
3 | paths = ["-A"]
  |          ^^^^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    let world = World::with_config("[handover]\nmemory_dir = \"out/memory\"\n");
    std::os::unix::fs::symlink(world.home(), world.path("out")).unwrap();
    let output = world.run(&["run", "--note", "n"]).expect(65);
    assert_data_eq!(
        output.stderr,
        str![[r#"
error: `memory_dir`: `out/memory` leaves the project `$WORLD/project`
 --> handover.toml:2:14
  |
2 | memory_dir = "out/memory"
  |              ^^^^^^^^^^^^
  |
  = help: make it a real directory, or write an absolute path if you mean a place outside
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
}

#[test]
fn a_bracket_that_is_not_closed_is_one_error() {
    assert_data_eq!(
        told(
            "step = [\n  { name = \"a\", kind = \"note\"\n  { name = \"b\", kind = \"note\" },\n]\n[backend]\ntype = \"null\"\n"
        ),
        str![[r#"
error: this `{` is not closed
 --> handover.toml:2:3
  |
2 |   { name = "a", kind = "note"
  |   ^
  |
  = help: write `}` where it ends
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
}

#[test]
fn bad_toml_is_reported_with_its_place() {
    assert_data_eq!(
        told("[handover\ntag = \"x\"\n"),
        str![[r#"
error: unclosed table, expected `]`
 --> handover.toml:1:10
  |
1 | [handover
  |          ^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    assert_data_eq!(
        told("tag = \"x\ntag = 1\n"),
        str![[r#"
error: invalid basic string, expected `"`
 --> handover.toml:1:9
  |
1 | tag = "x
  |         ^
error: duplicate key
 --> handover.toml:2:1
  |
2 | tag = 1
  | ^^^
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
}

#[test]
fn all_problems_of_a_config_are_reported_at_once() {
    let stderr = told(
        "[handover]\ntagg = \"x\"\nmemory_dir = 5\n[[step]]\nname = \"a\"\nkind = \"nte\"\n[[step]]\nname = \"b\"\nkind = \"note\"\n\
         content = \"{{ nope }}\"\nretries = -1\n",
    );
    let titles: Vec<&str> = stderr.lines().filter(|line| line.starts_with("error:")).collect();
    assert_data_eq!(
        titles.join("\n"),
        str![[r#"
error: unknown key `tagg` in `[handover]`
error: `memory_dir` in `[handover]` must be a string, found `5`
error: unknown step kind `nte`
error: unknown name `nope` in `content` of a `note` step
error: `retries` in a `note` step must be a whole number from 0 to 100, found `-1`
"#]]
    );
}

#[test]
fn hostile_text_in_a_config_does_not_reach_the_terminal() {
    let stderr = told("[handover]\n\"\\u001b[31mred\" = 1\nbad = \"\x1b[2Jx\"\n");
    assert!(!stderr.contains('\x1b'), "{stderr:?}");
}

#[test]
fn an_unreadable_config_is_reported_in_one_sentence() {
    let world = World::new();
    let output = world.run(&["run", "--config", "nowhere.toml"]).expect(1);
    assert_data_eq!(
        output.stderr,
        str![[r#"
error: cannot read the config `$WORLD/project/nowhere.toml`
  caused by: No such file or directory (os error 2)
hint: run `agent-handover init` to write one, or name another with `--config`
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    std::fs::create_dir(world.path("handover.toml")).unwrap();
    assert_data_eq!(
        world.run(&["check"]).expect(65).stderr,
        str![[r#"
error: the config `$WORLD/project/handover.toml` is not a file

"#]]
    );
    let world = World::with_config("");
    world.write("handover.toml", b"tag = \"\xff\"\n");
    assert_data_eq!(
        world.run(&["check"]).expect(65).stderr,
        str![[r#"
error: `$WORLD/project/handover.toml` is not UTF-8 text
  caused by: invalid utf-8 sequence of 1 bytes from index 7

"#]]
    );
}

#[test]
fn a_config_of_another_user_is_refused() {
    let world = World::with_config("[[step]]\nname = \"a\"\nkind = \"command\"\nrun = [\"touch\", \"ran\"]\n");
    // Only root can change the owner of a file.
    if std::os::unix::fs::chown(world.path("handover.toml"), Some(12345), None).is_err() {
        return skip("only root can make a file of another user");
    }
    let output = world.run(&["run"]).expect(65);
    assert!(output.stderr.contains("belongs to user 12345, not to you"), "{}", output.stderr);
    assert!(!world.exists("ran"));
}

#[test]
fn defaults_give_way_to_the_file_the_file_to_the_environment_and_that_to_flags() {
    let world = World::with_config(
        "[handover]\ntag = \"file\"\nmemory_dir = \"filed\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n",
    );
    world.run(&["run", "--note", "1"]).expect(0);
    let mut command = world.command(&["run", "--note", "2"]);
    finish(command.env("AGENT_HANDOVER_TAG", "env").env("AGENT_HANDOVER_MEMORY_DIR", "envd")).expect(0);
    let mut command = world.command(&["run", "--note", "3", "--tag", "flag"]);
    finish(command.env("AGENT_HANDOVER_TAG", "env")).expect(0);
    let files: Vec<String> = world.tree().into_keys().filter(|path| path.contains("layer1")).collect();
    assert_eq!(
        files,
        [
            "envd/layer1/2026-11/env-2026-11-15.md",
            "filed/layer1/2026-11/file-2026-11-15.md",
            "filed/layer1/2026-11/flag-2026-11-15.md"
        ]
    );
    let mut command = world.command(&["run", "--note", "4"]);
    finish(command.env("AGENT_HANDOVER_MEMORY_DIR", "../out")).expect(64);
}

#[test]
fn a_config_in_the_state_directory_has_paths_from_the_root() {
    let world = World::with_git();
    world.write(
        ".agent-handover/handover.toml",
        "[handover]\nmemory_dir = \"m\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n",
    );
    world.write("a/b/x", "");
    let mut command = world.command(&["run", "--note", "from below"]);
    finish(command.current_dir(world.path("a/b"))).expect(0);
    assert!(world.exists("m/layer1/2026-11/general-2026-11-15.md"));
}

#[test]
fn a_users_own_annotations_are_left_alone() {
    let world = World::with_config("[x-team]\nowner = \"me\"\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    world.run(&["run", "--note", "n"]).expect(0);
}

#[test]
fn a_table_that_is_almost_one_of_ours_is_a_mistake() {
    assert_data_eq!(
        told("[[steps]]\nname = \"n\"\nkind = \"note\"\n"),
        str![[r#"
error: unknown key `steps` in the file
 --> handover.toml:1:3
  |
1 | [[steps]]
  |   ^^^^^
  |
  = help: did you mean `[[step]]`?
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    // Also in a file of the Python tool, where other unknown keys are ignored.
    for (name, meant) in [
        ("[handovers]", "`[handover]`"),
        ("[backends]", "`[backend]`"),
        ("[Backend]", "`[backend]`"),
        ("[Step]", "`[[step]]`"),
        ("[notes]", "`[note]`"),
        ("[gaurd]", "`[guard]`"),
        ("[warm-up]", "`[warmup]`"),
        ("[categories]", "`[category]`"),
    ] {
        for more in ["", "[note]\nsession = \"n\"\n"] {
            let stderr = told(&format!("{name}\nx = 1\n{more}"));
            assert!(stderr.contains(meant), "{name}: {stderr}");
        }
    }
}

#[test]
fn a_backend_says_its_type() {
    assert_data_eq!(
        told("[backend]\nbranch = \"main\"\n"),
        str![[r#"
error: `type` is missing in `[backend]`
 --> handover.toml:1:1
  |
1 | [backend]
  | ^^^^^^^^^
  |
  = help: write `type = "git"` to publish through git, or `type = "null"` to keep the files here
hint: nothing was recorded: fix this, then run the handover again

"#]]
    );
    let stderr = told("[backend]\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    assert!(stderr.contains("`type` is missing in `[backend]`"), "{stderr}");
}

#[test]
fn config_prints_each_value_and_where_it_came_from() {
    let world = World::with_config(
        "[handover]\ntag = \"file\"\nmemory_dir = \"filed\"\n[backend]\ntype = \"git\"\n[category.decision]\nkeep = 3\n",
    );
    let mut command = world.command(&["config", "--no-push"]);
    command.env("AGENT_HANDOVER_TAG", "env").env("AGENT_HANDOVER_STATE_DIR", "var");
    let place = world.root().parent().unwrap().display().to_string();
    assert_data_eq!(
        finish(&mut command).expect(0).stdout.replace(&place, "$WORLD"),
        str![[r#"
Config: $WORLD/project/handover.toml
handover.memory_dir = "filed"  # handover.toml:3
handover.history_dir = ".agent-history"  # default
handover.state_dir = "var"  # environment: AGENT_HANDOVER_STATE_DIR
handover.pause_file = "PAUSE"  # default
handover.checkpoint = "var/checkpoint.db"  # default
handover.tag = "env"  # environment: AGENT_HANDOVER_TAG
backend.type = "git"  # handover.toml:5
backend.branch = "agent-handover"  # default
backend.remote = "origin"  # default
backend.push = false  # flag: --no-push
backend.repo_dir = "."  # default
backend.paths = ["filed",".agent-history"]  # default
backend.message = "handover: {{ tag }} {{ date }}"  # default
backend.timeout = "60s"  # default
guard.secrets = "block"  # default
hook.ignore = []  # default
hook.headless = true  # default
warmup.enabled = true  # default
warmup.budget = 4000  # default
recall.first_prompt = true  # default
recall.tools = false  # default
transcripts.keep = "no"  # default
category.overview.mode = "clear"  # default
category.overview.keep = 1  # default
category.goal.mode = "clear"  # default
category.goal.keep = 1  # default
category.constraint.mode = "clear"  # default
category.constraint.keep = 5  # default
category.decision.mode = "append"  # default
category.decision.keep = 3  # handover.toml:7
category.open_loop.mode = "clear"  # default
category.open_loop.keep = 5  # default
category.known_issue.mode = "clear"  # default
category.known_issue.keep = 10  # default
category.recent_change.mode = "clear"  # default
category.recent_change.keep = 20  # default
category.remembered.mode = "append"  # default
category.remembered.keep = 200  # default
category.session_summary.mode = "append"  # default
category.session_summary.keep = 10  # default
Plan: built-in, because the file has no `[[step]]` (facts, note, state, history, publish).
Publishing: commits filed, .agent-history on the branch `agent-handover` and does not push it.

"#]]
    );
    let output = world.run(&["config", "--json", "--tag", "flag"]).expect(0).json();
    assert_eq!(output["schema"], "agent-handover/config/1");
    let value = |key: &str| {
        let values = output["values"].as_array().unwrap();
        values.iter().find(|value| value["key"] == key).unwrap_or_else(|| panic!("no {key}")).clone()
    };
    assert_eq!(value("handover.tag")["value"], "flag");
    assert_eq!(value("handover.tag")["origin"], serde_json::json!({ "from": "flag", "name": "--tag" }));
    assert_eq!(value("handover.memory_dir")["origin"], serde_json::json!({ "from": "file", "line": 3 }));
    assert_eq!(value("handover.history_dir")["origin"], serde_json::json!({ "from": "default" }));
    assert_eq!(value("category.decision.keep")["origin"], serde_json::json!({ "from": "file", "line": 7 }));
    assert_eq!(output["plan"]["of"], "built-in");
    assert_eq!(output["publishing"]["destination"]["branch"], "agent-handover");
    // It reads, and leaves nothing behind.
    assert_eq!(world.tree().into_keys().collect::<Vec<_>>(), ["handover.toml"]);
    assert!(!world.exists(".agent-handover") && !world.exists("var"));
    world.write("handover.toml", "[handovr]\n");
    assert_eq!(world.run(&["config", "--json"]).expect(65).json()["error"]["category"], "bad-data");
}

#[test]
fn config_without_a_file_prints_the_defaults() {
    let world = World::new();
    let output = world.run(&["config"]).expect(0).stdout;
    assert!(output.starts_with("Config: none, the defaults apply\n"), "{output}");
    assert!(output.lines().filter(|line| line.contains(" = ")).all(|line| line.ends_with("  # default")), "{output}");
    assert!(
        output
            .ends_with("Plan: built-in (facts, note, state, history, publish).\nPublishing: nowhere (backend null).\n")
    );
}
