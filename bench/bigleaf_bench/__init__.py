# SPDX-License-Identifier: MIT
"""Campaigns over automated reasoners: what huge pages bring, measured.

The way of a campaign: `campaign` reads the TOML file, `instances` brings its
files, `schedule` lays the runs out, `execute` makes one of them (`measure` is
BenchExec, `backing` and `checks` judge), `journal` keeps it. What is kept is
read again by `records`, for `tables`, `plots`, `resultxml` and `report`.
"""

__version__ = "0.1.0"
