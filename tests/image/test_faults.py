# SPDX-License-Identifier: MIT
"""Whatever happens to a shadow or its directory: the program runs as it would
have, on a good shadow, on a copy of its own, or as it was - and says which."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from image_kit import (UNIT, Checks, coverage_of, environment, generate_program, is_shadow,
                       preloaded, read_smaps, refusing, run_command, segments_of, shadow_root,
                       shadows, skip_case, waiting)

MEBIBYTES = 8


class Subject:
    """A program, and the two ways to start it with its image on."""

    def __init__(self, scratch: Path, name: str, flags: list[str], launcher: bool) -> None:
        self.program = generate_program(scratch, name, MEBIBYTES, flags)
        self.name = name
        self.launcher = launcher
        self.expected = self.plain()

    def plain(self) -> bytes:
        return subprocess.run([self.program], stdin=subprocess.DEVNULL, check=True,
                              capture_output=True).stdout

    def command(self) -> list[str]:
        return [*(run_command() if self.launcher else []), str(self.program)]

    def environment(self, root: Path) -> dict[str, str]:
        more = {"BIGLEAF_VERBOSE": "1"}
        return environment(root, **more) if self.launcher else preloaded(root, **more)

    def run(self, root: Path) -> tuple[bytes, str]:
        done = subprocess.run(self.command(), env=self.environment(root), check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
        return done.stdout if done.returncode == 0 else b"status", done.stderr.decode()

    def check(self, checks: Checks, root: Path, what: str, says: str = "") -> None:
        output, said = self.run(root)
        good = output == self.expected and says in said
        checks.expect(good, f"{self.name}: {what}" + (f" ({says})" if says else "") +
                      ("" if good else f": {output!r} {said!r}"))

    def check_shadowed(self, checks: Checks, root: Path, what: str) -> None:
        """The output is right, and the shadow was mapped while the kernel had
        huge pages for it."""
        outputs: list[bytes] = []

        def look() -> tuple[bool, str]:
            output, said = self.run(root)
            outputs.append(output)
            good = "text shadow" in said
            return good, f"{self.name}: {what} (text shadow)" + ("" if good else f": {said!r}")

        checks.expect_huge(look)
        checks.expect(set(outputs) == {self.expected}, f"{self.name}: {what}: output as without")

    def check_huge(self, checks: Checks, root: Path, what: str) -> None:
        def look() -> tuple[bool, str]:
            with waiting(self.command(), self.environment(root)) as process:
                return coverage_of(process.pid).share == 1.0, f"{self.name}: {what}"

        checks.expect_huge(look)


@contextlib.contextmanager
def writable(path: Path) -> Iterator[None]:
    path.chmod(0o600)
    yield
    path.chmod(0o400)


def truncate(path: Path) -> None:
    with writable(path):
        os.truncate(path, path.stat().st_size // 2)


def spoil(path: Path) -> None:
    """Every unit gets bytes that crash."""
    size = path.stat().st_size
    with writable(path), path.open("r+b") as file:
        for at in range(UNIT // 2, size, UNIT // 64):
            file.seek(at)
            file.write(b"\xcc" * min(4096, size - at))


def spoil_and_hide(path: Path) -> None:
    before = path.stat()
    spoil(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"\xcc" * before.st_size)
    other.chmod(0o400)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)


def link_elsewhere(path: Path) -> None:
    kept = path.with_name("kept")
    path.rename(kept)
    path.symlink_to(kept)


def link_twice(path: Path) -> None:
    os.link(path, path.with_name("second"))


def open_to_all(path: Path) -> None:
    path.chmod(0o666)


def give_away(path: Path) -> None:
    os.chown(path, 65534, 65534)


def spoil_seal(path: Path) -> None:
    seal = path.with_name(path.name + ".seal")
    data = bytearray(seal.read_bytes())
    data[-20] ^= 1
    with writable(seal):
        seal.write_bytes(data)


DAMAGES: list[Callable[[Path], None]] = [
    truncate, spoil, spoil_and_hide, replace, link_elsewhere, link_twice, open_to_all,
    spoil_seal, lambda path: path.with_name(path.name + ".seal").unlink(),
]


def is_sealed(path: Path, content: bytes) -> bool:
    """A shadow with these bytes that only its owner may read, and its seal."""
    for file in (path, path.with_name(path.name + ".seal")):
        if not os.path.lexists(file):
            return False
        facts = file.lstat()
        if (facts.st_mode, facts.st_uid, facts.st_nlink) != (stat.S_IFREG | 0o400,
                                                             os.geteuid(), 1):
            return False
    return path.read_bytes() == content


def damages(checks: Checks, subject: Subject) -> None:
    for damage in DAMAGES + ([give_away] if os.geteuid() == 0 else []):
        what = f"after {damage.__name__.strip('<>')}"
        with shadow_root() as root:
            subject.check(checks, root, "shadow made")
            found = shadows(root)
            checks.expect(len(found) == 1, f"{subject.name}: one shadow")
            if not found:
                return
            content = found[0].read_bytes()
            checks.expect(is_sealed(found[0], content), f"{subject.name}: sealed")
            damage(found[0])
            subject.check_shadowed(checks, root, what)
            checks.expect(is_sealed(found[0], content), f"{subject.name}: {what}: made anew")
            subject.check_shadowed(checks, root, "and once more")


def directories(checks: Checks, subject: Subject) -> None:
    mine = f"bigleaf-{os.geteuid()}"
    fallback = "left where it is" if "static" in subject.name else "text anonymous"
    with shadow_root() as root:
        (root / mine).mkdir(mode=0o777)
        (root / mine).chmod(0o777)
        subject.check(checks, root, "directory open to others", fallback)
        checks.expect(not shadows(root), f"{subject.name}: nothing was put there")
    with shadow_root() as root:
        (root / "other").mkdir(mode=0o700)
        (root / mine).symlink_to(root / "other")
        subject.check(checks, root, "directory is a link", fallback)
    with shadow_root() as root:
        (root / mine).write_text("")
        subject.check(checks, root, "directory is a file", fallback)
    if os.geteuid() == 0:
        with shadow_root() as root:
            (root / mine).mkdir(mode=0o700)
            os.chown(root / mine, 65534, 65534)
            subject.check(checks, root, "directory of another user", fallback)
            checks.expect(not shadows(root), f"{subject.name}: nothing was put there")
    subject.check(checks, Path("/nowhere"), "no such place", fallback)
    with tempfile.TemporaryDirectory() as disk:
        subject.check(checks, Path(disk), "not on tmpfs", fallback)


@contextlib.contextmanager
def mounted(options: str, kind: str = "tmpfs", what: str | Path = "none") -> Iterator[Path | None]:
    path = Path(tempfile.mkdtemp(prefix="bigleaf-mount-"))
    done = subprocess.run(["mount", "-t", kind, "-o", options or "rw", what, path],
                          capture_output=True, check=False)
    if done.returncode != 0:
        skip_case(f"mount -o {options}: {done.stderr.decode().strip()}")
    try:
        yield path if done.returncode == 0 else None
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", path], check=True)
        path.rmdir()


def mounts(checks: Checks, subject: Subject) -> None:
    fallback = "left where it is" if "static" in subject.name else "text anonymous"
    for options, what in (("size=2m", "full tmpfs"), ("size=10m", "nearly full tmpfs"),
                          ("size=64m,noexec", "noexec tmpfs"), ("size=64m,ro", "read-only tmpfs")):
        with mounted(options) as root:
            if root:
                subject.check(checks, root, what, fallback)
                checks.expect(not shadows(root), f"{subject.name}: {what}: nothing is left there")


def room(checks: Checks, scratch: Path) -> None:
    """Shadows keep to half of the tmpfs; what was not used for long goes first."""
    with mounted("size=40m") as root:
        if not root:
            return
        subjects = [Subject(scratch, f"room-{n}", ["-no-pie"], False) for n in range(3)]
        subjects[0].check_shadowed(checks, root, "the first of three")
        subjects[1].check_shadowed(checks, root, "the second of three")
        subjects[2].check(checks, root, "no room for the third", "too much of the tmpfs")
        long_ago = time.time() - 2 * 3600
        for seal in root.glob("bigleaf-*/room-0*.seal"):
            os.utime(seal, (long_ago, long_ago))
        subjects[2].check_shadowed(checks, root, "the first makes room")
        left = sorted(path.name[:6] for path in shadows(root))
        checks.expect(left == ["room-1", "room-2"], f"the unused one went: {left}")
        cleaned = subprocess.run([*run_command()[:1], "doctor", "--clean"], check=False,
                                 env=environment(root), capture_output=True, text=True)
        checks.expect("2 shadow copies removed" in cleaned.stdout and not shadows(root),
                      f"doctor --clean: {cleaned.stdout.strip()}")
        for subject in subjects:
            subject.program.unlink()


def upgrades(checks: Checks, scratch: Path, flags: list[str], launcher: bool) -> None:
    """The new program gets its own text, the running one keeps its."""
    old = Subject(scratch, "program-a", flags, launcher)
    new = Subject(scratch, "program-b", flags, launcher)
    with shadow_root() as root:
        old.check(checks, root, "before the upgrade")
        with waiting(old.command(), old.environment(root)) as process:
            shutil.copy(new.program, scratch / "copy")
            (scratch / "copy").rename(old.program)
            output, _ = old.run(root)
            checks.expect(output == new.expected, "upgraded by rename: the new output")
            process.stdin.close()
            checks.expect(process.stdout.read() == old.expected,
                          "upgraded by rename: the old process ends as it would")
        third = Subject(scratch, "program-c", flags, launcher)
        data = third.program.read_bytes()
        before = old.program.stat()
        with old.program.open("r+b") as file:
            file.write(data)
            file.truncate()
        os.utime(old.program, ns=(before.st_atime_ns, before.st_mtime_ns))
        output, _ = old.run(root)
        checks.expect(output == third.expected,
                      "overwritten in place, size and mtime kept: the new output")
    for subject in (old, new, third):
        subject.program.unlink()


def rebuilds(checks: Checks, subject: Subject) -> None:
    """A file that is written anew leaves no shadow of what it was, and who
    runs on that one keeps it."""
    with shadow_root() as root:
        with waiting(subject.command(), subject.environment(root)) as process:
            os.utime(subject.program)  # as much as a program that runs allows
            subject.check_shadowed(checks, root, "touched while it runs")
            checks.expect(len(shadows(root)) == 1, f"{subject.name}: touched: one shadow")
            process.stdin.close()
            checks.expect(process.stdout.read() == subject.expected and process.wait() == 0,
                          f"{subject.name}: touched: the old process ends as it would")
        data = subject.program.read_bytes()
        for _ in range(3):
            subject.program.write_bytes(data)
            subject.check(checks, root, "written anew")
        left = [p.name for p in root.glob("bigleaf-*/*")]
        checks.expect(len(left) == 2, f"{subject.name}: written anew: one shadow, its seal: {left}")
        copies(checks, root, subject, data)


def copies(checks: Checks, root: Path, subject: Subject, data: bytes) -> None:
    """Another file under its name, as linkers put it there, leaves none of the
    old one's either; one of the same name elsewhere keeps its own."""
    elsewhere = subject.program.parent / "elsewhere"
    elsewhere.mkdir()
    other = elsewhere / subject.program.name
    shutil.copy(subject.program, other)
    for place in (elsewhere, subject.program.parent):  # by a path that both have
        subprocess.run([*run_command(), f"./{other.name}"], env=environment(root), check=True,
                       cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    checks.expect(len(shadows(root)) == 2, f"{subject.name}: each place has its own shadow")
    for _ in range(3):
        new = elsewhere / "new"
        new.write_bytes(data)
        new.chmod(0o755)
        new.rename(subject.program)
        subject.check(checks, root, "replaced")
    left = len(shadows(root))
    checks.expect(left == 2, f"{subject.name}: replaced: one shadow, and the other's: {left}")
    shutil.rmtree(elsewhere)


def crowd(checks: Checks, subject: Subject) -> None:
    with shadow_root() as root:
        env = subject.environment(root)
        crowd_of = [subprocess.Popen(subject.command(), env=env, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                    for _ in range(50)]
        outputs = [p.communicate()[0] for p in crowd_of]
        checks.expect(all(o == subject.expected for o in outputs),
                      f"{subject.name}: 50 at once, all outputs right")
        checks.expect(len(shadows(root)) == 1, f"{subject.name}: 50 at once, one shadow")
        subject.check_huge(checks, root, "huge afterwards")


def await_makers(root: Path) -> None:
    """A companion outlives the program that it was to place."""
    for directory in root.glob("bigleaf-*"):
        fd = os.open(directory, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.close(fd)


def start_and_kill(subject: Subject, root: Path, times: int, seed: int) -> None:
    """kill -9 somewhere in start-up, again and again, into one directory."""
    chance = random.Random(seed)
    for _ in range(times):
        for path in shadows(root):
            path.with_name(path.name + ".seal").unlink(missing_ok=True)
        process = subprocess.Popen(subject.command(), env=subject.environment(root),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(chance.uniform(0, 0.03))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    await_makers(root)


def expect_one_shadow(checks: Checks, subject: Subject, root: Path) -> None:
    left = [p.name for p in root.glob("bigleaf-*/*")]
    checks.expect(len(left) == 2, f"{subject.name}: a shadow, its seal, nothing else: {left}")


def kills(checks: Checks, subject: Subject, seed: int) -> None:
    with shadow_root() as root:
        start_and_kill(subject, root, 40, seed)
        subject.check_shadowed(checks, root, "after 40 kills")
        expect_one_shadow(checks, subject, root)


def limits(checks: Checks, subject: Subject) -> None:
    def run_limited(what: str, prepare: Callable[[], None]) -> None:
        with shadow_root() as root:
            done = subprocess.run(subject.command(), env=subject.environment(root),
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                  preexec_fn=prepare)
            plain = subprocess.run([subject.program], stdin=subprocess.DEVNULL,
                                   capture_output=True, check=False, preexec_fn=prepare)
            checks.expect((done.stdout, done.returncode) == (plain.stdout, plain.returncode),
                          f"{subject.name}: {what}: as without ({done.returncode})")

    def set_limit(kind: int, value: int) -> Callable[[], None]:
        return lambda: resource.setrlimit(kind, (value, value))

    run_limited("address space of 64 MiB", set_limit(resource.RLIMIT_AS, 64 << 20))
    run_limited("no bytes in files", set_limit(resource.RLIMIT_FSIZE, 0))
    run_limited("files of at most 1 MiB", set_limit(resource.RLIMIT_FSIZE, 1 << 20))
    run_limited("8 open files", set_limit(resource.RLIMIT_NOFILE, 8))


def raised_privileges(checks: Checks, scratch: Path) -> None:
    if os.geteuid() != 0:
        skip_case("a set-user-ID program needs root to make one")
        return
    scratch.chmod(0o755)
    program = generate_program(scratch, "raised", MEBIBYTES, ["-no-pie"])
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    with shadow_root() as root:
        for command, env in (([*run_command(), str(program)], environment(root)),
                             ([str(program)], preloaded(root))):
            with waiting(command, env) as process:
                mapped = [m.path for m in read_smaps(process.pid)]
                status = Path(f"/proc/{process.pid}/status").read_text()
                checks.expect(not any(is_shadow(p) for p in mapped) and not shadows(root),
                              "set-user-ID program: left alone")
                checks.expect("\t65534\t" in status.split("Uid:")[1].splitlines()[0],
                              "set-user-ID program: has its privileges")


def execute_only(checks: Checks, scratch: Path) -> None:
    """The reason is the one that holds."""
    subject = Subject(scratch, "unreadable", ["-no-pie"], True)
    subject.program.chmod(0o111)
    # Root is like others without these.
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    with shadow_root() as root:
        done = subprocess.run([*(drop if os.geteuid() == 0 else []), *subject.command()],
                              env=subject.environment(root), stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
    said = done.stderr.decode()
    checks.expect(done.stdout == subject.expected and "the file may not be read" in said,
                  f"a file that may only be executed: {said}")


def tell(path: Path, text: str) -> None:
    """Not as a file is opened: the kernel's may be neither cut nor read to its end."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


@contextlib.contextmanager
def probe(program: Path, function: str) -> Iterator[str]:
    """A breakpoint of the kernel's own in every process that runs the program;
    "", or why there is none."""
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    address = next(int(line.split()[0], 16) for line in symbols.splitlines()
                   if line.endswith(f" {function}"))
    offset = next(address - s.vaddr + s.offset for s in segments_of(str(program))
                  if s.vaddr <= address < s.vaddr + s.file_bytes)
    with mounted("", "tracefs") as trace:
        if not trace or not (trace / "uprobe_events").exists():
            yield "no uprobes here"
            return
        name = f"bigleaf_{os.getpid()}/one"
        try:
            tell(trace / "uprobe_events", f"p:{name} {program}:{offset:#x}\n")
        except OSError as error:
            yield f"no uprobe to be had: {error}"
            return
        try:
            tell(trace / "events" / name / "enable", "1")
            yield ""
        finally:
            tell(trace / "events" / name / "enable", "0")
            tell(trace / "uprobe_events", f"-:{name}\n")


def probed(checks: Checks, scratch: Path) -> None:
    """The kernel ends a program by SIGTRAP that comes upon its breakpoint in a copy."""
    for flags in (["-no-pie"], ["-pie", "-fPIE"]):
        subject = Subject(scratch, "probed", flags, False)
        with probe(subject.program, "function_64") as wrong, shadow_root() as root:
            if wrong:
                skip_case(wrong)
                return
            subject.check(checks, root, f"a uprobe in the text, {flags[0]}", "(uprobe)")


def made_btrfs(scratch: Path) -> Path | None:
    image = scratch / "btrfs"
    with image.open("wb") as file:
        file.truncate(120 << 20)
    return image if shutil.which("mkfs.btrfs") and subprocess.run(
        ["mkfs.btrfs", "-q", image], check=False, capture_output=True).returncode == 0 else None


def other_devices(checks: Checks, scratch: Path) -> None:
    """On btrfs a mapping is listed under another device than the file has."""
    image = made_btrfs(scratch)
    with mounted("loop", "btrfs", image) if image else contextlib.nullcontext() as folder:
        if not folder:
            skip_case("no btrfs here")
            return
        for flags, launcher in ((["-no-pie"], False), (["-pie", "-fPIE"], True)):
            subject = Subject(folder, "on btrfs", flags, launcher)
            with shadow_root() as root:
                subject.check_shadowed(checks, root, f"on btrfs, {flags[0]}")


def older_kernels(checks: Checks, scratch: Path) -> None:
    """Before Linux 6.7 no call tells what is huge, before 6.1 none collapses:
    the figures are the kernel's all the same. Before 3.15 renameat2 is missing."""
    subject = Subject(scratch, "older kernel", ["-no-pie"], False)
    no_rename = refusing(scratch, "SYS_renameat2")
    no_scan = refusing(scratch, "SYS_ioctl", 1, "0xc0606610")
    no_huge = [no_scan, *(refusing(scratch, "SYS_madvise", 2, advice) for advice in ("14", "25"))]

    def look(before: list[Path], root: Path) -> tuple[int, str]:
        command = [*map(str, before), *subject.command()]
        with waiting(command, subject.environment(root)) as process:
            covered = coverage_of(process.pid)
            process.stdin.close()
            lines = process.stderr.read().decode().splitlines()
        said = [line for line in lines if str(subject.program) in line]
        told = f"{covered.huge >> 20} of {covered.units >> 20} MiB huge"
        return covered.huge, said[-1] if told in said[-1] else f"not {told}: {said[-1]}"

    def look_at_shadow() -> tuple[bool, str]:
        huge, said = look([no_scan], root)
        return huge > 0 and said.endswith("MiB huge"), f"{subject.name}: {said}"

    def make_shadow() -> tuple[bool, str]:
        look([no_rename], root)
        return len(shadows(root)) == 1, f"{subject.name}: a shadow made without renameat2"

    with shadow_root() as root:
        checks.expect_huge(make_shadow)
    with shadow_root() as root:
        subject.check(checks, root, "shadow made")
        checks.expect_huge(look_at_shadow)
    huge, said = look(no_huge, Path("/nowhere"))
    checks.expect(not said.startswith("not ") and ("text anonymous" in said) == (huge > 0),
                  f"{subject.name}, nothing collapses: {said}")


def main() -> None:
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        subjects = [Subject(scratch, "fixed, preloaded", ["-no-pie"], False),
                    Subject(scratch, "pie, run", ["-pie", "-fPIE"], True),
                    Subject(scratch, "static-pie, run", ["-static-pie", "-fPIE"], True)]
        for subject in subjects[:2]:
            damages(checks, subject)
        for subject in subjects:
            directories(checks, subject)
            mounts(checks, subject)
            limits(checks, subject)
        for index, subject in enumerate(subjects[:2]):
            crowd(checks, subject)
            kills(checks, subject, index)
            rebuilds(checks, subject)
        upgrades(checks, scratch, ["-no-pie"], False)
        upgrades(checks, scratch, ["-pie", "-fPIE"], True)
        room(checks, scratch)
        raised_privileges(checks, scratch)
        execute_only(checks, scratch)
        older_kernels(checks, scratch)
        probed(checks, scratch)
        other_devices(checks, scratch)
    checks.finish()


if __name__ == "__main__":
    main()
