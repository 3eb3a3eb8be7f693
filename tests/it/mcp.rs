//! `agent-handover mcp`: a client of either era lists, calls and is answered; nothing that it said is lost, whatever happens
//! to the conversation.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use agent_handover::testing::base::fault::POINTS;
use serde_json::{Value, json};

use super::support::*;

/// A conversation with the server.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    last: u64,
    /// What the client answers when it is asked for its roots.
    roots: Vec<String>,
    is_modern: bool,
}

impl Client {
    /// Starts the server without saying anything.
    pub fn start(mut command: Command) -> Client {
        // One process gives many ids here, and pinned ones would repeat.
        command.env_remove("AGENT_HANDOVER_TEST_IDS");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Client { input: child.stdin.take(), child, lines, last: 0, roots: Vec::new(), is_modern: false }
    }

    /// A client that opens the conversation with `initialize`.
    pub fn legacy(world: &World) -> Client {
        Client::initialized(world.command(&["mcp"]), &[])
    }

    pub fn initialized(command: Command, roots: &[&str]) -> Client {
        let mut client = Client::start(command);
        client.roots = roots.iter().map(|root| (*root).to_owned()).collect();
        let capabilities = if roots.is_empty() { json!({}) } else { json!({ "roots": {} }) };
        let answer = client.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "clientInfo": { "name": "codex-mcp-client", "version": "1" },
            }),
        );
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// A client that states its version with every request.
    fn modern(world: &World) -> Client {
        let mut client = Client::start(world.command(&["mcp"]));
        client.is_modern = true;
        client
    }

    fn write(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(message.to_string().as_bytes());
    }

    /// Sends a request and returns its id.
    fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.last += 1;
        if self.is_modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "codex-mcp-client", "version": "1" },
            });
        }
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message of the server. Everything on stdout must be one.
    fn next(&mut self) -> Option<Value> {
        let line = self.lines.next()?.unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        Some(message)
    }

    /// Waits for the answer to a request, and answers what the server asks meanwhile.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().expect("the server ended");
            if message["method"] == "roots/list" {
                let roots: Vec<Value> = self.roots.iter().map(|uri| json!({ "uri": uri })).collect();
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "roots": roots } });
                self.send(&answer);
            } else if message["id"] == id {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    fn call_start(&mut self, tool: &str, arguments: Value) -> u64 {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// The text that a tool answers, and whether it is an error.
    fn tried(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let id = self.call_start(tool, arguments);
        let answer = self.answer(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(text.len() <= 10_000, "{}", text.len());
        (text.to_owned(), answer["result"]["isError"] == true)
    }

    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.tried(tool, arguments);
        assert!(!is_error, "{text}");
        text
    }

    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.tried(tool, arguments);
        assert!(is_error, "{text}");
        text
    }

    /// Closes the conversation, reads what is left, and returns the exit code.
    pub fn end(mut self) -> i32 {
        drop(self.input.take());
        while self.next().is_some() {}
        output(self.child).code
    }
}

fn state(world: &World) -> Vec<(String, String)> {
    let list = world.run(&["memory", "list", "--json"]).expect(0).json();
    let text = |item: &Value, key: &str| item[key].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(|item| (text(item, "category"), text(item, "text"))).collect()
}

/// The id in the line of an answer that has this text.
fn id_of(answer: &str, text: &str) -> String {
    let line = answer.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("no {text} in {answer}"));
    line.split_once("(id ").unwrap().1.split([',', ')']).next().unwrap().to_owned()
}

