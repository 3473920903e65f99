# SPDX-License-Identifier: MIT
"""`bigleaf-bench build` on recipes of our own: what it builds, and how it fails."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import COMMAND, SOURCE, Ended, doctor, environment, run

SOLVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    volatile char *p = malloc(16 << 20);
    for (int i = 0; i < 16 << 20; i += 4096)
        p[i] = (char)argc;
    int unsat = argc > 1 && strstr(argv[1], "unsat");
    puts(unsat ? "s UNSATISFIABLE" : "s SATISFIABLE");
    return unsat ? 20 : 10;
}
"""
RECIPE = """
summary = "a solver of the tests"
[source]
kind = "url"
url = "{url}"
sha256 = "{sha256}"
[build]
steps = ["cc -O1 -c solver.c", "cc -o tiny solver.o {link}"]
programs = ["tiny"]
[[smoke]]
words = ["tiny", "{{sat.cnf}}"]
status = {status}
says = "^s SATIS"
[table]
words = ["tiny", "{{file}}"]
takes = ["cnf"]
"""

if sys.version_info < (3, 11):
    pytest.skip("bigleaf-bench needs Python 3.11", allow_module_level=True)


class Workshop:
    """A folder of recipes, a source, and a cache of their own."""

    def __init__(self, folder: Path) -> None:
        self.recipes, self.cache = folder / "solvers", folder / "cache"
        (self.recipes / "smoke").mkdir(parents=True)
        (self.recipes / "smoke/sat.cnf").write_text("p cnf 1 1\n1 0\n")
        (folder / "solver.c").write_text(SOLVER)
        self.archive = folder / "tiny-1.tar.gz"
        with tarfile.open(self.archive, "w:gz") as tar:
            tar.add(folder / "solver.c", "tiny-1/solver.c")

    def write(self, **changes: str) -> None:
        values = {
            "url": self.archive.as_uri(),
            "sha256": hashlib.sha256(self.archive.read_bytes()).hexdigest(),
            "link": "",
            "status": "10",
        } | changes
        (self.recipes / "tiny.toml").write_text(RECIPE.format_map(values))

    def __call__(
        self, *words: str | Path, before: tuple[str, ...] = (), command: Path = COMMAND
    ) -> Ended:
        done = subprocess.run(
            [*before, sys.executable, "-m", "bigleaf_bench", "build", "--plain", *words],
            env=environment() | {
                "BIGLEAF_COMMAND": str(command),
                "BIGLEAF_SOLVERS": str(self.recipes),
                "BIGLEAF_CACHE": str(self.cache),
                "PYTHONPATH": str(SOURCE / "bench"),
            },
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)

    def kept(self) -> list[str]:
        """What is in the cache besides logs and sources."""
        return [
            file.name
            for folder in ("solvers", "work")
            for file in (self.cache / folder).glob("*")
        ]


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.write()
    return made


def fails(workshop: Workshop, status: int, *texts: str) -> None:
    ended = workshop("--variant", "plain", "tiny")
    assert ended.status == status, ended
    line = ended.err.splitlines()[-1]
    for text in texts:
        assert text in line
    assert ended.out == ""
    assert workshop.kept() == []


def test_builds_static_variants_once(workshop: Workshop, tmp_path: Path) -> None:
    words = ("--variant", "plain", "--variant", "bigleaf", "tiny")
    ended = workshop(*words, "--into", tmp_path / "bin")
    assert ended.status == 0, ended
    facts = {}
    for variant in ("plain", "bigleaf"):
        program = tmp_path / "bin" / f"tiny-{variant}"
        assert subprocess.run([program], capture_output=True).returncode == 10
        doctor = subprocess.run(
            [COMMAND, "doctor", "--json", program], capture_output=True
        )
        facts[variant] = json.loads(doctor.stdout)
        assert facts[variant]["static"]
    assert not facts["plain"]["bigleaf_version"]
    assert facts["bigleaf"]["bigleaf_version"]
    again = workshop(*words)
    assert again.err.count("from the cache") == 2
    programs = [Path(line) for line in again.out.splitlines()]
    assert len(programs) == 2
    note = json.loads((programs[0].parents[1] / "build.json").read_text())
    assert note["schema"] == "bigleaf.build/1"
    workshop.write(link="-O1")
    assert "from the cache" not in workshop(*words).err


