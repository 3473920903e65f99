# SPDX-License-Identifier: MIT
"""Where instances come from: files, folders, archives by URL, generators."""

from __future__ import annotations

import bz2
import contextlib
import errno
import functools
import gzip
import hashlib
import http.server
import lzma
import os
import shutil
import tarfile
import threading
from pathlib import Path

import pytest
from conftest import BASE, HEAD, SAT, UNSAT

from bigleaf_bench import campaign, formulas, instances
from bigleaf_bench.failure import Lacking, WrongUse

REST = '[[tools]]\nuse = "minisat"\nsets = ["all"]\n[[variants]]\nname = "base"\n'


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def prepared(folder, text: str, say=lambda text: None):
    found = campaign.parse(folder / "c.toml", f'[[instances]]\nname = "all"\n{text}\n{REST}')
    return instances.prepare(found, folder / "made", say)


def test_packed_files_are_unpacked_once(tmp_path):
    for suffix, pack in ((".xz", lzma.open), (".gz", gzip.open), (".bz2", bz2.open)):
        with pack(tmp_path / f"a{suffix[1]}.cnf{suffix}", "wb") as file:
            file.write(SAT.encode())
    found = prepared(tmp_path, 'files = ["*.cnf.*"]\nanswers = {"ax*" = "sat"}')
    assert [i.name for i in found] == ["ab.cnf", "ag.cnf", "ax.cnf"]
    assert [i.expected for i in found] == ["", "", "sat"]
    assert all(i.path.read_text(encoding="ascii") == SAT and not i.problem for i in found)
    first = found[0].path.stat().st_mtime_ns
    assert prepared(tmp_path, 'files = ["*.cnf.*"]')[0].path.stat().st_mtime_ns == first