#[test]
fn clients_of_both_eras_list_the_tools_and_are_answered() {
    let world = World::with_git();
    for mut client in [Client::legacy(&world), Client::modern(&world)] {
        let listed = client.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let read_only: Vec<(&str, bool)> = tools
            .iter()
            .map(|tool| (tool["name"].as_str().unwrap(), tool["annotations"]["readOnlyHint"].as_bool().unwrap()))
            .collect();
        let expected = [("search", true), ("show", true), ("warmup", true), ("capture", false), ("handover", false)];
        assert_eq!(read_only, expected);
        assert_eq!(listed["result"].get("ttlMs").is_some(), client.is_modern, "{listed}");
        let warmup = client.call("warmup", json!({}));
        assert!(warmup.contains("no earlier session of this project on record"), "{warmup}");
        let prompts = client.ask("prompts/list", json!({}));
        assert_eq!(prompts["result"]["prompts"][0]["name"], "handover");
        let prompt = client.ask("prompts/get", json!({ "name": "handover" }));
        assert!(prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains("`capture`"));
        let resources = client.ask("resources/list", json!({}));
        let uri = resources["result"]["resources"][0]["uri"].clone();
        let read = client.ask("resources/read", json!({ "uri": uri }));
        assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("Nothing is recorded yet"), "{read}");
        for (method, params) in [
            ("tools/call", json!({ "name": "no-such-tool" })),
            ("prompts/get", json!({ "name": "x" })),
            ("resources/read", json!({ "uri": "file:///etc/passwd" })),
        ] {
            assert!(client.ask(method, params)["error"]["message"].is_string());
        }
        assert_eq!(client.end(), 0);
    }
    // The newer protocol can be asked for what the server is before anything else.
    let mut client = Client::modern(&world);
    let discovered = client.ask("server/discover", json!({}));
    assert!(discovered["result"]["instructions"].as_str().unwrap().contains("`capture`"), "{discovered}");
    assert_eq!(client.end(), 0);
}

#[test]
fn what_is_captured_is_in_the_state_and_can_be_closed_by_its_id() {
    let world = World::with_git();
    let mut client = Client::legacy(&world);
    let answer = client.call(
        "capture",
        json!({ "goal": "ship the parser", "decisions": ["keep recursive descent, for the column"], "open_loops": ["fix spans", "write docs"] }),
    );
    assert!(answer.contains("added open_loop ") && answer.contains(": fix spans"), "{answer}");
    let shown = client.call("show", json!({ "id": "state" }));
    let (loop_id, goal_id) = (id_of(&shown, "fix spans"), id_of(&shown, "ship the parser"));
    assert!(client.refused("capture", json!({ "done": [goal_id] })).contains("`delete` removes it"));
    assert!(client.refused("capture", json!({ "done": ["ffffffff"] })).contains("`show` with the id `state`"));
    assert!(client.refused("capture", json!({})).contains("says nothing"));
    assert!(client.refused("capture", json!({ "gaol": "x" })).contains("did you mean `goal`?"));
    // If one part is wrong, nothing of the capture is recorded.
    client.refused("capture", json!({ "goal": "another", "done": ["ffffffff"] }));
    let answer = client.call("capture", json!({ "done": [loop_id], "known_issues": ["slow on macOS"] }));
    assert!(answer.contains("done open_loop") && answer.contains("added known_issue"), "{answer}");
    assert_eq!(client.end(), 0);
    let expected = [
        ("goal", "ship the parser"),
        ("decision", "keep recursive descent, for the column"),
        ("open_loop", "write docs"),
        ("known_issue", "slow on macOS"),
    ];
    assert_eq!(state(&world), expected.map(|(category, text)| (category.to_owned(), text.to_owned())));
    let notes = world.read(NOTES);
    assert!(notes.contains("agent=codex"), "{notes}");
    assert!(!world.run(&["memory", "list"]).expect(0).stdout.contains("came along"));
}

/// The schema asks for the next action first, and the warmup names it.
#[test]
fn the_first_of_a_list_counts_most() {
    let world = World::with_git();
    let mut client = Client::legacy(&world);
    let loops: Vec<String> = (1..=7).map(|number| format!("loop {number}")).collect();
    let answer = client.call("capture", json!({ "open_loops": loops, "decisions": ["ruled first", "ruled second"] }));
    assert!(answer.contains("dropped open_loop ") && answer.contains(": loop 7"), "{answer}");
    let page = client.call("warmup", json!({}));
    assert!(page.contains("## Next\n- loop 1\n"), "{page}");
    assert!(page.contains("## Open loops\n- loop 2\n- loop 3\n- loop 4\n- loop 5\n"), "{page}");
    assert!(page.find("ruled first") < page.find("ruled second"), "{page}");
    assert!(client.call("capture", json!({ "clear": ["constraint"] })).contains("nothing changed"));
    assert!(client.refused("show", json!({ "id": "x".repeat(5_000) })).len() < 200);
    assert_eq!(client.end(), 0);
}