def test_one_table_of_all_states(workshop: Workshop, tmp_path: Path) -> None:
    file = tmp_path / "one.cnf"
    file.write_text("p cnf 1 1\n1 0\n")
    ended = workshop("--variant", "plain", "--variant", "bigleaf", "tiny",
                     "--runs", "1", "--table", file)  # fmt: skip
    assert ended.status == 0, ended
    rows = [line.split() for line in ended.out.splitlines() if line.startswith("tiny")]
    assert len(rows) == 3
    head = next(x for x in ended.out.splitlines() if x.startswith("solver"))
    assert "CPU, s" in head and "coverage" in head
    file = file.rename(tmp_path / "one.smt2")
    ended = workshop("--variant", "plain", "tiny", "--table", file)
    assert ended.status == 0, ended
    assert "none of these files is for it (cnf)" in ended.out


def test_a_solver_past_its_time_is_ended(tmp_path: Path) -> None:
    sys.path.insert(0, str(SOURCE / "bench"))
    from bigleaf_bench.build import measure
    from bigleaf_bench.failure import WrongUse

    pid = tmp_path / "pid"
    words = ["sh", "-c", f"echo $$ >{pid}; exec sleep 600"]
    with pytest.raises(WrongUse, match="ran longer than 1 s"):
        measure.run(str(COMMAND), measure.STATES[0], words, 1)
    until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())


# Instead of compiling glibc: its libc as it is, or a refusal.
STAND_IN = """#!/bin/sh
[ "$1" = thp-libc ] || exec {command} "$@"
echo '== configuring glibc' >&2
{last}
into=${{2#--into=}}
mkdir -p "$into" && cp "$(cc -print-file-name=libc.a)" "$into/libc.a"
"""


def stand_in(folder: Path, last: str) -> Path:
    """A command that makes the patched libc at once, or runs `last` instead."""
    file = folder / "bigleaf"
    file.write_text(STAND_IN.format(command=COMMAND, last=last))
    file.chmod(0o755)
    return file


def test_the_patched_libc_is_made_where_it_is_not_there(
    workshop: Workshop, tmp_path: Path
) -> None:
    ended = workshop("tiny", command=stand_in(tmp_path, ""))
    assert ended.status == 0, ended
    assert "the libc of variant thp: configuring glibc" in ended.err
    assert (workshop.cache / "thp/libc.a").exists()
    assert len(ended.out.splitlines()) == 3


def test_without_the_patched_libc_the_others_are_built(
    workshop: Workshop, tmp_path: Path
) -> None:
    refusal = "bigleaf thp-libc: needs packages: apt-get install some"
    command = stand_in(tmp_path, f"echo '{refusal}' >&2; exit 3")
    ended = workshop("tiny", command=command)
    assert ended.status == 0, ended
    assert f"no variant thp: {refusal}" in ended.err
    assert len(ended.out.splitlines()) == 2
    ended = workshop("--variant", "thp", "tiny", command=command)
    assert (ended.status, ended.out) == (3, "")
    assert ended.err.splitlines()[-1].endswith(refusal)


def test_a_link_that_fails_names_its_log(workshop: Workshop) -> None:
    workshop.write(link="-lno-such-library")
    fails(workshop, 1, "tiny: ", "no-such-library", "(log: ")
    assert "no-such-library" in (workshop.cache / "logs/tiny-plain.log").read_text()


def test_another_source_is_refused(workshop: Workshop) -> None:
    workshop.write(sha256="0" * 64)
    fails(workshop, 1, "its checksum is", "nothing was built")


