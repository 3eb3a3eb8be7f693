//! `run --json`: one event a line, the last one always `finished`.

use snapbox::{assert_data_eq, str};

use super::support::*;

fn events(output: &Output) -> Vec<serde_json::Value> {
    let lines = output.stdout.lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"))).collect()
}

fn shown(output: &Output) -> String {
    let mut text = String::new();
    for mut event in events(output) {
        assert_eq!(event["schema"], "agent-handover/run/1");
        event.as_object_mut().unwrap().remove("schema");
        if event["duration_ms"].is_number() {
            event["duration_ms"] = 0.into();
        }
        text.push_str(&event.to_string());
        text.push('\n');
    }
    text
}

#[test]
fn each_event_is_a_line_and_the_last_says_how_it_ended() {
    let world = World::with_config(
        "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\ncontent = \"{{ base }}\"\n\
         [[step]]\nname = \"gate\"\nkind = \"command\"\nrun = [\"test\", \"-e\", \"open\"]\n",
    );
    assert_data_eq!(
        shown(&world.run(&["run", "--json", "--note", "n"]).expect(1)),
        str![[r#"
{"event":"recorded","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","warnings":[]}
{"event":"run-started","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","resumed":false}
{"event":"step-started","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","step":"note","number":1,"of":3,"attempt":1}
{"event":"step-ended","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","step":"note","number":1,"of":3,"state":"done","duration_ms":0,"detail":"memory/layer1/2026-11/general-2026-11-15.md","error":null}
{"event":"step-ended","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","step":"state","number":2,"of":3,"state":"skipped","duration_ms":0,"detail":"neither a state nor a note was given","error":null}
{"event":"step-started","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","step":"gate","number":3,"of":3,"attempt":1}
{"event":"step-ended","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","step":"gate","number":3,"of":3,"state":"failed","duration_ms":0,"detail":null,"error":"exit status 1"}
{"event":"run-ended","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","completed":false}
{"error":{"category":"failed","exit_code":1,"message":"step 'gate' failed: exit status 1","causes":[],"hints":["its output is in `.agent-handover/log/01M7FAKZG8ZCC8V74RZHTRNYF6/gate-1.log`","progress is saved: `agent-handover run --resume` tries again, `--abandon ZHTRNYF6` abandons it"],"listing":null},"event":"finished","exit_code":1}

"#]]
    );
    world.write("open", "");
    assert_data_eq!(
        shown(&world.run(&["run", "--json", "--resume"]).expect(0)),
        str![[r#"
{"event":"run-started","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","resumed":true}
{"event":"step-started","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","step":"gate","number":3,"of":3,"attempt":2}
{"event":"step-ended","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","step":"gate","number":3,"of":3,"state":"done","duration_ms":0,"detail":"test -e open","error":null}
{"event":"run-ended","run":"01M7FAKZG8ZCC8V74RZHTRNYF6","completed":true}
{"error":null,"event":"finished","exit_code":0}

"#]]
    );
}

#[test]
fn failures_before_and_around_a_run_are_the_last_line_too() {
    let world = World::with_config("tagg = 1\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    let last = |output: &Output| events(output).pop().unwrap();
    let output = world.run(&["run", "--json"]).expect(65);
    assert_eq!(last(&output)["event"], "finished");
    assert_eq!(last(&output)["error"]["listing"]["problems"][0]["line"], 1);
    let world = World::new();
    world.write("PAUSE", "");
    let output = world.run(&["run", "--json", "--note", "n"]).expect(3);
    assert_eq!(events(&output)[0]["event"], "recorded");
    assert_eq!((&last(&output)["exit_code"], &last(&output)["error"]["category"]), (&3.into(), &"paused".into()));
    world.run(&["unpause"]).expect(0);
    let output = world.run(&["run", "--json", "--detach", "--note", "n"]).expect(0);
    let names: Vec<String> = events(&output).iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["recorded", "detached", "finished"]);
    wait_until("it to complete", || world.run(&["check"]).code == 2);
}
