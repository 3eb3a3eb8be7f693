"""A pytest plugin that sends the tests of Session Glue through a command line.

The tests of Session Glue call its Python functions. This plugin replaces those functions, before the tests import them,
by functions that start the command in GLUE_COMMAND and read its files, output and exit code. It writes the ids of the
tests that started the command, and their outcome, to the file in GLUE_OUTCOMES, one `outcome id` a line. Tests that never
start it say nothing about a command line, so they are not in that file.

`session_glue.py` runs it; see there.
"""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = shlex.split(os.environ["GLUE_COMMAND"])
OUTCOMES = Path(os.environ["GLUE_OUTCOMES"])

# How often the command was started. `pytest_runtest_protocol` compares it before and after a test.
starts = 0


def run(arguments, stdin=""):
    """Starts the command. Uses `Popen`, because some tests forbid `subprocess.run`."""
    global starts
    starts += 1
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    out, err = process.communicate(stdin)
    return process.returncode, out, err


def main(argv=None):
    """`session_glue.cli.main`."""
    stdin = sys.stdin.getvalue() if isinstance(sys.stdin, io.StringIO) else ""
    code, out, err = run(list(argv or []), stdin)
    sys.stdout.write(out)
    sys.stderr.write(err)
    return code


def a_handoff(**fields):
    """A handoff that is valid, with these fields instead of its own. `body` is added to the body."""
    from session_glue import schema

    extra = fields.pop("body", "")
    frontmatter = {
        "session_id": "2026-06-30-1530-adapter",
        "session_date": "2026-06-30",
        "generated_at": "2026-06-30T15:30:00Z",
        "schema_version": 1,
        "project_root": "/path/to/project",
        "repo_root": "/path/to/project",
        "current_branch": "main",
        "head_commit": "abc1234",
        "agent": "adapter",
        "status": "in_progress",
        "primary_goal": "Answer one question through the command line",
        "active_context_files": [],
        "completed_tasks": [],
        "next_todo_items": ["Answer the question"],
        "known_issues": [],
        "search_tags": ["adapter"],
        "validation": [{"command": "true", "result": "passed", "notes": "none"}],
    }
    frontmatter.update(fields)
    sections = "\n".join(f"{section}\n" for section in schema.REQUIRED_BODY_SECTIONS)
    return document(frontmatter, f"{sections}\n{extra}\n")


def document(frontmatter, body):
    from session_glue import schema

    return f"---\n{schema.dump_mapping(frontmatter)}\n---\n\n{body}"


def create(root, text, *flags):
    return run(["create", "--input", "-", "--repo-root", str(root), *flags], text)


def answer(text, *flags, like=None):
    """Archives a handoff in a directory of its own, which has the ignore files of `like`."""
    with tempfile.TemporaryDirectory() as root:
        for name in (".gitignore", ".git/info/exclude"):
            if like is not None and (Path(like) / name).is_file():
                (Path(root) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(like) / name, Path(root) / name)
        code, out, err = create(root, text, *flags)
        archives = [path.name for path in Path(root).glob(".agent-history/sessions/*.md")]
        return code, out, err, archives


def create_handoff(*, repo_root, frontmatter, body, handoff):
    from session_glue import writer

    code, _, err = create(repo_root, document(frontmatter, body))
    if code != 0:
        raise writer.HandoffWriteError(err)


def slugify_session_name(name):
    code, _, err, archives = answer(a_handoff(session_id="" if name is None else name))
    assert code == 0, err
    return archives[0].removesuffix(".md")


def lint_first_next_action(item):
    code, _, err, _ = answer(a_handoff(next_todo_items=[item]))
    return None if code == 0 else err


def leak_warnings(text, like=None):
    code, _, err, _ = answer(a_handoff(body=text), "--no-exclude", like=like)
    assert code == 0, err
    lines = [line.partition("WARNING: ")[2] for line in err.splitlines()]
    return [line for line in lines if line]


def scan_secrets(text):
    lead = "possible secret in handoff: "
    return [line.removeprefix(lead) for line in leak_warnings(text) if line.startswith(lead)]


def find_personal_paths(text):
    lead = "personal absolute path in handoff: "
    return [line.removeprefix(lead).partition(" (")[0] for line in leak_warnings(text) if line.startswith(lead)]


def agent_history_ignored(root):
    warnings = leak_warnings("/home/alice/project/notes.py", like=root)
    return not any("personal absolute path" in line for line in warnings)


def scan_handoff(text, root):
    return leak_warnings(text, like=root)


def check_git_drift(repo_root, branch, commit):
    code, _, err = create(repo_root, a_handoff(current_branch=branch, head_commit=commit))
    assert code == 0, err
    code, out, err = run(["status", "--repo-root", str(repo_root), "--git"])
    assert code == 0, err
    return [line.removeprefix("git: ") for line in out.splitlines() if line.startswith("git: ")]


def status_of(root):
    code, out, err = run(["status", "--repo-root", str(root)])
    assert code == 0, err
    return out


def decision_count(root):
    return int(re.search(r"(?m)^decisions: (\d+)$", status_of(root))[1])


def standing_decisions(root):
    return re.findall(r"(?m)^  (- \[.*)$", status_of(root))


def validate_history(root, check_sessions=False, **_):
    code, _, err = run(["validate", "--repo-root", str(root), *(["--sessions"] if check_sessions else [])])
    problems = [line.removeprefix("  - ") for line in err.splitlines() if line.startswith("  - ")]
    assert (code != 0) == bool(problems), err
    return problems


REPLACED = {
    "cli": [main],
    "writer": [create_handoff, slugify_session_name],
    "schema": [lint_first_next_action],
    "leakscan": [scan_secrets, find_personal_paths, agent_history_ignored, scan_handoff],
    "gitcheck": [check_git_drift],
    "reader": [decision_count, standing_decisions],
    "validator": [validate_history],
}


def pytest_configure(config):
    import importlib

    for module, functions in REPLACED.items():
        module = importlib.import_module(f"session_glue.{module}")
        for function in functions:
            assert hasattr(module, function.__name__), f"this Session Glue has no {module}.{function.__name__}"
            setattr(module, function.__name__, function)


import pytest  # noqa: E402


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if call.when == "setup":
        item.starts_before = starts
    failed_early = call.when != "call" and report.failed
    if (call.when == "call" or failed_early) and starts > item.starts_before:
        path, _, test = item.nodeid.partition("::")
        with OUTCOMES.open("a", encoding="utf-8") as file:
            file.write(f"{report.outcome} {Path(path).name}::{test}\n")
