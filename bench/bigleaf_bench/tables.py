# SPDX-License-Identifier: MIT
"""Tables 2 and 3 of the papers, and all pairs: as text, CSV and LaTeX.

Table 2 has the SAT solvers: instances solved in either variant, hours on those
solved in both, saved time, TLB misses. Table 3 has every category: hours by
PAR1 (a run that ends without an answer counts as the time limit) over the
instances that either variant solved. Both intervals are bootstrapped. Where a
campaign has one variant only, one table of it stands for all of these.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace

import numpy
import pandas

from bigleaf_bench import bootstrap
from bigleaf_bench.records import Results

# The bus of Table 2: 9.6 GT/s shared by four threads, in misses per second.
BUS_PER_SECOND = 9.6e9 / 4
CATEGORIES = ("SAT", "ASP", "MaxSAT", "MUS", "HWMC", "SWMC", "SMT", "LP")
NONE = "-"
# Rows of the papers: their names there, and the tools that have them.
TABLE_2 = {"Winner19": "maplechrono", "MergeSAT": "mergesat", "CaDiCaL": "cadical",
           "Glucose": "glucose", "CryptoM.": "cryptominisat", "Lingeling": "lingeling",
           "MiniSat": "minisat"}
TABLE_3 = {("SAT", "MiniSat"): "minisat", ("SAT", "MergeSAT"): "mergesat",
           ("ASP", "clasp"): "clasp", ("MaxSAT", "open-wbo"): "open-wbo",
           ("MUS", "muser2"): "muser2", ("HWMC", "aigbmc"): "aigbmc", ("SWMC", "cbmc"): "cbmc"}
HEAD_2 = ["solver", "#_n", "#_thp", "t_n [h]", "t_thp [h]", "s [%]", "95 % interval", "TLB_n",
          "TLB_thp", "r_tlb [%]", "tlb[s]_n", "tlb[s]_thp"]
HEAD_ALONE = ["Category", "Tool", "instances", "solved", "t [h]", "median [s]", "MiB", "huge %",
              "not solved"]
HEAD_3 = ["Category", "Tool", "t_n [h]", "t_thp [h]", "s [%]", "95 % interval", "instances"]


def paper(results: Results, form: str = "text") -> str:
    """Both tables, and what is to be known with them."""
    made = [render(head, rows, form, caption, label)
            for caption, head, rows, label in of_paper(results)]
    if form == "csv":
        return "\n".join(made)
    prefix = "% " if form == "latex" else ""
    return "\n".join([*made, *(prefix + note for note in remarks(results))]).rstrip("\n")


def of_paper(results: Results) -> list[tuple[str, list[str], list[list[str]], str]]:
    """Caption, head, rows and label of the tables of the papers."""
    if results.alone:
        return [(caption_alone(results), HEAD_ALONE, table_alone(results), "alone")]
    return [(caption_2(results), HEAD_2, table_2(results), "thp-sat"),
            (caption_3(results), HEAD_3, table_3(results), "thp-reasoners")]


def table_2(results: Results) -> list[list[str]]:
    pairs = results.pairs("SAT")
    names = {tool: name for name, tool in TABLE_2.items()}
    rows = []
    for tool in ordered(pairs["tool"].unique(), list(TABLE_2.values())):
        of = pairs[pairs["tool"] == tool]
        both = of[of["both"]]
        rows.append([names.get(tool, tool), str(of["seconds_n"].notna().sum()),
                     str(of["seconds_thp"].notna().sum()),
                     *times(both["seconds_n"], both["seconds_thp"]), *tlb(both)])
    return rows


def table_3(results: Results) -> list[list[str]]:
    rows = []
    for category, name, pairs in by_category(results.pairs()):
        row = par1(results, pairs)
        rows.append([category, name, *times(*row), str(len(row[0]))])
    return rows


def by_category(pairs: pandas.DataFrame) -> Iterator[tuple[str, str, pandas.DataFrame]]:
    """Category, name and pairs of each tool, in the order of the papers."""
    names = {tool: name for name, tool in TABLE_2.items()}
    names |= {tool: name for (_, name), tool in TABLE_3.items()}
    for category in ordered(pairs["category"].unique(), list(CATEGORIES)):
        of = pairs[pairs["category"] == category]
        for tool in ordered(of["tool"].unique(), list(TABLE_3.values())):
            yield category, names.get(tool, tool), of[of["tool"] == tool]


def table_alone(results: Results) -> list[list[str]]:
    rows = []
    for category, name, runs_ in by_category(results.pairs()):
        solved = runs_[runs_["seconds_n"].notna()]
        rows.append([category, name, str(len(runs_)), str(len(solved)),
                     hours(solved["seconds_n"].sum()) if len(solved) else NONE,
                     number(solved["seconds_n"].median()),
                     number(solved["rss_n"].median() / 2**20, 0),
                     number(100 * solved["coverage_n"].median(), 0),
                     unsolved(runs_[runs_["seconds_n"].isna()])])
    return rows


def unsolved(runs_: pandas.DataFrame) -> str:
    """How many ended in which way; "ok" are those that were not backed as labelled."""
    kinds = runs_["status_n"].str.split(" (", regex=False).str[0]
    counts = kinds.replace("ok", "invalid").value_counts()
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or NONE


def par1(results: Results, pairs: pandas.DataFrame) -> tuple[pandas.Series, pandas.Series]:
    """Times with the limit where one variant timed out; a pair counts when one
    of its variants was solved and the other solved or timed out."""
    limit = results.campaign.limits.seconds
    columns = []
    for side in ("n", "thp"):
        out_of_time = pairs[f"status_{side}"] == "timeout"
        columns.append(pairs[f"seconds_{side}"].mask(
            pairs[f"seconds_{side}"].isna() & out_of_time, limit))
    solved = pairs["seconds_n"].notna() | pairs["seconds_thp"].notna()
    counted = solved & columns[0].notna() & columns[1].notna()
    return columns[0][counted], columns[1][counted]


def ordered(found, known: list[str]) -> list[str]:
    return [x for x in known if x in found] + sorted(x for x in found if x not in known)


def times(base: pandas.Series, huge: pandas.Series) -> list[str]:
    """Hours, saved time, interval."""
    n, thp = base.to_numpy(dtype=float), huge.to_numpy(dtype=float)
    if not len(n) or not n.sum():
        return [NONE] * 4
    interval = bootstrap.saved_interval(n, thp)
    return [hours(n.sum()), hours(thp.sum()), f"{bootstrap.saved(n, thp):.2f}",
            f"{interval[0]:.1f} to {interval[1]:.1f}" if interval else NONE]


def hours(seconds: float) -> str:
    value = seconds / 3600
    if value >= 1:
        return f"{value:.2f}"
    return numpy.format_float_positional(value, precision=3, fractional=False, trim="-")


def tlb(pairs: pandas.DataFrame) -> list[str]:
    """Misses both ways, what is left of them, and per second in thousandths of
    what the bus can do: this is the scale of the papers' figures."""
    counted = pairs[pairs["tlb_n"].notna()]
    if not len(counted) or not counted["tlb_n"].sum():
        return [NONE] * 5
    n, thp = counted["tlb_n"].sum(), counted["tlb_thp"].sum()
    return [f"{n:.1e}", f"{thp:.1e}", f"{100 * thp / n:.2f}",
            f"{1000 * n / counted['seconds_n'].sum() / BUS_PER_SECOND:.2f}",
            f"{1000 * thp / counted['seconds_thp'].sum() / BUS_PER_SECOND:.2f}"]


