# SPDX-License-Identifier: MIT
"""Mangled programs: a verdict or a clear line, and never a crash."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conftest import Bigleaf

ROUNDS = 150


def mangle(original: bytes, seed: int) -> bytes:
    """Some bytes of the headers changed, and maybe the end cut off."""
    dice = random.Random(seed)
    data = bytearray(original)
    for _ in range(dice.randint(1, 12)):
        place = dice.randrange(min(len(data), 1200))
        data[place] = dice.choice((0, 0xFF, 0x7F, dice.randrange(256)))
    if dice.random() < 0.3:
        del data[dice.randrange(20, len(data)) :]
    return bytes(data)


@pytest.mark.parametrize("name", ["cli_grow", "cli_grow_static"])
def test_mangled_programs_are_described(
    bigleaf: Bigleaf, programs: Path, tmp_path: Path, name: str
) -> None:
    original = (programs / name).read_bytes()[: 256 << 10]
    file = tmp_path / "mangled"
    for seed in range(ROUNDS):
        file.write_bytes(mangle(original, seed))
        file.chmod(0o755)
        for words in (("doctor", "--json"), ("run", "--dry-run")):
            ended = bigleaf(*words, str(file))
            assert ended.status in (0, 3), (seed, ended)
            assert "Sanitizer" not in ended.err, (seed, ended.err)


def test_short_files_are_described(bigleaf: Bigleaf, tmp_path: Path) -> None:
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00" + bytes(60)
    file = tmp_path / "short"
    for length in range(len(header)):
        file.write_bytes(header[:length])
        file.chmod(0o755)
        ended = bigleaf("doctor", str(file))
        assert ended.status in (0, 3), (length, ended)
    script = tmp_path / "loop"
    script.write_text(f"#!{script}\n")
    script.chmod(0o755)
    assert bigleaf("doctor", str(script)).status in (0, 3)