#[test]
fn a_handover_is_recorded_and_carried_out_and_then_found() {
    let world = World::with_git();
    let mut client = Client::legacy(&world);
    let answer = client.call("handover", json!({ "summary": "the zebra parser works; next: error spans" }));
    let run = answer.strip_prefix("recorded as ").and_then(|rest| rest.split(';').next()).unwrap().to_owned();
    wait_until("the handover", || world.run(&["check"]).stderr_ignored("how far it is").code == 2);
    assert!(world.read(NOTES).contains("the zebra parser works"));
    assert!(client.refused("handover", json!({ "document": "x" })).contains("`summary` is missing"));
    let wrong = client.refused("handover", json!({ "summary": "x", "document": "no frontmatter" }));
    assert!(wrong.contains("nothing was recorded"), "{wrong}");
    let found = client.call("search", json!({ "query": "zebra", "limit": 3 }));
    let id = found.lines().find_map(|line| line.trim().strip_prefix("id: ")).unwrap_or_else(|| panic!("{found}"));
    let shown = client.call("show", json!({ "id": id }));
    assert!(shown.contains("zebra parser works"), "{id}: {shown}");
    assert!(client.call("show", json!({ "id": run })).contains("the zebra parser works"));
    assert!(client.call("show", json!({ "id": "latest" })).contains("zebra"));
    assert!(client.refused("show", json!({ "id": "nothing-of-this-name" })).contains("`search` finds ids"));
    assert!(client.call("search", json!({ "query": "elephants" })).contains("Nothing was found"));
    assert!(client.refused("search", json!({ "query": "x", "since": "soon" })).contains("is not a time"));
    assert!(client.call("warmup", json!({ "budget": 2_000 })).contains("zebra"));
    assert_eq!(client.end(), 0);
}

#[test]
fn copies_of_one_text_are_one_hit_as_on_the_command_line() {
    let world = World::with_git();
    // A note is also in the current state and in the handoff of its session.
    world.run(&["run", "--note", "Wired the telemetry exporter to the collector"]).expect(0);
    let people = world.run(&["search", "--json", "telemetry exporter"]).expect(0).json();
    let handoffs: Vec<&str> =
        people["hits"].as_array().unwrap().iter().filter_map(|hit| hit["handoff"].as_str()).collect();
    assert_eq!(handoffs.len(), 1, "{people}");
    let mut client = Client::legacy(&world);
    let found = client.call("search", json!({ "query": "telemetry exporter" }));
    let ids: Vec<&str> = found.lines().filter_map(|line| line.trim().strip_prefix("id: ")).collect();
    assert_eq!(ids, handoffs, "{found}");
    assert_eq!(client.end(), 0);
}

#[test]
fn a_long_text_is_shown_in_parts() {
    let world = World::with_git();
    let words: String = (0..4_000).map(|number| format!("word{number} ")).collect();
    world.run(&["run", "--note", &words]).expect(0);
    let run = world.run(&["memory", "list", "--layer", "1", "--json"]).expect(0).json()["notes"][0]["run"].clone();
    let mut client = Client::legacy(&world);
    let (mut read, mut from, mut parts) = (String::new(), 0, 0);
    loop {
        let part = client.call("show", json!({ "id": run, "from": from }));
        parts += 1;
        let Some((text, end)) = part.split_once("\n(not the end: call again with `from` ") else {
            read.push_str(&part);
            break;
        };
        read.push_str(text);
        from = end.split(')').next().unwrap().parse::<u64>().unwrap();
    }
    assert!(parts > 2 && read.contains(words.trim()), "{parts} parts, {} bytes", read.len());
    assert_eq!(client.end(), 0);
}

