# SPDX-License-Identifier: MIT
"""Tables, plots, report and result XML from results that are known."""

from __future__ import annotations

import bz2
import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy
import pandas
import pytest

from bigleaf_bench import bootstrap, plots, report, resultxml, tables
from bigleaf_bench.failure import WrongUse
from bigleaf_bench.records import Results

CAMPAIGN = """
name = "known"
[limits]
seconds = 100
[[instances]]
name = "all"
files = ["*.cnf"]
[[tools]]
use = "minisat"
sets = ["all"]
[[tools]]
use = "clasp"
sets = ["all"]
[[variants]]
name = "base"
[[variants]]
name = "thp"
"""
HOUR = 3600.0


def record(tool, instance, variant, seconds, status="ok", objection="", **more) -> dict:
    ok = status == "ok"
    return {
        "schema": "bigleaf.bench/1", "key": f"measure|{tool}|all/{instance}|{variant}|0",
        "purpose": "measure", "tool": tool, "category": {"clasp": "ASP"}.get(tool, "SAT"),
        "set": "all", "instance": instance, "family": instance[0], "variant": variant,
        "kind": variant, "repetition": 0, "host": "h", "stands_in": "", "expected": "",
        "status": status, "answer": "unsat" if ok else "", "checked": "", "objection": objection,
        "valid": ok and not objection, "cpu_seconds": seconds + 1, "wall_seconds": seconds + 2,
        "memory_bytes": 2 << 20, "exit_status": 20, "signal": None, "termination": "",
        "started": "2026-11-21T10:00:00", "backing": {
            "coverage": 0.9 if variant == "thp" else 0.0, "heap_bytes": 64 << 20,
            "heap_huge_bytes": 0, "pool_bytes": 0, "huge_bytes": 0, "bytes": 64 << 20,
            "heap": "none", "heap_reason": "", "text": "none", "minor_faults": 7,
            "peak_rss_bytes": 64 << 20, "user_seconds": seconds, "system_seconds": 0.0,
            "wall_seconds": seconds + 1}, **more}


def known() -> list[dict]:
    """minisat: a and b by both, c by thp only, d not as labelled."""
    result = [record("minisat", "a.cnf", "base", 1 * HOUR),
              record("minisat", "a.cnf", "thp", 0.5 * HOUR),
              record("minisat", "b.cnf", "base", 3 * HOUR),
              record("minisat", "b.cnf", "thp", 2.5 * HOUR),
              record("minisat", "c.cnf", "base", 100, "timeout"),
              record("minisat", "c.cnf", "thp", 28),
              record("minisat", "d.cnf", "base", 9 * HOUR),
              record("minisat", "d.cnf", "thp", 1, objection="1% of the heap is huge"),
              record("clasp", "a.cnf", "base", 2 * HOUR),
              record("clasp", "a.cnf", "thp", 1 * HOUR),
              record("clasp", "b.cnf", "base", 1, "crash (signal 11)"),
              record("clasp", "b.cnf", "thp", 1 * HOUR)]
    tlb = {**record("minisat", "a.cnf", "base", 1), "purpose": "tlb", "answer": "",
           "key": "tlb|minisat|all/a.cnf|base|0", "tlb": {"base": 4e13, "huge": 1e12}}
    return [*result, tlb]


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "campaign.toml").write_text(CAMPAIGN, encoding="ascii")
    text = "".join(json.dumps(r) + "\n" for r in known())
    (tmp_path / "runs.jsonl").write_text(text, encoding="ascii")
    return tmp_path


@pytest.fixture
def results(folder) -> Results:
    return Results.load(folder)


def test_table_2(results):
    # Solved: d counts for base alone. Hours: a and b, which both solved: 4
    # and 3. Misses per second: of a alone, over 3600 s and the bus's 2.4e9.
    assert tables.table_2(results) == [[
        "MiniSat", "3", "3", "4.00", "3.00", "25.00", "-", "4.0e+13", "1.0e+12", "2.50",
        "4629.63", "231.48"]]