def test_no_network_is_said(workshop: Workshop) -> None:
    workshop.write(url="http://127.0.0.1:9/tiny-1.tar.gz")
    fails(workshop, 1, "127.0.0.1:9", "is there a network")
    workshop.write(url="http://127.0.0.1:9/tiny 1.tar.gz")
    fails(workshop, 1, "127.0.0.1:9/tiny 1", "URL can't contain control characters")


def test_a_mirror_of_debian_may_be_named(workshop: Workshop, tmp_path: Path) -> None:
    place = tmp_path / "mirror/pool/main/t/tiny"
    place.mkdir(parents=True)
    archive = shutil.copy(workshop.archive, place / "tiny_1.orig.tar.gz")
    sums = hashlib.sha256(Path(archive).read_bytes()).hexdigest()
    dsc = place / "tiny_1-2.dsc"
    dsc.write_text(f"Source: tiny\nChecksums-Sha256:\n {sums} 99 tiny_1.orig.tar.gz\n")
    workshop.write(sha256=hashlib.sha256(dsc.read_bytes()).hexdigest())
    recipe = workshop.recipes / "tiny.toml"
    source = 'kind = "debian"\npackage = "tiny"\nversion = "1:1-2"'
    recipe.write_text(re.sub(r'kind = .*\nurl = .*', source, recipe.read_text()))
    mirror = f"BIGLEAF_DEBIAN=file://{tmp_path}/%s"
    ended = workshop("--variant", "plain", "tiny", before=("env", mirror % "none"))
    assert ended.status == 1
    assert "BIGLEAF_DEBIAN may name a mirror" in ended.err.splitlines()[-1]
    ended = workshop("--variant", "plain", "tiny", before=("env", mirror % "mirror/"))
    assert ended.status == 0, ended


def test_a_killed_build_leaves_nothing_for_long(workshop: Workshop) -> None:
    left = workshop.cache / "work/tiny-plain-99999999"
    (left / "tree").mkdir(parents=True)
    assert workshop("--variant", "plain", "tiny").status == 0
    assert not left.exists()


def until(what: Callable[[], object]) -> None:
    for _ in range(6000):
        if what():
            return
        time.sleep(0.01)
    pytest.fail("it did not come in a minute")


def test_an_interrupted_build_ends_its_compilers(
    workshop: Workshop, tmp_path: Path
) -> None:
    text = (workshop.recipes / "tiny.toml").read_text()
    step = f"sh -c 'echo $$ >{tmp_path}/pid; exec sleep 600' & wait"
    text = re.sub(r"^steps = .*$", f'steps = ["{step}"]', text, flags=re.M)
    (workshop.recipes / "tiny.toml").write_text(text)
    building = threading.Thread(target=workshop, args=("--variant", "plain", "tiny"))
    building.start()
    pid = tmp_path / "pid"
    until(lambda: pid.exists() and pid.read_text())
    child = int(pid.read_text())
    work = f"/proc/{child}/cwd"
    assert "tiny-plain-" in os.readlink(work)
    builder = int(re.search(r"tiny-plain-(\d+)", os.readlink(work))[1])
    os.kill(builder, signal.SIGTERM)
    building.join(60)
    until(lambda: not Path(f"/proc/{child}").exists())
    assert workshop.kept() == []


def test_parts_stand_in_folders_of_their_names(workshop: Workshop) -> None:
    recipe = workshop.recipes / "tiny.toml"
    text = recipe.read_text()
    part = text[text.index("[source]"):text.index("[build]")]
    text = text.replace("[build]", part.replace("source", "parts.more") + "[build]")
    recipe.write_text(text.replace("solver.c\"", "more/solver.c\"", 1))
    assert workshop("--variant", "plain", "tiny").status == 0
    recipe.write_text(text.replace('kind = "url"', 'kind = "ftp"').replace(
        'kind = "ftp"', 'kind = "url"', 1))  # fmt: skip
    ended = workshop("tiny")
    assert ended.status == 2
    assert "tiny.toml: parts.more.kind must be one of" in ended.err