#[test]
fn a_client_is_answered_about_its_roots_and_about_no_other_project() {
    let (world, other) = (World::with_git(), World::with_git());
    other.run(&["memory", "add", "decision", "of the other project"]).expect(0);
    // An editor that starts its servers in the home directory.
    let mut command = world.command(&["mcp"]);
    command.current_dir(world.home());
    let root = format!("file://{}", world.root().display());
    let mut client = Client::initialized(command, &[&root]);
    client.call("capture", json!({ "decisions": ["of this project"] }));
    assert!(!client.call("search", json!({ "query": "project decision" })).contains("other project"));
    assert_eq!(client.end(), 0);
    assert_eq!(state(&world).len(), 1);
    // A client without roots is refused there, because the home directory is not a project.
    let mut command = world.command(&["mcp"]);
    command.current_dir(world.home());
    let mut client = Client::initialized(command, &[]);
    for (tool, arguments) in [
        ("capture", json!({ "goal": "x" })),
        ("handover", json!({ "summary": "x" })),
        ("search", json!({ "query": "x" })),
        ("show", json!({ "id": "state" })),
        ("warmup", json!({})),
    ] {
        assert!(client.refused(tool, arguments).contains("is not a project"), "{tool}");
    }
    assert_eq!(client.end(), 0);
    assert!(!world.home().join("memory").exists() && !world.home().join(".agent-handover").exists());
}

#[test]
fn a_config_without_consent_runs_no_command_and_is_followed_to_no_other_place() {
    let config = "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"effect\"\nkind = \"command\"\nshell = \"touch ../effect\"\n";
    let world = World::with_git();
    world.write("handover.toml", config);
    let mut client = Client::legacy(&world);
    let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    let answer = client.call("handover", json!({ "summary": format!("used {secret} for it") }));
    assert!(answer.contains("what looks like a secret was taken out"), "{answer}");
    let answer = client.call("capture", json!({ "decisions": [format!("the token is {secret}")] }));
    assert!(answer.contains("what looks like a secret was taken out") && !answer.contains(&secret), "{answer}");
    assert_eq!(client.end(), 0);
    wait_until("the note", || world.exists(NOTES) && world.read(NOTES).contains("used "));
    wait_until("the child", || world.run(&["check"]).stderr_ignored("how far it is").code != 4);
    assert!(!world.root().join("../effect").exists());
    assert!(!world.tree().values().any(|text| text.contains(&secret)));

    world.write("handover.toml", "[handover]\nmemory_dir = \"elsewhere\"\n");
    let mut client = Client::legacy(&world);
    for (tool, arguments) in
        [("capture", json!({ "goal": "x" })), ("search", json!({ "query": "x" })), ("show", json!({ "id": "state" }))]
    {
        let refused = client.refused(tool, arguments);
        assert!(refused.contains("until `agent-handover allow`"), "{tool}: {refused}");
    }
    assert_eq!(client.end(), 0);
    assert!(!world.exists("elsewhere"));
}

#[test]
fn while_paused_what_is_said_waits_and_is_not_an_error() {
    let world = World::with_git();
    world.write("PAUSE", "");
    let mut client = Client::legacy(&world);
    let answer = client.call("capture", json!({ "goal": "said while paused" }));
    assert!(answer.contains("is recorded and waits"), "{answer}");
    let answer = client.call("handover", json!({ "summary": "handed over while paused" }));
    assert!(answer.contains("it waits"), "{answer}");
    assert!(!world.exists("memory"));
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(NOTES).contains("handed over while paused"));
    assert_eq!(state(&world)[0].1, "said while paused");
    assert_eq!(client.end(), 0);
}