def remarks(results: Results) -> list[str]:
    """Stand-ins, rows of the papers that nobody ran, runs that do not count."""
    lines, absent = [], []
    for name, tool in {**TABLE_2, **{key[1]: tool for key, tool in TABLE_3.items()}}.items():
        of = results.runs[results.runs["tool"] == tool]
        if of.empty:
            absent.append(name)
        elif not of["valid"].any():
            lines.append(f"{name}: no run that counts; {of['status'].mode()[0]}"
                         f"{beside(results, of['category'].iloc[0])}")
        elif stand_in := results.stands_in(tool):
            lines.append(f"{name}: {stand_in} stood in")
    if absent:
        lines.append(f"rows of the papers that are not in this campaign: {', '.join(absent)}")
    invalid = [r for r in results.records if r["status"] == "ok" and r.get("objection")]
    if invalid:
        lines.append(f"{len(invalid)} runs were not backed as labelled and are not counted; "
                     f"first: {invalid[0]['tool']} on {invalid[0]['instance']}, "
                     f"{invalid[0]['variant']}: {invalid[0]['objection']}")
    contrary = [r for r in results.records if r["status"].startswith("contradiction")]
    if contrary:
        lines.append(f"{len(contrary)} runs contradict one another and are not counted; first: "
                     f"{contrary[0]['tool']} on {contrary[0]['instance']}: "
                     f"{contrary[0]['status']}")
    wrong = [r for r in results.records if r["status"].startswith("wrong answer")]
    return [f"WRONG ANSWER: {r['tool']} on {r['instance']}: {r['status']}" for r in wrong] + lines


def beside(results: Results, category: str) -> str:
    """The tools of a category that ran where the papers' own did not."""
    runs_ = results.runs
    names = runs_[(runs_["category"] == category) & runs_["valid"]]["tool"].unique()
    return f"; of {category} ran {', '.join(sorted(names))}" if len(names) else ""


def caption_2(results: Results) -> str:
    return (f"Table 2: SAT solvers, {results.base} (n) against {results.huge} (thp); t: "
            f"{results.campaign.time} hours on instances solved in both")


