#!/usr/bin/env python3
"""Runs the suites about reliability and writes what they found to docs/reliability.md.

    python3 tests/reliability.py                 the samples that `cargo test` takes
    python3 tests/reliability.py --full          every case of every sweep, long campaigns (hours)
    python3 tests/reliability.py --fuzz 1000000  also that many texts for each parser
    sudo python3 tests/reliability.py --power 20 also power cuts, that many rounds (needs root and loop devices)

The page has only figures of this run. What was not run says so. A test that fails is a violation.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reliability.md"

# An area is a title, what is checked, and which tests belong to it. A test belongs to the first area that fits.
AREAS = [
    ("Killed at a system call", "the program is killed at the calls that change a file; the next command finishes",
     r"system_call"),
    ("Machines that share a branch", "clones publish, pull, edit and are killed, with any clock; all end with the same files",
     r"^machines::|^machines_beside::|^shared_branch::.*machines"),
    ("Killed in a command, a hook or a delivery", "after the next command, the files are those of a run that nobody killed",
     r"kill|_die|death|^crash::"),
    ("Full, failing and read-only disks", "nothing that was reported as done is lost, and the message says what to do",
     r"disk|read_only|full_home"),
    ("Many processes at once", "nothing is lost, nothing is doubled, and everybody gets an answer",
     r"^concurrency::|^hook_load::|concurrent_|"
     r"(sessions|commands|runs|capture|searches|installs|calls|writes|requests|fifty|ten|twenty)[a-z_]*_at_once"),
    ("A stranger's repository", "nothing that it names is run, read or written outside it, and nothing waits",
     r"^hostile_|^strangers::|^provenance::|^whose_state::|^gate::|^bundle_security::"),
]
CAMPAIGNS = r"^machines::long_campaigns|^machines_beside::|^shared_branch::sixteen_machines"


def output(arguments, **options):
    return subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True, **options)


def areas(names):
    """The names of the tests of each area."""
    found = [[] for _ in AREAS]
    for name in names:
        for number, (_, _, pattern) in enumerate(AREAS):
            if re.search(pattern, name):
                found[number].append(name)
                break
    return found


def run_tests(is_full):
    """Runs the tests of all areas, and returns what became of each, and how many commands each ran and killed."""
    environment = dict(os.environ)
    if is_full:
        environment["SWEEPS"] = "all"
    # Cargo names the binary of the tests on its last line.
    built = subprocess.run(["cargo", "test", "--test", "it", "--no-run", "--message-format=json"], cwd=ROOT,
                           stdout=subprocess.PIPE, text=True, check=True)
    messages = (json.loads(line) for line in built.stdout.splitlines())
    tests = [message["executable"] for message in messages
             if message.get("target", {}).get("name") == "it" and message.get("executable")][-1]
    listed = output([tests, "--list"]).stdout.splitlines()
    names = [line.removesuffix(": test") for line in listed if line.endswith(": test")]
    wanted = [name for group in areas(names) for name in group]
    with tempfile.NamedTemporaryFile() as tally:
        environment["TALLY"] = tally.name
        printed = output([tests, "--exact", *wanted], env=environment).stdout
        if is_full:
            campaigns = [name for name in wanted if re.search(CAMPAIGNS, name)]
            printed += output([tests, "--ignored", "--exact", *campaigns], env=environment).stdout
        counted = collections.Counter(), collections.Counter()
        for line in pathlib.Path(tally.name).read_text().splitlines():
            code, _, name = line.partition(" ")
            counted[0][name] += 1
            counted[1][name] += code == "137"
    ended = {}
    for name, how in re.findall(r"^test (\S+) \.\.\. (ok|FAILED|ignored)", printed, re.M):
        if how != "ignored":
            ended[name] = how
    return areas(wanted), ended, *counted


def fuzz(runs):
    command = ["cargo", "run", "--release", "--manifest-path", "fuzz/Cargo.toml", "--", "--runs", str(runs)]
    found = re.search(r"executions: (\d+), failures: (\d+)", output(command).stdout)
    return found and (int(found[1]), int(found[2]))


def power_cuts(rounds):
    """Cuts and losses by file system."""
    printed = output([sys.executable, "tests/power/cuts.py", "--rounds", str(rounds)]).stdout
    found = collections.defaultdict(lambda: [0, 0])
    for kind, cuts, lost in re.findall(r"^(\w+) +[\w-]+ +(\d+) cuts, (\d+) lost", printed, re.M):
        found[kind][0] += int(cuts)
        found[kind][1] += int(lost)
    return dict(found)


def page(groups, ended, commands, kills, fuzzed, cuts, is_full):
    def described(title, what, tests, ran, killed, violations, how):
        return f"| {title} | {what} | {tests} | {ran} | {killed} | {violations} | {how} |"

    commit = output(["git", "log", "-1", "--format=%h"]).stdout.strip()
    date = output(["date", "-u", "+%Y-%m-%d"]).stdout.strip()
    mode = "every case" if is_full else "the samples that `cargo test` takes"
    lines = [
        "# Reliability",
        "",
        f"Measured on {date} at commit {commit}, on {os.uname().sysname} {os.uname().machine}: {mode}. This page is made",
        "by `python3 tests/reliability.py`; its other options are in the header of that file.",
        "",
        "A violation is a test that fails: something was lost, doubled, leaked, wrong or not answered. A command is a process",
        "that a test started and waited for.",
        "",
        "| area | what is checked | tests | commands | of them killed | violations | run it alone |",
        "|---|---|---|---|---|---|---|",
    ]
    details = ["", "## By suite", "", "| suite | area | tests | commands | of them killed | violations |", "|---|---|---|---|---|---|"]
    for (title, what, _), names in zip(AREAS, groups):
        names = [name for name in names if name in ended]
        count = lambda counted, some: f"{sum(counted[name] for name in some):,}"
        failed = lambda some: sum(ended[name] == "FAILED" for name in some)
        suites = sorted({name.split("::")[0] for name in names})
        alone = f"`cargo test --test it -- {' '.join(suite + '::' for suite in suites[:2])}`" + (" …" if len(suites) > 2 else "")
        lines.append(described(title, what, len(names), count(commands, names), count(kills, names), failed(names), alone))
        for suite in suites:
            some = [name for name in names if name.startswith(f"{suite}::")]
            details.append(f"| `{suite}` | {title} | {len(some)} | {count(commands, some)} | {count(kills, some)} | {failed(some)} |")
    for kind, (number, lost) in sorted(cuts.items()):
        lines.append(described(f"Power cuts on {kind}", "what a command reported as done is there after the cut",
                               "", f"{number:,} cuts", "", lost, "`sudo python3 tests/power/cuts.py`"))
    if not cuts:
        lines.append(described("Power cuts", "what a command reported as done is there after the cut",
                               "", "not run", "", "not run", "`sudo python3 tests/power/cuts.py`"))
    executions, failures = (f"{fuzzed[0]:,} texts", fuzzed[1]) if fuzzed else ("not run", "not run")
    lines.append(described("Changed texts", "no parser of foreign bytes panics, hangs or breaks its promise",
                           "", executions, "", failures, "`fuzz/README.md`"))
    lines += details
    lines += ["", "`SWEEPS=all` before a command tries every case instead of a sample. [Durability](design/durability.md) explains",
              "what each of these promises means.", ""]
    return "\n".join(lines)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--full", action="store_true")
    arguments.add_argument("--fuzz", type=int, metavar="N", help="texts for each parser")
    arguments.add_argument("--power", type=int, metavar="ROUNDS")
    wanted = arguments.parse_args()
    groups, ended, commands, kills = run_tests(wanted.full)
    fuzzed = fuzz(wanted.fuzz) if wanted.fuzz else None
    cuts = power_cuts(wanted.power) if wanted.power else {}
    PAGE.write_text(page(groups, ended, commands, kills, fuzzed, cuts, wanted.full))
    failed = [name for name, how in ended.items() if how == "FAILED"]
    print(f"{len(ended)} tests, {len(failed)} failed; wrote {PAGE.relative_to(ROOT)}")
    for name in failed:
        print(f"    {name}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
