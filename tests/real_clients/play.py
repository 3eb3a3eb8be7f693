#!/usr/bin/env python3
"""Plays one session of a real client against stub.py: no account, a HOME of its own, no way out to the network.

    play.py claude|codex --binary FILE --home DIR --project DIR [--prompt TEXT] [--scenario FILE] [--log FILE]
            [--model NAME] [--resume ID [--fork]] [--then TEXT]... [--compact-at N] [--kill-after N] [--continue-by FILE]

The clients come from `npm install @anthropic-ai/claude-code @openai/codex` (then `node install.cjs` in the first, if npm
did not run it). HOME and project are made if they are not there; hooks and settings already in them are left as they
are. `--continue-by FILE` lets our program in that file start the client, by `continue`: it makes the prompt. `--kill-after N` ends the client with SIGKILL a second after the stub was asked for the Nth time; without it the
session ends by itself. `--then TEXT` sends another prompt in the same session (Claude Code only). `--compact-at N` lets
Codex compact its context when it has N tokens. Prints what the client printed; exits with its code.

Where `unshare -n` is allowed the client sees a network with nothing but the stub in it.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROMPT = "Please make the greeting test pass"

CODEX_CONFIG = """model = "%s"
model_provider = "stub"

[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:%s/v1"
env_key = "STUB_KEY"
wire_api = "responses"

[tools.update_plan]
enabled = true
"""


def project(path):
    """A project with a test that fails until greeting.txt is there."""
    if os.path.exists(os.path.join(path, "test.sh")):
        return
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "test.sh"), "w", encoding="utf-8") as file:
        file.write("test -f greeting.txt || { echo '1 test failed: no greeting.txt'; exit 1; }\necho '1 test passed'\n")
    git = ["git", "-C", path, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    for arguments in (["init", "--quiet", "--initial-branch=master"], ["add", "."], ["commit", "--quiet", "-m", "Begin"]):
        subprocess.run(git + arguments, check=True)


def environment(options, port):
    path = os.path.dirname(options.binary) + os.pathsep + os.environ["PATH"]
    env = {"HOME": options.home, "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb"}
    if options.client == "claude":
        env.update(ANTHROPIC_BASE_URL="http://127.0.0.1:%s" % port, ANTHROPIC_API_KEY="none",
                   CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_TELEMETRY="1", DISABLE_AUTOUPDATER="1")
    else:
        env["STUB_KEY"] = "none"
        config = os.path.join(options.home, ".codex", "config.toml")
        os.makedirs(os.path.dirname(config), exist_ok=True)
        old = ""
        if os.path.exists(config):
            with open(config, encoding="utf-8") as file:
                old = file.read().split("# --- stub ---\n")[-1]
        with open(config, "w", encoding="utf-8") as file:
            file.write(CODEX_CONFIG % (options.model, port) + "# --- stub ---\n" + old)
    return env


def continued(options):
    """`continue` puts the prompt after these arguments. An option that takes several values would swallow it."""
    words = command(options)
    at = words.index(options.prompt)
    rest = words[1:at] + words[at + 1:]
    if "--allowedTools" in rest:
        place = rest.index("--allowedTools")
        rest[place:place + 2] = ["--allowedTools=" + rest[place + 1]]
    return [options.continue_by, "continue", {"claude": "claude-code"}.get(options.client, options.client), "--"] + rest


def command(options):
    if options.client == "claude":
        resume = ["--resume", options.resume] if options.resume else []
        resume += ["--fork-session"] if options.fork else []
        tools = "Bash,Write,Edit,TodoWrite,TaskCreate,TaskUpdate,Agent,Task,mcp__agent-handover"
        if options.then:
            talk = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
            return [options.binary, "-p", "--allowedTools", tools] + talk + resume
        return [options.binary, "-p", options.prompt, "--allowedTools", tools] + resume
    resume = ["fork" if options.fork else "resume", options.resume] if options.resume else []
    flags = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]
    if options.compact_at:
        flags += ["-c", "model_auto_compact_token_limit=%d" % options.compact_at]
    return [options.binary, "exec"] + flags + resume + [options.prompt]


def talk(client, prompts):
    """Sends each prompt when the one before it is answered."""
    for prompt in prompts:
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        client.stdin.write(json.dumps(message) + "\n")
        client.stdin.flush()
        for line in client.stdout:
            print(line, end="")
            if json.loads(line).get("type") == "result":
                break
    client.stdin.close()
    for line in client.stdout:
        print(line, end="")


def count_lines(path):
    try:
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except FileNotFoundError:
        return 0


def play(options):
    """Runs inside the namespace: stub, client, end."""
    port_file = options.log + ".port"
    for path in (port_file,):
        if os.path.exists(path):
            os.remove(path)
    stub = subprocess.Popen([sys.executable, os.path.join(HERE, "stub.py"), "--scenario", options.scenario,
                             "--log", options.log, "--port-file", port_file, "--cwd", options.project])
    try:
        for _ in range(500):
            if os.path.exists(port_file):
                break
            time.sleep(0.02)
        with open(port_file, encoding="utf-8") as file:
            port = file.read()
        asked_before = count_lines(options.log)
        words = continued(options) if options.continue_by else command(options)
        client = subprocess.Popen(words, cwd=options.project, env=environment(options, port),
                                  stdin=subprocess.PIPE if options.then else subprocess.DEVNULL,
                                  stdout=subprocess.PIPE if options.then else None, text=True, start_new_session=True)
        if options.then:
            talk(client, [options.prompt] + options.then)
        while client.poll() is None:
            if options.kill_after and count_lines(options.log) - asked_before >= options.kill_after:
                time.sleep(1)
                os.killpg(client.pid, signal.SIGKILL)
            time.sleep(0.05)
        return client.returncode if client.returncode >= 0 else 128 - client.returncode
    finally:
        stub.kill()
        stub.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("client", choices=["claude", "codex"])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--home", required=True)
    parser.add_argument("--project", required=True)
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--scenario", default=os.path.join(HERE, "scenario.json"))
    parser.add_argument("--log", help="where the requests go [default: HOME/requests.jsonl]")
    parser.add_argument("--model", default="stub-model", help="which tools Codex offers depends on it")
    parser.add_argument("--resume", help="the session to go on with")
    parser.add_argument("--fork", action="store_true", help="with --resume: go on with a copy of that session")
    parser.add_argument("--then", action="append", help="another prompt in the same session (Claude Code only)")
    parser.add_argument("--compact-at", type=int, help="how many tokens make Codex compact its context")
    parser.add_argument("--kill-after", type=int, help="SIGKILL a second after the stub was asked this often")
    parser.add_argument("--continue-by", help="our program, which starts the client with the session that goes on")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in ("home", "project", "binary", "scenario"):
        setattr(options, name, os.path.abspath(getattr(options, name)))
    if options.continue_by:
        options.continue_by = os.path.abspath(options.continue_by)
    options.log = os.path.abspath(options.log or os.path.join(options.home, "requests.jsonl"))
    if options.inside:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
    else:
        os.makedirs(options.home, exist_ok=True)
        project(options.project)
        alone = ["unshare", "-n", "true"]
        if shutil.which("unshare") and subprocess.run(alone, capture_output=True, check=False).returncode == 0:
            again = ["unshare", "-n", sys.executable] + sys.argv + ["--inside"]
            return subprocess.run(again, check=False).returncode
    return play(options)


if __name__ == "__main__":
    sys.exit(main())
