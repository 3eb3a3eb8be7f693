//! What the next session gets of a session: rulings, goal, next actions and conclusions, without a model.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::support::*;

/// A Claude Code session while it is written down.
struct Talk {
    records: Vec<Value>,
    cwd: PathBuf,
    session: String,
    calls: usize,
}

impl Talk {
    fn new(world: &World, session: &str) -> Talk {
        Talk { records: Vec::new(), cwd: world.root(), session: session.to_owned(), calls: 0 }
    }

    fn record(&mut self, kind: &str, message: Value, more: Value) -> &mut Talk {
        let minute = self.records.len();
        let mut record = json!({
            "type": kind,
            "sessionId": self.session,
            "cwd": self.cwd,
            "gitBranch": "main",
            "timestamp": format!("2026-11-15T09:{:02}:{:02}.000Z", minute / 60 % 60, minute % 60),
            "message": message,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            record[key] = value.clone();
        }
        self.records.push(record);
        self
    }

    fn person(&mut self, text: &str) -> &mut Talk {
        self.record("user", json!({ "role": "user", "content": text }), json!({}))
    }

    fn agent(&mut self, text: &str) -> &mut Talk {
        let content = json!([{ "type": "text", "text": text }]);
        self.record("assistant", json!({ "role": "assistant", "model": "m", "content": content }), json!({}))
    }

    fn call(&mut self, name: &str, input: Value, result: &str, is_error: bool, more: Value) -> &mut Talk {
        self.calls += 1;
        let id = format!("toolu_{}", self.calls);
        let call = json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
        self.record("assistant", json!({ "role": "assistant", "model": "m", "content": call }), json!({}));
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error }]);
        self.record("user", json!({ "role": "user", "content": result }), more)
    }

    fn edit(&mut self, path: &str) -> &mut Talk {
        let path = self.cwd.join(path);
        self.call("Edit", json!({ "file_path": path }), "ok", false, json!({}))
    }

    fn command(&mut self, command: &str, code: i32) -> &mut Talk {
        let output = if code == 0 { "fine".to_owned() } else { format!("Exit code {code}\nbroken") };
        self.call("Bash", json!({ "command": command }), &output, code != 0, json!({}))
    }

    fn text(&self) -> String {
        self.records.iter().map(|record| format!("{record}\n")).collect()
    }
}

impl World {
    /// Hands over a session of which only the transcript is known.
    fn hand_over(&self, talk: &Talk) {
        let path = format!("{}.jsonl", talk.session);
        std::fs::write(self.home().join(&path), talk.text()).unwrap();
        let file = self.home().join(&path);
        self.run(&["run", "--quiet", "--transcript", file.to_str().unwrap()]).expect(0);
    }

    fn warmup(&self, budget: usize) -> String {
        self.run(&["warmup", "--budget", &budget.to_string()]).expect(0).stdout
    }

    fn decisions(&self) -> Vec<String> {
        let listed = self.run(&["memory", "list", "--category", "decision", "--json"]).expect(0).json();
        listed["items"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }
}

fn section(page: &str, heading: &str) -> String {
    let after = page.split(&format!("## {heading}\n")).nth(1).unwrap_or_default();
    after.split("\n## ").next().unwrap_or_default().to_owned()
}

#[test]
fn corrections_are_kept_verbatim_and_become_decisions() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "corrections");
    talk.person("Write the export of the monthly report").agent("I will use pandas for that.");
    talk.person("no, use csv not pandas").edit("export.py").agent("Switched to the csv module.");
    talk.person("never commit data/private").agent("Understood, it is ignored now.");
    world.hand_over(&talk);
    let listed = world.run(&["memory", "list", "--category", "decision", "--json"]).expect(0).json();
    assert!(listed["items"].as_array().unwrap().iter().all(|item| item["by"] == "person"), "{listed}");
    let decisions = world.decisions();
    for ruling in ["no, use csv not pandas", "never commit data/private"] {
        assert!(decisions.iter().any(|decision| decision == ruling), "{ruling}: {decisions:?}");
        assert!(section(&world.warmup(1_500), "Rulings").contains(ruling), "{}", world.warmup(1_500));
    }
}

#[test]
fn a_slash_command_with_its_words_is_a_request() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "slash");
    talk.person(
        "<command-message>fix-issue is running…</command-message>\n<command-name>/fix-issue</command-name>\n\
         <command-args>4711 login loops</command-args>",
    );
    talk.edit("login.py").agent("The redirect kept its cookie.");
    world.hand_over(&talk);
    assert!(section(&world.warmup(1_500), "Goal").contains("/fix-issue 4711 login loops"), "{}", world.warmup(1_500));
}

