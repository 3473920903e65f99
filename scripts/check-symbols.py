#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads with nm what each object of the runtime's archive asks of others.

An object may ask for the project's own `bl_` functions and for the functions
of LIBC below, which neither allocate nor lock nor need the C library to be
initialised. Anything else (malloc, stdio, getenv) would call back into the
heap, or run before it may.

usage: check-symbols.py libbigleaf.a
"""

import re
import subprocess
import sys

from tree import Findings

LIBC = {
    # memory and text
    "memchr", "memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp",
    "strlen", "strncmp", "__memcpy_chk", "__memmove_chk", "__memset_chk",
    # the thread's errno, the environment as an array, the program's name
    "__errno_location", "environ", "__environ",
    "program_invocation_short_name",
    # raw contact with the kernel
    "syscall", "getauxval",
    # ends of things
    "abort", "__stack_chk_fail", "__assert_fail",
    # start, fork and thread end, called by runtime only
    "__register_atfork", "pthread_atfork", "pthread_key_create",
    "pthread_setspecific", "pthread_getspecific", "__cxa_atexit",
    "__cxa_thread_atexit_impl", "__dso_handle", "dl_iterate_phdr",
    "pthread_self", "sched_getcpu", "sched_yield",
    # the linker's
    "_GLOBAL_OFFSET_TABLE_", "__tls_get_addr", "__ehdr_start",
    "__init_array_start", "__init_array_end", "_DYNAMIC", "etext", "edata",
    "end", "_end", "__executable_start",
}

MEMBER = re.compile(r"^(?:.*:)?(\S+\.o):$")
SYMBOL = re.compile(r"^[0-9a-f]*\s+([A-Za-z])\s+(\S+)$")


def read_members(archive):
    """{member: (defined, undefined)} as nm prints it."""
    text = subprocess.run(["nm", archive], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    members = {}
    defined, undefined = set(), set()
    for line in text.splitlines():
        member = MEMBER.match(line)
        if member:
            defined, undefined = members.setdefault(member[1],
                                                    (set(), set()))
            continue
        symbol = SYMBOL.match(line)
        if symbol:
            (undefined if symbol[1] in "Uw" else defined).add(symbol[2])
    return members


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    findings = Findings("symbols of the runtime")
    members = read_members(sys.argv[1])
    own = set().union(*(defined for defined, _ in members.values()))
    for member, (_, undefined) in sorted(members.items()):
        findings.checked += 1
        for symbol in sorted(undefined - LIBC):
            if not (symbol.startswith("bl_") and symbol in own):
                findings.add(member, 0, f"asks for {symbol}, which is not "
                             "allowed in the runtime")
    findings.exit()


if __name__ == "__main__":
    main()
