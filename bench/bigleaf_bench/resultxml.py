# SPDX-License-Identifier: MIT
"""Results as BenchExec writes them: one result XML per tool and variant.

`table-generator` makes HTML and CSV tables of them: rows are instances,
columns the runs. A run without a trusted backing is of category "missing".
"""

from __future__ import annotations

import bz2
import re
import time
from pathlib import Path
from xml.etree import ElementTree

from bigleaf_bench import __version__
from bigleaf_bench.instances import whole
from bigleaf_bench.records import Results

DOCTYPE = ('<!DOCTYPE result PUBLIC "+//IDN sosy-lab.org//DTD BenchExec result 3.27//EN" '
           '"https://www.sosy-lab.org/benchexec/result-3.27.dtd">\n')
# In XML 1.0; an answer may hold any of it.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def export(results: Results, folder: Path) -> list[Path]:
    """Writes all result files of the folder `benchexec`."""
    target = folder / "benchexec"
    target.mkdir(exist_ok=True)
    groups: dict[tuple[str, str, int], list[dict]] = {}
    for record in results.records:
        if record["purpose"] == "measure":
            key = (record["tool"], record["variant"], record["repetition"])
            groups.setdefault(key, []).append(record)
    paths = []
    for (tool, variant, repetition), records in sorted(groups.items()):
        name = f"{results.campaign.name}.{tool}.{variant}.{repetition}.results.xml.bz2"
        path = target / name
        with whole(path) as out:
            out.write(bz2.compress(document(results, records, tool, variant)))
        paths.append(path)
    return paths


def document(results: Results, records: list[dict], tool: str, variant: str) -> bytes:
    limits = results.campaign.limits
    noted = results.notes.get("tools", {}).get(tool, {})
    before = results.notes.get("before", {})
    started = min((r["started"] for r in records if r.get("started")), default="")
    root = ElementTree.Element("result", {
        "benchmarkname": results.campaign.name, "name": variant, "tool": tool,
        "version": noted.get("version") or "unknown", "toolmodule": "bigleaf_bench.tools",
        "generator": f"bigleaf-bench {__version__}", "displayName": f"{tool} {variant}",
        "date": time.strftime("%Y-%m-%d %H:%M:%S %Z"), "starttime": started,
        "timelimit": f"{limits.seconds:g}s", "cpuCores": str(limits.cores),
        "memlimit": f"{limits.memory}B" if limits.memory else "-",
        "options": " ".join(next((v.run for v in results.campaign.variants
                                  if v.name == variant), ()))})
    columns = ElementTree.SubElement(root, "columns")
    for title in ("status", "cputime", "walltime", "memory", "huge"):
        ElementTree.SubElement(columns, "column", title=title)
    add_system(root, before)
    for record in sorted(records, key=lambda r: (r["set"], r["instance"])):
        add_run(root, record)
    text = FORBIDDEN.sub("?", ElementTree.tostring(root, encoding="unicode"))
    return f'<?xml version="1.0"?>\n{DOCTYPE}{text}\n'.encode(errors="backslashreplace")


def add_system(root: ElementTree.Element, before: dict) -> None:
    system = ElementTree.SubElement(root, "systeminfo", hostname=before.get("host", "unknown"))
    ElementTree.SubElement(system, "os", name=before.get("system", "unknown"))
    ElementTree.SubElement(system, "cpu", model=before.get("cpu", "unknown"),
                           cores=str(before.get("cores", "")),
                           frequency=f"{before.get('frequency_khz') or 0}000Hz")
    ElementTree.SubElement(system, "ram", size=f"{before.get('memory_bytes') or 0}B")
    ElementTree.SubElement(system, "environment")


def category(record: dict) -> str:
    if record["status"].startswith("wrong"):
        return "wrong"
    if record["status"] != "ok":
        return "unknown" if record["status"] == "no answer" else "error"
    if record.get("objection"):
        return "missing"
    return "correct" if record.get("checked") else "correct-unconfirmed"


def add_run(root: ElementTree.Element, record: dict) -> None:
    name = f"{record['set']}/{record['instance']}"
    run = ElementTree.SubElement(root, "run", name=name, files=f"[{name}]")
    status = record["answer"] if record["status"] == "ok" else record["status"]
    if record["status"] == "ok" and record.get("objection"):
        status = f"{status} (not counted: {record['objection']})"
    values = {"status": status, "category": category(record)}
    for title, key, unit in (("cputime", "cpu_seconds", "s"), ("walltime", "wall_seconds", "s"),
                             ("memory", "memory_bytes", "B")):
        if record.get(key) is not None:
            values[title] = f"{record[key]}{unit}"
    backed = record.get("backing") or {}
    if backed:
        values["huge"] = f"{backed['coverage']:.4f}"
        values["huge-bytes"] = f"{backed['huge_bytes']}B"
        values["page-faults"] = str(backed["minor_faults"])
    for title, key in (("terminationreason", "termination"), ("exitsignal", "signal"),
                       ("returnvalue", "exit_status")):
        if record.get(key) not in (None, ""):
            values[title] = str(record[key])
    shown = ("status", "cputime", "walltime", "memory", "huge")
    for title, value in values.items():
        attributes = {"title": title, "value": value}
        if title not in shown:
            attributes["hidden"] = "true"
        ElementTree.SubElement(run, "column", attributes)
