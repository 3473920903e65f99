#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: build.py BUILD-FOLDER [INTO]

Makes a wheel of a built tree: `pip install` of it gives `bigleaf run`, `leaflog`,
`bigleaf-bench`, the libraries, headers and manual pages. A wheel is a zip archive
with a list of its files; its data folder is laid out as an installed tree, so
the commands find the libraries as they always do.

`bigleaf` and `leaflog` are the static programs of the tarball: its tag promises
that the wheel needs no library but the libc. No Python is required, since
`bigleaf-bench` alone needs one; the extra "bench" brings its modules.

Exit status: 0 made; 1 not made; 2 wrong usage; 3 the machine lacks something.
"""

from __future__ import annotations

import base64
import hashlib
import re
import stat
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("bigleaf", "bigleaf-bench", "bigleaf-cc", "bigleaf-c++", "bigleaf-thp-libc", "leaflog")


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(bigleaf VERSION ([\d.]+)", text)[1]


def needs_of_bench() -> str:
    """What pip installs for bigleaf[bench]."""
    lines = (ROOT / "bench/requirements.txt").read_text().splitlines()
    needs = [line for line in lines if line and not line.startswith("#")]
    return "Provides-Extra: bench\n" + "".join(
        f'Requires-Dist: {need}; extra == "bench"\n' for need in needs)


def libc_version() -> str:
    """What the wheel needs at least: that of the machine it was built on."""
    text = subprocess.run(["ldd", "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"(\d+)\.(\d+)\s*$", text.splitlines()[0])[0].replace(".", "_").strip()


class Wheel:
    """The archive, and the RECORD of what is in it."""

    def __init__(self, folder: Path) -> None:
        self.name = f"bigleaf-{version()}"
        machine = sysconfig.get_platform().split("-")[-1]
        self.tag = f"py3-none-manylinux_{libc_version()}_{machine}"
        self.path = folder / f"{self.name}-{self.tag}.whl"
        self.zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED)
        self.record: list[str] = []

    def add(self, name: str, content: bytes, mode: int = 0o644) -> None:
        entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
        entry.external_attr = (stat.S_IFREG | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
        self.record.append(f"{name},sha256={digest.decode()},{len(content)}")

    def close(self) -> None:
        info = f"{self.name}.dist-info"
        self.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: bigleaf\n"
                 f"Root-Is-Purelib: false\nTag: {self.tag}\n".encode())
        self.add(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: bigleaf\n"
                 f"Version: {version()}\nSummary: huge pages for automated reasoners\n"
                 f"License: MIT\n{needs_of_bench()}".encode())
        self.zip.writestr(f"{info}/RECORD", "\n".join([*self.record, f"{info}/RECORD,,", ""]))
        self.zip.close()


def placed(file: Path) -> str | None:
    """Where an installed file stands in the wheel's data folder."""
    top = file.parts[0]
    if top == "bin":
        return f"scripts/{file.name}" if file.name in SCRIPTS else None
    return f"data/{file}"


def step(*words: str | Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-5:]
        print(f"build.py: {words[0]}:", *last, sep="\n", file=sys.stderr)
        sys.exit(1)
    return done.stdout


def lay_out(build: Path, tree: Path) -> None:
    """What is installed, with the commands that need no library."""
    if "static_commands" not in step("cmake", "--build", build, "--target", "help"):
        print("build.py: no static libraries: apt-get install libelf-dev libdw-dev libbz2-dev "
              "libgmp-dev liblzma-dev zlib1g-dev, then configure again", file=sys.stderr)
        sys.exit(3)
    step("cmake", "--build", build, "--target", "static_commands")
    step("cmake", "--install", build, "--prefix", tree, "--strip")
    for program in (build / "bin/static").iterdir():
        step("strip", "-o", tree / "bin" / program.name, program)


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    if not Path(sys.argv[1], "CMakeCache.txt").is_file():
        print(f"build.py: {sys.argv[1]}: is no built tree, as ./dev build makes it",
              file=sys.stderr)
        return 2
    into = Path(sys.argv[2] if len(sys.argv) > 2 else ".")
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        lay_out(Path(sys.argv[1]), Path(scratch))
        wheel = Wheel(into)
        for file in sorted(p for p in Path(scratch).rglob("*") if p.is_file()):
            place = placed(file.relative_to(scratch))
            if place:
                wheel.add(f"{wheel.name}.data/{place}", file.read_bytes(),
                          file.stat().st_mode & 0o777)
        wheel.close()
    print(wheel.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