def test_misses_per_second_are_on_the_papers_scale():
    # Table 2, row of MergeSAT: 3.4e11 misses in 6.89 h are 5.77 there.
    pairs = pandas.DataFrame({"tlb_n": [3.4e11], "tlb_thp": [1e10], "seconds_n": [6.89 * HOUR],
                              "seconds_thp": [5.70 * HOUR]})
    found = tables.tlb(pairs)
    assert float(found[3]) == pytest.approx(5.77, rel=0.02)
    assert float(found[4]) == pytest.approx(0.21, rel=0.05)
    assert float(found[2]) == pytest.approx(3.04, rel=0.05)


def test_every_variant_beside_the_base(results):
    rows = tables.table_variants(results)
    assert [row[:5] for row in rows if row[0] in ("minisat", "all")] == [
        ["minisat", "thp", "4.00", "3.00", "25.00"], ["all", "thp", "6.00", "4.00", "33.33"]]
    assert "Variants beside base" in tables.variants(results)


def test_table_3_counts_timeouts_as_the_limit(results):
    # minisat: a, b, and c with 100 s against 28 s. clasp: a; a crash is no time.
    assert tables.table_3(results) == [
        ["SAT", "MiniSat", "4.03", "3.01", "25.32",
         tables.table_3(results)[0][5], "3"],
        ["ASP", "clasp", "2.00", "1.00", "50.00", "-", "1"]]


@pytest.mark.parametrize(("times", "status", "seconds"), [
    ((4, 90, "timeout"), "ok", "90.00"), ((4, "timeout", "timeout"), "timeout", "-"),
    (("timeout", "timeout", 4), "timeout", "-"), (("timeout", 4), "timeout", "-"),
    (("crash", 4, 6), "ok", "5.00"), (("crash", "timeout", "timeout"), "timeout", "-"),
    (("crash", "crash", 4), "ok", "4.00"), (("crash", "crash"), "crash", "-")])
def test_a_run_out_of_time_is_the_longest_repetition(folder, times, status, seconds):
    runs = [record("clasp", "a.cnf", "thp", 2)]
    for i, time in enumerate(times):
        ok = isinstance(time, int)
        runs.append({**record("clasp", "a.cnf", "base", time if ok else 100, "ok" if ok else time),
                     "repetition": i, "key": f"measure|clasp|all/a.cnf|base|{i}"})
    text = "".join(json.dumps(r) + "\n" for r in runs)
    (folder / "runs.jsonl").write_text(text, encoding="ascii")
    results = Results.load(folder)
    row = list(csv.reader(io.StringIO(tables.runs(results, "csv"))))[1]
    assert row[2] == status and (row[4] or "-") == seconds
    counted = tables.table_3(results)[0]
    assert counted[-1] == ("0" if status == "crash" else "1")
    assert status != "timeout" or counted[2] == tables.hours(100)


def test_misses_are_those_of_bigleaf_alone(folder):
    text = CAMPAIGN + '[[variants]]\nname = "peer"\nkind = "other"\n'
    (folder / "campaign.toml").write_text(text, encoding="ascii")
    with (folder / "runs.jsonl").open("a", encoding="ascii") as file:
        file.writelines(json.dumps(record("minisat", i, "peer", HOUR)) + "\n"
                        for i in ("a.cnf", "b.cnf"))
    assert tables.table_2(Results.load(folder))[0][7:9] == ["4.0e+13", "1.0e+12"]
    for base, huge in (("base", "peer"), ("peer", "thp")):
        row, = tables.table_2(Results.load(folder, base, huge))
        assert row[2] == "2" if huge == "peer" else row[1] == "2"
        assert row[7:] == ["-"] * 5


def test_the_name_of_a_campaign_may_be_its_file_s(folder):
    text = CAMPAIGN.replace('name = "known"\n', "", 1)
    (folder / "campaign.toml").write_text(text, encoding="ascii")
    (folder / "notes.json").write_text('{"campaign": "mine"}', encoding="ascii")
    results = Results.load(folder)
    assert "<h1>mine: " in report.page(results)
    assert all(p.name.startswith("mine.") for p in resultxml.export(results, folder))


