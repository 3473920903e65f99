# SPDX-License-Identifier: MIT
"""The campaign file: what is wrong with it is said in one line."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from bigleaf_bench import campaign, schedule
from bigleaf_bench.failure import WrongUse
from bigleaf_bench.instances import Instance

GOOD = """
[limits]
seconds = 5
memory = "1.5 GiB"
[[instances]]
name = "all"
files = ["*.cnf"]
[[tools]]
use = "minisat"
sets = ["all"]
[[variants]]
name = "base"
[[variants]]
name = "thp"
"""


def parsed(tmp_path, text=GOOD):
    return campaign.parse(tmp_path / "c.toml", text)


def test_reads_what_is_there(tmp_path):
    found = parsed(tmp_path)
    assert found.limits == campaign.Limits(5, 3 * 2**29, 1)
    assert [v.kind for v in found.variants] == ["base", "thp"]
    assert found.tools[0].category == "SAT"


@pytest.mark.parametrize(("old", "new", "said"), [
    ("seconds = 5", "seconds = -1", "limits.seconds: must be at least 0.1"),
    ("seconds = 5", "secnds = 5", "limits.secnds: no such key (did you mean seconds?)"),
    ('"1.5 GiB"', '"much"', "limits.memory: 'much' is no size such as"),
    ('use = "minisat"', 'use = "minisatt"', "tools[1].use: no tool 'minisatt' (did you mean"),
    ('use = "minisat"', 'use = "benchexec:nothing"', "has no tool-info module 'nothing'"),
    ('sets = ["all"]', 'sets = ["al"]', "tools[1].sets: no instance set 'al' (did you mean all?)"),
    ('sets = ["all"]', "", "tools[1].sets: is missing"),
    ('files = ["*.cnf"]', "", "instances[1]: needs exactly one of files, folder, url, generate"),
    ('files = ["*.cnf"]', "files = []", "instances[1].files: must not be empty"),
    ('files = ["*.cnf"]', 'folder = ""', "instances[1].folder: must not be empty"),
    ('["*.cnf"]', '["*.cnf"]\nanswers = {"*" = "UNSAT"}', "instances[1].answers.'*': 'UNSAT' is no "
     "answer; there are sat, unsat, core, optimum, true, false (did you mean unsat?)"),
    ('["*.cnf"]', '["*.cnf"]\nanswers = {"*" = true}', "answers.'*': must be text or a number"),
    ('["all"]', '["all"]\noptions = [true]', "tools[1].options: must be a list of texts"),
    ("seconds = 5", "seconds = nan", "limits.seconds: must be at least 0.1 and at most 1e+08"),
    ("seconds = 5", "seconds = 1e400", "limits.seconds: must be at least 0.1 and at most"),
    ('"1.5 GiB"', "-5", "limits.memory: '-5' is no size such as"),
    ('"1.5 GiB"', '"0 GiB"', "limits.memory: '0 GiB' must be at least 1 MiB"),
    ('"1.5 GiB"', "9" * 400, "must be at least 1 MiB and at most 1 EiB"),
    ('name = "thp"', 'name = "thp"\nleast = 5',
     "variants[2].least: must be at least 0 and at most 1"),
    ('files = ["*.cnf"]', 'url = "file:///x"', "instances[1].sha256"),
    ('name = "thp"', 'name = "base"', "variants: 'base' stands there twice"),
    ('name = "thp"', 'name = "x"\nkind = "tph"', "'tph' is none of"),
    ('name = "thp"', 'name = "a b"', "variants[2].name: 'a b' must be made of"),
    ('name = "thp"', 'name = ["thp"]', "variants[2].name: must be text"),
    ('files = ["*.cnf"]', "generate = \"quasigroup\"\narguments = [\"--x 'foo\"]",
     "instances[1].arguments: '--x 'foo': No closing quotation"),
    *[('["all"]', f'["all"]\noptions = ["{option}"]', f"tools[1].options: '{option}' may name in "
       "braces only instance, answer, proof, seconds, memory_mib; a brace itself is {{ or }}")
      for option in ("--phase={foo}", "{", "{}", "{0}", "{instance.x}", "{seconds[9]}")],
    ("[limits]", "limits = 3\n[other]", "limits: must be a table"),
    ("[limits]", "[limits", "no TOML"),
    ("[limits]", "repetitions = true\n[limits]", "repetitions: must be a whole number"),
])
def test_says_where_and_what(tmp_path, old, new, said):
    with pytest.raises(WrongUse) as error:
        parsed(tmp_path, GOOD.replace(old, new, 1))
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert str(tmp_path / "c.toml") in str(error.value)


def test_options_name_what_the_tool_and_the_set_know(tmp_path):
    text = GOOD.replace('use = "minisat"', 'use = "cbmc"\noptions = ["{bound} {more} {{}}"]')
    found = parsed(tmp_path, text.replace('["*.cnf"]', '["*.cnf"]\nparameters = {more = 3}'))
    assert found.tools[0].options == ("{bound} {more} {{}}",)
    with pytest.raises(WrongUse, match="may name in braces only bound, instance"):
        parsed(tmp_path, text)


@pytest.mark.parametrize(("files", "said"), [
    # Python 3.13 and later takes it for *.cnf.
    ("**.cnf", "can only be an entire path component" if sys.version_info < (3, 13)
     else "no file matches **.cnf"), ("~nosuchuser/x", "home directory")])
def test_patterns_that_name_no_files(bench, files, said):
    bench.write("campaign.toml", GOOD.replace("*.cnf", files))
    ended = bench("run", "--dry-run", "campaign.toml")
    assert ended.status == 2 and "Traceback" not in ended.err
    last = ended.err.splitlines()[-1]
    assert last.startswith("bigleaf-bench: instance set all: ")
    assert files in last and said in last


def test_exit_status_and_one_line(bench):
    ended = bench("run", "nowhere.toml")
    assert (ended.status, ended.err) == (
        2, "bigleaf-bench: nowhere.toml: No such file or directory\n")
    bench.write("campaign.toml", GOOD)
    ended = bench.run()
    assert ended.status == 2
    assert ended.err.splitlines()[-1].endswith("instance set all: no file matches *.cnf")


def instances(tmp_path, count):
    return [Instance("all", f"{i}.cnf", tmp_path, "cnf", "f") for i in range(count)]


def test_pairs_stand_together_in_a_seeded_order(tmp_path):
    found = parsed(tmp_path, "repetitions = 2\n" + GOOD)
    blocks = schedule.blocks(found, instances(tmp_path, 8))
    assert len(blocks) == 16
    for block in blocks:
        assert {job.variant.name for job in block} == {"base", "thp"}
        assert len({(job.instance.name, job.repetition) for job in block}) == 1
    assert [b[0].repetition for b in blocks] == [0] * 8 + [1] * 8
    first = [b[0].variant.name for b in blocks]
    assert {"base", "thp"} == set(first), "each variant goes first at times"
    again = schedule.blocks(found, instances(tmp_path, 8))
    assert [j.key for b in again for j in b] == [j.key for b in blocks for j in b]
    other = parsed(tmp_path, "seed = 2\nrepetitions = 2\n" + GOOD)
    assert [j.key for b in schedule.blocks(other, instances(tmp_path, 8)) for j in b] != \
        [j.key for b in blocks for j in b]


def test_misses_are_counted_on_a_few_of_all_sets(tmp_path):
    text = GOOD.replace("[[tools]]", '[[instances]]\nname = "more"\nfiles = ["*"]\n[[tools]]')
    text = text.replace('sets = ["all"]', 'sets = ["all", "more"]')
    few = parsed(tmp_path, f"{text}[tlb]\nper_tool = 6\n")
    found = [*instances(tmp_path, 20), *(replace(i, set="more") for i in instances(tmp_path, 20))]
    blocks = schedule.blocks(few, found)
    records = [{"key": job.key, "status": "ok", "answer": "sat"} for b in blocks for job in b]
    chosen = [b[0] for b in schedule.after(few, records, blocks)]
    assert len(chosen) == 6 and {j.instance.set for j in chosen} == {"all", "more"}
    assert all(j.purpose == "tlb" and j.variant.name == "base" for j in chosen)
    # What is solved later draws its own lot: at most it takes another's place.
    part = [b[0] for b in schedule.after(few, records[:60], blocks)]
    solved = {r["key"].split("|")[2] for r in records[:60]}
    assert [j for j in chosen if j.instance.key in solved] == [j for j in part if j in chosen]
    every = parsed(tmp_path, f"{text}[tlb]\n")
    assert len(schedule.after(every, records, blocks)) == 40