def caption_3(results: Results) -> str:
    return (f"Table 3: reasoners, {results.base} (n) against {results.huge} (thp); t: PAR1, "
            f"{results.campaign.time} hours, limit {results.campaign.limits.seconds:g} s")


def caption_alone(results: Results) -> str:
    return (f"{results.base}, the only variant; t: {results.campaign.time} hours on what it "
            f"solved, limit {results.campaign.limits.seconds:g} s")


def runs(results: Results, form: str = "text") -> str:
    """Every pair."""
    if results.alone:
        return runs_alone(results, form)
    head = ["tool", "instance", "status n", "status thp", "s n", "s thp", "gain %", "MiB",
            "huge %"]
    rows = []
    for p in results.pairs().sort_values(["category", "tool", "instance"]).itertuples():
        rows.append([p.tool, p.instance,
                     text(p.status_n, p.small_n), text(p.status_thp, p.small_thp),
                     number(p.seconds_n), number(p.seconds_thp), number(p.gain, 1),
                     number(p.rss_n / 2**20, 0), number(100 * p.coverage_thp, 0)])
    return render(head, rows, form, f"{results.base} against {results.huge}", "runs").rstrip("\n")


def runs_alone(results: Results, form: str) -> str:
    head = ["tool", "instance", "status", "s", "MiB", "huge %"]
    rows = [[p.tool, p.instance, text(p.status_n, p.small_n), number(p.seconds_n),
             number(p.rss_n / 2**20, 0), number(100 * p.coverage_n, 0)]
            for p in results.pairs().sort_values(["category", "tool", "instance"]).itertuples()]
    return render(head, rows, form, results.base, "runs").rstrip("\n")


HEAD_VARIANTS = ["tool", "variant", "t_n [h]", "t [h]", "s [%]", "95 % interval", "instances",
                 "memory", "huge %"]


def variants(results: Results, form: str = "text") -> str:
    """Every variant beside the base, by tool and over all."""
    if len(results.campaign.variants) == 1:
        return paper(results, form)
    return render(HEAD_VARIANTS, table_variants(results), form, caption_variants(results),
                  "variants").rstrip("\n")


def caption_variants(results: Results) -> str:
    return (f"Variants beside {results.base} (n); t: {results.campaign.time} hours on instances "
            "solved in both; memory: ratio of peaks")


def table_variants(results: Results) -> list[list[str]]:
    rows = []
    for variant in results.campaign.variants:
        if variant.name == results.base:
            continue
        pairs = replace(results, huge=variant.name).pairs()
        both = pairs[pairs["both"]]
        for tool in ordered(both["tool"].unique(), list(TABLE_3.values())):
            rows.append(beside_base(tool, variant.name, both[both["tool"] == tool]))
        rows.append(beside_base("all", variant.name, both))
    return sorted(rows, key=lambda row: row[0] == "all")


def beside_base(tool: str, variant: str, both: pandas.DataFrame) -> list[str]:
    memory = both["rss_thp"] / both["rss_n"]
    return [tool, variant, *times(both["seconds_n"], both["seconds_thp"]), str(len(both)),
            number(memory.median()), number(100 * both["coverage_thp"].median(), 0)]


def text(status, small) -> str:
    """A run's status, and whether its backing could be judged."""
    if not isinstance(status, str):
        return "not run"
    return "ok, small heap" if status == "ok" and small is True else status


def number(value: float, digits: int = 2) -> str:
    return NONE if value is None or numpy.isnan(value) else f"{value:.{digits}f}"


def render(head: list[str], rows: list[list[str]], form: str, caption: str, label: str) -> str:
    return {"text": as_text, "csv": as_csv, "latex": as_latex}[form](head, rows, caption, label)


def as_text(head, rows, caption, _label) -> str:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row):
        return "  ".join(cell.ljust(w) if i < 2 and not cell[:1].isdigit() else cell.rjust(w)
                         for i, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()

    return "\n".join([caption, line(head), *(line(row) for row in rows), ""])


def as_csv(head, rows, _caption, _label) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([["" if cell == NONE else cell for cell in row] for row in rows])
    return out.getvalue()


LATEX = str.maketrans({"%": r"\%", "_": r"\_", "#": r"\#", "&": r"\&", "$": r"\$", "{": r"\{",
                       "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
                       "\\": r"\textbackslash{}"})


def as_latex(head, rows, caption, label) -> str:
    def line(row):
        return " & ".join(cell.translate(LATEX) for cell in row) + r" \\"

    return "\n".join([
        r"\begin{table}", r"\centering", r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}",
        r"\hline", line(head), r"\hline", *(line(row) for row in rows), r"\hline",
        r"\end{tabular}", rf"\caption{{{caption.translate(LATEX)}}}", rf"\label{{tab:{label}}}",
        r"\end{table}", ""])
