# SPDX-License-Identifier: MIT
"""Plots of pairs: cactus, scatter, gain against footprint, families.

Each is drawn once and saved as SVG and PNG; the report takes the SVG. Colours
are from Okabe and Ito's palette, which the colour-blind can tell apart.
"""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from bigleaf_bench import bootstrap
from bigleaf_bench.failure import WrongUse
from bigleaf_bench.instances import whole
from bigleaf_bench.records import Results

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442",
           "#000000")
MARKERS = "os^Dv<>p*hX"
GAINS = (5, 10, 20)
STYLE = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True,
         "legend.frameon": False, "text.parse_math": False, "svg.hashsalt": "bigleaf",
         "figure.constrained_layout.use": True}
# Nothing in a file that differs from one drawing to the next.
METADATA = {"svg": {"Date": None}, "png": {"Software": None}}


def style_of(index: int) -> dict:
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def cactus(results: Results) -> Figure:
    """How many instances are solved within a limit: dashed base, solid huge."""
    figure, axes = pyplot.subplots(figsize=(6.4, 4.2))
    for i, (tool, pairs) in enumerate(results.pairs().groupby("tool")):
        for side, dashes in (("n", "--"), ("thp", "-"))[:1 if results.alone else 2]:
            solved = numpy.sort(pairs[f"seconds_{side}"].dropna().to_numpy())
            if not len(solved):
                continue
            variant = results.base if side == "n" else results.huge
            axes.plot(numpy.arange(1, len(solved) + 1), solved, dashes, markersize=3,
                      label=f"{tool}, {variant}", **style_of(i))
    axes.set(xlabel="instances solved", ylabel=f"limit in {results.campaign.time} seconds",
             yscale="log")
    plain_numbers(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend(axes, columns=2)
    return figure


def scatter(results: Results) -> Figure:
    """Each pair: base across, huge up; below the diagonal huge is faster."""
    figure, axes = pyplot.subplots(figsize=(5.6, 5.2))
    pairs = results.pairs()
    pairs = pairs[pairs["both"]]
    ends = limits(pairs)
    axes.plot(ends, ends, color="black", linewidth=0.8)
    for gain in GAINS:
        axes.plot(ends, ends * (1 - gain / 100), color="grey", linewidth=0.6, linestyle=":")
        axes.annotate(f"{gain} %", (ends[1], ends[1] * (1 - gain / 100)), fontsize=6,
                      color="grey")
    for i, (tool, of) in enumerate(pairs.groupby("tool")):
        axes.scatter(of["seconds_n"], of["seconds_thp"], s=18, alpha=0.8, label=tool,
                     **style_of(i))
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, box_aspect=1,
             xlabel=f"{results.campaign.time} seconds, {results.base}",
             ylabel=f"{results.campaign.time} seconds, {results.huge}")
    plain_numbers(axes.xaxis, axes.yaxis)
    legend(axes)
    return figure


def limits(pairs) -> numpy.ndarray:
    values = numpy.concatenate([pairs["seconds_n"], pairs["seconds_thp"]])
    values = values[values > 0]
    if not len(values):
        return numpy.array([0.1, 10.0])
    return numpy.array([values.min() / 1.5, values.max() * 1.5])


def footprint(results: Results) -> Figure:
    """Gain against memory: the more a reasoner holds, the more it gains."""
    figure, axes = pyplot.subplots(figsize=(6.4, 4.2))
    pairs = results.pairs()
    pairs = pairs[pairs["both"]]
    for i, (tool, of) in enumerate(pairs.groupby("tool")):
        axes.scatter(of["rss_n"] / 2**20, of["gain"], s=18, alpha=0.8, label=tool, **style_of(i))
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel=f"peak memory with {results.base} (MiB)",
             ylabel="saved time (%)")
    plain_numbers(axes.xaxis)
    legend(axes)
    return figure


def families(results: Results) -> Figure:
    """Saved time per family of instances and tool, with intervals."""
    pairs = results.pairs()
    pairs = pairs[pairs["both"]]
    names, tools = sorted(pairs["family"].unique()), sorted(pairs["tool"].unique())
    height = max(2.5, 0.24 * len(pairs.groupby(["family", "tool"])) + 1)
    figure, axes = pyplot.subplots(figsize=(6.4, height))
    labels, place = [], 0
    for name in names:
        for i, tool in enumerate(tools):
            of = pairs[(pairs["family"] == name) & (pairs["tool"] == tool)]
            if of.empty:
                continue
            bar(axes, place, of, style_of(i)["color"])
            labels.append(f"{name}, {tool} ({len(of)})")
            place += 1
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(place), labels)
    axes.invert_yaxis()
    axes.set_xlabel("saved time (%); in brackets the number of instances")
    return figure


def bar(axes, place: int, pairs, colour: str) -> None:
    n, thp = pairs["seconds_n"].to_numpy(), pairs["seconds_thp"].to_numpy()
    value = bootstrap.saved(n, thp)
    interval = bootstrap.saved_interval(n, thp)
    error = [[max(0, value - interval[0])], [max(0, interval[1] - value)]] if interval else None
    axes.barh(place, value, color=colour, xerr=error, error_kw={"linewidth": 0.8}, height=0.7)


def plain_numbers(*log_axes) -> None:
    """1, 2, 5, 10 instead of powers of ten."""
    for axis in log_axes:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def legend(axes, columns: int = 1) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, ncols=columns)


DRAWN = {f.__name__: f for f in (cactus, scatter, footprint, families)}
TITLES = {"cactus": "Instances solved within a limit", "scatter": "Pairs of runs",
          "footprint": "Gain against memory", "families": "Gain by family"}


def kinds(results: Results) -> list[str]:
    """Those that have something to say: all but one compare two variants."""
    return ["cactus"] if results.alone else list(DRAWN)


def draw(results: Results, kind: str, forms: tuple[str, ...]) -> dict[str, bytes]:
    """One plot in these forms."""
    with pyplot.rc_context(STYLE):
        figure = DRAWN[kind](results)
        made = {}
        for form in forms:
            out = io.BytesIO()
            figure.savefig(out, format=form, dpi=150, metadata=METADATA[form])
            made[form] = out.getvalue()
        pyplot.close(figure)
    return made


def write(results: Results, folder: Path, wanted=()) -> list[Path]:
    """The plots `wanted`, or all, in every form."""
    possible = kinds(results)
    for kind in wanted:
        if kind not in possible:
            raise WrongUse(f"plot --kind={kind}: {results.base} alone has nothing to be "
                           "compared with; there is --kind=cactus")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind in wanted or possible:
        for form, data in draw(results, kind, ("svg", "png")).items():
            path = folder / f"{kind}.{form}"
            with whole(path) as out:
                out.write(data)
            paths.append(path)
    return paths
