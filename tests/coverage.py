#!/usr/bin/env python3
"""Lists the lines of the directories on which everything rests that no test reaches.

usage: python3 tests/coverage.py [FILTER...]

Builds the program and the tests with counters into `target-coverage`, runs the unit tests and those integration tests
whose names contain a FILTER (all of them without one), and prints for each file how many lines were reached and the
numbers of the others. Needs `rustup component add llvm-tools`. A process that a test kills counts nothing.
"""
import glob, json, os, pathlib, shutil, subprocess, sys

DIRECTORIES = ["src/engine", "src/checkpoint", "src/publish", "src/guard"]
ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "target-coverage"
COUNTS = TARGET / "counts"


def tool(name):
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    found = glob.glob(f"{sysroot}/lib/rustlib/*/bin/{name}")
    if not found:
        sys.exit(f"`{name}` is missing: run `rustup component add llvm-tools`")
    return found[0]


def build():
    """The programs with counters: the tests of the library, the integration tests, and the program itself."""
    # The programs that the compiler starts count, too, and nobody asks for it.
    env = dict(os.environ, RUSTFLAGS="-C instrument-coverage", CARGO_TARGET_DIR=str(TARGET))
    env["LLVM_PROFILE_FILE"] = str(TARGET / "build" / "%m.profraw")
    command = ["cargo", "test", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout.splitlines()
    built = {}
    for line in lines:
        message = json.loads(line)
        if message.get("executable"):
            built[message["target"]["name"], message["profile"]["test"]] = message["executable"]
    return built["agent_handover", True], built["it", True], str(TARGET / "debug" / "agent-handover")


def uncovered(segments):
    """The lines that have code and that nothing reached, by the segments of one file."""
    lines = {}
    for at, (line, _, count, has_count, is_entry, is_gap) in enumerate(segments):
        if not has_count or is_gap:
            continue
        end = segments[at + 1][0] if at + 1 < len(segments) else line
        for each in range(line, max(end, line + 1)):
            lines[each] = max(lines.get(each, 0), count)
    return sorted(line for line, count in lines.items() if count == 0), len(lines)


def ranges(numbers):
    text, start, last = [], None, None
    for number in numbers + [None]:
        if last is not None and number != last + 1:
            text.append(str(start) if start == last else f"{start}-{last}")
            start = number
        start = number if start is None else start
        last = number
    return ", ".join(text)


def is_test(path):
    return path.name in ("tests.rs", "property.rs")


def code_lines(path):
    """How many lines of a file come before its tests."""
    text = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
    return text.count("\n")


def main():
    if sys.argv[1:2] in (["--help"], ["-h"]):
        return print(__doc__)
    profdata, cov = tool("llvm-profdata"), tool("llvm-cov")
    library, integration, program = build()
    shutil.rmtree(TARGET / "build", ignore_errors=True)
    shutil.rmtree(COUNTS, ignore_errors=True)
    COUNTS.mkdir(parents=True)
    # Each program adds to a few files, instead of leaving one for each of thousands of processes.
    env = dict(os.environ, LLVM_PROFILE_FILE=str(COUNTS / "%4m.profraw"), CARGO_MANIFEST_DIR=str(ROOT))
    for command in ([library], [integration, *sys.argv[1:]]):
        if subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL).returncode != 0:
            print("some tests failed; what they reached counts all the same", file=sys.stderr)
    whole = COUNTS / "all.profdata"
    subprocess.run([profdata, "merge", "-sparse", "-o", whole, *COUNTS.glob("*.profraw")], check=True)
    export = [cov, "export", "-instr-profile", whole, program, "-object", library, "--skip-functions"]
    files = json.loads(subprocess.run(export, check=True, capture_output=True, text=True).stdout)["data"][0]["files"]
    for directory in DIRECTORIES:
        reached = of = 0
        for file in sorted(files, key=lambda file: file["filename"]):
            path = pathlib.Path(file["filename"])
            if ROOT / directory not in path.parents or is_test(path):
                continue
            code = code_lines(path)
            missed, lines = uncovered([segment for segment in file["segments"] if segment[0] <= code])
            reached, of = reached + lines - len(missed), of + lines
            if missed:
                print(f"{path.relative_to(ROOT)}: {lines - len(missed)} of {lines}; not {ranges(missed)}")
        print(f"{directory}: {reached} of {of} lines, {100 * reached / max(of, 1):.1f} %\n")


main()