#[test]
fn the_server_survives_input_that_is_not_a_request() {
    let world = World::with_git();
    let mut client = Client::legacy(&world);
    for line in [
        "not JSON",
        "{",
        "[]",
        "null",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"id\":77}",
        "{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":79,\"method\":\"tools/call\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":80,\"method\":\"tools/call\",\"params\":{\"name\":7}}",
        "{\"jsonrpc\":\"2.0\",\"id\":81,\"method\":\"no/such/method\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":12345}}",
        "",
    ] {
        client.write(line.as_bytes());
    }
    client.write(b"\xff\xfe\x00");
    client.write(&[b'x'; 17 << 20]);
    // A request that is large, but not too large: an item has a limit, and the server says so.
    let refused = client.refused("capture", json!({ "goal": "x".repeat(1 << 20) }));
    assert!(refused.contains("is larger than 64 KiB"), "{refused}");
    client.call("capture", json!({ "goal": "still here" }));
    assert_eq!(client.end(), 0);
    assert_eq!(state(&world)[0].1, "still here");
}

/// Sends a line unchanged, and returns the code of the error that answers the id 7.
fn code_of(client: &mut Client, line: &str) -> i64 {
    client.write(line.as_bytes());
    let answer = client.answer(7);
    assert!(answer["error"]["message"].as_str().is_some_and(|message| message.len() < 200), "{answer}");
    answer["error"]["code"].as_i64().unwrap()
}

