# SPDX-License-Identifier: MIT
"""What a campaign has measured: one JSON object per line, never rewritten.

A line is written whole and reaches the disk before the next run begins; a
campaign that is killed at any moment finds all finished runs again, and a line
that was torn is cut off. Some bytes are kept in reserve for a full disk: the
run that met it is still recorded, and the campaign can end in order.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from pathlib import Path

from bigleaf_bench.failure import Lacking, WrongUse

SCHEMA = "bigleaf.bench/1"
RESERVE = 1 << 20
# What every record has; a run that counts has figures too.
NEEDED = {"key": str, "purpose": str, "tool": str, "category": str, "set": str, "instance": str,
          "family": str, "variant": str, "repetition": int, "status": str, "answer": str,
          "valid": bool}
FIGURES = ("user_seconds", "system_seconds", "wall_seconds", "peak_rss_bytes", "heap_bytes",
           "coverage", "huge_bytes", "minor_faults")
# What another machine, or this one in better order, would not have said: run
# again when the campaign is resumed.
PASSING = ("disk full", "missing tool", "lost", "stalled")


class Journal:
    """The file runs.jsonl of a folder of results; one process holds it."""

    def __init__(self, folder: Path):
        self.folder, self.path = folder, folder / "runs.jsonl"
        self.mutex = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        self.file = self.path.open("a+b")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WrongUse(f"{folder}: another campaign writes here; "
                           "wait for it, or give --output another folder") from None
        except OSError as error:
            raise Lacking(f"{self.path}: cannot be locked ({error.strerror}), so two campaigns "
                          "could mix; give --output a folder on another file system") from None
        self.by_key = {record["key"]: record for record in self.recover()}
        self.keys = {key for key, record in self.by_key.items() if not passing(record)}
        self.reserve()

    @property
    def records(self) -> list[dict]:
        return list(self.by_key.values())

    def reserve(self) -> None:
        path = self.folder / ".reserve"
        if not path.exists():
            try:
                path.write_bytes(os.urandom(RESERVE))
            except OSError:
                path.unlink(missing_ok=True)

    def recover(self) -> list[dict]:
        """All whole lines; what follows the last of them is cut off."""
        records, end = whole_lines(self.path)
        if end != self.path.stat().st_size:
            self.file.truncate(end)
        return records

    def append(self, record: dict, amended: bool = False) -> None:
        """Keeps a run; a second record of it only where it is `amended`."""
        line = (json.dumps({"schema": SCHEMA, **record}, allow_nan=False) + "\n").encode()
        with self.mutex:
            if record["key"] in self.keys and not amended:
                return
            try:
                self.write(line)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                (self.folder / ".reserve").unlink(missing_ok=True)
                self.write_at_last(line)
            self.by_key[record["key"]] = record
            self.keys.add(record["key"])

    def write(self, line: bytes) -> None:
        end = os.fstat(self.file.fileno()).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self.file.fileno(), line[written:])
            os.fsync(self.file.fileno())
        except OSError:
            os.ftruncate(self.file.fileno(), end)
            raise

    def write_at_last(self, line: bytes) -> None:
        try:
            self.write(line)
        except OSError:
            raise Lacking(f"{self.folder}: the disk is full; make room and give the same "
                          "command again, which goes on where this one stopped") from None

    def close(self) -> None:
        self.file.close()


def whole_lines(path: Path) -> tuple[list[dict], int]:
    """The records, and where the last whole line ends."""
    records, end = [], 0
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            record = None
        if not isinstance(record, dict):
            if number < len(lines):
                raise WrongUse(f"{path}:{number}: no record of a run; mend or remove this line")
            break
        if lack := lacking(record):
            raise WrongUse(f"{path}:{number}: a run without {lack}; mend or remove this line")
        records.append(record)
        end += len(line)
    return records, end


def lacking(record: dict) -> str:
    """What a record lacks of what tables need, or has as something else."""
    for key, kind in NEEDED.items():
        if not isinstance(record.get(key), kind):
            return f"'{key}'"
    figures = record.get("backing")
    if figures is None and not (record["valid"] and record["purpose"] == "measure"):
        return ""
    if not isinstance(figures, dict):
        return "'backing'"
    return next((f"'backing.{key}'" for key in FIGURES
                 if not isinstance(figures.get(key), (int, float))), "")


def passing(record: dict) -> bool:
    return record["status"].startswith(PASSING)


def latest(records: list[dict]) -> list[dict]:
    """Of each run its last record: a run is made again where it was `passing`."""
    return list({record["key"]: record for record in records}.values())


def read(folder: Path) -> list[dict]:
    """The records of a folder of results, without holding it."""
    path = folder / "runs.jsonl"
    if not path.exists():
        raise WrongUse(f"{folder}: no results here (no runs.jsonl)")
    return latest(whole_lines(path)[0])
