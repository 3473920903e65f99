# SPDX-License-Identifier: MIT
"""Signals that end a command in order, as Ctrl-C does: nothing is left running,
and a pool that was lent is given back."""

import signal


def signals() -> list[signal.Signals]:
    """A terminal that goes away ends a command too, but not under nohup."""
    found = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        found.append(signal.SIGHUP)
    return found


def as_interrupts() -> None:
    for number in signals():
        signal.signal(number, signal.default_int_handler)
