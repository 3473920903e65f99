# SPDX-License-Identifier: MIT
"""The compilers that `bigleaf-bench build` puts first on PATH."""

from __future__ import annotations

import os
import subprocess

import pytest

from bigleaf_bench.build import toolchain


@pytest.mark.parametrize(("variant", "option"), [("bigleaf", ""), ("thp", " --libc=thp")])
def test_bigleaf_may_lie_in_a_folder_with_a_space(tmp_path, monkeypatch, variant, option):
    folder = tmp_path / "my sources"
    (folder / "thp").mkdir(parents=True)
    (folder / "thp/libc.a").touch()
    for name in ("bigleaf", "ccache"):
        text = '#!/bin/sh\necho "$0 $*"; echo "$BIGLEAF_LIBC_THP"\n'
        (folder / name).write_text(text, encoding="ascii")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("BIGLEAF_LIBC_THP", str(folder / "thp"))
    monkeypatch.setattr(toolchain, "find_bigleaf", lambda: str(folder / "bigleaf"))
    monkeypatch.setattr(toolchain, "libraries", lambda _: [])
    environment = toolchain.make(variant).install(tmp_path / "bin")

    def said(*words: str) -> list[str]:
        return subprocess.run(["cc", *words], env={**os.environ, **environment}, text=True,
                              stdout=subprocess.PIPE, check=True).stdout.splitlines()

    assert said("a.o") == [f"{folder}/bigleaf cc{option} a.o -static", f"{folder}/thp"]
    assert said("-c", "a.c")[0].startswith(f"{folder}/ccache /")