def test_a_wrong_answer_is_not_kept(workshop: Workshop) -> None:
    workshop.write(status="20")
    fails(workshop, 1, "smoke test 'tiny {sat.cnf}'", "exit status 10 instead of 20")


# Full when the log is begun; when the program is linked.
@pytest.mark.parametrize("size", ["8k", "400k"])
def test_a_full_disk_is_said(size: str, workshop: Workshop) -> None:
    if os.geteuid() != 0:
        pytest.skip("a file system of its own needs root")
    workshop.cache.mkdir()
    script = (
        'mount -t tmpfs -o size="$1" none "$0" || exit 77; cache=$0; shift; '
        'status=0; "$@" || status=$?; ls -A "$cache"/solvers "$cache"/work; '
        "exit $status"
    )
    before = ("unshare", "-m", "sh", "-c", script, str(workshop.cache), size)
    ended = workshop("--variant", "plain", "tiny", before=before)
    if ended.status == 77 or ended.err.startswith("unshare"):
        pytest.skip("no mount namespace here")
    assert ended.status == 3, ended
    said = [x for x in ended.err.splitlines() if not x.startswith("ls:")]
    assert "the disk is full" in said[-1]
    assert "tiny-plain" not in ended.out


APT = """#!/bin/sh
echo "$*" >>"$0.log"
case $* in
*update*) : >"$0.lists" ;;
*) [ -e "$0.lists" ] || { echo 'E: Unable to locate package' >&2; exit 100; } ;;
esac
"""


def test_what_is_missing_is_installed(workshop: Workshop, tmp_path: Path) -> None:
    recipe = workshop.recipes / "tiny.toml"
    needs = 'needs = ["cmd:no-such-command first", "file:no-such.a second"]'
    recipe.write_text(f"{needs}\n{recipe.read_text()}")
    (tmp_path / "apt-get").write_text(APT)
    (tmp_path / "apt-get").chmod(0o755)
    ended = workshop("--variant", "plain", "tiny",
                     before=("env", f"PATH={tmp_path}:{os.environ['PATH']}"))  # fmt: skip
    if os.geteuid() != 0:
        assert ended.status == 3, ended
        assert "apt-get install first second" in ended.err.splitlines()[-1]
        return
    assert ended.status == 0, ended
    told = (tmp_path / "apt-get.log").read_text().splitlines()
    assert [line.split()[1] for line in told] == ["install", "update", "install"]
    assert told[2].endswith(" first second")


def test_a_missing_compiler_is_installed(workshop: Workshop, tmp_path: Path) -> None:
    machine, places = tmp_path / "bin", os.environ["PATH"].split(":")
    machine.mkdir()
    for tool in (f for place in reversed(places) for f in Path(place).glob("*")):
        if not re.match(r"(.*-)?(cc|gcc|c\+\+|g\+\+)$|apt-get$", tool.name):
            (machine / tool.name).unlink(missing_ok=True)
            (machine / tool.name).symlink_to(tool)
    links = "".join(f"ln -s {shutil.which(n)} {machine / n}\n" for n in ("cc", "c++"))
    (machine / "apt-get").write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/log\n{links}')
    (machine / "apt-get").chmod(0o755)
    ended = workshop("--variant", "plain", "tiny", before=("env", f"PATH={machine}"))
    if os.geteuid() != 0:
        assert ended.status == 3, ended
        assert "apt-get install gcc g++" in ended.err.splitlines()[-1]
        return
    assert ended.status == 0, ended
    assert (tmp_path / "log").read_text().endswith(" gcc g++\n")


ENGINE = """#!/bin/sh
echo "$*" >>"$0.log"
runtime=
case $1 in --runtime=*) runtime=$1; shift ;; esac
case $1 in
info) exit %s ;;
image) [ -e "$0.made" ] ;;
build) : >"$0.made"; %s ;;
run)
    %s
    while case $1 in localhost/*) false ;; *) true ;; esac; do
        case $1 in
        --env=*) export "${1#--env=}" ;;
        --workdir=*) cd "${1#--workdir=}" ;;
        esac
        shift
    done
    shift
    exec "$@"
    ;;
esac
"""


