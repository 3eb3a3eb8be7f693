#!/usr/bin/env python3
"""Installs the hooks, plays sessions of the real clients, and checks what one session hands to the next.

    npm install --prefix /tmp/clients @anthropic-ai/claude-code @openai/codex
    (cd /tmp/clients/node_modules/@anthropic-ai/claude-code && node install.cjs)
    cargo build
    python3 tests/real_clients/hooks.py --claude /tmp/clients/node_modules/.bin/claude \\
        --codex /tmp/clients/node_modules/.bin/codex --binary target/debug/agent-handover

Seen to pass with Claude Code 2.1.197 and Codex 0.169.0. No account is needed and nothing leaves the machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MARKER = "<!-- agent-handover warmup -->"
AGENTS = {"claude": "claude-code", "codex": "codex"}
# How a user calls an installed command.
COMMAND_SIGNS = {"claude": "/", "codex": "$"}


class World:
    """A home and a project for one client."""

    def __init__(self, directory, client, program, binary, model):
        self.home, self.project = os.path.join(directory, "home"), os.path.join(directory, "project")
        self.client, self.program, self.binary, self.model = client, program, binary, model
        self.agent = AGENTS[client]
        self.sessions = 0
        os.makedirs(self.home)

    def play(self, prompt, *arguments):
        """Plays a session and gives back its exit code and everything its client sent."""
        self.sessions += 1
        log = os.path.join(self.home, "requests-%d.jsonl" % self.sessions)
        command = [sys.executable, os.path.join(HERE, "play.py"), self.client, "--binary", self.program, "--home", self.home,
                   "--project", self.project, "--model", self.model, "--prompt", prompt, "--log", log, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        with open(log, encoding="utf-8") as file:
            return done.returncode, file.read()

    def run(self, *arguments, cwd=None):
        env = {"HOME": self.home, "PATH": os.environ["PATH"]}
        command = [self.binary, *arguments]
        return subprocess.run(command, cwd=cwd or self.project, env=env, capture_output=True, text=True, check=False)

    def notes(self):
        """The notes of the sessions, the newest last."""
        listed = json.loads(self.run("memory", "list", "--layer", "1", "--json").stdout)
        return [note["text"] for note in listed["notes"] if note["step"] == "note"]

    def session(self):
        """The id of the session that ended last."""
        return [line[3] for line in self.log() if line[2] == "session-end"][-1]

    def settled(self):
        """Waits until nothing runs in the background, and says whether the last handover completed."""
        for _ in range(500):
            code = self.run("check").returncode
            if code != 4:
                return code == 2
            time.sleep(0.02)
        return False

    def log(self):
        with open(os.path.join(self.project, ".agent-handover/log/hook.log"), encoding="utf-8") as file:
            return [line.rstrip("\n").split(" ", 5) for line in file]


def equal(what, found, expected):
    assert found == expected, "%s: %r, not %r" % (what, found, expected)


def has(what, text, *parts):
    for part in parts:
        # Requests are JSON inside JSON.
        escaped = json.dumps(part)[1:-1]
        assert any(form in text for form in (part, escaped, json.dumps(escaped)[1:-1])), "%s lacks %r:\n%s" % (what, part, text[-6000:])


def check(world):
    installed = world.run("install", world.agent, cwd=world.home)
    equal("install", installed.returncode, 0)

    goal = "Please make the greeting test pass"
    code, sent = world.play(goal)
    equal("exit code", code, 0)
    has("the first session's request", sent, MARKER, "no earlier session")
    assert world.settled(), "the session's end left no completed handover: %s" % world.log()
    latest = world.run("history", "show", "latest").stdout
    has("the handoff", latest, goal, "greeting.txt", "sh ./test.sh", "Translate the greeting",
        "`sh ./test.sh`: passed")
    notes = world.run("memory", "list", "--layer", "1", "--json").stdout
    has("the note", notes, "failed with exit code 1")
    events = [(line[1], line[2]) for line in world.log()]
    for event in ("session-start", "turn-end", "session-end"):
        assert (world.agent, event) in events, "%s did not fire: %s" % (event, events)

    code, sent = world.play("What is left to do?")
    equal("exit code", code, 0)
    has("the second session's request", sent, MARKER, goal, "Translate the greeting")
    assert world.settled()

    check_fork(world, world.log()[0][3], goal)
    check_compactions(world)

    code, _ = world.play("You may never come back", "--kill-after", "2")
    equal("exit code of a killed client", code, 128 + 9)
    before = len(world.log())
    code, sent = world.play("Who was here before?")
    equal("exit code", code, 0)
    # The goal of the killed session takes the place of the one before it, whose to-do stays.
    has("the request after the kill", sent, "You may never come back", "Translate the greeting")
    swept = [line[5] for line in world.log()[before:] if "swept %s" % world.agent in line[5]]
    equal("swept", len(swept), 1)
    assert world.settled()

    code, sent = world.play(COMMAND_SIGNS[world.client] + "freeze")
    equal("exit code", code, 0)
    has("the request of a command", sent, "agent-handover pause --reason")
    assert world.settled()
    slow = [line for line in world.log() if int(line[4][:-2]) > 1000]
    equal("hooks of more than a second", slow, [])
    equal("doctor", world.run("doctor").returncode, 0)


def check_fork(world, parent, goal):
    """A fork begins with a copy of its parent, of which it hands nothing over again."""
    code, _ = world.play("Asked in the fork, not in the parent", "--resume", parent, "--fork")
    equal("exit code of a fork", code, 0)
    assert world.settled()
    assert world.session() != parent, "the fork has no session of its own: %s" % world.log()
    notes = world.notes()
    has("the note of the fork", notes[-1], "Asked in the fork, not in the parent")
    assert goal not in notes[-1], "the fork hands its parent over again: %s" % notes[-1]


def check_compactions(world):
    """Each compaction of a session is followed by context."""
    before = len(world.log())
    if world.client == "claude":
        # Claude Code refuses to compact a single exchange.
        prompts = ["And this", "/compact", "What now?", "And then?", "/compact"]
        code, _ = world.play("Remember this", *[part for prompt in prompts for part in ("--then", prompt)])
        equal("exit code", code, 0)
    else:
        # Codex compacts when a turn begins and the one before it filled the context.
        code, _ = world.play("Fill the context: one", "--compact-at", "50000")
        equal("exit code", code, 0)
        session = world.session()
        for number in ("two", "three"):
            code, _ = world.play("Fill the context: %s" % number, "--compact-at", "50000", "--resume", session)
            equal("exit code", code, 0)
    assert world.settled()
    lines = world.log()[before:]
    equal("compactions", len([line for line in lines if line[2] == "before-compaction"]), 2)
    told = [line[5] for line in lines if line[2] == "session-start" and line[5].endswith("for `compact`")]
    assert len(told) == 2, "not each compaction got context: %s" % lines
    if world.client == "claude":
        # At the second compaction, Claude Code writes the first requests into the transcript again.
        assert "Last request: Remember this" not in world.notes()[-1], world.notes()[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--claude")
    parser.add_argument("--codex")
    parser.add_argument("--binary", default="target/debug/agent-handover")
    options = parser.parse_args()
    for client, program, model in [("claude", options.claude, "-"), ("codex", options.codex, "stub-model")]:
        if not program:
            continue
        with tempfile.TemporaryDirectory() as directory:
            world = World(directory, client, os.path.abspath(program), os.path.abspath(options.binary), model)
            check(world)
            for line in world.log():
                print("   ", " ".join(line))
        print("ok: %s" % client)


if __name__ == "__main__":
    main()
