# SPDX-License-Identifier: MIT
"""One HTML page that holds everything, and needs nothing beside it.

Wrong answers stand first, then the papers' tables, the plots (SVG, inline), what
failed and why, and the notes on the machine. Wide tables scroll by themselves,
so that the page fits a phone.
"""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import markupsafe

from bigleaf_bench import __version__, plots, tables
from bigleaf_bench.instances import whole
from bigleaf_bench.records import Results

MOST_FAILURES = 200
# What an SVG file has and a page may hold only once.
PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)


def inline_svg(results: Results, kind: str) -> str:
    """The drawing with ids of its own, and a size that follows the page."""
    text = plots.draw(results, kind, ("svg",))["svg"].decode()
    text = PROLOGUE.sub("", text)
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'\bid="', f'id="{kind}-', text)
    text = re.sub(r'href="#', f'href="#{kind}-', text)
    return re.sub(r"url\(#", f"url(#{kind}-", text)


def all_tables(results: Results) -> list[tuple[str, list[str], list[list[str]]]]:
    """Caption, head and rows of each."""
    found = [(caption, head, rows) for caption, head, rows, _ in tables.of_paper(results)]
    if len(results.campaign.variants) > 2:
        found.append((tables.caption_variants(results), tables.HEAD_VARIANTS,
                      tables.table_variants(results)))
    return found


def page(results: Results) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    failures = results.failures()
    statuses: dict[str, int] = {}
    for record in results.records:
        name = record["status"].split(" (")[0]
        statuses[name] = statuses.get(name, 0) + 1
    return environment.get_template("report.html.j2").render(
        campaign=results.campaign, base=results.base, huge=results.huge, notes=results.notes,
        version=__version__, records=results.records, statuses=sorted(statuses.items()),
        wrong=[r for r in failures if r["status"].startswith("wrong answer")],
        failures=failures[:MOST_FAILURES], left_out=max(0, len(failures) - MOST_FAILURES),
        tables=all_tables(results),
        remarks=tables.remarks(results),
        plots=[(plots.TITLES[kind], markupsafe.Markup(inline_svg(results, kind)))
               for kind in plots.kinds(results)])


def write(results: Results, path: Path) -> Path:
    text = page(results)
    with whole(path) as out:
        out.write(text.encode(errors="backslashreplace"))
    return path