#[test]
fn a_greeting_is_not_the_goal() {
    for greeting in ["Hey", "hi", "Good morning!", "hello there"] {
        let world = World::salted(greeting);
        let mut talk = Talk::new(&world, "greeting");
        talk.person(greeting).agent("Hello! What shall we do?");
        talk.person("Port the parser to the new grammar").edit("parser.rs").agent("Ported.");
        world.hand_over(&talk);
        let goal = section(&world.warmup(1_500), "Goal");
        assert!(goal.contains("Port the parser") && !goal.to_lowercase().contains(&greeting.to_lowercase()), "{goal}");
    }
}

#[test]
fn plans_options_and_refusals_are_kept() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "plan-mode");
    talk.person("Add a cache to the resolver");
    let plan = "# Cache the resolver\n\n1. Add an LRU map\n2. Invalidate on reload";
    let approved = "User has approved your plan. You can now start coding.";
    talk.call("ExitPlanMode", json!({ "plan": plan }), approved, false, json!({}));
    let question = "Which eviction policy?";
    let asked = json!({ "questions": [{ "question": question, "header": "Eviction", "multiSelect": false,
        "options": [{ "label": "LRU", "description": "x" }, { "label": "TTL of 5 minutes", "description": "y" }] }] });
    let answered =
        format!("User has answered your questions: \"{question}\"=\"TTL of 5 minutes\". You can now continue.");
    let answers = json!({ "toolUseResult": { "answers": { question: "TTL of 5 minutes" } } });
    talk.call("AskUserQuestion", asked, &answered, false, answers);
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, \
        the new_string was NOT written to the file). To tell you how to proceed, the user said:\nnever start docker here";
    talk.call("Bash", json!({ "command": "docker compose up -d" }), refusal, true, json!({}));
    talk.edit("resolver.rs").agent("The map is in; invalidation is open.");
    world.hand_over(&talk);
    let page = world.warmup(4_000);
    for kept in ["never start docker here", "TTL of 5 minutes", "Invalidate on reload"] {
        assert!(page.contains(kept), "{kept}: {page}");
    }
    assert!(world.decisions().iter().any(|decision| decision.contains("never start docker here")));
}

#[test]
fn the_last_message_is_kept_with_its_next_action() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "last");
    talk.person("Make the export work for large files").edit("cli.py");
    talk.agent("The export works for files up to 2 GB. `cli.py:42` still prints; next: stream to disk");
    world.hand_over(&talk);
    let page = world.warmup(1_500);
    assert!(section(&page, "Next").contains("stream to disk"), "{page}");
    assert!(page.contains("cli.py:42"), "{page}");
}

#[test]
fn a_question_or_a_greeting_changes_neither_goal_nor_next_and_is_at_most_one_line_in_the_notes() {
    for (request, answer, noted) in [
        ("What does the flag --strict do?", "It refuses unknown keys.", "What does the flag --strict do?"),
        ("Good morning", "Good morning. Shall I port the expressions?", ""),
    ] {
        let world = World::salted(request);
        let mut work = Talk::new(&world, "work");
        work.person("Port the parser to the new grammar").edit("parser.rs");
        work.agent("Half of the rules are ported. Next: port the expressions");
        world.hand_over(&work);
        let (before, archives) = (world.warmup(4_000), world.read(".agent-history/INDEX.yaml"));
        let state = world.read("memory/layer2/current-state.md");
        let mut question = Talk::new(&world, "question");
        question.person(request).agent(answer);
        world.hand_over(&question);
        for heading in ["Goal", "Next", "Rulings", "Open loops", "The agent said"] {
            assert_eq!(section(&world.warmup(4_000), heading), section(&before, heading), "{request}: {heading}");
        }
        assert_eq!(world.read(".agent-history/INDEX.yaml"), archives, "{request}");
        assert_eq!(world.read("memory/layer2/current-state.md"), state, "{request}");
        let notes: String =
            world.tree().into_iter().filter(|(path, _)| path.contains("layer1")).map(|(_, text)| text).collect();
        assert!(notes.contains(noted), "{request}: {notes}");
    }
}

