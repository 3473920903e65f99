#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a program asks of malloc: one row for each heap trace.

    summary.py minisat=t1.heap cadical=t2.heap

The columns: calls in millions; the largest sum of live bytes; how much of it
lies in blocks of up to 256 bytes, up to 64 KiB, and above; the share of blocks
that die within the next 1000 calls; the share of calls that are realloc, the
mean number of steps of a block that grows, and how much of the peak is in
such blocks; threads that call; calling places that make 90 % of the blocks.
The form of a trace is event.h's.
"""

import sys

import numpy as np
import pandas as pd

EVENT = np.dtype([("head", "<u8"), ("result", "<u8"), ("old", "<u8"),
                  ("tail", "<u8")])
MALLOC, CALLOC, REALLOC, ALIGNED, FREE = 1, 2, 3, 4, 5
SHORT_LIFE = 1000  # calls


def read(path):
    """The events of a trace in their order, as columns."""
    raw = np.fromfile(path, EVENT)
    head = raw["head"]
    kind = (head >> np.uint64(48)).astype(np.uint8)
    raw, head, kind = raw[kind != 0], head[kind != 0], kind[kind != 0]
    frame = pd.DataFrame({
        "order": (head & np.uint64((1 << 48) - 1)).astype(np.int64),
        "kind": kind,
        "thread": (head >> np.uint64(56)).astype(np.uint8),
        "result": raw["result"],
        "old": raw["old"],
        "size": (raw["tail"] & np.uint64((1 << 40) - 1)).astype(np.int64),
        "site": (raw["tail"] >> np.uint64(40)).astype(np.int64),
    })
    return frame.sort_values("order", ignore_index=True)


def stays(events):
    """Each stay of a block at an address: born, died, size, whether grown.

    A realloc ends one stay and begins another.
    """
    begins = events[(events.kind != FREE) & (events.result != 0)]
    ends = events[((events.kind == FREE) | (events.kind == REALLOC))
                  & (events.old != 0)]
    births = pd.DataFrame({"address": begins.result, "order": begins.order,
                           "size": begins["size"], "site": begins.site,
                           "grown": (begins.kind == REALLOC)
                           & (begins.old != 0), "birth": True})
    deaths = pd.DataFrame({"address": ends.old, "order": ends.order,
                           "size": 0, "site": 0,
                           "grown": ends.kind == REALLOC, "birth": False})
    both = pd.concat([deaths, births])
    both = both.sort_values(["address", "order", "birth"], ignore_index=True)
    following = both.shift(-1)
    born = both[both.birth].copy()
    next_of = following[both.birth]
    dies = (next_of.address == born.address) & (next_of.birth == False)  # noqa: E712
    born["died"] = np.where(dies, next_of.order, np.inf)
    born["grows"] = dies & next_of.grown.astype(bool)
    return born


def peak(born):
    """The order of the call at which the most bytes are live, and how many."""
    ends = born[np.isfinite(born.died)]
    order = np.concatenate([born.order.to_numpy(), ends.died.to_numpy()])
    change = np.concatenate([born["size"].to_numpy(), -ends["size"].to_numpy()])
    at = np.argsort(order, kind="stable")
    live = np.cumsum(change[at])
    top = int(np.argmax(live))
    return order[at][top], int(live[top])


def share(part, whole):
    return 100 * part / whole if whole else 0.0


def sites_of(born, part):
    """How many calling places make `part` of the blocks."""
    counts = born[~born.grown].site.value_counts()
    return int((counts.cumsum() < part * counts.sum()).sum() + 1)


def row(name, path):
    events = read(path)
    born = stays(events)
    moment, live = peak(born)
    there = born[(born.order <= moment) & (born.died > moment)]
    size = there["size"]
    chains = int((born.grows & ~born.grown).sum())
    return {
        "program": name,
        "calls M": len(events) / 1e6,
        "live MiB": live / 2**20,
        "<=256 B %": share(size[size <= 256].sum(), live),
        "<=64 KiB %": share(size[(size > 256) & (size <= 65536)].sum(), live),
        ">64 KiB %": share(size[size > 65536].sum(), live),
        "short %": share((born.died - born.order <= SHORT_LIFE).sum(),
                         len(born)),
        "realloc %": share((events.kind == REALLOC).sum(), len(events)),
        "steps": share(int(born.grows.sum()), chains) / 100,
        "grown %": share(size[there.grown].sum(), live),
        "threads": int(events.thread.nunique()),
        "sites": sites_of(born, 0.9),
    }


def main():
    pairs = [argument.partition("=") for argument in sys.argv[1:]]
    if not pairs or any(not path for _, _, path in pairs):
        sys.exit("usage: summary.py NAME=TRACE...")
    table = pd.DataFrame([row(name, path) for name, _, path in pairs])
    print(table.to_string(index=False, float_format=lambda x: f"{x:.1f}"))


if __name__ == "__main__":
    main()
