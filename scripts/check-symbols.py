#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads with nm what each object file of the runtime asks of others.

An object may ask for the project's own `bl_` functions and for the functions
of LIBC below, which neither allocate nor lock nor need the C library to be
initialised. Anything else (malloc, stdio, getenv) would call back into the
heap, or run before it may. It reads the objects and not libbigleaf.a, where a
call of the runtime to its own malloc would not show.

usage: check-symbols.py OBJECT...
"""

import re
import subprocess
import sys
from pathlib import Path

from tree import Findings

LIBC = {
    # memory and text
    "memchr", "memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp",
    "strlen", "strncmp", "__memcpy_chk", "__memmove_chk", "__memset_chk",
    # the thread's errno, the environment as an array, the program's name
    "__errno_location", "environ", "__environ",
    "program_invocation_short_name", "__libc_single_threaded",
    # raw contact with the kernel
    "syscall", "getauxval",
    # ends of things
    "abort", "__assert_fail",
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

# What one object may ask for besides, and why.
ALSO = {
    # malloc_info writes to a FILE that the caller brings.
    "abi_c.c.o": {"fputs"},
    # glibc's fork locks the list of streams after our handler: so it is ours
    # before the heap is. A lock, and nothing that allocates.
    "fork.c.o": {"_IO_list_lock", "_IO_list_unlock", "_IO_list_resetlock"},
    # The report is due at quick_exit too; registering allocates nothing.
    "handlers.c.o": {"at_quick_exit", "__cxa_at_quick_exit"},
    # Once, under BIGLEAF=off: finds the malloc of the C library, or the one
    # that the program was linked with under these names.
    "libc_heap.c.o": {
        "dlsym", "bl_libc_calloc", "bl_libc_free", "bl_libc_malloc",
        "bl_libc_mallinfo2", "bl_libc_malloc_stats", "bl_libc_malloc_trim",
        "bl_libc_malloc_usable_size", "bl_libc_mallopt", "bl_libc_memalign",
        "bl_libc_realloc", "bl_switched_off",
    },
    # Whose these are in this process: their addresses, and no call of them;
    # dlsym where somebody else stands in front.
    "front.c.o": {"aligned_alloc", "dlsym", "free", "malloc", "realloc"},
    # The C library's functions behind ours: dlopen, dlsym, pthread_create.
    "next.c.o": {"dlvsym"},
    # Whether it is glibc that is behind them.
    "late_fork.c.o": {"dlvsym"},
    # A thread looks its own stack up, by its own means and before it is the
    # program's.
    "thread.c.o": {"pthread_getattr_np", "pthread_attr_getstack",
                   "pthread_attr_destroy"},
    # The forms of new and delete that others call by default may be the
    # program's. The rest is weak: who calls operator new brings the C++
    # library.
    "abi_cxx.cc.o": {
        "_Znwm", "_ZdlPv", "_ZdlPvSt11align_val_t",
        "_ZSt15get_new_handlerv", "_ZSt17__throw_bad_allocv",
        "_ZSt9terminatev", "__cxa_begin_catch", "__cxa_end_catch",
        "__cxa_rethrow", "__gxx_personality_v0",
        "DW.ref.__gxx_personality_v0",
    },
}

SYMBOL = re.compile(r"^\s*[0-9a-f]*\s+([A-Za-z])\s+(\S+)$")


def read_objects(paths):
    """{object: (defined, undefined)} as nm prints it."""
    text = subprocess.run(["nm", "--print-file-name", *paths], check=True,
                          text=True, stdout=subprocess.PIPE).stdout
    objects = {path: (set(), set()) for path in paths}
    for line in text.splitlines():
        path, _, entry = line.partition(":")
        symbol = SYMBOL.match(entry)
        if symbol:
            defined, undefined = objects[path]
            (undefined if symbol[1] in "Uw" else defined).add(symbol[2])
    return objects


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    findings = Findings("symbols of the runtime")
    objects = read_objects(sys.argv[1:])
    own = set().union(*(defined for defined, _ in objects.values()))
    if not {"malloc", "free"} <= own:
        findings.add("the objects", 0, "define no malloc: not the runtime's")
    for path, (_, undefined) in sorted(objects.items()):
        findings.checked += 1
        allowed = LIBC | ALSO.get(Path(path).name, set())
        for symbol in sorted(undefined - allowed):
            if not (symbol.startswith("bl_") and symbol in own):
                findings.add(Path(path).name, 0, f"asks for {symbol}, which "
                             "is not allowed in the runtime")
    findings.exit()


if __name__ == "__main__":
    main()