#[test]
fn a_written_handoff_is_not_buried_by_what_the_hook_derives() {
    let world = World::with_git();
    let mut before = world.command(&["run", "--note", "before"]);
    finish(before.env("AGENT_HANDOVER_TEST_NOW", "2026-11-15T08:00:00Z")).expect(0).stderr_ignored("progress");
    let create =
        ["history", "create", "--goal", "Ship the importer", "--next", "Handle empty files", "--decision", "No ORM"];
    let mut command = world.command(&create);
    command.env("AGENT_HANDOVER_TEST_NOW", "2026-11-15T09:00:30Z");
    finish(&mut command).expect(0).stderr_ignored("advice");
    let written = world.read(".agent-history/LATEST.md");
    assert_eq!(world.decisions(), ["No ORM"], "it reaches the current state, too");
    let mut talk = Talk::new(&world, "session");
    talk.person("Write the importer").edit("importer.py").command("pytest -q", 1);
    talk.agent("The importer is there. never mind the warnings.");
    world.hand_over(&talk);
    assert_eq!(world.read(".agent-history/LATEST.md"), written);
    let page = world.warmup(4_000);
    assert_eq!(section(&page, "Goal").trim(), "- Ship the importer", "{page}");
    assert!(section(&page, "Next").contains("Handle empty files"), "{page}");
    assert!(page.contains("`pytest -q` failed"), "{page}");
}

#[test]
fn a_project_that_uses_only_the_history_gets_nothing_else() {
    let world = World::with_git();
    let create =
        ["history", "create", "--goal", "Ship the importer", "--next", "Handle empty files", "--decision", "No ORM"];
    world.run(&create).expect(0).stderr_ignored("advice");
    assert!(!world.exists("memory") && !world.exists(".agent-handover"), "{:?}", world.tree().keys());
}

#[test]
fn decisions_in_the_body_of_a_document_count() {
    let world = World::with_git();
    let form = world.run(&["history", "template"]).expect(0).stdout;
    let filled = form
        .replace("primary_goal: \"\"", "primary_goal: \"Ship it\"")
        .replace("next_todo_items:\n  - \"\"", "next_todo_items:\n  - \"Handle empty files\"")
        .replace("search_tags:\n  - \"\"", "search_tags:\n  - \"t\"")
        .replace("command: \"\"", "command: \"true\"")
        .replace("# Decisions Made\n", "# Decisions Made\n\n- No ORM, because it hides the queries\n- none\n");
    world.write("handoff.md", filled);
    world.run(&["run", "--handoff", "handoff.md"]).expect(0).stderr_ignored("progress");
    assert_eq!(world.decisions(), ["No ORM, because it hides the queries"]);
}

#[test]
fn every_ruling_of_twenty_sessions_stays() {
    let world = World::with_git();
    let subjects = [
        "tabs",
        "pandas",
        "docker",
        "unwrap",
        "globals",
        "YAML",
        "mocks",
        "macros",
        "threads",
        "sleeps",
        "regexes",
        "shells",
        "caches",
        "singletons",
        "floats",
        "locales",
        "symlinks",
        "retries",
        "polling",
        "cron",
    ];
    let ruling = |subject: &str| format!("From now on never use {subject} in this repository");
    for (number, subject) in subjects.iter().enumerate() {
        let mut talk = Talk::new(&world, &format!("s{number}"));
        talk.person(&format!("Rework part {number} of the importer")).edit("importer.py").agent("Reworked it.");
        talk.person(&ruling(subject)).agent("Noted.");
        world.hand_over(&talk);
        let mut trivial = Talk::new(&world, &format!("t{number}"));
        trivial.person("which files are large?").agent("None of them.");
        world.hand_over(&trivial);
    }
    let (decisions, whole, page) = (world.decisions(), world.warmup(9_000), world.warmup(4_000));
    for subject in subjects {
        assert!(decisions.contains(&ruling(subject)), "{subject}: {decisions:#?}");
        assert!(section(&whole, "Rulings").contains(&ruling(subject)), "{subject}: {whole}");
    }
    for subject in &subjects[10..] {
        assert!(section(&page, "Rulings").contains(&ruling(subject)), "{subject}: {page}");
    }
}

