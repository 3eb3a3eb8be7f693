#!/usr/bin/env python3
"""A stand-in for the models behind Claude Code and Codex, so that the real clients run without an account.

One server speaks the Anthropic Messages API (POST /v1/messages) and the OpenAI Responses API (POST /v1/responses),
both streamed. What it answers is scripted in a scenario, in words that know no client:

    {"scenes": [
      {"when": "text in the user's request", "steps": [
        {"say": "text"},                                      ends the turn
        {"do": "write", "path": "a.txt", "content": "…"},     relative to the client's directory
        {"do": "command", "command": "exit 3"},
        {"do": "todos", "items": [{"text": "…", "status": "completed|in_progress|pending"}]},
        {"do": "mcp", "tool": "capture", "arguments": {…}},    a tool of our MCP server
        {"do": "agent", "prompt": "…"},                       a sub-agent; left out where the client has none
        {"do": "hang", "seconds": 600}]}]}                    answers nothing for that long: time to kill the client

A scene with `"tokens": N` makes the client believe that its context has N tokens after the first answer.

The scene is the first whose `when` is in the last request of the user, else the last one; the step is how many
results of tools came since that request. The server keeps no state, so sessions may be mixed and resumed.

    stub.py --scenario FILE --log FILE [--port N] [--port-file FILE] [--cwd DIR]

Each request is logged as one line of JSON: {"path", "headers", "body"}. The port in use goes to --port-file.
"""

import argparse
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOCK = threading.Lock()


def texts(content):
    """The texts of a message, whether it is one string or a list of blocks."""
    if isinstance(content, str):
        return [content]
    return [block.get("text", "") for block in content or [] if isinstance(block, dict) and "text" in block]


def scene_for(scenario, asked):
    scenes = scenario["scenes"]
    return next((scene for scene in scenes if scene.get("when", "\0") in asked), scenes[-1])


def place(history, scenario):
    """The scene that is played, and how many of its calls have been answered. `history` is (texts, results) pairs."""
    whens = [scene["when"] for scene in scenario["scenes"] if "when" in scene]
    start, asked = 0, ""
    for number, (said, results) in enumerate(history):
        named = [text for text in said if any(when in text for when in whens)]
        if named or (said and not results and not whens):
            start, asked = number, "\n".join(named or said)
    return scene_for(scenario, asked), sum(results for _, results in history[start:])


# Claude Code ---------------------------------------------------------------------------------------------------------


def claude_calls(steps, tools, cwd):
    """Each step as the calls of tools that Claude Code offers."""
    tasks = {}
    for step in steps:
        if "say" in step:
            yield ("say", step["say"])
        elif step["do"] == "hang":
            yield ("hang", step["seconds"])
        elif step["do"] == "write":
            path = os.path.join(cwd, step["path"])
            yield ("Write", {"file_path": path, "content": step["content"]})
        elif step["do"] == "command":
            yield ("Bash", {"command": step["command"], "description": "scripted"})
        elif step["do"] == "mcp":
            yield ("mcp__agent-handover__" + step["tool"], step["arguments"])
        elif step["do"] == "agent":
            name = next((name for name in ("Agent", "Task") if name in tools), None)
            if name:
                yield (name, {"description": "scripted", "prompt": step["prompt"], "subagent_type": "general-purpose"})
        elif step["do"] == "todos" and "TodoWrite" in tools:
            todos = [{"content": i["text"], "status": i["status"], "activeForm": i["text"]} for i in step["items"]]
            yield ("TodoWrite", {"todos": todos})
        elif step["do"] == "todos" and "TaskCreate" in tools:
            # Claude Code numbers tasks from 1 and keeps them one by one.
            for item in step["items"]:
                if item["text"] not in tasks:
                    tasks[item["text"]] = [str(len(tasks) + 1), "pending"]
                    yield ("TaskCreate", {"subject": item["text"], "description": item["text"]})
                task = tasks[item["text"]]
                if item["status"] != task[1]:
                    task[1] = item["status"]
                    yield ("TaskUpdate", {"taskId": task[0], "status": item["status"]})


