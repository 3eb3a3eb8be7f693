#!/usr/bin/env python3
"""Plays sessions of the real clients and checks the receipts: whether the text of a session start arrived.

    npm install --prefix /tmp/clients @anthropic-ai/claude-code @openai/codex
    (cd /tmp/clients/node_modules/@anthropic-ai/claude-code && node install.cjs)
    cargo build
    python3 tests/real_clients/receipts.py --claude /tmp/clients/node_modules/.bin/claude \\
        --codex /tmp/clients/node_modules/.bin/codex --binary target/debug/agent-handover

Claude Code takes 10,000 characters, so the hook is called through a script that makes the text longer, or drops it. Codex has a
limit that can be set: it keeps both ends of a longer text. What the model got is compared with what the receipt says.

Seen to pass with Claude Code 2.1.197 and Codex 0.169.0. No account is needed and nothing leaves the machine.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile

from hooks import MARKER, World, equal

# Longer than what Claude Code passes on.
FILLER = "".join("- line %d of a text that is longer than the client takes\n" % number for number in range(2000))

WRAPPER = """#!%s
import json, os, subprocess, sys
here = os.path.dirname(os.path.abspath(__file__))
done = subprocess.run([os.path.join(here, "real", "agent-handover")] + sys.argv[1:], stdin=sys.stdin, stdout=subprocess.PIPE)
text = done.stdout.decode()
mode = open(os.path.join(here, "mode")).read()
if sys.argv[1:2] == ["hook"] and mode != "whole" and %r in text:
    document = json.loads(text)
    context = document["hookSpecificOutput"]["additionalContext"]
    first, rest = context.split("\\n", 1)
    context = first + "\\n" + open(os.path.join(here, "filler")).read() + rest
    document["hookSpecificOutput"]["additionalContext"] = context
    text = json.dumps(document) if mode == "cut" else ""
sys.stdout.write(text)
sys.exit(done.returncode)
""" % (sys.executable, MARKER)


class Wrapped(World):
    """A world whose hook is called through the script."""

    def __init__(self, directory, client, program, binary, model):
        self.top = os.path.join(directory, "bin")
        os.makedirs(os.path.join(self.top, "real"))
        self.installed = os.path.join(self.top, "agent-handover")
        shutil.copy(binary, self.installed)
        self.write("filler", FILLER)
        self.write("mode", "whole")
        super().__init__(directory, client, program, self.installed, model)

    def wrap(self):
        """Puts the script where the program was installed."""
        os.rename(self.installed, os.path.join(self.top, "real", "agent-handover"))
        self.write("agent-handover", WRAPPER)
        os.chmod(self.installed, 0o755)

    def write(self, name, text):
        with open(os.path.join(self.top, name), "w", encoding="utf-8") as file:
            file.write(text)

    def set_limit(self, tokens):
        """Codex passes on this many tokens of the text of a hook."""
        path = os.path.join(self.home, ".codex", "hooks.json")
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        for group in document["hooks"]["SessionStart"]:
            for hook in group["hooks"]:
                hook["additionalContextLimit"] = tokens
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def starts(self):
        """The receipts of the starts, newest first."""
        report = json.loads(self.run("doctor", "--json").stdout)
        agent = [agent for agent in report["agents"] if agent["name"] == self.agent][0]
        return [(start["reason"], start["receipt"], start["mark"]) for start in agent["starts"]]


def played(world, mode, prompt, *arguments):
    """Plays a session, and returns what the client sent to the model."""
    world.write("mode", mode)
    code, sent = world.play(prompt, *arguments)
    equal("exit code", code, 0)
    assert world.settled(), world.log()
    return sent


def received(world, what, sent, expected):
    """The receipt of the last start says this, and the model got the mark of the text if it says `whole`, and not if the text
    is missing."""
    reason, receipt, mark = world.starts()[0]
    print("    %s: %s at `%s`" % (what, receipt, reason))
    assert receipt in expected, "%s: %s" % (what, receipt)
    if receipt != "cut":
        equal("the model got the end of the text of " + what, "<!-- end %s -->" % mark in sent, receipt == "whole")


def check(world):
    equal("install", world.run("install", world.agent, cwd=world.home).returncode, 0)
    world.wrap()
    played(world, "whole", "Please make the greeting test pass")
    sent = played(world, "whole", "Go on with the greeting")
    received(world, "a start", sent, ["whole"])

    if world.client == "claude":
        sent = played(world, "cut", "Go on with the long text")
        assert "line 1 of a text" in sent and "line 1000 of a text" not in sent, "the client did not cut"
    else:
        world.set_limit(60)
        sent = played(world, "whole", "Go on with the long text")
        world.set_limit(2500)
        assert "## Goal" not in sent.split("Go on with the long text")[0], "the client did not cut"
    received(world, "a text beyond the limit of the client", sent, ["cut"])

    sent = played(world, "missing", "Go on without a text")
    received(world, "a text that is dropped", sent, ["missing"])

    findings = json.loads(world.run("doctor", "--json").stdout)["findings"]
    says = " | ".join(finding["says"] for finding in findings)
    assert "did not reach its session" in says and "was cut by the client" in says, says

    # Claude Code is known to drop what hooks add at a fork (anthropics/claude-code#93458).
    parent = world.session()
    sent = played(world, "whole", "Asked in the fork", "--resume", parent, "--fork")
    received(world, "a fork", sent, ["whole", "missing"])
    card = json.loads(world.run("score", "--json").stdout)
    delivered = [measure for measure in card["measures"] if measure["measure"] == "delivered"][0]
    print("    score: delivered %s" % delivered["with_warmup"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--claude")
    parser.add_argument("--codex")
    parser.add_argument("--binary", default="target/debug/agent-handover")
    options = parser.parse_args()
    for client, program, model in [("claude", options.claude, "-"), ("codex", options.codex, "stub-model")]:
        if program:
            with tempfile.TemporaryDirectory() as directory:
                check(Wrapped(directory, client, os.path.abspath(program), os.path.abspath(options.binary), model))
            print("ok: %s" % client)


if __name__ == "__main__":
    main()
