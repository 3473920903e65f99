#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the checks themselves: each must find what it is there for, and a
check that read nothing must fail."""

import importlib.util
import io
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

import tree


def load(script):
    path = tree.ROOT / "scripts" / f"{script}.py"
    spec = importlib.util.spec_from_file_location(
        script.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


layers = load("check-layers")
style = load("check-style")
report = load("report-tests")
demo = load("demo")


class Source(unittest.TestCase):
    """Checks one file of the given text, as if it stood in the tree."""

    def findings(self, check, text, name="src/base/x.c", *rest):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            found = tree.Findings("test")
            with mock.patch.object(tree, "ROOT", Path(folder)):
                check(path, *rest, found)
            return found.lines


class Layers(Source):
    def of(self, folder, text):
        return self.findings(layers.check_source, text,
                             f"src/{folder}/x.c", folder)

    def test_a_layer_further_up(self):
        self.assertEqual(len(self.of("page", '#include "heap/heap.h"\n')), 1)

    def test_a_private_header(self):
        self.assertEqual(
            len(self.of("heap", '#include "page/internal.h"\n')), 1)

    def test_what_is_allowed(self):
        self.assertEqual(self.of("heap", '#include "page/page.h"\n'
                                 '#include "heap/internal.h"\n'
                                 '#include "base/stats.def"\n'
                                 '#include <errno.h>\n'), [])

    def test_kernel_headers_and_paths(self):
        text = ('#include <sys/mman.h>\n#include <linux/futex.h>\n'
                'const char *p = "/proc/self/maps";\n')
        self.assertEqual(len(self.of("reservoir", text)), 3)
        self.assertEqual(self.of("os", text), [])

    def test_comments_do_not_count(self):
        self.assertEqual(self.of("page", '// #include "heap/heap.h"\n'
                                 '/* reads "/proc/x" */\n'), [])

    def test_stdio_in_the_runtime(self):
        self.assertEqual(len(self.of("heap", "#include <stdio.h>\n")), 1)
        self.assertEqual(self.of("cli", "#include <stdio.h>\n"), [])


class Style(Source):
    def code(self, text, known=()):
        return self.findings(
            lambda path, found: style.check_code(
                path, path.read_text(encoding="utf-8"), set(known), found),
            text)

    def lines(self, text):
        return self.findings(
            lambda path, found: style.check_lines(
                path, path.read_text(encoding="utf-8"), found), text)

    def test_a_long_function(self):
        body = "    x++;\n"
        self.assertEqual(self.code("int f(void) {\n" + 78 * body + "}\n"), [])
        self.assertEqual(
            len(self.code("int f(void) {\n" + 79 * body + "}\n")), 1)

    def test_a_long_function_with_a_signature_of_two_lines(self):
        text = "int f(int a,\n      int b) {\n" + 79 * "    x++;\n" + "}\n"
        self.assertEqual(len(self.code(text)), 1)

    def test_a_name_that_is_gone(self):
        self.assertEqual(len(self.code("// see `bl_gone`\n", {"bl_x"})), 1)
        self.assertEqual(self.code("// see `bl_x()`\n", {"bl_x"}), [])

    def test_code_in_a_comment(self):
        self.assertEqual(len(self.code("    // free(p);\n")), 1)
        self.assertEqual(len(self.code("    // if (x) {\n")), 1)
        self.assertEqual(self.code("// free again; see below\n"), [])

    def test_lines(self):
        loose = "TO" + "DO"
        home = "/ho" + "me/someone"
        host = ".".join(("pypi", "org"))
        for bad in (f"// {loose}: it\n", f"// {home}\n", f"// {host}\n",
                    "x \n", "x", 81 * "x" + "\n"):
            self.assertEqual(len(self.lines(bad)), 1, bad)
        self.assertEqual(self.lines("int x; // well\n"), [])


class NothingRead(unittest.TestCase):
    def test_fails(self):
        with redirect_stdout(io.StringIO()), \
                self.assertRaises(SystemExit) as end:
            tree.Findings("nothing").exit()
        self.assertEqual(end.exception.code, 1)


class MustRun(unittest.TestCase):
    RESULTS = [("abi.one", "run"), ("abi.two", "notrun"), ("cli.x", "fail"),
               ("tlb.x", "partly"), ("image.x", "partly"), ("image.x", "run")]

    def problems(self, *patterns):
        return report.not_run_though_they_must(patterns, self.RESULTS)

    def test_a_skipped_test(self):
        self.assertEqual(len(self.problems("abi.*")), 1)

    def test_a_module_without_some_of_its_cases(self):
        self.assertEqual(len(self.problems("tlb.* whole")), 1)
        self.assertEqual(self.problems("tlb.*", "image.* whole"), [])

    def test_a_case_that_was_skipped(self):
        for output, status in (
                ("s.\nSKIPPED [1] x.py:3: no x\n1 passed, 1 skipped", "partly"),
                ("Ran 3 tests in 0.1s\n\nOK (skipped=1)\n", "partly"),
                ("Ran 3 tests in 0.1s\n\nOK\n", "run")):
            case = report.ElementTree.fromstring(
                f'<testcase status="run"><system-out>{output}</system-out>'
                "</testcase>")
            self.assertEqual(report.status_of(case), status)

    def test_what_could_not_be_started(self):
        """It has failed, whatever ctest calls it."""
        for message, status in (("SKIP_RETURN_CODE=77", "notrun"),
                                ("Unable to find executable: x", "fail")):
            case = report.ElementTree.fromstring(
                '<testcase name="unit.a" status="notrun">'
                f'<skipped message="{message}"/></testcase>')
            self.assertEqual(report.status_of(case), status)

    def test_a_pattern_without_a_test(self):
        self.assertEqual(len(self.problems("unit.*")), 1)

    def test_what_ran(self):
        self.assertEqual(self.problems("abi.one", "cli.*"), [])


class Failures(unittest.TestCase):
    def told(self, lines, most):
        return list(report.telling_lines(lines, most))

    def test_a_short_output_is_told_whole(self):
        self.assertEqual(self.told(["a", "b"], 4), ["a", "b"])

    def test_a_fault_amid_much_that_is_well(self):
        lines = ["ok"] * 50 + ["FAIL  one shadow"] + ["ok"] * 49
        self.assertEqual(self.told(lines, 4),
                         ["... 50 lines", "FAIL  one shadow", "... 46 lines",
                          "ok", "ok", "ok"])


class Dev(unittest.TestCase):
    def test_what_must_run_is_not_asked_of_one_build(self):
        done = subprocess.run(
            ["sh", "dev", "test", "--preset=asan", "--must-run"],
            cwd=tree.ROOT, text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (
            2, "dev: --must-run is for the tests of all builds, not of "
            "--preset=asan\n"))


    def test_what_a_test_says_last_is_kept(self):
        script = r"""eval "$(sed -n '/^run_tests()/,/^}/p' "$1")"
