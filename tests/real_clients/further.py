#!/usr/bin/env python3
"""Plays a session of OpenCode, Gemini CLI, Copilot and Cline against a stub, and checks what is read from it.

    npm install --prefix /tmp/clients opencode-ai @google/gemini-cli @github/copilot cline
    (cd /tmp/clients/node_modules/opencode-ai && node postinstall.mjs)
    cargo build
    python3 tests/real_clients/further.py --clients /tmp/clients/node_modules/.bin --binary target/debug/agent-handover [NAME]...

Without names, every client that is there is played; one that is not there is skipped, and the script says so. For each
client it installs our hooks into a new home, plays one session in which the model runs a command that fails and writes
`greeting.txt`, and starts the next session of another agent, which hands over what no hook has ended. A client passes if
the context reached the model, if there is one handoff of the session (see MOST_HANDOFFS), if it names the request, the file that
the model edited and the command that failed, and the next session is given the request. No account is needed. Where
`unshare -n` is allowed, the clients see a network with nothing but the stub in it.

Seen to pass with OpenCode 1.18.33, Gemini CLI 0.61.0, Copilot 1.0.102 and Cline 3.0.65.
"""

import argparse
import html
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

MARKER = "<!-- agent-handover warmup -->"
NOTE = "look at the greeting"
# What the first session is given. Cline ignores the answers of hooks at the start, so a rule names the command instead.
CONTEXT = {"cline": "agent-handover warmup"}
# The logs that are made to look ten minutes old, because the next session hands them over only then. Cline has no hook for
# the end of a session.
OLD_LOGS = {"cline": ".cline/data/sessions"}
# Copilot writes the log of a short session only after the hook for its end, so the rest of it becomes a second handoff.
MOST_HANDOFFS = {"copilot": 2}
PROMPT = "Please make the greeting test pass"
DONE = "The greeting test passes now."
MODEL = "stub-model"


