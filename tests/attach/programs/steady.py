# SPDX-License-Identifier: MIT
"""Builds and checks lists, dictionaries and strings; prints right or wrong."""

import sys


def mix(x: int) -> int:
    return (x * 0x9E3779B97F4A7C15 + 0x7F4A7C15) & 0xFFFFFFFFFFFF


def check(round_number: int) -> bool:
    numbers = [mix(i + round_number) for i in range(300000)]
    table = {str(number): number for number in numbers}
    total = sum(table[str(number)] for number in numbers)
    return total == sum(mix(i + round_number) for i in range(300000))


print("ready", flush=True)
print("right" if all(check(n) for n in range(int(sys.argv[1]))) else "wrong")
