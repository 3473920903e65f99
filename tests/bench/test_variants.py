# SPDX-License-Identifier: MIT
"""Variants beyond base and thp: what they are given, and what their label
must have brought."""

from __future__ import annotations

import glob

import pytest
from conftest import BASE, HEAD, UNSAT

from bigleaf_bench import backing, pool
from bigleaf_bench import campaign as campaigns

# 48 MiB of heap, for as long as a watcher on a busy machine needs to see it.
LARGE = "import time\nx = [b'x' * (1 << 20) for _ in range(48)]\ntime.sleep(1.5)\n"


def campaign(bench, variants: str) -> None:
    bench.write("a.cnf", UNSAT)
    program = bench.write("large.py", LARGE)
    bench.write("campaign.toml", HEAD + bench.tool("large", f"python3 {program}; exit 20")
                + variants)


def pages() -> int:
    return int(pool.POOL.read_text(encoding="ascii"))


@pytest.fixture
def kernel_s_pool():
    """The pool, which must be as large afterwards."""
    if pool.why_not():
        pytest.skip(pool.why_not())
    before = pages()
    yield before
    assert pages() == before


def test_the_pool_is_lent_and_given_back(bench, kernel_s_pool):
    campaign(bench, BASE + '[[variants]]\nname = "hugetlb"\n')
    ended = bench.run()
    assert ended.status == 0, ended.err
    found = {r["variant"]: r for r in bench.records()}
    assert found["base"]["valid"] and not found["base"]["backing"]["pool_bytes"]
    if not found["hugetlb"]["valid"]:
        # A kernel without so many free huge pages: said, and not counted.
        assert "hugetlb pool" in found["hugetlb"]["objection"]
        pytest.skip(found["hugetlb"]["objection"])
    assert found["hugetlb"]["backing"]["pool_bytes"] >= 40 << 20
    assert not list((bench.results / "pool").iterdir())


def test_what_a_killed_campaign_lent_is_given_back(bench, kernel_s_pool, tmp_path, monkeypatch):
    monkeypatch.setattr(pool.os, "getpid", lambda: 2**22 + 1)  # a process that is not there
    lending = pool.lent(tmp_path, 3)
    got = lending.__enter__()
    assert pages() == kernel_s_pool + got
    assert pool.give_back(tmp_path) == got
    assert pages() == kernel_s_pool and pool.give_back(tmp_path) == 0


def test_without_the_right_to_set_it_up_nothing_is_lent(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "POOL", tmp_path / "none")
    with pool.lent(tmp_path, 5) as got:
        assert got == 0
    assert "no pool" in pool.why_not()


PEERS = {"jemalloc": ("libjemalloc.so.2", '{ LD_PRELOAD = "%s", MALLOC_CONF = "thp:always" }'),
         "tcmalloc": ("libtcmalloc_minimal.so.4", '{ LD_PRELOAD = "%s" }')}


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_s_allocator(bench, name):
    library, environment = PEERS[name]
    pattern = f"/usr/lib/*/{library}"
    if not glob.glob(pattern):
        pytest.skip(f"{library} is not here")
    campaign(bench, f'{BASE}[[variants]]\nname = "{name}"\nkind = "other"\n'
                    f"environment = {environment % pattern}\n")
    assert bench.run().status == 0
    found = {r["variant"]: r for r in bench.records()}
    assert found[name]["valid"] and "cannot be preloaded" not in found[name].get("tail", "")


def test_a_library_that_is_missing_or_none(bench):
    text = bench.write("text.so", "no library")
    libraries = {"gone": "/no/such.so", "unset": "$BIGLEAF_NOWHERE", "text": text}
    campaign(bench, "".join(
        f'[[variants]]\nname = "{name}"\nkind = "other"\n'
        f'environment = {{ LD_PRELOAD = "{value}" }}\n' for name, value in libraries.items()))
    assert bench.run().status == 0
    found = {r["variant"]: r for r in bench.records()}
    assert found["gone"]["status"] == "missing tool (/no/such.so)"
    assert found["unset"]["status"] == "missing tool ($BIGLEAF_NOWHERE)"
    assert found["text"]["status"] == "ok" and not found["text"]["valid"]
    assert found["text"]["objection"] == "a library of LD_PRELOAD could not be loaded"


@pytest.mark.parametrize(("variant", "given", "objection"), [
    ("base", 0, ""), ("base", 4000, "not seen"), ("base", None, "not seen"),
    ("thp", 0, "not seen"),
])
def test_a_peak_that_was_not_seen(tmp_path, variant, given, objection):
    text = f'{HEAD}[[tools]]\nuse = "minisat"\nsets = ["all"]\n[[variants]]\nname = "{variant}"\n'
    (wanted,) = campaigns.parse(tmp_path / "c.toml", text).variants
    seen = {"heap": "bigleaf", "heap_reason": "", "wall_seconds": 3.0, "bytes": 40 << 20,
            "peak_rss_bytes": 130 << 20, "heap_bytes": 40 << 20, "pool_bytes": 0,
            "heap_huge_bytes": 0 if variant == "base" else 40 << 20, "given": given}
    said = backing.objection(wanted, seen, "")
    assert objection in said and bool(said) == bool(objection)