#[test]
fn a_failing_check_is_a_known_issue_until_it_passes() {
    let world = World::with_git();
    let mut failing = Talk::new(&world, "failing");
    failing.person("Fix the parser").edit("parser.rs").command("cargo test", 101).agent("Two tests fail still.");
    world.hand_over(&failing);
    let issues = |world: &World| {
        let listed = world.run(&["memory", "list", "--category", "known_issue"]).expect(0);
        listed.stderr_ignored("it may be empty").stdout
    };
    assert!(issues(&world).contains("`cargo test` failed (exit code 101)"), "{}", issues(&world));
    assert!(section(&world.warmup(4_000), "Checks").contains("`cargo test` failed"), "{}", world.warmup(4_000));
    let mut passing = Talk::new(&world, "passing");
    passing.person("Fix the other two").edit("parser.rs").command("cargo test", 0).agent("All pass.");
    world.hand_over(&passing);
    assert!(!issues(&world).contains("cargo test"), "{}", issues(&world));
}

#[test]
fn a_ruling_that_was_deleted_does_not_come_back() {
    let world = World::with_git();
    let ruling = "From now on never use globals in this repository";
    let hand_over = |session: &str| {
        let mut talk = Talk::new(&world, session);
        talk.person("Rework the importer").edit("importer.py").agent("Reworked it.").person(ruling).agent("Noted.");
        world.hand_over(&talk);
    };
    hand_over("one");
    let listed = world.run(&["memory", "list", "--category", "decision", "--json"]).expect(0).json();
    let id = listed["items"][0]["id"].as_str().unwrap();
    world.run(&["memory", "delete", id]).expect(0);
    hand_over("two");
    assert_eq!(world.decisions(), Vec::<String>::new());
}

#[test]
fn results_of_command_steps_are_evidence() {
    let world = World::with_config(
        "[handover]\n[[step]]\nname = \"facts\"\nkind = \"collect\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n\
         [[step]]\nname = \"lint\"\nkind = \"command\"\nrun = [\"false\"]\non_failure = \"continue\"\n\
         [[step]]\nname = \"tests\"\nkind = \"command\"\nrun = [\"true\"]\n\
         [[step]]\nname = \"state\"\nkind = \"state\"\n[[step]]\nname = \"history\"\nkind = \"history\"\n",
    );
    world.run(&["run", "--note", "parser done; next: error spans"]).expect(0).stderr_ignored("progress");
    let latest = world.read(".agent-history/LATEST.md");
    assert!(latest.contains("command: \"false\"") && latest.contains("run by the handover; exit code 1"), "{latest}");
    assert!(latest.contains("command: \"true\""), "{latest}");
    let page = world.warmup(4_000);
    assert!(section(&page, "Checks").contains("`false` failed"), "{page}");
    assert!(section(&page, "Next").contains("error spans"), "{page}");
    let status = world.run(&["status"]).expect(0).stdout;
    assert!(status.contains("  [!] lint  (failed, 1 attempt, ") && !status.contains("pending"), "{status}");
}

#[test]
fn a_note_or_a_state_is_not_the_goal() {
    let world = World::with_git();
    let handover = ["run", "--note", "Rewrote the lexer", "--current-state", "The lexer is new, the parser is old"];
    world.run(&handover).expect(0).stderr_ignored("progress");
    let page = world.warmup(4_000);
    assert!(section(&page, "Goal").is_empty(), "{page}");
    for said in ["Rewrote the lexer", "The lexer is new, the parser is old"] {
        assert!(page.contains(said), "{said}: {page}");
    }
}

#[test]
fn the_first_page_is_full_and_init_says_what_it_found() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "5f0c1d52-7a1e-4b0e-9d0a-0c6f5a1b2c3d");
    talk.person("Port the parser to the new grammar").edit("parser.rs");
    talk.agent("Half of the rules are ported. Next: port the expressions");
    let name: String =
        world.root().to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let directory = world.home().join(".claude/projects").join(name);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(format!("{}.jsonl", talk.session)), talk.text()).unwrap();
    let page = world.warmup(4_000);
    assert!(section(&page, "Goal").contains("Port the parser"), "{page}");
    assert!(section(&page, "Next").contains("port the expressions"), "{page}");
    assert!(!world.exists("memory") && !world.exists(".agent-history"), "nothing is written");
    let output = world.run(&["init"]).expect(0);
    assert!(output.stderr.contains("found 1 earlier session of this project"), "{}", output.stderr.as_str());
}

#[test]
fn after_one_trivial_question_the_page_is_short() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "trivial");
    talk.person("what time is it?").agent("I cannot know that.");
    world.hand_over(&talk);
    let page = world.warmup(4_000);
    assert!(page.len() < 300, "{} bytes: {page}", page.len());
}