def with_engine(
    workshop: Workshop, folder: Path, info: str = "0", build: str = "exit 0",
    running: str = ":",
) -> tuple[Ended, str]:
    """A container engine that runs its words here, and what it was told."""
    folder.mkdir(exist_ok=True)
    for name in ("podman", "docker"):
        (folder / name).write_text(ENGINE % (info, build, running))
        (folder / name).chmod(0o755)
    before = ("env", f"PATH={folder}:{os.environ['PATH']}")
    ended = workshop("--variant", "plain", "--container=some:base", "tiny", before=before)
    log = folder / "podman.log"
    return ended, log.read_text() if log.exists() else ""


def test_a_container_compiles(workshop: Workshop, tmp_path: Path) -> None:
    ended, told = with_engine(workshop, tmp_path / "engine")
    assert ended.status == 0, ended
    assert told.count("--build-arg=BASE=some:base") == 1
    assert "run --rm --network=none" in told
    again, told = with_engine(workshop, tmp_path / "engine")
    assert "from the cache" in again.err
    assert told.count("--build-arg") == 1


def test_the_command_runs_where_its_libc_is_not(
    source: Path, tmp_path: Path
) -> None:
    sys.path.insert(0, str(SOURCE / "bench"))
    from bigleaf_bench.build import toolchain

    command, taken = toolchain.by_own_loader(COMMAND)
    inside = tmp_path / "inside"
    inside.mkdir()
    for file in (*taken, *toolchain.libraries(str(COMMAND))):
        (inside / file.name).symlink_to(file)
    program = tmp_path / "program"
    words = command.replace(toolchain.INSIDE, str(inside)).split()
    ended = run(*words, "cc", "-static", source, "-o", program,
                env={"BIGLEAF_LIB": str(inside / "libbigleaf.a")})  # fmt: skip
    assert (ended.status, ended.err) == (0, "")
    assert doctor(program)["bigleaf_version"]


def test_without_an_engine_the_host_builds(workshop: Workshop, tmp_path: Path) -> None:
    ended, _ = with_engine(workshop, tmp_path / "engine", info="1")
    assert ended.status == 0, ended
    assert "no container engine here (podman, docker): the host builds" in ended.err


def test_an_image_that_fails_is_said(workshop: Workshop, tmp_path: Path) -> None:
    ended, _ = with_engine(workshop, tmp_path / "engine", build="exit 1")
    assert ended.status == 3
    assert "cannot be made; is there a network?" in ended.err.splitlines()[-1]
    assert workshop.kept() == []


