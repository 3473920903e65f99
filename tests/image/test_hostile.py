# SPDX-License-Identifier: MIT
"""ELF files that lie: they are refused or run as they would have.

Headers of a good program are changed at random. `bigleaf align` reads each
(and must refuse or write, never crash), and each is started with and without
its image on: what the kernel itself refuses is refused the same way.
"""

from __future__ import annotations

import os
import random
import struct
import subprocess
import tempfile
from pathlib import Path

from image_kit import (Checks, bigleaf, environment, generate_program, run_command, runtime,
                       shadow_root)

MUTATIONS = int(os.environ.get("BIGLEAF_TEST_MUTATIONS", "150"))
ODD = (0, 1, 7, 0xfff, 0x1000, 0x1fffff, 0x200000, 0x7fffffff, 0xffffffff, 1 << 40, (1 << 47) - 1,
       (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def mutate(chance: random.Random, data: bytearray) -> str:
    """Changes one to three fields of the headers; says which."""
    told = []
    start, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    for _ in range(chance.randint(1, 3)):
        if chance.random() < 0.25:
            at, size = chance.choice([(32, 8), (40, 8), (54, 2), (56, 2), (58, 2), (60, 2),
                                      (62, 2), (16, 2), (18, 2), (4, 1), (24, 8)])
        else:
            header = start + 56 * chance.randrange(count)
            at, size = chance.choice([(0, 4), (4, 4), (8, 8), (16, 8), (32, 8), (40, 8), (48, 8)])
            at += header
        value = chance.choice(ODD) if chance.random() < 0.7 else chance.getrandbits(64)
        value &= (1 << 8 * size) - 1
        data[at:at + size] = value.to_bytes(size, "little")
        told.append(f"{at}:{size}={value:#x}")
    return " ".join(told)


def outcome(command: list[str], env: dict[str, str], place: Path) -> tuple[int | str, bytes]:
    """In `place`: what is no program any more goes to the shell, which may
    read redirections in it and make files."""
    try:
        done = subprocess.run(command, env=env, cwd=place, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=20, check=False)
    except OSError as error:
        return error.errno or 0, b""
    except subprocess.TimeoutExpired:
        return "timeout", b""
    return done.returncode, done.stdout


def notes_nowhere(checks: Checks, good: Path, bad: Path, env: dict[str, str]) -> None:
    """Notes that no segment loads, and the loader does not need: nobody reads them in memory."""
    data = bytearray(good.read_bytes())
    start, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    note = [header for header in range(start, start + 56 * count, 56)
            if struct.unpack_from("<I", data, header)[0] == 4][-1]
    struct.pack_into("<Q", data, note + 16, 0x700000000000)
    bad.unlink(missing_ok=True)
    bad.write_bytes(data)
    bad.chmod(0o755)
    plain = outcome([str(bad)], env, bad.parent)
    own = outcome([str(bad)], env | {"LD_PRELOAD": runtime(), "BIGLEAF_IMAGE": "auto"}, bad.parent)
    checks.expect(plain == own, f"notes outside of all segments: {plain} became {own}")


def main() -> None:
    checks = Checks()
    seed = int(os.environ.get("BIGLEAF_TEST_SEED", "1"))
    print(f"      seed {seed}")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory, shadow_root() as root:
        scratch = Path(directory)
        good = generate_program(scratch, "good", 6, ["-pie", "-fPIE"])
        place = scratch / "place"
        place.mkdir()
        env = environment(root)
        refused = same = 0
        for index in range(MUTATIONS):
            data = bytearray(good.read_bytes())
            told = mutate(chance, data)
            bad = scratch / "bad"
            bad.unlink(missing_ok=True)
            bad.write_bytes(data)
            bad.chmod(0o755)
            status, _ = outcome([bigleaf(), "align", "-o", str(scratch / "out"), str(bad)], env,
                                place)
            if status not in (0, 2):
                checks.expect(False, f"align ends with {status}: {told}")
            refused += status == 2
            plain = outcome([*run_command("--heap=none", "--image=off"), str(bad)],
                            env | {"BIGLEAF_IMAGE": "off"}, place)
            placed = outcome([*run_command("--heap=none"), str(bad)], env, place)
            if plain != placed:
                checks.expect(False, f"{plain} became {placed}: {told}")
            same += plain == placed
            if index % 50 == 49:
                print(f"      {index + 1} files", flush=True)
        notes_nowhere(checks, good, scratch / "bad", env)
        checks.expect(refused > 0, f"{refused} of {MUTATIONS} files refused by align")
        checks.expect(same == MUTATIONS, f"{same} of {MUTATIONS} files end as without")
    checks.finish()


if __name__ == "__main__":
    main()