def test_text_names_what_is_missing_and_what_is_not_counted(results):
    text = tables.paper(results)
    assert re.search("not in this campaign: .*Lingeling.*cbmc", text)
    assert "1 runs were not backed as labelled" in text
    widths = {len(line) for line in text.splitlines()[:3]}
    assert max(widths) < 160


def test_each_row_names_what_ran_for_it(folder):
    rows = [record("aigbmc", "m.aig", v, 9, category="HWMC", stands_in="bmc3 of ABC")
            for v in ("base", "thp")]
    rows += [record("cbmc", "p.c", v, 0, "missing tool (cbmc)", category="SWMC")
             for v in ("base", "thp")]
    rows += [record("minisat-on-cbmc", "p.cnf", v, 9, category="SWMC") for v in ("base", "thp")]
    with (folder / "runs.jsonl").open("a", encoding="ascii") as file:
        file.writelines(json.dumps(r) + "\n" for r in rows)
    results = Results.load(folder)
    said = tables.remarks(results)
    assert "aigbmc: bmc3 of ABC stood in" in said
    assert ("cbmc: no run that counts; missing tool (cbmc); of SWMC ran minisat-on-cbmc") in said
    third = {row[1]: row for row in tables.table_3(results)}
    assert third["aigbmc"][0] == "HWMC" and third["aigbmc"][-1] == "1"
    assert third["cbmc"] == ["SWMC", "cbmc", "-", "-", "-", "-", "0"]
    page = report.page(results)
    assert "bmc3 of ABC stood in" in page and "of SWMC ran minisat-on-cbmc" in page


@pytest.fixture
def alone(folder) -> Results:
    """Of the same campaign the base alone."""
    text = CAMPAIGN.replace('[[variants]]\nname = "thp"\n', "")
    (folder / "campaign.toml").write_text(text, encoding="ascii")
    kept = [r for r in known() if r["variant"] == "base"]
    (folder / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in kept),
                                       encoding="ascii")
    return Results.load(folder)


def test_one_variant_is_compared_with_nothing(alone, tmp_path):
    assert tables.table_alone(alone) == [
        ["SAT", "MiniSat", "4", "3", "13.00", "10800.00", "64", "0", "1 timeout"],
        ["ASP", "clasp", "2", "1", "2.00", "7200.00", "64", "0", "1 crash"]]
    for form in ("text", "csv", "latex"):
        assert tables.variants(alone, form) == tables.paper(alone, form)
    said = tables.paper(alone) + tables.runs(alone) + report.page(alone)
    assert "against" not in said and "base and" not in said and "thp" not in said
    assert report.page(alone).count("<svg") == 1
    assert len(plots.write(alone, tmp_path / "plots")) == 2
    with pytest.raises(WrongUse, match="base alone has nothing"):
        plots.write(alone, tmp_path / "plots", ["scatter"])


def test_csv_and_latex(results):
    second, third = tables.paper(results, "csv").split("\n\n")
    assert next(csv.DictReader(io.StringIO(second)))["s [%]"] == "25.00"
    assert [row["Tool"] for row in csv.DictReader(io.StringIO(third))] == ["MiniSat", "clasp"]
    latex = tables.paper(results, "latex")
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == 2
    assert r"s [\%]" in latex and r"\#\_n" in latex
    assert not re.search(r"(?<!\\)[%_#]", re.sub(r"^%.*$", "", latex, flags=re.MULTILINE)
                         .replace("tab:thp-sat", "").replace("tab:thp-reasoners", ""))


def test_intervals_hold_what_they_should():
    chance = numpy.random.default_rng(1)
    hits = 0
    for _ in range(60):
        base = chance.lognormal(3, 1, 40)
        huge = base * chance.normal(0.85, 0.05, 40)
        low, high = bootstrap.saved_interval(base, huge)
        hits += low <= 15 <= high
    assert hits >= 48, f"{hits} of 60 intervals hold the true 15 %"
    assert bootstrap.saved_interval(numpy.ones(2), numpy.ones(2)) is None