/// A client that waits for an answer gets one, whatever is wrong with its request.
#[test]
fn every_request_with_an_id_is_answered() {
    let world = World::with_git();
    let (long, deep) = ("x".repeat(17 << 20), "[".repeat(100_000) + &"]".repeat(100_000));
    for mut client in [Client::legacy(&world), Client::modern(&world)] {
        client.ask("tools/list", json!({}));
        for (code, line) in [
            // Lines that are too long, with the id at the beginning and at the end.
            (-32600, format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{long}"}}}}"#)),
            (-32600, format!(r#"{{"method":"tools/call","params":{{"name":"{long}"}},"jsonrpc":"2.0","id":7}}"#)),
            (-32700, format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{deep}}}"#)),
            (-32700, format!(r#"{{"method":"tools/call","params":{{"arguments":{deep}}},"jsonrpc":"2.0","id":7}}"#)),
            (-32700, r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"#.to_owned()),
            (-32700, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\u{1}\"}".to_owned()),
            (-32600, r#"{"jsonrpc":"2.0","id":7,"method":7}"#.to_owned()),
            (-32600, r#"{"jsonrpc":"1.0","id":7,"method":"tools/list"}"#.to_owned()),
            (-32602, r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}"#.to_owned()),
            (-32600, r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}"#.to_owned()),
            (-32602, r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#.to_owned()),
            (-32602, r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":[]}}"#.to_owned()),
            (-32602, r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{}}"#.to_owned()),
        ] {
            assert_eq!(code_of(&mut client, &line), code, "{:.80}", line);
        }
        assert_eq!(client.ask("no/such/method", json!({}))["error"]["code"], -32601);
        assert_eq!(client.ask("tools/call", json!({ "name": 7 }))["error"]["code"], -32602);
        client.call("capture", json!({ "goal": "still here" }));
        assert_eq!(client.end(), 0);
    }
}

/// Two programs that answer each other's answers would never stop.
#[test]
fn answers_notifications_and_noise_are_not_answered() {
    let world = World::with_git();
    let mut client = Client::legacy(&world);
    for line in [
        "hello",
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":7}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/of/nobody\"}",
    ] {
        client.write(line.as_bytes());
    }
    let id = client.request("tools/list", json!({}));
    assert_eq!(client.next().unwrap()["id"], id, "the first thing that is said");
    assert_eq!(client.end(), 0);
}

/// A message before the conversation is open does not end the server.
#[test]
fn a_conversation_that_opens_oddly_goes_on() {
    let world = World::with_git();
    for is_modern in [false, true] {
        let mut client = Client::start(world.command(&["mcp"]));
        for line in [
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
            "not JSON",
        ] {
            client.write(line.as_bytes());
        }
        assert_eq!(client.ask("initialize", json!({ "protocolVersion": 7 }))["error"]["code"], -32602);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client.is_modern = is_modern;
        if !is_modern {
            let client_info = json!({ "name": "x", "version": "1" });
            let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client_info });
            assert!(client.ask("initialize", params)["result"].is_object());
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        client.call("capture", json!({ "goal": "heard after all" }));
        assert_eq!(client.end(), 0);
    }
}

/// The last line of a client that closes its end needs no line break.
#[test]
fn a_last_line_without_a_line_break_is_heard() {
    let world = World::with_git();
    let mut client = Client::legacy(&world);
    let call = json!({ "name": "capture", "arguments": { "goal": "said last" } });
    let message = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call }).to_string();
    let mut input = client.input.take().unwrap();
    input.write_all(message.as_bytes()).unwrap();
    drop(input);
    assert_eq!(client.answer(9)["result"]["isError"], false);
    assert_eq!(client.end(), 0);
    assert_eq!(state(&world)[0].1, "said last");
}

#[test]
fn simultaneous_requests_are_all_answered_and_a_cancelled_one_delays_none() {
    let world = World::with_git();
    let mut client = Client::legacy(&world);
    let mut open: Vec<u64> = (0..20)
        .map(|number| client.call_start("capture", json!({ "decisions": [format!("number {number}")] })))
        .collect();
    let cancelled = client.call_start("search", json!({ "query": "number" }));
    client
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": cancelled } }));
    open.push(client.request("tools/list", json!({})));
    while !open.is_empty() {
        let message = client.next().unwrap();
        open.retain(|id| message["id"] != *id);
    }
    assert_eq!(client.end(), 0);
    let notes = world.read(NOTES);
    for number in 0..20 {
        assert!(notes.contains(&format!("number {number}\n")), "{number}: {notes}");
    }
}

/// Two goals are sent without waiting for an answer. The later one stays, also if the first call has to ask for the roots.
#[test]
fn simultaneous_writes_are_carried_out_in_their_order() {
    for has_roots in [false, true] {
        let world = World::with_git();
        let root = format!("file://{}", world.root().display());
        let roots = if has_roots { vec![root.as_str()] } else { Vec::new() };
        let mut client = Client::initialized(world.command(&["mcp"]), &roots);
        let calls: Vec<u64> =
            (0..10).map(|number| client.call_start("capture", json!({ "goal": format!("goal {number}") }))).collect();
        let mut answered = Vec::new();
        while answered.len() < calls.len() {
            let message = client.next().unwrap();
            if message["method"] == "roots/list" {
                let roots = json!({ "roots": [{ "uri": root }] });
                client.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": roots }));
            } else {
                answered.push(message["id"].as_u64().unwrap());
            }
        }
        assert_eq!(answered, calls);
        assert_eq!(client.end(), 0);
        assert_eq!(state(&world), [("goal".to_owned(), "goal 9".to_owned())]);
    }
}

#[test]
fn a_capture_of_more_items_than_anybody_reads_is_refused() {
    let world = World::with_git();
    let mut client = Client::legacy(&world);
    let many = |count: usize| (0..count).map(|number| format!("item {number}")).collect::<Vec<_>>();
    let refused = client.refused("capture", json!({ "decisions": many(600), "open_loops": many(600) }));
    assert!(refused.contains("1200 items, and at most 1000 are possible; nothing was kept"), "{refused}");
    let large: Vec<String> = (0..300).map(|number| format!("{number} {}", "x".repeat(15_000))).collect();
    let refused = client.refused("capture", json!({ "decisions": large }));
    assert!(refused.contains("larger than 4 MiB; nothing was kept"), "{refused}");
    assert_eq!(state(&world), []);
    client.call("capture", json!({ "decisions": many(1_000) }));
    assert_eq!(client.end(), 0);
    let output = world.run(&["memory", "capture", "--data", &json!({ "decisions": many(1_001) }).to_string()]);
    assert!(output.stderr.contains("1001 items, and at most 1000 are possible"), "{}", output.stderr);
    assert_eq!(output.code, 65);
}

/// What a client said before it closed the pipe is recorded, also if it never reads the answers.
#[test]
fn a_client_that_leaves_at_once_is_heard() {
    let world = World::with_git();
    let mut client = Client::legacy(&world);
    for number in 0..5 {
        client.call_start("capture", json!({ "decisions": [format!("number {number}")] }));
    }
    assert_eq!(client.end(), 0);
    assert_eq!(state(&world).len(), 5);
    // A client that never says a word, and one that begins with something else.
    let client = Client::start(world.command(&["mcp"]));
    assert_eq!(client.end(), 0);
    let mut client = Client::start(world.command(&["mcp"]));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(client.end(), 0);
}

/// After a kill at any place of a capture, the next command finds all of it or nothing.
#[test]
fn a_capture_that_is_killed_is_whole_or_absent() {
    let expected: Vec<(String, String)> = {
        let world = world_with_items();
        let mut client = Client::legacy(&world);
        client.call("capture", CAPTURE());
        assert_eq!(client.end(), 0);
        state(&world)
    };
    let mut reached = 0;
    for point in POINTS {
        for nth in (1..4).step_by(stride(2)) {
            let world = world_with_items();
            let before = state(&world);
            let mut command = world.command(&["mcp"]);
            command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{nth}=kill"));
            let mut client = Client::initialized(command, &[]);
            client.call_start("capture", CAPTURE());
            if client.end() != KILLED {
                break;
            }
            reached += 1;
            world.run(&["run", "--resume"]).stderr_ignored("whether there was something").expect(0);
            let after = state(&world);
            assert!(after == expected || after == before, "{point}:{nth}\n{after:#?}");
            assert_eq!(world.strays(), [""; 0], "{point}:{nth}");
        }
    }
    // A sample: `SWEEPS=all` tries every pass. No git process is among them.
    assert!(reached > 4, "{reached}");
}

#[allow(non_snake_case, reason = "a constant that needs to be built")]
fn CAPTURE() -> Value {
    json!({ "goal": "ship it", "open_loops": ["another", "and one"], "decisions": ["use SQLite"] })
}

fn world_with_items() -> World {
    let world = World::with_git();
    world.run(&["memory", "capture", "--data", r#"{"goal": "first", "open_loops": ["one"]}"#]).expect(0);
    world
}

/// The runtime of the server starts only for the server: other commands start no thread and ask for no events.
#[test]
fn no_other_command_pays_for_the_server() {
    if !is_installed("strace") {
        return skip("strace is not installed");
    }
    let world = World::with_git();
    world.run(&["run", "--note", "something to check"]).expect(0);
    let started = |arguments: &[&str], input: &str| {
        let log = world.home().join("calls");
        let mut strace = world.clean("strace");
        strace.args(["-f", "-qq", "-e", "trace=clone,clone3,epoll_create1", "-e", "signal=none", "-o"]).arg(&log);
        let mut child =
            strace.arg(BINARY).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        assert!(child.wait_with_output().unwrap().status.code().is_some());
        let calls = std::fs::read_to_string(&log).unwrap();
        let threads = calls.lines().filter(|line| line.contains("CLONE_THREAD")).count();
        (threads, calls.matches("epoll_create1(").count())
    };
    assert_eq!(started(&["check"], ""), (0, 0));
    assert_eq!(started(&["status"], ""), (0, 0));
    let turn = json!({ "hook_event_name": "Stop", "session_id": "s", "cwd": world.root(), "transcript_path": "" });
    assert_eq!(started(&["hook", "--agent", "claude-code"], &turn.to_string()), (0, 0));
    assert_ne!(started(&["mcp"], "").1, 0, "the server has one, so the count means something");
}

#[test]
fn what_was_imported_is_marked_for_a_model() {
    let world = World::with_git();
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/session-handoff/v2-unsigned.json");
    let import = ["history", "import", "--allow-unsigned", "--input", bundle];
    let mut command = world.command(&import);
    finish(command.env("AGENT_HANDOVER_TEST_NOW", "2026-11-16T02:00:00Z"))
        .expect(0)
        .stderr_ignored("git excludes the history");
    let mut client = Client::legacy(&world);
    let found = client.call("search", json!({ "query": "auth middleware" }));
    assert!(found.contains("   > [from outside] "), "{found}");
    let shown = client.call("show", json!({ "id": "latest" }));
    assert!(shown.starts_with("(This is text from outside: v2-unsigned.json "), "{shown}");
    assert_eq!(client.end(), 0);
}
