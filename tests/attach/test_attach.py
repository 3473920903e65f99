#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bigleaf attach` on programs that hold still: what it does, to whom it says
no, and what it leaves behind."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

import sandbox
import terminal
from huge_pages import COLLAPSE, FAULT, refused
from sandbox import NOBODY, freezer, wait_for

COMMAND = os.environ["BIGLEAF_COMMAND"]
HOARD = os.environ["BIGLEAF_HOARD"]
LINGER = os.environ["BIGLEAF_LINGER"]
ROOT = os.geteuid() == 0
WITHOUT_NICE = ["setpriv", "--bounding-set=-sys_nice"] if ROOT else []
STUB_BYTES = 176  # as in src/os/visitor.c
libc = ctypes.CDLL(None, use_errno=True)


def has_collapse() -> bool:
    version = os.uname().release.split(".")
    return (int(version[0]), int(version[1].split("-")[0])) >= (6, 1)


def run(*words: str, before: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*(before or []), COMMAND, "attach", *words], capture_output=True,
                          text=True, timeout=60, check=False)


def line_of(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        if line.startswith(name):
            return line.split(":", 1)[1].strip()
    return ""


def state_of(pid: int) -> str:
    return line_of(f"/proc/{pid}/status", "State")[0]


def smaps_of(pid: int) -> str:
    return Path(f"/proc/{pid}/smaps").read_text()


def is_marked(pid: int) -> bool:
    """Whether an attach has got as far as its memory."""
    return " hg" in smaps_of(pid)


def huge_kib(pid: int) -> int:
    return sum(int(line.split()[1]) for line in smaps_of(pid).splitlines()
               if line.startswith("AnonHugePages"))


def vdso_range(pid: int) -> tuple[int, int]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("[vdso]"):
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            return start, end
    raise unittest.SkipTest("no vdso")


def vdso(pid: int) -> bytes:
    start, end = vdso_range(pid)
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(start)
        return memory.read(end - start)


@contextlib.contextmanager
def hoard(mebibytes: int, *kind: str,
          before: list[str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """The program, with its memory in place; asked for its answer at the end."""
    process = subprocess.Popen([*(before or []), HOARD, str(mebibytes), *kind],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin and process.stdout
    try:
        if process.stdout.readline() != "ready\n":
            process.wait()
            raise unittest.SkipTest(f"hoard {kind}: status {process.returncode}")
        yield process
        if process.returncode is None:  # no test has seen to its end
            out, _ = process.communicate(timeout=60)
            assert out.splitlines()[-1:] == ["right"], (process.returncode, out)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdin.close()
        process.stdout.close()


# Becomes its arguments, for which the kernel knows no MADV_COLLAPSE.
WITHOUT_COLLAPSE = sandbox.FILTERED.replace('struct.pack("HBBI", 6, 0, 0, 0x7fff0000)', """(
    struct.pack("HBBI", 0x20, 0, 0, 0) + struct.pack("HBBI", 0x15, 0, 3, 28) +
    struct.pack("HBBI", 0x20, 0, 0, 32) + struct.pack("HBBI", 0x15, 0, 1, 25) +
    struct.pack("HBBI", 6, 0, 0, 0x00050016) + struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
""".rstrip()).replace('"HxxxxxxQ", 1', '"HxxxxxxQ", 6')


class Served(unittest.TestCase):
    """Memory comes onto huge pages and the program does not notice."""

    def check(self, before: list[str]) -> dict[str, object]:
        shortages = refused(COLLAPSE)
        with hoard(48) as process:
            done = run("--json", str(process.pid), before=before)
            self.assertTrue(done.returncode == 0 or "no huge page" in done.stderr, done.stderr)
            self.assertEqual(line_of(f"/proc/{process.pid}/status", "TracerPid"), "0")
            huge = huge_kib(process.pid)
        report = json.loads(done.stdout)
        self.assertEqual(report["schema"], "bigleaf.attach/1")
        one = report["processes"][0]
        self.assertEqual(one["pid"], process.pid)
        heap = one["after"]["heap"]
        if refused(COLLAPSE) == shortages:  # the kernel had huge pages to give
            self.assertEqual(one["left"]["failed"], 0)
            self.assertGreater(heap["huge_bytes"] / heap["bytes"], 0.9)
        self.assertEqual(huge * 1024, heap["huge_bytes"])
        self.assertEqual(one["before"]["heap"]["huge_bytes"], 0)
        self.assertGreater(one["stops"], 0)
        return one

    def test_from_outside(self) -> None:
        if not ROOT or not has_collapse():
            self.skipTest("needs root and Linux 6.1")
        one = self.check([])
        self.assertTrue(one["from_outside"])

    def test_by_injected_calls(self) -> None:
        if not ROOT or not has_collapse():
            self.skipTest("needs root, to give up a right, and Linux 6.1")
        one = self.check(WITHOUT_NICE)
        self.assertFalse(one["from_outside"])
        self.assertGreater(one["calls"], 1)

    def test_before_linux_6_1(self) -> None:
        """Nothing is asked for that the kernel does not know; the marks are all."""
        if not ROOT or not shutil.which("setpriv"):
            self.skipTest("needs root, to give up a right")
        with hoard(16) as process:
            done = run("--json", str(process.pid),
                       before=[*WITHOUT_NICE, sandbox.PYTHON, "-c", WITHOUT_COLLAPSE])
            one = json.loads(done.stdout)["processes"][0]
            self.assertTrue(is_marked(process.pid))
        self.assertEqual((done.returncode, one["calls"]), (0, one["marked_areas"]))
        self.assertGreater(one["left"]["failed"], 8 << 20)

    def test_nothing_is_left_in_the_vdso(self) -> None:
        with hoard(16) as process:
            before = vdso(process.pid)
            run(str(process.pid))
            self.assertEqual(vdso(process.pid), before)

    def test_killed_between_two_words_of_the_stub(self) -> None:
        with hoard(16) as process:
            _, end = vdso_range(process.pid)
            before = vdso(process.pid)
            try:
                with open(f"/proc/{process.pid}/mem", "r+b", buffering=0) as memory:
                    memory.seek(end - STUB_BYTES)
                    memory.write(b"bigleaf-")
            except OSError as error:
                self.skipTest(f"the vdso cannot be written to: {error}")
            done = run("--json", str(process.pid))
            one = json.loads(done.stdout)["processes"][0]
            self.assertTrue(one["attached"], one["reason"])
            self.assertGreater(one["stops"], 0)
            self.assertEqual(vdso(process.pid), before)

    def linger(self, way: str) -> None:
        process = subprocess.Popen([LINGER, str(STUB_BYTES), way], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        assert process.stdout
        if process.stdout.readline() != "ready\n":
            self.skipTest(f"no rest in the vdso, or no thread: status {process.wait()}")
        one = json.loads(run("--json", str(process.pid)).stdout)["processes"][0]
        self.assertTrue(one["attached"], one["reason"])
        self.assertGreater(one["stops"], 0, one["reason"])
        process.communicate("")
        self.assertEqual(process.returncode, 0, way)

    def test_threads_still_in_what_a_killed_one_left(self) -> None:
        for way in ("runs", "sleeps"):
            self.linger(way)

    def test_one_of_many_threads_still_in_it(self) -> None:
        self.linger("many")

    def test_twice_does_nothing_more(self) -> None:
        with hoard(16) as process:
            run(str(process.pid))
            one = json.loads(run("--json", str(process.pid)).stdout)["processes"][0]
            self.assertEqual(one["calls"], 0)
            self.assertEqual(one["marked_bytes"], 0)

    def test_a_thread_of_io_uring_is_left_alone(self) -> None:
        """It belongs to the process, but never runs the program's code."""
        with hoard(16, "ring") as process:
            own = Path(f"/proc/{process.pid}/task/{process.pid}")
            other = next(task for task in own.parent.iterdir() if task != own)
            wait_for(lambda: int((other / "stat").read_text().split()[14]) > 2)  # it runs
            one = json.loads(run("--json", str(process.pid)).stdout)["processes"][0]
            self.assertTrue(one["attached"], one["reason"])
            self.assertGreater(one["stops"], 0)

    def test_many_mappings(self) -> None:
        with hoard(16, "mappings") as process:
            one = json.loads(run("--json", str(process.pid)).stdout)["processes"][0]
            self.assertGreater(one["stops"], 0, one["reason"])

    def test_a_call_that_cannot_begin_anew_is_left_alone(self) -> None:
        """Where another thread is in one that can."""
        with hoard(16, "epoll") as process:
            tasks = Path(f"/proc/{process.pid}/task")

            def calls() -> set[str]:
                return {(task / "syscall").read_text().split()[0] for task in tasks.iterdir()}

            wait_for(lambda: calls() == {"45", "441"} or process.poll() is not None)
            one = json.loads(run("--json", str(process.pid)).stdout)["processes"][0]
            self.assertGreater(one["stops"], 0, one["reason"])

    def test_text(self) -> None:
        with hoard(16) as process:
            done = run(str(process.pid))
            self.assertTrue(done.stderr == "" or "no huge page" in done.stderr, done.stderr)
            for word in ("heap", "all memory", "marked", "stops", "cost"):
                self.assertIn(f"\n  {word}", done.stdout)

    def test_stopped_meanwhile(self) -> None:
        """A stop by job control holds, and the attach neither takes it nor waits for its end."""
        with hoard(64) as process:
            for step in range(8):
                attach = subprocess.Popen([*WITHOUT_NICE, COMMAND, "attach", str(process.pid)],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                          text=True)
                time.sleep(step * 0.003)
                process.send_signal(signal.SIGSTOP)
                _, errors = attach.communicate(timeout=60)
                wait_for(lambda: state_of(process.pid) == "T")
                self.assertTrue(errors == "" or "stopped" in errors, errors)
                process.send_signal(signal.SIGCONT)
                wait_for(lambda: state_of(process.pid) == "S")

    def test_command_stopped(self) -> None:
        """The visitor leaves before the command heeds Ctrl-Z, and comes again after it."""
        shortages = refused(COLLAPSE)
        with hoard(192) as process:
            attach = subprocess.Popen([*WITHOUT_NICE, COMMAND, "attach", "--json",
                                       str(process.pid)], stdout=subprocess.PIPE, text=True,
                                      preexec_fn=os.setpgrp)
            tasks = Path(f"/proc/{process.pid}/task")
            wait_for(lambda: len(list(tasks.iterdir())) > 1 or attach.poll() is not None)
            attach.send_signal(signal.SIGTSTP)
            if os.waitpid(attach.pid, os.WUNTRACED)[1] == 0:
                self.skipTest("the attach was over too soon")
            self.assertEqual(len(list(tasks.iterdir())), 1)
            self.assertEqual(line_of(f"/proc/{process.pid}/status", "TracerPid"), "0")
            attach.send_signal(signal.SIGCONT)
            out, _ = attach.communicate(timeout=60)
        if refused(COLLAPSE) == shortages:  # the kernel had huge pages to give
            self.assertEqual(attach.returncode, 0)
            self.assertGreater(json.loads(out)["processes"][0]["stops"], 1)

    def names_during_attach(self) -> set[str]:
        """Of the threads of a program while it is served by the visitor."""
        with hoard(128) as process:
            tasks = Path(f"/proc/{process.pid}/task")
            attach = subprocess.Popen([*WITHOUT_NICE, COMMAND, "attach", str(process.pid)],
                                      stdout=subprocess.DEVNULL)
            names: set[str] = set()
            while attach.poll() is None:
                for task in tasks.iterdir():
                    with contextlib.suppress(OSError):
                        names.add((task / "comm").read_text().strip())
            self.assertEqual(len(list(tasks.iterdir())), 1)
        return names

    def test_visitor_is_seen_and_gone(self) -> None:
        shortages = refused(COLLAPSE)
        names: set[str] = set()
        for _ in range(5):  # a busy machine may look too late
            if "bigleaf-visitor" not in names:
                names |= self.names_during_attach()
        self.assertLessEqual(names, {"attach_hoard", "bigleaf-visitor"})
        if has_collapse() and refused(COLLAPSE) == shortages:  # else it is soon gone
            self.assertIn("bigleaf-visitor", names)

    def test_killed_at_every_stage(self) -> None:
        with hoard(24) as process:
            for step in range(25):
                attach = subprocess.Popen([COMMAND, "attach", str(process.pid)],
                                          stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL)
                time.sleep(step * 0.0015)
                attach.kill()
                attach.wait()
                self.assertEqual(line_of(f"/proc/{process.pid}/status", "TracerPid"), "0")
            done = run(str(process.pid))
            self.assertTrue(done.stderr == "" or "no huge page" in done.stderr, done.stderr)
            self.assertEqual(line_of(f"/proc/{process.pid}/status", "Threads"), "1")


INSIDE = """
mkfifo "$3/in"
"$1" 32 < "$3/in" > "$3/out" & pid=$!
exec 9> "$3/in"
until grep -q ready "$3/out"; do sleep 0.05; done
"$2" attach --json $pid; status=$?
exec 9>&-; wait $pid || exit 9
exit $status
"""


class Contained(unittest.TestCase):

    def test_in_a_sandbox(self) -> None:
        inside = sandbox.words(COMMAND)
        shortages = refused(COLLAPSE)
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            done = subprocess.run([*inside, "sh", "-c", INSIDE, "sh", HOARD, COMMAND, folder],
                                  capture_output=True, text=True, timeout=60, check=False)
        one = json.loads(done.stdout)["processes"][0]
        if refused(COLLAPSE) == shortages:  # the kernel had huge pages to give
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(one["after"]["heap"]["huge_bytes"], 28 << 20)
        self.assertFalse(one["from_outside"])


class Watched(unittest.TestCase):
    def test_follows_growth_and_ends_by_a_signal(self) -> None:
        shortages = refused(FAULT, COLLAPSE)
        with hoard(16) as process:
            watch = subprocess.Popen([COMMAND, "attach", "--watch", str(process.pid)],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     text=True)
            assert process.stdin and process.stdout
            wait_for(lambda: is_marked(process.pid))
            for _ in range(3):
                process.stdin.write("g")
                process.stdin.flush()
                process.stdout.readline()
            with contextlib.suppress(AssertionError):  # said below, where it counts
                wait_for(lambda: huge_kib(process.pid) > 48 << 10)
            watch.send_signal(signal.SIGINT)
            out, err = watch.communicate(timeout=60)
            self.assertEqual(watch.returncode, 0, err)
            self.assertRegex(out, r"round \d+: ")
            self.assertEqual(line_of(f"/proc/{process.pid}/status", "TracerPid"), "0")
            if refused(FAULT, COLLAPSE) == shortages:  # the kernel had them to give
                self.assertGreater(huge_kib(process.pid), 48 << 10)

    def test_a_thread_that_does_not_stop_in_time_goes_on(self) -> None:
        with hoard(16, "populate") as process:
            assert process.stdin and process.stdout
            process.stdin.write("p")
            process.stdin.flush()
            watch = subprocess.Popen([*WITHOUT_NICE, COMMAND, "attach", "--watch",
                                      str(process.pid)], stdout=subprocess.DEVNULL)
            try:
                ready, _, _ = select.select([process.stdout], [], [], 30)
                self.assertTrue(ready, state_of(process.pid))
                process.stdout.readline()
                wait_for(lambda: is_marked(process.pid))
            finally:
                watch.send_signal(signal.SIGINT)
                self.assertEqual(watch.wait(timeout=60), 0)

    def test_terminal_and_shell(self) -> None:
        """Ctrl-Z, another window size, fg and Ctrl-C hold up the command, not the program."""
        if not shutil.which("bash"):
            self.skipTest("no bash")
        with hoard(16) as process, terminal.shell() as screen:
            status = f"/proc/{process.pid}/status"
            screen.type(f"{COMMAND} attach --watch {process.pid}\n", "\n")
            screen.await_job()
            wait_for(lambda: is_marked(process.pid))
            screen.type("\x1a", "Stopped")
            self.assertEqual((state_of(process.pid), line_of(status, "TracerPid")), ("S", "0"))
            screen.resize(30, 70)
            screen.type("fg\n", "watch")
            screen.await_job()
            screen.resize(24, 80)
            self.assertIn("all memory", screen.type("\x03", "$ "))
            screen.type("echo status $?\n", "status 0")
            self.assertEqual((state_of(process.pid), line_of(status, "TracerPid")), ("S", "0"))

    def test_ends_with_the_program(self) -> None:
        with hoard(16) as process:
            watch = subprocess.Popen([COMMAND, "attach", "--watch", str(process.pid)],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     text=True)
            wait_for(lambda: is_marked(process.pid))
        out, err = watch.communicate(timeout=60)
        self.assertEqual((watch.returncode, err), (0, ""))
        self.assertIn("all memory", out)


class All(unittest.TestCase):
    def test_a_line_each(self) -> None:
        with hoard(72) as one, hoard(70) as two:
            done = run("--all", "--min-rss=64M", "--user")
            lines = {int(line.split()[0]): line for line in done.stdout.splitlines()}
            self.assertTrue(done.returncode == 0 or "no huge page" in done.stdout, done.stdout)
            for process in (one, two):
                self.assertIn(" -> ", lines[process.pid])
            again = json.loads(run("--all", "--min-rss=64M", "--user", "--json").stdout)
            self.assertEqual(again["schema"], "bigleaf.attach/1")
            pids = {p["pid"] for p in again["processes"]}
            self.assertLessEqual({one.pid, two.pid}, pids)

    @unittest.skipUnless(ROOT, "needs root to have two programs of a user alone")
    def test_a_child_that_is_killed_is_left_out(self) -> None:
        """Of the JSON, too: no comma stands for it."""
        alone = ["setpriv", "--reuid=64322", "--clear-groups"]
        with hoard(300, before=alone) as large, hoard(80, before=alone) as small:
            words = ["--all", "--json", "--min-rss=64M", "--user=64322"]
            with subprocess.Popen([COMMAND, "attach", *words], stdout=subprocess.PIPE,
                                  text=True) as attach:
                children = Path(f"/proc/{attach.pid}/task/{attach.pid}/children")
                wait_for(lambda: children.read_text() != "")
                os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
                out, _ = attach.communicate(timeout=60)
            pids = [p["pid"] for p in json.loads(out)["processes"]]
            self.assertIn(small.pid, pids)
            self.assertNotIn(large.pid, pids)

    def test_standard_output_that_takes_nothing(self) -> None:
        into_full = ["sh", "-c", 'exec "$@" >/dev/full', "sh"]
        with hoard(80) as process:
            for words in ([str(process.pid)], ["--json", str(process.pid)],
                          ["--all", "--user"]):
                done = run(*words, before=into_full)
                self.assertEqual(done.returncode, 3, words)
                self.assertEqual(done.stderr, "bigleaf: cannot write to standard output: "
                                              "No space left on device\n", words)
            reader, stream = os.pipe()
            os.close(reader)
            done = subprocess.run([COMMAND, "attach", "--all", "--user"], stdout=stream,
                                  stderr=subprocess.PIPE, text=True, check=False)
            os.close(stream)
            self.assertEqual((done.returncode, done.stderr),
                             (3, "bigleaf: cannot write to standard output: Broken pipe\n"))
            closed = run(str(process.pid), before=["sh", "-c", 'exec "$@" >&-', "sh"])
            self.assertEqual((closed.returncode, closed.stderr), (0, ""))

    def test_stopped_before_all_is_done(self) -> None:
        """By a Ctrl-C that waits already when it begins."""
        def interrupt() -> None:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            os.kill(os.getpid(), signal.SIGINT)
        with hoard(80) as process:
            for words in ([str(process.pid)], ["--all", "--user"]):
                done = subprocess.run([COMMAND, "attach", *words], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True, check=False,
                                      preexec_fn=interrupt)
                self.assertEqual((done.returncode, done.stderr), (-signal.SIGINT, ""), words)

    def test_nobody_is_large(self) -> None:
        done = run("--all", "--min-rss=1T")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(done.stderr, "bigleaf attach: no process is that large\n")


@unittest.skipUnless(ROOT, "needs root to join groups")
class Grouped(unittest.TestCase):
    """A user may be in thousands of groups, all named before the memory."""

    def test_many_groups(self) -> None:
        groups = ",".join(str(i) for i in range(100000, 102000))
        with hoard(16, before=["setpriv", f"--groups={groups}"]) as process:
            done = run("--json", str(process.pid))
        report = json.loads(done.stdout)
        self.assertGreaterEqual(report["processes"][0]["before"]["heap"]["bytes"], 16 << 20)


class Refused(unittest.TestCase):
    """One line, status 3, and nobody is harmed."""

    def refuse(self, pid: int, word: str, before: list[str] | None = None) -> None:
        done = run(str(pid), before=before)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("bigleaf attach: "), done.stderr)
        self.assertIn(word, done.stderr)

    def test_no_such_process(self) -> None:
        child = subprocess.Popen(["true"])
        child.wait()
        self.refuse(child.pid, "does not exist")

    def test_init(self) -> None:
        self.refuse(1, "init")

    def test_itself(self) -> None:
        done = subprocess.run(["sh", "-c", f'exec "{COMMAND}" attach $$'],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("this command itself", done.stderr)

    def test_kernel_thread(self) -> None:
        if not Path("/proc/2/status").exists() or line_of("/proc/2/status", "VmSize"):
            self.skipTest("process 2 is no thread of the kernel here")
        self.refuse(2, "thread of the kernel")

    def test_ends_right_now(self) -> None:
        """While it gives its memory back it has none, but is no kernel thread."""
        for step in range(8):
            with hoard(128) as process:
                process.kill()
                time.sleep(step * 0.0005)
                done = run(str(process.pid))
                process.wait()
                self.assertEqual(done.returncode, 3)
                self.assertIn("has ended", done.stderr)

    def test_starter_ignores_the_ends_of_children(self) -> None:
        """Then none would be told, and each stop be waited for in vain."""
        with hoard(80) as process:
            done = run("--json", str(process.pid), before=["sh", "-c",
                       "trap '' CHLD; exec \"$@\"", "sh"])
            one = json.loads(done.stdout)["processes"][0]
            self.assertTrue(one["attached"], one["reason"])

    def test_zombie(self) -> None:
        child = subprocess.Popen(["true"])
        wait_for(lambda: state_of(child.pid) == "Z")
        self.refuse(child.pid, "zombie")
        child.wait()

    def test_first_thread_has_ended(self) -> None:
        """The process is no zombie, though its state says so."""
        with hoard(16, "headless") as process:
            wait_for(lambda: state_of(process.pid) == "Z")
            self.refuse(process.pid, "without its first thread")

    def test_stopped(self) -> None:
        with hoard(4) as process:
            process.send_signal(signal.SIGSTOP)
            wait_for(lambda: state_of(process.pid) == "T")
            self.refuse(process.pid, "kill -CONT")
            self.assertEqual(state_of(process.pid), "T")
            process.send_signal(signal.SIGCONT)

    def test_traced(self) -> None:
        seize, detach, interrupt = 0x4206, 17, 0x4207
        with hoard(4) as process:
            if libc.ptrace(seize, process.pid, None, None) != 0:
                self.skipTest("ptrace is not allowed here")
            self.refuse(process.pid, f"by process {os.getpid()}")
            libc.ptrace(interrupt, process.pid, None, None)
            os.waitpid(process.pid, 0x40000000)
            libc.ptrace(detach, process.pid, None, None)

    def test_another_attach(self) -> None:
        """It is told of, whatever number the program has where it is asked for."""
        space = ["unshare", "-pf", "--mount-proc"]
        if subprocess.run([*space, "true"], check=False, capture_output=True).returncode:
            self.skipTest("no PID namespaces to be had")
        with hoard(16, before=[*space, "sh", "-c", '"$@"; exit', "sh"]) as outer:
            pid = outer.pid
            for _ in range(2):  # unshare, sh
                pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text())
            watch = subprocess.Popen([COMMAND, "attach", "--watch", str(pid)],
                                     stdout=subprocess.DEVNULL)
            try:
                wait_for(lambda: is_marked(pid))
                self.refuse(pid, "another bigleaf")
                self.refuse(2, "another bigleaf",
                            before=["nsenter", f"--pid=/proc/{pid}/ns/pid",
                                    f"--mount=/proc/{pid}/ns/mnt"])
            finally:
                watch.send_signal(signal.SIGINT)
                self.assertEqual(watch.wait(timeout=60), 0)

    def test_other_user(self) -> None:
        if not ROOT or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        if subprocess.run([*NOBODY, COMMAND, "--version"], check=False,
                          capture_output=True).returncode:
            self.skipTest("nobody may not run the command where it lies")
        with hoard(4) as process:
            self.refuse(process.pid, "belongs to user", before=NOBODY)

    def test_uninterruptible(self) -> None:
        with hoard(8, "vfork") as process:
            wait_for(lambda: state_of(process.pid) == "D")
            self.refuse(process.pid, "uninterruptible")

    def test_frozen(self) -> None:
        """With its cgroup, as by docker pause: it comes to no end of the stub."""
        with hoard(16) as process, freezer(process.pid) as freeze:
            before = vdso(process.pid)
            freeze(True)
            self.refuse(process.pid, "frozen")
            self.assertEqual(line_of(f"/proc/{process.pid}/status", "Threads"), "1")
            self.assertEqual(vdso(process.pid), before)
            freeze(False)
            one = json.loads(run("--json", str(process.pid)).stdout)["processes"][0]
            self.assertGreater(one["stops"], 0, one["reason"])

    @contextlib.contextmanager
    def visited(self, process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
        """An attach whose visitor is there."""
        attach = subprocess.Popen([*WITHOUT_NICE, COMMAND, "attach", str(process.pid)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: line_of(f"/proc/{process.pid}/status", "Threads") == "2" or
                 attach.poll() is not None)
        try:
            yield attach
        finally:
            attach.kill()
            attach.communicate()

    def test_frozen_meanwhile(self) -> None:
        """The visitor is there, and ends as soon as it may."""
        with hoard(192) as process, freezer(process.pid) as freeze:
            before = vdso(process.pid)
            with self.visited(process) as attach:
                freeze(True)
                _, errors = attach.communicate(timeout=20)
                if attach.returncode == 0:
                    self.skipTest("the attach was over too soon")
                self.assertIn("frozen", errors)
            self.assertEqual(line_of(f"/proc/{process.pid}/status", "TracerPid"), "0")
            self.assertEqual(vdso(process.pid), before)
            freeze(False)
            wait_for(lambda: line_of(f"/proc/{process.pid}/status", "Threads") == "1")

    def test_frozen_meanwhile_by_the_old_freezer(self) -> None:
        """It lets nobody stop: the command waits, but not against a signal's will."""
        with hoard(192) as process, freezer(process.pid, old=True) as freeze:
            with self.visited(process) as attach:
                freeze(True)
                time.sleep(0.5)
                attach.send_signal(signal.SIGINT)
                self.assertEqual(attach.wait(timeout=20), -signal.SIGINT)
            freeze(False)
            wait_for(lambda: line_of(f"/proc/{process.pid}/status", "Threads") == "1")

    def test_32_bit(self) -> None:
        # A program of four instructions: pause(), again and again.
        code = bytes.fromhex("b81d000000cd80ebf7")
        head = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 3, 1, 0x8048054,
                           52, 0, 0, 52, 32, 1, 40, 0, 0)
        part = struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 84 + len(code),
                           84 + len(code), 5, 4096)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "pause32"
            file.write_bytes(head + part + code)
            file.chmod(0o755)
            try:
                child = subprocess.Popen([file])
            except OSError as error:
                self.skipTest(f"no 32-bit programs here: {error}")
            try:
                time.sleep(0.05)
                self.refuse(child.pid, "no 64-bit program")
                self.assertIsNone(child.poll())
            finally:
                child.kill()
                child.wait()

    def test_limit_of_threads(self) -> None:
        if not ROOT or not shutil.which("prlimit"):
            self.skipTest("needs root and prlimit")
        with hoard(16, before=[*NOBODY, "prlimit", "--nproc=1"]) as process:
            done = run(str(process.pid))
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertIn("no further thread", done.stderr)
            self.assertEqual(line_of(f"/proc/{process.pid}/status", "TracerPid"), "0")

    def end_after(self, seconds: float, mebibytes: int, before: list[str]) -> None:
        with hoard(mebibytes) as process:
            attach = subprocess.Popen([*before, COMMAND, "attach", str(process.pid)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      text=True, start_new_session=True)
            time.sleep(seconds)
            process.kill()
            try:
                self.assertEqual(process.wait(timeout=60), -signal.SIGKILL)
                _, errors = attach.communicate(timeout=60)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(attach.pid, signal.SIGKILL)
            self.assertIn(attach.returncode, (0, 3))
            self.assertLessEqual(errors.count("\n"), 1, errors)

    def test_ends_meanwhile(self) -> None:
        """Killed while the visitor works: its parent learns of it at once."""
        for step in range(6):
            self.end_after(0.005 * step, 64, WITHOUT_NICE)

    def test_ends_while_the_visitor_is_made(self) -> None:
        """The held thread's end is told only after that of the thread it has just made."""
        if not shutil.which("strace"):
            self.skipTest("no strace")
        slow = ["strace", "-o", "/dev/null", "-e", "trace=ptrace", "-e",
                "inject=ptrace:delay_exit=3000"]
        for step in range(40):
            self.end_after(0.01 + 0.004 * step, 8, slow)

    def test_huge_pages_switched_off(self) -> None:
        with hoard(4, "no-thp") as process:
            self.refuse(process.pid, "PR_SET_THP_DISABLE")

    def test_filtered(self) -> None:
        """No call is injected under a filter that this command is not under."""
        with hoard(16, "filter") as process:
            done = run("--json", str(process.pid), before=WITHOUT_NICE)
            self.assertIn("seccomp", done.stderr)
            self.assertEqual(done.returncode, 3)
            self.assertEqual(json.loads(done.stdout)["processes"][0]["calls"], 0)

    def test_filtered_before_linux_5_9(self) -> None:
        """Which does not tell how many filters there are: the program's may be one more."""
        if not ROOT or not shutil.which("setpriv") or not shutil.which("unshare"):
            self.skipTest("needs root, setpriv and unshare")
        filtered = [sandbox.PYTHON, "-c", sandbox.FILTERED]
        with hoard(16, "filter", before=filtered) as process, \
                tempfile.NamedTemporaryFile("w") as old:
            status = f"/proc/{process.pid}/status"
            old.writelines(line for line in Path(status).read_text().splitlines(True)
                           if not line.startswith("Seccomp_filters"))
            old.flush()
            mount = ["unshare", "--mount", "sh", "-c",
                     'mount --bind "$0" "$1" || exit 77; shift; exec "$@"', old.name, status]
            if subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
                self.skipTest("no mounts to be had")
            self.refuse(process.pid, "seccomp", before=[*mount, *WITHOUT_NICE, *filtered])

    def test_usage(self) -> None:
        for words in ([], ["12x"], ["0"], ["1", "2"], ["--all", "3"], ["--all", "--watch"],
                      ["--user", "4"], ["--all", "--min-rss=lots"],
                      ["--all", "--user=no such user"]):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(done.stderr.count("\n"), 2, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