def test_unknown_variants_and_folders_are_named(folder):
    with pytest.raises(WrongUse, match="no variant 'x' here"):
        Results.load(folder, base="x")
    with pytest.raises(WrongUse, match="no results here"):
        Results.load(folder / "nowhere")
    (folder / "campaign.toml").write_bytes(b"name = '\xff'\n")
    with pytest.raises(WrongUse, match="campaign.toml: is no UTF-8 text"):
        Results.load(folder)


def test_plots(results, tmp_path):
    made = plots.write(results, tmp_path / "plots")
    assert len(made) == 8
    for path in made:
        data = path.read_bytes()
        if path.suffix == ".svg":
            ElementTree.fromstring(data)
        else:
            assert data.startswith(b"\x89PNG")
    again = plots.draw(results, "scatter", ("svg",))["svg"]
    assert again == (tmp_path / "plots" / "scatter.svg").read_bytes(), "equal bytes"
    for gain in plots.GAINS:
        assert f"{gain} %".encode() in again


def test_names_of_families_are_no_formulas(folder):
    with (folder / "runs.jsonl").open("a", encoding="ascii") as file:
        file.writelines(json.dumps({**record("minisat", "e.cnf", v, 1), "family": r"$\no$"})
                        + "\n" for v in ("base", "thp"))
    drawn = plots.draw(Results.load(folder), "families", ("svg", "png"))
    assert len(drawn) == 2


def test_report_is_one_file(results, folder):
    path = report.write(results, folder / "report.html")
    page = path.read_text(encoding="utf-8")
    assert page.count("<svg") == 4 and 'name="viewport"' in page
    outside = re.findall(r'(?:src|href)="(?!#)[^"]*"', page)
    assert not outside, "nothing is fetched"
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert "not backed as labelled: 1% of the heap is huge" in page


def test_text_from_tools_is_escaped(folder):
    bad = record("minisat", "e.cnf", "base", 1, "error (<script>alert(1)</script>)")
    with (folder / "runs.jsonl").open("a", encoding="ascii") as file:
        file.write(json.dumps(bad) + "\n")
    page = report.page(Results.load(folder))
    assert "<script>" not in page and "&lt;script&gt;" in page


def test_result_xml_for_table_generator(results, folder):
    paths = resultxml.export(results, folder)
    assert len(paths) == 4
    done = subprocess.run(
        [sys.executable, "-c", "from benchexec.tablegenerator import main; main()",
         "--no-diff", "-q", "-o", folder / "table", *paths],
        capture_output=True, text=True, check=False)
    made = list((folder / "table").glob("*.table.csv"))
    assert made, done.stderr
    text = made[0].read_text(encoding="utf-8")
    assert "a.cnf" in text and "minisat" in text and "3601.0" in text
    assert "not counted" in text


def test_result_xml_takes_any_answer(folder):
    bad = record("minisat", "e.cnf", "base", 1, answer="true: \x1b[1m\x00\ufffe\udc80<")
    with (folder / "runs.jsonl").open("a", encoding="ascii") as file:
        file.write(json.dumps(bad) + "\n")
    path = next(p for p in resultxml.export(Results.load(folder), folder)
                if "minisat.base" in p.name)
    root = ElementTree.fromstring(bz2.decompress(path.read_bytes()))
    status = root.find("run[@name='all/e.cnf']/column[@title='status']")
    assert status.get("value") == r"true: ?[1m??\udc80<"


