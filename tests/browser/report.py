#!/usr/bin/env python3
"""Looks at the page of `agent-handover report` in a real Chromium, without a window.

usage: python3 tests/browser/report.py [--program PATH] [--chromium PATH] [--output DIR]

Makes a project whose every field holds a planted script, writes its page, and opens it. Fails if
  - the page reports an error or loads anything,
  - a planted script runs,
  - the search field does not filter, or is shown without a script,
  - the page is wider than the window of a phone,
  - axe finds a serious or critical violation, on a light or a dark background.
Leaves screenshots (phone, laptop, light and dark) and a printed page in DIR, to be looked at.

Needs Chromium, node and npm; puppeteer-core and axe-core are installed into a temporary directory.
"""
import argparse, json, os, pathlib, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
PLANTED = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"

# The same for the names of directories, which have no slashes, and of branches, which have no spaces.
IN_A_NAME = "<svg onload=document.title='owned'>"
IN_A_BRANCH = "<svg/onload=document.title='owned'>"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", default="target/debug/agent-handover")
    arguments.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    arguments.add_argument("--output", default=tempfile.mkdtemp(prefix="report-screens-"))
    given = arguments.parse_args()
    if not given.chromium or not shutil.which("npm"):
        sys.exit("Chromium, node or npm is not installed")
    program = str(pathlib.Path(given.program).resolve())
    top = pathlib.Path(tempfile.mkdtemp(prefix="report-"))
    page = make(program, top)
    tools = top / "tools"
    tools.mkdir()
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "puppeteer-core", "axe-core"], cwd=tools, check=True)
    shutil.copy(HERE / "report.mjs", tools)
    output = pathlib.Path(given.output).resolve()
    output.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(["node", "report.mjs", given.chromium, str(page), str(output)], cwd=tools)
    shutil.rmtree(top)
    print(f"screenshots: {output}")
    sys.exit(ended.returncode)


def make(program, top):
    """A project with sessions of several months and planted scripts. Returns the path of its page."""
    project, home = top / ("project" + IN_A_NAME), top / "home"
    project.mkdir()
    home.mkdir()
    base = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def call(*command, now=None):
        extra = {"AGENT_HANDOVER_TEST_NOW": now} if now else {}
        subprocess.run(command, cwd=project, env={**base, **extra}, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def call_hook(payload, now):
        command = [program, "hook", "--agent", "claude-code"]
        extra = {"AGENT_HANDOVER_TEST_NOW": now}
        done = subprocess.run(command, cwd=project, env={**base, **extra}, input=json.dumps(payload), text=True, check=True, stdout=subprocess.PIPE)
        while subprocess.run([program, "check"], cwd=project, env=base, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 4:
            pass
        return done.stdout

    call("git", "init", "-q", ".")
    call("git", "config", "user.email", "somebody@example.org")
    call("git", "config", "user.name", "Somebody" + PLANTED)
    call("git", "commit", "-q", "--allow-empty", "-m", "begin")
    (project / "handover.toml").write_text('[backend]\ntype = "git"\npush = false\n')
    for month in range(1, 11):
        call(program, "history", "create", "--quiet", "--tool", ["claude-code", "codex", "gemini"][month % 3],
             "--goal", f"Goal {month}: report the position of parse errors {PLANTED}", "--next", f"Read lexer.rs {PLANTED}",
             "--decision", f"Decision {month} {PLANTED}", "--issue", f"Tried {PLANTED}",
             "--validation", f"cargo test {PLANTED}={'passed' if month % 3 else 'failed'}", now=f"2026-{month:02}-15T10:04:05Z")
        call(program, "run", "--note", f"Note {month} {PLANTED}", now=f"2026-{month:02}-15T11:04:05Z")
    call("git", "checkout", "-qb", "spans" + IN_A_BRANCH)
    for number in range(1, 7):
        session(call_hook, project, home, number)
    page = top / "page.html"
    call(program, "report", "--output", str(page))
    return page


def session(call_hook, project, home, number):
    """A session of Claude Code with a transcript, whose client keeps, cuts or drops its context."""
    session, day = f"session-{number}{PLANTED}", f"2026-11-{number:02}T10:04:05Z"
    directory = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    directory.mkdir(parents=True, exist_ok=True)
    transcript = directory / f"session-{number}.jsonl"
    payload = {"session_id": session, "transcript_path": str(transcript), "cwd": str(project)}
    answer = call_hook({**payload, "hook_event_name": "SessionStart", "source": "startup"}, day)
    context = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    kept = [context, context[:200], None][number % 3]
    path = str(project / "src" / f"lexer{number % 2}.rs")
    tool = lambda name, given: {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": f"{name}{number}", "name": name, "input": given}]}}
    result = lambda name, text: {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": f"{name}{number}", "content": text}]}}
    records = [
        {"type": "user", "message": {"role": "user", "content": f"Give parse_span {number} a byte range {PLANTED}"}},
        tool("Read", {"file_path": path}), result("Read", f"fn lex() {PLANTED}"),
        tool("Bash", {"command": f"cargo test span {PLANTED}"}), result("Bash", "test result: ok. 3 passed; 0 failed"),
        tool("Write", {"file_path": path, "content": "x"}), result("Write", "ok"),
    ]
    if kept:
        records.insert(0, {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [kept]}})
    with open(transcript, "w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps({**record, "isSidechain": False, "sessionId": session, "cwd": str(project), "timestamp": day}) + "\n")
    call_hook({**payload, "hook_event_name": "SessionEnd", "reason": "other"}, day)


if __name__ == "__main__":
    main()
