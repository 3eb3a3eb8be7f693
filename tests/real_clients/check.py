#!/usr/bin/env python3
"""Plays sessions of the real clients and checks what agent-handover reads from the transcripts they wrote.

    npm install --prefix /tmp/clients @anthropic-ai/claude-code @openai/codex
    (cd /tmp/clients/node_modules/@anthropic-ai/claude-code && node install.cjs)
    cargo build
    python3 tests/real_clients/check.py --claude /tmp/clients/node_modules/.bin/claude \\
        --codex /tmp/clients/node_modules/.bin/codex --binary target/debug/agent-handover

Seen to pass with Claude Code 2.1.197 and Codex 0.166.0. No account is needed and nothing leaves the machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class World:
    """A home and a project for one client."""

    def __init__(self, directory, client, program, binary, model):
        self.home, self.project = os.path.join(directory, "home"), os.path.join(directory, "project")
        self.client, self.program, self.binary, self.model = client, program, binary, model

    def play(self, *arguments):
        command = [sys.executable, os.path.join(HERE, "play.py"), self.client, "--binary", self.program,
                   "--home", self.home, "--project", self.project, "--model", self.model, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    def summarize(self):
        env = {"HOME": self.home, "PATH": os.environ["PATH"]}
        command = [self.binary, "summarize", "--json", "--quiet"]
        done = subprocess.run(command, cwd=self.project, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def equal(what, found, expected):
    assert found == expected, "%s: %r, not %r" % (what, found, expected)


def whole_session(world):
    played = world.play("--prompt", "Please make the greeting test pass <private>before the boss looks</private>")
    equal("exit code", played.returncode, 0)
    answer = world.summarize()
    found = answer["transcript"]
    equal("agent", found["agent"], {"claude": "claude-code", "codex": "codex"}[world.client])
    equal("first request", found["first_request"], "Please make the greeting test pass")
    equal("requests", found["requests"], 1)
    equal("edited", [os.path.basename(path) for path in found["edited"]], ["greeting.txt"])
    results = [(c["command"], c["exit_code"]) for c in found["commands"]]
    equal("commands", results, [("sh ./test.sh", 1), ("sh ./test.sh", 0)])
    equal("tests", [test["result"] for test in found["tests"]], ["passed"])
    statuses = [(todo["text"], todo["status"]) for todo in found["todos"]]
    equal("to-dos", statuses, [("Write greeting.txt", "completed"), ("Run the greeting test", "completed"),
                               ("Translate the greeting", "pending")])
    equal("headless", found["is_headless"], True)
    equal("sub-agent", found["is_subagent"], False)
    equal("branch", found["branch"], "master")
    equal("notices", found["notices"], [])
    assert '  - "Translate the greeting (derived)"' in answer["document"], answer["document"]
    assert "boss" not in json.dumps(answer)


def killed_session(world):
    played = world.play("--prompt", "You may never come back", "--kill-after", "2")
    equal("exit code", played.returncode, 128 + 9)
    found = world.summarize()["transcript"]
    equal("first request", found["first_request"], "You may never come back")
    equal("commands", [c["command"] for c in found["commands"]], ["sh ./test.sh"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--claude")
    parser.add_argument("--codex")
    parser.add_argument("--binary", default="target/debug/agent-handover")
    options = parser.parse_args()
    # Codex calls tools one by one for a model it does not know, and from scripts for the newer ones that it does.
    clients = [("claude", options.claude, "-"), ("codex", options.codex, "stub-model"), ("codex", options.codex, "gpt-5.6-sol")]
    for client, program, model in clients:
        if not program:
            continue
        for check in (whole_session, killed_session):
            with tempfile.TemporaryDirectory() as directory:
                check(World(directory, client, os.path.abspath(program), os.path.abspath(options.binary), model))
            print("ok: %s, %s, %s" % (client, model, check.__name__))


if __name__ == "__main__":
    main()