#[test]
fn what_was_deleted_or_done_leaves_the_page_at_once() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "gateway");
    talk.person("Move the auth middleware to the gateway").edit("gateway.py").agent("Moved.");
    talk.person("always keep the old header names").agent("Kept them. Next: remove the old middleware");
    world.hand_over(&talk);
    let id_of = |text: &str| {
        let listed = world.run(&["memory", "list", "--json"]).expect(0).json();
        let items = listed["items"].as_array().unwrap().clone();
        items.iter().find(|item| item["text"] == text).unwrap()["id"].as_str().unwrap().to_owned()
    };
    world.run(&["memory", "delete", &id_of("always keep the old header names")]).expect(0);
    world.run(&["memory", "done", &id_of("remove the old middleware")]).expect(0);
    let page = world.warmup(4_000);
    assert_eq!(section(&page, "Rulings"), "", "{page}");
    assert_eq!(section(&page, "Next"), "", "{page}");
    assert_eq!(section(&page, "Open loops"), "", "{page}");
}

#[test]
fn nothing_is_on_the_page_twice() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "twice");
    talk.person("Port the parser to the new grammar").edit("README.md");
    std::fs::write(world.root().join("README.md"), "changed").unwrap();
    let todos = json!({ "todos": [{ "content": "Port the expressions", "status": "completed", "activeForm": "x" }] });
    talk.call("TodoWrite", todos, "ok", false, json!({}));
    talk.agent("The parser reads the new grammar.\n\n1. Expressions have spans\n2. Statements have none");
    world.hand_over(&talk);
    let page = world.warmup(4_000);
    assert_eq!(page.matches("The parser reads the new grammar").count(), 1, "{page}");
    assert!(page.contains("grammar. 1. Expressions have spans · 2. Statements"), "{page}");
    assert_eq!(page.matches("Port the expressions").count(), 1, "{page}");
    assert!(page.contains("- done: Port the expressions\n"), "{page}");
    assert_eq!(section(&page, "Files"), "- README.md\n", "{page}");
    assert_eq!(section(&page, "Since then").matches("README.md").count(), 1, "{page}");
    let note = "Moved the counter to shared memory. Next: load test with k6. Decision: the exporter sums the metrics.";
    world.run(&["run", "--quiet", "--note", note]).expect(0);
    let page = world.warmup(4_000);
    for part in ["Moved the counter", "load test with k6", "the exporter sums"] {
        assert_eq!(page.matches(part).count(), 1, "{part}: {page}");
    }
}

#[test]
fn a_ruling_that_is_taken_back_and_a_request_that_nobody_began_are_on_the_page() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "csv");
    talk.person("Write the export").edit("export.py").agent("Written with pandas.");
    talk.person("no, use csv not pandas").edit("export.py").agent("Switched to csv.");
    world.hand_over(&talk);
    let mut back = Talk::new(&world, "pandas");
    back.person("actually, pandas is fine after all").edit("export.py").agent("Switched back.");
    world.hand_over(&back);
    let rulings = section(&world.warmup(1_500), "Rulings");
    assert!(rulings.starts_with("- actually, pandas is fine after all\n"), "{rulings}");
    let mut cut_off = Talk::new(&world, "cut-off");
    cut_off.person("Add retries to the uploader, three at most");
    world.hand_over(&cut_off);
    let page = world.warmup(1_500);
    let asked = section(&page, "Goal") + &section(&page, "Next");
    assert!(asked.contains("Add retries to the uploader"), "{page}");
}

#[test]
fn dead_ends_and_last_words_outlive_the_next_session() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "first");
    talk.person("Read the 4 GB files of the report").edit("export.py");
    talk.agent("Rows are streamed now. I tried mmap first, but it did not help on NFS.");
    world.hand_over(&talk);
    let mut next = Talk::new(&world, "second");
    next.person("continue").edit("cli.py").agent("The command line flushes every thousand rows.");
    world.hand_over(&next);
    world.run(&["run", "--quiet", "--note", "Renamed it"]).expect(0);
    let page = world.warmup(4_000);
    assert!(section(&page, "Dead ends").contains("I tried mmap first"), "{page}");
    assert_eq!(page.matches("The command line flushes every thousand rows.").count(), 1, "{page}");
    let earlier = section(&page, "Earlier sessions");
    assert!(earlier.starts_with("- 2026-11-15: Rows are streamed now."), "{page}");
}

