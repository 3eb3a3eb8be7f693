#!/usr/bin/env python3
"""Runs Session Glue's own tests against this program under the name `glue`.

    python3 tests/peers/session_glue.py                         # downloads the source distribution with pip
    python3 tests/peers/session_glue.py --sdist DIR_OR_TAR_GZ   # uses one that is here already
    python3 tests/peers/session_glue.py --binary target/release/agent-handover

The tests of Session Glue call Python functions; `glue_adapter.py` turns those calls into command lines. A test counts if
it starts the command and if Session Glue itself, started through the same adapter, passes it. Of these tests this program
must pass at least 78, and ON_PURPOSE must list exactly those that it fails, each with its reason.

It needs pytest and, without `--sdist`, the network. Where either is missing it says so and exits with 0.
Nothing of Session Glue is copied into this repository.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
FILES = ["writer", "validator", "reader", "standing", "leakscan", "gitcheck"]
LEAST = 78

NO_GIT = "its `.git` has nothing but info/exclude, and a `.git` that git cannot use is reported instead of ignored"
DIGEST = "a file name that is made from an unsafe id has a digest, so that no two sessions share a file"
ON_PURPOSE = {
    "test_writer.py::test_same_session_id_recreate_still_overwrites":
        "archives do not change: the second handoff gets an id of its own and supersedes the first",
    "test_writer.py::test_slug_collision_pair_actually_collides": DIGEST,
    "test_writer.py::test_slugify_prevents_path_traversal[../../etc/passwd-etc-passwd]": DIGEST,
    "test_writer.py::test_slugify_prevents_path_traversal[a/b/c-a-b-c]": DIGEST,
    "test_writer.py::test_slugify_prevents_path_traversal[....-session]": DIGEST,
    "test_validator.py::test_sessions_flag_validates_archived_files":
        "an archive that was edited is reported without `--sessions`, too, because LATEST.md no longer equals it",
    "test_leakscan.py::test_agent_history_ignored_via_git_info_exclude": NO_GIT,
    "test_leakscan.py::test_scan_handoff_personal_path_suppressed_by_git_info_exclude": NO_GIT,
}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(0)


def unpacked(sdist, scratch):
    """The directory of the source distribution: given, unpacked, or downloaded."""
    if sdist is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        if subprocess.run([*command, "--dest", str(scratch), "session-glue"]).returncode != 0:
            skip("pip cannot download session-glue; pass --sdist with its source distribution")
        sdist = next(scratch.glob("session_glue-*.tar.gz"))
    if sdist.is_dir():
        return sdist.resolve()
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch, filter="data")
    return next(path for path in scratch.glob("session_glue-*") if path.is_dir())


def outcomes(source, scratch, name, command):
    """Runs the tests with a command in the place of `glue`. Returns the outcome of each test that started it."""
    home = scratch / f"home of {name}"
    home.mkdir()
    recorded = scratch / f"{name}.txt"
    recorded.touch()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "PYTHONPATH": os.pathsep.join([str(source), str(HERE)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GLUE_COMMAND": shlex.join(command),
        "GLUE_OUTCOMES": str(recorded),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    tests = [str(source / "tests" / f"test_{file}.py") for file in FILES]
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "glue_adapter", "-p", "no:cacheprovider", "--tb=short"]
    log = scratch / f"{name}.log"
    with log.open("w") as output:
        ended = subprocess.run(
            [*pytest, "--basetemp", str(scratch / f"work of {name}"), *tests],
            cwd=source, env=environment, stdout=output, stderr=subprocess.STDOUT,
        )
    # 1 means that tests failed; everything above means that they did not run.
    if ended.returncode > 1:
        sys.exit(f"pytest failed:\n{log.read_text()}")
    lines = recorded.read_text(encoding="utf-8").splitlines()
    return {test: outcome for outcome, _, test in (line.partition(" ") for line in lines)}, log


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sdist", type=Path, help="the source distribution of session-glue, packed or not")
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "target/debug/agent-handover")
    arguments = parser.parse_args()
    if not arguments.binary.exists():
        sys.exit(f"{arguments.binary} does not exist: run `cargo build` first")
    if subprocess.run([sys.executable, "-c", "import pytest"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("pytest is not installed for this Python")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        source = unpacked(arguments.sdist, scratch)
        glue = scratch / "glue"
        glue.symlink_to(arguments.binary.resolve())
        theirs, _ = outcomes(source, scratch, "theirs", [sys.executable, "-m", "session_glue"])
        ours, log = outcomes(source, scratch, "ours", [str(glue)])
        counted = [test for test, outcome in theirs.items() if outcome == "passed"]
        passed = [test for test in counted if ours.get(test) == "passed"]
        failed = [test for test in counted if ours.get(test) != "passed"]
        print(f"Session Glue passes {len(counted)} of {len(theirs)} tests by its command line")
        print(f"agent-handover passes {len(passed)} of these {len(counted)}")
        for test in failed:
            print(f"  fails {test}: {ON_PURPOSE.get(test, 'NOT ON PURPOSE')}")
        for test in sorted(ON_PURPOSE.keys() & set(passed)):
            print(f"  passes {test}, which is listed as failing on purpose")
        unexpected = [test for test in failed if test not in ON_PURPOSE]
        if unexpected:
            print(log.read_text())
        needless = ON_PURPOSE.keys() - set(failed)
        if len(passed) < LEAST or unexpected or needless:
            sys.exit(f"at least {LEAST} must pass, and exactly the others must be listed with a reason")


if __name__ == "__main__":
    main()
