#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the folders of src/ to their layers.

  * A folder includes only folders left of it, and of those only the headers
    they export (and their .def tables).
  * Only os includes the kernel's headers or names a path in /proc or /sys.
  * Nothing at or below runtime includes a header of functions that may
    allocate; MAY_INCLUDE names the exceptions, each with its reason.
  * A public header includes the C library's headers and public ones only.
"""

import re

from tree import ROOT, Findings, files, name, without_comments

# What each folder may include, apart from itself.
BELOW = {
    "base": set(),
    "os": {"base"},
    "reservoir": {"base", "os"},
    "page": {"base", "os", "reservoir"},
    "heap": {"base", "os", "reservoir", "page"},
    "image": {"base", "os"},
    "runtime": {"base", "os", "reservoir", "page", "heap", "image"},
    "table": {"base", "os", "reservoir", "page"},
    "logic": {"base", "os", "reservoir", "page", "table"},
    "tlb": {"base", "os"},
    "cli": {"base", "os", "image", "tlb"},
}

# The headers a folder shows to others: one of its own name, and these.
ALSO_EXPORTED = {
    "os": {"backing.h", "bystander.h", "counters.h", "file.h", "guest.h", "hold.h",
           "machine.h", "target.h", "territory.h", "trace.h", "trap.h", "visitor.h"},
    "image": {"elf.h", "maps.h", "place.h", "shadow.h"},
    "tlb": {"emulate.h", "geometry.h", "profile.h"},
}

# These folders become part of other people's programs.
IN_THE_RUNTIME = {"base", "os", "reservoir", "page", "heap", "image",
                  "runtime"}

# What of the C library may allocate; and who includes it all the same.
ALLOCATING = re.compile(r"^(stdio|stdlib|malloc|wchar|dirent|locale)\.h$")
MAY_INCLUDE = {
    "src/heap/heap.h": {"malloc.h": "declares struct mallinfo2"},
    "src/heap/abi_c.c": {
        "stdio.h": "malloc_info writes to the caller's FILE",
        "stdlib.h": "the declarations this file defines",
    },
}
# Linked into the bigleaf command or its plug-in alone (src/cli, src/tlb).
COMMAND_ONLY = {"src/image/place.c", "src/os/bystander.c", "src/os/counters.c",
                "src/os/guest.c", "src/os/hold.c", "src/os/machine.c",
                "src/os/machine.h", "src/os/machine_facts.c", "src/os/target.c",
                "src/os/trace.c", "src/os/trap.c", "src/os/visitor.c"}

KERNEL = re.compile(r"^(sys/mman\.h|linux/.*|asm/.*|asm-generic/.*)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
KERNEL_PATH = re.compile(r'"/(proc|sys)(/|")')


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def may_include(folder, target):
    """Why `folder` may not include "target", or None where it may."""
    owner, _, header = target.partition("/")
    if owner == "bigleaf" or owner == folder:
        return None
    if owner not in BELOW:
        return f'"{target}" is in no folder of src/; write "folder/file.h"'
    if owner not in BELOW[folder]:
        return f"{folder} may not include {owner}"
    exported = {owner + ".h"} | ALSO_EXPORTED.get(owner, set())
    if header.endswith(".def") or header in exported:
        return None
    return f"{target} is private to {owner}"


def check_source(path, folder, findings):
    text = without_comments(path.read_text(encoding="utf-8"))
    for match in INCLUDE.finditer(text):
        kind, target = match.groups()
        line = line_of(text, match.start())
        if kind == '"':
            why_not = may_include(folder, target)
            if why_not:
                findings.add(path, line, why_not)
        elif KERNEL.match(target) and folder != "os":
            findings.add(path, line, f"<{target}> belongs into src/os")
        elif (ALLOCATING.match(target) and folder in IN_THE_RUNTIME
              and name(path) not in COMMAND_ONLY
              and target not in MAY_INCLUDE.get(name(path), {})):
            findings.add(path, line, f"<{target}> inside the runtime: "
                         "nothing there may allocate")
    if folder != "os":
        for match in KERNEL_PATH.finditer(text):
            findings.add(path, line_of(text, match.start()),
                         "paths of the kernel belong into src/os")


def check_public(path, findings):
    text = without_comments(path.read_text(encoding="utf-8"))
    for match in INCLUDE.finditer(text):
        kind, target = match.groups()
        if kind == '"' and not target.startswith("bigleaf/"):
            findings.add(path, line_of(text, match.start()),
                         f'a public header includes private "{target}"')


def main():
    findings = Findings("layers")
    for path in files(".c", ".cc", ".h", ".def", ".S", below=("src",)):
        folder = path.relative_to(ROOT / "src").parts[0]
        findings.checked += 1
        if folder not in BELOW:
            findings.add(path, 0, f"src/{folder} has no layer; add it to "
                         "scripts/check-layers.py and docs/ARCHITECTURE.md")
            continue
        check_source(path, folder, findings)
    for path in files(".h", below=("include",)):
        findings.checked += 1
        check_public(path, findings)
    findings.exit()


if __name__ == "__main__":
    main()
