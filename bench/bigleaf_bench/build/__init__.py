# SPDX-License-Identifier: MIT
"""`bigleaf-bench build`: reasoners from source, static, with and without Bigleaf.

A recipe (`recipe`, the files in solvers/) names a source and the words of the
solver's own build system. `fetch` brings the source and checks it, `toolchain`
is a compiler per variant, `work` builds and tries the programs, and `cache`
keeps what was built under a key of everything that went into it. `container`
has the steps run in an image with an older system. `measure` is the table of
all variants.
"""

from __future__ import annotations

import argparse
from pathlib import Path

VARIANTS = ("plain", "bigleaf", "thp")


def at_least_1(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"'{word}' is no whole number of at least 1")
    return int(word)


def add_arguments(part: argparse.ArgumentParser) -> None:
    part.add_argument("names", nargs="*", metavar="NAME", help="a recipe of solvers/")
    part.add_argument("--list", action="store_true", help="name the recipes and end")
    part.add_argument("--variant", action="append", choices=VARIANTS,
                      help="only this variant; may be repeated (default: all; the libc of thp "
                           "is made where it is not there)")
    part.add_argument("--into", type=Path, metavar="DIR",
                      help="copy the programs to DIR as NAME-VARIANT")
    part.add_argument("--table", nargs="+", type=Path, metavar="FILE",
                      help="run every variant on these files, each reasoner on those of its "
                           "kinds, and print one table")
    part.add_argument("--runs", type=at_least_1, default=3, metavar="N",
                      help="with --table: rounds, of which the median counts (default: 3)")
    part.add_argument("--seconds", type=at_least_1, default=300, metavar="N",
                      help="with --table: the longest that one run may take (default: 300)")
    part.add_argument("--again", action="store_true", help="build even what is in the cache")
    part.add_argument("--jobs", type=at_least_1, metavar="N",
                      help="compilers at a time (default: cores)")
    part.add_argument("--container", nargs="?", const="", metavar="IMAGE",
                      help="compile in a container, made on IMAGE (default: an older Debian)")
    part.add_argument("--plain", action="store_true", help="plain lines instead of a bar")


def main(arguments: argparse.Namespace) -> int:
    from bigleaf_bench.build import command

    return command.run(arguments)