def test_only_ordinary_files_are_replaced(folder, bench):
    (folder / "page.html").write_text("old", encoding="ascii")
    (folder / "link").symlink_to("page.html")
    (folder / "dangling").symlink_to("new.html")
    os.mkfifo(folder / "fifo")
    for name in ("link", "dangling"):
        assert bench("report", f"--output={name}", folder).status == 0
        assert (folder / name).is_symlink()
        assert "<svg" in (folder / name).resolve().read_text(encoding="utf-8")
    with subprocess.Popen(["cat", folder / "fifo"], stdout=subprocess.PIPE, text=True) as reader:
        ended = bench("report", "--output=fifo", folder)
        assert (ended.status, ended.out, ended.err) == (0, "", "")
        assert reader.stdout.read().rstrip().endswith("</html>")
    assert (folder / "fifo").is_fifo()
    assert bench("report", "--output=/dev/stdout", folder).out.rstrip().endswith("</html>")


def test_what_the_system_refuses_is_no_fault_of_ours(folder, bench):
    bench.write("file", "")
    for words, said in ((("report", "--output=nodir/x.html"), "nodir/x.html: No such file or "
                         "directory"), (("plot", "--output=file"), "file: File exists"),
                        (("report", "--output=/dev/full"), "/dev/full: No space left on device")):
        bench.refuses(*words, folder, status=3, said=said)
    with Path("/dev/full").open("wb") as full:
        for words in (("tools",), ("--help",), ("tables", "paper", str(folder))):
            done = subprocess.run(bench.command(*words), stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False)
            assert (done.returncode, done.stderr) == (
                3, "bigleaf-bench: standard output: No space left on device\n")
    (folder / "runs.jsonl").unlink()
    (folder / "runs.jsonl").mkdir()
    bench.refuses("tables", "paper", folder, status=3, said="runs.jsonl: Is a directory")


@pytest.mark.parametrize(("closed", "said"), [
    (">&-", ""), ("2>&-", "minisat"), (">&- 2>&-", ""), ("<&- >&- 2>&-", "")])
def test_streams_that_are_closed(bench, closed, said):
    """As nobody reads; nothing goes where the other does."""
    words = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    for more, status in (("tools", 0), ("nosuch", 2)):
        done = subprocess.run([*words, *bench.command(more)], capture_output=True, text=True,
                              check=False)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout.startswith(said if status == 0 else "")
        assert status == 0 or not done.stdout


@pytest.mark.parametrize(("line", "lack"), [
    ({"key": "x"}, "'purpose'"), ({**known()[0], "valid": "no"}, "'valid'"),
    ({**known()[0], "backing": None}, "'backing'"),
    ({**known()[0], "backing": {"user_seconds": 1}}, "'backing.system_seconds'")])
def test_a_line_that_lacks_something_is_named(folder, bench, line, lack):
    with (folder / "runs.jsonl").open("a", encoding="ascii") as file:
        file.write(json.dumps(line) + "\n")
    number = len(known()) + 1
    bench.refuses("tables", "paper", folder, status=2,
                  said=f"runs.jsonl:{number}: a run without {lack}; mend or remove this line")


def test_a_heap_too_small_to_judge_is_shown(folder, alone):
    def told() -> list[list[str]]:
        return list(csv.reader(io.StringIO(tables.runs(Results.load(folder), "csv"))))

    small = record("minisat", "a.cnf", "base", 1)
    small["backing"]["heap_bytes"] = 5 << 20
    with (folder / "runs.jsonl").open("a", encoding="ascii") as file:
        file.write(json.dumps(small) + "\n")
    found = {(row[0], row[1]): row[2] for row in told()}
    assert found["minisat", "a.cnf"] == "ok, small heap"
    assert found["minisat", "b.cnf"] == "ok"
    (folder / "campaign.toml").write_text(CAMPAIGN, encoding="ascii")
    with (folder / "runs.jsonl").open("a", encoding="ascii") as file:
        file.write(json.dumps(record("minisat", "a.cnf", "thp", 1)) + "\n")
    row = next(row for row in told() if row[:2] == ["minisat", "a.cnf"])
    assert row[2:4] == ["ok, small heap", "ok"]
    row = next(row for row in told() if row[:2] == ["minisat", "b.cnf"])
    assert row[2:4] == ["ok", "not run"]