say() { :; }; build_folder() { echo .; }; jobs() { echo 1; }; PYTHON=true
run_tests release"""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "CTestTestfile.cmake").write_text(
                "add_test(a sh -c \"seq 600; echo 'SKIPPED [1] x.py:3: y'\")\n",
                encoding="ascii")
            subprocess.run(
                ["sh", "-eu", "-c", script, "sh", str(tree.ROOT / "dev")],
                cwd=folder, stdout=subprocess.DEVNULL, check=True)
            self.assertEqual(report.read_results(Path(folder) / "junit.xml"),
                             [("a", "partly")])

    def test_a_file_may_lie_in_one_of_several_places(self):
        script = r"""eval "$(sed -n '/^probe_holds()/,/^}/p' "$1")"
mkdir -p a/x b; : >a/x/gmp.h; : >'b/z.h'
for probe in file:gmp.h,*/*/gmp.h file:a/*.h,b/*.h file:gmp.h,?/gmp.h; do
    if probe_holds "$probe"; then echo yes; else echo no; fi
done"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                ["sh", "-eu", "-c", script, "sh", str(tree.ROOT / "dev")],
                cwd=folder, text=True, stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout, "yes\nyes\nno\n")

    def test_an_environment_whose_python_is_gone_is_made_again(self):
        script = r"""mkdir -p bench build/bench-venv/bin
echo x | tee bench/requirements.txt >build/bench-venv/made-of
eval "$(sed -n '/^bench_environment()/,/^}/p' "$1")"
LOG=build/log PYTHON=; bench_python() { echo true; }; watched() { echo made; }
bench_environment
ln -s /bin/true build/bench-venv/bin/python
bench_environment"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                ["sh", "-eu", "-c", script, "sh", str(tree.ROOT / "dev")],
                cwd=folder, text=True, stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout, "made\n")


class DemoRounds(unittest.TestCase):
    def test_fit_the_budget(self):
        for seconds in (1, 8, 14, 20, 30, 60):
            rounds = demo.rounds_within(130, seconds)
            self.assertIn(rounds, range(1, demo.MOST_ROUNDS + 1))
            if rounds > 1:
                self.assertLessEqual((rounds + 1) * 2 * seconds, 130)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main(verbosity=1)