def project(path):
    """A repository with a test that fails until greeting.txt is there."""
    os.makedirs(path)
    with open(os.path.join(path, "test.sh"), "w", encoding="utf-8") as file:
        file.write("test -f greeting.txt || { echo '1 test failed'; exit 1; }\necho '1 test passed'\n")
    git = ["git", "-C", path, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Begin"]):
        subprocess.run(git + arguments, check=True)


def pick(tools, words):
    """The tool of one of these names, or else with one of them in its name, with its parameters."""
    for is_meant in (lambda word, name: word == name, lambda word, name: word in name and "todo" not in name):
        for word in words:
            for name, schema in tools.items():
                if is_meant(word, name.lower()):
                    return name, list((schema or {}).get("properties", {}))
    return None, []


def arguments(keys, values):
    """An argument for each parameter that one of the patterns describes."""
    found = {}
    for key in keys:
        for pattern, value in values:
            if re.search(pattern, key, re.IGNORECASE):
                found[key] = value
                break
    return found


def next_call(tools, calls, cwd):
    """What the model does after this many calls of tools: a failing command, a file, then an answer."""
    command = [("command|cmd|script", "sh test.sh"), ("desc|summary", "Run the tests"), ("timeout", 30000), ("mode", "sync"),
               ("sessionid|shellid", "s1"), ("initial", 10), ("requires_approval|background|detach", False)]
    file = os.path.join(cwd, "greeting.txt")
    write = [("path|file$", file), ("content|text", "hello\n"), ("desc|summary|instruction", "Write the greeting")]
    steps = [(["shell", "bash", "command", "terminal"], command), (["write", "create", "new_file", "editor"], write)]
    if calls < len(steps):
        words, values = steps[calls]
        name, keys = pick(tools, words)
        if name:
            given = arguments(keys, values)
            if "commands" in keys:
                given["commands"] = ["sh test.sh"]
            return name, given
    return None, None


class Stub(http.server.BaseHTTPRequestHandler):
    """The chat completions of OpenAI and the content generation of Gemini, both streamed."""

    protocol_version = "HTTP/1.1"
    requests = []
    cwd = ""

    def log_message(self, *_):
        pass

    def do_GET(self):
        models = {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
        self.answer("application/json", json.dumps(models if "models" in self.path else {}))

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except ValueError:
            body = {}
        if isinstance(body, dict) and ("messages" in body or "contents" in body):
            Stub.requests.append(text)
        if "contents" in body:
            self.gemini(body)
        elif "messages" in body:
            self.openai(body)
        else:
            self.answer("application/json", "{}")

    def openai(self, body):
        tools = {tool["function"]["name"]: tool["function"].get("parameters") for tool in body.get("tools") or []}
        calls = sum(1 for message in body["messages"] if message.get("role") == "tool")
        name, given = next_call(tools, calls, self.cwd) if tools else (None, None)
        base = {"id": "c1", "object": "chat.completion.chunk", "created": int(time.time()), "model": body.get("model", MODEL)}
        if name:
            call = {"index": 0, "id": "call_%d" % calls, "type": "function",
                    "function": {"name": name, "arguments": json.dumps(given)}}
            delta, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        else:
            delta, reason = {"role": "assistant", "content": DONE}, "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        if not body.get("stream"):
            whole = dict(base, object="chat.completion", usage=usage,
                         choices=[{"index": 0, "message": delta, "finish_reason": reason}])
            return self.answer("application/json", json.dumps(whole))
        parts = [dict(base, choices=[{"index": 0, "delta": delta, "finish_reason": None}]),
                 dict(base, choices=[{"index": 0, "delta": {}, "finish_reason": reason}]),
                 dict(base, choices=[], usage=usage)]
        lines = ["data: %s\n\n" % json.dumps(part) for part in parts] + ["data: [DONE]\n\n"]
        return self.answer("text/event-stream", "".join(lines))

    def gemini(self, body):
        functions = [function for tool in body.get("tools") or [] for function in tool.get("functionDeclarations", [])]
        tools = {one["name"]: one.get("parametersJsonSchema") or one.get("parameters") for one in functions}
        parts = [part for content in body["contents"] for part in content.get("parts", [])]
        calls = sum(1 for part in parts if "functionResponse" in part)
        name, given = next_call(tools, calls, self.cwd) if tools else (None, None)
        part = {"functionCall": {"name": name, "args": given}} if name else {"text": DONE}
        if "json" in str(body.get("generationConfig", {}).get("responseMimeType", "")):
            part = {"text": "{}"}
        whole = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                 "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}}
        if "stream" in self.path:
            return self.answer("text/event-stream", "data: %s\r\n\r\n" % json.dumps(whole))
        if "countTokens" in self.path:
            return self.answer("application/json", '{"totalTokens": 10}')
        return self.answer("application/json", json.dumps(whole))

    def answer(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def opencode(home, url):
    path = os.path.join(home, ".config/opencode/opencode.json")
    old = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "stub", "options": {"baseURL": url + "/v1", "apiKey": "none"},
                "models": {MODEL: {"name": MODEL, "tool_call": True, "limit": {"context": 100000, "output": 8000}}}}
    old.update(provider={"stub": provider}, model="stub/" + MODEL, small_model="stub/" + MODEL, autoupdate=False,
               permission={"edit": "allow", "bash": "allow"})
    write(path, old)
    return ["run", "--model", "stub/" + MODEL, PROMPT], {"OPENCODE_DISABLE_MODELS_FETCH": "1"}


def gemini(home, url):
    path = os.path.join(home, ".gemini/settings.json")
    old = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
    old.update(security={"auth": {"selectedType": "gemini-api-key"}}, telemetry={"enabled": False},
               privacy={"usageStatisticsEnabled": False}, general={"disableAutoUpdate": True})
    write(path, old)
    return (["--yolo", "--skip-trust", "-m", "gemini-2.5-pro", "-p", PROMPT],
            {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"})


def copilot(_home, url):
    return (["-p", PROMPT, "--allow-all-tools", "--model", MODEL],
            {"COPILOT_PROVIDER_BASE_URL": url + "/v1", "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_PROVIDER_API_KEY": "none",
             "COPILOT_MODEL": MODEL, "COPILOT_OFFLINE": "true"})


def cline(home, url):
    auth = ["auth", "--provider", "openai", "--apikey", "none", "--modelid", MODEL, "--baseurl", url + "/v1"]
    return ([["--auto-approve", "true", "--timeout", "120", "--json", PROMPT], auth],
            {"CLINE_DIR": os.path.join(home, ".cline"), "CLINE_NO_AUTO_UPDATE": "1"})


CLIENTS = {"opencode": opencode, "gemini": gemini, "copilot": copilot, "cline": cline}


def play(name, program, binary, directory):
    home, root = os.path.join(directory, "home"), os.path.join(directory, "project")
    os.makedirs(home)
    project(root)
    env = {"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1"}

    def ours(*given, stdin=""):
        return subprocess.run([binary, *given], cwd=root, env=env, capture_output=True, text=True, check=False, input=stdin)

    installed = ours("install", name)
    assert installed.returncode == 0, installed.stderr
    ours("run", "--note", "next: " + NOTE)
    Stub.requests, Stub.cwd = [], root
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    given, more = CLIENTS[name](home, "http://127.0.0.1:%d" % server.server_address[1])
    lines = given[::-1] if isinstance(given[0], list) else [given]
    for line in lines:
        # The status 124 is that of a client that does not end by itself.
        done = subprocess.run(["timeout", "180", program, *line], cwd=root, env=dict(env, **more), capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL)
    end(name, program, root, dict(env, **more))
    server.shutdown()
    write(os.path.join(directory, "requests.json"), [json.loads(request) for request in Stub.requests])
    settled(ours)
    if name in OLD_LOGS:
        make_old(os.path.join(home, OLD_LOGS[name]))
    # The next session hands over what no hook has ended, in the background.
    payload = json.dumps({"session_id": "next", "cwd": root, "hook_event_name": "SessionStart", "source": "startup"})
    ours("hook", "--agent", "claude-code", stdin=payload)
    settled(ours)
    given_next = ours("hook", "--agent", "claude-code", stdin=payload.replace("next", "after")).stdout
    log = os.path.join(root, ".agent-handover/log/hook.log")
    with open(log, encoding="utf-8") as file:
        calls = [line.split(" ", 5) for line in file]
    found = handoffs(root, name)
    version = subprocess.run([program, "--version"], env=dict(env, **more), capture_output=True, text=True, check=False).stdout
    print("%s %s" % (name, " ".join(version.split())[:60]))
    print("  exit code %d, %d requests to the model" % (done.returncode, len(Stub.requests)))
    print("  hooks: %s" % (" ".join(call[2] for call in calls if call[1] == name) or "none"))
    handoff = "\n".join(found)
    checks = {
        "it ended by itself": done.returncode == 0,
        "the model's file was written": os.path.exists(os.path.join(root, "greeting.txt")),
        "the context reached the model": any(has_context(name, json.loads(request)) for request in Stub.requests),
        "there is a handoff of the session, and no second one": 1 <= len(found) <= MOST_HANDOFFS.get(name, 1),
        "it names the request": 'primary_goal: "%s"' % PROMPT in handoff,
        "it names the file": '- path: "greeting.txt"\n    reason: "edited in this session"' in handoff,
        "it names the command that failed": '- command: "sh test.sh"\n    result: "failed"' in handoff,
        "it has the answer": DONE in handoff,
        "the next session is given the request": PROMPT in given_next,
    }
    for what, is_so in checks.items():
        print("  %s: %s" % (what, "yes" if is_so else "NO"))
    if done.returncode or not Stub.requests:
        print("  it printed: %s" % " ".join((done.stdout + done.stderr).split())[-400:])
    return all(checks.values())


def texts(value):
    """Every text in a request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def has_context(name, request):
    """Whether one text of the request has what the session is given. Gemini writes the signs < and > as entities."""
    wanted = [CONTEXT[name]] if name in CONTEXT else [MARKER, NOTE]
    return any(all(part in html.unescape(text) for part in wanted) for text in texts(request))


def handoffs(root, name):
    """The handoffs of the sessions of this agent."""
    found = []
    for directory, _, files in os.walk(os.path.join(root, ".agent-history")):
        for file in files:
            with open(os.path.join(directory, file), encoding="utf-8") as text:
                text = text.read()
            if file not in ("LATEST.md", "INDEX.md") and '\nagent: "%s"\n' % name in text:
                found.append(text)
    return found


def settled(ours):
    """Waits until no handover runs."""
    for _ in range(200):
        if ours("check").returncode != 4:
            return
        time.sleep(0.1)


def end(name, program, root, env):
    """Ends what the client left running."""
    if name == "cline":
        stopped = subprocess.run(["timeout", "30", program, "hub", "stop"], cwd=root, env=env, capture_output=True,
                                 check=False, stdin=subprocess.DEVNULL)
        assert stopped.returncode == 0, stopped.stderr


def make_old(logs):
    """Lets the logs look as if the session had been silent for an hour."""
    before = time.time() - 3600
    for directory, _, files in os.walk(logs):
        for file in files:
            os.utime(os.path.join(directory, file), (before, before))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", required=True, help="the directory of the programs")
    parser.add_argument("--binary", required=True, help="our program")
    parser.add_argument("--keep", action="store_true", help="keep the directory of each session")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", default=[])
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    alone = ["unshare", "-rn", "sh", "-c", 'ip link set lo up; exec "$0" "$@"']
    if not options.inside and subprocess.run(alone + ["true"], capture_output=True, check=False).returncode == 0:
        os.execvp(alone[0], alone + [sys.executable, *sys.argv, "--inside"])
    failed = []
    for name in options.names or CLIENTS:
        program = os.path.join(os.path.abspath(options.clients), name)
        if not os.path.exists(program):
            print("%s: skipped, it is not in %s" % (name, options.clients))
            continue
        directory = tempfile.mkdtemp()
        try:
            if not play(name, program, options.binary, directory):
                failed.append(name)
        finally:
            if options.keep:
                print("  kept: %s" % directory)
            else:
                shutil.rmtree(directory, ignore_errors=True)
    if failed:
        sys.exit("not as expected: %s" % ", ".join(failed))


if __name__ == "__main__":
    main()
