#!/usr/bin/env python3
"""Shows the MCP server to clients that are not ours: the SDK from PyPI in both eras, and real coding agents against the stub.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install mcp
    npm install --prefix /tmp/clients @anthropic-ai/claude-code @openai/codex
    (cd /tmp/clients/node_modules/@anthropic-ai/claude-code && node install.cjs)
    cargo build
    /tmp/venv/bin/python tests/real_clients/mcp_clients.py --binary target/debug/agent-handover \\
        --claude /tmp/clients/node_modules/.bin/claude --codex /tmp/clients/node_modules/.bin/codex

Seen to pass with the Python SDK 2.3.0, Claude Code 2.1.197 and Codex 0.169.0.
A client that is not named is left out. No account is needed and nothing leaves the machine.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = ["search", "show", "warmup", "capture", "handover"]
SAID = "keep recursive descent, said over MCP"
SCENARIO = {"scenes": [{"steps": [
    {"do": "mcp", "tool": "capture", "arguments": {"decisions": [SAID]}},
    {"do": "mcp", "tool": "show", "arguments": {"id": "state"}},
    {"say": "Written down."}]}]}


def world(directory):
    home, project = os.path.join(directory, "home"), os.path.join(directory, "project")
    os.makedirs(home)
    os.makedirs(project)
    subprocess.run(["git", "init", "--quiet", project], check=True)
    return home, project


async def talk(binary, home, project, mode):
    from mcp import Client, StdioServerParameters
    env = {"HOME": home, "PATH": os.environ["PATH"]}
    server = StdioServerParameters(command=binary, args=["mcp"], env=env, cwd=project)
    async with Client(server, mode=mode) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == TOOLS, listed
        answer = await client.call_tool("capture", {"decisions": ["said in mode " + mode]})
        assert "added decision" in answer.content[0].text, answer
        shown = (await client.call_tool("show", {"id": "state"})).content[0].text
        assert "said in mode " + mode in shown, shown
        found = (await client.call_tool("search", {"query": "mode"})).content[0].text
        assert "said in mode" in found, found
        assert len((await client.list_prompts()).prompts) == 1
        state = await client.read_resource("handover://state")
        assert "said in mode" in state.contents[0].text, state


def check_sdk(binary):
    for mode in ("legacy", "auto", "2026-07-28"):
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(talk(binary, *world(directory), mode))
        print("ok: the Python SDK, mode %s" % mode)


def check_agent(binary, client, program, model):
    agent = {"claude": "claude-code", "codex": "codex"}[client]
    with tempfile.TemporaryDirectory() as directory:
        home, project = world(directory)
        env = {"HOME": home, "PATH": os.environ["PATH"]}
        run = lambda *words: subprocess.run([binary, *words], cwd=project, env=env, capture_output=True, text=True, check=True)
        run("install", agent)
        scenario, log = os.path.join(directory, "scenario.json"), os.path.join(directory, "requests.jsonl")
        with open(scenario, "w", encoding="utf-8") as file:
            json.dump(SCENARIO, file)
        played = subprocess.run(
            [sys.executable, os.path.join(HERE, "play.py"), client, "--binary", program, "--home", home, "--project", project,
             "--model", model, "--prompt", "Write it down", "--scenario", scenario, "--log", log],
            capture_output=True, text=True, check=False, timeout=300)
        with open(log, encoding="utf-8") as file:
            sent = file.read()
        items = run("memory", "list").stdout
        assert SAID in items, "%s\n%s\n%s" % (items, played.stdout[-3000:], sent[-6000:])
        assert "added decision" in sent, "the answer did not reach the model: %s" % sent[-3000:]
        assert "MCP server started here" in run("doctor").stdout
    print("ok: %s lists, calls and is answered" % agent)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--claude")
    parser.add_argument("--codex")
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    check_sdk(binary)
    if options.claude:
        check_agent(binary, "claude", os.path.abspath(options.claude), "-")
    if options.codex:
        check_agent(binary, "codex", os.path.abspath(options.codex), "stub-model")


if __name__ == "__main__":
    main()
