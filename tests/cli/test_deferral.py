# SPDX-License-Identifier: MIT
"""Huge pages that are not earned yet, and those that were bought."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import REGIONS, Bigleaf, report_of, thp_can_be_had
from huge_pages import FAULT, refused

OWN_HEAP = "bigleaf heap"
DEAR_US = 1000  # of a fresh huge page: more than as many base pages take


def process_line(pid: int, mib: int, cause: str, statistics: dict) -> str:
    """What a process of `mib` MiB of heap, all on base pages, writes."""
    empty = {"bytes": 0, "huge_bytes": 0, "hugetlb_bytes": 0, "pss_bytes": 0}
    regions = dict.fromkeys(REGIONS, empty) | {
        "heap": empty | {"bytes": mib << 20, "pss_bytes": mib << 20}
    }
    part = {"region": "heap", "object": OWN_HEAP, "cause": cause,
            "bytes": mib << 20}  # fmt: skip
    return json.dumps(
        {
            "schema": "bigleaf.process/1",
            "pid": pid,
            "ppid": 1,
            "exe": f"/bin/program{pid}",
            "thp_disabled": 0,
            "peak": regions,
            "end": regions,
            "parts": [part],
            "image": [],
            "statistics": statistics,
        }
    )


def deferral(now: int, bought: int, price_us: int) -> dict:
    return {
        "units_deferred": now + bought,
        "units_deferred_now": now,
        "units_bought": bought,
        "huge_price_us": price_us,
    }


def report_on_lines(
    bigleaf: Bigleaf, tmp_path: Path, *lines: str, options: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
) -> dict:
    """The report of a program whose processes wrote these lines."""
    (tmp_path / "lines").write_text("".join(line + "\n" for line in lines))
    script = 'cat "$0" >>"$BIGLEAF_REPORT"'
    words = ("sh", "-c", script, str(tmp_path / "lines"))
    return report_of(bigleaf, tmp_path, *options, *words, env=env)


def reasons_of_own_heap(report: dict) -> set[str]:
    return {part["reason"] for part in report["fallbacks"]
            if part["object"] == OWN_HEAP}  # fmt: skip


def not_earned(milliseconds: str, percent: int) -> str:
    return (
        f"not earned yet: a fresh huge page takes {milliseconds} ms here, and "
        f"such pages may take {percent} % of the CPU time "
        "(BIGLEAF_HUGE_PERCENT); --pages=thp has them at once"
    )


@pytest.mark.parametrize(("now", "bought"), [(40, 0), (40, 3), (0, 60)])
def test_huge_pages_that_are_not_earned_say_so(
    bigleaf: Bigleaf, library: str, tmp_path: Path,
    now: int, bought: int,
) -> None:
    """Those that were bought after the peak had been plain at it."""
    if not thp_can_be_had(bigleaf):
        pytest.skip("no huge pages here: that is the reason then")
    line = process_line(71, 64 << 10, "refused", deferral(now, bought, 7123))
    report = report_on_lines(bigleaf, tmp_path, line)
    assert reasons_of_own_heap(report) == {not_earned("7.1", 10)}
    assert report["deferral"] == {
        "units_deferred": now,
        "units_bought": bought,
        "huge_page_seconds": 0.007123,
    }


def test_the_percent_is_the_one_in_force(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    if not thp_can_be_had(bigleaf):
        pytest.skip("no huge pages here: that is the reason then")
    line = process_line(71, 64 << 10, "refused", deferral(9, 0, 6000))
    for options, value, percent in (
        (("--huge-percent=5",), "7", 5),
        ((), "7", 7),
        ((), "none", 10),
    ):
        report = report_on_lines(
            bigleaf, tmp_path, line, options=options,
            env={"BIGLEAF_HUGE_PERCENT": value},
        )  # fmt: skip
        assert reasons_of_own_heap(report) == {not_earned("6.0", percent)}


def test_deferral_is_summed_and_told_of_the_process_at_the_peak(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    large = process_line(71, 64 << 10, "refused", deferral(0, 0, 9000))
    small = process_line(72, 64, "refused", deferral(12, 4, 6000))
    other = process_line(73, 32, "refused", deferral(3, 2, 8000))
    report = report_on_lines(bigleaf, tmp_path, large, small, other)
    assert report["deferral"] == {
        "units_deferred": 15,
        "units_bought": 6,
        "huge_page_seconds": 0.008,
    }
    assert not any("earned" in why for why in reasons_of_own_heap(report))
    told = {p["pid"]: "deferral" in p for p in report["processes"]}
    assert (told[71], told[72], told[73]) == (False, True, True)


def reports_free_pages() -> bool:
    """As the runtime asks: then the first huge page has to be earned, too."""
    order = Path("/sys/module/page_reporting/parameters/page_reporting_order")
    return order.exists() and int(order.read_text()) < 64


def report_and_statistics(
    bigleaf: Bigleaf, tmp_path: Path, program: Path, *words: str
) -> tuple[dict, dict]:
    """The report of one run, and what the program's own line counts."""
    script = '"$@"; cat "$BIGLEAF_REPORT" >"$0"'
    lines = tmp_path / "own_lines"
    report = report_of(
        bigleaf, tmp_path, "sh", "-c", script, lines, program, *words
    )
    for line in lines.read_text().splitlines():
        process = json.loads(line)
        if process["exe"] == str(program.resolve()):
            return report, process["statistics"]
    raise AssertionError(f"no line of {program}")


