#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""path/2 in leaflog, swipl, ascent and datafrog, one thread.

Whole processes are measured, loading included: the median of user and system
seconds of runs that take turns, the factor to leaflog, and peak memory. What
is not there is left out. The Rust crates are built by

    cargo build --release --manifest-path bench/tabling/rust/Cargo.toml

and do the left-recursive programs only, as they have no calls.
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

GRAPHS = ("cycle", "grid", "pyramid", "btree")
CLOSURE = pathlib.Path(__file__).parent / "rust/target/release/closure"


def measure(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MiB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def commands(leaflog: str, closure: pathlib.Path, side: str, graph: str,
             folder: pathlib.Path) -> dict[str, list[str]]:
    text = subprocess.run([leaflog, "bench", "program", f"--only={side}-{graph}"],
                          capture_output=True, text=True, check=True).stdout
    program = folder / f"{side}-{graph}.pl"
    program.write_text(text, encoding="utf-8")
    edges = folder / f"{graph}.txt"
    edges.write_text("".join(f"{a} {b}\n" for a, b in re.findall(r"edge\((\d+),(\d+)\)", text)),
                     encoding="utf-8")
    out = {"leaflog": [leaflog, "-g", "run", str(program)]}
    if shutil.which("swipl"):
        out["swipl"] = ["swipl", "-g", "run", "-t", "halt", "--table-space=4g",
                        "--stack-limit=4g", str(program)]
    if side == "left" and closure.exists():
        out["ascent"] = [str(closure), "ascent", str(edges)]
        out["datafrog"] = [str(closure), "datafrog", str(edges)]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaflog")
    parser.add_argument("--closure", type=pathlib.Path, default=CLOSURE)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="part of a name, as left or right-btree")
    args = parser.parse_args()
    names = [(side, graph) for side in ("left", "right") for graph in GRAPHS
             if args.only in f"{side}-{graph}"]
    print(f"{'program':14} {'engine':9} {'CPU s':>7} {'factor':>7} {'MiB':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for side, graph in names:
            engines = commands(args.leaflog, args.closure, side, graph, pathlib.Path(folder))
            runs: dict[str, list[tuple[float, float]]] = {name: [] for name in engines}
            for _ in range(args.repeat):
                for name, command in engines.items():
                    runs[name].append(measure(command))
            seconds = {name: statistics.median(s for s, _ in r) for name, r in runs.items()}
            for name, r in runs.items():
                print(f"{side + '-' + graph:14} {name:9} {seconds[name]:7.2f}"
                      f" {seconds[name] / seconds['leaflog']:7.2f} {max(m for _, m in r):6.0f}",
                      flush=True)


if __name__ == "__main__":
    main()
