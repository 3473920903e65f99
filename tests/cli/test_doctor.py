# SPDX-License-Identifier: MIT
"""`bigleaf doctor`: machines made of files, and this one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import Bigleaf, one_line

HEALTHY = {
    "proc/self/status": "Name:\tx\nSeccomp:\t0\n",
    "proc/self/cgroup": "0::/\n",
    "proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n",
    "proc/buddyinfo": "Node 0, zone Normal 1 1 1 1 1 1 1 1 1 10 100\n",
    "proc/sys/vm/overcommit_memory": "0\n",
    "proc/cpuinfo": "flags\t\t: fpu vme\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/kernel/mm/transparent_hugepage/defrag": "always [madvise] never\n",
    "sys/kernel/mm/transparent_hugepage/hpage_pmd_size": "2097152\n",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
    "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "0\n",
}


def machine(folder: Path, **changes: str | None) -> str:
    """A folder with the files of HEALTHY, some changed or taken away."""
    files = dict(HEALTHY)
    for path, text in changes.items():
        if text is None:
            files = {k: v for k, v in files.items() if not k.startswith(path)}
        else:
            files[path] = text
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return str(folder)


def diagnose(
    bigleaf: Bigleaf, folder: Path, **changes: str | None
) -> tuple[int, dict]:
    ended = bigleaf("doctor", "--json", f"--root={machine(folder, **changes)}")
    report = json.loads(ended.out)
    assert report["schema"] == "bigleaf.doctor/1"
    return ended.status, report


def finding(report: dict, words: str) -> dict:
    found = [f for f in report["findings"] if words in f["text"]]
    assert len(found) == 1, report["findings"]
    return found[0]


def test_healthy_machine(bigleaf: Bigleaf, tmp_path: Path) -> None:
    status, report = diagnose(bigleaf, tmp_path)
    assert status == 0
    assert report["huge_pages"] is True
    assert report["thp_enabled"] == "madvise"
    assert report["free_contiguous_2mib"] == 210
    assert finding(report, "THP mode is madvise")["level"] == "ok"


def test_thp_never_names_the_command(bigleaf: Bigleaf, tmp_path: Path) -> None:
    status, report = diagnose(
        bigleaf,
        tmp_path,
        **{
            "sys/kernel/mm/transparent_hugepage/enabled": (
                "always madvise [never]\n"
            )
        },
    )
    assert status == 3
    remedy = (
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
    )
    assert finding(report, "THP mode is never")["remedy"] == remedy
    assert report["verdict"].endswith(remedy)


@pytest.mark.parametrize(
    ("of_all", "of_2_mib", "mode"),
    [
        ("madvise", "inherit", "madvise"),
        ("never", "inherit", "never"),
        ("madvise", "never", "never"),
        ("never", "madvise", "madvise"),
        ("never", "always", "always"),
    ],
)
def test_the_mode_of_2_mib_counts(
    bigleaf: Bigleaf, tmp_path: Path, of_all: str, of_2_mib: str, mode: str
) -> None:
    """Linux 6.8 and later have one for each size."""
    thp = "sys/kernel/mm/transparent_hugepage/"
    status, report = diagnose(
        bigleaf,
        tmp_path,
        **{
            thp + "enabled": f"[{of_all}]\n",
            thp + "hugepages-2048kB/enabled": f"always [{of_2_mib}]\n",
        },
    )
    assert report["thp_enabled"] == mode
    assert status == (3 if mode == "never" else 0)
    if mode == "never":
        folder = "" if of_2_mib == "inherit" else "hugepages-2048kB/"
        assert report["verdict"].endswith(f"tee /{thp}{folder}enabled")


def test_pool_serves_where_thp_is_never(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    pool = "sys/kernel/mm/hugepages/hugepages-2048kB/"
    status, report = diagnose(
        bigleaf,
        tmp_path,
        **{
            "sys/kernel/mm/transparent_hugepage/enabled": "[never]\n",
            pool + "nr_hugepages": "8\n",
            pool + "free_hugepages": "5\n",
        },
    )
    assert status == 0
    assert report["hugetlb_free"] == 5


def test_kernel_without_thp(bigleaf: Bigleaf, tmp_path: Path) -> None:
    status, report = diagnose(
        bigleaf, tmp_path, **{"sys/kernel/mm/transparent_hugepage": None}
    )
    assert status == 3
    assert report["thp_enabled"] == "absent"
    assert finding(report, "without THP")["level"] == "missing"


@pytest.mark.usefixtures("unsanitized")
def test_nothing_is_told_of_this_machine(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    before = ("sh", "-c", 'ulimit -v 500000; exec "$0" "$@"')
    root = f"--root={machine(tmp_path)}"
    ended = bigleaf("doctor", root, before=before)
    assert ended.out.startswith("Linux\n\n")
    for here in ("address space", "/dev/shm"):
        assert here not in ended.out
    report = json.loads(bigleaf("doctor", "--json", root, before=before).out)
    for fact in ("kernel", "libc", "address_space_limit_bytes", "shm"):
        assert report[fact] is None
    release = {"proc/sys/kernel/osrelease": "5.10.0-test\n"}
    ended = bigleaf("doctor", f"--root={machine(tmp_path, **release)}")
    assert ended.out.startswith("Linux 5.10.0-test\n\n")


@pytest.mark.parametrize("missing", ["proc", "sys"])
def test_without_proc_or_sys(
    bigleaf: Bigleaf, tmp_path: Path, missing: str
) -> None:
    _, report = diagnose(bigleaf, tmp_path, **{missing: None})
    assert report[missing] is False
    assert finding(report, f"/{missing} is not mounted")["level"] == "note"


def test_cgroup_limits_v1_and_v2(bigleaf: Bigleaf, tmp_path: Path) -> None:
    _, report = diagnose(
        bigleaf,
        tmp_path / "v2",
        **{
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/memory.max": "max\n",
            "sys/fs/cgroup/a/memory.max": "67108864\n",
            "sys/fs/cgroup/a/memory.current": "1048576\n",
        },
    )
    assert report["cgroup_version"] == 2
    assert report["cgroup_limit_bytes"] == 64 << 20
    assert report["cgroup_usage_bytes"] == 1 << 20
    assert finding(report, "memory cgroup (v2)")["level"] == "note"
    v1 = "sys/fs/cgroup/memory/"
    _, report = diagnose(
        bigleaf,
        tmp_path / "v1",
        **{
            "proc/self/cgroup": "9:cpu:/\n4:memory:/box\n0::/\n",
            v1 + "box/memory.limit_in_bytes": "536870912\n",
            v1 + "box/memory.usage_in_bytes": "4096\n",
            v1 + "memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert report["cgroup_version"] == 1
    assert report["cgroup_limit_bytes"] == 512 << 20


@pytest.mark.parametrize("version", [1, 2])
def test_a_limit_deep_below(
    bigleaf: Bigleaf, tmp_path: Path, version: int
) -> None:
    """Groups of groups, as of containers in containers, have long paths."""
    group = "/".join(["g" * 200] * 10)
    line = f"/{group}\n"
    files = {
        "proc/self/cgroup": f"0::{line}"
        if version == 2
        else "".join(f"{i}:c{i}:{line}" for i in range(12))
        + f"4:memory:{line}3:hugetlb:{line}",
    }
    if version == 2:
        files[f"sys/fs/cgroup/{group}/memory.max"] = "67108864\n"
        files[f"sys/fs/cgroup/{group}/hugetlb.2MB.max"] = "4194304\n"
    else:
        limit = "limit_in_bytes"
        files[f"sys/fs/cgroup/memory/{group}/memory.{limit}"] = "67108864\n"
        files[f"sys/fs/cgroup/hugetlb/{group}/hugetlb.2MB.{limit}"] = "4194304\n"
    _, report = diagnose(bigleaf, tmp_path, **files)
    assert report["cgroup_version"] == version
    assert report["cgroup_path"] == f"/{group}"
    assert report["cgroup_limit_bytes"] == 64 << 20
    assert report["cgroup_hugetlb_limit_bytes"] == 4 << 20


def test_a_user_in_many_groups(bigleaf: Bigleaf, tmp_path: Path) -> None:
    groups = " ".join(str(i) for i in range(100000, 102000))
    status = f"Name:\tx\nGroups:\t{groups} \nSeccomp:\t2\n"
    _, report = diagnose(bigleaf, tmp_path, **{"proc/self/status": status})
    assert report["seccomp"] == 2


def test_a_limit_whose_usage_is_not_told(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    limit = {"sys/fs/cgroup/memory.max": "67108864\n"}
    _, report = diagnose(bigleaf, tmp_path, **limit)
    assert report["cgroup_usage_bytes"] is None
    said = finding(report, "memory cgroup (v2)")["text"]
    assert said.endswith("limit 64 MiB; a huge page is charged whole")


def test_scarce_contiguous_memory(bigleaf: Bigleaf, tmp_path: Path) -> None:
    _, report = diagnose(
        bigleaf,
        tmp_path,
        **{"proc/buddyinfo": "Node 0, zone Normal 9 9 9 9 9 9 9 9 9 3 0\n"},
    )
    found = finding(report, "only 3 blocks of 2 MiB")
    assert found["remedy"].endswith("/proc/sys/vm/compact_memory")


@pytest.mark.parametrize("scope", ["0", "1", "2", "3"])
def test_who_may_attach_is_told(
    bigleaf: Bigleaf, tmp_path: Path, scope: str
) -> None:
    _, report = diagnose(
        bigleaf, tmp_path, **{"proc/sys/kernel/yama/ptrace_scope": scope}
    )
    assert report["ptrace_scope"] == int(scope)
    if scope == "0":
        assert "bigleaf attach" not in str(report["findings"])
        return
    found = finding(report, f"ptrace_scope is {scope}")
    assert found["level"] == "note"
    assert ("takes root" in found["text"]) == (scope != "3")
    remedy = "sudo sysctl kernel.yama.ptrace_scope=0"
    assert found["remedy"] == (remedy if scope != "3" else None)


def test_free_pages_that_go_back(bigleaf: Bigleaf, tmp_path: Path) -> None:
    device = "sys/bus/virtio/devices/virtio3/"
    _, report = diagnose(
        bigleaf,
        tmp_path,
        **{device + "device": "0x0005\n", device + "features": "01100101\n"},
    )
    assert report["page_reporting"] == 1
    found = finding(report, "fresh huge pages are dear")
    assert found["level"] == "note"
    assert "go back to the hypervisor" in found["text"]
    for way in ("--pages=auto", "--pages=thp", "a hugetlb pool"):
        assert way in found["text"]
    assert report["verdict"].endswith("fresh ones are dear")
    assert finding(report, "pool is empty")["text"].endswith("is empty")


def test_a_pool_is_not_dear(bigleaf: Bigleaf, tmp_path: Path) -> None:
    device = "sys/bus/virtio/devices/virtio3/"
    pool = "sys/kernel/mm/hugepages/hugepages-2048kB/"
    _, report = diagnose(
        bigleaf,
        tmp_path,
        **{
            device + "device": "0x0005\n",
            device + "features": "01100101\n",
            pool + "nr_hugepages": "64\n",
            pool + "free_hugepages": "64\n",
        },
    )
    assert report["verdict"] == "programs get huge pages here"


def test_garbage_in_files_is_unknown(bigleaf: Bigleaf, tmp_path: Path) -> None:
    garbage = {path: "\x01[[::%%\n\n:x" for path in HEALTHY}
    status, report = diagnose(bigleaf, tmp_path, **garbage)
    assert status == 3
    assert report["thp_enabled"] == "unknown"
    assert report["hugetlb_pages"] is None


def test_this_machine_is_tried(bigleaf: Bigleaf) -> None:
    ended = bigleaf("doctor", "--json")
    report = json.loads(ended.out)
    assert ended.status == (0 if report["huge_pages"] else 3)
    assert report["tried"]["finished"] is True
    text = bigleaf("doctor")
    assert text.status == ended.status
    assert text.out.strip().endswith(report["verdict"])


@pytest.mark.usefixtures("unsanitized")
def test_refusals_are_found(bigleaf: Bigleaf, programs: Path) -> None:
    refuse = str(programs / "cli_refuse")
    ended = bigleaf("doctor", "--json", before=(refuse, "thp"))
    if ended.status == 77:
        pytest.skip("PR_SET_THP_DISABLE cannot be set here")
    report = json.loads(ended.out)
    assert report["tried"]["thp_disabled"] == 1
    assert ended.status == 3
    for name, number in (("EPERM", 1), ("ENOSYS", 38)):
        ended = bigleaf("doctor", "--json", before=(refuse, name))
        if ended.status == 77:
            pytest.skip("no seccomp filter can be set here")
        report = json.loads(ended.out)
        assert report["tried"]["madvise_errno"] == number
        assert finding(report, "MADV_COLLAPSE")["text"].endswith(
            os.strerror(number)
        )
        assert report["tried"]["thp_disabled"] is None
        assert report["seccomp"] == 2
    ended = bigleaf("doctor", "--json", before=(refuse, "KILL"))
    assert json.loads(ended.out)["tried"]["finished"] is False
    assert ended.status == 3


@pytest.mark.usefixtures("unsanitized")
def test_address_space_limit_is_found(bigleaf: Bigleaf) -> None:
    ended = bigleaf(
        "doctor", before=("sh", "-c", 'ulimit -v 65536; exec "$0" "$@"')
    )
    assert "address space is limited to 64 MiB" in ended.out


def test_a_folder_that_cannot_be_cleaned_is_named(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    folder = tmp_path / f"bigleaf-{os.geteuid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    ended = bigleaf(
        "doctor", "--clean", env={"BIGLEAF_SHADOW_DIR": str(tmp_path)}
    )
    assert ended.status == 3
    said = f"bigleaf doctor: {folder}: the shadow directory is open to other users"
    assert one_line(ended.err) == said


def test_copies_of_text_that_take_much_are_told(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    folder = tmp_path / f"bigleaf-{os.geteuid()}"
    env = {"BIGLEAF_SHADOW_DIR": str(tmp_path)}
    assert json.loads(bigleaf("doctor", "--json", env=env).out)["shadow_bytes"] == 0
    assert not folder.exists()
    folder.mkdir(mode=0o700)
    with (folder / "program").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 257 << 20)
    ended = bigleaf("doctor", env=env)
    assert "copies of program text take 257 MiB" in ended.out
    assert "mend: bigleaf doctor --clean\n" in ended.out
    file = folder / "program"
    file.write_bytes(b"x" * 4096)
    assert "copies of program text" not in bigleaf("doctor", env=env).out


def test_program_is_described(bigleaf: Bigleaf, library: str) -> None:
    assert "dynamic, 64-bit" in bigleaf("doctor", "sh").out
    ended = bigleaf("doctor", "--json", "sh")
    report = json.loads(ended.out)
    assert ended.status == (0 if report["huge_pages_here"] else 3)
    assert report["schema"] == "bigleaf.program/1"
    assert report["static"] is False
    assert report["mechanisms"]["heap"] == "bigleaf"


@pytest.mark.usefixtures("unsanitized")
def test_a_program_is_not_given_what_is_not_here(
    bigleaf: Bigleaf, library: str, programs: Path
) -> None:
    refuse = (str(programs / "cli_refuse"), "thp")
    ended = bigleaf("doctor", "--json", "sh", before=refuse)
    if ended.status == 77:
        pytest.skip("PR_SET_THP_DISABLE cannot be set here")
    report = json.loads(ended.out)
    if report["huge_pages_here"]:
        pytest.skip("a hugetlb pool gives huge pages here")
    assert ended.status == 3
    assert report["mechanisms"]["heap"] == "bigleaf"
    assert bigleaf("doctor", "sh", before=refuse).status == 3


def test_what_is_no_program_is_named(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    text, folder = tmp_path / "text.c", tmp_path / "folder"
    text.write_text("int main(void);\n")
    folder.mkdir()
    made = tmp_path / "text.o"
    subprocess.run(["cc", "-c", text, "-o", made], check=True)
    shared = tmp_path / "libtext.so"
    subprocess.run(["cc", "-shared", made, "-o", shared], check=True)
    shared.chmod(0o644)
    for file, kind in ((text, "no program"), (made, "an object file"),
                       (shared, "a shared library")):  # fmt: skip
        ended = bigleaf("doctor", str(file))
        assert (ended.status, ended.err) == (3, ""), ended
        assert f"  kind         {kind}\n" in ended.out
        assert "heap by" not in ended.out
        report = json.loads(bigleaf("doctor", "--json", str(file)).out)
        assert report["mechanisms"]["heap"] == "none"
    for place, why in ((folder, "Is a directory"),
                       ("/dev/null", "not a regular file")):  # fmt: skip
        ended = bigleaf("doctor", str(place))
        assert ended.status == 126
        assert ended.err == f"bigleaf doctor: {place}: {why}\n"