def test_a_runtime_that_works_is_found(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine/runc").symlink_to("/bin/true")
    refuses = '[ "$runtime" ] || { echo "crun: not here" >&2; exit 126; }'
    ended, told = with_engine(workshop, tmp_path / "engine", running=refuses)
    assert ended.status == 0, ended
    assert "--runtime=runc run --rm --network=none" in told
    ended, _ = with_engine(workshop, tmp_path / "engine",
                           running="echo 'no containers' >&2; exit 126")  # fmt: skip
    assert ended.status == 3
    assert ended.err.splitlines()[-1].endswith("can be run here: no containers")


def test_an_image_is_made_in_a_chroot_else(workshop: Workshop, tmp_path: Path) -> None:
    build = """case $* in
    *--isolation=chroot*) exit 0 ;;
    *) rm "$0.made"; echo "crun: while running runtime: exit status 1"; exit 1 ;;
    esac"""
    ended, told = with_engine(workshop, tmp_path / "engine", build=build)
    assert ended.status == 0, ended
    assert told.count("--build-arg=BASE=some:base") == 2


def test_what_cannot_work_ends_before_the_build(workshop: Workshop) -> None:
    file = workshop.recipes / "tiny.toml"
    for words, status, said in (
        (("--table", "nosuch.cnf"), 2, "nosuch.cnf: no such file"),
        (("--into", file), 3, "tiny.toml: File exists"),
        (("--runs", "0"), 2, "'0' is no whole number of at least 1"),
        (("--seconds", "0"), 2, "'0' is no whole number of at least 1"),
        (("--jobs", "-3"), 2, "'-3' is no whole number of at least 1"),
    ):
        ended = workshop("--variant", "plain", "tiny", *words)
        assert (ended.status, ended.out) == (status, ""), ended
        assert said in ended.err.splitlines()[-1]
        assert workshop.kept() == []


def test_a_cache_that_cannot_be_is_said(workshop: Workshop) -> None:
    workshop.cache.write_text("")
    fails(workshop, 3, "cache", "Not a directory", "nothing of it was kept")


def test_wrong_recipes_are_named(workshop: Workshop) -> None:
    (workshop.recipes / "tiny.toml").write_text('summary = "x"\n[source]\nkind = "ftp"\n')
    ended = workshop("tiny")
    assert ended.status == 2
    assert "tiny.toml: source.kind must be one of" in ended.err
    ended = workshop("missing")
    assert (ended.status, ended.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[source]", 'source = "x"\n[other]', "source must be a table"),
        ("[source]", 'parts = "x"\n[source]', "parts must be a table"),
        ("[source]", "parts.more = 3\n[source]", "parts.more must be a table"),
        ("[source]", "needs = [3]\n[source]", "needs must be a list of texts"),
        ("summary", "sumary", "summary is missing"),
        ('summary = "a', 'summary = "\xe4', "is no UTF-8 text"),
        ("[build]", "[built]", "build is missing"),
        ("steps = [", 'steps = "make"\nx = [', "build.steps must be a list"),
        ("status = 10", 'status = "10"', "smoke[1].status must be a whole number"),
        ("[[smoke]]", "[smoke]", "smoke must be a list"),
        ("sha256 = ", "sha = ", "source.sha256 is missing"),
        ("url = ", "url = 3 #", "source.url must be text"),
        ("[table]", "[table", "Expected ']'"),
    ],
)
def test_wrong_values_of_recipes_are_named(
    workshop: Workshop, old: str, new: str, said: str
) -> None:
    file = workshop.recipes / "tiny.toml"
    text = file.read_text().replace(old, new, 1)
    file.write_bytes(text.encode("latin-1"))
    ended = workshop("tiny")
    assert (ended.status, ended.err.count("\n")) == (2, 1), ended.err
    assert f"tiny.toml: {said}" in ended.err


@pytest.mark.parametrize("file", sorted((SOURCE / "solvers").glob("*.toml")), ids=lambda f: f.stem)
def test_every_recipe_is_whole(file: Path) -> None:
    sys.path.insert(0, str(SOURCE / "bench"))
    from bigleaf_bench.build import recipe

    one = recipe.parse(file.stem, file.read_text())
    assert one.summary and (one.takes or not one.table)
    for smoke in one.smoke:
        assert smoke.words[0] in {Path(p).name for p in one.programs}
        for word in smoke.words[1:]:
            name = word.strip("{}")
            assert word == name or (SOURCE / "solvers/smoke" / name).exists()


def test_recipes_that_are_not_there_are_told_where_to_look(tmp_path: Path) -> None:
    """As after `pip install ./bench` alone."""
    shutil.copytree(SOURCE / "bench/bigleaf_bench", tmp_path / "lib/site/bigleaf_bench")
    if Path("/usr/share/bigleaf/solvers").exists():
        pytest.skip("Bigleaf's recipes are installed here")
    done = subprocess.run(
        [sys.executable, "-m", "bigleaf_bench", "build", "--list"],
        env=environment() | {"PYTHONPATH": str(tmp_path / "lib/site")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.endswith("or name the sources' solvers/ in BIGLEAF_SOLVERS\n")
