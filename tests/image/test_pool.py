# SPDX-License-Identifier: MIT
"""Shadows on a hugetlbfs mount: text from the pool, one copy for all processes.

In a mount namespace of its own. The pages that the pool lacks are asked of the
kernel, set aside for the mount at once (`min_size`), so that nobody else takes
them, and given back in the end.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from image_kit import (UNIT, Checks, coverage_of, environment, is_shadow, read_smaps,
                       run_command, shadows, skip, waiting)
from test_faults import (Subject, expect_one_shadow, link_twice, open_to_all, start_and_kill,
                         writable)
from test_symbols import names

PAGES = 16
POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
INSIDE = "BL_TEST_IN_NAMESPACE"


def count(name: str) -> int:
    return int((POOL / name).read_text())


def free_pages() -> int:
    return count("free_hugepages") - count("resv_hugepages")


@contextlib.contextmanager
def pool() -> Iterator[None]:
    """At least PAGES pages that nobody has."""
    if not POOL.exists():
        skip("no pool of 2 MiB pages in this kernel")
    lacking = PAGES - free_pages()
    if lacking > 0 and "BL_TEST_MACHINE" not in os.environ:
        skip("changes a setting of the machine for a moment; set BL_TEST_MACHINE=1 to run it")
    before = count("nr_hugepages")
    try:
        if lacking > 0:
            (POOL / "nr_hugepages").write_text(f"{before + lacking}\n")
        if free_pages() < PAGES:
            skip(f"the kernel has no {PAGES} pages for the pool")
        yield
    finally:
        if lacking > 0:
            (POOL / "nr_hugepages").write_text(f"{before}\n")


@contextlib.contextmanager
def mounted(options: str) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="mount-"))
    mount = ["mount", "-t", "hugetlbfs", "-o", f"pagesize=2M,{options}", "none", path]
    try:
        if subprocess.run(mount, check=False).returncode:
            skip("others have taken pages of the pool meanwhile")
        try:
            yield path
        finally:
            subprocess.run(["umount", path], check=True)
    finally:
        path.rmdir()


def taken(root: Path) -> int:
    """Pages that the files of a mount with a size hold."""
    facts = os.statvfs(root)
    return facts.f_blocks - facts.f_bfree


def files(root: Path) -> list[tuple[str, int, int]]:
    """Names, and what shows that a file was made or changed."""
    return [(p.name, p.stat().st_ino, p.stat().st_ctime_ns) for p in shadows(root)]


def sharing(checks: Checks, subject: Subject, root: Path) -> None:
    subject.check(checks, root, "first start", "text shadow")
    pages = taken(root)
    made = files(root)
    checks.expect(len(made) == 1, f"{subject.name}: a shadow was made")
    with waiting(subject.command(), subject.environment(root)) as one, \
            waiting(subject.command(), subject.environment(root)) as two:
        for process in (one, two):
            mapped = [m for m in read_smaps(process.pid) if is_shadow(m.path)]
            shared = sum(m.fields["Shared_Hugetlb"] for m in mapped)
            units = coverage_of(process.pid)
            checks.expect(shared == units.huge == units.units > 0,
                          f"{subject.name}: {shared >> 20} of {units.units >> 20} MiB from the "
                          "pool, and both processes have it")
    checks.expect(taken(root) == pages, f"{subject.name}: {pages} pages, with both processes too")
    checks.expect(files(root) == made, f"{subject.name}: later starts make no copy")


def report(checks: Checks, subject: Subject, root: Path) -> None:
    line = root.parent / f"{root.name}.json"
    with waiting([str(subject.program)], subject.environment(root)
                 | {"BIGLEAF_REPORT": str(line)}):
        pass
    process = json.loads(line.read_text())
    line.unlink()
    text = process["end"]["text"]
    image = [r for r in process["image"] if r["object"] == str(subject.program)]
    checks.expect(text["hugetlb_bytes"] == image[0]["huge_bytes"] > 0
                  and image[0]["mechanism"] == "shadow",
                  f"{subject.name}: the report tells of the pool: {text}")


def cut(path: Path) -> None:
    with writable(path):
        os.truncate(path, UNIT)


def spoil_seal(path: Path) -> None:
    seal = path.with_name(path.name + ".seal")
    with writable(seal), seal.open("r+b") as file, mmap.mmap(file.fileno(), UNIT) as bytes_of:
        bytes_of[100] ^= 1


def without_seal(path: Path) -> None:
    path.with_name(path.name + ".seal").unlink()


DAMAGES: list[Callable[[Path], None]] = [cut, open_to_all, link_twice, spoil_seal,
                                         without_seal]


def damages(checks: Checks, subject: Subject, root: Path) -> None:
    for damage in DAMAGES:
        content = shadows(root)[0].read_bytes()
        damage(shadows(root)[0])
        subject.check(checks, root, f"after {damage.__name__}", "text shadow")
        path, *more = [p for p in shadows(root) if p.name != "second"]
        facts = path.lstat()
        checks.expect(not more and path.read_bytes() == content
                      and (facts.st_mode, facts.st_nlink) == (stat.S_IFREG | 0o400, 1),
                      f"{subject.name}: after {damage.__name__}: made anew")
        with contextlib.suppress(FileNotFoundError):
            path.with_name("second").unlink()


def kills(checks: Checks, subject: Subject, root: Path) -> None:
    start_and_kill(subject, root, 12, seed=4)
    subject.check(checks, root, "after 12 kills", "text shadow")
    expect_one_shadow(checks, subject, root)


def cleaning(checks: Checks, root: Path) -> None:
    cleaned = subprocess.run([*run_command()[:1], "doctor", "--clean"], check=False,
                             env=environment(root), capture_output=True, text=True)
    checks.expect("1 shadow copies removed" in cleaned.stdout and taken(root) == 0,
                  f"doctor --clean gives the pages back: {cleaned.stdout.strip()}")


def shortage(checks: Checks, subject: Subject, options: str, what: str, says: str) -> None:
    with mounted(options) as root:
        subject.check(checks, root, f"{what}: a copy of its own", "text anonymous")
        subject.check(checks, root, what, says)
        left = list(root.glob("bigleaf-*/*"))
        checks.expect(not left, f"{subject.name}: {what}: nothing is left there {left}")


def inside() -> None:
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory, pool():
        scratch = Path(directory)
        fixed = Subject(scratch, "fixed, preloaded", ["-no-pie"], False)
        placed = Subject(scratch, "pie, run", ["-pie", "-fPIE"], True)
        size = f"size={PAGES * UNIT},min_size={PAGES * UNIT}"
        for subject in (fixed, placed):
            with mounted(size) as root:
                sharing(checks, subject, root)
                damages(checks, subject, root)
                kills(checks, subject, root)
                if subject is fixed:
                    report(checks, subject, root)
                    shortage(checks, subject, "mode=0700", "a pool that others hold", "no room for")
                cleaning(checks, root)
        # perf, gdb and core dumps.
        names(checks, scratch, lambda: mounted(size))
        shortage(checks, fixed, f"size={3 * UNIT}", "a mount of 3 pages",
                 "the pool of huge pages has too few")
    checks.finish()


def main() -> None:
    if INSIDE in os.environ:
        inside()
    if os.geteuid() != 0:
        skip("mounting a hugetlbfs needs root")
    command = ["unshare", "-m", "--propagation", "private"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        skip("no mount namespace is to be had here")
    sys.exit(subprocess.run([*command, sys.executable, *sys.argv], check=False,
                            env=os.environ | {INSIDE: "1"}).returncode)


if __name__ == "__main__":
    main()