def test_damaged_files_are_not_unpacked(tmp_path):
    for suffix, pack in ((".xz", lzma.compress), (".gz", gzip.compress), (".bz2", bz2.compress)):
        packed = bytearray(pack(bytes(range(256)) * 40))
        packed[len(packed) // 2] ^= 0xff
        (tmp_path / f"a{suffix[1]}.cnf{suffix}").write_bytes(packed)
    # Of gzip whatever stands behind its head.
    (tmp_path / "c.cnf.gz").write_bytes(gzip.compress(SAT.encode())[:10] + b"\xff" * 30)
    found = prepared(tmp_path, 'files = ["*.cnf.*"]')
    assert [i.problem[:20] for i in found] == ["cannot be unpacked a"] * 4


def test_a_full_disk_is_no_fault_of_an_instance(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a.cnf.gz").write_bytes(gzip.compress(SAT.encode()))
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(shutil, "copyfileobj", full)
        prepared(tmp_path, 'files = ["*.gz"]')
    assert not prepared(tmp_path, 'files = ["*.gz"]')[0].problem


def test_folders_and_sets_that_may_be_empty(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "a.cnf").write_text(SAT, encoding="ascii")
    (tmp_path / "in" / "notes.md").write_text("x", encoding="ascii")
    found = prepared(tmp_path, 'folder = "in"\nmember = "*.cnf"\nfamily = "f"')
    assert [(i.name, i.family) for i in found] == [("a.cnf", "f")]
    said = []
    assert prepared(tmp_path, 'files = ["$NOWHERE_AT_ALL/*.cnf"]\noptional = true',
                    said.append) == []
    assert said[-1] == "note: instance set all is empty here, and left out"


def test_files_of_one_name_keep_apart(tmp_path):
    for year, text in (("2019", SAT), ("2020", UNSAT)):
        (tmp_path / year).mkdir()
        (tmp_path / year / "b.cnf").write_text(text, encoding="ascii")
        with gzip.open(tmp_path / year / "a.cnf.gz", "wb") as file:
            file.write(text.encode())
    (tmp_path / "2020" / "a.cnf").write_text(UNSAT, encoding="ascii")
    (tmp_path / "2020" / "c.cnf").write_text(SAT, encoding="ascii")
    found = prepared(tmp_path, 'files = ["20*/*"]\nanswers = {"b*" = "core", "2019/a*" = "sat"}')
    assert [(i.name, i.path.read_text(encoding="ascii"), i.expected) for i in found] == [
        ("2019/a.cnf", SAT, "sat"), ("2019/b.cnf", SAT, "core"),
        # Packed and unpacked it is one.
        ("2020/a.cnf", UNSAT, ""), ("2020/b.cnf", UNSAT, "core"), ("c.cnf", SAT, "")]


def test_what_a_killed_campaign_was_writing_is_removed(tmp_path):
    target = tmp_path / "made" / "all"
    target.mkdir(parents=True)
    with contextlib.suppress(KeyboardInterrupt), instances.whole(target / "a.cnf"):
        shutil.copytree(target, tmp_path / "killed" / "instances" / "all")
        raise KeyboardInterrupt
    left = tmp_path / "killed" / "instances" / "all"
    (left / f"{instances.UNFINISHED}folder" / "deep").mkdir(parents=True)
    (left / f"{instances.UNFINISHED}folder" / f"{instances.UNFINISHED}a").touch()
    (left / "b.cnf").write_text(SAT, encoding="ascii")
    (left / "2019").mkdir()
    (left / "2019" / f"{instances.UNFINISHED}b").touch()
    assert len(list(left.iterdir())) == 4 and not list(target.iterdir())
    instances.clear(tmp_path / "killed")
    assert sorted(p.name for p in left.iterdir()) == ["2019", "b.cnf"]
    assert not list((left / "2019").iterdir())


@pytest.fixture
def archive(tmp_path, monkeypatch):
    monkeypatch.setenv("BIGLEAF_CACHE", str(tmp_path / "cache"))
    for name, text in (("a.cnf", SAT), ("b.cnf", UNSAT), ("c.txt", "x")):
        (tmp_path / name).write_text(text, encoding="ascii")
    path = tmp_path / "set.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name in ("a.cnf", "b.cnf", "c.txt"):
            tar.add(tmp_path / name, f"x/{name}")
    return path


def test_archives_by_url_and_checksum(tmp_path, archive):
    digest = sha256(archive)
    text = f'url = "{archive.as_uri()}"\nsha256 = "{digest}"\nmember = "*.cnf"'
    assert [i.name for i in prepared(tmp_path, text)] == ["a.cnf", "b.cnf"]
    assert (tmp_path / "cache" / "instances" / digest / archive.name).exists()
    archive.unlink()
    assert len(prepared(tmp_path, text)) == 2, "from the cache"


def test_what_comes_is_checked(tmp_path, archive):
    text = f'url = "{archive.as_uri()}"\nsha256 = "{"0" * 64}"'
    with pytest.raises(WrongUse, match="SHA-256 is "):
        prepared(tmp_path, text)
    with pytest.raises(Lacking, match="No such file"):
        prepared(tmp_path, f'url = "{archive.as_uri()}.not"\nsha256 = "{"0" * 64}"')
    assert not list((tmp_path / "cache").rglob("set.tar.gz"))
    archive.write_bytes(archive.read_bytes()[:100])
    text = f'url = "{archive.as_uri()}"\nsha256 = "{sha256(archive)}"'
    with pytest.raises(WrongUse, match="no archive that can be unpacked"):
        prepared(tmp_path, text)


def test_an_archive_is_unpacked_whole_or_not_at_all(tmp_path, archive, monkeypatch):
    text = f'url = "{archive.as_uri()}"\nsha256 = "{sha256(archive)}"\nmember = "*.cnf"'

    def killed(path, folder, **_):
        (Path(folder) / "a.cnf").write_text(SAT, encoding="ascii")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(shutil, "unpack_archive", killed)
        prepared(tmp_path, text)
    assert [i.name for i in prepared(tmp_path, text)] == ["a.cnf", "b.cnf"]


def test_circuits_are_unrolled(tmp_path):
    # A latch that toggles from 0 is bad when it holds.
    circuit = "aag 1 0 1 1 0\n2 3\n2\n"
    with lzma.open(tmp_path / "toggle.aag.xz", "wb") as file:
        file.write(circuit.encode())
    text = 'generate = "bmc_aiger"\narguments = ["./toggle.aag* 2", "./none.aag* 2"]'
    found = prepared(tmp_path, f"{text}\noptional = true")
    assert [(i.name, i.problem) for i in found] == [("bmc_aiger_toggle.aag_2.cnf", "")]
    with pytest.raises(WrongUse, match="none.aag"):
        prepared(tmp_path, text)


def test_circuits_of_one_name_keep_apart(tmp_path):
    for folder, circuit in (("one", "aag 1 0 1 1 0\n2 3\n2\n"), ("two", "aag 0 0 0 1 0\n0\n")):
        (tmp_path / folder).mkdir()
        with lzma.open(tmp_path / folder / "x.aag.xz", "wb") as file:
            file.write(circuit.encode())
    text = 'generate = "bmc_aiger"\narguments = ["one/x.aag* 2", "two/x.aag* 3"]'
    one, two = prepared(tmp_path, text)
    assert (one.name, two.name) == ("bmc_aiger_x.aag_2.cnf", "bmc_aiger_x.aag_3.cnf")
    assert [len(formulas.read(i.path)) for i in (one, two)] == [1, 2]
    with pytest.raises(WrongUse, match="would both be bmc_aiger_x.aag_2.cnf; give one"):
        prepared(tmp_path, text.replace(" 3", " 2"))


def test_a_dry_run_leaves_what_was_measured(bench):
    (bench.folder / "old").mkdir()
    (bench.folder / "new").mkdir()
    for name, text in (("old", SAT), ("new", UNSAT)):
        with gzip.open(bench.folder / name / "a.cnf.gz", "wb") as file:
            file.write(text.encode())
    text = HEAD.replace("*.cnf", "old/*.gz") + bench.tool("right", "exit 10") + BASE
    bench.write("campaign.toml", text)
    assert bench.run().status == 0
    kept = bench.results / "instances/all/a.cnf"
    bench.write("campaign.toml", text.replace("old/", "new/"))
    ended = bench("run", "campaign.toml", "--dry-run", "--output", bench.results)
    assert (ended.status, ended.out) == (0, "measure|right|all/a.cnf|base|0\n")
    assert kept.read_text(encoding="ascii") == SAT
    ended = bench("run", "campaign.toml", "--dry-run")
    assert ended.status == 0 and not (bench.folder / "campaign.results").exists()


def test_archives_by_http(tmp_path, archive):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        digest = sha256(archive)
        text = f'url = "{url}/set.tar.gz"\nsha256 = "{digest}"\nmember = "*.cnf"'
        for words in ("", "?download=1", "#x"):
            found = prepared(tmp_path, text.replace(".gz", f".gz{words}"))
            assert [i.name for i in found] == ["a.cnf", "b.cnf"]
        with pytest.raises(Lacking, match="ile not found"):
            prepared(tmp_path, f'url = "{url}/none"\nsha256 = "{digest}"')
        server.shutdown()
    for url in ("http://h/a b", "http://127.0.0.1:9/x"):
        with pytest.raises(Lacking, match=url):
            prepared(tmp_path, f'url = "{url}"\nsha256 = "{digest}"')


def test_formulas_of_cnfgen(tmp_path):
    """Pigeonholes and pebbling, in the words of papers.toml."""
    pytest.importorskip("cnfgen")
    words = ["php 4 3", "peb pyramid 3 -T xor 2"]
    found = prepared(tmp_path, f'generate = "cnfgen"\narguments = {words}')
    assert [i.name for i in found] == ["cnfgen_php_4_3.cnf", "cnfgen_peb_pyramid_3_T_xor_2.cnf"]
    # A clause for each pigeon, and for each pair of them in a hole.
    assert not found[0].problem and len(formulas.read(found[0].path)) == 4 + 3 * 6
    assert not found[1].problem
    with pytest.raises(WrongUse, match="instance set all: cnfgen php 4 x: "):
        prepared(tmp_path, 'generate = "cnfgen"\narguments = ["php 4 x"]')


def test_generators(tmp_path):
    found = prepared(tmp_path, 'generate = "quasigroup"\narguments = ["4", "5 --seed=2"]')
    assert [i.name for i in found] == ["quasigroup_4.cnf", "quasigroup_5_seed_2.cnf"]
    with pytest.raises(WrongUse, match="no generator 'x'"):
        prepared(tmp_path, 'generate = "x"')
    with pytest.raises(WrongUse, match="quasigroup 1: .*need order"):
        prepared(tmp_path, 'generate = "quasigroup"\narguments = ["1"]')
