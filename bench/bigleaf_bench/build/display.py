# SPDX-License-Identifier: MIT
"""How far the builds are: a bar of rich on a terminal, else a line per step."""

from __future__ import annotations

import sys
import time


class PlainDisplay:
    """One line per step on standard error."""

    def __init__(self, total: int):
        self.total, self.done = total, 0
        self.began = time.monotonic()

    def __enter__(self) -> PlainDisplay:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def step(self, what: str, doing: str) -> None:
        print(f"[{self.done}/{self.total}] {what}: {doing}", file=sys.stderr, flush=True)

    def finish(self, what: str, outcome: str) -> None:
        self.done += 1
        seconds = time.monotonic() - self.began
        print(f"[{self.done}/{self.total}] {what}: {outcome} ({seconds:.0f} s)", file=sys.stderr,
              flush=True)


class BarDisplay(PlainDisplay):
    """A bar with what is being done and the time it has taken."""

    def __init__(self, total: int):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn
        from rich.progress import TextColumn, TimeElapsedColumn

        super().__init__(total)
        self.bar = Progress(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(),
                            MofNCompleteColumn(), TimeElapsedColumn(),
                            console=Console(stderr=True))
        self.task = self.bar.add_task("building", total=total)

    def __enter__(self) -> BarDisplay:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def step(self, what: str, doing: str) -> None:
        self.bar.update(self.task, description=f"{what}: {doing}")

    def finish(self, what: str, outcome: str) -> None:
        self.bar.console.print(f"{what}: {outcome}", markup=False)
        self.bar.advance(self.task)


def make(total: int, plain: bool) -> PlainDisplay:
    if plain or not sys.stderr.isatty():
        return PlainDisplay(total)
    try:
        return BarDisplay(total)
    except ImportError:
        return PlainDisplay(total)
