#!/usr/bin/env python3
"""Cuts the power after and during commands, and checks that nothing is lost.

    sudo python3 tests/power/cuts.py [--binary FILE] [--rounds N] [--fs ext4,xfs,btrfs] [--cases NAME,...] [--seed N]

Each case runs on a file system in an image file behind a loop device. A cut is a copy of the image without a sync: it
has what the file system had written to the device, and nothing that was only in memory. The copy is mounted in the place
of the original, and everything that a command had acknowledged must be there.

Two kinds of cut:
  done    the copy is made as soon as the command has ended with success
  random  commands run one after another, and are killed at a random moment

Needs root, loop devices, mkfs for each file system, and git. What is missing is skipped with a line.
The mounts are below /tmp/agent-handover-power, and are removed at the end.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

PLACE = "/tmp/agent-handover-power"
MOUNT = f"{PLACE}/disk"
SIZES = {"ext4": 96, "xfs": 320, "btrfs": 160}
MKFS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"], "btrfs": ["mkfs.btrfs", "-q", "-f"]}
BACKEND = '[backend]\ntype = "git"\npush = {push}\n'


def call(argv, **options):
    options.setdefault("check", True)
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


class Disk:
    """A file system in an image file."""

    def __init__(self, kind):
        self.kind = kind
        self.image = f"{PLACE}/{kind}.img"
        self.loop = None

    def make(self):
        with open(self.image, "wb") as image:
            image.truncate(SIZES[self.kind] << 20)
        call(MKFS[self.kind] + [self.image])
        self.mount()

    def mount(self):
        self.loop = call(["losetup", "--find", "--show", "--direct-io=off", self.image]).stdout.strip()
        # The kernel may still be busy with the original, which has the same id.
        options = ["-o", "nouuid"] if self.kind == "xfs" else []
        mounted = call(["mount", "-t", self.kind, *options, self.loop, MOUNT], check=False)
        if mounted.returncode != 0:
            raise SystemExit(f"cannot mount the copy: {mounted.stderr.strip()}")

    def remove(self):
        """Unmounts, whatever state this is in."""
        for _ in range(100):
            if not os.path.ismount(MOUNT):
                break
            if call(["umount", MOUNT], check=False).returncode != 0:
                time.sleep(0.1)
        if os.path.ismount(MOUNT):
            call(["umount", "-l", MOUNT], check=False)
        if self.loop:
            call(["losetup", "-d", self.loop], check=False)
            self.loop = None

    def snapshot(self):
        """Copies the image without a sync. Two equal copies in a row are one moment."""
        copies = [f"{PLACE}/copy-{n}.img" for n in (0, 1)]
        for _ in range(100):
            for copy in copies:
                call(["cp", "--sparse=always", self.image, copy])
            if call(["cmp", "-s", *copies], check=False).returncode == 0:
                os.remove(copies[1])
                return copies[0]
        raise SystemExit("the image does not come to rest")

    def cut(self):
        """Replaces the file system by what a power cut would have left of it."""
        copy = self.snapshot()
        self.remove()
        os.replace(copy, self.image)
        self.mount()


class World:
    """A user with a project on the disk."""

    def __init__(self, binary):
        self.binary = binary
        self.home, self.root, self.remote = f"{MOUNT}/home", f"{MOUNT}/project", f"{MOUNT}/remote.git"
        self.env = {"HOME": self.home, "PATH": os.environ["PATH"], "TMPDIR": f"{PLACE}/tmp"}
        for name, value in [("AUTHOR_NAME", "A"), ("AUTHOR_EMAIL", "a@example.com"), ("COMMITTER_NAME", "A"),
                            ("COMMITTER_EMAIL", "a@example.com")]:
            self.env[f"GIT_{name}"] = value

    def make(self, config):
        for directory in (self.home, self.root):
            os.makedirs(directory)
        self.git("init", "-q", "-b", "main")
        self.git("init", "-q", "--bare", "-b", "main", self.remote)
        self.git("remote", "add", "origin", self.remote)
        with open(f"{self.root}/handover.toml", "w") as file:
            file.write(config)
        self.git("add", "handover.toml")
        self.git("commit", "-qm", "config")

    def git(self, *arguments, check=True):
        return call(["git", *arguments], cwd=self.root, env=self.env, check=check)

    def run(self, *arguments):
        return subprocess.run([self.binary, *arguments], cwd=self.root, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)

    def must(self, *arguments, codes=(0,)):
        ended = self.run(*arguments)
        if ended.returncode not in codes:
            raise Lost(f"{' '.join(arguments)} ended with {ended.returncode}: {ended.stderr.strip()[:600]}")
        return ended

    def texts(self, *directories):
        """Every file below these directories of the project, in one text."""
        found = []
        for directory in directories:
            for below, _, names in os.walk(f"{self.root}/{directory}"):
                for name in names:
                    with open(os.path.join(below, name), errors="replace") as file:
                        found.append(file.read())
        return "\n".join(found)


class Lost(Exception):
    """Something is not there after the cut."""


class Case:
    """What is done again and again, and what must be there after a cut. `prepare` happens before, and is synced."""

    config = ""
    # The exit codes that promise something.
    codes = (0,)

    def prepare(self, world):
        world.must("run", "--note", "before")

    def argv(self, n):
        raise NotImplementedError

    def check(self, world, acknowledged):
        """Looks before anything is resumed."""

    def check_later(self, world, acknowledged):
        """Looks after everything was resumed."""
        text = world.texts("memory", ".agent-history")
        for n in acknowledged:
            if word(n) not in text:
                raise Lost(f"{word(n)} is not in the files")

    def resume(self, world):
        world.must("run", "--resume")
        world.must("run", "--note", "after")
        world.must("check", codes=(2,))


def word(n):
    return f"word{n}end"


class RunNull(Case):
    def argv(self, n):
        return ["run", "--note", f"did {word(n)}"]

    def check(self, world, acknowledged):
        self.check_later(world, acknowledged)


class RunGit(Case):
    config = BACKEND.format(push="false")

    def argv(self, n):
        return ["run", "--note", f"did {word(n)}"]

    def branch(self, world):
        return ("-C", world.root)

    def check(self, world, acknowledged):
        for n in acknowledged:
            ended = world.git(*self.branch(world), "grep", "-q", word(n), "agent-handover", check=False)
            if ended.returncode != 0:
                raise Lost(f"{word(n)} is not on the branch: {ended.stderr.strip()[:300]}")

    def check_later(self, world, acknowledged):
        super().check_later(world, acknowledged)
        self.check(world, acknowledged)
        fsck = world.git(*self.branch(world), "fsck", "--no-dangling", "--no-reflogs", check=False)
        if "agent-handover" in fsck.stderr and fsck.returncode != 0:
            raise Lost(f"the branch is damaged: {fsck.stderr.strip()[:300]}")


class RunPush(RunGit):
    config = BACKEND.format(push="true")

    def branch(self, world):
        return (f"--git-dir={world.remote}",)


class Push(RunPush):
    """Each round has something new in the files, and a push."""

    def argv(self, n):
        note = f'"$0" run --no-push --quiet --note "did {word(n)}" && exec "$0" push'
        return ["sh", "-c", note]


class Memory(Case):
    def argv(self, n):
        return ["memory", "add", "decision", f"decided {word(n)}"]

    def check(self, world, acknowledged):
        # A full category moves its oldest items to layer 1.
        listed = world.must("memory", "list", "--json").stdout + world.texts("memory/layer1")
        for n in acknowledged:
            if word(n) not in listed:
                raise Lost(f"{word(n)} is not listed")


class History(Case):
    def argv(self, n):
        return ["history", "create", "--goal", f"reach {word(n)}", "--summary", "halfway", "--next", "write the parser"]

    def check(self, world, acknowledged):
        self.check_later(world, acknowledged)

    def resume(self, world):
        super().resume(world)
        # The `run` above finishes what was journaled, so that what is derived agrees with the archives.
        world.must("history", "validate")


class Import(History):
    """Each bundle was exported by a project elsewhere."""

    bundles = f"{PLACE}/bundles"

    def prepare(self, world):
        super().prepare(world)
        if os.path.exists(self.bundles):
            return
        os.makedirs(f"{PLACE}/elsewhere/home")
        options = {"cwd": f"{PLACE}/elsewhere", "env": {**world.env, "HOME": f"{PLACE}/elsewhere/home"}}
        os.makedirs(self.bundles)
        for n in range(60):
            call([world.binary, *History.argv(self, n)], **options)
            call([world.binary, "history", "export", "--format", "json", "-o", f"{self.bundles}/{n}.json"], **options)

    def argv(self, n):
        return ["history", "import", "--allow-unsigned", "--input", f"{self.bundles}/{n % 60}.json"]

    def check_later(self, world, acknowledged):
        # The bundles are imported again when all of them were.
        super().check_later(world, [n % 60 for n in acknowledged])


class Keygen(Case):
    def argv(self, n):
        return ["keygen", "--output", f"../{word(n)}.pem"]

    def check(self, world, acknowledged):
        goal = f"sign {len(acknowledged)} {time.monotonic_ns()}"
        world.must("history", "create", "--goal", goal, "--summary", "halfway", "--next", "write the parser")
        for n in acknowledged:
            world.must("history", "export", "--format", "json", "--sign-key", f"../{word(n)}.pem", "--signer", "A")

    def check_later(self, world, acknowledged):
        left = [name for name in os.listdir(MOUNT) if name.endswith(".tmp")]
        if left:
            raise Lost(f"a part of a key is left: {left}")


class Compact(Case):
    """The notes of finished months. One month each time."""

    def prepare(self, world):
        super().prepare(world)
        for n in range(40):
            year, month = 2020 + n // 12, n % 12 + 1
            directory = f"{world.root}/memory/layer1/{year}-{month:02}"
            os.makedirs(directory)
            for day in (1, 2):
                date = f"{year}-{month:02}-{day:02}"
                with open(f"{directory}/general-{date}.md", "w") as file:
                    file.write(f"<!-- agent-handover | layer1 | {date} -->\n")
                    file.write(f"<!-- note run=r{n}-{day} step=note at={date}T10:00:00Z agent=codex -->\n")
                    file.write(f"{word(n)} day {day}\n<!-- /note -->\n")

    def argv(self, n):
        n %= 40
        return ["compact", "--month", f"{2020 + n // 12}-{n % 12 + 1:02}"]

    def check(self, world, acknowledged):
        text = world.texts("memory/layer3")
        for n in acknowledged:
            if word(n % 40) not in text:
                raise Lost(f"{word(n % 40)} is not archived")

    def check_later(self, world, acknowledged):
        text = world.texts("memory/layer1", "memory/layer3")
        for n in range(40):
            for day in (1, 2):
                if f"{word(n)} day {day}" not in text:
                    raise Lost(f"{word(n)} of day {day} is lost")

    def resume(self, world):
        world.must("compact")
        text = world.texts("memory/layer1", "memory/layer3")
        for n in range(40):
            if text.count(f"run=r{n}-1 ") != 1:
                raise Lost(f"the note of {word(n)} is there {text.count(f'run=r{n}-1 ')} times")
        super().resume(world)


class Detach(Case):
    # 4: another process holds the lock, and what was recorded waits.
    codes = (0, 4)

    def argv(self, n):
        return ["run", "--detach", "--note", f"did {word(n)}"]


CASES = {
    "run-null": RunNull, "run-git": RunGit, "run-push": RunPush, "push": Push, "memory": Memory,
    "history-create": History, "import": Import, "keygen": Keygen, "compact": Compact, "detach": Detach,
}


def full_argv(world, case, n):
    argv = case.argv(n)
    return ["sh", "-c", argv[2], world.binary] if argv[0] == "sh" else [world.binary, *argv]


def start(world, argv):
    return subprocess.Popen(argv, cwd=world.root, env=world.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, start_new_session=True)


def kill_all(world):
    """Ends every process whose environment has the home directory on the disk."""
    wanted = f"HOME={world.home}".encode()
    for _ in range(100):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    environment = file.read().split(b"\0")
                with open(f"/proc/{pid}/stat") as file:
                    is_zombie = file.read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                continue
            if wanted in environment and not is_zombie:
                found.append(int(pid))
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.005)
    raise SystemExit("processes do not end")


def until_done(world, case, numbers):
    """Runs one command, which must succeed."""
    n = next(numbers)
    process = start(world, full_argv(world, case, n))
    _, complaint = process.communicate(timeout=120)
    if process.returncode not in case.codes:
        raise Lost(f"the command failed: {complaint.strip()[:600]}")
    return [n]


def until_random(world, case, numbers, moment):
    """Runs commands until the moment comes. Returns what they acknowledged."""
    acknowledged, end = [], time.monotonic() + moment
    while True:
        n = next(numbers)
        process = start(world, full_argv(world, case, n))
        try:
            _, complaint = process.communicate(timeout=max(end - time.monotonic(), 0.001))
        except subprocess.TimeoutExpired:
            kill_all(world)
            process.communicate()
            return acknowledged
        if process.returncode not in case.codes:
            raise Lost(f"the command failed: {complaint.strip()[:600]}")
        acknowledged.append(n)


def try_case(disk, binary, name, rounds, chance):
    """The cuts of one case on one file system. Returns how many there were, and what was lost."""
    case, world = CASES[name](), World(binary)
    cuts, troubles = 0, []
    numbers = iter(range(10**6))
    try:
        disk.make()
        world.make(case.config)
        case.prepare(world)
        call(["sync", "-f", MOUNT])
        everything = []
        for n in range(rounds * 2):
            is_random = n % 2 == 1
            try:
                if is_random:
                    acknowledged = until_random(world, case, numbers, chance.uniform(0.01, 1.5))
                else:
                    acknowledged = until_done(world, case, numbers)
                    kill_all(world)
                everything += acknowledged
                disk.cut()
                cuts += 1
                case.check(world, everything)
                case.resume(world)
                case.check_later(world, everything)
            except Lost as lost:
                troubles.append(f"{disk.kind} {name} {'random' if is_random else 'done'} {n}: {lost}")
                break
    finally:
        kill_all(world)
        disk.remove()
        os.path.exists(disk.image) and os.remove(disk.image)
    return cuts, troubles


def skip(why):
    print(f"SKIPPED: {why}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/debug/agent-handover")
    parser.add_argument("--rounds", type=int, default=5, help="cuts of each kind for each case and file system")
    parser.add_argument("--fs", default="ext4,xfs,btrfs")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        return skip("only root can mount file systems")
    if not os.path.exists("/dev/loop-control"):
        return skip("this machine has no loop devices")
    binary = os.path.abspath(arguments.binary)
    shutil.rmtree(PLACE, ignore_errors=True)
    os.makedirs(MOUNT)
    os.makedirs(f"{PLACE}/tmp")
    chance = random.Random(arguments.seed)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    all_troubles, figures = [], {}
    try:
        for kind in arguments.fs.split(","):
            if not shutil.which(MKFS[kind][0]):
                skip(f"{MKFS[kind][0]} is not installed")
                continue
            for name in arguments.cases.split(","):
                cuts, troubles = try_case(Disk(kind), binary, name, arguments.rounds, chance)
                figures.setdefault(kind, {})[name] = {"cuts": cuts, "lost": len(troubles)}
                print(f"{kind:6} {name:15} {cuts:4} cuts, {len(troubles)} lost", flush=True)
                for trouble in troubles:
                    print(f"    {trouble}", flush=True)
                all_troubles += troubles
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)
    print(json.dumps(figures))
    return 1 if all_troubles else 0


if __name__ == "__main__":
    sys.exit(main())