#[test]
fn what_is_marked_as_private_is_dropped_at_every_entrance() {
    let world = World::with_git();
    let mut talk = Talk::new(&world, "s");
    talk.person("fix the parser <private>HIDDEN</private>").agent("Fixed. <private>HIDDEN").edit("parser.rs");
    world.hand_over(&talk);
    world.run(&["run", "--note", "lexer done <private>HIDDEN</private>; next: spans"]).expect(0);
    world.run(&["run", "--note", "<private>HIDDEN</private>", "--current-state", "half <private>HIDDEN"]).expect(0);
    world.run(&["memory", "add", "decision", "use nom <private>HIDDEN</private>"]).expect(0);
    world.run(&["memory", "add", "decision", "<private>HIDDEN</private>"]).expect(64);
    let capture = json!({ "decisions": ["no unsafe <Private>HIDDEN</Private>", "<private>HIDDEN"] }).to_string();
    world.run(&["memory", "capture", "--data", &capture]).expect(0);
    let goal = ["history", "create", "--goal", "ship it <private>HIDDEN</private>", "--next", "Fix lexer.rs:42"];
    world.run(&[&goal[..], &["--summary", "half <private>HIDDEN</private>"]].concat()).expect(0);
    let handoff = world.read(".agent-history/LATEST.md");
    let handoff = handoff.replace("ship it", "ship <private>HIDDEN</private> all").replace("-ship-it", "-ship-all");
    world.write("handoff.md", handoff.replace("half", "<private>HIDDEN\nHIDDEN</private> whole"));
    world.run(&["run", "--handoff", "handoff.md"]).expect(0);
    std::fs::remove_file(world.path("handoff.md")).unwrap();
    world.write("PAUSE", "");
    world.run(&["run", "--note", "waits <private>HIDDEN</private>"]).expect(3);
    world.run(&["memory", "add", "decision", "waits <private>HIDDEN</private>"]).expect(3);

    for (path, text) in world.everything() {
        assert!(!text.contains("HIDDEN"), "{path} holds what is private");
    }
    let page = world.run(&["warmup"]).expect(0).stdout;
    for part in ["ship", "use nom", "no unsafe", "spans"] {
        assert!(page.contains(part), "{part} is missing:\n{page}");
    }
}

#[test]
fn a_list_after_other_words_is_open_and_a_review_replaces_no_goal() {
    let world = World::with_git();
    let mut work = Talk::new(&world, "work");
    work.person("Port the scheduler to asyncio").edit("sched.py");
    work.agent("The cancel path is ported. Remaining:\n- document the timeouts\n- remove the Timer class");
    work.person("never block the event loop").agent("OK.");
    world.hand_over(&work);
    let mut review = Talk::new(&world, "review");
    review
        .person("can you review sched.py?")
        .agent("One leak.\n- [ ] handle\n\nNext: rename `tick`\n\nTODO: none. Fine.");
    world.hand_over(&review);
    let page = world.warmup(4_000);
    assert_eq!(section(&page, "Goal").trim(), "- Port the scheduler to asyncio", "{page}");
    assert_eq!(section(&page, "Next").trim(), "- rename tick", "{page}");
    assert_eq!(section(&page, "Open loops").trim(), "- remove the Timer class\n- document the timeouts", "{page}");
    assert!(section(&page, "Rulings").contains("never block the event loop"), "{page}");
}

#[test]
fn the_next_action_is_one_of_this_branch() {
    let world = World::with_git();
    let commit = |message: &str| {
        world.git(&["add", "-A"]);
        world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", message, "--allow-empty"]);
    };
    commit("begin");
    let branch = world.git(&["branch", "--show-current"]).trim().to_owned();
    let hand_over = |id: &str, request: &str, answer: &str| {
        let mut talk = Talk::new(&world, id);
        talk.person(request).edit("a.py").agent(answer);
        commit(id);
        world.hand_over(&talk);
    };
    hand_over("limits", "Add rate limits to the API", "Limits are in. Next: load test with k6.");
    world.git(&["checkout", "-qb", "topic"]);
    hand_over("login", "Rework the login page", "Passkeys work. Next: add recovery codes.");
    assert!(section(&world.warmup(4_000), "Next").contains("add recovery codes"));
    world.git(&["checkout", "-q", &branch]);
    let page = world.warmup(4_000);
    assert_eq!(section(&page, "Next").trim(), "- load test with k6.", "{page}");
    assert!(section(&page, "Open loops").contains("add recovery codes. (from commit "), "{page}");
}
