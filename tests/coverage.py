#!/usr/bin/env python3
"""Lists the lines of the directories on which everything rests that no test reaches, and why.

usage: python3 tests/coverage.py [--again] [FILTER...]

Builds the program and the tests with counters into `target-coverage`, runs the unit tests and those integration tests
whose names contain a FILTER (all of them without one), and prints how many lines of each file were reached. Each line that
was not reached needs an entry in `tests/coverage-reasons.toml`. A line without one is printed, and makes the exit code 1.
`--again` adds to what the last run counted: it runs only the tests whose names contain a FILTER, and nothing without one.

Needs llvm-profdata and llvm-cov of the LLVM version that `rustc -vV` names: those of `rustup component add llvm-tools`, or
those on the PATH with or without the version in the name (`llvm-cov-22`, in Debian's package llvm-22).

The counters are in a file that each process maps, so a process that a test kills counts what it reached.
"""
import collections, glob, json, os, pathlib, re, shutil, subprocess, sys, tomllib

DIRECTORIES = ["src/engine", "src/checkpoint", "src/publish", "src/guard"]
ROOT = pathlib.Path(__file__).resolve().parent.parent
REASONS = ROOT / "tests" / "coverage-reasons.toml"
TARGET = ROOT / "target-coverage"
COUNTS = TARGET / "counts"
# In the file of `%c`, the counters are mapped; on Linux, the compiler has to place them so that this is possible.
FLAGS = "-C instrument-coverage -C llvm-args=-runtime-counter-relocation"


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def tool(name):
    """An LLVM tool of the compiler's version: newer or older ones may not read its counters."""
    sysroot = output_of("rustc", "--print", "sysroot").strip()
    major = re.search(r"LLVM version: (\d+)", output_of("rustc", "-vV")).group(1)
    on_path = [shutil.which(f"{name}-{major}"), shutil.which(name)]
    for found in [*glob.glob(f"{sysroot}/lib/rustlib/*/bin/{name}"), *filter(None, on_path)]:
        if f"LLVM version {major}." in output_of(found, "--version"):
            return found
    sys.exit(f"`{name}` of LLVM {major} is missing: run `rustup component add llvm-tools` or install llvm-{major}")


def build():
    """The programs with counters: the tests of the library, the integration tests, and the program itself."""
    # The programs that the compiler starts count, too, and nobody asks for it.
    env = dict(os.environ, RUSTFLAGS=FLAGS, CARGO_TARGET_DIR=str(TARGET))
    env["LLVM_PROFILE_FILE"] = str(TARGET / "build" / "%m.profraw")
    command = ["cargo", "test", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    shutil.rmtree(TARGET / "build", ignore_errors=True)
    built = {}
    for line in lines:
        message = json.loads(line)
        if message.get("executable"):
            built[message["target"]["name"], message["profile"]["test"]] = message["executable"]
    return built["agent_handover", True], built["it", True], str(TARGET / "debug" / "agent-handover")


def run(library, integration, program, filters, is_again):
    if not is_again:
        shutil.rmtree(COUNTS, ignore_errors=True)
    COUNTS.mkdir(parents=True, exist_ok=True)
    env = dict(os.environ, LLVM_PROFILE_FILE=str(COUNTS / "%m%c.profraw"), CARGO_MANIFEST_DIR=str(ROOT))
    # The files of the counters are there before a test kills a process that makes one. Other users write to them, too.
    for command in ([program, "--version"], [library, "--list"], [integration, "--list"]):
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    COUNTS.chmod(0o777)
    for file in COUNTS.iterdir():
        file.chmod(0o666)
    for command in ([library, *filters], [integration, *filters]) if is_again else ([library], [integration, *filters]):
        if subprocess.run(command, cwd=ROOT, env=env, stdout=open(COUNTS / "log", "a")).returncode != 0:
            print(f"some tests failed, see {COUNTS / 'log'}; what they reached counts all the same", file=sys.stderr)


def counted(library, program):
    """For each source file what LLVM knows about its lines."""
    whole = COUNTS / "all.profdata"
    output_of(tool("llvm-profdata"), "merge", "-sparse", "-o", whole, *COUNTS.glob("*.profraw"))
    command = [tool("llvm-cov"), "export", "-instr-profile", whole, program, "-object", library, "--skip-functions"]
    files = json.loads(output_of(*command))["data"][0]["files"]
    return {pathlib.Path(file["filename"]): file["segments"] for file in files}


def unreached(segments):
    """The numbers of the lines that have code and that nothing reached, and how many lines have code."""
    lines = {}
    for at, (line, _, count, has_count, is_entry, is_gap) in enumerate(segments):
        if not has_count or is_gap:
            continue
        end = segments[at + 1][0] if at + 1 < len(segments) else line
        for each in range(line, max(end, line + 1)):
            lines[each] = max(lines.get(each, 0), count)
    return sorted(line for line, count in lines.items() if count == 0), len(lines)


def is_test(path):
    return path.name in ("tests.rs", "property.rs")


def code_lines(text):
    """How many lines of a file come before its tests."""
    return text.split("#[cfg(test)]\nmod tests {")[0].count("\n")


def name_of(path, lines, number):
    """How the reasons name a line: its file, the function around it and its text, which stay when other lines change."""
    heads = (re.match(r"\s*(?:pub(?:\([a-z]+\))? )?(?:const )?fn (\w+)", line) for line in reversed(lines[:number]))
    function = next((head.group(1) for head in heads if head), "")
    return f"{path.relative_to(ROOT)} {function}: {lines[number - 1].strip()}"


def named(path, lines, numbers):
    """The lines that need a reason.

    A line that only closes brackets needs none, like the `?` at the end of a line that was reached: what LLVM counts there is
    the way out of a call that failed, or around a block. `else {` belongs to the line before it or after it.
    """
    for number in numbers:
        if not re.fullmatch(r"[\s)}\];,?]*(else \{)?|//.*", lines[number - 1].strip()):
            yield number, name_of(path, lines, number)


def reasons():
    """The reason of each line by its name."""
    table = tomllib.loads(REASONS.read_text()) if REASONS.exists() else {}
    return {line: reason["why"] for reason in table.get("reason", []) for line in reason["lines"]}


def main():
    arguments = sys.argv[1:]
    if arguments[:1] in (["--help"], ["-h"]):
        return print(__doc__)
    is_again = arguments[:1] == ["--again"]
    filters = arguments[1:] if is_again else arguments
    library, integration, program = build()
    if filters or not is_again:
        run(library, integration, program, filters, is_again)
    known, used, missing = reasons(), collections.Counter(), []
    files = counted(library, program)
    for directory in DIRECTORIES:
        reached = of = 0
        for path in sorted(path for path in files if ROOT / directory in path.parents and not is_test(path)):
            text = path.read_text()
            code = code_lines(text)
            missed, lines = unreached([segment for segment in files[path] if segment[0] <= code])
            reached, of = reached + lines - len(missed), of + lines
            for number, name in named(path, text.splitlines(), missed):
                used[name] += 1
                if name not in known:
                    missing.append((path.relative_to(ROOT), number, name))
            if missed:
                print(f"{path.relative_to(ROOT)}: {lines - len(missed)} of {lines}")
        print(f"{directory}: {reached} of {of} lines, {100 * reached / max(of, 1):.1f} %\n")
    for name in known.keys() - used.keys():
        print(f"note: this is reached now, or gone, and needs no reason: {name}")
    print(f"{sum(used[name] for name in known)} places have a reason, {len(missing)} have none")
    for path, number, name in missing:
        print(f"{path}:{number}  {name}")
    sys.exit(1 if missing else 0)


main()
