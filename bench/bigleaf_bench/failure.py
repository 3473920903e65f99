# SPDX-License-Identifier: MIT
"""Errors that end the command, each with the exit status of the house.

The text is one line: where, what, and what to do about it.
"""


class Failure(Exception):
    """Something that ends the command with one line and `status`."""

    status = 1


class WrongUse(Failure):
    """Wrong arguments or a wrong campaign file."""

    status = 2


class Lacking(Failure):
    """The machine lacks something."""

    status = 3


class WrongAnswer(Failure):
    """A reasoner gave an answer that is proven wrong."""

    status = 1


class Interrupted(Failure):
    """Stopped from outside; nothing is lost."""

    status = 130
