# SPDX-License-Identifier: MIT
"""All that can distort a measurement, noted before and after a campaign."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import time
from pathlib import Path

from bigleaf_bench import __version__

# What `bigleaf doctor` tells about huge pages on this machine.
DOCTOR = ("thp_enabled", "thp_defrag", "thp_shmem", "huge_page_bytes", "hugetlb_pages",
          "hugetlb_free", "memory_bytes", "memory_available_bytes", "free_contiguous_2mib",
          "cgroup_version", "hypervisor", "page_reporting", "libc", "kernel")


def one_line(path: str) -> str | None:
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="utf-8").strip()
    return None


def cpu_model() -> str:
    for line in (one_line("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def doctor(bigleaf: str) -> dict:
    try:
        done = subprocess.run([bigleaf, "doctor", "--json"], capture_output=True, text=True,
                              timeout=60, check=False)
        told = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return {"problem": str(error)}
    return {key: told.get(key) for key in DOCTOR}


def note(bigleaf: str) -> dict:
    """The machine as it is now."""
    cpu = "/sys/devices/system/cpu"
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "host": platform.node(),
        "system": platform.platform(), "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)), "load": list(os.getloadavg()),
        "governor": one_line(f"{cpu}/cpu0/cpufreq/scaling_governor"),
        "frequency_khz": one_line(f"{cpu}/cpu0/cpufreq/scaling_cur_freq"),
        "no_turbo": one_line(f"{cpu}/intel_pstate/no_turbo"),
        "smt": one_line(f"{cpu}/smt/active"),
        "swappiness": one_line("/proc/sys/vm/swappiness"),
        "aslr": one_line("/proc/sys/kernel/randomize_va_space"),
        "bigleaf_bench": __version__, **doctor(bigleaf),
    }


def warnings(noted: dict, workers: int) -> list[str]:
    """What of a note speaks against trusting small differences."""
    found = []
    busy = noted["load"][0]
    if busy > 0.5:
        found.append(f"the machine was not idle (load {busy:.1f} before the first run)")
    if noted.get("hypervisor"):
        found.append("a virtual machine: neighbours on the host are not seen from here")
    if noted.get("page_reporting"):
        found.append("free pages go back to the hypervisor: memory is touched before each run")
    if noted.get("thp_enabled") == "always":
        found.append("THP is on for every program: base runs will be invalid; "
                     "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
    if noted.get("governor") not in (None, "performance"):
        found.append(f"the frequency governor is {noted['governor']}, not performance")
    if workers > 1:
        found.append(f"{workers} runs at a time share caches and memory bandwidth")
    return found