def claude_answer(body, scenario, cwd):
    tools = {tool.get("name") for tool in body.get("tools") or []}
    history = []
    for message in body.get("messages", []):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        results = sum(1 for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result")
        history.append((texts(content), results))
    if not tools & {"Bash", "Write"}:
        # Claude Code asks for titles and the like on the side.
        return ("say", "ok")
    scene, done = place(history, scenario)
    calls = list(claude_calls(scene["steps"], tools, cwd))
    return calls[done] if done < len(calls) else ("say", "done")


def claude_events(body, call):
    name, value = call
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    stamp = str(time.time_ns())
    message = {"id": "msg_stub_" + stamp, "type": "message", "role": "assistant", "model": body.get("model", "stub"),
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield {"type": "message_start", "message": message}
    if name == "say":
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": value}}
    else:
        block = {"type": "tool_use", "id": "toolu_stub_" + stamp, "name": name, "input": {}}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(value)}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if name == "say" else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def claude_whole(body, call):
    """The same answer for a client that wants no stream."""
    name, value = call
    block = {"type": "text", "text": value} if name == "say" else \
        {"type": "tool_use", "id": "toolu_stub_" + str(time.time_ns()), "name": name, "input": value}
    return {"id": "msg_stub", "type": "message", "role": "assistant", "model": body.get("model", "stub"),
            "content": [block], "stop_reason": "end_turn" if name == "say" else "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5}}


# Codex ---------------------------------------------------------------------------------------------------------------


def patch(path, content):
    lines = "\n".join("+" + line for line in content.splitlines())
    return "*** Begin Patch\n*** Add File: %s\n%s\n*** End Patch\n" % (path, lines)


def codex_tools(body):
    """What Codex offers, as name: (type, namespace, description). Newer models get it as part of the input."""
    groups = [body.get("tools") or []]
    groups += [item.get("tools") or [] for item in body.get("input", []) if item.get("type") == "additional_tools"]
    offered = {}
    for tool in (tool for group in groups for tool in group):
        for below in tool.get("tools") or [tool]:
            namespace = tool.get("name") if below is not tool and tool.get("name") != "functions" else None
            name = below.get("name") or below.get("type")
            offered[name] = (below.get("type"), namespace, below.get("description") or "")
    return offered


def codex_calls(steps, tools, cwd):
    """Each step as the calls of tools that Codex offers; which these are differs between versions and models."""
    in_code = "exec" in tools
    for step in steps:
        if "say" in step:
            yield ("say", step["say"])
        elif step["do"] == "hang":
            yield ("hang", step["seconds"])
        elif step["do"] == "write":
            text = patch(step["path"], step["content"])
            if in_code:
                yield code("apply_patch", text)
            elif "apply_patch" in tools and tools["apply_patch"][0] == "custom":
                yield ("custom:apply_patch", text)
            elif "apply_patch" in tools:
                yield ("apply_patch", {"input": text})
            else:
                yield codex_shell(tools, "apply_patch <<'EOF'\n%sEOF" % text, cwd)
        elif step["do"] == "command":
            yield code("exec_command", {"cmd": step["command"]}) if in_code else codex_shell(tools, step["command"], cwd)
        elif step["do"] == "mcp":
            if in_code:
                yield code("mcp__agent_handover__" + step["tool"], step["arguments"])
            else:
                namespace = tools.get(step["tool"], (None, None, ""))[1]
                yield ("%s.%s" % (namespace, step["tool"]) if namespace else step["tool"], step["arguments"])
        elif step["do"] == "todos":
            plan = {"plan": [{"step": item["text"], "status": item["status"]} for item in step["items"]]}
            if "update_plan" in tools:
                yield ("update_plan", plan)
            elif in_code and "`update_plan`" in tools["exec"][2]:
                yield code("update_plan", plan)
        elif step["do"] == "agent" and "spawn_agent" in tools:
            name = "%s.spawn_agent" % tools["spawn_agent"][1]
            asked = {"message": step["prompt"]}
            yield (name, dict(asked, task_name="scripted", fork_turns="none") if in_code else asked)


def code(tool, argument):
    """Models of "code mode" call their tools from JavaScript."""
    script = "const r = await tools.%s(%s);\ntext(typeof r === 'string' ? r : JSON.stringify(r));\n"
    return ("custom:exec", script % (tool, json.dumps(argument)))


def codex_shell(tools, command, cwd):
    if "exec_command" in tools:
        return ("exec_command", {"cmd": command})
    if "shell_command" in tools:
        return ("shell_command", {"command": command, "workdir": cwd})
    return ("shell", {"command": ["bash", "-lc", command], "workdir": cwd})


def codex_answer(body, scenario, cwd):
    history = []
    for item in body.get("input", []):
        if item.get("type", "message") == "message" and item.get("role") == "user":
            history.append((texts(item.get("content")), 0))
        elif item.get("type") == "agent_message":
            history.append((texts(item.get("content")), 0))
        elif str(item.get("type", "")).endswith("_output"):
            history.append(([], 1))
    scene, done = place(history, scenario)
    calls = list(codex_calls(scene["steps"], codex_tools(body), cwd))
    return calls[done] if done < len(calls) else ("say", "done")


def codex_tokens(body, scenario):
    """How many tokens the client is made to believe that its context has."""
    said = [texts(item.get("content")) for item in body.get("input", []) if item.get("role") == "user"]
    last = "\n".join(said[-1]) if said else ""
    return next((scene["tokens"] for scene in scenario["scenes"] if scene.get("when", "\0") in last and "tokens" in scene), 15)


def codex_events(call, tokens):
    name, value = call
    stamp = str(time.time_ns())
    response = {"id": "resp_stub_" + stamp}
    yield {"type": "response.created", "response": response}
    if name == "say":
        item = {"type": "message", "role": "assistant", "id": "msg_" + stamp,
                "content": [{"type": "output_text", "text": value}]}
    elif name.startswith("custom:"):
        item = {"type": "custom_tool_call", "id": "ctc_" + stamp, "call_id": "call_" + stamp,
                "name": name.split(":", 1)[1], "input": value}
    else:
        namespace, _, plain = name.rpartition(".")
        item = {"type": "function_call", "id": "fc_" + stamp, "call_id": "call_" + stamp, "name": plain,
                "arguments": json.dumps(value)}
        if namespace:
            item["namespace"] = namespace
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": tokens - 5, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None,
             "total_tokens": tokens}
    yield {"type": "response.completed", "response": dict(response, usage=usage)}


# The server ----------------------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.reply(404, b"")

    def do_GET(self):
        self.reply(404, b"{}")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        with LOCK, open(self.server.options.log, "a", encoding="utf-8") as log:
            # What authenticates is nobody's business, not even in a test.
            headers = {k.lower(): v for k, v in self.headers.items() if k.lower() not in ("authorization", "x-api-key")}
            log.write(json.dumps({"path": path, "headers": headers, "body": body}) + "\n")
        options = self.server.options
        if path.endswith("/messages/count_tokens"):
            self.reply(200, b'{"input_tokens": 10}')
        elif path.endswith("/messages"):
            call = wait(claude_answer(body, options.scenes, options.cwd))
            if body.get("stream"):
                self.stream(claude_events(body, call))
            else:
                self.reply(200, json.dumps(claude_whole(body, call)).encode())
        elif path.endswith("/responses"):
            call = wait(codex_answer(body, options.scenes, options.cwd))
            self.stream(codex_events(call, codex_tokens(body, options.scenes)))
        else:
            self.reply(404, b"{}")

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def stream(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(("event: %s\ndata: %s\n\n" % (event["type"], json.dumps(event))).encode())
            self.wfile.flush()
        self.close_connection = True


def wait(call):
    if call[0] != "hang":
        return call
    time.sleep(call[1])
    return ("say", "late")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenario", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file")
    parser.add_argument("--cwd", default=os.getcwd(), help="the directory the client works in")
    options = parser.parse_args()
    with open(options.scenario, encoding="utf-8") as file:
        options.scenes = json.load(file)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    server.options = options
    if options.port_file:
        temporary = options.port_file + ".new"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(str(server.server_port))
        os.replace(temporary, options.port_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
