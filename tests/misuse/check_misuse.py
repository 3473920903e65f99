# SPDX-License-Identifier: MIT
"""Runs one misuse program and compares its end with its leading comment.

The comment names the crime, the signal the program must die of (or none) and
what it must say on standard error: one line, in which `0x*` stands for any
address, `(a|b)` for either text and `(a)?` for perhaps.
"""

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path


def expectation(source: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in source.read_text().splitlines():
        match = re.match(r"// (crime|signal|says):\s?(.*)$", line)
        if match:
            found[match.group(1)] = match.group(2).strip()
    missing = {"crime", "signal", "says"} - found.keys()
    if missing:
        raise SystemExit(f"{source}: no line for {sorted(missing)}")
    return found


# `(a|b)` and `(a)?` are the only groups; every other bracket is text.
ALTERNATIVES = re.compile(r"\((?P<all>[^()]*(?:\([^()]*\)[^()]*)*)\)(?P<maybe>\?)?")


def pattern_of(says: str) -> re.Pattern[str]:
    """The expected text as a regular expression."""
    parts = []
    at = 0
    for group in ALTERNATIVES.finditer(says):
        inner = group["all"]
        if "|" not in inner and not group["maybe"]:
            continue  # the argument list of a call
        parts.append(re.escape(says[at:group.start()]))
        choices = "|".join(re.escape(text) for text in inner.split("|"))
        parts.append(f"(?:{choices}){group['maybe'] or ''}")
        at = group.end()
    parts.append(re.escape(says[at:]))
    return re.compile("".join(parts).replace(r"0x\*", "0x[0-9a-f]+"))


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
    ok = ended == expected["signal"] and \
        pattern_of(expected["says"]).fullmatch(said) is not None
    print(f"crime:    {expected['crime']}")
    print(f"expected: {expected['signal']}, {expected['says']!r}")
    print(f"got:      {ended}, {said!r}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
