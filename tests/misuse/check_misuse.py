# SPDX-License-Identifier: MIT
"""Runs one misuse program and compares its end with its leading comment.

The comment names the crime, the signal the program must die of (or none), and
what it must say on standard error: one line as in one of the lines marked
`says:`, in which `0x*` stands for any address; an empty one stands for
nothing said.
"""

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Expected(NamedTuple):
    crime: str
    signal: str
    says: list[str]


def expectation(source: Path) -> Expected:
    found: dict[str, list[str]] = {"crime": [], "signal": [], "says": []}
    for line in source.read_text().splitlines():
        match = re.match(r"// (crime|signal|says):\s?(.*)$", line)
        if match:
            found[match.group(1)].append(match.group(2).strip())
    missing = [name for name, lines in found.items() if not lines]
    if missing:
        raise SystemExit(f"{source}: no line for {missing}")
    return Expected(found["crime"][0], found["signal"][0], found["says"])


def says(expected: list[str], said: str) -> bool:
    return any(re.fullmatch(re.escape(text).replace(r"0x\*", "0x[0-9a-f]+"),
                            said) for text in expected)


def signal_name(returncode: int) -> str:
    if returncode < 0:
        return signal.Signals(-returncode).name
    return "none" if returncode == 0 else f"exit {returncode}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("program")
    parser.add_argument("--preload")
    args = parser.parse_args()
    expected = expectation(args.source)
    env = dict(os.environ)
    for name in [n for n in env if n.startswith("BIGLEAF")]:
        del env[name]
    if args.preload:
        env["LD_PRELOAD"] = args.preload
    done = subprocess.run(
        [args.program], env=env, capture_output=True, text=True, timeout=50,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    said = done.stderr.rstrip("\n")
    ended = signal_name(done.returncode)
    ok = ended == expected.signal and says(expected.says, said)
    print(f"crime:    {expected.crime}")
    print(f"expected: {expected.signal}, one of {expected.says}")
    print(f"got:      {ended}, {said!r}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
