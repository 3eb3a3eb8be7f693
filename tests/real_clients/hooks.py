#!/usr/bin/env python3
"""Installs the hooks, plays sessions of the real clients, and checks what one session hands to the next. Then `plugin/`
instead of an install, and beside one; and a session that goes from Claude Code to Codex and back by `continue`.

    npm install --prefix /tmp/clients @anthropic-ai/claude-code @openai/codex
    (cd /tmp/clients/node_modules/@anthropic-ai/claude-code && node install.cjs)
    cargo build
    python3 tests/real_clients/hooks.py --claude /tmp/clients/node_modules/.bin/claude \\
        --codex /tmp/clients/node_modules/.bin/codex --binary target/debug/agent-handover [--only hooks|plugin|chain]

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
        os.makedirs(self.home, exist_ok=True)
        # Hooks of the plugin call the program that PATH finds.
        self.path = os.path.join(directory, "bin") + os.pathsep + os.environ["PATH"]
        os.makedirs(os.path.join(directory, "bin"), exist_ok=True)
        named = os.path.join(directory, "bin", "agent-handover")
        if not os.path.lexists(named):
            os.symlink(binary, named)

    def play(self, prompt, *arguments):
        """Plays a session and gives back its exit code and everything its client sent."""
        self.sessions += 1
        log = os.path.join(self.home, "requests-%s-%d.jsonl" % (self.client, self.sessions))
        command = [sys.executable, os.path.join(HERE, "play.py"), self.client, "--binary", self.program, "--home", self.home,
                   "--project", self.project, "--model", self.model, "--prompt", prompt, "--log", log, *arguments]
        env = dict(os.environ, PATH=self.path)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
        self.said = done.stdout + done.stderr
        with open(log, encoding="utf-8") as file:
            return done.returncode, file.read()

    def run(self, *arguments, cwd=None):
        return self.start([self.binary, *arguments], cwd)

    def ask_client(self, *arguments):
        """A command of the client itself, which asks no model."""
        return self.start([self.program, *arguments], self.home)

    def start(self, command, cwd):
        env = {"HOME": self.home, "PATH": self.path}
        return subprocess.run(command, cwd=cwd or self.project, env=env, capture_output=True, text=True, check=False)

    def handovers(self):
        return len(json.loads(self.run("history", "list", "--json").stdout)["handoffs"])

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


def check_injected(sent, lines):
    """The session got one warmup, and no text twice."""
    body = json.dumps(json.loads(sent.strip().splitlines()[-1])["body"])
    # The first prompt is answered, too, if an earlier session spoke of the same things.
    equal("warmups and reminders: %s" % body, body.count(MARKER), 1 + body.count("found for this prompt"))
    assert body.count("found for this prompt") <= 1, body
    answered = [line[5] for line in lines if line[2] == "session-start" and "bytes of context" in line[5]]
    equal("answered starts", len(answered), 1)


def check_plugin(world):
    """The plugin, installed from its directory, does what an install does; and beside one, nothing twice."""
    place = os.path.dirname(os.path.dirname(HERE))
    for manifest in (os.path.join(place, "plugin"), place):
        valid = world.ask_client("plugin", "validate", "--strict", manifest)
        equal("validate: %s" % (valid.stdout + valid.stderr), valid.returncode, 0)
    for words in (["marketplace", "add", place], ["install", "agent-handover@agent-handover"]):
        done = world.ask_client("plugin", *words)
        equal("plugin %s: %s" % (words, done.stdout + done.stderr), done.returncode, 0)
    goal = "Please make the greeting test pass"
    code, sent = world.play(goal)
    equal("exit code: %s" % world.said, code, 0)
    has("the first session's request", sent, MARKER, "no earlier session", "mcp__plugin_agent-handover_agent-handover__")
    check_injected(sent, world.log())
    assert world.settled(), "the plugin left no completed handover: %s" % world.log()
    equal("handovers", world.handovers(), 1)
    events = [line[2] for line in world.log()]
    for event in ("session-start", "prompt-submitted", "turn-end", "session-end"):
        equal(event, events.count(event), 1)
    doctor = world.run("doctor")
    has("doctor", doctor.stdout, "wired (plugin)")
    equal("doctor", doctor.returncode, 0)
    code, sent = world.play("/agent-handover:freeze")
    equal("exit code", code, 0)
    has("the request of a command", sent, "agent-handover pause --reason")
    assert world.settled()

    equal("install", world.run("install", "claude-code", cwd=world.home).returncode, 0)
    before, lines = world.handovers(), len(world.log())
    code, sent = world.play("Please make the greeting test pass, once more")
    equal("exit code", code, 0)
    check_injected(sent, world.log()[lines:])
    assert world.settled()
    equal("handovers beside an install", world.handovers() - before, 1)
    new = world.log()[lines:]
    for event in ("session-start", "prompt-submitted", "turn-end", "session-end"):
        equal(event, [line[2] for line in new].count(event), 2)
    repeated = [line[2] for line in new if line[5] == "the same was answered just now"]
    equal("repeated", repeated, ["session-start", "turn-end"])
    has("doctor", world.run("doctor").stdout, "the second call of each event does nothing")


def check_chain(claude, codex):
    """A session is cut off in Claude Code, goes on in Codex, and comes back."""
    for world in (claude, codex):
        equal("install", world.run("install", world.agent, cwd=world.home).returncode, 0)
    goal = "Please make the greeting test pass, in a session that is cut off here"
    code, _ = claude.play(goal, "--kill-after", "2")
    equal("exit code of a killed client", code, 128 + 9)
    for world, before in ((codex, "claude-code"), (claude, "codex")):
        lines = len(world.log())
        code, sent = world.play("-", "--continue-by", world.binary)
        equal("exit code: %s" % world.said, code, 0)
        has("the request of %s" % world.agent, sent, "Continue this work: %s" % goal, MARKER)
        assert world.settled(), world.log()
        latest = world.run("history", "show", "latest").stdout
        has("the handoff of %s" % world.agent, latest, goal, 'agent: "%s"' % world.agent)
        has("the history", world.run("history", "list").stdout, before, world.agent)
        events = [(line[1], line[2]) for line in world.log()[lines:]]
        for event in ("session-start", "turn-end", "session-end"):
            assert (world.agent, event) in events, "%s of %s did not fire: %s" % (event, world.agent, events)
        equal("git status", subprocess.run(["git", "status", "--porcelain"], cwd=world.project, capture_output=True,
                                           text=True, check=True).stdout, "?? greeting.txt\n")
    equal("handovers", claude.handovers(), 3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--claude")
    parser.add_argument("--codex")
    parser.add_argument("--binary", default="target/debug/agent-handover")
    parser.add_argument("--only", choices=["hooks", "plugin", "chain"])
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    world = lambda directory, client, program, model: World(directory, client, os.path.abspath(program), binary, model)
    if options.claude and options.only in (None, "plugin"):
        with tempfile.TemporaryDirectory() as directory:
            check_plugin(world(directory, "claude", options.claude, "-"))
        print("ok: plugin")
    if options.claude and options.codex and options.only in (None, "chain"):
        with tempfile.TemporaryDirectory() as directory:
            check_chain(world(directory, "claude", options.claude, "-"), world(directory, "codex", options.codex, "stub-model"))
        print("ok: chain")
    if options.only not in (None, "hooks"):
        return
    for client, program, model in [("claude", options.claude, "-"), ("codex", options.codex, "stub-model")]:
        if not program:
            continue
        with tempfile.TemporaryDirectory() as directory:
            of_client = world(directory, client, program, model)
            check(of_client)
            for line in of_client.log():
                print("   ", " ".join(line))
        print("ok: %s" % client)


if __name__ == "__main__":
    main()