def test_a_heap_that_waits_for_huge_pages(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    """On the machine itself: what is asked goes by what the process measured.

    Behind a dear unit, those mapped with it wait: so short a run earns none.
    """
    if not thp_can_be_had(bigleaf):
        pytest.skip("no huge pages here: nothing can be measured")
    grow = programs / "cli_grow"
    before = refused(FAULT)
    report, own = report_and_statistics(  # first: the others leave some
        bigleaf, tmp_path, grow, "200", "exit"
    )
    if own["units_hugetlb"] == 0 and refused(FAULT) == before:
        assert own["huge_price_us"] > 0 or own["units_deferred"] > 0
    for option in ("--pages=thp", "--huge-percent=100"):
        words = (option, str(grow), "200", "exit")
        assert "deferral" not in report_of(bigleaf, tmp_path, *words)
    if own["units_hugetlb"] == 0 and reports_free_pages():
        assert own["units_deferred"] > 0
    if own["huge_price_us"] > 3 * DEAR_US:
        assert own["units_deferred"] > 0
    assert ("deferral" in report) == (own["units_deferred"] > 0)
    if own["units_deferred_now"] > 16:  # fewer may all be mapped ahead
        price = report["deferral"]["huge_page_seconds"]
        assert price == pytest.approx(own["huge_price_us"] / 1e6)
        heap = report["regions"]["heap"]
        assert heap["huge_bytes"] < heap["bytes"]
        assert any("not earned" in why for why in reasons_of_own_heap(report))


def test_who_is_killed_does_not_blame_the_kernel(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    """Its line with what was deferred is never written."""
    doctor = json.loads(bigleaf("doctor", "--json").out)
    before = refused(FAULT)
    script = '"$0" 200 hang & sleep 1; kill -9 $!'
    report = report_of(
        bigleaf, tmp_path, "sh", "-c", script, str(programs / "cli_grow")
    )
    blamed = any("no huge page" in why for why in reasons_of_own_heap(report))
    # Elsewhere nothing is deferred, and a shortage is one.
    short = doctor["page_reporting"] != 1 and refused(FAULT) != before
    assert short or not blamed


def test_text_report_counts_what_was_bought(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    line = process_line(71, 64 << 10, "refused", deferral(12, 34, 7000))
    (tmp_path / "lines").write_text(line + "\n")
    script = 'cat "$0" >>"$BIGLEAF_REPORT"'
    ended = bigleaf("run", "--report", "sh", "-c", script, tmp_path / "lines")
    assert (
        "  bought       34 huge pages, as they were earned; 12 units on base "
        "pages at the end\n" in ended.err
    )
    assert "bought" not in bigleaf("run", "--report", "--pages=base", "true").err
