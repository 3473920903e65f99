# SPDX-License-Identifier: MIT
"""Reasoners made of a library: small programs around Python-SAT."""
